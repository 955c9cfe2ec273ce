//! The facts of `docs/api.md`, one by one, through the client and the engine. The requests for each edit of a file are
//! in `edits`, the shapes of listings in `listing`, and the stand-in service has tests of its own.

use crate::support::faults::{AnswerEdit, Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::look::{articles, assert_quiet, held, problems, requests, row};
use crate::support::world::{World, lines};
use kbsync::model::{ArticleId, CategoryId, CategoryVersion, Revision, WorkspaceId};
use kbsync::sandbox::{Access, NewSeed, Options, Rights};
use kbsync::service::{
    ArticlePatch, CategoryPatch, ErrorKind, Listed, NewArticle, NewCategory, Purpose,
    ServiceRead as _, ServiceWrite as _,
};
use uuid::Uuid;

async fn one_article() -> (World, Uuid, Uuid) {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.sync().await;
    requests(&world);
    (world, a, one)
}

fn refusal(status: u16, message: &str) -> FaultKind {
    let body = serde_json::json!({"success": false, "message": message});
    FaultKind::Status(status, body.to_string())
}

fn new(category: Uuid, slug: &str) -> NewArticle {
    NewArticle {
        category: CategoryId::new(category),
        title: "A title".into(),
        slug: slug.into(),
        text: "<p>x</p>".into(),
        introtext: String::new(),
        keywords: String::new(),
        enabled: true,
        draft: false,
    }
}

#[tokio::test]
async fn s2_1_and_s4_1_and_s4_2_a_workspace_is_read_alone_and_in_the_list() {
    let world = World::new().await;
    let other = world.sandbox().add_workspace("Other");
    let client = world.client();
    let all = client.workspaces().await.expect("listed");
    assert_eq!(
        all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
        ["Help", "Other"]
    );
    assert!(
        all.iter()
            .all(|one| one.public && one.custom_domain.is_none())
    );
    let one = client
        .workspace(WorkspaceId::new(other))
        .await
        .expect("read");
    assert_eq!(
        (one.id, one.name.as_str()),
        (WorkspaceId::new(other), "Other")
    );
    let error = client
        .workspace(WorkspaceId::new(Uuid::from_u128(1)))
        .await
        .expect_err("not there");
    assert_eq!((error.kind, error.status), (ErrorKind::NotFound, Some(404)));
    assert_eq!(
        requests(&world),
        ["GET bases 200", "GET base 200", "GET base 404"]
    );
}

#[tokio::test]
async fn s2_2_every_field_of_a_category_comes_into_its_file_and_null_is_empty() {
    let (world, a, _) = one_article().await;
    assert_eq!(
        world.read("a/_category.yaml"),
        format!("id: {a}\nname: a\n"),
        "null fields have no line"
    );
    world.sandbox().edit_category(a, |category| {
        category.name = "All: about \"A\"".into();
        category.slug = "about-a".into();
        category.description = Some("First line\nsecond line".into());
        category.meta_description = Some("for robots # not a comment".into());
    });
    world.clock.advance(std::time::Duration::from_hours(24));
    assert_eq!(
        lines(&world.sync().await),
        ["update-category local about-a done"]
    );
    let (category, articles) = world
        .client()
        .category(CategoryId::new(a), Purpose::Poll)
        .await
        .expect("read");
    assert_eq!(category.workspace, Some(world.settings.workspace));
    assert_eq!(articles.len(), 1);
    let engine = world.engine();
    let row = engine
        .store()
        .category(CategoryId::new(a))
        .expect("readable")
        .expect("a row");
    assert_eq!(
        (&row.local, &row.remote),
        (&category.version, &category.version)
    );
    assert_eq!(row.revision, category.revision);
    drop(engine);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn s2_3_every_field_of_an_article_has_its_place_in_the_file_or_in_the_state() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.sandbox().add_article(NewSeed {
        introtext: Some("An \"intro\": yes".into()),
        keywords: Some("a, b # c".into()),
        ..NewSeed::new(a, "- A title?", "one", "<p>1</p>\r\n<p>\u{fffd}</p>")
    });
    world.sandbox().visit(one, 5);
    world.sync().await;
    let article = world.sandbox().article(one).expect("there");
    let file = world.read("a/one.html");
    assert!(
        file.ends_with("---\n<p>1</p>\r\n<p>\u{fffd}</p>\n"),
        "{file:?}"
    );
    for absent in [
        "views",
        "rating",
        "updated_at",
        "created_at",
        "user_id",
        "full_url",
        "enabled",
        "draft",
        "slug",
    ] {
        assert!(!file.contains(absent), "{file}");
    }
    let row = row(&world, one).expect("a row");
    assert_eq!(row.local.title, "- A title?");
    assert_eq!(row.local.introtext, "An \"intro\": yes");
    assert_eq!(row.local.keywords, "a, b # c");
    assert_eq!(row.local.category, CategoryId::new(a));
    assert_eq!(row.revision, Revision(article.revision()));
    let engine = world.engine();
    let figures = engine.store().figures().expect("readable");
    assert_eq!(figures[0].1.views, 5);
    drop(engine);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn s2_3_revisions_are_tokens_whatever_they_look_like() {
    let (world, _, one) = one_article().await;
    let stamped = |stamp: &'static str| {
        Fault::once(
            Matcher::new("GET", "/api/base/*/articles"),
            FaultKind::Edit(AnswerEdit::new(move |answer| {
                answer["articles"][0]["updated_at"] = stamp.into();
            })),
        )
    };
    // An older revision, a revision without microseconds, and a revision that is no date: only equality counts.
    for stamp in ["1999-01-01T00:00:00.000000Z", "2026-01-01 00:00:00", "v17"] {
        world.sandbox().inject(stamped(stamp));
        let report = world.sync().await;
        assert!(report.is_quiet(), "{stamp}: {:?}", lines(&report));
        assert_eq!(
            row(&world, one).expect("a row").revision,
            Revision(stamp.into())
        );
    }
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>2</p>".into());
    world
        .sandbox()
        .inject(stamped("1970-01-01T00:00:00.000000Z"));
    assert_eq!(lines(&world.sync().await), ["update local a/one.html done"]);
}

#[tokio::test]
async fn s3_post_with_draft_makes_a_draft_and_without_none() {
    let (world, _, _) = one_article().await;
    world.write("a/draft.html", "---\ntitle: D\ndraft: true\n---\n");
    world.write("a/plain.html", "---\ntitle: P\n---\n");
    world.sync().await;
    let state = |slug: &str| {
        let all = world.sandbox().articles();
        let article = all.iter().find(|one| one.slug == slug).expect("created");
        (article.enabled, article.draft)
    };
    assert_eq!(state("draft"), (true, true));
    assert_eq!(state("plain"), (true, false));
    let posts = world.sandbox().requests();
    let statuses: Vec<u16> = posts
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| request.status)
        .collect();
    assert_eq!(statuses, [201, 201]);
}

