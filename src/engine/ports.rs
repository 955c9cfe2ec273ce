//! The engine's ports, supplied by the caller: git, the clock, and the receiver of progress.
//!
//! The engine asks git only when the answer matters, so that an ordinary cycle costs nothing. An answer may hold an
//! action, but never allows one. Paths are relative to the workspace's folder, `folder/file`.

use crate::drill::failpoint;
use crate::model::Timestamp;
use crate::service::client::WaitNote;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Answers questions about the files of one workspace; by default for a folder without git.
pub trait GitView: Send + Sync {
    /// Returns whether the files are in a git work tree.
    fn is_there(&self) -> bool {
        false
    }

    /// Compares the present checkout with the one before the cycle's scan. The engine asks before a plan, before each
    /// step that it tries, and once for a run of local changes.
    fn checkout(&self) -> Checkout {
        Checkout::Same
    }

    /// Returns the files among `gone` (the files missing from the mirror) that git may have removed, each with the
    /// reason for people. The articles of these files stay on the service. The engine asks after the scan.
    fn held_removals(&self, _gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Returns the contents of these files in the commit that is checked out, byte for byte.
    ///
    /// # Errors
    ///
    /// When there is a repository and git cannot say, with the reason for people.
    fn committed(&self, _paths: &BTreeSet<String>) -> Result<Contents, String> {
        Ok(Contents::new())
    }

    /// Returns the files among these that git converts with a filter, each with the reason for people: their commits
    /// cannot be compared with the files.
    fn filtered(&self, _paths: &BTreeSet<String>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Returns the history of these files since both sides last agreed.
    ///
    /// # Errors
    ///
    /// When there is a repository and git cannot say, with the reason for people.
    fn committed_since(&self, _paths: &BTreeSet<String>) -> Result<Since, String> {
        Ok(Since::default())
    }
}

/// The longest wait for a git command that changes files: a command that only refreshes the index is done by then.
pub const GIT_PATIENCE: Duration = Duration::from_secs(2);

/// The state of git since the scan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Checkout {
    /// The files that were scanned are those to be synced.
    Same,
    /// Git changes files now, with the reason for people.
    Changing(String),
    /// The scan may have seen files of an unpublished branch, or of two commits, with the reason for people.
    Other(String),
}

/// The contents of some files in a commit, by path. A file that the commit lacks has no entry.
pub type Contents = BTreeMap<String, Vec<u8>>;

/// The history of some files since both sides last agreed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Since {
    /// The contents in the merge base of HEAD and the agreed commit, and in the commits after it, by path. Of a long
    /// history, the newest commits. `None`: git does not know the agreed commit, as in a shallow clone.
    pub contents: Option<BTreeMap<String, Vec<Vec<u8>>>>,
    /// The files that commits made here wrote or removed, and that HEAD still has in that form. Empty after a reset or
    /// a checkout.
    pub by_own_commits: BTreeSet<String>,
}

/// A folder without git.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoGit;

impl GitView for NoGit {}

/// A wait under way.
pub type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The time of day, and pauses; tests and the simulator bring their own. Tokio's clock measures the age of a response.
pub trait Clock: Send + Sync {
    /// The present time, by this machine's clock.
    fn now(&self) -> Timestamp;

    /// Waits before a retry.
    fn pause(&self, wait: Duration) -> Pause {
        Box::pin(tokio::time::sleep(failpoint::wait(wait)))
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(chrono::Utc::now().timestamp_millis())
    }
}

/// Progress of a cycle, for display.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// A phase begins.
    Phase {
        /// Its name.
        name: String,
        /// The number of its units, if known.
        total: Option<u64>,
        /// Requests that one unit costs.
        requests: u32,
    },
    /// So many units of the phase are done.
    Done(u64),
    /// The service makes the cycle wait.
    Waiting(WaitNote),
}

/// The receiver of progress; it must not block.
pub type Teller = Arc<dyn Fn(Progress) + Send + Sync>;

/// Reports that a phase begins.
pub(super) fn begin_phase(teller: &Teller, name: &str, total: Option<usize>, requests: u32) {
    teller(Progress::Phase {
        name: name.to_owned(),
        total: total.map(|total| total as u64),
        requests,
    });
}

/// Reports how many units of the phase are done.
pub(super) fn report_done(teller: &Teller, units: usize) {
    teller(Progress::Done(units as u64));
}
