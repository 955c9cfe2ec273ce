//! The activity log, and the memory of the guards (approvals, deletions of the last days, and ids that we deleted).

use super::{Store, Writing, columns::count};
use crate::{
    model::{ArticleId, Digest, Revision, Side, Timestamp},
    state::{Approval, ArticleRow, Deed, Event, StateResult},
};
use rusqlite::{Row, params};

/// The time for which an approval is valid, in milliseconds.
const APPROVAL_EXPIRES: i64 = Timestamp::DAY;

/// The newest lines about an article.
pub(super) const OF_ARTICLE: &str = "SELECT at, action, side, path, article, detail FROM events \
                                     WHERE article = ?1 ORDER BY id DESC LIMIT ?2";

impl Store {
    /// Reads the newest lines of the log, newest first; with a path, only the lines of that file or folder.
    pub fn events(&self, limit: usize, path: Option<&str>) -> StateResult<Vec<Event>> {
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
    pub fn events_of(&self, id: ArticleId, limit: usize) -> StateResult<Vec<Event>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(OF_ARTICLE, params![id, limit], event)
    }

    /// Reads the held actions that a person released within the last day. An approval from the future does not count:
    /// the clock went back since.
    pub fn approvals(&self) -> StateResult<Vec<Approval>> {
        let now = self.now();
        self.all(
            "SELECT side, held, at FROM approvals WHERE at > ?1 AND at <= ?2",
            [now.before(APPROVAL_EXPIRES), now],
            |row| {
                Ok(Approval {
                    side: row.get(0)?,
                    fingerprint: row.get(1)?,
                    at: row.get(2)?,
                })
            },
        )
    }

    /// Returns whether any action is parked or approved.
    pub fn has_parked_or_approved(&self) -> StateResult<bool> {
        let sql = "SELECT 1 FROM parked UNION ALL SELECT 1 FROM approvals";
        Ok(self.one(sql, [], |_row| Ok(()))?.is_some())
    }

    /// Counts the unapproved deletions on one side since a moment.
    pub fn deletions_since(&self, since: Timestamp, side: Side) -> StateResult<u64> {
        let sum = self.one(
            "SELECT coalesce(sum(count), 0) FROM deletions \
             WHERE at >= ?1 AND side = ?2 AND NOT approved",
            params![since, side],
            |row| count(row, 0),
        )?;
        Ok(sum.unwrap_or_default())
    }

    /// Returns whether kbsync deleted an article at this revision: an answer that shows the revision is a stale read.
    pub fn is_buried(&self, id: ArticleId, revision: &Revision) -> StateResult<bool> {
        let sql = "SELECT 1 FROM tombstones WHERE article = ?1 AND revision = ?2";
        let found = self.one(sql, params![id, revision], |_row| Ok(()))?;
        Ok(found.is_some())
    }
}

impl Writing<'_> {
    /// Adds a line to the log, under this transaction's moment.
    pub fn event(&mut self, deed: &Deed) -> StateResult<()> {
        insert!(self, "INSERT INTO events", {
            at: self.now,
            action: deed.action,
            side: deed.side,
            path: deed.path,
            article: deed.id,
            detail: deed.detail,
        })
    }

    /// Releases exactly one held action. `kind` is a part of the table's key, so it holds the fingerprint, too.
    pub fn approve(&mut self, side: Side, fingerprint: Digest) -> StateResult<()> {
        insert!(self, "INSERT OR REPLACE INTO approvals", {
            side: side,
            kind: fingerprint.to_string(),
            held: fingerprint,
            at: self.now,
        })
    }

    /// Uses up an approval, if there is one of exactly this action.
    pub fn use_up_approval(&mut self, side: Side, fingerprint: Digest) -> StateResult<()> {
        self.run(
            "DELETE FROM approvals WHERE side = ?1 AND held = ?2",
            params![side, fingerprint],
        )
    }

    /// Deletes the approvals that [`Store::approvals`] leaves out at this time.
    pub fn drop_expired_approvals(&mut self, now: Timestamp) -> StateResult<()> {
        self.run(
            "DELETE FROM approvals WHERE at <= ?1 OR at > ?2",
            [now.before(APPROVAL_EXPIRES), now],
        )
    }

    /// Counts a deletion that was carried out on one side.
    pub fn count_deletion(&mut self, side: Side, approved: bool) -> StateResult<()> {
        insert!(self, "INSERT INTO deletions", { at: self.now, side: side, approved: approved, count: 1 })
    }

    /// Remembers that kbsync deleted an article at this revision: an answer that shows the revision again is a stale
    /// read.
    pub fn tombstone(&mut self, id: ArticleId, revision: &Revision) -> StateResult<()> {
        insert!(self, "INSERT OR REPLACE INTO tombstones", { article: id, revision: revision, at: self.now })
    }

    /// Remembers that kbsync deleted an article, at the revision that was seen and at the revisions in the article's
    /// row: what was seen may itself be a stale read, and the next stale read may show a newer or an older revision.
    pub fn bury(
        &mut self,
        id: ArticleId,
        seen: &Revision,
        row: Option<&ArticleRow>,
    ) -> StateResult<()> {
        self.tombstone(id, seen)?;
        let known = row.map(ArticleRow::revisions).unwrap_or_default();
        let mut known = known.into_iter();
        known.try_for_each(|revision| self.tombstone(id, revision))
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
