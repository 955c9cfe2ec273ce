//! Deliberate faults of the sandbox: the requests that they affect, and their effects.
//!
//! Some faults act before the request is carried out, some replace the request, some spoil the answer. Several faults
//! may affect one request. A request that is carried out meets the habits of its service behind the faults.

pub(crate) mod habits;
pub(crate) mod lines;
mod spoil;

use axum::{
    body::Body,
    extract::{ConnectInfo, Request},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use chrono::{TimeDelta, Utc};
use futures_util::future::BoxFuture;
use habits::Habits;
use kbsync::sandbox::{CarryOut, Interceptor, Sandbox};
use lines::Line;
use serde_json::{Value, json};
use spoil::{cut, spoil};
use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The requests that a fault affects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Matcher {
    /// The method; `None`: all methods.
    pub(crate) method: Option<String>,
    /// The beginning of the path, such as `/api/article/`; `*` stands for one segment, as in `/api/base/*/articles`.
    /// Empty: every path.
    pub(crate) path: String,
    /// A part of the query, such as `page=2`. Empty: every query.
    pub(crate) query: String,
}

impl Matcher {
    /// Matches every API request.
    pub(crate) fn any() -> Self {
        Self::default()
    }

    /// Matches a method on paths that begin with `path`.
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: Some(method.to_owned()),
            path: path.to_owned(),
            query: String::new(),
        }
    }

    /// Limits the matcher to requests whose query contains `part`.
    #[must_use]
    pub(crate) fn query(self, part: &str) -> Self {
        Self {
            query: part.to_owned(),
            ..self
        }
    }

    /// Returns whether the matcher matches a request.
    pub(crate) fn meets(&self, method: &str, path: &str, query: &str) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted == method)
            && begins_like(path, &self.path)
            && query.contains(&self.query)
    }
}

fn begins_like(path: &str, pattern: &str) -> bool {
    if pattern.is_empty() {
        return true;
    }
    let (mut have, mut want) = (path.split('/'), pattern.split('/').peekable());
    while let Some(wanted) = want.next() {
        let Some(segment) = have.next() else {
            return false;
        };
        let fits = match (wanted, want.peek().is_none()) {
            ("*", _) => !segment.is_empty(),
            (_, true) => segment.starts_with(wanted),
            (_, false) => segment == wanted,
        };
        if !fits {
            return false;
        }
    }
    true
}

/// A function that runs during a request, such as a colleague's edit.
#[derive(Clone)]
pub(crate) struct Hook(Arc<dyn Fn(&Sandbox) + Send + Sync>);

impl Hook {
    /// Wraps a function.
    pub(crate) fn new(run: impl Fn(&Sandbox) + Send + Sync + 'static) -> Self {
        Self(Arc::new(run))
    }

    fn run(&self, sandbox: &Sandbox) {
        (self.0)(sandbox);
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// A change to the JSON of an answer.
#[derive(Clone)]
pub(crate) struct AnswerEdit(Arc<dyn Fn(&mut Value) + Send + Sync>);

impl AnswerEdit {
    /// Wraps a change.
    pub(crate) fn new(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self(Arc::new(edit))
    }

    fn apply(&self, answer: &mut Value) {
        (self.0)(answer);
    }
}

impl fmt::Debug for AnswerEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerEdit")
    }
}

/// The form of a `Retry-After` header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RetryAfter {
    /// The seconds to wait.
    Seconds(u32),
    /// The date this many seconds ahead.
    HttpDate(u32),
}

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Seconds(seconds) => seconds.fmt(f),
            Self::HttpDate(seconds) => (Utc::now() + TimeDelta::seconds(i64::from(seconds)))
                .format("%a, %d %b %Y %H:%M:%S GMT")
                .fmt(f),
        }
    }
}

/// A given answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RawAnswer {
    /// The status.
    pub(crate) status: u16,
    /// The headers; invalid ones are left out.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

