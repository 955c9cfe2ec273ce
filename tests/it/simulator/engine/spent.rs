//! How long a thread worked: what it waited for, a disk above all, is not in it.

use std::time::{Duration, Instant};

/// A moment in a thread's work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    worked: Option<Duration>,
    clock: Instant,
}

impl Spent {
    /// Now.
    pub(crate) fn now() -> Self {
        Self {
            worked: worked(),
            clock: Instant::now(),
        }
    }

    /// The work since then; the time that passed, where the system does not tell.
    pub(crate) fn since(self) -> Duration {
        match (self.worked, worked()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            (None, _) | (_, None) => self.clock.elapsed(),
        }
    }
}

/// The time that this thread had on a processor.
fn worked() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = told.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}
