//! The service's JSON (`docs/api.md`, A2 and A4). Only this file and the parsers of a listing's envelope know it.
//!
//! Unknown fields are ignored, optional fields may be absent, and a `null` text is empty. Flags and numbers may be
//! numbers, strings or booleans: `1`, `"1"` or `true`. An id must be a UUID.

use super::{RemoteArticle, RemoteCategory, Workspace};
use crate::model::{
    ArticleId, CategoryId, CategoryVersion, Figures, Flags, Revision, Texts, WorkspaceId,
    article::MAX_CHARS,
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Visitor},
};
use serde_json::value::RawValue;
use std::{fmt, str::FromStr};

/// The fields of every answer.
#[derive(Deserialize)]
pub(super) struct Head {
    /// True in a success.
    #[serde(default, deserialize_with = "flag")]
    pub(super) success: Option<bool>,
    /// The service's message.
    #[serde(default, deserialize_with = "text")]
    pub(super) message: Option<String>,
}

/// An article, in the shape of any endpoint.
#[derive(Deserialize)]
pub(super) struct WireArticle {
    id: String,
    category_id: Option<String>,
    title: String,
    slug: String,
    #[serde(default, deserialize_with = "given")]
    #[expect(
        clippy::option_option,
        reason = "absent, null and a text are three cases"
    )]
    text: Option<Option<String>>,
    introtext: Option<String>,
    keywords: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    enabled: Option<bool>,
    #[serde(default, deserialize_with = "flag")]
    draft: Option<bool>,
    updated_at: String,
    #[serde(default, deserialize_with = "number")]
    views: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    rating_happy: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    rating_neutral: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    rating_sad: Option<i64>,
    full_url: Option<String>,
}

/// How an answer shows an article, which decides the meaning of a `null` body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// A single article: a `null` body is empty.
    Alone,
    /// An entry of a list: a `null` body was left out.
    Listed,
}

impl WireArticle {
    /// Checks the ids. `owner` is the id of the category around the entry.
    pub(super) fn into_article(
        self,
        shown: Shown,
        owner: Option<CategoryId>,
    ) -> Result<RemoteArticle, String> {
        let category = match self.category_id {
            Some(id) => parse_id("category_id", &id)?,
            None => owner.ok_or("it has no category_id")?,
        };
        let numbers = [
            self.views,
            self.rating_happy,
            self.rating_neutral,
            self.rating_sad,
        ];
        let has_figures = self.full_url.is_some() || numbers.iter().any(Option::is_some);
        let [views, happy, neutral, sad] = numbers.map(Option::unwrap_or_default);
        Ok(RemoteArticle {
            id: parse_id("id", &self.id)?,
            category,
            title: self.title,
            slug: self.slug,
            text: match (self.text, shown) {
                (Some(None), Shown::Alone) => Some(String::new()),
                (text, Shown::Alone | Shown::Listed) => text.flatten(),
            },
            introtext: self.introtext.unwrap_or_default(),
            keywords: self.keywords.unwrap_or_default(),
            flags: Flags {
                enabled: self.enabled,
                draft: self.draft,
            },
            revision: Revision(self.updated_at),
            figures: has_figures.then_some(Figures {
                views,
                happy,
                neutral,
                sad,
                full_url: self.full_url,
            }),
            fingerprint: None,
        })
    }
}

/// A category, in the shape of any endpoint.
#[derive(Deserialize)]
pub(super) struct WireCategory {
    id: String,
    base_id: Option<String>,
    name: String,
    slug: String,
    description: Option<String>,
    meta_description: Option<String>,
    updated_at: Option<String>,
}

impl WireCategory {
    /// Checks the ids.
    pub(super) fn into_category(self) -> Result<RemoteCategory, String> {
        let id: CategoryId = parse_id("id", &self.id)?;
        Ok(RemoteCategory {
            id,
            workspace: self
                .base_id
                .map(|id| parse_id("base_id", &id))
                .transpose()?,
            version: CategoryVersion {
                name: self.name,
                slug: writable_slug(self.slug, id),
                description: self.description.unwrap_or_default(),
                meta_description: self.meta_description.unwrap_or_default(),
            },
            revision: Revision(self.updated_at.unwrap_or_default()),
        })
    }
}

/// Returns the slug, or the id if `_category.yaml` could not express the slug. Every other slug that a person writes
/// into `_category.yaml` is sent.
fn writable_slug(slug: String, id: CategoryId) -> String {
    if slug.is_empty() || slug.chars().count() > MAX_CHARS {
        id.to_string()
    } else {
        slug
    }
}

/// A workspace.
#[derive(Deserialize)]
pub(super) struct WireBase {
    id: String,
    name: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    public: Option<bool>,
    custom_domain: Option<String>,
}

