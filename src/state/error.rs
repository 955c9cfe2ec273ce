//! The errors of the state: typed where a caller branches, with the remedy if there is one.
//!
//! The text names the file and the remedy; the cause stays in `source()`.

use super::Binding;
use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

/// The outcome of one use of the state.
pub type StateResult<T> = Result<T, StateError>;

/// The kind of a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The file is damaged, or is no file, or no state of kbsync. It is never replaced silently.
    Corrupt,
    /// A later kbsync wrote the database.
    Newer {
        /// The version of its schema.
        found: i64,
        /// The newest schema that this kbsync knows.
        known: i64,
    },
    /// The state belongs to another service or workspace.
    ForeignBinding {
        /// The service and workspace that the state belongs to.
        was: Binding,
        /// The service and workspace in the settings.
        now: Box<Binding>,
    },
    /// The file was removed or replaced while it was open: further writes would be lost.
    Gone,
    /// Another process locked the database for longer than the waiting time.
    Busy,
    /// The disk is full.
    Full,
    /// Any other error of the disk or of SQLite.
    Io,
}

/// A failed use of the state.
#[derive(Debug, thiserror::Error)]
pub struct StateError {
    /// The kind of a failure.
    pub kind: ErrorKind,
    /// The database; `None` for one in memory.
    pub path: Option<PathBuf>,
    /// Details that the kind does not have.
    pub detail: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl StateError {
    pub(super) fn new(kind: ErrorKind) -> Self {
        Self {
            kind,
            path: None,
            detail: String::new(),
            source: None,
        }
    }

    pub(super) fn corrupt(detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            ..Self::new(ErrorKind::Corrupt)
        }
    }

    pub(super) fn io(source: io::Error) -> Self {
        let kind = if matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ) {
            ErrorKind::Full
        } else {
            ErrorKind::Io
        };
        Self {
            source: Some(Box::new(source)),
            ..Self::new(kind)
        }
    }

    /// Adds the path of the file, if the error has none yet.
    pub(super) fn at(mut self, path: Option<&Path>) -> Self {
        if self.path.is_none() {
            self.path = path.map(Path::to_owned);
        }
        self
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("use the state")?;
        if let Some(path) = &self.path {
            write!(f, " {}", path.display())?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        match &self.kind {
            ErrorKind::Corrupt => f.write_str(
                ": the file is damaged, or another program changed it; move it away and run `kbsync sync`, which \
                 pairs files and articles anew (only the history is lost)",
            ),
            ErrorKind::Newer { found, known } => write!(
                f,
                ": a later kbsync wrote it (schema {found}; this kbsync knows schema {known}); use the later version"
            ),
            ErrorKind::ForeignBinding { was, now } => {
                let is_other_workspace = was.service == now.service;
                let (was, now) = if is_other_workspace {
                    (
                        format!("workspace {} of {}", was.workspace, was.service),
                        format!("workspace {} (`kbsync workspaces` lists the names)", now.workspace),
                    )
                } else {
                    (was.service.clone(), now.service.clone())
                };
                write!(
                    f,
                    ": this folder mirrors {was}, and kbsync.yaml (or KBSYNC_SERVICE, KBSYNC_WORKSPACE) now names {now}; \
                     change that back, or use an empty folder for the other one"
                )?;
                if is_other_workspace {
                    return Ok(());
                }
                f.write_str(
                    "; if the service moved, move .kbsync away (keep it: it has the history) and sync, which pairs \
                     equal files and articles anew",
                )
            }
            ErrorKind::Gone => f.write_str(
                ": it was removed or replaced while kbsync used it, so kbsync stopped using it; \
                 start kbsync again, which pairs files and articles anew",
            ),
            ErrorKind::Busy => f.write_str(": another process is writing to it; try again later"),
            ErrorKind::Full => f.write_str(": the disk is full"),
            ErrorKind::Io => Ok(()),
        }
    }
}

impl From<rusqlite::Error> for StateError {
    fn from(source: rusqlite::Error) -> Self {
        let kind = kind_of(&source);
        Self {
            source: Some(Box::new(source)),
            ..Self::new(kind)
        }
    }
}

/// Returns the kind of an SQLite error. A stored value that cannot be read is damage.
fn kind_of(error: &rusqlite::Error) -> ErrorKind {
    use rusqlite::{Error as Sql, ErrorCode, ffi};
    if matches!(
        error,
        Sql::FromSqlConversionFailure(..)
            | Sql::IntegralValueOutOfRange(..)
            | Sql::InvalidColumnType(..)
            | Sql::Utf8Error(..)
            // Our statements fit our tables: if one does not compile, the tables are not ours any more.
            | Sql::SqlInputError { .. }
    ) {
        return ErrorKind::Corrupt;
    }
    let Sql::SqliteFailure(failure, _) = error else {
        return ErrorKind::Io;
    };
    let is = |code: ErrorCode| failure.code == code;
    let fits_no_table = failure.extended_code == ffi::SQLITE_ERROR;
    if is(ErrorCode::DatabaseCorrupt) || is(ErrorCode::NotADatabase) || fits_no_table {
        ErrorKind::Corrupt
    } else if is(ErrorCode::DatabaseBusy) || is(ErrorCode::DatabaseLocked) {
        ErrorKind::Busy
    } else if is(ErrorCode::DiskFull) || failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE {
        // The shared memory beside a WAL database is a file, too, and reports a full disk by a code of its own.
        ErrorKind::Full
    } else {
        ErrorKind::Io
    }
}
