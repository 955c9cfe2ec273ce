//! Versions of a `_category.yaml` go into the history: the whole file, comments included.

use super::category::seen_as;
use crate::engine::form::{MAX_YAML, category_changes, category_file, category_version};
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::CategoryDocument;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Side, TextDigest};
use crate::reconcile::plan::SettleCategory;
use crate::state::store::Store;
use crate::state::{Outcome, SeenVersion};

fn keep(store: &mut Store, seen: &SeenVersion, source: &str) -> Outcome<()> {
    store.learn(|tx| {
        tx.put_body(source)?;
        tx.record(seen).map(drop)
    })
}

/// Stores the words of a category on the service, if they are new: before anything decides on them.
pub(in crate::engine) fn keep_category_there(
    disk: &impl Disk,
    store: &mut Store,
    id: CategoryId,
    words: &CategoryVersion,
) -> Outcome<()> {
    let row = store.category(id)?;
    let Some(row) = row.filter(|row| row.remote != *words) else {
        return Ok(());
    };
    let folder = row.folder.as_deref().unwrap_or(&words.slug);
    let source = as_its_file(disk, id, folder, words);
    let seen = (Side::Remote, "edited on the service");
    let seen = seen_as(id, folder, seen, words, TextDigest::of(&source));
    keep(store, &seen, &source)
}

/// A category's `_category.yaml` as it would be with other words: the writer's comments stay.
fn as_its_file(disk: &impl Disk, id: CategoryId, folder: &str, words: &CategoryVersion) -> String {
    let content = disk.read(At::Folder(folder), CATEGORY_FILE, MAX_YAML);
    let document = content.ok().filter(|content| content.whole);
    let document = document.and_then(|found| CategoryDocument::parse(&found.bytes).ok());
    let Some(document) = document else {
        return category_file(id, folder, words);
    };
    document.edit(&category_changes(id, folder, words, document.slug()))
}

/// Before a category is changed on the service: what the service has, and what the writer saved.
pub(in crate::engine) fn keep_both_sides(
    disk: &impl Disk,
    store: &mut Store,
    settle: &SettleCategory,
) -> Outcome<()> {
    let folder = settle.from.as_ref().or(settle.to.as_ref());
    let folder = folder.unwrap_or(&settle.seen.slug);
    let theirs = as_its_file(disk, settle.id, folder, &settle.seen);
    let seen = (Side::Remote, "replaced");
    let seen = seen_as(
        settle.id,
        folder,
        seen,
        &settle.seen,
        TextDigest::of(&theirs),
    );
    keep(store, &seen, &theirs)?;
    keep_yaml(disk, store, settle, (Side::Local, "edited here"))
}

/// After a category was changed on the service: both sides say what the file says.
pub(in crate::engine) fn keep_pushed(
    disk: &impl Disk,
    store: &mut Store,
    settle: &SettleCategory,
) -> Outcome<()> {
    keep_yaml(disk, store, settle, (Side::Both, "pushed"))
}

/// Keeps `_category.yaml` as it is. Where it cannot be read there is nothing that would be replaced.
fn keep_yaml(
    disk: &impl Disk,
    store: &mut Store,
    settle: &SettleCategory,
    seen: (Side, &str),
) -> Outcome<()> {
    let Some(folder) = &settle.to else {
        return Ok(());
    };
    let Ok(content) = disk.read(At::Folder(folder), CATEGORY_FILE, MAX_YAML) else {
        return Ok(());
    };
    match String::from_utf8(content.bytes) {
        Ok(source) if content.whole => {
            let text = TextDigest::of(&source);
            let seen = seen_as(settle.id, folder, seen, &settle.file, text);
            keep(store, &seen, &source)
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the words of a file; a missing name or slug is the folder's.
pub(in crate::engine) fn words_of(document: &CategoryDocument, folder: &str) -> CategoryVersion {
    category_version(folder, document).unwrap_or_else(|_no_slug| CategoryVersion {
        name: document.name().unwrap_or(folder).to_owned(),
        slug: folder.to_owned(),
        description: document.description().to_owned(),
        meta_description: document.meta_description().to_owned(),
    })
}
