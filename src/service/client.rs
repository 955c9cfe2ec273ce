//! Speaks HTTP with the service: one request at a time through budget, retry rule and judgement.
//!
//! Every request is counted before it is sent, and no write is sent twice unless the service refused the
//! first for want of budget (failures rows 14 to 17). Redirects are not followed. What an answer means is decided
//! in `answer`, when to ask again in `retry`; the endpoints are in `endpoints`, listings in `listing`.

use super::{
    Answer, ErrorKind, Purpose, Service, ServiceError, Usage, Validator,
    answer::{self, Reply, Verdict},
    budget::{Budget, Refusal},
    origin::{AddressError, Origin, parse_address},
    retry::{self, Decision, Outcome, Verb},
    token::Token,
    transport::{self, TransportError},
};
use chrono::Utc;
use reqwest::{
    Method, Response, Url,
    header::{
        CONTENT_TYPE, DATE, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, RETRY_AFTER,
    },
};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Of an answer that is no success, so much is read for its message.
const MESSAGE_BYTES: usize = 64 * 1024;
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

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
}

/// Takes notes of waits.
pub type Notify = Arc<dyn Fn(WaitNote) + Send + Sync>;

impl ClientOptions {
    /// The usual options (design, section 5).
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
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Minute => "the budget of this minute is spent",
            Self::Throttled => "the service asked to wait",
            Self::Again => "the service did not answer",
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

/// A service over HTTP.
pub struct Client {
    http: reqwest::Client,
    pub(super) base: Url,
    pub(super) options: ClientOptions,
    origin: Origin,
    sent: Sent,
    /// The listing endpoint was asked for once and does not exist.
    pub(super) no_listing: AtomicBool,
}

#[derive(Default)]
struct Sent {
    get: AtomicU64,
    post: AtomicU64,
    put: AtomicU64,
    delete: AtomicU64,
}

/// A request to be made.
pub(super) struct Call<'a> {
    pub(super) verb: Verb,
    pub(super) url: Url,
    pub(super) body: Option<Vec<u8>>,
    pub(super) purpose: Purpose,
    pub(super) validator: Option<&'a Validator>,
}

/// A try that failed, and what that means for another.
pub(super) struct Failure {
    pub(super) error: ServiceError,
    pub(super) outcome: Outcome,
}

