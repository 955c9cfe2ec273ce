//! What the entries of the last listing stood for, by their marks: an entry that comes again byte for byte,
//! of an article whose base says what it stood for, is not read again.
//!
//! This remembers a pure function: the same bytes are read as the same article. What it gives is compared
//! with the base each time, so that it holds whatever was pushed, recorded or taken back in between: where
//! the base says something else, the entry is read as ever. It lives as long as its engine, and is never
//! stored.

use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Flags, Revision, Version};
use crate::service::familiar::{Familiar, Mark, Marker};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What one entry stood for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Met {
    /// Of its bytes.
    mark: Mark,
    /// Of the words and the revision that they said.
    said: Mark,
    /// The flags that they said.
    pub(super) flags: Flags,
}

/// What the entries of one listing stood for, in their order.
pub(super) type Entries = Vec<(ArticleId, Met)>;

/// What is remembered of the last listing.
#[derive(Debug)]
pub(super) struct Memory {
    marker: Marker,
    familiar: Familiar,
    met: HashMap<ArticleId, Met>,
}

impl Memory {
    /// Remembers nothing.
    pub(super) fn new() -> Self {
        let marker = Marker::draw();
        Self {
            marker,
            familiar: Familiar::new(marker, Vec::new()),
            met: HashMap::new(),
        }
    }

    /// Returns whether no listing was met yet.
    pub(super) fn is_new(&self) -> bool {
        self.met.is_empty()
    }

    /// The entries that stand for what the base says.
    pub(super) fn familiar(&self, rows: &BTreeMap<ArticleId, ArticleRow>) -> Arc<Familiar> {
        self.familiar_by(&|id| {
            rows.get(&id)
                .map(|row| self.said(&row.remote, &row.revision))
        })
    }

    /// The entries that stand for what the base says, by the marks of that.
    pub(super) fn familiar_by(&self, base: &dyn Fn(ArticleId) -> Option<Mark>) -> Arc<Familiar> {
        let other = self.met.iter();
        let other = other.filter(|(id, met)| base(**id) != Some(met.said));
        Arc::new(self.familiar.but(other.map(|(id, _)| *id).collect()))
    }

    /// Marks what an entry says, but for its flags and figures.
    pub(super) fn said(&self, version: &Version, revision: &Revision) -> Mark {
        self.marker.mark(&[
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
        mark: Mark,
        version: &Version,
        revision: &Revision,
        flags: Flags,
    ) -> Met {
        Met {
            mark,
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
        let marks = || entries.iter().map(|(id, met)| (met.mark, *id));
        if !marks().eq(self.familiar.entries().iter().copied()) {
            self.familiar = Familiar::new(self.marker, marks().collect());
        }
        let known = |(id, met): &(ArticleId, Met)| self.met.get(id) == Some(met);
        if entries.len() != self.met.len() || !entries.iter().all(known) {
            self.met = entries.into_iter().collect();
        }
    }
}
