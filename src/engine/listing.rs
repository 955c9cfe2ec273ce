//! The listing of a workspace: streamed, compared article by article, and remembered entry by entry.
//!
//! An entry that comes again byte for byte, by its fingerprint, is not parsed again while the base of its article has
//! the version that the entry stood for. This is safe: parsing is pure, so the same bytes are the same article; and the
//! stored version is compared with the base each time, so an entry is parsed after a push or a restore in between. The
//! fingerprint key depends on the version of kbsync, because another version may read the same bytes differently.

use crate::engine::history::entry::edited_there;
use crate::engine::observation::version_with;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{
    ArticleId, CategoryId, Digest, Figures, Fingerprint, Flags, Revision, TextDigest,
};
use crate::reconcile::snapshot::{Remote, Seen};
use crate::service::fingerprint::{Fingerprinter, KnownEntries};
use crate::service::{
    Answer, ListEnd, ListRequest, Listed, Purpose, RemoteArticle, RemoteCategory, Service,
};
use crate::state::StateError;
use crate::state::store::{HistoryEntry, ListingEntry, Store, Writing};
use anyhow::Context as _;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The time of the last whole listing of the service, in milliseconds since 1970.
pub(super) const LAST_POLL: &str = "last_poll";

/// The validator (ETag) of the last listing that left nothing open.
pub(super) const VALIDATOR: &str = "listing_validator";

/// The number of articles of the last listing that were not read, because the budget was spent or a person stopped.
pub(super) const NOT_FETCHED: &str = "unread";

/// The result of a listing.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) articles: BTreeMap<ArticleId, Remote>,
    /// Entries whose body is neither in the listing nor known.
    pub(super) bodiless: BTreeMap<ArticleId, RemoteArticle>,
    pub(super) categories: BTreeMap<CategoryId, RemoteCategory>,
    pub(super) figures: BTreeMap<ArticleId, Figures>,
    /// Errors of entries whose id could not be read.
    pub(super) unidentified: Vec<String>,
    pub(super) end: Option<ListEnd>,
    /// Articles whose entries are known: they equal the base.
    pub(super) known: Vec<ArticleId>,
    /// The memory of its entries, to recognise them by their bytes.
    pub(super) entries: Vec<ListingEntry>,
}

/// The rows of articles.
pub(super) type ArticleRows = BTreeMap<ArticleId, ArticleRow>;

/// Lists a workspace. Known entries are not parsed; [`Listing::recall`] adds their articles.
pub(super) async fn list<S: Service>(
    service: &S,
    request: ListRequest,
    store: &mut Store,
    memory: &Memory,
) -> anyhow::Result<Listing> {
    let mut listing = Listing::default();
    let mut broken = None;
    let mut take = |entry| {
        if broken.is_none() {
            broken = listing.take(entry, store, memory).err();
        }
    };
    let end = service.list(&request, &mut take).await;
    let end = end.context("failed to list the workspace")?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    store.flush_bodies()?;
    listing.end = Some(end);
    Ok(listing)
}

impl Listing {
    fn take(
        &mut self,
        entry: Listed,
        store: &mut Store,
        memory: &Memory,
    ) -> Result<(), StateError> {
        match entry {
            Listed::Article(article) => {
                let (id, fingerprint) = (article.id, article.fingerprint);
                let row = store.article(id)?;
                self.article(*article, row.as_ref(), store)?;
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
                self.unidentified.push(why);
                Ok(())
            }
            // The bodies stay in the history: they were seen.
            Listed::Restart => {
                let categories = std::mem::take(&mut self.categories);
                *self = Self {
                    categories,
                    ..Self::default()
                };
                Ok(())
            }
        }
    }

