//! Reads the folder of one workspace for `check`.

use crate::{
    cli::failure::Failure,
    mirror::{
        check::{Files, Named},
        disk::{At, Disk as _, DiskErrorKind, RealDisk},
        document::{Document, MAX_FILE},
        layout::{Layout, RootVerdict, Verdict, could_be_article},
        scan::{ODD_NAME, read_layout},
    },
    model::{ArticleId, Place},
};
use std::path::Path;

/// Reads every file that is or could be an article, and the targets of links. For an article that is not wanted, only
/// its names are kept.
pub(super) fn read(root: &Path, is_wanted: &dyn Fn(&Place) -> bool) -> Result<Files, Failure> {
    let disk = RealDisk::open(root)?;
    let mut files = Files::default();
    let layout = read_layout(&disk)?;
    let listing = disk.list(At::Root)?;
    let odd = |name| (name, ODD_NAME.to_owned());
    files.strays.extend(listing.odd_names.into_iter().map(odd));
    for entry in listing.entries {
        files.targets.insert(entry.name.clone());
        match layout.in_root(&entry.name, entry.kind) {
            RootVerdict::Category => {
                folder(&disk, &layout, &entry.name, is_wanted, &mut files)?;
            }
            RootVerdict::Stray(why) => files.strays.push((entry.name, why.to_owned())),
            RootVerdict::Aside | RootVerdict::Ignored => {}
        }
    }
    Ok(files)
}

fn folder(
    disk: &RealDisk,
    layout: &Layout,
    name: &str,
    is_wanted: &dyn Fn(&Place) -> bool,
    files: &mut Files,
) -> Result<(), Failure> {
    let listing = disk.list(At::Folder(name))?;
    let odd = |odd| (format!("{name}/{odd}"), ODD_NAME.to_owned());
    files.strays.extend(listing.odd_names.into_iter().map(odd));
    for entry in listing.entries {
        let place = Place::new(name, entry.name.as_str());
        files.targets.insert(place.to_string());
        match layout.in_folder(name, &entry.name, entry.kind) {
            Verdict::Article => {
                let Some(bytes) = bytes(disk, &place, files) else {
                    continue;
                };
                if is_wanted(&place) {
                    files.articles.insert(place, bytes);
                } else if let Ok(document) = Document::parse(&bytes) {
                    files.others.push(Named::of(place, &document));
                }
            }
            Verdict::CategoryFile => {
                if let Some(bytes) = bytes(disk, &place, files) {
                    files.categories.insert(name.to_owned(), bytes);
                }
            }
            Verdict::ConflictCopy => {
                let id = id_in(disk, &place);
                files.copies.push((place, id));
            }
            Verdict::NoArticle(why) | Verdict::Stray(why) => {
                files.strays.push((place.to_string(), why.to_owned()));
            }
            Verdict::Inner => {
                if disk.holds(&place, &could_be_article) {
                    files.inner.push(place);
                }
            }
            // What is ignored on purpose needs no finding.
            Verdict::Ignored | Verdict::Aside => {}
        }
    }
    Ok(())
}

fn id_in(disk: &RealDisk, place: &Place) -> Option<ArticleId> {
    let content = disk
        .read(At::Folder(&place.folder), &place.file, MAX_FILE)
        .ok()?;
    Document::parse_leniently(&content.bytes).ok()?.id()
}

/// Reads a file. An unreadable file is reported; a file that has disappeared is not.
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
