//! The units of a merge: a text cut at its lines and at its blocks.
//!
//! The service's editor writes one endless line: with lines as units, any two edits would overlap. A unit ends after an
//! end tag of a block, after `<br>` and `<hr>`, before a start tag of a block, and at the end of a line. Line ends,
//! with the white space before them, are units of their own, so that the last paragraph of a text stays the same unit
//! when another paragraph is added below it. Indentation belongs to the text after it. No unit ends within a tag, an
//! attribute or a comment.

use super::{Kind, Name, tokens};
use memchr::memchr_iter;

/// Cuts a text into units. The joined units are the text; no unit is empty.
pub fn units(text: &str) -> Vec<&str> {
    let mut cutter = Cutter {
        text,
        start: 0,
        solid: false,
        units: Vec::with_capacity(text.len() / 48 + 4),
    };
    for token in tokens(text) {
        match token.kind {
            Kind::Text | Kind::RawText => cutter.text(token.start, token.source),
            Kind::Open(name) | Kind::SelfClosing(name) => {
                if is_block(name) {
                    cutter.cut_content(token.start);
                }
                cutter.solid = true;
                if name.is("br") || name.is("hr") {
                    cutter.cut(token.end());
                }
            }
            Kind::Close(name) => {
                cutter.solid = true;
                if is_block(name) {
                    cutter.cut(token.end());
                }
            }
            Kind::Comment | Kind::Unfinished => cutter.solid = true,
        }
    }
    cutter.cut(text.len());
    cutter.units
}

/// Returns whether a unit is only white space: a line's end, or indentation without text.
pub fn is_blank(unit: &str) -> bool {
    unit.trim_ascii().is_empty()
}

struct Cutter<'a> {
    text: &'a str,
    /// The offset of the current unit.
    start: usize,
    /// Whether the current unit has more than white space.
    solid: bool,
    units: Vec<&'a str>,
}

impl Cutter<'_> {
    /// Ends the current unit, if it has begun.
    fn cut(&mut self, end: usize) {
        if end > self.start {
            self.units.push(&self.text[self.start..end]);
            self.start = end;
        }
        self.solid = false;
    }

    /// Ends the current unit after its last visible byte; white space begins the next unit.
    fn cut_content(&mut self, end: usize) {
        if self.solid {
            let content = self.text[self.start..end].trim_ascii_end().len();
            self.cut(self.start + content);
        }
    }

    fn text(&mut self, start: usize, source: &str) {
        let mut from = 0;
        for newline in memchr_iter(b'\n', source.as_bytes()) {
            self.solid = self.solid || !is_blank(&source[from..newline]);
            self.cut_content(start + newline);
            self.cut(start + newline + 1);
            from = newline + 1;
        }
        self.solid = self.solid || !is_blank(&source[from..]);
    }
}

/// The elements that are blocks rather than parts of a line.
#[rustfmt::skip]
const BLOCKS: [&str; 51] = [
    "p", "li", "td", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "dt", "dd",
    "hr", "div", "pre", "nav", "main", "form", "menu", "body", "head", "html", "table", "thead",
    "tbody", "tfoot", "aside", "style", "video", "audio", "figure", "header", "footer", "hgroup",
    "iframe", "dialog", "script", "section", "article", "address", "caption", "details", "summary",
    "fieldset", "colgroup", "blockquote", "figcaption",
];

fn is_block(name: Name<'_>) -> bool {
    BLOCKS.contains(&&*name.lower())
}
