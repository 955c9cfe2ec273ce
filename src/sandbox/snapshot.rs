//! Snapshots of a service in memory.
//!
//! For tests that begin many times at the same point. A restored snapshot has its content, options, tokens, clock
//! and next ids; requests and rate limits are cleared.

use super::{
    handle::Sandbox,
    limits::Limits,
    world::{Stale, World},
};

/// A snapshot. Articles are shared with the service until they change.
#[derive(Clone, Debug)]
pub struct Snapshot(World);

impl Sandbox {
    /// Takes a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.lock().clone())
    }

    /// Makes the next `reads` API reads return the content of a snapshot.
    pub fn serve_past(&self, past: &Snapshot, reads: u32) {
        self.lock().stale = Some(Stale {
            store: past.0.store.clone(),
            reads,
        });
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
