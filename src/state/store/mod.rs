//! The store: one SQLite database for one workspace.
//!
//! - All changes go through [`Store::write`]: one transaction that takes effect as a whole or not at all, and is
//!   durable when the call returns. `kill -9` between two calls leaves a usable database.
//! - Reads are direct; a [`Store`] opened for reading takes no lock that would stop a writer.
//! - An unchanged row that is put again costs no write, where the method says so.
//!
//! The mirror's lock decides which process may open the store.

#[macro_use]
mod columns;
mod base;
mod bodies;
mod events;
mod journal;
mod meta;
mod open;
mod spool;
mod versions;
mod waiting;

use super::{
    ErrorKind, StateError, StateResult,
    disk::{self, Identity},
};
use crate::drill::{death, failpoint};
use crate::files::if_there;
use crate::model::Timestamp;
use bodies::Packing;
pub use meta::ListingEntry;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, TransactionBehavior};
pub use spool::HistoryEntry;
use spool::Spool;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The state of one workspace.
#[derive(Debug)]
pub struct Store {
    conn: Connection,
    path: Option<PathBuf>,
    /// The identity of the file when it was opened; `None` for a store in memory.
    identity: Option<Identity>,
    /// The file whose lock keeps other processes out, and its identity.
    lock: Option<(PathBuf, Identity)>,
    packing: Packing,
    /// The last slot that was used; `None`: not read from the journal yet.
    slot: Option<i64>,
    time: TimeOfDay,
    /// Whether a dry run is under way, in which observations are not stored.
    is_dry_run: bool,
    spool: Spool,
}

/// The time of day under which changes are recorded.
pub struct TimeOfDay(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl TimeOfDay {
    /// Reads the time from another clock than the machine's.
    pub fn of(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(clock))
    }
}

impl Default for TimeOfDay {
    fn default() -> Self {
        Self::of(|| Timestamp(chrono::Utc::now().timestamp_millis()))
    }
}

impl std::fmt::Debug for TimeOfDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TimeOfDay")
    }
}

impl Store {
    /// Changes the state in one transaction.
    ///
    /// Nothing is changed when `work` fails. A database that was removed while it was open takes no changes: SQLite
    /// would continue with an unlinked file, and the changes would be lost.
    pub fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Writing<'_>) -> StateResult<T>,
    ) -> StateResult<T> {
        self.write_at(self.now(), work)
    }

    /// Stores the observations of a look; stores nothing in a dry run.
    pub fn write_unless_dry_run(
        &mut self,
        work: impl FnOnce(&mut Writing<'_>) -> StateResult<()>,
    ) -> StateResult<()> {
        if self.is_dry_run {
            return Ok(());
        }
        self.write(work)
    }

    /// Changes the state in one transaction, which is recorded under a given moment.
    pub fn write_at<T>(
        &mut self,
        now: Timestamp,
        work: impl FnOnce(&mut Writing<'_>) -> StateResult<T>,
    ) -> StateResult<T> {
        self.flush_bodies()?;
        self.stay()?;
        self.transact(now, work)
    }

    fn transact<T>(
        &mut self,
        now: Timestamp,
        work: impl FnOnce(&mut Writing<'_>) -> StateResult<T>,
    ) -> StateResult<T> {
        let (conn, packing) = (&mut self.conn, &self.packing);
        let transact = || {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let conn = &*tx;
            let mut writing = Writing { conn, now, packing };
            let value = work(&mut writing)?;
            // An error that `work` ignored may have rolled the transaction back.
            writing.sql()?;
            failpoint::pass("state: before commit");
            if death::came() {
                return Err(StateError {
                    detail: "the process died before the commit".to_owned(),
                    ..StateError::new(ErrorKind::Io)
                });
            }
            tx.commit()?;
            failpoint::pass("state: after commit");
            Ok(value)
        };
        transact().map_err(|error: StateError| error.at(self.path.as_deref()))
    }

    /// The time of day.
    pub fn now(&self) -> Timestamp {
        (self.time.0)()
    }

    /// Sets the clock under which changes are recorded.
    pub fn set_time(&mut self, time: TimeOfDay) {
        self.time = time;
    }

    /// Checks that the database is still the file that was opened, and the file of the lock the one that was locked.
    pub fn stay(&self) -> StateResult<()> {
        if let (Some(path), Some(was)) = (&self.path, self.identity) {
            is_still(path, was)?;
        }
        let Some((path, was)) = &self.lock else {
            return Ok(());
        };
        match is_still(path, *was) {
            // A network share may fail for a moment; the lock is still held then.
            Err(error) if error.kind == ErrorKind::Io => Ok(()),
            is_still => is_still,
        }
    }

    /// Takes no changes any more once this file was removed or replaced. The state may be in another folder than the
    /// lock, and outlive it.
    pub fn keep_with(&mut self, lock: PathBuf) -> StateResult<()> {
        let identity = disk::identity(&lock);
        let identity = identity.map_err(|error| StateError::io(error).at(Some(&lock)))?;
        self.lock = Some((lock, identity));
        Ok(())
    }

    /// The database's path; `None` for a store in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> StateResult<T> {
        work(&self.conn).map_err(|error| StateError::from(error).at(self.path.as_deref()))
    }

    /// Reads all rows of a statement.
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> StateResult<C> {
        self.read(|conn| all(conn, sql, params, map))
    }

    /// Reads the first row of a statement.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> StateResult<Option<T>> {
        self.read(|conn| one(conn, sql, params, map))
    }
}

fn is_still(path: &Path, was: Identity) -> StateResult<()> {
    let is = if_there(disk::identity(path));
    if is.map_err(|error| StateError::io(error).at(Some(path)))? == Some(was) {
        return Ok(());
    }
    Err(StateError::new(ErrorKind::Gone).at(Some(path)))
}

fn all<T, C: FromIterator<T>>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<C> {
    let mut statement = conn.prepare_cached(sql)?;
    statement.query_map(params, map)?.collect()
}

fn one<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    conn.prepare_cached(sql)?.query_row(params, map).optional()
}

/// An open transaction. Every method makes one change.
pub struct Writing<'store> {
    conn: &'store Connection,
    now: Timestamp,
    packing: &'store Packing,
}

impl Writing<'_> {
    /// The moment under which the changes are recorded.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the connection, as long as the transaction is open.
    ///
    /// After some errors, such as a full disk, SQLite rolls the transaction back by itself. A later statement would
    /// then be a transaction of its own.
    pub(super) fn sql(&self) -> StateResult<&Connection> {
        if self.conn.is_autocommit() {
            return Err(StateError {
                detail: "the transaction was rolled back after an error".to_owned(),
                ..StateError::new(ErrorKind::Io)
            });
        }
        Ok(self.conn)
    }

    /// Runs a statement.
    pub(super) fn run(&self, sql: &str, params: impl Params) -> StateResult<()> {
        self.run_and_count(sql, params).map(drop)
    }

    /// Runs a statement, and counts the rows that it changed.
    pub(super) fn run_and_count(&self, sql: &str, params: impl Params) -> StateResult<usize> {
        Ok(self.sql()?.prepare_cached(sql)?.execute(params)?)
    }
}

#[cfg(test)]
mod tests;
