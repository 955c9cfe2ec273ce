//! What becomes of what a cycle dealt with, and of what it did not.

use super::WorkQueue;
use crate::daemon::{
    debounce::DuePaths,
    git::Head,
    job::{CycleOutcome, Job, Scope},
    outage::OutageChange,
    schedule::Moment,
    watch::Cause,
};
use crate::engine::report::{Line, Report, Status};
use crate::model::Side;
use crate::reconcile::plan::Kind;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// How often an article is tried again at once; then it waits for the next poll.
const MAX_ATTEMPTS: u32 = 3;

impl WorkQueue {
    /// Takes what a cycle came to. Gives a change of state that deserves a line in the log.
    pub fn finish(
        &mut self,
        job: Job,
        outcome: &CycleOutcome,
        now: Moment,
    ) -> Option<OutageChange> {
        if job.scope == Scope::Everything
            || matches!(&job.scope, Scope::Command(wish) if wish.is_whole())
        {
            let cost = u32::try_from(outcome.report.requests.get).unwrap_or(u32::MAX);
            if outcome.is_complete() {
                self.poll_cost = cost.max(1);
            }
            if outcome.outage.is_none() {
                self.schedule.polled(now);
            }
        }
        for line in &outcome.report.actions {
            // What was skipped waits for the next look: a file that changed meanwhile has its own event.
            if is_push(line) {
                self.debounce.pushed(&line.path, now.steady);
            }
        }
        self.try_again(&job, &outcome.report, now.steady);
        let covered = std::mem::take(&mut self.covered);
        let doubts = std::mem::take(&mut self.covered_doubts);
        if job.scope == Scope::Everything && !outcome.is_complete() {
            // What it was to deal with waits on.
            self.due.add_earlier(covered);
            if outcome.outage.is_none() {
                // Only the poll was put off, and it is not tried again at once.
                for cause in doubts {
                    self.doubt(cause, now.steady);
                }
            }
        }
        if outcome.is_complete() {
            self.deferred.backoff.record(None, now.steady);
        } else if outcome.outage.is_none() {
            match job.scope {
                Scope::Paths(due) => self.deferred.add(due, false, now.steady),
                Scope::Mirror => self.deferred.add(DuePaths::default(), true, now.steady),
                // The next poll looks at everything, and a person sees what came of it.
                Scope::Everything | Scope::Command(_) => {}
            }
        } else {
            match job.scope {
                Scope::Everything => {
                    self.full_cycle.get_or_insert(job.trigger);
                }
                Scope::Mirror => {
                    self.doubt(Cause::Unfinished, now.steady);
                }
                Scope::Paths(due) => {
                    self.due.add_earlier(due);
                }
                Scope::Command(_) => {}
            }
        }
        if outcome.outage.is_some() {
            // Nothing had its turn: pushes go first again.
            self.full_cycle_since = None;
        }
        self.outage.record(outcome.outage, now.steady)
    }

    /// Takes paths again whose articles changed on the service after they were read: nothing else would bring them back
    /// before the next poll.
    fn try_again(&mut self, job: &Job, report: &Report, now: Instant) {
        if job.scope == Scope::Everything {
            self.attempts.clear();
        }
        self.attempts
            .retain(|path, _| report.overtaken.contains(path));
        let mut again = DuePaths::default();
        for line in &report.actions {
            if line.status != Status::Skipped || !report.overtaken.contains(&line.path) {
                continue;
            }
            let tries = self.attempts.entry(line.path.clone()).or_default();
            *tries += 1;
            if *tries > MAX_ATTEMPTS {
                continue;
            }
            if line.action == Kind::Delete {
                again.removed.insert(line.path.clone(), now);
            } else {
                again.changed.insert(line.path.clone());
            }
        }
        self.due.add_earlier(again);
    }

    /// Where each HEAD may be remembered to have been, after a cycle: when nothing that git removed waits or is
    /// held any more.
    pub fn agreed_heads(&self, job: &Job, outcome: &CycleOutcome) -> BTreeMap<String, Head> {
        let lines = &outcome.report.actions;
        // What is held elsewhere is not in the report of a cycle over paths.
        let held = outcome.open_items.held_deletions > 0
            || lines
                .iter()
                .any(|line| line.action == Kind::Delete && line.status != Status::Done);
        let looked = match &job.scope {
            Scope::Everything | Scope::Mirror => true,
            // What nobody told of was not looked at.
            Scope::Paths(_) => self.doubtful_since.is_none() && self.full_cycle.is_none(),
            Scope::Command(wish) => wish.is_whole(),
        };
        // A path whose time came while the cycle ran was left alone by it, too.
        let (waiting, _) = self.debounce.backlog(|_| true);
        let settled = looked
            && waiting == 0
            && self.due.is_empty()
            && self.deferred.is_empty()
            && !held
            && outcome.is_complete();
        // Where nobody could look, there may be removals that nobody saw.
        let settled = settled && !outcome.report.doubt;
        if settled {
            let places = job.git.iter().filter_map(|known| {
                let place = known.state.head.clone()?;
                Some((known.prefix.clone(), place))
            });
            places.collect()
        } else {
            BTreeMap::new()
        }
    }
}

/// Returns whether a line changed the service.
pub fn is_push(line: &Line) -> bool {
    line.status == Status::Done
        && match line.side {
            Side::Remote | Side::Both => true,
            Side::Local => false,
        }
        && match line.action {
            Kind::Adopt | Kind::Forget | Kind::Conflict => false,
            Kind::Create
            | Kind::Update
            | Kind::Move
            | Kind::Delete
            | Kind::Merge
            | Kind::Restore
            | Kind::CreateCategory
            | Kind::UpdateCategory => true,
        }
}
