//! The state of one workspace: rows that guarantee something, and the versions that people wrote.
//!
//! - An [`ArticleRow`] guarantees that the file and the service once agreed: `local` is the content of the file,
//!   `remote` the answer of the service, both complete at the same moment. The row is written only after both sides are
//!   durable.
//! - A body is stored once, by digest, and is kept as long as a row, a version or a pending request names it.
//! - A [`PendingRequest`] is stored before a request that changes the service, and deleted in the transaction that
//!   records the outcome. The same holds for a [`Journalled`] change of the mirror. Both have the rows that become
//!   true.
//!
//! `store` is the only user of SQLite, `schema` holds the migrations, `history` prunes, `disk` handles the files.

mod disk;
pub mod error;
pub mod history;
pub mod home;
mod migrate;
mod schema;
pub mod store;

pub use disk::{Identity, identity, is_remote};
pub use error::{ErrorKind, StateError, StateResult};
pub use store::{Store, Writing};

use crate::model::path::CATEGORY_FILE;
use crate::model::{
    ArticleId, CategoryId, Digest, Field, KnownFile, Place, Revision, Side, TextDigest, Timestamp,
    Version, WorkspaceId,
};
use serde::{Deserialize, Serialize};

pub use crate::model::base::{
    ArticleRow, CategoryRow, ConflictRow, Creation, Parked, Sent, Visibility,
};

/// The one workspace that a state belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The service's address: origin and path.
    pub service: String,
    /// The workspace.
    pub workspace: WorkspaceId,
}

/// The owner of a version: an article, or a file that has no id yet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// An article of the service.
    Article(ArticleId),
    /// A file that was never created on the service.
    File(Place),
}

impl Subject {
    /// Makes the subject of a category: its `_category.yaml`, whatever the name of its folder.
    pub fn category(id: CategoryId) -> Self {
        Self::File(Place::new(id.to_string(), CATEGORY_FILE))
    }

    /// Returns the article, if the subject is one.
    pub fn article(&self) -> Option<ArticleId> {
        match self {
            Self::Article(id) => Some(*id),
            Self::File(_) => None,
        }
    }

    /// Returns whether the subject is a category.
    pub fn is_category(&self) -> bool {
        matches!(self, Self::File(place) if place.file == CATEGORY_FILE)
    }
}

/// A version to be kept in the history.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SeenVersion {
    /// The owner of the version.
    pub subject: Subject,
    /// The place of the file, or the place that it would have.
    pub place: Place,
    /// The side on which the version was seen.
    pub side: Side,
    /// The reason for the record, such as `edited`, `pulled`, `replaced`, `deleted`.
    pub cause: String,
    /// The version itself.
    pub version: Version,
    /// The digest of the whole file, if a local file is kept: comments and the writer's own keys count, too.
    pub file: Option<TextDigest>,
}

impl SeenVersion {
    /// Makes a version of an article, without the whole file.
    pub fn of_article(
        id: ArticleId,
        place: &Place,
        side: Side,
        cause: &str,
        version: &Version,
    ) -> Self {
        Self {
            subject: Subject::Article(id),
            place: place.clone(),
            side,
            cause: cause.to_owned(),
            version: version.clone(),
            file: None,
        }
    }
}

/// A version in the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredVersion {
    /// The number of the version within its subject, from 1.
    pub number: u64,
    /// The moment at which the version was recorded.
    pub at: Timestamp,
    /// The version.
    pub seen: SeenVersion,
}

/// A line of the activity log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The moment of the event.
    pub at: Timestamp,
    /// The event itself.
    pub deed: Deed,
}

/// An event for the log, without its time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Deed {
    /// A word such as `update`, `delete`, `conflict`.
    pub action: String,
    /// The side that was changed.
    pub side: Side,
    /// The path in the mirror.
    pub path: String,
    /// The article, where there is one.
    pub id: Option<ArticleId>,
    /// Fields, reason, outcome.
    pub detail: String,
}

impl Deed {
    /// Makes an event.
    pub fn new(
        action: &str,
        side: Side,
        path: &str,
        id: Option<ArticleId>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            action: action.to_owned(),
            side,
            path: path.to_owned(),
            id,
            detail: detail.into(),
        }
    }
}

/// The key of a pending request in the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub i64);

/// A request that is stored before it is sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingRequest {
    /// `POST /api/article`.
    CreateArticle(Creation),
    /// A request for an article that exists: a look shows whether it arrived.
    #[serde(untagged)]
    PutOrDelete(PutOrDelete),
}

/// A PUT or DELETE of an article.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PutOrDelete {
    /// `PUT /api/article/{id}`.
    #[serde(rename = "update_article")]
    Put(Update),
    /// `DELETE /api/article/{id}`.
    #[serde(rename = "delete_article")]
    Delete(Deletion),
}

