//! The file of the budget: one for each service and token, shared by all processes of this machine.
//!
//! The file is replaced by rename under a lock on a second file, and read without the lock. The kernel releases the
//! lock of a process that dies. A count is durable before its request is sent.

use super::counts::Counts;
use crate::drill::failpoint;
use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// The file of the counts, and its lock.
#[derive(Debug)]
pub(super) struct CountFile {
    folder: PathBuf,
    name: String,
}

impl CountFile {
    /// Names the file, and creates its folder.
    pub(super) fn at(folder: &Path, name: &str) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Takes the lock, which ends with the value; `None`: another process has it.
    pub(super) fn try_lock(&self) -> io::Result<Option<File>> {
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join(format!("{}.lock", self.name)))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Reads the counts.
    pub(super) fn read(&self) -> io::Result<Counts> {
        match std::fs::read(self.path()) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Counts::default()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the counts. The caller has the lock.
    pub(super) fn replace(&self, counts: &Counts) -> io::Result<()> {
        failpoint::pass("budget: before a request is counted");
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(counts)?)?;
        file.as_file().sync_all()?;
        file.persist(self.path()).map_err(|error| error.error)?;
        failpoint::pass("budget: request counted");
        Ok(())
    }

    /// Returns the name, which is a hash.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }
}
