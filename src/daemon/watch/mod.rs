//! Watches the mirror for touched files, in a thread that only sends events.
//!
//! The root of each workspace and its category folders are watched, and nothing deeper: deeper files do not count,
//! and neither `.git` nor other tools' folders cost a watch. Events only mark paths; a scan finds out what changed
//! (failures row 72). An overflow, an error, and a folder that appears or disappears ask for a rescan. When the loop is
//! slow, events that find no room in the queue are dropped and reported as an overflow.
//!
//! Where no events come (some bind mounts, exhausted watches), the files are scanned every `rescan` instead. A cookie
//! file at the start shows whether events come. On network file systems, which report only the changes of this machine,
//! the files are scanned as well.
//!
//! The meaning of a path is not decided here.

mod cookie;
mod event_meaning;
mod scans;
mod stamps;
mod thread;

#[cfg(test)]
mod tests;

pub use thread::{Watch, start};

use crate::config::Root;
use crate::state::is_remote;
use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The reason for a rescan: it is unknown which files were touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RescanCause {
    /// The queue of events overflowed.
    Overflow,
    /// The watch failed.
    Error,
    /// The ignore rules changed.
    Rules,
    /// A watched folder was removed or replaced.
    Replaced,
    /// The watch changed from events to scans.
    Fallback,
}

impl RescanCause {
    /// The name in logs and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Error => "error",
            Self::Rules => "rules",
            Self::Replaced => "replaced",
            Self::Fallback => "fallback",
        }
    }
}

/// How changes are noticed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// By the system's events.
    Events,
    /// By a scan of all files at intervals.
    Polling {
        /// The interval.
        every: Duration,
        /// The reason.
        why: String,
    },
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events => f.write_str("events"),
            Self::Polling { every, why } => {
                let every = crate::model::time::in_words(*every);
                write!(f, "a scan every {every}: {why}")
            }
        }
    }
}

/// The interval of the scans, which new settings may change. Clones share the value.
#[derive(Clone, Debug)]
pub struct Rescan(Arc<AtomicU64>);

impl Rescan {
    /// Makes the interval.
    pub fn new(every: Duration) -> Self {
        let rescan = Self(Arc::default());
        rescan.set(every);
        rescan
    }

    /// Changes the interval, also for a scan that waits already.
    pub fn set(&self, every: Duration) {
        let millis = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
        // There is always a pause.
        self.0.store(millis.max(10), Ordering::Relaxed);
    }

    /// Returns the interval.
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The settings of the watch.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folders to watch.
    pub roots: Vec<Root>,
    /// The private folder, for the cookie file.
    pub private: PathBuf,
    /// How often the files are scanned where no events come.
    pub rescan: Rescan,
    /// Whether other machines may change the files without an event: the files are scanned as well.
    pub is_remote: bool,
    /// The longest time until the cookie's event. Zero: events are not trusted, and the files are scanned.
    pub cookie_timeout: Duration,
}

impl Options {
    /// Makes the usual options.
    pub fn new(roots: Vec<Root>, private: PathBuf, rescan: Rescan) -> Self {
        Self {
            is_remote: roots.iter().any(|root| is_remote(&root.path)),
            roots,
            private,
            rescan,
            cookie_timeout: Duration::from_secs(2),
        }
    }
}
