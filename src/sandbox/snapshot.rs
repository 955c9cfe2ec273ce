//! Going back: everything that a service is at one moment, kept in memory.
//!
//! For tests that begin many times from the same point. Content, options, tokens, faults, the clock and the
//! next ids go back; requests and rate limits are forgotten.

use super::{handle::Sandbox, limits::Limits, world::World};

/// What a service was at one moment. Articles are shared with it until one of both changes them.
#[derive(Clone, Debug)]
pub struct Snapshot(World);

impl Sandbox {
    /// Takes a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.lock().clone())
    }

    /// Makes everything as it was.
    pub fn go_back(&self, to: &Snapshot) {
        let mut world = self.lock();
        *world = to.0.clone();
        world.limits = Limits::default();
        drop(world);
        self.clear_requests();
    }
}
