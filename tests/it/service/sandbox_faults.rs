//! The faults of the sandbox, over real sockets if connections are dropped.

use crate::support::faults::{
    AnswerEdit, Fault, FaultKind, Hook, Inject as _, Matcher, RetryAfter, lines,
};
use axum::{
    body::Body,
    http::{HeaderMap, Request, request},
};
use kbsync::sandbox::{NewSeed, Options, Running, Sandbox};
use serde_json::{Value, json};
use std::{sync::Once, time::Duration};
use tower::ServiceExt as _;
use uuid::Uuid;

/// A service without limits, with one workspace, one category and one published article.
pub(super) struct Kb {
    pub(super) sandbox: Sandbox,
    pub(super) workspace: Uuid,
    pub(super) article: Uuid,
}

impl Kb {
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new(Options::unlimited());
        let workspace = sandbox.add_workspace("Help");
        let category = sandbox.add_category(workspace, "Billing", "billing");
        let new = NewSeed::new(category, "Refunds", "refunds", "<p>Ask us.</p>");
        let article = sandbox.add_article(new);
        Self {
            sandbox,
            workspace,
            article,
        }
    }

    pub(super) fn article_path(&self) -> String {
        format!("/api/article/{}", self.article)
    }

    pub(super) fn listing_path(&self) -> String {
        format!("/api/base/{}/articles", self.workspace)
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, Value::Null).await
    }

    pub(super) async fn put(&self, path: &str, body: Value) -> Reply {
        self.call("PUT", path, body).await
    }

    pub(super) async fn get_unless(&self, path: &str, etag: &str) -> Reply {
        let request = self.request("GET", path).header("if-none-match", etag);
        self.send(request.body(Body::empty())).await
    }

    pub(super) async fn call(&self, method: &str, path: &str, body: Value) -> Reply {
        let request = self.request(method, path);
        self.send(request.body(Body::from(body.to_string()))).await
    }

    fn request(&self, method: &str, path: &str) -> request::Builder {
        let token = format!("Bearer {}", self.sandbox.options().token);
        Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1:8080")
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .header("authorization", token)
    }

    async fn send(&self, request: axum::http::Result<Request<Body>>) -> Reply {
        let answer = self.sandbox.router().oneshot(request.expect("a request"));
        let (parts, body) = answer.await.expect("an answer").into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await;
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            json: serde_json::from_slice(&bytes.expect("a whole body")).unwrap_or(Value::Null),
        }
    }
}

/// An answer; the JSON is null if the body is none.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) json: Value,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        let value = value.and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }
}

fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another test of this binary may have installed a provider first.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only(
            webpki_root_certs::TLS_SERVER_ROOT_CERTS
                .iter()
                .take(1)
                .filter_map(|cert| reqwest::Certificate::from_der(cert).ok()),
        )
        .build()
        .expect("a client")
}

async fn running() -> (Kb, Running) {
    let kb = Kb::new();
    let running = lines::serve(&kb.sandbox).await.expect("a port");
    (kb, running)
}

async fn get(client: &reqwest::Client, url: &str) -> reqwest::Result<(u16, String)> {
    let answer = client
        .get(url)
        .header("accept", "application/json")
        .bearer_auth("sandbox-token")
        .send()
        .await?;
    let status = answer.status().as_u16();
    Ok((status, answer.text().await?))
}

async fn put(client: &reqwest::Client, url: &str, body: Value) -> reqwest::Result<u16> {
    let answer = client
        .put(url)
        .header("accept", "application/json")
        .bearer_auth("sandbox-token")
        .json(&body)
        .send()
        .await?;
    Ok(answer.status().as_u16())
}

#[tokio::test]
async fn it_serves_over_a_socket() {
    let (kb, running) = running().await;
    let client = client();
    let url = format!("{}{}", running.url, kb.listing_path());
    let (status, body) = get(&client, &url).await.expect("an answer");
    assert_eq!(status, 200);
    assert!(body.contains("<p>Ask us.</p>"));
    running.stop().await.expect("stopped");
    let refused = get(&client, &url).await.expect_err("nobody listens");
    assert!(refused.is_connect(), "{refused:?}");
}

