//! Renames that never replace anything.
//!
//! If the file system cannot refuse to replace, a hard link and the removal of the old name do the same for a file.

use super::{
    At, DiskError,
    open::{look_in, single},
    place::lacks_flag,
    real::RealDisk,
};
use crate::drill::failpoint;
use rustix::{
    fs::{self, AtFlags, RenameFlags},
    io::Errno,
};
use std::os::fd::OwnedFd;

impl RealDisk {
    pub(super) fn rename_whole_folder(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let (from, to) = (single(from, "rename")?, single(to, "rename")?);
        // Opening the folder refuses links and files.
        drop(self.folder(At::Folder(from), "rename")?);
        self.rename_free(&self.root, from, &self.root, to)
            .map_err(|errno| DiskError::from_errno(errno, "rename", from))
    }

    /// Renames to a free name. The old name must be that of a slot: a file at any other name could be replaced between
    /// the two steps that some file systems need.
    pub(super) fn rename_free(
        &self,
        from: &OwnedFd,
        old: &str,
        to: &OwnedFd,
        new: &str,
    ) -> Result<(), Errno> {
        match self.rename_at_once(from, old, to, new) {
            Err(errno) if lacks_flag(errno) => {}
            done => return done,
        }
        // Creating a hard link never replaces anything either.
        match fs::linkat(from, old, to, new, AtFlags::empty()) {
            Ok(()) => {
                failpoint::pass("disk: second name made");
                return fs::unlinkat(from, old, AtFlags::empty());
            }
            Err(Errno::PERM | Errno::NOTSUP | Errno::MLINK | Errno::NOSYS) => {}
            Err(errno) => return Err(errno),
        }
        // A folder, or a file system without hard links: check, then rename. Only this fallback has a race.
        match look_in(to, new)? {
            Some(_) => Err(Errno::EXIST),
            None => fs::renameat(from, old, to, new),
        }
    }

    /// Renames to a free name in one step; an error if the file system does not support that.
    fn rename_at_once(
        &self,
        from: &OwnedFd,
        old: &str,
        to: &OwnedFd,
        new: &str,
    ) -> Result<(), Errno> {
        if self.plain {
            return Err(Errno::INVAL);
        }
        failpoint::pass("disk: before a rename");
        fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE)?;
        failpoint::pass("disk: renamed");
        Ok(())
    }
}