/// The effect of a fault.
#[derive(Clone, Debug)]
pub(crate) enum FaultKind {
    /// The request waits before it is carried out.
    Latency(Duration),
    /// The closure runs before the request is carried out: "a colleague edits at this moment".
    Hook(Hook),
    /// The closure runs after the request was carried out, before the answer is sent.
    HookAfter(Hook),
    /// The request is not carried out; the answer has this status and this body (JSON if it begins with `{` or `[`,
    /// else HTML).
    Status(u16, String),
    /// The request is not carried out; this is the whole answer.
    Raw(RawAnswer),
    /// The request is not carried out; the answer is the HTML of a login page with status 200.
    Html,
    /// The request is not carried out; the answer is that of a rate limit.
    RateLimited {
        /// The form of `Retry-After`, if any.
        retry_after: Option<RetryAfter>,
    },
    /// The request is not carried out; the connection is dropped without an answer.
    ResetBefore,
    /// The request is carried out; the connection is dropped without an answer: a lost response.
    ResetAfter,
    /// The request is carried out; the connection is dropped after this many bytes of the answer's body.
    Truncate(usize),
    /// The request is carried out; the JSON of the answer breaks off, with a matching length.
    InvalidJson,
    /// The request is carried out; the titles and names in the answer are numbers.
    WrongType,
    /// The request is carried out; the closure changes the JSON of the answer.
    Edit(AnswerEdit),
    /// The request is carried out; the answer arrives in small chunks.
    Slow {
        /// The bytes of a chunk.
        bytes: usize,
        /// The pause before each chunk.
        pause: Duration,
    },
    /// The request is carried out; the answer's body never ends.
    Endless,
}

/// A fault: the requests that it affects, and its effect.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// The requests that it affects.
    pub(crate) on: Matcher,
    /// The number of requests that the fault affects.
    pub(crate) times: u32,
    /// The number of matching requests that pass before the fault acts.
    pub(crate) after: u32,
    /// The effect.
    pub(crate) what: FaultKind,
}

impl Fault {
    /// Affects one request.
    pub(crate) fn once(on: Matcher, what: FaultKind) -> Self {
        Self {
            on,
            times: 1,
            after: 0,
            what,
        }
    }

    /// Affects every request, until the faults are cleared.
    pub(crate) fn always(on: Matcher, what: FaultKind) -> Self {
        Self {
            times: u32::MAX,
            ..Self::once(on, what)
        }
    }

    /// Limits the fault to `times` requests.
    #[must_use]
    pub(crate) fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// Lets `after` matching requests pass first.
    #[must_use]
    pub(crate) fn after(self, after: u32) -> Self {
        Self { after, ..self }
    }
}

/// Returns the effects of the armed faults for a request, and drops exhausted faults.
fn take(armed: &mut Vec<Fault>, method: &str, path: &str, query: &str) -> Vec<FaultKind> {
    let mut taken = Vec::new();
    for fault in armed.iter_mut() {
        if !fault.on.meets(method, path, query) {
            continue;
        }
        if fault.after > 0 {
            fault.after -= 1;
        } else if fault.times > 0 {
            if fault.times < u32::MAX {
                fault.times -= 1;
            }
            taken.push(fault.what.clone());
        }
    }
    armed.retain(|fault| fault.times > 0);
    taken
}

