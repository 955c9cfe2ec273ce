//! What waits, a row for each: actions that are held, actions that failed, files that a restore has still to bring back,
//! articles that went back to an older version. The engine says what a row means.

use super::{Store, Writing, columns::Json};
use crate::state::Outcome;
use rusqlite::params;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

impl Store {
    /// Reads the rows of a kind, by their keys. A row that a later version wrote in another form is left out.
    pub fn waiting<T: DeserializeOwned>(&self, kind: &str) -> Outcome<BTreeMap<String, T>> {
        let rows: Vec<(String, String)> = self.all(
            "SELECT key, json FROM waiting WHERE kind = ?1",
            [kind],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let rows = rows.into_iter();
        let read = |(key, json): (String, String)| Some((key, serde_json::from_str(&json).ok()?));
        Ok(rows.filter_map(read).collect())
    }
}

impl Writing<'_> {
    /// Makes these the rows of a kind. A row that stays as it is costs no write.
    pub fn put_waiting<T: Serialize>(
        &mut self,
        kind: &str,
        rows: &BTreeMap<String, T>,
    ) -> Outcome<()> {
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
}
