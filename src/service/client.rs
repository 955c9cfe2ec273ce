//! The HTTP client: each request goes through the budget, the retry rule and the judgement of its answer.
//!
//! Every request is counted before it is sent. No write is sent twice, unless the service refused the first attempt for
//! lack of budget (failures rows 14 to 17). Redirects are not followed. After the stop signal no request begins, and a
//! read in flight ends at once; a write in flight is finished, so that its outcome is recorded. `answer` has the
//! meaning of answers, `retry` the rule for repeated requests, `endpoints` the endpoints, and `listing` the listings.

pub use super::options::{
    Answered, ClientError, ClientOptions, Notify, TokenAccepted, WaitNote, WaitReason,
};

use super::{
    Answer, BudgetLeft, ErrorKind, Purpose, Requests, Service, ServiceError, Validator,
    budget::{Budget, Refusal, clock::Moment},
    options,
    origin::{Origin, parse_address},
    reading::{header, never_left},
    retry::{self, MAX_WAIT},
};
use crate::drill::failpoint;
use chrono::Utc;
use reqwest::{
    Method, Response, Url,
    header::{CONTENT_TYPE, DATE, HeaderName, HeaderValue, IF_NONE_MATCH, RETRY_AFTER},
};
use std::{
    fmt,
    future::Future,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
pub(super) const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

/// The longest random pause before an operation that had to wait for room.
const MAX_JITTER: Duration = Duration::from_secs(2);

/// A client for one service.
pub struct Client {
    http: reqwest::Client,
    pub(super) base: Url,
    pub(super) options: ClientOptions,
    origin: Origin,
    /// The requests so far.
    sent: Mutex<Requests>,
    /// The seconds by which this machine's clock was ahead of the last answer's `Date`.
    ahead: Mutex<Option<i64>>,
    /// Set when the service has accepted the token; an error says why the token must not be sent again.
    accepted: OnceLock<Result<(), String>>,
}

/// A request.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Option<Vec<u8>>,
    pub(super) purpose: Purpose,
    pub(super) validator: Option<&'a Validator>,
    /// Whether the request replaces or deletes the version that the caller has just read. Such a request is sent at
    /// once or not at all, because a wait would make the read stale.
    pub(super) guarded: bool,
}

