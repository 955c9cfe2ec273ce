//! Finds links and images, and the line of an offset.

use super::{Kind, tokens};

/// The kind of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceKind {
    /// `href` of any element.
    Href,
    /// `src` of any element.
    Src,
    /// An `img` without the attribute `alt`; the value is its `src`.
    ImageWithoutAlt,
}

/// A link or an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference<'a> {
    /// The kind.
    pub kind: ReferenceKind,
    /// The address as written.
    pub value: &'a str,
    /// The offset of its tag, in bytes.
    pub start: usize,
}

/// Returns links and images, in their order.
pub fn references(text: &str) -> impl Iterator<Item = Reference<'_>> {
    tokens(text).flat_map(|token| {
        let image =
            matches!(token.kind, Kind::Open(name) | Kind::SelfClosing(name) if name.is("img"));
        let bare = image && token.attribute("alt").is_none();
        let reference = move |kind, value| Reference {
            kind,
            value,
            start: token.start,
        };
        let addresses = [("href", ReferenceKind::Href), ("src", ReferenceKind::Src)]
            .into_iter()
            .filter_map(move |(name, kind)| Some(reference(kind, token.attribute(name)?)));
        let bare = bare.then(|| {
            reference(
                ReferenceKind::ImageWithoutAlt,
                token.attribute("src").unwrap_or_default(),
            )
        });
        addresses.chain(bare)
    })
}

/// Returns the line, from 1, of a byte of a text.
pub fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    1 + memchr::memchr_iter(b'\n', before).count()
}
