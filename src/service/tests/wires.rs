//! The JSON shapes, in and out.

use super::super::{
    ArticlePatch, CategoryPatch, NewArticle, NewCategory,
    wire::{Shown, WireArticle, WireBase, peek_id},
    wire::{as_flag, one},
};
use super::{article_id, article_json, category_id, workspace_id};
use crate::model::{CategoryVersion, Figures};
use serde_json::json;

fn read(json: &str, shown: Shown) -> Result<super::super::RemoteArticle, String> {
    serde_json::from_str::<WireArticle>(json)
        .map_err(|error| error.to_string())?
        .into_article(shown, None)
}

#[test]
fn s2_3_unknown_fields_are_ignored_and_absent_ones_tolerated() {
    let article = read(
        &article_json(
            1,
            r#","introtext":null,"new_field":{"a":[1,{}]},"user_id":"x""#,
        ),
        Shown::Alone,
    )
    .expect("an article");
    assert_eq!(article.id, article_id(1));
    assert_eq!(article.introtext, "");
    assert_eq!(article.text, None);
    assert_eq!(article.figures, None);
    assert_eq!(article.flags.enabled, None);
    assert_eq!(article.revision.0, "2026-01-02T03:04:05.000006Z");
}

#[test]
fn flags_and_figures_may_be_numbers_texts_or_booleans() {
    let extra = r#","enabled":1,"draft":"0","views":"12","rating_happy":3.0,"rating_sad":null"#;
    let article = read(&article_json(1, extra), Shown::Alone).expect("an article");
    assert_eq!(article.flags.enabled, Some(true));
    assert_eq!(article.flags.draft, Some(false));
    assert_eq!(
        article.figures,
        Some(Figures {
            views: 12,
            happy: 3,
            neutral: 0,
            sad: 0,
            full_url: None,
        })
    );
    for (json, flag) in [
        ("true", Some(true)),
        ("0", Some(false)),
        ("\"yes\"", None),
        ("[]", None),
        ("{\"a\":1}", None),
        ("null", None),
    ] {
        assert_eq!(as_flag(json), flag, "{json}");
    }
}

#[test]
fn a_null_body_is_empty_alone_and_left_out_in_a_list() {
    let json = article_json(1, r#","text":null"#);
    assert_eq!(
        read(&json, Shown::Alone).expect("it").text.as_deref(),
        Some("")
    );
    assert_eq!(read(&json, Shown::Listed).expect("it").text, None);
    let json = article_json(1, r#","text":"""#);
    assert_eq!(
        read(&json, Shown::Listed).expect("it").text.as_deref(),
        Some("")
    );
}

#[test]
fn what_identifies_an_article_must_be_there() {
    for (from, to) in [
        (r#""title":"Title 1","#, ""),
        (r#""slug":"slug-1","#, r#""slug":null,"#),
        (r#","updated_at":"2026-01-02T03:04:05.000006Z""#, ""),
        (r#""id":"a0000000-"#, r#""id":"../../etc"#),
        (r#""id":""#, r#""id":7,"x":""#),
    ] {
        let json = article_json(1, "").replacen(from, to, 1);
        assert!(read(&json, Shown::Alone).is_err(), "{json}");
    }
}

#[test]
fn an_article_may_stand_in_an_array_of_one() {
    let object = article_json(1, "");
    for article in [object.clone(), format!("[{object}]")] {
        let article: WireArticle = one(&article).expect("one");
        let article = article.into_article(Shown::Alone, None);
        assert_eq!(article.expect("an article").id, article_id(1));
    }
    for article in [
        "[]".to_owned(),
        format!("[{object},{object}]"),
        "null".into(),
    ] {
        assert!(one::<WireArticle>(&article).is_err(), "{article}");
    }
}

#[test]
fn s2_1_a_workspace_is_read() {
    let json = format!(
        r#"[{{"id":"{}","public":1,"name":"Help","custom_domain":null,"theme":"x"}}]"#,
        workspace_id()
    );
    let base: WireBase = one(&json).expect("one");
    let workspace = base.into_workspace().expect("a workspace");
    assert_eq!((workspace.id, workspace.public), (workspace_id(), true));
    assert_eq!(
        (workspace.name.as_str(), workspace.custom_domain),
        ("Help", None)
    );
}

#[test]
fn f039_an_unreadable_entry_still_has_its_id() {
    let id = article_id(7);
    let whole = format!(r#"{{"title":null,"id":"{id}","text":{{}}}}"#);
    assert_eq!(peek_id(whole.as_bytes()), Some(id));
    assert_eq!(peek_id(&whole.as_bytes()[..whole.len() - 9]), Some(id));
    let mut broken = format!(r#"{{"id":"{id}","title":""#).into_bytes();
    broken.extend_from_slice(&[0xff, 0xfe]);
    assert_eq!(peek_id(&broken), Some(id));
    for none in ["{}", "[]", "7", "", r#"{"id":7}"#, r#"{"id":"x"}"#] {
        assert_eq!(peek_id(none.as_bytes()), None, "{none}");
    }
}

fn value(body: impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(body).expect("JSON")
}

#[test]
fn s4_6_a_new_article_names_slug_enabled_and_draft_always() {
    let mut new = NewArticle {
        category: category_id(1),
        title: "T".into(),
        slug: "t".into(),
        text: String::new(),
        introtext: String::new(),
        keywords: String::new(),
        enabled: false,
        draft: true,
    };
    let minimal = json!({"category_id": category_id(1), "title": "T", "slug": "t", "text": "", "enabled": false, "draft": true});
    assert_eq!(value(&new), minimal);
    new.keywords = "k".into();
    assert_eq!(value(&new)["keywords"], "k");
}

#[test]
fn s4_7_only_changes_are_sent_and_a_probe_sends_none() {
    assert_eq!(value(ArticlePatch::default()), json!({}));
    let patch = ArticlePatch {
        category: Some(category_id(2)),
        introtext: Some(String::new()),
        enabled: Some(false),
        ..ArticlePatch::default()
    };
    assert_eq!(
        value(&patch),
        json!({"category_id": category_id(2), "introtext": "", "enabled": false})
    );
}

#[test]
fn s4_9_and_s4_10_categories_are_sent() {
    let new = NewCategory {
        workspace: workspace_id(),
        version: CategoryVersion {
            name: "N".into(),
            slug: "n".into(),
            ..CategoryVersion::default()
        },
    };
    assert_eq!(
        value(&new),
        json!({"base_id": workspace_id(), "name": "N", "slug": "n"})
    );
    let patch = CategoryPatch {
        meta_description: Some(String::new()),
        ..CategoryPatch::default()
    };
    assert_eq!(value(&patch), json!({"meta_description": ""}));
}
