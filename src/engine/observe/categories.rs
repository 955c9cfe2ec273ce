//! Categories: selects and reads them in a cycle, and drops the damaged rows of the base.
//!
//! Articles and categories of another workspace are left alone. One token opens several workspaces, and ids are valid
//! in all of them: a folder copied from another workspace's mirror names articles that a GET returns without complaint.
//! The response does not name the workspace, but the category does. So an unknown article counts only once its category
//! is known to be of this workspace.

use super::remote::use_bodies;
use crate::engine::Engine;
use crate::engine::backoff::{ASK_AGAIN, Backoff, StoredAnswer};
use crate::engine::history::category::store_category_there;
use crate::engine::listing::Listing;
use crate::engine::observation::{Extent, Observation};
use crate::engine::ports::{begin_phase, report_done};
use crate::engine::settings::{Cause, Settings};
use crate::mirror::disk::Disk;
use crate::model::base::CategoryRow;
use crate::model::{ArticleId, CategoryId};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, Remote, RemoteSnapshot};
use crate::service::{ErrorKind, RemoteCategory, Service};
use crate::state::Target;
use crate::state::store::Store;
use std::collections::BTreeSet;

/// The largest number of known categories that one cycle reads again for their age, and for the folders that a command
/// names.
const MAX_REFRESHED: usize = 5;

/// Returns the categories to read: those seen for the first time, not read for a day, with articles that moved in or
/// out, in a folder that a command names, or about to be changed.
pub(super) fn categories_to_read<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    listing: &Listing,
    observed: &mut Observation,
) -> anyhow::Result<Vec<CategoryId>> {
    let now = engine.store.now();
    let backoff = Backoff::read(&engine.store, &engine.request)?;
    let mut wanted: BTreeSet<CategoryId> = listing
        .bodiless
        .values()
        .map(|article| article.category)
        .chain(
            observed
                .local
                .categories
                .iter()
                .filter_map(|category| category.id),
        )
        .chain(engine.settings.categories.iter().copied())
        .filter(|id| !observed.base.categories.contains_key(id))
        .collect();
    for (id, entry) in &listing.articles {
        let Remote::Present(seen) = entry else {
            continue;
        };
        let row = observed.row(*id);
        let moved = row.is_some_and(|row| row.remote.category != seen.version.category);
        let category = seen.version.category;
        if moved || !observed.base.categories.contains_key(&category) {
            wanted.insert(category);
        }
        if let Some(row) = row.filter(|_| moved) {
            wanted.insert(row.remote.category);
        }
    }
    // Once a day, but not all in the same cycle: the oldest first.
    let mut old: Vec<&CategoryRow> = observed
        .base
        .categories
        .values()
        .filter(|row| !row.read_at.is_recent(now, ASK_AGAIN))
        .collect();
    old.sort_by_key(|row| (backoff.failures(Target::Category(row.id)) > 0, row.read_at));
    wanted.extend(old.iter().take(MAX_REFRESHED).map(|row| row.id));
    // A command that names a folder reads it anew.
    if engine.request.cause != Cause::Background && !engine.request.scope.is_empty() {
        let policy = engine.settings.policy(&engine.request);
        let named = |row: &&CategoryRow| {
            let folder = row.folder.as_deref();
            folder.is_some_and(|folder| policy.scope.covers_folder(folder))
        };
        let rows = observed.base.categories.values().filter(named);
        wanted.extend(rows.take(MAX_REFRESHED).map(|row| row.id));
    }
    wanted.retain(|id| match backoff.of_category(*id) {
        Some((why, foreign)) => {
            report_unread(&engine.settings, *id, why, foreign, observed);
            false
        }
        None => true,
    });
    let changed = changed_categories(&engine.settings, observed);
    wanted.extend(changed);
    wanted.retain(|id| !observed.remote.categories.contains_key(id));
    Ok(wanted.into_iter().collect())
}

