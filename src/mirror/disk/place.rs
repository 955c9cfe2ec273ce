//! Putting files in place: new ones, replaced ones, removed ones. Renaming is in `rename`.
//!
//! A file is replaced by exchanging names: then the old file, whatever it is by now, lies under the
//! reserved name and can be compared with what was expected. If it is something else, the names are
//! exchanged back. Nothing is ever unlinked that was not compared first.
//!
//! Where the file system cannot exchange names, the old file is moved away first; for that moment the
//! name is free, and a crash in it is mended by the sweep.

use super::{
    At, DiskError, DiskErrorKind, Entry, Expect, Kind, Staged,
    real::{RealDisk, at, look_in, shown, single},
    rescue,
};
use crate::drill::failpoint;
use crate::model::Stamp;
use rustix::{
    fs::{self, AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};
use std::os::fd::OwnedFd;

/// How often names are exchanged back before the file is put beside the name instead.
const EXCHANGES: usize = 3;

/// What a comparison said of a file that was to be replaced or removed.
enum Found {
    Expected,
    Other,
}

impl RealDisk {
    pub(super) fn put_in_place(
        &self,
        staged: &Staged,
        name: &str,
        expect: Expect,
    ) -> Result<Stamp, DiskError> {
        let within = at(staged.folder.as_deref());
        let folder = self.folder(within, "write")?;
        let done = single(name, "write").and_then(|name| {
            match expect {
                Expect::Absent => self.place_new(&folder, &staged.temporary, name),
                Expect::Stamp(expected) => self.replace(&folder, staged, name, expected),
            }
            .map_err(|failure| failure.at("write", within, name))
        });
        if let Err(error) = done {
            // Whatever lies there now is ours, or was put there by nobody who wants it kept.
            if Self::is_ours(&folder, staged) {
                let _swept_later = fs::unlinkat(&folder, &staged.temporary, AtFlags::empty());
            }
            return Err(error);
        }
        failpoint::pass("disk: published");
        // An editor may have saved again already: then the stamp must not be of its file.
        match look_in(&folder, name) {
            Ok(Some(found)) if found.stamp.same_content(&staged.stamp) => Ok(found.stamp),
            Ok(_) | Err(_) => Ok(staged.stamp),
        }
    }

    pub(super) fn copy_mode(
        &self,
        staged: &Staged,
        like: At<'_>,
        name: &str,
    ) -> Result<(), DiskError> {
        let name = single(name, "write")?;
        let there = self.folder(like, "write")?;
        let here = self.folder(at(staged.folder.as_deref()), "write")?;
        let copied = || -> Result<(), Failure> {
            match look_in(&there, name)? {
                Some(found) if found.kind == Kind::File => {}
                // A link has no mode worth having.
                Some(_) | None => return Ok(()),
            }
            match keep_mode((&there, name), (&here, &staged.temporary)) {
                // It went in this instant.
                Err(Errno::NOENT) => Ok(()),
                done => Ok(done?),
            }
        };
        copied().map_err(|failure| failure.at("write", like, name))
    }

    fn place_new(&self, folder: &OwnedFd, temporary: &str, name: &str) -> Result<(), Failure> {
        self.step("place");
        Ok(self.rename_free(folder, temporary, folder, name)?)
    }

    fn replace(
        &self,
        folder: &OwnedFd,
        staged: &Staged,
        name: &str,
        expected: Stamp,
    ) -> Result<(), Failure> {
        expect_file(look_in(folder, name)?.as_ref(), expected)?;
        keep_mode((folder, name), (folder, &staged.temporary))?;
        self.step("exchange");
        match self.exchange(folder, &staged.temporary, name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Failure::Changed),
            Err(errno) if lacks_flag(errno) => {
                return self.replace_by_moving(folder, staged, name, expected);
            }
            Err(errno) => return Err(errno.into()),
        }
        match compare(folder, &staged.temporary, expected)? {
            Found::Expected => {
                self.watch_displaced(
                    folder,
                    &staged.temporary,
                    at(staged.folder.as_deref()),
                    name,
                    expected,
                );
                failpoint::pass("disk: before the replaced file is removed");
                Ok(fs::unlinkat(folder, &staged.temporary, AtFlags::empty())?)
            }
            Found::Other => {
                self.exchange_back(folder, staged, name)?;
                Err(Failure::Changed)
            }
        }
    }

    /// Puts a file back that was not the expected one. What took its place meanwhile, if anybody changed
    /// it, is kept beside it.
    fn exchange_back(&self, folder: &OwnedFd, staged: &Staged, name: &str) -> Result<(), Failure> {
        for _ in 0..EXCHANGES {
            self.step("exchange back");
            match self.exchange(folder, &staged.temporary, name) {
                Ok(()) if Self::is_ours(folder, staged) => return Ok(()),
                Ok(()) => return self.set_beside(folder, &staged.temporary, name),
                // The name was freed meanwhile.
                Err(Errno::NOENT) => {
                    match self.rename_free(folder, &staged.temporary, folder, name) {
                        Ok(()) => return Ok(()),
                        Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        self.set_beside(folder, &staged.temporary, name)
    }

    fn replace_by_moving(
        &self,
        folder: &OwnedFd,
        staged: &Staged,
        name: &str,
        expected: Stamp,
    ) -> Result<(), Failure> {
        let away = self.move_away(folder, name, expected)?;
        self.step("place");
        match self.rename_free(folder, &staged.temporary, folder, name) {
            Ok(()) => {
                self.watch_displaced(folder, &away, at(staged.folder.as_deref()), name, expected);
                failpoint::pass("disk: before the file moved away is removed");
                Ok(fs::unlinkat(folder, &away, AtFlags::empty())?)
            }
            Err(Errno::EXIST) => {
                // Somebody wrote a new file at once: it stays, and so does the old one, beside it.
                self.set_beside(folder, &away, name)?;
                Err(Failure::Changed)
            }
            Err(errno) => {
                self.put_back(folder, &away, name)?;
                Err(errno.into())
            }
        }
    }

    pub(super) fn take_away(
        &self,
        within: At<'_>,
        name: &str,
        expected: Stamp,
    ) -> Result<(), DiskError> {
        let folder = self.folder(within, "remove")?;
        let name = single(name, "remove")?;
        self.move_away(&folder, name, expected)
            .and_then(|away| {
                self.watch_displaced(&folder, &away, within, name, expected);
                failpoint::pass("disk: before the file moved away is removed");
                Ok(fs::unlinkat(&folder, &away, AtFlags::empty())?)
            })
            .map_err(|failure| failure.at("remove", within, name))?;
        failpoint::pass("disk: file removed");
        Ok(())
    }

    /// Moves a file to a reserved name, if it is the expected one; gives that name.
    pub(super) fn move_away(
        &self,
        folder: &OwnedFd,
        name: &str,
        expected: Stamp,
    ) -> Result<String, Failure> {
        expect_file(look_in(folder, name)?.as_ref(), expected)?;
        let away = rescue::removal_name(&self.reserve(""), name);
        self.step("move away");
        // Nothing can lie at a reserved name, so a rename that would replace it is as good as one that
        // would not; and unlike a second name it takes whatever lies at the old one at that moment.
        failpoint::pass("disk: before a file is moved away");
        match fs::renameat(folder, name, folder, &away) {
            Ok(()) => failpoint::pass("disk: file moved away"),
            Err(Errno::NOENT) => return Err(Failure::Changed),
            Err(errno) => return Err(errno.into()),
        }
        match compare(folder, &away, expected)? {
            Found::Expected => Ok(away),
            Found::Other => {
                self.put_back(folder, &away, name)?;
                Err(Failure::Changed)
            }
        }
    }

    pub(super) fn put_back(&self, folder: &OwnedFd, away: &str, name: &str) -> Result<(), Failure> {
        self.step("put back");
        match self.rename_free(folder, away, folder, name) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => self.set_beside(folder, away, name),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Keeps a file whose name is taken, under a name that a person sees and no scan takes for an article.
    pub(super) fn set_beside(
        &self,
        folder: &OwnedFd,
        temporary: &str,
        name: &str,
    ) -> Result<(), Failure> {
        for number in 1..=1_000_u32 {
            match self.rename_free(
                folder,
                temporary,
                folder,
                &rescue::beside_name(name, number),
            ) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// A program may have a file open that is about to lose its last name.
    fn watch_displaced(
        &self,
        folder: &OwnedFd,
        temporary: &str,
        within: At<'_>,
        name: &str,
        expected: Stamp,
    ) {
        let within = match within {
            At::Root => None,
            At::Folder(within) => Some(within),
        };
        self.displaced
            .keep(folder, temporary, within, name, expected);
    }

    fn exchange(&self, folder: &OwnedFd, one: &str, other: &str) -> Result<(), Errno> {
        if self.plain {
            return Err(Errno::INVAL);
        }
        failpoint::pass("disk: before an exchange");
        fs::renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE)?;
        failpoint::pass("disk: exchanged");
        Ok(())
    }

    fn is_ours(folder: &OwnedFd, staged: &Staged) -> bool {
        matches!(
            look_in(folder, &staged.temporary),
            Ok(Some(found)) if found.kind == Kind::File && found.stamp.same_content(&staged.stamp)
        )
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

/// Why a step failed, before the path is known.
pub(super) enum Failure {
    Changed,
    WrongKind,
    Errno(Errno),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl Failure {
    pub(super) fn at(self, doing: &'static str, within: At<'_>, name: &str) -> DiskError {
        match self {
            Self::Changed => DiskError::new(DiskErrorKind::Changed, doing, shown(within, name)),
            Self::WrongKind => DiskError::new(DiskErrorKind::WrongKind, doing, shown(within, name)),
            Self::Errno(errno) => DiskError::from_errno(errno, doing, shown(within, name)),
        }
    }
}

/// Compares all of a stamp, before anything is moved.
pub(super) fn expect_file(found: Option<&Entry>, expected: Stamp) -> Result<(), Failure> {
    match found {
        None => Err(Failure::Changed),
        Some(entry) if entry.kind != Kind::File => Err(Failure::WrongKind),
        Some(entry) if entry.stamp != expected => Err(Failure::Changed),
        Some(_) => Ok(()),
    }
}

/// Compares what came out of a rename, which itself changes the change time.
fn compare(folder: &OwnedFd, name: &str, expected: Stamp) -> Result<Found, Errno> {
    Ok(match look_in(folder, name)? {
        Some(entry) if entry.kind == Kind::File && entry.stamp.same_content(&expected) => {
            Found::Expected
        }
        Some(_) | None => Found::Other,
    })
}

/// Gives a staged file the mode of another file, which it is to replace or is a copy of.
fn keep_mode(
    (there, name): (&OwnedFd, &str),
    (here, temporary): (&OwnedFd, &str),
) -> Result<(), Errno> {
    let old =
        Mode::from_raw_mode(fs::statat(there, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o777);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = fs::openat(here, temporary, flags, Mode::empty())?;
    if Mode::from_raw_mode(fs::fstat(&file)?.st_mode & 0o777) == old {
        return Ok(());
    }
    fs::fchmod(&file, old)
}

/// Returns whether an error means that the file system or the kernel knows no such rename.
pub(super) fn lacks_flag(errno: Errno) -> bool {
    errno == Errno::INVAL || errno == Errno::NOSYS || errno == Errno::NOTSUP
}
