//! The places that files were leaving when a process died: moves in the journal.
//!
//! Before anything else, the next cycle finishes each move whose file already has its new place: it deletes the file at
//! the old place, even if somebody is writing it, because an edit there is set beside it (I1 and I5 check this).

use kbsync::state::{Entry, Journalled};
use std::collections::BTreeSet;

/// The paths of these places.
#[derive(Debug)]
pub(super) struct Leaving(BTreeSet<String>);

impl Leaving {
    /// Returns the places in a journal.
    pub(super) fn of(journal: &[Journalled]) -> Self {
        let left = journal.iter().filter_map(|change| match &change.entry {
            Entry::File(file) => file.leaves.as_ref().map(|(place, _)| place.to_string()),
            Entry::Folder { .. } => None,
        });
        Self(left.collect())
    }

    /// Returns whether the present content of a path (none) is the end of a move.
    pub(super) fn ends(&self, path: &str, now: Option<&[u8]>) -> bool {
        now.is_none() && self.0.contains(path)
    }
}
