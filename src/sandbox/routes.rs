//! The routes, and the common parts of their endpoints.

use super::{
    dashboard,
    fields::parse_uuid,
    gate,
    handle::Sandbox,
    options::Rights,
    reads,
    reply::{self, Refusal},
    world::World,
    writes,
};
use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{StatusCode, Uri},
    middleware,
    response::Response,
    routing::{get, post},
};
use serde_json::json;
use uuid::Uuid;

/// The result of an endpoint.
pub(super) type Answer = Result<Response, Refusal>;

impl Sandbox {
    /// Makes the router: the API below `/api`, and the dashboard at `/`.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/api/bases", get(reads::list_bases))
            .route("/api/base/{id}", get(reads::get_base))
            .route("/api/base/{id}/articles", get(reads::list_articles))
            .route("/api/category", post(writes::post_category))
            .route(
                "/api/category/{id}",
                get(reads::get_category).put(writes::put_category),
            )
            .route("/api/article", post(writes::post_article))
            .route(
                "/api/article/{id}",
                get(reads::get_article)
                    .put(writes::put_article)
                    .delete(writes::delete_article),
            )
            .merge(dashboard::routes())
            .fallback(no_route)
            .method_not_allowed_fallback(no_method)
            .layer(middleware::from_fn_with_state(self.clone(), gate::pass))
            .layer(DefaultBodyLimit::disable())
            .with_state(self.clone())
    }
}

/// The answer at an address without an endpoint has no `success`, which A1.4 promises for endpoints alone.
async fn no_route(uri: Uri) -> Response {
    if !uri.path().starts_with("/api") {
        return reply::html(StatusCode::NOT_FOUND, dashboard::not_found());
    }
    missing(StatusCode::NOT_FOUND, uri.path())
}

/// Answers at an address without an endpoint.
pub(super) fn missing(status: StatusCode, path: &str) -> Response {
    let message = format!("The route {path} could not be found.");
    reply::with_status(status, &json!({ "message": message }))
}

async fn no_method() -> Response {
    reply::failure(
        StatusCode::METHOD_NOT_ALLOWED,
        "The method is not supported for this route.",
    )
}

/// Runs a request on the world, and formats a refusal.
pub(super) fn with_world(sandbox: &Sandbox, act: impl FnOnce(&mut World) -> Answer) -> Response {
    let mut world = sandbox.lock();
    let details = world.options.error_details;
    act(&mut world).unwrap_or_else(|refusal| refusal.answer(details))
}

/// Parses an id in a path. An invalid id names nothing.
pub(super) fn parse_id(id: &str, what: &'static str) -> Result<Uuid, Refusal> {
    parse_uuid(id).ok_or(Refusal::NotFound(what))
}

/// Refuses a caller without the right to read in `workspace`.
pub(super) fn may_read(rights: &Rights, workspace: Option<Uuid>) -> Result<(), Refusal> {
    if workspace.is_none_or(|workspace| rights.access(workspace).reads()) {
        return Ok(());
    }
    let message = "You do not have access to the requested resource.";
    Err(Refusal::Forbidden(message.to_owned()))
}

/// Refuses a caller without the right to write in `workspace`.
pub(super) fn may_write(
    rights: &Rights,
    workspace: Option<Uuid>,
    what: &str,
) -> Result<(), Refusal> {
    if workspace.is_none_or(|workspace| rights.access(workspace).writes()) {
        return Ok(());
    }
    let message = format!("You do not have permission to {what}.");
    Err(Refusal::Forbidden(message))
}
