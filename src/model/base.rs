//! The base: what both sides held when they last agreed, one row per article and category.

use super::{
    ArticleId, CategoryId, CategoryVersion, Digest, Flags, Place, Revision, Stamp, TextDigest,
    Timestamp, Version,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whether the service shows an article.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// In the listing.
    Published,
    /// A draft or disabled: the service said so.
    Unpublished,
    /// Left the listing, and nothing said why.
    NotVisible,
    /// The service said that it is gone; the file waits to be removed.
    Gone,
}

/// The base of one article.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArticleRow {
    /// Its id.
    pub id: ArticleId,
    /// Where its file is.
    pub place: Place,
    /// What the file held.
    pub local: Version,
    /// The digest of the file's body with its CRLF read as LF, where that differs.
    pub local_text_lf: Option<TextDigest>,
    /// What the service answered.
    pub remote: Version,
    /// The service's revision.
    pub revision: Revision,
    /// `enabled` and `draft` as the file has them.
    pub file_flags: Flags,
    /// `enabled` and `draft` as the service last said.
    pub remote_flags: Flags,
    /// Whether the service shows it.
    pub visibility: Visibility,
    /// The file's stamp when it was last known to hold `local`; `None`: read it again.
    pub stamp: Option<Stamp>,
    /// The version that our own last write replaced: seen again, it is an old copy.
    pub replaced: Option<(Digest, Revision)>,
    /// What our own writes before that replaced, newest first, and what the last one left, once a colleague's version
    /// was pulled over it: a replica may be behind by several.
    pub earlier: Vec<(Digest, Revision)>,
    /// The digest and revision after our own last write: the newest that only we made.
    pub written: Option<Revision>,
    /// When an absent article was last asked for.
    pub asked: Option<Timestamp>,
}

/// So many of the versions that our own writes replaced are known, beside the last one.
const EARLIER: usize = 3;

impl ArticleRow {
    /// Returns whether our own writes replaced this version: seen again, it is an old copy.
    pub fn has_replaced(&self, version: &Version, revision: &Revision) -> bool {
        let mut replaced = self.replaced.iter().chain(&self.earlier);
        replaced.any(|(digest, of)| of == revision && *digest == version.digest())
    }

    /// What is known of earlier writes once another one has replaced `over`. What has the revision that this one made
    /// cannot be told from what a colleague writes back.
    pub fn earlier_than(
        &self,
        over: &(Digest, Revision),
        written: &Revision,
    ) -> Vec<(Digest, Revision)> {
        let known = self.replaced.iter().chain(&self.earlier);
        let known = known.filter(|known| *known != over && known.1 != *written);
        known.take(EARLIER).cloned().collect()
    }

    /// The same, once a colleague's version was pulled that nobody had seen before: what our own last write left is an old
    /// copy from then on.
    pub fn earlier_once_pulled(&self, pulled: &Revision) -> Vec<(Digest, Revision)> {
        let left = (self.remote.digest(), self.revision.clone());
        if self.written.as_ref() != Some(&self.revision) || self.revision == *pulled {
            return self.earlier.clone();
        }
        let known = self.earlier.iter().filter(|known| **known != left);
        let known = std::iter::once(&left).chain(known);
        known.take(EARLIER).cloned().collect()
    }

    /// Returns whether the base says what the service had under its revision. After a colleague had a hand in what our own
    /// last write made, the revision is still that of what this replaced.
    pub fn is_of_its_revision(&self) -> bool {
        let mut replaced = self.replaced.iter().chain(&self.earlier);
        self.written.as_ref() == Some(&self.revision)
            || replaced.all(|(digest, of)| *of != self.revision || *digest == self.remote.digest())
    }

    /// Once a PUT may have been made over this version, and something newer was seen: seen again, it is an old copy,
    /// whether the PUT made what was seen or a colleague did.
    pub fn was_replaced(&mut self, over: (Digest, Revision), by: &Revision) {
        self.earlier = self.earlier_than(&over, by);
        // What our own last write left is not there any more.
        self.written = self.written.take().filter(|written| *written != over.1);
        self.replaced = Some(over);
    }

    /// The revisions of all versions that are known to be old once the article is gone: a replica may show any of them.
    pub fn revisions(&self) -> BTreeSet<&Revision> {
        let replaced = self.replaced.iter().chain(&self.earlier);
        let replaced = replaced.map(|(_, revision)| revision);
        replaced
            .chain([&self.revision])
            .chain(&self.written)
            .collect()
    }

    /// A digest of what both sides agreed on, and under which revision: another one means that a cycle has dealt with
    /// the article since.
    pub fn agreement(&self) -> Digest {
        Digest::of_parts(&[
            self.local.digest().as_bytes(),
            self.remote.digest().as_bytes(),
            self.revision.0.as_bytes(),
        ])
    }
}

/// The base of one category.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoryRow {
    /// Its id.
    pub id: CategoryId,
    /// Its folder's name; `None` while it has none (removed by the writer, nothing in it).
    pub folder: Option<String>,
    /// What `_category.yaml` held.
    pub local: CategoryVersion,
    /// What the service answered.
    pub remote: CategoryVersion,
    /// The service's revision.
    pub revision: Revision,
    /// When it was last read from the service.
    pub read_at: Timestamp,
    /// The stamp of `_category.yaml`.
    pub stamp: Option<Stamp>,
}

/// A conflict that was shown to a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConflictRow {
    /// The article; for two new ones at one place, the service's.
    pub id: ArticleId,
    /// The file that keeps the writer's version.
    pub place: Place,
    /// The writer's version when it was shown.
    pub local: Version,
    /// The service's version that was shown; `None`: the article was gone.
    pub remote: Option<Version>,
    /// The service's revision.
    pub revision: Revision,
    /// The copy's file name beside the file; `None` where there was nothing to copy.
    pub copy: Option<String>,
    /// Why the versions could not be merged.
    pub reason: String,
    /// Since when.
    pub at: Timestamp,
}
