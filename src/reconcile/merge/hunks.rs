//! One side's changes against the ancestor, and the relation of two such changes.

use imara_diff::{Algorithm, Diff, NoSliderHeuristic, Token};

/// From this many units on, the histogram algorithm's worst case is felt; Myers' with its bounded
/// search is used instead.
const MANY: usize = 4_000;

/// A run of the ancestor's units and what one side has in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hunk<'a> {
    /// The first unit replaced.
    pub(super) start: usize,
    /// Behind the last unit replaced.
    pub(super) end: usize,
    /// The units that replace the ancestor's.
    pub(super) new: &'a [Token],
    /// Whether there is more than before, so that something was put in.
    grows: bool,
}

/// Lists a side's changes in their order.
///
/// Changes with nothing but white space between them are one: a line's end keeps no two edits apart.
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
    // Without this, equal units removed on both sides are not found at the same place, and a merge
    // removes two of them.
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

impl<'a> Hunk<'a> {
    /// Returns whether this change ends before another one begins. Two that touch are apart, unless
    /// both put something in between.
    pub(super) fn is_before(
        &self,
        other: &Self,
        base: &[Token],
        blank: &impl Fn(Token) -> bool,
    ) -> bool {
        let apart = self.end <= other.start;
        apart && !(self.grows && other.grows && all_blank(&base[self.end..other.start], blank))
    }

    /// Takes off what two overlapping changes have in common at their beginning: `None` when they
    /// differ there, or when units cannot be paired because there are more or fewer than before.
    pub(super) fn split_shared(&mut self, other: &mut Self) -> Option<Self> {
        if !(self.pairs() && other.pairs()) {
            return None;
        }
        let start = self.start.max(other.start);
        let end = self.end.min(other.end);
        if start >= end || self.new_in(start, end) != other.new_in(start, end) {
            return None;
        }
        // The units before the common part belong to one side alone.
        let first = if self.start <= other.start {
            *self
        } else {
            *other
        };
        let shared = Self {
            end,
            new: &first.new[..end - first.start],
            ..first
        };
        self.drop_until(end);
        other.drop_until(end);
        Some(shared)
    }

    /// Returns whether nothing is left of this change.
    pub(super) fn is_spent(&self) -> bool {
        self.start == self.end && self.new.is_empty()
    }

    /// Returns whether each unit has one that replaces it.
    fn pairs(&self) -> bool {
        !self.grows && self.new.len() == self.end - self.start
    }

    fn new_in(&self, start: usize, end: usize) -> &'a [Token] {
        &self.new[start - self.start..end - self.start]
    }

    fn drop_until(&mut self, end: usize) {
        self.new = &self.new[end - self.start..];
        self.start = end;
    }
}

fn all_blank(units: &[Token], blank: &impl Fn(Token) -> bool) -> bool {
    units.iter().all(|&unit| blank(unit))
}

fn widen(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}
