//! The bug zoo: every deliberate defect has to be found, and told by a short trace.

use super::run::{Bench, Ground, Source};
use super::shrink::shrink;
use super::step::Trace;
use super::world::Violation;
use kbsync::drill::defect::{self, Defect};
use std::fmt::Write as _;

/// What became of one defect.
#[derive(Debug)]
pub(crate) struct Catch {
    /// The defect.
    pub(crate) defect: Defect,
    /// Runs until it was found; `None`: it was not.
    pub(crate) runs: Option<u64>,
    /// The short trace, and what it violates.
    pub(crate) trace: Option<(Trace, Violation)>,
    /// Whether the trace violates anything without the defect.
    pub(crate) false_alarm: bool,
}

/// Hunts one defect, for at most so many runs.
pub(crate) fn hunt(bench: &mut Bench, defect: Defect, limit: u64) -> Catch {
    let mut found = Catch {
        defect,
        runs: None,
        trace: None,
        false_alarm: false,
    };
    for seed in 1..=limit {
        defect::let_in(Some(defect));
        let outcome = super::seed(bench, seed);
        defect::let_in(None);
        let Some(violation) = outcome.violation else {
            continue;
        };
        let source = Source::Steps(&outcome.trace.steps);
        let without = bench.run(outcome.trace.setup, source, Ground::Memory);
        if without.violation.is_some() {
            // It says nothing of the defect.
            found.false_alarm = true;
            continue;
        }
        found.runs = Some(seed);
        defect::let_in(Some(defect));
        found.trace = Some(shrink(bench, &outcome.trace, &violation));
        defect::let_in(None);
        break;
    }
    found
}

/// Hunts all of them.
pub(crate) fn hunt_all(limit: u64, told: &mut dyn FnMut(&Catch)) -> Vec<Catch> {
    let mut bench = Bench::new();
    let mut catches = Vec::new();
    for &defect in Defect::ALL {
        let found = hunt(&mut bench, defect, limit);
        told(&found);
        catches.push(found);
    }
    catches
}

/// The steps of the short traces, the middle one of all.
fn median(catches: &[Catch]) -> usize {
    let mut steps: Vec<usize> = catches
        .iter()
        .filter_map(|found| Some(found.trace.as_ref()?.0.steps.len()))
        .collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or_default()
}

/// The table, in Markdown.
pub(crate) fn table(catches: &[Catch]) -> String {
    let caught = catches.iter().filter(|found| found.runs.is_some()).count();
    let mut text = format!(
        "# The bug zoo\n\n\
         Each line is a defect that is planted in the program on purpose (`src/drill/defect.rs`), the row of the \
         list of failures that it stands for, the run of the simulator that found it, the invariant that it \
         violates, and the steps of the shortest trace. Made by `cargo run --release --example simulate -- --zoo`.\n\n\
         {caught} of {} are found; the median trace has {} steps.\n\n\
         | defect | row | what is wrong | runs | invariant | steps |\n|---|---|---|---|---|---|\n",
        catches.len(),
        median(catches)
    );
    for found in catches {
        let runs = found
            .runs
            .map_or_else(|| "not found".to_owned(), |runs| runs.to_string());
        let (invariant, steps) = found.trace.as_ref().map_or_else(
            || ("", String::new()),
            |(trace, violation)| (violation.invariant, trace.steps.len().to_string()),
        );
        let written = writeln!(
            text,
            "| {:?} | {} | {} | {runs} | {invariant} | {steps} |",
            found.defect,
            found.defect.row(),
            found.defect.words()
        );
        written.expect("a string takes everything");
    }
    text
}
