//! Files under names that are no article's, and which may be an article's file all the same: it was moved
//! there, and is not gone.
//!
//! They are read only when the file of an article is missing: in a quiet mirror nobody opens them. What is
//! in folders of folders, or in folders that are ignored, is not looked for.

use crate::{
    mirror::{
        disk::{At, Disk, TEMPORARY},
        document::Document,
        layout::looks_like_html,
    },
    model::{ArticleId, Place},
};

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

/// Reads the ids in strays.
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
