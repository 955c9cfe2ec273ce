//! Puts files in place: new files, replaced files, removed files.
//!
//! A file is replaced by exchanging names. Afterwards the slot holds the old file, whatever version it is by then, and
//! that file is compared with the expected one. If they differ, the names are exchanged back. No file of the mirror is
//! ever unlinked here.
//!
//! If the file system cannot exchange names, the old file is moved into the stage first. For that moment the name is
//! free; the sweep repairs a crash in between.

use super::{
    At, DiskError, DiskErrorKind, Entry, Expect, Kind, Slot,
    open::{look_in, read_in, shown, single},
    real::RealDisk,
    slots::Aside,
};
use crate::drill::failpoint;
use crate::model::{Digest, Place, Stamp};
use rustix::{
    fs::{self, AtFlags, Gid, Mode, OFlags, RenameFlags, Uid},
    io::Errno,
    process::geteuid,
};
use std::os::fd::OwnedFd;

/// The attribute that holds a file's access list.
#[cfg(target_os = "linux")]
pub(super) const ACCESS_LIST: &str = "system.posix_acl_access";

impl RealDisk {
    pub(super) fn put_in_place(
        &self,
        slot: Slot,
        within: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        let folder = self.open_folder(within, "write")?;
        let target = Target::new(&folder.dir, within, name, "write")?;
        let aside = folder.slot(slot);
        let staged = match look_in(&aside.dir, &aside.name) {
            Ok(Some(staged)) => staged.stamp,
            Ok(None) => return Err(target.fail(Errno::NOENT.into())),
            Err(errno) => return Err(target.fail(errno.into())),
        };
        let done = match expect {
            Expect::Absent => self.place_new(&aside, &target),
            Expect::File(_) => self.replace(&aside, &target, (staged, expect)),
        };
        if let Err(failure) = done {
            // The staged file stays: an empty slot would mean that the file was put in place.
            return Err(target.fail(failure));
        }
        failpoint::pass("disk: published");
        // An editor may have saved again already: the returned stamp must not be that of the editor's file.
        match look_in(target.folder, name) {
            Ok(Some(found)) if found.stamp.same_content(&staged) => Ok(found.stamp),
            Ok(_) | Err(_) => Ok(staged),
        }
    }

    pub(super) fn copy_mode(
        &self,
        slot: Slot,
        within: At<'_>,
        like: &Place,
    ) -> Result<(), DiskError> {
        let aside = self.open_folder(within, "write")?.slot(slot);
        let from = At::Folder(&like.folder);
        let there = self.folder(from, "write")?;
        let target = Target::new(&there, from, &like.file, "write")?;
        let copied = || -> Result<(), Failure> {
            match look_in(&there, &like.file)? {
                Some(found) if found.kind == Kind::File => {}
                // The mode of a link is meaningless.
                Some(_) | None => return Ok(()),
            }
            match keep_mode(&target, &aside) {
                // The file disappeared just now.
                Err(Errno::NOENT) => Ok(()),
                done => Ok(done?),
            }
        };
        copied().map_err(|failure| target.fail(failure))
    }

    pub(super) fn take_away(
        &self,
        slot: Slot,
        within: At<'_>,
        name: &str,
        expect: Expect,
    ) -> Result<(), DiskError> {
        let folder = self.open_folder(within, "remove")?;
        let target = Target::new(&folder.dir, within, name, "remove")?;
        let aside = folder.slot(slot);
        match look_in(&aside.dir, &aside.name) {
            Ok(None) => {}
            Ok(Some(_)) => return Err(target.fail(Errno::EXIST.into())),
            Err(errno) => return Err(target.fail(errno.into())),
        }
        self.move_away(&target, (&aside, &aside.name), expect)
            .map_err(|failure| target.fail(failure))?;
        failpoint::pass("disk: file taken away");
        Ok(())
    }

    fn place_new(&self, aside: &Aside, target: &Target<'_>) -> Result<(), Failure> {
        self.step("place");
        Ok(self.rename_free(&aside.dir, &aside.name, target.folder, target.name)?)
    }

