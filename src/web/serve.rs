//! The HTTP server: three pages and a list of them, with a check of the `Host` header.
//!
//! A connection is for one request, and ends after [`REQUEST_LIMIT`] in any case.

use super::{
    connections::{Connections, REQUEST_LIMIT},
    health, metrics,
    shared_status::SharedStatus,
};
use crate::{engine::report::BudgetLeft, model::host::is_this_machine};
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use std::{future::Future, io, net::SocketAddr, pin::pin, sync::Arc};
use tokio::{net::TcpListener, time::Instant};
use tokio_util::task::TaskTracker;

/// Returns the rest of the budget, which other processes spend, too, and which grows with time.
pub type BudgetSource = Arc<dyn Fn() -> BudgetLeft + Send + Sync>;

/// The data behind the pages.
#[derive(Clone)]
struct Shown {
    status: Arc<SharedStatus>,
    budget: BudgetSource,
}

/// Serves requests until `stop`. The caller binds the port.
pub async fn serve(
    listener: TcpListener,
    status: Arc<SharedStatus>,
    budget: BudgetSource,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let loopback = listener.local_addr()?.ip().is_loopback();
    let pages = Router::new()
        .route("/", get(overview))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(figures))
        .layer(middleware::from_fn(move |request, next| {
            check_host(loopback, request, next)
        }))
        .with_state(Shown { status, budget });
    let clients = TaskTracker::new();
    let mut connections = Connections::new("the health port");
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        if let Some(((stream, _), slot)) = connections.admit(accepted).await {
            let pages = TowerToHyperService::new(pages.clone());
            clients.spawn(async move {
                let answer = http1::Builder::new()
                    .keep_alive(false)
                    .serve_connection(TokioIo::new(stream), pages);
                // In each case the connection closes, and its slot is free.
                tokio::select! {
                    () = slot.revoked() => (),
                    _answered = tokio::time::timeout(REQUEST_LIMIT, answer) => (),
                }
            });
        }
    }
    clients.close();
    clients.wait().await;
    Ok(())
}

/// Returns the address for people and logs.
pub fn shown_address(address: SocketAddr) -> String {
    format!("http://{address}")
}

/// On a loopback address, accepts only requests to this machine: a web page must not reach the daemon under a host name
/// of its own (DNS rebinding, failures row 135). On other addresses, any name is accepted.
async fn check_host(loopback: bool, request: Request, next: Next) -> Response {
    let mut response = if loopback && !names_this_machine(request.headers()) {
        (
            StatusCode::MISDIRECTED_REQUEST,
            "this is not the host that was asked for\n",
        )
            .into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns whether the `Host` is this machine, with or without a port.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST);
    host.and_then(|host| host.to_str().ok())
        .is_some_and(is_this_machine)
}

/// The list of the pages.
async fn overview() -> String {
    let version = metrics::VERSION;
    format!(
        "kbsync {version}\n\n/healthz  is the daemon healthy?\n/readyz   is the first cycle done?\n/metrics  metrics, for Prometheus\n"
    )
}

async fn healthz(State(Shown { status, .. }): State<Shown>) -> Response {
    verdict(health::illness(&status.snapshot(), Instant::now()))
}

async fn readyz(State(Shown { status, .. }): State<Shown>) -> Response {
    verdict(health::unreadiness(&status.snapshot()))
}

fn verdict(wrong: Option<String>) -> Response {
    match wrong {
        None => (StatusCode::OK, "ok\n").into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn figures(State(Shown { status, budget }): State<Shown>) -> Response {
    match status
        .metrics
        .text(&status.snapshot(), budget(), Instant::now())
    {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => {
            tracing::warn!(%error, "the metrics could not be written");
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
            ("[::1]", true),
            ("[::1]evil", false),
            ("[::1]evil:80", false),
            ("[::1", false),
            ("127.0.0.1:80:evil", false),
            ("localhost:evil", false),
            ("user@localhost", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("a value"));
            assert_eq!(names_this_machine(&headers), expected, "{host}");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }
}
