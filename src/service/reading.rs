//! Waits for answers, reads them up to their limits, and builds errors.
//!
//! A person is told after some seconds without an answer, long before the request fails. Text from outside enters an
//! error only here, and the token is redacted from it (failures row 131). `answer` has the meaning of answers.

use super::{
    Answer, ErrorKind, ServiceError,
    answer::{self, Verdict},
    client::{Call, Client},
    options::{WaitNote, WaitReason},
};
use chrono::Utc;
use reqwest::{
    Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName},
};
use std::{future::Future, pin::pin, time::Duration};

/// How many bytes of a failed answer are read for its message.
const MESSAGE_BYTES: usize = 64 * 1024;

impl Client {
    /// Reads the body of a success, up to the size of one article, and checks `success: true`.
    pub(super) async fn read_success(
        &self,
        call: &Call<'_>,
        mut response: Response,
    ) -> Answer<Vec<u8>> {
        let status = response.status().as_u16();
        let content_type = header(response.headers(), &CONTENT_TYPE).map(str::to_owned);
        let mut body = Vec::new();
        while let Some(chunk) = self
            .await_sign(response.chunk())
            .await
            .map_err(|error| self.broken(call, Some(status), error))?
        {
            if body.len() + chunk.len() > self.options.max_article {
                return Err(self.too_large(call, status));
            }
            body.extend_from_slice(&chunk);
        }
        answer::check_success(content_type.as_deref(), &body)
            .map_err(|verdict| self.failure(call, Some(status), verdict))?;
        Ok(body)
    }

    /// Reads the message of a refusal. If the body breaks off, only the status counts, except for a 404: a 404 is the
    /// service's only if the body says so; any other 404 counts as no answer.
    pub(super) async fn refused(&self, call: &Call<'_>, mut response: Response) -> ServiceError {
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while body.len() < MESSAGE_BYTES {
            match self.await_sign(response.chunk()).await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) if status == 404 => return self.broken(call, Some(status), error),
                Err(error) => {
                    tracing::debug!(error = %error.without_url(), "the body of a refusal broke off");
                    body.clear();
                    break;
                }
            }
        }
        let verdict = answer::judge(status, response.headers(), &body, Utc::now());
        self.failure(call, Some(status), verdict)
    }

    pub(super) fn too_large(&self, call: &Call<'_>, status: u16) -> ServiceError {
        let verdict = Verdict::new(ErrorKind::TooLarge, "the answer is larger than the limit");
        self.failure(call, Some(status), verdict)
    }

    /// A success from which nothing may be concluded; a write was carried out all the same.
    pub(super) fn void(&self, call: &Call<'_>, why: impl Into<String>) -> ServiceError {
        self.failure(call, Some(200), Verdict::unreadable(why))
    }

    /// A connection that failed or broke.
    pub(super) fn broken(
        &self,
        call: &Call<'_>,
        status: Option<u16>,
        error: reqwest::Error,
    ) -> ServiceError {
        let unsent = status.is_none() && never_left(&error);
        let message = if unsent {
            let base = self.base.as_str().trim_end_matches('/');
            format!("no connection to {base}")
        } else if error.is_timeout() {
            "no answer in time".to_owned()
        } else if error.is_decode() {
            "the answer cannot be unpacked, or broke off".to_owned()
        } else {
            "the connection broke".to_owned()
        };
        let kind = ErrorKind::Unavailable { retry_after: None };
        let mut failure = self.failure(call, status, Verdict::new(kind, message));
        failure.response_lost &= !unsent;
        let cause = deepest(&error.without_url());
        // The words of TLS about another protocol, and of HTTP.
        let cause = match &*cause {
            cause if cause.contains("InvalidContentType") => "no tls, perhaps plain http",
            "invalid HTTP version parsed" => "no http, perhaps https",
            cause => cause,
        };
        failure.source = Some(cause.into());
        failure
    }

    pub(super) fn unsent(&self, call: &Call<'_>, kind: ErrorKind, message: &str) -> ServiceError {
        ServiceError {
            response_lost: false,
            ..self.failure(call, None, Verdict::new(kind, message))
        }
    }

    /// Builds an error. Redacts the token from text that came from outside.
    pub(super) fn failure(
        &self,
        call: &Call<'_>,
        status: Option<u16>,
        mut verdict: Verdict,
    ) -> ServiceError {
        let is_elsewhere = match (&verdict.kind, status) {
            (ErrorKind::Unauthorized, Some(status)) => status != 401,
            (ErrorKind::Unreadable, Some(status)) => status == 404,
            (_, status) => status == Some(400) && verdict.message.is_empty(),
        };
        if is_elsewhere {
            let base = self.base.as_str().trim_end_matches('/');
            let slip = if base.ends_with("/api") {
                "; leave out /api: kbsync adds it"
            } else {
                ""
            };
            let message = format!("{}; the address is {base}{slip}", verdict.message);
            message
                .trim_start_matches("; ")
                .clone_into(&mut verdict.message);
        }
        ServiceError {
            response_lost: verdict.may_have_arrived(status) && !call.method.is_safe(),
            kind: verdict.kind,
            method: call.method.clone(),
            path: self.options.token.redact(&self.shown_path(&call.url)),
            status,
            message: self.options.token.redact(&verdict.message),
            source: None,
        }
    }

    /// Returns the path below the base address, with a page cursor's query.
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

    /// Waits for the beginning or the next part of an answer.
    pub(super) async fn await_sign<T>(&self, sign: impl Future<Output = T>) -> T {
        let Some(notify) = &self.options.notify else {
            return sign.await;
        };
        let mut sign = pin!(sign);
        if let Ok(came) = tokio::time::timeout(NOTICE_AFTER, sign.as_mut()).await {
            return came;
        }
        notify(WaitNote {
            reason: WaitReason::Silent,
            wait: self.options.idle_timeout.saturating_sub(NOTICE_AFTER),
            cause: None,
        });
        sign.await
    }
}

/// Returns whether a request failed before anything was sent.
pub(super) fn never_left(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_builder()
}

/// Returns the innermost cause: the layers above it say the same in more words.
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// Returns a header's value, if it is text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A person begins to wonder after this time.
const NOTICE_AFTER: Duration = Duration::from_secs(5);
