//! Renaming files and folders, never onto something else.
//!
//! Where the file system cannot refuse to replace, a second name and the removal of the first do the
//! same for a file. A name that differs from the old one only in case goes by way of a reserved name.

use super::{
    At, DiskError, Kind,
    place::{Failure, expect_file, lacks_flag},
    real::{RealDisk, look_in, single},
    rescue,
};
use crate::drill::failpoint;
use crate::model::{Place, Stamp, path::fold};
use rustix::{
    fs::{self, AtFlags, RenameFlags},
    io::Errno,
};
use std::os::fd::OwnedFd;

impl RealDisk {
    pub(super) fn rename_file(
        &self,
        from: &Place,
        to: &Place,
        expected: Stamp,
    ) -> Result<Stamp, DiskError> {
        let source = self.folder(At::Folder(&from.folder), "rename")?;
        let target = self.folder(At::Folder(&to.folder), "rename")?;
        let (old, new) = (single(&from.file, "rename")?, single(&to.file, "rename")?);
        let renamed = || -> Result<Stamp, Failure> {
            expect_file(look_in(&source, old)?.as_ref(), expected)?;
            self.step("rename");
            match self.rename_at_once(&source, old, &target, new) {
                Ok(()) => self.check_renamed((&source, old), (&target, new), expected),
                Err(Errno::NOENT) => Err(Failure::Changed),
                Err(Errno::EXIST) if from.folder == to.folder && fold(old) == fold(new) => {
                    // On some file systems the new name is the old one in another case.
                    let same = look_in(&source, new)?
                        .is_some_and(|found| found.stamp.inode == expected.inode);
                    if !same {
                        return Err(Errno::EXIST.into());
                    }
                    self.rename_by_moving((&source, old), (&target, new), expected)
                }
                Err(errno) if lacks_flag(errno) => {
                    self.rename_by_moving((&source, old), (&target, new), expected)
                }
                Err(errno) => Err(errno.into()),
            }
        };
        renamed().map_err(|failure| failure.at("rename", At::Folder(&from.folder), old))
    }

    /// Lets two files take each other's places. A file system that cannot do it in one step refuses.
    pub(super) fn exchange_files(&self, one: &Place, other: &Place) -> Result<(), DiskError> {
        let here = self.folder(At::Folder(&one.folder), "exchange")?;
        let there = self.folder(At::Folder(&other.folder), "exchange")?;
        let names = (
            single(&one.file, "exchange")?,
            single(&other.file, "exchange")?,
        );
        let exchanged = || -> Result<(), Failure> {
            for (folder, name) in [(&here, names.0), (&there, names.1)] {
                match look_in(folder, name)? {
                    Some(found) if found.kind == Kind::File => {}
                    Some(_) => return Err(Failure::WrongKind),
                    None => return Err(Failure::Changed),
                }
            }
            if self.plain {
                return Err(Errno::INVAL.into());
            }
            failpoint::pass("disk: before two files are exchanged");
            fs::renameat_with(&here, names.0, &there, names.1, RenameFlags::EXCHANGE)?;
            failpoint::pass("disk: two files exchanged");
            Ok(())
        };
        exchanged().map_err(|failure| failure.at("exchange", At::Folder(&one.folder), names.0))
    }

    /// Compares what was renamed with what was expected, and gives it its old name back if need be.
    fn check_renamed(
        &self,
        (source, old): (&OwnedFd, &str),
        (target, new): (&OwnedFd, &str),
        expected: Stamp,
    ) -> Result<Stamp, Failure> {
        match look_in(target, new)? {
            Some(moved) if moved.kind == Kind::File && moved.stamp.same_content(&expected) => {
                Ok(moved.stamp)
            }
            Some(_) => {
                match self.rename_at_once(target, new, source, old) {
                    Ok(()) => {}
                    Err(Errno::EXIST) => self.set_beside(target, new, old)?,
                    Err(errno) => return Err(errno.into()),
                }
                Err(Failure::Changed)
            }
            None => Err(Failure::Changed),
        }
    }

    /// Renames by way of a reserved name, where the file is compared.
    fn rename_by_moving(
        &self,
        (source, old): (&OwnedFd, &str),
        (target, new): (&OwnedFd, &str),
        expected: Stamp,
    ) -> Result<Stamp, Failure> {
        let away = self.move_away(source, old, expected)?;
        match self.rename_free(source, &away, target, new) {
            Ok(()) => match look_in(target, new)? {
                Some(moved) if moved.stamp.same_content(&expected) => Ok(moved.stamp),
                // Edited again already: a stamp that is not of that file, so that it is read.
                Some(_) | None => Ok(expected),
            },
            Err(errno) => {
                self.put_back(source, &away, old)?;
                Err(errno.into())
            }
        }
    }

    pub(super) fn rename_whole_folder(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let (from, to) = (single(from, "rename")?, single(to, "rename")?);
        // Opening the folder refuses links and files.
        drop(self.folder(At::Folder(from), "rename")?);
        let renamed = || -> Result<(), Errno> {
            match self.rename_free(&self.root, from, &self.root, to) {
                Err(Errno::EXIST) if fold(from) == fold(to) => {
                    let inode =
                        |name| Ok(look_in(&self.root, name)?.map(|found| found.stamp.inode));
                    if inode(from)? != inode(to)? {
                        return Err(Errno::EXIST);
                    }
                    let away = rescue::removal_name(&self.reserve(""), from);
                    self.rename_free(&self.root, from, &self.root, &away)?;
                    self.rename_free(&self.root, &away, &self.root, to)
                        .inspect_err(|_first| {
                            let _swept_later =
                                self.rename_free(&self.root, &away, &self.root, from);
                        })
                }
                other => other,
            }
        };
        renamed().map_err(|errno| DiskError::from_errno(errno, "rename", from))
    }

    /// Renames to a name where nothing may lie. The old name must be a reserved one: what lies at any
    /// other could be replaced between the two steps that some file systems need.
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
        // A second name cannot replace anything either.
        match fs::linkat(from, old, to, new, AtFlags::empty()) {
            Ok(()) => {
                failpoint::pass("disk: second name made");
                return fs::unlinkat(from, old, AtFlags::empty());
            }
            Err(Errno::PERM | Errno::NOTSUP | Errno::MLINK | Errno::NOSYS) => {}
            Err(errno) => return Err(errno),
        }
        // A folder, or a file system without links: look, then rename. Of all ways the one with a gap.
        match look_in(to, new)? {
            Some(_) => Err(Errno::EXIST),
            None => fs::renameat(from, old, to, new),
        }
    }

    /// Renames to a name where nothing lies, in one step; an error where the file system has none.
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
