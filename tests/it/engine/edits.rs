//! A writer's edits of a file, and the requests that must follow.

use crate::support::faults::habits::EmptyPut;
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::look::decision;
use crate::support::wire::{held, line, preferring, problems, reason};
use crate::support::world::{World, lines};
use kbsync::engine::settings::CycleRequest;
use kbsync::model::{ArticleId, Field};
use kbsync::reconcile::snapshot::{Direction, Keep, OnConflict};
use kbsync::sandbox::NewSeed;

const TEXT: &str = "<p>One.</p>\n<p>Two.</p>\n<p>Three.</p>";

#[tokio::test]
async fn s4_7_every_key_goes_alone_in_one_put() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    for (from, to, put, field) in [
        (
            "title: one",
            "title: Another",
            r#"{"title":"Another"}"#,
            Field::Title,
        ),
        (
            "title: Another\n",
            "title: Another\nintrotext: In short\n",
            r#"{"introtext":"In short"}"#,
            Field::Introtext,
        ),
        (
            "introtext: In short\n",
            "introtext: In short\nkeywords: 'a, b'\n",
            r#"{"keywords":"a, b"}"#,
            Field::Keywords,
        ),
        (
            "<p>Two.</p>\n",
            "<p>2</p>\n",
            r#"{"text":"<p>One.</p>\n<p>2</p>\n<p>Three.</p>"}"#,
            Field::Text,
        ),
    ] {
        world.edit("start/one.html", from, to);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["update remote start/one.html done"]);
        assert_eq!(line(&report, "start/one.html").fields, [field]);
        assert_eq!((report.requests.total, report.requests.put), (2, 1));
        assert_eq!(world.sent(), [format!("PUT article {put}")]);
    }
    let article = world.on_service(ids[0]);
    assert_eq!(article.introtext.as_deref(), Some("In short"));
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_7_a_removed_key_sends_an_empty_string() {
    let world = World::new().await;
    let start = world.category("start");
    let id = world.sandbox().add_article(NewSeed {
        introtext: Some("In short".into()),
        keywords: Some("a, b".into()),
        ..NewSeed::new(start, "One", "one", TEXT)
    });
    world.sync().await;
    world.sandbox().clear_requests();
    world.edit("start/one.html", "introtext: In short\n", "");
    world.edit("start/one.html", "keywords: a, b\n", "keywords: \"\"\n");
    world.sync().await;
    assert_eq!(
        world.sent(),
        [r#"PUT article {"introtext":"","keywords":""}"#]
    );
    assert_eq!(world.on_service(id).introtext.unwrap_or_default(), "");
    world.is_quiet().await;
}

#[tokio::test]
async fn several_changes_of_one_file_go_in_one_request() {
    let (world, start, ids) = World::start(&[("one", TEXT)]).await;
    let other = world.category("other");
    world.article(other, "x", "<p>x</p>");
    world.sync().await;
    world.sandbox().clear_requests();
    world.rename("start/one.html", "other/uno.html");
    world.edit("other/uno.html", "title: one", "title: Uno\nenabled: false");
    world.edit("other/uno.html", "<p>One.</p>", "<p>Uno.</p>");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move remote other/uno.html done"]);
    assert_eq!(
        reason(&report, "other/uno.html"),
        "was one.html in start/; its public address changes from one to uno"
    );
    assert_eq!(report.requests.total, 2);
    let put: serde_json::Value =
        serde_json::from_str(world.sent()[0].strip_prefix("PUT article ").expect("a PUT"))
            .expect("JSON");
    assert_eq!(
        put,
        serde_json::json!({
            "category_id": other.to_string(), "title": "Uno", "slug": "uno", "enabled": false,
            "text": "<p>Uno.</p>\n<p>Two.</p>\n<p>Three.</p>",
        })
    );
    assert_ne!(world.on_service(ids[0]).category_id, start);
    assert!(world.sandbox().counts().writes() == 0);
    world.is_quiet().await;
}

#[tokio::test]
async fn k_edits_cost_k_and_one_requests() {
    let texts: Vec<String> = (0..7).map(|number| format!("a{number}")).collect();
    let articles: Vec<(&str, &str)> = texts.iter().map(|slug| (slug.as_str(), TEXT)).collect();
    let (world, ..) = World::start(&articles).await;
    for slug in &texts {
        world.edit(&format!("start/{slug}.html"), "One", slug);
    }
    let report = world.sync().await;
    assert_eq!(report.requests.total, 8);
    assert_eq!((report.requests.get, report.requests.put), (1, 7));
    assert_eq!(world.sandbox().counts().total, 8);
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_6_a_new_file_becomes_an_article_and_keeps_its_comments() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    world.write(
        "start/two.html",
        "---\n# mine\ntitle: \"Two\"   # said so\nowner: docs-team\nkeywords: a\n---\n<p>2</p>\n",
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create remote start/two.html done"]);
    assert_eq!(report.requests.total, 2);
    let post: serde_json::Value = serde_json::from_str(
        world.sent()[0]
            .strip_prefix("POST article ")
            .expect("a POST"),
    )
    .expect("JSON");
    assert_eq!(
        post,
        serde_json::json!({
            "category_id": start.to_string(), "title": "Two", "slug": "two", "text": "<p>2</p>",
            "enabled": true, "draft": false, "keywords": "a",
        })
    );
    let id = world.sandbox().articles()[1].id;
    assert_eq!(
        world.read("start/two.html"),
        format!(
            "---\nid: {id}\n# mine\ntitle: \"Two\"   # said so\nowner: docs-team\nkeywords: a\n---\n<p>2</p>\n"
        )
    );
    assert_eq!(line(&report, "start/two.html").id, Some(ArticleId::new(id)));
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_6_enabled_and_draft_come_from_the_file_else_from_the_settings() {
    let mut world = World::new().await;
    world.category("start");
    world.settings.new_articles.enabled = Some(false);
    world.settings.new_articles.draft = Some(true);
    let category = world.sandbox().categories()[0].id;
    world.write(
        "start/_category.yaml",
        &format!("id: {category}\nname: start\n"),
    );
    world.write("start/a.html", "---\ntitle: A\n---\na\n");
    world.write(
        "start/b.html",
        "---\ntitle: B\nenabled: true\ndraft: false\n---\nb\n",
    );
    world.write("start/c.html", "---\ntitle: C\nenabled: true\n---\nc\n");
    let report = world.sync().await;
    assert_eq!(problems(&report), [""; 0]);
    let states: Vec<_> = world
        .sandbox()
        .articles()
        .into_iter()
        .map(|article| (article.slug, article.enabled, article.draft))
        .collect();
    assert_eq!(
        states,
        [
            ("a".to_owned(), false, true),
            ("b".to_owned(), true, false),
            ("c".to_owned(), true, true),
        ]
    );
    // The settings' values are written into the file, so that the writer sees why the article is hidden.
    assert!(world.read("start/a.html").contains("\nenabled: false\n"));
    assert!(world.read("start/a.html").contains("\ndraft: true\n"));
    assert!(world.read("start/c.html").contains("\ndraft: true\n"));
    assert!(
        world
            .read("start/b.html")
            .contains("\nenabled: true\ndraft: false\n")
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn a_new_file_may_choose_another_slug_than_its_name() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.write(
        "start/Über uns.html",
        "---\ntitle: Über uns\nslug: about\n---\nx\n",
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create remote start/Über uns.html done"]);
    assert_eq!(world.sandbox().articles()[1].slug, "about");
    assert!(
        world
            .read("start/Über uns.html")
            .contains("\nslug: about\n")
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_8_a_removed_file_is_deleted_and_its_last_version_stays() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", "<p>2</p>")]).await;
    world.remove("start/two.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete remote start/two.html done"]);
    assert_eq!(report.requests.total, 2);
    assert_eq!(world.sent(), ["DELETE article"]);
    assert!(world.sandbox().article(ids[1]).is_none());
    let engine = world.engine();
    let versions = engine
        .store()
        .versions(&kbsync::state::Subject::Article(ArticleId::new(ids[1])))
        .expect("read");
    let kept = engine
        .store()
        .body(versions[0].seen.version.text)
        .expect("read")
        .expect("kept");
    assert_eq!(&*kept, "<p>2</p>");
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_7_draft_of_an_existing_article_cannot_be_sent() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.edit(
        "start/one.html",
        "title: one\n",
        "title: one\ndraft: true\n",
    );
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(lines(&report), [""; 0]);
        assert_eq!(world.sent(), [""; 0]);
        assert_eq!(report.outcome.number(), 4);
        assert_eq!(report.problems.len(), 1);
        assert!(report.problems[0].message.contains("draft"));
    }
    // The rest of the file is sent all the same.
    world.edit("start/one.html", "title: one\n", "title: Uno\n");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert_eq!(world.sent(), [r#"PUT article {"title":"Uno"}"#]);
    assert_eq!(report.outcome.number(), 4);
    world.edit("start/one.html", "draft: true\n", "");
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_7_a_draft_is_published_in_the_dashboard_only() {
    let world = World::new().await;
    let start = world.category("start");
    world.article(start, "x", TEXT);
    world.sync().await;
    world.write("start/new.html", "---\ntitle: New\ndraft: true\n---\nx\n");
    world.sync().await;
    let id = world.sandbox().articles()[1].id;
    world.edit("start/new.html", "draft: true", "draft: false");
    let report = world.sync().await;
    assert!(
        problems(&report)[0].contains("publish the article in the dashboard"),
        "{:?}",
        report.problems
    );
    assert_eq!(report.outcome.number(), 4);
    world.sandbox().publish(id);
    let report = world.sync().await;
    assert_eq!(problems(&report), [""; 0]);
    assert!(!world.read("start/new.html").contains("draft: true"));
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_7_enabled_is_switched_both_ways() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.edit(
        "start/one.html",
        "title: one\n",
        "title: one\nenabled: false\n",
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert_eq!(line(&report, "start/one.html").fields, [Field::Enabled]);
    assert_eq!(world.sent(), [r#"PUT article {"enabled":false}"#]);
    assert!(!world.on_service(ids[0]).enabled);
    world.is_quiet().await;
    // An edit of a hidden article is pushed as usual, after a probe.
    world.edit("start/one.html", "<p>Two.</p>", "<p>2.</p>");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert!(world.on_service(ids[0]).text.contains("<p>2.</p>"));
    world.is_quiet().await;
    world.edit("start/one.html", "enabled: false", "enabled: true");
    world.sandbox().clear_requests();
    world.sync().await;
    assert_eq!(
        world.sent(),
        ["PUT article {}", r#"PUT article {"enabled":true}"#]
    );
    assert!(world.on_service(ids[0]).enabled);
    world.is_quiet().await;
    assert!(world.read("start/one.html").contains("enabled: true"));
}

#[tokio::test]
async fn s4_7_removing_the_line_enabled_false_shows_the_article_again() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.edit(
        "start/one.html",
        "title: one\n",
        "title: one\nenabled: false\n",
    );
    world.sync().await;
    world.edit("start/one.html", "enabled: false\n", "");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert!(world.on_service(ids[0]).enabled);
    world.is_quiet().await;
    // A line that states the present value sends nothing.
    world.edit(
        "start/one.html",
        "title: one\n",
        "title: one\nenabled: true\n",
    );
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(report.outcome.number(), 0);
    world.is_quiet().await;
}

#[tokio::test]
async fn comments_order_and_keys_of_ones_own_are_never_sent() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    let id_line: String = world
        .read("start/one.html")
        .lines()
        .find(|line| line.starts_with("id:"))
        .expect("an id")
        .to_owned();
    world.write(
        "start/one.html",
        &format!("---\nowner: me # and you\ntitle: 'one'\n\n# a remark\n{id_line}\n---\n{TEXT}\n"),
    );
    world.is_quiet().await;
    assert!(world.read("start/one.html").contains("owner: me # and you"));
}

#[tokio::test]
async fn what_comes_from_the_service_changes_only_the_lines_concerned() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    let id = ids[0];
    world.write(
        "start/one.html",
        &format!(
            "---\nowner: me # and you\ntitle: 'one' # good?\n# a remark\nid: {id}\n---\n{TEXT}\n"
        ),
    );
    world.sync().await;
    world.sandbox().edit(id, |article| {
        article.title = "Two".into();
        article.introtext = Some("Short".into());
    });
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local start/one.html done"]);
    let file = world.read("start/one.html");
    assert!(
        file.starts_with(
            "---\nowner: me # and you\ntitle: 'Two' # good?\nintrotext: Short\n# a remark\n"
        ),
        "{file}"
    );
    assert!(file.ends_with(&format!("---\n{TEXT}\n")), "{file}");
    world.is_quiet().await;
}

// The decision table, row by row.

#[tokio::test]
async fn f067_both_sides_changed_to_the_same_is_adopted_without_a_write() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.edit("start/one.html", "Two", "2");
    let written = world.read("start/one.html");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = TEXT.replace("Two", "2"));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["adopt both start/one.html done"]);
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(world.read("start/one.html"), written);
    world.is_quiet().await;
}

#[tokio::test]
async fn f070_different_fields_and_blocks_merge_and_are_pushed_in_the_same_cycle() {
    let (world, _, ids) = World::start(&[("one", "<p>One.</p><p>Two.</p><p>Three.</p>")]).await;
    world.edit("start/one.html", "title: one", "title: Uno");
    world.edit("start/one.html", "<p>One.</p>", "<p>Eins.</p>");
    world.sandbox().edit(ids[0], |article| {
        article.text = article.text.replace("Three.", "Drei.");
        article.keywords = Some("k".into());
    });
    let report = world.sync().await;
    assert_eq!(lines(&report), ["merge both start/one.html done"]);
    assert_eq!(report.requests.total, 2);
    let merged = "<p>Eins.</p><p>Two.</p><p>Drei.</p>";
    assert_eq!(
        world.sent(),
        [format!(
            "PUT article {{\"title\":\"Uno\",\"text\":\"{merged}\"}}"
        )]
    );
    let article = world.on_service(ids[0]);
    assert_eq!(
        (article.text.as_str(), article.keywords.as_deref()),
        (merged, Some("k"))
    );
    let file = world.read("start/one.html");
    assert!(file.contains("keywords: k\n") && file.ends_with(&format!("{merged}\n")));
    world.is_quiet().await;
}

#[tokio::test]
async fn f062_what_cannot_be_merged_is_held_both_ways_until_the_copy_goes() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.edit("start/one.html", "Two", "Zwei");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = TEXT.replace("Two", "Deux"));
    world.edit("start/two.html", "Two", "2");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "conflict both start/one.html held",
            "update remote start/two.html done"
        ]
    );
    assert_eq!(report.outcome.number(), 3);
    assert!(world.read("start/one.html").contains("Zwei"));
    assert!(world.read("start/one.conflict.html").contains("Deux"));
    assert_eq!(world.sent().len(), 1);
    // The conflict stays held, and is reported again without a request or a write.
    let before = world.files();
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/one.html held"]);
    assert_eq!((report.requests.total, world.files()), (1, before));
    // Deleting the copy settles the conflict in favour of the present file.
    world.edit("start/one.html", "Zwei", "Zwei, deux");
    world.remove("start/one.conflict.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert!(world.on_service(ids[0]).text.contains("Zwei, deux"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f068_a_resolution_settles_only_what_was_shown() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.edit("start/one.html", "Two", "Zwei");
    let say = |word: &str| {
        let text = TEXT.replace("Two", word);
        world.sandbox().edit(ids[0], |article| article.text = text);
    };
    say("Deux");
    world.sync().await;
    world.remove("start/one.conflict.html");
    say("Due");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/one.html held"]);
    assert!(world.read("start/one.conflict.html").contains("Due"));
    assert!(world.on_service(ids[0]).text.contains("Due"));
    world.remove("start/one.conflict.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert!(world.on_service(ids[0]).text.contains("Zwei"));
    world.is_quiet().await;
}

#[tokio::test]
async fn on_conflict_and_prefer_settle_at_once_and_the_loser_is_kept() {
    for (side, winner, loser, action) in [
        (
            OnConflict::Local,
            "Zwei",
            "Deux",
            "update remote start/one.html done",
        ),
        (
            OnConflict::Remote,
            "Deux",
            "Zwei",
            "update local start/one.html done",
        ),
    ] {
        for by_settings in [false, true] {
            let (mut world, _, ids) = World::start(&[("one", TEXT)]).await;
            world.edit("start/one.html", "Two", "Zwei");
            world
                .sandbox()
                .edit(ids[0], |article| article.text = TEXT.replace("Two", "Deux"));
            let report = if by_settings {
                world.settings.on_conflict = side;
                world.sync().await
            } else {
                world.run(&preferring(side)).await
            };
            assert_eq!(lines(&report), [action]);
            assert_eq!(report.outcome.number(), 0);
            assert!(world.on_service(ids[0]).text.contains(winner));
            assert!(world.read("start/one.html").contains(winner));
            assert!(!world.exists("start/one.conflict.html"));
            let engine = world.engine();
            let kept = engine
                .store()
                .versions(&kbsync::state::Subject::Article(ArticleId::new(ids[0])))
                .expect("read")
                .iter()
                .any(|version| {
                    let text = engine
                        .store()
                        .body(version.seen.version.text)
                        .expect("read");
                    text.is_some_and(|text| text.contains(loser))
                });
            assert!(kept, "the version with {loser} is not in the history");
            world.is_quiet().await;
        }
    }
}

#[tokio::test]
async fn f044_removed_here_and_edited_there_comes_back() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.remove("start/one.html");
    world
        .sandbox()
        .edit(ids[0], |article| article.title = "Edited".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["restore local start/one.html done"]);
    assert!(reason(&report, "start/one.html").contains("the edit wins"));
    assert!(world.read("start/one.html").contains("title: Edited"));
    assert_eq!(world.sent(), [""; 0]);
    world.is_quiet().await;
}

#[tokio::test]
async fn f045_edited_here_and_gone_there_waits_for_a_person() {
    for keep in [Keep::Local, Keep::Remote] {
        let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
        world.edit("start/one.html", "Two", "2");
        world.sandbox().remove(ids[0]);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["conflict both start/one.html held"]);
        assert_eq!(report.outcome.number(), 3);
        assert!(world.exists("start/one.html"));
        let report = world.sync().await;
        assert_eq!(held(&report), 1);
        assert_eq!(report.requests.total, 1, "a confirmed 404 is remembered");
        world.sandbox().clear_requests();
        let report = world
            .run(&CycleRequest {
                resolve: [decision(
                    &world.path(""),
                    ArticleId::new(ids[0]),
                    keep.clone(),
                )]
                .into(),
                ..CycleRequest::new(Direction::Both)
            })
            .await;
        match keep {
            Keep::Local => {
                assert_eq!(lines(&report), ["create remote start/one.html done"]);
                let new = world.sandbox().articles()[1].clone();
                assert!(new.text.contains("<p>2.</p>") && new.slug == "one");
                assert!(
                    world
                        .read("start/one.html")
                        .contains(&format!("id: {}", new.id))
                );
            }
            Keep::Remote | Keep::Both | Keep::Parts(_) => {
                assert_eq!(lines(&report), ["delete local start/one.html done"]);
                assert!(!world.exists("start/one.html"));
            }
        }
        world.is_quiet().await;
    }
}

#[tokio::test]
async fn removed_on_both_sides_is_forgotten() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.remove("start/one.html");
    world.sandbox().remove(ids[0]);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["forget both start/one.html done"]);
    assert_eq!(report.outcome.number(), 0);
    world.is_quiet().await;
}

