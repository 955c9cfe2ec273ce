//! A text in blocks: what is settled, and what clashes.
//!
//! A block that one side alone changed is settled. A person decides the others, one by one ([`blocks`]), or keeps both
//! sides of each ([`merge_union`]): then nothing that either side wrote is left out.

use super::hunks::{Hunk, hunks};
use super::{ClashReason, TextMerge, broken, merge_text, merge_with_fallback};
use crate::model::html;
use imara_diff::{Interner, Token};

/// A stretch of a text that two sides made of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// Both sides have it, or one side alone changed it.
    Settled(String),
    /// Both sides changed it.
    Clash(BlockClash),
}

/// A stretch that both sides changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockClash {
    /// The number of line breaks before it, in the local text.
    pub line: usize,
    /// The stretch as both sides had it in common; `None`: they have no common version.
    pub base: Option<String>,
    /// The local side's.
    pub local: String,
    /// The remote side's.
    pub remote: String,
    /// Whether a line break has to keep the two apart.
    on_lines: bool,
}

impl BlockClash {
    /// Returns both sides, the local one first.
    pub fn both(&self) -> String {
        let apart = if self.on_lines { "\n" } else { "" };
        [&self.local, apart, &self.remote].concat()
    }
}

/// Cuts two texts that do not merge into blocks. Where it is in doubt what each side changed, every difference clashes.
pub fn blocks(ancestors: &[&str], local: &str, remote: &str) -> Vec<Block> {
    let overlaps =
        |base: &&&str| merge_text(base, local, remote) == TextMerge::Clash(ClashReason::Overlap);
    match ancestors.iter().find(overlaps) {
        Some(base) => by_unit(Some(base), local, remote),
        None => by_unit(None, local, remote),
    }
}

/// Joins blocks, with an answer for each clash. Fails with the markup that this would break.
pub fn join(
    blocks: &[Block],
    local: &str,
    remote: &str,
    mut answer: impl FnMut(&BlockClash) -> String,
) -> Result<String, String> {
    let pieces: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            Block::Settled(text) => text.clone(),
            Block::Clash(clash) => answer(clash),
        })
        .collect();
    let text = pieces.concat();
    let units: Vec<&str> = pieces.iter().flat_map(|piece| html::units(piece)).collect();
    match broken(&text, &units, local, remote) {
        Some(what) => Err(what),
        None => Ok(text),
    }
}

/// Puts two texts together; where they clash, the local side comes first.
pub fn merge_union(ancestors: &[&str], local: &str, remote: &str) -> String {
    if let TextMerge::Merged(text) = merge_with_fallback(ancestors, local, remote) {
        return text;
    }
    let joined = |base| {
        join(
            &by_unit(base, local, remote),
            local,
            remote,
            BlockClash::both,
        )
        .ok()
    };
    // Without an ancestor, lines that both sides have occur once.
    let mut bases = ancestors.iter().map(|base| Some(*base)).chain([None]);
    bases
        .find_map(joined)
        .unwrap_or_else(|| format!("{}\n{remote}", local.trim_end_matches('\n')))
}

/// Cuts two texts by lines and blocks. Without a base, every difference clashes.
fn by_unit(ancestor: Option<&str>, local: &str, remote: &str) -> Vec<Block> {
    let base = ancestor.unwrap_or(local);
    let units = [base, local, remote].map(html::units);
    let mut interner = Interner::new(units[0].len() * 2);
    let [tokens, mine, theirs] = units.map(|units| -> Vec<Token> {
        units
            .into_iter()
            .map(|unit| interner.intern(unit))
            .collect()
    });
    let in_lines = [base, local, remote].iter().any(|text| text.contains('\n'));
    let known = interner.num_tokens();
    let blank: Vec<bool> = (0..known)
        .map(|token| html::is_blank(interner[Token(token)]))
        .collect();
    let blank = |token: Token| blank[token.0 as usize];
    let text = |units: &[Token]| units.iter().map(|unit| interner[*unit]).collect::<String>();
    let sides = [&mine, &theirs].map(|side| hunks(&tokens, side, known as usize, &blank));
    let (mut blocks, mut at, mut line) = (Vec::new(), 0, 0);
    for group in groups(&sides, &tokens, &blank) {
        let all = || group.iter().flatten();
        let start = all().map(|hunk| hunk.start).min().unwrap_or(at);
        let end = all().map(|hunk| hunk.end).max().unwrap_or(at);
        let [ours, others] = group
            .each_ref()
            .map(|side| rendition(&tokens, start, end, side));
        let between = text(&tokens[at..start]);
        line += line_breaks(&between);
        blocks.push(Block::Settled(between));
        let is_one_sided = ancestor.is_some() && group.iter().any(Vec::is_empty);
        let (local, remote) = (text(&ours), text(&others));
        let lines = line_breaks(&local);
        blocks.push(if ours == others || is_one_sided && group[1].is_empty() {
            Block::Settled(local)
        } else if is_one_sided {
            Block::Settled(remote)
        } else {
            // What ended a line begins one of its own where it comes behind the other side's, as do words that no
            // block holds.
            let next = tokens.get(end).map(|next| interner[*next]);
            let ends_a_line = next.is_none_or(|next| next.starts_with(['\n', '\r']));
            let unended = |unit: &Token| {
                let unit = interner[*unit];
                !unit.ends_with('\n') && (!unit.ends_with('>') || (in_lines && ends_a_line))
            };
            Block::Clash(BlockClash {
                line,
                base: ancestor.map(|_| text(&tokens[start..end])),
                on_lines: ours.last().is_some_and(unended),
                local,
                remote,
            })
        });
        line += lines;
        at = end;
    }
    blocks.push(Block::Settled(text(&tokens[at..])));
    blocks
}

fn line_breaks(text: &str) -> usize {
    text.matches('\n').count()
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
