//! How to reach a service, and what the client tells of its waits.

use super::{budget::Budget, origin::AddressError, token::Token, transport::TransportError};
use std::{fmt, sync::Arc, time::Duration};

/// How to reach a service.
#[derive(Clone)]
pub struct ClientOptions {
    /// The service's address; it may have a path.
    pub base_url: String,
    /// The access token. Whether it may go to this address is for the caller to check (`origin::check_origin`).
    pub token: Token,
    /// What may be spent, and the clock that waits go by.
    pub budget: Budget,
    /// `kbsync/VERSION`.
    pub user_agent: String,
    /// Allows `http` to other hosts than this machine.
    pub allow_insecure_http: bool,
    /// The longest wait for a connection.
    pub connect_timeout: Duration,
    /// The longest time without a byte.
    pub idle_timeout: Duration,
    /// The longest time for one answer as a whole.
    pub total_timeout: Duration,
    /// The longest wait that the service may ask for; beyond it the request fails instead.
    pub patience: Duration,
    /// The most bytes of JSON for one article.
    pub max_article: usize,
    /// The most bytes of one answer, unpacked.
    pub max_body: u64,
    /// Told when a wait begins, for progress.
    pub notify: Option<Notify>,
    /// Told of each request that was sent, when its answer came or did not.
    pub answered: Option<Answered>,
    /// Told once, when the first answer came that only a service gives to a token it knows.
    pub welcomed: Option<Welcomed>,
}

/// Takes notes of waits.
pub type Notify = Arc<dyn Fn(WaitNote) + Send + Sync>;

/// Takes a request's method and the status of its answer; `None`: it was sent, and there was none.
pub type Answered = Arc<dyn Fn(&'static str, Option<u16>) + Send + Sync>;

/// Takes the news that the service knows the token. An error tells why the token is not to be sent there again.
pub type Welcomed = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

impl ClientOptions {
    /// The usual options.
    pub fn new(base_url: impl Into<String>, token: Token, budget: Budget) -> Self {
        Self {
            base_url: base_url.into(),
            token,
            budget,
            user_agent: concat!("kbsync/", env!("CARGO_PKG_VERSION")).to_owned(),
            allow_insecure_http: false,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            total_timeout: Duration::from_mins(30),
            patience: Duration::from_mins(2),
            max_article: 16 * 1024 * 1024,
            max_body: 2 * 1024 * 1024 * 1024,
            notify: None,
            answered: None,
            welcomed: None,
        }
    }
}

/// That a wait begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitNote {
    /// Why.
    pub reason: WaitReason,
    /// For how long.
    pub wait: Duration,
}

/// Why there is a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitReason {
    /// The budget of the rolling minute is spent.
    Minute,
    /// The service asked for it.
    Throttled,
    /// The service did not answer; it is asked again.
    Again,
    /// The service has not answered yet: the wait is the longest that there may be.
    Silent,
    /// The service has begun to answer and does not go on: as long as that.
    Stalled,
}

impl WaitNote {
    /// For how long, in whole seconds: nobody waits by the millisecond.
    pub fn told_wait(self) -> String {
        let wait = Duration::from_secs(self.wait.as_secs().max(1));
        let most = match self.reason {
            WaitReason::Silent | WaitReason::Stalled => "up to ",
            WaitReason::Minute | WaitReason::Throttled | WaitReason::Again => "",
        };
        format!("{most}{}", crate::model::time::in_words(wait))
    }
}

impl fmt::Display for WaitNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: waiting {}", self.reason, self.told_wait())
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Minute => "the budget of this minute is spent",
            Self::Throttled => "the service asked to wait",
            Self::Again => "the service did not answer",
            Self::Silent => "the service has not answered yet",
            Self::Stalled => "the service has begun to answer, and stopped",
        })
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The address would send the token in clear text.
    #[error("{origin} would get the token unencrypted; use https (--insecure-http allows it)")]
    Insecure {
        /// The service.
        origin: String,
    },
    /// The client could not be made.
    #[error(transparent)]
    Transport(#[from] TransportError),
}
