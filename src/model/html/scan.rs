//! The scanner: text → tokens and attributes.
//!
//! The scanner follows the tokenisation rules of the HTML standard as far as they decide where a token ends: quotes
//! count only after `=`, `<` counts only before a letter, `/`, `!` or `?`, and there is no markup in `script`, `style`,
//! `textarea` and the like. A tag or comment that never ends takes the rest of the text, as in a browser.

use memchr::{memchr, memmem};
use std::borrow::Cow;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// Text, character references as written.
    Text,
    /// The content of a `script`, `style`, `textarea` or the like.
    RawText,
    /// A comment, a doctype, or markup that browsers read as a comment.
    Comment,
    /// A start tag; void elements too.
    Open(Name<'a>),
    /// A start tag that ends in `/>`.
    SelfClosing(Name<'a>),
    /// An end tag.
    Close(Name<'a>),
    /// A tag or comment that never ends: the rest of the text.
    Unfinished,
}

/// A piece of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: Kind<'a>,
    /// Its bytes.
    pub source: &'a str,
    /// Its offset, in bytes.
    pub start: usize,
}

impl<'a> Token<'a> {
    /// Returns the offset of the token's end, in bytes.
    pub fn end(&self) -> usize {
        self.start + self.source.len()
    }

    /// Returns the attributes of a start tag in their order; nothing for other tokens.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let source = self.source;
        let mut at = source.len();
        if let Kind::Open(name) | Kind::SelfClosing(name) = self.kind {
            at = 1 + name.as_written().len();
        }
        std::iter::from_fn(move || match step(source, at) {
            Step::Attribute { attribute, next } => {
                at = next;
                Some(attribute)
            }
            Step::End { .. } | Step::Unfinished => None,
        })
    }

    /// Returns an attribute's value as written, without quotes; the first one counts, as in browsers.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes()
            .find(|attribute| attribute.name.eq_ignore_ascii_case(name))
            .map(|attribute| attribute.value)
    }
}

/// An attribute as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value without quotes; empty if there is none.
    pub value: &'a str,
}

/// Cuts a text into tokens. The joined tokens are the text.
pub fn tokens(text: &str) -> Tokens<'_> {
    Tokens {
        text,
        at: 0,
        raw: None,
        foreign: 0,
    }
}

/// The iterator of [`tokens`].
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
    /// The element whose raw content comes next.
    raw: Option<Name<'a>>,
    /// The number of open `svg` and `math` elements, in which nothing is raw.
    foreign: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (kind, length) = match self.raw.take().map(|name| raw_length(rest, name)) {
            Some(length) if length > 0 => (Kind::RawText, length),
            Some(_) | None => markup(rest).unwrap_or_else(|| (Kind::Text, text_length(rest))),
        };
        let token = Token {
            kind: self.enter(kind),
            source: &rest[..length],
            start: self.at,
        };
        self.at += length;
        Some(token)
    }
}

impl<'a> Tokens<'a> {
    /// Updates the state for the following tokens.
    fn enter(&mut self, kind: Kind<'a>) -> Kind<'a> {
        if let Kind::Open(name) | Kind::SelfClosing(name) = kind
            && self.foreign == 0
            && name.is_raw()
        {
            // Browsers ignore the slash of `<script/>`, except within `svg` and `math`.
            self.raw = Some(name);
            return Kind::Open(name);
        }
        if let Kind::Open(name) = kind {
            self.foreign += usize::from(name.is_foreign());
        } else if let Kind::Close(name) = kind {
            self.foreign = self.foreign.saturating_sub(usize::from(name.is_foreign()));
        }
        kind
    }
}

/// Parses the markup at the start of a text; `None`: the text starts without markup.
fn markup(rest: &str) -> Option<(Kind<'_>, usize)> {
    let bytes = rest.as_bytes();
    if bytes.first() != Some(&b'<') {
        return None;
    }
    match bytes.get(1)? {
        byte if byte.is_ascii_alphabetic() => Some(tag(rest, 1)),
        b'/' => match bytes.get(2)? {
            byte if byte.is_ascii_alphabetic() => Some(tag(rest, 2)),
            _ => Some(until(rest, memchr(b'>', bytes))),
        },
        b'!' if rest.starts_with("<!--") => Some(comment(rest)),
        b'!' | b'?' => Some(until(rest, memchr(b'>', bytes))),
        _ => None,
    }
}

fn comment(rest: &str) -> (Kind<'_>, usize) {
    let bytes = rest.as_bytes();
    for short in ["<!-->", "<!--->"] {
        if rest.starts_with(short) {
            return (Kind::Comment, short.len());
        }
    }
    let mut at = 4;
    while let Some(found) = memmem::find(&bytes[at..], b"--") {
        at += found;
        let behind = &bytes[at + 2..];
        if behind.starts_with(b">") {
            return (Kind::Comment, at + 3);
        }
        if behind.starts_with(b"!>") {
            return (Kind::Comment, at + 4);
        }
        at += 1;
    }
    (Kind::Unfinished, rest.len())
}

fn until(rest: &str, last: Option<usize>) -> (Kind<'_>, usize) {
    last.map_or((Kind::Unfinished, rest.len()), |last| {
        (Kind::Comment, last + 1)
    })
}

/// Parses a tag whose name starts at `from`: 1 for a start tag, 2 for an end tag.
fn tag(rest: &str, from: usize) -> (Kind<'_>, usize) {
    let bytes = rest.as_bytes();
    let length = bytes[from..]
        .iter()
        .position(|&byte| is_space(byte) || byte == b'/' || byte == b'>')
        .unwrap_or(bytes.len() - from);
    let name = Name::new(&rest[from..from + length]);
    let mut at = from + length;
    loop {
        match step(rest, at) {
            Step::Attribute { next, .. } => at = next,
            Step::End { next, .. } if from == 2 => return (Kind::Close(name), next),
            Step::End { next, slash: true } => return (Kind::SelfClosing(name), next),
            Step::End { next, slash: false } => return (Kind::Open(name), next),
            Step::Unfinished => return (Kind::Unfinished, rest.len()),
        }
    }
}

/// The next part of a tag.
enum Step<'a> {
    Attribute {
        attribute: Attribute<'a>,
        next: usize,
    },
    End {
        next: usize,
        slash: bool,
    },
    Unfinished,
}

