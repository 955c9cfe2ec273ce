//! The steps of every API request: the `Host`, the record, faults, sign-in, rate limits, the endpoint, the headers of
//! A8.3, and faults that spoil the answer.

use super::{
    dashboard,
    faults::{self, FaultKind, Hook, RawAnswer},
    handle::Sandbox,
    limits::{Allowance, Limits},
    options::{Options, RetryAfter, Rights},
    reply,
    serve::Line,
    spoil::{cut, spoil},
    world::{RequestRecord, Stale},
};
use axum::{
    body::{Body, Bytes},
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use chrono::{TimeDelta, Utc};
use tokio::time::Instant;

/// The largest request body that is read.
const MAX_BODY: usize = 256 * 1024 * 1024;

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
    let (number, faults) = arrive(&sandbox, &parts, &body);
    let line = parts
        .extensions
        .get::<ConnectInfo<Line>>()
        .map(|info| info.0.clone());

    let (mut response, allowance) = match before(&sandbox, &faults).await {
        Some(Replacement::Answer(answer)) => {
            let allowance = Limits::signed_out(&sandbox.options());
            (answer, allowance)
        }
        Some(Replacement::Limited(retry_after)) => limited(&sandbox.options(), retry_after, 429),
        Some(Replacement::Reset) => {
            return cut(line.as_ref());
        }
        None => carry_out(&sandbox, parts, body, next).await,
    };
    for fault in &faults {
        if let FaultKind::HookAfter(hook) = fault {
            run(&sandbox, hook).await;
        }
    }
    let headers = response.headers_mut();
    headers.insert("x-ratelimit-limit", HeaderValue::from(allowance.limit));
    headers.insert(
        "x-ratelimit-remaining",
        HeaderValue::from(allowance.remaining),
    );
    if faults
        .iter()
        .any(|fault| matches!(fault, FaultKind::ResetAfter))
    {
        return cut(line.as_ref());
    }
    sandbox.lock().answered(number, response.status().as_u16());
    for fault in faults {
        response = spoil(response, fault, line.as_ref()).await;
    }
    response
}

/// Records the request, and takes the faults that affect it.
fn arrive(sandbox: &Sandbox, parts: &Parts, body: &Bytes) -> (u64, Vec<FaultKind>) {
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default();
    let headers = parts
        .headers
        .iter()
        .filter(|(name, _)| *name != header::AUTHORIZATION)
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        })
        .collect();
    let mut world = sandbox.lock();
    let number = world.record(RequestRecord {
        number: 0,
        at: chrono::Utc::now(),
        method: parts.method.to_string(),
        path: parts
            .uri
            .path_and_query()
            .map_or_else(|| path.to_owned(), ToString::to_string),
        headers,
        body: String::from_utf8_lossy(body).into_owned(),
        status: 0,
    });
    let taken = faults::take(&mut world.faults, parts.method.as_str(), path, query);
    (number, taken)
}

/// The replacement of a request's execution.
enum Replacement {
    Answer(Response),
    Limited(Option<RetryAfter>),
    Reset,
}

/// Runs the faults before the request. The first fault that replaces the request wins.
async fn before(sandbox: &Sandbox, faults: &[FaultKind]) -> Option<Replacement> {
    for fault in faults {
        match fault {
            FaultKind::Latency(wait) => tokio::time::sleep(*wait).await,
            FaultKind::Hook(hook) => run(sandbox, hook).await,
            FaultKind::Status(status, body) => {
                return Some(Replacement::Answer(canned(*status, body)));
            }
            FaultKind::Raw(answer) => return Some(Replacement::Answer(raw(answer))),
            FaultKind::Html => return Some(Replacement::Answer(reply::login_page())),
            FaultKind::RateLimited { retry_after } => {
                return Some(Replacement::Limited(*retry_after));
            }
            FaultKind::ResetBefore => return Some(Replacement::Reset),
            FaultKind::HookAfter(_)
            | FaultKind::ResetAfter
            | FaultKind::Truncate(_)
            | FaultKind::InvalidJson
            | FaultKind::WrongType
            | FaultKind::Edit(_)
            | FaultKind::Slow { .. }
            | FaultKind::Endless => {}
        }
    }
    None
}

/// Hooks may wait for locks or files of the test, so they run in a thread of their own.
async fn run(sandbox: &Sandbox, hook: &Hook) {
    let (hook, sandbox) = (hook.clone(), sandbox.clone());
    if let Err(error) = tokio::task::spawn_blocking(move || hook.run(&sandbox)).await {
        tracing::error!(%error, "failed to run a hook to its end");
    }
}

fn canned(status: u16, body: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if body.starts_with(['{', '[']) {
        reply::json_bytes(status, Body::from(body.to_owned()))
    } else {
        reply::html(status, body.to_owned())
    }
}

fn raw(answer: &RawAnswer) -> Response {
    let mut response = Response::new(Body::from(answer.body.clone()));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &answer.headers {
        let name = HeaderName::try_from(name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value.as_str())) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Checks sign-in and limits, and calls the endpoint.
async fn carry_out(
    sandbox: &Sandbox,
    parts: Parts,
    body: Bytes,
    next: Next,
) -> (Response, Allowance) {
    let too_large = sandbox
        .options()
        .max_body
        .is_some_and(|max| body.len() > max);
    let mut request = Request::from_parts(parts, Body::from(body));
    let signed_in = {
        let mut world = sandbox.lock();
        match bearer(request.headers()).and_then(|token| world.rights(token)) {
            None => Err((
                signed_out(request.headers()),
                Limits::signed_out(&world.options),
            )),
            Some(rights) => {
                let world = &mut *world;
                let allowance = world
                    .limits
                    .spend(&world.options, rights.user, Instant::now());
                if allowance.granted {
                    Ok((rights, allowance))
                } else {
                    let options = &world.options;
                    Err(limited(options, options.retry_after, options.limit_status))
                }
            }
        }
    };
    let (rights, allowance): (Rights, Allowance) = match signed_in {
        Ok(signed_in) => signed_in,
        Err(answer) => return answer,
    };
    if too_large {
        let answer = reply::failure(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large.");
        return (answer, allowance);
    }
    if request.method() != Method::GET {
        age_reads(sandbox);
    }
    request.extensions_mut().insert(rights);
    (next.run(request).await, allowance)
}

/// Stores the content that a write is about to change, if the options ask for stale reads.
fn age_reads(sandbox: &Sandbox) {
    let mut world = sandbox.lock();
    let reads = world.options.stale_reads_after_write;
    if reads > 0 {
        world.stale = Some(Stale {
            store: world.store.clone(),
            reads,
        });
    }
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

/// The answer beyond a rate limit (A8.4: the form is not shown).
fn limited(
    options: &Options,
    retry_after: Option<RetryAfter>,
    status: u16,
) -> (Response, Allowance) {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    let mut answer = reply::failure(status, "Too Many Attempts.");
    let value = retry_after.map(|form| match form {
        RetryAfter::Seconds(seconds) => seconds.to_string(),
        RetryAfter::HttpDate(seconds) => (Utc::now() + TimeDelta::seconds(i64::from(seconds)))
            .format("%a, %d %b %Y %H:%M:%S GMT")
            .to_string(),
    });
    if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
        answer.headers_mut().insert(header::RETRY_AFTER, value);
    }
    let allowance = Allowance {
        remaining: 0,
        granted: false,
        ..Limits::signed_out(options)
    };
    (answer, allowance)
}
