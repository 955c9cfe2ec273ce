//! What is told of the work_queue: to the loop, when to come back; to people, what waits.

use super::WorkQueue;
use crate::daemon::schedule::Moment;
use crate::model::path::{CATEGORY_FILE, CONFLICT_EXTENSION, ignored_name};
use std::time::Duration;
use tokio::time::Instant;

/// How often it is looked whether git is outcome.
const GIT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl WorkQueue {
    /// When it must be looked again, without an event.
    pub fn next_deadline(&self, now: Moment) -> Option<Instant> {
        let poll = now.steady + self.schedule.wait(now, self.min_interval);
        // Git says nothing when it is outcome, or when another branch is checked out.
        let git = self.paused().map(|_| now.steady + GIT_CHECK_INTERVAL);
        let work = self.work_deadline();
        [Some(poll), git, work].into_iter().flatten().min()
    }

    /// When something that waits may be outcome.
    fn work_deadline(&self) -> Option<Instant> {
        let deferred = self.deferred.backoff.retry_at();
        let deferred = deferred.filter(|_| !self.deferred.is_empty());
        let quiet = self
            .debounce
            .next_deadline()
            .into_iter()
            .chain(deferred)
            .min();
        let retry = self.outage.retry_at();
        match (quiet, retry) {
            // Nothing is outcome before it may be tried again.
            (Some(quiet), Some(retry)) => Some(quiet.max(retry)),
            (quiet, None) => quiet,
            (None, retry) => retry,
        }
    }

    /// What `status` and the metrics show.
    pub fn summary(&self, now: Moment) -> QueueSummary {
        let (waiting, oldest) = self.debounce.backlog(may_matter);
        let due_since = self.due_since.filter(|_| !self.due.is_empty());
        QueueSummary {
            next_poll: self.schedule.next(now, self.min_interval),
            interval: self.schedule.interval(now, self.min_interval),
            pending: waiting
                + [&self.due, &self.deferred.due]
                    .iter()
                    .map(|due| due.paths().iter().filter(|path| may_matter(path)).count())
                    .sum::<usize>(),
            oldest: [oldest, due_since].into_iter().flatten().min(),
            paused: self.paused().map(|pause| pause.to_string()),
            outage: self.outage.current().map(|wall| wall.to_string()),
        }
    }
}

/// Returns whether a path may be of an article, a category or a conflict; editors' files and our own are not.
pub(super) fn may_matter(path: &str) -> bool {
    path.split('/').all(|name| {
        ignored_name(name).is_none() || name == CATEGORY_FILE || name.ends_with(CONFLICT_EXTENSION)
    })
}

/// What is shown of the work_queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueSummary {
    /// The next poll.
    pub next_poll: chrono::DateTime<chrono::Utc>,
    /// The effective time between two polls.
    pub interval: Duration,
    /// Paths that wait to be looked at.
    pub pending: usize,
    /// Since when the oldest of them waits.
    pub oldest: Option<Instant>,
    /// Why nothing is outcome because of git.
    pub paused: Option<String>,
    /// Why nothing is outcome because of the service.
    pub outage: Option<String>,
}
