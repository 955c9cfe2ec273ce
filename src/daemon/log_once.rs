//! Logs each issue that waits for a person once, so that a poll every few minutes does not repeat it.
//!
//! An issue that disappears and comes back is logged again.

use super::job::CycleOutcome;
use crate::engine::report::{Line, Status};
use std::collections::HashSet;

/// The issues that are in the log.
#[derive(Debug, Default)]
pub(super) struct LogOnce {
    logged: HashSet<String>,
    /// The actions that the last cycle left to the next one.
    left_over: HashSet<String>,
}

impl LogOnce {
    /// Logs the new issues of a cycle. A `complete` cycle looked at everything, so an issue that it does not report
    /// is over.
    pub(super) fn log(&mut self, outcome: &CycleOutcome, complete: bool) {
        let mut found = open_issues(outcome);
        if outcome.outage.is_none() {
            found.extend(self.left_twice(&outcome.report.actions, complete));
        }
        for line in &found {
            if !self.logged.contains(line) {
                tracing::warn!("{line}");
            }
        }
        if complete {
            self.logged.clear();
        }
        self.logged.extend(found);
    }

    /// Returns what two cycles in a row left over for the same reason: it may wait for long. A partial cycle says
    /// nothing about other paths.
    fn left_twice(&mut self, actions: &[Line], complete: bool) -> Vec<String> {
        let left_over = actions.iter().filter(|line| line.status == Status::Skipped);
        let left_over = left_over.filter_map(|line| {
            let (word, path) = (line.action.verb(), &line.path);
            let reason = line.reason.as_deref()?;
            Some(format!("waits: {word} {path}: {reason}"))
        });
        let left_over: HashSet<String> = left_over.collect();
        let mut again: Vec<String> = left_over.intersection(&self.left_over).cloned().collect();
        again.sort();
        if complete {
            self.left_over.clear();
        }
        self.left_over.extend(left_over);
        again
    }
}

/// Returns a line for each problem, and one for each group of held actions with the same reason.
fn open_issues(outcome: &CycleOutcome) -> Vec<String> {
    let mut lines = Vec::new();
    // An outage has log lines of its own.
    if outcome.outage.is_none() {
        lines.extend(outcome.report.problems.iter().map(|problem| {
            let gap = if problem.path.is_empty() { "" } else { ": " };
            format!("{}{gap}{}", problem.path, problem.message)
        }));
    }
    let held = |line: &&Line| line.status == Status::Held;
    let held: Vec<&Line> = outcome.report.actions.iter().filter(held).collect();
    let same_reason = |one: &&Line, other: &&Line| {
        (one.action, one.side, &one.reason) == (other.action, other.side, &other.reason)
    };
    for run in held.chunk_by(same_reason) {
        let (word, path) = (run[0].action.verb(), &run[0].path);
        let more = match run.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason = run[0].reason.as_deref().unwrap_or("waits for a person");
        lines.push(format!("held: {word} {path}{more}: {reason}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::job::OpenItems;
    use crate::engine::report::Report;
    use crate::model::Side;
    use crate::reconcile::plan::Kind;

    fn line(path: &str, status: Status, reason: &str) -> Line {
        Line {
            action: Kind::Update,
            side: Side::Remote,
            path: path.to_owned(),
            id: None,
            fields: Vec::new(),
            status,
            reason: Some(reason.to_owned()),
            rule: None,
        }
    }

    #[test]
    fn held_actions_have_the_words_that_a_sync_prints() {
        let mut report = Report::new(false);
        report.actions = vec![Line {
            action: Kind::CreateCategory,
            ..line("biling", Status::Held, "it is new")
        }];
        let outcome = CycleOutcome {
            report,
            outage: None,
            open_items: OpenItems::default(),
            refused: None,
        };
        assert_eq!(open_issues(&outcome), ["held: create biling: it is new"]);
    }

    #[test]
    fn an_action_that_two_cycles_leave_for_the_same_reason_is_logged() {
        let mut log = LogOnce::default();
        let skipped = |path, reason| line(path, Status::Skipped, reason);
        let nothing = Vec::<String>::new();
        let first = [skipped("a/one.html", "old"), skipped("a/two.html", "old")];
        assert_eq!(log.left_twice(&first, true), nothing);
        // Something else is saved meanwhile.
        let other = [skipped("b/other.html", "old")];
        assert_eq!(log.left_twice(&other, false), nothing);
        let second = [
            skipped("a/one.html", "old"),
            skipped("a/two.html", "changed"),
            line("a/three.html", Status::Done, "old"),
        ];
        let again = log.left_twice(&second, true);
        assert_eq!(again, ["waits: update a/one.html: old"]);
        assert_eq!(log.left_twice(&[], true), nothing);
        assert_eq!(log.left_twice(&second, true), nothing);
    }
}
