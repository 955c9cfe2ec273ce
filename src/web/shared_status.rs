//! The board: what the daemon last said of itself. Written by the loop, read by everybody.

use super::metrics::Metrics;
use chrono::{DateTime, Utc};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// What can be seen of a daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusSnapshot {
    /// When it was started.
    pub since: DateTime<Utc>,
    /// The same, on the steady clock.
    pub started: Instant,
    /// When the loop last came round.
    pub heartbeat: Instant,
    /// When a cycle last got ahead.
    pub progress: Instant,
    /// Whether a cycle runs.
    pub busy: bool,
    /// Whether the first full cycle is done.
    pub ready: bool,
    /// The last successful poll.
    pub last_poll: Option<(DateTime<Utc>, Instant)>,
    /// The last successful push.
    pub last_push: Option<Instant>,
    /// The next poll.
    pub next_poll: Option<DateTime<Utc>>,
    /// The effective time between two polls.
    pub interval: Duration,
    /// The cron line that polls go by, with its zone, if they do.
    pub cron: Option<String>,
    /// Paths that wait.
    pub pending: usize,
    /// Since when the oldest of them waits.
    pub oldest: Option<Instant>,
    /// Why nothing is done on purpose: git works.
    pub paused: Option<String>,
    /// What is in the way.
    pub outage: Option<String>,
    /// How changes are noticed.
    pub watching: String,
    /// Conflicts.
    pub conflicts: usize,
    /// Deletions that are held.
    pub held_deletions: usize,
    /// Steps whose outcome is not known.
    pub intents: usize,
}

/// What is shown, and the figures that only grow.
#[derive(Debug)]
pub struct SharedStatus {
    status: Mutex<StatusSnapshot>,
    /// Counters and durations.
    pub metrics: Metrics,
}

impl SharedStatus {
    /// An empty board of a daemon that was started just now.
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
                next_poll: None,
                interval: Duration::ZERO,
                cron: None,
                pending: 0,
                oldest: None,
                paused: None,
                outage: None,
                watching: "not yet".to_owned(),
                conflicts: 0,
                held_deletions: 0,
                intents: 0,
            }),
            metrics: Metrics::default(),
        }
    }

    /// What is shown now.
    pub fn snapshot(&self) -> StatusSnapshot {
        self.status
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes what is shown.
    pub fn update(&self, change: impl FnOnce(&mut StatusSnapshot)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
