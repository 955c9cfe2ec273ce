//! A file of our own, written to see whether events come at all (failures row 78).

use rustix::fs::{Mode, OFlags};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The file, removed when dropped.
#[derive(Debug)]
pub(super) struct Cookie {
    path: PathBuf,
}

impl Cookie {
    /// Writes it into the private folder.
    pub(super) fn create(private: &Path) -> io::Result<Self> {
        // One name for all: what a killed daemon left is taken up by the next one.
        let path = private.join("cookie");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::io::write(&file, b"do events come?\n")?;
        Ok(Self { path })
    }

    /// Returns whether an event is about it.
    pub(super) fn is_in(&self, event: &notify::Event) -> bool {
        event.paths.contains(&self.path)
    }
}

impl Drop for Cookie {
    fn drop(&mut self) {
        // It is written anew at the next start.
        let _gone = rustix::fs::unlink(&self.path);
    }
}