#[tokio::test]
async fn removed_here_and_unpublished_there_is_probed_first() {
    // Unpublished and otherwise unchanged: the article is deleted.
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT), ("three", TEXT)]).await;
    world.sandbox().unpublish(ids[0]);
    world.sync().await;
    world.remove("start/one.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete remote start/one.html done"]);
    assert!(world.sandbox().article(ids[0]).is_none());
    world.is_quiet().await;
    // Unpublished and edited: the edit wins.
    world.sandbox().unpublish(ids[1]);
    world.sync().await;
    world.remove("start/two.html");
    world
        .sandbox()
        .edit(ids[1], |article| article.title = "Edited".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["restore local start/two.html done"]);
    let file = world.read("start/two.html");
    assert!(
        file.contains("title: Edited") && file.contains("draft: true"),
        "{file}"
    );
    world.is_quiet().await;
    // If the probe gives no answer, the deletion is held.
    world.sandbox().habits().empty_put = EmptyPut::Forbidden403;
    world.sandbox().unpublish(ids[2]);
    world.remove("start/three.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete remote start/three.html held"]);
    assert_eq!(report.outcome.number(), 3);
    assert!(world.sandbox().article(ids[2]).is_some());
}

#[tokio::test]
async fn f026_an_edit_of_an_unpublished_article_is_pushed_and_nothing_is_deleted() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.sandbox().unpublish(ids[0]);
    world.edit("start/one.html", "Two", "2");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["merge both start/one.html done"]);
    let article = world.on_service(ids[0]);
    assert!(article.text.contains("<p>2.</p>") && article.draft);
    assert!(world.read("start/one.html").contains("draft: true"));
    world.is_quiet().await;
}