    /// Adds articles from the base: those with known entries, or all that were listed before, if the service answered
    /// "not modified".
    pub(super) fn recall(&mut self, rows: &ArticleRows, memory: &Memory) {
        for id in std::mem::take(&mut self.known) {
            let entry = match (rows.get(&id), memory.entry(id)) {
                (Some(row), Some(entry)) => Remote::Present(Seen {
                    flags: entry.flags,
                    visibility: Visibility::Published,
                    ..Seen::recorded(row)
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
                .extend(listed.map(|row| (row.id, Remote::Present(Seen::recorded(row)))));
        }
    }

    /// Adds one article. An article in the revision that we deleted is a stale read, and dropped.
    pub(super) fn article(
        &mut self,
        mut article: RemoteArticle,
        row: Option<&ArticleRow>,
        store: &mut Store,
    ) -> Result<(), StateError> {
        let id = article.id;
        if store.is_buried(id, &article.revision)? {
            return Ok(());
        }
        let figures = article.figures.take();
        self.figures.extend(figures.map(|figures| (id, figures)));
        if article.text.is_none() {
            let same = |row: &&ArticleRow| row.revision == article.revision;
            match row.filter(|row| same(row) && row.is_of_its_revision()) {
                Some(row) => {
                    let seen = Seen {
                        visibility: Visibility::Published,
                        flags: article.flags,
                        ..Seen::recorded(row)
                    };
                    self.articles.insert(id, Remote::Present(seen));
                }
                None => {
                    self.bodiless.insert(article.id, article);
                }
            }
            return Ok(());
        }
        let seen = take_seen(article, Visibility::Published, row, store)?;
        self.articles.insert(id, Remote::Present(seen));
        Ok(())
    }
}

/// Reads one article: by GET, or by a probe if it is hidden.
pub(super) async fn read_one(
    service: &impl Service,
    id: ArticleId,
    visibility: Visibility,
    purpose: Purpose,
) -> Answer<RemoteArticle> {
    match visibility {
        Visibility::Published => service.article(id, purpose).await,
        Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => {
            service.probe(id, purpose).await
        }
    }
}

/// Makes an observation of a response. Stores its body if the base does not have it.
pub(super) fn take_seen(
    mut article: RemoteArticle,
    visibility: Visibility,
    row: Option<&ArticleRow>,
    store: &mut Store,
) -> Result<Seen, StateError> {
    let text = article.text.take().unwrap_or_default();
    let version = version_with(&article, TextDigest::of(&text));
    if row.is_none_or(|row| row.remote != version) {
        store.gather(HistoryEntry {
            bodies: vec![text],
            seen: row.map(|row| edited_there(row.id, &row.place, &version)),
            may_merge: row.is_some(),
        })?;
    }
    Ok(Seen {
        version,
        revision: article.revision,
        flags: article.flags,
        visibility,
    })
}

/// Returns the visibility of an article with these flags.
pub(super) fn visibility_of(flags: Flags) -> Visibility {
    if flags.hides() {
        Visibility::Unpublished
    } else {
        Visibility::Published
    }
}

/// The memory of the last listing.
#[derive(Debug)]
pub(super) struct Memory {
    fingerprinter: Fingerprinter,
    known: KnownEntries,
    entries: HashMap<ArticleId, ListingEntry>,
}

/// The state's key for the version of kbsync and the key of its fingerprints.
const KEY: &str = "listing_key";

impl Memory {
    /// Returns the memory of the last listing. A cycle reads it once.
    pub(super) fn of<'m>(
        memory: &'m mut Option<Self>,
        store: &Store,
    ) -> Result<&'m Self, StateError> {
        match memory {
            Some(memory) => Ok(memory),
            None => Ok(memory.insert(Self::read(store)?)),
        }
    }

    fn read(store: &Store) -> Result<Self, StateError> {
        let stored = store.meta(KEY)?;
        let key = stored.as_deref().and_then(|stored| {
            let (version, key) = stored.split_once(' ')?;
            Fingerprinter::with_key(key).filter(|_| version == env!("CARGO_PKG_VERSION"))
        });
        let Some(fingerprinter) = key else {
            let fingerprinter = Fingerprinter::draw();
            return Ok(Self {
                fingerprinter,
                known: KnownEntries::new(fingerprinter, Vec::new()),
                entries: HashMap::new(),
            });
        };
        let stored = store.listing_entries()?;
        let known = stored
            .iter()
            .map(|entry| (entry.fingerprint, entry.article));
        Ok(Self {
            fingerprinter,
            known: KnownEntries::new(fingerprinter, known.collect()),
            entries: stored.iter().map(|entry| (entry.article, *entry)).collect(),
        })
    }

    /// Returns the entries that stand for the versions in the base.
    pub(super) fn known_entries(
        &self,
        rows: &BTreeMap<ArticleId, ArticleRow>,
    ) -> Arc<KnownEntries> {
        self.known_entries_by(&|id| {
            rows.get(&id)
                .map(|row| self.version(&row.remote.digest(), &row.revision))
        })
    }

    /// Returns the entries that stand for the versions in the base; `base` returns an article's fingerprint.
    pub(super) fn known_entries_by(
        &self,
        base: &dyn Fn(ArticleId) -> Option<Fingerprint>,
    ) -> Arc<KnownEntries> {
        let other = self.entries.iter();
        let other = other.filter(|(id, entry)| base(**id) != Some(entry.version));
        Arc::new(self.known.except(other.map(|(id, _)| *id).collect()))
    }

    /// Returns the fingerprint of a version and its revision.
    pub(super) fn version(&self, version: &Digest, revision: &Revision) -> Fingerprint {
        let parts = [version.as_bytes().as_slice(), revision.0.as_bytes()];
        self.fingerprinter.fingerprint(&parts)
    }

    /// Returns the memory of a parsed entry.
    pub(super) fn entry_of(
        &self,
        article: ArticleId,
        fingerprint: Fingerprint,
        seen: &Seen,
    ) -> ListingEntry {
        ListingEntry {
            article,
            fingerprint,
            version: self.version(&seen.version.digest(), &seen.revision),
            flags: seen.flags,
        }
    }

    /// Returns the memory of an article's entry in the last listing.
    pub(super) fn entry(&self, id: ArticleId) -> Option<ListingEntry> {
        self.entries.get(&id).copied()
    }

    /// Stores a listing in place of the previous one, writing only entries that differ at their position.
    pub(super) fn store(
        &self,
        entries: &[ListingEntry],
        tx: &mut Writing<'_>,
    ) -> Result<(), StateError> {
        let key = format!("{} {}", env!("CARGO_PKG_VERSION"), self.fingerprinter.key());
        tx.set_meta(KEY, &key)?;
        let before = self.known.entries();
        for (at, entry) in entries.iter().enumerate() {
            let same = before.get(at) == Some(&(entry.fingerprint, entry.article))
                && self.entries.get(&entry.article) == Some(entry);
            if !same {
                tx.put_listing_entry(at, entry)?;
            }
        }
        tx.cut_listing_entries(entries.len())
    }
}
