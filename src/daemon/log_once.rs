//! Logs each issue that waits for a person once, so that a poll every few minutes does not repeat it.
//!
//! An issue that disappears and comes back is logged again.

use super::job::CycleOutcome;
use crate::engine::reasons::{common_reason, in_groups};
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
    /// `held`, `waits`, or the message of a problem.
    message: String,
    action: Option<(Kind, Side)>,
    path: String,
    id: Option<ArticleId>,
    reason: Option<String>,
}

impl Issue {
    fn of(line: &Line, message: &str) -> Self {
        Self {
            message: message.to_owned(),
            action: Some((line.action, line.side)),
            path: line.path.clone(),
            id: line.id,
            reason: line.reason.clone(),
        }
    }

    /// `more`: the number of further actions with the same reason.
    fn log(&self, more: usize) {
        tracing::warn!(
            action = self.action.map(|(kind, _)| kind.word()),
            side = self.action.map(|(_, side)| side.word()),
            path = (!self.path.is_empty()).then_some(&self.path),
            id = self.id.map(tracing::field::display),
            reason = self.reason,
            more = (more > 0).then_some(more),
            "{}",
            self.message
        );
    }
}

impl LogOnce {
    /// Logs the new issues of a cycle. A `complete` cycle looked at everything, so an issue that is not reported is
    /// over.
    pub(super) fn log(&mut self, outcome: &CycleOutcome, complete: bool) {
        let mut found = open_issues(outcome);
        if outcome.outage.is_none() {
            let left = self.left_twice(&outcome.report.actions, complete);
            found.extend(left.into_iter().map(|issue| (issue, 0)));
        }
        for (issue, more) in &found {
            if !self.logged.contains(issue) {
                issue.log(*more);
            }
        }
        if complete {
            self.logged.clear();
        }
        self.logged
            .extend(found.into_iter().map(|(issue, _)| issue));
    }

    /// Returns the actions that two cycles in a row left over for the same reason: such actions may wait for long. A
    /// partial cycle says nothing about other paths.
    fn left_twice(&mut self, actions: &[Line], complete: bool) -> Vec<Issue> {
        let left_over = actions
            .iter()
            .filter(|line| line.status == Status::Skipped && line.reason.is_some());
        let left_over: HashSet<Issue> = left_over.map(|line| Issue::of(line, "waits")).collect();
        let mut again: Vec<Issue> = left_over.intersection(&self.left_over).cloned().collect();
        again.sort();
        if complete {
            self.left_over.clear();
        }
        self.left_over.extend(left_over);
        again
    }
}

/// Returns each problem, and for each reason the first held action, with the number of further actions.
fn open_issues(outcome: &CycleOutcome) -> Vec<(Issue, usize)> {
    let mut issues = Vec::new();
    // An outage has log lines of its own.
    if outcome.outage.is_none() {
        issues.extend(outcome.report.problems.iter().map(|problem| {
            let issue = Issue {
                message: problem.message.clone(),
                action: None,
                path: problem.path.clone(),
                id: problem.id,
                reason: None,
            };
            (issue, 0)
        }));
    }
    let held = outcome.report.actions.iter();
    let held: Vec<&Line> = held.filter(|line| line.status == Status::Held).collect();
    let key = |line: &&Line| {
        let reason = line.reason.as_deref().unwrap_or_default();
        (line.action, line.side, common_reason(reason, &line.path))
    };
    let groups = in_groups(&held, key).into_iter();
    issues.extend(groups.map(|group| (Issue::of(group[0], "held"), group.len() - 1)));
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
            fingerprint: None,
        }
    }

    #[test]
    fn of_held_actions_with_one_reason_the_first_is_logged() {
        let mut report = Report::new(false);
        let held = ["biling", "bilings"].map(|path| Line {
            action: Kind::CreateCategory,
            ..line(
                path,
                Status::Held,
                &format!("it is new: `kbsync restore {path}`"),
            )
        });
        report.actions = held.to_vec();
        let outcome = CycleOutcome {
            report,
            failures: Vec::new(),
            outage: None,
            open_items: OpenItems::default(),
        };
        assert_eq!(open_issues(&outcome), [(Issue::of(&held[0], "held"), 1)]);
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
        assert_eq!(again, [Issue::of(&second[0], "waits")]);
        assert_eq!(log.left_twice(&[], true), nothing);
        assert_eq!(log.left_twice(&second, true), nothing);
    }
}
