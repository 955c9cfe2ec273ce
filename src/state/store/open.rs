//! Opening: creates or finds the database, checks and migrates it, and checks its binding.

use super::{Store, TimeOfDay, bodies::Packing, spool::Spool};
use crate::{
    drill::failpoint,
    files::{self, if_there},
    model::{Timestamp, WorkspaceId},
    state::{
        Binding, ErrorKind, StateError, StateResult,
        disk::{self, Identity},
        migrate, schema,
    },
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, backup::Backup, config::DbConfig, params,
};
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// The time for which a writer waits for another writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Statements that stay prepared: about one per method.
const STATEMENTS: usize = 128;

/// The page size of a database in memory: large reads gain nothing there, and each page that a transaction changes is
/// copied first.
const SMALL_PAGE: i64 = 1024;

impl Store {
    /// Creates the folder of a database if there is none, for its owner only.
    pub fn prepare(dir: &Path) -> StateResult<()> {
        files::make_folder(dir).map_err(|error| StateError::io(error).at(Some(dir)))
    }

    /// Opens the database in an existing folder, and creates the database if there is none.
    ///
    /// The database is readable by its owner only, and bound to one service and workspace for good. A damaged database
    /// is refused, never replaced.
    pub fn open(dir: &Path, binding: &Binding, now: Timestamp) -> StateResult<Self> {
        let path = disk::locate(dir)?;
        let opened = open_at(&path, binding, now)
            .and_then(|conn| Ok((conn, disk::identity(&path).map_err(StateError::io)?)));
        let (conn, identity) = opened.map_err(|error| error.at(Some(&path)))?;
        Ok(Self::of(conn, Some(path), Some(identity)))
    }

    /// Opens the database for reading, also while another process writes to it.
    ///
    /// `None`: there is no database, or nothing was ever recorded in it. With a binding, a state with another binding
    /// is refused.
    pub fn open_read_only(dir: &Path, binding: Option<&Binding>) -> StateResult<Option<Self>> {
        let file = dir.join(disk::FILE);
        let found = if_there(fs::symlink_metadata(&file));
        if (found.map_err(|error| StateError::io(error).at(Some(&file)))?).is_none() {
            return Ok(None);
        }
        let path = disk::locate(dir)?;
        let found = open_reader(&path, binding).map_err(|error| error.at(Some(&path)))?;
        // Nothing is written here, so the identity of the file does not matter.
        Ok(found.map(|conn| Self::of(conn, Some(path), None)))
    }

    /// Makes an empty store in memory, in place of a missing database and for tests.
    pub fn in_memory(binding: &Binding) -> StateResult<Self> {
        let mut conn = Connection::open_in_memory()?;
        conn.pragma_update(None, "page_size", SMALL_PAGE)?;
        prepare(&conn)?;
        migrate::take_steps(&mut conn, schema::STEPS)?;
        bind(&mut conn, binding, Timestamp::default())?;
        Ok(Self::of(conn, None, None))
    }

    /// Copies everything into a store in memory, which is independent of this one from then on.
    pub fn copy(&self) -> StateResult<Self> {
        let memory = Connection::open_in_memory()?;
        Ok(Self::of(copy(&self.conn, memory)?, None, None))
    }

    fn of(conn: Connection, path: Option<PathBuf>, identity: Option<Identity>) -> Self {
        Self {
            conn,
            path,
            identity,
            lock: None,
            packing: Packing::default(),
            slot: None,
            time: TimeOfDay::default(),
            is_dry_run: false,
            spool: Spool::default(),
        }
    }
}

