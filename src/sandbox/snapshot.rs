//! Snapshots of a service in memory.
//!
//! For tests that begin many times at the same point. A restored snapshot has its content, options, tokens, faults,
//! clock and next ids; requests and rate limits are cleared.

use super::{handle::Sandbox, limits::Limits, world::World};

/// A snapshot. Articles are shared with the service until they change.
#[derive(Clone, Debug)]
pub struct Snapshot(World);

impl Sandbox {
    /// Takes a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.lock().clone())
    }

    /// Restores a snapshot.
    pub fn go_back(&self, to: &Snapshot) {
        let mut world = self.lock();
        *world = to.0.clone();
        world.limits = Limits::default();
        drop(world);
        self.clear_requests();
    }
}
