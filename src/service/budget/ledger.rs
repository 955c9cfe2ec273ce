//! The budget's file: one per service and token, shared by all processes of this machine.
//!
//! Records are appended under a lock on a second file, and read without it: an append is smaller than
//! a page, a torn tail is left out, and a rewrite comes in by rename. The locks are the kernel's, so a
//! process that dies lets go of them. It does not know what the records mean.
//!
//! An append is not flushed to the disk: a killed process loses nothing, and what a power cut may lose is
//! the last few seconds, of which the service's own headers tell.

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
const MANY: usize = 4096;

/// Where the ledger lies.
#[derive(Debug)]
pub(super) struct Ledger {
    name: String,
    path: PathBuf,
    lock: PathBuf,
}

/// A ledger that no other process changes while this value lives.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    ledger: &'a Ledger,
    /// Unlocks when it is dropped.
    _lock: File,
}

impl Ledger {
    /// Names the ledger, and makes its folder.
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

    /// Takes the lock; `None` while another process has it.
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

    /// Reads the records. One that is being appended may be missing.
    pub(super) fn read(&self) -> io::Result<Vec<Record>> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => file.read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(decode_all(&bytes))
    }

    /// The name that it was opened by.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where the file lies, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Locked<'_> {
    /// Appends a record, over a torn tail if there is one.
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

    /// Rewrites the file when it has grown, or holds records of another boot or of the future.
    ///
    /// Afterwards all of them are told by this boot's clock, so that a wall clock set later changes nothing.
    pub(super) fn tidy(&self, records: &[Record], now: Moment, keep_ms: i64) -> io::Result<()> {
        let needed = records.iter().any(|record| {
            if now.boot == 0 {
                record.at.wall_ms > now.wall_ms
            } else {
                record.at.boot != now.boot
            }
        });
        if !needed && records.len() < MANY {
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
