//! Links and images, and in which line something stands.

use super::{Kind, tokens};

/// What a tag refers to, or fails to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceKind {
    /// `href`, of whatever element.
    Href,
    /// `src`, of whatever element.
    Src,
    /// An `img` without the attribute `alt`; the value is its `src`.
    ImageWithoutAlt,
}

/// A link or an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference<'a> {
    /// What it is.
    pub kind: ReferenceKind,
    /// The address as written.
    pub value: &'a str,
    /// Where its tag starts, in bytes.
    pub start: usize,
}

/// Lists links and images in the order in which they stand.
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

/// Gives the line, from 1, in which a byte of a text stands.
pub fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    1 + memchr::memchr_iter(b'\n', before).count()
}
