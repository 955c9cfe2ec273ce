//! The habits around the sandbox.

use super::sandbox_faults::Kb;
use crate::support::faults::Inject as _;
use crate::support::faults::habits::{EmptyPut, Habits, ListingEndpoint, Normalise, Paging, Shape};
use axum::http::StatusCode;
use kbsync::sandbox::NewSeed;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test]
async fn a_service_may_rewrite_what_it_is_sent() {
    let kb = Kb::new();
    kb.sandbox.habits().normalise = Normalise::ALL;
    let body = json!({
        "title": "  T ", "slug": "Back", "keywords": " ",
        "text": "\n<p onclick=\"x()\" class=\"a\">one on=\"2\"</p>\n\n<script>alert(1)</script><p>a\n<b>b</b></p>\n"
    });
    let reply = kb.put(&kb.article_path(), body).await;
    let article = &reply.json["article"];
    assert_eq!(article["title"], "T");
    assert_eq!(article["slug"], "back");
    assert_eq!(article["keywords"], Value::Null);
    let clean = "<p class=\"a\">one on=\"2\"</p><p>a\n<strong>b</strong></p>";
    assert_eq!(article["text"], clean);
    let again = kb.put(&kb.article_path(), json!({"text": clean})).await;
    assert_eq!(again.json["article"]["text"], clean, "what is clean stays");
}

const SHAPES: [Shape; 6] = [
    Shape::Articles,
    Shape::Data,
    Shape::BaseArticles,
    Shape::BaseArrayArticles,
    Shape::CategoriesArticles,
    Shape::DataData,
];

/// Returns the articles of a listing.
fn articles(shape: Shape, answer: &Value) -> Vec<Value> {
    let list = |value: &Value| value.as_array().expect("a list").clone();
    match shape {
        Shape::Articles => list(&answer["articles"]),
        Shape::Data => list(&answer["data"]),
        Shape::BaseArticles => list(&answer["base"]["articles"]),
        Shape::BaseArrayArticles => list(&answer["base"][0]["articles"]),
        Shape::CategoriesArticles => list(&answer["categories"])
            .iter()
            .flat_map(|category| list(&category["articles"]))
            .collect(),
        Shape::DataData => list(&answer["data"]["data"]),
    }
}

/// Returns the path of the next page.
fn next(shape: Shape, paging: Paging, path: &str, answer: &Value) -> Option<String> {
    let page = if shape == Shape::DataData {
        &answer["data"]
    } else {
        answer
    };
    let link = |value: &Value| {
        value
            .as_str()
            .map(|url| url.replace("http://127.0.0.1:8080", ""))
    };
    match paging {
        Paging::None => None,
        Paging::NextPageUrl => link(&page["next_page_url"]),
        Paging::LinksNext => link(&page["links"]["next"]),
        Paging::Meta => {
            let current = page["meta"]["current_page"].as_u64().expect("a page");
            let last = page["meta"]["last_page"].as_u64().expect("a page");
            (current < last).then(|| format!("{path}?page={}", current + 1))
        }
    }
}

/// Makes a service for each shape with each kind of pages, with and without bodies.
async fn each_listing(check: impl AsyncFn(&Kb, Shape, Paging, bool)) {
    for shape in SHAPES {
        for paging in Paging::ALL {
            for bodies in [true, false] {
                let kb = Kb::new();
                *kb.sandbox.habits() = Habits {
                    shape,
                    paging,
                    bodies,
                    page_size: 4,
                    ..Habits::default()
                };
                check(&kb, shape, paging, bodies).await;
            }
        }
    }
}

#[tokio::test]
async fn s4_5_every_shape_shows_every_published_article_once() {
    each_listing(async |kb, shape, paging, bodies| {
        let what = format!("{shape:?} {paging:?} {bodies}");
        kb.sandbox.seed(9, 3);
        let category = kb.sandbox.categories()[0].id;
        let draft = NewSeed::new(category, "D", "d", "").draft();
        kb.sandbox.add_article(draft.clone());
        kb.sandbox.add_article(draft.disabled());
        let elsewhere = kb.sandbox.add_workspace("Other");
        let category = kb.sandbox.add_category(elsewhere, "C", "c");
        kb.sandbox
            .add_article(NewSeed::new(category, "Elsewhere", "e", ""));
        let path = kb.listing_path();
        let (mut at, mut seen, mut pages) = (Some(path.clone()), Vec::new(), 0);
        while let Some(page) = at {
            let reply = kb.get(&page).await;
            let told = (reply.status, &reply.json["success"]);
            assert_eq!(told, (200, &json!(true)), "{what}: {reply:?}");
            seen.extend(articles(shape, &reply.json));
            pages += 1;
            at = next(shape, paging, &path, &reply.json);
        }
        assert_eq!(pages, if paging == Paging::None { 1 } else { 3 }, "{what}");
        let ids: BTreeSet<&str> = seen.iter().filter_map(|one| one["id"].as_str()).collect();
        assert_eq!((ids.len(), seen.len()), (10, 10), "{what}");
        for one in &seen {
            assert_eq!(one.get("text").is_some(), bodies, "{what}");
            assert_eq!(one.get("enabled").or(one.get("full_url")), None);
        }
    })
    .await;
}