#[tokio::test]
async fn created_on_both_sides_at_one_place_is_adopted_or_a_conflict() {
    let (world, start, _) = World::start(&[("x", TEXT)]).await;
    world.write("start/same.html", "---\ntitle: same\n---\n<p>s</p>\n");
    world.write("start/other.html", "---\ntitle: other\n---\n<p>mine</p>\n");
    let same = world.article(start, "same", "<p>s</p>");
    let other = world.article(start, "other", "<p>theirs</p>");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "adopt both start/same.html done",
            "conflict both start/other.html held"
        ]
    );
    assert_eq!(world.sent(), [""; 0]);
    assert!(
        world
            .read("start/same.html")
            .contains(&format!("id: {same}"))
    );
    assert!(world.read("start/other.html").contains("mine"));
    assert!(world.read("start/other.conflict.html").contains("theirs"));
    world.remove("start/other.conflict.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/other.html done"]);
    assert_eq!(world.on_service(other).text, "<p>mine</p>");
    world.is_quiet().await;
}

// Directions and paths.

#[tokio::test]
async fn pull_writes_the_merge_and_leaves_the_push_to_later() {
    let (world, _, ids) = World::start(&[("one", "<p>One.</p><p>Two.</p><p>Three.</p>")]).await;
    world.edit("start/one.html", "One.", "Eins.");
    world.sandbox().edit(ids[0], |article| {
        article.text = article.text.replace("Three.", "Drei.");
    });
    let report = world.pull().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", report.actions);
    assert_eq!(world.sent(), [""; 0]);
    assert!(
        world
            .read("start/one.html")
            .contains("<p>Eins.</p><p>Two.</p><p>Drei.</p>")
    );
    assert!(world.on_service(ids[0]).text.contains("One."));
    let before = world.files();
    world.pull().await;
    assert_eq!(world.files(), before);
    let report = world.push().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert!(world.on_service(ids[0]).text.contains("Eins."));
    world.is_quiet().await;
}

