//! The reading endpoints (A4.1 to A4.5), which see published articles only.

use super::{
    handle::Sandbox,
    listing::{self, Asked},
    options::{Access, ListingEndpoint, Options, Rights},
    reply::{self, Refusal},
    routes::{Answer, may_read, missing, parse_id, with_world},
    store::{Store, readable},
    wire::{Base, ReadArticle, ReadCategory},
};
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use uuid::Uuid;

/// The content that a read sees.
struct View<'a> {
    store: &'a Store,
    options: &'a Options,
    nonce: Uuid,
}

/// Runs a read on the present content, or on a stale copy.
fn with_store(
    sandbox: &Sandbox,
    act: impl FnOnce(&View<'_>, &mut listing::Cache) -> Answer,
) -> Response {
    with_world(sandbox, |world| {
        let old = match &mut world.stale {
            Some(stale) if stale.reads > 0 => {
                stale.reads -= 1;
                Some(stale.store.clone())
            }
            Some(_) | None => {
                world.stale = None;
                None
            }
        };
        let seen = View {
            store: old.as_ref().unwrap_or(&world.store),
            options: &world.options,
            nonce: world.nonce,
        };
        act(&seen, &mut world.cache)
    })
}

/// `GET /api/bases` (A4.1).
pub(super) async fn list_bases(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
) -> Response {
    with_store(&sandbox, |seen, _| {
        let own = |id: Uuid| rights.access(id) == Access::Owner;
        let bases: Vec<Base<'_>> = seen
            .store
            .workspaces()
            .iter()
            .filter(|one| own(one.id))
            .map(Base::of)
            .collect();
        Ok(reply::ok(&json!({"success": true, "bases": bases})))
    })
}

/// `GET /api/base/{id}` (A4.2): `base` is a list.
pub(super) async fn get_base(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
) -> Response {
    with_store(&sandbox, |seen, _| {
        let workspace = seen
            .store
            .workspace(parse_id(&id, "Base")?)
            .ok_or(Refusal::NotFound("Base"))?;
        may_read(&rights, Some(workspace.id))?;
        let answer = json!({"success": true, "base": [Base::of(workspace)]});
        Ok(reply::ok(&answer))
    })
}

/// `GET /api/category/{id}` (A4.3).
pub(super) async fn get_category(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
) -> Response {
    with_store(&sandbox, |seen, _| {
        let category = seen
            .store
            .category(parse_id(&id, "Category")?)
            .ok_or(Refusal::NotFound("Category"))?;
        may_read(&rights, Some(category.workspace))?;
        let articles = seen
            .store
            .listed_in_category(seen.options, category.id)
            .map(|article| ReadArticle::listed(article, seen.options.category_bodies))
            .collect();
        let category = ReadCategory::of(category, articles);
        Ok(reply::ok(&json!({"success": true, "category": category})))
    })
}

/// `GET /api/article/{id}` (A4.4).
pub(super) async fn get_article(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
) -> Response {
    with_store(&sandbox, |seen, _| {
        let article = seen
            .store
            .article(parse_id(&id, "Article")?)
            .filter(|article| readable(seen.options, article))
            .ok_or(Refusal::NotFound("Article"))?;
        may_read(&rights, seen.store.workspace_of(article))?;
        let category = seen.store.category(article.category_id);
        let full_url = format!(
            "{}/{}/{}",
            seen.options.public_origin,
            category.map_or("", |one| one.slug.as_str()),
            article.slug
        );
        let article = ReadArticle::single(article, full_url);
        Ok(reply::ok(&json!({"success": true, "article": article})))
    })
}

#[derive(Deserialize)]
struct PageQuery {
    page: Option<usize>,
}

/// `GET /api/base/{id}/articles` (A4.5).
pub(super) async fn list_articles(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = format!("/api/base/{id}/articles");
    with_store(&sandbox, |seen, cache| {
        if let ListingEndpoint::Missing(status) = seen.options.listing_endpoint {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND);
            return Ok(missing(status, &path));
        }
        let workspace = seen
            .store
            .workspace(parse_id(&id, "Base")?)
            .ok_or(Refusal::NotFound("Base"))?;
        may_read(&rights, Some(workspace.id))?;
        let page = Query::<PageQuery>::try_from_uri(&uri)
            .ok()
            .and_then(|query| query.0.page)
            .map_or(1, |page| page.max(1));
        let etag = format!("\"{}-{}-{page}\"", seen.nonce, seen.store.changes());
        if seen.options.etag && named(&headers, &etag) {
            return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
        }
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let origin = seen
            .options
            .page_origin
            .clone()
            .unwrap_or_else(|| format!("http://{}", host.unwrap_or("localhost")));
        let asked = Asked {
            page,
            address: origin + &path,
        };
        let pieces = listing::page(seen.store, seen.options, cache, workspace, &asked)
            .map_err(|error| Refusal::Malformed(error.to_string()))?;
        let mut response = stream_pieces(pieces);
        if seen.options.etag
            && let Ok(etag) = HeaderValue::try_from(etag)
        {
            response.headers_mut().insert(header::ETAG, etag);
        }
        Ok(response)
    })
}

/// Returns whether `If-None-Match` names the current version.
fn named(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|value| value.to_str().is_ok_and(|value| value.contains(etag)))
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
