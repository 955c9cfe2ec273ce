//! Differences as a person sees them: each file as it is, beside the file as the other version would have it.
//!
//! The other version (the base's or the service's) is put into the file's own form, so that comments,
//! quoting and keys of the writer's own do not show as differences. Nothing is written.

mod categories;
mod service;

use super::mirror_view::{Difference, MirrorView};
use super::reasons::put_below;
use super::settings::Settings;
use crate::engine::form::{MAX_FILE, slug_key};
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{Changes, Document};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, Flags, Place, Version};
use crate::reconcile::plan::Problem;
use crate::state::store::Store;

/// Two versions of one file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// The place of the other version; `None`: there is none, the file is new.
    pub old_path: Option<String>,
    /// The place of the file; `None`: it is gone.
    pub new_path: Option<String>,
    /// The other version.
    pub old: String,
    /// The file.
    pub new: String,
}

/// The result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// Files with a difference, by path.
    pub pairs: Vec<Pair>,
    /// The files and articles that could not be compared, with the reasons.
    pub notes: Vec<String>,
}

/// A mirror, looked at for a comparison.
pub struct Comparer<'a, D> {
    disk: &'a D,
    store: &'a mut Store,
    view: MirrorView,
    scope: Vec<String>,
    /// The files and articles that could not be compared, with the reasons.
    notes: Vec<Problem>,
    out: Comparison,
}

/// The version that a file is compared with.
struct Other<'v> {
    id: ArticleId,
    place: &'v Place,
    version: &'v Version,
    /// `None`: the service did not show them; then they are the file's.
    flags: Option<Flags>,
    text: Option<String>,
}

impl Other<'_> {
    fn changes(&self, written_slug: Option<&str>) -> Changes {
        Changes {
            id: Some(self.id),
            slug: slug_key(self.place, &self.version.slug, written_slug),
            enabled: self.flags.map(|flags| flags.enabled),
            draft: self.flags.map(|flags| flags.draft),
            text: self.text.clone(),
            ..Changes::words(self.version)
        }
    }
}

impl<'a, D: Disk> Comparer<'a, D> {
    /// Scans the mirror. An empty scope is all of it.
    pub fn new(disk: &'a D, store: &'a mut Store, scope: Vec<String>) -> anyhow::Result<Self> {
        let mut view = MirrorView::read(disk, store)?;
        let notes = std::mem::take(&mut view.problems);
        Ok(Self {
            disk,
            store,
            view,
            scope,
            notes,
            out: Comparison::default(),
        })
    }

    /// Compares the files with what both sides last agreed on.
    pub fn with_base(mut self, settings: &Settings) -> anyhow::Result<Comparison> {
        let mut pairs = Vec::new();
        for Difference { row, file } in self.view.differences() {
            let file = file.map(|file| &file.place);
            let mut places = file.into_iter().chain(row.map(|row| &row.place));
            if places.any(|place| self.covers(place)) {
                let other = row.map(|row| self.in_base(row)).transpose()?;
                pairs.extend(self.article(other.as_ref(), file)?);
            }
        }
        self.out.pairs = pairs;
        self.note_mistyped();
        self.categories()?;
        Ok(self.done(settings))
    }

    fn in_base<'v>(&self, row: &'v ArticleRow) -> anyhow::Result<Other<'v>> {
        Ok(Other {
            id: row.id,
            place: &row.place,
            version: &row.local,
            flags: Some(row.file_flags),
            text: self.store.body(row.local.text)?,
        })
    }

    /// Puts an article's file beside its other version. `None`: they are equal.
    fn article(
        &self,
        other: Option<&Other<'_>>,
        file: Option<&Place>,
    ) -> anyhow::Result<Option<Pair>> {
        let new = match file {
            Some(place) => self.read(place)?,
            None => String::new(),
        };
        let old = match (other, Document::parse_with_markers(new.as_bytes())) {
            (None, _) => String::new(),
            (Some(other), Ok(document)) => document.edit(&other.changes(document.slug())),
            (Some(other), Err(_not_ready)) => Document::compose(&other.changes(None)),
        };
        let pair = Pair {
            old_path: other.map(|other| other.place.to_string()),
            new_path: file.map(ToString::to_string),
            old,
            new,
        };
        Ok(Some(pair).filter(Pair::differs))
    }

    fn read(&self, place: &Place) -> anyhow::Result<String> {
        let at = At::Folder(&place.folder);
        let content = self.disk.read(at, &place.file, MAX_FILE)?;
        Ok(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    fn covers(&self, place: &Place) -> bool {
        let path = place.to_string();
        let mut scope = self.scope.iter();
        self.scope.is_empty() || scope.any(|named| *named == place.folder || *named == path)
    }

    fn done(self, settings: &Settings) -> Comparison {
        let mut out = self.out;
        if !settings.prefix.is_empty() {
            let pairs = out.pairs.iter_mut();
            let paths = pairs.flat_map(|pair| [&mut pair.old_path, &mut pair.new_path]);
            for path in paths.flatten() {
                *path = format!("{}/{path}", settings.prefix);
            }
        }
        let notes = self.notes.into_iter().map(|mut note| {
            put_below(&settings.prefix, &mut note.path, Some(&mut note.message));
            match note.path.as_str() {
                "" => note.message,
                path => format!("{path}: {}", note.message),
            }
        });
        out.notes.extend(notes);
        let path = |pair: &Pair| pair.new_path.clone().or_else(|| pair.old_path.clone());
        out.pairs.sort_by_key(path);
        out
    }
}

impl Pair {
    fn differs(&self) -> bool {
        self.old_path != self.new_path || self.old != self.new
    }
}
