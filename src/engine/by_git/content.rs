//! The content of a file, for comparisons with what git has of it: line ends do not count, because git may convert them.

use crate::engine::form::{category_version, slug_at, text_lf};
use crate::mirror::document::{CategoryDocument, Document};
use crate::model::{ArticleId, CategoryId, CategoryVersion, Flags, Place, TextDigest, Version};
use crate::state::StateResult;
use crate::state::store::Store;

/// The content of a file.
#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    /// An article, with the digest of the body with CRLF read as LF, if different, and its flags.
    Article(ArticleId, &'a Version, Option<TextDigest>, Flags),
    /// A category, in its `_category.yaml`.
    Category(CategoryId, &'a CategoryVersion),
}

impl<'a> Content<'a> {
    pub(super) fn of_article(
        store: &Store,
        id: ArticleId,
        version: &'a Version,
        flags: Flags,
    ) -> StateResult<Self> {
        let lf = store.text(version.text)?.as_deref().and_then(text_lf);
        Ok(Self::Article(id, version, lf, flags))
    }

    pub(super) fn slug(&self) -> &str {
        match self {
            Self::Article(_, version, ..) => &version.slug,
            Self::Category(_, version) => &version.slug,
        }
    }

    /// Returns whether a committed file has this content.
    pub(super) fn is_in(self, bytes: &[u8], place: &Place) -> bool {
        let (version, lf, flags) = match self {
            Self::Article(_, version, lf, flags) => (version, lf, flags),
            Self::Category(_, version) => {
                return CategoryDocument::parse(bytes).is_ok_and(|document| {
                    category_version(&place.folder, &document).as_ref() == Ok(version)
                });
            }
        };
        let Ok(document) = Document::parse_leniently(bytes) else {
            return false;
        };
        let slug = slug_at(&document, place).unwrap_or_default();
        let mut said = document.version(slug, version.category);
        let mut texts = [Some(said.text), text_lf(document.text())]
            .into_iter()
            .flatten();
        if texts.any(|text| text == version.text || Some(text) == lf) {
            said.text = version.text;
        }
        said == *version && document.flags() == flags
    }
}