impl WireBase {
    /// Checks the id.
    pub(super) fn into_workspace(self) -> Result<Workspace, String> {
        Ok(Workspace {
            id: parse_id("id", &self.id)?,
            name: self.name.unwrap_or_default(),
            public: self.public.unwrap_or(false),
            custom_domain: self.custom_domain.filter(|domain| !domain.is_empty()),
        })
    }
}

/// `{success, bases}`.
#[derive(Deserialize)]
pub(super) struct BasesAnswer {
    /// The workspaces.
    pub(super) bases: Vec<WireBase>,
}

/// A new article: the body of `POST /api/article` (A4.6). The slug is always sent: it is the idempotency key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NewArticle {
    /// The category.
    #[serde(rename = "category_id")]
    pub category: CategoryId,
    /// The title.
    pub title: String,
    /// The slug.
    pub slug: String,
    /// The body.
    pub text: String,
    /// Whether readers can see it.
    pub enabled: bool,
    /// Whether it begins as a draft.
    pub draft: bool,
    /// Empty: not sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub introtext: String,
    /// Empty: not sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub keywords: String,
}

/// Changes to an article: the body of `PUT /api/article/{id}` (A4.7). Fields that are `None` are not sent; an empty
/// body is a probe.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ArticlePatch {
    /// Moves the article.
    #[serde(rename = "category_id", skip_serializing_if = "Option::is_none")]
    pub category: Option<CategoryId>,
    /// A new title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A new slug.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// A new body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Shows or hides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// A new summary; `""` removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introtext: Option<String>,
    /// New search words; `""` removes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keywords: Option<String>,
}

/// A new category: the body of `POST /api/category` (A4.9).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NewCategory {
    /// The workspace.
    #[serde(rename = "base_id")]
    pub workspace: WorkspaceId,
    /// Its texts; the slug is always sent, empty descriptions are not.
    #[serde(flatten, serialize_with = "without_empty_descriptions")]
    pub version: CategoryVersion,
}

fn without_empty_descriptions<S: Serializer>(
    version: &CategoryVersion,
    to: S,
) -> Result<S::Ok, S::Error> {
    let fields = CategoryVersion::FIELDS.iter();
    let fields = fields.map(|field| (field.key(), version.get(*field)));
    let is_sent = |(key, text): &(&str, &str)| matches!(*key, "name" | "slug") || !text.is_empty();
    to.collect_map(fields.filter(is_sent))
}

/// Changes to a category: the body of `PUT /api/category/{id}` (A4.10). Fields that are `None` are not sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CategoryPatch {
    /// A new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A new slug.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// A new description; `""` removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A new description for search engines; `""` removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_description: Option<String>,
}

/// Parses an id. The error names the key.
fn parse_id<T: FromStr>(key: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("its {key} is no UUID: {}", super::answer::shown(text, 60)))
}

/// Returns the `id` of an entry that is unreadable or incomplete.
pub(super) fn peek_id(bytes: &[u8]) -> Option<ArticleId> {
    struct Peek<'a>(&'a mut Option<ArticleId>);
    impl<'de> Visitor<'de> for Peek<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                if key == "id" {
                    *self.0 = map.next_value::<String>()?.parse().ok();
                } else {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }
    let mut found = None;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    // The parser fails at a broken entry; the id before that place counts all the same.
    match Deserializer::deserialize_map(&mut json, Peek(&mut found)) {
        Ok(()) | Err(_) => found,
    }
}

/// Reads a flag; `None` if the value is absent, `null` or no flag.
fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    Ok(json(from)?.and_then(as_flag))
}

/// Reads a number without its fraction; `None` if the value is absent or `null`, and 0 if it is no number.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(json(from)?.map(as_number))
}

/// Reads a text; `None` if the value is absent or no text.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(json(from)?.and_then(|json| serde_json::from_str(json).ok()))
}

/// Reads a text that may be `null`, which is not the same as absent.
#[expect(
    clippy::option_option,
    reason = "absent, null and a text are three cases"
)]
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Reads an object, alone or as the only entry of an array.
pub(super) fn one<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    if json.starts_with('[') {
        serde_json::from_str(json).map(|[one]: [T; 1]| one)
    } else {
        serde_json::from_str(json)
    }
}

/// Parses a flag from the JSON of a value.
pub(super) fn as_flag(json: &str) -> Option<bool> {
    match json.trim_matches('"') {
        "true" => Some(true),
        "false" | "" => Some(false),
        number => number.parse().ok().map(|number: i64| number != 0),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a figure without its fraction is meant, and the cast saturates"
)]
fn as_number(json: &str) -> i64 {
    let float = || serde_json::from_str(json).unwrap_or(0.0_f64) as i64;
    let number = json.trim_matches('"').trim();
    number.parse().unwrap_or_else(|_| float())
}

/// Returns the JSON of a value. An array or an object is not parsed, however large it is.
fn json<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de str>, D::Error> {
    Ok(Option::<&RawValue>::deserialize(from)?.map(RawValue::get))
}
