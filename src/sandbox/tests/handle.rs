//! The handle: colleagues, clocks, stale reads, generated content, and the file.

use super::Kb;
use crate::sandbox::{NewSeed, Options, Sandbox, TimeGrain};
use serde_json::json;
use std::collections::HashSet;

#[tokio::test]
async fn colleagues_publish_and_unpublish() {
    let kb = Kb::new();
    let first = kb.sandbox.article(kb.article).expect("an article");
    let hidden = kb.sandbox.unpublish(kb.article).expect("an article");
    assert!(hidden.draft && hidden.updated_at > first.updated_at);
    let shown = kb.sandbox.publish(kb.article).expect("an article");
    assert!(!shown.draft && shown.updated_at > hidden.updated_at);
    assert_eq!(kb.sandbox.remove(kb.article), Some(shown));
    assert_eq!(kb.sandbox.publish(kb.article), None);
    assert_eq!(kb.sandbox.counts().total, 0, "the handle goes past the API");
}

#[test]
fn a_fixed_clock_moves_by_a_microsecond_a_change() {
    let kb = Kb::new();
    let noon = chrono::DateTime::from_timestamp(1_800_000_000, 0).expect("a moment");
    kb.sandbox.set_clock(noon);
    let revision = || {
        let changed = kb
            .sandbox
            .edit(kb.article, |article| article.title.push('!'));
        changed.expect("an article").revision()
    };
    assert_eq!(revision(), "2027-01-15T08:00:00.000000Z");
    assert_eq!(revision(), "2027-01-15T08:00:00.000001Z");
    kb.sandbox
        .set_options(|options| options.time_grain = TimeGrain::Seconds);
    assert_eq!(revision(), revision());
}

#[test]
fn going_back_makes_everything_as_it_was_and_the_next_ids_too() {
    let sandbox = Sandbox::new(Options {
        id_seed: Some(4),
        ..Options::default()
    });
    let workspace = sandbox.add_workspace("Help");
    let category = sandbox.add_category(workspace, "A", "a");
    let one = sandbox.add_article(NewSeed::new(category, "One", "one", "<p>1</p>"));
    let then = sandbox.snapshot();
    let before = sandbox.articles();
    let next = || sandbox.add_article(NewSeed::new(category, "Two", "two", "<p>2</p>"));
    let two = next();
    sandbox.remove(one);
    sandbox.set_options(|options| options.list_disabled = true);
    sandbox.go_back(&then);
    assert_eq!(sandbox.articles(), before);
    assert!(!sandbox.options().list_disabled);
    assert_eq!(next(), two);
}

#[tokio::test]
async fn a_replica_may_lag_behind() {
    let kb = Kb::new();
    kb.sandbox.serve_past(&kb.sandbox.snapshot(), 2);
    kb.put(&kb.article_path(), json!({"title": "New"})).await;
    for expected in ["Refunds", "Refunds", "New"] {
        let reply = kb.get(&kb.article_path()).await;
        assert_eq!(reply.json["article"]["title"], expected);
    }
    kb.sandbox.serve_past(&kb.sandbox.snapshot(), 1);
    kb.put(&kb.article_path(), json!({"title": "Newer"})).await;
    for expected in ["New", "Newer"] {
        let reply = kb.get(&kb.listing_path()).await;
        assert_eq!(reply.json["articles"][0]["title"], expected);
    }
}

#[test]
fn the_seed_is_the_same_each_time_and_every_article_is_different() {
    let options = Options {
        id_seed: Some(7),
        ..Options::unlimited()
    };
    let fill = || {
        let sandbox = Sandbox::new(options.clone());
        sandbox.set_clock(chrono::DateTime::from_timestamp(0, 0).expect("a moment"));
        sandbox.seed(1000, 20);
        sandbox
    };
    let (one, two) = (fill(), fill());
    assert_eq!(one.articles(), two.articles());
    let articles = one.articles();
    let texts: HashSet<_> = articles.iter().map(|one| &one.text).collect();
    let places: HashSet<_> = articles
        .iter()
        .map(|one| (one.category_id, &one.slug))
        .collect();
    let slugs: HashSet<_> = one.categories().into_iter().map(|one| one.slug).collect();
    assert_eq!((texts.len(), places.len(), slugs.len()), (1000, 1000, 20));
    let bytes: usize = articles.iter().map(|one| one.text.len()).sum();
    assert!(
        (6_000..8_500).contains(&(bytes / 1000)),
        "{} bytes in the mean",
        bytes / 1000
    );
}
