//! Stale reads from before our own last write (failures row 22): the version that they hide is neither replaced nor
//! deleted unseen.

use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::look::{assert_quiet, kept, problems, row};
use crate::support::world::{World, lines};
use kbsync::engine::report::Report;
use kbsync::engine::settings::{CycleRequest, Look};
use kbsync::model::ExitCode;
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::Snapshot;
use std::time::Duration;
use uuid::Uuid;

const OURS: &str = "<p>1, ours</p>";
const THEIRS: &str = "<p>1, theirs</p>";
const PATHS: [&str; 2] = ["a/one.html", "a/two.html"];

/// Two articles that were pushed, and that a colleague has edited since. Returns the service as it was before the push.
async fn pushed() -> (World, [Uuid; 2], Snapshot) {
    pushed_by_way_of(&[]).await
}

/// Like [`pushed`], with pushes of other texts before.
async fn pushed_by_way_of(before: &[&str]) -> (World, [Uuid; 2], Snapshot) {
    let world = World::new().await;
    let a = world.category("a");
    let ids = [
        world.article(a, "one", "<p>1</p>"),
        world.article(a, "two", "<p>1</p>"),
    ];
    world.sync().await;
    let past = world.sandbox().snapshot();
    let mut now = "<p>1</p>";
    for text in before.iter().chain(&[OURS]) {
        for path in PATHS {
            world.edit(path, now, text);
        }
        world.sync().await;
        now = text;
    }
    assert_eq!(text_of(&world, ids[0]), OURS);
    for id in ids {
        world
            .sandbox()
            .edit(id, |article| THEIRS.clone_into(&mut article.text));
    }
    (world, ids, past)
}

fn text_of(world: &World, id: Uuid) -> String {
    let article = world.sandbox().article(id);
    article.expect("there").text
}

/// Checks that nothing was written, and that the service still has the colleague's texts.
fn assert_unharmed(world: &World, ids: &[Uuid], report: &Report) {
    let requests = report.requests;
    assert_eq!(
        requests.put + requests.delete + requests.post,
        0,
        "{report:#?}"
    );
    for id in ids {
        assert_eq!(text_of(world, *id), THEIRS, "{report:#?}");
    }
}