#[tokio::test]
async fn push_holds_what_changed_on_both_sides() {
    let (world, _, ids) = World::start(&[("one", "<p>One.</p><p>Two.</p>"), ("two", TEXT)]).await;
    world.edit("start/one.html", "One.", "Eins.");
    world
        .sandbox()
        .edit(ids[0], |article| article.title = "Title".into());
    world
        .sandbox()
        .edit(ids[1], |article| article.title = "Title".into());
    let before = world.files();
    let report = world.push().await;
    assert_eq!(lines(&report), ["merge both start/one.html held"]);
    assert_eq!(report.outcome.number(), 3);
    assert_eq!((world.sent(), world.files()), (vec![], before));
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update local start/two.html done",
            "merge both start/one.html done"
        ]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn pull_changes_nothing_on_the_service_and_push_nothing_in_the_mirror() {
    let (world, start, ids) = World::start(&[
        ("one", TEXT),
        ("two", TEXT),
        ("three", TEXT),
        ("four", TEXT),
    ])
    .await;
    world.edit("start/one.html", "Two", "2");
    world.write("start/new.html", "---\ntitle: New\n---\nx\n");
    world.remove("start/two.html");
    world
        .sandbox()
        .edit(ids[2], |article| article.title = "Title".into());
    world.article(start, "theirs", TEXT);
    world.sandbox().remove(ids[3]);
    let report = world.pull().await;
    assert_eq!(world.sent(), ["PUT article {}"], "only a probe");
    assert_eq!(
        lines(&report),
        [
            "create local start/theirs.html done",
            "update local start/three.html done",
            "delete local start/four.html done"
        ]
    );
    let before = world.files();
    let report = world.push().await;
    assert_eq!(
        lines(&report),
        [
            "create remote start/new.html done",
            "update remote start/one.html done",
            "delete remote start/two.html done"
        ]
    );
    let id = world.sandbox().articles().last().expect("new").id;
    let mut expected = before;
    for (path, text) in &mut expected {
        if path == "start/new.html" {
            *text = text.replace("---\ntitle", &format!("---\nid: {id}\ntitle"));
        }
    }
    assert_eq!(world.files(), expected);
    world.is_quiet().await;
}

