//! The meaning of each entry of the last listing, by its fingerprint. An entry that comes again byte for byte is not
//! parsed again, if the base of its article has the version that the entry stood for.
//!
//! Parsing is a pure function: the same bytes are the same article. The remembered meaning is compared with the base
//! each time, so that a push or a restore in between does no harm: where the base differs, the entry is parsed. It is
//! stored with the state, under a key that another version of kbsync does not use: that version may read the same
//! bytes as something else.

use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Digest, Fingerprint, Revision};
use crate::reconcile::snapshot::Seen;
use crate::service::fingerprint::{Fingerprinter, KnownEntries};
use crate::state::StateError;
use crate::state::store::{ListingEntry, Store, Writing};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The memory of the last listing.
#[derive(Debug)]
pub(super) struct Memory {
    fingerprinter: Fingerprinter,
    known: KnownEntries,
    entries: HashMap<ArticleId, ListingEntry>,
}

/// The key of the fingerprints in the state, after the version of kbsync that made them.
const KEY: &str = "listing_key";

impl Memory {
    /// Returns what is remembered of the last listing. A cycle reads it once.
    pub(super) fn of<'m>(
        memory: &'m mut Option<Self>,
        store: &Store,
    ) -> Result<&'m Self, StateError> {
        match memory {
            Some(memory) => Ok(memory),
            None => Ok(memory.insert(Self::read(store)?)),
        }
    }

    fn read(store: &Store) -> Result<Self, StateError> {
        let stored = store.meta(KEY)?;
        let key = stored.as_deref().and_then(|stored| {
            let (version, key) = stored.split_once(' ')?;
            Fingerprinter::with_key(key).filter(|_| version == env!("CARGO_PKG_VERSION"))
        });
        let Some(fingerprinter) = key else {
            let fingerprinter = Fingerprinter::draw();
            return Ok(Self {
                fingerprinter,
                known: KnownEntries::new(fingerprinter, Vec::new()),
                entries: HashMap::new(),
            });
        };
        let stored = store.listing_entries()?;
        let known = stored
            .iter()
            .map(|entry| (entry.fingerprint, entry.article));
        Ok(Self {
            fingerprinter,
            known: KnownEntries::new(fingerprinter, known.collect()),
            entries: stored.iter().map(|entry| (entry.article, *entry)).collect(),
        })
    }

    /// Returns the entries that stand for the versions in the base.
    pub(super) fn known_entries(
        &self,
        rows: &BTreeMap<ArticleId, ArticleRow>,
    ) -> Arc<KnownEntries> {
        self.known_entries_by(&|id| {
            rows.get(&id)
                .map(|row| self.version(&row.remote.digest(), &row.revision))
        })
    }

    /// Returns the entries that stand for the versions in the base; `base` returns the fingerprint of an article's
    /// version.
    pub(super) fn known_entries_by(
        &self,
        base: &dyn Fn(ArticleId) -> Option<Fingerprint>,
    ) -> Arc<KnownEntries> {
        let other = self.entries.iter();
        let other = other.filter(|(id, entry)| base(**id) != Some(entry.version));
        Arc::new(self.known.except(other.map(|(id, _)| *id).collect()))
    }

    /// Returns the fingerprint of a version and its revision.
    pub(super) fn version(&self, version: &Digest, revision: &Revision) -> Fingerprint {
        let parts = [version.as_bytes().as_slice(), revision.0.as_bytes()];
        self.fingerprinter.fingerprint(&parts)
    }

    /// Returns the meaning of an entry that was parsed.
    pub(super) fn entry_of(
        &self,
        article: ArticleId,
        fingerprint: Fingerprint,
        seen: &Seen,
    ) -> ListingEntry {
        ListingEntry {
            article,
            fingerprint,
            version: self.version(&seen.version.digest(), &seen.revision),
            flags: seen.flags,
        }
    }

    /// Returns the meaning of an article's entry in the last listing.
    pub(super) fn entry(&self, id: ArticleId) -> Option<ListingEntry> {
        self.entries.get(&id).copied()
    }

    /// Stores a listing in place of the one before: the entries that are not the same at the same position.
    pub(super) fn store(
        &self,
        entries: &[ListingEntry],
        tx: &mut Writing<'_>,
    ) -> Result<(), StateError> {
        let key = format!("{} {}", env!("CARGO_PKG_VERSION"), self.fingerprinter.key());
        tx.set_meta(KEY, &key)?;
        let before = self.known.entries();
        for (at, entry) in entries.iter().enumerate() {
            let same = before.get(at) == Some(&(entry.fingerprint, entry.article))
                && self.entries.get(&entry.article) == Some(entry);
            if !same {
                tx.put_listing_entry(at, entry)?;
            }
        }
        tx.cut_listing_entries(entries.len())
    }
}
