//! The engine's port to git: questions about a workspace's files. The caller supplies the implementation.
//!
//! Paths are relative to the workspace's folder, `folder/file`. The engine asks only when the answer matters, so that an
//! ordinary cycle costs nothing. An answer may hold an action, and never allows one.

use std::collections::{BTreeMap, BTreeSet};

/// Answers questions about the files of one workspace.
pub trait GitView: Send + Sync {
    /// Returns whether the files are in a git work tree.
    fn is_there(&self) -> bool;

    /// Returns what is checked out now, compared with the time before the cycle's scan. The engine asks before a cycle's
    /// first effect.
    fn checkout(&self) -> Checkout;

    /// Returns the files among `gone` (the files missing from the mirror) that git may have removed, each with the reason
    /// for people. The articles of these files stay on the service. The engine asks after the scan.
    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String>;

    /// Returns whether HEAD moved since both sides last agreed, other than by commits made here.
    fn moved(&self) -> bool;

    /// Returns the committed contents of these files.
    ///
    /// # Errors
    ///
    /// When there is a repository and git cannot say, with the reason for people.
    fn committed(&self, paths: &BTreeSet<String>) -> Result<Committed, String>;
}

/// What git shows since the scan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Checkout {
    /// The files that were scanned are those to be synced.
    Same,
    /// Git changes files now, with the reason for people.
    Changing(String),
    /// Files of another branch than the published branch may have been scanned, with the reason for people.
    Other(String),
}

/// The committed contents of some files, byte for byte, by path. A file that is in no commit has no entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Committed {
    /// The contents in the commit that is checked out.
    pub now: BTreeMap<String, Vec<u8>>,
    /// The contents in the commit at which both sides last agreed, and in all later commits; `None`: git cannot say, as in
    /// a shallow clone.
    pub lately: Option<BTreeMap<String, Vec<Vec<u8>>>>,
    /// The files whose present content was written by a commit made here, since both sides last agreed.
    pub written_here: BTreeSet<String>,
}

/// A folder without git.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoGit;

impl GitView for NoGit {
    fn is_there(&self) -> bool {
        false
    }

    fn checkout(&self) -> Checkout {
        Checkout::Same
    }

    fn held_removals(&self, _gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn moved(&self) -> bool {
        false
    }

    fn committed(&self, _paths: &BTreeSet<String>) -> Result<Committed, String> {
        Ok(Committed::default())
    }
}
