//! Scans of a part of the mirror: of a few files alone, of files whose names are no article's, and of files that
//! appeared during a whole scan.

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

/// Reads some given files, for a cycle over paths; no folder is listed. The result cannot prove absence, so only
/// readable files in readable folders are supported. `None`: one of the files needs a whole scan.
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

/// The number of bytes that are read from a stray: more than the part that is searched for the id.
const HEAD: usize = 256 * 1024;

/// The ids in strays.
#[derive(Debug, Default)]
pub struct Strays {
    /// The articles whose ids are in strays.
    pub ids: Vec<(Place, ArticleId)>,
    /// Unreadable strays: each may be the file of any article.
    pub unreadable: Vec<Place>,
}

/// Reads the ids in strays: a stray may be an article's file that was moved, so the article is not gone.
pub fn read_strays(disk: &impl Disk, strays: &[Place]) -> Strays {
    let mut found = Strays::default();
    for place in strays {
        let at = if place.folder.is_empty() {
            At::Root
        } else {
            At::Folder(&place.folder)
        };
        // A file that disappeared since the listing was moved, perhaps to a folder that had been listed before.
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

/// The place of a name that the writer may have given to an article's file.
pub(super) fn stray(folder: &str, name: &str) -> Option<Place> {
    (looks_like_html(name) && !name.starts_with(TEMPORARY)).then(|| Place::new(folder, name))
}

/// Lists the mirror once more because an article's file is missing. A file that moves from a folder not yet listed to a
/// folder already listed is seen in neither, but is not gone; it may also have replaced another file there. Returns the
/// possible articles' files whose place and stamp `is_known` does not know.
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
