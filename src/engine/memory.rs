//! What the entries of the last listing stood for, by their marks: an entry that comes again byte for byte,
//! of an article whose base says what it stood for, is not read again.
//!
//! This remembers a pure function: the same bytes are read as the same article. What it gives is compared
//! with the base each time, so that it holds whatever was pushed, recorded or taken back in between: where
//! the base says something else, the entry is read as ever. It lives as long as its engine, and is never
//! stored.

use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Flags, Revision, Version};
use crate::service::fingerprint::{Fingerprint, Fingerprinter, KnownEntries};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What one entry stood for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Met {
    /// Of its bytes.
    fingerprint: Fingerprint,
    /// Of the words and the revision that they said.
    said: Fingerprint,
    /// The flags that they said.
    pub(super) flags: Flags,
}

/// What the entries of one listing stood for, in their order.
pub(super) type Entries = Vec<(ArticleId, Met)>;

/// What is remembered of the last listing.
#[derive(Debug)]
pub(super) struct Memory {
    fingerprinter: Fingerprinter,
    known: KnownEntries,
    met: HashMap<ArticleId, Met>,
}

impl Memory {
    /// Remembers nothing.
    pub(super) fn new() -> Self {
        let fingerprinter = Fingerprinter::draw();
        Self {
            fingerprinter,
            known: KnownEntries::new(fingerprinter, Vec::new()),
            met: HashMap::new(),
        }
    }

    /// Returns whether no listing was met yet.
    pub(super) fn is_new(&self) -> bool {
        self.met.is_empty()
    }

    /// The entries that stand for what the base says.
    pub(super) fn known_entries(
        &self,
        rows: &BTreeMap<ArticleId, ArticleRow>,
    ) -> Arc<KnownEntries> {
        self.known_entries_by(&|id| {
            rows.get(&id)
                .map(|row| self.said(&row.remote, &row.revision))
        })
    }

    /// The entries that stand for what the base says, by the marks of that.
    pub(super) fn known_entries_by(
        &self,
        base: &dyn Fn(ArticleId) -> Option<Fingerprint>,
    ) -> Arc<KnownEntries> {
        let other = self.met.iter();
        let other = other.filter(|(id, met)| base(**id) != Some(met.said));
        Arc::new(self.known.except(other.map(|(id, _)| *id).collect()))
    }

    /// Marks what an entry says, but for its flags and figures.
    pub(super) fn said(&self, version: &Version, revision: &Revision) -> Fingerprint {
        self.fingerprinter.fingerprint(&[
            version.title.as_bytes(),
            version.slug.as_bytes(),
            version.category.uuid().as_bytes(),
            version.introtext.as_bytes(),
            version.keywords.as_bytes(),
            version.text.as_bytes(),
            revision.0.as_bytes(),
        ])
    }

    /// What an entry with this mark stands for.
    pub(super) fn meet(
        &self,
        fingerprint: Fingerprint,
        version: &Version,
        revision: &Revision,
        flags: Flags,
    ) -> Met {
        Met {
            fingerprint,
            said: self.said(version, revision),
            flags,
        }
    }

    /// What an entry stood for that is familiar.
    pub(super) fn met(&self, id: ArticleId) -> Option<Met> {
        self.met.get(&id).copied()
    }

    /// Remembers a listing in place of the one before.
    pub(super) fn learn(&mut self, entries: Entries) {
        let fingerprints = || entries.iter().map(|(id, met)| (met.fingerprint, *id));
        if !fingerprints().eq(self.known.entries().iter().copied()) {
            self.known = KnownEntries::new(self.fingerprinter, fingerprints().collect());
        }
        let known = |(id, met): &(ArticleId, Met)| self.met.get(id) == Some(met);
        if entries.len() != self.met.len() || !entries.iter().all(known) {
            self.met = entries.into_iter().collect();
        }
    }
}
