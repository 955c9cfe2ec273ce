//! Clocks for budgets in tests. The unit tests of `src/service` include this file, too.

use super::clock::{Clock, Moment};
use futures_util::future::BoxFuture;
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

/// Tokio's clock, counted from the creation of this value, which tests can pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokioClock {
    start: tokio::time::Instant,
}

impl Default for TokioClock {
    fn default() -> Self {
        Self {
            start: tokio::time::Instant::now(),
        }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Moment {
        let millis = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        Moment {
            wall_ms: millis,
            boot: 1,
            boot_ms: millis,
        }
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(wait))
    }
}

/// A clock that stands still, except that each wait moves it forward at once.
#[derive(Debug, Default)]
pub(crate) struct SteppedClock {
    millis: AtomicI64,
    /// How far the wall clock is ahead, in milliseconds.
    pub(crate) wall_offset: AtomicI64,
}

impl SteppedClock {
    /// Moves the clock forward.
    pub(crate) fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    /// Returns the time that passed on this clock.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.millis.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> Moment {
        let millis = self.millis.load(Ordering::SeqCst);
        Moment {
            wall_ms: millis.saturating_add(self.wall_offset.load(Ordering::SeqCst)),
            boot: 1,
            boot_ms: millis,
        }
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        self.advance(wait);
        Box::pin(tokio::task::yield_now())
    }
}
