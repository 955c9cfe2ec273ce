//! Bytes that came out of the mirror and belong to nobody's version: into the history, before anything else.

use crate::engine::form::needs_whole;
use crate::mirror::document::Document;
use crate::model::{CategoryId, Place, Side, TextDigest, Timestamp, Version};
use crate::state::store::Store;
use crate::state::{Outcome, Seen, Subject};

/// Keeps what a file says. Gives whether the history has it.
pub(super) fn keep(
    store: &mut Store,
    place: &Place,
    bytes: &[u8],
    (cause, now): (&str, Timestamp),
) -> Outcome<bool> {
    if bytes.is_empty() {
        return Ok(true);
    }
    let Ok(source) = std::str::from_utf8(bytes) else {
        return Ok(false);
    };
    if store.has_body(TextDigest::of(source))? {
        return Ok(true);
    }
    let (seen, text) = match Document::parse_with_markers(bytes) {
        Ok(document) => (
            seen(store, place, &document, cause)?,
            document.text().to_owned(),
        ),
        Err(_not_an_article) => (unread(place, source, cause), source.to_owned()),
    };
    let whole = needs_whole(source, &seen.version, &seen.place);
    store.write(now, |tx| {
        tx.put_body(&text)?;
        let file = whole.then(|| tx.put_body(source)).transpose()?;
        tx.record(&Seen { file, ..seen })
    })?;
    Ok(true)
}

fn seen(store: &Store, place: &Place, document: &Document, cause: &str) -> Outcome<Seen> {
    let row = match document.id() {
        Some(id) => store.article(id)?,
        None => None,
    };
    let slug = document.slug().map(str::to_owned);
    Ok(Seen {
        subject: document
            .id()
            .map_or_else(|| Subject::File(place.clone()), Subject::Article),
        side: Side::Local,
        cause: cause.to_owned(),
        version: Version {
            title: document.title().to_owned(),
            slug: slug
                .or_else(|| row.as_ref().map(|row| row.local.slug.clone()))
                .unwrap_or_else(|| place.stem().to_owned()),
            category: row.map_or_else(
                || CategoryId::provisional(&place.folder),
                |row| row.local.category,
            ),
            introtext: document.introtext().to_owned(),
            keywords: document.keywords().to_owned(),
            text: TextDigest::of(document.text()),
        },
        file: None,
        place: place.clone(),
    })
}

/// A text that is no article is stored as a whole.
fn unread(place: &Place, source: &str, cause: &str) -> Seen {
    Seen {
        subject: Subject::File(place.clone()),
        side: Side::Local,
        cause: cause.to_owned(),
        version: Version {
            title: cause.to_owned(),
            slug: place.stem().to_owned(),
            category: CategoryId::provisional(&place.folder),
            introtext: String::new(),
            keywords: String::new(),
            text: TextDigest::of(source),
        },
        file: None,
        place: place.clone(),
    }
}
