//! The JSON of the API: which fields each answer has (`docs/api.md`, A2 and A4).

use super::{
    clock::stamp,
    store::{Article, Category, Workspace},
};
use serde::Serialize;
use uuid::Uuid;

/// A workspace (A2.1).
#[derive(Serialize)]
pub(super) struct Base<'a> {
    id: Uuid,
    public: u8,
    name: &'a str,
    description: &'a str,
    meta_description: Option<&'a str>,
    custom_domain: Option<&'a str>,
    custom_domain_active: u8,
    allow_bots: u8,
    custom_css: Option<&'a str>,
    theme: &'a str,
}

impl<'a> Base<'a> {
    pub(super) fn of(workspace: &'a Workspace) -> Self {
        Self {
            id: workspace.id,
            public: 1,
            name: &workspace.name,
            description: &workspace.description,
            meta_description: workspace.meta_description.as_deref(),
            custom_domain: workspace.custom_domain.as_deref(),
            custom_domain_active: u8::from(workspace.custom_domain.is_some()),
            allow_bots: 1,
            custom_css: None,
            theme: "default",
        }
    }
}

/// The fields of an article in every answer.
#[derive(Serialize)]
struct Words<'a> {
    id: Uuid,
    category_id: Uuid,
    title: &'a str,
    slug: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    introtext: Option<&'a str>,
    keywords: Option<&'a str>,
    updated_at: String,
}

impl<'a> Words<'a> {
    fn of(article: &'a Article, text: bool) -> Self {
        Self {
            id: article.id,
            category_id: article.category_id,
            title: &article.title,
            slug: &article.slug,
            text: text.then_some(&article.text),
            introtext: article.introtext.as_deref(),
            keywords: article.keywords.as_deref(),
            updated_at: stamp(article.updated_at),
        }
    }
}

/// An article in answers to reads: no `enabled`, no `draft`, no `created_at` (A2.3).
#[derive(Serialize)]
pub(super) struct ReadArticle<'a> {
    #[serde(flatten)]
    words: Words<'a>,
    views: i64,
    rating_happy: i64,
    rating_neutral: i64,
    rating_sad: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_url: Option<String>,
}

impl<'a> ReadArticle<'a> {
    /// An entry of a list, with or without its text.
    pub(super) fn listed(article: &'a Article, text: bool) -> Self {
        Self {
            words: Words::of(article, text),
            views: article.views,
            rating_happy: article.rating_happy,
            rating_neutral: article.rating_neutral,
            rating_sad: article.rating_sad,
            full_url: None,
        }
    }

    /// The answer to a request for one article (A4.4).
    pub(super) fn single(article: &'a Article, full_url: String) -> Self {
        Self {
            full_url: Some(full_url),
            ..Self::listed(article, true)
        }
    }
}

/// An article in answers to writes; `user_id` only if the request created the article (A4.6 and A4.7).
#[derive(Serialize)]
pub(super) struct WrittenArticle<'a> {
    #[serde(flatten)]
    words: Words<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<u64>,
    enabled: bool,
    draft: bool,
    created_at: String,
}

impl<'a> WrittenArticle<'a> {
    pub(super) fn of(article: &'a Article, created: bool) -> Self {
        Self {
            words: Words::of(article, true),
            user_id: created.then_some(article.user_id),
            enabled: article.enabled,
            draft: article.draft,
            created_at: stamp(article.created_at),
        }
    }
}

/// A category in a listing by categories; its articles follow.
#[derive(Serialize)]
pub(super) struct ListedCategory<'a> {
    id: Uuid,
    base_id: Uuid,
    name: &'a str,
    description: Option<&'a str>,
    meta_description: Option<&'a str>,
    slug: &'a str,
    updated_at: String,
}

impl<'a> ListedCategory<'a> {
    pub(super) fn of(category: &'a Category) -> Self {
        Self {
            id: category.id,
            base_id: category.workspace,
            name: &category.name,
            description: category.description.as_deref(),
            meta_description: category.meta_description.as_deref(),
            slug: &category.slug,
            updated_at: stamp(category.updated_at),
        }
    }
}

/// A category with its published articles (A4.3): with icons, without `created_at`.
#[derive(Serialize)]
pub(super) struct ReadCategory<'a> {
    #[serde(flatten)]
    category: ListedCategory<'a>,
    icon: Option<&'a str>,
    font_icon: Option<&'a str>,
    articles: Vec<ReadArticle<'a>>,
}

impl<'a> ReadCategory<'a> {
    pub(super) fn of(category: &'a Category, articles: Vec<ReadArticle<'a>>) -> Self {
        Self {
            category: ListedCategory::of(category),
            icon: None,
            font_icon: None,
            articles,
        }
    }
}

/// A category in answers to writes; `user_id` only if the request created the category (A4.9 and A4.10).
#[derive(Serialize)]
pub(super) struct WrittenCategory<'a> {
    #[serde(flatten)]
    category: ListedCategory<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<u64>,
    created_at: String,
}

impl<'a> WrittenCategory<'a> {
    pub(super) fn of(category: &'a Category, created: bool) -> Self {
        Self {
            category: ListedCategory::of(category),
            user_id: created.then_some(category.user_id),
            created_at: stamp(category.created_at),
        }
    }
}
