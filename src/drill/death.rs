//! The simulated death of a process within a thread: after the death nothing has any effect.
//!
//! The simulator sets how many boundaries the process survives. The simulator's disk and service pass their boundaries
//! here, and the state passes its fail points. After the last boundary a transaction is rolled back; earlier commits
//! survive, as after a SIGKILL. Without the feature `drill` nothing happens.

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
    /// Boundaries before the death; `None`: there is no death.
    static LEFT: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Sets how many boundaries the process of this thread survives; `None`: all of them, and a dead process lives again.
#[cfg(feature = "drill")]
pub fn set(boundaries: Option<u64>) {
    LEFT.with(|left| left.set(boundaries));
}

/// Passes a boundary.
#[cfg(feature = "drill")]
pub fn pass() {
    LEFT.with(|left| left.set(left.get().map(|count| count.saturating_sub(1))));
}

/// Runs work whose boundaries do not count: the simulator counts one of its own around a call of the real disk.
#[cfg(feature = "drill")]
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let left = LEFT.with(|left| left.replace(None));
    let done = work();
    LEFT.with(|cell| cell.set(left));
    done
}
