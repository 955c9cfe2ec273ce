//! The base: the content of both sides when they last agreed, one row for each article and category.

use super::{
    ArticleId, CategoryId, CategoryVersion, Digest, Flags, Place, Revision, Stamp, Timestamp,
    Version,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whether readers can see an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// The article is in the listing.
    Published,
    /// The service reports a draft or a disabled article, or one that is not listed although nothing hides it.
    Unpublished,
    /// The article left the listing for an unknown reason.
    NotVisible,
    /// The service reports that the article does not exist; its file is yet to be deleted.
    Gone,
}

/// The base of one article.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArticleRow {
    /// Its id.
    pub id: ArticleId,
    /// The place of its file.
    pub place: Place,
    /// The version of the file.
    pub local: Version,
    /// The version of the service.
    pub remote: Version,
    /// The service's revision.
    pub revision: Revision,
    /// `enabled` and `draft` in the file.
    pub file_flags: Flags,
    /// `enabled` and `draft` on the service, as far as known.
    pub remote_flags: Flags,
    /// Whether readers can see it.
    pub visibility: Visibility,
    /// The file's stamp when the file last had the version `local`; `None`: the file must be read again.
    pub stamp: Option<Stamp>,
    /// The superseded versions, newest first: a replica that shows one of them is behind.
    pub superseded: Vec<(Digest, Revision)>,
    /// The revision after our last write: the newest version that only kbsync made.
    pub written: Option<Revision>,
}

/// An action that was refused or waits for a person. The row keeps the action from being tried again unseen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parked {
    /// The key: an article's id, a file's or a folder's path, with the kind of action.
    pub key: String,
    /// The fingerprint of the content: while the fingerprint is the same, the action is not tried again.
    pub fingerprint: Digest,
    /// The reason, for people.
    pub reason: String,
    /// Whether only a person can settle it: the service did not refuse it.
    pub is_for_person: bool,
    /// The moment at which the action was parked.
    pub at: Timestamp,
}

/// The number of superseded versions that are stored for an article: a replica may be behind by several versions.
const MAX_SUPERSEDED: usize = 16;

impl ArticleRow {
    /// Returns whether a newer version superseded this one: a replica that shows it is behind.
    pub fn has_superseded(&self, version: &Version, revision: &Revision) -> bool {
        let mut superseded = self.superseded.iter();
        superseded.any(|(digest, of)| of == revision && *digest == version.digest())
    }

    /// Records that a version with the revision `by` superseded `over`. A version with the revision `by` is left out,
    /// because a colleague may have restored it.
    pub fn supersede(&mut self, over: (Digest, Revision), by: &Revision) {
        self.superseded
            .retain(|known| *known != over && known.1 != *by);
        self.superseded.insert(0, over);
        self.superseded.truncate(MAX_SUPERSEDED);
    }

    /// Returns whether `remote` is certain to be the content of `revision`: it is not if a superseded version with
    /// other content has the same revision.
    pub fn is_of_its_revision(&self) -> bool {
        let mut superseded = self.superseded.iter();
        self.written.as_ref() == Some(&self.revision)
            || superseded
                .all(|(digest, of)| *of != self.revision || *digest == self.remote.digest())
    }

    /// Records that a PUT may have replaced this version and that a newer version was seen, ours or a colleague's.
    pub fn was_replaced(&mut self, over: (Digest, Revision), by: &Revision) {
        // The result of our last write is no longer on the service.
        self.written = self.written.take().filter(|written| *written != over.1);
        self.supersede(over, by);
    }

    /// Returns the revisions of all superseded versions of a deleted article: a replica may show any of them.
    pub fn revisions(&self) -> BTreeSet<&Revision> {
        let superseded = self.superseded.iter();
        superseded
            .map(|(_, revision)| revision)
            .chain([&self.revision])
            .chain(&self.written)
            .collect()
    }

    /// Returns the article's row in the index.
    pub fn index(&self) -> IndexRow {
        IndexRow {
            id: self.id,
            place: self.place.clone(),
            stamp: self.stamp,
            remote: self.remote.digest(),
            revision: self.revision.clone(),
            is_own: self.written.as_ref() == Some(&self.revision),
            visibility: self.visibility,
            flags: self.remote_flags,
        }
    }

