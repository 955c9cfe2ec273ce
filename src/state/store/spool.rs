//! Bodies that are gathered while they are read, and stored in batches, so that memory does not grow with their number.
//!
//! Gathered bodies are stored before anything else is. A dry run stores nothing; then the few bodies that a merge may
//! need stay in memory.

use super::{Store, Writing};
use crate::model::TextDigest;
use crate::state::{SeenVersion, StateResult};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of bytes to gather before they are written in one transaction.
const BATCH: usize = 4 << 20;

/// One body that was seen.
#[derive(Debug)]
pub struct SeenBody {
    /// The body.
    pub text: String,
    /// The digest of the body.
    pub digest: TextDigest,
    /// The whole file, if it is kept.
    pub file: Option<String>,
    /// The version that the body belongs to, if the version goes into the history.
    pub seen: Option<SeenVersion>,
    /// Whether a merge may need the body: the body belongs to a known article.
    pub may_merge: bool,
}

/// The bodies that were seen and are not stored yet.
#[derive(Debug, Default)]
pub(super) struct Spool {
    bytes: usize,
    waiting: Vec<SeenBody>,
    of_dry_run: BTreeMap<TextDigest, Arc<str>>,
}

impl Store {
    /// Adds a body to the spool.
    pub fn gather(&mut self, body: SeenBody) -> StateResult<()> {
        let spool = &mut self.spool;
        if self.is_dry_run {
            if body.may_merge {
                spool.of_dry_run.insert(body.digest, body.text.into());
            }
            return Ok(());
        }
        spool.bytes += body.text.len() + body.file.as_ref().map_or(0, String::len);
        spool.waiting.push(body);
        if spool.bytes >= BATCH {
            self.flush_bodies()
        } else {
            Ok(())
        }
    }

    /// Stores the gathered bodies.
    pub fn flush_bodies(&mut self) -> StateResult<()> {
        if self.spool.waiting.is_empty() {
            return Ok(());
        }
        self.stay()?;
        let gathered = self.spool.take();
        self.transact(self.now(), |tx| tx.put_gathered(gathered))
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
    /// Takes out the waiting bodies.
    fn take(&mut self) -> Vec<SeenBody> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

impl Writing<'_> {
    fn put_gathered(&mut self, gathered: Vec<SeenBody>) -> StateResult<()> {
        for body in gathered {
            self.put_body_of(body.digest, &body.text)?;
            let file = body.file.as_deref();
            let file = file.map(|file| self.put_body(file)).transpose()?;
            if let Some(seen) = body.seen {
                self.record(&SeenVersion { file, ..seen })?;
            }
        }
        Ok(())
    }
}
