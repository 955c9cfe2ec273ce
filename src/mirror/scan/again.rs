//! What appeared in the mirror while it was scanned: a file that was moved from a folder that was not looked
//! into yet to one that was is in neither, and not gone all the same. It may have replaced another there.
//!
//! Names and stamps are compared, and only when the file of an article is missing: a quiet mirror is listed
//! once.

use super::{Scan, strays::stray};
use crate::{
    mirror::{
        disk::{At, Disk, DiskError, DiskErrorKind, Entry, Kind},
        layout::RootVerdict,
    },
    model::{Place, Stamp},
};

/// Lists the mirror once more. Gives the files that the scan did not find there, by their names or by their
/// stamps, and that may be articles. `scanned` gives the stamps of the files that it took for articles.
///
/// # Errors
///
/// When a folder cannot be listed.
pub fn appeared(
    disk: &impl Disk,
    scan: &Scan,
    scanned: &dyn Fn(&Place) -> Option<Stamp>,
) -> Result<Vec<Place>, DiskError> {
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
        let other = |entry: &Entry| {
            let stamp = scanned(&Place::new(&folder, &entry.name));
            stamp.is_some_and(|stamp| stamp != entry.stamp)
        };
        let new = entries.filter(|entry| {
            let unknown = known.is_none_or(|names| !names.contains(&entry.name));
            entry.kind == Kind::File && (unknown || other(entry))
        });
        places.extend(new.filter_map(|entry| stray(&folder, &entry.name)));
    }
    places.sort();
    Ok(places)
}
