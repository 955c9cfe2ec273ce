//! The file of the budget: one for each service and token, shared by all processes of this machine.
//!
//! Records are appended under a lock on a second file, and read without it: an append is smaller than a page, a torn
//! record is skipped, and a rewrite appears by rename. The kernel releases the lock of a process that dies. This file
//! does not know what the records mean.
//!
//! An append is not flushed to the disk. A killed process loses nothing; a power cut may lose the last few seconds,
//! and the service's own headers correct that.

use super::{
    clock::Moment,
    record::{RECORD_BYTES, Record, decode_all},
};
use crate::drill::failpoint;
use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A file with more records than this is rewritten.
const MAX_RECORDS: usize = 4096;

/// The paths of the ledger.
#[derive(Debug)]
pub(super) struct Ledger {
    name: String,
    path: PathBuf,
    lock: PathBuf,
}

/// A ledger that is locked against other processes while this value lives.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    ledger: &'a Ledger,
    /// Unlocks on drop.
    _lock: File,
}

impl Ledger {
    /// Names the ledger, and creates its folder.
    pub(super) fn at(folder: &Path, name: &str) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        Ok(Self {
            name: name.to_owned(),
            path: folder.join(format!("{name}.ledger")),
            lock: folder.join(format!("{name}.lock")),
        })
    }

    /// Takes the lock; `None`: another process has it.
    pub(super) fn try_lock(&self) -> io::Result<Option<Locked<'_>>> {
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&self.lock)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Locked {
                ledger: self,
                _lock: lock,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Reads the records. A record that is being appended may be missing.
    pub(super) fn read(&self) -> io::Result<Vec<Record>> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => file.read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(decode_all(&bytes))
    }

    /// Returns the ledger's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the file, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Locked<'_> {
    /// Appends a record, in place of a torn one.
    pub(super) fn append(&self, record: &Record) -> io::Result<()> {
        failpoint::pass("budget: before a request is counted");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&self.ledger.path)?;
        let whole = file.metadata()?.len() / RECORD_BYTES as u64;
        file.seek(SeekFrom::Start(whole * RECORD_BYTES as u64))?;
        file.write_all(&record.encode())?;
        failpoint::pass("budget: request counted");
        Ok(())
    }

    /// Rewrites the file if it has grown, or has records of another boot or of the future.
    ///
    /// Afterwards all records use this boot's clock, so a later change of the wall clock has no effect.
    pub(super) fn tidy(&self, records: &[Record], now: Moment, keep_ms: i64) -> io::Result<()> {
        let needed = records.iter().any(|record| {
            if now.boot == 0 {
                record.at.wall_ms > now.wall_ms
            } else {
                record.at.boot != now.boot
            }
        });
        if !needed && records.len() < MAX_RECORDS {
            return Ok(());
        }
        let folder = self
            .ledger
            .path
            .parent()
            .ok_or(io::ErrorKind::InvalidInput)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        for record in records {
            let age = now.millis_since(record.at);
            if age < keep_ms {
                let record = Record {
                    at: now.before(age),
                    entry: record.entry,
                };
                file.write_all(&record.encode())?;
            }
        }
        file.as_file().sync_all()?;
        failpoint::pass("budget: before the file is replaced");
        file.persist(&self.ledger.path)
            .map_err(|error| error.error)?;
        failpoint::pass("budget: file replaced");
        Ok(())
    }
}