#[tokio::test]
async fn a_reset_after_the_request_loses_the_answer_only() {
    let (kb, running) = running().await;
    let client = client();
    let url = format!("{}{}", running.url, kb.article_path());
    kb.sandbox.inject(Fault::once(
        Matcher::new("PUT", "/api/article/"),
        FaultKind::ResetAfter,
    ));
    let lost = put(&client, &url, json!({"title": "Sent"})).await;
    assert!(lost.expect_err("no answer").status().is_none());
    let title = kb.sandbox.article(kb.article).map(|one| one.title);
    assert_eq!(title.as_deref(), Some("Sent"));
    assert_eq!(
        put(&client, &url, json!({"title": "Again"}))
            .await
            .expect("an answer"),
        200
    );
}

#[tokio::test]
async fn a_reset_before_the_request_changes_nothing() {
    let (kb, running) = running().await;
    let client = client();
    let url = format!("{}{}", running.url, kb.article_path());
    // On a fresh connection and on a pooled one; reqwest may retry on a pooled connection, so the fault hits every
    // request.
    for warm in [false, true] {
        if warm {
            get(&client, &url).await.expect("an answer");
        }
        kb.sandbox.inject(Fault::always(
            Matcher::new("PUT", ""),
            FaultKind::ResetBefore,
        ));
        let lost = put(&client, &url, json!({"title": "Lost"})).await;
        assert!(lost.expect_err("no answer").status().is_none());
        kb.sandbox.clear_faults();
    }
    let title = kb.sandbox.article(kb.article).map(|one| one.title);
    assert_eq!(title.as_deref(), Some("Refunds"));
    assert_eq!(kb.sandbox.requests()[0].status, 0);
}

#[tokio::test]
async fn a_truncated_body_is_an_error_at_every_length() {
    let (kb, running) = running().await;
    let client = client();
    let url = format!("{}{}", running.url, kb.listing_path());
    let (_, whole) = get(&client, &url).await.expect("an answer");
    for bytes in [0, 1, whole.len() / 2, whole.len() - 1, whole.len()] {
        kb.sandbox
            .inject(Fault::once(Matcher::any(), FaultKind::Truncate(bytes)));
        let cut = get(&client, &url).await;
        assert!(cut.is_err(), "after {bytes} bytes: {cut:?}");
    }
    assert_eq!(get(&client, &url).await.expect("an answer").1, whole);
}

