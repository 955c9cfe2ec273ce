//! The web pages for people: what colleagues see and do.

use super::handle::Sandbox;
use axum::Router;

/// The pages at `/` and the forms below `/dashboard`.
pub(super) fn routes() -> Router<Sandbox> {
    Router::new()
}

/// The page for an address that is none.
pub(super) fn not_found() -> String {
    "<!doctype html><title>Not found</title><h1>Not found</h1>".to_owned()
}