#[tokio::test]
async fn s3_put_with_enabled_keeps_draft_and_draft_itself_is_never_sent() {
    let (world, _, one) = one_article().await;
    world.sandbox().unpublish(one);
    world.sync().await;
    world.edit("a/one.html", "draft: true", "draft: true\nenabled: false");
    world.sync().await;
    let article = world.sandbox().article(one).expect("there");
    assert_eq!((article.enabled, article.draft), (false, true));
    world.edit("a/one.html", "draft: true\n", "");
    let report = world.sync().await;
    assert!(
        problems(&report)
            .iter()
            .any(|one| one.contains("dashboard")),
        "{:?}",
        problems(&report)
    );
    assert!(world.sandbox().article(one).expect("there").draft);
    assert!(
        world
            .sandbox()
            .requests()
            .iter()
            .all(|request| request.method != "PUT" || !request.body.contains("draft"))
    );
}

#[tokio::test]
async fn s3_delete_removes_for_ever_and_the_history_remembers() {
    let (world, _, one) = one_article().await;
    world.remove("a/one.html");
    assert_eq!(
        lines(&world.sync().await),
        ["delete remote a/one.html done"]
    );
    assert_eq!(requests(&world), ["GET listing 200", "DELETE article 200"]);
    assert!(world.sandbox().article(one).is_none());
    assert!(crate::support::look::kept(&world, one, "<p>1</p>"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn s4_3_a_category_answers_with_its_published_articles_only() {
    let (world, a, one) = one_article().await;
    world
        .sandbox()
        .add_article(NewSeed::new(a, "Hidden", "hidden", "").draft());
    let (category, articles) = world
        .client()
        .category(CategoryId::new(a), Purpose::Push)
        .await
        .expect("read");
    assert_eq!(category.version.slug, "a");
    let [Listed::Article(article)] = articles.as_slice() else {
        panic!("one article: {articles:?}");
    };
    assert_eq!(article.id, ArticleId::new(one));
    assert_eq!(article.text.as_deref(), Some("<p>1</p>"));
    let error = world
        .client()
        .category(CategoryId::new(one), Purpose::Push)
        .await
        .expect_err("no such category");
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn s4_4_an_article_comes_with_its_address_and_a_draft_does_not_come() {
    let (world, _, one) = one_article().await;
    let client = world.client();
    let article = client
        .article(ArticleId::new(one), Purpose::Push)
        .await
        .expect("read");
    let figures = article.figures.expect("figures");
    assert_eq!(
        figures.full_url.as_deref(),
        Some("https://help.example.com/a/one")
    );
    assert_eq!(figures.views, 0);
    world.sandbox().unpublish(one);
    let error = client
        .article(ArticleId::new(one), Purpose::Push)
        .await
        .expect_err("a draft");
    assert_eq!(
        (error.kind, error.response_lost),
        (ErrorKind::NotFound, false)
    );
}

#[tokio::test]
async fn s4_6_every_parameter_is_sent_and_kept() {
    let (world, a, _) = one_article().await;
    let given = NewArticle {
        introtext: "i".into(),
        keywords: "k".into(),
        enabled: false,
        draft: true,
        ..new(a, "new")
    };
    let answer = world
        .client()
        .create_article(&given)
        .await
        .expect("created");
    let article = world.sandbox().article(answer.id.uuid()).expect("there");
    assert_eq!(
        (
            article.category_id,
            article.title.as_str(),
            article.slug.as_str(),
            article.text.as_str(),
            article.introtext.as_deref(),
            article.keywords.as_deref(),
            article.enabled,
            article.draft
        ),
        (
            a,
            "A title",
            "new",
            "<p>x</p>",
            Some("i"),
            Some("k"),
            false,
            true
        )
    );
    assert_eq!(
        (answer.flags.enabled, answer.flags.draft),
        (Some(false), Some(true))
    );
    assert_eq!(answer.revision, Revision(article.revision()));
}

#[tokio::test]
async fn s4_6_a_refused_new_article_is_said_and_its_file_stays() {
    let table = [
        (403, "You may not create articles here."),
        (422, "The title is not nice."),
        (400, "Bad request."),
    ];
    for (status, message) in table {
        let (world, _, _) = one_article().await;
        world.write("a/new.html", "---\ntitle: New\n---\n<p>n</p>\n");
        world.write("a/other.html", "---\ntitle: Other\n---\n<p>o</p>\n");
        world.sandbox().inject(Fault::once(
            Matcher::new("POST", "/api/article"),
            refusal(status, message),
        ));
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 4, "{status}: {:?}", lines(&report));
        assert_eq!(
            lines(&report),
            [
                "create remote a/new.html failed",
                "create remote a/other.html done"
            ],
            "{status}"
        );
        assert!(
            report.actions[0]
                .reason
                .as_deref()
                .is_some_and(|why| why.contains(message))
        );
        assert_eq!(world.read("a/new.html"), "---\ntitle: New\n---\n<p>n</p>\n");
        // The new article is not sent again until something changes.
        let report = world.sync().await;
        assert_eq!(
            (report.requests.post, report.outcome.number()),
            (0, 4),
            "{status}"
        );
        assert_eq!(held(&report).len(), 1);
        world.edit("a/new.html", "New", "Newer");
        let report = world.sync().await;
        assert_eq!(
            lines(&report),
            ["create remote a/new.html done"],
            "{status}"
        );
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn s4_7_each_refusal_concerns_its_article_alone() {
    let table = [(403, 4), (422, 4), (400, 4), (413, 4)];
    for (status, code) in table {
        let (world, a, one) = one_article().await;
        world.article(a, "two", "<p>2</p>");
        world.sync().await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        world.edit("a/two.html", "<p>2</p>", "<p>mine too</p>");
        world.sandbox().inject(Fault::once(
            Matcher::new("PUT", &format!("/api/article/{one}")),
            refusal(status, "No, because."),
        ));
        let report = world.sync().await;
        assert_eq!(
            report.outcome.number(),
            code,
            "{status}: {:?}",
            lines(&report)
        );
        assert_eq!(
            lines(&report),
            [
                "update remote a/one.html failed",
                "update remote a/two.html done"
            ],
            "{status}"
        );
        assert!(
            report.actions[0]
                .reason
                .as_deref()
                .is_some_and(|why| why.contains("No, because."))
        );
        assert!(world.read("a/one.html").contains("<p>mine</p>"));
        let report = world.sync().await;
        assert_eq!(report.requests.put, 0, "{status}: not sent again");
        // A colleague's edit changes the version to be replaced, so the file is sent again.
        world
            .sandbox()
            .edit(one, |article| article.title = "Theirs".into());
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{status}: {:?}", held(&report));
        assert_eq!(
            world.sandbox().article(one).expect("there").text,
            "<p>mine</p>"
        );
    }
}

#[tokio::test]
async fn s4_7_404_leaves_the_decision_to_the_next_cycle() {
    let (world, _, one) = one_article().await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    world.sandbox().inject(Fault::once(
        Matcher::new("PUT", "/api/article/"),
        FaultKind::Hook(Hook::new(move |sandbox| {
            sandbox.remove(one);
        })),
    ));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html skipped"]);
    assert_eq!(report.outcome.number(), 5);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/one.html held"]);
    assert!(world.read("a/one.html").contains("<p>mine</p>"));
}

#[tokio::test]
async fn s4_7_a_move_into_a_category_where_the_slug_is_taken_is_refused_before_it_is_sent() {
    let (world, _, one) = one_article().await;
    let b = world.category("b");
    world.article(b, "one", "<p>theirs</p>");
    world.article(b, "other", "<p>o</p>");
    world.sync().await;
    world.rename("a/one.html", "b/mine.html");
    world.edit("b/mine.html", "title:", "slug: one\ntitle:");
    let report = world.sync().await;
    assert_eq!(report.requests.put, 0, "{:?}", lines(&report));
    assert_ne!(report.outcome.number(), 0);
    world.edit("b/mine.html", "slug: one\n", "");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    let article = world.sandbox().article(one).expect("there");
    assert_eq!((article.category_id, article.slug.as_str()), (b, "mine"));
}

#[tokio::test]
async fn s4_8_a_refused_deletion_is_said_and_404_counts_as_done() {
    let (world, a, one) = one_article().await;
    for number in 0..3 {
        world.article(a, &format!("n{number}"), "<p>n</p>");
    }
    world.sync().await;
    world.remove("a/one.html");
    world.sandbox().inject(Fault::once(
        Matcher::new("DELETE", "/api/article/"),
        refusal(403, "You may not delete."),
    ));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete remote a/one.html failed"]);
    assert_eq!(report.outcome.number(), 4);
    assert!(
        report.actions[0]
            .reason
            .as_deref()
            .is_some_and(|why| why.contains("You may not delete."))
    );
    assert!(world.sandbox().article(one).is_some());
    world.clock.advance(std::time::Duration::from_hours(25));
    // A colleague deletes the article at the same moment.
    world.sandbox().inject(Fault::once(
        Matcher::new("DELETE", "/api/article/"),
        FaultKind::Hook(Hook::new(move |sandbox| {
            sandbox.remove(one);
        })),
    ));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete remote a/one.html done"]);
    assert_eq!(row(&world, one), None);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn s4_9_a_category_is_created_with_every_parameter() {
    let (world, _, _) = one_article().await;
    let version = CategoryVersion {
        name: "Name".into(),
        slug: "slug".into(),
        description: "d".into(),
        meta_description: "m".into(),
    };
    let created = world
        .client()
        .create_category(&NewCategory {
            workspace: world.settings.workspace,
            version: version.clone(),
        })
        .await
        .expect("created");
    assert_eq!(created.version, version);
    let category = world.sandbox().category(created.id.uuid()).expect("there");
    assert_eq!(category.workspace, world.workspace);
    assert_eq!(category.description.as_deref(), Some("d"));
    assert_eq!(category.meta_description.as_deref(), Some("m"));
    let error = world
        .client()
        .create_category(&NewCategory {
            workspace: world.settings.workspace,
            version,
        })
        .await
        .expect_err("the slug is taken");
    assert_eq!((error.kind, error.status), (ErrorKind::Refused, Some(422)));
}

#[tokio::test]
async fn s4_10_only_what_changed_of_a_category_is_sent() {
    let (world, a, _) = one_article().await;
    let patch = CategoryPatch {
        description: Some("d".into()),
        ..CategoryPatch::default()
    };
    let changed = world
        .client()
        .update_category(CategoryId::new(a), &patch)
        .await
        .expect("changed");
    assert_eq!(
        (
            changed.version.name.as_str(),
            changed.version.description.as_str()
        ),
        ("a", "d")
    );
    let body = world.sandbox().requests().pop().expect("sent").body;
    assert_eq!(body, r#"{"description":"d"}"#);
    let error = world
        .client()
        .update_category(CategoryId::new(Uuid::from_u128(1)), &patch)
        .await
        .expect_err("not there");
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn s5_3_a_token_that_may_only_read_pulls_and_pushes_nothing() {
    let world = World::new().await;
    let token = world.running.token();
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    let two = world.article(a, "two", "<p>2</p>");
    world
        .sandbox()
        .add_token(&token, Rights::everywhere(Access::Read));
    assert_eq!(world.sync().await.outcome.number(), 0);
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    world
        .sandbox()
        .edit(two, |article| article.text = "<p>theirs</p>".into());
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update local a/two.html done",
            "update remote a/one.html failed"
        ]
    );
    assert_eq!(report.outcome.number(), 4);
    // A vanished article cannot be probed, so it waits for a person.
    world.sandbox().unpublish(two);
    let report = world.sync().await;
    assert_eq!(articles(&world), ["a/one.html", "a/two.html"]);
    assert!(
        held(&report).iter().any(|(path, _)| path == "a/two.html"),
        "{:?}",
        lines(&report)
    );
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>1</p>"
    );
}

#[tokio::test]
async fn s7_3_what_the_service_says_reaches_the_report_without_control_characters() {
    let (world, _, _) = one_article().await;
    world.write("a/new.html", "---\ntitle: New\n---\n");
    world.sandbox().inject(Fault::once(
        Matcher::new("POST", "/api/article"),
        FaultKind::Status(
            422,
            r#"{"success":false,"message":"The slug\u001b[31m is odd","errors":{"slug":["too odd"]}}"#.into(),
        ),
    ));
    let report = world.sync().await;
    let why = report.actions[0].reason.clone().expect("a reason");
    assert!(
        why.contains("422") && why.contains("is odd") && why.contains("too odd"),
        "{why}"
    );
    assert!(!why.contains('\u{1b}'), "{why:?}");
    assert!(
        why.contains("POST") && why.contains("/api/article"),
        "{why}"
    );
}

#[tokio::test]
async fn s7_4_a_200_without_success_is_no_success() {
    let (world, _, one) = one_article().await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    world.sandbox().inject(Fault::once(
        Matcher::new("PUT", "/api/article/"),
        FaultKind::Status(200, r#"{"article":{}}"#.into()),
    ));
    let report = world.sync().await;
    assert_ne!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>1</p>"
    );
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>mine</p>"
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn s7_2_an_unauthorised_answer_in_the_middle_stops_all_requests() {
    let (world, a, _) = one_article().await;
    world.article(a, "two", "<p>2</p>");
    world.sync().await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    world.edit("a/two.html", "<p>2</p>", "<p>mine</p>");
    world.sandbox().inject(Fault::once(
        Matcher::new("PUT", "/api/article/"),
        refusal(401, "Unauthenticated."),
    ));
    requests(&world);
    let report = world.sync().await;
    assert_eq!(requests(&world), ["GET listing 200", "PUT article 401"]);
    assert_eq!(report.outcome.number(), 1, "{:?}", lines(&report));
    assert!(world.read("a/two.html").contains("mine"));
    assert_eq!(world.sync().await.outcome.number(), 0);
}

#[tokio::test]
async fn s8_255_characters_fit_and_256_are_refused_before_they_are_sent() {
    let (world, _, one) = one_article().await;
    for key in ["title", "slug", "introtext", "keywords"] {
        let line = |count: usize| format!("{key}: {}\n", "ü".repeat(count));
        let rest = if key == "title" { "" } else { "title: t\n" };
        let file = |count| format!("---\nid: {one}\n{rest}{}---\n<p>1</p>\n", line(count));
        world.write("a/one.html", &file(256));
        let report = world.sync().await;
        assert_eq!(report.requests.put, 0, "{key}");
        assert_eq!(report.outcome.number(), 4, "{key}");
        assert!(
            problems(&report)[0].contains("256 characters"),
            "{:?}",
            problems(&report)
        );
        world.write("a/one.html", &file(255));
        let report = world.sync().await;
        assert_eq!(report.requests.put, 1, "{key}: {:?}", problems(&report));
        assert_quiet(&world, 1).await;
    }
    let yaml = world.read("a/_category.yaml");
    for key in ["name", "slug"] {
        let line = |count: usize| format!("{yaml}{key}: {}\n", "ü".repeat(count));
        let file = |count| match key {
            "name" => line(count).replace("name: a\n", ""),
            _ => line(count),
        };
        world.write("a/_category.yaml", &file(256));
        let report = world.sync().await;
        assert_eq!(
            (report.requests.put, report.outcome.number()),
            (0, 4),
            "{key}"
        );
        world.write("a/_category.yaml", &file(255));
        let report = world.sync().await;
        assert_eq!(report.requests.put, 1, "{key}: {:?}", problems(&report));
    }
}

#[tokio::test]
async fn s8_what_is_over_a_limit_on_the_service_stays_editable() {
    // The service limits the length of what it is sent (A8.2), but may itself hold longer texts.
    let (world, _, one) = one_article().await;
    let long = "t".repeat(300);
    world.sandbox().edit(one, |article| {
        article.title.clone_from(&long);
        article.introtext = Some(long.clone());
    });
    assert_eq!(lines(&world.sync().await), ["update local a/one.html done"]);
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        ["update remote a/one.html done"],
        "{:?}",
        problems(&report)
    );
    let sent = world.sandbox().requests().pop().expect("sent").body;
    assert_eq!(sent, r#"{"text":"<p>mine</p>"}"#);
    world.edit("a/one.html", "title: t", "title: tt");
    let report = world.sync().await;
    assert_eq!((report.requests.put, report.outcome.number()), (0, 4));
    assert!(
        problems(&report)[0].contains("301 characters"),
        "{:?}",
        problems(&report)
    );
}

#[tokio::test]
async fn s8_what_the_headers_say_corrects_the_budget() {
    let options = Options {
        per_minute: 60,
        ..Options::default()
    };
    let world = World::with(options).await;
    let a = world.category("a");
    world.article(a, "one", "<p>1</p>");
    let report = world.sync().await;
    assert_eq!(report.requests.total, 2);
    // The test's own limit is far higher, so the figure comes from the service's response.
    assert!(
        report.budget.expect("known").minute_left <= 58,
        "{:?}",
        report.budget
    );
}

#[tokio::test]
async fn s4_7_an_empty_patch_is_a_probe_and_changes_nothing() {
    let (world, _, one) = one_article().await;
    let before = world.sandbox().article(one);
    let answer = world
        .client()
        .probe(ArticleId::new(one), Purpose::Poll)
        .await
        .expect("there");
    assert_eq!(
        (answer.flags.enabled, answer.flags.draft),
        (Some(true), Some(false))
    );
    assert_eq!(requests(&world), ["PUT article {} 200"]);
    assert_eq!(world.sandbox().article(one), before);
    let patch = ArticlePatch {
        introtext: Some(String::new()),
        ..ArticlePatch::default()
    };
    let client = world.client();
    client
        .update_article(ArticleId::new(one), &patch)
        .await
        .expect("changed");
    let sent = world.sandbox().requests().pop().expect("sent").body;
    assert_eq!(sent, r#"{"introtext":""}"#);
}