#[tokio::test]
async fn f022_what_an_old_listing_hides_is_not_deleted() {
    // Only the listing is stale, or the article's own reads are stale as well for a while.
    for reads in [1, 2, 4] {
        let (world, ids, past) = pushed().await;
        world.remove("a/one.html");
        world.sandbox().serve_past(&past, reads);
        let report = world.sync().await;
        assert_eq!(
            lines(&report),
            ["delete remote a/one.html skipped"],
            "{reads}"
        );
        assert_unharmed(&world, &ids, &report);
        assert_eq!(report.outcome, ExitCode::Retry);
        let told = report.actions[0].reason.clone().expect("a reason");
        assert_eq!(told.contains("an outdated copy"), reads > 1, "{told}");
        assert_eq!(kept(&world, ids[0], THEIRS), reads == 1);
        if reads == 4 {
            // The second old copy is asked about.
            let report = world.sync().await;
            assert_eq!(
                lines(&report),
                [
                    "restore local a/one.html done",
                    "update local a/two.html done"
                ]
            );
        }
        world.sync().await;
        assert!(world.read("a/one.html").contains(THEIRS));
        assert!(kept(&world, ids[0], OURS));
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f022_what_an_old_listing_hides_is_not_overwritten() {
    for reads in [1, 2] {
        let (world, ids, past) = pushed().await;
        world.edit("a/one.html", OURS, "<p>1, ours again</p>");
        world.sandbox().serve_past(&past, reads);
        let report = world.sync().await;
        assert_eq!(
            lines(&report),
            ["update remote a/one.html skipped"],
            "{reads}"
        );
        assert_unharmed(&world, &ids, &report);
        let report = world.sync().await;
        let told = lines(&report);
        assert!(
            told.contains(&"conflict both a/one.html held".to_owned()),
            "{told:?}"
        );
        assert_unharmed(&world, &ids, &report);
        assert!(world.read("a/one.conflict.html").contains(THEIRS));
    }
}

/// Before several writes, a listing that took too long is read again. The second listing may be stale even if the first
/// was not.
#[tokio::test]
async fn f022_what_a_second_old_listing_hides_is_not_overwritten() {
    let (mut world, ids, past) = pushed().await;
    world.sync().await;
    world.settings.guard_window = Duration::from_nanos(1);
    for path in PATHS {
        world.edit(path, THEIRS, "<p>1, ours again</p>");
    }
    let newer = "<p>1, theirs and newer</p>";
    let hook = Hook::new(move |sandbox| {
        for id in ids {
            sandbox.edit(id, |article| newer.clone_into(&mut article.text));
        }
        sandbox.serve_past(&past, 1);
    });
    let listing = Matcher::new("GET", "/api/base/*/articles");
    let fault = Fault::once(listing, FaultKind::HookAfter(hook));
    world.sandbox().inject(fault);
    let report = world.sync().await;
    let expected = PATHS.map(|path| format!("update remote {path} skipped"));
    assert_eq!(lines(&report), expected);
    assert_eq!(report.requests.put, 0, "{report:#?}");
    for id in ids {
        assert_eq!(text_of(&world, id), newer);
        assert!(kept(&world, id, newer));
    }
}

/// A cycle over a saved file reads no listing, and its single read may be as stale.
#[tokio::test]
async fn f022_what_an_old_answer_hides_is_not_overwritten_by_a_cycle_over_paths() {
    for reads in [1, 2] {
        let (world, ids, past) = pushed().await;
        world.edit("a/one.html", OURS, "<p>1, ours again</p>");
        let request = CycleRequest {
            scope: vec!["a/one.html".to_owned()],
            look: Look::Files,
            ..CycleRequest::new(Direction::Both)
        };
        world.sandbox().serve_past(&past, reads);
        let report = world.run(&request).await;
        assert_eq!(
            lines(&report),
            ["update remote a/one.html skipped"],
            "{reads}"
        );
        assert_unharmed(&world, &ids, &report);
    }
}

/// An article that nobody edited meanwhile is deleted in the same cycle.
#[tokio::test]
async fn f022_an_old_listing_alone_keeps_nothing_from_being_deleted() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.article(a, "two", "<p>2</p>");
    world.sync().await;
    let past = world.sandbox().snapshot();
    world.edit("a/one.html", "<p>1</p>", OURS);
    world.sync().await;
    world.remove("a/one.html");
    world.sandbox().serve_past(&past, 1);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete remote a/one.html done"]);
    assert_eq!(row(&world, one), None);
    assert_quiet(&world, 1).await;
}

/// After several saves in a row, a cache may show the version before all of them.
#[tokio::test]
async fn f022_an_old_copy_from_before_several_writes_is_known_for_one() {
    let ways: [&[&str]; 3] = [
        &["<p>a</p>"],
        &["<p>a</p>", "<p>b</p>"],
        &["<p>a</p>", "<p>b</p>", "<p>c</p>"],
    ];
    for way in ways {
        let (world, ids, past) = pushed_by_way_of(way).await;
        let files = world.files();
        world.sandbox().serve_past(&past, 1);
        assert_quiet(&world, 1).await;
        assert_eq!(world.files(), files);
        // The second old copy is asked about.
        world.edit("a/one.html", "ours", "ours again");
        world.sandbox().serve_past(&past, 1);
        let report = world.sync().await;
        assert_eq!(
            lines(&report),
            [
                "update local a/two.html done",
                "conflict both a/one.html held"
            ],
            "{way:?}"
        );
        assert_eq!(text_of(&world, ids[0]), THEIRS);
    }
}

/// A colleague's revert of several of our writes at once counts.
#[tokio::test]
async fn a_colleagues_return_to_what_was_there_before_several_writes_counts() {
    let (world, ids, _) = pushed_by_way_of(&["<p>a</p>"]).await;
    for id in ids {
        world
            .sandbox()
            .edit(id, |article| "<p>1</p>".clone_into(&mut article.text));
    }
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        PATHS.map(|path| format!("update local {path} done"))
    );
    assert!(world.read("a/one.html").contains("<p>1</p>"));
    assert_quiet(&world, 1).await;
}

/// The listing is from after our write and before a colleague's edit that was already pulled, and the first read after
/// it may be as stale.
#[tokio::test]
async fn f022_what_an_old_listing_of_our_own_words_hides_is_not_merged_over() {
    for (number, reads, puts) in [(1, 1, 1), (1, 2, 0), (2, 1, 2), (2, 2, 1)] {
        let paths = &PATHS[..number];
        let world = World::new().await;
        let a = world.category("a");
        let first = "<p>1</p>\n<p>2</p>\n<p>3</p>";
        let ids = ["one", "two"].map(|slug| world.article(a, slug, first));
        world.sync().await;
        for path in paths {
            world.edit(path, "<p>1</p>", "<p>1, ours</p>");
        }
        world.sync().await;
        let past = world.sandbox().snapshot();
        let theirs = "<p>1, ours</p>\n<p>2</p>\n<p>3, theirs</p>";
        let sandbox = world.sandbox();
        for id in &ids[..number] {
            sandbox.edit(*id, |article| theirs.clone_into(&mut article.text));
        }
        world.sync().await;
        for path in paths {
            assert!(world.read(path).contains("3, theirs"));
            world.edit(path, "<p>1, ours</p>", "<p>1, ours again</p>");
        }
        sandbox.serve_past(&past, reads);
        let report = world.sync().await;
        assert_eq!(report.requests.put, puts, "{report:#?}");
        for id in &ids[..number] {
            assert!(text_of(&world, *id).contains("3, theirs"));
        }
        world.sync().await;
        let both = "<p>1, ours again</p>\n<p>2</p>\n<p>3, theirs</p>";
        for (id, path) in ids.iter().zip(paths) {
            assert_eq!(text_of(&world, *id), both);
            assert!(world.read(path).contains(both));
        }
        assert_quiet(&world, 1).await;
    }
}

