//! The clock of an engine in a simulated world.

use super::world::Shared;
use kbsync::engine::{Clock, Pause};
use kbsync::model::Timestamp;
use std::time::Duration;

/// The world's time; waits pass at once.
pub(crate) struct Time {
    pub(crate) shared: Shared,
}

impl Clock for Time {
    fn now(&self) -> Timestamp {
        Timestamp(self.shared.lock().now / 1_000_000)
    }

    fn pause(&self, wait: Duration) -> Pause {
        let mut world = self.shared.lock();
        world.now += i64::try_from(wait.as_nanos()).unwrap_or(0);
        let now = world.now;
        world.mirror.set_time(now);
        Box::pin(tokio::time::advance(wait))
    }
}