/// Parses the next part of a tag, after the tag's name or an attribute.
fn step(text: &str, from: usize) -> Step<'_> {
    let bytes = text.as_bytes();
    let find = |from: usize, stop: fn(u8) -> bool| {
        bytes[from..]
            .iter()
            .position(|&byte| stop(byte))
            .map(|found| from + found)
    };
    let Some(start) = find(from, |byte| !is_space(byte) && byte != b'/') else {
        return Step::Unfinished;
    };
    if bytes[start] == b'>' {
        return Step::End {
            next: start + 1,
            slash: start > from && bytes[start - 1] == b'/',
        };
    }
    // A `=` in first place belongs to the attribute's name.
    let Some(end) = find(start + 1, |byte| {
        is_space(byte) || matches!(byte, b'/' | b'>' | b'=')
    }) else {
        return Step::Unfinished;
    };
    let attribute = |value, next| Step::Attribute {
        attribute: Attribute {
            name: &text[start..end],
            value,
        },
        next,
    };
    let Some(sign) = find(end, |byte| !is_space(byte)) else {
        return Step::Unfinished;
    };
    if bytes[sign] != b'=' {
        return attribute("", end);
    }
    let Some(value) = find(sign + 1, |byte| !is_space(byte)) else {
        return Step::Unfinished;
    };
    match bytes[value] {
        quote @ (b'"' | b'\'') => match memchr(quote, &bytes[value + 1..]) {
            Some(length) => attribute(&text[value + 1..value + 1 + length], value + 1 + length + 1),
            None => Step::Unfinished,
        },
        b'>' => attribute("", value),
        _ => match find(value, |byte| is_space(byte) || byte == b'>') {
            Some(end) => attribute(&text[value..end], end),
            None => Step::Unfinished,
        },
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Returns the length of the text before the next markup, at least one character.
fn text_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut from = 1;
    while let Some(found) = bytes.get(from..).and_then(|rest| memchr(b'<', rest)) {
        let at = from + found;
        let starts = match bytes.get(at + 1) {
            Some(b'/') => at + 2 < bytes.len(),
            Some(byte) => byte.is_ascii_alphabetic() || matches!(byte, b'!' | b'?'),
            None => false,
        };
        if starts {
            return at;
        }
        from = at + 1;
    }
    rest.len()
}

/// Returns the length of an element's raw content: up to its end tag, or the rest.
fn raw_length(rest: &str, name: Name<'_>) -> usize {
    let bytes = rest.as_bytes();
    let length = name.as_written().len();
    memmem::find_iter(bytes, b"</")
        .find(|&at| {
            let behind = &bytes[at + 2..];
            behind.len() > length
                && behind[..length].eq_ignore_ascii_case(name.as_written().as_bytes())
                && (is_space(behind[length]) || matches!(behind[length], b'/' | b'>'))
        })
        .unwrap_or(rest.len())
}

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

    /// Returns the name in lower case, borrowed if it was written in lower case.
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

    /// Returns whether the element is `svg` or `math`, whose content has other rules.
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