    /// Returns a digest of the agreed versions and their revision. It changes when a cycle has handled the article.
    pub fn agreement(&self) -> Digest {
        Digest::of_parts(&[
            self.local.digest().as_bytes(),
            self.remote.digest().as_bytes(),
            self.revision.0.as_bytes(),
        ])
    }
}

/// A pending POST of an article: from before the request is sent until the article's id is in the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Creation {
    /// The number of the request in the state.
    #[serde(skip)]
    pub request: i64,
    /// The place of the file when the request was first sent.
    pub place: Place,
    /// The content of the first try.
    #[serde(flatten)]
    pub first: Sent,
    /// The content of later tries, to the same address: any of the tries may be the one that arrived.
    #[serde(default)]
    pub later: Vec<Sent>,
    /// The base row to store once the id is in the file; `None`: the article is not known to exist.
    #[serde(default)]
    pub row: Option<Box<ArticleRow>>,
    /// The article that the service showed at the address, if it is unknown whether the request created it.
    #[serde(default)]
    pub unclear: Option<ArticleId>,
}

/// The content of one try.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sent {
    /// The texts.
    pub version: Version,
    /// `enabled` and `draft`.
    pub flags: Flags,
}

impl Creation {
    /// Returns the content of all tries.
    pub fn sent(&self) -> impl Iterator<Item = &Sent> {
        std::iter::once(&self.first).chain(&self.later)
    }

    /// Returns the article that was created, or may have been created.
    pub fn article(&self) -> Option<ArticleId> {
        self.row.as_ref().map(|row| row.id).or(self.unclear)
    }

    /// Returns the address of all tries: the service has at most one article there.
    pub fn address(&self) -> (CategoryId, &str) {
        (self.first.version.category, &self.first.version.slug)
    }

    /// Returns whether a file with this name, in the folder of this category, is the file of this creation.
    pub fn is_at(&self, category: CategoryId, file: &str) -> bool {
        (category, file) == (self.first.version.category, &self.place.file)
    }

    /// Returns whether a version has the title and the text of one of the tries.
    pub fn was_sent(&self, version: &Version) -> bool {
        let words = (&version.title, version.text);
        let mut sent = self.sent().map(|sent| &sent.version);
        sent.any(|sent| (&sent.title, sent.text) == words)
    }
}

/// An article's row in the index: enough to detect a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexRow {
    /// Its id.
    pub id: ArticleId,
    /// The place of its file.
    pub place: Place,
    /// The file's stamp; `None`: the file must be read again.
    pub stamp: Option<Stamp>,
    /// The digest of the service's version.
    pub remote: Digest,
    /// The service's revision.
    pub revision: Revision,
    /// Whether our last write made the revision.
    pub is_own: bool,
    /// Whether readers can see the article.
    pub visibility: Visibility,
    /// `enabled` and `draft` on the service.
    pub flags: Flags,
}

/// The base of one category.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CategoryRow {
    /// Its id.
    pub id: CategoryId,
    /// The name of the folder; `None`: the category has no folder, because the writer removed the empty folder.
    pub folder: Option<String>,
    /// The version of `_category.yaml`.
    pub local: CategoryVersion,
    /// The version of the service.
    pub remote: CategoryVersion,
    /// The service's revision.
    pub revision: Revision,
    /// When the category was last read from the service.
    pub read_at: Timestamp,
    /// The stamp of `_category.yaml`.
    pub stamp: Option<Stamp>,
}

/// A conflict that was reported to a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConflictRow {
    /// The article; for two new articles at one place, the service's article.
    pub id: ArticleId,
    /// The file with the writer's version.
    pub place: Place,
    /// The writer's version when the conflict was reported.
    pub local: Version,
    /// The service's version that was reported; `None`: the article was gone.
    pub remote: Option<Version>,
    /// The service's revision.
    pub revision: Revision,
    /// The name of the conflict copy beside the file; `None`: there was nothing to copy.
    pub copy: Option<String>,
    /// Why the versions could not be merged.
    pub reason: String,
    /// The time of the conflict.
    pub at: Timestamp,
}

impl ConflictRow {
    /// Returns the place of the conflict copy.
    pub fn copy_place(&self) -> Option<Place> {
        Some(Place::new(&self.place.folder, self.copy.as_ref()?))
    }
}
