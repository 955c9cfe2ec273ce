//! The end of a cycle: its work is done, or it is queued again.

use super::WorkQueue;
use crate::daemon::{
    git::Remembered,
    job::{CycleOutcome, Job, Scope, Trigger},
    outage::{Outage, OutageChange},
    schedule::Moment,
};
use crate::engine::StopCause;
use crate::engine::report::{Line, Report, Status};
use crate::model::Side;
use crate::reconcile::plan::Kind;
use std::collections::BTreeMap;
use tokio::time::Instant;

impl WorkQueue {
    /// Records the outcome of a cycle that began at `started`. Returns a change that is worth a log line.
    pub fn finish(
        &mut self,
        job: &Job,
        outcome: &CycleOutcome,
        started: Instant,
        now: Moment,
    ) -> Option<OutageChange> {
        let is_complete = outcome.is_complete();
        if job.scope.is_poll() {
            let cost = u32::try_from(outcome.report.requests.get).unwrap_or(u32::MAX);
            if is_complete {
                self.poll_cost = cost.max(1);
            }
            if outcome.outage.is_none() {
                self.schedule.polled(now);
            }
        }
        for line in &outcome.report.actions {
            // A skipped file that changed meanwhile has an event of its own.
            if is_push(line) {
                self.debounce.pushed(&line.path, now.steady);
            }
        }
        let running = std::mem::take(&mut self.running);
        if is_complete {
            self.end_deferral(&job.scope, now.steady);
        } else if outcome.outage.is_some() {
            if job.scope.is_poll() {
                // No work was done, so pushes go first again.
                self.full_cycle_since = None;
            }
            self.add_earlier(running);
            match job.scope {
                Scope::Everything => self.want(job.trigger),
                Scope::Paths(_) => {}
                // A person sees the outcome of a command. The end of the outage is found without another command.
                Scope::Command(_) => self.want(Trigger::Poll),
            }
        } else {
            let is_deferred = match job.scope {
                Scope::Everything if is_ended_by_git(&outcome.report) => {
                    // The files that git changed have no events left, so the full cycle is queued again.
                    self.add_earlier(running);
                    self.want(job.trigger);
                    false
                }
                Scope::Everything => {
                    // The cycle did not deal with these paths.
                    self.add_earlier(running);
                    // The next poll looks at everything, but it may be hours away.
                    self.deferred.full_cycle |= self.needs_full_cycle;
                    self.needs_full_cycle
                }
                Scope::Paths(_) => {
                    self.deferred.due.extend(running);
                    true
                }
                // A person sees the outcome of a command.
                Scope::Command(_) => false,
            };
            if is_deferred {
                let failed = Some(Outage::UnusableAnswer);
                self.deferred.backoff.record(failed, now.steady, now.steady);
            }
        }
        match outcome.outage {
            // A cycle that failed in another way is not the end of an outage.
            None if !is_complete => None,
            outage => {
                // A cycle that did something met the outage later.
                let is_idle = !outcome.report.has(Status::Done);
                let began = if is_idle { started } else { now.steady };
                self.outage.record(outage, began, now.steady)
            }
        }
    }

    /// Ends the back-off of the deferred work after a complete cycle that did this work.
    fn end_deferral(&mut self, scope: &Scope, now: Instant) {
        let is_poll = scope.is_poll();
        let is_command = matches!(scope, Scope::Command(_));
        if is_poll {
            self.deferred.full_cycle = false;
            // A rescan that was wanted during the cycle has queued a full cycle.
            self.needs_full_cycle &= self.full_cycle.is_some();
        }
        // Other work than the deferred work says nothing of its failure.
        let did_deferred = self.deferred.is_empty() && self.full_cycle.is_none();
        if is_poll || did_deferred && !is_command {
            self.deferred.backoff.record(None, now, now);
        }
    }

    /// Records that a rescan is not needed: every file is as recorded.
    pub fn rescan_not_needed(&mut self) {
        self.missing.clear();
        self.needs_full_cycle = false;
    }

    /// Returns the facts about git to store after a cycle; a HEAD only if no removal waits or is held.
    pub fn to_remember(&self, job: &Job, outcome: &CycleOutcome) -> BTreeMap<String, Remembered> {
        // A queued full cycle may still find removals.
        let is_partial = matches!(job.scope, Scope::Paths(_));
        let may_find_more = is_partial && self.full_cycle.is_some();
        // A path that became due while the cycle ran was not part of the cycle.
        let is_waiting =
            !(self.debounce.is_empty() && self.due.is_empty() && self.deferred.is_empty());
        let mut facts = job.to_remember(outcome);
        if may_find_more || is_waiting {
            for what in facts.values_mut() {
                what.head = None;
            }
        }
        facts
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

fn is_ended_by_git(report: &Report) -> bool {
    (report.stopped.as_ref()).is_some_and(|stop| stop.cause == StopCause::Git)
}
