//! Articles and categories of another workspace stay that workspace's.
//!
//! One token opens several workspaces, and an id is an id in all of them: a folder that was copied from
//! another workspace's mirror names articles that a GET gives without a word. Nothing in the answer says
//! whose they are, but their category does. An article that the state does not know counts only once its
//! category is known to be of this workspace.

use super::categories::folder_of;
use crate::engine::Engine;
use crate::engine::listing::Listing;
use crate::engine::observation::Observation;
use crate::engine::observe::categories::read_categories;
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, CategoryId};
use crate::reconcile::ANOTHERS;
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, Remote, RemoteSnapshot};
use crate::service::{RemoteCategory, Service};
use std::collections::BTreeSet;

/// Notes and reports a category that is another workspace's, and returns whether it is.
pub(super) fn note_if_foreign(
    settings: &Settings,
    category: &RemoteCategory,
    base: &Base,
    observed: &mut Observation,
) -> bool {
    let id = category.id;
    let foreign = category
        .workspace
        .is_some_and(|workspace| workspace != settings.workspace);
    if foreign && observed.remote.foreign.insert(id) {
        report_foreign(settings, id, of_another(id), base, observed);
    }
    foreign
}

/// Reports a problem, if anything here claims to be that category. A file that only names an article in it is reported
/// with that file.
pub(super) fn report_foreign(
    settings: &Settings,
    id: CategoryId,
    message: String,
    base: &Base,
    observed: &mut Observation,
) {
    let path = folder_of(base, &observed.local, id);
    if path.is_empty() && !settings.categories.contains(&id) {
        return;
    }
    observed.problems.push(Problem::at(path, None, message));
}

/// Reads the categories of articles that only their files' ids brought to light, and leaves those
/// alone that are not of this workspace.
pub(super) async fn place_unknown_ids<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &Base,
    observed: &mut Observation,
) -> anyhow::Result<()> {
    let unknown_ids: BTreeSet<ArticleId> = observed
        .paired
        .files
        .keys()
        .filter(|id| !base.articles.contains_key(id))
        .copied()
        .collect();
    let unplaced = |remote: &RemoteSnapshot| -> Vec<(ArticleId, CategoryId)> {
        unknown_ids
            .iter()
            .filter_map(|id| match remote.articles.get(id)? {
                Remote::Present(seen) => Some((*id, seen.version.category)),
                Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
            })
            .filter(|(_, category)| {
                !base.categories.contains_key(category) && !remote.categories.contains_key(category)
            })
            .collect()
    };
    let wanted: BTreeSet<CategoryId> = unplaced(&observed.remote)
        .into_iter()
        .map(|(_, category)| category)
        .filter(|category| !observed.remote.foreign.contains(category))
        .collect();
    let wanted: Vec<CategoryId> = wanted.into_iter().collect();
    if observed.service.stop.is_none() {
        let mut listing = Listing::default();
        read_categories(engine, &wanted, base, &mut listing, observed).await?;
    }
    for (id, category) in unplaced(&observed.remote) {
        let why = if observed.remote.foreign.contains(&category) {
            ANOTHERS.to_owned()
        } else {
            format!("its category {category} cannot be read")
        };
        observed.remote.articles.insert(id, Remote::Unknown(why));
    }
    mark_foreign_unknown(base, &mut observed.remote);
    Ok(())
}

/// Nothing is concluded about articles in other workspaces' categories.
pub(super) fn mark_foreign_unknown(base: &Base, remote: &mut RemoteSnapshot) {
    let foreign = &remote.foreign;
    for (id, entry) in &mut remote.articles {
        if let Remote::Present(seen) = &*entry
            && foreign.contains(&seen.version.category)
            && !base.articles.contains_key(id)
        {
            *entry = Remote::Unknown(ANOTHERS.to_owned());
        }
    }
}

/// Returns the sentence about such a category.
pub(super) fn of_another(id: CategoryId) -> String {
    format!(
        "category {id} belongs to another workspace; move the folder there, or take out the `id:` lines in it for \
         new articles here"
    )
}
