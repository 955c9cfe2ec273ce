//! A text in blocks: settled blocks and clashes.
//!
//! A block that only one side changed is settled. For a clash, a person chooses block by block ([`blocks`]), or both
//! sides are kept ([`merge_union`]): then no side's text is lost.

use super::hunks::{hunks, stretches};
use super::{ClashReason, TextMerge, Units, broken, merge_text, merge_with_fallback};
use crate::model::html;
use imara_diff::Token;

/// A stretch of a text with two sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// Both sides have the text, or only one side changed it.
    Settled(String),
    /// Both sides changed it.
    Clash(BlockClash),
}

/// A stretch that both sides changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockClash {
    /// The number of line breaks before the stretch, in the local text.
    pub line: usize,
    /// The text of the common ancestor; `None`: there is no ancestor.
    pub base: Option<String>,
    /// The text of the local side.
    pub local: String,
    /// The text of the remote side.
    pub remote: String,
    /// Whether a line break must separate the two sides.
    on_lines: bool,
}

impl BlockClash {
    /// Returns both sides, the local side first.
    pub fn both(&self) -> String {
        let apart = if self.on_lines { "\n" } else { "" };
        [&self.local, apart, &self.remote].concat()
    }
}

/// Cuts two texts that do not merge into blocks. If it is ambiguous what each side changed, every difference is a
/// clash.
pub fn blocks(ancestors: &[&str], local: &str, remote: &str) -> Vec<Block> {
    let overlaps =
        |base: &&&str| merge_text(base, local, remote) == TextMerge::Clash(ClashReason::Overlap);
    by_unit(ancestors.iter().find(overlaps).copied(), local, remote)
}

/// Joins blocks, with an answer for each clash. The error is the markup that the result would break.
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

/// Joins two texts; at a clash, both sides are kept, the local side first.
pub fn merge_union(ancestors: &[&str], local: &str, remote: &str) -> String {
    if let TextMerge::Merged(text) = merge_with_fallback(ancestors, local, remote) {
        return text;
    }
    let blocks = blocks(ancestors, local, remote);
    join(&blocks, local, remote, BlockClash::both)
        .unwrap_or_else(|_| format!("{}\n{remote}", local.trim_end_matches('\n')))
}

/// Cuts two texts into blocks of units. Without an ancestor, every difference is a clash.
fn by_unit(ancestor: Option<&str>, local: &str, remote: &str) -> Vec<Block> {
    let base = ancestor.unwrap_or(local);
    let Units {
        interner,
        texts: [tokens, mine, theirs],
        blank,
    } = Units::of([base, local, remote]);
    let in_lines = [base, local, remote].iter().any(|text| text.contains('\n'));
    let known = blank.len();
    let blank = |token: Token| blank[token.0 as usize];
    let text = |units: &[Token]| units.iter().map(|unit| interner[*unit]).collect::<String>();
    let sides = [&mine, &theirs].map(|side| hunks(&tokens, side, known, &blank));
    let (mut blocks, mut at, mut line) = (Vec::new(), 0, 0);
    for stretch in stretches(&sides, &tokens, &blank) {
        let between = text(&tokens[at..stretch.start]);
        line += line_breaks(&between);
        blocks.push(Block::Settled(between));
        let [ours, others] = stretch.renditions(&tokens);
        let (local, remote) = (text(&ours), text(&others));
        let lines = line_breaks(&local);
        let merged = stretch.merged(&tokens).filter(|_| ancestor.is_some());
        blocks.push(if let Some(merged) = merged {
            Block::Settled(text(&merged))
        } else {
            // The local text needs a line break before the remote text if it ends a line, as `a</p>` does, or if no
            // block ends it.
            let next = tokens.get(stretch.end).map(|next| interner[*next]);
            let ends_a_line = next.is_none_or(|next| next.starts_with(['\n', '\r']));
            let unended = |unit: &Token| {
                let unit = interner[*unit];
                !unit.ends_with('\n') && (!unit.ends_with('>') || (in_lines && ends_a_line))
            };
            Block::Clash(BlockClash {
                line,
                base: ancestor.map(|_| text(&tokens[stretch.start..stretch.end])),
                on_lines: ours.last().is_some_and(unended),
                local,
                remote,
            })
        });
        line += lines;
        at = stretch.end;
    }
    blocks.push(Block::Settled(text(&tokens[at..])));
    blocks
}

fn line_breaks(text: &str) -> usize {
    text.matches('\n').count()
}
