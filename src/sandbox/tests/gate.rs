//! Sign-in, rights, rate limits and the record of requests (A5, A7 and A8).

use super::{Kb, send};
use crate::sandbox::{Access, Options, Rights};
use axum::{body::Body, http::Request};
use serde_json::json;
use std::time::Duration;

fn request(path: &str, token: Option<&str>, accept: Option<&str>) -> Request<Body> {
    let mut request = Request::get(path).header("host", "localhost:8080");
    if let Some(token) = token {
        request = request.header("authorization", token);
    }
    if let Some(accept) = accept {
        request = request.header("accept", accept);
    }
    request.body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn f135_the_api_answers_to_the_names_of_this_machine_alone() {
    let kb = Kb::new();
    let token = format!("Bearer {}", kb.sandbox.options().token);
    for (host, status) in [
        (Some("127.0.0.1:8080"), 200),
        (Some("localhost"), 200),
        (Some("[::1]:8080"), 200),
        (Some("evil.example:8080"), 421),
        (Some("[::1]evil"), 421),
        (None, 421),
    ] {
        let mut request = Request::get("/api/bases").header("authorization", &token);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let reply = send(&kb.sandbox, request.body(Body::empty()).expect("a request")).await;
        assert_eq!(reply.status, status, "{host:?}: {reply:?}");
    }
    assert_eq!(
        kb.sandbox.counts().total,
        3,
        "what was refused left no trace"
    );
}

#[tokio::test]
async fn s5_a_wrong_token_gets_401_as_json() {
    let kb = Kb::new();
    for token in [
        None,
        Some("Bearer wrong"),
        Some("sandbox-token"),
        Some("Basic x"),
    ] {
        let reply = send(
            &kb.sandbox,
            request("/api/bases", token, Some("application/json")),
        )
        .await;
        assert_eq!(reply.error().0, 401);
        assert_eq!(
            reply.header("x-ratelimit-remaining"),
            reply.header("x-ratelimit-limit")
        );
    }
}

#[tokio::test]
async fn s5_2_without_accept_a_signed_out_request_goes_to_the_login_page() {
    let kb = Kb::new();
    let redirect = send(&kb.sandbox, request("/api/bases", None, None)).await;
    assert_eq!(
        (redirect.status, redirect.header("location")),
        (302, "/login")
    );
    let known = send(
        &kb.sandbox,
        request("/api/bases", Some("Bearer sandbox-token"), None),
    )
    .await;
    assert_eq!(known.json["success"], true);
}

#[tokio::test]
async fn s5_3_without_rights_everything_is_403() {
    let kb = Kb::new();
    let (listing, article, category) = (kb.listing_path(), kb.article_path(), kb.category_path());
    let base = format!("/api/base/{}", kb.workspace);
    for (access, read, write) in [(Access::None, 403, 403), (Access::Read, 200, 403)] {
        let mut rights = Rights::everywhere(Access::Owner);
        rights.workspaces.insert(kb.workspace, access);
        kb.sandbox.add_token("sandbox-token", rights);
        for path in [&base, &listing, &article, &category] {
            assert_eq!(kb.get(path).await.status, read, "{path}");
        }
        let new = json!({"category_id": kb.category, "title": "T"});
        assert_eq!(kb.post("/api/article", new).await.error().0, write);
        let new = json!({"base_id": kb.workspace, "name": "N"});
        assert_eq!(kb.post("/api/category", new).await.error().0, write);
        assert_eq!(kb.put(&article, json!({})).await.error().0, write);
        assert_eq!(kb.put(&category, json!({})).await.error().0, write);
        assert_eq!(kb.delete(&article).await.error().0, write);
    }
}

#[tokio::test]
async fn s4_7_a_move_needs_rights_where_it_goes() {
    let kb = Kb::new();
    let closed = kb.sandbox.add_workspace("Closed");
    let target = kb.sandbox.add_category(closed, "C", "c");
    let mut rights = Rights::everywhere(Access::Owner);
    rights.workspaces.insert(closed, Access::Read);
    kb.sandbox.add_token("sandbox-token", rights);
    let reply = kb
        .put(&kb.article_path(), json!({"category_id": target}))
        .await;
    assert_eq!(reply.error().0, 403);
}

#[tokio::test]
async fn a_revoked_token_is_worthless() {
    let kb = Kb::new();
    kb.sandbox.revoke_token("sandbox-token");
    let reply = send(
        &kb.sandbox,
        request(
            "/api/bases",
            Some("Bearer sandbox-token"),
            Some("application/json"),
        ),
    )
    .await;
    assert_eq!(reply.error().0, 401);
}

#[tokio::test(start_paused = true)]
async fn s8_sixty_requests_a_minute() {
    let kb = Kb::with(Options::default());
    for left in (0..60).rev() {
        let reply = kb.get("/api/bases").await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("x-ratelimit-limit"), "60");
        assert_eq!(reply.header("x-ratelimit-remaining"), left.to_string());
    }
    let beyond = kb.get("/api/bases").await;
    assert_eq!(beyond.error().0, 429);
    assert_eq!(beyond.header("x-ratelimit-remaining"), "0");
    assert_eq!(beyond.header("retry-after"), "");
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(kb.get("/api/bases").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn s8_a_day_has_1440_requests() {
    let kb = Kb::with(Options::default());
    for _ in 0..24 {
        for _ in 0..60 {
            assert_eq!(kb.get("/api/bases").await.status, 200);
        }
        tokio::time::advance(Duration::from_mins(1)).await;
    }
    let beyond = kb.get("/api/bases").await;
    assert_eq!(beyond.error().0, 429);
    assert_eq!(beyond.header("x-ratelimit-remaining"), "0");
    tokio::time::advance(Duration::from_hours(24)).await;
    assert_eq!(kb.get("/api/bases").await.status, 200);
}

#[tokio::test]
async fn s8_every_answer_carries_the_limits() {
    let kb = Kb::new();
    for (method, path) in [
        ("GET", "/api/nowhere"),
        ("DELETE", "/api/bases"),
        ("GET", "/api/bases"),
    ] {
        let reply = super::call(&kb.sandbox, method, path, None).await;
        assert!(
            !reply.header("x-ratelimit-limit").is_empty(),
            "{method} {path}"
        );
        assert!(!reply.header("x-ratelimit-remaining").is_empty());
    }
}

#[tokio::test]
async fn requests_are_recorded_without_the_token() {
    let kb = Kb::new();
    kb.get("/api/bases?x=1").await;
    kb.put(&kb.article_path(), json!({"title": ""})).await;
    let requests = kb.sandbox.requests();
    let brief: Vec<_> = requests
        .iter()
        .map(|one| {
            (
                one.number,
                one.method.as_str(),
                one.path.as_str(),
                one.status,
            )
        })
        .collect();
    let article = kb.article_path();
    assert_eq!(
        brief,
        [
            (1, "GET", "/api/bases?x=1", 200),
            (2, "PUT", article.as_str(), 422)
        ]
    );
    assert_eq!(requests[1].body, r#"{"title":""}"#);
    assert!(!format!("{requests:?}").contains("sandbox-token"));
    let counts = kb.sandbox.counts();
    assert_eq!(
        (counts.total, counts.get, counts.put, counts.writes()),
        (2, 1, 1, 1)
    );
    kb.sandbox.clear_requests();
    assert_eq!(kb.sandbox.counts().total, 0);
    assert!(kb.sandbox.requests().is_empty());
}

#[tokio::test]
async fn a_long_body_is_taken() {
    let kb = Kb::new();
    let large = json!({"text": "x".repeat(3 * 1024 * 1024)});
    assert_eq!(kb.put(&kb.article_path(), large).await.status, 200);
}
