//! The other version of a file, put into the file's own form.

use crate::engine::apply::slug_key;
use crate::mirror::document::{CategoryChanges, CategoryDocument, Changes, Document};
use crate::model::path::EXTENSION;
use crate::model::{ArticleId, CategoryId, CategoryVersion, Flags, Place, TextDigest, Version};
use crate::reconcile::snapshot::{Base, LocalFile};
use crate::service::RemoteArticle;

/// The version that a file is compared with.
pub(super) struct Other {
    pub(super) id: ArticleId,
    pub(super) place: Place,
    pub(super) version: Version,
    /// `None`: nobody said; then they are the file's.
    pub(super) flags: Option<Flags>,
    pub(super) text: Option<String>,
}

impl Other {
    fn changes(&self, written_slug: Option<&str>) -> Changes {
        Changes {
            id: Some(self.id),
            title: Some(self.version.title.clone()),
            slug: slug_key(&self.place, &self.version.slug, written_slug),
            enabled: self.flags.map(|flags| flags.enabled),
            draft: self.flags.map(|flags| flags.draft),
            introtext: Some(self.version.introtext.clone()),
            keywords: Some(self.version.keywords.clone()),
            text: self.text.clone(),
        }
    }

    pub(super) fn composed(&self) -> String {
        Document::compose(&self.changes(None))
    }

    pub(super) fn in_the_form_of(&self, document: &Document) -> String {
        document.edit(&self.changes(document.slug()))
    }
}

/// `_category.yaml` as another version would have it.
pub(super) fn category_text(
    new: &str,
    version: &CategoryVersion,
    folder: &str,
    id: CategoryId,
) -> String {
    let Ok(document) = CategoryDocument::parse(new.as_bytes()) else {
        return String::new();
    };
    let place = Place::new("", format!("{folder}{EXTENSION}"));
    document.edit(&CategoryChanges {
        id: Some(id),
        name: document.name().map(|_| version.name.clone()),
        slug: slug_key(&place, &version.slug, document.slug()),
        description: Some(version.description.clone()),
        meta_description: Some(version.meta_description.clone()),
    })
}

/// Returns whether a listed article says what its file says, as far as the listing shows it.
pub(super) fn is_equal(article: &RemoteArticle, base: &Base, file: Option<&LocalFile>) -> bool {
    let Some(file) = file else {
        return false;
    };
    let text = match &article.text {
        Some(text) => Some(TextDigest::of(text)),
        None => base
            .articles
            .get(&article.id)
            .filter(|row| row.revision == article.revision)
            .map(|row| row.remote.text),
    };
    text == Some(file.version.text)
        && article.title == file.version.title
        && article.slug == file.version.slug
        && article.category == file.version.category
        && article.introtext == file.version.introtext
        && article.keywords == file.version.keywords
}
