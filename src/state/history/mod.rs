//! Pruning: deletes the versions and bodies that need not be kept any longer.
//!
//! - A version is deleted if it is older than the days to keep *and* not among the newest versions to keep of its
//!   subject. Equal versions count once: a pulled edit is recorded when it arrives, when it is replaced, and when both
//!   sides agree on it. The newest version of a subject is never deleted, nor is a version that a base or a conflict
//!   names.
//! - A body is deleted if nothing names it, a day after it was last put.
//! - While a request is pending, no version and no body is deleted: the request names some of them.
//! - A call does a bounded amount of work in one transaction; the next call continues. When a call finds no more to
//!   delete, pruning rests for a day, and a call costs one read.

use super::{StateResult, Store, Writing};
use crate::model::Timestamp;
use rusqlite::params;

/// The time for which a deleted id is remembered: kbsync assumes that no stale read is older.
const TOMBSTONE_DAYS: i64 = 3;

/// The time for which deletions are counted; the guard looks back one day.
const DELETION_DAYS: i64 = 7;

/// The number of log lines that are kept whatever their age.
const EVENTS_KEPT: i64 = 1_000;

/// The number of rows of one kind that one call removes.
const AT_ONCE: i64 = 2_000;

/// The key in `meta` of the moment when the last pruning was complete.
const PRUNED_AT: &str = "pruned_at";

/// Deletes the versions, bodies and log lines that need not be kept.
///
/// `keep_versions` counts per subject; zero keeps one.
pub fn prune(
    store: &mut Store,
    keep_days: u32,
    keep_versions: u32,
    now: Timestamp,
) -> StateResult<()> {
    // An unfinished change of the mirror needs the versions that it names.
    if rested(store, now)? || !store.journal()?.is_empty() {
        return Ok(());
    }
    let cutoff = now.before(i64::from(keep_days).saturating_mul(Timestamp::DAY));
    let is_pending = !store.pending_requests()?.is_empty();
    store.write_at(now, |tx| {
        let mut removed = vec![tx.prune_events(cutoff)?];
        if !is_pending {
            removed.push(tx.prune_versions(cutoff, keep_versions.max(1))?);
            removed.push(tx.prune_bodies(now.before(Timestamp::DAY))?);
        }
        tx.prune_guards(now)?;
        let full = usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        if removed.into_iter().all(|rows| rows < full) {
            tx.put_value(PRUNED_AT, Some(&now))?;
        }
        Ok(())
    })
}

/// Returns whether the last pruning was less than a day ago. If the clock went back, the rest is over.
fn rested(store: &Store, now: Timestamp) -> StateResult<bool> {
    let last: Option<Timestamp> = store.value(PRUNED_AT)?;
    Ok(last.is_some_and(|last| last.is_recent(now, Timestamp::DAY)))
}

impl Writing<'_> {
    fn prune_versions(&mut self, cutoff: Timestamp, keep: u32) -> StateResult<usize> {
        self.run_and_count(
            "DELETE FROM versions WHERE (subject, number) IN ( \
             SELECT subject, number FROM ( \
               SELECT subject, number, at, digest, rank, newest, \
               sum(newest) OVER (PARTITION BY subject ORDER BY number DESC) AS unlike \
               FROM (SELECT subject, number, at, digest, \
                 row_number() OVER (PARTITION BY subject ORDER BY number DESC) AS rank, \
                 row_number() OVER (PARTITION BY subject, digest, whole ORDER BY number DESC) \
                   = 1 AS newest \
                 FROM versions WHERE subject IN ( \
                   SELECT subject FROM versions GROUP BY subject \
                   HAVING count(*) > ?1 AND min(at) < ?2))) \
             WHERE rank > ?1 AND NOT (newest AND unlike <= ?1) AND at < ?2 AND digest NOT IN ( \
               SELECT local_digest FROM articles \
               UNION ALL SELECT remote_digest FROM articles \
               UNION ALL SELECT digest FROM conflict_digests) \
             LIMIT ?3)",
            params![keep, cutoff, AT_ONCE],
        )
    }

    fn prune_bodies(&mut self, put_before: Timestamp) -> StateResult<usize> {
        self.run_and_count(
            "DELETE FROM bodies WHERE rowid IN ( \
             SELECT rowid FROM bodies WHERE put_at < ?1 AND digest NOT IN ( \
               SELECT local_text FROM articles \
               UNION ALL SELECT remote_text FROM articles WHERE remote_text IS NOT NULL \
               UNION ALL SELECT text FROM versions \
               UNION ALL SELECT whole FROM versions WHERE whole IS NOT NULL \
               UNION ALL SELECT digest FROM conflict_digests) \
             LIMIT ?2)",
            params![put_before, AT_ONCE],
        )
    }

    /// Only the log says that an article was hidden when it was deleted, and whether it came back. Such lines are
    /// needed as long as the article can come back.
    fn prune_events(&mut self, cutoff: Timestamp) -> StateResult<usize> {
        self.run_and_count(
            "DELETE FROM events WHERE id IN ( \
             SELECT id FROM events WHERE at < ?1 \
             AND NOT (action IN ('delete', 'forget', 'restore') AND article IS NOT NULL AND detail <> '') \
             AND id <= (SELECT max(id) FROM events) - ?2 LIMIT ?3)",
            params![cutoff, EVENTS_KEPT, AT_ONCE],
        )
    }

    fn prune_guards(&mut self, now: Timestamp) -> StateResult<()> {
        self.run(
            "DELETE FROM deletions WHERE at < ?1",
            [now.before(DELETION_DAYS * Timestamp::DAY)],
        )?;
        self.drop_expired_approvals(now)?;
        self.run(
            "DELETE FROM tombstones WHERE at < ?1",
            [now.before(TOMBSTONE_DAYS * Timestamp::DAY)],
        )
    }
}

#[cfg(test)]
mod tests;
