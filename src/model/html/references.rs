//! Finds links and images, and the line of an offset.

use super::{Kind, tokens};

/// A link or an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference<'a> {
    /// The address as written.
    pub value: &'a str,
    /// The offset of its tag, in bytes.
    pub start: usize,
}

/// Returns the values of `href` and `src` of any element, in their order.
pub fn references(text: &str) -> impl Iterator<Item = Reference<'_>> {
    tokens(text).flat_map(|token| {
        ["href", "src"].into_iter().filter_map(move |name| {
            let value = token.attribute(name)?;
            Some(Reference {
                value,
                start: token.start,
            })
        })
    })
}

/// Returns the `src` of each `img` without the attribute `alt`.
pub fn images_without_alt(text: &str) -> impl Iterator<Item = Reference<'_>> {
    let images = tokens(text).filter(
        |token| matches!(token.kind, Kind::Open(name) | Kind::SelfClosing(name) if name.is("img")),
    );
    let images = images.filter(|image| image.attribute("alt").is_none());
    images.map(|image| Reference {
        value: image.attribute("src").unwrap_or_default(),
        start: image.start,
    })
}

/// Returns the line, from 1, of a byte of a text.
pub fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    1 + memchr::memchr_iter(b'\n', before).count()
}
