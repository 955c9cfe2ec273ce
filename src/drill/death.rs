//! The death of a process that is simulated within a thread: from one moment on nothing has any effect.
//!
//! The simulator sets how many boundaries are still passed alive. Its own disk and service pass theirs here,
//! the state passes its fail points. After the last one a transaction is taken back instead of committed;
//! what was committed before survives, as it would a SIGKILL. Without the feature `drill` nobody dies.

/// Returns whether the process of this thread has died.
#[cfg(not(feature = "drill"))]
#[inline]
pub(crate) fn came() -> bool {
    false
}

/// Returns whether the process of this thread has died.
#[cfg(feature = "drill")]
pub fn came() -> bool {
    LEFT.with(|left| left.get() == Some(0))
}

#[cfg(feature = "drill")]
thread_local! {
    /// Boundaries until it comes; `None`: it does not come.
    static LEFT: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Sets how many boundaries the process of this thread passes alive; `None`: all of them, and it lives again.
#[cfg(feature = "drill")]
pub fn set(boundaries: Option<u64>) {
    LEFT.with(|left| left.set(boundaries));
}

/// Passes a boundary.
#[cfg(feature = "drill")]
pub fn pass() {
    LEFT.with(|left| left.set(left.get().map(|count| count.saturating_sub(1))));
}

/// Does something within which no boundary counts: the simulator counts its own, around the call of a real disk.
#[cfg(feature = "drill")]
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let left = LEFT.with(|left| left.replace(None));
    let done = work();
    LEFT.with(|cell| cell.set(left));
    done
}
