//! The simulator's layers L1 and L2: whole engines in made-up worlds.
//!
//! - [`step`]: what can happen, as data, and [`wording`]: as words. [`trace`]: files of it, which are run again.
//! - [`author`], [`faults`]: make traces up; each seed enables a part of all that can happen.
//! - [`world`], [`tree`], [`mirror`], [`kb`], [`people`], [`dashboard`]: the files, the service, and who works on them.
//! - [`files`], [`remote`], [`time`]: the engine's disk, service and clock in such a world. [`folder`]: a real disk.
//!   [`database`]: the state, in memory or real.
//! - [`purse`]: the budget of requests in such a world (I6).
//! - [`run`]: one thread, virtual time; the same trace gives the same run. [`command`], [`cycle`]: one step of it.
//! - [`oracle`]: what has to hold, the invariants I1 to I16; those that are judged at a call are in [`judge`], I8 in
//!   [`births`], I12 in [`held`], I6 in [`purse`], I10 in [`files`]. Only I11 is judged elsewhere, since no world has a token: in
//!   `canary.rs`.
//! - [`relations`]: what has to hold between two runs (I7, I15, L2), and [`isolation`] (I13).
//! - [`shrink`]: makes a failing trace short. [`zoo`]: hunts deliberate defects. [`spent`]: what it costs.
//!
//! L1 runs in memory. L2 runs the same traces on a real folder with a real database, and has to make the same calls
//! and to end with the same files and articles; one in a hundred traces of L1 is run so, too.

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
pub(crate) mod mirror;
pub(crate) mod oracle;
pub(crate) mod people;
mod purse;
pub(crate) mod random;
pub(crate) mod relations;
mod remote;
pub(crate) mod run;
pub(crate) mod shrink;
pub(crate) mod spent;
pub(crate) mod step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_disk;
#[cfg(test)]
mod tests_isolation;
#[cfg(test)]
mod tests_traces;
#[cfg(test)]
mod tests_zoo;
mod time;
pub(crate) mod token;
pub(crate) mod trace;
pub(crate) mod tree;
mod wording;
pub(crate) mod world;
pub(crate) mod zoo;

use author::Author;
use relations::Relation;
use run::{Bench, Ground, Outcome, Source};
use spent::Spent;
use std::time::Duration;
use step::Trace;
use world::Violation;

/// A seed that failed, and the shortest trace that was found for it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The seed.
    pub(crate) seed: u64,
    /// How it was judged.
    pub(crate) relation: Relation,
    /// The short trace.
    pub(crate) trace: Trace,
    /// What it violates.
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

/// What the layer in memory came to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Runs.
    pub(crate) runs: u64,
    /// Cycles in them.
    pub(crate) cycles: u64,
    /// Of these, the ones that compared only what was not as it was.
    pub(crate) sifted: u64,
    /// Runs that were compared with another one.
    pub(crate) compared: u64,
    /// Of these, with one on a real folder.
    pub(crate) on_disk: u64,
    /// The work of a processor, without what those on a real folder took.
    pub(crate) work: Duration,
    /// The work for those on a real folder.
    pub(crate) disk_work: Duration,
    /// Steps in them.
    pub(crate) steps: u64,
    /// What failed.
    pub(crate) failures: Vec<Failure>,
}

impl Tally {
    /// Adds what another thread came to.
    #[cfg_attr(test, expect(dead_code, reason = "the command calls it"))]
    pub(crate) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.cycles += other.cycles;
        self.sifted += other.sifted;
        self.steps += other.steps;
        self.compared += other.compared;
        self.on_disk += other.on_disk;
        self.work += other.work;
        self.disk_work += other.disk_work;
        self.failures.extend(other.failures);
    }
}

/// Runs one seed in memory.
pub(crate) fn seed(bench: &mut Bench, seed: u64) -> Outcome {
    let source = Source::Author(Box::new(Author::new(seed)));
    bench.run(author::setup(seed), source, Ground::Memory)
}

