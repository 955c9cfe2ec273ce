//! The ten endpoints (section 4), after the gate has let a request through.
//!
//! Each locks the world once, so requests happen one after the other, as in one database transaction each.

use super::{
    dashboard,
    fields::{self, ArticleFields, CategoryFields, parse_uuid, slug_from},
    gate,
    handle::{Sandbox, World},
    listing::{self, Asked},
    options::{EmptyPut, ListingEndpoint, Options, Rights},
    reply::{self, Refusal},
    store::{Article, Category, Store, readable},
    wire::{Base, ReadArticle, ReadCategory, WrittenArticle, WrittenCategory},
};
use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use uuid::Uuid;

type Answer = Result<Response, Refusal>;

impl Sandbox {
    /// The service as a router: the API below `/api` and the dashboard at `/`.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/api/bases", get(list_bases))
            .route("/api/base/{id}", get(get_base))
            .route("/api/base/{id}/articles", get(list_articles))
            .route("/api/category", post(post_category))
            .route("/api/category/{id}", get(get_category).put(put_category))
            .route("/api/article", post(post_article))
            .route(
                "/api/article/{id}",
                get(get_article).put(put_article).delete(delete_article),
            )
            .merge(dashboard::routes())
            .fallback(no_route)
            .method_not_allowed_fallback(no_method)
            .layer(middleware::from_fn_with_state(self.clone(), gate::pass))
            .with_state(self.clone())
    }
}

/// An address that is no endpoint: the answer has no `success` (section 1 promises it for endpoints alone).
async fn no_route(uri: Uri) -> Response {
    if !uri.path().starts_with("/api") {
        return reply::html(StatusCode::NOT_FOUND, dashboard::not_found());
    }
    missing(StatusCode::NOT_FOUND, uri.path())
}

fn missing(status: StatusCode, path: &str) -> Response {
    let message = format!("The route {path} could not be found.");
    reply::with_status(status, &json!({ "message": message }))
}

async fn no_method() -> Response {
    reply::failure(
        StatusCode::METHOD_NOT_ALLOWED,
        "The method is not supported for this route.",
    )
}

/// Runs a request against the world and words its refusal.
fn with_world(sandbox: &Sandbox, act: impl FnOnce(&mut World) -> Answer) -> Response {
    let mut world = sandbox.lock();
    let details = world.options.error_details;
    act(&mut world).unwrap_or_else(|refusal| refusal.answer(details))
}

/// Runs a read against what reads see: what is there, or an old copy of it.
fn with_store(
    sandbox: &Sandbox,
    act: impl FnOnce(&Store, &Options, &mut listing::Cache) -> Answer,
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
        let store = old.as_ref().unwrap_or(&world.store);
        act(store, &world.options, &mut world.cache)
    })
}

fn parse_id(id: &str, what: &'static str) -> Result<Uuid, Refusal> {
    parse_uuid(id).ok_or(Refusal::NotFound(what))
}

fn may_read(rights: &Rights, workspace: Option<Uuid>) -> Result<(), Refusal> {
    match workspace {
        Some(workspace) if !rights.access(workspace).reads() => Err(Refusal::Forbidden(
            "You do not have access to the requested resource.".to_owned(),
        )),
        Some(_) | None => Ok(()),
    }
}

fn may_write(rights: &Rights, workspace: Option<Uuid>, what: &str) -> Result<(), Refusal> {
    match workspace {
        Some(workspace) if !rights.access(workspace).writes() => Err(Refusal::Forbidden(format!(
            "You do not have permission to {what}."
        ))),
        Some(_) | None => Ok(()),
    }
}

/// `GET /api/bases` (section 4.1).
async fn list_bases(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
) -> Response {
    with_store(&sandbox, |store, _, _| {
        let own = |id: Uuid| rights.access(id) == super::options::Access::Owner;
        let bases: Vec<Base<'_>> = store
            .workspaces()
            .iter()
            .filter(|one| own(one.id))
            .map(Base::of)
            .collect();
        Ok(reply::ok(&json!({"success": true, "bases": bases})))
    })
}

/// `GET /api/base/{id}` (section 4.2): `base` is a list.
async fn get_base(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
) -> Response {
    with_store(&sandbox, |store, _, _| {
        let workspace = store
            .workspace(parse_id(&id, "Base")?)
            .ok_or(Refusal::NotFound("Base"))?;
        may_read(&rights, Some(workspace.id))?;
        let answer = json!({"success": true, "base": [Base::of(workspace)]});
        Ok(reply::ok(&answer))
    })
}

