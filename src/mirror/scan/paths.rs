//! Scans of a part of the mirror: of a few files alone, of files whose names are no article's, and of files that
//! appeared during a whole scan.

use super::{
    CategoryContent, KnownCategories, Scan, ScanError, ScannedCategory, ScannedFile, folder,
    read_layout,
};
use crate::{
    mirror::{
        disk::{At, Disk, DiskError, DiskErrorKind, Kind, Listing, TEMPORARY},
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
    known_categories: &KnownCategories<'_>,
    sink: &mut dyn FnMut(ScannedFile),
) -> Result<Option<Scan>, ScanError> {
    let layout = read_layout(disk)?;
    let walk = folder::Walk {
        disk,
        layout: &layout,
        known: &|_, _| None,
        known_categories,
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

/// The ids in strays: files whose place and stamp a scan does not know, and that may be articles' files.
#[derive(Debug, Default)]
pub struct Strays {
    /// The articles whose ids are in strays. A place in the root has no folder.
    pub ids: Vec<(Place, ArticleId)>,
    /// Unreadable strays: each may be the file of any article.
    pub unreadable: Vec<Place>,
}

/// Finds the files that may be articles' files and that `is_known` does not know by place and stamp, and reads their
/// ids: an article whose id is found is not gone. Its file may have a name that is not synced, or
/// was moved from a folder not yet scanned to one already scanned, and may have replaced another file there.
pub fn find_strays(
    disk: &impl Disk,
    layout: &Layout,
    is_known: &dyn Fn(&Place, Stamp) -> bool,
) -> Result<Strays, DiskError> {
    let mut places = Vec::new();
    let mut take = |folder: &str, listing: &Listing| {
        let files = listing.entries.iter();
        let files = files
            .filter(|entry| entry.kind == Kind::File)
            .filter(|entry| !is_known(&Place::new(folder, entry.name.clone()), entry.stamp));
        let names = files.map(|entry| &entry.name).chain(&listing.odd_names);
        let names = names.filter(|name| looks_like_html(name) && !name.starts_with(TEMPORARY));
        places.extend(names.map(|name| Place::new(folder, name.clone())));
    };
    let root = disk.list(At::Root)?;
    take("", &root);
    for entry in &root.entries {
        if layout.in_root(&entry.name, entry.kind) != RootVerdict::Category {
            continue;
        }
        match disk.list(At::Folder(&entry.name)) {
            Ok(listing) => take(&entry.name, &listing),
            Err(error) if error.kind == DiskErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    places.sort();
    let mut found = Strays::default();
    for place in places {
        let at = if place.folder.is_empty() {
            At::Root
        } else {
            At::Folder(&place.folder)
        };
        // A file that disappeared since the listing was moved, perhaps to a folder that had been listed before.
        let Ok(content) = disk.read(at, &place.file, HEAD) else {
            found.unreadable.push(place);
            continue;
        };
        let ids = Document::ids_in(&content.bytes).into_iter();
        found.ids.extend(ids.map(|id| (place.clone(), id)));
    }
    Ok(found)
}
