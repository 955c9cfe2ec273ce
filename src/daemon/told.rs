//! What waits for a person, told once in the log: whoever reads only the log of a service learns of it, and a
//! poll every few minutes does not repeat it.

use super::job::Done;
use crate::engine::report::{Line, Status};
use std::collections::HashSet;

/// What was told.
#[derive(Debug, Default)]
pub(super) struct Told(HashSet<String>);

impl Told {
    /// Tells what is new in the report of a cycle. One that looked at `everything` and ended well says what
    /// still waits; what it does not name is told again when it comes back.
    pub(super) fn tell(&mut self, done: &Done, everything: bool) {
        let found = open(done);
        for line in &found {
            if !self.0.contains(line) {
                tracing::warn!("{line}");
            }
        }
        if everything {
            self.0.clear();
        }
        self.0.extend(found);
    }
}

/// A line for each problem, and one for what is held for the same reason.
fn open(done: &Done) -> Vec<String> {
    let mut lines = Vec::new();
    // What stops every request is told by whoever waits for its end.
    if done.wall.is_none() {
        lines.extend(done.report.problems.iter().map(|problem| {
            let gap = if problem.path.is_empty() { "" } else { ": " };
            format!("{}{gap}{}", problem.path, problem.message)
        }));
    }
    let held = |line: &&Line| line.status == Status::Held;
    let held: Vec<&Line> = done.report.actions.iter().filter(held).collect();
    let like = |one: &&Line, other: &&Line| {
        (one.action, one.side, &one.reason) == (other.action, other.side, &other.reason)
    };
    for run in held.chunk_by(like) {
        let (word, path) = (run[0].action.word(), &run[0].path);
        let more = match run.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason = run[0].reason.as_deref().unwrap_or("waits for a person");
        lines.push(format!("held: {word} {path}{more}: {reason}"));
    }
    lines
}
