//! An article's texts on one side, and their canonical form.
//!
//! A [`Version`] has only the digest of its body, so ten thousand versions stay small; bodies are loaded when needed.
//! `enabled` and `draft` are not part of a version, because the read endpoints do not return them (`docs/api.md`,
//! A2.3).

use super::{CategoryId, Digest, TextDigest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The side of a version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The mirror.
    Local,
    /// The service.
    Remote,
    /// Both.
    Both,
}

impl Side {
    /// Returns the name, for logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Both => "both",
        }
    }
}

/// The longest title, slug, introtext, keywords or category name, in characters (`docs/api.md`, A8.2).
pub const MAX_CHARS: usize = 255;

/// A field that a person can change, of an article or of a category.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// An article's title.
    Title,
    /// The last part of the public address.
    Slug,
    /// The category of an article.
    Category,
    /// An article's summary.
    Introtext,
    /// An article's search words.
    Keywords,
    /// An article's body.
    Text,
    /// Whether an article is shown.
    Enabled,
    /// Whether an article is a draft; only for new articles.
    Draft,
    /// A category's name.
    Name,
    /// A category's description.
    Description,
    /// A category's description for search engines.
    MetaDescription,
}

impl Field {
    /// Joins the keys of some fields, with a text between them.
    pub fn keys(fields: &[Self], between: &str) -> String {
        let keys: Vec<_> = fields.iter().map(|field| field.key()).collect();
        keys.join(between)
    }

    /// Returns whether the place of a file decides the field, and not its words.
    pub const fn is_of_place(self) -> bool {
        matches!(self, Self::Slug | Self::Category)
    }

    /// Returns the key in front matter and in the service's JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Slug => "slug",
            Self::Category => "category",
            Self::Introtext => "introtext",
            Self::Keywords => "keywords",
            Self::Text => "text",
            Self::Enabled => "enabled",
            Self::Draft => "draft",
            Self::Name => "name",
            Self::Description => "description",
            Self::MetaDescription => "meta_description",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

/// The service's `updated_at`: compared for equality, never for order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub String);

/// Whether an article is visible, as far as known or wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Flags {
    /// `enabled`, if known.
    pub enabled: Option<bool>,
    /// `draft`, if known.
    pub draft: Option<bool>,
}

impl Flags {
    /// The flags of an article that readers see.
    pub const SHOWN: Self = Self {
        enabled: Some(true),
        draft: Some(false),
    };

    /// Returns these flags, and those of another article for the unknown ones.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            enabled: self.enabled.or(other.enabled),
            draft: self.draft.or(other.draft),
        }
    }

    /// Returns whether an article with these flags is expected to be absent from listings.
    pub fn hides(self) -> bool {
        self.enabled == Some(false) || self.draft == Some(true)
    }

    /// Returns the flags in which two articles differ.
    pub fn differing(self, other: Self) -> impl Iterator<Item = Field> {
        let enabled = (self.enabled != other.enabled).then_some(Field::Enabled);
        let draft = (self.draft != other.draft).then_some(Field::Draft);
        enabled.into_iter().chain(draft)
    }
}

/// The texts of an article on one side. Optional texts that are not set are empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Version {
    /// At most 255 characters.
    pub title: String,
    /// Unique within the category.
    pub slug: String,
    /// The category; a provisional id stands for a category that does not exist yet.
    pub category: CategoryId,
    /// May be empty.
    pub introtext: String,
    /// May be empty.
    pub keywords: String,
    /// The body's digest.
    pub text: TextDigest,
}

/// Views, ratings and public address of an article, for `kbsync stats`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// The number of views.
    pub views: i64,
    /// Readers who were happy with the article.
    pub happy: i64,
    /// Readers who were neutral.
    pub neutral: i64,
    /// Readers who were unhappy with the article.
    pub sad: i64,
    /// The public address, if the service has shown it.
    pub full_url: Option<String>,
}

/// The texts of an article or of a category on one side.
pub trait Texts: Clone + PartialEq {
    /// The fields, in the order in which they are written.
    const FIELDS: &'static [Field];

    /// Returns whether a field is equal in two versions. Fields that the texts do not have are always equal.
    fn agrees(&self, other: &Self, field: Field) -> bool;

    /// Takes over one field from another version.
    fn take(&mut self, field: Field, from: &Self);

