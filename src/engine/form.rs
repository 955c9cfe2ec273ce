//! The form of an article or a category as a file.
//!
//! Pure.

use crate::mirror::document::{CategoryDocument, Changes, Document};
use crate::model::base::CategoryRow;
use crate::model::path::{EXTENSION, NameProblem, readable, slug_of_stem};
use crate::model::{ArticleId, CategoryId, CategoryVersion, Flags, Place, TextDigest, Version};

/// The largest `_category.yaml` that is read.
pub(super) const MAX_YAML: usize = 1 << 20;

/// The largest article file that is read, including front matter.
pub(super) const MAX_FILE: usize = (16 << 20) + (128 << 10);

/// Returns whether a document at a place has the content of a version, except its category, which the folder decides.
pub(super) fn says(document: &Document, place: &Place, version: &Version) -> bool {
    slug_at(document, place).is_ok_and(|slug| document.version(slug, version.category) == *version)
}

/// Returns the slug of an article's file: that of its line, or else of its name.
pub(super) fn slug_at(document: &Document, place: &Place) -> Result<String, NameProblem> {
    match document.slug() {
        Some(slug) => Ok(slug.to_owned()),
        None => slug_of_stem(place.stem()),
    }
}

/// The digest of a body with CRLF read as LF, if different.
pub(super) fn text_lf(text: &str) -> Option<TextDigest> {
    text.contains("\r\n")
        .then(|| TextDigest::of(&text.replace("\r\n", "\n")))
}

/// Returns the change of the `slug:` line: a file has one only if the slug differs from its name. A writer's own line
/// stays.
#[expect(
    clippy::option_option,
    reason = "the same three answers as in `Changes`: leave the key, remove it, write it"
)]
pub(super) fn slug_key(place: &Place, slug: &str, written: Option<&str>) -> Option<Option<String>> {
    if written == Some(slug) {
        return None;
    }
    let named = slug_of_stem(place.stem()).is_ok_and(|stem| stem == slug);
    Some((!named).then(|| slug.to_owned()))
}

/// Returns whether a file has more than its version: comments, other keys, other line endings, or another body, which a
/// wrong stamp may hide.
pub(super) fn needs_whole(source: &str, version: &Version, place: &Place) -> bool {
    let Ok(document) = Document::parse_leniently(source.as_bytes()) else {
        return true;
    };
    if TextDigest::of(document.text()) != version.text {
        return true;
    }
    let (address, text) = ((place, version.slug.as_str()), document.text().to_owned());
    composed(document.id(), address, version, document.flags(), text) != source
}

/// Makes a file with this content, without a writer's comments or own keys.
pub(super) fn composed(
    id: Option<ArticleId>,
    address: (&Place, &str),
    version: &Version,
    flags: Flags,
    text: String,
) -> String {
    Document::compose(&Changes {
        text: Some(text),
        ..article_changes(id, address, version, flags, None)
    })
}

/// Returns the changes that put all of an article but its body into its file; `written` is the file's present slug.
pub(super) fn article_changes(
    id: Option<ArticleId>,
    (place, slug): (&Place, &str),
    version: &Version,
    flags: Flags,
    written: Option<&str>,
) -> Changes {
    Changes {
        id: id.map(ArticleId::uuid),
        slug: slug_key(place, slug, written),
        enabled: Some(flags.enabled),
        draft: Some(flags.draft),
        ..Changes::words(version)
    }
}

/// Returns the text of a category's file with these words: `form` edited, with its comments, or a new file.
pub(super) fn category_file(
    id: CategoryId,
    folder: &str,
    words: &CategoryVersion,
    form: Option<&CategoryDocument>,
) -> String {
    let written = form.and_then(CategoryDocument::slug);
    let changes = category_changes(id, folder, words, written);
    form.map_or_else(
        || CategoryDocument::compose(&changes),
        |form| form.edit(&changes),
    )
}

/// Returns the changes that put a category's words into its file; `written` is the file's present slug.
pub(super) fn category_changes(
    id: CategoryId,
    folder: &str,
    words: &CategoryVersion,
    written: Option<&str>,
) -> Changes {
    let named = Place::new("", format!("{folder}{EXTENSION}"));
    Changes {
        id: Some(id.uuid()),
        name: Some(words.name.clone()),
        slug: slug_key(&named, &words.slug, written),
        description: Some(words.description.clone()),
        meta_description: Some(words.meta_description.clone()),
        ..Changes::default()
    }
}

/// Returns the words of a category, from its folder's name and its `_category.yaml`.
pub(super) fn category_version(
    folder: &str,
    document: &CategoryDocument,
) -> Result<CategoryVersion, String> {
    let slug = match document.slug() {
        Some(slug) => slug.to_owned(),
        None => slug_of_stem(folder).map_err(|problem| problem.of_folder())?,
    };
    Ok(CategoryVersion {
        name: document
            .name()
            .map_or_else(|| readable(folder), str::to_owned),
        slug,
        description: document.description().to_owned(),
        meta_description: document.meta_description().to_owned(),
    })
}

/// Returns the words of a category's file, with the folder's name for a missing name or slug.
pub(super) fn words_of(document: &CategoryDocument, folder: &str) -> CategoryVersion {
    category_version(folder, document).unwrap_or_else(|_no_slug| CategoryVersion {
        name: document.name().unwrap_or(folder).to_owned(),
        slug: folder.to_owned(),
        description: document.description().to_owned(),
        meta_description: document.meta_description().to_owned(),
    })
}

/// Returns whether the `_category.yaml` of a folder says what a row says.
pub(super) fn says_category(document: &CategoryDocument, folder: &str, row: &CategoryRow) -> bool {
    document.id() == Some(row.id)
        && category_version(folder, document).is_ok_and(|version| version == row.local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f083_a_file_with_another_body_than_its_version_is_kept_whole() {
        let place = Place::new("a", "one.html");
        let source = "---\ntitle: One\n---\n<p>as saved</p>\n";
        let document = Document::parse_leniently(source.as_bytes()).expect("ready");
        let category = CategoryId::provisional("a");
        let version = document.version("one".to_owned(), category);
        let as_saved = Version {
            text: TextDigest::of(document.text()),
            ..version.clone()
        };
        let as_scanned = Version {
            text: TextDigest::of("<p>as scanned</p>\n"),
            ..version
        };
        assert!(!needs_whole(source, &as_saved, &place));
        assert!(needs_whole(source, &as_scanned, &place));
    }
}
