//! What systemd is told: ready, alive, and one line on what is going on. Silent without `NOTIFY_SOCKET`.

use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// The connection to the supervisor.
#[derive(Debug)]
pub struct Supervisor {
    /// How often it wants a sign of life: half of its patience.
    watchdog: Option<Duration>,
    last: Option<Instant>,
    status: String,
}

impl Supervisor {
    /// Reads what the supervisor left in the environment.
    pub fn find() -> Self {
        Self {
            watchdog: sd_notify::watchdog_enabled().map(|patience| patience / 2),
            last: None,
            status: String::new(),
        }
    }

    /// It works: the first look at everything is done, or under way.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// It stops.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// What is going on, told when it changed.
    pub fn status(&mut self, status: &str) {
        if self.status != status {
            status.clone_into(&mut self.status);
            tell(&[NotifyState::Status(status)]);
        }
    }

    /// When it wants the next sign of life, if it wants any.
    pub fn next_sign(&self) -> Option<tokio::time::Instant> {
        Some(tokio::time::Instant::from_std(self.last? + self.watchdog?))
    }

    /// The loop ticks.
    pub fn alive(&mut self, now: Instant) {
        let Some(every) = self.watchdog else {
            return;
        };
        if self
            .last
            .is_none_or(|last| now.saturating_duration_since(last) >= every)
        {
            self.last = Some(now);
            tell(&[NotifyState::Watchdog]);
        }
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the supervisor could not be told");
    }
}
