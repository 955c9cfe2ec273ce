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
        self.shared.lock().advance(wait);
        Box::pin(tokio::time::advance(wait))
    }
}
