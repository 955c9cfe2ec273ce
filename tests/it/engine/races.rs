//! Two people and kbsync at the same time: colleagues who edit between our guard read and our write, and writers who
//! save while a cycle runs (failures rows 23, 34, 51, 80).

use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher, RetryAfter};
use crate::support::hostile::{self, Meddler, Stage};
use crate::support::look::{assert_quiet, both, history, kept, let_stamps_settle, requests, row};
use crate::support::wire::preferring;
use crate::support::world::{World, lines};
use kbsync::engine::report::Report;
use kbsync::engine::settings::CycleRequest;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::{CategoryId, ExitCode, Side};
use kbsync::reconcile::snapshot::OnConflict;
use kbsync::sandbox::Sandbox;
use kbsync::state::Subject;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use uuid::Uuid;

async fn articles(count: usize) -> (Stage, Uuid, Vec<Uuid>) {
    let world = hostile::world().await;
    let category = world.category("a");
    let ids = (0..count)
        .map(|number| world.article(category, &format!("n{number}"), &format!("<p>{number}</p>")))
        .collect();
    hostile::sync(&world).await;
    requests(&world);
    (world, category, ids)
}

fn text_of(world: &Stage, id: Uuid) -> String {
    world.sandbox().article(id).expect("there").text
}

/// Runs `then` when such a request arrives, before it is carried out.
fn when(world: &Stage, method: &str, path: &str, then: impl Fn(&Sandbox) + Send + Sync + 'static) {
    world.sandbox().inject(Fault::once(
        Matcher::new(method, path),
        FaultKind::Hook(Hook::new(then)),
    ));
}

/// Runs `then` when such a request has been carried out, before its response is sent.
fn after(world: &Stage, method: &str, path: &str, then: impl Fn(&Sandbox) + Send + Sync + 'static) {
    world.sandbox().inject(Fault::once(
        Matcher::new(method, path),
        FaultKind::HookAfter(Hook::new(then)),
    ));
}

/// An editor's save in place.
fn save(path: PathBuf, from: &'static str, to: &'static str) -> impl Fn(&Sandbox) + Send + Sync {
    move |_| {
        let before = std::fs::read_to_string(&path).expect("read");
        assert!(before.contains(from), "{before}");
        std::fs::write(&path, before.replacen(from, to, 1)).expect("written");
    }
}

fn theirs(id: Uuid) -> impl Fn(&Sandbox) + Send + Sync {
    move |sandbox: &Sandbox| {
        sandbox.edit(id, |article| article.text = "<p>theirs</p>".into());
    }
}

async fn assert_settled(world: &Stage) {
    let report = hostile::sync(world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert_eq!(lines(&report), Vec::<String>::new());
    assert_quiet(world, 1).await;
}

fn why(report: &Report, path: &str) -> String {
    let line = report.actions.iter().find(|line| line.path == path);
    line.and_then(|line| line.reason.clone())
        .unwrap_or_default()
}

const LISTING: &str = "/api/base/*/articles";

#[tokio::test]
async fn f034_with_a_window_of_nothing_an_edit_between_listing_and_put_is_seen() {
    let (mut world, _, ids) = articles(2).await;
    world.settings.guard_window = Duration::ZERO;
    world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
    world.edit("a/n1.html", "<p>1</p>", "<p>mine</p>");
    when(&world, "GET", "/api/article/", theirs(ids[0]));
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        [
            "update remote a/n0.html skipped",
            "update remote a/n1.html done"
        ]
    );
    assert!(why(&report, "a/n0.html").contains("changed on the service since it was read"));
    assert_eq!(report.outcome.number(), 5);
    assert_eq!(text_of(&world, ids[0]), "<p>theirs</p>");
    assert!(
        kept(&world, ids[0], "<p>theirs</p>"),
        "what was seen is in the history"
    );
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["conflict both a/n0.html held"]);
    assert_eq!(text_of(&world, ids[0]), "<p>theirs</p>");
}

/// A colleague edits another field of an article before each of its next reads, so many times.
fn colleague_saves(world: &Stage, id: Uuid, times: u32) {
    let edit = move |sandbox: &Sandbox| {
        sandbox.edit(id, |article| {
            article.keywords.get_or_insert_default().push('k');
        });
    };
    let hook = FaultKind::Hook(Hook::new(edit));
    let fault = Fault::once(Matcher::new("GET", "/api/article/"), hook);
    world.sandbox().inject(fault.times(times));
}

