//! Versions of `_category.yaml` in the history: the whole file, comments included.
//!
//! A category's words are stored in an article's fields: name as title, description as introtext, meta_description as
//! keywords, and the whole `_category.yaml` as body. The subject is the category's id, so that a renamed folder keeps
//! its history.

use crate::engine::form::category_file;
use crate::mirror::document::CategoryDocument;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Place, Side, TextDigest, Version};
use crate::state::store::{HistoryEntry, Store};
use crate::state::{SeenVersion, StateResult, StoredVersion, Subject};

/// Makes a version of a category's file; `source` is the whole file.
pub(in crate::engine) fn seen_as(
    id: CategoryId,
    folder: &str,
    (side, cause): (Side, &str),
    words: &CategoryVersion,
    source: &str,
) -> SeenVersion {
    let text = TextDigest::of(source);
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
) -> StateResult<bool> {
    let versions = store.versions(&Subject::category(id))?;
    // The newest comes first.
    let mut versions = versions.iter();
    let newer = versions.any(|kept| was_here(kept) && self::words(kept) != *words);
    Ok(newer && versions.any(|kept| self::words(kept) == *words))
}

/// Returns the words of a stored version.
pub(in crate::engine) fn words(kept: &StoredVersion) -> CategoryVersion {
    let version = &kept.seen.version;
    CategoryVersion {
        name: version.title.clone(),
        slug: version.slug.clone(),
        description: version.introtext.clone(),
        meta_description: version.keywords.clone(),
    }
}

/// Returns the last text of the file in the mirror; in this folder, if given.
pub(in crate::engine) fn last_here(
    store: &Store,
    id: CategoryId,
    folder: Option<&str>,
) -> StateResult<Option<String>> {
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
) -> StateResult<Option<CategoryDocument>> {
    let last = last_here(store, id, folder)?;
    Ok(last.and_then(|said| CategoryDocument::parse(said.as_bytes()).ok()))
}

/// Returns whether a version was in the mirror, and not only on the service.
pub(in crate::engine) fn was_here(kept: &StoredVersion) -> bool {
    kept.seen.side != Side::Remote
}

/// Stores the words of a category on the service, if they are new, before any decision on them.
pub(in crate::engine) fn store_category_there(
    store: &mut Store,
    id: CategoryId,
    words: &CategoryVersion,
) -> StateResult<()> {
    let row = store.category(id)?;
    let Some(row) = row.filter(|row| row.remote != *words) else {
        return Ok(());
    };
    let folder = row.folder.as_deref().unwrap_or(&words.slug);
    keep_theirs(store, (id, folder), "edited on the service", words)
}

/// Stores the service's words in the form of the last file in the mirror, with the writer's comments.
pub(in crate::engine) fn keep_theirs(
    store: &mut Store,
    (id, folder): (CategoryId, &str),
    cause: &str,
    words: &CategoryVersion,
) -> StateResult<()> {
    let last = last_document(store, id, None)?;
    let source = category_file(id, folder, words, last.as_ref());
    let seen = seen_as(id, folder, (Side::Remote, cause), words, &source);
    store.gather(HistoryEntry::of_seen(seen, &source, &source))?;
    store.flush_bodies()
}
