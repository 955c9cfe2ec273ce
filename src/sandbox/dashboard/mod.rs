//! The web pages for people: the actions of colleagues, and the requests of kbsync.
//!
//! Plain HTML with forms, without JavaScript. There is no sign-in, so the pages answer only to a loopback `Host` (which
//! stops a web page that uses DNS rebinding) and accept only their own forms. The text of an article is shown in a
//! frame without any rights.

mod forms;
mod html;
mod pages;

use super::{handle::Sandbox, reply};
use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::Response,
    routing::get,
};
use std::net::SocketAddr;

pub(super) use html::not_found;

/// The pages load and run nothing, and no other page may frame them.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The pages at `/` and below `/dashboard`.
pub(super) fn routes() -> Router<Sandbox> {
    Router::new()
        .route("/", get(pages::overview))
        .route("/dashboard/requests", get(pages::requests))
        .route("/dashboard/category/{id}", get(pages::category))
        .route("/dashboard/article/{id}", get(pages::article))
        .merge(forms::routes())
        .layer(middleware::from_fn(guard))
}

/// Refuses other host names and forms from other sites; adds the policies to every page.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = match refusal(request.method(), request.headers()) {
        Some(why) => reply::html(StatusCode::FORBIDDEN, html::message("Refused", why)),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: browsers would then send `Origin: null` with the pages' own forms.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(method: &Method, headers: &HeaderMap) -> Option<&'static str> {
    let text = |name: header::HeaderName| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("not text"))
    };
    let host = text(header::HOST).unwrap_or_default();
    if !is_asked_for(headers) {
        return Some("These pages answer to localhost only.");
    }
    if *method == Method::GET || *method == Method::HEAD {
        return None;
    }
    let own = format!("http://{host}");
    let foreign_origin = text(header::ORIGIN).is_some_and(|origin| origin != own);
    let foreign_site = headers
        .get("sec-fetch-site")
        .is_some_and(|site| site != "same-origin" && site != "none");
    (foreign_origin || foreign_site).then_some("This form was sent by another site.")
}

/// Returns whether a request was sent to this machine by a loopback name: another host name may resolve to this
/// machine.
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST);
    host.is_some_and(|host| host.to_str().is_ok_and(is_loopback))
}

/// Returns whether a `Host` header names this machine.
fn is_loopback(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let name = name.to_ascii_lowercase();
    let is_name = name == "localhost" || name.ends_with(".localhost");
    let address = host.parse().map(|address: SocketAddr| address.ip());
    let address = address.or_else(|_| host.trim_matches(['[', ']']).parse());
    is_name && port.parse::<u16>().is_ok() || address.is_ok_and(|address| address.is_loopback())
}
