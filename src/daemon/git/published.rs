//! Which branch is published, and whether it is the one that is checked out.
//!
//! On any other branch nothing is sent and nothing is written. The branch is named in the settings. Else it is the
//! default branch of the server in a clone, and the branch that was checked out at the first sync elsewhere; the state
//! remembers it. Only git's own files are read.

use super::{Git, GitState};
use crate::{config::PublishedBranch, model::path::quoted};
use std::fmt;

/// The reasons why a folder is not synced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotPublished {
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
    /// The settings name a branch, and the folder is in no repository.
    NoRepository {
        /// The published branch.
        published: String,
    },
    /// The repository stores its branches as reftables, which kbsync cannot read.
    Unreadable,
}

impl NotPublished {
    /// Returns the remedy for the user.
    pub fn remedy(&self) -> String {
        match self {
            Self::Other { published, .. } | Self::Detached { published } => format!(
                "run `git switch {}`, or change `git: {{branch: …}}` in kbsync.yaml to publish another branch",
                quoted(published)
            ),
            Self::NoBranch => {
                "write `git: {branch: NAME}` into kbsync.yaml, with the name of the published branch"
                    .to_owned()
            }
            Self::NoRepository { .. } => {
                "keep the mirror in a git repository, or take `git:` out of kbsync.yaml".to_owned()
            }
            Self::Unreadable => {
                "write `git: {branch: any}` into kbsync.yaml to publish every branch".to_owned()
            }
        }
    }
}

impl fmt::Display for NotPublished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
            Self::Unreadable => f.write_str(
                "this git repository stores its branches as reftables, and kbsync cannot read which branch is checked out",
            ),
        }
    }
}

/// The published branch of a repository.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Published {
    /// Every branch is published.
    #[default]
    Any,
    /// Only this branch is published.
    Only(String),
    /// No branch is named or recorded, and none can be taken.
    Unnamed,
}

impl Published {
    /// Takes the branch from the settings, else from the state's record.
    pub fn of(setting: &PublishedBranch, remembered: Option<String>) -> Self {
        match setting {
            PublishedBranch::Any => Self::Any,
            PublishedBranch::Named(name) => Self::Only(name.clone()),
            PublishedBranch::Auto => remembered.map_or(Self::Unnamed, Self::Only),
        }
    }

    /// Returns the name of the only published branch.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Only(name) => Some(name),
            Self::Any | Self::Unnamed => None,
        }
    }

    /// Returns why the checkout is not synced; `None`: the checkout is synced.
    pub fn refuses(&self, git: &Git, state: &GitState) -> Option<NotPublished> {
        let published = match self {
            Self::Any => return None,
            _ if state.reftable => return Some(NotPublished::Unreadable),
            Self::Unnamed => return Some(NotPublished::NoBranch),
            Self::Only(name) => name.clone(),
        };
        match &state.branch {
            Some(branch) if *branch == published => None,
            Some(branch) => Some(NotPublished::Other {
                checked_out: branch.clone(),
                published,
            }),
            // CI systems check out a commit without a branch.
            None => {
                let tips = git.tips(&published);
                let at = state.head.as_ref().map(|head| &head.commit);
                let newest = at.is_some_and(|commit| tips.contains(commit));
                (!newest).then_some(NotPublished::Detached { published })
            }
        }
    }
}
