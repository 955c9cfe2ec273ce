//! The three-way merge of bodies.
//!
//! A body is cut into units, lines *and* HTML blocks ([`html::units()`]), and each side's changes are hunks against the
//! common ancestor (`hunks`). The merge guarantees:
//!
//! - Never fuzzy: a clean result has both sides' changes, each at its place. A change whose place is ambiguous is a
//!   clash.
//! - Symmetry: the order of the sides does not matter. Equal sides are the result; if one side equals the ancestor, the
//!   other side is the result.
//! - Overlapping changes clash, unless they are the same. Two insertions at one spot clash, and a replacement that
//!   grows counts as an insertion at its ends. Changes of neighbouring blocks do not clash.
//! - A unit with text that both sides moved or added is never repeated, and a removed unit does not come back.
//! - The markup of a result is as sound as the markup of its sources.
//!
//! The handling of a clash is not decided here.

mod ambiguity;
mod blocks;
mod hunks;
mod shared;

use crate::model::html;
use ambiguity::Counts;
pub use blocks::{Block, BlockClash, blocks, join, merge_union};
use hunks::{hunks, stretches};
use imara_diff::{Interner, Token};
pub use shared::Shared;
use std::fmt;

/// The outcome of a merge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextMerge {
    /// The text with both sides' changes.
    Merged(String),
    /// Why a person has to decide.
    Clash(ClashReason),
}

/// Why two changes could not be merged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClashReason {
    /// Both sides changed the same lines or blocks, or inserted something at the same spot.
    Overlap,
    /// The text around a change repeats itself, so that the change has more than one possible place; or both sides
    /// moved or added the same text.
    Ambiguous,
    /// The merged markup would be broken.
    Markup {
        /// The damage, for example a tag without its partner.
        what: String,
    },
    /// There is no common ancestor.
    NoAncestor,
}

impl fmt::Display for ClashReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap => f.write_str("both sides changed the same part of the text"),
            Self::Ambiguous => {
                f.write_str("moved or repeated text leaves open where a change belongs")
            }
            Self::Markup { what } => write!(f, "merged, the markup would be broken: {what}"),
            Self::NoAncestor => f.write_str("there is no version that both sides had in common"),
        }
    }
}

/// Merges two texts with a common ancestor.
pub fn merge_text(base: &str, local: &str, remote: &str) -> TextMerge {
    if local == remote || base == remote {
        return TextMerge::Merged(local.to_owned());
    }
    if base == local {
        return TextMerge::Merged(remote.to_owned());
    }
    match merge_units(base, local, remote) {
        Ok(merged) => {
            let text = merged.concat();
            match broken(&text, &merged, local, remote) {
                Some(what) => TextMerge::Clash(ClashReason::Markup { what }),
                None => TextMerge::Merged(text),
            }
        }
        Err(reason) => TextMerge::Clash(reason),
    }
}

/// Merges two texts with the first of several ancestors that allows a merge.
///
/// The base has two versions of a body that the service rewrote: the file's version and the service's answer. If no
/// ancestor helps, the clash of the first ancestor is returned.
pub fn merge_with_fallback(ancestors: &[&str], local: &str, remote: &str) -> TextMerge {
    if local == remote {
        return TextMerge::Merged(local.to_owned());
    }
    let mut first = None;
    for base in ancestors {
        match merge_text(base, local, remote) {
            TextMerge::Merged(text) => return TextMerge::Merged(text),
            TextMerge::Clash(reason) => {
                first.get_or_insert(reason);
            }
        }
    }
    TextMerge::Clash(first.unwrap_or(ClashReason::NoAncestor))
}

/// Merges unit by unit.
///
/// If units repeat, a change can be placed in more than one way: of two equal units, either may be the removed one. A
/// diff decides on one place, and both sides' changes may then seem apart although they are not. Therefore the merge is
/// made twice, with each such change as far down and as far up as possible, and the result counts only if both agree.
/// `ambiguity` checks the remaining cases.
fn merge_units<'a>(
    base: &'a str,
    local: &'a str,
    remote: &'a str,
) -> Result<Vec<&'a str>, ClashReason> {
    let Units {
        interner,
        mut texts,
        blank,
    } = Units::of([base, local, remote]);
    let blank = |token: Token| blank[token.0 as usize];

    let counts = Counts::of(&texts, interner.num_tokens());
    let merge = |texts: &_| merge_tokens(texts, &blank, &counts);
    let merged = merge(&texts)?;
    let is_bare = |token: Token| has_only_tags(interner[token]);
    if ambiguity::repeats_or_revives(&merged, &counts, &blank, &is_bare) {
        return Err(ClashReason::Ambiguous);
    }
    for text in &mut texts {
        text.reverse();
    }
    match merge(&texts) {
        Ok(upwards) if upwards.iter().rev().eq(&merged) => {
            Ok(merged.into_iter().map(|token| interner[token]).collect())
        }
        Ok(_) | Err(_) => Err(ClashReason::Ambiguous),
    }
}

/// Returns whether a unit has no text outside of its tags.
fn has_only_tags(unit: &str) -> bool {
    let mut texts = unit.split('<').map(|piece| piece.rsplit('>').next());
    texts.all(|text| text.is_none_or(|text| text.trim().is_empty()))
}

/// Merges base, local and remote as sequences of units.
fn merge_tokens(
    [base, local, remote]: &[Vec<Token>; 3],
    blank: &impl Fn(Token) -> bool,
    counts: &Counts,
) -> Result<Vec<Token>, ClashReason> {
    let sides = [local, remote].map(|side| hunks(base, side, counts.known(), blank));
    if ambiguity::exists(base, [&sides[0], &sides[1]], counts, blank) {
        return Err(ClashReason::Ambiguous);
    }
    let mut merged = Vec::with_capacity(local.len().max(remote.len()));
    let mut at = 0;
    for stretch in stretches(&sides, base, blank) {
        merged.extend_from_slice(&base[at..stretch.start]);
        merged.extend(stretch.merged(base).ok_or(ClashReason::Overlap)?);
        at = stretch.end;
    }
    merged.extend_from_slice(&base[at..]);
    Ok(merged)
}

/// Texts as sequences of units.
struct Units<'a> {
    interner: Interner<&'a str>,
    /// Base, local and remote.
    texts: [Vec<Token>; 3],
    /// Whether each distinct unit is white space.
    blank: Vec<bool>,
}

impl<'a> Units<'a> {
    fn of(texts: [&'a str; 3]) -> Self {
        let units = texts.map(html::units);
        let mut interner = Interner::new(units[0].len() * 2);
        let texts = units.map(|units| {
            let units = units.into_iter();
            units.map(|unit| interner.intern(unit)).collect()
        });
        let blank = (0..interner.num_tokens())
            .map(|token| html::is_blank(interner[Token(token)]))
            .collect();
        Self {
            interner,
            texts,
            blank,
        }
    }
}

/// Returns the markup that the merge broke; `None`: the markup is as sound as that of the sides.
fn broken(text: &str, merged: &[&str], local: &str, remote: &str) -> Option<String> {
    // Parsed again, the text must have the same units: no two lines were joined, and no unit is now inside a comment or
    // a script.
    if html::units(text) != merged {
        return Some("two pieces would run into one".to_owned());
    }
    let balance = html::balance(text);
    if balance.is_even() {
        return None;
    }
    balance.worse_than(&html::balance(local), &html::balance(remote))
}

#[cfg(test)]
mod tests;
