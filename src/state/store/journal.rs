//! The journal: changes of the mirror under way, with the rows that become true; and the files that were displaced.
//!
//! A row of the journal stands from before the first file is touched until the transaction that applies its rows.
//! Numbers of slots are never given twice, not even after a row is gone.

use super::{
    Store, Writing,
    columns::{Json, place, stamp, stamp_columns},
};
use crate::model::KnownFile;
use crate::state::{DisplacedRow, Entry, Journalled, Outcome, RowChange};
use rusqlite::params;

impl Store {
    /// Reads the changes of the mirror that were begun, in their order.
    pub fn journal(&self) -> Outcome<Vec<Journalled>> {
        self.all(
            "SELECT slot, entry, changes FROM journal ORDER BY slot",
            [],
            |row| {
                Ok(Journalled {
                    slot: row.get(0)?,
                    entry: row.get::<_, Json<Entry>>(1)?.0,
                    rows: row.get::<_, Json<Vec<RowChange>>>(2)?.0,
                })
            },
        )
    }

    /// Reads the last slot that the journal has seen.
    pub fn last_slot(&self) -> Outcome<i64> {
        let last = self.one(
            "SELECT seq FROM sqlite_sequence WHERE name = 'journal'",
            [],
            |row| row.get(0),
        )?;
        Ok(last.unwrap_or_default())
    }

    /// Returns a slot that no file has had.
    pub fn next_slot(&mut self) -> Outcome<i64> {
        let last = match self.slot {
            Some(last) => last,
            None => self.last_slot()?,
        };
        self.slot = Some(last + 1);
        Ok(last + 1)
    }

    /// Reads the files that were displaced, oldest first.
    pub fn displaced(&self) -> Outcome<Vec<DisplacedRow>> {
        self.all(
            "SELECT slot, folder, file, stamp_size, stamp_mtime, stamp_ctime, stamp_inode, \
             digest, since FROM displaced ORDER BY slot",
            [],
            |row| {
                Ok(DisplacedRow {
                    slot: row.get(0)?,
                    place: place(row, 1)?,
                    known: KnownFile {
                        stamp: stamp(row, 3)?.unwrap_or_default(),
                        digest: row.get(7)?,
                    },
                    since: row.get(8)?,
                })
            },
        )
    }
}

impl Writing<'_> {
    /// Writes down a change of the mirror before it is made.
    pub fn begin_change(&mut self, change: &Journalled) -> Outcome<()> {
        self.run(
            "INSERT INTO journal (slot, entry, changes) VALUES (?1, ?2, ?3)",
            params![change.slot, Json(&change.entry), Json(&change.rows)],
        )
    }

    /// Takes a change out of the journal: it is recorded, or was never made.
    pub fn end_change(&mut self, slot: i64) -> Outcome<()> {
        self.run("DELETE FROM journal WHERE slot = ?1", [slot])
    }

    /// Makes a row true.
    pub fn apply(&mut self, change: &RowChange) -> Outcome<()> {
        match change {
            RowChange::Article(row) => self.put_article(row),
            RowChange::NoArticle(id) => self.remove_article(*id),
            RowChange::Created(id) => self.end_creation(*id),
            RowChange::Category(row) => self.put_category(row),
            RowChange::Conflict(row) => self.put_conflict(row),
            RowChange::NoConflict(id) => self.remove_conflict(*id),
            RowChange::Version(seen) => self.record(seen).map(drop),
            RowChange::Event(deed) => self.event(deed),
            RowChange::Deletion { side, approved } => self.count_deletion(*side, *approved),
        }
    }

    /// Remembers a displaced file, or what was last seen of it.
    pub fn put_displaced(&mut self, row: &DisplacedRow) -> Outcome<()> {
        let [size, mtime, ctime, inode] = stamp_columns(Some(row.known.stamp));
        self.run("INSERT OR REPLACE INTO displaced (slot, folder, file, stamp_size, stamp_mtime, \
                 stamp_ctime, stamp_inode, digest, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", params![
                row.slot,
                row.place.folder,
                row.place.file,
                size,
                mtime,
                ctime,
                inode,
                row.known.digest,
                row.since,
            ])
    }

    /// Forgets a displaced file.
    pub fn remove_displaced(&mut self, slot: i64) -> Outcome<()> {
        self.run("DELETE FROM displaced WHERE slot = ?1", [slot])
    }
}
