//! The options of the client, the notices of its waits, and the HTTP client that the options describe: TLS, proxy,
//! timeouts, no redirects.

use super::{
    budget::Budget,
    origin::{AddressError, Origin},
    token::Token,
};
use reqwest::{
    Certificate, Client, ClientBuilder, Method,
    header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue},
    redirect::Policy,
};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    sync::{Arc, Once},
    time::Duration,
};
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

/// Receives the notices of waits.
pub type Notify = Arc<dyn Fn(WaitNote) + Send + Sync>;

/// Receives a request's method and the status of its answer; `None`: no answer came.
pub type Answered = Arc<dyn Fn(&Method, Option<u16>) + Send + Sync>;

/// Called when the service has accepted the token. An error says why the token must not be sent to this service again.
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

/// The notice of a wait, at its beginning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitNote {
    /// The reason.
    pub reason: WaitReason,
    /// The length of the wait.
    pub wait: Duration,
    /// The cause, if the request failed: `connection refused`.
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
    /// No answer comes, or it does not continue: the wait is the longest possible one.
    Silent,
}

impl WaitNote {
    /// Formats the wait in whole seconds.
    pub fn wait_in_words(&self) -> String {
        let most = if self.is_most() { "up to " } else { "" };
        format!("{most}{}", crate::model::time::wait_in_words(self.wait))
    }

    /// Returns the reason, with the cause.
    pub fn why(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{} ({cause})", self.reason),
            None => self.reason.to_string(),
        }
    }

    /// Returns the shortest possible wait.
    pub const fn least(&self) -> Duration {
        if self.is_most() {
            Duration::ZERO
        } else {
            self.wait
        }
    }

    /// Returns whether the wait may end earlier.
    pub const fn is_most(&self) -> bool {
        matches!(self.reason, WaitReason::Silent)
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
            Self::Silent => "the service is silent",
        })
    }
}

/// The reasons why there is no client.
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
    /// The token is invalid in a header.
    #[error("the token cannot be sent in a header")]
    Header,
    /// TLS could not be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] reqwest::Error),
}

/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Builds the client for one origin, with the headers of every request.
pub(super) fn build(options: &ClientOptions, origin: &Origin) -> Result<Client, ClientError> {
    install_tls();
    let headers = headers(options)?;
    let builder = || configure(options, origin, headers.clone());
    match builder().build() {
        Ok(client) => Ok(client),
        // Without a certificate store on the machine, not even a client for plain HTTP can be built.
        Err(error) => {
            tracing::debug!(%error, "no certificate store, using the built-in roots");
            builder()
                .tls_certs_only(built_in_roots()?)
                .build()
                .map_err(ClientError::Tls)
        }
    }
}

/// Returns the certificates that Mozilla trusted when this program was built.
fn built_in_roots() -> Result<Vec<Certificate>, ClientError> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .map(|der| Certificate::from_der(der))
        .collect::<Result<_, _>>()
        .map_err(ClientError::Tls)
}

fn configure(options: &ClientOptions, origin: &Origin, headers: HeaderMap) -> ClientBuilder {
    let builder = Client::builder()
        .default_headers(headers)
        .user_agent(concat!("kbsync/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .https_only(origin.as_str().starts_with("https:"))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(options.idle_timeout)
        .timeout(options.total_timeout);
    if !origin.is_loopback() {
        return builder;
    }
    // Requests to this machine use no proxy.
    let builder = builder.no_proxy();
    if origin.as_str().starts_with("http:") {
        // Plain HTTP needs none of the machine's certificates, and reading them takes time.
        builder.tls_certs_only([])
    } else {
        builder
    }
}

fn headers(options: &ClientOptions) -> Result<HeaderMap, ClientError> {
    let bearer = options.token.bearer();
    let mut value =
        HeaderValue::from_str(bearer.expose_secret()).map_err(|_| ClientError::Header)?;
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, value);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    Ok(headers)
}

/// Selects ring for TLS, once for the process.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if rustls::crypto::ring::default_provider()
            .install_default()
            .is_err()
        {
            tracing::debug!("TLS was set up before");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{
        budget::{Budget, BudgetLimits, clocks::TokioClock},
        token::Token,
    };
    use std::sync::Arc;

    #[test]
    fn without_a_certificate_store_the_built_in_roots_make_a_client() {
        install_tls();
        let origin = Origin::of("https://kb.example.com").expect("an address");
        let token = Token::new("CANARY-4711-token").expect("a token");
        let budget = Budget::in_memory(BudgetLimits::default(), Arc::new(TokioClock::default()));
        let options = ClientOptions::new(origin.as_str(), token, budget);
        let headers = headers(&options).expect("headers");
        assert!(!format!("{headers:?}").contains("4711"));
        let roots = built_in_roots().expect("roots");
        assert!(roots.len() > 50);
        configure(&options, &origin, headers)
            .tls_certs_only(roots)
            .build()
            .expect("a client");
    }
}
