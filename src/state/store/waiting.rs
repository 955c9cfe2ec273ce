//! Everything that waits for a person or for another try: conflicts that were shown, actions that are held, failed or
//! refused, and questions that the service did not answer.
//!
//! The engine writes the rows of `waiting`, and defines the meaning of each kind.

use super::{
    Store, Writing,
    columns::{Json, place},
};
use crate::{
    model::{ArticleId, CategoryId, Version},
    state::{Attempt, ConflictRow, Parked, StateResult, Target},
};
use rusqlite::{Row, params, types::ToSql};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// The prefix of the stored reason of an action that only a person can settle.
const FOR_PERSON: &str = "waits for a person: ";

impl Store {
    /// Reads the conflicts that were shown and not settled, by article.
    pub fn conflicts(&self) -> StateResult<Vec<ConflictRow>> {
        self.all(
            "SELECT article, folder, file, local, remote, revision, copy, reason, at \
             FROM conflicts",
            [],
            conflict,
        )
    }

    /// Reads the actions that were refused or wait for a person, by key.
    pub fn parked(&self) -> StateResult<BTreeMap<String, Parked>> {
        self.all(
            "SELECT key, fingerprint, reason, at FROM parked",
            [],
            parked,
        )
    }

    /// Reads the rows of a kind, by their keys. A row that a later kbsync wrote in another form is left out.
    pub fn waiting<T: DeserializeOwned>(&self, kind: &str) -> StateResult<BTreeMap<String, T>> {
        let rows: Vec<(String, String)> = self.all(
            "SELECT key, json FROM waiting WHERE kind = ?1",
            [kind],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let rows = rows.into_iter();
        let read = |(key, json): (String, String)| Some((key, serde_json::from_str(&json).ok()?));
        Ok(rows.filter_map(read).collect())
    }

    /// Reads all attempts.
    pub fn backoff(&self) -> StateResult<BTreeMap<Target, Attempt>> {
        self.all(
            "SELECT kind, id, last_asked, failures, answer FROM backoff",
            [],
            |row| {
                let target = match row.get_ref(0)?.as_str()? {
                    ARTICLE => Target::Article(row.get::<_, ArticleId>(1)?),
                    REQUEST => Target::Request(row.get::<_, ArticleId>(1)?),
                    _ => Target::Category(row.get::<_, CategoryId>(1)?),
                };
                let attempt = Attempt {
                    last_asked: row.get(2)?,
                    failures: row.get(3)?,
                    answer: row.get(4)?,
                };
                Ok((target, attempt))
            },
        )
    }
}

impl Writing<'_> {
    /// Records a conflict that is shown, in place of an earlier conflict of the same article.
    pub fn put_conflict(&mut self, conflict: &ConflictRow) -> StateResult<()> {
        self.end_rest()?;
        self.remove_conflict(conflict.id)?;
        insert!(self, "INSERT INTO conflicts", {
            article: conflict.id,
            folder: conflict.place.folder,
            file: conflict.place.file,
            local: Json(&conflict.local),
            remote: conflict.remote.as_ref().map(Json),
            revision: conflict.revision,
            copy: conflict.copy,
            reason: conflict.reason,
            at: conflict.at,
        })?;
        let sql = "INSERT OR IGNORE INTO conflict_digests (article, digest) VALUES (?1, ?2)";
        for version in std::iter::once(&conflict.local).chain(&conflict.remote) {
            self.run(sql, params![conflict.id, version.text])?;
            self.run(sql, params![conflict.id, version.digest()])?;
        }
        Ok(())
    }

    /// Deletes the name of an open conflict's copy, so that the copy is written anew, as for a new conflict.
    pub fn forget_copy(&mut self, id: ArticleId) -> StateResult<()> {
        self.end_rest()?;
        self.run("UPDATE conflicts SET copy = NULL WHERE article = ?1", [id])
    }

    /// Deletes a conflict that was settled.
    pub fn remove_conflict(&mut self, id: ArticleId) -> StateResult<()> {
        self.end_rest()?;
        self.run("DELETE FROM conflicts WHERE article = ?1", [id])
    }

    /// Remembers an action that is not tried again until it changes. An equal row costs no write.
    pub fn park(&mut self, parked: &Parked) -> StateResult<()> {
        let prefix = if parked.is_for_person { FOR_PERSON } else { "" };
        let reason = format!("{prefix}{}", parked.reason);
        self.run(
            "INSERT INTO parked (key, fingerprint, reason, at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (key) DO UPDATE SET \
             fingerprint = excluded.fingerprint, reason = excluded.reason, at = excluded.at \
             WHERE (fingerprint, reason, at) \
             IS NOT (excluded.fingerprint, excluded.reason, excluded.at)",
            params![parked.key, parked.fingerprint, reason, parked.at],
        )
    }

    /// Lets a parked action be tried again.
    pub fn unpark(&mut self, key: &str) -> StateResult<()> {
        self.run("DELETE FROM parked WHERE key = ?1", [key])
    }

    /// Replaces the rows of a kind. An unchanged row costs no write.
    pub fn put_waiting<T: Serialize>(
        &mut self,
        kind: &str,
        rows: &BTreeMap<String, T>,
    ) -> StateResult<()> {
        let keys: Vec<&String> = rows.keys().collect();
        self.run(
            "DELETE FROM waiting WHERE kind = ?1 AND key NOT IN (SELECT value FROM json_each(?2))",
            params![kind, Json(keys)],
        )?;
        for (key, row) in rows {
            self.run(
                "INSERT INTO waiting (kind, key, json) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO UPDATE SET json = excluded.json WHERE json <> excluded.json",
                params![kind, key, Json(row)],
            )?;
        }
        Ok(())
    }

    /// Records an attempt, in place of the earlier attempt.
    pub fn put_attempt(&mut self, target: Target, attempt: &Attempt) -> StateResult<()> {
        let (kind, id) = columns(&target);
        insert!(self, "INSERT OR REPLACE INTO backoff", {
            kind: kind,
            id: id,
            last_asked: attempt.last_asked,
            failures: attempt.failures,
            answer: attempt.answer,
        })
    }

    /// Deletes an attempt, so that the service is asked again at once.
    pub fn remove_attempt(&mut self, target: Target) -> StateResult<()> {
        let (kind, id) = columns(&target);
        self.run(
            "DELETE FROM backoff WHERE kind = ?1 AND id = ?2",
            params![kind, id],
        )
    }
}

fn parked(row: &Row<'_>) -> rusqlite::Result<(String, Parked)> {
    let key: String = row.get(0)?;
    let stored: String = row.get(2)?;
    let reason = stored.strip_prefix(FOR_PERSON);
    let parked = Parked {
        key: key.clone(),
        fingerprint: row.get(1)?,
        reason: reason.unwrap_or(&stored).to_owned(),
        is_for_person: reason.is_some(),
        at: row.get(3)?,
    };
    Ok((key, parked))
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

const ARTICLE: &str = "article";

const CATEGORY: &str = "category";

const REQUEST: &str = "request";

fn columns(target: &Target) -> (&'static str, &dyn ToSql) {
    match target {
        Target::Article(id) => (ARTICLE, id),
        Target::Category(id) => (CATEGORY, id),
        Target::Request(id) => (REQUEST, id),
    }
}