    fn replace(
        &self,
        aside: &Aside,
        target: &Target<'_>,
        (staged, expect): (Stamp, Expect),
    ) -> Result<(), Failure> {
        expect_file(look_in(target.folder, target.name)?.as_ref(), expect)?;
        keep_mode(target, aside)?;
        self.step("exchange");
        match self.exchange(aside, target) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Failure::Changed),
            Err(errno) if lacks_flag(errno) => {
                return self.replace_by_moving(aside, target, expect);
            }
            Err(errno) => return Err(errno.into()),
        }
        if Self::is_expected(aside, &aside.name, expect)? {
            return Ok(());
        }
        self.exchange_back(aside, target, staged)?;
        Err(Failure::Changed)
    }

    /// Puts an unexpected file back. If somebody changed the new file meanwhile, the new file is kept beside it.
    fn exchange_back(
        &self,
        aside: &Aside,
        target: &Target<'_>,
        staged: Stamp,
    ) -> Result<(), Failure> {
        self.step("exchange back");
        match self.exchange(aside, target) {
            Ok(()) if is_ours(aside, staged) => Ok(()),
            Ok(()) => self.put_beside(aside, &aside.name, target),
            // The name was freed meanwhile.
            Err(Errno::NOENT) => self.return_file(aside, &aside.name, target),
            Err(errno) => Err(errno.into()),
        }
    }

    fn put_beside(&self, aside: &Aside, name: &str, target: &Target<'_>) -> Result<(), Failure> {
        self.beside(&aside.dir, name, target.folder, target.name)?;
        Ok(())
    }

    fn replace_by_moving(
        &self,
        aside: &Aside,
        target: &Target<'_>,
        expect: Expect,
    ) -> Result<(), Failure> {
        let old = aside.old();
        self.move_away(target, (aside, &old), expect)?;
        self.step("place");
        match self.rename_free(&aside.dir, &aside.name, target.folder, target.name) {
            Ok(()) => {
                failpoint::pass("disk: before the slot is filled");
                Ok(fs::renameat(&aside.dir, &old, &aside.dir, &aside.name)?)
            }
            Err(Errno::EXIST) => {
                // Somebody wrote a new file just now: it stays, and the old file is kept beside it.
                self.put_beside(aside, &old, target)?;
                Err(Failure::Changed)
            }
            Err(errno) => {
                self.return_file(aside, &old, target)?;
                Err(errno.into())
            }
        }
    }

    /// Moves a file to a name in the stage, if it is the expected file.
    fn move_away(
        &self,
        target: &Target<'_>,
        (aside, away): (&Aside, &str),
        expect: Expect,
    ) -> Result<(), Failure> {
        expect_file(look_in(target.folder, target.name)?.as_ref(), expect)?;
        self.step("move away");
        // The slot is empty, so a replacing rename is safe. Unlike a hard link, a rename also takes whatever file is at
        // the old name at that moment.
        failpoint::pass("disk: before a file is moved away");
        match fs::renameat(target.folder, target.name, &aside.dir, away) {
            Ok(()) => failpoint::pass("disk: file moved away"),
            Err(Errno::NOENT) => return Err(Failure::Changed),
            Err(errno) => return Err(errno.into()),
        }
        if Self::is_expected(aside, away, expect)? {
            return Ok(());
        }
        self.return_file(aside, away, target)?;
        Err(Failure::Changed)
    }

    fn return_file(&self, aside: &Aside, away: &str, target: &Target<'_>) -> Result<(), Failure> {
        self.step("put back");
        match self.rename_free(&aside.dir, away, target.folder, target.name) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => self.put_beside(aside, away, target),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Compares a renamed file with the expected one, without the change time, which the rename itself changes.
    fn is_expected(aside: &Aside, name: &str, expect: Expect) -> Result<bool, Errno> {
        let Some(found) = look_in(&aside.dir, name)? else {
            return Ok(false);
        };
        let Expect::File(known) = expect else {
            return Ok(false);
        };
        let size = usize::try_from(known.stamp.size).unwrap_or(usize::MAX);
        Ok(found.kind == Kind::File
            && found.stamp.same_content(&known.stamp)
            && read_in(&aside.dir, name, name, size)
                .is_ok_and(|content| Digest::of_parts(&[&content.bytes]) == known.digest))
    }

    fn exchange(&self, aside: &Aside, target: &Target<'_>) -> Result<(), Errno> {
        if self.plain {
            return Err(Errno::INVAL);
        }
        failpoint::pass("disk: before an exchange");
        fs::renameat_with(
            &aside.dir,
            &aside.name,
            target.folder,
            target.name,
            RenameFlags::EXCHANGE,
        )?;
        failpoint::pass("disk: exchanged");
        Ok(())
    }

    #[cfg(not(test))]
    #[expect(
        clippy::unused_self,
        reason = "tests use it to act as an editor in that instant"
    )]
    pub(super) fn step(&self, _name: &str) {}

    #[cfg(test)]
    pub(super) fn step(&self, name: &str) {
        let mut meanwhile = self.meanwhile.lock().expect("no test panics in it");
        if let Some(act) = meanwhile.as_mut() {
            act(name);
        }
    }
}