fn open_at(path: &Path, binding: &Binding, now: Timestamp) -> StateResult<Connection> {
    failpoint::pass("state: before the database is made");
    disk::make_private(path).map_err(StateError::io)?;
    failpoint::pass("state: database made");
    let left_open = disk::was_left_open(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let mut conn = Connection::open_with_flags(path, flags | common_flags())?;
    prepare(&conn)?;
    // Before anything is written: a later kbsync's database is left exactly as it is.
    migrate::taken(&conn, schema::STEPS)?;
    if left_open {
        check(&conn)?;
    }
    migrate::refuse_programs(&conn)?;
    set_journal(&conn, path)?;
    failpoint::pass("state: journal chosen");
    migrate::take_steps(&mut conn, schema::STEPS)?;
    failpoint::pass("state: schema up to date");
    bind(&mut conn, binding, now)?;
    failpoint::pass("state: bound");
    Ok(conn)
}

fn open_reader(path: &Path, binding: Option<&Binding>) -> StateResult<Option<Connection>> {
    let first =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | common_flags())
            .map_err(StateError::from)
            .and_then(|conn| read_or_none(conn, binding));
    match first {
        Err(error) if error.kind == ErrorKind::Io && !disk::was_left_open(path) => {
            // The shared memory of a WAL database cannot be created on a read-only disk. Without a log beside it the
            // database is complete, and no process can be writing there.
            Connection::open_with_flags(
                immutable_uri(path),
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | common_flags(),
            )
            .map_err(StateError::from)
            .and_then(|conn| read_or_none(conn, binding))
            // The first error is the useful one.
            .map_err(|_second| error)
        }
        other => other,
    }
}

fn read_or_none(
    mut conn: Connection,
    binding: Option<&Binding>,
) -> StateResult<Option<Connection>> {
    prepare(&conn)?;
    migrate::refuse_programs(&conn)?;
    let taken = migrate::taken(&conn, schema::STEPS)?;
    if taken == 0 {
        return Ok(None);
    }
    if taken < schema::STEPS.len() {
        // `status`, a dry run and `restore` leave an older database as it is. The copy is a temporary file, because the
        // history may be larger than the memory.
        let file = Connection::open("").and_then(|file| copy(&conn, file));
        conn = file.or_else(|_no_room| copy(&conn, Connection::open_in_memory()?))?;
        migrate::take_steps(&mut conn, schema::STEPS)?;
    }
    let Some(bound) = bound_to(&conn)? else {
        return Ok(None);
    };
    if let Some(wanted) = binding
        && *wanted != bound
    {
        if is_blank(&conn)? {
            return Ok(None);
        }
        return Err(StateError::new(ErrorKind::ForeignBinding {
            was: bound,
            now: Box::new(wanted.clone()),
        }));
    }
    Ok(Some(conn))
}

/// Copies a database into an empty one.
fn copy(from: &Connection, mut conn: Connection) -> rusqlite::Result<Connection> {
    // A database in memory cannot take pages of another size.
    let page: i64 = from.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    conn.pragma_update(None, "page_size", page)?;
    Backup::new(from, &mut conn)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
    prepare(&conn)?;
    Ok(conn)
}

/// The folder is resolved already: a database that is a link itself is refused.
fn common_flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE
}

fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // A prepared statement must stay as it is when other values are bound to it. By default, SQLite prepares a
    // statement anew if a value, such as 0 or 1, might make another plan the better one; each of ours has only one good
    // plan.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.execute_batch(
        "PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA temp_store = MEMORY;",
    )
}

/// Checks for damage, after a process died with the database open.
fn check(conn: &Connection) -> StateResult<()> {
    let verdict: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(StateError::corrupt(verdict))
    }
}

/// Chooses how changes become durable: a write-ahead log, or a rollback journal where the disk is remote.
fn set_journal(conn: &Connection, path: &Path) -> StateResult<()> {
    if path.parent().is_none_or(disk::is_remote) {
        return use_rollback_journal(conn, path);
    }
    set_journal_mode(conn, "WAL")?;
    conn.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA journal_size_limit = 16777216;
         PRAGMA wal_autocheckpoint = 4096;",
    )?;
    Ok(())
}

