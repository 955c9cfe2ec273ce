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

/// An article in answers to reads: no `enabled`, no `draft`, no `created_at` (A2.3).
#[derive(Serialize)]
pub(super) struct ReadArticle<'a> {
    id: Uuid,
    category_id: Uuid,
    title: &'a str,
    slug: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    views: i64,
    rating_happy: i64,
    rating_neutral: i64,
    rating_sad: i64,
    keywords: Option<&'a str>,
    introtext: Option<&'a str>,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_url: Option<String>,
}

impl<'a> ReadArticle<'a> {
    /// An entry of a list, with or without its text.
    pub(super) fn listed(article: &'a Article, text: bool) -> Self {
        Self {
            id: article.id,
            category_id: article.category_id,
            title: &article.title,
            slug: &article.slug,
            text: text.then_some(&article.text),
            views: article.views,
            rating_happy: article.rating_happy,
            rating_neutral: article.rating_neutral,
            rating_sad: article.rating_sad,
            keywords: article.keywords.as_deref(),
            introtext: article.introtext.as_deref(),
            updated_at: stamp(article.updated_at),
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

/// An article in answers to writes; `user_id` only when it was created (A4.6 and A4.7).
#[derive(Serialize)]
pub(super) struct WrittenArticle<'a> {
    id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<u64>,
    category_id: Uuid,
    title: &'a str,
    slug: &'a str,
    text: &'a str,
    enabled: bool,
    draft: bool,
    introtext: Option<&'a str>,
    keywords: Option<&'a str>,
    updated_at: String,
    created_at: String,
}

impl<'a> WrittenArticle<'a> {
    pub(super) fn created(article: &'a Article) -> Self {
        Self {
            user_id: Some(article.user_id),
            ..Self::updated(article)
        }
    }

    pub(super) fn updated(article: &'a Article) -> Self {
        Self {
            id: article.id,
            user_id: None,
            category_id: article.category_id,
            title: &article.title,
            slug: &article.slug,
            text: &article.text,
            enabled: article.enabled,
            draft: article.draft,
            introtext: article.introtext.as_deref(),
            keywords: article.keywords.as_deref(),
            updated_at: stamp(article.updated_at),
            created_at: stamp(article.created_at),
        }
    }
}

/// A category with its published articles (A4.3): with icons, without `created_at`.
#[derive(Serialize)]
pub(super) struct ReadCategory<'a> {
    id: Uuid,
    base_id: Uuid,
    name: &'a str,
    icon: Option<&'a str>,
    font_icon: Option<&'a str>,
    description: Option<&'a str>,
    meta_description: Option<&'a str>,
    slug: &'a str,
    updated_at: String,
    articles: Vec<ReadArticle<'a>>,
}

impl<'a> ReadCategory<'a> {
    pub(super) fn single(category: &'a Category, articles: Vec<ReadArticle<'a>>) -> Self {
        Self {
            id: category.id,
            base_id: category.workspace,
            name: &category.name,
            icon: None,
            font_icon: None,
            description: category.description.as_deref(),
            meta_description: category.meta_description.as_deref(),
            slug: &category.slug,
            updated_at: stamp(category.updated_at),
            articles,
        }
    }
}

/// A category as a listing by categories shows it; its articles follow.
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

/// A category in answers to writes; `user_id` only when it was created (A4.9 and A4.10).
#[derive(Serialize)]
pub(super) struct WrittenCategory<'a> {
    id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<u64>,
    base_id: Uuid,
    name: &'a str,
    slug: &'a str,
    description: Option<&'a str>,
    meta_description: Option<&'a str>,
    updated_at: String,
    created_at: String,
}

impl<'a> WrittenCategory<'a> {
    pub(super) fn created(category: &'a Category) -> Self {
        Self {
            user_id: Some(category.user_id),
            ..Self::updated(category)
        }
    }

    pub(super) fn updated(category: &'a Category) -> Self {
        Self {
            id: category.id,
            user_id: None,
            base_id: category.workspace,
            name: &category.name,
            slug: &category.slug,
            description: category.description.as_deref(),
            meta_description: category.meta_description.as_deref(),
            updated_at: stamp(category.updated_at),
            created_at: stamp(category.created_at),
        }
    }
}
