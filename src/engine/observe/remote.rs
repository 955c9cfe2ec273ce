//! The service's side of a cycle: the listing, the bodies that it lacks, and the bodies that a merge needs.

use super::Mirror;
use super::categories::{categories_to_read, mark_foreign_unknown, read_categories, take_category};
use crate::engine::Engine;
use crate::engine::history::entry::seen_there;
use crate::engine::listing::{self, Listing, Memory, VALIDATOR};
use crate::engine::observation::{Extent, Observation, version_of};
use crate::engine::pending::pending_problems;
use crate::engine::ports::{begin_phase, report_done};
use crate::mirror::disk::Disk;
use crate::model::path::{EXTENSION, stem_for};
use crate::model::{ArticleId, CategoryId, Field, Place, TextDigest, Texts, Version};
use crate::reconcile::is_outdated;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, Bodies, Remote, RemoteSnapshot};
use crate::service::{ErrorKind, ListEnd, ListRequest, Listed, RemoteArticle, Service};
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Lists the workspace. Entries that equal the base are not parsed.
pub(super) async fn list<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    mirror: &Mirror,
) -> anyhow::Result<Listing> {
    let base = &mirror.base;
    begin_phase(&engine.teller, "listing", None, 0);
    let settings = &engine.settings;
    let known = base.categories.keys().chain(&settings.categories).copied();
    let local = mirror.scanned.snapshot.categories.iter();
    let categories: BTreeSet<CategoryId> = known
        .chain(local.filter_map(|category| category.id))
        .collect();
    let mut list = ListRequest {
        workspace: settings.workspace,
        categories: categories.into_iter().collect(),
        validator: engine.store.value(VALIDATOR)?,
        known: None,
        purpose: engine.request.purpose,
    };
    let memory = Memory::of(&mut engine.gathered.memory, &engine.store)?;
    list.known = Some(match &mirror.index {
        Some(index) => memory.known_entries_by(&|id| {
            let row = index.row(id)?;
            Some(memory.version(&row.remote, &row.revision))
        }),
        None => memory.known_entries(&base.articles),
    });
    listing::list(&engine.service, list, &mut engine.store, memory).await
}

/// Takes a listing over into the observation: reads the categories and bodies that it lacks, and marks as unknown what
/// cannot be read.
pub(super) async fn add_listing<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    mut listing: Listing,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    note_unreadable(&listing, observed);
    for category in std::mem::take(&mut listing.categories).into_values() {
        take_category(&mut engine.store, &engine.settings, category, observed)?;
    }
    if observed.extent != Extent::Paths {
        let wanted = categories_to_read(engine, &listing, observed)?;
        read_categories(engine, &wanted, &mut listing, observed).await?;
    }
    fetch_bodies(engine, &mut listing, observed).await?;
    match &listing.end {
        Some(ListEnd::Whole { validator, .. }) => {
            observed.service.validator.clone_from(validator);
            observed.service.entries = Some(std::mem::take(&mut listing.entries));
        }
        Some(ListEnd::NotModified) => observed.service.not_modified = true,
        None => {}
    }
    observed.remote.complete = listing.unidentified.is_empty() && observed.service.stop.is_none();
    observed.service.not_fetched = count_unfetched(&listing, observed);
    for article in listing.bodiless.into_values() {
        let why = "its body was not read".to_owned();
        listing.articles.insert(article.id, Remote::Unknown(why));
    }
    observed.remote.articles = listing.articles;
    hide_pending(engine, observed)?;
    mark_foreign_unknown(&observed.base, &mut observed.remote);
    engine.gathered.figures.append(&mut listing.figures);
    if is_first_pull(observed) {
        return Ok(());
    }
    record_unknown_articles(&mut engine.store, observed)
}

/// Notes the entries that cannot be read. After one without an id, nothing is deleted.
fn note_unreadable(listing: &Listing, observed: &mut Observation) {
    for why in &listing.unidentified {
        let why = format!("the listing has an article that cannot be read: {why}");
        observed.problems.push(Problem::at("", None, why));
        let doubt = || "the listing had an article that could not be read".to_owned();
        observed.doubt.get_or_insert_with(doubt);
    }
    for (id, entry) in &listing.articles {
        if let Remote::Unknown(why) = entry {
            observed.remote.unreadable.insert(*id);
            let why = format!("the service's entry of this article cannot be read: {why}");
            observed.note_problem(*id, why);
        }
    }
}