/// Turns all titles and names into numbers.
fn wrong_types(answer: &mut Value) {
    match answer {
        Value::Object(fields) => {
            for (key, value) in fields {
                if value.is_string() && (key == "title" || key == "name") {
                    *value = Value::from(7);
                } else {
                    wrong_types(value);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(wrong_types),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a request passes on its way to a sandbox: the armed faults, then the habits.
#[derive(Debug, Default)]
struct Front {
    faults: Mutex<Vec<Fault>>,
    habits: Mutex<Habits>,
}

/// The faults and the habits of a sandbox.
pub(crate) trait Inject {
    /// Returns the armed faults.
    fn faults(&self) -> MutexGuard<'_, Vec<Fault>>;

    /// Returns the habits.
    fn habits(&self) -> MutexGuard<'_, Habits>;

    /// Arms a fault.
    fn inject(&self, fault: Fault) {
        self.faults().push(fault);
    }

    /// Disarms all faults.
    fn clear_faults(&self) {
        self.faults().clear();
    }
}

fn front(sandbox: &Sandbox) -> &Front {
    let interceptor: &dyn Any = sandbox.interceptor_or(|| Box::<Front>::default());
    interceptor
        .downcast_ref()
        .expect("the front alone intercepts")
}

impl Inject for Sandbox {
    fn faults(&self) -> MutexGuard<'_, Vec<Fault>> {
        let faults = front(self).faults.lock();
        faults.unwrap_or_else(PoisonError::into_inner)
    }

    fn habits(&self) -> MutexGuard<'_, Habits> {
        let habits = front(self).habits.lock();
        habits.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interceptor for Front {
    fn intercept(
        &self,
        sandbox: &Sandbox,
        request: Request,
        carry_out: CarryOut,
    ) -> BoxFuture<'static, Response> {
        let uri = request.uri();
        let (method, path) = (request.method().as_str(), uri.path());
        let query = uri.query().unwrap_or_default();
        let faults = take(&mut sandbox.faults(), method, path, query);
        let carry_out = sandbox.habits().clone().around(sandbox, carry_out);
        let sandbox = sandbox.clone();
        Box::pin(answer(sandbox, faults, request, carry_out))
    }
}

async fn answer(
    sandbox: Sandbox,
    faults: Vec<FaultKind>,
    request: Request,
    carry_out: CarryOut,
) -> Response {
    let line = request.extensions().get::<ConnectInfo<Line>>();
    let line = line.map_or_else(Line::default, |info| info.0.clone());
    let mut response = match before(&sandbox, &faults).await {
        Some(Replacement::Answer(answer)) => answer,
        Some(Replacement::Reset) => return cut(&line),
        None => carry_out(request).await,
    };
    for fault in &faults {
        if let FaultKind::HookAfter(hook) = fault {
            run(&sandbox, hook).await;
        }
    }
    let is_lost = |fault: &FaultKind| matches!(fault, FaultKind::ResetAfter);
    if faults.iter().any(is_lost) {
        return cut(&line);
    }
    for fault in faults {
        response = spoil(response, fault, &line).await;
    }
    response
}

/// The replacement of a request's execution.
enum Replacement {
    Answer(Response),
    Reset,
}

/// Runs the faults before the request. The first fault that replaces the request wins.
async fn before(sandbox: &Sandbox, faults: &[FaultKind]) -> Option<Replacement> {
    for fault in faults {
        let answer = match fault {
            FaultKind::Latency(wait) => {
                tokio::time::sleep(*wait).await;
                continue;
            }
            FaultKind::Hook(hook) => {
                run(sandbox, hook).await;
                continue;
            }
            FaultKind::Status(status, body) => canned(*status, body),
            FaultKind::Raw(answer) => raw(answer),
            FaultKind::Html => canned(200, LOGIN_PAGE),
            FaultKind::RateLimited { retry_after } => limited(*retry_after),
            FaultKind::ResetBefore => return Some(Replacement::Reset),
            FaultKind::HookAfter(_)
            | FaultKind::ResetAfter
            | FaultKind::Truncate(_)
            | FaultKind::InvalidJson
            | FaultKind::WrongType
            | FaultKind::Edit(_)
            | FaultKind::Slow { .. }
            | FaultKind::Endless => continue,
        };
        return Some(Replacement::Answer(answer));
    }
    None
}

/// Hooks may wait for locks or files of the test, so they run in a thread of their own.
async fn run(sandbox: &Sandbox, hook: &Hook) {
    let (hook, sandbox) = (hook.clone(), sandbox.clone());
    let done = tokio::task::spawn_blocking(move || hook.run(&sandbox)).await;
    done.expect("a hook runs to its end");
}

const LOGIN_PAGE: &str = "<!doctype html><html lang=\"en\"><head><title>Sign in</title></head><body><h1>Sign in</h1>\
     <form method=\"post\" action=\"/login\"><input name=\"email\"><input name=\"password\" type=\"password\">\
     <button>Sign in</button></form></body></html>";

fn canned(status: u16, body: &str) -> Response {
    let kind = if body.starts_with(['{', '[']) {
        "application/json"
    } else {
        "text/html; charset=utf-8"
    };
    let status = StatusCode::from_u16(status).expect("a status");
    let headers = [(header::CONTENT_TYPE, kind)];
    (status, headers, body.to_owned()).into_response()
}

fn raw(answer: &RawAnswer) -> Response {
    let mut response = Response::new(Body::from(answer.body.clone()));
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("a status");
    for (name, value) in &answer.headers {
        let name = HeaderName::try_from(name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value.as_str())) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// The answer beyond a rate limit.
fn limited(retry_after: Option<RetryAfter>) -> Response {
    let body = json!({"success": false, "message": "Too Many Attempts."});
    let mut answer = canned(429, &body.to_string());
    let headers = answer.headers_mut();
    headers.insert("x-ratelimit-limit", HeaderValue::from(60));
    headers.insert("x-ratelimit-remaining", HeaderValue::from(0));
    if let Some(wait) = retry_after {
        let wait = HeaderValue::try_from(wait.to_string()).expect("a header");
        headers.insert(header::RETRY_AFTER, wait);
    }
    answer
}
