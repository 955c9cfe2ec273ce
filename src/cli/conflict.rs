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
    model::{ArticleId, Field, Side},
    reconcile::plan::Kind,
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
    /// The fields in which the two versions clash.
    fields: Vec<Field>,
    /// The differences between the two versions; empty: only one version is left.
    differences: Vec<Difference>,
    /// The name of the service's copy, if a person edited it.
    edited_copy: Option<String>,
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
            let found =
                places.find_map(|place| Some((document(&part, &place.to_string())?, place)));
            let (fields, differences) = match (&found, &row.remote) {
                (Some((document, _)), Some(remote)) => {
                    let clashing = Clashing::of(&store, &row, document, remote)?;
                    (clashing.fields().collect(), clashing.differences())
                }
                (Some(_) | None, _) => (Vec::new(), Vec::new()),
            };
            let edited_copy = row.copy_place().filter(|copy| {
                let copy = document(&part, &copy.to_string());
                copy.zip(row.remote.as_ref()).is_some_and(|(copy, remote)| {
                    let shown = copy.version(remote.slug.clone(), remote.category);
                    !shown.same_words(remote)
                })
            });
            conflicts.push(Conflict {
                id: row.id,
                path: part.path(found.map_or(row.place, |(_, place)| place)),
                fields,
                differences,
                edited_copy: edited_copy.map(|copy| copy.file),
                reason: row.reason,
            });
        }
    }
    conflicts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(conflicts)
}

impl Conflict {
    /// Returns the line of a report.
    pub(super) fn line(&self) -> Line {
        Line {
            action: Kind::Conflict,
            side: Side::Both,
            path: self.path.clone(),
            id: Some(self.id),
            fields: self.fields.clone(),
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
        lines.extend(self.edited_copy.iter().map(|copy| {
            let copy = escape(copy);
            format!("    {copy} was edited: `--keep remote` takes the service's text, not that of this copy")
        }));
        lines
    }
}