/// Returns the number of listed articles whose bodies, or whose new categories, were not read.
fn count_unfetched(listing: &Listing, observed: &Observation) -> usize {
    let is_unplaced = |(id, entry): &(&ArticleId, &Remote)| {
        let category = entry.present().map(|seen| seen.version.category);
        category.is_some_and(|category| {
            observed.row(**id).is_none()
                && !observed.base.categories.contains_key(&category)
                && !observed.remote.categories.contains_key(&category)
        })
    };
    let articles = listing.articles.iter().filter(|_| observed.remote.cut_off);
    listing.bodiless.len() + articles.filter(is_unplaced).count()
}

/// Marks the articles with pending requests as unknown. If a look for a request failed, nothing is deleted.
fn hide_pending<S, D>(engine: &Engine<S, D>, observed: &mut Observation) -> anyhow::Result<()> {
    for (id, problem) in pending_problems(&engine.store)? {
        let why = Remote::Unknown(problem.message.clone());
        observed.remote.articles.insert(id, why);
        observed.problems.push(problem);
    }
    let failed_look = engine.gathered.failed_look.clone();
    observed.doubt = observed.doubt.take().or(failed_look);
    Ok(())
}

/// Returns whether the base and the mirror are empty. Then each version goes into the history with its file, or at the
/// end of the cycle if its file was not written: a second record of each would slow down a first sync.
pub(in crate::engine) fn is_first_pull(observed: &Observation) -> bool {
    observed.base.articles.is_empty() && observed.local.files.is_empty()
}

/// Records in the history the service's versions of articles that have no row in the base: nothing else remembers them.
/// An article without a file whose likely place is ignored is out of scope in both directions.
pub(in crate::engine) fn record_unknown_articles(
    store: &mut Store,
    observed: &Observation,
) -> anyhow::Result<()> {
    let articles = observed.remote.articles.iter();
    let articles = articles.filter(|(id, _)| observed.row(**id).is_none());
    let without_row = articles.filter_map(|(id, entry)| Some((*id, &entry.present()?.version)));
    let without_row: Vec<(ArticleId, &Version)> = without_row.collect();
    if without_row.is_empty() {
        return Ok(());
    }
    let files = observed.local.files.iter();
    let named = files.filter_map(|file| Some((file.id?, &file.place)));
    let named: HashMap<ArticleId, &Place> = named.collect();
    let mut versions = Vec::new();
    for (id, version) in without_row {
        if let Some(place) = named.get(&id) {
            versions.push(seen_there(id, place, version));
            continue;
        }
        let place = likely_place(id, version, &observed.base, &observed.remote);
        if !observed.mirror.layout.ignores(&place) {
            versions.push(seen_there(id, &place, version));
        }
    }
    store.write_unless_dry_run(|tx| {
        let mut versions = versions.iter();
        versions.try_for_each(|seen| tx.record(seen).map(drop))
    })?;
    Ok(())
}

/// Returns a likely place for the file of an article without a row, for people who look for it by a path.
fn likely_place(id: ArticleId, version: &Version, base: &Base, remote: &RemoteSnapshot) -> Place {
    let row = base.categories.get(&version.category);
    let read = remote.categories.get(&version.category);
    let slug = row.map(|row| &row.remote.slug);
    let folder = row.and_then(|row| row.folder.as_ref()).or(slug);
    let folder = folder.or(read.map(|(category, _)| &category.slug));
    let folder = folder.map_or_else(|| version.category.to_string(), Clone::clone);
    let stem = stem_for(&version.slug, id.uuid(), &|_| false);
    Place::new(folder, format!("{stem}{EXTENSION}"))
}

/// Uses the bodies in a category's response for the articles that the listing has without one. If the response shows
/// another revision than the listing, it is unclear which of the two is newer: the article is read before it is
/// replaced.
pub(super) fn use_bodies(
    store: &mut Store,
    articles: Vec<Listed>,
    listing: &mut Listing,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    for entry in articles {
        let Listed::Article(article) = entry else {
            continue;
        };
        if let Some(Remote::Present(seen)) = listing.articles.get(&article.id)
            && seen.revision != article.revision
        {
            observed.service.read_first.insert(article.id);
        }
        let waiting = listing.bodiless.get(&article.id);
        let waits = waiting.is_some_and(|listed| listed.revision == article.revision);
        if waits && article.text.is_some() {
            listing.bodiless.remove(&article.id);
            let row = observed.row(article.id);
            listing.article(*article, row, store)?;
        }
    }
    Ok(store.flush_bodies()?)
}

