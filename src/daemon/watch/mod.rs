//! Noticing that files were touched: a thread that only sends.
//!
//! The root of each workspace and the folders of its categories are watched, nothing deeper: nothing deeper
//! counts, and neither `.git` nor another tool's folders cost a watch. Events only mark paths; what is true
//! is found out by looking (failures row 72). Whatever is unclear becomes a doubt, never silence: an
//! overflow, an error, a folder that came or went. When the loop is slow, what finds no place in
//! the queue is lost, and told as an overflow.
//!
//! Where no events come (network file systems, bind mounts, watches used up) the files are looked through
//! every `rescan` instead. Whether events come is found out at the start with a file of our own.
//!
//! What a path means is not decided here.

mod cookie;
mod event_meaning;
mod stamps;
mod thread;

#[cfg(test)]
mod tests;

pub use thread::{Watch, start};

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Why it is not known what was touched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// The queue of events was full.
    Overflow,
    /// The watch failed.
    Error,
    /// The rules of what is ignored changed.
    Rules,
    /// A folder that is watched was removed or replaced.
    Replaced,
    /// Events were given up for looking.
    Fallback,
    /// A look at everything was not finished.
    Unfinished,
}

impl Cause {
    /// The word for it, in logs and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Error => "error",
            Self::Rules => "rules",
            Self::Replaced => "replaced",
            Self::Fallback => "fallback",
            Self::Unfinished => "unfinished",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How changes are noticed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// By the system's events.
    Events,
    /// By looking at all files now and then.
    Polling {
        /// How often.
        every: Duration,
        /// Why.
        why: String,
    },
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events => f.write_str("events"),
            Self::Polling { every, why } => {
                let every = crate::model::time::in_words(*every);
                write!(f, "looking every {every}: {why}")
            }
        }
    }
}

/// A workspace's folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    /// What stands before its paths: `""`, or the folder's name and a `/`.
    pub prefix: String,
    /// The folder.
    pub path: PathBuf,
}

/// How often the files are looked through: said by the settings, which may be read again. Clones share it.
#[derive(Clone, Debug)]
pub struct Rescan(Arc<AtomicU64>);

impl Rescan {
    /// Says how often.
    pub fn new(every: Duration) -> Self {
        let rescan = Self(Arc::default());
        rescan.set(every);
        rescan
    }

    /// Says it anew. Who is waiting goes by it from now on.
    pub fn set(&self, every: Duration) {
        let millis = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
        // Never without a pause.
        self.0.store(millis.max(10), Ordering::Relaxed);
    }

    /// How often.
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// How to watch.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is watched.
    pub roots: Vec<Root>,
    /// The private folder, for the file that shows whether events come.
    pub private: PathBuf,
    /// How often the files are looked through where no events come.
    pub rescan: Rescan,
    /// How long the file's event may take. Zero: events are not trusted, the files are looked through.
    pub cookie_timeout: Duration,
}

impl Options {
    /// The usual ones.
    pub fn new(roots: Vec<Root>, private: PathBuf, rescan: Rescan) -> Self {
        Self {
            roots,
            private,
            rescan,
            cookie_timeout: Duration::from_secs(2),
        }
    }
}
