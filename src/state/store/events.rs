//! The activity log: what was done, and why.

use super::{Store, Writing};
use crate::{
    model::ArticleId,
    state::{Deed, Event, Outcome},
};
use rusqlite::{Row, params};

impl Store {
    /// Reads the newest lines of the log, newest first; with a path, those of that file or folder.
    pub fn events(&self, limit: usize, path: Option<&str>) -> Outcome<Vec<Event>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        match path {
            None => self.all(
                "SELECT at, action, side, path, article, detail FROM events \
                 ORDER BY id DESC LIMIT ?1",
                [limit],
                event,
            ),
            // The paths in a folder sort between `folder/` and `folder0`, the next character.
            Some(path) => self.all(
                "SELECT at, action, side, path, article, detail FROM events \
                 WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0') \
                 ORDER BY id DESC LIMIT ?2",
                params![path, limit],
                event,
            ),
        }
    }

    /// Reads the newest lines of the log about an article, newest first, wherever its file was.
    pub fn events_of(&self, id: ArticleId, limit: usize) -> Outcome<Vec<Event>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(
            "SELECT at, action, side, path, article, detail FROM events \
             WHERE article = ?1 ORDER BY id DESC LIMIT ?2",
            params![id, limit],
            event,
        )
    }
}

impl Writing<'_> {
    /// Adds a line to the log, under this transaction's moment.
    pub fn event(&mut self, deed: &Deed) -> Outcome<()> {
        self.run(
            "INSERT INTO events (at, action, side, path, article, detail) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.now,
                deed.action,
                deed.side,
                deed.path,
                deed.id,
                deed.detail
            ],
        )
    }
}

fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        at: row.get(0)?,
        deed: Deed {
            action: row.get(1)?,
            side: row.get(2)?,
            path: row.get(3)?,
            id: row.get(4)?,
            detail: row.get(5)?,
        },
    })
}
