//! The bug zoo: every planted defect has to be found, and shown by a short trace.

use super::relations::Relation;
use super::run::{Bench, Ground, Source};
use super::shrink::shrink;
use super::step::Trace;
use super::trace;
use super::world::Violation;
use crate::simulator::planner;
use crate::simulator::planted::Defect;
use kbsync::drill::defect::let_in;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of runs of whole engines for a defect that the planner's layer finds.
const ENOUGH: u64 = 2_000;

/// The result of the hunt for one defect.
#[derive(Debug)]
pub(crate) struct Catch {
    /// The defect.
    pub(crate) defect: Defect,
    /// The number of runs of random worlds until the defect was found.
    pub(crate) runs: Option<u64>,
    /// The trace file that finds the defect, if no random world did.
    pub(crate) file: Option<String>,
    /// The short trace, and its violation.
    pub(crate) trace: Option<(Trace, Violation)>,
    /// The number of worlds until the planner's own layer found the defect.
    pub(crate) worlds: Option<u64>,
}

impl Catch {
    /// Returns whether either layer found the defect.
    pub(crate) fn is_caught(&self) -> bool {
        self.runs.is_some() || self.file.is_some() || self.worlds.is_some()
    }
}

/// Hunts one defect in both layers, with at most so many random worlds of whole engines, and then with the trace files.
/// A defect that the planner's layer finds is hunted for a short time only in the other layer.
fn hunt(bench: &mut Bench, defect: &Defect, limit: u64) -> Catch {
    let name = Some(defect.name.as_str());
    let mut found = Catch {
        defect: defect.clone(),
        runs: None,
        file: None,
        trace: None,
        worlds: None,
    };
    if defect.is_planned {
        let_in(name);
        found.worlds = planner::worlds_until_failure();
        let_in(None);
    }
    let limit = found.worlds.map_or(limit, |_| limit.min(ENOUGH));
    for seed in 1..=limit {
        let_in(name);
        let outcome = super::seed(bench, seed);
        let_in(None);
        let Some(violation) = outcome.violation else {
            continue;
        };
        let source = Source::Steps(&outcome.trace.steps);
        let without = bench.run(outcome.trace.setup, source, Ground::Memory);
        if without.violation.is_some() {
            // The trace fails without the defect as well, so it proves nothing.
            continue;
        }
        found.runs = Some(seed);
        let_in(name);
        found.trace = Some(shrink(bench, Relation::Alone, &outcome.trace, &violation));
        let_in(None);
        break;
    }
    if !found.is_caught() {
        let_in(name);
        let mut files = trace::files().into_iter();
        let fails = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).expect("a text");
            trace::replay(bench, &text).is_err()
        };
        let file = files.find(fails);
        found.file = file.map(|path| {
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        });
        let_in(None);
    }
    found
}

/// Hunts defects, two at a time.
pub(crate) fn hunt_all(
    defects: &[Defect],
    limit: u64,
    told: &(dyn Fn(&Catch) + Sync),
) -> Vec<Catch> {
    let next = AtomicUsize::new(0);
    let hunter = || {
        let mut bench = Bench::new();
        let mut catches = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(defect) = defects.get(index) else {
                return catches;
            };
            let found = hunt(&mut bench, defect, limit);
            told(&found);
            catches.push((index, found));
        }
    };
    let mut catches: Vec<(usize, Catch)> = std::thread::scope(|scope| {
        let hunters = [scope.spawn(hunter), scope.spawn(hunter)];
        let catches = hunters.into_iter().map(std::thread::ScopedJoinHandle::join);
        catches
            .flat_map(|catches| catches.expect("no hunt panics"))
            .collect()
    });
    catches.sort_by_key(|(index, _)| *index);
    catches.into_iter().map(|(_, found)| found).collect()
}

/// Returns the median number of steps of the short traces.
fn median(catches: &[Catch]) -> usize {
    let mut steps: Vec<usize> = catches
        .iter()
        .filter_map(|found| Some(found.trace.as_ref()?.0.steps.len()))
        .collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or_default()
}

/// Returns the table in Markdown.
pub(crate) fn table(catches: &[Catch]) -> String {
    let caught = catches.iter().filter(|found| found.is_caught()).count();
    let mut text = format!(
        "# The bug zoo\n\n\
         Each line is a defect that a patch in `tests/zoo` plants in a copy of the program: the row of the list of \
         failures that it stands for, how many random runs of whole engines (L1) it took to find it, or the trace in \
         `tests/it/simulator/traces` that finds it, the invariant that it violates, the steps of the shortest trace, and how many worlds of the planner alone (L0). Made by `cargo run --release --example simulate -- --zoo`.\n\n\
         {caught} of {} are found; the median trace has {} steps.\n\n\
         | defect | row | what is wrong | L1 runs | invariant | steps | L0 worlds |\n|---|---|---|---|---|---|---|\n",
        catches.len(),
        median(catches)
    );
    for found in catches {
        let runs = found.runs.map(|runs| runs.to_string());
        let runs = runs.or(found.file.clone()).unwrap_or_default();
        let worlds = match (found.worlds, found.is_caught()) {
            (Some(worlds), _) => worlds.to_string(),
            (None, true) => String::new(),
            (None, false) => "not found".to_owned(),
        };
        let (invariant, steps) = found.trace.as_ref().map_or_else(
            || ("", String::new()),
            |(trace, violation)| (violation.invariant, trace.steps.len().to_string()),
        );
        let Defect {
            name, row, words, ..
        } = &found.defect;
        let written = writeln!(
            text,
            "| {name} | {row} | {words} | {runs} | {invariant} | {steps} | {worlds} |"
        );
        written.expect("a string takes everything");
    }
    text
}
