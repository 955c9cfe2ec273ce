//! The work under way: changes of the mirror and requests to the service, each with the rows that become true; and the
//! files that were displaced.
//!
//! A row exists from before the first file is touched, or the request is sent, until the transaction that applies its
//! rows. The number of a slot is never used twice, not even after its row is deleted. The table of the pending requests
//! keeps its first name, `intents`. While there is a row, no body and no version is pruned.

use super::{
    Store, Writing,
    columns::{Json, place, stamp, stamp_columns},
};
use crate::{
    model::{ArticleId, KnownFile},
    state::{
        Creation, DisplacedRow, Entry, Journalled, PendingRequest, RequestId, RowChange,
        StateResult, Target,
    },
};
use rusqlite::params;

impl Store {
    /// Reads the unfinished changes of the mirror, in their order.
    pub fn journal(&self) -> StateResult<Vec<Journalled>> {
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

    /// Reads the last slot that the journal has used.
    pub fn last_slot(&self) -> StateResult<i64> {
        let last = self.one(
            "SELECT seq FROM sqlite_sequence WHERE name = 'journal'",
            [],
            |row| row.get(0),
        )?;
        Ok(last.unwrap_or_default())
    }

    /// Returns a slot that no file has used.
    pub fn next_slot(&mut self) -> StateResult<i64> {
        let last = match self.slot {
            Some(last) => last,
            None => self.last_slot()?,
        };
        self.slot = Some(last + 1);
        Ok(last + 1)
    }

    /// Reads the files that were displaced, oldest first.
    pub fn displaced(&self) -> StateResult<Vec<DisplacedRow>> {
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

    /// Reads the pending requests, oldest first.
    pub fn pending_requests(&self) -> StateResult<Vec<(RequestId, PendingRequest)>> {
        self.all("SELECT id, json FROM intents ORDER BY id", [], |row| {
            Ok((
                RequestId(row.get(0)?),
                row.get::<_, Json<PendingRequest>>(1)?.0,
            ))
        })
    }

    /// Reads the articles that are being created, oldest first.
    pub fn creations(&self) -> StateResult<Vec<Creation>> {
        let pending_requests = self.pending_requests()?.into_iter();
        let creations = pending_requests.filter_map(|(id, pending)| match pending {
            PendingRequest::CreateArticle(creation) => Some(Creation {
                request: id.0,
                ..creation
            }),
            PendingRequest::PutOrDelete(_) => None,
        });
        Ok(creations.collect())
    }
}

impl Writing<'_> {
    /// Stores a change of the mirror before the change is made.
    pub fn begin_change(
        &mut self,
        slot: i64,
        entry: &Entry,
        rows: &[RowChange],
    ) -> StateResult<()> {
        insert!(self, "INSERT INTO journal", {
            slot: slot,
            entry: Json(entry),
            changes: Json(rows),
        })
    }

    /// Deletes a change from the journal: the change is recorded, or was never made.
    pub fn end_change(&mut self, slot: i64) -> StateResult<()> {
        self.run("DELETE FROM journal WHERE slot = ?1", [slot])
    }

    /// Applies a row that has become true.
    pub fn apply(&mut self, change: &RowChange) -> StateResult<()> {
        match change {
            RowChange::Article(row) => {
                // The row replaces an answer that was stored before it.
                self.remove_attempt(Target::Article(row.id))?;
                self.put_article(row)
            }
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

    /// Stores a displaced file, or its last known stamp and digest.
    pub fn put_displaced(&mut self, row: &DisplacedRow) -> StateResult<()> {
        let [size, mtime, ctime, inode] = stamp_columns(Some(row.known.stamp));
        insert!(self, "INSERT OR REPLACE INTO displaced", {
            slot: row.slot,
            folder: row.place.folder,
            file: row.place.file,
            stamp_size: size,
            stamp_mtime: mtime,
            stamp_ctime: ctime,
            stamp_inode: inode,
            digest: row.known.digest,
            since: row.since,
        })
    }

    /// Deletes the row of a displaced file.
    pub fn remove_displaced(&mut self, slot: i64) -> StateResult<()> {
        self.run("DELETE FROM displaced WHERE slot = ?1", [slot])
    }

    /// Stores a request before it is sent.
    pub fn add_pending_request(&mut self, pending: &PendingRequest) -> StateResult<RequestId> {
        self.run("INSERT INTO intents (json) VALUES (?1)", [Json(pending)])?;
        Ok(RequestId(self.sql()?.last_insert_rowid()))
    }

    /// Deletes a pending request: its outcome is recorded, or the request never took place.
    pub fn end_pending_request(&mut self, id: RequestId) -> StateResult<()> {
        self.run("DELETE FROM intents WHERE id = ?1", [id.0])
    }

    /// Ends the PUT or DELETE of an article; an article has at most one.
    pub fn end_put_or_delete(&mut self, id: ArticleId) -> StateResult<()> {
        self.remove_attempt(Target::Request(id))?;
        self.run(
            "DELETE FROM intents \
             WHERE coalesce(json ->> '$.update_article.id', json ->> '$.delete_article.id') = ?1",
            [id.to_string()],
        )
    }

    /// Stores a further attempt to create an article, or the row of the created article.
    pub fn put_creation(&mut self, creation: &Creation) -> StateResult<()> {
        let pending = PendingRequest::CreateArticle(creation.clone());
        self.run(
            "UPDATE intents SET json = ?2 WHERE id = ?1",
            params![creation.request, Json(&pending)],
        )
    }

    /// Ends the request that created an article: the article's id is in its file.
    pub fn end_creation(&mut self, id: ArticleId) -> StateResult<()> {
        self.run(
            "DELETE FROM intents WHERE json ->> '$.create_article.row.id' = ?1",
            [id.to_string()],
        )
    }
}