#[tokio::test]
async fn f034_a_command_looks_again_at_what_a_colleague_saved_meanwhile() {
    for (saves, ending) in [(1, ExitCode::Done), (u32::MAX, ExitCode::Retry)] {
        let (mut world, _, ids) = articles(2).await;
        world.settings.guard_window = Duration::ZERO;
        world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
        world.edit("a/n1.html", "<p>1</p>", "<p>mine</p>");
        colleague_saves(&world, ids[0], saves);
        let mut engine = hostile::engine(&world, &hostile::calm());
        let report = engine.cycle_until_settled(&both()).await.expect("a cycle");
        assert_eq!(report.outcome, ending, "{saves} saves: {report:#?}");
        let told = |path: &str| {
            report
                .actions
                .iter()
                .filter(|line| line.path == path)
                .count()
        };
        assert_eq!(
            (told("a/n0.html"), told("a/n1.html")),
            (1, 1),
            "{report:#?}"
        );
        assert!(!report.coverage.is_partial, "the whole was looked at");
        let article = world.sandbox().article(ids[0]).expect("there");
        let sent = article.text == "<p>mine</p>";
        assert_eq!(sent, ending == ExitCode::Done, "{saves} saves");
        assert!(
            article
                .keywords
                .is_some_and(|keywords| keywords.starts_with('k'))
        );
    }
}

#[tokio::test]
async fn f034_a_command_looks_again_at_an_article_that_a_colleague_deleted_meanwhile() {
    // The guard read, and the PUT itself, do not find the article.
    for (window, method) in [(Duration::ZERO, "GET"), (Duration::from_secs(15), "PUT")] {
        let (mut world, _, ids) = articles(2).await;
        world.settings.guard_window = window;
        world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
        let id = ids[0];
        let path = format!("/api/article/{id}");
        when(&world, method, &path, move |sandbox| {
            drop(sandbox.remove(id));
        });
        let mut engine = hostile::engine(&world, &hostile::calm());
        let report = engine.cycle_until_settled(&both()).await.expect("a cycle");
        assert_eq!(lines(&report), ["conflict both a/n0.html held"], "{method}");
        assert_eq!(report.outcome.number(), 3, "{method}: {report:#?}");
        assert!(world.read("a/n0.html").contains("<p>mine</p>"), "{method}");
    }
}

/// After a power loss, an older text in a file would count as an edit of the version that its row has.
#[tokio::test]
async fn a_saved_file_is_durable_before_a_row_vouches_for_it() {
    for (file, from, to, agreed) in [
        ("a/n0.html", "<p>0</p>", "<p>mine</p>", false),
        ("a/n0.html", "<p>0</p>", "<p>theirs</p>", true),
        ("a/_category.yaml", "name: a", "name: mine", false),
    ] {
        let (world, _, ids) = articles(1).await;
        if agreed {
            theirs(ids[0])(world.sandbox());
        }
        world.edit(file, from, to);
        let broken: Meddler = Arc::new(move |moment| match moment.doing {
            "sync file" if moment.what == file => Err(DiskErrorKind::Other),
            _ => Ok(()),
        });
        for _ in 0..2 {
            world.sandbox().clear_requests();
            let report = hostile::sync_with(&world, &broken).await;
            assert_eq!(report.outcome, ExitCode::Partial, "{to}: {report:#?}");
            let mut requests = world.sandbox().requests().into_iter();
            assert!(requests.all(|request| request.method == "GET"), "{to}");
        }
        hostile::sync(&world).await;
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f034_the_merged_file_is_durable_before_the_read_that_precedes_its_put() {
    let (mut world, _, ids) = articles(1).await;
    world.settings.guard_window = Duration::ZERO;
    world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
    let id = ids[0];
    world
        .sandbox()
        .edit(id, |article| article.title = "Theirs".to_owned());
    let file = world.path("a/n0.html");
    let merged = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&merged);
    when(&world, "GET", "/api/article/", move |_| {
        let text = std::fs::read_to_string(&file).expect("read");
        seen.store(
            text.contains("mine") && text.contains("Theirs"),
            Ordering::Relaxed,
        );
    });
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert!(
        merged.load(Ordering::Relaxed),
        "nothing slow follows the read"
    );
    assert_eq!(text_of(&world, id), "<p>mine</p>");
    assert_settled(&world).await;
}

#[tokio::test]
async fn f051_a_file_that_comes_back_during_the_read_of_a_second_try_is_not_deleted() {
    let (mut world, _, ids) = articles(2).await;
    world.settings.guard_window = Duration::ZERO;
    let path = world.path("a/n0.html");
    let bytes = std::fs::read(&path).expect("read");
    world.remove("a/n0.html");
    world.sandbox().inject(Fault::once(
        Matcher::new("DELETE", "/api/article/"),
        FaultKind::RateLimited {
            retry_after: Some(RetryAfter::Seconds(0)),
        },
    ));
    let reads = AtomicU32::new(0);
    let back = move |_: &Sandbox| {
        if reads.fetch_add(1, Ordering::Relaxed) == 1 {
            std::fs::write(&path, &bytes).expect("written");
        }
    };
    world.sandbox().inject(
        Fault::once(
            Matcher::new("GET", "/api/article/"),
            FaultKind::Hook(Hook::new(back)),
        )
        .times(2),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/n0.html skipped"]);
    assert!(why(&report, "a/n0.html").contains("its file is there again"));
    assert_eq!(text_of(&world, ids[0]), "<p>0</p>");
    assert_settled(&world).await;
}

#[tokio::test]
async fn f034_the_same_before_a_delete() {
    let (mut world, _, ids) = articles(2).await;
    world.settings.guard_window = Duration::ZERO;
    world.remove("a/n0.html");
    when(&world, "GET", "/api/article/", theirs(ids[0]));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/n0.html skipped"]);
    assert_eq!(text_of(&world, ids[0]), "<p>theirs</p>");
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["restore local a/n0.html done"]);
    assert_settled(&world).await;
}

#[tokio::test]
async fn f034_a_colleagues_edit_of_another_field_in_the_instant_of_our_put_is_pulled_next_time() {
    let (world, _, ids) = articles(2).await;
    let id = ids[0];
    world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
    when(&world, "PUT", "/api/article/", move |sandbox| {
        sandbox.edit(id, |article| article.title = "Theirs".into());
    });
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update remote a/n0.html done"]);
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        ["update local a/n0.html done"],
        "{report:#?}"
    );
    assert!(world.read("a/n0.html").contains("title: Theirs"));
    let article = world.sandbox().article(id).expect("there");
    assert_eq!(
        (article.title.as_str(), article.text.as_str()),
        ("Theirs", "<p>mine</p>")
    );
    assert_settled(&world).await;
}

