//! Open conflicts, with the places where a person's file and the service's version differ.
//!
//! Files and states are only read. A conflict with only one version left has no differences.

use super::{
    conflict_parts::{Clashing, Difference, document},
    counts::several,
    failure::Failure,
    print::escape,
    scope,
};
use crate::{
    config::Config,
    engine::report::{Line, Status},
    mirror::document::Document,
    model::{ArticleId, Side, base::ConflictRow},
    reconcile::plan::Kind,
    state::Store,
};

/// The most differences of a conflict that are listed in an overview.
const FEW: usize = 3;

/// An open conflict.
#[derive(Debug)]
pub(super) struct Conflict {
    /// The article.
    pub(super) id: ArticleId,
    /// The file, below the mirror.
    pub(super) path: String,
    /// The differences between the two versions; empty: only one version is left.
    differences: Vec<Difference>,
    /// The reason for the conflict, without the ways to settle it.
    pub(super) reason: String,
}

/// Returns the open conflicts of the mirror.
pub(super) fn open(config: &Config) -> Result<Vec<Conflict>, Failure> {
    let mut conflicts = Vec::new();
    for part in scope::all(config) {
        let Some(store) = part.state(config)? else {
            continue;
        };
        for row in store.conflicts()? {
            // A moved file is at the place of its base row.
            let moved = store.article(row.id)?.map(|base| base.place);
            let mut places = [Some(row.place.clone()), moved].into_iter().flatten();
            let found = places.find_map(|place| Some((document(&part, &place)?, place)));
            let (differences, place) = match found {
                Some((document, place)) => (differences(&store, &row, &document)?, place),
                None => (Vec::new(), row.place),
            };
            conflicts.push(Conflict {
                id: row.id,
                path: part.path(&place),
                differences,
                reason: row.reason,
            });
        }
    }
    conflicts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(conflicts)
}

/// Returns the places that both sides changed.
fn differences(
    store: &Store,
    row: &ConflictRow,
    document: &Document,
) -> Result<Vec<Difference>, Failure> {
    Ok(match &row.remote {
        Some(remote) => Clashing::of(store, row, document, remote)?.differences(),
        None => Vec::new(),
    })
}

impl Conflict {
    /// Returns the line of a report.
    pub(super) fn line(&self) -> Line {
        Line {
            action: Kind::Conflict,
            side: Side::Both,
            path: self.path.clone(),
            id: Some(self.id),
            fields: Vec::new(),
            status: Status::Held,
            reason: Some(self.reason.clone()),
            rule: None,
            fingerprint: None,
        }
    }

    /// Returns whether there are two versions to compare.
    pub(super) const fn has_differences(&self) -> bool {
        !self.differences.is_empty()
    }

    /// Returns the first differences as lines, or the reason of a conflict that has none.
    pub(super) fn lines(&self) -> Vec<String> {
        if !self.has_differences() {
            return vec![format!("    {}", escape(&self.reason))];
        }
        let mut lines = Vec::new();
        for one in self.differences.iter().take(FEW) {
            lines.extend(one.line.map(|line| format!("    line {line}")));
            lines.extend(one.sides());
        }
        if let Some(more @ 1..) = self.differences.len().checked_sub(FEW) {
            let more = several(more, "more difference");
            lines.push(format!(
                "    … and {more}; `kbsync diff --remote` shows all"
            ));
        }
        lines
    }
}
