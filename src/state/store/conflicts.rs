//! Items that wait for a person: conflicts that were shown, and actions that are not tried again unseen.

use super::{
    Store, Writing,
    columns::{Json, place},
};
use crate::{
    model::{ArticleId, Version},
    state::{ConflictRow, Outcome, Parked},
};
use rusqlite::{Row, params};
use std::collections::BTreeMap;

impl Store {
    /// Reads the conflicts that were shown and not settled, by article.
    pub fn conflicts(&self) -> Outcome<Vec<ConflictRow>> {
        self.all(
            "SELECT article, folder, file, local, remote, revision, copy, reason, at \
             FROM conflicts",
            [],
            conflict,
        )
    }

    /// Reads what was refused or waits for a person, by key.
    pub fn parked(&self) -> Outcome<BTreeMap<String, Parked>> {
        self.all(
            "SELECT key, fingerprint, reason, at FROM parked",
            [],
            |row| {
                let key: String = row.get(0)?;
                Ok((
                    key.clone(),
                    Parked {
                        key,
                        fingerprint: row.get(1)?,
                        reason: row.get(2)?,
                        at: row.get(3)?,
                    },
                ))
            },
        )
    }
}

impl Writing<'_> {
    /// Records a conflict that is shown, in place of an earlier one of the same article.
    pub fn put_conflict(&mut self, conflict: &ConflictRow) -> Outcome<()> {
        self.end_rest()?;
        self.remove_conflict(conflict.id)?;
        self.run(
            "INSERT INTO conflicts \
             (article, folder, file, local, remote, revision, copy, reason, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                conflict.id,
                conflict.place.folder,
                conflict.place.file,
                Json(&conflict.local),
                conflict.remote.as_ref().map(Json),
                conflict.revision,
                conflict.copy,
                conflict.reason,
                conflict.at,
            ],
        )?;
        let sql = "INSERT OR IGNORE INTO conflict_digests (article, digest) VALUES (?1, ?2)";
        for version in std::iter::once(&conflict.local).chain(&conflict.remote) {
            self.run(sql, params![conflict.id, version.text])?;
            self.run(sql, params![conflict.id, version.digest()])?;
        }
        Ok(())
    }

    /// Forgets where the copy of a conflict that stands was: it is written anew, as that of a new one.
    pub fn forget_copy(&mut self, id: ArticleId) -> Outcome<()> {
        self.end_rest()?;
        self.run("UPDATE conflicts SET copy = NULL WHERE article = ?1", [id])
    }

    /// Forgets a conflict that was settled.
    pub fn remove_conflict(&mut self, id: ArticleId) -> Outcome<()> {
        self.end_rest()?;
        self.run("DELETE FROM conflicts WHERE article = ?1", [id])
    }

    /// Parks what is not to be tried again unseen. Parked as it is already, it costs no write.
    pub fn park(&mut self, parked: &Parked) -> Outcome<()> {
        self.run(
            "INSERT INTO parked (key, fingerprint, reason, at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (key) DO UPDATE SET \
             fingerprint = excluded.fingerprint, reason = excluded.reason, at = excluded.at \
             WHERE (fingerprint, reason, at) \
             IS NOT (excluded.fingerprint, excluded.reason, excluded.at)",
            params![parked.key, parked.fingerprint, parked.reason, parked.at],
        )
    }

    /// Lets what was parked be tried again.
    pub fn unpark(&mut self, key: &str) -> Outcome<()> {
        self.run("DELETE FROM parked WHERE key = ?1", [key])
    }
}

fn conflict(row: &Row<'_>) -> rusqlite::Result<ConflictRow> {
    Ok(ConflictRow {
        id: row.get(0)?,
        place: place(row, 1)?,
        local: row.get::<_, Json<Version>>(3)?.0,
        remote: row
            .get::<_, Option<Json<Version>>>(4)?
            .map(|remote| remote.0),
        revision: row.get(5)?,
        copy: row.get(6)?,
        reason: row.get(7)?,
        at: row.get(8)?,
    })
}
