//! Tests of the stand-in, by the facts of `docs/api.md`; in memory if no socket is needed.

mod api;
mod dashboard;
mod gate;
mod handle;
mod listing;

use super::{NewSeed, Options, Sandbox};
use axum::{
    body::Body,
    http::{HeaderMap, Request},
};
use serde_json::Value;
use tower::ServiceExt as _;
use uuid::Uuid;

/// A service without limits, with one workspace, one category and one published article.
struct Kb {
    sandbox: Sandbox,
    workspace: Uuid,
    category: Uuid,
    article: Uuid,
}

impl Kb {
    fn new() -> Self {
        Self::with(Options::unlimited())
    }

    fn with(options: Options) -> Self {
        let sandbox = Sandbox::new(options);
        let workspace = sandbox.add_workspace("Help");
        let category = sandbox.add_category(workspace, "Billing", "billing");
        let article = sandbox.add_article(NewSeed::new(
            category,
            "Refunds",
            "refunds",
            "<p>Ask us.</p>",
        ));
        Self {
            sandbox,
            workspace,
            category,
            article,
        }
    }

    async fn get(&self, path: &str) -> Reply {
        call(&self.sandbox, "GET", path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Reply {
        call(&self.sandbox, "POST", path, Some(body)).await
    }

    async fn put(&self, path: &str, body: Value) -> Reply {
        call(&self.sandbox, "PUT", path, Some(body)).await
    }

    async fn delete(&self, path: &str) -> Reply {
        call(&self.sandbox, "DELETE", path, None).await
    }

    fn article_path(&self) -> String {
        format!("/api/article/{}", self.article)
    }

    fn category_path(&self) -> String {
        format!("/api/category/{}", self.category)
    }

    fn listing_path(&self) -> String {
        format!("/api/base/{}/articles", self.workspace)
    }
}

/// An answer with its whole body.
#[derive(Debug)]
struct Reply {
    status: u16,
    headers: HeaderMap,
    body: String,
    /// The body as JSON; null if it is not JSON.
    json: Value,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    fn error(&self) -> (u16, &str) {
        assert_eq!(self.json["success"], false, "{self:?}");
        (
            self.status,
            self.json["message"].as_str().expect("a message"),
        )
    }
}

async fn call(sandbox: &Sandbox, method: &str, path: &str, body: Option<Value>) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1:8080")
        .header("accept", "application/json")
        .header(
            "authorization",
            format!("Bearer {}", sandbox.options().token),
        );
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    send(sandbox, request.body(body).expect("a request")).await
}

async fn send(sandbox: &Sandbox, request: Request<Body>) -> Reply {
    let response = sandbox
        .router()
        .oneshot(request)
        .await
        .expect("the router cannot fail");
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX)
        .await
        .expect("a whole body");
    let body = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        json: serde_json::from_str(&body).unwrap_or(Value::Null),
        body,
    }
}

fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}
