//! The service's side of a cycle: the listing, streamed and compared article by article, and the bodies
//! that it did not carry.

use crate::engine::history::edited_there;
use crate::engine::memory::Memory;
use crate::engine::observation::as_recorded;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, CategoryId, Flags, TextDigest, Version};
use crate::reconcile::snapshot::{Remote, Seen};
use crate::service::{
    Figures, ListEnd, ListRequest, Listed, RemoteArticle, RemoteCategory, Service, ServiceError,
};
use crate::state::store::{ListingEntry, SeenBody, Store};
use crate::state::{FigureRow, StateError};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The result of a listing.
#[derive(Default)]
pub(in crate::engine) struct Listing {
    pub(in crate::engine) articles: BTreeMap<ArticleId, Remote>,
    /// Entries without a body that is known.
    pub(in crate::engine) bodiless: Vec<RemoteArticle>,
    pub(in crate::engine) categories: BTreeMap<CategoryId, RemoteCategory>,
    pub(in crate::engine) figures: BTreeMap<ArticleId, FigureRow>,
    /// Entries of which not even the id could be read.
    pub(in crate::engine) nameless: Vec<String>,
    pub(in crate::engine) end: Option<ListEnd>,
    /// Articles whose entries are familiar: they say what the base says.
    pub(in crate::engine) known: Vec<ArticleId>,
    /// The meaning of its entries, to be recognised by their bytes.
    pub(in crate::engine) entries: Vec<ListingEntry>,
}

/// More rows than these are read in one go.
const FEW_ROWS: usize = 256;

/// The rows that entries are compared with: all, or those that turn out to be needed.
pub(in crate::engine) enum Rows<'a> {
    /// All that there are.
    Whole(&'a BTreeMap<ArticleId, ArticleRow>),
    /// Those of the entries that were read so far.
    Read(ReadRows),
}

/// Rows that are read as they are asked for.
#[derive(Default)]
pub(in crate::engine) struct ReadRows {
    rows: BTreeMap<ArticleId, ArticleRow>,
    asked: usize,
}

impl ReadRows {
    /// Reads a row, unless it was read before.
    pub(in crate::engine) fn read(
        &mut self,
        id: ArticleId,
        store: &Store,
    ) -> Result<Option<&ArticleRow>, StateError> {
        if self.asked <= FEW_ROWS && !self.rows.contains_key(&id) {
            self.asked += 1;
            if self.asked > FEW_ROWS {
                let all = store.articles()?;
                self.rows = all.into_iter().map(|row| (row.id, row)).collect();
            } else if let Some(row) = store.article(id)? {
                self.rows.insert(id, row);
            }
        }
        Ok(self.rows.get(&id))
    }

    /// Returns what was read; `None`: that was everything.
    pub(in crate::engine) fn few(&self) -> Option<&BTreeMap<ArticleId, ArticleRow>> {
        (self.asked <= FEW_ROWS).then_some(&self.rows)
    }

    /// Removes and returns the rows of these articles.
    pub(in crate::engine) fn take(
        &mut self,
        ids: &BTreeSet<ArticleId>,
    ) -> BTreeMap<ArticleId, ArticleRow> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.retain(|id, _| ids.contains(id));
        rows
    }
}

impl Rows<'_> {
    /// Returns one row.
    pub(super) fn row(
        &mut self,
        id: ArticleId,
        store: &Store,
    ) -> Result<Option<&ArticleRow>, StateError> {
        match self {
            Self::Whole(rows) => Ok(rows.get(&id)),
            Self::Read(rows) => rows.read(id, store),
        }
    }

    /// Returns the rows that are loaded.
    pub(super) fn loaded(&self) -> &BTreeMap<ArticleId, ArticleRow> {
        match self {
            Self::Whole(rows) => rows,
            Self::Read(rows) => &rows.rows,
        }
    }

    /// Returns the rows that were read one by one.
    pub(super) fn into_read(self) -> ReadRows {
        match self {
            Self::Whole(_) => ReadRows::default(),
            Self::Read(rows) => rows,
        }
    }

    /// The rows, with that of an article in any case.
    fn with(
        &mut self,
        entry: &Listed,
        store: &Store,
    ) -> Result<&BTreeMap<ArticleId, ArticleRow>, StateError> {
        if let Listed::Article(article) = entry {
            self.row(article.id, store)?;
        }
        Ok(self.loaded())
    }
}

/// The rows that entries are compared with.
pub(in crate::engine) type ArticleRows = BTreeMap<ArticleId, ArticleRow>;

/// Lists a workspace. Entries that are familiar are not read again; [`Listing::recall`] gives what they say.
pub(in crate::engine) async fn list<S: Service>(
    service: &S,
    request: ListRequest,
    rows: &mut Rows<'_>,
    store: &mut Store,
    memory: &Memory,
) -> Result<Listing, ListError> {
    let mut listing = Listing::default();
    let mut broken = None;
    let mut take = |entry: Listed| -> Result<(), StateError> {
        let known = rows.with(&entry, store)?;
        listing.take(entry, known, store, memory)
    };
    let end = service
        .list(&request, &mut |entry| {
            if broken.is_none()
                && let Err(error) = take(entry)
            {
                broken = Some(error);
            }
        })
        .await?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    store.store_gathered()?;
    listing.end = Some(end);
    Ok(listing)
}

/// The reason that a listing failed: the service, or the state that keeps what it brings.
#[derive(Debug, thiserror::Error)]
pub(in crate::engine) enum ListError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    State(#[from] StateError),
}