    /// Takes over some fields from another version.
    fn take_all(&mut self, fields: &[Field], from: &Self) {
        for field in fields {
            self.take(*field, from);
        }
    }

    /// Returns the fields in which two versions differ.
    fn differing(&self, other: &Self) -> Vec<Field> {
        let fields = Self::FIELDS.iter().copied();
        fields.filter(|field| !self.agrees(other, *field)).collect()
    }
}

impl Texts for Version {
    const FIELDS: &'static [Field] = &[
        Field::Title,
        Field::Slug,
        Field::Category,
        Field::Introtext,
        Field::Keywords,
        Field::Text,
    ];

    fn agrees(&self, other: &Self, field: Field) -> bool {
        self.bytes(field) == other.bytes(field)
    }

    fn take(&mut self, field: Field, from: &Self) {
        match field {
            Field::Title => self.title.clone_from(&from.title),
            Field::Slug => self.slug.clone_from(&from.slug),
            Field::Category => self.category = from.category,
            Field::Introtext => self.introtext.clone_from(&from.introtext),
            Field::Keywords => self.keywords.clone_from(&from.keywords),
            Field::Text => self.text = from.text,
            Field::Enabled
            | Field::Draft
            | Field::Name
            | Field::Description
            | Field::MetaDescription => {}
        }
    }
}

impl Version {
    /// Digests the canonical form.
    pub fn digest(&self) -> Digest {
        let fields = Self::FIELDS.iter().map(|field| self.bytes(*field));
        let parts = std::iter::once(&b"article"[..]).chain(fields);
        Digest::of_parts(&parts.collect::<Vec<_>>())
    }

    /// Returns whether two versions are equal except for their category and slug.
    pub fn same_words(&self, other: &Self) -> bool {
        let mut differing = self.differing(other).into_iter();
        differing.all(Field::is_of_place)
    }

    /// Returns the bytes of a field in the canonical form; none for a field that versions do not have.
    fn bytes(&self, field: Field) -> &[u8] {
        match field {
            Field::Title => self.title.as_bytes(),
            Field::Slug => self.slug.as_bytes(),
            Field::Category => self.category.as_bytes(),
            Field::Introtext => self.introtext.as_bytes(),
            Field::Keywords => self.keywords.as_bytes(),
            Field::Text => self.text.as_bytes(),
            Field::Enabled
            | Field::Draft
            | Field::Name
            | Field::Description
            | Field::MetaDescription => &[],
        }
    }
}

/// Returns the first text over the limit: field and length in characters.
pub fn over_limit<'a>(texts: impl IntoIterator<Item = (Field, &'a str)>) -> Option<(Field, usize)> {
    texts
        .into_iter()
        .map(|(field, text)| (field, text.chars().count()))
        .find(|&(_, count)| count > MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Version);

    fn version() -> Version {
        Version {
            title: "Install".into(),
            slug: "install".into(),
            category: CategoryId::provisional("start"),
            introtext: String::new(),
            keywords: String::new(),
            text: TextDigest::of("<p>x</p>"),
        }
    }

    #[test]
    fn every_field_counts_in_the_digest_and_in_the_difference() {
        let base = version();
        let changes: [(Field, Change); 6] = [
            (Field::Title, |v| v.title.push('!')),
            (Field::Slug, |v| v.slug.push('2')),
            (Field::Category, |v| {
                v.category = CategoryId::provisional("other");
            }),
            (Field::Introtext, |v| v.introtext.push('i')),
            (Field::Keywords, |v| v.keywords.push('k')),
            (Field::Text, |v| v.text = TextDigest::of("<p>y</p>")),
        ];
        for (field, change) in changes {
            let mut other = base.clone();
            change(&mut other);
            assert_ne!(base.digest(), other.digest(), "{field}");
            assert_eq!(base.differing(&other), [field]);
            let mut back = other.clone();
            back.take(field, &base);
            assert_eq!(back, base, "{field}");
        }
    }

    #[test]
    fn s8_limits_are_counted_in_characters() {
        let umlauts = "ü".repeat(255);
        assert_eq!(over_limit([(Field::Title, umlauts.as_str())]), None);
        let long = "ü".repeat(256);
        assert_eq!(
            over_limit([(Field::Title, long.as_str())]),
            Some((Field::Title, 256))
        );
    }
}
