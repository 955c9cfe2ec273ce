//! The report of one cycle: actions, problems and costs.
//!
//! Its JSON is a public interface; the schema is `examples/schema/report.schema.json`.

use crate::engine::ending::{Refused, Stop};
use crate::engine::reasons::{own_reason, put_below};
use crate::model::{ArticleId, Digest, ExitCode, Field, Side};
use crate::reconcile::plan::{Action, HoldRule, Kind, Plan, Problem, Step};
use crate::service::ErrorKind;
pub use crate::service::{BudgetLeft, Requests};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The state of an action after a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was done.
    Done,
    /// A dry run: it would be done.
    Planned,
    /// It waits: for a person, for another action, or for another look.
    Held,
    /// It was tried, and failed.
    Failed,
    /// It was not tried in this cycle.
    Skipped,
}

/// One action in a report.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Line {
    /// The kind of the action.
    pub action: Kind,
    /// The side that the action changes.
    pub side: Side,
    /// The path in the mirror.
    pub path: String,
    /// The article, once it has an id.
    pub id: Option<ArticleId>,
    /// The fields that the action changes.
    pub fields: Vec<Field>,
    /// The state of the action after the cycle.
    pub status: Status,
    /// The reason for a hold or a failure, or a note for a person.
    pub reason: Option<String>,
    /// The guard that holds it, for this crate's own use.
    #[serde(skip)]
    pub rule: Option<HoldRule>,
    /// The fingerprint of the held action, for this crate's own use.
    #[serde(skip)]
    pub fingerprint: Option<Digest>,
}

impl Line {
    /// Makes a line of an action.
    pub fn of(action: &Action, status: Status, reason: Option<String>) -> Self {
        let held = action.held.as_ref();
        let reason = reason
            .or_else(|| held.map(|hold| own_reason(&hold.reason, &action.path)))
            .or_else(|| action.note.clone());
        Self {
            action: action.kind,
            side: action.side,
            path: action.path.clone(),
            id: action.id,
            fields: action.fields.clone(),
            status,
            reason,
            rule: held.map(|hold| hold.rule),
            fingerprint: held.map(|_| action.fingerprint()),
        }
    }

    /// Adds a sentence to the reason.
    pub(super) fn say(&mut self, told: String) {
        self.reason = Some(match self.reason.take() {
            Some(reason) => format!("{reason}; {told}"),
            None => told,
        });
    }
}

/// The extent of a cycle's look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// Whether the request was for a part only: then an empty report does not mean that both sides are equal.
    pub is_partial: bool,
    /// Whether only the rows of articles that differ from the index were loaded.
    pub is_incremental: bool,
    /// Whether a part could not be looked at: removals there may have gone unseen.
    pub has_doubt: bool,
}

/// The report of one cycle.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Its end.
    pub outcome: ExitCode,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The actions, in order.
    pub actions: Vec<Line>,
    /// The files and articles that were left out, with the reasons.
    pub problems: Vec<Problem>,
    /// The requests of the cycle.
    pub requests: Requests,
    /// The requests that are left, if known.
    pub budget: Option<BudgetLeft>,
    /// Its duration in milliseconds.
    pub elapsed_ms: u64,
    /// The extent of the look.
    #[serde(skip)]
    pub coverage: Coverage,
    /// The reason for an early end; for this crate's own use.
    #[serde(skip)]
    pub stopped: Option<Stop>,
    /// Paths to look at again at once: a side changed after it was read, the article was created from an earlier text
    /// of its file, or the ignore rules left the path out until now.
    #[serde(skip)]
    pub look_again: BTreeSet<String>,
    /// The missing files whose grace time begins now, unless it began earlier; for the daemon.
    #[serde(skip)]
    pub missing: BTreeSet<String>,
}

impl Report {
    /// Prefixes every path with a folder.
    pub(super) fn put_below(&mut self, prefix: &str) {
        for line in &mut self.actions {
            put_below(prefix, &mut line.path, line.reason.as_mut());
        }
        for problem in &mut self.problems {
            put_below(prefix, &mut problem.path, Some(&mut problem.message));
        }
        let missing = std::mem::take(&mut self.missing).into_iter();
        self.missing = missing.map(|path| format!("{prefix}{path}")).collect();
        if let Some(stop) = &mut self.stopped {
            prefix.trim_end_matches('/').clone_into(&mut stop.workspace);
        }
    }