/// Makes the next read of this article show the past.
fn read_as_then(world: &World, id: Uuid, past: Snapshot) {
    let path = format!("/api/article/{id}");
    let hook = Hook::new(move |sandbox| sandbox.serve_past(&past, 1));
    let fault = Fault::once(Matcher::new("GET", &path), FaultKind::Hook(hook));
    world.sandbox().inject(fault);
}

/// The listing has no bodies and is as new as the colleague's edit, and the answer with the body is stale.
#[tokio::test]
async fn f022_an_edit_that_was_listed_is_read_though_an_old_answer_hides_its_words() {
    for edited in [false, true] {
        let (world, ids, past) = pushed().await;
        world.sandbox().habits().bodies = false;
        world.sandbox().habits().category_bodies = false;
        world.sandbox().habits().etag = true;
        if edited {
            world.edit("a/one.html", OURS, "<p>1, ours again</p>");
        }
        read_as_then(&world, ids[0], past);
        let report = world.sync().await;
        let mut expected = vec!["update local a/two.html done"];
        if edited {
            expected.push("update remote a/one.html held");
        }
        assert_eq!(lines(&report), expected);
        assert_unharmed(&world, &ids, &report);
        let told = problems(&report).join("\n");
        assert!(told.contains("an outdated copy"), "{told}");
        let report = world.sync().await;
        assert_unharmed(&world, &ids, &report);
        if edited {
            assert_eq!(lines(&report), ["conflict both a/one.html held"]);
            assert!(world.read("a/one.conflict.html").contains(THEIRS));
        } else {
            assert_eq!(lines(&report), ["update local a/one.html done"]);
            assert!(world.read("a/one.html").contains(THEIRS));
            assert_quiet(&world, 1).await;
        }
    }
}

/// The revision in the listing is neither known nor that of a known superseded version, so the answer is either a
/// moment behind or ahead.
#[tokio::test]
async fn f022_an_edit_that_was_listed_is_read_though_an_answer_shows_what_we_left() {
    let (world, ids, _) = pushed().await;
    world.sync().await;
    let past = world.sandbox().snapshot();
    let newer = "<p>1, theirs again</p>";
    let sandbox = world.sandbox();
    sandbox.edit(ids[0], |article| newer.clone_into(&mut article.text));
    sandbox.habits().bodies = false;
    sandbox.habits().etag = true;
    read_as_then(&world, ids[0], past);
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/one.html done"]);
    assert!(world.read("a/one.html").contains(newer));
    assert_quiet(&world, 1).await;
}

/// A PUT with a lost response, and a stale listing from before the PUT, which looks as if the PUT had not arrived.
#[tokio::test]
async fn f022_a_put_without_an_answer_is_not_repeated_over_what_an_old_listing_hides() {
    let (world, ids, _) = pushed().await;
    world.sync().await;
    let past = world.sandbox().snapshot();
    world.edit("a/one.html", THEIRS, "<p>1, ours again</p>");
    let path = format!("/api/article/{}", ids[0]);
    let put = Matcher::new("PUT", &path);
    world
        .sandbox()
        .inject(Fault::once(put.clone(), FaultKind::ResetAfter));
    world
        .sandbox()
        .inject(Fault::once(put, FaultKind::Html).after(1));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html skipped"]);
    let newer = "<p>1, theirs, and more</p>";
    let sandbox = world.sandbox();
    sandbox.edit(ids[0], |article| newer.clone_into(&mut article.text));
    sandbox.serve_past(&past, 1);
    let report = world.sync().await;
    // The only request is a probe.
    assert_eq!(report.requests.put, 1, "{report:#?}");
    assert_eq!(text_of(&world, ids[0]), newer);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/one.html held"]);
    assert!(world.read("a/one.conflict.html").contains(newer));
}
