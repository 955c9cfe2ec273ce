//! Versions of `_category.yaml` in the history: the whole file, comments included.
//!
//! A category's words are stored in an article's fields: name as title, description as introtext, meta_description as
//! keywords, and the whole `_category.yaml` as body. The subject is the category's id, so that a renamed folder keeps
//! its history.

use crate::engine::form::{MAX_YAML, category_changes, category_file};
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::CategoryDocument;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Place, Side, TextDigest, Version};
use crate::reconcile::plan::SettleCategory;
use crate::state::store::Store;
use crate::state::{Outcome, SeenVersion, StoredVersion, Subject};

/// Makes a version of a category's file; `text` is the digest of the whole file.
pub(in crate::engine) fn seen_as(
    id: CategoryId,
    folder: &str,
    (side, cause): (Side, &str),
    words: &CategoryVersion,
    text: TextDigest,
) -> SeenVersion {
    SeenVersion {
        subject: Subject::category(id),
        place: Place::new(folder, CATEGORY_FILE),
        side,
        cause: cause.to_owned(),
        version: Version {
            title: words.name.clone(),
            slug: words.slug.clone(),
            category: id,
            introtext: words.description.clone(),
            keywords: words.meta_description.clone(),
            text,
        },
        file: Some(text),
    }
}

/// Returns whether the history has a version with these words, and a later one in the mirror with others.
pub(in crate::engine) fn replaced(
    store: &Store,
    id: CategoryId,
    words: &CategoryVersion,
) -> Outcome<bool> {
    let versions = store.versions(&Subject::category(id))?;
    let said = |kept: &StoredVersion| {
        let said = &kept.seen.version;
        said.title == words.name
            && said.slug == words.slug
            && said.introtext == words.description
            && said.keywords == words.meta_description
    };
    // The newest comes first.
    let mut versions = versions.iter();
    let newer = versions.any(|kept| was_here(kept) && !said(kept));
    Ok(newer && versions.any(said))
}

/// Returns the last text of the file in the mirror; in this folder, if given.
pub(in crate::engine) fn last_here(
    store: &Store,
    id: CategoryId,
    folder: Option<&str>,
) -> Outcome<Option<String>> {
    let versions = store.versions(&Subject::category(id))?;
    let last = versions.iter().find(|kept| was_here(kept));
    let last = last.filter(|kept| folder.is_none_or(|folder| kept.seen.place.folder == folder));
    match last.and_then(|kept| kept.seen.file) {
        Some(whole) => store.body(whole),
        None => Ok(None),
    }
}

/// Returns the document of [`last_here`]; `None`: there is none, or it cannot be parsed.
pub(in crate::engine) fn last_document(
    store: &Store,
    id: CategoryId,
    folder: Option<&str>,
) -> Outcome<Option<CategoryDocument>> {
    let last = last_here(store, id, folder)?;
    Ok(last.and_then(|said| CategoryDocument::parse(said.as_bytes()).ok()))
}

/// Returns whether a version was in the mirror, and not only on the service.
pub(in crate::engine) fn was_here(kept: &StoredVersion) -> bool {
    kept.seen.side != Side::Remote
}

/// Stores the words of a category on the service, if they are new, before any decision on them.
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
    keep_theirs(disk, store, (id, folder), "edited on the service", words)
}

/// Stores the service's and the writer's version of a category, before it is changed on the service.
pub(in crate::engine) fn keep_both_sides(
    disk: &impl Disk,
    store: &mut Store,
    settle: &SettleCategory,
) -> Outcome<()> {
    let folder = settle.from.as_ref().or(settle.to.as_ref());
    let folder = folder.unwrap_or(&settle.seen.slug);
    keep_theirs(disk, store, (settle.id, folder), "replaced", &settle.seen)?;
    keep_yaml(disk, store, settle, (Side::Local, "edited here"))
}

/// Stores the file's version as that of both sides, after the category was changed on the service.
pub(in crate::engine) fn keep_pushed(
    disk: &impl Disk,
    store: &mut Store,
    settle: &SettleCategory,
) -> Outcome<()> {
    keep_yaml(disk, store, settle, (Side::Both, "pushed"))
}

/// Stores the service's words in the form of the present `_category.yaml`, with the writer's comments.
fn keep_theirs(
    disk: &impl Disk,
    store: &mut Store,
    (id, folder): (CategoryId, &str),
    cause: &str,
    words: &CategoryVersion,
) -> Outcome<()> {
    let document =
        own_file(disk, folder).and_then(|own| CategoryDocument::parse(own.as_bytes()).ok());
    let source = match document {
        Some(own) => own.edit(&category_changes(id, folder, words, own.slug())),
        None => category_file(id, folder, words),
    };
    let text = TextDigest::of(&source);
    let seen = seen_as(id, folder, (Side::Remote, cause), words, text);
    keep(store, &seen, &source)
}

/// Stores `_category.yaml` as it is. If it cannot be read, nothing would be replaced.
fn keep_yaml(
    disk: &impl Disk,
    store: &mut Store,
    settle: &SettleCategory,
    seen: (Side, &str),
) -> Outcome<()> {
    let Some(folder) = &settle.to else {
        return Ok(());
    };
    let Some(source) = own_file(disk, folder) else {
        return Ok(());
    };
    let text = TextDigest::of(&source);
    let seen = seen_as(settle.id, folder, seen, &settle.file, text);
    keep(store, &seen, &source)
}

/// Returns the content of a folder's `_category.yaml`, if it is text and not too long.
fn own_file(disk: &impl Disk, folder: &str) -> Option<String> {
    let content = disk
        .read(At::Folder(folder), CATEGORY_FILE, MAX_YAML)
        .ok()?;
    let text = String::from_utf8(content.bytes).ok()?;
    content.whole.then_some(text)
}

fn keep(store: &mut Store, seen: &SeenVersion, source: &str) -> Outcome<()> {
    store.learn(|tx| {
        tx.put_body(source)?;
        tx.record(seen).map(drop)
    })
}
