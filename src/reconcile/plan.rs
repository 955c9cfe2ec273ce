//! The plan: actions in order, as plain data.
//!
//! A dry run prints the plan; the engine applies it. Equal worlds give equal plans.

use super::snapshot::{Bodies, LocalFile, Seen};
use crate::model::{
    ArticleId, CategoryId, CategoryVersion, Field, Flags, Place, Revision, Side, Version,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The kind of an action, as a word in reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A new article or file.
    Create,
    /// Changed fields.
    Update,
    /// Another address or category, perhaps with changed fields.
    Move,
    /// A deleted article or file.
    Delete,
    /// Both sides became equal by themselves.
    Adopt,
    /// The article and its file are gone, or a folder whose category stays.
    Forget,
    /// Both sides changed, and the changes fit together.
    Merge,
    /// Both sides changed the same part differently.
    Conflict,
    /// A missing file that comes back: its article was edited, nobody removed it, or a person asked.
    Restore,
    /// A new category.
    CreateCategory,
    /// Changed texts of a category, or another folder.
    UpdateCategory,
}

impl Kind {
    /// The word in reports for people. A category is recognised by its path.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::CreateCategory => "create",
            Self::UpdateCategory => "update",
            Self::Adopt => "pair",
            Self::Forget => "gone",
            Self::Create
            | Self::Update
            | Self::Move
            | Self::Delete
            | Self::Merge
            | Self::Conflict
            | Self::Restore => self.word(),
        }
    }

    /// Returns the key of such an action in the tables of refused and open actions. `path`: for an action without an id.
    pub fn key(self, id: Option<ArticleId>, path: &str) -> String {
        match id {
            Some(id) => format!("{} {id}", self.word()),
            None => format!("{} {path}", self.word()),
        }
    }

    /// The name in JSON and in stored records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Move => "move",
            Self::Delete => "delete",
            Self::Adopt => "adopt",
            Self::Forget => "forget",
            Self::Merge => "merge",
            Self::Conflict => "conflict",
            Self::Restore => "restore",
            Self::CreateCategory => "create-category",
            Self::UpdateCategory => "update-category",
        }
    }
}

/// One step of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// The kind of the action.
    pub kind: Kind,
    /// The side that it changes.
    pub side: Side,
    /// The article, once it has an id.
    pub id: Option<ArticleId>,
    /// The path in the mirror.
    pub path: String,
    /// The changed fields.
    pub fields: Vec<Field>,
    /// A note for the reader of the report.
    pub note: Option<String>,
    /// The hold; `None`: the action is not held.
    pub held: Option<Hold>,
    /// The step to take.
    pub step: Step,
}

/// The hold of an action.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hold {
    /// The rule that holds the action.
    pub rule: HoldRule,
    /// The reason and the remedy, for people.
    pub reason: String,
}

/// The rule that holds an action.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldRule {
    /// Too many deletions towards one side, deletions that empty a category or the mirror, or too many articles that
    /// left the listing; released by `approve`.
    MassDeletion,
    /// Removals that git may have made, with a new HEAD or otherwise; released by `approve`.
    MovedHead,
    /// Too many articles went back to older versions; released by `approve`.
    MassRollback,
    /// The file went back to the version that git has committed, or is an edit of it; released by `approve`.
    Behind,
    /// A restore failed to bring the file back; released by `approve`.
    Unrestored,
    /// The file is in another workspace's folder, or was when it was last seen; released by `approve`.
    Elsewhere,
    /// The file may be in another workspace's folder, which cannot be read; released by `approve`.
    Unfound,
    /// The state was made for another folder, and asks for a deletion; released by `approve`.
    ForeignState,
    /// A new category whose name is similar to an existing one; released by `approve`.
    NearCategory,
    /// A new category at the first sync; released by `approve`.
    NewCategory,
    /// The observation is not enough: a part of it failed, the article was not read, or a second look must confirm new
    /// ignore rules. The next cycle tries again.
    Doubt,
    /// Another writer changes the same article back and forth.
    ForeignWriter,
    /// The service refused the action before, and nothing has changed since.
    Refused,
    /// The action needs another action that is held.
    Waits,
    /// Only a person can decide.
    Person,
}

impl HoldRule {
    /// Returns whether `kbsync approve` releases the hold.
    pub const fn approvable(self) -> bool {
        match self {
            Self::MassDeletion
            | Self::MovedHead
            | Self::MassRollback
            | Self::Behind
            | Self::Unrestored
            | Self::Elsewhere
            | Self::Unfound
            | Self::ForeignState
            | Self::NearCategory
            | Self::NewCategory => true,
            Self::Doubt | Self::ForeignWriter | Self::Refused | Self::Waits | Self::Person => false,
        }
    }
}

