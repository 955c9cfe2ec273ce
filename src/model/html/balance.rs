//! Finds tags that are left open, and end tags without start tags.
//!
//! The rules are an author's, not a browser's: void elements need no end tag, `<x/>` is closed, and `li`, `p`, `td` and
//! the like may omit their end tags where the standard allows it. Omitted end tags are listed separately, because a
//! merge compares texts that write all end tags with texts that do not. A `<p>` around a block is accepted, although
//! browsers end the paragraph there.

use super::{Kind, Name, tokens};
use std::{borrow::Cow, collections::HashMap};

/// The number of open elements in which an end tag searches for its start tag. Deeper nesting is broken anyway, and the
/// bound prevents quadratic time for hostile texts.
const REACH: usize = 256;

/// A tag without its partner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag<'a> {
    /// The element's name, in lower case.
    pub name: Cow<'a, str>,
    /// The offset of the tag, in bytes.
    pub start: usize,
}

/// The result of [`balance()`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Balance<'a> {
    /// Start tags without the end tags that they need.
    pub unclosed: Vec<Tag<'a>>,
    /// End tags without start tags.
    pub stray: Vec<Tag<'a>>,
    /// Start tags whose end tags were omitted where that is allowed.
    pub implied: Vec<Tag<'a>>,
    /// The offset of a tag or comment that never ends.
    pub unfinished: Option<usize>,
}

impl Balance<'_> {
    /// Returns whether every tag has its partner, optional ones included.
    pub fn is_even(&self) -> bool {
        self.is_sound() && self.implied.is_empty()
    }

    /// Returns whether there is no error.
    pub fn is_sound(&self) -> bool {
        self.unclosed.is_empty() && self.stray.is_empty() && self.unfinished.is_none()
    }

    /// Compares a merged text with its two sources. Returns an element that is less balanced than in both; `None`:
    /// there is none.
    ///
    /// An optional end tag counts only if both texts always write it.
    pub fn worse_than(&self, one: &Self, other: &Self) -> Option<String> {
        if self.unfinished.is_some() && one.unfinished.is_none() && other.unfinished.is_none() {
            return Some("a tag or comment that never ends".to_owned());
        }
        let worse = |pick: fn(&Self) -> &[Tag<'_>], all: bool| {
            let (one, other) = (count(pick(one)), count(pick(other)));
            let of = |counts: &HashMap<&str, usize>, name| counts.get(name).copied().unwrap_or(0);
            let mine = count(pick(self));
            let mut names: Vec<_> = mine
                .into_iter()
                .map(|(name, mine)| (name, mine, of(&one, name).max(of(&other, name))))
                .filter(|&(_, mine, theirs)| mine > theirs && (all || theirs == 0))
                .map(|(name, ..)| name)
                .collect();
            names.sort_unstable();
            names.first().map(|&name| name.to_owned())
        };
        worse(|balance| &balance.unclosed, true)
            .map(|name| format!("<{name}>"))
            .or_else(|| worse(|balance| &balance.stray, true).map(|name| format!("</{name}>")))
            .or_else(|| worse(|balance| &balance.implied, false).map(|name| format!("<{name}>")))
    }
}

fn count<'t>(tags: &'t [Tag<'_>]) -> HashMap<&'t str, usize> {
    let mut counts = HashMap::new();
    for tag in tags {
        *counts.entry(&*tag.name).or_insert(0) += 1;
    }
    counts
}

/// Pairs start tags with end tags.
pub fn balance(text: &str) -> Balance<'_> {
    let mut pairing = Pairing::default();
    for token in tokens(text) {
        match token.kind {
            Kind::Open(name) if !name.is_void() => pairing.open(name, token.start),
            Kind::Close(name) if !name.is_void() => pairing.close(name, token.start),
            Kind::Unfinished => pairing.found.unfinished = Some(token.start),
            Kind::Open(_)
            | Kind::Close(_)
            | Kind::SelfClosing(_)
            | Kind::Text
            | Kind::RawText
            | Kind::Comment => {}
        }
    }
    pairing.unwind(0);
    pairing.found.unclosed.sort_by_key(|tag| tag.start);
    pairing.found.implied.sort_by_key(|tag| tag.start);
    pairing.found
}

#[derive(Default)]
struct Pairing<'a> {
    /// The elements that are open, outermost first.
    open: Vec<Tag<'a>>,
    found: Balance<'a>,
}

impl<'a> Pairing<'a> {
    fn open(&mut self, name: Name<'a>, start: usize) {
        let name = name.lower();
        if let Some((ends, within)) = implied_ends(&name)
            && let Some(at) =
                self.innermost(|open| ends.contains(&open), |open| within.contains(&open))
        {
            self.unwind(at);
        }
        self.open.push(Tag { name, start });
    }

    fn close(&mut self, name: Name<'a>, start: usize) {
        let name = name.lower();
        // An end tag within a cell cannot close an element around the table.
        let part_of_table = is_table_part(&name);
        let wall = |open: &str| !part_of_table && matches!(open, "td" | "th" | "caption");
        match self.innermost(|open| open == name, wall) {
            Some(at) => {
                self.unwind(at + 1);
                self.open.truncate(at);
            }
            None => self.found.stray.push(Tag { name, start }),
        }
    }

    /// Returns the innermost open element of a kind, up to a boundary.
    fn innermost(
        &self,
        wanted: impl Fn(&str) -> bool,
        wall: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        for (at, tag) in self.open.iter().enumerate().rev().take(REACH) {
            if wanted(&tag.name) {
                return Some(at);
            }
            if wall(&tag.name) {
                return None;
            }
        }
        None
    }

    /// Closes all open elements from a depth on, without end tags.
    fn unwind(&mut self, depth: usize) {
        for tag in self.open.drain(depth..) {
            if may_stay_open(&tag.name) {
                self.found.implied.push(tag);
            } else {
                self.found.unclosed.push(tag);
            }
        }
    }
}

/// Returns the open elements that a start tag closes, and the boundaries of the search.
fn implied_ends(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    match name {
        "p" => Some((
            &["p"],
            &[
                "div",
                "li",
                "td",
                "th",
                "dd",
                "dt",
                "blockquote",
                "section",
                "article",
                "aside",
                "figure",
                "figcaption",
                "details",
                "main",
                "header",
                "footer",
                "nav",
                "form",
                "fieldset",
                "table",
                "ul",
                "ol",
                "dl",
            ],
        )),
        "li" => Some((&["li"], &["ul", "ol", "menu"])),
        "dt" | "dd" => Some((&["dt", "dd"], &["dl"])),
        "td" | "th" => Some((&["td", "th"], &["tr", "table"])),
        "tr" => Some((&["tr"], &["table", "tbody", "thead", "tfoot"])),
        "tbody" | "thead" | "tfoot" => Some((&["tbody", "thead", "tfoot", "colgroup"], &["table"])),
        "option" => Some((&["option"], &["select", "optgroup", "datalist"])),
        "optgroup" => Some((&["optgroup"], &["select"])),
        "rt" | "rp" => Some((&["rt", "rp"], &["ruby"])),
        _ => None,
    }
}

/// The elements outside of tables whose end tags may be omitted.
const MAY_STAY_OPEN: [&str; 11] = [
    "p", "li", "dt", "dd", "option", "optgroup", "rt", "rp", "html", "head", "body",
];

fn may_stay_open(name: &str) -> bool {
    (is_table_part(name) && name != "table") || MAY_STAY_OPEN.contains(&name)
}

fn is_table_part(name: &str) -> bool {
    matches!(
        name,
        "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th" | "caption" | "colgroup"
    )
}
