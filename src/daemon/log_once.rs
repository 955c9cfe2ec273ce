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
}

/// A problem, or an action that waits.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Issue {
    /// `held`, `waits`, or the message of a problem.
    message: String,
    action: Option<(Kind, Side)>,
    path: String,
    id: Option<ArticleId>,
    reason: Option<String>,
}

impl Issue {
    fn of(line: &Line) -> Self {
        let is_held = line.status == Status::Held;
        Self {
            message: if is_held { "held" } else { "waits" }.to_owned(),
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
        for line in &outcome.report.actions {
            if let Some(rule) = line.rule {
                // For developers: docs/architecture.md has the file of each rule.
                tracing::debug!(path = line.path, ?rule, "held by this rule");
            }
        }
        let found = open_issues(outcome);
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
}

/// Returns each problem, and for each reason the first action that is held or left to the next cycle, with the number of
/// further actions.
fn open_issues(outcome: &CycleOutcome) -> Vec<(Issue, usize)> {
    let mut issues = Vec::new();
    // An outage has log lines of its own.
    let is_outage = outcome.outage.is_some();
    if !is_outage {
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
    let waits = |line: &&Line| match line.status {
        Status::Held => true,
        Status::Skipped => !is_outage && line.reason.is_some(),
        Status::Done | Status::Planned | Status::Failed => false,
    };
    let waiting: Vec<&Line> = outcome.report.actions.iter().filter(waits).collect();
    let key = |line: &&Line| {
        let reason = line.reason.as_deref().unwrap_or_default();
        let reason = common_reason(reason, &line.path);
        (line.status, line.action, line.side, reason)
    };
    let groups = in_groups(&waiting, key).into_iter();
    issues.extend(groups.map(|group| (Issue::of(group[0]), group.len() - 1)));
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
        assert_eq!(open_issues(&outcome), [(Issue::of(&held[0]), 1)]);
    }
}
