//! The pages for people: forms that work without scripts, and pages that cannot be abused.

use super::{Kb, Reply, send};
use axum::{body::Body, http::Request};
use uuid::Uuid;

async fn page(kb: &Kb, path: &str) -> Reply {
    request(kb, "GET", path, &[("host", "localhost:8080")], "").await
}

/// Sends a form as a browser does; the fields are already encoded.
async fn form(kb: &Kb, path: &str, fields: &str) -> Reply {
    let headers = [
        ("host", "localhost:8080"),
        ("origin", "http://localhost:8080"),
        ("sec-fetch-site", "same-origin"),
    ];
    request(kb, "POST", path, &headers, fields).await
}

async fn request(kb: &Kb, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Body::from(body.to_owned());
    send(&kb.sandbox, request.body(body).expect("a request")).await
}

fn article_page(kb: &Kb) -> String {
    format!("/dashboard/article/{}", kb.article)
}

fn fields(category: Uuid, text: &str) -> String {
    format!(
        "title=Refunds&slug=refunds&category={category}&introtext=&keywords=&text={text}&enabled=on"
    )
}

#[tokio::test]
async fn the_overview_shows_states_and_what_was_sent() {
    let kb = Kb::new();
    let draft = super::NewSeed::new(kb.category, "<i>T</i>", "t", "").draft();
    kb.sandbox.add_article(draft.disabled());
    kb.put(
        &kb.article_path(),
        serde_json::json!({"title": "<b>New</b>"}),
    )
    .await;
    let body = page(&kb, "/").await.body;
    for part in [
        "&lt;b&gt;New&lt;/b&gt;",
        "&lt;i&gt;T&lt;/i&gt;",
        "badge published",
        "badge draft",
        "badge disabled",
        "requests so far: 1",
        "KBSYNC_TOKEN=sandbox-token\nkbsync init --service http://",
        &kb.article_path(),
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    assert!(!body.contains("<script") && !body.contains("<b>New"));
    assert!(
        page(&kb, "/dashboard/requests")
            .await
            .body
            .contains("1 PUT")
    );
    assert_eq!(kb.sandbox.counts().total, 1, "pages are no API requests");
}

#[tokio::test]
async fn every_page_is_as_wide_as_a_phone_s_screen() {
    let kb = Kb::new();
    let article = article_page(&kb);
    for path in [
        "/",
        "/dashboard/requests",
        &article,
        "/dashboard/article/none",
    ] {
        let shown = page(&kb, path).await.body;
        assert!(shown.contains("width=device-width"), "{path}: {shown}");
    }
}

#[tokio::test]
async fn an_article_is_edited_and_moved() {
    let kb = Kb::new();
    let target = kb.sandbox.add_category(kb.workspace, "Other", "other");
    let before = kb.sandbox.article(kb.article).expect("an article");
    let body = format!(
        "title=A+%26+B&slug=a-b&category={target}&introtext=i&keywords=k&text=%3Cp%3E1%3C%2Fp%3E%0D%0A%3Cp%3E2%3C%2Fp%3E"
    );
    let reply = form(&kb, &article_page(&kb), &body).await;
    let saved = format!("{}?saved", article_page(&kb));
    assert_eq!(
        (reply.status, reply.header("location")),
        (303, saved.as_str())
    );
    assert!(page(&kb, &saved).await.body.contains("Saved."));
    let after = kb.sandbox.article(kb.article).expect("an article");
    assert!(after.updated_at > before.updated_at);
    let expected = crate::sandbox::Article {
        title: "A & B".to_owned(),
        slug: "a-b".to_owned(),
        category_id: target,
        introtext: Some("i".to_owned()),
        keywords: Some("k".to_owned()),
        text: "<p>1</p>\n<p>2</p>".to_owned(),
        enabled: false,
        updated_at: after.updated_at,
        ..before
    };
    assert_eq!(after, expected);
    let shown = page(&kb, &article_page(&kb)).await.body;
    assert!(shown.contains("value=\"A &amp; B\""), "{shown}");
}

#[tokio::test]
async fn saving_without_a_change_changes_nothing() {
    let kb = Kb::new();
    for text in ["a\nb\n", "a\r\nb\r\n", "\n\na\n"] {
        kb.sandbox
            .edit(kb.article, |article| text.clone_into(&mut article.text));
        let before = kb.sandbox.article(kb.article);
        let sent = text.replace("\r\n", "\n").replace('\n', "%0D%0A");
        let reply = form(&kb, &article_page(&kb), &fields(kb.category, &sent)).await;
        assert_eq!(reply.status, 303);
        assert_eq!(kb.sandbox.article(kb.article), before, "{text:?}");
        let shown = page(&kb, &article_page(&kb)).await.body;
        let start = format!("spellcheck=\"false\">\n{}", text.replace('\r', "&#13;"));
        assert!(shown.contains(&start), "{text:?}");
    }
}

#[tokio::test]
async fn buttons_change_the_state() {
    let kb = Kb::new();
    let path = format!("{}/state", article_page(&kb));
    for (to, draft, enabled) in [
        ("draft", true, true),
        ("disabled", true, false),
        ("published", false, false),
        ("enabled", false, true),
    ] {
        let shown = page(&kb, &article_page(&kb)).await.body;
        assert!(
            shown.contains(&format!("name=\"to\" value=\"{to}\"")),
            "{to}"
        );
        let reply = form(&kb, &path, &format!("to={to}")).await;
        assert_eq!(reply.status, 303);
        let article = kb.sandbox.article(kb.article).expect("an article");
        assert_eq!((article.draft, article.enabled), (draft, enabled), "{to}");
    }
    let reply = form(&kb, &path, "to=deleted").await;
    let category = format!("/dashboard/category/{}", kb.category);
    assert_eq!(reply.header("location"), category);
    assert_eq!(kb.sandbox.article(kb.article), None);
    assert_eq!(form(&kb, &path, "to=draft").await.status, 404);
    assert_eq!(form(&kb, &path, "to=nothing").await.status, 422);
}

#[tokio::test]
async fn new_things_are_created() {
    let kb = Kb::new();
    form(&kb, "/dashboard/workspace", "name=Second").await;
    assert_eq!(kb.sandbox.workspaces()[1].name, "Second");
    let body = format!("workspace={}&name=Getting+started", kb.workspace);
    assert_eq!(form(&kb, "/dashboard/category", &body).await.status, 303);
    assert_eq!(form(&kb, "/dashboard/category", &body).await.status, 422);
    let category = kb.sandbox.categories().pop().expect("a category");
    assert_eq!(category.slug, "getting-started");
    let body = format!("category={}&title=First+steps", category.id);
    let reply = form(&kb, "/dashboard/article", &body).await;
    let article = kb.sandbox.articles().pop().expect("an article");
    assert_eq!(
        (article.slug.as_str(), article.draft),
        ("first-steps", true)
    );
    let path = format!("/dashboard/article/{}", article.id);
    assert_eq!(reply.header("location"), path);
    assert_eq!(form(&kb, "/dashboard/article", &body).await.status, 422);
}

#[tokio::test]
async fn a_category_is_renamed() {
    let kb = Kb::new();
    kb.sandbox.add_category(kb.workspace, "Taken", "taken");
    let path = format!("/dashboard/category/{}", kb.category);
    let same = "name=Billing&slug=billing&description=&meta_description=";
    let before = kb.sandbox.category(kb.category);
    assert_eq!(form(&kb, &path, same).await.status, 303);
    assert_eq!(kb.sandbox.category(kb.category), before);
    let body = "name=Money&slug=money&description=d&meta_description=";
    assert_eq!(form(&kb, &path, body).await.status, 303);
    let category = kb.sandbox.category(kb.category).expect("a category");
    assert_eq!(
        (category.name.as_str(), category.slug.as_str()),
        ("Money", "money")
    );
    assert_eq!(
        (category.description.as_deref(), category.meta_description),
        (Some("d"), None)
    );
    let taken = "name=Money&slug=taken&description=d&meta_description=";
    assert_eq!(form(&kb, &path, taken).await.status, 422);
    assert!(page(&kb, &path).await.body.contains("Refunds"));
}

#[tokio::test]
async fn rules_hold_for_people_too() {
    let kb = Kb::new();
    kb.sandbox
        .add_article(super::NewSeed::new(kb.category, "T", "taken", ""));
    let before = kb.sandbox.articles();
    let sent = fields(kb.category, "x");
    for body in [
        sent.replace("slug=refunds", "slug=taken"),
        sent.replace("title=Refunds", "title="),
        sent.replace("title=Refunds", &format!("title={}", "x".repeat(256))),
        fields(Uuid::new_v4(), "x"),
    ] {
        assert_eq!(form(&kb, &article_page(&kb), &body).await.status, 422);
    }
    assert_eq!(kb.sandbox.articles(), before);
    assert_eq!(page(&kb, "/dashboard/article/7").await.status, 404);
    assert_eq!(page(&kb, "/nowhere").await.status, 404);
}

#[tokio::test]
async fn f135_pages_answer_to_this_machine_only() {
    let kb = Kb::new();
    for (host, status) in [
        ("localhost", 200),
        ("LOCALHOST:8080", 200),
        ("kb.localhost:1", 200),
        ("127.0.0.1:8080", 200),
        ("127.8.8.8", 200),
        ("[::1]:8080", 200),
        ("[::1]", 200),
        ("evil.example", 403),
        ("evil.example:8080", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("10.0.0.1", 403),
        ("[::1].evil.example", 403),
        ("localhost:8080@evil.example", 403),
        ("", 403),
    ] {
        let reply = request(&kb, "GET", "/", &[("host", host)], "").await;
        assert_eq!(reply.status, status, "{host}");
    }
    assert_eq!(request(&kb, "GET", "/", &[], "").await.status, 403);
}

#[tokio::test]
async fn f135_forms_of_other_sites_are_refused() {
    let kb = Kb::new();
    let path = format!("{}/state", article_page(&kb));
    let host = ("host", "localhost:8080");
    for header in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:9090"),
        ("origin", "https://localhost:8080"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let reply = request(&kb, "POST", &path, &[host, header], "to=deleted").await;
        assert_eq!(reply.status, 403, "{header:?}");
    }
    assert!(kb.sandbox.article(kb.article).is_some());
    let reply = request(&kb, "GET", &path, &[host], "").await;
    assert_eq!(reply.status, 405, "nothing is changed by a GET");
}

#[tokio::test]
async fn f136_scripts_of_an_article_have_nowhere_to_run() {
    let kb = Kb::new();
    let text = "</textarea></iframe><script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    kb.sandbox.edit(kb.article, |article| {
        text.clone_into(&mut article.text);
        text.clone_into(&mut article.title);
        text.clone_into(&mut article.slug);
        article.keywords = Some(text.to_owned());
    });
    for path in ["/".to_owned(), article_page(&kb)] {
        let reply = page(&kb, &path).await;
        assert!(!reply.body.contains("<script"), "{path}");
        assert!(!reply.body.contains("<img"), "{path}");
        let policy = reply.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(!policy.contains("script-src"));
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
    }
    let body = page(&kb, &article_page(&kb)).await.body;
    assert_eq!(body.matches("<iframe sandbox=\"\"").count(), 1);
    assert_eq!(body.matches("</textarea>").count(), 1);
}