/// Fetches the bodies that the listing lacks: by category, if several of one are new.
async fn fetch_bodies<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    listing: &mut Listing,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    let mut by_category: BTreeMap<CategoryId, u32> = BTreeMap::new();
    for article in listing.bodiless.values() {
        *by_category.entry(article.category).or_default() += 1;
    }
    let several: Vec<CategoryId> = by_category
        .into_iter()
        .filter(|(id, count)| *count > 1 && !observed.remote.categories.contains_key(id))
        .map(|(id, _)| id)
        .collect();
    read_categories(engine, &several, listing, observed).await?;
    let bodiless: Vec<RemoteArticle> = listing.bodiless.values().cloned().collect();
    if bodiless.is_empty() || observed.service.stop.is_some() {
        return Ok(());
    }
    begin_phase(&engine.teller, "reading articles", Some(bodiless.len()), 1);
    for (done, article) in bodiless.into_iter().enumerate() {
        let id = article.id;
        match engine.service.article(id, engine.request.purpose).await {
            Ok(found) if found.text.is_some() => {
                let other = found.revision != article.revision;
                if other {
                    // The listed revision was never read.
                    observed.service.validator_unsafe = true;
                    observed.service.read_first.insert(id);
                }
                if other && is_stale_read(&found, observed) {
                    observed.note_problem(id, STALE);
                } else {
                    listing.bodiless.remove(&id);
                    listing.article(found, observed.row(id), &mut engine.store)?;
                }
            }
            Ok(_) => observed.note_problem(id, "its body cannot be read: the answer has none"),
            Err(error) => {
                let Some(error) = observed.take_error(id, error) else {
                    break;
                };
                if error.kind == ErrorKind::TooLarge {
                    observed.remote.unreadable.insert(id);
                }
                observed.note_problem(id, format!("its body cannot be read: {error}"));
            }
        }
        report_done(&engine.teller, done + 1);
    }
    Ok(engine.store.flush_bodies()?)
}

/// Loads the bodies for three-way merges: of articles whose body changed on both sides, or on the service after the
/// service had rewritten it.
pub(in crate::engine) fn bodies(store: &Store, observed: &Observation) -> anyhow::Result<Bodies> {
    let mut wanted: BTreeSet<TextDigest> = BTreeSet::new();
    for (id, file) in &observed.paired.files {
        let Some(Remote::Present(seen)) = observed.remote.articles.get(id) else {
            continue;
        };
        let (ours, theirs) = (file.version.text, seen.version.text);
        if let Some(shown) = observed
            .base
            .conflicts
            .get(id)
            .and_then(|row| row.remote.as_ref())
        {
            wanted.extend([shown.text, ours, theirs]);
        }
        let Some(row) = observed.row(*id) else {
            if observed.request.resolve.contains_key(id) {
                wanted.extend([ours, theirs]);
            }
            continue;
        };
        let rewritten = row.local.text != row.remote.text;
        if (rewritten || !file.version.agrees(&row.local, Field::Text))
            && !seen.version.agrees(&row.remote, Field::Text)
        {
            wanted.extend([row.local.text, row.remote.text, ours, theirs]);
        }
    }
    let mut bodies = Bodies::new();
    for digest in wanted {
        if let Some(text) = store.text(digest)? {
            bodies.insert(digest, text);
        }
    }
    Ok(bodies)
}

/// The reason for a listed article whose body is a stale read.
const STALE: &str =
    "the service returned an outdated copy of this article; kbsync reads it again in the next sync";

/// Returns whether a response is a stale read: a version that our own writes replaced.
fn is_stale_read(found: &RemoteArticle, observed: &Observation) -> bool {
    observed.row(found.id).is_some_and(|row| {
        let version = version_of(found, &row.remote);
        is_outdated(row, &version, &found.revision)
    })
}
