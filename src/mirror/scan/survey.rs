//! Looks at the whole mirror where it is expected to be as it was: every folder is listed and every file's stamp
//! compared, and nothing is opened.
//!
//! It answers only where nothing is to be told apart: each file that is known lies at its place, and beside them
//! there is nothing that a scan would have a word about. Whatever else it meets is for a whole scan. So nothing
//! has to be noted of a file that is as it was, and memory does not grow with their number.

use super::{ScanError, read_layout};
use crate::{
    mirror::{
        disk::{At, Disk, DiskError, DiskErrorKind, Entry, Kind},
        layout::{Layout, RootVerdict, Verdict, could_be_article},
    },
    model::{ArticleId, Place, Stamp, path::CATEGORY_FILE},
};
use std::collections::HashMap;

/// A mirror as it was.
#[derive(Debug, Default)]
pub struct Known {
    layout: Layout,
    folders: HashMap<String, Folder>,
}

/// A category's folder as it was.
#[derive(Debug, Default)]
struct Folder {
    /// Of `_category.yaml`; `None`: it has to be read.
    stamp: Option<Stamp>,
    files: HashMap<Box<str>, File>,
}

/// An article's file as it was.
#[derive(Debug)]
struct File {
    id: ArticleId,
    /// `None`: it has to be read.
    stamp: Option<Stamp>,
}

impl Known {
    /// A mirror without folders, under its own rules.
    ///
    /// # Errors
    ///
    /// When there are no rules to go by, or there is something to say about them.
    pub fn with_rules_of(disk: &impl Disk) -> Result<Self, Vague> {
        match read_layout(disk) {
            Ok((layout, problems)) if problems.is_empty() => Ok(Self {
                layout,
                folders: HashMap::new(),
            }),
            Ok(_) | Err(ScanError::Rules | ScanError::Threads(_)) => Err(Vague::More),
            Err(ScanError::Root(error)) => Err(vague(&error)),
        }
    }

    /// Adds a category's folder, and the stamp of its `_category.yaml`.
    pub fn put_folder(&mut self, folder: &str, stamp: Option<Stamp>) {
        self.folders.entry(folder.to_owned()).or_default().stamp = stamp;
    }

    /// Adds an article's file to a folder that was added. `false`: there is no such folder, or another article has that
    /// place.
    #[must_use]
    pub fn put_file(&mut self, place: &Place, id: ArticleId, stamp: Option<Stamp>) -> bool {
        let Some(folder) = self.folders.get_mut(&place.folder) else {
            return false;
        };
        let name = place.file.as_str().into();
        folder.files.insert(name, File { id, stamp }).is_none()
    }

    /// The rules.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The article whose file is known at a place.
    pub fn article(&self, place: &Place) -> Option<ArticleId> {
        let file = self.folders.get(&place.folder)?;
        file.files.get(place.file.as_str()).map(|file| file.id)
    }
}

/// What has another stamp than was known, or one that was not known at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    /// Articles' files.
    pub files: Vec<Place>,
    /// Folders whose `_category.yaml` it is.
    pub words: Vec<String>,
    /// Folders within categories that hold articles' files: nothing of them is synced.
    pub inner: Vec<Place>,
}

/// Why it cannot be told what was touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vague {
    /// Something came, went, or is not as simple.
    More,
    /// A folder cannot be read: a moment later it may be empty because it is being unmounted.
    Unreadable,
}

/// Looks at everything, and says what was touched.
///
/// # Errors
///
/// When that is not all there is to say, or cannot be told.
pub fn survey(disk: &impl Disk, known: &Known) -> Result<Touched, Vague> {
    let root = disk.list(At::Root).map_err(|error| vague(&error))?;
    if !root.odd_names.is_empty() {
        return Err(Vague::More);
    }
    let mut touched = Touched::default();
    let mut folders = 0;
    for entry in root.entries {
        match known.layout.in_root(&entry.name, entry.kind) {
            RootVerdict::Category => {
                let folder = known.folders.get(&entry.name);
                folders += usize::from(folder.is_some());
                survey_folder(disk, &entry.name, folder, &known.layout, &mut touched)?;
            }
            RootVerdict::Aside | RootVerdict::Ignored(_) => {}
            RootVerdict::Stray(_) => return Err(Vague::More),
        }
    }
    if folders == known.folders.len() {
        Ok(touched)
    } else {
        Err(Vague::More)
    }
}

fn vague(error: &DiskError) -> Vague {
    match error.kind {
        // It went, or became something else, between two looks.
        DiskErrorKind::NotFound
        | DiskErrorKind::Exists
        | DiskErrorKind::Changed
        | DiskErrorKind::WrongKind
        | DiskErrorKind::NotEmpty
        | DiskErrorKind::BadName => Vague::More,
        DiskErrorKind::Denied
        | DiskErrorKind::Full
        | DiskErrorKind::ReadOnly
        | DiskErrorKind::Replaced
        | DiskErrorKind::Other => Vague::Unreadable,
    }
}

/// Looks at one folder. One that is not known may hold nothing that counts.
fn survey_folder(
    disk: &impl Disk,
    name: &str,
    known: Option<&Folder>,
    layout: &Layout,
    touched: &mut Touched,
) -> Result<(), Vague> {
    let listing = disk.list(At::Folder(name)).map_err(|error| vague(&error))?;
    if !listing.odd_names.is_empty() {
        return Err(Vague::More);
    }
    let (mut files, mut words) = (0, 0);
    for Entry {
        name: file,
        kind,
        stamp,
    } in listing.entries
    {
        if let Some(known) = known.and_then(|folder| folder.files.get(file.as_str())) {
            if kind != Kind::File {
                return Err(Vague::More);
            }
            files += 1;
            if known.stamp != Some(stamp) {
                touched.files.push(Place::new(name, file));
            }
        } else if file == CATEGORY_FILE {
            if kind != Kind::File {
                return Err(Vague::More);
            }
            words += 1;
            if known.ok_or(Vague::More)?.stamp != Some(stamp) {
                touched.words.push(name.to_owned());
            }
        } else {
            match layout.in_folder(name, &file, kind) {
                Verdict::Aside => {}
                Verdict::Inner => {
                    let place = Place::new(name, file);
                    // One that cannot be read is nobody's business, either.
                    if disk.holds(&place, &could_be_article).unwrap_or(false) {
                        touched.inner.push(place);
                    }
                }
                Verdict::Article
                | Verdict::CategoryFile
                | Verdict::ConflictCopy
                | Verdict::NoArticle(_)
                | Verdict::Stray(_) => return Err(Vague::More),
            }
        }
    }
    let whole = known.is_none_or(|known| (files, words) == (known.files.len(), 1));
    if whole { Ok(()) } else { Err(Vague::More) }
}
