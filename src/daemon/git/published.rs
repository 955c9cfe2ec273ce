//! Which branch is published, and whether it is the one that is checked out (design, section 8).
//!
//! On any other branch nothing is sent and nothing is written. The branch is named in the settings, or it is the one
//! that was checked out at the first sync, which the state remembers. Only git's own files are read.

use super::{Git, Sight};
use crate::{config::PublishedBranch, model::path::quoted};
use std::fmt;

/// Why nothing is synced in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotPublished {
    /// Another branch is checked out.
    Other {
        /// The branch that is checked out.
        checked_out: String,
        /// The published branch.
        published: String,
    },
    /// A commit is checked out which is not the newest of the published branch.
    Detached {
        /// The published branch.
        published: String,
    },
    /// A commit is checked out, and no branch was named yet.
    NoBranch,
    /// The settings name a branch, and there is no repository.
    NoRepository {
        /// The published branch.
        published: String,
    },
    /// The repository keeps its branches in a form that is not read here.
    Unreadable,
}

impl NotPublished {
    /// What to type.
    pub fn remedy(&self) -> String {
        match self {
            Self::Other { published, .. } | Self::Detached { published } => format!(
                "`git switch {}`; or write `git: {{branch: …}}` into kbsync.yaml to publish another branch",
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
                "HEAD is detached, and no branch is named as the published branch",
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
    /// Every branch is.
    #[default]
    Any,
    /// Only this one.
    Only(String),
    /// None was named, and none is checked out.
    Unnamed,
}

impl Published {
    /// The published branch by the settings and by what the state remembers.
    pub fn of(setting: &PublishedBranch, remembered: Option<String>) -> Self {
        match setting {
            PublishedBranch::Any => Self::Any,
            PublishedBranch::Named(name) => Self::Only(name.clone()),
            PublishedBranch::Auto => remembered.map_or(Self::Unnamed, Self::Only),
        }
    }

    /// Its name, where there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Only(name) => Some(name),
            Self::Any | Self::Unnamed => None,
        }
    }

    /// Why nothing is synced with what is checked out, if so.
    pub fn refuses(&self, git: &Git, sight: &Sight) -> Option<NotPublished> {
        let published = match self {
            Self::Any => return None,
            _ if sight.reftable => return Some(NotPublished::Unreadable),
            Self::Unnamed => return Some(NotPublished::NoBranch),
            Self::Only(name) => name.clone(),
        };
        match &sight.branch {
            Some(branch) if *branch == published => None,
            Some(branch) => Some(NotPublished::Other {
                checked_out: branch.clone(),
                published,
            }),
            // As CI systems check out.
            None => {
                let tips = git.tips(&published);
                let at = sight.head.as_ref().map(|head| &head.commit);
                let newest = at.is_some_and(|commit| tips.contains(commit));
                (!newest).then_some(NotPublished::Detached { published })
            }
        }
    }
}