impl Client {
    /// Makes a client. Sends nothing.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let base = parse_address(&options.base_url)?;
        let origin = Origin::of_url(&base);
        if base.scheme() != "https" && !origin.is_loopback() && !options.allow_insecure_http {
            return Err(ClientError::Insecure {
                origin: origin.to_string(),
            });
        }
        Ok(Self {
            http: options::build(&options, &origin)?,
            base,
            origin,
            sent: Mutex::default(),
            ahead: Mutex::default(),
            accepted: OnceLock::new(),
            options,
        })
    }

    /// Returns the service's origin.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the budget.
    pub fn budget(&self) -> &Budget {
        &self.options.budget
    }

    /// Returns the seconds by which this machine's clock is ahead of the service's clock, by the `Date` of the last
    /// answer. The value is only for messages (failures row 104).
    pub fn clock_ahead(&self) -> Option<i64> {
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, with retries, and reads the whole body of a success.
    pub(super) async fn ask(&self, call: &Call<'_>) -> Answer<Vec<u8>> {
        self.until_stopped(call, async {
            let mut attempt = 0;
            loop {
                let counted = self.pay(call).await?;
                let error = match self.send(call, counted).await {
                    Ok(response) => match self.read_success(call, response).await {
                        Ok(body) => {
                            self.report_accepted();
                            return Ok(body);
                        }
                        Err(error) => error,
                    },
                    Err(error) => error,
                };
                attempt += 1;
                self.pause(call, error, attempt).await?;
            }
        })
        .await
    }

    /// Carries out a request unless kbsync is stopping. A write that waits for room in the budget may still be sent.
    pub(super) async fn until_stopped<T>(
        &self,
        call: &Call<'_>,
        request: impl Future<Output = Answer<T>> + Send,
    ) -> Answer<T> {
        let (request, stop) = (Box::pin(request), &self.options.stop);
        let stopping = || {
            let message = "not finished: kbsync is stopping";
            self.unsent(call, ErrorKind::Closed, message)
        };
        if stop.is_cancelled() {
            return Err(stopping());
        }
        // A probe changes nothing, so a stop may lose its answer.
        let is_probe = call.method == Method::PUT && !call.guarded;
        if !call.method.is_safe() && !is_probe {
            return request.await;
        }
        tokio::select! {
            biased;
            answer = request => answer,
            () = stop.cancelled() => Err(stopping()),
        }
    }

    /// Sends a request once. Returns a success, or a 304 to a conditional request. `counted`: the moment of `pay`.
    pub(super) async fn send(&self, call: &Call<'_>, counted: Moment) -> Answer<Response> {
        let mut request = self.http.request(call.method.clone(), call.url.clone());
        // A value that is no valid header did not come from a header.
        let etag = |validator: &Validator| HeaderValue::from_str(&validator.etag).ok();
        if let Some(etag) = call.validator.and_then(etag) {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(body) = &call.body {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(body.clone());
        }
        failpoint::pass("service: before a request");
        let response = match self.await_sign(request.send()).await {
            Ok(response) => response,
            Err(error) => {
                if never_left(&error) {
                    self.uncount(call, counted).await;
                } else {
                    self.report_answer(call, None);
                }
                return Err(self.broken(call, None, error));
            }
        };
        failpoint::pass("service: answer arrived");
        let number =
            |name| header(response.headers(), name).and_then(|value| value.trim().parse().ok());
        // With nothing left, a 4xx, or a 5xx that names a wait, spends nothing of the day: it is unknown who spent the
        // minute.
        let (answered, headers) = (response.status(), response.headers());
        let (wait, date) = (header(headers, &RETRY_AFTER), header(headers, &DATE));
        let has_wait = retry::retry_after(wait, date, Utc::now()).is_some();
        let is_refused = answered.is_client_error() || answered.is_server_error() && has_wait;
        let (limit, remaining) = (number(&LIMIT), number(&REMAINING));
        let remaining = remaining.filter(|left| *left > 0 || !is_refused);
        let noted = self.options.budget.observe(limit, remaining);
        if let Err(refusal) = noted.await {
            tracing::warn!(?refusal, "cannot correct the budget");
        }
        if let Some(date) = date.and_then(retry::http_date) {
            let ahead = (Utc::now() - date).num_seconds();
            *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(ahead);
        }
        let status = response.status().as_u16();
        self.report_answer(call, Some(status));
        tracing::debug!(
            method = call.method.as_str(),
            path = call.url.path(),
            status,
            "answered"
        );
        // A partial answer must not pass as a complete one; no request here asks for a part.
        let is_whole = response.status().is_success() && status != 206;
        if is_whole || (status == 304 && call.validator.is_some()) {
            return Ok(response);
        }
        Err(self.refused(call, response).await)
    }

    /// Waits after a failed attempt, if there is to be another one; otherwise returns the error.
    pub(super) async fn pause(
        &self,
        call: &Call<'_>,
        error: ServiceError,
        attempt: u32,
    ) -> Answer<()> {
        let wait = retry::wait(&call.method, &error.kind, attempt, jitter());
        if let ErrorKind::RateLimited { retry_after } = error.kind
            && let Some(wait) = wait.or(retry_after)
            && let Err(refusal) = self.options.budget.block(wait).await
        {
            tracing::warn!(?refusal, "cannot tell other commands to wait");
        }
        // A guarded request is not repeated here: the caller waits for room before it reads again.
        let Some(wait) = wait.filter(|_| !call.guarded) else {
            return Err(error);
        };
        tracing::debug!(%error, ?wait, attempt, "asking again");
        let reason = if matches!(error.kind, ErrorKind::RateLimited { .. }) {
            WaitReason::Throttled
        } else {
            WaitReason::Again
        };
        self.wait(reason, wait, Some(error.root_cause())).await;
        Ok(())
    }

    /// Counts the request in the budget. Waits for room if the minute is full.
    pub(super) async fn pay(&self, call: &Call<'_>) -> Answer<Moment> {
        // The token belongs to another service.
        if let Some(Err(why)) = self.accepted.get() {
            return Err(self.unsent(call, ErrorKind::Unauthorized, why));
        }
        let counted = loop {
            match self.options.budget.acquire(call.purpose).await {
                Ok(counted) => break counted,
                Err(Refusal::Minute { free_in } | Refusal::Blocked { free_in }) if call.guarded => {
                    let retry_after = Some(free_in);
                    let message = "the budget has no room at the moment";
                    return Err(self.unsent(call, ErrorKind::RateLimited { retry_after }, message));
                }
                Err(refusal) => self.make_room(call, refusal).await?,
            }
        };
        self.sent().add(Requests::one(&call.method));
        Ok(counted)
    }

    /// Waits until the budget has room for requests. Fails if that takes too long.
    pub(super) async fn find_room(&self, call: &Call<'_>, requests: u32) -> Answer<()> {
        let budget = &self.options.budget;
        while let Err(refusal) = budget.check(requests, call.purpose).await {
            self.make_room(call, refusal).await?;
            // Processes that wait for the same room must not begin together, or none could finish.
            budget.clock().sleep(MAX_JITTER.mul_f64(jitter())).await;
        }
        Ok(())
    }

    /// Waits until the budget may have room. Fails if that takes too long.
    async fn make_room(&self, call: &Call<'_>, refusal: Refusal) -> Answer<()> {
        match refusal {
            Refusal::Minute { free_in } => self.wait(WaitReason::Minute, free_in, None).await,
            Refusal::Blocked { free_in } if free_in <= MAX_WAIT => {
                self.wait(WaitReason::Throttled, free_in, None).await;
            }
            Refusal::Blocked { free_in } => {
                let retry_after = Some(free_in);
                let message = "the service asked for a pause";
                return Err(self.unsent(call, ErrorKind::RateLimited { retry_after }, message));
            }
            Refusal::Day { free_in } => {
                let message = "the budget of the day is spent";
                return Err(self.unsent(call, ErrorKind::BudgetSpent { free_in }, message));
            }
            Refusal::Broken { path, source } => {
                let message = format!(
                    "cannot count the request in {}; make the file writable, or remove it if it is damaged",
                    path.display()
                );
                return Err(ServiceError {
                    source: Some(source.into()),
                    ..self.unsent(call, ErrorKind::Unavailable { retry_after: None }, &message)
                });
            }
        }
        Ok(())
    }

    /// A request that never left this machine does not count.
    async fn uncount(&self, call: &Call<'_>, counted: Moment) {
        {
            let mut sent = self.sent();
            *sent = sent.since(Requests::one(&call.method));
        }
        if let Err(refusal) = self.options.budget.uncount(counted).await {
            tracing::warn!(?refusal, "a request that was not sent stays counted");
        }
    }

    fn sent(&self) -> MutexGuard<'_, Requests> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report_answer(&self, call: &Call<'_>, status: Option<u16>) {
        if let Some(answered) = &self.options.answered {
            answered(&call.method, status);
        }
    }

    /// Runs after an answer with `success: true`, because only a service that knows the token sends such an answer.
    pub(super) fn report_accepted(&self) {
        if let Some(token_accepted) = &self.options.token_accepted {
            self.accepted.get_or_init(|| token_accepted());
        }
    }

    async fn wait(&self, reason: WaitReason, wait: Duration, cause: Option<String>) {
        if let Some(notify) = &self.options.notify {
            notify(WaitNote {
                reason,
                wait,
                cause,
            });
        }
        self.options.budget.clock().sleep(wait).await;
    }
}

impl Service for Client {
    fn requests(&self) -> Requests {
        *self.sent()
    }

    fn budget_left(&self) -> BudgetLeft {
        self.options.budget.left()
    }

    async fn wait_for_room(&self, requests: u32, purpose: Purpose) -> Answer<()> {
        let call = self.call(Method::GET, "", purpose);
        self.until_stopped(&call, self.find_room(&call, requests))
            .await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

/// Returns a random number from 0 to 1, good enough to spread retries.
fn jitter() -> f64 {
    let (_, low) = uuid::Uuid::new_v4().as_u64_pair();
    f64::from(u32::try_from(low & 0xffff_ffff).unwrap_or(0)) / f64::from(u32::MAX)
}
