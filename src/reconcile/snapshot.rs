//! The observation: one snapshot for each side, and the base between them.
//!
//! A side is present, absent or unknown; only a proven absence can lead to a deletion. A snapshot says
//! what was seen and draws no conclusions.

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
    /// Conflicts that were shown and are not settled.
    pub conflicts: BTreeMap<ArticleId, ConflictRow>,
    /// Articles that are being created: no row is theirs yet.
    pub creations: Vec<Creation>,
}

/// A file that is a ready article.
#[derive(Clone, PartialEq, Debug)]
pub struct LocalFile {
    /// The place.
    pub place: Place,
    /// The id in its front matter.
    pub id: Option<ArticleId>,
    /// The content; the category is that of the folder once the folders are paired.
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
    /// The content of `_category.yaml`, with the folder's name; `None`: there is no `_category.yaml`.
    pub version: Option<CategoryVersion>,
}

/// Something that lies in the mirror and is no ready article: present and unknown.
#[derive(Clone, PartialEq, Debug)]
pub struct Unknown {
    /// The place.
    pub place: Place,
    /// The id in its front matter, where one could be read.
    pub id: Option<ArticleId>,
}

impl Unknown {
    /// Makes an unknown file of a place that names no article.
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
    /// Files that cannot be read as articles, at places of articles.
    pub unknown: Vec<Unknown>,
    /// Files that could not be read: their articles are not known.
    pub unread: Vec<Place>,
    /// Folders whose `_category.yaml` cannot be read: nothing is concluded about the category's words.
    pub unready_categories: BTreeSet<String>,
    /// Folders that could not be listed, are ignored, or in motion: nothing below them counts as absent.
    pub unreadable: BTreeSet<String>,
    /// The subset of `unreadable` that could not be listed.
    pub closed: BTreeSet<String>,
    /// Every name in every folder, with its case folded: a new file must not clash with any of them.
    pub names: BTreeMap<String, BTreeSet<String>>,
    /// Every name in the root, with its case folded: a new folder must not clash with any of them.
    pub top: BTreeSet<String>,
    /// The conflict copies, each with the article that its `id:` line names.
    pub copies: BTreeMap<Place, Option<ArticleId>>,
    /// Whether the state is so new that it has not got all articles that have a file: one that cannot be read may be
    /// any article's.
    pub first: bool,
    /// Whether the whole mirror was listed; otherwise nothing counts as absent.
    pub complete: bool,
}

/// The service's version of an article, as it was seen in this cycle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The content.
    pub version: Version,
    /// Its revision.
    pub revision: Revision,
    /// `enabled` and `draft`, where the answer had them.
    pub flags: Flags,
    /// Whether readers see it.
    pub visibility: Visibility,
}

/// The service's answer about an article.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remote {
    /// The article exists.
    Present(Seen),
    /// The article is gone: 404 to a GET and to a probe.
    Gone,
    /// The article left the listing for an unknown reason.
    NotVisible(String),
    /// The article was not asked for or could not be read: nothing is concluded.
    Unknown(String),
}

impl Remote {
    /// Returns the version that was seen, where one was.
    pub fn present(&self) -> Option<&Seen> {
        match self {
            Self::Present(seen) => Some(seen),
            Self::Gone | Self::NotVisible(_) | Self::Unknown(_) => None,
        }
    }
}

/// The service, as observed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RemoteSnapshot {
    /// Every article that was listed or asked for.
    pub articles: BTreeMap<ArticleId, Remote>,
    /// Categories that were read in this cycle.
    pub categories: BTreeMap<CategoryId, (CategoryVersion, Revision)>,
    /// Categories that turned out to be another workspace's: nothing of theirs is ours.
    pub foreign: BTreeSet<CategoryId>,
    /// Articles whose entries came and cannot be read: to ask again is of no use until they are corrected there.
    pub unreadable: BTreeSet<ArticleId>,
    /// Whether the listing was read whole; otherwise an article that is missing here is unknown.
    pub complete: bool,
    /// Whether the look ended early. That is one problem, not one of each article whose category was not read.
    pub cut_off: bool,
}

/// Bodies that the merge needs, by digest.
pub type Bodies = BTreeMap<TextDigest, Arc<str>>;

/// Which way changes may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// `sync`.
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

/// A person's word on one conflict (`kbsync resolve`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The file as it is now.
    Local,
    /// The service's version that was shown.
    Remote,
    /// Both, one after the other where they clash.
    Both,
    /// An answer for each part that clashes.
    Parts(Parts),
}

/// A person's answers about the parts of a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// The file that was shown.
    pub file: Digest,
    /// The fields that become the service's; the others stay the file's.
    pub theirs: BTreeSet<Field>,
    /// The body.
    pub text: String,
}

/// The rules of one cycle.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// Which way changes may go.
    pub direction: Direction,
    /// The way to settle conflicts.
    pub on_conflict: OnConflict,
    /// Paths to look at.
    pub scope: Scope,
    /// `enabled` for new files that do not say.
    pub new_enabled: bool,
    /// `draft` for new files that do not say.
    pub new_draft: bool,
    /// Conflicts that a person settled with this command.
    pub resolve: BTreeMap<ArticleId, Keep>,
    /// Categories named in the settings: their folders are made although no article is in them.
    pub wanted_categories: BTreeSet<CategoryId>,
}

impl Policy {
    /// The defaults, for everything in a mirror.
    pub fn new(direction: Direction, on_conflict: OnConflict) -> Self {
        Self {
            direction,
            on_conflict,
            scope: Scope::default(),
            new_enabled: true,
            new_draft: false,
            resolve: BTreeMap::new(),
            wanted_categories: BTreeSet::new(),
        }
    }

    /// Returns whether a place is in scope.
    pub fn covers(&self, place: &Place) -> bool {
        self.scope.covers(place)
    }

    /// Returns whether a category's own words are in scope: whole folders only.
    pub fn covers_folder(&self, folder: &str) -> bool {
        self.scope.covers_folder(folder)
    }
}
