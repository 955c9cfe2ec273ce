//! The simulator's layers L1 and L2: whole engines in made-up worlds.
//!
//! - [`step`]: all possible steps, as data, and [`wording`]: as words. [`trace`]: files of steps, which are replayed.
//! - [`author`], [`faults`]: make up traces; each seed enables a part of all steps.
//! - [`world`], [`tree`], [`mirror`], [`kb`], [`people`], [`dashboard`]: the files, the service, and the people who
//!   work on them.
//! - [`files`], [`remote`], [`time`]: the engine's disk, service and clock in such a world. [`folder`]: a real disk.
//!   [`database`]: the state, in memory or real.
//! - [`purse`]: the budget of requests in such a world (I6).
//! - [`run`]: one thread, virtual time; the same trace gives the same run. [`command`], [`cycle`]: one step of it.
//! - [`oracle`]: the invariants I1 to I16. Checks at a call are in [`judge`], I8 in [`births`], I12 in [`held`], I6 in
//!   [`purse`], I10 in [`files`]. Only I11 is checked elsewhere, in `canary.rs`, because no world has a token.
//!   [`leaving`]: the exceptions of the journal after a death.
//! - [`relations`]: the relations between two runs (I7, I15, L2), and [`isolation`] (I13).
//! - [`shrink`]: shortens a failing trace. [`zoo`]: hunts planted defects.
//!
//! L1 runs in memory. L2 runs the same traces on a real folder with a real database, and must make the same calls and
//! end with the same files and articles; one in a hundred traces of L1 also runs on a real folder.

pub(crate) mod author;
mod births;
mod command;
mod cycle;
mod dashboard;
mod database;
mod faults;
mod files;
mod folder;
mod held;
mod hidden;
mod isolation;
mod judge;
#[cfg(test)]
mod judged;
#[cfg(test)]
mod judged_deaths;
#[cfg(test)]
mod judged_held;
#[cfg(test)]
mod judged_hidden;
#[cfg(test)]
mod judged_places;
#[cfg(test)]
mod judged_sides;
#[cfg(test)]
mod judged_states;
pub(crate) mod kb;
mod leaving;
pub(crate) mod mirror;
pub(crate) mod oracle;
pub(crate) mod people;
mod purse;
pub(crate) mod random;
pub(crate) mod relations;
mod remote;
pub(crate) mod run;
pub(crate) mod shrink;
pub(crate) mod step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_disk;
#[cfg(test)]
mod tests_isolation;
#[cfg(test)]
mod tests_traces;
mod time;
pub(crate) mod token;
pub(crate) mod trace;
pub(crate) mod tree;
mod wording;
pub(crate) mod world;
#[cfg(not(test))]
pub(crate) mod zoo;

use author::Author;
use relations::{Compare, Relation};
use run::{Bench, Ground, Outcome, Source};
use step::Trace;
use world::Violation;

/// A seed that failed, and the shortest trace that was found for it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The seed.
    pub(crate) seed: u64,
    /// The relation by which the run was judged.
    pub(crate) relation: Relation,
    /// The short trace.
    pub(crate) trace: Trace,
    /// The violation.
    pub(crate) violation: Violation,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let world = format!(
            "seed {}: {} does not hold: {}",
            self.seed, self.violation.invariant, self.violation.message
        );
        f.write_str(&trace::file(&self.trace, self.relation, &world))
    }
}

/// The result of some runs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The number of runs.
    pub(crate) runs: u64,
    /// The number of cycles in the runs.
    pub(crate) cycles: u64,
    /// The number of cycles that compared only changed articles.
    pub(crate) incremental: u64,
    /// The number of runs that were compared with another run.
    pub(crate) compared: u64,
    /// The number of these runs that were compared with a run on a real folder.
    pub(crate) on_disk: u64,
    /// The number of steps in the runs.
    pub(crate) steps: u64,
    /// The failed seeds.
    pub(crate) failures: Vec<Failure>,
}

impl Tally {
    /// Adds the result of another thread.
    #[cfg_attr(test, expect(dead_code, reason = "the command calls it"))]
    pub(crate) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.cycles += other.cycles;
        self.incremental += other.incremental;
        self.steps += other.steps;
        self.compared += other.compared;
        self.on_disk += other.on_disk;
        self.failures.extend(other.failures);
    }
}

/// Runs one seed in memory.
pub(crate) fn seed(bench: &mut Bench, seed: u64) -> Outcome {
    let source = Source::Author(Box::new(Author::new(seed)));
    bench.run(author::setup(seed), source, Ground::Memory)
}

/// Runs seeds in memory. One in a hundred, or each that can be, is compared with a run on a real folder; such a run is
/// also replayed from its trace, and must be the same.
pub(crate) fn seeds(
    bench: &mut Bench,
    numbers: impl Iterator<Item = u64>,
    compare: Compare,
    until: &mut dyn FnMut(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    for number in numbers {
        let outcome = seed(bench, number);
        tally.runs += 1;
        tally.cycles += outcome.cycles as u64;
        tally.incremental += outcome.incremental;
        tally.steps += outcome.trace.steps.len() as u64;
        let (relation, violation) = judge(bench, number, &outcome, compare, &mut tally);
        if let Some(violation) = violation {
            let (trace, violation) = shrink::shrink(bench, relation, &outcome.trace, &violation);
            tally.failures.push(Failure {
                seed: number,
                relation,
                trace,
                violation,
            });
        }
        if until(&tally) {
            break;
        }
    }
    tally
}

/// Judges a run: by itself, against a replay, and against another run.
fn judge(
    bench: &mut Bench,
    number: u64,
    outcome: &Outcome,
    compare: Compare,
    tally: &mut Tally,
) -> (Relation, Option<Violation>) {
    let relation = Relation::of(number, compare);
    let mut violation = outcome.violation.clone();
    if violation.is_none() && relation == Relation::Disk {
        violation = again(bench, outcome);
    }
    if violation.is_some() {
        return (Relation::Alone, violation);
    }
    let other = relations::other(bench, relation, outcome);
    tally.compared += u64::from(other.is_some());
    tally.on_disk += u64::from(other.is_some() && relation == Relation::Disk);
    let differ = |(first, second)| relations::differ(relation, &first, &second);
    (relation, other.and_then(differ))
}

/// Checks that the same trace gives the same run.
fn again(bench: &mut Bench, outcome: &Outcome) -> Option<Violation> {
    let source = Source::Steps(&outcome.trace.steps);
    let second = bench.run(outcome.trace.setup, source, Ground::Memory);
    (second.hash != outcome.hash).then(|| Violation {
        invariant: "replay",
        message: "the same trace gave another run".to_owned(),
    })
}
