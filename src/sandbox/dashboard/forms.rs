//! The forms of the dashboard. Saving without a change leaves `updated_at`.

use super::pages::{SAVED, failed, gone};
use crate::sandbox::{
    fields::{parse_uuid, slug_from},
    handle::Sandbox,
    store::{Article, NewSeed},
};
use axum::{
    Router,
    extract::{Form, Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect},
    routing::post,
};
use std::collections::HashMap;

/// The longest title, slug, introtext, keywords and name, in characters (A8.2).
const MAX: usize = 255;

/// The fields of a form, as a browser sends them.
type Fields = HashMap<String, String>;

/// Why a form was not carried out.
enum Wrong {
    /// The object of the form does not exist.
    Gone,
    /// A field has a value that is not allowed.
    Refused(&'static str),
}

/// A form's action on the object with this id, if the path has an id. Returns the address of the next page.
type Act = fn(&Sandbox, &str, &Fields) -> Result<String, Wrong>;

const FORMS: [(&str, Act); 6] = [
    ("/dashboard/workspace", new_workspace),
    ("/dashboard/category", new_category),
    ("/dashboard/category/{id}", save_category),
    ("/dashboard/article", new_article),
    ("/dashboard/article/{id}", save_article),
    ("/dashboard/article/{id}/state", change_state),
];

/// The addresses of the forms.
pub(super) fn routes() -> Router<Sandbox> {
    FORMS
        .into_iter()
        .fold(Router::new(), |router, (path, act)| {
            let take = async move |State(sandbox): State<Sandbox>,
                                   id: Option<Path<String>>,
                                   Form(fields): Form<Fields>| {
                let id = id.map(|Path(id)| id).unwrap_or_default();
                match act(&sandbox, &id, &fields) {
                    Ok(page) => Redirect::to(&page).into_response(),
                    Err(Wrong::Gone) => gone(),
                    Err(Wrong::Refused(why)) => failed(StatusCode::UNPROCESSABLE_ENTITY, why),
                }
            };
            router.route(path, post(take))
        })
}

const CATEGORY_TAKEN: &str = "There is a category with this slug already.";
const ARTICLE_TAKEN: &str = "There is an article with this slug in the category already.";

fn fits(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MAX
}

/// Returns the name or the title of a new object.
fn new_name<'f>(form: &'f Fields, field: &str) -> Result<&'f str, Wrong> {
    let name = text(form, field)?;
    let why = "A name or a title has 1 to 255 characters.";
    if fits(name) {
        Ok(name)
    } else {
        Err(Wrong::Refused(why))
    }
}

/// Returns a field.
fn text<'f>(fields: &'f Fields, name: &str) -> Result<&'f str, Wrong> {
    let text = fields.get(name).map(String::as_str);
    text.ok_or(Wrong::Refused("A field is missing."))
}

/// Creates a workspace.
fn new_workspace(sandbox: &Sandbox, _: &str, form: &Fields) -> Result<String, Wrong> {
    let name = new_name(form, "name")?;
    sandbox.add_workspace(name);
    Ok("/".to_owned())
}

/// Creates a category.
fn new_category(sandbox: &Sandbox, _: &str, form: &Fields) -> Result<String, Wrong> {
    let name = new_name(form, "name")?;
    let slug = slug_from(name);
    let mut world = sandbox.lock();
    let workspace = parse_uuid(text(form, "workspace")?).and_then(|id| world.store.workspace(id));
    let workspace = workspace.ok_or(Wrong::Gone)?.id;
    if world.store.category_slug_taken(workspace, &slug, None) {
        return Err(Wrong::Refused(CATEGORY_TAKEN));
    }
    let id = world.add_category(workspace, name, &slug);
    Ok(format!("/dashboard/category/{id}"))
}

/// Saves the texts of a category.
fn save_category(sandbox: &Sandbox, id: &str, form: &Fields) -> Result<String, Wrong> {
    let mut world = sandbox.lock();
    let old = parse_uuid(id).and_then(|id| world.store.category(id).cloned());
    let old = old.ok_or(Wrong::Gone)?;
    let (name, slug) = (text(form, "name")?, text(form, "slug")?);
    if !fits(name) || !fits(slug) {
        return Err(Wrong::Refused("Name and slug have 1 to 255 characters."));
    }
    if world
        .store
        .category_slug_taken(old.workspace, slug, Some(old.id))
    {
        return Err(Wrong::Refused(CATEGORY_TAKEN));
    }
    let mut new = old.clone();
    name.clone_into(&mut new.name);
    slug.clone_into(&mut new.slug);
    new.description = typed(text(form, "description")?, old.description.as_ref());
    new.meta_description = typed(
        text(form, "meta_description")?,
        old.meta_description.as_ref(),
    );
    if new != old {
        world.edit_category(old.id, |category| *category = new);
    }
    Ok(format!("/dashboard/category/{id}?{SAVED}"))
}

