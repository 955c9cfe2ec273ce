//! The published branch, the check that the published branch is checked out, and the state's record of the last sync.
//!
//! On any other branch nothing is sent and nothing is written. The settings name the published branch. Without a name,
//! a clone publishes the default branch of its server, and another repository the branch that was checked out at the
//! first sync. The record is in the state of the first workspace whose folder is in the repository: the published
//! branch, and the HEAD at which both sides last agreed on removals. Users add and remove repositories at any time, so
//! each look searches for the repositories again.

use super::{Busy, Git, GitState, Head};
use crate::{
    config::PublishedBranch,
    model::{ExitCode, path::quoted},
    state::Store,
};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// The reasons why git pauses the sync of a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pause {
    /// A git operation is not finished.
    Busy(Busy),
    /// Another branch is checked out.
    Other {
        /// The branch that is checked out.
        checked_out: String,
        /// The published branch.
        published: String,
    },
    /// HEAD is detached at a commit that is not the newest of the published branch.
    Detached {
        /// The published branch.
        published: String,
    },
    /// No branch is named or recorded, and HEAD is detached or the clone does not know its team's branch.
    NoBranch,
    /// The settings or the state name a branch, and the folder is in no repository.
    NoRepository {
        /// The published branch.
        published: String,
    },
    /// There is a `.git`, and no repository that can be read.
    Unusable {
        /// The `.git`.
        at: PathBuf,
    },
    /// The repository stores its branches as reftables, which kbsync cannot read.
    Unreadable,
}

impl Pause {
    /// Returns the remedy for the user.
    pub fn remedy(&self) -> String {
        match self {
            Self::Busy(busy) => busy.remedy(),
            Self::Other { published, .. } | Self::Detached { published } => format!(
                "run `git switch {}`, or change `git: {{branch: …}}` in kbsync.yaml to publish another branch",
                quoted(published)
            ),
            Self::NoBranch => {
                "write `git: {branch: NAME}` into kbsync.yaml, with the name of the published branch"
                    .to_owned()
            }
            Self::NoRepository { .. } => {
                "keep the mirror in a git repository, or write `git: {branch: any}` into kbsync.yaml to sync without one"
                    .to_owned()
            }
            Self::Unusable { .. } => {
                "make that repository available again (a disk that is not mounted, rights?), or write \
                 `git: {branch: any}` into kbsync.yaml to publish every branch"
                    .to_owned()
            }
            Self::Unreadable => {
                "write `git: {branch: any}` into kbsync.yaml to publish every branch".to_owned()
            }
        }
    }

    /// The exit code of a command that is refused because of the pause.
    pub const fn code(&self) -> ExitCode {
        match self {
            Self::Busy(_) => ExitCode::Retry,
            Self::Other { .. }
            | Self::Detached { .. }
            | Self::NoBranch
            | Self::NoRepository { .. }
            | Self::Unusable { .. }
            | Self::Unreadable => ExitCode::Attention,
        }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(busy) => busy.fmt(f),
            Self::Other {
                checked_out,
                published,
            } => write!(
                f,
                "branch {checked_out} is checked out, and only branch {published} is published"
            ),
            Self::Detached { published } => write!(
                f,
                "HEAD is detached at a commit that is not the newest of branch {published}, and only branch {published} \
                 is published"
            ),
            Self::NoBranch => f.write_str(
                "no branch is named as the published branch, and kbsync cannot tell which one the team shares",
            ),
            Self::NoRepository { published } => write!(
                f,
                "this folder is in no git repository, and only branch {published} is published"
            ),
            Self::Unusable { at } => write!(
                f,
                "{} leads to no git repository that kbsync can read, so kbsync cannot know which branch is checked out",
                at.display()
            ),
            Self::Unreadable => f.write_str(
                "this git repository stores its branches as reftables, and kbsync cannot read which branch is checked out",
            ),
        }
    }
}

impl PublishedBranch {
    /// Takes the branch from the state's record if the settings name none.
    fn or_remembered(&self, remembered: Option<String>) -> Self {
        match (self, remembered) {
            (Self::Auto, Some(name)) => Self::Named(name),
            (setting, _) => setting.clone(),
        }
    }

