//! `_category.yaml` as it was scanned: what it says goes into the history.

use crate::engine::form::category_version;
use crate::engine::history::category::{last_here, seen_as};
use crate::mirror::document::CategoryDocument;
use crate::mirror::scan::{CategoryContent, ScannedCategory};
use crate::model::{CategoryId, Side, TextDigest};
use crate::reconcile::snapshot::Base;
use crate::state::store::{SeenBody, Store};
use crate::state::{CategoryRow, Outcome};
use std::collections::BTreeSet;

/// Every version that a writer saved is in the history before anything else happens to it, comments and keys of
/// their own included.
pub(super) fn keep_yaml(
    base: &Base,
    categories: &[ScannedCategory],
    store: &mut Store,
) -> Outcome<()> {
    let folders: BTreeSet<&str> = categories
        .iter()
        .map(|category| category.folder.as_str())
        .collect();
    for ScannedCategory {
        folder, content, ..
    } in categories
    {
        let row = row_at(base, folder);
        match content {
            CategoryContent::Ready(document) => {
                let named = document.id().and_then(|id| base.categories.get(&id));
                // What was copied from another folder is not that one's.
                let copied = named.is_some_and(|named| {
                    let home = named.folder.as_deref();
                    home.is_some_and(|home| home != folder && folders.contains(home))
                });
                let id = document.id().or(row.map(|row| row.id));
                if let Some(id) = id.filter(|_| !copied) {
                    keep(id, folder, document, store)?;
                }
            }
            CategoryContent::Missing
            | CategoryContent::Unchanged
            | CategoryContent::NotReady(_) => {}
        }
    }
    store.store_gathered()
}

/// Records a file's text, unless the history has it.
fn keep(
    id: CategoryId,
    folder: &str,
    document: &CategoryDocument,
    store: &mut Store,
) -> Outcome<()> {
    let source = document.source();
    let Ok(words) = category_version(folder, document) else {
        return Ok(());
    };
    if last_here(store, id, Some(folder))?.as_deref() == Some(source) {
        return Ok(());
    }
    let digest = TextDigest::of(source);
    let seen = seen_as(id, folder, (Side::Local, "edited here"), &words, digest);
    let body = SeenBody {
        text: source.to_owned(),
        digest,
        file: Some(source.to_owned()),
        seen: Some(seen),
        may_merge: false,
    };
    store.gather(body)
}

fn row_at<'b>(base: &'b Base, folder: &str) -> Option<&'b CategoryRow> {
    let mut rows = base.categories.values();
    rows.find(|row| row.folder.as_deref() == Some(folder))
}