/// Uses a rollback journal, which needs no shared memory. `EXTRA` also syncs the removal of the journal, which is the
/// commit.
pub(super) fn use_rollback_journal(conn: &Connection, path: &Path) -> StateResult<()> {
    if uses_wal(path).map_err(StateError::io)? {
        // With the exclusive lock, SQLite needs no shared memory to apply and remove a log that came from a local disk.
        conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE")?;
    }
    set_journal_mode(conn, "DELETE")?;
    conn.execute_batch(
        "PRAGMA locking_mode = NORMAL;
         PRAGMA synchronous = EXTRA;
         SELECT count(*) FROM sqlite_schema;",
    )?;
    Ok(())
}

fn set_journal_mode(conn: &Connection, mode: &str) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", mode, |row| row.get::<_, String>(0))
        .map(drop)
}

/// Reads from the database's header whether it is in WAL mode.
pub(super) fn uses_wal(path: &Path) -> io::Result<bool> {
    let mut header = Vec::with_capacity(20);
    fs::File::open(path)?.take(20).read_to_end(&mut header)?;
    Ok(header.get(18..20) == Some(&[2, 2]))
}

/// The tables without content of articles: cycles write only about themselves there.
const BOOKKEEPING: [&str; 4] = ["meta", "events", "approvals", "waiting"];

/// Returns whether nothing of the service or the mirror was ever recorded.
fn is_blank(conn: &Connection) -> rusqlite::Result<bool> {
    let tables: Vec<String> = conn
        .prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let has_content = |table: &&String| {
        let is_of_cycles = BOOKKEEPING.contains(&table.as_str()) || *table == "binding";
        !is_of_cycles && !table.starts_with("sqlite_")
    };
    for table in tables.iter().filter(has_content) {
        let found = format!("SELECT EXISTS (SELECT 1 FROM {table})");
        if conn.query_row(&found, [], |row| row.get(0))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Binds a new database, or checks that the binding is the same.
fn bind(conn: &mut Connection, binding: &Binding, now: Timestamp) -> StateResult<()> {
    if bound_to(conn)?.is_none() {
        conn.execute(
            "INSERT OR IGNORE INTO binding (one, service, workspace, created_at) \
             VALUES (1, ?1, ?2, ?3)",
            params![binding.service, binding.workspace, now],
        )?;
    }
    if bound_to(conn)?.is_some_and(|was| was != *binding) {
        // A first sync that found nothing, as at a wrong address, does not bind the database for good.
        let tx = conn.transaction()?;
        if is_blank(&tx)? {
            for table in BOOKKEEPING {
                tx.execute(&format!("DELETE FROM {table}"), [])?;
            }
            tx.execute(
                "UPDATE binding SET service = ?1, workspace = ?2, created_at = ?3",
                params![binding.service, binding.workspace, now],
            )?;
            tx.commit()?;
        }
    }
    // Another process may have bound the database first, even now: the stored binding counts.
    match bound_to(conn)? {
        Some(was) if was != *binding => Err(StateError::new(ErrorKind::ForeignBinding {
            was,
            now: Box::new(binding.clone()),
        })),
        Some(_same) => Ok(()),
        None => Err(StateError::corrupt(
            "the record of its service and workspace is missing",
        )),
    }
}

pub(super) fn bound_to(conn: &Connection) -> rusqlite::Result<Option<Binding>> {
    conn.query_row("SELECT service, workspace FROM binding", [], |row| {
        Ok(Binding {
            service: row.get(0)?,
            workspace: row.get::<_, WorkspaceId>(1)?,
        })
    })
    .optional()
}

/// The bytes to escape in the URI of a database.
const PLAIN: AsciiSet = NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Formats a path as the URI of a database that no process changes.
fn immutable_uri(path: &Path) -> String {
    let path = percent_encode(path.as_os_str().as_encoded_bytes(), &PLAIN);
    format!("file:{path}?immutable=1")
}
