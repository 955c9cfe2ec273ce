//! Layer L0: the planner over every world of two articles, and over random worlds of three to eight.
//!
//! [`domain`] enumerates the worlds, [`reference`] has the answers that the rules allow in each, [`check`] has the
//! other checks. Nothing here has files, requests or clocks.

mod answers;
mod carry;
mod chance;
mod check;
mod domain;
mod layout;
mod reference;
mod run;
mod scene;
mod states;
mod subject;
mod texts;
mod words;

use run::{alone, exhaust, random};
use std::fmt::Display;

/// The largest number of random worlds after the enumerated worlds.
const RANDOM: u64 = 100_000;

/// Checks all worlds, or an even slice, and reports the results line by line; returns whether all were green.
#[cfg_attr(test, expect(dead_code, reason = "the command calls it"))]
pub(crate) fn show(limit: u64, seed: u64, say: &mut dyn FnMut(&dyn Display)) -> bool {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut green = true;
    let mut told = 0;
    let mut tell = |outcome: run::Outcome, say: &mut dyn FnMut(&dyn Display)| {
        green &= outcome.failed == 0;
        say(&outcome);
    };
    tell(alone(), say);
    let two = exhaust(threads, limit, &mut |worlds| {
        if worlds / MILLION > told {
            told = worlds / MILLION;
            say(&format_args!("{told} million worlds so far"));
        }
    });
    tell(two, say);
    tell(random(seed, RANDOM.min(limit)), say);
    green
}

const MILLION: u64 = 1_000_000;

/// The largest number of worlds that are tried for a planted defect.
const SLICE: u64 = 100_000;

/// Returns the number of worlds until one fails; `None`: no world of a slice fails.
#[cfg_attr(test, expect(dead_code, reason = "the command calls it"))]
pub(crate) fn worlds_until_failure() -> Option<u64> {
    let found = run::until_failure(SLICE);
    (found.failed > 0).then_some(found.worlds)
}

#[test]
fn every_world_of_one_article() {
    let outcome = alone();
    assert_eq!(outcome.failed, 0, "{outcome}");
    assert!(outcome.worlds > 30_000, "{outcome}");
}

#[test]
fn a_slice_of_all_worlds_of_two_articles() {
    let outcome = exhaust(1, 12_000, &mut |_| ());
    assert_eq!(outcome.failed, 0, "{outcome}");
    assert!(outcome.worlds > 10_000, "{outcome}");
}

#[test]
fn random_worlds_of_more_articles() {
    for seed in 1..=3 {
        let outcome = random(seed, 700);
        assert_eq!(outcome.failed, 0, "seed {seed}: {outcome}");
    }
}
