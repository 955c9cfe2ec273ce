//! The writing endpoints (A4.6 to A4.10).
//!
//! A refused request changes nothing.

use super::{
    fields::{self, ArticleFields, CategoryFields, slug_from},
    reply::{self, Refusal},
    routes::{Answer, Call},
    store::{Article, Category, NewSeed},
    wire::{written_article, written_category},
    world::World,
};
use axum::http::StatusCode;
use serde_json::json;
use uuid::Uuid;

/// `POST /api/article` (A4.6).
pub(super) fn post_article(world: &mut World, call: &Call) -> Answer {
    let given = fields::article(&world.options, call.fields()?, true)?;
    let article = create_article(world, call, given)?;
    Ok(reply::with_status(
        StatusCode::CREATED,
        &json!({"success": true, "article": written_article(&article, true)}),
    ))
}

fn create_article(
    world: &mut World,
    call: &Call,
    given: ArticleFields,
) -> Result<Article, Refusal> {
    let category = given
        .category_id
        .and_then(|id| world.store.category(id))
        .ok_or_else(|| Refusal::field("category_id", "The selected category id is invalid."))?;
    call.may_write(
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
        enabled: given.enabled.unwrap_or(true),
        draft: given.draft.unwrap_or(false),
    };
    given.introtext.put(&mut new.introtext);
    given.keywords.put(&mut new.keywords);
    Ok(world.put_new_article(new, call.rights.user))
}

fn free_article_slug(
    world: &World,
    category: Uuid,
    slug: &str,
    but: Option<Uuid>,
) -> Result<(), Refusal> {
    let store = &world.store;
    if store.article_slug_taken(category, slug, but) {
        let wrong = "An article with this slug already exists in the category.";
        return Err(Refusal::field("slug", wrong));
    }
    Ok(())
}

/// `PUT /api/article/{id}` (A4.7): only given fields change, and never `draft`.
pub(super) fn put_article(world: &mut World, call: &Call) -> Answer {
    let article = world.store.article(call.id("Article")?).cloned();
    let article = article.ok_or(Refusal::NotFound("Article"))?;
    call.may_write(world.store.workspace_of(&article), "update this article")?;
    let given = fields::article(&world.options, call.fields()?, false)?;
    let article = update_article(world, call, &article, given)?;
    let answer = json!({"success": true, "article": written_article(&article, false)});
    Ok(reply::ok(&answer))
}

fn update_article(
    world: &mut World,
    call: &Call,
    old: &Article,
    given: ArticleFields,
) -> Result<Article, Refusal> {
    if let Some(target) = given.category_id {
        let target = world
            .store
            .category(target)
            .ok_or_else(|| Refusal::field("category_id", "The selected category id is invalid."))?;
        call.may_write(Some(target.workspace), "move the article to this category")?;
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

/// `DELETE /api/article/{id}` (A4.8): irreversible.
pub(super) fn delete_article(world: &mut World, call: &Call) -> Answer {
    let article = world.store.article(call.id("Article")?).cloned();
    let article = article.ok_or(Refusal::NotFound("Article"))?;
    call.may_write(world.store.workspace_of(&article), "delete this article")?;
    world.store.remove_article(article.id);
    let answer = json!({"success": true, "message": "The article has been deleted."});
    Ok(reply::ok(&answer))
}

/// `POST /api/category` (A4.9).
pub(super) fn post_category(world: &mut World, call: &Call) -> Answer {
    let given = fields::category(&world.options, call.fields()?, true)?;
    let category = create_category(world, call, given)?;
    Ok(reply::with_status(
        StatusCode::CREATED,
        &json!({"success": true, "category": written_category(&category, true)}),
    ))
}

fn create_category(
    world: &mut World,
    call: &Call,
    given: CategoryFields,
) -> Result<Category, Refusal> {
    let workspace = given
        .base_id
        .and_then(|id| world.store.workspace(id))
        .ok_or_else(|| Refusal::field("base_id", "The selected base id is invalid."))?
        .id;
    call.may_write(Some(workspace), "create categories in this workspace")?;
    let name = given.name.unwrap_or_default();
    let slug = given.slug.unwrap_or_else(|| slug_from(&name));
    free_category_slug(world, workspace, &slug, None)?;
    let mut category = world.new_category(workspace, name, slug, call.rights.user);
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
pub(super) fn put_category(world: &mut World, call: &Call) -> Answer {
    let old = world.store.category(call.id("Category")?).cloned();
    let old = old.ok_or(Refusal::NotFound("Category"))?;
    call.may_write(Some(old.workspace), "update this category")?;
    let given = fields::category(&world.options, call.fields()?, false)?;
    let mut new = old.clone();
    new.name = given.name.unwrap_or(new.name);
    new.slug = given.slug.unwrap_or(new.slug);
    given.description.put(&mut new.description);
    given.meta_description.put(&mut new.meta_description);
    if new.slug != old.slug {
        free_category_slug(world, old.workspace, &new.slug, Some(old.id))?;
    }
    if new != old || world.options.touch_unchanged {
        new.updated_at = world.tick();
        world.store.put_category(new.clone());
    }
    let answer = json!({"success": true, "category": written_category(&new, false)});
    Ok(reply::ok(&answer))
}
