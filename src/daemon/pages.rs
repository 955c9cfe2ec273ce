//! Memory that a cycle has used and freed goes back to the system once the daemon rests, and not before.
//!
//! The allocator keeps free pages for a moment, so that the rest of a cycle, and one that follows closely, need not
//! ask the system for the same pages again: that would be a good part of a cycle's time. But it gives them back
//! only while it is at work, and the daemon is not, most of its life; so it is told when that begins.
//!
//! A cycle that changed very much needs far more than those that follow: its pages go back at once, or a container
//! with little memory has no room for the next one.

use std::time::Duration;

/// How long after a cycle the daemon rests.
pub(super) const REST: Duration = Duration::from_secs(5);

/// A cycle with more actions than this changed very much.
pub(super) const MUCH: usize = 500;

/// Gives back all pages that are free.
#[cfg(feature = "jemalloc")]
pub(super) fn give_back() {
    use tikv_jemalloc_ctl::{Access as _, AsName as _, arenas};
    let arenas = match arenas::narenas::read() {
        Ok(arenas) => arenas,
        Err(error) => {
            tracing::debug!(%error, "the allocator does not say what it has");
            return;
        }
    };
    for arena in 0..arenas {
        let key = format!("arena.{arena}.dirty_decay_ms\0");
        let name = key.as_bytes().name();
        // An arena that nobody has used yet has no such key.
        let Ok(before) = name.read() else {
            continue;
        };
        let _: isize = before;
        // Keeping nothing for a moment is what makes it let go.
        if let Err(error) = name.write(0_isize).and_then(|()| name.write(before)) {
            tracing::debug!(%error, arena, "the allocator keeps its pages");
        }
    }
}

/// The system's allocator does as it likes.
#[cfg(not(feature = "jemalloc"))]
pub(super) fn give_back() {}