/// `GET /api/category/{id}` (section 4.3).
async fn get_category(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
) -> Response {
    with_store(&sandbox, |store, options, _| {
        let category = store
            .category(parse_id(&id, "Category")?)
            .ok_or(Refusal::NotFound("Category"))?;
        may_read(&rights, Some(category.workspace))?;
        let articles = store
            .listed_in_category(options, category.id)
            .map(|article| ReadArticle::listed(article, options.category_bodies))
            .collect();
        let category = ReadCategory::single(category, articles);
        Ok(reply::ok(&json!({"success": true, "category": category})))
    })
}

/// `GET /api/article/{id}` (section 4.4).
async fn get_article(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
) -> Response {
    with_store(&sandbox, |store, options, _| {
        let article = store
            .article(parse_id(&id, "Article")?)
            .filter(|article| readable(options, article))
            .ok_or(Refusal::NotFound("Article"))?;
        may_read(&rights, store.workspace_of(article))?;
        let category = store.category(article.category_id);
        let full_url = format!(
            "{}/{}/{}",
            options.public_origin,
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

/// `GET /api/base/{id}/articles` (section 4.5).
async fn list_articles(
    State(sandbox): State<Sandbox>,
    Extension(rights): Extension<Rights>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = format!("/api/base/{id}/articles");
    with_store(&sandbox, |store, options, cache| {
        if let ListingEndpoint::Missing(status) = options.listing_endpoint {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND);
            return Ok(missing(status, &path));
        }
        let workspace = store
            .workspace(parse_id(&id, "Base")?)
            .ok_or(Refusal::NotFound("Base"))?;
        may_read(&rights, Some(workspace.id))?;
        let page = Query::<PageQuery>::try_from_uri(&uri)
            .ok()
            .and_then(|query| query.0.page)
            .map_or(1, |page| page.max(1));
        let etag = format!("\"{}-{page}\"", store.changes());
        if options.etag && named(&headers, &etag) {
            return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
        }
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let origin = options
            .page_origin
            .clone()
            .unwrap_or_else(|| format!("http://{}", host.unwrap_or("localhost")));
        let asked = Asked {
            page,
            address: origin + &path,
        };
        let pieces = listing::page(store, options, cache, workspace, &asked)
            .map_err(|error| Refusal::Malformed(error.to_string()))?;
        let mut response = stream_pieces(pieces);
        if options.etag
            && let Ok(etag) = HeaderValue::try_from(etag)
        {
            response.headers_mut().insert(header::ETAG, etag);
        }
        Ok(response)
    })
}

/// Tells whether `If-None-Match` names the version.
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

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE)?.to_str().ok()
}

/// `POST /api/article` (section 4.6).
async fn post_article(
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
            &json!({"success": true, "article": WrittenArticle::created(&article)}),
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
    let now = world.tick();
    let mut article = Article {
        id: world.new_id(),
        user_id: rights.user,
        category_id,
        title,
        slug,
        text: given.text.unwrap_or_default(),
        introtext: None,
        keywords: None,
        enabled: given.enabled.unwrap_or(world.options.enabled_default),
        draft: given.draft.unwrap_or(world.options.draft_default),
        views: 0,
        rating_happy: 0,
        rating_neutral: 0,
        rating_sad: 0,
        updated_at: now,
        created_at: now,
    };
    given.introtext.put(&mut article.introtext);
    given.keywords.put(&mut article.keywords);
    world.store.put_article(article.clone());
    Ok(article)
}

fn free_article_slug(
    world: &World,
    category: Uuid,
    slug: &str,
    but: Option<Uuid>,
) -> Result<(), Refusal> {
    if world
        .store
        .article_slug_taken(&world.options, category, slug, but)
    {
        return Err(Refusal::field(
            "slug",
            "An article with this slug already exists in the category.",
        ));
    }
    Ok(())
}

/// `PUT /api/article/{id}` (section 4.7): only the fields that are there change, and never `draft`.
async fn put_article(
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
        let answer = json!({"success": true, "article": WrittenArticle::updated(&article)});
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

/// `DELETE /api/article/{id}` (section 4.8): for ever.
async fn delete_article(
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

/// `POST /api/category` (section 4.9).
async fn post_category(
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
            &json!({"success": true, "category": WrittenCategory::created(&category)}),
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
    let now = world.tick();
    let mut category = Category {
        id: world.new_id(),
        user_id: rights.user,
        workspace,
        name,
        slug,
        description: None,
        meta_description: None,
        updated_at: now,
        created_at: now,
    };
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
        return Err(Refusal::field(
            "slug",
            "A category with this slug already exists in the workspace.",
        ));
    }
    Ok(())
}

/// `PUT /api/category/{id}` (section 4.10).
async fn put_category(
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
        let answer = json!({"success": true, "category": WrittenCategory::updated(&new)});
        Ok(reply::ok(&answer))
    })
}