/// Returns the input of an optional field. An empty input keeps an old value that is null or empty.
fn typed(input: &str, old: Option<&String>) -> Option<String> {
    match old {
        Some(old) if input.is_empty() && old.is_empty() => Some(String::new()),
        Some(_) | None => (!input.is_empty()).then(|| input.to_owned()),
    }
}

/// Creates a draft.
fn new_article(sandbox: &Sandbox, _: &str, form: &Fields) -> Result<String, Wrong> {
    let title = new_name(form, "title")?;
    let slug = slug_from(title);
    let mut world = sandbox.lock();
    let category = parse_uuid(text(form, "category")?).and_then(|id| world.store.category(id));
    let category = category.ok_or(Wrong::Gone)?.id;
    if world.store.article_slug_taken(category, &slug, None) {
        return Err(Wrong::Refused(ARTICLE_TAKEN));
    }
    let id = world.add_article(NewSeed::new(category, title, &slug, "").draft());
    Ok(format!("/dashboard/article/{id}"))
}

/// Saves an article. Another category moves it.
fn save_article(sandbox: &Sandbox, id: &str, form: &Fields) -> Result<String, Wrong> {
    let mut world = sandbox.lock();
    let old = parse_uuid(id).and_then(|id| world.store.article(id).cloned());
    let old = old.ok_or(Wrong::Gone)?;
    let short = [text(form, "introtext")?, text(form, "keywords")?];
    if !fits(text(form, "title")?)
        || !fits(text(form, "slug")?)
        || short.iter().any(|text| text.chars().count() > MAX)
    {
        return Err(Wrong::Refused(
            "Title and slug have 1 to 255 characters, introtext and keywords at most 255.",
        ));
    }
    let category = parse_uuid(text(form, "category")?).and_then(|id| world.store.category(id));
    let Some(category) = category.map(|category| category.id) else {
        return Err(Wrong::Refused("There is no such category."));
    };
    let new = Article {
        category_id: category,
        ..edited(&old, form)?
    };
    if world
        .store
        .article_slug_taken(category, &new.slug, Some(old.id))
    {
        return Err(Wrong::Refused(ARTICLE_TAKEN));
    }
    if new != *old {
        world.edit(old.id, |article| *article = new);
    }
    Ok(format!("/dashboard/article/{id}?{SAVED}"))
}

fn edited(old: &Article, form: &Fields) -> Result<Article, Wrong> {
    let mut new = old.clone();
    text(form, "title")?.clone_into(&mut new.title);
    text(form, "slug")?.clone_into(&mut new.slug);
    new.introtext = typed(text(form, "introtext")?, old.introtext.as_ref());
    new.keywords = typed(text(form, "keywords")?, old.keywords.as_ref());
    new.enabled = form.contains_key("enabled");
    // Browsers send the line ends of a textarea as CRLF.
    let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
    let text = lines(text(form, "text")?);
    if text != lines(&old.text) {
        new.text = text;
    }
    Ok(new)
}

/// Publishes, unpublishes, enables, disables or deletes an article.
fn change_state(sandbox: &Sandbox, id: &str, form: &Fields) -> Result<String, Wrong> {
    let known = parse_uuid(id).ok_or(Wrong::Gone)?;
    let changed = match text(form, "to")? {
        "published" => sandbox.publish(known),
        "draft" => sandbox.unpublish(known),
        "enabled" => sandbox.enable(known),
        "disabled" => sandbox.disable(known),
        "deleted" => {
            let removed = sandbox.remove(known).ok_or(Wrong::Gone)?;
            return Ok(format!("/dashboard/category/{}", removed.category_id));
        }
        _ => return Err(Wrong::Refused("There is no such state.")),
    };
    changed.ok_or(Wrong::Gone)?;
    Ok(format!("/dashboard/article/{id}"))
}
