//! Bodies on their way: kept in the state as they are read, so that memory does not grow with them.
//!
//! A dry run writes nothing; then the few bodies that a merge may need stay in memory.

use crate::model::TextDigest;
use crate::state::store::Store;
use crate::state::{SeenVersion, StateError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that are gathered before they are written in one transaction.
const BATCH: usize = 4 << 20;

/// One body that was seen.
pub(super) struct SeenBody {
    pub(super) text: String,
    pub(super) digest: TextDigest,
    /// The whole file, where that is kept.
    pub(super) file: Option<String>,
    /// The version that the body belongs to, where that goes into the history.
    pub(super) seen: Option<SeenVersion>,
    /// Whether a merge may need the body: it is one of a known article.
    pub(super) may_merge: bool,
}

/// The bodies that were seen and are not stored yet.
pub(super) struct Spool {
    dry: bool,
    bytes: usize,
    pending: Vec<SeenBody>,
    memory: BTreeMap<TextDigest, Arc<str>>,
}

impl Spool {
    pub(super) fn new(dry: bool) -> Self {
        Self {
            dry,
            bytes: 0,
            pending: Vec::new(),
            memory: BTreeMap::new(),
        }
    }

    /// Returns whether nothing is written.
    pub(super) const fn is_dry(&self) -> bool {
        self.dry
    }

    /// Takes a body.
    pub(super) fn take(&mut self, store: &mut Store, body: SeenBody) -> Result<(), StateError> {
        if self.dry {
            if body.may_merge {
                self.memory.insert(body.digest, body.text.into());
            }
            return Ok(());
        }
        self.bytes += body.text.len() + body.file.as_ref().map_or(0, String::len);
        self.pending.push(body);
        if self.bytes >= BATCH {
            self.flush(store)
        } else {
            Ok(())
        }
    }

    /// Stores the bodies that were gathered.
    pub(super) fn flush(&mut self, store: &mut Store) -> Result<(), StateError> {
        self.bytes = 0;
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        store.write(|tx| {
            for body in pending {
                tx.put_body_of(body.digest, &body.text)?;
                let file = body.file.as_deref();
                let file = file.map(|file| tx.put_body(file)).transpose()?;
                if let Some(seen) = body.seen {
                    tx.record(&SeenVersion { file, ..seen })?;
                }
            }
            Ok(())
        })
    }

    /// Returns a body, from memory or the state.
    pub(super) fn text(
        &self,
        store: &Store,
        digest: TextDigest,
    ) -> Result<Option<Arc<str>>, StateError> {
        if let Some(text) = self.memory.get(&digest) {
            return Ok(Some(text.clone()));
        }
        Ok(store.body(digest)?.map(Into::into))
    }
}

/// The digest of a body with its CRLF read as LF, where that differs.
pub(super) fn text_lf(text: &str) -> Option<TextDigest> {
    text.contains("\r\n")
        .then(|| TextDigest::of(&text.replace("\r\n", "\n")))
}
