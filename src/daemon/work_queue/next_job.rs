//! The choice of the next job. The order is explained in [`super`].

use super::{NextJob, WorkQueue, summary::may_matter};
use crate::daemon::{
    debounce::{DuePaths, Touch, folders_above},
    job::{Job, Scope, Trigger, removed},
    schedule::Moment,
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

/// The longest time that a full cycle waits for pushes, and a rescan for files in motion.
const MAX_QUEUE_WAIT: Duration = Duration::from_mins(1);

impl WorkQueue {
    /// Returns the next job. `drop_unchanged` removes the paths that need no cycle.
    pub fn next(
        &mut self,
        now: Moment,
        mut drop_unchanged: impl FnMut(DuePaths) -> DuePaths,
    ) -> Option<NextJob> {
        if self.due.is_empty() {
            self.due_since = None;
        }
        self.requeue_deferred(now.steady);
        let oldest = self.debounce.oldest(may_matter);
        let due = self.debounce.due(now.steady);
        if !due.is_empty() {
            self.due.extend(due);
            self.due_since = self.due_since.or(oldest);
        }
        if let Some(command) = self.commands.pop_front() {
            let scope = Scope::Command(command.command().clone());
            return Some(NextJob {
                job: self.job(Trigger::Manual, scope, BTreeSet::new()),
                command: Some(command),
                only_if_changed: false,
            });
        }
        if !self.has_watch_answer || self.pause.is_some() || !self.outage.may_try(now.steady) {
            return None;
        }
        let in_motion = self.debounce.in_motion(now.steady);
        if self.full_cycle.is_some() {
            self.full_cycle_since.get_or_insert(now.steady);
        }
        let waited = |since: Instant| now.steady.saturating_duration_since(since) >= MAX_QUEUE_WAIT;
        let first =
            self.full_cycle == Some(Trigger::Startup) || self.full_cycle_since.is_some_and(waited);
        let job = if first {
            self.full_job(now, in_motion, &mut drop_unchanged)
        } else if let Some(job) = self.paths_job(&in_motion, &mut drop_unchanged) {
            Some(job)
        } else if self.full_cycle == Some(Trigger::Rescan) && !in_motion.is_empty() {
            None
        } else {
            self.full_job(now, in_motion, &mut drop_unchanged)
        };
        // A cycle that failed is tried again, and the end of an outage is found by a cycle.
        let is_idle = self.running.is_empty()
            && self.outage.current().is_none()
            && self.deferred.backoff.current().is_none();
        job.map(|job| NextJob {
            only_if_changed: job.trigger == Trigger::Rescan && is_idle,
            job,
            command: None,
        })
    }

    /// Adds paths that became due earlier: of a path that is due again, the later event counts.
    pub(super) fn add_earlier(&mut self, older: DuePaths) {
        let newer = std::mem::replace(&mut self.due, older);
        self.due.extend(newer);
    }

    /// Queues the deferred work again when its back-off is over.
    fn requeue_deferred(&mut self, now: Instant) {
        if self.deferred.is_empty() || !self.deferred.backoff.may_try(now) {
            return;
        }
        let older = std::mem::take(&mut self.deferred.due);
        self.add_earlier(older);
        self.due_since.get_or_insert(now);
        if std::mem::take(&mut self.deferred.full_cycle) {
            // Unlike a start or a rescan, a poll leaves the reserve to the pushes.
            self.want(Trigger::Poll);
        }
    }

    fn paths_job(
        &mut self,
        in_motion: &BTreeSet<String>,
        drop_unchanged: &mut impl FnMut(DuePaths) -> DuePaths,
    ) -> Option<Job> {
        if self.due.is_empty() {
            return None;
        }
        let due_before = std::mem::take(&mut self.due);
        self.running = drop_unchanged(due_before.clone());
        let due = &self.running;
        let mut skipped = self.skipped.iter();
        // The skipped file is unchanged, but its article may have changed on the service meanwhile.
        if skipped.any(|path| due_before.contains_key(path) && !due.contains_key(path)) {
            self.want(Trigger::Poll);
        }
        self.skipped.retain(|path| !due_before.contains_key(path));
        let due = self.running.clone();
        (!due.is_empty()).then(|| self.job(Trigger::Watch, Scope::Paths(due), in_motion.clone()))
    }

    fn full_job(
        &mut self,
        now: Moment,
        in_motion: BTreeSet<String>,
        drop_unchanged: &mut impl FnMut(DuePaths) -> DuePaths,
    ) -> Option<Job> {
        let trigger = self.full_cycle.take()?;
        self.full_cycle_since = None;
        // A rescan may not be needed: it delays no poll.
        if trigger != Trigger::Rescan {
            self.schedule.polled(now);
        }
        let moving = in_motion.clone();
        let in_motion = self.skip_moving(in_motion, drop_unchanged);
        if in_motion.is_empty() {
            // The full cycle covers all of this.
            self.running = std::mem::take(&mut self.due);
        }
        // A missing file may have been back since then: its grace time begins anew with the next event.
        let is_moving = |path: &str| {
            let mut with_folders = folders_above(path).chain([path]);
            with_folders.any(|path| moving.contains(path))
        };
        let missing = self.missing.iter().filter(|path| !is_moving(path));
        let removed = removed(&self.running).chain(missing);
        Some(Job {
            removed: removed.cloned().collect(),
            ..self.job(trigger, Scope::Everything, in_motion)
        })
    }

    /// Returns the paths in motion that a full cycle must skip: the paths that differ from the state. All other paths
    /// were only touched, most often by kbsync itself.
    fn skip_moving(
        &mut self,
        in_motion: BTreeSet<String>,
        drop_unchanged: &mut impl FnMut(DuePaths) -> DuePaths,
    ) -> BTreeSet<String> {
        let moving = in_motion.into_iter().map(|path| (path, Touch::Changed));
        self.skipped = drop_unchanged(moving.collect()).into_keys().collect();
        self.skipped.clone()
    }

    fn job(&self, trigger: Trigger, scope: Scope, in_motion: BTreeSet<String>) -> Job {
        Job {
            in_motion,
            ..Job::new(trigger, scope, self.git.clone())
        }
    }
}
