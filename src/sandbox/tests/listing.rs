//! The listing.

use super::Kb;
use crate::sandbox::NewSeed;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

#[tokio::test]
async fn s4_5_the_listing_shows_every_published_article_once() {
    let kb = Kb::new();
    kb.sandbox.seed(9, 3);
    let draft = NewSeed::new(kb.category, "D", "d", "").draft();
    kb.sandbox.add_article(draft.clone());
    kb.sandbox.add_article(draft.disabled());
    let elsewhere = kb.sandbox.add_workspace("Other");
    let category = kb.sandbox.add_category(elsewhere, "C", "c");
    kb.sandbox
        .add_article(NewSeed::new(category, "Elsewhere", "e", ""));

    let reply = kb.get(&kb.listing_path()).await;
    assert_eq!((reply.status, &reply.json["success"]), (200, &json!(true)));
    assert_eq!(reply.header("content-length"), reply.body.len().to_string());
    let seen = reply.json["articles"].as_array().expect("a list");
    let ids: BTreeSet<Uuid> = seen
        .iter()
        .filter_map(|one| one["id"].as_str()?.parse().ok())
        .collect();
    assert_eq!((ids.len(), seen.len()), (10, 10));
    for one in seen {
        assert!(one["text"].is_string());
        assert_eq!(one.get("enabled").or(one.get("full_url")), None);
    }
    let absent = format!("/api/base/{}/articles", Uuid::new_v4());
    assert_eq!(kb.get(&absent).await.error().0, 404);
}

#[tokio::test]
async fn s4_5_an_empty_workspace_has_an_empty_list() {
    let kb = Kb::new();
    kb.sandbox.remove(kb.article);
    let reply = kb.get(&kb.listing_path()).await;
    assert_eq!(reply.json["articles"], json!([]));
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
}
