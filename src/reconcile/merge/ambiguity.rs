//! Ambiguity of repeated units: is it certain which of them each side changed?
//!
//! Both sides may have removed the same one of several equal units, and the diffs may have found it at different
//! places; the merge would then remove two. Or the sides may have removed two different ones, and the diffs show the
//! same removal; the merge would then remove one. A unit that occurs once in every text is an anchor: its place is
//! certain, and so is the side of it on which a change lies. Therefore: unless both sides made the same changes between
//! two anchors, the merge is ambiguous if both removed, or both added, repeated units there. White space does not
//! count.
//!
//! A moved unit is removed at one place and added at another. If both sides moved a unit, or one side moved a unit that
//! the other side removed, the changes may be apart, and the merge would repeat the unit or bring it back. If one side
//! inserted something beside a unit that the other side moved, it may belong to the unit at its new place.

use super::hunks::Hunk;
use imara_diff::Token;
use std::collections::{HashMap, HashSet};

/// The number of occurrences of each unit in the base, the local and the remote text.
pub(super) struct Counts(Vec<[u32; 3]>);

impl Counts {
    pub(super) fn of(texts: &[Vec<Token>; 3], known: u32) -> Self {
        let mut counts = vec![[0; 3]; known as usize];
        for (at, text) in texts.iter().enumerate() {
            for token in text {
                counts[token.0 as usize][at] += 1;
            }
        }
        Self(counts)
    }

    /// Returns the number of distinct units.
    pub(super) fn known(&self) -> usize {
        self.0.len()
    }

    fn get(&self, token: Token) -> [u32; 3] {
        self.0[token.0 as usize]
    }
}

/// Returns whether a merge repeats a unit that both sides moved or added, or brings back a unit that one side removed.
/// Both sides may add the same tags, as for two lists.
pub(super) fn repeats_or_revives(
    merged: &[Token],
    counts: &Counts,
    blank: &impl Fn(Token) -> bool,
    is_bare: &impl Fn(Token) -> bool,
) -> bool {
    let mut found: HashMap<Token, u32> = HashMap::new();
    for token in merged {
        *found.entry(*token).or_default() += 1;
    }
    let is_wrong = |(token, count): (Token, u32)| match counts.get(token) {
        [0, local, remote] => {
            local > 0 && remote > 0 && count > local.max(remote) && !is_bare(token)
        }
        [1, local, remote] => count + 1 != local + remote && [local, remote] != [count; 2],
        _ => false,
    };
    found
        .into_iter()
        .any(|(token, count)| !blank(token) && is_wrong((token, count)))
}

/// A change of one unit: the number of anchors before it, the unit, and whether the unit was added.
type UnitChange = (usize, Token, bool);

/// One side's changes, each with its places in the base.
type UnitChanges = HashMap<UnitChange, Vec<usize>>;

/// Returns whether it is ambiguous which units the two sides changed.
pub(super) fn exists(
    base: &[Token],
    sides: [&[Hunk<'_>]; 2],
    counts: &Counts,
    blank: &impl Fn(Token) -> bool,
) -> bool {
    if inserts_beside_moved(base, sides, counts, blank) {
        return true;
    }
    let anchors = anchors_before(base, sides, counts);
    let [mine, theirs] = sides.map(|hunks| places(base, hunks, &anchors, blank));
    if mine.is_empty() || theirs.is_empty() {
        return false;
    }
    let differs = |one: &UnitChanges, other: &UnitChanges| -> Vec<usize> {
        let differing = one
            .iter()
            .filter(|(change, places)| other.get(change) != Some(places));
        differing.map(|((between, ..), _)| *between).collect()
    };
    // The stretches between anchors in which the two sides made different changes.
    let mut different: HashSet<usize> = differs(&mine, &theirs).into_iter().collect();
    different.extend(differs(&theirs, &mine));
    mine.iter().any(|(change, place)| {
        let &(between, token, added) = change;
        let certain = match counts.get(token) {
            [0, 1, 1] => added,
            [1, ..] => !added,
            _ => false,
        };
        theirs
            .get(change)
            .is_some_and(|other| place != other || (!certain && different.contains(&between)))
    })
}

/// Returns whether one side inserted something beside a unit that the other side moved.
fn inserts_beside_moved(
    base: &[Token],
    sides: [&[Hunk<'_>]; 2],
    counts: &Counts,
    blank: &impl Fn(Token) -> bool,
) -> bool {
    let moves = |hunk: &Hunk<'_>, side: usize| {
        let mut removed = base[hunk.start..hunk.end].iter();
        removed.any(|&token| {
            !blank(token) && !hunk.new.contains(&token) && counts.get(token)[side] > 0
        })
    };
    [(0, 1), (1, 0)].into_iter().any(|(one, other)| {
        let mut moving = sides[other].iter().filter(|hunk| moves(hunk, other + 1));
        moving.any(|moved| {
            let mut hunks = sides[one].iter();
            hunks.any(|hunk| hunk.inserts_beside(moved, base, blank))
        })
    })
}

/// Counts, for every place in the base, the anchors before it: unchanged units that occur once.
fn anchors_before(base: &[Token], sides: [&[Hunk<'_>]; 2], counts: &Counts) -> Vec<usize> {
    let mut changed = vec![false; base.len()];
    for hunk in sides.into_iter().flatten() {
        changed[hunk.start..hunk.end].fill(true);
    }
    let mut count = 0;
    let mut before = Vec::with_capacity(base.len() + 1);
    before.push(count);
    for (&token, changed) in base.iter().zip(changed) {
        count += usize::from(!changed && counts.get(token) == [1, 1, 1]);
        before.push(count);
    }
    before
}

/// Returns one side's changes, each with its places in the base.
fn places(
    base: &[Token],
    hunks: &[Hunk<'_>],
    anchors: &[usize],
    blank: &impl Fn(Token) -> bool,
) -> UnitChanges {
    let mut places = UnitChanges::new();
    for hunk in hunks {
        let old = base[hunk.start..hunk.end]
            .iter()
            .map(|&token| (token, false));
        let new = hunk.new.iter().map(|&token| (token, true));
        for (offset, (token, added)) in old.enumerate().chain(new.enumerate()) {
            if !blank(token) {
                let change = (anchors[hunk.start], token, added);
                places.entry(change).or_default().push(hunk.start + offset);
            }
        }
    }
    places
}