    /// Returns the name of the only published branch.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Any | Self::Auto => None,
        }
    }

    /// Returns why the checkout is not synced; `None`: the checkout is synced.
    pub fn refuses(&self, git: &Git, state: &GitState) -> Option<Pause> {
        let published = match self {
            Self::Any => return None,
            Self::Named(published) if fs::symlink_metadata(git.path()).is_err() => {
                let published = published.clone();
                return Some(Pause::NoRepository { published });
            }
            _ if state.head.is_none() => {
                let at = git.path().to_owned();
                return Some(Pause::Unusable { at });
            }
            _ if state.reftable => return Some(Pause::Unreadable),
            Self::Auto => return Some(Pause::NoBranch),
            Self::Named(name) => name.clone(),
        };
        match &state.branch {
            Some(branch) if *branch == published => None,
            Some(branch) => Some(Pause::Other {
                checked_out: branch.clone(),
                published,
            }),
            // CI systems check out a commit without a branch.
            None => {
                let tips = git.tips(&published);
                let at = state.head.as_ref().map(|head| &head.commit);
                let newest = at.is_some_and(|commit| tips.contains(commit));
                (!newest).then_some(Pause::Detached { published })
            }
        }
    }
}

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

/// Stores HEAD, after both sides agreed on removals, or the published branch. `None` leaves a stored value unchanged.
pub fn remember(store: &mut Store, what: &Remembered) -> anyhow::Result<()> {
    let head = what.head.as_ref().map(serde_json::to_string).transpose()?;
    store.write(|tx| {
        let values = [(HEAD, &head), (BRANCH, &what.branch)];
        let mut given = values
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.as_ref()?)));
        given.try_for_each(|(key, value)| tx.set_meta(key, value))
    })?;
    Ok(())
}

/// A repository as found at one moment, with the state's record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The path prefix of the first workspace in the repository.
    pub prefix: String,
    /// The git folder.
    pub git: Git,
    /// The state of the work tree.
    pub state: GitState,
    /// HEAD when both sides last agreed on removals; `None`: no sync recorded a HEAD.
    pub agreed: Option<Head>,
    /// The published branch; `Auto`: none is named or recorded, and the repository shows none.
    pub published: PublishedBranch,
    /// The branch that the first sync records as the published branch; `None`: nothing is to be recorded.
    pub first: Option<String>,
}

impl Known {
    /// Returns why the checkout is not synced; `None`: the checkout is synced.
    pub fn not_published(&self) -> Option<Pause> {
        self.published.refuses(&self.git, &self.state)
    }
}

/// Looks at each repository around the folders of the workspaces once. Each folder comes with its path prefix;
/// `remembered` reads the record of the workspace with a prefix. A folder in no repository, whose record has a branch,
/// has lost its repository.
pub fn look<'f>(
    folders: impl IntoIterator<Item = (&'f str, &'f Path)>,
    setting: &PublishedBranch,
    remembered: impl Fn(&str) -> Remembered,
) -> Vec<Known> {
    let mut found: Vec<Known> = Vec::new();
    for (prefix, folder) in folders {
        let lost = || {
            let is_lost = *setting == PublishedBranch::Auto && remembered(prefix).branch.is_some();
            is_lost.then(|| Git::gone(folder))
        };
        let Some(git) = Git::find(folder).or_else(lost) else {
            continue;
        };
        if found.iter().all(|known| known.git != git) {
            found.push(known(prefix, git, setting, remembered(prefix)));
        }
    }
    found
}

fn known(prefix: &str, git: Git, setting: &PublishedBranch, remembered: Remembered) -> Known {
    let state = git.state();
    let takes = *setting == PublishedBranch::Auto && remembered.branch.is_none();
    let first = git.shared_branch(&state).filter(|_| takes);
    Known {
        prefix: prefix.to_owned(),
        agreed: remembered.head,
        published: setting.or_remembered(remembered.branch.or_else(|| first.clone())),
        first,
        state,
        git,
    }
}

/// Returns why nothing is synced in any of the folders; `None`: all folders are synced.
pub fn not_published(setting: &PublishedBranch, repositories: &[Known]) -> Option<Pause> {
    match setting {
        PublishedBranch::Named(published) if repositories.is_empty() => {
            let published = published.clone();
            Some(Pause::NoRepository { published })
        }
        PublishedBranch::Named(_) | PublishedBranch::Auto | PublishedBranch::Any => {
            repositories.iter().find_map(Known::not_published)
        }
    }
}

/// Returns why git pauses the sync of all folders. An unfinished operation in any repository counts first.
pub fn pause(setting: &PublishedBranch, repositories: &[Known]) -> Option<Pause> {
    let busy = repositories.iter().find_map(|known| known.state.busy);
    busy.map(Pause::Busy)
        .or_else(|| not_published(setting, repositories))
}
