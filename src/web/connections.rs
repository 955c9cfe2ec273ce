//! Limits the connections of a listener: if no slot is free, a new connection closes the oldest connection.
//!
//! Any client of a port can open connections and send nothing. Each connection takes a file descriptor, and a daemon
//! without descriptors cannot sync. A health check must still get its answer, so the newest connection is never
//! refused.
//!
//! The owner of a [`Slot`] selects on [`Slot::revoked`] in all its work, and ends when the future is ready: the next
//! connection waits for the slot. This file knows nothing of the protocol.

use rustix::process::{Resource, getrlimit};
use std::{collections::VecDeque, io, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The time in which a connection must send its request.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// The most connections at a time.
const MAX_CONNECTIONS: u64 = 32;

/// Under a low limit of open files, connections get one part in this many: the rest is for syncing.
const SHARE: u64 = 8;

/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_secs(1);

/// Failures that are closer together than this are one episode, which is logged once.
const EPISODE: Duration = Duration::from_mins(1);

/// The connections of one listener.
#[derive(Debug)]
pub struct Connections {
    name: &'static str,
    capacity: usize,
    free: Arc<Semaphore>,
    open: VecDeque<CancellationToken>,
    failed: Option<Instant>,
}

/// The slot of one connection, which is free again on drop.
#[derive(Debug)]
pub struct Slot {
    over: CancellationToken,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// Returns a future that is ready when a newer connection takes the slot.
    pub fn revoked(&self) -> WaitForCancellationFutureOwned {
        self.over.clone().cancelled_owned()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

impl Connections {
    /// Makes the slots of a listener. The log shows the listener's name.
    pub fn new(name: &'static str) -> Self {
        Self::with_capacity(name, capacity())
    }

    fn with_capacity(name: &'static str, capacity: usize) -> Self {
        Self {
            name,
            capacity,
            free: Arc::new(Semaphore::new(capacity)),
            open: VecDeque::new(),
            failed: None,
        }
    }

    /// Assigns a slot to an accepted connection. After a failed accept, logs the failure, pauses, and returns `None`.
    pub async fn admit<T>(&mut self, accepted: io::Result<T>) -> Option<(T, Slot)> {
        match accepted {
            Ok(connection) => Some((connection, self.free_slot().await)),
            Err(error) => {
                self.failure(&error).await;
                None
            }
        }
    }

    async fn free_slot(&mut self) -> Slot {
        self.open.retain(|over| !over.is_cancelled());
        if self.open.len() >= self.capacity
            && let Some(oldest) = self.open.pop_front()
        {
            oldest.cancel();
        }
        // The semaphore is never closed.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        let over = CancellationToken::new();
        self.open.push_back(over.clone());
        Slot {
            over,
            _permit: permit,
        }
    }

    async fn failure(&mut self, error: &io::Error) {
        if matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
        ) {
            // The client disconnected; the next one may be waiting already.
            return;
        }
        let now = Instant::now();
        let is_news = self
            .failed
            .is_none_or(|at| now.saturating_duration_since(at) > EPISODE);
        self.failed = Some(now);
        if is_news {
            let name = self.name;
            tracing::warn!(
                %error,
                "{name} cannot accept connections, and tries again every second; if too many files are open, \
                 raise `ulimit -n`"
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns the number of slots that leaves enough descriptors for syncing.
pub(crate) fn capacity() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from((limit / SHARE).clamp(2, MAX_CONNECTIONS)).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_connection_goes_when_the_room_is_full() {
        let mut connections = Connections::with_capacity("the test", 2);
        let mut next = async || connections.admit(Ok(())).await.expect("a slot").1;
        let (first, second) = (next().await, next().await);
        let gone = first.revoked();
        let leaves = tokio::spawn(async move {
            first.revoked().await;
            drop(first);
        });
        let third = next().await;
        gone.await;
        leaves.await.expect("it left");
        assert!(!second.over.is_cancelled() && !third.over.is_cancelled());
        // A free place is taken first.
        drop(third);
        let fourth = next().await;
        assert!(!second.over.is_cancelled() && !fourth.over.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_lasts_is_one_episode() {
        let mut connections = Connections::with_capacity("the test", 2);
        let begun = Instant::now();
        let full = || Err::<(), _>(io::Error::from_raw_os_error(24));
        for _ in 0..3 {
            assert!(connections.admit(full()).await.is_none());
        }
        assert_eq!(begun.elapsed(), PAUSE * 3);
        let gone = || Err::<(), _>(io::ErrorKind::ConnectionAborted.into());
        assert!(connections.admit(gone()).await.is_none());
        assert_eq!(begun.elapsed(), PAUSE * 3, "no pause after one that left");
    }
}
