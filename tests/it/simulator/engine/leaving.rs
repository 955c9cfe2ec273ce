//! The places that files were leaving when a process died: moves in the journal.
//!
//! Before it looks at anything, the next cycle finishes each move whose file has its new place already: it takes the old
//! one away, be somebody writing it by then, since what was edited there is set beside it (I1 and I5 see to that). A
//! dry run finishes nothing, so that it finds two files with one id and plans to make an article of the old one. Both
//! are so by the journal's rule, for the moment between two calls in which the process has to die.

use kbsync::engine::report::Report;
use kbsync::model::Side;
use kbsync::reconcile::plan::Kind;
use kbsync::state::{Entry, Journalled};
use std::collections::BTreeSet;

/// The paths of these places.
#[derive(Debug)]
pub(super) struct Leaving(BTreeSet<String>);

impl Leaving {
    /// Those in a journal.
    pub(super) fn of(journal: &[Journalled]) -> Self {
        let left = journal.iter().filter_map(|change| match &change.entry {
            Entry::File(file) => file.leaves.as_ref().map(|(place, _)| place.to_string()),
            Entry::Folder { .. } => None,
        });
        Self(left.collect())
    }

    /// Returns whether what lies at a path now is the end of a move: nothing.
    pub(super) fn ends(&self, path: &str, now: Option<&[u8]>) -> bool {
        now.is_none() && self.0.contains(path)
    }

    /// Leaves out of a plan the articles that were to be made of files at these places.
    pub(super) fn cut(&self, mut planned: Report) -> Report {
        planned.actions.retain(|line| {
            let is_made = line.action == Kind::Create && line.side == Side::Remote;
            !is_made || !self.0.contains(&line.path)
        });
        planned
    }
}
