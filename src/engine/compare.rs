//! What a person sees of a difference: each file as it is, beside the file as the other version would have it.
//!
//! The other version (the base's or the service's) is put into the file's own form, so that comments,
//! quoting and keys of the writer's own do not show as differences. Nothing is written.

use super::apply::{MAX_FILE, slug_key};
use super::observe::{load_base, local};
use super::settings::Settings;
use super::spool::Spool;
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::{CategoryChanges, CategoryDocument, Changes, Document};
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::{CATEGORY_FILE, EXTENSION, safe_stem};
use crate::model::{ArticleId, CategoryVersion, Flags, Place, TextDigest, Timestamp, Version};
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::snapshot::{Base, LocalFile, RemoteSnapshot};
use crate::service::{
    ErrorKind, ListRequest, Listed, Purpose, RemoteArticle, Service, ServiceError,
};
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

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

/// Up to so many articles are asked for one by one; for more a listing is cheaper.
const FEW: usize = 3;

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
        let scanned = local::scan(disk, store, &base, &mut spool)?;
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
        self.categories()?;
        Ok(self.done(settings))
    }

    /// Compares the files with what the service has.
    pub async fn with_service<S: Service>(
        mut self,
        service: &S,
        settings: &Settings,
    ) -> anyhow::Result<Result<Comparison, ServiceError>> {
        let named: BTreeSet<ArticleId> = self
            .paired
            .files
            .iter()
            .filter(|(_, file)| self.covers(&file.place))
            .map(|(id, _)| *id)
            .chain(
                self.base
                    .articles
                    .values()
                    .filter(|row| self.covers(&row.place))
                    .map(|row| row.id),
            )
            .collect();
        let single = !self.scope.is_empty()
            && named.len() <= FEW
            && self.scope.iter().all(|path| path.contains('/'));
        let fetched = if single {
            self.fetch(service, &named).await
        } else {
            self.list(service, settings, &named).await
        };
        if let Err(error) = fetched? {
            return Ok(Err(error));
        }
        self.new_files()?;
        Ok(Ok(self.done(settings)))
    }

    async fn fetch<S: Service>(
        &mut self,
        service: &S,
        ids: &BTreeSet<ArticleId>,
    ) -> anyhow::Result<Result<(), ServiceError>> {
        for &id in ids {
            match service.article(id, Purpose::Push).await {
                Ok(article) => self.remote(article)?,
                Err(error) if error.kind == ErrorKind::NotFound => self.unseen(id),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    async fn list<S: Service>(
        &mut self,
        service: &S,
        settings: &Settings,
        ids: &BTreeSet<ArticleId>,
    ) -> anyhow::Result<Result<(), ServiceError>> {
        let request = ListRequest {
            workspace: settings.workspace,
            categories: self.base.categories.keys().copied().collect(),
            validator: None,
            purpose: Purpose::Push,
        };
        // Equal articles are let go as they come, so that memory does not grow with the bodies.
        let mut seen = BTreeSet::new();
        let mut differing = Vec::new();
        let (paired, base) = (&self.paired, &self.base);
        let listed = service
            .list(&request, &mut |entry| {
                if let Listed::Article(article) = entry {
                    seen.insert(article.id);
                    if !is_equal(&article, base, paired.files.get(&article.id)) {
                        differing.push(*article);
                    }
                }
            })
            .await;
        if let Err(error) = listed {
            return Ok(Err(error));
        }
        for article in differing {
            let article = if article.text.is_none() {
                match service.article(article.id, Purpose::Push).await {
                    Ok(article) => article,
                    Err(error) => return Ok(Err(error)),
                }
            } else {
                article
            };
            self.remote(article)?;
        }
        for id in ids.difference(&seen) {
            self.unseen(*id);
        }
        Ok(Ok(()))
    }

    fn unseen(&mut self, id: ArticleId) {
        let place = self
            .paired
            .files
            .get(&id)
            .map(|file| file.place.clone())
            .or_else(|| self.base.articles.get(&id).map(|row| row.place.clone()));
        if let Some(place) = place {
            self.out.notes.push(format!(
                "{place}: the service does not show it (a draft, disabled or deleted)"
            ));
        }
    }

    /// Compares one article of the service with its file.
    fn remote(&mut self, article: RemoteArticle) -> anyhow::Result<()> {
        let id = article.id;
        let row = self.base.articles.get(&id);
        let file = self.paired.files.get(&id).cloned();
        if self.paired.unknown.contains_key(&id) {
            return Ok(());
        }
        let folder = self
            .paired
            .folder(article.category)
            .map(str::to_owned)
            .or_else(|| {
                let row = self.base.categories.get(&article.category)?;
                Some(
                    row.folder
                        .clone()
                        .unwrap_or_else(|| row.remote.slug.clone()),
                )
            })
            .unwrap_or_else(|| article.category.to_string());
        let known = file
            .as_ref()
            .map(|file| &file.place)
            .or(row.map(|row| &row.place));
        let place = match known {
            Some(known) => Place::new(folder, known.file.clone()),
            None if safe_stem(&article.slug) => {
                Place::new(folder, format!("{}{EXTENSION}", article.slug))
            }
            None => Place::new(folder, format!("{id}{EXTENSION}")),
        };
        let covered =
            self.covers(&place) || file.as_ref().is_some_and(|file| self.covers(&file.place));
        if !covered {
            return Ok(());
        }
        let text = article.text.unwrap_or_default();
        let other = Other {
            id,
            place,
            flags: None,
            version: Version {
                title: article.title,
                slug: article.slug,
                category: article.category,
                introtext: article.introtext,
                keywords: article.keywords,
                text: TextDigest::of(&text),
            },
            text: Some(text),
        };
        self.article(file.as_ref(), &other)
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

    fn categories(&mut self) -> anyhow::Result<()> {
        let rows: BTreeMap<_, CategoryRow> = self.base.categories.clone();
        let folders: Vec<_> = self
            .paired
            .categories
            .iter()
            .filter(|(_, category)| category.version.is_some())
            .map(|(id, category)| (*id, category.folder.clone()))
            .collect();
        for (id, folder) in folders {
            let place = Place::new(&folder, CATEGORY_FILE);
            if !self.covers(&place) {
                continue;
            }
            let new = self.read(&place)?;
            let (old_path, old) = match rows.get(&id) {
                Some(row) => {
                    let was = row.folder.as_deref().unwrap_or(&folder);
                    let path = Place::new(was, CATEGORY_FILE).to_string();
                    (Some(path), category_text(&new, &row.local, was, row))
                }
                None => (None, String::new()),
            };
            self.add(old_path, Some(place.to_string()), old, new);
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

/// The version that a file is compared with.
struct Other {
    id: ArticleId,
    place: Place,
    version: Version,
    /// `None`: nobody said; then they are the file's.
    flags: Option<Flags>,
    text: Option<String>,
}

impl Other {
    fn changes(&self, written_slug: Option<&str>) -> Changes {
        Changes {
            id: Some(self.id),
            title: Some(self.version.title.clone()),
            slug: slug_key(&self.place, &self.version.slug, written_slug),
            enabled: self.flags.map(|flags| flags.enabled),
            draft: self.flags.map(|flags| flags.draft),
            introtext: Some(self.version.introtext.clone()),
            keywords: Some(self.version.keywords.clone()),
            text: self.text.clone(),
        }
    }

    fn composed(&self) -> String {
        Document::compose(&self.changes(None))
    }

    fn in_the_form_of(&self, document: &Document) -> String {
        document.edit(&self.changes(document.slug()))
    }
}

fn category_text(new: &str, version: &CategoryVersion, folder: &str, row: &CategoryRow) -> String {
    let Ok(document) = CategoryDocument::parse(new.as_bytes()) else {
        return String::new();
    };
    let place = Place::new("", format!("{folder}{EXTENSION}"));
    document.edit(&CategoryChanges {
        id: Some(row.id),
        name: document.name().map(|_| version.name.clone()),
        slug: slug_key(&place, &version.slug, document.slug()),
        description: Some(version.description.clone()),
        meta_description: Some(version.meta_description.clone()),
    })
}

/// Tells whether a listed article says what its file says, as far as the listing shows it.
fn is_equal(article: &RemoteArticle, base: &Base, file: Option<&LocalFile>) -> bool {
    let Some(file) = file else {
        return false;
    };
    let text = match &article.text {
        Some(text) => Some(TextDigest::of(text)),
        None => base
            .articles
            .get(&article.id)
            .filter(|row| row.revision == article.revision)
            .map(|row| row.remote.text),
    };
    text == Some(file.version.text)
        && article.title == file.version.title
        && article.slug == file.version.slug
        && article.category == file.version.category
        && article.introtext == file.version.introtext
        && article.keywords == file.version.keywords
}
