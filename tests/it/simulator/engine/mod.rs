//! The simulator's layers L1 and L2: whole engines in made-up worlds.
//!
//! - [`step`]: what can happen, as data. A trace is a list of it, and prints as the test that repeats it.
//! - [`author`], [`faults`]: make traces up; each seed enables a part of all that can happen.
//! - [`world`], [`tree`], [`mirror`], [`kb`], [`people`], [`dashboard`]: the files, the service, and who works on them.
//! - [`files`], [`remote`], [`time`]: the engine's disk, service and clock in such a world. [`folder`]: a real one.
//! - [`purse`]: the budget of requests in such a world (I6).
//! - [`run`]: one thread, virtual time; the same trace gives the same run. [`command`], [`cycle`]: one step of it.
//! - [`oracle`]: what has to hold, the invariants I1 to I16; those that are judged at a call are in [`judge`].
//! - [`relations`]: what has to hold between two runs (I7, I15).
//! - [`shrink`]: makes a failing trace short. [`zoo`]: hunts deliberate defects.
//!
//! L1 runs in memory. L2 runs the same traces on a real folder with a real database, and has to end with the
//! same files and articles.

pub(crate) mod author;
mod command;
mod cycle;
mod dashboard;
mod faults;
mod files;
mod folder;
mod judge;
#[cfg(test)]
mod judged;
pub(crate) mod kb;
pub(crate) mod mirror;
pub(crate) mod oracle;
pub(crate) mod people;
mod purse;
pub(crate) mod random;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod regressions_cut_off;
#[cfg(test)]
mod regressions_identity;
#[cfg(test)]
mod regressions_late;
#[cfg(test)]
mod regressions_rare;
pub(crate) mod relations;
mod remote;
pub(crate) mod run;
pub(crate) mod shrink;
pub(crate) mod step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_disk;
mod time;
pub(crate) mod token;
pub(crate) mod tree;
pub(crate) mod world;
pub(crate) mod zoo;

use author::Author;
use relations::Relation;
use run::{Bench, Ground, Outcome, Source};
use step::{Step, Trace};
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
        writeln!(
            f,
            "seed {}: {} does not hold: {}",
            self.seed, self.violation.invariant, self.violation.message
        )?;
        let name = format!("seed_{}", self.seed);
        f.write_str(&self.trace.code(&name, &self.relation.code()))
    }
}

/// What the layer in memory came to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Runs.
    pub(crate) runs: u64,
    /// Cycles in them.
    pub(crate) cycles: u64,
    /// Runs that were compared with another one.
    pub(crate) compared: u64,
    /// Steps in them.
    pub(crate) steps: u64,
    /// What failed.
    pub(crate) failures: Vec<Failure>,
}

/// Runs one seed in memory.
pub(crate) fn seed(bench: &mut Bench, seed: u64) -> Outcome {
    let source = Source::Author(Box::new(Author::new(seed)));
    bench.run(author::setup(seed), source, Ground::Memory)
}

/// Runs seeds in memory. One in a hundred is run again from its trace, and has to be the same; two in a
/// hundred are compared with another run, or each is.
pub(crate) fn in_memory(
    bench: &mut Bench,
    seeds: impl Iterator<Item = u64>,
    compare: bool,
    until: &mut dyn FnMut(&Tally) -> bool,
) -> Tally {
    let mut tally = Tally::default();
    for number in seeds {
        let outcome = seed(bench, number);
        tally.runs += 1;
        tally.cycles += outcome.cycles as u64;
        tally.steps += outcome.trace.steps.len() as u64;
        let compared = Relation::of(number, compare);
        let (relation, violation) = match (&outcome.violation, compared) {
            (Some(violation), _) => (Relation::Alone, Some(violation.clone())),
            (None, Relation::Alone) => (compared, again(bench, number, &outcome)),
            (None, _) => {
                let other = relations::other(bench, compared, &outcome);
                tally.compared += u64::from(other.is_some());
                let differs = |(first, second)| relations::differ(compared, &first, &second);
                (compared, other.and_then(differs))
            }
        };
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

/// The same trace gives the same run.
fn again(bench: &mut Bench, number: u64, outcome: &Outcome) -> Option<Violation> {
    if !number.is_multiple_of(100) {
        return None;
    }
    let source = Source::Steps(&outcome.trace.steps);
    let second = bench.run(outcome.trace.setup, source, Ground::Memory);
    (second.hash != outcome.hash).then(|| Violation {
        invariant: "replay",
        message: "the same trace gave another run".to_owned(),
    })
}

/// Runs a trace in memory and then on a real folder with a real database: both make the same calls, and end with
/// the same files and articles.
pub(crate) fn on_disk(bench: &mut Bench, number: u64) -> Option<Violation> {
    let (first, second) = in_both(bench, number);
    let Some(second) = second else {
        return first.violation;
    };
    let apart = |message: String| Violation {
        invariant: "L2",
        message,
    };
    second.violation.or_else(|| {
        if first.end != second.end {
            Some(apart(format!(
                "in memory it ended with {:#?}, on the disk with {:#?}",
                first.end, second.end
            )))
        } else if first.hash != second.hash {
            Some(apart("on the disk it took another way".to_owned()))
        } else {
            None
        }
    })
}

/// Runs a trace in memory and, where it holds and can be, on a real folder with a real database.
pub(crate) fn in_both(bench: &mut Bench, number: u64) -> (Outcome, Option<Outcome>) {
    let first = seed(bench, number);
    if first.violation.is_some() || !first.trace.steps.iter().all(can_be_real) {
        return (first, None);
    }
    let root = tempfile::tempdir().expect("a folder");
    let source = Source::Steps(&first.trace.steps);
    let second = bench.run(first.trace.setup, source, Ground::Folder(root.path()));
    (first, Some(second))
}

/// A loss of power and a state that is set back are for memory alone.
fn can_be_real(step: &Step) -> bool {
    !matches!(
        step,
        Step::PowerLoss { .. } | Step::SaveState {} | Step::RestoreState {} | Step::LoseState {}
    )
}