    /// An empty report.
    pub fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            ..Self::default()
        }
    }

    /// Asks, once for all files, for a commit of the `id:` lines that were written into them: for git, the lines are
    /// changes that block a pull.
    pub(super) fn want_ids_committed(&mut self) {
        let mut lines = self.actions.iter_mut();
        let made = lines.rfind(|line| {
            line.status == Status::Done
                && line.side == Side::Remote
                && matches!(line.action, Kind::Create | Kind::CreateCategory)
        });
        if let Some(line) = made {
            line.say("commit the `id:` lines that kbsync wrote into new files".to_owned());
        }
    }

    /// Returns whether any action has this status.
    pub fn has(&self, status: Status) -> bool {
        self.actions.iter().any(|line| line.status == status)
    }

    /// Adds the plan of a dry run.
    pub fn plan(&mut self, plan: &Plan) {
        for action in &plan.actions {
            let status = if action.held.is_some() {
                Status::Held
            } else {
                Status::Planned
            };
            self.actions
                .push(Line::of(action, status, unrecorded(action)));
        }
    }

    /// Sets the outcome: the first of failed, retry, partial and attention that applies.
    pub fn conclude(&mut self, stopped: Option<ExitCode>) {
        let mut outcome = stopped.unwrap_or(ExitCode::Done);
        for line in &self.actions {
            let verdict = match (line.status, line.rule) {
                (Status::Done | Status::Planned, _) => ExitCode::Done,
                (Status::Held, Some(HoldRule::Refused)) | (Status::Failed, _) => ExitCode::Partial,
                (Status::Held, Some(HoldRule::Doubt)) | (Status::Skipped, _) => ExitCode::Retry,
                (Status::Held, Some(_) | None) => ExitCode::Attention,
            };
            outcome = outcome.max(verdict);
        }
        if !self.problems.is_empty() {
            outcome = outcome.max(ExitCode::Partial);
        }
        if !self.look_again.is_empty() {
            outcome = outcome.max(ExitCode::Retry);
        }
        self.outcome = outcome;
    }

    /// Replaces the skipped and held actions at these paths by the report of another look at them.
    pub(super) fn replace(&mut self, paths: &BTreeSet<String>, mut next: Self) {
        let waits = |status| matches!(status, Status::Skipped | Status::Held);
        // A look that broke off says nothing about some of them.
        let is_told = |path: &String| next.actions.iter().any(|line| &line.path == path);
        self.actions.retain(|line| {
            let is_replaced = next.stopped.is_none() || is_told(&line.path);
            !waits(line.status) || !paths.contains(&line.path) || !is_replaced
        });
        self.conclude(None);
        next.problems
            .retain(|problem| !self.problems.contains(problem));
        // A look at some paths does not make a whole cycle partial.
        next.coverage.is_partial = self.coverage.is_partial;
        self.add(next);
    }

    /// Adds a report of the same command: of another workspace, or of a later look.
    pub fn add(&mut self, other: Self) {
        self.outcome = self.outcome.max(other.outcome);
        self.actions.extend(other.actions);
        self.problems.extend(other.problems);
        self.requests.add(other.requests);
        self.budget = other.budget.or(self.budget);
        self.elapsed_ms += other.elapsed_ms;
        self.stopped = self.stopped.take().or(other.stopped);
        self.coverage.has_doubt |= other.coverage.has_doubt;
        self.look_again.extend(other.look_again);
        self.missing.extend(other.missing);
        self.coverage.is_partial |= other.coverage.is_partial;
    }

    /// Returns the service failure that ended the cycle early.
    pub fn service_failure(&self) -> Option<(&ErrorKind, &str)> {
        self.stopped.as_ref()?.service_failure()
    }

    /// Returns whether the cycle ran to its end. After any failure the cycle saw only a part.
    pub fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.outcome != ExitCode::Failed
    }

    /// Returns whether the cycle saw every removal, and left no deletion undone.
    pub fn settled_removals(&self) -> bool {
        let is_left = |line: &Line| line.action == Kind::Delete && line.status != Status::Done;
        self.is_complete() && !self.coverage.has_doubt && !self.actions.iter().any(is_left)
    }

    /// Ends the report no better than a failure with this exit code.
    pub fn fail_with(&mut self, code: u8) {
        self.outcome = self.outcome.max(ExitCode::numbered(code).of_report());
    }

    /// Adds the result of a restore before the cycle.
    pub fn add_restored(&mut self, lines: Vec<Line>, refused: Vec<Refused>) {
        if !refused.is_empty() {
            self.outcome = self.outcome.max(ExitCode::Partial);
        }
        self.actions.extend(lines);
        self.problems
            .extend(refused.into_iter().map(Refused::problem));
    }

    /// Returns whether the report has neither actions nor problems.
    pub fn is_quiet(&self) -> bool {
        self.actions.is_empty() && self.problems.is_empty()
    }
}

/// Returns a dry run's sentence about a conflict that no cycle has recorded, and that cannot be resolved yet.
fn unrecorded(action: &Action) -> Option<String> {
    let Step::Conflict(conflict) = &action.step else {
        return None;
    };
    conflict.needs_copy.then(|| {
        format!(
            "{}, so this will be a conflict: `kbsync sync` shows both versions, and `kbsync resolve` settles it afterwards",
            conflict.reason
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(status: Status, rule: Option<HoldRule>) -> Line {
        Line {
            action: Kind::Update,
            side: Side::Remote,
            path: "a/b.html".into(),
            id: None,
            fields: vec![Field::Title],
            status,
            reason: None,
            rule,
            fingerprint: None,
        }
    }

    #[test]
    fn the_worst_of_several_outcomes_counts() {
        let table = [
            (vec![], ExitCode::Done),
            (vec![line(Status::Done, None)], ExitCode::Done),
            (
                vec![line(Status::Held, Some(HoldRule::Person))],
                ExitCode::Attention,
            ),
            (
                vec![
                    line(Status::Held, Some(HoldRule::Person)),
                    line(Status::Failed, None),
                ],
                ExitCode::Partial,
            ),
            (
                vec![line(Status::Failed, None), line(Status::Skipped, None)],
                ExitCode::Retry,
            ),
        ];
        for (actions, outcome) in table {
            let mut report = Report::new(false);
            report.actions = actions;
            report.conclude(None);
            assert_eq!(report.outcome, outcome);
        }
        let mut report = Report::new(false);
        report.actions = vec![line(Status::Skipped, None)];
        report.conclude(Some(ExitCode::Failed));
        assert_eq!(report.outcome, ExitCode::Failed);
    }
}
