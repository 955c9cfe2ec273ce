//! Files as they are read: finds the article of each, and stores new versions in the history. The same for
//! `_category.yaml`.

use super::index::Places;
use super::local::Scanned;
use crate::engine::form::{category_version, needs_whole, slug_at, text_lf};
use crate::engine::history::category::{last_here, seen_as};
use crate::engine::history::entry::no_article;
use crate::mirror::document::{Document, has_conflict_markers};
use crate::mirror::scan::{CategoryContent, Scan, ScannedCategory, ScannedFile};
use crate::model::article::MAX_CHARS;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Place, Side, Stamp, TextDigest, Version};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalFile, Unknown};
use crate::state::store::{HistoryEntry, Store};
use crate::state::{SeenVersion, StateError, StateResult, Subject};
use std::collections::BTreeSet;

/// Takes the files of a scan one by one.
pub(super) struct Reader<'a> {
    places: &'a Places<'a>,
    /// Returns the present stamp of a file.
    stamp_at: &'a dyn Fn(&Place) -> Option<Stamp>,
    store: &'a mut Store,
    pub(super) out: Scanned,
    broken: Option<StateError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        places: &'a Places<'a>,
        stamp_at: &'a dyn Fn(&Place) -> Option<Stamp>,
        store: &'a mut Store,
    ) -> Self {
        Self {
            places,
            stamp_at,
            store,
            out: Scanned::default(),
            broken: None,
        }
    }

    /// Stores the bodies, and returns the result.
    pub(super) fn finish(self, scan: Scan) -> anyhow::Result<Scanned> {
        if let Some(error) = self.broken {
            return Err(error.into());
        }
        self.store.flush_bodies()?;
        Ok(Scanned { scan, ..self.out })
    }

    /// Takes one file. The last error of the state is returned at the end.
    pub(super) fn take(&mut self, file: ScannedFile) {
        if let Err(error) = self.take_file(file) {
            self.broken = Some(error);
        }
    }

    fn take_file(&mut self, file: ScannedFile) -> StateResult<()> {
        match file {
            ScannedFile::Unchanged { id, stamp } => self.out.unchanged.push((id, stamp)),
            ScannedFile::Ready {
                place,
                stamp,
                document,
            } => self.read(place, stamp, &document)?,
            ScannedFile::NotReady {
                place,
                stamp,
                problem,
                lenient,
                source,
            } => match lenient {
                Some(document) if self.belongs(&place, &document)? => {
                    self.read(place, stamp, &document)?;
                }
                Some(_) | None => {
                    let message = problem.to_string();
                    self.not_ready(place, problem.id, message, source.as_deref())?;
                }
            },
            ScannedFile::Present { place, .. } => {
                self.out.snapshot.unknown.push(Unknown { place, id: None });
            }
        }
        Ok(())
    }

    fn not_ready(
        &mut self,
        place: Place,
        id: Option<ArticleId>,
        message: String,
        source: Option<&str>,
    ) -> StateResult<()> {
        if let Some(source) = source {
            self.store_not_ready(&place, id, source)?;
        }
        self.out.problems.push(Problem::at(&place, id, message));
        self.out.snapshot.unknown.push(Unknown { place, id });
        Ok(())
    }

    /// Returns whether the base already has the oddity of a file that is not ready: an article about git may show
    /// conflict markers, and the service may hold texts above its own limits. A text that a ` #` cuts is only in files.
    fn belongs(&self, place: &Place, document: &Document) -> StateResult<bool> {
        if document.check_cut_texts().is_err() {
            return Ok(false);
        }
        let Some(row) = self.row_of(place, document.id())? else {
            return Ok(false);
        };
        let known = |text: &str, of: fn(&Version) -> &str| {
            text.chars().count() <= MAX_CHARS
                || [&row.local, &row.remote]
                    .into_iter()
                    .any(|version| of(version) == text)
        };
        let slug = document.slug().unwrap_or_default();
        let (intro, keywords) = (document.introtext(), document.keywords());
        let fields = known(document.title(), |version| &version.title)
            && known(slug, |version| &version.slug)
            && known(intro, |version| &version.introtext)
            && known(keywords, |version| &version.keywords);
        let marked = has_conflict_markers(document.text());
        if !fields || !marked {
            return Ok(fields);
        }
        for digest in [row.local.text, row.remote.text] {
            let text = self.store.body(digest)?;
            if text.is_some_and(|text| has_conflict_markers(&text)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row_of(&self, place: &Place, id: Option<ArticleId>) -> StateResult<Option<ArticleRow>> {
        let at_place = || {
            *self
                .places
                .get(&(place.folder.as_str(), place.file.as_str()))?
        };
        match id.or_else(|| at_place().map(|(id, _)| id)) {
            Some(id) => self.store.article(id),
            None => Ok(None),
        }
    }

    fn read(&mut self, place: Place, stamp: Stamp, document: &Document) -> StateResult<()> {
        let slug = match slug_at(document, &place) {
            Ok(slug) => slug,
            Err(problem) => {
                let source = Some(document.source());
                return self.not_ready(place, document.id(), problem.to_string(), source);
            }
        };
        let text = document.text();
        let mut digest = TextDigest::of(text);
        let row = self.row_of(&place, document.id())?;
        if let Some(row) = row.as_ref().filter(|_| document.is_crlf()) {
            let body = self.store.body(row.local.text)?;
            // In a CRLF file the body's own line endings are unknown: take the base's body.
            if body.as_deref().and_then(text_lf) == Some(digest) {
                digest = row.local.text;
            }
        }
        let category = row.as_ref().map(|row| row.local.category);
        let category = category.unwrap_or_else(|| CategoryId::provisional(&place.folder));
        let version = Version {
            text: digest,
            ..document.version(slug, category)
        };
        let edited = row.as_ref().is_none_or(|row| row.local != version);
        // The writer's comments and own keys are no edit, but are kept; and without a row only the file says that it
        // hides its article.
        let source = document.source();
        let whole =
            needs_whole(source, &version, &place) || (row.is_none() && document.flags().hides());
        // The history has the file, if only its stamp is new.
        if edited || whole && !self.store.has_body(TextDigest::of(source))? {
            // The version is stored before anything else happens to the file.
            let seen = SeenVersion {
                subject: self.subject(&place, document.id(), row.as_ref()),
                place: place.clone(),
                side: Side::Local,
                cause: "edited here".to_owned(),
                version: version.clone(),
                file: whole.then(|| TextDigest::of(source)),
            };
            self.store.gather(HistoryEntry {
                // Without known articles there is no version to merge with.
                may_merge: !self.places.is_empty(),
                ..HistoryEntry::of_seen(seen, text, source)
            })?;
        }
        self.out.side.stamps.insert(place.clone(), stamp);
        self.out.snapshot.files.push(LocalFile {
            place,
            id: document.id(),
            version,
            flags: document.flags(),
        });
        Ok(())
    }

    /// Stores the whole text of a file that is not ready: the person may remove the file before it is mended.
    fn store_not_ready(
        &mut self,
        place: &Place,
        id: Option<ArticleId>,
        source: &str,
    ) -> StateResult<()> {
        let digest = TextDigest::of(source);
        if source.is_empty() || self.store.has_body(digest)? {
            return Ok(());
        }
        let row = self.row_of(place, id)?;
        let cause = "not ready";
        let subject = self.subject(place, id, row.as_ref());
        let seen = SeenVersion {
            subject,
            place: place.clone(),
            side: Side::Local,
            cause: cause.to_owned(),
            version: match row {
                Some(row) => Version {
                    text: digest,
                    ..row.local
                },
                None => no_article(place, digest, cause),
            },
            file: Some(digest),
        };
        self.store
            .gather(HistoryEntry::of_seen(seen, source, source))
    }

    /// Returns the subject in whose history a file belongs.
    fn subject(&self, place: &Place, id: Option<ArticleId>, row: Option<&ArticleRow>) -> Subject {
        let id = id.or_else(|| row.map(|row| row.id));
        let is_copy = row.is_some_and(|row| self.is_beside_its_file(row, place));
        let id = id.filter(|_| !is_copy);
        id.map_or_else(|| Subject::File(place.clone()), Subject::Article)
    }

    /// Returns whether a file with an article's id is a copy: the article's own file is unchanged at its place.
    fn is_beside_its_file(&self, row: &ArticleRow, place: &Place) -> bool {
        let stamp = if row.place == *place {
            None
        } else {
            (self.stamp_at)(&row.place)
        };
        stamp.is_some_and(|stamp| row.stamp.is_none_or(|known| known == stamp))
    }
}

/// Stores the saved versions of `_category.yaml` in the history, with comments and own keys, before anything else
/// happens to them.
pub(super) fn store_yaml(
    base: &Base,
    categories: &[ScannedCategory],
    store: &mut Store,
) -> StateResult<()> {
    let folders: BTreeSet<&str> = categories
        .iter()
        .map(|category| category.folder.as_str())
        .collect();
    for ScannedCategory {
        folder, content, ..
    } in categories
    {
        let mut rows = base.categories.values();
        let row = rows.find(|row| row.folder.as_ref() == Some(folder));
        let CategoryContent::Ready(document) = content else {
            continue;
        };
        let named = document.id().and_then(|id| base.categories.get(&id));
        // A copy of another folder's file is no version of that category.
        let copied = named.is_some_and(|named| {
            let home = named.folder.as_deref();
            home.is_some_and(|home| home != folder && folders.contains(home))
        });
        let id = document.id().or(row.map(|row| row.id));
        let words = category_version(folder, document).ok();
        let Some((id, words)) = id.filter(|_| !copied).zip(words) else {
            continue;
        };
        let source = document.source();
        if last_here(store, id, Some(folder))?.as_deref() != Some(source) {
            let seen = seen_as(id, folder, (Side::Local, "edited here"), &words, source);
            store.gather(HistoryEntry::of_seen(seen, source, source))?;
        }
    }
    store.flush_bodies()
}
