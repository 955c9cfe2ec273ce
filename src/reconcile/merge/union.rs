//! Both sides of a conflict: merged where they fit together, one after the other where they clash.
//!
//! This is for a person who wants to sort it out in one file: nothing that either side wrote is left out.

use super::hunks::{Hunk, hunks};
use super::{TextMerge, broken, merge_with_fallback};
use crate::model::html;
use imara_diff::{Interner, Token};

/// Puts two texts together; where they clash, the local side comes first.
pub fn merge_union(ancestors: &[&str], local: &str, remote: &str) -> String {
    if let TextMerge::Merged(text) = merge_with_fallback(ancestors, local, remote) {
        return text;
    }
    ancestors
        .iter()
        .find_map(|base| by_unit(base, local, remote))
        // Lines that both sides have occur once, as if the local side had only added to them.
        .or_else(|| by_unit(local, local, remote))
        .unwrap_or_else(|| format!("{}\n{remote}", local.trim_end_matches('\n')))
}

/// The same by lines and blocks; `None` where that would break the markup.
fn by_unit(base: &str, local: &str, remote: &str) -> Option<String> {
    let units = [base, local, remote].map(html::units);
    let mut interner = Interner::new(units[0].len() * 2);
    let [tokens, mine, theirs] = units.map(|units| -> Vec<Token> {
        units
            .into_iter()
            .map(|unit| interner.intern(unit))
            .collect()
    });
    let in_lines = [base, local, remote].iter().any(|text| text.contains('\n'));
    let line_break = interner.intern("\n");
    let known = interner.num_tokens();
    let blank: Vec<bool> = (0..known)
        .map(|token| html::is_blank(interner[Token(token)]))
        .collect();
    let blank = |token: Token| blank[token.0 as usize];
    let sides = [&mine, &theirs].map(|side| hunks(&tokens, side, known as usize, &blank));
    let (mut merged, mut at) = (Vec::new(), 0);
    for group in groups(&sides, &tokens, &blank) {
        let all = || group.iter().flatten();
        let start = all().map(|hunk| hunk.start).min()?;
        let end = all().map(|hunk| hunk.end).max()?;
        merged.extend_from_slice(&tokens[at..start]);
        let [ours, other] = &group;
        let said = |side: &[Hunk<'_>]| rendition(&tokens, start, end, side);
        let mut mine = Vec::new();
        if base == local || !ours.is_empty() {
            mine = said(ours);
        }
        let more = !other.is_empty() && said(other) != said(ours);
        // What ended a line begins one of its own where it comes behind the other side's, as do words that no
        // block holds.
        let next = tokens.get(end).map(|next| interner[*next]);
        let ends_a_line = next.is_none_or(|next| next.starts_with(['\n', '\r']));
        let unended = |unit: &Token| {
            let unit = interner[*unit];
            !unit.ends_with('\n') && (!unit.ends_with('>') || (in_lines && ends_a_line))
        };
        let between = more && mine.last().is_some_and(unended);
        merged.extend(mine);
        if between {
            merged.push(line_break);
        }
        if more {
            merged.extend(said(other));
        }
        at = end;
    }
    merged.extend_from_slice(&tokens[at..]);
    let pieces: Vec<&str> = merged.into_iter().map(|unit| interner[unit]).collect();
    let text = pieces.concat();
    broken(&text, &pieces, local, remote)
        .is_none()
        .then_some(text)
}

/// Both sides' changes, those together that clash. No group reaches into the next one.
fn groups<'a>(
    sides: &[Vec<Hunk<'a>>; 2],
    base: &[Token],
    blank: &impl Fn(Token) -> bool,
) -> Vec<[Vec<Hunk<'a>>; 2]> {
    let mut groups = Vec::new();
    let mut heads = [0, 0];
    loop {
        let starts = [0, 1].map(|side| sides[side].get(heads[side]).map(|hunk| hunk.start));
        let first = match starts {
            [None, None] => return groups,
            [Some(mine), Some(theirs)] => usize::from(theirs < mine),
            [mine, _] => usize::from(mine.is_none()),
        };
        let mut group = [Vec::new(), Vec::new()];
        let (mut next, mut end) = (Some(first), 0);
        while let Some(side) = next {
            let hunk = sides[side][heads[side]];
            group[side].push(hunk);
            end = end.max(hunk.end);
            heads[side] += 1;
            next = [0, 1].into_iter().find(|&side| {
                let other = &group[1 - side];
                sides[side].get(heads[side]).is_some_and(|hunk| {
                    // A hunk that reaches into the group belongs to it: groups do not overlap.
                    hunk.start < end
                        || other.iter().any(|known: &Hunk<'_>| {
                            !known.is_before(hunk, base, blank)
                                && !hunk.is_before(known, base, blank)
                        })
                })
            });
        }
        groups.push(group);
    }
}

/// One side's units in place of some units of the ancestor.
fn rendition(base: &[Token], start: usize, end: usize, hunks: &[Hunk<'_>]) -> Vec<Token> {
    let (mut said, mut at) = (Vec::new(), start);
    for hunk in hunks {
        said.extend_from_slice(&base[at..hunk.start]);
        said.extend_from_slice(hunk.new);
        at = hunk.end;
    }
    said.extend_from_slice(&base[at..end]);
    said
}