#[tokio::test]
async fn f034_the_same_where_listings_carry_no_bodies() {
    let (world, _, ids) = articles(2).await;
    world.sandbox().habits().bodies = false;
    let id = ids[0];
    world.edit("a/n0.html", "title: n0", "title: Mine");
    when(&world, "PUT", "/api/article/", theirs(id));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update remote a/n0.html done"]);
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        ["update local a/n0.html done"],
        "{report:#?}"
    );
    assert!(world.read("a/n0.html").contains("<p>theirs</p>"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn f034_within_the_window_what_is_overwritten_was_never_seen_and_the_rest_is_kept() {
    // The remaining risk: the API has no conditional write.
    let (world, _, ids) = articles(1).await;
    world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
    when(&world, "PUT", "/api/article/", theirs(ids[0]));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update remote a/n0.html done"]);
    assert_eq!(text_of(&world, ids[0]), "<p>mine</p>");
    assert!(kept(&world, ids[0], "<p>0</p>"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn edits_within_the_window_cost_one_request_each_and_one_more() {
    let (world, _, _) = articles(8).await;
    for number in 0..8 {
        world.edit(&format!("a/n{number}.html"), "</p>", ", mine</p>");
    }
    let report = hostile::sync(&world).await;
    assert_eq!((report.requests.total, report.requests.put), (9, 8));
    assert_settled(&world).await;
}

#[tokio::test]
async fn once_the_window_is_over_changed_articles_are_skipped_whatever_looking_again_showed() {
    let (mut world, _, ids) = articles(6).await;
    world.settings.guard_window = Duration::from_micros(1);
    for number in 0..6 {
        world.edit(&format!("a/n{number}.html"), "</p>", ", mine</p>");
    }
    let (changed, hidden, gone) = (ids[2], ids[3], ids[4]);
    world.sandbox().inject(
        Fault::once(
            Matcher::new("GET", LISTING),
            FaultKind::Hook(Hook::new(move |sandbox| {
                theirs(changed)(sandbox);
                sandbox.unpublish(hidden);
                sandbox.remove(gone);
            })),
        )
        .after(1),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        [
            "update remote a/n0.html done",
            "update remote a/n1.html done",
            "update remote a/n2.html skipped",
            "update remote a/n3.html skipped",
            "update remote a/n4.html skipped",
            "update remote a/n5.html done"
        ]
    );
    assert_eq!(text_of(&world, changed), "<p>theirs</p>");
    assert_eq!(text_of(&world, hidden), "<p>3</p>");
    assert!(kept(&world, changed, "<p>theirs</p>"));
    // The window is over after each request: one more listing, too old as well, then one GET for each article.
    assert_eq!(
        (report.requests.put, report.requests.get),
        (3, 2 + 6),
        "{report:#?}"
    );
}

#[tokio::test]
async fn looking_again_is_one_listing_for_all_that_still_wait() {
    let (mut world, _, ids) = articles(6).await;
    world.settings.guard_window = Duration::from_secs(3);
    for number in 0..6 {
        world.edit(&format!("a/n{number}.html"), "</p>", ", mine</p>");
    }
    // The first PUT takes longer than the window.
    world.sandbox().inject(Fault::once(
        Matcher::new("PUT", "/api/article/"),
        FaultKind::Latency(Duration::from_millis(3_010)),
    ));
    let changed = ids[4];
    world.sandbox().inject(
        Fault::once(
            Matcher::new("GET", LISTING),
            FaultKind::Hook(Hook::new(theirs(changed))),
        )
        .after(1),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(report.requests.get, 2, "{report:#?}");
    assert_eq!(report.requests.put, 5);
    assert_eq!(text_of(&world, changed), "<p>theirs</p>");
    assert!(why(&report, "a/n4.html").contains("changed on the service"));
}

#[tokio::test]
async fn f080_a_file_that_is_saved_between_scan_and_write_waits_and_then_merges() {
    let (world, _, ids) = articles(1).await;
    let text = "<p>first</p>\n<p>middle</p>\n<p>last</p>";
    world
        .sandbox()
        .edit(ids[0], |article| article.text = text.into());
    hostile::sync(&world).await;
    world.sandbox().edit(ids[0], |article| {
        article.text = text.replace("last", "their last");
    });
    when(
        &world,
        "GET",
        LISTING,
        save(world.path("a/n0.html"), "first", "my first"),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update local a/n0.html skipped"]);
    assert_eq!(
        why(&report, "a/n0.html"),
        "the file changed during the cycle"
    );
    assert_eq!(report.outcome.number(), 5);
    assert!(world.read("a/n0.html").contains("my first"));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["merge both a/n0.html done"]);
    let merged = "<p>my first</p>\n<p>middle</p>\n<p>their last</p>";
    assert_eq!(text_of(&world, ids[0]), merged);
    assert!(world.read("a/n0.html").contains(merged));
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_slug_line_that_is_removed_between_scan_and_write_stays_removed() {
    let (world, _, ids) = articles(1).await;
    world.edit("a/n0.html", "title:", "slug: other\ntitle:");
    hostile::sync(&world).await;
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>theirs</p>".into());
    let path = world.path("a/n0.html");
    when(&world, "GET", LISTING, save(path, "slug: other\n", ""));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update local a/n0.html skipped"]);
    assert!(!world.read("a/n0.html").contains("slug:"));
    hostile::sync(&world).await;
    assert_eq!(world.sandbox().article(ids[0]).expect("there").slug, "n0");
    assert_settled(&world).await;
}

#[tokio::test]
async fn f080_every_kind_of_save_in_that_instant_is_kept() {
    for (from, to, waits) in [
        ("title: n0", "title: Mine", true),
        ("title: n0", "title: n0\nenabled: false", true),
        ("<p>0</p>", "<p>mine</p>", true),
        ("<p>0</p>", "<p>9</p>", true),
        // These edits change nothing for the service: they stay, and the file is written around them.
        ("title: n0", "title: n0 # a comment", false),
        ("title: n0", "title: n0\nowner: me", false),
    ] {
        let (world, _, ids) = articles(1).await;
        theirs(ids[0])(world.sandbox());
        let save = save(world.path("a/n0.html"), from, to);
        when(&world, "GET", LISTING, save);
        let report = hostile::sync(&world).await;
        let status = if waits { "skipped" } else { "done" };
        assert_eq!(
            lines(&report),
            [format!("update local a/n0.html {status}")],
            "{to}"
        );
        let file = world.read("a/n0.html");
        assert!(
            file.contains(to) && file.contains("theirs") != waits,
            "{file}"
        );
        hostile::sync(&world).await;
        let file = world.read("a/n0.html");
        assert!(file.contains(to), "{file}");
    }
}

#[tokio::test]
async fn f080_a_file_that_appears_where_one_is_to_be_written_stays() {
    let (world, category, _) = articles(1).await;
    world.article(category, "fresh", "<p>theirs</p>");
    let path = world.path("a/fresh.html");
    when(&world, "GET", LISTING, move |_| {
        std::fs::write(&path, "---\ntitle: Mine\n---\n<p>mine</p>\n").expect("written");
    });
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["create local a/fresh.html skipped"]);
    assert!(world.read("a/fresh.html").contains("<p>mine</p>"));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["conflict both a/fresh.html held"]);
    assert!(world.read("a/fresh.html").contains("<p>mine</p>"));
    assert!(
        world
            .read("a/fresh.conflict.html")
            .contains("<p>theirs</p>")
    );
}

#[tokio::test]
async fn f080_a_file_that_is_saved_before_it_is_removed_stays() {
    let (world, _, ids) = articles(5).await;
    world.sandbox().remove(ids[0]);
    when(
        &world,
        "GET",
        LISTING,
        save(world.path("a/n0.html"), "<p>0</p>", "<p>mine</p>"),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete local a/n0.html skipped"]);
    assert!(world.read("a/n0.html").contains("<p>mine</p>"));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["conflict both a/n0.html held"]);
    assert!(world.read("a/n0.html").contains("<p>mine</p>"));
}

#[tokio::test]
async fn a_file_that_is_saved_while_its_put_is_on_the_way_is_pushed_next_time() {
    for to in ["<p>mine, too</p>", "<p>mimi</p>"] {
        let (world, _, ids) = articles(1).await;
        world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
        when(
            &world,
            "PUT",
            "/api/article/",
            save(world.path("a/n0.html"), "<p>mine</p>", to),
        );
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["update remote a/n0.html done"]);
        assert_eq!(text_of(&world, ids[0]), "<p>mine</p>");
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["update remote a/n0.html done"], "{to}");
        assert_eq!(text_of(&world, ids[0]), to);
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn a_merged_file_that_is_saved_while_its_put_is_on_the_way_is_pushed_next_time() {
    let (world, _, ids) = articles(1).await;
    world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
    world
        .sandbox()
        .edit(ids[0], |article| article.title = "Theirs".into());
    // The save has the same length, so only the stamp can show it.
    when(
        &world,
        "PUT",
        "/api/article/",
        save(world.path("a/n0.html"), "<p>mine</p>", "<p>mimi</p>"),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["merge both a/n0.html done"]);
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        ["update remote a/n0.html done"],
        "{report:#?}"
    );
    assert_eq!(text_of(&world, ids[0]), "<p>mimi</p>");
    assert_settled(&world).await;
}

#[tokio::test]
async fn f051_a_file_that_is_there_again_before_its_delete_keeps_its_article() {
    let (world, _, ids) = articles(2).await;
    let content = world.read("a/n0.html");
    world.remove("a/n0.html");
    let path = world.path("a/n0.html");
    when(&world, "GET", LISTING, move |_| {
        std::fs::write(&path, &content).expect("written");
    });
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/n0.html skipped"]);
    assert_eq!(why(&report, "a/n0.html"), "its file is there again");
    assert!(world.sandbox().article(ids[0]).is_some());
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_new_file_that_is_saved_while_its_post_is_on_the_way_gets_its_id_and_is_pushed_next_time()
{
    for (from, to) in [
        ("<p>new</p>", "<p>newer</p>"),
        ("<p>new</p>", "<p>wen</p>"),
        ("title: New", "title: Newer"),
        ("title: New", "title: New\nkeywords: added"),
        ("title: New", "title: New\nenabled: false"),
    ] {
        let (world, ..) = articles(1).await;
        world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
        after(
            &world,
            "POST",
            "/api/article",
            save(world.path("a/new.html"), from, to),
        );
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["create remote a/new.html done"]);
        let new = world.sandbox().articles().pop().expect("there");
        assert_eq!(
            (new.title.as_str(), new.text.as_str()),
            ("New", "<p>new</p>")
        );
        let file = world.read("a/new.html");
        assert!(
            file.contains(&new.id.to_string()) && file.contains(to),
            "{file}"
        );
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["update remote a/new.html done"], "{to}");
        assert_eq!(world.sandbox().articles().len(), 2);
        assert!(world.read("a/new.html").contains(to));
        let new = world.sandbox().article(new.id).expect("there");
        let says = format!(
            "{}\ntitle: {}\nkeywords: {}\nenabled: {}",
            new.text,
            new.title,
            new.keywords.unwrap_or_default(),
            new.enabled
        );
        let added = to.lines().last().expect("a line");
        assert!(says.contains(added), "{says}");
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn a_new_file_that_is_removed_while_its_post_is_on_the_way_comes_back() {
    let (world, ..) = articles(3).await;
    world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
    let path = world.path("a/new.html");
    after(&world, "POST", "/api/article", move |_| {
        std::fs::remove_file(&path).expect("removed");
    });
    hostile::sync(&world).await;
    assert_eq!(world.sandbox().articles().len(), 4);
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        ["create local a/new.html done"],
        "{report:#?}"
    );
    assert_eq!(world.sandbox().articles().len(), 4);
    assert!(world.read("a/new.html").contains("<p>new</p>"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_file_that_is_removed_before_it_is_rewritten_is_restored_by_the_next_cycle() {
    let (world, _, ids) = articles(2).await;
    theirs(ids[0])(world.sandbox());
    let path = world.path("a/n0.html");
    when(&world, "GET", LISTING, move |_| {
        std::fs::remove_file(&path).expect("removed");
    });
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update local a/n0.html skipped"]);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["restore local a/n0.html done"]);
    assert!(world.read("a/n0.html").contains("theirs"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn f023_an_edit_of_ours_while_a_listing_is_on_its_way_is_not_taken_back() {
    let (world, _, ids) = articles(1).await;
    world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
    hostile::sync(&world).await;
    // The next listing is stale: it was made before our PUT.
    let mine = world.sandbox().article(ids[0]).expect("there");
    let mut old = mine.clone();
    old.text = "<p>0</p>".into();
    old.updated_at = old.created_at;
    world.sandbox().restore(old);
    world.sandbox().serve_past(&world.sandbox().snapshot(), 1);
    world.sandbox().restore(mine);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new(), "{report:#?}");
    assert!(world.read("a/n0.html").contains("<p>mine</p>"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_merge_is_told_once_and_every_version_of_it_is_in_the_history() {
    let (world, _, ids) = articles(1).await;
    let text = "<p>first</p>\n<p>middle</p>\n<p>last</p>";
    world
        .sandbox()
        .edit(ids[0], |article| article.text = text.into());
    hostile::sync(&world).await;
    world.edit("a/n0.html", "first", "my first");
    world.sandbox().edit(ids[0], |article| {
        article.text = text.replace("last", "their last");
    });
    let store = hostile::store(&world);
    let before = store.events(100, None).expect("read").len();
    drop(store);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["merge both a/n0.html done"]);
    let store = hostile::store(&world);
    let events = store.events(100, None).expect("read");
    let told: Vec<_> = events[..events.len() - before]
        .iter()
        .map(|event| event.deed.action.as_str())
        .collect();
    assert_eq!(told, ["merge"]);
    drop(store);
    let texts = history(&world, ids[0]);
    let has = |side, text: &str| {
        texts
            .iter()
            .any(|(one, body)| (*one, body.as_str()) == (side, text))
    };
    assert!(has(
        Side::Local,
        "<p>my first</p>\n<p>middle</p>\n<p>last</p>"
    ));
    assert!(has(
        Side::Remote,
        "<p>first</p>\n<p>middle</p>\n<p>their last</p>"
    ));
    assert!(has(
        Side::Both,
        "<p>my first</p>\n<p>middle</p>\n<p>their last</p>"
    ));
    assert!(
        !has(Side::Both, "<p>first</p>\n<p>middle</p>\n<p>their last</p>"),
        "that was never agreed on"
    );
}

#[tokio::test]
async fn a_stamp_that_is_recorded_is_that_of_the_file_as_it_is() {
    let (world, category, ids) = articles(3).await;
    world.edit("a/n0.html", "<p>0</p>", "<p>mine</p>");
    theirs(ids[1])(world.sandbox());
    world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
    world.article(category, "arrived", "<p>arrived</p>");
    world.rename("a/n2.html", "a/renamed.html");
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done);
    let_stamps_settle(&world).await;
    for article in world.sandbox().articles() {
        let row = row(&world, article.id).expect("a row");
        let stamp = row.stamp.expect("a stamp that may be trusted");
        let meta = std::fs::metadata(world.path(&row.place.to_string())).expect("there");
        let nanos = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
        assert_eq!(
            (stamp.size, stamp.mtime, stamp.ctime, stamp.inode),
            (
                meta.size(),
                nanos(meta.mtime(), meta.mtime_nsec()),
                nanos(meta.ctime(), meta.ctime_nsec()),
                meta.ino()
            ),
            "{}",
            row.place
        );
    }
    assert_settled(&world).await;
}

#[tokio::test]
async fn an_edit_of_a_category_yaml_during_the_cycle_is_not_overwritten() {
    let (world, category, _) = articles(1).await;
    world.sandbox().edit_category(category, |category| {
        category.name = "Theirs".to_owned();
    });
    world.clock.advance(Duration::from_hours(25));
    let path = world.path("a/_category.yaml");
    when(
        &world,
        "GET",
        "/api/category/",
        save(path, "name: a\n", "name: a\ndescription: Mine\n"),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update-category local a skipped"]);
    assert!(why(&report, "a").contains("changed during the cycle"));
    assert!(
        world
            .read("a/_category.yaml")
            .contains("name: a\ndescription: Mine\n")
    );
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    let file = world.read("a/_category.yaml");
    assert!(file.contains("name: Theirs\ndescription: Mine\n"), "{file}");
    let service = world.sandbox().category(category).expect("there");
    assert_eq!(service.description.as_deref(), Some("Mine"));
    assert_settled(&world).await;
}

/// An editor is in the middle of a save when the folder is renamed: the `slug:` line is still the writer's old line,
/// and not a new wish.
#[tokio::test]
async fn a_category_yaml_that_is_half_saved_when_its_folder_is_renamed_takes_no_rename_back() {
    for half in [None, Some("<<<<<<< ours\nname: a\n=======\n>>>>>>>\n")] {
        let (world, category, _) = articles(1).await;
        let yaml = "_category.yaml";
        world.edit("a/_category.yaml", "name: a\n", "name: a\nslug: a\n");
        hostile::sync(&world).await;
        let file = world.read("a/_category.yaml");
        world.sandbox().edit_category(category, |category| {
            "b".clone_into(&mut category.slug);
        });
        world.clock.advance(Duration::from_hours(25));
        let folder = world.path("b");
        let halve: hostile::Meddler = Arc::new(move |moment| {
            if (moment.doing, moment.after) == ("rename folder", true) {
                match half {
                    Some(half) => std::fs::write(folder.join(yaml), half),
                    None => std::fs::remove_file(folder.join(yaml)),
                }
                .expect("saved");
            }
            Ok(())
        });
        let report = hostile::sync_with(&world, &halve).await;
        assert_eq!(lines(&report), ["update-category local b skipped"]);
        // The save is finished.
        world.write("b/_category.yaml", &file);
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["update-category local b done"]);
        assert_eq!(
            world.sandbox().category(category).expect("there").slug,
            "b",
            "{half:?}"
        );
        assert!(!world.read("b/_category.yaml").contains("slug: a\n"));
        assert_settled(&world).await;
    }
}

/// A file is read at its place after the renames of folders. If no folder is renamed, another article's file is there.
#[tokio::test]
async fn an_article_of_a_folder_that_was_not_renamed_is_not_read_from_another_articles_file() {
    let world = hostile::world().await;
    let mut categories = ["a", "b", "c"].map(|slug| (world.category(slug), slug));
    // Categories are planned by their ids: the first one frees its name for the second one.
    categories.sort();
    let [(one, a), (two, b), (three, c)] = categories;
    world.article(one, "n0", "<p>of one</p>");
    let leaving = world.article(two, "n0", "<p>of two</p>");
    world.article(three, "n1", "<p>of three</p>");
    hostile::sync(&world).await;
    let sandbox = world.sandbox();
    sandbox.edit_category(one, |category| "alpha".clone_into(&mut category.slug));
    sandbox.edit_category(two, |category| a.clone_into(&mut category.slug));
    sandbox.edit(leaving, |article| article.category_id = three);
    world.clock.advance(Duration::from_hours(25));
    for folder in [a, b] {
        let path = world.path(&format!("{folder}/_category.yaml"));
        when(
            &world,
            "GET",
            "/api/category/",
            save(path, "name: ", "name: My "),
        );
    }
    let report = hostile::sync(&world).await;
    let moved = format!("move local {c}/n0.html skipped");
    assert!(lines(&report).contains(&moved), "{report:#?}");
    assert!(
        world
            .read(&format!("{a}/n0.html"))
            .contains("<p>of one</p>")
    );
    assert!(
        world
            .read(&format!("{b}/n0.html"))
            .contains("<p>of two</p>")
    );
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert_eq!(report.requests.delete, 0);
    assert!(world.read("alpha/n0.html").contains("<p>of one</p>"));
    assert!(
        world
            .read(&format!("{c}/n0.html"))
            .contains("<p>of two</p>")
    );
    assert_settled(&world).await;
}

/// The name of a scene, the change before the cycle, and the paths in motion.
type Scene = (&'static str, fn(&Stage), &'static [&'static str]);

/// A path without a visible file (ignored, or gone a moment ago) and a path in motion did not take the new file's
/// place.
#[tokio::test]
async fn a_new_file_that_is_saved_while_it_is_sent_gets_its_id_whatever_else_cannot_be_looked_at() {
    let scenes: [Scene; 3] = [
        (
            "ignored",
            |world| {
                world.remove("a/n0.html");
                world.write(".kbsyncignore", "a/n0.html\n");
            },
            &[],
        ),
        (
            "gone a moment ago",
            |world| world.remove("a/n0.html"),
            &["a/n0.html"],
        ),
        (
            "in motion",
            |world| world.write("a/other.html", "---\ntitle: Other\n---\n<p>o</p>\n"),
            &["a/other.html"],
        ),
    ];
    for (what, prepare, in_motion) in scenes {
        let (world, ..) = articles(1).await;
        prepare(&world);
        world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
        let path = world.path("a/new.html");
        when(&world, "POST", "/api/article", save(path, "new", "newer"));
        let request = CycleRequest {
            in_motion: hostile::in_motion(in_motion),
            ..both()
        };
        let mut engine = hostile::engine(&world, &hostile::calm());
        let report = engine.cycle(&request).await.expect("a cycle");
        assert_eq!(lines(&report), ["create remote a/new.html done"], "{what}");
        let file = world.read("a/new.html");
        assert!(file.contains("\nid: "), "{what}: {file} {report:#?}");
        assert!(file.contains("newer"), "{what}: {file}");
    }
}

#[tokio::test]
async fn an_edit_of_a_category_yaml_while_its_category_is_created_is_not_overwritten() {
    let (world, ..) = articles(1).await;
    world.write("new/_category.yaml", "name: New\n");
    world.write("new/x.html", "---\ntitle: X\n---\nx\n");
    let path = world.path("new/_category.yaml");
    when(
        &world,
        "POST",
        "/api/category",
        save(path, "name: New\n", "name: Newer\n# mine\n"),
    );
    hostile::sync(&world).await;
    assert_eq!(world.read("new/_category.yaml"), "name: Newer\n# mine\n");
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    let file = world.read("new/_category.yaml");
    assert!(
        file.contains("id: ") && file.contains("name: Newer\n# mine\n"),
        "{file}"
    );
    let found = world.sandbox().categories();
    assert_eq!(
        found.iter().filter(|found| found.name == "Newer").count(),
        1
    );
    assert_settled(&world).await;
}

#[tokio::test]
async fn words_of_a_category_yaml_that_the_service_replaces_are_in_the_history() {
    let (world, category, _) = articles(1).await;
    world.edit("a/_category.yaml", "name: a\n", "name: Mine # for now\n");
    let mine = world.read("a/_category.yaml");
    world.sandbox().edit_category(category, |category| {
        category.name = "Theirs".to_owned();
    });
    world.clock.advance(Duration::from_hours(25));
    let report = world.run(&preferring(OnConflict::Remote)).await;
    assert_eq!(lines(&report), ["update-category local a done"]);
    assert!(world.read("a/_category.yaml").contains("name: Theirs"));
    let engine = world.engine();
    let subject = Subject::category(CategoryId::new(category));
    let kept = engine.store().versions(&subject).expect("a readable state");
    let known = kept.iter().any(|kept| {
        let file = kept.seen.file.expect("kept as a whole");
        engine
            .store()
            .body(file)
            .expect("a readable state")
            .as_deref()
            == Some(mine.as_str())
    });
    assert!(known, "{kept:#?}");
}

#[tokio::test]
async fn f083_a_file_read_within_a_tick_of_its_writing_is_read_again() {
    use kbsync::engine::Progress;
    use kbsync::engine::settings::CycleRequest;
    use kbsync::reconcile::snapshot::Direction;
    let (world, _, ids) = World::start(&[("one", "<p>One.</p>")]).await;
    let path = world.path("start/one.html");
    let young = std::time::SystemTime::now() + Duration::from_secs(10);
    let save = move |from: &str, to: &str| {
        let text = std::fs::read_to_string(&path).expect("read");
        std::fs::write(&path, text.replacen(from, to, 1)).expect("written");
        let file = std::fs::File::options().write(true).open(&path);
        file.expect("opened").set_modified(young).expect("set");
    };
    save("One", "Uno");
    // The service is slow, and the writer saves the same number of bytes in the same tick: when the row is written, the
    // file's time is no longer recent.
    let (clock, again) = (world.clock.clone(), save.clone());
    let slow = move |progress| {
        let Progress::Phase { name, .. } = progress else {
            return;
        };
        if name == "listing" {
            clock.advance(Duration::from_mins(1));
            again("Uno", "Duo");
        }
    };
    let mut engine = world.engine().with_teller(std::sync::Arc::new(slow));
    let report = engine.cycle(&CycleRequest::new(Direction::Both)).await;
    assert_eq!(
        lines(&report.expect("a cycle")),
        ["update remote start/one.html done"]
    );
    let stamp = |engine: &kbsync::engine::Engine<_, _>| {
        let id = kbsync::model::ArticleId::new(ids[0]);
        let row = engine.store().article(id).expect("read").expect("a row");
        row.stamp
    };
    assert_eq!(stamp(&engine), None);
    drop(engine);
    world.sync().await;
    assert_eq!(world.on_service(ids[0]).text, "<p>Duo.</p>");
    world.is_quiet().await;
    // Without a second save the same cycle reads the file once more, and the next cycle opens no file.
    save("Duo", "Trio");
    world.clock.advance(Duration::from_mins(1));
    world.sync().await;
    assert!(stamp(&world.engine()).is_some());
}
