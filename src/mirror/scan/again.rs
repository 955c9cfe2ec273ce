//! What appeared in the mirror while it was scanned: a file that was moved from a folder that was not looked
//! into yet to one that was is in neither, and not gone all the same.
//!
//! Names are compared, and only when the file of an article is missing: a quiet mirror is listed once.

use super::{Scan, strays::stray};
use crate::{
    mirror::{
        disk::{At, Disk, DiskError, DiskErrorKind, Kind},
        layout::RootVerdict,
    },
    model::Place,
};

/// Lists the mirror once more. Gives the files that the scan did not find there, and that may be articles.
///
/// # Errors
///
/// When a folder cannot be listed.
pub fn appeared(disk: &impl Disk, scan: &Scan) -> Result<Vec<Place>, DiskError> {
    let mut places = Vec::new();
    for entry in disk.list(At::Root)?.entries {
        if entry.kind == Kind::File && !scan.root_names.contains(&entry.name) {
            places.extend(stray("", &entry.name));
        }
        if scan.layout.in_root(&entry.name, entry.kind) != RootVerdict::Category {
            continue;
        }
        let folder = entry.name;
        let listing = match disk.list(At::Folder(&folder)) {
            Ok(listing) => listing,
            Err(error) if error.kind == DiskErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let known = scan.names.get(&folder);
        let entries = listing.entries.into_iter();
        let new = entries.filter(|entry| {
            entry.kind == Kind::File && known.is_none_or(|names| !names.contains(&entry.name))
        });
        places.extend(new.filter_map(|entry| stray(&folder, &entry.name)));
    }
    places.sort();
    Ok(places)
}
