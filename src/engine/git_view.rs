//! What git knows of a workspace's files, as the engine asks for it: the port; who answers is the caller's choice.
//!
//! Paths are those of the workspace's folder, `folder/file`. A question is asked only where the answer matters, so
//! that an ordinary cycle costs nothing. An answer may only hold an action, never allow one.

use std::collections::{BTreeMap, BTreeSet};

/// What git knows of the files of one workspace.
pub trait GitView: Send + Sync {
    /// Of these files, which are gone from the mirror, returns the ones that git may have removed, each with the
    /// reason for people: their articles stay on the service. Asked after the scan.
    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String>;

    /// Returns whether HEAD moved other than by commits made here, since both sides last agreed.
    fn moved(&self) -> bool;

    /// Returns what was committed of these files.
    ///
    /// # Errors
    ///
    /// When there is a repository and git cannot say, with the reason for people.
    fn committed(&self, paths: &BTreeSet<String>) -> Result<Committed, String>;
}

/// What was committed of some files, byte for byte, by path. A file that a commit does not have is not named.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Committed {
    /// The contents in the commit that is checked out.
    pub now: BTreeMap<String, Vec<u8>>,
    /// The contents in the commit that was checked out when both sides last agreed, and in those that came since;
    /// `None`: git cannot say, as in a shallow clone.
    pub lately: Option<BTreeMap<String, Vec<Vec<u8>>>>,
    /// Files whose present content a commit made here wrote since then.
    pub written_here: BTreeSet<String>,
}

/// A folder without git.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoGit;

impl GitView for NoGit {
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