#[tokio::test]
async fn a_path_limits_the_command_to_it() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    let other = world.category("other");
    let three = world.article(other, "three", TEXT);
    world.sync().await;
    for path in ["start/one.html", "start/two.html", "other/three.html"] {
        world.edit(path, "Two", "2");
    }
    world.sandbox().clear_requests();
    let only = |path: &str| CycleRequest {
        scope: vec![path.to_owned()],
        ..CycleRequest::new(Direction::Both)
    };
    let report = world.run(&only("start/one.html")).await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    let report = world.run(&only("other/")).await;
    assert_eq!(lines(&report), ["update remote other/three.html done"]);
    assert!(world.on_service(three).text.contains("<p>2.</p>"));
    assert!(!world.on_service(ids[1]).text.contains("<p>2.</p>"));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/two.html done"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn a_dry_run_plans_and_touches_nothing() {
    let (world, ..) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.edit("start/one.html", "Two", "2");
    world.write("start/new.html", "---\ntitle: New\n---\nx\n");
    world.remove("start/two.html");
    let before = world.files();
    let report = world
        .run(&CycleRequest {
            dry_run: true,
            ..CycleRequest::new(Direction::Both)
        })
        .await;
    assert_eq!(
        lines(&report),
        [
            "create remote start/new.html planned",
            "update remote start/one.html planned",
            "delete remote start/two.html planned"
        ]
    );
    assert_eq!(report.outcome.number(), 0);
    assert_eq!((world.sent(), world.files()), (vec![], before));
    let planned: Vec<String> = lines(&report)
        .iter()
        .map(|line| line.replace("planned", "done"))
        .collect();
    assert_eq!(lines(&world.sync().await), planned);
}

