//! The observation: one snapshot for each side, and the base between them.
//!
//! A side is present, absent or unknown; only a proven absence can lead to a deletion. A snapshot holds observations
//! and draws no conclusions.

use super::scope::Scope;
use crate::model::base::{ArticleRow, CategoryRow, ConflictRow, Creation, Visibility};
pub use crate::model::limits::OnConflict;
use crate::model::{
    ArticleId, CategoryId, CategoryVersion, Digest, Field, Flags, Place, Revision, TextDigest,
    Version,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The base of a workspace.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Base {
    /// One row per article.
    pub articles: BTreeMap<ArticleId, ArticleRow>,
    /// One row per category.
    pub categories: BTreeMap<CategoryId, CategoryRow>,
    /// Conflicts that were reported and are not settled.
    pub conflicts: BTreeMap<ArticleId, ConflictRow>,
    /// Pending creations: their articles have no row yet.
    pub creations: Vec<Creation>,
}

/// A file that is a ready article.
#[derive(Clone, PartialEq, Debug)]
pub struct LocalFile {
    /// The place.
    pub place: Place,
    /// The id in its front matter.
    pub id: Option<ArticleId>,
    /// The content; the category is the folder's, once the folders are paired.
    pub version: Version,
    /// `enabled` and `draft` as the file has them.
    pub flags: Flags,
}

/// A folder that is a category.
#[derive(Clone, PartialEq, Debug)]
pub struct LocalCategory {
    /// The folder's name.
    pub folder: String,
    /// The id in `_category.yaml`.
    pub id: Option<CategoryId>,
    /// The content of `_category.yaml`, with the folder's name for missing keys; `None`: there is no `_category.yaml`.
    pub version: Option<CategoryVersion>,
}

/// An entry at an article's place that is not a ready article: present and unknown.
#[derive(Clone, PartialEq, Debug)]
pub struct Unknown {
    /// The place.
    pub place: Place,
    /// The id in its front matter, if readable.
    pub id: Option<ArticleId>,
}

impl Unknown {
    /// Makes an unknown file without an id.
    pub fn at(place: &Place) -> Self {
        Self {
            place: place.clone(),
            id: None,
        }
    }
}

/// The mirror, as scanned.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LocalSnapshot {
    /// Ready articles.
    pub files: Vec<LocalFile>,
    /// Folders with a `_category.yaml` or a ready article.
    pub categories: Vec<LocalCategory>,
    /// Files at articles' places that cannot be parsed as articles.
    pub unknown: Vec<Unknown>,
    /// Files that could not be read: their articles are unknown.
    pub unreadable_files: Vec<Place>,
    /// Folders whose `_category.yaml` cannot be read: nothing is concluded about the category's texts.
    pub unready_categories: BTreeSet<String>,
    /// Folders that could not be listed, are ignored or are in motion: nothing below them counts as absent.
    pub unreadable: BTreeSet<String>,
    /// The subset of `unreadable` that could not be listed.
    pub closed: BTreeSet<String>,
    /// Every name in every folder, with its case folded: a new file must not clash with any of them.
    pub names: BTreeMap<String, BTreeSet<String>>,
    /// Every name in the root, with its case folded: a new folder must not clash with any of them.
    pub top: BTreeSet<String>,
    /// The conflict copies, each with the article that its `id:` line names.
    pub copies: BTreeMap<Place, Option<ArticleId>>,
    /// Whether the state is so new that it lacks articles which have a file: an unreadable file may be any article's.
    pub first: bool,
    /// Whether the whole mirror was listed; otherwise nothing counts as absent.
    pub complete: bool,
}

/// The service's version of an article, as observed in this cycle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The content.
    pub version: Version,
    /// Its revision.
    pub revision: Revision,
    /// `enabled` and `draft`, if the answer had them.
    pub flags: Flags,
    /// Whether readers see it.
    pub visibility: Visibility,
}

impl Seen {
    /// The service's side of an article as the base has it.
    pub fn recorded(row: &ArticleRow) -> Self {
        Self {
            version: row.remote.clone(),
            revision: row.revision.clone(),
            flags: row.remote_flags,
            visibility: row.visibility,
        }
    }
}

