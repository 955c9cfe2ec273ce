//! The steps of every API request: the `Host`, the record, sign-in, rate limits, the endpoint, the headers of A8.3.
//!
//! An [`Interceptor`] may stand between the record and the rest.

use super::{
    dashboard,
    handle::Sandbox,
    limits::{Allowance, LIMIT, Limits},
    options::Rights,
    reply,
    world::RequestRecord,
};
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use std::{any::Any, fmt};
use tokio::time::Instant;

/// The largest request body that is read.
const MAX_BODY: usize = 256 * 1024 * 1024;

/// Code that sees every API request after its record, such as a fault: it passes the request on, answers it itself, or
/// changes the answer.
pub trait Interceptor: Any + fmt::Debug + Send + Sync {
    /// Answers a request; `carry_out` does what the service does.
    fn intercept(
        &self,
        sandbox: &Sandbox,
        request: Request,
        carry_out: CarryOut,
    ) -> BoxFuture<'static, Response>;
}

/// Marks an answer that does not arrive, because its connection was dropped.
#[derive(Clone, Copy, Debug)]
pub struct Dropped;

/// Carries out a request: sign-in, rate limits, the endpoint.
pub type CarryOut = Box<dyn FnOnce(Request) -> BoxFuture<'static, Response> + Send>;

/// Passes a request to its endpoint, or answers without the endpoint.
pub(super) async fn pass(State(sandbox): State<Sandbox>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path != "/api" && !path.starts_with("/api/") {
        return next.run(request).await;
    }
    if !dashboard::is_asked_for(request.headers()) {
        return reply::failure(
            StatusCode::MISDIRECTED_REQUEST,
            "This service answers to localhost only.",
        );
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
        return reply::failure(StatusCode::BAD_REQUEST, "The body could not be read.");
    };
    let number = record(&sandbox, &parts, &body);
    let request = Request::from_parts(parts, Body::from(body));
    let own = sandbox.clone();
    let carry_out: CarryOut =
        Box::new(move |request| Box::pin(async move { carry_out(&own, request, next).await }));
    let mut response = match sandbox.interceptor() {
        Some(interceptor) => interceptor.intercept(&sandbox, request, carry_out).await,
        None => carry_out(request).await,
    };
    if !response.headers().contains_key(LIMIT) {
        Limits::signed_out(&sandbox.options()).tell(response.headers_mut());
    }
    if response.extensions().get::<Dropped>().is_none() {
        sandbox.lock().answered(number, response.status().as_u16());
    }
    response
}

/// Records the request, and returns its number.
fn record(sandbox: &Sandbox, parts: &Parts, body: &Bytes) -> u64 {
    let headers = parts
        .headers
        .iter()
        .filter(|(name, _)| *name != header::AUTHORIZATION)
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        })
        .collect();
    sandbox.lock().record(RequestRecord {
        number: 0,
        at: chrono::Utc::now(),
        method: parts.method.to_string(),
        path: parts
            .uri
            .path_and_query()
            .map_or_else(|| parts.uri.path().to_owned(), ToString::to_string),
        headers,
        body: String::from_utf8_lossy(body).into_owned(),
        status: 0,
    })
}

/// Checks sign-in and limits, and calls the endpoint.
async fn carry_out(sandbox: &Sandbox, mut request: Request, next: Next) -> Response {
    let (rights, allowance) = match sign_in(sandbox, &request) {
        Ok(signed_in) => signed_in,
        Err(answer) => return *answer,
    };
    request.extensions_mut().insert(rights);
    let mut response = next.run(request).await;
    allowance.tell(response.headers_mut());
    response
}

/// Returns the caller's rights and what is left of the limits, or the refusal.
fn sign_in(sandbox: &Sandbox, request: &Request) -> Result<(Rights, Allowance), Box<Response>> {
    let world = &mut *sandbox.lock();
    let rights = bearer(request.headers()).and_then(|token| world.rights(token));
    let rights = rights.ok_or_else(|| Box::new(signed_out(request.headers())))?;
    let options = &world.options;
    let allowance = world.limits.spend(options, rights.user, Instant::now());
    if allowance.granted {
        return Ok((rights, allowance));
    }
    let mut answer = reply::failure(StatusCode::TOO_MANY_REQUESTS, "Too Many Attempts.");
    allowance.tell(answer.headers_mut());
    Err(Box::new(answer))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The answer to a request that is not signed in (A5.2).
fn signed_out(headers: &HeaderMap) -> Response {
    let wants_json = headers.get_all(header::ACCEPT).iter().any(|accept| {
        accept
            .to_str()
            .is_ok_and(|accept| accept.contains("application/json"))
    });
    if wants_json {
        return reply::failure(StatusCode::UNAUTHORIZED, "Unauthenticated.");
    }
    (StatusCode::FOUND, [(header::LOCATION, "/login")]).into_response()
}
