//! What is kept of the base between two cycles: of each article as much as tells that it is as it was.
//!
//! A cycle that finds all of it as it was, but for an article or two, reads the rows of these and no others.
//! It is little (some hundred bytes an article), since it stays while nothing happens; the rows themselves would be
//! several times that. It is made of the rows at the end of a cycle that left nothing open, and never changes by
//! itself: what was written since, by whom ever, the store says ([`Store::noted`]), and such a row is read again, or
//! all of this is dropped.

use super::memory::Memory;
use super::observe::backoff::ASK_AGAIN;
use crate::mirror::layout::Layout;
use crate::mirror::scan::Known;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Flags, Timestamp};
use crate::reconcile::is_calm;
use crate::reconcile::snapshot::Base;
use crate::service::fingerprint::Fingerprint;
use crate::state::StateError;
use crate::state::store::Store;
use std::collections::HashMap;

/// The base of a workspace, as far as it is needed to see that nothing changed.
#[derive(Debug)]
pub(super) struct Kept {
    /// The places and stamps of all files.
    pub(super) mirror: Known,
    rows: HashMap<ArticleId, Brief>,
    /// From then on a category is to be read, though nothing changed.
    due: Timestamp,
}

/// One article's row in brief.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    /// Of what the service is known to say.
    pub(super) said: Fingerprint,
    /// The flags that it is known to have.
    pub(super) flags: Flags,
    /// Whether the revision that is known is that of our own last write.
    pub(super) own: bool,
    pub(super) shown: Shown,
    /// Whether nothing follows when both sides are as the row says.
    pub(super) calm: bool,
}

/// Where an article is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// In the listing.
    Listed,
    /// Not in the listing: it is hidden, and the service said so.
    Hidden,
    /// That has to be found out.
    Open,
}

impl Kept {
    /// Keeps a base. `None`: it is not simple enough.
    pub(super) fn of(base: &Base, layout: Layout, memory: &Memory) -> Option<Self> {
        let mut kept = Self {
            mirror: Known::new(layout),
            rows: HashMap::with_capacity(base.articles.len()),
            due: Timestamp(i64::MAX),
        };
        for row in base.categories.values() {
            if let Some(folder) = &row.folder {
                kept.mirror.put_folder(folder, row.stamp);
            }
            kept.due = kept.due.min(again(row.read_at));
        }
        let mut rows = base.articles.values();
        rows.all(|row| kept.take(row, memory)).then_some(kept)
    }

    /// Reads again what was written since. `None`: it cannot be told what that was, or it is more than a few rows.
    pub(super) fn renewed(
        mut self,
        store: &mut Store,
        memory: &Memory,
    ) -> Result<Option<Self>, StateError> {
        let Some(written) = store.noted()? else {
            return Ok(None);
        };
        for id in written {
            let row = store.article(id)?;
            // Nothing that came or went is as simple.
            let simple = row.is_some_and(|row| {
                self.rows.contains_key(&id)
                    && self.mirror.article(&row.place) == Some(id)
                    && self.take(&row, memory)
            });
            if !simple {
                return Ok(None);
            }
        }
        Ok(Some(self))
    }

    /// Keeps a row, in place of the article's before. `false`: it is not simple enough.
    fn take(&mut self, row: &ArticleRow, memory: &Memory) -> bool {
        let shown = match row.visibility {
            Visibility::Published if row.remote_flags.enabled != Some(false) => Shown::Listed,
            Visibility::Unpublished => Shown::Hidden,
            Visibility::Published | Visibility::NotVisible | Visibility::Gone => Shown::Open,
        };
        let brief = Brief {
            said: memory.said(&row.remote, &row.revision),
            flags: row.remote_flags,
            own: row.written.as_ref() == Some(&row.revision),
            shown,
            calm: is_calm(row),
        };
        self.rows.insert(row.id, brief);
        self.mirror.put_file(&row.place, row.id, row.stamp)
    }

    /// One article.
    pub(super) fn row(&self, id: ArticleId) -> Option<&Brief> {
        self.rows.get(&id)
    }

    /// All articles.
    pub(super) fn rows(&self) -> impl Iterator<Item = (ArticleId, &Brief)> {
        self.rows.iter().map(|(id, brief)| (*id, brief))
    }

    /// Returns whether no category is to be read.
    pub(super) fn asks_nothing(&self, now: Timestamp) -> bool {
        now < self.due
    }
}

/// When something is asked for again.
fn again(at: Timestamp) -> Timestamp {
    let rest = i64::try_from(ASK_AGAIN).unwrap_or(i64::MAX);
    Timestamp(at.0.saturating_add(rest))
}
