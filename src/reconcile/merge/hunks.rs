//! One side's changes against the ancestor, and the stretches in which the changes of both sides meet.

use imara_diff::{Algorithm, Diff, NoSliderHeuristic, Token};

/// The number of units above which Myers' algorithm with its bounded search replaces the histogram algorithm, whose
/// worst case is slow.
const MANY: usize = 4_000;

/// A run of the ancestor's units, and its replacement on one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hunk<'a> {
    /// The first replaced unit.
    pub(super) start: usize,
    /// The end of the replaced units (exclusive).
    pub(super) end: usize,
    /// The units that replace the ancestor's.
    pub(super) new: &'a [Token],
    /// Whether the replacement is longer, which counts as an insertion.
    grows: bool,
}

/// Lists a side's changes in their order.
///
/// Changes separated only by white space are one change: a line end does not keep two edits apart.
pub(super) fn hunks<'a>(
    base: &[Token],
    side: &'a [Token],
    known: usize,
    blank: &impl Fn(Token) -> bool,
) -> Vec<Hunk<'a>> {
    let algorithm = if base.len().max(side.len()) > MANY {
        Algorithm::Myers
    } else {
        Algorithm::Histogram
    };
    let mut diff = Diff::default();
    let known = u32::try_from(known).unwrap_or(u32::MAX);
    diff.compute_with(algorithm, base, side, known);
    // Without this step, the diffs may place the removal of equal units differently on the two sides, and a merge would
    // remove two of them.
    diff.postprocess_with(base, side, NoSliderHeuristic);

    let mut ranges: Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> = Vec::new();
    for hunk in diff.hunks() {
        let (old, new) = (widen(&hunk.before), widen(&hunk.after));
        match ranges.last_mut() {
            Some((before, after)) if all_blank(&base[before.end..old.start], blank) => {
                before.end = old.end;
                after.end = new.end;
            }
            Some(_) | None => ranges.push((old, new)),
        }
    }
    ranges
        .into_iter()
        .map(|(old, new)| {
            let (was, is) = (&base[old.clone()], &side[new]);
            let solid = |units: &[Token]| units.iter().filter(|&&unit| !blank(unit)).count();
            Hunk {
                start: old.start,
                end: old.end,
                new: is,
                grows: is.len() > was.len() || solid(is) > solid(was),
            }
        })
        .collect()
}

impl Hunk<'_> {
    /// Returns whether this change ends before another change begins. Two adjacent changes are apart, unless both
    /// insert something in between.
    pub(super) fn is_before(
        &self,
        other: &Self,
        base: &[Token],
        blank: &impl Fn(Token) -> bool,
    ) -> bool {
        let apart = self.end <= other.start;
        apart && !(self.grows && other.grows && self.touches(other, base, blank))
    }

    /// Returns whether only white space lies between this change and a later one.
    fn touches(&self, later: &Self, base: &[Token], blank: &impl Fn(Token) -> bool) -> bool {
        self.end <= later.start && all_blank(&base[self.end..later.start], blank)
    }

    /// Returns whether this change inserts something beside another one.
    pub(super) fn inserts_beside(
        &self,
        other: &Self,
        base: &[Token],
        blank: &impl Fn(Token) -> bool,
    ) -> bool {
        self.grows && (self.touches(other, base, blank) || other.touches(self, base, blank))
    }
}

/// A stretch of the ancestor in which the changes of both sides are not apart.
pub(super) struct Stretch<'a> {
    /// The first unit.
    pub(super) start: usize,
    /// The end of the units (exclusive).
    pub(super) end: usize,
    sides: [Vec<Hunk<'a>>; 2],
}

impl Stretch<'_> {
    /// Returns the units of both sides for the stretch.
    pub(super) fn renditions(&self, base: &[Token]) -> [Vec<Token>; 2] {
        self.sides.each_ref().map(|hunks| {
            let (mut said, mut at) = (Vec::new(), self.start);
            for hunk in hunks {
                said.extend_from_slice(&base[at..hunk.start]);
                said.extend_from_slice(hunk.new);
                at = hunk.end;
            }
            said.extend_from_slice(&base[at..self.end]);
            said
        })
    }

    /// Returns whether only the second side changed the stretch.
    pub(super) fn is_only_theirs(&self) -> bool {
        self.sides[0].is_empty()
    }

    /// Returns whether both sides made the same change.
    pub(super) fn is_agreed(&self, base: &[Token]) -> bool {
        let [ours, others] = self.renditions(base);
        self.sides.iter().all(|side| !side.is_empty()) && ours == others
    }

    /// Returns the units with both sides' changes: those of the only changed side, or equal changes of both sides.
    /// `None`: the sides clash.
    pub(super) fn merged(&self, base: &[Token]) -> Option<Vec<Token>> {
        let [ours, others] = self.renditions(base);
        match &self.sides {
            [_, theirs] if theirs.is_empty() || ours == others => Some(ours),
            [mine, _] if mine.is_empty() => Some(others),
            _ => None,
        }
    }
}

/// Cuts the ancestor into stretches where both sides' changes are apart. No stretch overlaps the next one.
pub(super) fn stretches<'a>(
    sides: &[Vec<Hunk<'a>>; 2],
    base: &[Token],
    blank: &impl Fn(Token) -> bool,
) -> Vec<Stretch<'a>> {
    let mut stretches = Vec::new();
    let mut heads = [0, 0];
    loop {
        let next = [0, 1].map(|side| sides[side].get(heads[side]));
        // An insertion comes before a change that begins at the same place.
        let first = match next.map(|hunk| hunk.map(|hunk| (hunk.start, hunk.end))) {
            [None, None] => return stretches,
            [Some(mine), Some(theirs)] => usize::from(theirs < mine),
            [mine, _] => usize::from(mine.is_none()),
        };
        let mut stretch = Stretch {
            start: sides[first][heads[first]].start,
            end: 0,
            sides: [Vec::new(), Vec::new()],
        };
        let mut next = Some(first);
        while let Some(side) = next {
            let hunk = sides[side][heads[side]];
            stretch.sides[side].push(hunk);
            stretch.end = stretch.end.max(hunk.end);
            heads[side] += 1;
            next = [0, 1].into_iter().find(|&side| {
                let other = &stretch.sides[1 - side];
                sides[side].get(heads[side]).is_some_and(|hunk| {
                    // A change that begins inside the stretch belongs to the stretch: stretches do not overlap.
                    hunk.start < stretch.end
                        || other.iter().any(|known: &Hunk<'_>| {
                            !known.is_before(hunk, base, blank)
                                && !hunk.is_before(known, base, blank)
                        })
                })
            });
        }
        stretches.push(stretch);
    }
}

fn all_blank(units: &[Token], blank: &impl Fn(Token) -> bool) -> bool {
    units.iter().all(|&unit| blank(unit))
}

fn widen(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}
