//! Finds files that appeared in the mirror during the scan. A file that moves from a folder not yet listed to a
//! folder already listed is seen in neither, and is not gone. The file may also have replaced another one there.
//!
//! Names and stamps are compared, and only when the file of an article is missing: a quiet mirror is listed
//! once.

use super::strays::stray;
use crate::{
    mirror::{
        disk::{At, Disk, DiskError, DiskErrorKind, Entry, Kind},
        layout::{Layout, RootVerdict},
    },
    model::{Place, Stamp},
};

/// Lists the mirror once more. Gives the files that may be articles and of which `is_known` does not know the
/// place with its stamp.
///
/// # Errors
///
/// When a folder cannot be listed.
pub fn appeared(
    disk: &impl Disk,
    layout: &Layout,
    is_known: &dyn Fn(&Place, Stamp) -> bool,
) -> Result<Vec<Place>, DiskError> {
    let mut places = Vec::new();
    let mut take = |folder: &str, entry: &Entry| {
        let place = stray(folder, &entry.name).filter(|_| entry.kind == Kind::File);
        places.extend(place.filter(|place| !is_known(place, entry.stamp)));
    };
    for entry in disk.list(At::Root)?.entries {
        take("", &entry);
        if layout.in_root(&entry.name, entry.kind) != RootVerdict::Category {
            continue;
        }
        let folder = entry.name;
        match disk.list(At::Folder(&folder)) {
            Ok(listing) => listing
                .entries
                .iter()
                .for_each(|entry| take(&folder, entry)),
            Err(error) if error.kind == DiskErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    places.sort();
    Ok(places)
}
