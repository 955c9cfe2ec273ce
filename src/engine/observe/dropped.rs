//! Drops rows of the base before the cycle draws conclusions from them.
//!
//! - An article whose file was removed while `.kbsyncignore` named the file is forgotten. Without the rule the file
//!   comes back from the service, and the article is not deleted.
//! - A category's row is damaged when no article in its folder has the row's id, and the articles have an id without a
//!   row. Without the row, `_category.yaml` or the slug identifies the category again; with the row, its articles would
//!   move.

use super::Engine;
use super::local::Scanned;
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Disk};
use crate::model::{ArticleId, CategoryId, Place, Side};
use crate::reconcile::snapshot::Base;
use crate::service::Service;
use crate::state::Deed;
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// Forgets the articles whose files were removed while they were ignored. Nothing is forgotten while a request is
/// pending or a part of the mirror is unreadable: the file may be elsewhere.
pub(super) fn forget_out_of_scope<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    scanned: &mut Scanned,
    in_motion: &InMotion,
) -> anyhow::Result<()> {
    let is_sure = scanned.doubt.is_none() && scanned.snapshot.unread.is_empty();
    let rows = base.articles.values();
    let ignored = rows.filter(|row| scanned.side.layout.ignores(&row.place));
    let ignored: Vec<(ArticleId, Place)> = ignored.map(|row| (row.id, row.place.clone())).collect();
    if ignored.is_empty() || !is_sure || !engine.store.pending_requests()?.is_empty() {
        return Ok(());
    }
    let files = scanned.snapshot.files.iter().filter_map(|file| file.id);
    let unknown = scanned.snapshot.unknown.iter();
    let named: BTreeSet<ArticleId> = files
        .chain(unknown.filter_map(|unknown| unknown.id))
        .chain(base.conflicts.keys().copied())
        .collect();
    let mut left = ignored;
    left.retain(|(id, place)| {
        !named.contains(id) && !in_motion.covers(place) && is_gone(&*engine.disk, place)
    });
    if left.is_empty() {
        return Ok(());
    }
    for (id, place) in &left {
        base.articles.remove(id);
        let unknown = &mut scanned.snapshot.unknown;
        unknown.retain(|unknown| unknown.place != *place);
    }
    engine.store.learn(|tx| {
        left.iter().try_for_each(|(id, place)| {
            tx.remove_article(*id)?;
            let why = "its file was removed while `.kbsyncignore` named it";
            tx.event(&Deed::new(
                "forget",
                Side::Both,
                &place.to_string(),
                Some(*id),
                why,
            ))
        })
    })?;
    Ok(())
}

/// Returns whether there is surely no file at a place.
fn is_gone(disk: &impl Disk, place: &Place) -> bool {
    let folder = disk.look(At::Root, &place.folder);
    let file = || disk.look(At::Folder(&place.folder), &place.file);
    match folder {
        Ok(None) => true,
        Ok(Some(_)) => matches!(file(), Ok(None)),
        Err(_) => false,
    }
}

/// Drops the damaged rows of categories.
pub(super) fn drop_damaged(store: &mut Store, base: &mut Base) -> anyhow::Result<()> {
    let damaged = damaged(base);
    if damaged.is_empty() {
        return Ok(());
    }
    for id in &damaged {
        tracing::warn!(category = %id, "the state had a damaged row for this category; the row is built again");
        base.categories.remove(id);
    }
    store.learn(|tx| damaged.iter().try_for_each(|id| tx.remove_category(*id)))?;
    Ok(())
}

/// Returns the rows whose id no article in their folder has, while the articles have an id without a row.
fn damaged(base: &Base) -> Vec<CategoryId> {
    let mut categories: BTreeMap<&str, BTreeSet<CategoryId>> = BTreeMap::new();
    for row in base.articles.values() {
        let of_folder = categories.entry(&row.place.folder).or_default();
        of_folder.insert(row.local.category);
    }
    let rows = base.categories.values();
    let is_damaged = |folder: &str, id: CategoryId| {
        categories.get(folder).is_some_and(|of_folder| {
            let unknown = |id| !base.categories.contains_key(id);
            !of_folder.contains(&id) && of_folder.iter().any(unknown)
        })
    };
    rows.filter(|row| {
        row.folder
            .as_deref()
            .is_some_and(|folder| is_damaged(folder, row.id))
    })
    .map(|row| row.id)
    .collect()
}
