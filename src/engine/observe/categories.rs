//! Which categories are read in a cycle, and reading them.

use super::bodies::use_bodies;
use super::foreign::{self, note_if_foreign, report_foreign};
use crate::engine::Engine;
use crate::engine::backoff::{ASK_AGAIN, Answer, Backoff};
use crate::engine::history::category::keep_category_there;
use crate::engine::listing::Listing;
use crate::engine::observation::Observation;
use crate::engine::ports::{begin_phase, report_done};
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::CategoryId;
use crate::model::base::CategoryRow;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, LocalSnapshot, Remote};
use crate::service::Service;
use crate::state::Target;
use std::collections::BTreeSet;

/// Categories that are read again in one cycle, once their day is over.
const MAX_REFRESHED: usize = 5;

/// Categories are read when first seen, once a day, when an article moved into or out of them, when a command
/// names their folder, and before their words are changed.
pub(super) fn categories_to_read<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    base: &Base,
    listing: &Listing,
    observed: &mut Observation,
) -> anyhow::Result<Vec<CategoryId>> {
    let now = engine.store.now();
    let backoff = Backoff::read(&engine.store, &engine.request)?;
    let mut wanted: BTreeSet<CategoryId> = listing
        .bodiless
        .iter()
        .map(|article| article.category)
        .chain(
            observed
                .local
                .categories
                .iter()
                .filter_map(|category| category.id),
        )
        .chain(engine.settings.categories.iter().copied())
        .filter(|id| !base.categories.contains_key(id))
        .collect();
    for (id, entry) in &listing.articles {
        let Remote::Present(seen) = entry else {
            continue;
        };
        let row = base.articles.get(id);
        let moved = row.is_some_and(|row| row.remote.category != seen.version.category);
        if moved || !base.categories.contains_key(&seen.version.category) {
            wanted.insert(seen.version.category);
        }
        if let Some(row) = row.filter(|_| moved) {
            wanted.insert(row.remote.category);
        }
    }
    // Once a day, and not all on the same poll: the oldest first.
    let mut old: Vec<&CategoryRow> = base
        .categories
        .values()
        .filter(|row| now.millis_since(row.read_at) >= ASK_AGAIN)
        .collect();
    old.sort_by_key(|row| (backoff.failed(Target::Category(row.id)), row.read_at));
    wanted.extend(old.iter().take(MAX_REFRESHED).map(|row| row.id));
    // Whoever names a folder wants to see it as it is.
    if !engine.request.is_background && !engine.request.scope.is_empty() {
        let policy = engine.settings.policy(&engine.request);
        let named = |row: &&CategoryRow| {
            let folder = row.folder.as_deref();
            folder.is_some_and(|folder| policy.covers_folder(folder))
        };
        let rows = base.categories.values().filter(named);
        wanted.extend(rows.take(MAX_REFRESHED).map(|row| row.id));
    }
    wanted.retain(|id| match backoff.of_category(*id) {
        Some((why, foreign)) => {
            report_unread(&engine.settings, *id, why, foreign, base, observed);
            false
        }
        None => true,
    });
    let changed = changed_categories(&engine.settings, base, observed);
    wanted.extend(changed);
    wanted.retain(|id| !observed.remote.categories.contains_key(id));
    Ok(wanted.into_iter().collect())
}

pub(super) async fn read_categories<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    wanted: &[CategoryId],
    base: &Base,
    listing: &mut Listing,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    begin_phase(
        &engine.teller,
        "reading categories",
        Some(wanted.len() as u64),
        1,
    );
    for (done, &id) in wanted.iter().enumerate() {
        match engine.service.category(id, engine.request.purpose).await {
            Ok((category, articles)) => {
                if note_if_foreign(&engine.settings, &category, base, observed) {
                    let (why, foreign) = (foreign::of_another(id), true);
                    engine
                        .gathered
                        .answers
                        .note(Target::Category(id), Answer::Category { why, foreign });
                    continue;
                }
                engine.gathered.answers.note(Target::Category(id), None);
                let store = &mut engine.store;
                keep_category_there(&*engine.disk, store, id, &category.version)?;
                observed
                    .remote
                    .categories
                    .insert(id, (category.version, category.revision));
                use_bodies(&mut engine.store, articles, listing, base, observed)?;
            }
            Err(error) if error.stops_all() => {
                observed.stop_for(error);
                break;
            }
            Err(error) => {
                let why = format!("its category cannot be read: {error}");
                report_unread(&engine.settings, id, why.clone(), false, base, observed);
                let foreign = false;
                engine
                    .gathered
                    .answers
                    .note(Target::Category(id), Answer::Category { why, foreign });
            }
        }
        report_done(&engine.teller, done as u64 + 1);
    }
    Ok(())
}

/// Reports a category that cannot be read, or is another workspace's.
fn report_unread(
    settings: &Settings,
    id: CategoryId,
    message: String,
    foreign: bool,
    base: &Base,
    observed: &mut Observation,
) {
    if foreign {
        observed.remote.foreign.insert(id);
        report_foreign(settings, id, message, base, observed);
        return;
    }
    observed.problems.push(Problem::at(
        folder_of(base, &observed.local, id),
        None,
        message,
    ));
}

/// Categories whose words are about to change: an earlier look says nothing of what would be replaced.
fn changed_categories(settings: &Settings, base: &Base, observed: &Observation) -> Vec<CategoryId> {
    let policy = settings.policy(&observed.request);
    let changed = |row: &&CategoryRow| {
        observed.request.direction.pushes()
            && observed.local.categories.iter().any(|category| {
                let mine = category.id == Some(row.id)
                    || (category.id.is_none() && row.folder.as_deref() == Some(&category.folder));
                let is_unready = observed.local.unready_categories.contains(&category.folder);
                let is_changed = match &category.version {
                    Some(version) => *version != row.local,
                    // A file that is gone says nothing, and comes back with what the service has.
                    None => {
                        !is_unready
                            && observed.request.direction.pulls()
                            && policy.covers_folder(&category.folder)
                    }
                };
                mine && (is_changed || row.folder.as_deref() != Some(&category.folder))
            })
    };
    let rows = base.categories.values().filter(changed);
    rows.map(|row| row.id).collect()
}

pub(super) fn folder_of(base: &Base, local: &LocalSnapshot, id: CategoryId) -> String {
    local
        .categories
        .iter()
        .find(|category| category.id == Some(id))
        .map(|category| category.folder.clone())
        .or_else(|| base.categories.get(&id).and_then(|row| row.folder.clone()))
        .unwrap_or_default()
}
