//! The writing endpoints (A4.6 to A4.10).
//!
//! Each endpoint locks the world once, so writes are atomic and in order. A refused request changes nothing.

use super::{
    fields::{self, ArticleFields, CategoryFields, slug_from},
    handle::Sandbox,
    options::{EmptyPut, Options, Rights},
    reply::{self, Refusal},
    routes::{may_write, parse_id, with_world},
    store::{Article, Category, NewSeed},
    wire::{WrittenArticle, WrittenCategory},
    world::World,
};
use axum::{
    Extension,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use serde_json::json;
use uuid::Uuid;

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()
}

/// `POST /api/article` (A4.6).
pub(super) async fn post_article(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    with_world(&sandbox, |world| {
        let given = fields::object(content_type(&headers), &body)?;
        let given = fields::article(&world.options, given, true)?;
        let article = create_article(world, &rights, given)?;
        Ok(reply::with_status(
            StatusCode::CREATED,
            &json!({"success": true, "article": WrittenArticle::of(&article, true)}),
        ))
    })
}

fn create_article(
    world: &mut World,
    rights: &Rights,
    given: ArticleFields,
) -> Result<Article, Refusal> {
    let category = given
        .category_id
        .and_then(|id| world.store.category(id))
        .ok_or_else(|| Refusal::field("category_id", "The selected category id is invalid."))?;
    may_write(
        rights,
        Some(category.workspace),
        "create articles in this workspace",
    )?;
    let category_id = category.id;
    let title = given.title.unwrap_or_default();
    let slug = given.slug.unwrap_or_else(|| slug_from(&title));
    free_article_slug(world, category_id, &slug, None)?;
    let mut new = NewSeed {
        category: category_id,
        title,
        slug,
        text: given.text.unwrap_or_default(),
        introtext: None,
        keywords: None,
        enabled: given.enabled.unwrap_or(world.options.enabled_default),
        draft: given.draft.unwrap_or(world.options.draft_default),
    };
    given.introtext.put(&mut new.introtext);
    given.keywords.put(&mut new.keywords);
    Ok(world.put_new_article(new, rights.user))
}

fn free_article_slug(
    world: &World,
    category: Uuid,
    slug: &str,
    but: Option<Uuid>,
) -> Result<(), Refusal> {
    let store = &world.store;
    if store.article_slug_taken(&world.options, category, slug, but) {
        let wrong = "An article with this slug already exists in the category.";
        return Err(Refusal::field("slug", wrong));
    }
    Ok(())
}

/// `PUT /api/article/{id}` (A4.7): only the fields that are there change, and never `draft`.
pub(super) async fn put_article(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    with_world(&sandbox, |world| {
        let id = parse_id(&id, "Article")?;
        let article = world
            .store
            .article(id)
            .cloned()
            .ok_or(Refusal::NotFound("Article"))?;
        may_write(
            &rights,
            world.store.workspace_of(&article),
            "update this article",
        )?;
        let given = fields::object(content_type(&headers), &body)?;
        refuse_empty(&world.options, given.is_empty())?;
        let given = fields::article(&world.options, given, false)?;
        let article = update_article(world, &rights, &article, given)?;
        let answer = json!({"success": true, "article": WrittenArticle::of(&article, false)});
        Ok(reply::ok(&answer))
    })
}

fn update_article(
    world: &mut World,
    rights: &Rights,
    old: &Article,
    given: ArticleFields,
) -> Result<Article, Refusal> {
    if let Some(target) = given.category_id {
        let target = world
            .store
            .category(target)
            .ok_or_else(|| Refusal::field("category_id", "The selected category id is invalid."))?;
        may_write(
            rights,
            Some(target.workspace),
            "move the article to this category",
        )?;
    }
    let mut new = old.clone();
    new.category_id = given.category_id.unwrap_or(old.category_id);
    new.title = given.title.unwrap_or(new.title);
    new.slug = given.slug.unwrap_or(new.slug);
    new.text = given.text.unwrap_or(new.text);
    new.enabled = given.enabled.unwrap_or(old.enabled);
    given.introtext.put(&mut new.introtext);
    given.keywords.put(&mut new.keywords);
    if (new.category_id, &new.slug) != (old.category_id, &old.slug) {
        free_article_slug(world, new.category_id, &new.slug, Some(old.id))?;
    }
    if new != *old || world.options.touch_unchanged {
        new.updated_at = world.tick();
        world.store.put_article(new.clone());
    }
    Ok(new)
}

