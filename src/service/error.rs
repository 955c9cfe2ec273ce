//! Why a request failed: typed where the engine branches.
//!
//! The text names method, path and status, and what the service said; never the token.

use std::{fmt, time::Duration};

/// What kind of failure it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// 401, a redirect, or an HTML page: not signed in (`docs/api.md`, A5.2).
    Unauthorized,
    /// 403: no right to this article or workspace.
    Forbidden,
    /// 404 as JSON with `success: false`: the service says that it is not there.
    NotFound,
    /// 400, 409, 413 or 422: the service refuses what was sent.
    Refused,
    /// 429, or any refusal with `x-ratelimit-remaining: 0`, after the retries.
    RateLimited {
        /// What `Retry-After` said.
        retry_after: Option<Duration>,
    },
    /// The budget of the rolling day is spent; nothing was sent.
    BudgetSpent {
        /// Until when it is spent.
        free_in: Duration,
    },
    /// No connection, no answer in time, or a 5xx, after the retries.
    Unavailable,
    /// Nothing was sent, and nothing will be: whoever asks is being stopped.
    Closed,
    /// An answer that is not what `docs/api.md` shows, among them a proxy's 404 page.
    Unreadable,
    /// The endpoint does not exist here (404 that is not the service's, 405 or 501 to a listing).
    NoEndpoint,
    /// An answer over the size limit.
    TooLarge,
}

/// A failed request.
#[derive(Debug)]
pub struct ServiceError {
    /// What kind of failure it was.
    pub kind: ErrorKind,
    /// The method, such as `PUT`.
    pub method: &'static str,
    /// The path below the base address; empty where it did not come to a request.
    pub path: String,
    /// The status, when there was an answer.
    pub status: Option<u16>,
    /// What the service said, or what was wrong; control characters are escaped.
    pub message: String,
    /// Whether the request may have been carried out although no answer was read.
    pub answer_lost: bool,
    /// The error below.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ErrorKind {
    /// Returns whether all further requests would meet the same wall: sign-in, network or budget.
    pub fn stops_all(&self) -> bool {
        match self {
            Self::Unauthorized
            | Self::RateLimited { .. }
            | Self::BudgetSpent { .. }
            | Self::Unavailable
            | Self::Closed => true,
            Self::Forbidden
            | Self::NotFound
            | Self::Refused
            | Self::Unreadable
            | Self::NoEndpoint
            | Self::TooLarge => false,
        }
    }
}

impl ServiceError {
    /// Returns whether all further requests would meet the same wall: sign-in, network or budget.
    pub fn stops_all(&self) -> bool {
        self.kind.stops_all()
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method)?;
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

impl std::error::Error for ServiceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}
