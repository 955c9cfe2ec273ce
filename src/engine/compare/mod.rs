//! What a person sees of a difference: each file as it is, beside the file as the other version would have it.
//!
//! The other version (the base's or the service's) is put into the file's own form, so that comments,
//! quoting and keys of the writer's own do not show as differences. Nothing is written.

mod asked;
mod categories;
mod other;

use super::apply::MAX_FILE;
use super::observe::unsettled::Unsettled;
use super::observe::{load_base, local};
use super::settings::Settings;
use super::spool::Spool;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::Document;
use crate::model::base::ArticleRow;
use crate::model::{Place, Timestamp};
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::snapshot::{Base, LocalFile, RemoteSnapshot};
use crate::state::store::Store;
use other::Other;
use std::collections::BTreeSet;

/// Two versions of one file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// Where the other version is; `None`: there is none, the file is new.
    pub old_path: Option<String>,
    /// Where the file is; `None`: it is gone.
    pub new_path: Option<String>,
    /// The other version.
    pub old: String,
    /// The file.
    pub new: String,
}

/// What a comparison came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// Files with a difference, by path.
    pub pairs: Vec<Pair>,
    /// What could not be compared, and why.
    pub notes: Vec<String>,
}

/// A mirror, looked at for a comparison.
pub struct Comparer<'a, D> {
    disk: &'a D,
    store: &'a mut Store,
    base: Base,
    paired: Paired,
    scope: Vec<String>,
    out: Comparison,
}

impl<'a, D: Disk> Comparer<'a, D> {
    /// Scans the mirror. An empty scope is all of it.
    pub fn new(
        disk: &'a D,
        store: &'a mut Store,
        scope: Vec<String>,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let base = load_base(store)?;
        let mut spool = Spool::new(true, now);
        let scanned = local::scan(disk, store, &base, &Unsettled::default(), &mut spool)?;
        let paired = pairing::pair(&base, &scanned.snapshot, &RemoteSnapshot::default());
        let mut out = Comparison::default();
        for problem in scanned.problems.iter().chain(&paired.problems) {
            out.notes
                .push(format!("{}: {}", problem.path, problem.message));
        }
        Ok(Self {
            disk,
            store,
            base,
            paired,
            scope,
            out,
        })
    }

    /// Compares the files with what both sides last agreed on.
    pub fn with_base(mut self, settings: &Settings) -> anyhow::Result<Comparison> {
        let rows: Vec<ArticleRow> = self.base.articles.values().cloned().collect();
        for row in rows {
            if self.paired.unknown.contains_key(&row.id) {
                continue;
            }
            let file = self.paired.files.get(&row.id).cloned();
            let place = file.as_ref().map_or(&row.place, |file| &file.place);
            if !self.covers(place) && !self.covers(&row.place) {
                continue;
            }
            let same = file.as_ref().is_some_and(|file| {
                file.version == row.local && file.flags == row.file_flags && file.place == row.place
            });
            if !same {
                let other = Other {
                    id: row.id,
                    place: row.place.clone(),
                    flags: Some(row.file_flags),
                    text: self.store.body(row.local.text)?,
                    version: row.local,
                };
                self.article(file.as_ref(), &other)?;
            }
        }
        self.new_files()?;
        self.note_mistyped();
        self.categories()?;
        Ok(self.done(settings))
    }

    /// Adds an article's file and its other version, if they differ.
    fn article(&mut self, file: Option<&LocalFile>, other: &Other) -> anyhow::Result<()> {
        let Some(file) = file else {
            let old = other.composed();
            self.add(Some(other.place.to_string()), None, old, String::new());
            return Ok(());
        };
        let new = self.read(&file.place)?;
        let old = match Document::parse_with_markers(new.as_bytes()) {
            Ok(document) => other.in_the_form_of(&document),
            Err(_not_ready) => other.composed(),
        };
        self.add(
            Some(other.place.to_string()),
            Some(file.place.to_string()),
            old,
            new,
        );
        Ok(())
    }

    fn new_files(&mut self) -> anyhow::Result<()> {
        let base = &self.base;
        let strangers = self
            .paired
            .files
            .iter()
            .filter(|(id, _)| !base.articles.contains_key(id) && !base.conflicts.contains_key(id))
            .map(|(_, file)| file.place.clone());
        let known: BTreeSet<String> = self
            .out
            .pairs
            .iter()
            .filter_map(|pair| pair.new_path.clone())
            .collect();
        let fresh = self.paired.fresh.iter().map(|file| file.place.clone());
        let places: Vec<Place> = strangers
            .chain(fresh)
            .filter(|place| self.covers(place) && !known.contains(&place.to_string()))
            .collect();
        for place in places {
            let new = self.read(&place)?;
            self.add(None, Some(place.to_string()), String::new(), new);
        }
        Ok(())
    }

    fn add(
        &mut self,
        old_path: Option<String>,
        new_path: Option<String>,
        old: String,
        new: String,
    ) {
        if old_path != new_path || old != new {
            self.out.pairs.push(Pair {
                old_path,
                new_path,
                old,
                new,
            });
        }
    }

    fn read(&self, place: &Place) -> anyhow::Result<String> {
        let content = self
            .disk
            .read(At::Folder(&place.folder), &place.file, MAX_FILE)?;
        Ok(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    fn covers(&self, place: &Place) -> bool {
        self.scope.is_empty()
            || self
                .scope
                .iter()
                .any(|path| *path == place.folder || *path == place.to_string())
    }

    fn done(mut self, settings: &Settings) -> Comparison {
        if !settings.prefix.is_empty() {
            let prefix = &settings.prefix;
            for pair in &mut self.out.pairs {
                for path in [&mut pair.old_path, &mut pair.new_path]
                    .into_iter()
                    .flatten()
                {
                    *path = format!("{prefix}/{path}");
                }
            }
            for note in &mut self.out.notes {
                *note = format!("{prefix}/{note}");
            }
        }
        let path = |pair: &Pair| pair.new_path.clone().or_else(|| pair.old_path.clone());
        self.out.pairs.sort_by_key(path);
        self.out
    }
}