impl PutOrDelete {
    /// Returns the article.
    pub fn id(&self) -> ArticleId {
        match self {
            Self::Put(update) => update.id,
            Self::Delete(deletion) => deletion.id,
        }
    }

    /// Returns the version to be replaced or deleted, as far as known, and its revision.
    pub fn over(&self) -> (Option<Digest>, &Revision) {
        match self {
            Self::Put(update) => (Some(update.over), &update.over_revision),
            Self::Delete(deletion) => (deletion.version, &deletion.revision),
        }
    }
}

/// A `PUT /api/article/{id}` under way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Update {
    /// The article.
    pub id: ArticleId,
    /// The version with the values of `fields`.
    pub version: Version,
    /// The fields that are sent.
    pub fields: Vec<Field>,
    /// `enabled`, if it is sent.
    pub enabled: Option<bool>,
    /// The digest of the service's version that the request is meant to replace.
    pub over: Digest,
    /// The revision of the version to be replaced.
    pub over_revision: Revision,
    /// The rows that become true if the service stores exactly the values that were sent. A request of an older kbsync
    /// has none; then the two sides are compared as usual.
    #[serde(default)]
    pub rows: Vec<RowChange>,
}

/// A `DELETE /api/article/{id}` under way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Deletion {
    /// The article.
    pub id: ArticleId,
    /// The revision that is deleted.
    pub revision: Revision,
    /// The digest of the version that is deleted; `None` in a request of an older kbsync.
    #[serde(default)]
    pub version: Option<Digest>,
    /// The rows that become true.
    #[serde(default)]
    pub rows: Vec<RowChange>,
}

/// A row that becomes true once a change is durable, in the mirror or on the service.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowChange {
    /// An article's base.
    Article(Box<ArticleRow>),
    /// An article has no base any more.
    NoArticle(ArticleId),
    /// A new article's id is in its file: the request that created the article ends.
    #[serde(alias = "id_confirmed")]
    Created(ArticleId),
    /// A category's base.
    Category(Box<CategoryRow>),
    /// An open conflict.
    Conflict(Box<ConflictRow>),
    /// A conflict is settled.
    NoConflict(ArticleId),
    /// A version for the history; its body is stored.
    Version(Box<SeenVersion>),
    /// A line of the log.
    Event(Box<Deed>),
    /// A deletion, for the guard.
    Deletion {
        /// The side on which something was deleted.
        side: Side,
        /// Whether a person approved the deletion.
        approved: bool,
    },
}

/// A change of the mirror under way.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are files")]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A file written, replaced, moved or removed.
    File(FileEntry),
    /// A folder of the root renamed.
    Folder {
        /// The folder's name before the change.
        from: String,
        /// The folder's name after the change.
        to: String,
        /// The folder's inode.
        inode: u64,
    },
}

/// A file written, replaced, moved or removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileEntry {
    /// The place that changes.
    pub target: Place,
    /// The place that the file leaves, and the file there.
    pub leaves: Option<(Place, KnownFile)>,
    /// The digest of the staged bytes; `None`: the file is removed.
    pub new: Option<Digest>,
    /// The file at the target.
    pub over: Option<KnownFile>,
}

impl FileEntry {
    /// Returns the known file that the change replaces, moves or removes.
    pub fn expected(&self) -> Option<KnownFile> {
        self.over.or(self.leaves.as_ref().map(|(_, known)| *known))
    }
}

/// A row of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Journalled {
    /// The slot of the stage that the change uses.
    pub slot: i64,
    /// The change.
    pub entry: Entry,
    /// The rows that become true with the change.
    pub rows: Vec<RowChange>,
}

/// A file that was replaced or removed, and into which a program may still write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisplacedRow {
    /// The slot that holds the file.
    pub slot: i64,
    /// The former place.
    pub place: Place,
    /// The last known stamp and digest.
    pub known: KnownFile,
    /// The time since when the file is in the slot.
    pub since: Timestamp,
}

/// A person's approval of exactly one held action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// The side that the action changes.
    pub side: Side,
    /// The action's fingerprint.
    pub fingerprint: Digest,
    /// When it was given.
    pub at: Timestamp,
}

/// The subject of a question to the service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// An article, or an id that only a file names.
    Article(ArticleId),
    /// A category.
    Category(CategoryId),
    /// The outcome of a request to an article.
    Request(ArticleId),
}

/// The last question to the service about an object that the service did not list or show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The moment of the question.
    pub last_asked: Timestamp,
    /// The number of failures in a row.
    pub failures: u32,
    /// The answer, as JSON; `None`: the base's version.
    pub answer: Option<String>,
}
