//! The listing in every shape, with every kind of pages.

use super::Kb;
use crate::sandbox::{ListingEndpoint, NewSeed, Options, Paging, Shape};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Returns the articles of an answer.
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

#[tokio::test]
async fn s4_5_every_shape_shows_every_published_article_once() {
    for shape in Shape::ALL {
        for paging in Paging::ALL {
            for bodies in [true, false] {
                let kb = Kb::with(Options {
                    shape,
                    paging,
                    bodies,
                    page_size: 4,
                    ..Options::unlimited()
                });
                check_listing(&kb, shape, paging, bodies).await;
            }
        }
    }
}

async fn check_listing(kb: &Kb, shape: Shape, paging: Paging, bodies: bool) {
    let what = format!("{shape:?} {paging:?} {bodies}");
    kb.sandbox.seed(9, 3);
    let draft = NewSeed::new(kb.category, "D", "d", "").draft();
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
        assert_eq!(
            (reply.status, &reply.json["success"]),
            (200, &json!(true)),
            "{what}: {reply:?}"
        );
        assert_eq!(reply.header("content-length"), reply.body.len().to_string());
        seen.extend(articles(shape, &reply.json));
        pages += 1;
        at = next(shape, paging, &path, &reply.json);
    }
    assert_eq!(pages, if paging == Paging::None { 1 } else { 3 }, "{what}");
    let ids: BTreeSet<Uuid> = seen
        .iter()
        .filter_map(|one| one["id"].as_str()?.parse().ok())
        .collect();
    assert_eq!((ids.len(), seen.len()), (10, 10), "{what}");
    for one in &seen {
        assert_eq!(one.get("text").is_some(), bodies, "{what}");
        assert_eq!(one.get("enabled").or(one.get("full_url")), None);
    }
}

#[tokio::test]
async fn s4_5_an_empty_workspace_has_an_empty_list() {
    for shape in Shape::ALL {
        for paging in Paging::ALL {
            let kb = Kb::with(Options {
                shape,
                paging,
                ..Options::unlimited()
            });
            kb.sandbox.remove(kb.article);
            let reply = kb.get(&kb.listing_path()).await;
            assert_eq!(articles(shape, &reply.json), Vec::<Value>::new());
            assert_eq!(next(shape, paging, "", &reply.json), None);
        }
    }
}

#[tokio::test]
async fn the_kept_json_follows_every_change() {
    let kb = Kb::new();
    let title = |answer: &Value| answer["articles"][0]["title"].clone();
    assert_eq!(title(&kb.get(&kb.listing_path()).await.json), "Refunds");
    kb.put(&kb.article_path(), json!({"title": "Money back"}))
        .await;
    assert_eq!(title(&kb.get(&kb.listing_path()).await.json), "Money back");
    kb.sandbox.visit(kb.article, 3);
    let reply = kb.get(&kb.listing_path()).await;
    assert_eq!(reply.json["articles"][0]["views"], 3);
    kb.sandbox.set_options(|options| options.bodies = false);
    let reply = kb.get(&kb.listing_path()).await;
    assert_eq!(reply.json["articles"][0].get("text"), None);
}

#[tokio::test]
async fn a_missing_listing_endpoint_does_not_speak_like_one() {
    for status in [404, 405, 501] {
        let kb = Kb::with(Options {
            listing_endpoint: ListingEndpoint::Missing(status),
            ..Options::unlimited()
        });
        let reply = kb.get(&kb.listing_path()).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.json.get("success"), None);
    }
    let kb = Kb::new();
    let absent = format!("/api/base/{}/articles", Uuid::new_v4());
    assert_eq!(kb.get(&absent).await.error().0, 404);
}

#[tokio::test]
async fn an_etag_saves_the_listing_until_something_changes() {
    let kb = Kb::with(Options {
        etag: true,
        ..Options::unlimited()
    });
    let first = kb.get(&kb.listing_path()).await;
    let etag = first.header("etag").to_owned();
    assert!(!etag.is_empty());
    let again = || async {
        let request = axum::http::Request::get(kb.listing_path())
            .header("host", "localhost")
            .header("authorization", "Bearer sandbox-token")
            .header("if-none-match", &etag)
            .body(axum::body::Body::empty())
            .expect("a request");
        super::send(&kb.sandbox, request).await
    };
    let same = again().await;
    assert_eq!((same.status, same.body.as_str()), (304, ""));
    kb.sandbox
        .edit(kb.article, |article| article.title.push('!'));
    assert_eq!(again().await.status, 200);
}

#[tokio::test]
async fn page_addresses_can_point_elsewhere() {
    let kb = Kb::with(Options {
        paging: Paging::NextPageUrl,
        page_size: 1,
        page_origin: Some("https://evil.example".to_owned()),
        ..Options::unlimited()
    });
    kb.sandbox.seed(3, 1);
    let reply = kb.get(&kb.listing_path()).await;
    let next = reply.json["next_page_url"].as_str().expect("a link");
    assert!(next.starts_with("https://evil.example/api/base/"), "{next}");
}
