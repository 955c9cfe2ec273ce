//! The errors of requests, typed where the engine branches.
//!
//! The text names the method, the path, the status and the service's message, but never the token.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// The kind of failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// 401, a redirect, or an HTML page: not signed in (`docs/api.md`, A5.2).
    Unauthorized,
    /// 403: no right to this article or workspace.
    Forbidden,
    /// 404 as JSON with `success: false`: the service says that the object does not exist.
    NotFound,
    /// 400, 409, 413 or 422: the service refused the request.
    Refused,
    /// 429, or any refusal with `x-ratelimit-remaining: 0`, after the retries; or nothing was sent, because of a full
    /// minute or a pause.
    RateLimited {
        /// The time until there may be room again, if it is known.
        retry_after: Option<Duration>,
    },
    /// The budget of the rolling day is spent; nothing was sent.
    BudgetSpent {
        /// The time until there is room again.
        free_in: Duration,
    },
    /// No connection, no answer in time, or a 5xx, after the retries.
    Unavailable {
        /// The value of `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The daemon is stopping: nothing was sent, and nothing will be.
    Closed,
    /// An answer that `docs/api.md` does not show, such as a proxy's 404 page.
    Unreadable,
    /// An answer over the size limit.
    TooLarge,
}

/// A failed request.
#[derive(Debug, thiserror::Error)]
pub struct ServiceError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The method, such as `PUT`.
    pub method: Method,
    /// The path below the base address; empty if no request was made.
    pub path: String,
    /// The status, when there was an answer.
    pub status: Option<u16>,
    /// The service's message, or a description of the failure; control characters are escaped.
    pub message: String,
    /// Whether the request may have been carried out although no answer was read.
    pub response_lost: bool,
    /// The error below.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ServiceError {
    /// Returns whether the failure stops all further requests as well: sign-in, network or budget.
    pub fn stops_all(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Unauthorized
                | ErrorKind::RateLimited { .. }
                | ErrorKind::BudgetSpent { .. }
                | ErrorKind::Unavailable { .. }
                | ErrorKind::Closed
        )
    }

    /// Returns whether the service, or the gateway before it, failed at the request: it may be about one article only.
    pub fn is_server_error(&self) -> bool {
        // A gateway may give up on one large text, too.
        matches!(self.status, Some(500 | 502 | 504))
    }

    /// Returns the innermost cause, in a few words: `Connection refused`.
    pub fn root_cause(&self) -> String {
        if let Some(status) = self.status {
            return format!("status {status}");
        }
        let mut cause: &dyn std::error::Error = self;
        while let Some(below) = cause.source() {
            cause = below;
        }
        let text = match &self.source {
            Some(_) => cause.to_string(),
            None => self.message.clone(),
        };
        let text = text.split(" (os error").next().unwrap_or_default();
        text.to_lowercase()
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == ErrorKind::Closed {
            // It is about no request in particular.
            return f.write_str(&self.message);
        }
        f.write_str(self.method.as_str())?;
        if !self.path.is_empty() {
            write!(f, " {}", self.path)?;
        }
        if let Some(status) = self.status {
            write!(f, ": status {status}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}
