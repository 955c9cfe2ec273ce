//! What is told of the desk: to the loop, when to come back; to people, what waits.

use super::Desk;
use crate::daemon::schedule::Moment;
use crate::model::path::{CATEGORY_FILE, CONFLICT_EXTENSION, ignored_name};
use std::time::Duration;
use tokio::time::Instant;

/// How often it is looked whether git is done.
const GIT_LOOK: Duration = Duration::from_secs(1);

impl Desk {
    /// When it must be looked again, without an event.
    pub fn next_deadline(&self, now: Moment) -> Option<Instant> {
        let poll = now.steady + self.schedule.wait(now, self.least);
        // Git says nothing when it is done, or when another branch is checked out.
        let git = self.paused().map(|_| now.steady + GIT_LOOK);
        let work = self.work_deadline();
        [Some(poll), git, work].into_iter().flatten().min()
    }

    /// When something that waits may be done.
    fn work_deadline(&self) -> Option<Instant> {
        let put_off = self.put_off.reach.retry_at();
        let put_off = put_off.filter(|_| !self.put_off.is_empty());
        let quiet = self.quiet.next_deadline().into_iter().chain(put_off).min();
        let retry = self.reach.retry_at();
        match (quiet, retry) {
            // Nothing is done before it may be tried again.
            (Some(quiet), Some(retry)) => Some(quiet.max(retry)),
            (quiet, None) => quiet,
            (None, retry) => retry,
        }
    }

    /// What `status` and the metrics show.
    pub fn shown(&self, now: Moment) -> Shown {
        let (waiting, oldest) = self.quiet.backlog(may_matter);
        let taken_since = self.taken_since.filter(|_| !self.taken.is_empty());
        Shown {
            next_poll: self.schedule.next(now, self.least),
            interval: self.schedule.interval(now, self.least),
            pending: waiting
                + [&self.taken, &self.put_off.taken]
                    .iter()
                    .map(|taken| taken.paths().iter().filter(|path| may_matter(path)).count())
                    .sum::<usize>(),
            oldest: [oldest, taken_since].into_iter().flatten().min(),
            paused: self.paused().map(|pause| pause.to_string()),
            in_the_way: self.reach.wall().map(|wall| wall.to_string()),
        }
    }
}

/// Returns whether a path may be of an article, a category or a conflict; editors' files and our own are not.
pub(super) fn may_matter(path: &str) -> bool {
    path.split('/').all(|name| {
        ignored_name(name).is_none() || name == CATEGORY_FILE || name.ends_with(CONFLICT_EXTENSION)
    })
}

/// What is shown of the desk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The next poll.
    pub next_poll: chrono::DateTime<chrono::Utc>,
    /// The effective time between two polls.
    pub interval: Duration,
    /// Paths that wait to be looked at.
    pub pending: usize,
    /// Since when the oldest of them waits.
    pub oldest: Option<Instant>,
    /// Why nothing is done because of git.
    pub paused: Option<String>,
    /// Why nothing is done because of the service.
    pub in_the_way: Option<String>,
}
