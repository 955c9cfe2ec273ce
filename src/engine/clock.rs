//! The time of day and waits, as a port: tests and the simulator bring their own.

use crate::drill::failpoint;
use crate::model::Timestamp;
use std::pin::Pin;
use std::time::Duration;

/// A wait under way.
pub type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The time of day, and pauses. The age of an answer is measured with tokio's clock.
pub trait Clock: Send + Sync {
    /// The moment, by this machine's clock.
    fn now(&self) -> Timestamp;

    /// Waits, before something is tried again.
    fn pause(&self, wait: Duration) -> Pause {
        Box::pin(tokio::time::sleep(failpoint::wait(wait)))
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(chrono::Utc::now().timestamp_millis())
    }
}