#[tokio::test]
async fn a_truncated_body_has_its_first_bytes() {
    let (kb, running) = running().await;
    kb.sandbox
        .inject(Fault::once(Matcher::any(), FaultKind::Truncate(9)));
    let mut answer = client()
        .get(format!("{}/api/bases", running.url))
        .bearer_auth("sandbox-token")
        .send()
        .await
        .expect("a head");
    let mut got = Vec::new();
    let error = loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => got.extend_from_slice(&chunk),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(error.is_some());
    assert_eq!(String::from_utf8_lossy(&got), r#"{"bases":"#);
}

#[tokio::test]
async fn slow_and_endless_answers() {
    let (kb, running) = running().await;
    let client = client();
    let url = format!("{}/api/bases", running.url);
    let (_, whole) = get(&client, &url).await.expect("an answer");
    let slow = FaultKind::Slow {
        bytes: 50,
        pause: Duration::from_millis(1),
    };
    kb.sandbox.inject(Fault::once(Matcher::any(), slow));
    assert_eq!(get(&client, &url).await.expect("an answer").1, whole);
    kb.sandbox
        .inject(Fault::once(Matcher::any(), FaultKind::Endless));
    let mut answer = client
        .get(&url)
        .bearer_auth("sandbox-token")
        .send()
        .await
        .expect("a head");
    let mut bytes = 0;
    while bytes < 5_000_000 {
        bytes += answer.chunk().await.expect("more").expect("more").len();
    }
}

#[tokio::test]
async fn answers_that_are_not_the_services_own() {
    let kb = Kb::new();
    let table = [
        (FaultKind::Html, 200, "text/html; charset=utf-8"),
        (
            FaultKind::Status(503, "<h1>Down</h1>".into()),
            503,
            "text/html; charset=utf-8",
        ),
        (
            FaultKind::Status(500, r#"{"success":false,"message":"x"}"#.into()),
            500,
            "application/json",
        ),
        (
            FaultKind::RateLimited {
                retry_after: Some(RetryAfter::Seconds(3)),
            },
            429,
            "application/json",
        ),
        (FaultKind::InvalidJson, 200, "application/json"),
    ];
    for (what, status, kind) in table {
        kb.sandbox.inject(Fault::once(Matcher::any(), what.clone()));
        let reply = kb.get("/api/bases").await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (status, kind),
            "{what:?}"
        );
        assert_ne!(reply.json["success"], true, "{what:?}");
        assert_eq!(kb.get("/api/bases").await.json["success"], true);
    }
}

#[tokio::test]
async fn an_answer_can_be_of_the_wrong_type() {
    let kb = Kb::new();
    kb.sandbox
        .inject(Fault::once(Matcher::any(), FaultKind::WrongType));
    let reply = kb.get(&kb.listing_path()).await;
    assert_eq!(reply.json["articles"][0]["title"], 7);
    let edit = AnswerEdit::new(|answer| answer["articles"][0]["id"] = json!("twin"));
    kb.sandbox
        .inject(Fault::once(Matcher::any(), FaultKind::Edit(edit)));
    let reply = kb.get(&kb.listing_path()).await;
    assert_eq!(reply.json["articles"][0]["id"], "twin");
}

#[tokio::test]
async fn a_colleague_edits_in_this_instant() {
    let kb = Kb::new();
    let article = kb.article;
    let edit = Hook::new(move |sandbox: &Sandbox| {
        sandbox.edit(article, |article| article.text = "theirs".to_owned());
    });
    kb.sandbox.inject(Fault::once(
        Matcher::new("PUT", "/api/article"),
        FaultKind::Hook(edit.clone()),
    ));
    let reply = kb.put(&kb.article_path(), json!({"title": "Ours"})).await;
    assert_eq!(reply.json["article"]["text"], "theirs");
    kb.sandbox.inject(Fault::once(
        Matcher::any(),
        FaultKind::HookAfter(Hook::new(move |sandbox| {
            sandbox.remove(article);
        })),
    ));
    assert_eq!(kb.get(&kb.article_path()).await.status, 200);
    assert_eq!(kb.get(&kb.article_path()).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn latency_is_virtual_under_a_paused_clock() {
    let kb = Kb::new();
    let start = tokio::time::Instant::now();
    let hour = FaultKind::Latency(Duration::from_hours(1));
    kb.sandbox.inject(Fault::once(Matcher::any(), hour));
    assert_eq!(kb.get("/api/bases").await.status, 200);
    assert!(start.elapsed() >= Duration::from_hours(1));
}

#[tokio::test]
async fn faults_meet_what_they_are_for() {
    let kb = Kb::new();
    let teapot = || FaultKind::Status(418, "{}".to_owned());
    let fault = Fault::once(Matcher::new("GET", "/api/base/*/articles"), teapot());
    kb.sandbox.inject(fault.times(2).after(1));
    let statuses = async |path: &str| {
        let mut statuses = Vec::new();
        for _ in 0..4 {
            statuses.push(kb.get(path).await.status);
        }
        statuses
    };
    let base = format!("/api/base/{}", kb.workspace);
    assert_eq!(statuses(&base).await, [200; 4]);
    assert_eq!(statuses(&kb.listing_path()).await, [200, 418, 418, 200]);
    kb.sandbox
        .inject(Fault::always(Matcher::any().query("page=2"), teapot()));
    assert_eq!(statuses("/api/bases?page=1").await, [200; 4]);
    assert_eq!(statuses("/api/bases?page=2").await, [418; 4]);
}

#[test]
fn patterns_meet_paths() {
    for (pattern, path, meets) in [
        ("", "/api/bases", true),
        ("/api/article", "/api/article", true),
        ("/api/article", "/api/article/7", true),
        ("/api/article/", "/api/article/7", true),
        ("/api/article/", "/api/article", false),
        ("/api/base/*/articles", "/api/base/7/articles", true),
        ("/api/base/*/articles", "/api/base/7", false),
        ("/api/base/*/articles", "/api/base//articles", false),
        ("/api/cat", "/api/category/7", true),
    ] {
        let matcher = Matcher::new("GET", pattern);
        assert_eq!(matcher.meets("GET", path, ""), meets, "{pattern} on {path}");
        assert!(!matcher.meets("PUT", path, ""));
    }
}

#[tokio::test]
async fn in_memory_a_reset_is_a_body_that_fails() {
    let kb = Kb::new();
    kb.sandbox
        .inject(Fault::once(Matcher::any(), FaultKind::ResetBefore));
    let request = Request::get("/api/bases")
        .header("host", "localhost")
        .body(Body::empty())
        .expect("a request");
    let answer = kb
        .sandbox
        .router()
        .oneshot(request)
        .await
        .expect("an answer");
    let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
    assert!(body.is_err());
    assert_eq!(kb.get("/api/bases").await.status, 200);
}
