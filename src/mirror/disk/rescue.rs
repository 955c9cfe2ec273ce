//! What a crash leaves behind, and the names that tell what it was.

use super::{
    At, Disk as _, DiskError, DiskErrorKind, Kind, Leftover, TEMPORARY,
    real::{RealDisk, shown},
};
use crate::drill::failpoint;
use crate::model::path::{CONFLICT_EXTENSION, EXTENSION};
use rustix::{
    fs::{self, AtFlags},
    io::Errno,
};

/// What separates a reserved name from the name that a file had.
const WAS: &str = "-was-";

/// The largest leftover that is read; larger ones stay where they are.
const MAX_LEFTOVER: usize = 256 * 1024 * 1024;

/// The reserved name of a file that is being removed; it tells the file's name, where it has room.
pub(super) fn removal_name(reserved: &str, name: &str) -> String {
    let telling = format!("{reserved}{WAS}{name}");
    if telling.len() <= 255 {
        telling
    } else {
        reserved.to_owned()
    }
}

/// The name under which a file is kept whose own is taken.
pub fn beside_name(name: &str, number: u32) -> String {
    let ending = format!(".{number}{CONFLICT_EXTENSION}");
    let mut stem = name
        .strip_suffix(EXTENSION)
        .unwrap_or(name)
        .trim_start_matches('.')
        .to_owned();
    while stem.len() + ending.len() > 255 {
        stem.pop();
    }
    stem + &ending
}

impl RealDisk {
    pub(super) fn clear_up(
        &self,
        keep: &mut dyn FnMut(&Leftover) -> bool,
    ) -> Result<usize, DiskError> {
        let mut swept = self.clear_up_in(At::Root, keep)?;
        for entry in self.list(At::Root)?.entries {
            if entry.kind != Kind::Folder || entry.name.starts_with('.') {
                continue;
            }
            swept += match self.clear_up_in(At::Folder(&entry.name), keep) {
                Ok(count) => count,
                // What cannot be read now is swept another time; the scan says that it cannot.
                Err(error)
                    if error.kind == DiskErrorKind::Denied
                        || error.kind == DiskErrorKind::NotFound =>
                {
                    0
                }
                Err(error) => return Err(error),
            };
        }
        Ok(swept)
    }

    fn clear_up_in(
        &self,
        at: At<'_>,
        keep: &mut dyn FnMut(&Leftover) -> bool,
    ) -> Result<usize, DiskError> {
        let mut swept = 0;
        for entry in self.list(at)?.entries {
            let Some(rest) = entry.name.strip_prefix(TEMPORARY) else {
                continue;
            };
            let folder = self.folder(at, "clear up")?;
            let fail = |errno| DiskError::from_errno(errno, "clear up", shown(at, &entry.name));
            let was = rest.split_once(WAS).map(|(_, name)| name);
            if let Some(name) = was {
                match self.rename_free(&folder, &entry.name, &folder, name) {
                    Ok(()) => {
                        swept += 1;
                        continue;
                    }
                    // Something has the name by now: a file that replaced this one.
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(fail(errno)),
                }
            }
            if entry.kind != Kind::File {
                continue;
            }
            let content = self.read(at, &entry.name, MAX_LEFTOVER)?;
            let leftover = Leftover {
                folder: match at {
                    At::Root => None,
                    At::Folder(name) => Some(name.to_owned()),
                },
                name: was.map(str::to_owned),
                bytes: content.bytes,
            };
            if content.whole && keep(&leftover) {
                failpoint::pass("disk: before a leftover is removed");
                fs::unlinkat(&folder, &entry.name, AtFlags::empty()).map_err(fail)?;
                failpoint::pass("disk: leftover removed");
                swept += 1;
            }
        }
        Ok(swept)
    }
}
