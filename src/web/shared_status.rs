//! The status of the daemon, written by the loop and read by health checks, metrics and `kbsync status`.

use super::metrics::Metrics;
use chrono::{DateTime, Utc};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The status at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusSnapshot {
    /// The start of the daemon.
    pub since: DateTime<Utc>,
    /// The start of the daemon, on the steady clock.
    pub started: Instant,
    /// The last run of the loop.
    pub heartbeat: Instant,
    /// The last progress of a cycle.
    pub progress: Instant,
    /// Whether a cycle is running.
    pub busy: bool,
    /// Whether the first full cycle is done.
    pub ready: bool,
    /// The last successful poll.
    pub last_poll: Option<(DateTime<Utc>, Instant)>,
    /// The last successful push.
    pub last_push: Option<Instant>,
    /// The cron line of the polls, with its time zone, if there is one.
    pub cron: Option<String>,
    /// The waiting work; its outage may be the failure of the last cycle.
    pub queue: QueueStatus,
    /// The way in which changes are noticed.
    pub watching: String,
    /// Files and articles that the last poll left out, each with a problem.
    pub left_out: usize,
    /// The open items after the last cycle.
    pub open: OpenItems,
}

/// The waiting work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QueueStatus {
    /// The next poll, or the next try in an outage.
    pub next_poll: Option<DateTime<Utc>>,
    /// The effective interval between polls.
    pub interval: Duration,
    /// The interval of the settings, if the budget makes the effective interval longer.
    pub planned: Option<Duration>,
    /// The longest healthy time after a successful poll.
    pub patience: Duration,
    /// The number of paths with a person's changes that are not sent yet.
    pub pending: usize,
    /// The time since which the oldest of these changes waits.
    pub oldest: Option<Instant>,
    /// The reason why git pauses the sync.
    pub paused: Option<String>,
    /// The current outage.
    pub outage: Option<String>,
    /// Whether the service refuses the token.
    pub is_token_refused: bool,
}

/// The items that wait for a person or for recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenItems {
    /// Articles in all, open or not.
    pub articles: usize,
    /// Conflicts.
    pub conflicts: usize,
    /// Held deletions.
    pub held_deletions: usize,
    /// Pending requests.
    pub pending_requests: usize,
}

/// The status and the metrics.
#[derive(Debug)]
pub struct SharedStatus {
    status: Mutex<StatusSnapshot>,
    /// Counters and durations.
    pub metrics: Metrics,
}

impl SharedStatus {
    /// Makes the status of a daemon that has just started.
    pub fn new(since: DateTime<Utc>) -> Self {
        let now = Instant::now();
        Self {
            status: Mutex::new(StatusSnapshot {
                since,
                started: now,
                heartbeat: now,
                progress: now,
                busy: false,
                ready: false,
                last_poll: None,
                last_push: None,
                cron: None,
                queue: QueueStatus::default(),
                watching: "not yet".to_owned(),
                left_out: 0,
                open: OpenItems::default(),
            }),
            metrics: Metrics::default(),
        }
    }

    /// Returns the current status.
    pub fn snapshot(&self) -> StatusSnapshot {
        self.status
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes the status.
    pub fn update(&self, change: impl FnOnce(&mut StatusSnapshot)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