/// The service's answer about an article.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remote {
    /// The article exists.
    Present(Seen),
    /// The article is gone: 404 to a probe, and to a GET before it if the article was published.
    Gone,
    /// The article left the listing for an unknown reason.
    NotVisible(String),
    /// The article was not requested or could not be read: nothing is concluded.
    Unknown(String),
    /// The article is another workspace's.
    Foreign,
}

impl Remote {
    /// Returns the observed version, if any.
    pub fn present(&self) -> Option<&Seen> {
        match self {
            Self::Present(seen) => Some(seen),
            Self::Gone | Self::NotVisible(_) | Self::Unknown(_) | Self::Foreign => None,
        }
    }
}

/// The service, as observed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RemoteSnapshot {
    /// Every article that was listed or requested.
    pub articles: BTreeMap<ArticleId, Remote>,
    /// Categories that were read in this cycle.
    pub categories: BTreeMap<CategoryId, (CategoryVersion, Revision)>,
    /// Categories that turned out to belong to another workspace: their articles are not synced here.
    pub foreign: BTreeSet<CategoryId>,
    /// Articles with unreadable entries: asking again is useless until they are corrected on the service.
    pub unreadable: BTreeSet<ArticleId>,
    /// Whether the listing was read whole; otherwise an article that is missing here is unknown.
    pub complete: bool,
    /// Whether the observation ended early. That is one problem, not one for each article with an unread category.
    pub cut_off: bool,
}

/// Bodies for the merge, by digest.
pub type Bodies = BTreeMap<TextDigest, Arc<str>>;

/// The direction of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// `sync`.
    #[default]
    Both,
    /// `pull`: only towards the mirror.
    Pull,
    /// `push`: only towards the service.
    Push,
}

impl Direction {
    /// Returns whether the mirror may be changed.
    pub const fn pulls(self) -> bool {
        matches!(self, Self::Both | Self::Pull)
    }

    /// Returns whether the service may be changed.
    pub const fn pushes(self) -> bool {
        matches!(self, Self::Both | Self::Push)
    }
}

/// A person's decision on a conflict (`kbsync resolve`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The choice.
    pub keep: Keep,
    /// The service's version that the person was shown; `None`: the article was gone.
    pub shown: Option<Digest>,
}

impl Decision {
    /// Makes a decision on a conflict as it was shown.
    pub fn on(shown: &ConflictRow, keep: Keep) -> Self {
        Self {
            keep,
            shown: shown.remote.as_ref().map(Version::digest),
        }
    }
}

/// A person's choice in a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The file as it is now.
    Local,
    /// The service's version that was reported.
    Remote,
    /// Both versions, one after the other where they clash.
    Both,
    /// An answer for each clashing part.
    Parts(Parts),
}

/// A person's answers for the parts of a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// The digest of the file that was reported.
    pub file: Digest,
    /// The fields to take from the service; the other fields stay the file's.
    pub theirs: BTreeSet<Field>,
    /// The body.
    pub text: String,
}

/// The rules of one cycle.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// The direction of changes.
    pub direction: Direction,
    /// The default for settling conflicts.
    pub on_conflict: OnConflict,
    /// The paths in scope.
    pub scope: Scope,
    /// The flags of new articles whose files have none.
    pub new_articles: Flags,
    /// Conflicts that this command settles by a person's decision.
    pub resolve: BTreeMap<ArticleId, Decision>,
    /// Categories named in the settings: their folders are created even without articles.
    pub wanted_categories: BTreeSet<CategoryId>,
}

impl Policy {
    /// Makes the default policy, for a whole mirror.
    pub fn new(direction: Direction, on_conflict: OnConflict) -> Self {
        Self {
            direction,
            on_conflict,
            scope: Scope::default(),
            new_articles: Flags::SHOWN,
            resolve: BTreeMap::new(),
            wanted_categories: BTreeSet::new(),
        }
    }
}
