//! The engine's port to git: questions about a workspace's files. The caller supplies the implementation.
//!
//! Paths are relative to the workspace's folder, `folder/file`. The engine asks only when the answer matters, so that
//! an ordinary cycle costs nothing. An answer may hold an action, and never allows one.

use std::collections::{BTreeMap, BTreeSet};

/// Answers questions about the files of one workspace; by default for a folder without git.
pub trait GitView: Send + Sync {
    /// Returns whether the files are in a git work tree.
    fn is_there(&self) -> bool {
        false
    }

    /// Returns what is checked out now, compared with the time before the cycle's scan. The engine asks before a
    /// cycle's first effect.
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

    /// Returns the history of these files since both sides last agreed.
    ///
    /// # Errors
    ///
    /// When there is a repository and git cannot say, with the reason for people.
    fn committed_since(&self, _paths: &BTreeSet<String>) -> Result<Since, String> {
        Ok(Since::default())
    }
}

/// The state of git since the scan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Checkout {
    /// The files that were scanned are those to be synced.
    Same,
    /// Git changes files now, with the reason for people.
    Changing(String),
    /// Files of another branch than the published branch, or of two commits, may have been scanned, with the reason for
    /// people.
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