/// The effect of an action.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// `POST /api/category` for a folder, then its `_category.yaml`. In the plan, the category has the provisional id
    /// of the folder.
    CreateCategory {
        /// The folder.
        folder: String,
        /// The existing category that may have been meant, with a similar name.
        near: Option<String>,
        /// The content to send.
        version: CategoryVersion,
    },
    /// Brings a category's two sides together.
    SettleCategory(Box<SettleCategory>),
    /// `POST /api/article` for a file, then its `id:` line.
    CreateArticle {
        /// The file.
        place: Place,
        /// The content to send.
        version: Version,
        /// The flags to send.
        flags: Flags,
        /// The deleted article that the new article replaces.
        instead_of: Option<ArticleId>,
    },
    /// Brings an article's two sides together.
    Settle(Box<Settle>),
    /// `DELETE /api/article/{id}`.
    DeleteArticle {
        /// The article.
        id: ArticleId,
        /// The place of the file before its removal.
        place: Place,
        /// The version to be deleted.
        seen: Box<Seen>,
    },
    /// Deletes a file whose article is gone.
    RemoveFile {
        /// The article.
        id: ArticleId,
        /// The file.
        place: Place,
        /// The content.
        version: Version,
    },
    /// Deletes a base row: nothing is left on either side.
    Forget {
        /// The article.
        id: ArticleId,
    },
    /// Puts the service's version beside the file.
    Conflict(Box<Conflict>),
    /// Nothing: the action is only held and reported.
    Wait,
}

/// Brings an article's two sides together: the file becomes `file`, and the fields `send` go to the service.
#[derive(Clone, PartialEq, Debug)]
pub struct Settle {
    /// The article.
    pub id: ArticleId,
    /// The file as it is now; `None`: there is no file.
    pub before: Option<LocalFile>,
    /// The place of the file after the step.
    pub to: Place,
    /// The file's version after the step.
    pub file: Version,
    /// The file's flags after the step.
    pub file_flags: Flags,
    /// Whether the file is written. A move to another folder alone writes nothing; a new name may need a `slug:` line.
    pub write: bool,
    /// The fields of `file` to send.
    pub send: Vec<Field>,
    /// The value of `enabled` to send, if any.
    pub send_enabled: Option<bool>,
    /// The service's version on which the decision is based.
    pub seen: Seen,
    /// The base's local version while nothing has been sent: the old version with the pulled fields.
    pub base_if_unsent: Version,
    /// The base's local flags while nothing has been sent: an unsent wish stays a wish.
    pub base_flags_if_unsent: Flags,
    /// Whether this step settles a conflict of the article.
    pub ends_conflict: bool,
}

/// Brings a category's two sides together.
#[derive(Clone, PartialEq, Debug)]
pub struct SettleCategory {
    /// The category.
    pub id: CategoryId,
    /// The present folder; `None`: there is none.
    pub from: Option<String>,
    /// The folder after the step; `None`: there is none.
    pub to: Option<String>,
    /// The content of `_category.yaml` after the step.
    pub file: CategoryVersion,
    /// Whether `_category.yaml` changes.
    pub write: bool,
    /// The fields to send.
    pub send: Vec<Field>,
    /// The service's version on which the decision is based.
    pub seen: CategoryVersion,
    /// Its revision.
    pub revision: Revision,
    /// The base's local version while nothing has been sent.
    pub base_if_unsent: CategoryVersion,
}

/// Two versions that a person has to choose from.
#[derive(Clone, PartialEq, Debug)]
pub struct Conflict {
    /// The article.
    pub id: ArticleId,
    /// The file, which keeps the writer's version.
    pub place: Place,
    /// The writer's version.
    pub local: Version,
    /// The service's version; `None`: the article is gone.
    pub seen: Option<Seen>,
    /// The copy beside the file; `None`: there is nothing to copy.
    pub copy: Option<String>,
    /// Whether the copy must be written: it is new, or the service's version has changed again.
    pub needs_copy: bool,
    /// Why the versions could not be merged.
    pub reason: String,
}

/// The outcome for one key of the three inputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// The plan has all that the key needs: an action, a change of the base, or nothing.
    Decided,
    /// The state of the key is unknown in this cycle.
    Unknown,
    /// The command's paths or direction exclude the key.
    Excluded,
}

/// A key of the inputs: an article, or a file without one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// An article with an id.
    Article(ArticleId),
    /// A new file.
    File(Place),
}

/// A file or an article that was left out, with the reason.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// The path in the mirror.
    pub path: String,
    /// The article, where there is one.
    pub id: Option<ArticleId>,
    /// The fault and its remedy.
    pub message: String,
}

/// A plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// The actions, in the order of their execution.
    pub actions: Vec<Action>,
    /// Base rows to update without any report: nothing is sent, no file is touched.
    pub records: Vec<Settle>,
    /// The same for categories.
    pub category_records: Vec<SettleCategory>,
    /// Files and articles that were left out, each with the reason.
    pub problems: Vec<Problem>,
    /// The outcome for each key.
    pub outcomes: BTreeMap<Key, Outcome>,
    /// Bodies that the merge produced.
    pub bodies: Bodies,
    /// The number of articles whose file was removed and whose version on the service could not be read. They stay
    /// untouched, but count as removals.
    pub removed_unreadable: usize,
}

impl SettleCategory {
    /// A category as it is on the service: nothing is written and nothing is sent.
    pub(super) fn as_seen(id: CategoryId, seen: CategoryVersion, revision: Revision) -> Self {
        Self {
            id,
            from: None,
            to: None,
            file: seen.clone(),
            write: false,
            send: Vec::new(),
            base_if_unsent: seen.clone(),
            seen,
            revision,
        }
    }
}

impl Problem {
    /// Makes a problem of a path.
    pub(crate) fn at(
        path: impl fmt::Display,
        id: Option<ArticleId>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_string(),
            id,
            message: message.into(),
        }
    }
}
