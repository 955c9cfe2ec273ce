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
#[derive(Clone, Copy, Debug)]
pub(super) struct Met {
    /// Of its bytes.
    mark: Mark,
    /// Of the words and the revision that they said.
    said: Mark,
    /// The flags that they said.
    pub(super) flags: Flags,
}

/// What the entries of one listing stood for.
pub(super) type Entries = HashMap<ArticleId, Met>;

/// What is remembered of the last listing.
#[derive(Debug)]
pub(super) struct Memory {
    marker: Marker,
    entries: Entries,
}

impl Memory {
    /// Remembers nothing.
    pub(super) fn new() -> Self {
        Self {
            marker: Marker::draw(),
            entries: Entries::new(),
        }
    }

    /// The entries that stand for what the base says.
    pub(super) fn familiar(&self, rows: &BTreeMap<ArticleId, ArticleRow>) -> Arc<Familiar> {
        let known = self.entries.iter().filter(|(id, met)| {
            rows.get(id)
                .is_some_and(|row| met.said == said(self.marker, &row.remote, &row.revision))
        });
        let articles = known.map(|(&id, met)| (met.mark, id)).collect();
        Arc::new(Familiar::new(self.marker, articles))
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
            said: said(self.marker, version, revision),
            flags,
        }
    }

    /// What an entry stood for that is familiar.
    pub(super) fn met(&self, id: ArticleId) -> Option<Met> {
        self.entries.get(&id).copied()
    }

    /// Remembers a listing in place of the one before.
    pub(super) fn learn(&mut self, entries: Entries) {
        self.entries = entries;
    }
}

/// Marks what an entry says, but for its flags and figures.
fn said(marker: Marker, version: &Version, revision: &Revision) -> Mark {
    marker.mark(&[
        version.title.as_bytes(),
        version.slug.as_bytes(),
        version.category.uuid().as_bytes(),
        version.introtext.as_bytes(),
        version.keywords.as_bytes(),
        version.text.as_bytes(),
        revision.0.as_bytes(),
    ])
}