#[tokio::test]
async fn s4_5_an_empty_workspace_has_an_empty_list_in_every_shape() {
    each_listing(async |kb, shape, paging, _| {
        kb.sandbox.remove(kb.article);
        let reply = kb.get(&kb.listing_path()).await;
        assert_eq!(articles(shape, &reply.json), Vec::<Value>::new());
        assert_eq!(next(shape, paging, "", &reply.json), None);
    })
    .await;
}

#[tokio::test]
async fn a_category_may_lack_the_texts_of_its_articles() {
    let kb = Kb::new();
    kb.sandbox.habits().category_bodies = false;
    let path = format!("/api/category/{}", kb.sandbox.categories()[0].id);
    let reply = kb.get(&path).await;
    let article = &reply.json["category"]["articles"][0];
    assert_eq!(
        (&article["slug"], article.get("text")),
        (&json!("refunds"), None)
    );
}

#[tokio::test]
async fn a_missing_listing_endpoint_does_not_speak_like_one() {
    for status in [404, 405, 501] {
        let kb = Kb::new();
        kb.sandbox.habits().listing_endpoint = ListingEndpoint::Missing(status);
        let reply = kb.get(&kb.listing_path()).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.json.get("success"), None);
    }
}

#[tokio::test]
async fn an_etag_saves_the_listing_until_something_changes() {
    let kb = Kb::new();
    kb.sandbox.habits().etag = true;
    let first = kb.get(&kb.listing_path()).await;
    let etag = first.header("etag").to_owned();
    assert!(!etag.is_empty());
    let path = kb.listing_path();
    let again = || kb.get_unless(&path, &etag);
    let same = again().await;
    assert_eq!((same.status, &same.json), (304, &Value::Null));
    kb.sandbox
        .edit(kb.article, |article| article.title.push('!'));
    assert_eq!(again().await.status, 200);
}

#[tokio::test]
async fn page_addresses_can_point_elsewhere() {
    let kb = Kb::new();
    *kb.sandbox.habits() = Habits {
        paging: Paging::NextPageUrl,
        page_size: 1,
        page_origin: Some("https://evil.example".to_owned()),
        ..Habits::default()
    };
    let category = kb.sandbox.categories()[0].id;
    kb.sandbox
        .add_article(NewSeed::new(category, "Two", "two", ""));
    let reply = kb.get(&kb.listing_path()).await;
    let next = reply.json["next_page_url"].as_str().expect("a link");
    assert!(next.starts_with("https://evil.example/api/base/"), "{next}");
}

#[tokio::test]
async fn s4_7_an_empty_put_changes_nothing_or_is_refused() {
    for (choice, status) in [
        (EmptyPut::Ok, 200),
        (EmptyPut::Refused422, 422),
        (EmptyPut::Forbidden403, 403),
    ] {
        let kb = Kb::new();
        kb.sandbox.habits().empty_put = choice;
        let before = kb.sandbox.article(kb.article);
        let reply = kb.put(&kb.article_path(), json!({})).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.json["success"], status == 200);
        assert_eq!(kb.sandbox.article(kb.article), before);
        let absent = format!("/api/article/{}", uuid::Uuid::new_v4());
        assert_eq!(kb.put(&absent, json!({})).await.status, 404);
    }
}

#[tokio::test]
async fn s8_the_status_beyond_a_limit_is_a_choice() {
    let kb = Kb::new();
    kb.sandbox.set_options(|options| options.per_minute = 1);
    kb.sandbox.habits().limit_status = StatusCode::FORBIDDEN;
    assert_eq!(kb.get("/api/bases").await.status, 200);
    let beyond = kb.get("/api/bases").await;
    let left = beyond.header("x-ratelimit-remaining");
    assert_eq!((beyond.status, left), (403, "0"));
}

#[tokio::test]
async fn bodies_have_the_limit_that_is_chosen() {
    let kb = Kb::new();
    let large = json!({"text": "x".repeat(1024)});
    assert_eq!(kb.put(&kb.article_path(), large.clone()).await.status, 200);
    kb.sandbox.habits().max_body = Some(1024);
    let before = kb.sandbox.article(kb.article);
    let reply = kb.put(&kb.article_path(), large).await;
    assert_eq!((reply.status, &reply.json["success"]), (413, &json!(false)));
    assert_eq!(kb.sandbox.article(kb.article), before);
}

#[tokio::test]
async fn a_replica_may_lag_behind_each_write() {
    let kb = Kb::new();
    kb.sandbox.habits().stale_reads_after_write = 1;
    kb.put(&kb.article_path(), json!({"title": "New"})).await;
    for expected in ["Refunds", "New"] {
        let reply = kb.get(&kb.listing_path()).await;
        assert_eq!(reply.json["articles"][0]["title"], expected);
    }
}
