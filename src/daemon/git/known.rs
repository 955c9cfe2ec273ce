//! The repositories around a mirror: what each is doing, and what the mirror's state remembers of it.
//!
//! A repository is remembered in the state of the first workspace whose folder is in it: which branch is published, and
//! where HEAD was when both sides last agreed on what is removed. A repository can be made around a folder, or taken
//! away, at any time: which there are is found out anew at each look.

use super::{Git, Head, NotPublished, Published, Sight};
use crate::{config::PublishedBranch, model::Timestamp, state::Store};
use std::path::{Path, PathBuf};

/// The key under which the state remembers where HEAD was.
const HEAD: &str = "git_head";

/// The key under which the state remembers the published branch.
const BRANCH: &str = "git_branch";

/// What the state remembers of a repository.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remembered {
    /// Where HEAD was when both sides last agreed on what is removed.
    pub head: Option<Head>,
    /// The branch that was checked out at the first sync.
    pub branch: Option<String>,
}

/// Reads what a state remembers.
pub fn remembered(store: &Store) -> Remembered {
    let meta = |key| store.meta(key).ok().flatten();
    Remembered {
        head: meta(HEAD).and_then(|text| serde_json::from_str(&text).ok()),
        branch: meta(BRANCH),
    }
}

/// Remembers where HEAD is, now that both sides agree on what is removed.
///
/// # Errors
///
/// When the state cannot be written.
pub fn remember_head(store: &mut Store, head: &Head, now: Timestamp) -> anyhow::Result<()> {
    if remembered(store).head.as_ref() == Some(head) {
        return Ok(());
    }
    let text = serde_json::to_string(head)?;
    store.write(now, |tx| tx.set_meta(HEAD, &text))?;
    Ok(())
}

/// Remembers the published branch.
///
/// # Errors
///
/// When the state cannot be written.
pub fn remember_branch(store: &mut Store, branch: &str, now: Timestamp) -> anyhow::Result<()> {
    store.write(now, |tx| tx.set_meta(BRANCH, branch))?;
    Ok(())
}

/// A repository, as of one look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// What stands before the paths of the first workspace in it.
    pub prefix: String,
    /// Its git folder.
    pub git: Git,
    /// What git is doing.
    pub sight: Sight,
    /// Where HEAD was when both sides last agreed on what is removed; `None`: that was never seen.
    pub agreed: Option<Head>,
    /// The published branch.
    pub published: Published,
    /// The branch that the first sync is to remember as the published one.
    pub first: Option<String>,
}

impl Known {
    /// Why nothing is synced with what is checked out, if so.
    pub fn not_published(&self) -> Option<NotPublished> {
        self.published.refuses(&self.git, &self.sight)
    }

    /// Why every removal waits, if so. With a published branch, a moved HEAD is judged file by file instead.
    pub fn hold(&self) -> Option<&'static str> {
        if self.sight.sparse {
            return Some(super::SPARSE);
        }
        let (Some(agreed), Some(now)) = (&self.agreed, &self.sight.head) else {
            return Some(super::UNKNOWN);
        };
        let judged = self.published.name().is_some();
        (!judged && self.git.moved(agreed, now)).then_some(super::HOLD)
    }
}

/// The folders of the workspaces, each with what stands before its paths.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trees(Vec<(String, PathBuf)>);

impl Trees {
    /// The work trees that these folders may be in.
    pub fn of(folders: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        Self(folders.into_iter().collect())
    }

    /// Looks at the repositories that are there now, each once. `remembered`: by the prefix of a workspace.
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
    let sight = git.sight();
    let takes = *setting == PublishedBranch::Auto && remembered.branch.is_none();
    let first = sight.branch.clone().filter(|_| takes);
    Known {
        prefix: prefix.to_owned(),
        agreed: remembered.head,
        published: Published::of(setting, remembered.branch.or_else(|| first.clone())),
        first,
        sight,
        git,
    }
}

/// Why nothing is synced in any of the folders, if so.
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
