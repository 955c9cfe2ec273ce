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
    http::{Method, StatusCode, header},
    response::Response,
};
use kbsync::sandbox::{CarryOut, Sandbox};
use listing::Asked;
pub(crate) use listing::{ListingEndpoint, Paging, Shape};
pub(crate) use normalise::Normalise;
use serde_json::Value;

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
        let body = self.normalise.rewrite(body);
        let response = carry_out(Request::from_parts(parts, Body::from(body))).await;
        if !is_carried_out(&response) {
            return response;
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
}

/// Returns whether the request passed sign-in and the rate limits.
fn is_carried_out(response: &Response) -> bool {
    ![
        StatusCode::FOUND,
        StatusCode::UNAUTHORIZED,
        StatusCode::TOO_MANY_REQUESTS,
    ]
    .contains(&response.status())
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