fn refuse_empty(options: &Options, empty: bool) -> Result<(), Refusal> {
    match options.empty_put {
        EmptyPut::Refused422 if empty => Err(Refusal::Unprocessable(
            "At least one field is required.".to_owned(),
        )),
        EmptyPut::Forbidden403 if empty => Err(Refusal::Forbidden(
            "You do not have permission to update this article.".to_owned(),
        )),
        EmptyPut::Ok | EmptyPut::Refused422 | EmptyPut::Forbidden403 => Ok(()),
    }
}

/// `DELETE /api/article/{id}` (A4.8): irreversible.
pub(super) async fn delete_article(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
) -> Response {
    with_world(&sandbox, |world| {
        let id = parse_id(&id, "Article")?;
        let article = world
            .store
            .article(id)
            .ok_or(Refusal::NotFound("Article"))?;
        may_write(
            &rights,
            world.store.workspace_of(article),
            "delete this article",
        )?;
        world.store.remove_article(id);
        let answer = json!({"success": true, "message": "The article has been deleted."});
        Ok(reply::ok(&answer))
    })
}

/// `POST /api/category` (A4.9).
pub(super) async fn post_category(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    with_world(&sandbox, |world| {
        let given = fields::object(content_type(&headers), &body)?;
        let given = fields::category(&world.options, given, true)?;
        let category = create_category(world, &rights, given)?;
        Ok(reply::with_status(
            StatusCode::CREATED,
            &json!({"success": true, "category": WrittenCategory::of(&category, true)}),
        ))
    })
}

fn create_category(
    world: &mut World,
    rights: &Rights,
    given: CategoryFields,
) -> Result<Category, Refusal> {
    let workspace = given
        .base_id
        .and_then(|id| world.store.workspace(id))
        .ok_or_else(|| Refusal::field("base_id", "The selected base id is invalid."))?
        .id;
    may_write(
        rights,
        Some(workspace),
        "create categories in this workspace",
    )?;
    let name = given.name.unwrap_or_default();
    let slug = given.slug.unwrap_or_else(|| slug_from(&name));
    free_category_slug(world, workspace, &slug, None)?;
    let mut category = world.new_category(workspace, name, slug, rights.user);
    given.description.put(&mut category.description);
    given.meta_description.put(&mut category.meta_description);
    world.store.put_category(category.clone());
    Ok(category)
}

fn free_category_slug(
    world: &World,
    workspace: Uuid,
    slug: &str,
    but: Option<Uuid>,
) -> Result<(), Refusal> {
    if world.store.category_slug_taken(workspace, slug, but) {
        let wrong = "A category with this slug already exists in the workspace.";
        return Err(Refusal::field("slug", wrong));
    }
    Ok(())
}

/// `PUT /api/category/{id}` (A4.10).
pub(super) async fn put_category(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    with_world(&sandbox, |world| {
        let id = parse_id(&id, "Category")?;
        let old = world
            .store
            .category(id)
            .cloned()
            .ok_or(Refusal::NotFound("Category"))?;
        may_write(&rights, Some(old.workspace), "update this category")?;
        let given = fields::object(content_type(&headers), &body)?;
        let given = fields::category(&world.options, given, false)?;
        let mut new = old.clone();
        new.name = given.name.unwrap_or(new.name);
        new.slug = given.slug.unwrap_or(new.slug);
        given.description.put(&mut new.description);
        given.meta_description.put(&mut new.meta_description);
        if new.slug != old.slug {
            free_category_slug(world, old.workspace, &new.slug, Some(id))?;
        }
        if new != old || world.options.touch_unchanged {
            new.updated_at = world.tick();
            world.store.put_category(new.clone());
        }
        let answer = json!({"success": true, "category": WrittenCategory::of(&new, false)});
        Ok(reply::ok(&answer))
    })
}
