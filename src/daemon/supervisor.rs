//! Notifies systemd: ready, alive, and one line of status. Does nothing without `NOTIFY_SOCKET`.

use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// The connection to the supervisor.
#[derive(Debug)]
pub struct Supervisor {
    /// The interval of the signs of life: half of the watchdog's timeout.
    watchdog: Option<Duration>,
    last: Option<Instant>,
    status: String,
}

impl Supervisor {
    /// Reads the environment.
    pub fn find() -> Self {
        Self {
            watchdog: sd_notify::watchdog_enabled().map(|patience| patience / 2),
            last: None,
            status: String::new(),
        }
    }

    /// Reports that the daemon is running.
    pub fn ready(&self) {
        notify(&[NotifyState::Ready]);
    }

    /// Reports that the daemon is stopping.
    pub fn stopping(&self) {
        notify(&[NotifyState::Stopping]);
    }

    /// Reports the status line, if it changed.
    pub fn status(&mut self, status: &str) {
        if self.status != status {
            status.clone_into(&mut self.status);
            notify(&[NotifyState::Status(status)]);
        }
    }

    /// Returns when the next sign of life is due, if there is a watchdog.
    pub fn next_sign(&self) -> Option<tokio::time::Instant> {
        Some(tokio::time::Instant::from_std(self.last? + self.watchdog?))
    }

    /// Sends a sign of life, if one is due.
    pub fn alive(&mut self, now: Instant) {
        let Some(every) = self.watchdog else {
            return;
        };
        if self
            .last
            .is_none_or(|last| now.saturating_duration_since(last) >= every)
        {
            self.last = Some(now);
            notify(&[NotifyState::Watchdog]);
        }
    }
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the supervisor could not be notified");
    }
}
