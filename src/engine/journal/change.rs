//! A change of one file, and the order of several.

use crate::mirror::disk::Slot;
use crate::model::{Digest, KnownFile, Place, Stamp};
use crate::state::store::HistoryEntry;
use crate::state::{FileEntry, RowChange};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// One change of a file.
#[derive(Clone, Debug)]
pub(in crate::engine) struct FileChange {
    pub(super) slot: Slot,
    pub(in crate::engine) file: FileEntry,
    /// Whether the staged bytes are durable.
    pub(super) durable: bool,
    /// The history entry that is stored before the file is touched.
    pub(in crate::engine) history: HistoryEntry,
    /// The rows that become true with the change. They lack the file's new stamp.
    pub(in crate::engine) rows: Vec<RowChange>,
    /// Whether the file says what its article's row says: then the file's stamp belongs into the row.
    pub(in crate::engine) matches_row: bool,
}

impl FileChange {
    /// Makes a change without rows. `over`: the file that it replaces or removes.
    pub(super) fn new(
        slot: Slot,
        target: &Place,
        new: Option<Digest>,
        over: Option<KnownFile>,
    ) -> Self {
        Self {
            slot,
            file: FileEntry {
                target: target.clone(),
                leaves: None,
                new,
                over,
            },
            durable: true,
            history: HistoryEntry::default(),
            rows: Vec::new(),
            matches_row: false,
        }
    }

    /// Returns a row with the stamp of the published file, unless the stamp is racy.
    pub(super) fn stamped<'a>(&self, row: &'a RowChange, stamp: Stamp) -> Cow<'a, RowChange> {
        if let RowChange::Article(row) = row
            && self.matches_row
            && stamp.has_rested()
        {
            let mut row = row.clone();
            row.stamp = Some(stamp);
            return Cow::Owned(RowChange::Article(row));
        }
        Cow::Borrowed(row)
    }
}

/// Returns the order of changes: places are left before they are taken. Changes in a circle keep their order, and fail.
pub(super) fn in_order(changes: &[FileChange]) -> Vec<usize> {
    let mut order = Vec::with_capacity(changes.len());
    let mut waiting: Vec<usize> = (0..changes.len()).collect();
    loop {
        let old_places = waiting.iter().filter_map(|&index| {
            let (place, _) = changes[index].file.leaves.as_ref()?;
            Some(place)
        });
        let old_places: BTreeSet<&Place> = old_places.collect();
        let is_free = |index: &usize| !old_places.contains(&changes[*index].file.target);
        let (free, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_free);
        if free.is_empty() {
            order.extend(later);
            return order;
        }
        order.extend(free);
        waiting = later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::base::{ArticleRow, Visibility};
    use crate::model::{CategoryId, Flags, Revision, TextDigest, Version};

    /// Changes that leave one place for another; nothing lies at the first one for `-`.
    fn changes(moves: &[(&str, &str)]) -> Vec<FileChange> {
        let known = |name: &str| KnownFile::of(Stamp::default(), name.as_bytes());
        let place = |name: &str| Place::new("a", name);
        let numbered = moves.iter().zip(1..);
        numbered
            .map(|(&(from, to), slot)| {
                let new = Some(Digest::of_parts(&[]));
                let mut change = FileChange::new(slot, &place(to), new, None);
                change.file.leaves = (from != "-").then(|| (place(from), known(from)));
                change
            })
            .collect()
    }

    #[test]
    fn f083_a_row_gets_the_stamp_of_its_file_unless_the_stamp_is_racy() {
        let second = 1_000_000_000;
        let written_at = |mtime| Stamp {
            mtime,
            ctime: 9 * second + 1,
            ..Stamp::default()
        };
        let (rested, racy) = (written_at(second + 1), written_at(9 * second + 1));
        let place = Place::new("a", "x.html");
        let version = Version {
            title: "X".to_owned(),
            slug: "x".to_owned(),
            category: CategoryId::provisional("a"),
            introtext: String::new(),
            keywords: String::new(),
            text: TextDigest::of(""),
        };
        let row = ArticleRow {
            id: "00000000-0000-4000-8000-000000000001"
                .parse()
                .expect("an id"),
            place: place.clone(),
            local: version.clone(),
            remote: version,
            revision: Revision::default(),
            file_flags: Flags::default(),
            remote_flags: Flags::default(),
            visibility: Visibility::Published,
            stamp: None,
            superseded: Vec::new(),
            written: None,
        };
        for (matches_row, stamp, expected) in [
            (true, rested, Some(rested)),
            (true, racy, None),
            (false, rested, None),
        ] {
            let change = FileChange {
                matches_row,
                ..FileChange::new(1, &place, None, None)
            };
            let article = RowChange::Article(Box::new(row.clone()));
            let stamped = change.stamped(&article, stamp).into_owned();
            let expected = ArticleRow {
                stamp: expected,
                ..row.clone()
            };
            assert_eq!(stamped, RowChange::Article(Box::new(expected)));
        }
    }

    #[test]
    fn f055_places_are_left_before_they_are_taken() {
        type Moves = &'static [(&'static str, &'static str)];
        let cases: [(Moves, &[usize]); 4] = [
            (&[("-", "x"), ("-", "y")], &[0, 1]),
            (&[("x", "y"), ("y", "z")], &[1, 0]),
            (&[("x", "y"), ("y", "x")], &[0, 1]),
            (
                &[("u", "v"), ("x", "y"), ("y", "x"), ("v", "w")],
                &[3, 0, 1, 2],
            ),
        ];
        for (moves, expected) in cases {
            assert_eq!(in_order(&changes(moves)), expected, "{moves:?}");
        }
    }
}
