//! Searches the folders within a category's folder for file names.
//!
//! No link is followed. Hidden folders are skipped, and the search is bounded: the result only serves a warning.

use super::{
    At, DiskError, Kind,
    real::{RealDisk, look_in, open_dir, single},
};
use crate::model::Place;
use rustix::{fs::Dir, io::Errno};
use std::os::fd::OwnedFd;

/// The greatest depth of the search.
const DEEPEST: usize = 8;

/// The most names in one search.
const MOST: usize = 20_000;

/// A search for names.
struct Search<'a> {
    wanted: &'a dyn Fn(&str) -> bool,
    left: usize,
}

impl RealDisk {
    pub(super) fn holds_below(
        &self,
        place: &Place,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<bool, DiskError> {
        let within = self.folder(At::Folder(&place.folder), "list")?;
        let name = single(&place.file, "list")?;
        let mut search = Search { wanted, left: MOST };
        search
            .finds(&within, name, DEEPEST)
            .map_err(|errno| DiskError::from_errno(errno, "list", place.to_string()))
    }
}

impl Search<'_> {
    fn finds(&mut self, within: &OwnedFd, name: &str, depth: usize) -> Result<bool, Errno> {
        let folder = open_dir(within, name)?;
        for found in Dir::read_from(&folder)? {
            let found = found?;
            // An article's name is UTF-8.
            let Ok(name) = found.file_name().to_str() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                return Ok(false);
            };
            self.left = left;
            let is_found = match look_in(&folder, name)?.map(|entry| entry.kind) {
                Some(Kind::File) => (self.wanted)(name),
                Some(Kind::Folder) if depth > 1 => self.finds(&folder, name, depth - 1)?,
                Some(Kind::Folder | Kind::Link | Kind::Other) | None => false,
            };
            if is_found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
