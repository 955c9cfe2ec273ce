//! The ten endpoints: statuses, fields and rules.

use super::{Kb, Reply, keys};
use crate::sandbox::{Access, NewSeed, Rights};
use serde_json::{Value, json};
use uuid::Uuid;

const READ: [&str; 12] = [
    "category_id",
    "id",
    "introtext",
    "keywords",
    "rating_happy",
    "rating_neutral",
    "rating_sad",
    "slug",
    "text",
    "title",
    "updated_at",
    "views",
];

const WRITTEN: [&str; 11] = [
    "category_id",
    "created_at",
    "draft",
    "enabled",
    "id",
    "introtext",
    "keywords",
    "slug",
    "text",
    "title",
    "updated_at",
];

fn and<'a>(keys: &[&'a str], more: &'a str) -> Vec<&'a str> {
    let mut all: Vec<&str> = keys.iter().copied().chain([more]).collect();
    all.sort_unstable();
    all
}

fn assert_moment(moment: &Value) {
    let text = moment.as_str().expect("a timestamp");
    assert_eq!(text.len(), "2026-01-01T00:00:00.000000Z".len(), "{text}");
    assert!(text.ends_with('Z'), "{text}");
}

#[tokio::test]
async fn s4_1_lists_the_workspaces_that_the_caller_created() {
    let kb = Kb::new();
    let other = kb.sandbox.add_workspace("Not mine");
    let mut rights = Rights::everywhere(Access::Owner);
    rights.workspaces.insert(other, Access::Write);
    kb.sandbox.add_token("sandbox-token", rights);
    let reply = kb.get("/api/bases").await;
    assert_eq!((reply.status, &reply.json["success"]), (200, &json!(true)));
    let bases = reply.json["bases"].as_array().expect("a list");
    assert_eq!(bases.len(), 1);
    assert_eq!(
        keys(&bases[0]),
        [
            "allow_bots",
            "custom_css",
            "custom_domain",
            "custom_domain_active",
            "description",
            "id",
            "meta_description",
            "name",
            "public",
            "theme"
        ]
    );
    assert_eq!(bases[0]["public"], 1);
}

#[tokio::test]
async fn s4_2_a_workspace_comes_as_a_list_of_one() {
    let kb = Kb::new();
    let reply = kb.get(&format!("/api/base/{}", kb.workspace)).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json["base"][0]["id"], json!(kb.workspace));
    let absent = kb.get(&format!("/api/base/{}", Uuid::new_v4())).await;
    assert_eq!(absent.error(), (404, "Base not found."));
    assert_eq!(kb.get("/api/base/7").await.error().0, 404);
}

#[tokio::test]
async fn s4_3_a_category_shows_its_published_articles_only() {
    let kb = Kb::new();
    let seed = |slug| NewSeed::new(kb.category, "T", slug, "t");
    kb.sandbox.add_article(seed("draft").draft());
    kb.sandbox.add_article(seed("off").disabled());
    let reply = kb.get(&kb.category_path()).await;
    let category = &reply.json["category"];
    assert_eq!(
        keys(category),
        [
            "articles",
            "base_id",
            "description",
            "font_icon",
            "icon",
            "id",
            "meta_description",
            "name",
            "slug",
            "updated_at"
        ]
    );
    assert_moment(&category["updated_at"]);
    let articles = category["articles"].as_array().expect("a list");
    assert_eq!(articles.len(), 1);
    assert_eq!(keys(&articles[0]), READ);
    kb.sandbox
        .set_options(|options| options.list_disabled = true);
    let reply = kb.get(&kb.category_path()).await;
    let articles = reply.json["category"]["articles"].as_array().map(Vec::len);
    assert_eq!(articles, Some(2));
}

#[tokio::test]
async fn s4_4_an_article_has_its_address_and_no_flags() {
    let kb = Kb::new();
    let reply = kb.get(&kb.article_path()).await;
    assert_eq!(reply.status, 200);
    let article = &reply.json["article"];
    assert_eq!(keys(article), and(&READ, "full_url"));
    assert_eq!(
        article["full_url"],
        "https://help.example.com/billing/refunds"
    );
    assert_eq!(article["keywords"], Value::Null);
    assert_moment(&article["updated_at"]);
}