/// Runs seeds in memory. One in a hundred is run again from its trace, and has to be the same, in memory and where it
/// can be on a real folder; three in a hundred are compared with another run, or each is.
pub(crate) fn in_memory(
    bench: &mut Bench,
    seeds: impl Iterator<Item = u64>,
    compare: bool,
    until: &mut dyn FnMut(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    let begin = Spent::now();
    for number in seeds {
        let outcome = seed(bench, number);
        tally.runs += 1;
        tally.cycles += outcome.cycles as u64;
        tally.sifted += outcome.sifted;
        tally.steps += outcome.trace.steps.len() as u64;
        if let Some(failure) = judge(bench, number, &outcome, compare, &mut tally) {
            tally.failures.push(failure);
        }
        if until(&tally) {
            break;
        }
    }
    tally.work = begin.since().saturating_sub(tally.disk_work);
    tally
}

/// Judges a run: in itself, against itself once more, and against another one.
fn judge(
    bench: &mut Bench,
    number: u64,
    outcome: &Outcome,
    compare: bool,
    tally: &mut Tally,
) -> Option<Failure> {
    if let Some(violation) = &outcome.violation {
        let relation = Relation::Alone;
        return Some(made_short(bench, number, relation, outcome, violation));
    }
    let relation = Relation::of(number, compare);
    if relation == Relation::Disk
        && let Some(violation) = again(bench, outcome)
    {
        let relation = Relation::Alone;
        return Some(made_short(bench, number, relation, outcome, &violation));
    }
    let begin = Spent::now();
    let other = relations::other(bench, relation, outcome);
    let violation = other
        .as_ref()
        .and_then(|(first, second)| relations::differ(relation, first, second));
    let failure =
        violation.map(|violation| made_short(bench, number, relation, outcome, &violation));
    tally.compared += u64::from(other.is_some());
    if relation == Relation::Disk {
        tally.on_disk += u64::from(other.is_some());
        tally.disk_work += begin.since();
    }
    failure
}

/// The same trace gives the same run.
fn again(bench: &mut Bench, outcome: &Outcome) -> Option<Violation> {
    let source = Source::Steps(&outcome.trace.steps);
    let second = bench.run(outcome.trace.setup, source, Ground::Memory);
    (second.hash != outcome.hash).then(|| Violation {
        invariant: "replay",
        message: "the same trace gave another run".to_owned(),
    })
}

/// Runs seeds in memory and then on a real folder.
pub(crate) fn on_disks(
    bench: &mut Bench,
    seeds: impl Iterator<Item = u64>,
    until: &mut dyn FnMut(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    for number in seeds {
        on_disk(bench, number, &mut tally);
        if until(&tally) {
            break;
        }
    }
    tally
}

/// Runs a trace in memory and then on a real folder with a real database: both make the same calls, and end with
/// the same files and articles. What cannot be real is judged in memory alone.
fn on_disk(bench: &mut Bench, number: u64, tally: &mut Tally) {
    let outcome = seed(bench, number);
    tally.runs += 1;
    let (relation, violation) = if let Some(violation) = &outcome.violation {
        (Relation::Alone, Some(violation.clone()))
    } else {
        let both = relations::other(bench, Relation::Disk, &outcome);
        tally.on_disk += u64::from(both.is_some());
        let differs = |(first, second)| relations::differ(Relation::Disk, &first, &second);
        (Relation::Disk, both.and_then(differs))
    };
    let failure =
        violation.map(|violation| made_short(bench, number, relation, &outcome, &violation));
    tally.failures.extend(failure);
}

fn made_short(
    bench: &mut Bench,
    seed: u64,
    relation: Relation,
    outcome: &Outcome,
    violation: &Violation,
) -> Failure {
    let (trace, violation) = shrink::shrink(bench, relation, &outcome.trace, violation);
    Failure {
        seed,
        relation,
        trace,
        violation,
    }
}