/// Reads categories. The row of a category that is gone, as its articles are, is removed from the base.
pub(super) async fn read_categories<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    wanted: &[CategoryId],
    listing: &mut Listing,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    if wanted.is_empty() || observed.service.stop.is_some() {
        return Ok(());
    }
    begin_phase(&engine.teller, "reading categories", Some(wanted.len()), 1);
    for (done, &id) in wanted.iter().enumerate() {
        let answers = &mut engine.gathered.answers;
        match engine.service.category(id, engine.request.purpose).await {
            Ok((category, articles)) => {
                if !take_category(&mut engine.store, &engine.settings, category, observed)? {
                    let (why, foreign) = (of_another(id), true);
                    answers.note(
                        Target::Category(id),
                        StoredAnswer::Category { why, foreign },
                    );
                    continue;
                }
                answers.note(Target::Category(id), None);
                use_bodies(&mut engine.store, articles, listing, observed)?;
            }
            Err(error) if error.stops_all() => {
                observed.stop_for(error);
                break;
            }
            Err(error)
                if error.kind == ErrorKind::NotFound
                    && observed.extent == Extent::All
                    && observed.base.categories.contains_key(&id)
                    && !has_articles(id, &observed.base, listing) =>
            {
                tracing::info!(category = %id, "the service has no such category any more");
                answers.note(Target::Category(id), None);
                observed.base.categories.remove(&id);
                let store = &mut engine.store;
                store.write_unless_dry_run(|tx| tx.remove_category(id))?;
            }
            Err(error) => {
                let why = format!("its category cannot be read: {error}");
                report_unread(&engine.settings, id, why.clone(), false, observed);
                let foreign = false;
                answers.note(
                    Target::Category(id),
                    StoredAnswer::Category { why, foreign },
                );
            }
        }
        report_done(&engine.teller, done + 1);
    }
    Ok(())
}

/// Returns whether a category has articles, or may get some, by the base or by the listing.
fn has_articles(id: CategoryId, base: &Base, listing: &Listing) -> bool {
    let rows = base.articles.values();
    let rows = rows.flat_map(|row| [row.local.category, row.remote.category]);
    let creations = base.creations.iter();
    let creations = creations.map(|creation| creation.first.version.category);
    let listed = listing.articles.values().filter_map(Remote::present);
    let listed = listed.map(|seen| seen.version.category);
    let bodiless = listing.bodiless.values().map(|article| article.category);
    let mut all = rows.chain(creations).chain(listed).chain(bodiless);
    all.any(|category| category == id)
}

/// Reports a category that cannot be read, or is another workspace's. The latter is a problem only if a folder or the
/// settings name the category: a file that only names one of its articles has its own problem.
fn report_unread(
    settings: &Settings,
    id: CategoryId,
    message: String,
    foreign: bool,
    observed: &mut Observation,
) {
    let mut folders = observed.local.categories.iter();
    let local = folders.find(|category| category.id == Some(id));
    let row = observed.base.categories.get(&id);
    let folder = local.map(|category| &category.folder);
    let folder = folder.or_else(|| row?.folder.as_ref());
    let path = folder.cloned().unwrap_or_default();
    let is_named = !path.is_empty() || settings.categories.contains(&id);
    if foreign {
        observed.remote.foreign.insert(id);
    }
    if !foreign || is_named {
        observed.problems.push(Problem::at(path, None, message));
    }
}

/// Returns the categories that are about to be changed: an earlier read does not show the version to be replaced.
fn changed_categories(settings: &Settings, observed: &Observation) -> Vec<CategoryId> {
    let policy = settings.policy(&observed.request);
    let changed = |row: &&CategoryRow| {
        observed.request.direction.pushes()
            && observed.local.categories.iter().any(|category| {
                let mine = category.id == Some(row.id)
                    || (category.id.is_none() && row.folder.as_deref() == Some(&category.folder));
                let is_unready = observed.local.unready_categories.contains(&category.folder);
                let is_changed = match &category.version {
                    Some(version) => *version != row.local,
                    // A missing file comes back with the service's words.
                    None => {
                        !is_unready
                            && observed.request.direction.pulls()
                            && policy.scope.covers_folder(&category.folder)
                    }
                };
                mine && (is_changed || row.folder.as_deref() != Some(&category.folder))
            })
    };
    let rows = observed.base.categories.values().filter(changed);
    rows.map(|row| row.id).collect()
}

