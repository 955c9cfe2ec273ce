//! Names of elements, and HTML's rules for elements by name.

use std::borrow::Cow;

/// The elements that never have content or an end tag.
const VOID: [&str; 14] = [
    "br", "img", "hr", "input", "area", "base", "col", "embed", "link", "meta", "param", "source",
    "track", "wbr",
];

/// The elements whose content is text only, up to their own end tags.
const RAW: [&str; 8] = [
    "script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes",
];

/// An element's name as written. Names are compared without regard to case.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a>(&'a str);

impl<'a> Name<'a> {
    pub(super) const fn new(name: &'a str) -> Self {
        Self(name)
    }

    /// Returns the name as written.
    pub const fn as_written(self) -> &'a str {
        self.0
    }

    /// Returns the name in lower case, borrowed if it was written so.
    pub fn lower(self) -> Cow<'a, str> {
        if self.0.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(self.0.to_ascii_lowercase())
        } else {
            Cow::Borrowed(self.0)
        }
    }

    /// Compares with a name, without regard to case.
    pub fn is(self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }

    /// Returns whether the element never has content or an end tag.
    pub fn is_void(self) -> bool {
        VOID.contains(&&*self.lower())
    }

    /// Returns whether the element's content is text only, up to its own end tag.
    pub(super) fn is_raw(self) -> bool {
        RAW.contains(&&*self.lower())
    }

    /// Returns whether the element is a drawing or a formula, which have other rules.
    pub fn is_foreign(self) -> bool {
        self.is("svg") || self.is("math")
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.0)
    }
}

impl Eq for Name<'_> {}
