//! The routes, and the common parts of their endpoints.

use super::{
    dashboard,
    fields::{self, parse_uuid},
    gate,
    handle::Sandbox,
    options::Rights,
    reads,
    reply::{self, Refusal},
    world::World,
    writes,
};
use axum::{
    Extension, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, StatusCode, Uri, header},
    middleware,
    response::Response,
    routing::{MethodFilter, on},
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The result of an endpoint.
pub(super) type Answer = Result<Response, Refusal>;

/// An endpoint's function. It has the world for itself, so writes are atomic and in order.
type Endpoint = fn(&mut World, &Call) -> Answer;

/// The endpoints of the API.
const ENDPOINTS: [(MethodFilter, &str, Endpoint); 10] = [
    (MethodFilter::GET, "/api/bases", reads::list_bases),
    (MethodFilter::GET, "/api/base/{id}", reads::get_base),
    (
        MethodFilter::GET,
        "/api/base/{id}/articles",
        reads::list_articles,
    ),
    (MethodFilter::POST, "/api/category", writes::post_category),
    (MethodFilter::GET, "/api/category/{id}", reads::get_category),
    (
        MethodFilter::PUT,
        "/api/category/{id}",
        writes::put_category,
    ),
    (MethodFilter::POST, "/api/article", writes::post_article),
    (MethodFilter::GET, "/api/article/{id}", reads::get_article),
    (MethodFilter::PUT, "/api/article/{id}", writes::put_article),
    (
        MethodFilter::DELETE,
        "/api/article/{id}",
        writes::delete_article,
    ),
];

/// A request of a signed-in caller.
pub(super) struct Call {
    pub(super) rights: Rights,
    /// The id in the path, as written.
    id: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    /// Returns the id in the path. An invalid id is not found.
    pub(super) fn id(&self, what: &'static str) -> Result<Uuid, Refusal> {
        parse_uuid(&self.id).ok_or(Refusal::NotFound(what))
    }

    /// Returns the fields of a write.
    pub(super) fn fields(&self) -> Result<Map<String, Value>, Refusal> {
        let kind = self.headers.get(header::CONTENT_TYPE);
        fields::object(kind.and_then(|kind| kind.to_str().ok()), &self.body)
    }

    /// Refuses a caller without the right to read in `workspace`.
    pub(super) fn may_read(&self, workspace: Option<Uuid>) -> Result<(), Refusal> {
        if workspace.is_none_or(|workspace| self.rights.access(workspace).reads()) {
            return Ok(());
        }
        let message = "You do not have access to the requested resource.";
        Err(Refusal::Forbidden(message.to_owned()))
    }

    /// Refuses a caller without the right to write in `workspace`.
    pub(super) fn may_write(&self, workspace: Option<Uuid>, what: &str) -> Result<(), Refusal> {
        if workspace.is_none_or(|workspace| self.rights.access(workspace).writes()) {
            return Ok(());
        }
        let message = format!("You do not have permission to {what}.");
        Err(Refusal::Forbidden(message))
    }
}

impl Sandbox {
    /// Makes the router: the API below `/api`, and the dashboard at `/`.
    pub fn router(&self) -> Router {
        let route = |router: Router<Self>, (method, path, act): (_, &str, Endpoint)| {
            let answer = async move |State(sandbox): State<Self>,
                                     Extension(rights): Extension<Rights>,
                                     id: Option<Path<String>>,
                                     headers: HeaderMap,
                                     body: Bytes| {
                let id = id.map(|Path(id)| id).unwrap_or_default();
                let call = Call {
                    rights,
                    id,
                    headers,
                    body,
                };
                let mut world = sandbox.lock();
                act(&mut world, &call).unwrap_or_else(Refusal::answer)
            };
            router.route(path, on(method, answer))
        };
        ENDPOINTS
            .into_iter()
            .fold(Router::new(), route)
            .merge(dashboard::routes())
            .fallback(no_route)
            .method_not_allowed_fallback(no_method)
            .layer(middleware::from_fn_with_state(self.clone(), gate::pass))
            .layer(DefaultBodyLimit::disable())
            .with_state(self.clone())
    }
}

/// The answer at an unknown address has no `success`, because A1.4 promises `success` for endpoints only.
async fn no_route(uri: Uri) -> Response {
    if !uri.path().starts_with("/api") {
        return reply::html(StatusCode::NOT_FOUND, dashboard::not_found());
    }
    let message = format!("The route {} could not be found.", uri.path());
    reply::with_status(StatusCode::NOT_FOUND, &json!({ "message": message }))
}

async fn no_method() -> Response {
    reply::failure(
        StatusCode::METHOD_NOT_ALLOWED,
        "The method is not supported for this route.",
    )
}
