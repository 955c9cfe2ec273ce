//! The JSON of the API: which fields each answer has (`docs/api.md`, A2 and A4).

use super::{
    clock::stamp,
    store::{Article, Category, Workspace},
};
use serde_json::{Value, json};

/// A workspace (A2.1).
pub(super) fn base(workspace: &Workspace) -> Value {
    json!({
        "id": workspace.id,
        "public": 1,
        "name": workspace.name,
        "description": workspace.description,
        "meta_description": workspace.meta_description,
        "custom_domain": workspace.custom_domain,
        "custom_domain_active": u8::from(workspace.custom_domain.is_some()),
        "allow_bots": 1,
        "custom_css": null,
        "theme": "default",
    })
}

/// The fields of an article in every answer.
fn words(article: &Article) -> Value {
    json!({
        "id": article.id,
        "category_id": article.category_id,
        "title": article.title,
        "slug": article.slug,
        "text": article.text,
        "introtext": article.introtext,
        "keywords": article.keywords,
        "updated_at": stamp(article.updated_at),
    })
}

/// An article in answers to reads: no `enabled`, no `draft`, no `created_at` (A2.3).
pub(super) fn read_article(article: &Article) -> Value {
    let mut read = words(article);
    read["views"] = json!(article.views);
    read["rating_happy"] = json!(article.rating_happy);
    read["rating_neutral"] = json!(article.rating_neutral);
    read["rating_sad"] = json!(article.rating_sad);
    read
}

/// An article in answers to writes; `user_id` only if the request created the article (A4.6 and A4.7).
pub(super) fn written_article(article: &Article, created: bool) -> Value {
    let mut written = words(article);
    written["enabled"] = json!(article.enabled);
    written["draft"] = json!(article.draft);
    written["created_at"] = json!(stamp(article.created_at));
    if created {
        written["user_id"] = json!(article.user_id);
    }
    written
}

/// The fields of a category in every answer.
pub(super) fn category(category: &Category) -> Value {
    json!({
        "id": category.id,
        "base_id": category.workspace,
        "name": category.name,
        "description": category.description,
        "meta_description": category.meta_description,
        "slug": category.slug,
        "updated_at": stamp(category.updated_at),
    })
}

/// A category with its published articles (A4.3): with icons, without `created_at`.
pub(super) fn read_category(one: &Category, articles: Vec<Value>) -> Value {
    let mut read = category(one);
    read["icon"] = Value::Null;
    read["font_icon"] = Value::Null;
    read["articles"] = Value::Array(articles);
    read
}

/// A category in answers to writes; `user_id` only if the request created the category (A4.9 and A4.10).
pub(super) fn written_category(one: &Category, created: bool) -> Value {
    let mut written = category(one);
    written["created_at"] = json!(stamp(one.created_at));
    if created {
        written["user_id"] = json!(one.user_id);
    }
    written
}