#[tokio::test]
async fn s4_4_drafts_and_disabled_articles_cannot_be_fetched() {
    let kb = Kb::new();
    kb.sandbox.disable(kb.article);
    assert_eq!(kb.get(&kb.article_path()).await.error().0, 404);
    kb.sandbox
        .set_options(|options| options.read_disabled = true);
    assert_eq!(kb.get(&kb.article_path()).await.status, 200);
    kb.sandbox.unpublish(kb.article);
    assert_eq!(kb.get(&kb.article_path()).await.error().0, 404);
}

#[tokio::test]
async fn s4_6_a_new_article_comes_back_with_its_author_and_flags() {
    let kb = Kb::new();
    let body = json!({
        "category_id": kb.category, "title": "New", "slug": "new", "text": "<p>x</p>\n",
        "enabled": false, "draft": true, "introtext": "i", "keywords": "k", "unknown": [1]
    });
    let reply = kb.post("/api/article", body).await;
    assert_eq!((reply.status, &reply.json["success"]), (201, &json!(true)));
    let article = &reply.json["article"];
    assert_eq!(keys(article), and(&WRITTEN, "user_id"));
    assert_eq!(article["user_id"], 1);
    assert_eq!(
        (&article["enabled"], &article["draft"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(article["text"], "<p>x</p>\n");
    assert_moment(&article["created_at"]);
    assert_eq!(kb.sandbox.articles().len(), 2);
}

#[tokio::test]
async fn s4_6_the_slug_is_made_of_the_title_when_it_is_left_out() {
    let kb = Kb::new();
    let body = json!({"category_id": kb.category, "title": "Über uns & mehr!"});
    let reply = kb.post("/api/article", body).await;
    assert_eq!(reply.json["article"]["slug"], "uber-uns-mehr");
    assert_eq!(reply.json["article"]["text"], "");
    assert_eq!(reply.json["article"]["enabled"], true);
    assert_eq!(reply.json["article"]["draft"], false);
}

#[tokio::test]
async fn s4_6_post_article_refuses_a_taken_slug() {
    let kb = Kb::new();
    let body = |slug: &str| json!({"category_id": kb.category, "title": "T", "slug": slug});
    for (slug, seed) in [("refunds", None), ("d", Some(true)), ("e", Some(false))] {
        if let Some(draft) = seed {
            let new = NewSeed::new(kb.category, "T", slug, "");
            let new = if draft { new.draft() } else { new.disabled() };
            kb.sandbox.add_article(new);
        }
        let reply = kb.post("/api/article", body(slug)).await;
        assert_eq!(reply.error().0, 422, "{slug}");
        assert!(reply.json["errors"]["slug"].is_array());
    }
    let elsewhere = kb.sandbox.add_category(kb.workspace, "Other", "other");
    let body = json!({"category_id": elsewhere, "title": "T", "slug": "refunds"});
    assert_eq!(kb.post("/api/article", body).await.status, 201);
}

/// Invalid values for each field, for new and for existing articles.
fn faulty_article_fields() -> Vec<(&'static str, Value)> {
    let long = "ä".repeat(256);
    vec![
        ("category_id", json!("7")),
        ("category_id", json!(7)),
        ("category_id", json!(Uuid::nil())),
        ("category_id", json!(Uuid::new_v4().simple().to_string())),
        ("title", json!("")),
        ("title", json!(null)),
        ("title", json!(1)),
        ("title", json!(long)),
        ("slug", json!("a b")),
        ("slug", json!("a/b")),
        ("slug", json!(long)),
        ("slug", json!(["a"])),
        ("text", json!(null)),
        ("text", json!({})),
        ("enabled", json!("true")),
        ("enabled", json!(1)),
        ("introtext", json!(long)),
        ("introtext", json!(true)),
        ("keywords", json!(long)),
        ("keywords", json!(2)),
    ]
}

#[tokio::test]
async fn s4_6_and_s4_7_refuse_what_breaks_a_rule() {
    let kb = Kb::new();
    let before = kb.sandbox.articles();
    for (field, value) in faulty_article_fields() {
        let mut body = json!({"category_id": kb.category, "title": "T"});
        body[field] = value.clone();
        let created = kb.post("/api/article", body).await;
        assert_eq!(created.error().0, 422, "POST {field}: {value}");
        assert!(created.json["errors"][field].is_array(), "{created:?}");
        let updated = kb.put(&kb.article_path(), json!({field: value})).await;
        assert_eq!(updated.error().0, 422, "PUT {field}");
        assert!(updated.json["errors"][field].is_array(), "{updated:?}");
    }
    for missing in ["category_id", "title"] {
        let mut body = json!({"category_id": kb.category, "title": "T"});
        body.as_object_mut().expect("an object").remove(missing);
        let reply = kb.post("/api/article", body).await;
        assert_eq!(reply.error().0, 422);
        assert!(reply.json["errors"][missing].is_array());
    }
    assert_eq!(kb.sandbox.articles(), before);
}

#[tokio::test]
async fn s2_lengths_count_characters_not_bytes() {
    let kb = Kb::new();
    let title = "ä".repeat(255);
    let reply = kb.put(&kb.article_path(), json!({"title": title})).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json["article"]["title"], json!(title));
}

#[tokio::test]
async fn s4_7_only_the_fields_that_are_there_change_and_never_draft() {
    let kb = Kb::new();
    let before = kb.sandbox.article(kb.article).expect("an article");
    let body = json!({"title": "Money back", "draft": true, "created_at": "x", "id": Uuid::nil()});
    let reply = kb.put(&kb.article_path(), body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(keys(&reply.json["article"]), WRITTEN);
    let after = kb.sandbox.article(kb.article).expect("an article");
    assert!(after.updated_at > before.updated_at);
    let expected = crate::sandbox::Article {
        title: "Money back".to_owned(),
        updated_at: after.updated_at,
        ..before
    };
    assert_eq!(after, expected);
    assert_eq!(reply.json["article"]["updated_at"], json!(after.revision()));
}

#[tokio::test]
async fn s4_7_null_clears_what_may_be_null() {
    let kb = Kb::new();
    kb.put(
        &kb.article_path(),
        json!({"introtext": "i", "keywords": "k"}),
    )
    .await;
    let reply = kb
        .put(
            &kb.article_path(),
            json!({"introtext": null, "keywords": ""}),
        )
        .await;
    assert_eq!(reply.json["article"]["introtext"], Value::Null);
    assert_eq!(reply.json["article"]["keywords"], "");
}

#[tokio::test]
async fn s4_7_moves_an_article_unless_its_slug_is_taken_there() {
    let kb = Kb::new();
    let target = kb.sandbox.add_category(kb.workspace, "Other", "other");
    kb.sandbox
        .add_article(NewSeed::new(target, "Same", "refunds", "").draft());
    let taken = kb
        .put(&kb.article_path(), json!({"category_id": target}))
        .await;
    assert_eq!(taken.error().0, 422);
    let moved = kb
        .put(
            &kb.article_path(),
            json!({"category_id": target, "slug": "back"}),
        )
        .await;
    assert_eq!(moved.status, 200);
    assert_eq!(moved.json["article"]["category_id"], json!(target));
    let same = kb.put(&kb.article_path(), json!({"slug": "back"})).await;
    assert_eq!(same.status, 200, "an article may keep its own slug");
}

#[tokio::test]
async fn s4_7_reaches_drafts_and_answers_404_for_none() {
    let kb = Kb::new();
    kb.sandbox.unpublish(kb.article);
    let reply = kb.put(&kb.article_path(), json!({"enabled": false})).await;
    assert_eq!(reply.json["article"]["draft"], true);
    assert_eq!(reply.json["article"]["enabled"], false);
    let absent = format!("/api/article/{}", Uuid::new_v4());
    assert_eq!(kb.put(&absent, json!({})).await.error().0, 404);
}

#[tokio::test]
async fn s4_7_an_empty_put_changes_nothing() {
    let kb = Kb::new();
    let before = kb.sandbox.article(kb.article);
    assert_eq!(kb.put(&kb.article_path(), json!({})).await.status, 200);
    assert_eq!(kb.sandbox.article(kb.article), before);
}

#[tokio::test]
async fn s4_7_equal_values_give_a_new_revision_only_where_chosen() {
    let kb = Kb::new();
    let before = kb.sandbox.article(kb.article);
    let body = json!({"title": "Refunds"});
    kb.put(&kb.article_path(), body.clone()).await;
    assert_eq!(kb.sandbox.article(kb.article), before);
    kb.sandbox
        .set_options(|options| options.touch_unchanged = true);
    kb.put(&kb.article_path(), body).await;
    assert_ne!(kb.sandbox.article(kb.article), before);
}

#[tokio::test]
async fn s4_8_delete_is_for_ever() {
    let kb = Kb::new();
    let reply = kb.delete(&kb.article_path()).await;
    assert_eq!(
        (reply.status, keys(&reply.json)),
        (200, vec!["message", "success"])
    );
    assert_eq!(kb.sandbox.article(kb.article), None);
    assert_eq!(kb.delete(&kb.article_path()).await.error().0, 404);
    assert_eq!(kb.put(&kb.article_path(), json!({})).await.error().0, 404);
}

const CATEGORY: [&str; 8] = [
    "base_id",
    "created_at",
    "description",
    "id",
    "meta_description",
    "name",
    "slug",
    "updated_at",
];

#[tokio::test]
async fn s4_9_creates_a_category() {
    let kb = Kb::new();
    let body = json!({"base_id": kb.workspace, "name": "Getting Started", "description": "d"});
    let reply = kb.post("/api/category", body.clone()).await;
    assert_eq!(reply.status, 201);
    let category = &reply.json["category"];
    assert_eq!(keys(category), and(&CATEGORY, "user_id"));
    assert_eq!(category["slug"], "getting-started");
    assert_eq!(category["meta_description"], Value::Null);
    let again = kb.post("/api/category", body).await;
    assert_eq!(again.error().0, 422);
    let elsewhere = kb.sandbox.add_workspace("Other");
    let body = json!({"base_id": elsewhere, "name": "Getting Started"});
    assert_eq!(kb.post("/api/category", body).await.status, 201);
}

#[tokio::test]
async fn s4_9_refuses_what_breaks_a_rule() {
    let kb = Kb::new();
    let long = "n".repeat(256);
    for body in [
        json!({}),
        json!({"base_id": kb.workspace}),
        json!({"name": "N"}),
        json!({"base_id": Uuid::new_v4(), "name": "N"}),
        json!({"base_id": "x", "name": "N"}),
        json!({"base_id": kb.workspace, "name": long}),
        json!({"base_id": kb.workspace, "name": "N", "slug": "a b"}),
        json!({"base_id": kb.workspace, "name": "N", "description": 1}),
    ] {
        let reply = kb.post("/api/category", body.clone()).await;
        assert_eq!(reply.error().0, 422, "{body}");
    }
    assert_eq!(kb.sandbox.categories().len(), 1);
}

#[tokio::test]
async fn s4_10_changes_a_category() {
    let kb = Kb::new();
    kb.sandbox.add_category(kb.workspace, "Taken", "taken");
    let reply = kb
        .put(
            &kb.category_path(),
            json!({"name": "Money", "description": "d"}),
        )
        .await;
    assert_eq!(reply.status, 200);
    assert_eq!(keys(&reply.json["category"]), CATEGORY);
    assert_eq!(reply.json["category"]["slug"], "billing");
    let reply = kb
        .put(&kb.category_path(), json!({"description": null}))
        .await;
    assert_eq!(reply.json["category"]["description"], Value::Null);
    let taken = kb.put(&kb.category_path(), json!({"slug": "taken"})).await;
    assert_eq!(taken.error().0, 422);
    let absent = format!("/api/category/{}", Uuid::new_v4());
    assert_eq!(kb.put(&absent, json!({"name": "N"})).await.error().0, 404);
}

#[tokio::test]
async fn s7_malformed_requests_get_400() {
    let kb = Kb::new();
    for body in [json!([1]), json!("text"), json!(null)] {
        assert_eq!(kb.post("/api/article", body).await.error().0, 400);
    }
    for (kind, body) in [
        ("application/json", "{"),
        ("application/json", ""),
        ("text/plain", "{}"),
        ("application/x-www-form-urlencoded", "title=T"),
    ] {
        let request = axum::http::Request::put(kb.article_path())
            .header("host", "localhost")
            .header("accept", "application/json")
            .header("authorization", "Bearer sandbox-token")
            .header("content-type", kind)
            .body(axum::body::Body::from(body))
            .expect("a request");
        let reply: Reply = super::send(&kb.sandbox, request).await;
        assert_eq!(reply.error().0, 400, "{kind}: {body}");
    }
}

#[tokio::test]
async fn s1_there_is_no_other_operation() {
    let kb = Kb::new();
    assert_eq!(kb.delete(&kb.category_path()).await.error().0, 405);
    assert_eq!(kb.post("/api/bases", json!({})).await.error().0, 405);
    let base = format!("/api/base/{}", kb.workspace);
    assert_eq!(kb.put(&base, json!({})).await.error().0, 405);
    let unknown = kb.get("/api/articles").await;
    assert_eq!(
        (unknown.status, keys(&unknown.json)),
        (404, vec!["message"])
    );
}
