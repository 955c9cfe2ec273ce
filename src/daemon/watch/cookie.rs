//! A file that kbsync writes at the start, to see whether events come at all (failures row 78).

use rustix::fs::{Mode, OFlags};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The file, which is removed on drop.
#[derive(Debug)]
pub(super) struct Cookie {
    path: PathBuf,
}

impl Cookie {
    /// Writes the file into the private folder.
    pub(super) fn create(private: &Path) -> io::Result<Self> {
        // The name is fixed, so a daemon takes over the file of a killed daemon.
        let path = private.join("cookie");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::io::write(&file, b"do events come?\n")?;
        Ok(Self { path })
    }

    /// Returns whether an event is about the file.
    pub(super) fn is_in(&self, event: &notify::Event) -> bool {
        event.paths.contains(&self.path)
    }
}

impl Drop for Cookie {
    fn drop(&mut self) {
        // The next start writes the file anew.
        let _gone = rustix::fs::unlink(&self.path);
    }
}
