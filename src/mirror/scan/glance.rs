//! Looks at a few files only, as a cycle over paths does: no folder is listed.
//!
//! It answers only where there is nothing to be told apart: each file is an article's, and can be read as
//! one, in a folder whose `_category.yaml` can be read. Whatever else it meets is for a whole scan.

use super::{CategoryContent, ScanError, ScannedCategory, ScannedFile, folder, read_layout};
use crate::{
    mirror::{
        disk::{At, Disk, Kind},
        layout::{RootVerdict, Verdict},
    },
    model::{Place, Stamp, path::CATEGORY_FILE},
};
use std::collections::BTreeSet;

/// What a glance found.
#[derive(Debug)]
pub struct Glance {
    /// The files, each of them ready.
    pub files: Vec<ScannedFile>,
    /// Their folders.
    pub categories: Vec<ScannedCategory>,
}

/// Looks at some files, and reads each of them. `None`: one of them is no matter for a glance.
///
/// # Errors
///
/// When the mirror's own rules cannot be read.
pub fn glance(
    disk: &impl Disk,
    places: &BTreeSet<Place>,
    known_category: &(dyn Fn(&str) -> Option<Stamp> + Sync),
) -> Result<Option<Glance>, ScanError> {
    let (layout, _told_by_whole_scans) = read_layout(disk)?;
    let walk = folder::Walk {
        disk,
        layout: &layout,
        known: &|_| None,
        known_category,
    };
    let mut glance = Glance {
        files: Vec::new(),
        categories: Vec::new(),
    };
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
        glance.categories.push(ScannedCategory {
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
            Ok(file @ ScannedFile::Ready { .. }) => glance.files.push(file),
            Ok(
                ScannedFile::Unchanged { .. }
                | ScannedFile::NotReady { .. }
                | ScannedFile::Present { .. },
            )
            | Err(_) => return Ok(None),
        }
    }
    Ok(Some(glance))
}