#[tokio::test]
async fn a_conflict_is_settled_where_its_file_went() {
    for folder in ["start", "other"] {
        let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
        let other = world.category("other");
        world.article(other, "x", TEXT);
        world.sync().await;
        world.edit("start/one.html", "Two", "Mine");
        world.sandbox().edit(ids[0], |article| {
            article.text = TEXT.replace("Two", "Theirs");
        });
        world.sync().await;
        world.rename("start/one.html", &format!("{folder}/uno.html"));
        for _ in 0..2 {
            let report = world.sync().await;
            assert_eq!(
                lines(&report),
                [format!("conflict both {folder}/uno.html held")]
            );
            assert!(world.on_service(ids[0]).text.contains("Theirs"));
        }
        let copies: Vec<String> = world
            .files()
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| path.contains(".conflict."))
            .collect();
        assert_eq!(copies.len(), 1, "{copies:?}");
        world.remove(&copies[0]);
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
        let article = world.on_service(ids[0]);
        assert!(article.text.contains("Mine") && article.slug == "uno");
        world.is_quiet().await;
    }
}

#[tokio::test]
async fn a_conflict_whose_file_is_removed_waits_for_the_copy_to_go() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.edit("start/one.html", "Two", "Mine");
    world.sandbox().edit(ids[0], |article| {
        article.text = TEXT.replace("Two", "Theirs");
    });
    world.sync().await;
    world.remove("start/one.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/one.html held"]);
    assert_eq!(world.sandbox().articles().len(), 2);
    world.remove("start/one.conflict.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["restore local start/one.html done"]);
    assert!(world.read("start/one.html").contains("Theirs"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f083_a_save_of_the_same_size_with_the_old_time_is_seen() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.is_quiet().await;
    let path = world.path("start/one.html");
    let time = std::fs::metadata(&path)
        .and_then(|found| found.modified())
        .expect("a time");
    world.edit("start/one.html", "Two.", "2222");
    std::fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_modified(time))
        .expect("set");
    world.sync().await;
    assert!(world.on_service(ids[0]).text.contains("2222"));
    world.is_quiet().await;
}

#[tokio::test]
async fn what_a_colleague_does_in_the_instant_of_a_write_is_decided_anew() {
    let (world, start, ids) = World::start(&[("one", TEXT), ("two", TEXT), ("three", TEXT)]).await;
    world.edit("start/one.html", "Two", "Mine");
    world.remove("start/two.html");
    world.write("start/new.html", "---\ntitle: New\n---\nmine\n");
    let (one, two) = (ids[0], ids[1]);
    let meet = |method: &str, path: String, hook: Hook| {
        world.sandbox().inject(Fault::once(
            Matcher::new(method, &path),
            FaultKind::Hook(hook),
        ));
    };
    meet(
        "PUT",
        format!("/api/article/{one}"),
        Hook::new(move |sandbox| {
            sandbox.remove(one);
        }),
    );
    meet(
        "DELETE",
        format!("/api/article/{two}"),
        Hook::new(move |sandbox| {
            sandbox.remove(two);
        }),
    );
    meet(
        "POST",
        "/api/article".into(),
        Hook::new(move |sandbox| {
            sandbox.add_article(NewSeed::new(start, "New", "new", "theirs"));
        }),
    );
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create remote start/new.html failed",
            "update remote start/one.html skipped",
            "delete remote start/two.html done"
        ]
    );
    assert!(world.read("start/one.html").contains("Mine"));
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "conflict both start/new.html held",
            "conflict both start/one.html held"
        ]
    );
    assert!(world.read("start/new.html").contains("mine"));
    assert!(world.read("start/new.conflict.html").contains("theirs"));
    assert_eq!(world.sandbox().articles().len(), 2);
}

#[tokio::test]
async fn two_new_files_with_one_slug_are_both_said_and_neither_is_sent() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.write("start/a.html", "---\ntitle: A\nslug: same\n---\na\n");
    world.write("start/b.html", "---\ntitle: B\nslug: same\n---\nb\n");
    let report = world.sync().await;
    let held = ["a", "b"].map(|name| format!("create remote start/{name}.html held"));
    assert_eq!(lines(&report), held);
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(report.outcome.number(), 3);
    world.edit("start/b.html", "slug: same", "slug: other");
    let report = world.sync().await;
    assert_eq!(report.requests.post, 2);
    world.is_quiet().await;
}

#[tokio::test]
async fn an_existing_article_renamed_to_what_is_no_slug_is_said_and_kept() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.rename("start/one.html", "start/Mein Artikel.html");
    let report = world.sync().await;
    assert_eq!((lines(&report), world.sent()), (vec![], vec![]));
    assert!(problems(&report)[0].contains("mein-artikel"));
    assert!(world.sandbox().article(ids[0]).is_some());
    world.rename("start/Mein Artikel.html", "start/one.html");
    world.is_quiet().await;
}
