//! The options of the client, and the notices of its waits.

use super::{budget::Budget, origin::AddressError, token::Token, transport::TransportError};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The options of the client.
#[derive(Clone)]
pub struct ClientOptions {
    /// The address of the service, with an optional path.
    pub base_url: String,
    /// The access token. The caller checks whether this address may receive it (`origin::check_origin`).
    pub token: Token,
    /// The budget, with the clock for waits.
    pub budget: Budget,
    /// Allows plain `http` to other hosts than this machine.
    pub allow_insecure_http: bool,
    /// The longest time without a byte.
    pub idle_timeout: Duration,
    /// The longest time for one answer as a whole.
    pub total_timeout: Duration,
    /// The most bytes of JSON for one article.
    pub max_article: usize,
    /// The most bytes of one answer, decompressed.
    pub max_body: u64,
    /// Called when a wait begins.
    pub notify: Option<Notify>,
    /// Called after each request, with its answer or without one.
    pub answered: Option<Answered>,
    /// Called once, when the service has accepted the token.
    pub token_accepted: Option<TokenAccepted>,
    /// Cancelled when no further request may begin.
    pub stop: CancellationToken,
}

/// Takes notes of waits.
pub type Notify = Arc<dyn Fn(WaitNote) + Send + Sync>;

/// Takes a request's method and the status of its answer; `None`: no answer came.
pub type Answered = Arc<dyn Fn(&'static str, Option<u16>) + Send + Sync>;

/// Called when the service has accepted the token. An error says why the token must not be sent there again.
pub type TokenAccepted = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

impl ClientOptions {
    /// The usual options.
    pub fn new(base_url: impl Into<String>, token: Token, budget: Budget) -> Self {
        Self {
            base_url: base_url.into(),
            token,
            budget,
            allow_insecure_http: false,
            idle_timeout: Duration::from_mins(1),
            total_timeout: Duration::from_mins(30),
            max_article: 16 * 1024 * 1024,
            max_body: 2 * 1024 * 1024 * 1024,
            notify: None,
            answered: None,
            token_accepted: None,
            stop: CancellationToken::new(),
        }
    }
}

/// The beginning of a wait.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitNote {
    /// Why.
    pub reason: WaitReason,
    /// Its length.
    pub wait: Duration,
    /// What went wrong, if the request failed: `connection refused`.
    pub cause: Option<String>,
}

/// The reason for a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The budget of the minute is spent.
    Minute,
    /// The service asked for a pause.
    Throttled,
    /// The service did not answer; the request will be repeated.
    Again,
    /// No answer has come yet: the wait is the longest possible one.
    Silent,
    /// The answer has begun, but does not continue: the wait is the longest possible one.
    Stalled,
}

impl WaitNote {
    /// Formats the wait in whole seconds.
    pub fn wait_in_words(&self) -> String {
        let most = if self.is_most() { "up to " } else { "" };
        format!("{most}{}", crate::model::time::wait_in_words(self.wait))
    }

    /// Returns the reason, with what went wrong.
    pub fn why(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{} ({cause})", self.reason),
            None => self.reason.to_string(),
        }
    }

    /// Returns how long the wait is at least.
    pub const fn least(&self) -> Duration {
        if self.is_most() {
            Duration::ZERO
        } else {
            self.wait
        }
    }

    /// Returns whether the wait may end earlier.
    pub const fn is_most(&self) -> bool {
        matches!(self.reason, WaitReason::Silent | WaitReason::Stalled)
    }
}

impl fmt::Display for WaitNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: waiting {}", self.why(), self.wait_in_words())
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Minute => "the budget of this minute is spent",
            Self::Throttled => "the service asked for a pause",
            Self::Again => "the service did not answer",
            Self::Silent => "the service has not answered yet",
            Self::Stalled => "the service has begun to answer, and stopped",
        })
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The address would receive the token unencrypted.
    #[error("{origin} would get the token unencrypted; use https (--insecure-http allows it)")]
    Insecure {
        /// The service.
        origin: String,
    },
    /// The HTTP client could not be built.
    #[error(transparent)]
    Transport(#[from] TransportError),
}
