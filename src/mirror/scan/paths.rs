//! Looks at a few files only, as a cycle over paths does: no folder is listed.
//!
//! The result is a scan of these files and their folders. It proves no absence, so there is none where anything else than
//! readable files in readable folders is met.

use super::{CategoryContent, Scan, ScanError, ScannedCategory, ScannedFile, folder, read_layout};
use crate::{
    mirror::{
        disk::{At, Disk, Kind},
        layout::{RootVerdict, Verdict},
    },
    model::{Place, Stamp, path::CATEGORY_FILE},
};
use std::collections::BTreeSet;

/// Looks at some files, and reads each of them. `None`: one of them needs a whole scan.
///
/// # Errors
///
/// When the mirror's own rules cannot be read.
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
