//! Logs each issue that waits for a person once, so that a poll every few minutes does not repeat it.
//!
//! An issue that disappears and comes back is logged again.

use super::job::CycleOutcome;
use crate::engine::report::{Line, Status};
use crate::model::{ArticleId, Side};
use crate::reconcile::plan::Kind;
use std::collections::HashSet;

/// The issues that are in the log.
#[derive(Debug, Default)]
pub(super) struct LogOnce {
    logged: HashSet<Issue>,
    /// The actions that the last cycle left to the next one.
    left_over: HashSet<Issue>,
}

/// A problem, or an action that waits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Issue {
    /// `held`, `waits`, or the words of a problem.
    message: String,
    action: Option<(Kind, Side)>,
    path: String,
    id: Option<ArticleId>,
    reason: Option<String>,
    /// The number of further actions with the same reason.
    more: usize,
}

impl Issue {
    fn of(line: &Line, message: &str, more: usize) -> Self {
        Self {
            message: message.to_owned(),
            action: Some((line.action, line.side)),
            path: line.path.clone(),
            id: line.id,
            reason: line.reason.clone(),
            more,
        }
    }

    fn log(&self) {
        tracing::warn!(
            action = self.action.map(|(kind, _)| kind.word()),
            side = self.action.map(|(_, side)| side.word()),
            path = (!self.path.is_empty()).then_some(&self.path),
            id = self.id.map(tracing::field::display),
            reason = self.reason,
            more = (self.more > 0).then_some(self.more),
            "{}",
            self.message
        );
    }
}

impl LogOnce {
    /// Logs the new issues of a cycle. A `complete` cycle looked at everything, so an issue that it does not report
    /// is over.
    pub(super) fn log(&mut self, outcome: &CycleOutcome, complete: bool) {
        let mut found = open_issues(outcome);
        if outcome.outage.is_none() {
            found.extend(self.left_twice(&outcome.report.actions, complete));
        }
        for issue in &found {
            if !self.logged.contains(issue) {
                issue.log();
            }
        }
        if complete {
            self.logged.clear();
        }
        self.logged.extend(found);
    }

    /// Returns what two cycles in a row left over for the same reason: it may wait for long. A partial cycle says
    /// nothing about other paths.
    fn left_twice(&mut self, actions: &[Line], complete: bool) -> Vec<Issue> {
        let left_over = actions
            .iter()
            .filter(|line| line.status == Status::Skipped && line.reason.is_some());
        let left_over: HashSet<Issue> = left_over.map(|line| Issue::of(line, "waits", 0)).collect();
        let mut again: Vec<Issue> = left_over.intersection(&self.left_over).cloned().collect();
        again.sort();
        if complete {
            self.left_over.clear();
        }
        self.left_over.extend(left_over);
        again
    }
}

/// Returns each problem, and the first of each group of held actions with the same reason.
fn open_issues(outcome: &CycleOutcome) -> Vec<Issue> {
    let mut issues = Vec::new();
    // An outage has log lines of its own.
    if outcome.outage.is_none() {
        issues.extend(outcome.report.problems.iter().map(|problem| Issue {
            message: problem.message.clone(),
            action: None,
            path: problem.path.clone(),
            id: problem.id,
            reason: None,
            more: 0,
        }));
    }
    let held = |line: &&Line| line.status == Status::Held;
    let held: Vec<&Line> = outcome.report.actions.iter().filter(held).collect();
    let same_reason = |one: &&Line, other: &&Line| {
        (one.action, one.side, &one.reason) == (other.action, other.side, &other.reason)
    };
    let groups = held.chunk_by(same_reason);
    issues.extend(groups.map(|run| Issue::of(run[0], "held", run.len() - 1)));
    issues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::job::OpenItems;
    use crate::engine::report::Report;

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
    fn of_held_actions_with_one_reason_the_first_is_logged() {
        let mut report = Report::new(false);
        let held = ["biling", "bilings"].map(|path| Line {
            action: Kind::CreateCategory,
            ..line(path, Status::Held, "it is new")
        });
        report.actions = held.to_vec();
        let outcome = CycleOutcome {
            report,
            outage: None,
            open_items: OpenItems::default(),
            refused: None,
        };
        assert_eq!(open_issues(&outcome), [Issue::of(&held[0], "held", 1)]);
    }

    #[test]
    fn an_action_that_two_cycles_leave_for_the_same_reason_is_logged() {
        let mut log = LogOnce::default();
        let skipped = |path, reason| line(path, Status::Skipped, reason);
        let nothing = Vec::<Issue>::new();
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
        assert_eq!(again, [Issue::of(&second[0], "waits", 0)]);
        assert_eq!(log.left_twice(&[], true), nothing);
        assert_eq!(log.left_twice(&second, true), nothing);
    }
}