/// Takes a category over into the observation, and stores its words. Returns whether the category is one of this
/// workspace: another workspace's is only reported, the first time.
pub(super) fn take_category(
    store: &mut Store,
    settings: &Settings,
    category: RemoteCategory,
    observed: &mut Observation,
) -> anyhow::Result<bool> {
    let id = category.id;
    let mut workspace = category.workspace.iter();
    if workspace.any(|workspace| *workspace != settings.workspace) {
        if !observed.remote.foreign.contains(&id) {
            report_unread(settings, id, of_another(id), true, observed);
        }
        return Ok(false);
    }
    store_category_there(store, id, &category.version)?;
    let read = (category.version, category.revision);
    observed.remote.categories.insert(id, read);
    Ok(true)
}

/// Reads the categories of articles that only a file's `id:` line named. Articles of another workspace
/// are marked.
pub(super) async fn place_unknown_ids<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    let unknown_ids: BTreeSet<ArticleId> = observed
        .paired
        .files
        .keys()
        .copied()
        .filter(|id| observed.row(*id).is_none())
        .collect();
    let unplaced = |observed: &Observation| -> Vec<(ArticleId, CategoryId)> {
        let (base, remote) = (&observed.base, &observed.remote);
        unknown_ids
            .iter()
            .filter_map(|id| Some((*id, remote.articles.get(id)?.present()?.version.category)))
            .filter(|(_, category)| {
                !base.categories.contains_key(category) && !remote.categories.contains_key(category)
            })
            .collect()
    };
    let wanted: BTreeSet<CategoryId> = unplaced(observed)
        .into_iter()
        .map(|(_, category)| category)
        .filter(|category| !observed.remote.foreign.contains(category))
        .collect();
    let wanted: Vec<CategoryId> = wanted.into_iter().collect();
    let mut listing = Listing::default();
    read_categories(engine, &wanted, &mut listing, observed).await?;
    for (id, category) in unplaced(observed) {
        let entry = if observed.remote.foreign.contains(&category) {
            Remote::Foreign
        } else {
            Remote::Unknown(format!("its category {category} cannot be read"))
        };
        observed.remote.articles.insert(id, entry);
    }
    mark_foreign_unknown(&observed.base, &mut observed.remote);
    Ok(())
}

/// Marks the articles in other workspaces' categories.
pub(super) fn mark_foreign_unknown(base: &Base, remote: &mut RemoteSnapshot) {
    let foreign = &remote.foreign;
    for (id, entry) in &mut remote.articles {
        if let Remote::Present(seen) = &*entry
            && foreign.contains(&seen.version.category)
            && !base.articles.contains_key(id)
        {
            *entry = Remote::Foreign;
        }
    }
}

/// Returns the message about another workspace's category.
fn of_another(id: CategoryId) -> String {
    format!(
        "category {id} belongs to another workspace; move the folder there, or take out the `id:` lines in it for \
         new articles here"
    )
}

/// Drops the damaged rows of categories: with such a row, articles would move. Without it, `_category.yaml` or the slug
/// identifies the category again.
pub(super) fn drop_damaged(store: &mut Store, base: &mut Base) -> anyhow::Result<()> {
    let damaged = damaged(base);
    if damaged.is_empty() {
        return Ok(());
    }
    for id in &damaged {
        tracing::warn!(category = %id, "the state had a damaged row for this category; the row is built again");
        base.categories.remove(id);
    }
    store.write_unless_dry_run(|tx| damaged.iter().try_for_each(|id| tx.remove_category(*id)))?;
    Ok(())
}

/// Returns the damaged rows: no article in the folder has the row's id, but one has an id without a row.
fn damaged(base: &Base) -> Vec<CategoryId> {
    let rows = base.articles.values();
    let uses = rows.map(|row| (row.place.folder.as_str(), row.local.category));
    let uses: BTreeSet<(&str, CategoryId)> = uses.collect();
    let unknown = uses
        .iter()
        .filter(|(_, id)| !base.categories.contains_key(id));
    let unclear: BTreeSet<&str> = unknown.map(|(folder, _)| *folder).collect();
    let is_damaged = |row: &&CategoryRow| {
        let folder = row.folder.as_deref();
        folder.is_some_and(|folder| unclear.contains(folder) && !uses.contains(&(folder, row.id)))
    };
    let rows = base.categories.values().filter(is_damaged);
    rows.map(|row| row.id).collect()
}
