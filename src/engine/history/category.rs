//! Versions of `_category.yaml` in the history, and the last of them.
//!
//! A category's words stand in the places of an article's: name for title, description for introtext,
//! meta_description for keywords; the body is the whole `_category.yaml`. They belong to the category's id,
//! so that a renamed folder takes its past along.

use crate::mirror::document::CategoryDocument;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Place, Side, TextDigest, Version};
use crate::state::store::Store;
use crate::state::{Outcome, SeenVersion, StoredVersion, Subject};

/// A version of a category's file, for the history; `text` is that of the whole file.
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

/// Returns whether the history has a version with these words, and a later one with others that was in the mirror.
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

/// Returns the last text of the file itself; in this folder, if one is given.
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

/// Returns the last document of the file itself; `None`: it cannot be parsed.
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
