//! The forms of the dashboard. Saving without a change leaves `updated_at`.

use super::pages::{SAVED, failed, gone};
use crate::sandbox::{
    fields::{parse_uuid, slug_from},
    handle::Sandbox,
    store::{Article, NewSeed},
};
use axum::{
    extract::{Form, Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use uuid::Uuid;

/// The longest title and the like (A8.2), in characters.
const MAX: usize = 255;

fn go(path: &str) -> Response {
    Redirect::to(path).into_response()
}

fn refused(why: &str) -> Response {
    failed(StatusCode::UNPROCESSABLE_ENTITY, why)
}

fn fits(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MAX
}

#[derive(Deserialize)]
pub(super) struct NewWorkspace {
    name: String,
}

/// Creates a workspace.
pub(super) async fn new_workspace(
    State(sandbox): State<Sandbox>,
    Form(form): Form<NewWorkspace>,
) -> Response {
    if !fits(&form.name) {
        return refused("A name has 1 to 255 characters.");
    }
    sandbox.add_workspace(&form.name);
    go("/")
}

#[derive(Deserialize)]
pub(super) struct NewCategory {
    workspace: Uuid,
    name: String,
}

/// Creates a category.
pub(super) async fn new_category(
    State(sandbox): State<Sandbox>,
    Form(form): Form<NewCategory>,
) -> Response {
    if !fits(&form.name) {
        return refused("A name has 1 to 255 characters.");
    }
    let slug = slug_from(&form.name);
    let id = {
        let mut world = sandbox.lock();
        if world.store.workspace(form.workspace).is_none() {
            return gone();
        }
        if world.store.category_slug_taken(form.workspace, &slug, None) {
            return refused("There is a category with this slug already.");
        }
        world.add_category(form.workspace, &form.name, &slug)
    };
    go(&format!("/dashboard/category/{id}"))
}

#[derive(Deserialize)]
pub(super) struct CategoryForm {
    name: String,
    slug: String,
    description: String,
    meta_description: String,
}

/// Saves the texts of a category.
pub(super) async fn save_category(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    Form(form): Form<CategoryForm>,
) -> Response {
    let mut world = sandbox.lock();
    let old = parse_uuid(&id).and_then(|id| world.store.category(id).cloned());
    let Some(old) = old else {
        return gone();
    };
    if !fits(&form.name) || !fits(&form.slug) {
        return refused("Name and slug have 1 to 255 characters.");
    }
    if world
        .store
        .category_slug_taken(old.workspace, &form.slug, Some(old.id))
    {
        return refused("There is a category with this slug already.");
    }
    let mut new = old.clone();
    new.name = form.name;
    new.slug = form.slug;
    new.description = typed(form.description, old.description.clone());
    new.meta_description = typed(form.meta_description, old.meta_description.clone());
    if new != old {
        world.edit_category(old.id, |category| *category = new);
    }
    go(&format!("/dashboard/category/{id}?{SAVED}"))
}

/// Returns the old value if the input is empty and the old value is null or empty.
fn typed(input: String, old: Option<String>) -> Option<String> {
    if input.is_empty() && old.as_deref().unwrap_or_default().is_empty() {
        return old;
    }
    (!input.is_empty()).then_some(input)
}

#[derive(Deserialize)]
pub(super) struct NewArticle {
    category: Uuid,
    title: String,
}

/// Creates a draft.
pub(super) async fn new_article(
    State(sandbox): State<Sandbox>,
    Form(form): Form<NewArticle>,
) -> Response {
    if !fits(&form.title) {
        return refused("A title has 1 to 255 characters.");
    }
    let slug = slug_from(&form.title);
    let id = {
        let mut world = sandbox.lock();
        if world.store.category(form.category).is_none() {
            return gone();
        }
        if world
            .store
            .article_slug_taken(&world.options, form.category, &slug, None)
        {
            return refused("There is an article with this slug in the category already.");
        }
        world.add_article(NewSeed::new(form.category, &form.title, &slug, "").draft())
    };
    go(&format!("/dashboard/article/{id}"))
}

#[derive(Deserialize)]
pub(super) struct ArticleForm {
    title: String,
    slug: String,
    category: Uuid,
    introtext: String,
    keywords: String,
    text: String,
    enabled: Option<String>,
}

/// Saves an article. Another category moves it.
pub(super) async fn save_article(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    Form(form): Form<ArticleForm>,
) -> Response {
    let mut world = sandbox.lock();
    let old = parse_uuid(&id).and_then(|id| world.store.article(id).cloned());
    let Some(old) = old else {
        return gone();
    };
    let short = [&form.introtext, &form.keywords]
        .iter()
        .all(|text| text.chars().count() <= MAX);
    if !fits(&form.title) || !fits(&form.slug) || !short {
        return refused(
            "Title and slug have 1 to 255 characters, introtext and keywords at most 255.",
        );
    }
    if world.store.category(form.category).is_none() {
        return refused("There is no such category.");
    }
    if world
        .store
        .article_slug_taken(&world.options, form.category, &form.slug, Some(old.id))
    {
        return refused("There is an article with this slug in the category already.");
    }
    let new = edited(&old, form);
    if new != *old {
        world.edit(old.id, |article| *article = new);
    }
    go(&format!("/dashboard/article/{id}?{SAVED}"))
}

fn edited(old: &Article, form: ArticleForm) -> Article {
    let mut new = old.clone();
    new.title = form.title;
    new.slug = form.slug;
    new.category_id = form.category;
    new.introtext = typed(form.introtext, old.introtext.clone());
    new.keywords = typed(form.keywords, old.keywords.clone());
    new.enabled = form.enabled.is_some();
    // Browsers send the line ends of a textarea as CRLF.
    let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
    let text = lines(&form.text);
    if text != lines(&old.text) {
        new.text = text;
    }
    new
}

/// The states that a button leads to.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum TargetState {
    Published,
    Draft,
    Enabled,
    Disabled,
    Deleted,
}

#[derive(Deserialize)]
pub(super) struct StateForm {
    to: TargetState,
}

/// Publishes, unpublishes, enables, disables or deletes an article.
pub(super) async fn change_state(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    Form(form): Form<StateForm>,
) -> Response {
    let Some(known) = parse_uuid(&id) else {
        return gone();
    };
    let changed = match form.to {
        TargetState::Published => sandbox.publish(known),
        TargetState::Draft => sandbox.unpublish(known),
        TargetState::Enabled => sandbox.enable(known),
        TargetState::Disabled => sandbox.disable(known),
        TargetState::Deleted => {
            let Some(removed) = sandbox.remove(known) else {
                return gone();
            };
            return go(&format!("/dashboard/category/{}", removed.category_id));
        }
    };
    match changed {
        Some(_) => go(&format!("/dashboard/article/{id}")),
        None => gone(),
    }
}
