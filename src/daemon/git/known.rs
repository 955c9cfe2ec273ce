//! The repositories around a mirror: what git does in each now, and what the state recorded at the last sync.
//!
//! The record is in the state of the first workspace whose folder is in the repository. The record names the published
//! branch, and the HEAD at which both sides last agreed on removals. Users add and remove repositories at any time, so each
//! look searches for the repositories again.

use super::{Git, GitState, Head, NotPublished, Published};
use crate::{config::PublishedBranch, model::Timestamp, state::Store};
use std::path::{Path, PathBuf};

/// The state's key for HEAD.
const HEAD: &str = "git_head";

/// The state's key for the published branch.
const BRANCH: &str = "git_branch";

/// The state's record of a repository.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remembered {
    /// HEAD when both sides last agreed on removals.
    pub head: Option<Head>,
    /// The published branch since the first sync.
    pub branch: Option<String>,
}

/// Reads the record from a state.
pub fn remembered(store: &Store) -> Remembered {
    let meta = |key| store.meta(key).ok().flatten();
    Remembered {
        head: meta(HEAD).and_then(|text| serde_json::from_str(&text).ok()),
        branch: meta(BRANCH),
    }
}

/// Records HEAD, after both sides agreed on removals.
///
/// # Errors
///
/// When the state cannot be written.
pub fn remember_head(store: &mut Store, head: &Head, now: Timestamp) -> anyhow::Result<()> {
    if remembered(store).head.as_ref() == Some(head) {
        return Ok(());
    }
    let text = serde_json::to_string(head)?;
    store.write_at(now, |tx| tx.set_meta(HEAD, &text))?;
    Ok(())
}

/// Remembers the published branch.
///
/// # Errors
///
/// When the state cannot be written.
pub fn remember_branch(store: &mut Store, branch: &str, now: Timestamp) -> anyhow::Result<()> {
    store.write_at(now, |tx| tx.set_meta(BRANCH, branch))?;
    Ok(())
}

/// A repository at one look, with its record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The path prefix of the first workspace in the repository.
    pub prefix: String,
    /// The git folder.
    pub git: Git,
    /// What git is doing.
    pub state: GitState,
    /// HEAD when both sides last agreed on removals; `None`: no sync recorded a HEAD.
    pub agreed: Option<Head>,
    /// The published branch.
    pub published: Published,
    /// The branch that the first sync records as the published branch, if the sync is to record a branch.
    pub first: Option<String>,
}

impl Known {
    /// Returns why the checkout is not synced; `None`: the checkout is synced.
    pub fn not_published(&self) -> Option<NotPublished> {
        self.published.refuses(&self.git, &self.state)
    }

    /// Returns why every removal is held; `None`: not all are held. With a published branch, the [`super::View`] judges a
    /// moved HEAD file by file.
    pub fn hold(&self) -> Option<&'static str> {
        if self.state.sparse {
            return Some(super::SPARSE);
        }
        let (Some(agreed), Some(now)) = (&self.agreed, &self.state.head) else {
            return Some(super::UNKNOWN);
        };
        let judged = self.published.name().is_some();
        (!judged && self.git.moved(agreed, now)).then_some(super::HOLD)
    }
}

/// The folders of the workspaces, each with its path prefix.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trees(Vec<(String, PathBuf)>);

impl Trees {
    /// Makes the list from pairs of path prefix and folder.
    pub fn of(folders: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        Self(folders.into_iter().collect())
    }

    /// Looks at each repository around the folders once. `remembered` reads the record of the workspace with a prefix.
    pub fn look(
        &self,
        setting: &PublishedBranch,
        remembered: impl Fn(&str) -> Remembered,
    ) -> Vec<Known> {
        let mut found: Vec<Known> = Vec::new();
        for (prefix, folder) in &self.0 {
            let Some(git) = Git::find(folder) else {
                continue;
            };
            if found.iter().all(|known| known.git != git) {
                found.push(look(prefix, git, setting, remembered(prefix)));
            }
        }
        found
    }

    /// The folder of the workspace with this prefix.
    pub fn folder(&self, prefix: &str) -> Option<&Path> {
        let (_, folder) = self.0.iter().find(|(found, _)| found == prefix)?;
        Some(folder)
    }
}

fn look(prefix: &str, git: Git, setting: &PublishedBranch, remembered: Remembered) -> Known {
    let state = git.state();
    let takes = *setting == PublishedBranch::Auto && remembered.branch.is_none();
    let first = git.shared_branch(&state).filter(|_| takes);
    Known {
        prefix: prefix.to_owned(),
        agreed: remembered.head,
        published: Published::of(setting, remembered.branch.or_else(|| first.clone())),
        first,
        state,
        git,
    }
}

/// Returns why nothing is synced in any of the folders; `None`: all folders are synced.
pub fn not_published(setting: &PublishedBranch, repositories: &[Known]) -> Option<NotPublished> {
    match setting {
        PublishedBranch::Named(published) if repositories.is_empty() => {
            let published = published.clone();
            Some(NotPublished::NoRepository { published })
        }
        PublishedBranch::Named(_) | PublishedBranch::Auto | PublishedBranch::Any => {
            repositories.iter().find_map(Known::not_published)
        }
    }
}
