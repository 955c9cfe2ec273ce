//! What git is doing around the mirror, and what the mirror's state remembers of it.
//!
//! [`repository`] reads git's own files, [`objects`] reads commits through the git program, [`view`] answers the
//! engine's questions about one workspace. In git's folder nothing is ever written; where HEAD was is remembered in the
//! state of the first workspace in a repository.

pub mod objects;
mod repository;
mod view;

pub use repository::{Git, Head, Sight};
pub use view::{Before, View};

use crate::{model::Timestamp, state::Store};
use std::path::PathBuf;

/// The key under which the state of the first workspace remembers where HEAD was.
const HEAD: &str = "git_head";

/// Why removals are held that came with a moved HEAD.
pub const HOLD: &str = "git moved HEAD before these files went away; `kbsync approve` releases them, `kbsync restore FOLDER` \
                        brings a folder's back, and `git: {branch: NAME}` in the settings names the branch that counts";

/// Why removals are held in a work tree that git fills only in part (failures row 91).
pub const SPARSE: &str = "git leaves files out of this work tree (sparse checkout), and nobody can tell which of them a \
                          writer removed; `kbsync approve` releases them";

/// Where HEAD was when both sides last agreed on what is removed.
pub fn remembered(store: &Store) -> Option<Head> {
    let text = store.meta(HEAD).ok()??;
    serde_json::from_str(&text).ok()
}

/// Remembers where HEAD is, now that both sides agree on what is removed.
pub fn remember(store: &mut Store, head: &Head, now: Timestamp) -> anyhow::Result<()> {
    if remembered(store).as_ref() == Some(head) {
        return Ok(());
    }
    let text = serde_json::to_string(head)?;
    store.write(now, |tx| tx.set_meta(HEAD, &text))?;
    Ok(())
}

/// The folders of the workspaces, each with what stands before its paths. A repository may be made around one, or
/// taken away, at any time: which there are is found out anew at each look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trees(Vec<(String, PathBuf)>);

impl Trees {
    /// The work trees that these folders may be in.
    pub fn of(folders: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        Self(folders.into_iter().collect())
    }

    /// The repositories that are there now, each under the first folder that is in it.
    pub fn find(&self) -> Vec<(&str, Git)> {
        let mut found: Vec<(&str, Git)> = Vec::new();
        for (prefix, folder) in &self.0 {
            if let Some(git) = Git::find(folder)
                && found.iter().all(|(_, known)| *known != git)
            {
                found.push((prefix, git));
            }
        }
        found
    }

    /// Why nothing is synced: another branch than this one is checked out in a repository, or there is none.
    pub fn on_another_branch(&self, wanted: &str) -> Option<String> {
        let found = self.find();
        if found.is_empty() {
            return Some(in_no_work_tree(wanted));
        }
        let mut sights = found.iter().map(|(_, git)| git.sight());
        sights.find_map(|sight| on_another_branch(&sight, wanted))
    }
}

/// Why nothing is synced where only one branch is, and there is no git.
pub fn in_no_work_tree(wanted: &str) -> String {
    format!("this is no work tree of git, and only the branch {wanted} is synced")
}

/// Why nothing is synced in a work tree where only one branch is, if another one is checked out.
pub fn on_another_branch(sight: &Sight, wanted: &str) -> Option<String> {
    match sight.branch.as_deref() {
        Some(branch) if branch == wanted => None,
        Some(branch) => Some(format!(
            "{branch} is checked out, and only {wanted} is synced"
        )),
        None if sight.reftable => Some(format!(
            "which branch is checked out cannot be told in a repository with reftables, and only {wanted} \
             is synced"
        )),
        None => Some(format!(
            "no branch is checked out, and only {wanted} is synced"
        )),
    }
}
