//! The meaning of each entry of the last listing, in the order of the entries.

use super::{Store, Writing, columns::flags};
use crate::{
    model::{ArticleId, Fingerprint, Flags},
    state::Outcome,
};
use rusqlite::{Row, params};

/// One entry of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListingEntry {
    /// Its article.
    pub article: ArticleId,
    /// The fingerprint of its bytes.
    pub fingerprint: Fingerprint,
    /// The fingerprint of the version and revision that it shows.
    pub version: Fingerprint,
    /// The flags that it shows.
    pub flags: Flags,
}

impl Store {
    /// Reads the entries of the last listing, in their order.
    pub fn listing_entries(&self) -> Outcome<Vec<ListingEntry>> {
        self.all(
            "SELECT article, fingerprint, said, enabled, draft FROM listing_entries \
             ORDER BY position",
            [],
            entry,
        )
    }
}

impl Writing<'_> {
    /// Writes the entry at a position, in place of the one there.
    pub fn put_listing_entry(&mut self, position: usize, entry: &ListingEntry) -> Outcome<()> {
        self.run(
            "INSERT OR REPLACE INTO listing_entries \
             (position, article, fingerprint, said, enabled, draft) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                number(position),
                entry.article,
                entry.fingerprint,
                entry.version,
                entry.flags.enabled,
                entry.flags.draft,
            ],
        )
    }

    /// Removes the entries from a position on.
    pub fn cut_listing_entries(&mut self, position: usize) -> Outcome<()> {
        self.run(
            "DELETE FROM listing_entries WHERE position >= ?1",
            [number(position)],
        )
    }
}

fn number(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ListingEntry> {
    Ok(ListingEntry {
        article: row.get(0)?,
        fingerprint: row.get(1)?,
        version: row.get(2)?,
        flags: flags(row, 3)?,
    })
}
