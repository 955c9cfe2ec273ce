//! Texts for the history that are gathered while they are read, and stored in batches, so that memory does not grow with
//! their number.
//!
//! Gathered texts are stored before anything else is. A dry run stores nothing; then the few bodies that a merge may
//! need stay in memory.

use super::{Store, Writing};
use crate::model::TextDigest;
use crate::state::{SeenVersion, StateResult};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of bytes to gather before they are written in one transaction.
const BATCH: usize = 4 << 20;

/// Texts for the history, and the version that needs them.
#[derive(Clone, Debug, Default)]
pub struct HistoryEntry {
    /// The texts: of a version that was seen, first the body, then the whole file if it has more.
    pub bodies: Vec<String>,
    /// The version, if it goes into the history.
    pub seen: Option<SeenVersion>,
    /// Whether a merge may need the body: the body belongs to a known article.
    pub may_merge: bool,
}

/// The entries that are not stored yet.
#[derive(Debug, Default)]
pub(super) struct Spool {
    bytes: usize,
    waiting: Vec<HistoryEntry>,
    of_dry_run: BTreeMap<TextDigest, Arc<str>>,
}

impl Store {
    /// Adds an entry to the spool.
    pub fn gather(&mut self, entry: HistoryEntry) -> StateResult<()> {
        let spool = &mut self.spool;
        if self.is_dry_run {
            let mut bodies = entry.bodies.into_iter().filter(|_| entry.may_merge);
            let body = bodies
                .next()
                .map(|text| (TextDigest::of(&text), text.into()));
            spool.of_dry_run.extend(body);
            return Ok(());
        }
        spool.bytes += entry.bodies.iter().map(String::len).sum::<usize>();
        spool.waiting.push(entry);
        if spool.bytes >= BATCH {
            self.flush_bodies()
        } else {
            Ok(())
        }
    }

    /// Stores the gathered entries.
    pub fn flush_bodies(&mut self) -> StateResult<()> {
        if self.spool.waiting.is_empty() {
            return Ok(());
        }
        self.stay()?;
        let gathered = self.spool.take();
        self.transact(self.now(), |tx| {
            gathered.iter().try_for_each(|entry| entry.put(tx))
        })
    }

    /// Begins or ends a dry run, in which [`Store::write_unless_dry_run`] and [`Store::gather`] store nothing.
    pub fn set_dry_run(&mut self, is_dry_run: bool) {
        self.is_dry_run = is_dry_run;
        self.spool = Spool::default();
    }

    /// Returns a body that is stored, or that was gathered in this dry run.
    pub fn text(&self, digest: TextDigest) -> StateResult<Option<Arc<str>>> {
        if let Some(text) = self.spool.of_dry_run.get(&digest) {
            return Ok(Some(text.clone()));
        }
        Ok(self.body(digest)?.map(Into::into))
    }
}

impl Spool {
    /// Takes out the waiting entries.
    fn take(&mut self) -> Vec<HistoryEntry> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

impl HistoryEntry {
    /// Stores the texts and the version.
    pub fn put(&self, tx: &mut Writing<'_>) -> StateResult<()> {
        for body in &self.bodies {
            tx.put_body(body)?;
        }
        let mut seen = self.seen.iter();
        seen.try_for_each(|seen| tx.record(seen).map(drop))
    }
}
