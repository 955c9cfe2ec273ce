//! Edits on both sides: the merges, the conflicts that wait for a person, and the ways to settle them.

use crate::support::look::{
    articles, assert_quiet, both, changed_rows, decision, dump, held, kept, let_stamps_settle,
    problems, requests, stamps,
};
use crate::support::world::{World, lines};
use kbsync::engine::report::Report;
use kbsync::engine::settings::CycleRequest;
use kbsync::model::ArticleId;
use kbsync::reconcile::snapshot::{Direction, Keep, OnConflict};
use std::os::unix::fs::PermissionsExt as _;
use uuid::Uuid;

const MINE: &str = "<p>One, mine.</p><p>Two.</p>";
const THEIRS: &str = "<p>One, theirs.</p><p>Two.</p>";
const COPY: &str = "a/one.conflict.html";

/// `a/one.html` and `a/two.html`, synced; the first with two paragraphs in one line.
async fn world() -> (World, Uuid) {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>One.</p><p>Two.</p>");
    world.article(a, "two", "<p>2</p>");
    world.sync().await;
    requests(&world);
    (world, one)
}

fn theirs(world: &World, id: Uuid, text: &str) {
    world
        .sandbox()
        .edit(id, |article| text.clone_into(&mut article.text));
}

fn on_service(world: &World, id: Uuid) -> String {
    world.sandbox().article(id).expect("there").text
}

/// The world with the first paragraph of `a/one.html` edited on both sides, and synced.
async fn in_conflict() -> (World, Uuid) {
    let (world, one) = world().await;
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(&world, one, THEIRS);
    let report = world.sync().await;
    assert_conflict(&report);
    (world, one)
}

fn assert_conflict(report: &Report) {
    assert_eq!(lines(report), ["conflict both a/one.html held"]);
    assert_eq!(problems(report), Vec::<String>::new());
    assert_eq!(report.outcome.number(), 3);
    assert_eq!(report.requests.total, 1);
}

fn mode(world: &World, path: &str) -> u32 {
    let found = std::fs::metadata(world.path(path)).expect("a file");
    found.permissions().mode() & 0o777
}

#[tokio::test]
async fn the_copy_beside_a_private_file_is_private_too() {
    let (world, one) = world().await;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(world.path("a/one.html"), private).expect("changed");
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(&world, one, THEIRS);
    assert_conflict(&world.sync().await);
    assert_eq!(mode(&world, "a/one.html"), 0o600);
    assert_eq!(mode(&world, COPY), 0o600);
}

/// Using the copy as the file must not publish the article.
#[tokio::test]
async fn the_copy_of_a_hidden_article_hides_it_too() {
    let (world, one) = world().await;
    world.edit("a/one.html", "---\n<p>", "enabled: false\n---\n<p>");
    world.sync().await;
    assert!(!world.sandbox().article(one).expect("there").enabled);
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(&world, one, THEIRS);
    world.sync().await;
    let copy = world.read(COPY);
    assert!(copy.contains("enabled: false"), "{copy}");
    world.rename(COPY, "a/one.html");
    world.sync().await;
    let article = world.sandbox().article(one).expect("there");
    assert_eq!((article.enabled, article.text.as_str()), (false, THEIRS));
    assert_quiet(&world, 1).await;
}

fn resolve(world: &World, id: Uuid, keep: Keep) -> CycleRequest {
    let mut request = both();
    let decided = decision(&world.path(""), ArticleId::new(id), keep);
    request.resolve.extend([decided]);
    request
}

