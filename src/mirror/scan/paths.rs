//! Scans of a part of the mirror: of a few files alone, of files whose names are no article's, and of files that appeared
//! during a whole scan.

use super::{CategoryContent, Scan, ScanError, ScannedCategory, ScannedFile, folder, read_layout};
use crate::{
    mirror::{
        disk::{At, Disk, DiskError, DiskErrorKind, Entry, Kind, TEMPORARY},
        document::Document,
        layout::{Layout, RootVerdict, Verdict, looks_like_html},
    },
    model::{ArticleId, Place, Stamp, path::CATEGORY_FILE},
};
use std::collections::BTreeSet;

/// Looks at some files, as a cycle over paths does, and reads each of them; no folder is listed. `None`: one of them
/// needs a whole scan. The result proves no absence, so there is none where anything else than readable files in
/// readable folders is met.
pub fn scan_paths(
    disk: &impl Disk,
    places: &BTreeSet<Place>,
    known_category: &(dyn Fn(&str) -> Option<Stamp> + Sync),
    sink: &mut dyn FnMut(ScannedFile),
) -> Result<Option<Scan>, ScanError> {
    let (layout, _told_by_whole_scans) = read_layout(disk)?;
    let walk = folder::Walk {
        disk,
        layout: &layout,
        known: &|_, _| None,
        known_category,
    };
    let mut categories = Vec::new();
    let folders: BTreeSet<&str> = places.iter().map(|place| place.folder.as_str()).collect();
    for name in folders {
        let Ok(Some(entry)) = disk.look(At::Root, name) else {
            return Ok(None);
        };
        if layout.in_root(name, entry.kind) != RootVerdict::Category {
            return Ok(None);
        }
        let Ok(Some(entry)) = disk.look(At::Folder(name), CATEGORY_FILE) else {
            return Ok(None);
        };
        let (stamp, content) = walk.category(name, &entry);
        match content {
            CategoryContent::Unchanged | CategoryContent::Ready(_) => {}
            CategoryContent::Missing | CategoryContent::NotReady(_) => return Ok(None),
        }
        categories.push(ScannedCategory {
            folder: name.to_owned(),
            stamp,
            content,
        });
    }
    for place in places {
        let Ok(Some(entry)) = disk.look(At::Folder(&place.folder), &place.file) else {
            return Ok(None);
        };
        let verdict = layout.in_folder(&place.folder, &place.file, entry.kind);
        if entry.kind != Kind::File || verdict != Verdict::Article {
            return Ok(None);
        }
        match walk.read(place.clone()) {
            Ok(file @ ScannedFile::Ready { .. }) => sink(file),
            Ok(
                ScannedFile::Unchanged { .. }
                | ScannedFile::NotReady { .. }
                | ScannedFile::Present { .. },
            )
            | Err(_) => return Ok(None),
        }
    }
    Ok(Some(Scan {
        categories,
        complete: true,
        layout,
        ..Scan::default()
    }))
}

/// The number of bytes that are read of a file: more than the part that is searched for the id.
const HEAD: usize = 256 * 1024;

/// The ids that strays hold.
#[derive(Debug, Default)]
pub struct Strays {
    /// Articles whose ids stand in them.
    pub ids: Vec<(Place, ArticleId)>,
    /// Strays that could not be read: each may be any article's file.
    pub unreadable: Vec<Place>,
}

/// Reads the ids in strays: such a file may be an article's, which was moved there and is not gone.
pub fn read_strays(disk: &impl Disk, strays: &[Place]) -> Strays {
    let mut found = Strays::default();
    for place in strays {
        let at = if place.folder.is_empty() {
            At::Root
        } else {
            At::Folder(&place.folder)
        };
        // A file that disappeared since the listing was moved, perhaps to a folder that was listed before.
        let Ok(content) = disk.read(at, &place.file, HEAD) else {
            found.unreadable.push(place.clone());
            continue;
        };
        let id = match Document::parse(&content.bytes) {
            Ok(document) => document.id(),
            Err(problem) => problem.id,
        };
        found.ids.extend(id.map(|id| (place.clone(), id)));
    }
    found
}

/// The place of a name that a writer may have given to an article's file.
pub(super) fn stray(folder: &str, name: &str) -> Option<Place> {
    (looks_like_html(name) && !name.starts_with(TEMPORARY)).then(|| Place::new(folder, name))
}

/// Lists the mirror once more, when the file of an article is missing. A file that moves from a folder not yet listed
/// to a folder already listed is seen in neither, and is not gone; it may also have replaced another one there. Gives
/// the files that may be articles and of which `is_known` does not know the place with its stamp.
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
