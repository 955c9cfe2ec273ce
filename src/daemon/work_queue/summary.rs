//! The reports of the queue: the next deadline to the loop, and the waiting work to people.

use super::WorkQueue;
use crate::daemon::{outage::Outage, schedule::Moment};
use crate::model::path::{CATEGORY_FILE, CONFLICT_EXTENSION, EXTENSION, is_ignored};
use crate::web::shared_status::QueueStatus;
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// How often git is checked during a pause.
const GIT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl WorkQueue {
    /// Returns when the loop must run again without an event.
    pub fn next_deadline(&self, now: Moment) -> Option<Instant> {
        let poll = now.steady + self.schedule.wait(now, self.min_interval);
        // Git sends no event when it finishes, or when a branch is checked out.
        let git = self.pause.as_ref().map(|_| now.steady + GIT_CHECK_INTERVAL);
        let work = self.work_deadline();
        let delayed = self.debounce.next_delayed(now.steady);
        // In an outage a person is told of a saved file as soon as it is quiet.
        let told = self.outage.current().and(self.debounce.next_deadline());
        let deadlines = [Some(poll), git, work, delayed, told];
        // Work whose time has come waits for something else, such as the end of an outage.
        let to_come = deadlines.into_iter().flatten();
        to_come.filter(|at| *at > now.steady).min()
    }

    /// Returns when waiting work may run.
    fn work_deadline(&self) -> Option<Instant> {
        let deferred = self.deferred.backoff.retry_at();
        let deferred = deferred.filter(|_| !self.deferred.is_empty());
        let quiet = self
            .debounce
            .next_deadline()
            .into_iter()
            .chain(deferred)
            .min();
        // Nothing runs before the back-off is over.
        quiet.max(self.outage.retry_at())
    }

    /// Returns the number of paths with unsent changes of a person, and the first event of the oldest path that still
    /// waits for its delays. A folder counts only if no path in it counts.
    fn unsent(&self) -> (usize, Option<Instant>) {
        let waiting = || self.debounce.unsent().filter(|(path, _)| may_matter(path));
        let due = [&self.due, &self.deferred.due, &self.running];
        let due = due.into_iter().flat_map(BTreeMap::keys);
        let due = due.filter(|path| may_matter(path)).cloned();
        let paths: BTreeSet<String> = due
            .chain(waiting().map(|(path, _)| path.to_owned()))
            .collect();
        let is_counted = |path: &&String| {
            let prefix = format!("{path}/");
            let mut inside = paths.range(prefix.clone()..);
            is_file(path) || !inside.next().is_some_and(|next| next.starts_with(&prefix))
        };
        let oldest = waiting().map(|(_, first)| first).min();
        (paths.iter().filter(is_counted).count(), oldest)
    }

    /// Returns the values for `status`, health and the metrics. `good_poll`: the time of the last successful poll.
    pub fn summary(&self, now: Moment, good_poll: DateTime<Utc>) -> QueueStatus {
        let (pending, oldest) = self.unsent();
        let is_due = !self.due.is_empty() || !self.running.is_empty();
        let due_since = self.due_since.filter(|_| is_due);
        let interval = self.schedule.interval(now, self.min_interval);
        let planned = self.schedule.interval(now, Duration::ZERO);
        QueueStatus {
            next_poll: Some(now.wall + self.next_try(now)),
            interval,
            planned: (planned < interval).then_some(planned),
            patience: self.schedule.patience(good_poll, self.min_interval),
            pending,
            oldest: [oldest, due_since].into_iter().flatten().min(),
            paused: self.pause.as_ref().map(|why| format!("paused: {why}")),
            outage: self.outage.current().map(|outage| outage.to_string()),
            is_token_refused: self.outage.current() == Some(Outage::TokenRejected),
        }
    }
}

/// Returns whether a path is that of an article's file or a `_category.yaml`; others are folders.
pub(super) fn is_file(path: &str) -> bool {
    path.ends_with(EXTENSION) || path.ends_with(CATEGORY_FILE)
}

/// Returns whether a path may belong to an article, a category or a conflict; editors' and kbsync's own files do not.
pub(super) fn may_matter(path: &str) -> bool {
    path.split('/').all(|name| {
        !is_ignored(name) || name == CATEGORY_FILE || name.ends_with(CONFLICT_EXTENSION)
    })
}
