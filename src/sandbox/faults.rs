//! Deliberate faults: the requests that they affect, and their effects.
//!
//! Some faults act before the request is carried out, some replace the request, some spoil the answer; the gate applies
//! each at its time. Several faults may affect one request.

use super::{handle::Sandbox, options::RetryAfter};
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};

/// The requests that a fault affects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matcher {
    /// The method; `None`: all methods.
    pub method: Option<String>,
    /// The beginning of the path, such as `/api/article/`; `*` stands for one segment, as in `/api/base/*/articles`.
    /// Empty: every path.
    pub path: String,
    /// A part of the query, such as `page=2`. Empty: every query.
    pub query: String,
}

impl Matcher {
    /// Matches every API request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches a method on paths that begin with `path`.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: Some(method.to_owned()),
            path: path.to_owned(),
            query: String::new(),
        }
    }

    /// Limits the matcher to requests whose query contains `part`.
    #[must_use]
    pub fn query(self, part: &str) -> Self {
        Self {
            query: part.to_owned(),
            ..self
        }
    }

    /// Returns whether the matcher matches a request.
    pub fn meets(&self, method: &str, path: &str, query: &str) -> bool {
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
pub struct Hook(Arc<dyn Fn(&Sandbox) + Send + Sync>);

impl Hook {
    /// Wraps a function.
    pub fn new(run: impl Fn(&Sandbox) + Send + Sync + 'static) -> Self {
        Self(Arc::new(run))
    }

    pub(super) fn run(&self, sandbox: &Sandbox) {
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
pub struct AnswerEdit(Arc<dyn Fn(&mut Value) + Send + Sync>);

impl AnswerEdit {
    /// Wraps a change.
    pub fn new(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self(Arc::new(edit))
    }

    pub(super) fn apply(&self, answer: &mut Value) {
        (self.0)(answer);
    }
}

impl fmt::Debug for AnswerEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerEdit")
    }
}

/// A given answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawAnswer {
    /// The status.
    pub status: u16,
    /// The headers; invalid ones are left out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The effect of a fault.
#[derive(Clone, Debug)]
pub enum FaultKind {
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
pub struct Fault {
    /// The requests that it affects.
    pub on: Matcher,
    /// The number of requests that the fault affects.
    pub times: u32,
    /// The number of matching requests that pass before the fault acts.
    pub after: u32,
    /// The effect.
    pub what: FaultKind,
}

impl Fault {
    /// Affects one request.
    pub fn once(on: Matcher, what: FaultKind) -> Self {
        Self {
            on,
            times: 1,
            after: 0,
            what,
        }
    }

    /// Affects every request, until the faults are cleared.
    pub fn always(on: Matcher, what: FaultKind) -> Self {
        Self {
            times: u32::MAX,
            ..Self::once(on, what)
        }
    }

    /// Limits the fault to `times` requests.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// Lets `after` matching requests pass first.
    #[must_use]
    pub fn after(self, after: u32) -> Self {
        Self { after, ..self }
    }
}

/// Returns the effects of the armed faults for a request, and drops exhausted faults.
pub(super) fn take(
    armed: &mut Vec<Fault>,
    method: &str,
    path: &str,
    query: &str,
) -> Vec<FaultKind> {
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
pub(super) fn wrong_types(answer: &mut Value) {
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