/// A name in an open folder.
struct Target<'a> {
    folder: &'a OwnedFd,
    within: At<'a>,
    name: &'a str,
    doing: &'static str,
}

impl<'a> Target<'a> {
    fn new(
        folder: &'a OwnedFd,
        within: At<'a>,
        name: &'a str,
        doing: &'static str,
    ) -> Result<Self, DiskError> {
        Ok(Self {
            folder,
            within,
            name: single(name, doing)?,
            doing,
        })
    }

    fn fail(&self, failure: Failure) -> DiskError {
        let path = shown(self.within, self.name);
        match failure {
            Failure::Changed => DiskError::new(DiskErrorKind::Changed, self.doing, path),
            Failure::WrongKind => DiskError::new(DiskErrorKind::WrongKind, self.doing, path),
            Failure::Errno(errno) => DiskError::from_errno(errno, self.doing, path),
        }
    }
}

/// Why a step failed, without the path.
#[derive(Clone, Copy)]
enum Failure {
    Changed,
    WrongKind,
    Errno(Errno),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// Compares the whole stamp, before anything is moved.
fn expect_file(found: Option<&Entry>, expect: Expect) -> Result<(), Failure> {
    match (found, expect) {
        (Some(entry), _) if entry.kind != Kind::File => Err(Failure::WrongKind),
        (Some(entry), Expect::File(known)) if entry.stamp == known.stamp => Ok(()),
        (Some(_) | None, _) => Err(Failure::Changed),
    }
}

/// Returns whether a slot still holds the file that was staged.
fn is_ours(aside: &Aside, staged: Stamp) -> bool {
    matches!(
        look_in(&aside.dir, &aside.name),
        Ok(Some(found)) if found.kind == Kind::File && found.stamp.same_content(&staged)
    )
}

/// Gives a staged file the mode and the access list of the file that it will replace or that it is a copy of, and its
/// owner and group, if this process is root's. Another process may not ask: a sandbox of the system may kill it for
/// that.
fn keep_mode(like: &Target<'_>, aside: &Aside) -> Result<(), Errno> {
    let found = fs::statat(like.folder, like.name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(&aside.dir, &aside.name, flags, Mode::empty())?;
    let staged = fs::fstat(&file)?;
    let owner = (found.st_uid, found.st_gid);
    if owner != (staged.st_uid, staged.st_gid) && geteuid().is_root() {
        let (user, group) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
        let _if_allowed = fs::fchown(&file, Some(user), Some(group));
    }
    let original = fs::openat(like.folder, like.name, flags, Mode::empty())?;
    // With an access list, the bits of the group are only its mask: alone, they would let in the whole group.
    let bits = if keeps_access(&original, &file) {
        0o777
    } else {
        0o700
    };
    let old = Mode::from_raw_mode(found.st_mode & bits);
    if Mode::from_raw_mode(fs::fstat(&file)?.st_mode & 0o777) == old {
        return Ok(());
    }
    fs::fchmod(&file, old)
}

/// Copies the access list of a file, if it has one. Returns whether nothing is lost.
#[cfg(target_os = "linux")]
fn keeps_access(from: &OwnedFd, to: &OwnedFd) -> bool {
    let mut list = [0_u8; 4096];
    match fs::fgetxattr(from, ACCESS_LIST, &mut list) {
        Ok(length) => {
            let list = list.get(..length).unwrap_or_default();
            fs::fsetxattr(to, ACCESS_LIST, list, fs::XattrFlags::empty()).is_ok()
        }
        // The staged file may have inherited a list from its folder.
        Err(Errno::NODATA) => {
            let removed = fs::fremovexattr(to, ACCESS_LIST);
            removed.is_ok() || removed == Err(Errno::NODATA)
        }
        Err(errno) => matches!(errno, Errno::NOTSUP | Errno::NOSYS),
    }
}

#[cfg(not(target_os = "linux"))]
fn keeps_access(_from: &OwnedFd, _to: &OwnedFd) -> bool {
    true
}

/// Returns whether an error means that the file system or the kernel does not support such a rename.
pub(super) fn lacks_flag(errno: Errno) -> bool {
    errno == Errno::INVAL || errno == Errno::NOSYS || errno == Errno::NOTSUP
}
