//! Predicts the effect of a restore on readers of the service. Nothing is written.
//!
//! Readers see no change when a file comes back as in the base, when the file says that its article is hidden, or when the
//! article is in conflict and waits for a person. In doubt a version goes live.

use super::Prospect;
use super::words::fields;
use crate::config::NewArticles;
use crate::engine::observe::local::category_version;
use crate::mirror::document::{CategoryDocument, Document};
use crate::model::{CategoryId, Field, Place, TextDigest};
use crate::state::{Store, Subject};

/// The effect of a restored version on readers of the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoesLive {
    /// An existing article or category changes.
    Changed,
    /// A new article appears.
    Created,
}

/// Returns the effect on readers; `None`: readers see no change. `fresh`: the flags of a new article whose file has none.
///
/// # Errors
///
/// When the state cannot be read.
pub fn goes_live(
    store: &Store,
    prospect: &Prospect,
    fresh: &NewArticles,
) -> anyhow::Result<Option<GoesLive>> {
    let Prospect::Write(prepared) = prospect else {
        return Ok(None);
    };
    if let Subject::File(key) = &prepared.kept.seen.subject
        && prepared.kept.seen.subject.is_category()
    {
        return category(store, key, &prepared.place, &prepared.new);
    }
    let Ok(document) = Document::parse_with_markers(prepared.new.as_bytes()) else {
        // A file that is not ready is never sent.
        return Ok(None);
    };
    let flags = document.flags();
    let Some(id) = prepared.id else {
        let enabled = flags.enabled.unwrap_or(fresh.enabled);
        let is_live = enabled && !flags.draft.unwrap_or(fresh.draft);
        return Ok(is_live.then_some(GoesLive::Created));
    };
    let is_hidden = flags.enabled == Some(false) || flags.draft == Some(true);
    if is_hidden || store.conflicts()?.iter().any(|row| row.id == id) {
        return Ok(None);
    }
    let as_known = store.article(id)?.is_some_and(|row| {
        let text = TextDigest::of(document.text());
        let same_text = text == row.local.text || row.local_text_lf == Some(text);
        let mut others = fields(&document, &row.local).into_iter();
        same_text && others.all(|field| field == Field::Text)
    });
    Ok((!as_known).then_some(GoesLive::Changed))
}

fn category(
    store: &Store,
    key: &Place,
    place: &Place,
    new: &str,
) -> anyhow::Result<Option<GoesLive>> {
    let Ok(document) = CategoryDocument::parse(new.as_bytes()) else {
        return Ok(None);
    };
    let Ok(words) = category_version(&place.folder, &document) else {
        return Ok(None);
    };
    let id = key.folder.parse::<CategoryId>().ok();
    let rows = store.categories()?;
    let mut rows = rows.iter().filter(|row| Some(row.id) == id);
    let as_known = rows.any(|row| row.local == words);
    Ok((!as_known).then_some(GoesLive::Changed))
}
