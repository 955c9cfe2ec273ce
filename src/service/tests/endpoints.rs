//! Every endpoint once, and answers that must not be accepted.

use super::super::{
    ArticlePatch, CategoryPatch, ErrorKind, Listed, NewArticle, NewCategory, Purpose, Service as _,
    ServiceError, ServiceRead as _, ServiceWrite as _,
};
use super::{
    Asked, CANARY, Reply, Responder, Setup, article_id, article_json, category_id, shows_token,
    workspace_id,
};
use crate::model::CategoryVersion;
use std::{error::Error as _, fmt::Write as _, time::Duration};

fn one_article(n: u32, extra: &str) -> String {
    format!(r#"{{"success":true,"article":{}}}"#, article_json(n, extra))
}

fn category_json(extra: &str) -> String {
    format!(
        r#"{{"success":true,"category":{{"id":"{}","base_id":"{}","name":"Start","slug":"start","description":null,"updated_at":"2026-01-01T00:00:00.000000Z"{extra}}}}}"#,
        category_id(1),
        workspace_id()
    )
}

fn new_article() -> NewArticle {
    NewArticle {
        category: category_id(1),
        title: "Title 1".into(),
        slug: "slug-1".into(),
        text: "<p>x</p>".into(),
        introtext: String::new(),
        keywords: String::new(),
        enabled: true,
        draft: false,
    }
}

/// The whole text of an error, its debug form included.
fn all_text(error: &ServiceError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        write!(text, " {cause} {cause:?}").expect("text");
        source = cause.source();
    }
    text
}

