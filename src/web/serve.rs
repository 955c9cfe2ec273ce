//! The HTTP side: three pages to read, and a check of who is asked.

use super::{board::Board, health};
use crate::engine::report::BudgetLeft;
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};
use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use tokio::{net::TcpListener, time::Instant};

/// Tells what is left of the budget now: others spend it, too, and time gives it back.
pub type Purse = Arc<dyn Fn() -> BudgetLeft + Send + Sync>;

/// What is shown.
#[derive(Clone)]
struct Shown {
    board: Arc<Board>,
    purse: Purse,
}

/// Answers until told to stop. The caller binds the port.
pub async fn serve(
    listener: TcpListener,
    board: Arc<Board>,
    purse: Purse,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let loopback = listener.local_addr()?.ip().is_loopback();
    let pages = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .layer(middleware::from_fn(move |request, next| {
            check_host(loopback, request, next)
        }))
        .with_state(Shown { board, purse });
    axum::serve(listener, pages)
        .with_graceful_shutdown(stop)
        .await
}

/// The address for people and logs.
pub fn shown_address(address: SocketAddr) -> String {
    format!("http://{address}")
}

/// On loopback only this machine is asked for: a web page must not reach us under a name of its own
/// (failures row 135). Elsewhere names are given by others.
async fn check_host(loopback: bool, request: Request, next: Next) -> Response {
    if loopback && !is_this_machine(request.headers()) {
        return (
            StatusCode::MISDIRECTED_REQUEST,
            "this is not the host that was asked for\n",
        )
            .into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        header::HeaderValue::from_static("no-store"),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        header::HeaderValue::from_static("nosniff"),
    );
    response
}

fn is_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
    else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

async fn healthz(State(Shown { board, .. }): State<Shown>) -> Response {
    verdict(health::illness(&board.seen(), Instant::now()))
}

async fn readyz(State(Shown { board, .. }): State<Shown>) -> Response {
    verdict(health::unreadiness(&board.seen()))
}

fn verdict(wrong: Option<String>) -> Response {
    match wrong {
        None => (StatusCode::OK, "ok\n").into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn metrics(State(Shown { board, purse }): State<Shown>) -> Response {
    match board.metrics.text(&board.seen(), purse(), Instant::now()) {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => {
            tracing::warn!(%error, "the figures could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f135_only_this_machine_is_this_machine() {
        for (host, expected) in [
            ("127.0.0.1:7575", true),
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("[::1]:7575", true),
            ("evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("192.168.0.1", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("a value"));
            assert_eq!(is_this_machine(&headers), expected, "{host}");
        }
        assert!(!is_this_machine(&HeaderMap::new()));
    }
}
