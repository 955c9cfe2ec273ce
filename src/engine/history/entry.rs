//! Entries for the history: versions of files before the mirror changes, versions of the service, and texts that came
//! out of the mirror.

use crate::engine::form::{needs_whole, slug_at};
use crate::mirror::document::Document;
use crate::model::{ArticleId, CategoryId, Place, Side, TextDigest, Version};
use crate::state::store::{HistoryEntry, Store};
use crate::state::{SeenVersion, StateResult, Subject};

impl HistoryEntry {
    /// Makes an entry of a file's version, with the whole file if it has more than the version.
    pub(in crate::engine) fn of_file(seen: SeenVersion, bytes: &[u8]) -> Self {
        let whole = std::str::from_utf8(bytes).ok();
        let whole = whole.filter(|source| needs_whole(source, &seen.version, &seen.place));
        Self {
            bodies: whole.map(str::to_owned).into_iter().collect(),
            seen: Some(SeenVersion {
                file: whole.map(TextDigest::of),
                ..seen
            }),
            may_merge: false,
        }
    }

    /// Makes an entry of a text in the mirror exactly as a scan would. `no_article`: the version of a text that is no
    /// article.
    pub(in crate::engine) fn of_text(
        store: &Store,
        id: Option<ArticleId>,
        place: &Place,
        (source, cause): (&str, &str),
        no_article: Version,
    ) -> StateResult<Self> {
        let document = Document::parse_leniently(source.as_bytes()).ok();
        let row = id.map(|id| store.article(id)).transpose()?.flatten();
        let category = row.as_ref().map(|row| row.local.category);
        let category = category.unwrap_or_else(|| CategoryId::provisional(&place.folder));
        let version = document.as_ref().map(|document| {
            let slug = slug_at(document, place);
            document.version(slug.unwrap_or_else(|_| place.stem().to_owned()), category)
        });
        let version = version.unwrap_or(no_article);
        let text = document.as_ref().map_or(source, Document::text);
        let is_known = row.is_some();
        let hides = |document: &Document| !is_known && document.flags().hides();
        let is_whole = document.as_ref().is_none_or(hides) || needs_whole(source, &version, place);
        let seen = SeenVersion {
            subject: id.map_or_else(|| Subject::File(place.clone()), Subject::Article),
            place: place.clone(),
            side: Side::Local,
            cause: cause.to_owned(),
            version,
            file: is_whole.then(|| TextDigest::of(source)),
        };
        Ok(Self::of_seen(seen, text, source))
    }

    /// Makes an entry of a version with its body, and with the whole file if the version names it.
    pub(in crate::engine) fn of_seen(seen: SeenVersion, text: &str, source: &str) -> Self {
        let whole = seen.file.filter(|_| text != source).map(|_| source);
        let bodies = [text].into_iter().chain(whole);
        Self {
            bodies: bodies.map(str::to_owned).collect(),
            seen: Some(seen),
            may_merge: false,
        }
    }
}

/// Stores a text of no known version. Returns whether the history has it.
pub(in crate::engine) fn store_text(
    store: &mut Store,
    place: &Place,
    bytes: &[u8],
    cause: &str,
) -> StateResult<bool> {
    if bytes.is_empty() {
        return Ok(true);
    }
    let Ok(source) = std::str::from_utf8(bytes) else {
        return Ok(false);
    };
    let document = Document::parse_leniently(bytes).ok();
    let id = document.as_ref().and_then(Document::id);
    let no_article = no_article(place, TextDigest::of(source), cause);
    let entry = HistoryEntry::of_text(store, id, place, (source, cause), no_article)?;
    store.write(|tx| entry.put(tx))?;
    Ok(true)
}

/// Makes the version of a text that is no article: its body is the whole text.
pub(in crate::engine) fn no_article(place: &Place, text: TextDigest, cause: &str) -> Version {
    Version {
        title: cause.to_owned(),
        slug: place.stem().to_owned(),
        category: CategoryId::provisional(&place.folder),
        introtext: String::new(),
        keywords: String::new(),
        text,
    }
}

/// Makes a service's version of an article that the base does not know.
pub(in crate::engine) fn seen_there(
    id: ArticleId,
    place: &Place,
    version: &Version,
) -> SeenVersion {
    SeenVersion::of_article(id, place, Side::Remote, "seen on the service", version)
}

/// Makes a service's version that replaced the one in the base.
pub(in crate::engine) fn edited_there(
    id: ArticleId,
    place: &Place,
    version: &Version,
) -> SeenVersion {
    SeenVersion::of_article(id, place, Side::Remote, "edited on the service", version)
}