#[tokio::test]
async fn f062_both_versions_are_kept_and_shown_and_nothing_is_sent() {
    let (world, one) = in_conflict().await;
    assert!(
        world
            .read("a/one.html")
            .ends_with(&format!("---\n{MINE}\n"))
    );
    let copy = world.read(COPY);
    assert!(copy.ends_with(&format!("---\n{THEIRS}\n")), "{copy}");
    assert!(copy.contains("title: one"), "{copy}");
    assert_eq!(on_service(&world, one), THEIRS);
    assert!(kept(&world, one, MINE) && kept(&world, one, THEIRS));
    // The conflict waits without another write, request or copy.
    let_stamps_settle(&world).await;
    let (files, rows, times) = (world.files(), dump(&world), stamps(&world));
    for _ in 0..2 {
        let report = world.sync().await;
        assert_conflict(&report);
        assert!(held(&report)[0].1.contains("kbsync resolve a/one.html"));
        assert_eq!(world.files(), files);
        assert_eq!(changed_rows(&rows, &dump(&world)), Vec::<String>::new());
        assert_eq!(stamps(&world), times);
    }
}

#[tokio::test]
async fn edited_and_its_copy_deleted_it_is_settled_exactly_so() {
    for settled in ["<p>One, ours.</p><p>Two.</p>", MINE, THEIRS] {
        let (world, one) = in_conflict().await;
        world.edit("a/one.html", MINE, settled);
        if settled != THEIRS {
            assert_conflict(&world.sync().await);
        }
        world.remove(COPY);
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
        assert_eq!(on_service(&world, one), settled);
        assert!(
            world
                .read("a/one.html")
                .ends_with(&format!("---\n{settled}\n"))
        );
        assert_eq!(report.requests.put, u64::from(settled != THEIRS));
        assert_eq!(articles(&world), ["a/one.html", "a/two.html"]);
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f068_settled_over_a_version_that_nobody_was_shown_is_a_new_conflict() {
    let (world, one) = in_conflict().await;
    let newer = "<p>One, theirs again.</p><p>Two.</p>";
    theirs(&world, one, newer);
    world.edit("a/one.html", MINE, "<p>One, ours.</p><p>Two.</p>");
    world.remove(COPY);
    assert_conflict(&world.sync().await);
    assert_eq!(on_service(&world, one), newer);
    assert!(world.read(COPY).ends_with(&format!("---\n{newer}\n")));
    assert!(world.read("a/one.html").contains("One, ours."));
    world.remove(COPY);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(on_service(&world, one), "<p>One, ours.</p><p>Two.</p>");
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f068_a_version_that_a_poll_recorded_during_the_question_is_not_settled() {
    for keep in [Keep::Local, Keep::Remote, Keep::Both] {
        let (world, one) = in_conflict().await;
        let decided = resolve(&world, one, keep.clone());
        let newer = "<p>One, theirs again.</p><p>Two.</p>";
        theirs(&world, one, newer);
        world.sync().await;
        let report = world.run(&decided).await;
        assert_eq!(
            lines(&report),
            ["conflict both a/one.html held"],
            "{keep:?}"
        );
        assert_eq!(on_service(&world, one), newer);
        assert!(world.read("a/one.html").contains("mine"));
        // The version that is shown now can be settled.
        let report = world.run(&resolve(&world, one, keep)).await;
        assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    }
}

#[tokio::test]
async fn f068_a_settlement_keeps_what_a_colleague_added_elsewhere() {
    let (world, one) = in_conflict().await;
    world.sandbox().edit(one, |article| {
        article.title = "A new title".into();
    });
    world.remove(COPY);
    let report = world.sync().await;
    // The copy did not show the new title: either there is a new conflict, or the title is kept.
    assert_eq!(
        world.sandbox().article(one).expect("there").title,
        "A new title"
    );
    assert_ne!(report.outcome.number(), 1);
}

#[tokio::test]
async fn f064_a_service_that_goes_on_changing_gets_one_copy_that_follows_it() {
    let (world, one) = in_conflict().await;
    for round in 0..3 {
        let newer = format!("<p>One, theirs {round}.</p><p>Two.</p>");
        theirs(&world, one, &newer);
        assert_conflict(&world.sync().await);
        assert_eq!(articles(&world), [COPY, "a/one.html", "a/two.html"]);
        assert!(world.read(COPY).contains(&newer));
        assert!(kept(&world, one, &newer));
        assert!(world.read("a/one.html").contains("One, mine."));
    }
}

#[tokio::test]
async fn f063_f064_a_copy_is_never_published_whatever_is_done_to_it() {
    let (world, one) = in_conflict().await;
    world.edit(COPY, "One, theirs.", "scribbled");
    assert_conflict(&world.sync().await);
    assert!(
        world.read(COPY).contains("scribbled"),
        "it is the writer's note pad"
    );
    world.write("a/two.conflict.html", &world.read(COPY));
    world.write("a/one.conflict.conflict.html", &world.read(COPY));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/one.html held"]);
    assert_eq!(report.requests.post + report.requests.put, 0);
    assert_eq!(world.sandbox().articles().len(), 2);
    // A newer version gets another name, and the edited copy stays.
    let newer = "<p>One, newer.</p><p>Two.</p>";
    theirs(&world, one, newer);
    world.sync().await;
    let newer_copy = copy_with(&world, newer);
    assert_ne!(newer_copy, COPY);
    assert!(world.read(COPY).contains("scribbled"));
    // A copy with nothing but a remark added counts as edited, too.
    world.edit(&newer_copy, "---\n", "---\n# a remark\n");
    let newest = "<p>One, newest.</p><p>Two.</p>";
    theirs(&world, one, newest);
    world.sync().await;
    let newest_copy = copy_with(&world, newest);
    assert!(world.read(&newer_copy).contains("# a remark"));
    // The conflict ends when the last copy that names the article is deleted. Until then no new copy is written.
    let others = ["a/two.conflict.html", "a/one.conflict.conflict.html"];
    for copy in [&newest_copy, COPY, &newer_copy].into_iter().chain(others) {
        assert_conflict(&world.sync().await);
        assert!(world.exists(copy));
        world.remove(copy);
    }
    world.sync().await;
    assert_eq!(on_service(&world, one), MINE);
    assert_eq!(articles(&world), ["a/one.html", "a/two.html"]);
}

/// Returns the path of the conflict copy that has a text.
fn copy_with(world: &World, text: &str) -> String {
    let mut copies = articles(world).into_iter();
    let found = copies.find(|path| {
        path.ends_with(".conflict.html")
            && !path.starts_with("a/two")
            && world.read(path).contains(text)
    });
    found.expect("a copy")
}

#[tokio::test]
async fn a_person_settles_it_with_one_word() {
    for keep in [Keep::Local, Keep::Remote, Keep::Both] {
        let (world, one) = in_conflict().await;
        let report = world.run(&resolve(&world, one, keep.clone())).await;
        assert_eq!(report.outcome.number(), 0, "{keep:?}: {:?}", held(&report));
        let expected = match &keep {
            Keep::Local => MINE.to_owned(),
            Keep::Remote => THEIRS.to_owned(),
            // The paragraph that both versions share appears once.
            Keep::Both => "<p>One, mine.</p><p>One, theirs.</p><p>Two.</p>".to_owned(),
            Keep::Parts(parts) => parts.text.clone(),
        };
        assert_eq!(on_service(&world, one), expected, "{keep:?}");
        assert!(
            world
                .read("a/one.html")
                .ends_with(&format!("---\n{expected}\n"))
        );
        assert_eq!(report.requests.put, u64::from(keep != Keep::Remote));
        assert!(!world.exists(COPY), "{keep:?}");
        assert!(kept(&world, one, MINE) && kept(&world, one, THEIRS));
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn the_settings_settle_it_at_once_and_the_loser_is_kept() {
    for (on_conflict, winner) in [(OnConflict::Local, MINE), (OnConflict::Remote, THEIRS)] {
        let (mut world, one) = world().await;
        world.settings.on_conflict = on_conflict;
        world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
        theirs(&world, one, THEIRS);
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
        assert_eq!(on_service(&world, one), winner);
        assert!(
            world
                .read("a/one.html")
                .ends_with(&format!("---\n{winner}\n"))
        );
        assert!(!world.exists(COPY));
        assert!(kept(&world, one, MINE) && kept(&world, one, THEIRS));
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn prefer_settles_standing_conflicts_in_bulk() {
    for (prefer, winner) in [(OnConflict::Local, MINE), (OnConflict::Remote, THEIRS)] {
        let (world, one) = in_conflict().await;
        let mut request = both();
        request.prefer = Some(prefer);
        let report = world.run(&request).await;
        assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
        assert_eq!(on_service(&world, one), winner);
        assert!(!world.exists(COPY));
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f069_one_conflict_stops_nobody_else() {
    let (world, one) = world().await;
    let two = world.sandbox().articles()[1].id;
    let a = world.sandbox().categories()[0].id;
    world.article(a, "three", "<p>3</p>");
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(&world, one, THEIRS);
    world.edit("a/two.html", "<p>2</p>", "<p>2, mine</p>");
    world.write("a/four.html", "---\ntitle: Four\n---\n<p>4</p>\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create local a/three.html done",
            "conflict both a/one.html held",
            "create remote a/four.html done",
            "update remote a/two.html done"
        ]
    );
    assert_eq!(report.outcome.number(), 3);
    assert_eq!(on_service(&world, two), "<p>2, mine</p>");
}

#[tokio::test]
async fn f070_the_title_here_and_the_body_there_merge() {
    let (world, one) = world().await;
    world.edit(
        "a/one.html",
        "title: one",
        "title: Uno # mine\nkeywords: mine",
    );
    world.sandbox().edit(one, |article| {
        article.text = THEIRS.into();
        article.introtext = Some("their intro".into());
        article.slug = "first".into();
    });
    let report = world.sync().await;
    assert_eq!(lines(&report), ["merge both a/first.html done"]);
    assert_eq!(report.requests.total, 2);
    let article = world.sandbox().article(one).expect("there");
    assert_eq!(
        (article.title.as_str(), article.keywords.as_deref()),
        ("Uno", Some("mine"))
    );
    assert_eq!(
        (article.text.as_str(), article.slug.as_str()),
        (THEIRS, "first")
    );
    let file = world.read("a/first.html");
    for line in [
        "title: Uno # mine",
        "keywords: mine",
        "introtext: their intro",
    ] {
        assert!(file.lines().any(|one| one == line), "{file}");
    }
    let put = world
        .sandbox()
        .requests()
        .into_iter()
        .find(|request| request.method == "PUT")
        .expect("sent");
    assert_eq!(put.body, r#"{"title":"Uno","keywords":"mine"}"#);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn the_same_edit_on_both_sides_is_adopted_without_a_write() {
    let (world, one) = world().await;
    world.edit("a/one.html", "<p>One.</p>", "<p>One, theirs.</p>");
    world.edit("a/one.html", "title: one", "title: Uno");
    world.sandbox().edit(one, |article| {
        article.text = THEIRS.into();
        article.title = "Uno".into();
    });
    let times = stamps(&world);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["adopt both a/one.html done"]);
    assert_eq!(report.requests.total, 1);
    assert_eq!(stamps(&world), times);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn edits_in_two_paragraphs_of_one_line_merge_and_are_sent_in_the_same_cycle() {
    let (world, one) = world().await;
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(&world, one, "<p>One.</p><p>Two, theirs.</p>");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["merge both a/one.html done"]);
    assert_eq!(report.requests.total, 2);
    let merged = "<p>One, mine.</p><p>Two, theirs.</p>";
    assert_eq!(on_service(&world, one), merged);
    assert!(
        world
            .read("a/one.html")
            .ends_with(&format!("---\n{merged}\n"))
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f065_what_would_merge_into_an_open_tag_is_a_conflict() {
    let (world, one) = world().await;
    let text = "<div>\n<p>a</p>\n<p>b</p>\n<p>c</p>\n</div>\n<p>d</p>";
    theirs(&world, one, text);
    world.sync().await;
    // One side deletes the opening tag with its closing tag; the other side moves the closing tag down.
    world.edit("a/one.html", "<div>\n<p>a</p>", "<p>a</p>");
    world.edit("a/one.html", "<p>c</p>\n</div>\n", "<p>c</p>\n");
    theirs(
        &world,
        one,
        "<div>\n<p>a</p>\n<p>b</p>\n<p>c</p>\n</div>\n<p>d</p>\n<div><p>e</p></div>",
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), ["merge both a/one.html done"]);
    let (world, one) = self::world().await;
    theirs(
        &world,
        one,
        "<ul>\n<li>a</li>\n<li>b</li>\n<li>c</li>\n</ul>\n<p>d</p>",
    );
    world.sync().await;
    let before = on_service(&world, one);
    world.edit("a/one.html", "<ul>\n<li>a</li>", "<li>a</li>");
    world.edit("a/one.html", "<li>c</li>\n</ul>", "<li>c</li>");
    theirs(
        &world,
        one,
        &before.replace("<li>b</li>", "<li>b\n</ul>\n<ul>\n<li>b2</li>"),
    );
    let report = world.sync().await;
    assert_conflict(&report);
    assert!(world.read("a/one.html").contains("---\n<li>a</li>"));
}

#[tokio::test]
async fn two_insertions_at_one_spot_are_a_conflict_and_neighbours_are_not() {
    let (world, one) = world().await;
    world.edit("a/one.html", "<p>One.</p>", "<p>One.</p><p>mine</p>");
    theirs(&world, one, "<p>One.</p><p>theirs</p><p>Two.</p>");
    assert_conflict(&world.sync().await);
    let (world, one) = self::world().await;
    world.edit("a/one.html", "<p>Two.</p>", "<p>Two.</p><p>mine</p>");
    theirs(&world, one, "<p>theirs</p><p>One.</p><p>Two.</p>");
    assert_eq!(lines(&world.sync().await), ["merge both a/one.html done"]);
    assert_eq!(
        on_service(&world, one),
        "<p>theirs</p><p>One.</p><p>Two.</p><p>mine</p>"
    );
}

#[tokio::test]
async fn pull_merges_into_the_file_and_leaves_the_sending_to_a_later_push() {
    let (world, one) = world().await;
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(&world, one, "<p>One.</p><p>Two, theirs.</p>");
    let merged = "<p>One, mine.</p><p>Two, theirs.</p>";
    let report = world.push().await;
    assert_eq!(lines(&report), ["merge both a/one.html held"]);
    assert_eq!((report.requests.put, report.outcome.number()), (0, 3));
    let report = world.pull().await;
    assert_eq!(report.requests.put, 0);
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert!(
        world
            .read("a/one.html")
            .ends_with(&format!("---\n{merged}\n"))
    );
    assert_eq!(lines(&world.pull().await), Vec::<String>::new());
    let report = world.push().await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
    assert_eq!(on_service(&world, one), merged);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn push_shows_no_copy_and_pull_does() {
    let (world, one) = world().await;
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(&world, one, THEIRS);
    let report = world.push().await;
    assert_conflict(&report);
    assert!(!world.exists(COPY));
    let report = world
        .run(&CycleRequest {
            dry_run: true,
            ..CycleRequest::new(Direction::Pull)
        })
        .await;
    assert_conflict(&report);
    assert!(!world.exists(COPY), "a dry run writes nothing");
    assert_conflict(&world.pull().await);
    assert!(world.exists(COPY));
}

#[tokio::test]
async fn f058_renamed_on_both_sides_is_a_conflict_about_the_address_alone() {
    let (world, one) = world().await;
    world.rename("a/one.html", "a/uno.html");
    world.sandbox().edit(one, |article| {
        article.slug = "eins".into();
        article.text = THEIRS.into();
    });
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/uno.html held"]);
    assert_eq!(report.requests.put, 0);
    assert!(world.read("a/uno.conflict.html").contains("slug: eins"));
    let report = world.run(&resolve(&world, one, Keep::Local)).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    let article = world.sandbox().article(one).expect("there");
    assert_eq!(article.slug, "uno");
    assert!(!world.exists("a/uno.conflict.html"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_file_that_comes_to_say_what_the_service_says_ends_the_conflict() {
    let (world, one) = in_conflict().await;
    world.edit("a/one.html", MINE, THEIRS);
    let report = world.sync().await;
    assert_eq!(report.requests.total, 1);
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(on_service(&world, one), THEIRS);
    assert!(!world.exists(COPY));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_file_in_conflict_that_is_removed_waits_until_its_copy_goes_too() {
    let (world, one) = in_conflict().await;
    world.remove("a/one.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/one.html held"]);
    assert_eq!(report.requests.delete, 0);
    assert!(world.sandbox().article(one).is_some());
    world.remove(COPY);
    assert_eq!(
        lines(&world.sync().await),
        ["restore local a/one.html done"]
    );
    assert!(
        world
            .read("a/one.html")
            .ends_with(&format!("---\n{THEIRS}\n"))
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_conflict_whose_article_is_deleted_keeps_the_writers_file() {
    let (world, one) = in_conflict().await;
    world.sandbox().remove(one);
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(lines(&report), ["conflict both a/one.html held"]);
        assert!(world.read("a/one.html").contains(MINE));
    }
    let report = world.run(&resolve(&world, one, Keep::Local)).await;
    assert_eq!(lines(&report), ["create remote a/one.html done"]);
    assert!(!world.exists(COPY));
    assert!(
        world
            .sandbox()
            .articles()
            .iter()
            .any(|article| article.text == MINE)
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f067_line_ends_are_no_conflict_and_crlf_files_stay_crlf() {
    let (world, one) = world().await;
    theirs(&world, one, "<p>One.</p>\n<p>Two.</p>\n<p>Three.</p>");
    world.sync().await;
    world.write(
        "a/one.html",
        &world.read("a/one.html").replace('\n', "\r\n"),
    );
    let report = world.sync().await;
    assert_eq!((lines(&report).len(), report.requests.put), (0, 0));
    theirs(
        &world,
        one,
        "<p>One.</p>\n<p>Two, theirs.</p>\n<p>Three.</p>",
    );
    assert_eq!(lines(&world.sync().await), ["update local a/one.html done"]);
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    theirs(
        &world,
        one,
        "<p>One.</p>\n<p>Two, theirs.</p>\n<p>Three, theirs.</p>",
    );
    assert_eq!(lines(&world.sync().await), ["merge both a/one.html done"]);
    let file = world.read("a/one.html");
    assert_eq!(
        file.matches('\n').count(),
        file.matches("\r\n").count(),
        "{file:?}"
    );
    assert_eq!(
        on_service(&world, one),
        "<p>One, mine.</p>\n<p>Two, theirs.</p>\n<p>Three, theirs.</p>"
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_category_that_both_sides_renamed_waits_and_its_articles_do_not() {
    let (world, one) = world().await;
    let a = world.sandbox().categories()[0].id;
    world.edit("a/_category.yaml", "name: a", "name: Mine");
    world.sandbox().edit_category(a, |category| {
        category.name = "Theirs".into();
        category.description = Some("Their words".into());
    });
    world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
    world.clock.advance(std::time::Duration::from_mins(1));
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    assert_eq!(world.sandbox().categories()[0].name, "Theirs");
    assert!(world.read("a/_category.yaml").contains("name: Mine"));
    assert_eq!(on_service(&world, one), MINE);
    let mut request = both();
    request.prefer = Some(OnConflict::Local);
    let report = world.run(&request).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    let category = &world.sandbox().categories()[0];
    assert_eq!(
        (category.name.as_str(), category.description.as_deref()),
        ("Mine", Some("Their words"))
    );
    assert!(world.read("a/_category.yaml").contains("Their words"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_folder_that_is_renamed_with_a_conflict_in_it_settles_nothing() {
    for here in [true, false] {
        let (world, one) = in_conflict().await;
        if here {
            world.rename("a", "alpha");
        } else {
            let a = world.sandbox().categories()[0].id;
            world.sandbox().rename_category(a, "A", "alpha");
        }
        world.clock.advance(std::time::Duration::from_hours(24));
        for _ in 0..2 {
            let report = world.sync().await;
            assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
            assert_eq!(on_service(&world, one), THEIRS);
            assert_eq!(
                articles(&world),
                [
                    "alpha/one.conflict.html",
                    "alpha/one.html",
                    "alpha/two.html"
                ]
            );
        }
        world.remove("alpha/one.conflict.html");
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
        assert_eq!(on_service(&world, one), MINE);
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn a_file_that_took_the_name_of_one_in_conflict_gets_a_copy_of_its_own() {
    let (world, one) = in_conflict().await;
    let two = world.sandbox().articles();
    let two = two.iter().find(|article| article.id != one);
    let two = two.expect("there").id;
    world.rename("a/one.html", "a/uno.html");
    world.rename("a/two.html", "a/one.html");
    world.edit("a/one.html", "<p>2</p>", "<p>2, mine.</p>");
    theirs(&world, two, "<p>2, theirs.</p>");
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
        assert_eq!(on_service(&world, one), THEIRS);
        assert_eq!(on_service(&world, two), "<p>2, theirs.</p>");
    }
    let copies: Vec<String> = articles(&world)
        .into_iter()
        .filter(|path| path.ends_with(".conflict.html"))
        .collect();
    assert_eq!(copies.len(), 2, "{copies:?}");
    // A settlement settles one conflict only.
    world.run(&resolve(&world, one, Keep::Local)).await;
    let report = world.sync().await;
    assert_eq!(on_service(&world, one), MINE);
    assert_eq!(on_service(&world, two), "<p>2, theirs.</p>");
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    world.run(&resolve(&world, two, Keep::Local)).await;
    assert_eq!(on_service(&world, two), "<p>2, mine.</p>");
    let left = articles(&world);
    assert!(
        left.iter().all(|path| !path.ends_with(".conflict.html")),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_file_that_moves_to_another_folder_takes_its_conflict_along() {
    let (world, one) = in_conflict().await;
    let b = world.category("b");
    world.article(b, "three", "<p>3</p>");
    world.sync().await;
    world.rename("a/one.html", "b/uno.html");
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
        assert_eq!(report.requests.put, 0);
        assert_eq!(on_service(&world, one), THEIRS);
    }
    let report = world.run(&resolve(&world, one, Keep::Local)).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    let article = world.sandbox().article(one).expect("there");
    assert_eq!(
        (
            article.text.as_str(),
            article.slug.as_str(),
            article.category_id
        ),
        (MINE, "uno", b)
    );
    assert_eq!(
        articles(&world),
        ["a/two.html", "b/three.html", "b/uno.html"]
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn keep_local_creates_a_deleted_article_anew_even_when_the_edit_was_undone() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>One.</p>");
    world.article(a, "two", "<p>Two.</p>");
    world.sync().await;
    world.edit("a/one.html", "One.", "One, edited.");
    world.sandbox().remove(one);
    assert_eq!(world.sync().await.outcome.number(), 3);
    world.edit("a/one.html", "One, edited.", "One.");
    world.run(&resolve(&world, one, Keep::Local)).await;
    assert!(world.read("a/one.html").contains("<p>One.</p>"));
    let again = world.sandbox().articles();
    assert!(
        again.iter().any(|article| article.slug == "one"),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_conflict_of_which_nothing_is_left_is_over() {
    let (world, _, _) = World::start(&[("a", "<p>A</p>"), ("b", "<p>B</p>")]).await;
    let text = world.read("start/a.html");
    world.remove("start/a.html");
    world.sync().await;
    // The file comes back with the id of a deleted article.
    world.write("start/a.html", &text);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/a.html held"]);
    world.remove("start/a.html");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{report:#?}");
    let store = crate::support::hostile::store(&world);
    assert_eq!(store.conflicts().expect("a state"), []);
    world.is_quiet().await;
}
