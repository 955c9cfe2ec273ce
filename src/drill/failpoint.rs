//! Named fail points: one at every file, database and request boundary.
//!
//! A process that is started with `KBSYNC_DRILL_KILL_AT=N` kills itself (SIGKILL) at its N-th point, counted from 1.
//! With `KBSYNC_DRILL_TRACE=FILE` the process appends the name of every point to that file, from which a sweep learns
//! the number of points. With `KBSYNC_DRILL_PANIC_AT=NAME` the process panics at that point. With `KBSYNC_DRILL_HURRY`
//! there is no wait before a retry. Without the feature `drill` nothing is read, and nothing happens.

use std::time::Duration;

/// Passes the point of this name: a kill may come here.
#[cfg(not(feature = "drill"))]
#[inline]
pub(crate) fn pass(_name: &'static str) {}

/// Passes the point of this name: a kill may come here.
#[cfg(feature = "drill")]
pub(crate) fn pass(name: &'static str) {
    super::death::pass();
    switched::pass(name);
}

/// Returns the real wait for a nominal wait.
#[cfg(not(feature = "drill"))]
#[inline]
pub(crate) fn wait(meant: Duration) -> Duration {
    meant
}

/// Returns the real wait for a nominal wait.
#[cfg(feature = "drill")]
pub(crate) fn wait(meant: Duration) -> Duration {
    switched::wait(meant)
}

#[cfg(feature = "drill")]
mod switched {
    use std::io::Write as _;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    struct Switches {
        kill_at: Option<u64>,
        panic_at: Option<String>,
        hurry: bool,
        trace: Option<std::ffi::OsString>,
    }

    fn switches() -> &'static Switches {
        static SWITCHES: OnceLock<Switches> = OnceLock::new();
        SWITCHES.get_or_init(|| Switches {
            kill_at: std::env::var("KBSYNC_DRILL_KILL_AT")
                .ok()
                .and_then(|number| number.parse().ok()),
            panic_at: std::env::var("KBSYNC_DRILL_PANIC_AT").ok(),
            trace: std::env::var_os("KBSYNC_DRILL_TRACE"),
            hurry: std::env::var_os("KBSYNC_DRILL_HURRY").is_some(),
        })
    }

    pub(super) fn wait(meant: Duration) -> Duration {
        // A wait for the clock's next tick is not shortened.
        const SHORT: Duration = Duration::from_millis(100);
        if switches().hurry && meant > SHORT {
            Duration::ZERO
        } else {
            meant
        }
    }

    pub(super) fn pass(name: &'static str) {
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let switches = switches();
        let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(trace) = &switches.trace {
            let file = std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(trace);
            let written = file.and_then(|mut file| writeln!(file, "{name}"));
            written.expect("the file for the trace can be appended to");
        }
        assert!(
            switches.panic_at.as_deref() != Some(name),
            "a drill at {name}"
        );
        if switches.kill_at == Some(number) {
            let killed = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
            killed.expect("a process may kill itself");
        }
    }
}
