//! Scans one category's folder.

use super::{CategoryContent, KnownCategories, KnownFiles, Scan, ScannedCategory, ScannedFile};
use crate::{
    mirror::{
        disk::{At, Disk, DiskError, DiskErrorKind, Entry, Kind},
        document::{CategoryDocument, Document, MAX_FILE, NotReady},
        layout::{Layout, Verdict, could_be_article},
    },
    model::{ArticleId, Place, Stamp, path::CATEGORY_FILE},
};
use std::collections::BTreeSet;

/// The message about a name that is not UTF-8.
pub(super) const ODD_NAME: &str = "the name is not UTF-8; rename it";

/// The number of unopened files in one message: a message for each file would cost more than the scan of the file.
const BATCH: usize = 256;

/// A receiver of a walk's messages; `false`: nobody wants the rest.
pub(super) type Tell<'a> = dyn FnMut(Message) -> bool + 'a;

/// A message from a walking thread.
pub(super) enum Message {
    Files(Vec<ScannedFile>),
    /// The result for the folder of this number, without its files.
    Done(usize, Box<Scan>),
}

/// The values that all walking threads share.
pub(super) struct Walk<'a, D> {
    pub(super) disk: &'a D,
    pub(super) layout: &'a Layout,
    pub(super) known: &'a KnownFiles<'a>,
    pub(super) known_categories: &'a KnownCategories<'a>,
}

impl<D: Disk> Walk<'_, D> {
    pub(super) fn folder(&self, folder: &str, send: &mut Tell<'_>) -> Scan {
        let mut found = Scan::default();
        let listing = match self.disk.list(At::Folder(folder)) {
            Ok(listing) => listing,
            Err(error) => {
                found.unreadable.push((folder.to_owned(), error));
                return found;
            }
        };
        // Its files are not gone: they are on a file system that is not mounted.
        if listing.is_mount
            && listing.entries.is_empty()
            && self.known_categories.contains_key(folder)
        {
            let error = DiskError::new(DiskErrorKind::EmptyMount, "list", folder.to_owned());
            found.unreadable.push((folder.to_owned(), error));
            return found;
        }
        let mut names = BTreeSet::new();
        let mut category = ScannedCategory {
            folder: folder.to_owned(),
            stamp: None,
            content: CategoryContent::Missing,
        };
        for name in listing.odd_names {
            found
                .problems
                .push((format!("{folder}/{name}"), ODD_NAME.to_owned()));
        }
        let mut batch = Vec::new();
        for entry in listing.entries {
            if entry.name == CATEGORY_FILE {
                (category.stamp, category.content) = self.category(folder, &entry);
            } else if let Some(file) = self.entry(folder, &entry, &mut found) {
                // A file that was read is sent at once, so that few bodies are in memory.
                let tell = !matches!(file, ScannedFile::Unchanged { .. });
                batch.push(file);
                if (tell || batch.len() >= BATCH)
                    && !send(Message::Files(std::mem::take(&mut batch)))
                {
                    break;
                }
            }
            names.insert(entry.name);
        }
        found.names.insert(folder.to_owned(), names);
        found.categories.push(category);
        if !batch.is_empty() && !send(Message::Files(batch)) {
            // The receiver goes only when the sink has panicked; then nobody wants the rest.
            return found;
        }
        found.problems.sort();
        found
    }

    /// Scans one name. Returns the file at an article's place, if the name is one.
    fn entry(&self, folder: &str, entry: &Entry, found: &mut Scan) -> Option<ScannedFile> {
        let place = || Place::new(folder, entry.name.clone());
        match self.layout.in_folder(folder, &entry.name, entry.kind) {
            Verdict::Article => Some(self.article(folder, entry, found)),
            Verdict::Ignored => Some(ScannedFile::Present { place: place() }),
            Verdict::NoArticle(why) => {
                let place = place();
                found.problems.push((place.to_string(), why.to_owned()));
                Some(ScannedFile::Present { place })
            }
            Verdict::ConflictCopy => {
                let place = place();
                let names = self.named_article(&place);
                found.conflict_copies.insert(place, names);
                None
            }
            Verdict::Stray(why) => {
                found.problems.push((place().to_string(), why.to_owned()));
                None
            }
            Verdict::Inner => {
                let place = place();
                if self.disk.holds(&place, &could_be_article) {
                    found.inner.push(place);
                }
                None
            }
            Verdict::CategoryFile | Verdict::Aside => None,
        }
    }

    fn article(&self, folder: &str, entry: &Entry, found: &mut Scan) -> ScannedFile {
        let stamp = entry.stamp;
        if let Some((id, known)) = (self.known)(folder, &entry.name)
            && known == stamp
        {
            return ScannedFile::Unchanged { id, stamp };
        }
        let place = Place::new(folder, entry.name.clone());
        match self.read(place.clone()) {
            Ok(file) => file,
            Err(error) => {
                found.unreadable_files.push(place.clone());
                let why = format!("cannot {}", error.with_remedy());
                found.problems.push((place.to_string(), why));
                ScannedFile::Present { place }
            }
        }
    }

    /// Returns the article that a conflict copy names by its `id:` line, if the copy can be read and has one.
    fn named_article(&self, copy: &Place) -> Option<ArticleId> {
        let content = self
            .disk
            .read(At::Folder(&copy.folder), &copy.file, MAX_FILE);
        Document::id_in(&content.ok()?.bytes)
    }

    /// Reads an article's file.
    pub(super) fn read(&self, place: Place) -> Result<ScannedFile, DiskError> {
        let content = self
            .disk
            .read(At::Folder(&place.folder), &place.file, MAX_FILE)?;
        let stamp = content.stamp;
        if !content.whole {
            let problem = NotReady {
                id: Document::id_in(&content.bytes),
                ..NotReady::new("the file is larger than 16 MiB", "make it smaller")
            };
            return Ok(ScannedFile::NotReady {
                place,
                stamp,
                problem,
                lenient: None,
                source: None,
            });
        }
        Ok(match Document::parse(&content.bytes) {
            Ok(document) => ScannedFile::Ready {
                place,
                stamp,
                document: Box::new(document),
            },
            Err(problem) => ScannedFile::NotReady {
                place,
                stamp,
                problem,
                lenient: Document::parse_leniently(&content.bytes).ok().map(Box::new),
                source: String::from_utf8(content.bytes).ok(),
            },
        })
    }

    pub(super) fn category(&self, folder: &str, entry: &Entry) -> (Option<Stamp>, CategoryContent) {
        let known = self.known_categories.get(folder).copied().flatten();
        if entry.kind == Kind::File && known == Some(entry.stamp) {
            return (Some(entry.stamp), CategoryContent::Unchanged);
        }
        match self.disk.read(At::Folder(folder), CATEGORY_FILE, MAX_FILE) {
            Ok(content) if content.whole => {
                let content_read = match CategoryDocument::parse(&content.bytes) {
                    Ok(document) => CategoryContent::Ready(Box::new(document)),
                    Err(problem) => CategoryContent::NotReady(problem),
                };
                (Some(content.stamp), content_read)
            }
            Ok(_) => (
                None,
                CategoryContent::NotReady(NotReady::new(
                    "the file is too large",
                    "make it smaller",
                )),
            ),
            Err(error) => {
                let problem = NotReady::new(format!("cannot {error}"), "make it a readable file");
                (None, CategoryContent::NotReady(problem))
            }
        }
    }
}
