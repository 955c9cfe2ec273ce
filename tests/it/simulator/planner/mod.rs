//! Layer L0: the planner over every world of two articles, and over random worlds of three to eight.
//!
//! [`domain`] says which worlds there are, [`reference`] what may happen in each by the design, [`check`] what
//! has to hold besides, and [`zoo`] whether all that would be noticed. Nothing here has files, requests or
//! clocks.

mod chance;
mod check;
mod domain;

mod reference;
mod run;
mod scene;
mod texts;
mod words;
mod zoo;

pub(crate) use run::{alone, exhaust, random};
pub(crate) use zoo::{DEFECTS, bite};

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

#[test]
fn every_defect_of_the_planner_is_found() {
    let missed: Vec<String> = DEFECTS
        .into_iter()
        .map(bite)
        .filter(|bite| bite.worlds.is_none())
        .map(|bite| bite.to_string())
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