/// A service below `/kb` that has one object of each kind.
fn answer_all(asked: &Asked) -> Reply {
    match (asked.method.as_str(), asked.target.as_str()) {
        ("GET", "/kb/api/bases") => Reply::json(
            200,
            format!(
                r#"{{"success":true,"bases":[{{"id":"{}","public":1,"name":"Help"}}]}}"#,
                workspace_id()
            ),
        ),
        ("GET", target) if target.starts_with("/kb/api/base/") => Reply::json(
            200,
            format!(
                r#"{{"success":true,"base":[{{"id":"{}","name":"Help"}}]}}"#,
                workspace_id()
            ),
        ),
        ("GET", target) if target.starts_with("/kb/api/category/") => Reply::json(
            200,
            category_json(&format!(
                r#","articles":[{},{{"id":"{}"}}]"#,
                article_json(1, ""),
                article_id(2)
            )),
        ),
        ("GET" | "PUT", target) if target.starts_with("/kb/api/article/") => Reply::json(
            200,
            one_article(
                1,
                r#","text":"<p>x</p>","views":3,"full_url":"https://x/y""#,
            ),
        ),
        ("POST", "/kb/api/article") => {
            Reply::json(201, one_article(1, r#","enabled":true,"draft":false"#))
        }
        ("DELETE", _) => Reply::json(200, r#"{"success":true,"message":"deleted"}"#),
        ("POST", "/kb/api/category") => Reply::json(201, category_json("")),
        ("PUT", target) if target.starts_with("/kb/api/category/") => {
            Reply::json(200, category_json(""))
        }
        _ => Reply::page(404),
    }
}

#[tokio::test]
async fn s4_every_endpoint_asks_what_it_should() {
    let service = Responder::start(|_, asked| answer_all(asked)).await;
    let setup = Setup::new(&format!("{}/kb", service.url), |_| {});
    let client = &setup.client;

    assert_eq!(client.workspaces().await.expect("a list").len(), 1);
    assert_eq!(
        client.workspace(workspace_id()).await.expect("it").name,
        "Help"
    );
    let (category, listed) = client
        .category(category_id(1), Purpose::Poll)
        .await
        .expect("a category");
    assert_eq!(category.version.slug, "start");
    assert!(matches!(&listed[0], Listed::Article(article) if article.id == article_id(1)));
    assert!(matches!(&listed[1], Listed::Unreadable { id, .. } if *id == Some(article_id(2))));
    let article = client
        .article(article_id(1), Purpose::Push)
        .await
        .expect("it");
    let figures = article.figures.expect("figures");
    assert_eq!(figures.full_url.as_deref(), Some("https://x/y"));
    let created = client
        .create_article(&new_article())
        .await
        .expect("created");
    assert_eq!(created.flags.enabled, Some(true));
    let patch = ArticlePatch {
        title: Some("T".into()),
        ..ArticlePatch::default()
    };
    client
        .update_article(article_id(1), &patch)
        .await
        .expect("updated");
    client
        .probe(article_id(1), Purpose::Push)
        .await
        .expect("probed");
    client.delete_article(article_id(1)).await.expect("deleted");
    let new = NewCategory {
        workspace: workspace_id(),
        version: CategoryVersion::default(),
    };
    client.create_category(&new).await.expect("created");
    client
        .update_category(category_id(1), &CategoryPatch::default())
        .await
        .expect("updated");

    let asked = service.asked();
    let bodies: Vec<(&str, &str)> = asked
        .iter()
        .filter(|asked| asked.method == "PUT")
        .map(|asked| (asked.method.as_str(), asked.body.as_str()))
        .collect();
    assert_eq!(
        bodies,
        [("PUT", r#"{"title":"T"}"#), ("PUT", "{}"), ("PUT", "{}")]
    );
    for request in &asked {
        check_headers(request);
    }
    let sent = client.requests();
    assert_eq!((sent.get, sent.post, sent.put, sent.delete), (4, 2, 3, 1));
    let left = client.budget_left();
    assert_eq!((left.minute_left, left.day_left), (50, 1430));
}

fn check_headers(asked: &Asked) {
    assert_eq!(
        asked.header("authorization"),
        Some(format!("Bearer {CANARY}").as_str())
    );
    assert_eq!(asked.header("accept"), Some("application/json"));
    let agent = format!("kbsync/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(asked.header("user-agent"), Some(agent.as_str()));
    let typed = asked.header("content-type") == Some("application/json");
    assert_eq!(typed, !asked.body.is_empty(), "{}", asked.head);
}

#[tokio::test]
async fn an_answer_about_something_else_is_not_taken() {
    let service = Responder::script(vec![Reply::json(200, one_article(2, ""))]).await;
    let client = service.client().client;
    let read = client
        .article(article_id(1), Purpose::Push)
        .await
        .expect_err("another");
    assert_eq!(
        (read.kind, read.response_lost),
        (ErrorKind::Unreadable, false)
    );
    let probe = client
        .probe(article_id(1), Purpose::Push)
        .await
        .expect_err("another");
    assert_eq!(
        (probe.kind, probe.response_lost),
        (ErrorKind::Unreadable, true)
    );
}

#[tokio::test]
async fn f018_what_is_no_answer_of_the_service_is_not_taken() {
    let cases = [
        (Reply::page(200), ErrorKind::Unauthorized),
        (Reply::page(404), ErrorKind::Unreadable),
        (
            Reply::json(302, "").with("location", "https://evil.example/login"),
            ErrorKind::Unauthorized,
        ),
        (Reply::json(304, ""), ErrorKind::Unauthorized),
        (
            Reply::json(200, r#"{"success":false,"message":"no"}"#),
            ErrorKind::Unreadable,
        ),
        (
            Reply::json(200, r#"{"success":true}"#),
            ErrorKind::Unreadable,
        ),
        (
            Reply::json(200, r#"{"success":true,"article":null}"#),
            ErrorKind::Unreadable,
        ),
        (
            Reply::json(404, r#"{"success":false,"message":"gone"}"#),
            ErrorKind::NotFound,
        ),
        (
            Reply::json(401, r#"{"success":false,"message":"who?"}"#),
            ErrorKind::Unauthorized,
        ),
    ];
    for (reply, kind) in cases {
        let service = Responder::script(vec![reply.clone()]).await;
        let error = service
            .client()
            .client
            .article(article_id(1), Purpose::Push)
            .await
            .expect_err("no answer");
        assert_eq!(error.kind, kind, "{reply:?}");
        assert_eq!(service.count(), 1, "asked once: {reply:?}");
        assert_eq!(
            (error.method.as_str(), error.path.clone()),
            ("GET", format!("/api/article/{}", article_id(1)))
        );
    }
}

#[tokio::test]
async fn f132_a_redirect_is_not_followed() {
    let elsewhere = Responder::script(vec![Reply::json(200, one_article(1, ""))]).await;
    for status in [301, 302, 303, 307, 308] {
        let reply = Reply::json(status, "").with("location", &elsewhere.url);
        let service = Responder::script(vec![reply]).await;
        let error = service
            .client()
            .client
            .article(article_id(1), Purpose::Push)
            .await
            .expect_err("a redirect");
        assert_eq!(error.kind, ErrorKind::Unauthorized);
        assert!(error.message.contains("not signed in"), "{error}");
    }
    assert_eq!(elsewhere.count(), 0);
}

#[tokio::test]
async fn f131_no_error_holds_the_token_even_if_the_service_repeats_it() {
    let told = format!(
        r#"{{"success":false,"message":"bad token {CANARY}","errors":{{"x":"{CANARY}"}}}}"#
    );
    for status in [200, 400, 401, 403, 404, 422, 429, 500] {
        let service = Responder::script(vec![Reply::json(status, told.clone())]).await;
        let setup = service.client();
        let error = setup
            .client
            .delete_article(article_id(1))
            .await
            .expect_err("refused");
        let text = all_text(&error);
        assert!(!shows_token(&text), "{status}: {text}");
        let shown = format!("{:?} {:?}", setup.client, setup.client.options.token);
        assert!(!shows_token(&shown), "{shown}");
    }
    let nobody = Setup::new("http://127.0.0.1:9", |_| {});
    let error = nobody
        .client
        .delete_article(article_id(1))
        .await
        .expect_err("nobody");
    assert!(!shows_token(&all_text(&error)), "{}", all_text(&error));
}

#[tokio::test]
async fn f014_a_write_whose_answer_is_lost_is_sent_once() {
    let answers = [
        Reply::json(500, ""),
        Reply::json(503, "").with("retry-after", "1"),
        Reply::json(201, one_article(1, "")).cut_at(20),
        Reply::json(201, "").cut_at(0),
        Reply::json(201, "{}"),
        Reply::page(200),
    ];
    for reply in answers {
        let service = Responder::script(vec![reply.clone()]).await;
        let setup = service.client();
        let post = setup
            .client
            .create_article(&new_article())
            .await
            .expect_err("lost");
        let delete = setup
            .client
            .delete_article(article_id(1))
            .await
            .expect_err("lost");
        let put = setup
            .client
            .probe(article_id(1), Purpose::Push)
            .await
            .expect_err("lost");
        for error in [post, delete, put] {
            assert!(error.response_lost, "{reply:?}: {error}");
        }
        assert_eq!(service.count(), 3, "each sent once: {reply:?}");
        assert_eq!(setup.waits.lock().expect("no panic").len(), 0);
    }
}

#[tokio::test]
async fn f014_a_service_that_falls_silent_is_not_waited_for_for_ever() {
    let body = one_article(1, "");
    for cut in [0, 20] {
        let reply = Reply::json(201, body.clone()).cut_at(cut).hanging();
        let service = Responder::script(vec![reply]).await;
        let setup = service.client_with(|options| {
            options.idle_timeout = Duration::from_millis(50);
        });
        let error = setup
            .client
            .create_article(&new_article())
            .await
            .expect_err("silent");
        assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
        assert!(error.response_lost, "{error}");
        assert_eq!(error.message, "no answer in time");
        assert_eq!(service.count(), 1);
        let read = setup.client.article(article_id(1), Purpose::Push).await;
        assert_eq!(
            read.expect_err("silent").kind,
            ErrorKind::Unavailable { retry_after: None }
        );
        assert_eq!(service.count(), 6, "a read is tried five times");
    }
}

#[tokio::test]
async fn f017_a_write_that_was_never_sent_is_distinguished_from_a_lost_one() {
    let setup = Setup::new("http://127.0.0.1:9", |_| {});
    let error = setup
        .client
        .create_article(&new_article())
        .await
        .expect_err("nobody");
    assert_eq!(
        (error.kind.clone(), error.response_lost, error.status),
        (ErrorKind::Unavailable { retry_after: None }, false, None)
    );
    assert!(error.source().is_some());
}

#[tokio::test]
async fn f128_an_answer_over_the_limit_is_refused() {
    let long = one_article(1, &format!(r#","text":"{}""#, "x".repeat(10_000)));
    let service = Responder::script(vec![Reply::json(200, long)]).await;
    let setup = service.client_with(|options| options.max_article = 5000);
    let read = setup
        .client
        .article(article_id(1), Purpose::Push)
        .await
        .expect_err("long");
    assert_eq!(
        (read.kind, read.response_lost),
        (ErrorKind::TooLarge, false)
    );
    let put = setup
        .client
        .probe(article_id(1), Purpose::Push)
        .await
        .expect_err("long");
    assert_eq!((put.kind, put.response_lost), (ErrorKind::TooLarge, true));
}

#[tokio::test]
async fn f139_a_bomb_is_measured_unpacked() {
    // 1 MiB of white space, packed by gzip into about a kilobyte.
    let service = Responder::script(vec![
        Reply::json(200, "")
            .with("content-encoding", "gzip")
            .bytes(gzip_of_spaces()),
    ])
    .await;
    let setup = service.client_with(|options| options.max_article = 100_000);
    let error = setup
        .client
        .article(article_id(1), Purpose::Push)
        .await
        .expect_err("a bomb");
    assert_eq!(error.kind, ErrorKind::TooLarge);
    assert_eq!(service.asked()[0].header("accept-encoding"), Some("gzip"));
}

/// A gzip stream of one deflate block: a space and the same 258 bytes again, 4000 times over.
fn gzip_of_spaces() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0b1, 1);
    bits.put(0b01, 2);
    // Fixed codes: the literal 0x20 is 8 bits of 0x30 + 0x20, most significant first.
    bits.put_reversed(0x30 + 0x20, 8);
    for _ in 0..4000 {
        // Length 258 is code 285, 8 bits of 0xc0 + 5; distance 1 is code 0, 5 bits.
        bits.put_reversed(0xc0 + 5, 8);
        bits.put_reversed(0, 5);
    }
    bits.put_reversed(0, 7);
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    bytes.extend(bits.bytes);
    bytes.extend([0; 8]);
    bytes
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        for bit in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().expect("pushed");
            *last |= u8::try_from((value >> bit) & 1).expect("a bit") << (self.used % 8);
            self.used += 1;
        }
    }

    fn put_reversed(&mut self, value: u32, count: u32) {
        self.put(value.reverse_bits() >> (32 - count), count);
    }
}