impl Client {
    /// Makes a client; sends nothing.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let base = parse_address(&options.base_url)?;
        let origin = Origin::of_url(&base);
        if base.scheme() != "https" && !origin.is_loopback() && !options.allow_insecure_http {
            return Err(ClientError::Insecure {
                origin: origin.to_string(),
            });
        }
        Ok(Self {
            http: transport::build(&options, &origin)?,
            base,
            origin,
            sent: Sent::default(),
            no_listing: AtomicBool::new(false),
            options,
        })
    }

    /// The service's origin.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The budget that the requests are paid from.
    pub fn budget(&self) -> &Budget {
        &self.options.budget
    }

    /// Asks, and reads the whole of a success. Tries again by the rule.
    pub(super) async fn ask(&self, call: &Call<'_>) -> Answer<Vec<u8>> {
        let mut attempt = 0;
        loop {
            let failure = match self.send(call).await {
                Ok(response) => match self.read_success(call, response).await {
                    Ok(body) => return Ok(body),
                    Err(failure) => failure,
                },
                Err(failure) => failure,
            };
            attempt += 1;
            self.pause(call, failure, attempt).await?;
        }
    }

    /// Sends once. Gives the answer when it is a success, or a 304 to a condition.
    pub(super) async fn send(&self, call: &Call<'_>) -> Result<Response, Failure> {
        self.pay(call).await?;
        let mut request = self.http.request(method(call.verb), call.url.clone());
        if let Some(validator) = call.validator {
            let conditions = [
                (IF_NONE_MATCH, &validator.etag),
                (IF_MODIFIED_SINCE, &validator.last_modified),
            ];
            for (name, value) in conditions {
                // What cannot stand in a header did not come from one.
                let value = value.as_deref().and_then(|v| HeaderValue::from_str(v).ok());
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
        if let Some(body) = &call.body {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(body.clone());
        }
        let response = request
            .send()
            .await
            .map_err(|error| self.broken(call, None, error))?;
        let number = |name| header(&response, name).and_then(|value| value.trim().parse().ok());
        self.note_limits(number(&LIMIT), number(&REMAINING)).await;
        let status = response.status().as_u16();
        tracing::debug!(
            method = call.verb.as_str(),
            path = call.url.path(),
            status,
            "answered"
        );
        if response.status().is_success() || (status == 304 && call.validator.is_some()) {
            return Ok(response);
        }
        Err(self.refused(call, response).await)
    }

    /// After a failed try: waits and returns, when there is to be another; else gives the error.
    pub(super) async fn pause(
        &self,
        call: &Call<'_>,
        failure: Failure,
        attempt: u32,
    ) -> Answer<()> {
        let Failure { error, outcome } = failure;
        let patience = self.options.patience;
        let decision = retry::decide(call.verb, outcome, attempt, jitter(), patience);
        let throttled = matches!(outcome, Outcome::Throttled { .. });
        if throttled {
            let wait = match (decision, outcome) {
                (Decision::Wait(wait), _) => Some(wait),
                (Decision::GiveUp, Outcome::Throttled { retry_after }) => retry_after,
                (
                    Decision::GiveUp,
                    Outcome::Down { .. } | Outcome::Unsent | Outcome::Lost | Outcome::Final,
                ) => None,
            };
            if let Some(wait) = wait
                && let Err(refusal) = self.options.budget.block(wait).await
            {
                tracing::warn!(?refusal, "cannot tell other commands to wait");
            }
        }
        let Decision::Wait(wait) = decision else {
            return Err(error);
        };
        tracing::info!(%error, ?wait, attempt, "asking again");
        let reason = if throttled {
            WaitReason::Throttled
        } else {
            WaitReason::Again
        };
        self.wait(reason, wait).await;
        Ok(())
    }

    /// Counts the request in the budget, and waits for room where the minute is full.
    async fn pay(&self, call: &Call<'_>) -> Result<(), Failure> {
        loop {
            let refusal = match self.options.budget.try_acquire(call.purpose).await {
                Ok(()) => break,
                Err(refusal) => refusal,
            };
            match refusal {
                Refusal::Minute { free_in } => self.wait(WaitReason::Minute, free_in).await,
                Refusal::Blocked { free_in } if free_in <= self.options.patience => {
                    self.wait(WaitReason::Throttled, free_in).await;
                }
                Refusal::Blocked { free_in } => {
                    let retry_after = Some(free_in);
                    let message = "the service asked to wait";
                    return Err(self.unsent(call, ErrorKind::RateLimited { retry_after }, message));
                }
                Refusal::Day { free_in } => {
                    let message = "the budget of the day is spent";
                    return Err(self.unsent(call, ErrorKind::BudgetSpent { free_in }, message));
                }
                Refusal::Broken { path, source } => {
                    let message = format!("cannot count the request in {}", path.display());
                    let mut failure = self.unsent(call, ErrorKind::Unavailable, &message);
                    failure.error.source = Some(source.into());
                    return Err(failure);
                }
            }
        }
        let sent = match call.verb {
            Verb::Get => &self.sent.get,
            Verb::Post => &self.sent.post,
            Verb::Put => &self.sent.put,
            Verb::Delete => &self.sent.delete,
        };
        sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn wait(&self, reason: WaitReason, wait: Duration) {
        if let Some(notify) = &self.options.notify {
            notify(WaitNote { reason, wait });
        }
        self.options.budget.clock().sleep(wait).await;
    }

    async fn note_limits(&self, limit: Option<u32>, remaining: Option<u32>) {
        if let Err(refusal) = self.options.budget.observe(limit, remaining).await {
            tracing::warn!(?refusal, "cannot correct the budget");
        }
    }

    /// Reads a whole success, up to the size of one article, and checks that it says so.
    async fn read_success(&self, call: &Call<'_>, response: Response) -> Result<Vec<u8>, Failure> {
        let status = response.status().as_u16();
        let content_type = header(&response, &CONTENT_TYPE).map(str::to_owned);
        let body = self
            .read_up_to(call, response, self.options.max_article)
            .await?;
        answer::check_success(&Reply {
            verb: call.verb,
            status,
            content_type: content_type.as_deref(),
            retry_after: None,
            date: None,
            remaining: None,
            body: &body,
        })
        .map_err(|verdict| self.failure(call, Some(status), verdict))?;
        Ok(body)
    }

    async fn read_up_to(
        &self,
        call: &Call<'_>,
        mut response: Response,
        most: usize,
    ) -> Result<Vec<u8>, Failure> {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.broken(call, Some(status), error))?
        {
            if body.len() + chunk.len() > most {
                return Err(self.too_large(call, status));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Reads what a refusal says. A body that breaks off says nothing; the status remains.
    async fn refused(&self, call: &Call<'_>, mut response: Response) -> Failure {
        let mut body = Vec::new();
        while body.len() < MESSAGE_BYTES {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(error = %error.without_url(), "a refusal broke off");
                    body.clear();
                    break;
                }
            }
        }
        let status = response.status().as_u16();
        let reply = Reply {
            verb: call.verb,
            status,
            content_type: header(&response, &CONTENT_TYPE),
            retry_after: header(&response, &RETRY_AFTER),
            date: header(&response, &DATE),
            remaining: header(&response, &REMAINING).and_then(|value| value.trim().parse().ok()),
            body: &body,
        };
        let verdict = answer::judge(&reply, Utc::now());
        self.failure(call, Some(status), verdict)
    }

    pub(super) fn too_large(&self, call: &Call<'_>, status: u16) -> Failure {
        let verdict = Verdict {
            kind: ErrorKind::TooLarge,
            message: "the answer is larger than the limit".to_owned(),
            outcome: Outcome::Final,
            answer_lost: !call.verb.is_read(),
        };
        self.failure(call, Some(status), verdict)
    }

    /// A connection that was not made, or broke.
    pub(super) fn broken(
        &self,
        call: &Call<'_>,
        status: Option<u16>,
        error: reqwest::Error,
    ) -> Failure {
        let unsent = status.is_none() && (error.is_connect() || error.is_builder());
        let message = if unsent {
            "no connection"
        } else if error.is_timeout() {
            "no answer in time"
        } else if error.is_decode() {
            "the answer cannot be unpacked, or broke off"
        } else {
            "the connection broke"
        };
        let verdict = Verdict {
            kind: ErrorKind::Unavailable,
            message: message.to_owned(),
            outcome: if unsent {
                Outcome::Unsent
            } else {
                Outcome::Lost
            },
            answer_lost: !unsent && !call.verb.is_read(),
        };
        let mut failure = self.failure(call, status, verdict);
        failure.error.source = Some(error.without_url().into());
        failure
    }

    fn unsent(&self, call: &Call<'_>, kind: ErrorKind, message: &str) -> Failure {
        let verdict = Verdict {
            kind,
            message: message.to_owned(),
            outcome: Outcome::Final,
            answer_lost: false,
        };
        self.failure(call, None, verdict)
    }

    /// Puts an error together. What came from outside passes here, and loses the token if it holds it.
    pub(super) fn failure(
        &self,
        call: &Call<'_>,
        status: Option<u16>,
        verdict: Verdict,
    ) -> Failure {
        Failure {
            outcome: verdict.outcome,
            error: ServiceError {
                kind: verdict.kind,
                method: call.verb.as_str(),
                path: self.options.token.redact(&self.shown_path(&call.url)),
                status,
                message: self.options.token.redact(&verdict.message),
                answer_lost: verdict.answer_lost,
                source: None,
            },
        }
    }

    /// The path below the base address, with a page cursor's query.
    fn shown_path(&self, url: &Url) -> String {
        let path = url.path();
        let prefix = self.base.path().trim_end_matches('/');
        let mut shown = path.strip_prefix(prefix).unwrap_or(path).to_owned();
        if let Some(query) = url.query() {
            shown.push('?');
            shown.push_str(&answer::shown(query, 100));
        }
        shown
    }
}

impl Service for Client {
    fn usage(&self) -> Usage {
        let (minute_left, day_left) = self.options.budget.left();
        Usage {
            get: self.sent.get.load(Ordering::Relaxed),
            post: self.sent.post.load(Ordering::Relaxed),
            put: self.sent.put.load(Ordering::Relaxed),
            delete: self.sent.delete.load(Ordering::Relaxed),
            minute_left,
            day_left,
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

/// A header's value, where it is text.
pub(super) fn header<'a>(response: &'a Response, name: &HeaderName) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

fn method(verb: Verb) -> Method {
    match verb {
        Verb::Get => Method::GET,
        Verb::Post => Method::POST,
        Verb::Put => Method::PUT,
        Verb::Delete => Method::DELETE,
    }
}

/// A random number from 0 to 1, good enough to spread retries.
fn jitter() -> f64 {
    let (_, low) = uuid::Uuid::new_v4().as_u64_pair();
    f64::from(u32::try_from(low & 0xffff_ffff).unwrap_or(0)) / f64::from(u32::MAX)
}
