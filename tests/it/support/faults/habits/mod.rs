//! The habits of the service behind a test: choices for facts that `docs/api.md` does not show.
//!
//! The sandbox alone is the friendliest plausible service. A habit changes a request before the sandbox carries it out,
//! or the answer afterwards; a fault may spoil that answer. Facts that need the sandbox's store are its `Options`.

mod listing;
mod normalise;

use super::spoil::edited;
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{Method, StatusCode, header, request::Parts},
    response::Response,
};
use kbsync::sandbox::{CarryOut, Sandbox};
use listing::Asked;
pub(crate) use listing::{ListingEndpoint, Paging, Shape};
pub(crate) use normalise::Normalise;
use serde_json::{Value, json};

/// The answer to a PUT that changes nothing, `{}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum EmptyPut {
    /// 200 with the article.
    #[default]
    Ok,
    /// 422: at least one field is required.
    Refused422,
    /// 403, the answer to a token that may only read.
    Forbidden403,
}

/// All habits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Habits {
    /// The shape of the listing.
    pub(crate) shape: Shape,
    /// The pages of the listing.
    pub(crate) paging: Paging,
    /// The articles per page, at least 1.
    pub(crate) page_size: usize,
    /// The beginning of page addresses, in place of `http://` and the `Host` header.
    pub(crate) page_origin: Option<String>,
    /// Whether the listing has `text`.
    pub(crate) bodies: bool,
    /// Whether the articles of `GET /api/category/{id}` have `text`.
    pub(crate) category_bodies: bool,
    /// Whether the listing endpoint exists.
    pub(crate) listing_endpoint: ListingEndpoint,
    /// Whether listings carry an `ETag` and answer `If-None-Match` with 304.
    pub(crate) etag: bool,
    /// How the service rewrites what it is sent before it stores it.
    pub(crate) normalise: Normalise,
    /// The answer to `PUT {}`.
    pub(crate) empty_put: EmptyPut,
    /// The largest request body; a larger one gets 413.
    pub(crate) max_body: Option<usize>,
    /// The status beyond a rate limit: 429, 403 or 400.
    pub(crate) limit_status: StatusCode,
    /// The number of stale reads after each write.
    pub(crate) stale_reads_after_write: u32,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            paging: Paging::default(),
            page_size: 100,
            page_origin: None,
            bodies: true,
            category_bodies: true,
            listing_endpoint: ListingEndpoint::default(),
            etag: false,
            normalise: Normalise::default(),
            empty_put: EmptyPut::default(),
            max_body: None,
            limit_status: StatusCode::TOO_MANY_REQUESTS,
            stale_reads_after_write: 0,
        }
    }
}

impl Habits {
    /// Makes a function that carries out a request as a service with these habits does.
    pub(super) fn around(self, sandbox: &Sandbox, carry_out: CarryOut) -> CarryOut {
        if self == Self::default() {
            return carry_out;
        }
        let sandbox = sandbox.clone();
        Box::new(|request| Box::pin(self.answer(sandbox, request, carry_out)))
    }

    async fn answer(self, sandbox: Sandbox, request: Request, carry_out: CarryOut) -> Response {
        let asked = Asked::of(&self, &request);
        let is_category =
            request.method() == Method::GET && request.uri().path().starts_with("/api/category/");
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body in memory");
        let refusal = self.refusal(&parts, &body);
        // An endpoint refuses an empty body with 400, after the checks that come first.
        let body = match refusal {
            Some(_) => Body::empty(),
            None => Body::from(self.normalise.rewrite(body)),
        };
        if parts.method != Method::GET && self.stale_reads_after_write > 0 {
            sandbox.serve_past(&sandbox.snapshot(), self.stale_reads_after_write);
        }
        let mut response = carry_out(Request::from_parts(parts, body)).await;
        match (response.status(), refusal) {
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                *response.status_mut() = self.limit_status;
                return response;
            }
            (StatusCode::FOUND | StatusCode::UNAUTHORIZED, _) => return response,
            (StatusCode::BAD_REQUEST, Some((status, why))) => {
                let answer = json!({"success": false, "message": why});
                return replaced(response, status, &answer);
            }
            _ => {}
        }
        if let Some(asked) = asked {
            return asked.answer(&self, &sandbox, response).await;
        }
        if is_category && !self.category_bodies {
            return edited(response, |answer| {
                if let Some(articles) = answer.pointer_mut("/category/articles") {
                    without_texts(articles);
                }
            })
            .await;
        }
        response
    }

    /// Returns the answer to a request that is not carried out, if its sender may write.
    fn refusal(&self, request: &Parts, body: &[u8]) -> Option<(u16, &'static str)> {
        if self.max_body.is_some_and(|max| body.len() > max) {
            return Some((413, "The body is too large."));
        }
        let is_put = request.method == Method::PUT;
        if !is_put || !request.uri.path().starts_with("/api/article/") || body != b"{}" {
            return None;
        }
        match self.empty_put {
            EmptyPut::Ok => None,
            EmptyPut::Refused422 => Some((422, "At least one field is required.")),
            EmptyPut::Forbidden403 => {
                Some((403, "You do not have permission to update this article."))
            }
        }
    }
}

/// Replaces an answer, except its headers.
fn replaced(response: Response, status: u16, answer: &Value) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::from_u16(status).expect("a status");
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(answer.to_string()))
}

/// Drops the texts of articles.
fn without_texts(articles: &mut Value) {
    for article in articles.as_array_mut().into_iter().flatten() {
        if let Value::Object(fields) = article {
            fields.remove("text");
        }
    }
}