impl ListError {
    /// The error of a cycle that has no listing.
    pub(in crate::engine) fn in_cycle(self) -> anyhow::Error {
        let error = match self {
            Self::Service(error) => anyhow::Error::new(error),
            Self::State(error) => anyhow::Error::new(error),
        };
        error.context("failed to list the workspace")
    }
}

impl Listing {
    fn take(
        &mut self,
        entry: Listed,
        rows: &ArticleRows,
        store: &mut Store,
        memory: &Memory,
    ) -> Result<(), StateError> {
        match entry {
            Listed::Article(article) => {
                let (id, fingerprint) = (article.id, article.fingerprint);
                self.article(*article, rows, store)?;
                if let (Some(fingerprint), Some(Remote::Present(seen))) =
                    (fingerprint, self.articles.get(&id))
                {
                    self.entries.push(memory.entry_of(id, fingerprint, seen));
                }
                Ok(())
            }
            Listed::Known(id) => {
                self.known.push(id);
                self.entries.extend(memory.entry(id));
                Ok(())
            }
            Listed::Category(category) => {
                self.categories.insert(category.id, *category);
                Ok(())
            }
            Listed::Unreadable { id: Some(id), why } => {
                self.articles.insert(id, Remote::Unknown(why));
                Ok(())
            }
            Listed::Unreadable { id: None, why } => {
                self.nameless.push(why);
                Ok(())
            }
            Listed::Retracted { ids, without_id } => {
                self.retract(&ids, without_id);
                Ok(())
            }
        }
    }

    /// Forgets the entries of an answer that broke off. Their bodies stay in the history: they were seen.
    fn retract(&mut self, ids: &HashSet<ArticleId>, without_id: usize) {
        self.articles.retain(|id, _| !ids.contains(id));
        self.bodiless.retain(|article| !ids.contains(&article.id));
        self.figures.retain(|id, _| !ids.contains(id));
        self.known.retain(|id| !ids.contains(id));
        self.entries.retain(|entry| !ids.contains(&entry.article));
        let left = self.nameless.len().saturating_sub(without_id);
        self.nameless.truncate(left);
    }

    /// Adds what was not read since the base says it: articles whose entries are familiar, or all that were listed
    /// before, where nothing changed since.
    pub(in crate::engine) fn recall(&mut self, rows: &ArticleRows, memory: &Memory) {
        for id in std::mem::take(&mut self.known) {
            let entry = match (rows.get(&id), memory.entry(id)) {
                (Some(row), Some(entry)) => Remote::Present(Seen {
                    flags: entry.flags,
                    visibility: Visibility::Published,
                    ..as_recorded(row)
                }),
                (None, _) | (_, None) => {
                    Remote::Unknown("the entry was taken for one that is known".to_owned())
                }
            };
            self.articles.insert(id, entry);
        }
        if self.end == Some(ListEnd::NotModified) {
            let rows = rows.values();
            let listed = rows.filter(|row| row.visibility == Visibility::Published);
            self.articles
                .extend(listed.map(|row| (row.id, Remote::Present(as_recorded(row)))));
        }
    }

    /// Adds one article; one that we deleted, in the revision that we deleted, is an old copy.
    pub(in crate::engine) fn article(
        &mut self,
        article: RemoteArticle,
        rows: &ArticleRows,
        store: &mut Store,
    ) -> Result<(), StateError> {
        let id = article.id;
        if store.is_buried(id, &article.revision)? {
            return Ok(());
        }
        if let Some(figures) = article.figures {
            self.figures
                .insert(id, figure_row(figures, article.full_url.clone()));
        }
        let row = rows.get(&id);
        if article.text.is_none() {
            let same = |row: &&ArticleRow| row.revision == article.revision;
            match row.filter(|row| same(row) && row.is_of_its_revision()) {
                Some(row) => {
                    self.articles
                        .insert(id, Remote::Present(shown(as_recorded(row), &article)));
                }
                None => self.bodiless.push(article),
            }
            return Ok(());
        }
        let seen = take_seen(article, Visibility::Published, rows, store)?;
        self.articles.insert(id, Remote::Present(seen));
        Ok(())
    }
}

fn shown(seen: Seen, article: &RemoteArticle) -> Seen {
    Seen {
        visibility: Visibility::Published,
        flags: article.flags,
        ..seen
    }
}

/// Turns an answer into what was seen, and keeps its body if the base does not have it.
pub(in crate::engine) fn take_seen(
    article: RemoteArticle,
    visibility: Visibility,
    rows: &ArticleRows,
    store: &mut Store,
) -> Result<Seen, StateError> {
    let row = rows.get(&article.id);
    let text = article.text.unwrap_or_default();
    let version = Version {
        title: article.title,
        slug: article.slug,
        category: article.category,
        introtext: article.introtext,
        keywords: article.keywords,
        text: TextDigest::of(&text),
    };
    if row.is_none_or(|row| row.remote != version) {
        let history = row.map(|row| edited_there(row.id, &row.place, &version));
        let body = SeenBody {
            text,
            digest: version.text,
            file: None,
            seen: history,
            may_merge: row.is_some(),
        };
        store.gather(body)?;
    }
    Ok(Seen {
        version,
        revision: article.revision,
        flags: article.flags,
        visibility,
    })
}

/// Whether readers see an article, by what a write's answer says of it.
pub(in crate::engine) fn visibility_of(flags: Flags) -> Visibility {
    if flags.hides() {
        Visibility::Unpublished
    } else {
        Visibility::Published
    }
}

/// The figures of an answer.
pub(in crate::engine) fn figure_row(figures: Figures, full_url: Option<String>) -> FigureRow {
    FigureRow {
        views: figures.views,
        happy: figures.happy,
        neutral: figures.neutral,
        sad: figures.sad,
        full_url,
    }
}
