//! Reads the folder of one workspace for `check`.

use crate::{
    cli::failure::Failure,
    mirror::{
        CategoryContent, KnownCategories, ScannedFile,
        check::{Files, Named},
        disk::{At, Disk as _, DiskErrorKind, RealDisk},
        document::{CategoryDocument, Document, MAX_FILE},
        scan,
    },
    model::{Place, path::CATEGORY_FILE},
};
use std::{collections::BTreeSet, path::Path};

/// Reads every file that is or could be an article, and the targets of links. For an article that is not wanted, only
/// its names are kept.
pub(super) fn read(root: &Path, is_wanted: &dyn Fn(&Place) -> bool) -> Result<Files, Failure> {
    let disk = RealDisk::open(root)?;
    let mut files = Files::default();
    let mut sink = |file| match file {
        ScannedFile::Ready {
            place, document, ..
        } if is_wanted(&place) => drop(files.articles.insert(place, Ok(*document))),
        ScannedFile::Ready {
            place, document, ..
        } => files.others.push(Named::of(place, &document)),
        ScannedFile::NotReady { place, problem, .. } if is_wanted(&place) => {
            files.articles.insert(place, Err(problem));
        }
        // The scan was given no known file, and names what is no readable file in its result.
        ScannedFile::NotReady { .. }
        | ScannedFile::Unchanged { .. }
        | ScannedFile::Present { .. } => {}
    };
    let scanned = scan(&disk, &|_, _| None, &KnownCategories::new(), &mut sink)?;
    if let Some((_, error)) = scanned.unreadable.into_iter().next() {
        return Err(error.into());
    }
    for category in scanned.categories {
        let document = match category.content {
            CategoryContent::Ready(document) => Ok(*document),
            // Without a stamp, the file was not read.
            CategoryContent::NotReady(_) if category.stamp.is_none() => {
                let place = Place::new(&*category.folder, CATEGORY_FILE);
                let Some(bytes) = bytes(&disk, &place, &mut files) else {
                    continue;
                };
                CategoryDocument::parse(&bytes)
            }
            CategoryContent::NotReady(problem) => Err(problem),
            CategoryContent::Missing | CategoryContent::Unchanged => continue,
        };
        let document = document.and_then(|words| words.check(None).map(|()| words));
        files.categories.insert(category.folder, document);
    }
    for place in &scanned.unreadable_files {
        // The second read may succeed.
        if let Some(bytes) = bytes(&disk, place, &mut files)
            && is_wanted(place)
        {
            let document = Document::parse(&bytes);
            files.articles.insert(place.clone(), document);
        }
    }
    let unreadable = scanned.unreadable_files.iter().map(Place::to_string);
    let unreadable: BTreeSet<String> = unreadable.collect();
    let problems = scanned.problems.into_iter();
    files.strays = problems
        .filter(|(path, _)| !unreadable.contains(path))
        .collect();
    files.targets = scanned.root_names;
    for (folder, names) in scanned.names {
        let paths = names.iter().map(|name| format!("{folder}/{name}"));
        files.targets.extend(paths);
    }
    files.copies = scanned.conflict_copies.into_iter().collect();
    files.inner = scanned.inner;
    Ok(files)
}

/// Reads a file that the scan could not read. An unreadable file is reported; a file that has disappeared is not.
///
/// The limit of the read is one byte above `MAX_FILE`, so that a larger file is found to be too large.
fn bytes(disk: &RealDisk, place: &Place, files: &mut Files) -> Option<Vec<u8>> {
    match disk.read(At::Folder(&place.folder), &place.file, MAX_FILE + 1) {
        Ok(content) => Some(content.bytes),
        Err(error) if error.kind == DiskErrorKind::NotFound => None,
        Err(error) => {
            files
                .unreadable
                .push((place.to_string(), error.to_string()));
            None
        }
    }
}
