//! The reading endpoints (A4.1 to A4.5), which see published articles only.

use super::{
    listing,
    options::{Access, Options},
    reply::{self, Refusal},
    routes::{Answer, Call},
    store::{Store, readable},
    wire,
    world::World,
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::stream;
use serde_json::{Value, json};
use std::{borrow::Cow, convert::Infallible};
use uuid::Uuid;

/// The content that a read sees, current or stale.
struct View<'a> {
    store: Cow<'a, Store>,
    options: &'a Options,
}

/// Returns the current content, or a stale copy.
fn seen(world: &mut World) -> (View<'_>, &mut listing::Cache) {
    let store = match &mut world.stale {
        Some(stale) if stale.reads > 0 => {
            stale.reads -= 1;
            Cow::Owned(stale.store.clone())
        }
        Some(_) | None => {
            world.stale = None;
            Cow::Borrowed(&world.store)
        }
    };
    let view = View {
        store,
        options: &world.options,
    };
    (view, &mut world.cache)
}

/// `GET /api/bases` (A4.1).
#[expect(clippy::unnecessary_wraps, reason = "all endpoints have this type")]
pub(super) fn list_bases(world: &mut World, call: &Call) -> Answer {
    let (seen, _) = seen(world);
    let own = |id: Uuid| call.rights.access(id) == Access::Owner;
    let workspaces = seen.store.workspaces().iter();
    let bases: Vec<Value> = workspaces
        .filter(|one| own(one.id))
        .map(wire::base)
        .collect();
    Ok(reply::ok(&json!({"success": true, "bases": bases})))
}

/// `GET /api/base/{id}` (A4.2): `base` is a list.
pub(super) fn get_base(world: &mut World, call: &Call) -> Answer {
    let (seen, _) = seen(world);
    let workspace = seen
        .store
        .workspace(call.id("Base")?)
        .ok_or(Refusal::NotFound("Base"))?;
    call.may_read(Some(workspace.id))?;
    let answer = json!({"success": true, "base": [wire::base(workspace)]});
    Ok(reply::ok(&answer))
}

/// `GET /api/category/{id}` (A4.3).
pub(super) fn get_category(world: &mut World, call: &Call) -> Answer {
    let (seen, _) = seen(world);
    let category = seen
        .store
        .category(call.id("Category")?)
        .ok_or(Refusal::NotFound("Category"))?;
    call.may_read(Some(category.workspace))?;
    let articles = seen
        .store
        .listed_in_category(seen.options, category.id)
        .map(|article| wire::read_article(article))
        .collect();
    let category = wire::read_category(category, articles);
    Ok(reply::ok(&json!({"success": true, "category": category})))
}

/// `GET /api/article/{id}` (A4.4).
pub(super) fn get_article(world: &mut World, call: &Call) -> Answer {
    let (seen, _) = seen(world);
    let article = seen
        .store
        .article(call.id("Article")?)
        .filter(|article| readable(seen.options, article))
        .ok_or(Refusal::NotFound("Article"))?;
    call.may_read(seen.store.workspace_of(article))?;
    let category = seen.store.category(article.category_id);
    let mut read = wire::read_article(article);
    read["full_url"] = json!(format!(
        "https://help.example.com/{}/{}",
        category.map_or("", |one| one.slug.as_str()),
        article.slug
    ));
    Ok(reply::ok(&json!({"success": true, "article": read})))
}

/// `GET /api/base/{id}/articles` (A4.5).
pub(super) fn list_articles(world: &mut World, call: &Call) -> Answer {
    let (seen, cache) = seen(world);
    let workspace = seen
        .store
        .workspace(call.id("Base")?)
        .ok_or(Refusal::NotFound("Base"))?;
    call.may_read(Some(workspace.id))?;
    let pieces = listing::all(&seen.store, seen.options, cache, workspace.id)
        .map_err(|error| Refusal::Malformed(error.to_string()))?;
    Ok(stream_pieces(pieces))
}

fn stream_pieces(pieces: Vec<Bytes>) -> Response {
    let length: usize = pieces.iter().map(Bytes::len).sum();
    let body = Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)));
    let mut response = reply::json_bytes(StatusCode::OK, body);
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}
