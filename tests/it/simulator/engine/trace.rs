//! Traces as files: the simulator's findings are in `tests/it/simulator/traces`, one world per file, and `cargo test`
//! replays them.
//!
//! ```text
//! # What world it is.
//! Setup etag=true max_deletes=3
//! Judged Killed after=28
//! Service Post at=alpha/b token=1 shown=true
//! Kill after=0..40
//! 0..3 times Run Sync
//! Ends with alpha/b.html
//! Ends without zq002z
//! ```
//!
//! A line is a step, as [`super::wording`] writes it. `Setup` names the values that are not plain, `Judged` the
//! relation to another run, `Ends` the texts that files and articles must or must not have at the end. A range stands
//! for each of its numbers: the file is run with each of them.

use super::relations::{self, Relation};
use super::run::{Bench, Ground, Outcome, Source};
use super::step::{PLAIN, Trace};
use super::wording::{read, written};
use super::world::Violation;
use std::path::{Path, PathBuf};

/// A run from a file.
pub(crate) struct Recorded<'a> {
    pub(crate) trace: Trace,
    pub(crate) relation: Relation,
    /// The number of each step's line.
    lines: Vec<usize>,
    /// The texts that the end must have (true), or must not have.
    ends: Vec<(bool, &'a str)>,
}

/// A fault in a line of a file.
pub(crate) struct Fault {
    /// The line's number.
    pub(crate) line: usize,
    /// The failed check, and its run.
    pub(crate) message: String,
}

/// Returns the paths of the trace files, by name.
pub(crate) fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/simulator/traces");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

/// Writes a trace as a file.
pub(crate) fn file(trace: &Trace, relation: Relation, world: &str) -> String {
    let mut lines: Vec<String> = world.lines().map(|line| format!("# {line}")).collect();
    if trace.setup != PLAIN {
        lines.push(format!("Setup{}", trace.setup.written()));
    }
    if relation != Relation::Alone {
        lines.push(format!("Judged {}", written(&relation)));
    }
    lines.extend(trace.steps.iter().map(written));
    lines.join("\n") + "\n"
}

/// Replays a file, with each number of its ranges. Returns the number of runs, all of which held.
pub(crate) fn replay(bench: &mut Bench, text: &str) -> Result<usize, Fault> {
    let is_comment = |line: &str| line.starts_with('#');
    let lines = text
        .lines()
        .map(|line| if is_comment(line) { "" } else { line });
    let runs = each(&lines.collect::<Vec<_>>().join("\n"));
    for run in &runs {
        Recorded::parse(run)?.judge(bench)?;
    }
    Ok(runs.len())
}

/// Returns the text with each number of its ranges.
fn each(text: &str) -> Vec<String> {
    let mut ranges = text.split_whitespace().filter_map(|word| {
        let numbers = word.rsplit('=').next()?;
        let (first, end) = numbers.split_once("..")?;
        Some((word, numbers, first.parse().ok()?..end.parse().ok()?))
    });
    let Some((word, numbers, range)) = ranges.next() else {
        return vec![text.to_owned()];
    };
    let with = |number: u16| {
        let one = word.replace(numbers, &number.to_string());
        each(&text.replacen(word, &one, 1))
    };
    range.flat_map(with).collect()
}

impl<'a> Recorded<'a> {
    /// Reads a text without ranges.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Fault> {
        let (setup, steps) = (PLAIN, Vec::new());
        let mut recorded = Self {
            trace: Trace { setup, steps },
            relation: Relation::Alone,
            lines: Vec::new(),
            ends: Vec::new(),
        };
        for (number, line) in (1..).zip(text.lines()) {
            recorded.add(number, line).ok_or_else(|| Fault {
                line: number,
                message: format!("nobody knows what this means: {line}"),
            })?;
        }
        Ok(recorded)
    }

    fn add(&mut self, number: usize, line: &'a str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "#" | "" => {}
            "Setup" => {
                let mut fields = rest.split_whitespace();
                fields.try_for_each(|field| self.trace.setup.set(field))?;
            }
            "Judged" => self.relation = read(rest)?,
            "Ends" => {
                let with = rest.strip_prefix("with ").map(|text| (true, text));
                let without = rest.strip_prefix("without ").map(|text| (false, text));
                self.ends.push(with.or(without)?);
            }
            _ => {
                let (times, step) = line.split_once(" times ").unwrap_or(("1", line));
                let step = read(step)?;
                for _ in 0..times.parse().ok()? {
                    self.trace.steps.push(step);
                    self.lines.push(number);
                }
            }
        }
        Some(())
    }

    fn judge(&self, bench: &mut Bench) -> Result<(), Fault> {
        let first = self.run(bench);
        let both = relations::other(bench, self.relation, &first);
        let differ = |(first, second)| relations::differ(self.relation, &first, &second);
        let violation = first.violation.clone().or_else(|| both.and_then(differ));
        let told = |violation: Violation| format!("{}: {}", violation.invariant, violation.message);
        let Some(message) = violation.map(told).or_else(|| self.unlike(&first)) else {
            return Ok(());
        };
        let mut lines = self.lines.iter().take(first.trace.steps.len());
        bench.talk = true;
        let log = self.run(bench).log.join("\n");
        bench.talk = false;
        let run = file(&first.trace, self.relation, "");
        Err(Fault {
            line: lines.next_back().copied().unwrap_or_default(),
            message: format!("{message}\n{run}What happened:\n{log}"),
        })
    }

    /// Runs the trace in memory.
    pub(crate) fn run(&self, bench: &mut Bench) -> Outcome {
        let source = Source::Steps(&self.trace.steps);
        bench.run(self.trace.setup, source, Ground::Memory)
    }

    /// Returns the first expectation that the end does not meet.
    fn unlike(&self, outcome: &Outcome) -> Option<String> {
        let says = |text: &str| outcome.end.iter().any(|line| line.contains(text));
        let mut unlike = self.ends.iter().filter(|(with, text)| says(text) != *with);
        let (with, text) = unlike.next()?;
        let how = if *with { "without" } else { "with" };
        Some(format!("it ends {how} {text:?}: {:#?}", outcome.end))
    }
}
