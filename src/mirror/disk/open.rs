//! System calls relative to an open folder: stat and read. No link is followed.

use super::{At, Content, DiskError, DiskErrorKind, Entry, Kind};
use crate::model::Stamp;
use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags},
    io::Errno,
};
use std::{fs::File, io::Read as _, os::fd::OwnedFd};

/// The number of bytes that are read from a file over the limit.
const FIRST_PART: usize = 128 * 1024;

#[cfg(target_os = "linux")]
pub(super) fn sync_all(root: &OwnedFd) -> Result<(), Errno> {
    fs::syncfs(root)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn sync_all(root: &OwnedFd) -> Result<(), Errno> {
    fs::sync();
    fs::fsync(root)
}

/// Returns the name of a folder relative to the root.
pub(super) fn folder_name<'n>(at: At<'n>, doing: &'static str) -> Result<&'n str, DiskError> {
    match at {
        At::Root => Ok("."),
        At::Folder(name) => single(name, doing),
    }
}

/// Accepts only a single path component.
pub(super) fn single<'n>(name: &'n str, doing: &'static str) -> Result<&'n str, DiskError> {
    let bad = name.is_empty()
        || name == "."
        || name == ".."
        || name.len() > 255
        || name.contains(['/', '\0']);
    if bad {
        return Err(DiskError::new(
            DiskErrorKind::BadName,
            doing,
            format!("{name:?}"),
        ));
    }
    Ok(name)
}

/// Reads a regular file in an open folder. `path` is its name in errors.
pub(super) fn read_in(
    folder: &OwnedFd,
    name: &str,
    path: &str,
    limit: usize,
) -> Result<Content, DiskError> {
    let wrong = |kind| DiskError::new(kind, "read", path);
    let fail = |errno| DiskError::from_errno(errno, "read", path);
    // Non-blocking, so that a pipe at an article's place cannot hang the read.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(folder, name, flags, Mode::empty());
    let file = file.map(File::from).map_err(fail)?;
    let before = fs::fstat(&file).map_err(fail)?;
    if kind_of(&before) != Kind::File {
        return Err(wrong(DiskErrorKind::WrongKind));
    }
    let stamp = stamp_of(&before);
    let size = usize::try_from(stamp.size).unwrap_or(usize::MAX);
    let whole = size <= limit;
    let wanted = if whole { size } else { FIRST_PART.min(limit) };
    let mut bytes = Vec::with_capacity(wanted + usize::from(whole));
    // One byte more than the file's size, so that growth is noticed.
    (&file)
        .take((wanted + usize::from(whole)) as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| DiskError {
            source: Some(error),
            ..wrong(DiskErrorKind::Other)
        })?;
    let after = stamp_of(&fs::fstat(&file).map_err(fail)?);
    if after != stamp || bytes.len() != wanted {
        return Err(wrong(DiskErrorKind::Changed));
    }
    Ok(Content {
        bytes,
        stamp,
        whole,
    })
}

/// Returns the entry at a name in an open folder.
pub(super) fn look_in(folder: &OwnedFd, name: &str) -> Result<Option<Entry>, Errno> {
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(entry(name, &stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Opens a folder by a single name; a link is refused.
pub(super) fn open_dir(within: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(within, name, flags, Mode::empty())
}

/// Formats a path for errors.
pub(super) fn shown(at: At<'_>, name: &str) -> String {
    match (at, name) {
        (At::Root, "") => "the mirror".to_owned(),
        (At::Root, name) => name.to_owned(),
        (At::Folder(folder), "") => folder.to_owned(),
        (At::Folder(folder), name) => format!("{folder}/{name}"),
    }
}

pub(super) fn entry(name: &str, stat: &fs::Stat) -> Entry {
    Entry {
        name: name.to_owned(),
        kind: kind_of(stat),
        stamp: stamp_of(stat),
    }
}

fn kind_of(stat: &fs::Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Kind::Other,
    }
}

pub(super) fn stamp_of(stat: &fs::Stat) -> Stamp {
    let nanos =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Stamp {
        size: wide(stat.st_size),
        mtime: nanos(wide(stat.st_mtime), wide(stat.st_mtime_nsec)),
        ctime: nanos(wide(stat.st_ctime), wide(stat.st_ctime_nsec)),
        inode: wide(stat.st_ino),
    }
}

pub(super) fn identity(stat: &fs::Stat) -> (u64, u64) {
    (wide(stat.st_dev), wide(stat.st_ino))
}

/// Converts a number whose type differs between systems.
fn wide<From, To>(number: From) -> To
where
    To: TryFrom<From> + Default,
{
    To::try_from(number).unwrap_or_default()
}
