//! The guards: mass deletions, mass roll-backs, and the guard read.

use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::hostile;
use crate::support::look::{after_grace, approvable, dry_run};
use crate::support::wire::{held, lines_of, problems, reason};
use crate::support::world::{World, lines};
use kbsync::engine::Clock as _;
use kbsync::engine::open_actions::held_deletions;
use kbsync::engine::settings::{Cause, CycleRequest};
use kbsync::reconcile::guard::MaxDeletes;
use kbsync::reconcile::snapshot::Direction;
use std::time::Duration;
use uuid::Uuid;

const TEXT: &str = "<p>One.</p>";

/// A mirror of so many articles, `a00` and so on.
async fn world_of(count: usize) -> (World, Vec<Uuid>) {
    let slugs: Vec<String> = (0..count).map(|number| format!("a{number:02}")).collect();
    let articles: Vec<_> = slugs.iter().map(|slug| (slug.as_str(), TEXT)).collect();
    let (world, _, ids) = World::start(&articles).await;
    (world, ids)
}

fn file(number: usize) -> String {
    format!("start/a{number:02}.html")
}

fn allowing() -> CycleRequest {
    CycleRequest {
        allow_deletes: true,
        ..CycleRequest::new(Direction::Both)
    }
}

/// Approves the held actions, as `kbsync approve` does. Returns their number.
async fn approve(world: &World) -> usize {
    let mut engine = world.engine();
    let planned = engine.cycle(&dry_run()).await.expect("a plan");
    let (_, _, mut store) = engine.into_parts();
    let now = world.clock.now();
    let held = approvable(&planned);
    for (side, mark) in &held {
        store
            .write_at(now, |tx| tx.approve(*side, *mark))
            .expect("written");
    }
    world.sandbox().clear_requests();
    held.len()
}

#[tokio::test]
async fn f041_more_deletions_than_the_limit_are_held() {
    // The limit is 10, or a quarter if that is less, but at least 3.
    for (articles, removed, goes) in [(4, 3, true), (4, 4, false), (20, 5, true), (20, 6, false)] {
        let (world, _) = world_of(articles).await;
        (0..removed).for_each(|number| world.remove(&file(number)));
        let report = world.sync().await;
        let left = world.sandbox().articles().len();
        assert_eq!(
            (held(&report), left, report.outcome.number()),
            if goes {
                (0, articles - removed, 0)
            } else {
                (removed, articles, 3)
            },
            "{removed} of {articles}"
        );
    }
    let (world, _) = world_of(45).await;
    (0..11).for_each(|number| world.remove(&file(number)));
    let report = world.sync().await;
    assert_eq!((held(&report), world.sent()), (11, vec![]));
    assert!(
        reason(&report, &file(0))
            .starts_with("11 deletions on the service at once are more than 10"),
        "{}",
        reason(&report, &file(0))
    );
    world.write(&file(0), "---\ntitle: back\n---\nx\n");
    let report = world.sync().await;
    // Putting one file back is no decision about the others.
    assert_eq!((held(&report), report.requests.delete), (10, 0));
}

#[tokio::test]
async fn f043_what_is_held_stays_held_until_a_person_says_so() {
    let (world, _) = world_of(8).await;
    (0..4).for_each(|number| world.remove(&file(number)));
    for _ in 0..3 {
        let report = world.sync().await;
        assert_eq!((held(&report), report.outcome.number()), (4, 3));
        assert_eq!(world.sent(), [""; 0]);
        world.clock.advance(Duration::from_hours(20));
    }
    // Other actions are not held.
    world.edit(&file(7), "One", "1");
    let report = world.sync().await;
    assert_eq!((held(&report), report.requests.put), (4, 1));
    let report = world.run(&allowing()).await;
    assert_eq!((report.requests.delete, report.outcome.number()), (4, 0));
    assert_eq!(world.sandbox().articles().len(), 4);
    world.is_quiet().await;
}

#[tokio::test]
async fn f043_a_cycle_that_cannot_see_an_article_does_not_release_it() {
    let (world, _) = world_of(8).await;
    (0..4).for_each(|number| world.remove(&file(number)));
    assert_eq!(held(&world.sync().await), 4);
    // In this cycle, nobody knows whether the files are gone.
    let start = world.path("start");
    world.rename("start", ".away");
    std::os::unix::fs::symlink(".away", &start).expect("linked");
    let report = world.sync().await;
    std::fs::remove_file(&start).expect("removed");
    world.rename(".away", "start");
    assert_eq!((held(&report), world.sent()), (0, vec![]));
    world.write(&file(0), "---\ntitle: back\n---\nx\n");
    let report = world.sync().await;
    assert_eq!((held(&report), report.requests.delete), (3, 0));
}

#[tokio::test]
async fn f042_a_deletion_whose_approval_expired_counts_as_unapproved() {
    let (world, _) = world_of(8).await;
    let away = |number: usize| format!("away{number}");
    (0..4).for_each(|number| world.rename(&file(number), &away(number)));
    assert_eq!(approve(&world).await, 4);
    (0..4).for_each(|number| world.rename(&away(number), &file(number)));
    world.clock.advance(Duration::from_hours(25));
    (0..3).for_each(|number| world.remove(&file(number)));
    assert_eq!(world.sync().await.requests.delete, 3);
    world.remove(&file(3));
    let report = world.sync().await;
    assert_eq!((held(&report), report.requests.delete), (1, 0));
}

#[tokio::test]
async fn an_approval_releases_exactly_what_was_shown() {
    let (world, ids) = world_of(8).await;
    (0..4).for_each(|number| world.remove(&file(number)));
    assert_eq!(approve(&world).await, 4);
    // The set has grown, so the approval is void.
    world.remove(&file(4));
    let report = world.sync().await;
    assert_eq!((held(&report), world.sent()), (5, vec![]));
    // One of the articles was edited on the service: its file comes back, and the other deletions are released.
    assert_eq!(approve(&world).await, 5);
    world
        .sandbox()
        .edit(ids[0], |article| article.title = "Edited".into());
    let report = world.sync().await;
    assert_eq!(report.requests.delete, 4, "{:?}", lines(&report));
    assert!(world.read(&file(0)).contains("Edited"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f042_a_slow_leak_is_stopped_within_a_day() {
    let (mut world, _) = world_of(14).await;
    world.settings.max_deletes = MaxDeletes {
        count: 2,
        percent: 100,
    };
    for round in 0..4 {
        world.remove(&file(2 * round));
        world.remove(&file(2 * round + 1));
        let report = world.sync().await;
        assert_eq!((held(&report), report.requests.delete), (0, 2));
        world.clock.advance(Duration::from_hours(1));
    }
    world.remove(&file(8));
    let report = world.sync().await;
    assert_eq!((held(&report), world.sent().len()), (1, 8));
    assert!(reason(&report, &file(8)).contains("within 24 hours"));
    // Deletions that a person allowed do not count.
    let report = world.run(&allowing()).await;
    assert_eq!(report.requests.delete, 1);
    world.clock.advance(Duration::from_mins(20 * 60 + 30));
    // The first two deletions are more than a day old, so two more are allowed.
    world.remove(&file(9));
    world.remove(&file(10));
    let report = world.sync().await;
    assert_eq!(report.requests.delete, 2, "{:?}", lines(&report));
    world.remove(&file(11));
    assert_eq!(held(&world.sync().await), 1);
}

#[tokio::test]
async fn f040_an_emptied_mirror_deletes_nothing() {
    let (world, _) = world_of(6).await;
    for (path, _) in world.files() {
        world.remove(&path);
    }
    std::fs::remove_dir(world.path("start")).expect("removed");
    let report = world.sync().await;
    assert_eq!((held(&report), world.sent()), (6, vec![]));
    assert_eq!(report.outcome.number(), 3);
    // The mirror is another folder, and the state is gone as well: every file is written anew.
    std::fs::remove_dir_all(world.path(".kbsync")).expect("removed");
    std::fs::create_dir(world.path(".kbsync")).expect("made");
    let report = world.sync().await;
    assert_eq!((report.outcome.number(), world.sent()), (0, vec![]));
    assert_eq!(world.files().len(), 7);
    world.is_quiet().await;
}

#[tokio::test]
async fn f050_without_a_base_nothing_is_deleted_on_either_side() {
    let (world, ids) = world_of(5).await;
    world.remove(&file(0));
    world.edit(&file(1), "One", "Mine");
    world.sandbox().remove(ids[2]);
    std::fs::remove_dir_all(world.path(".kbsync")).expect("removed");
    std::fs::create_dir(world.path(".kbsync")).expect("made");
    let report = world.sync().await;
    assert_eq!(lines_of(&report, "delete"), [""; 0], "{:?}", lines(&report));
    assert_eq!(world.sandbox().articles().len(), 4);
    assert!(world.exists(&file(0)), "it comes back");
    assert!(world.exists(&file(2)), "its article is gone: held");
    assert!(world.read(&file(1)).contains("Mine"));
    let said = lines(&report);
    assert!(
        said.contains(&format!("conflict both {} held", file(1))),
        "{said:?}"
    );
    assert!(
        said.contains(&format!("conflict both {} held", file(2))),
        "{said:?}"
    );
    assert!(world.sent().iter().all(|sent| sent == "PUT article {}"));
    assert_eq!(report.outcome.number(), 3);
}

#[tokio::test]
async fn nothing_is_deleted_in_a_cycle_in_which_the_listing_failed() {
    for (what, code) in [
        (FaultKind::Html, 1),
        (FaultKind::InvalidJson, 5),
        (
            FaultKind::Status(401, r#"{"success":false,"message":"no"}"#.into()),
            1,
        ),
    ] {
        let (world, _) = world_of(4).await;
        world.remove(&file(0));
        world.sandbox().inject(Fault::always(
            Matcher::new("GET", "/api/base/"),
            what.clone(),
        ));
        let before = world.files();
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), code, "{what:?}");
        assert_eq!((world.sent(), world.files()), (vec![], before));
        assert_eq!(problems(&report).len(), 1);
        world.sandbox().clear_faults();
        let report = world.sync().await;
        assert_eq!(lines(&report), ["delete remote start/a00.html done"]);
    }
}

#[tokio::test]
async fn f085_more_than_ten_files_that_go_back_are_held() {
    let (world, ids) = world_of(12).await;
    for number in 0..12 {
        world.edit(&file(number), "One", "Two");
    }
    assert_eq!(world.sync().await.outcome.number(), 0);
    world.sandbox().clear_requests();
    // Ten roll-backs are allowed, as when a writer takes edits back.
    for number in 0..10 {
        world.edit(&file(number), "Two", "One");
    }
    let report = world.sync().await;
    assert_eq!((report.requests.put, held(&report)), (10, 0));
    for number in 0..12 {
        world.edit(
            &file(number),
            if number < 10 { "One" } else { "Two" },
            "Three",
        );
    }
    world.sync().await;
    for number in 0..11 {
        world.edit(&file(number), "Three", "One");
    }
    world.edit(&file(11), "Three", "Four");
    world.sandbox().clear_requests();
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(held(&report), 11);
        assert_eq!(report.outcome.number(), 3);
        assert!(reason(&report, &file(0)).contains("older versions within an hour"));
    }
    assert_eq!(world.sent().len(), 1, "a new version goes through");
    assert!(world.on_service(ids[0]).text.contains("Three"));
    assert_eq!(approve(&world).await, 11);
    let report = world.sync().await;
    assert_eq!((report.requests.put, report.outcome.number()), (11, 0));
    world.is_quiet().await;
}

#[tokio::test]
async fn f085_an_old_archive_that_is_unpacked_over_the_mirror_in_small_batches_is_held_too() {
    let (world, ids) = world_of(16).await;
    for number in 0..16 {
        world.edit(&file(number), "One", "Two");
    }
    world.sync().await;
    let daemons = CycleRequest {
        cause: Cause::Background,
        ..CycleRequest::new(Direction::Both)
    };
    let mut engine = world.engine();
    let mut sent = Vec::new();
    for batch in 0..4 {
        for number in batch * 4..batch * 4 + 4 {
            world.edit(&file(number), "Two", "One");
        }
        let report = engine.cycle(&daemons).await.expect("a cycle");
        sent.push((report.requests.put, held(&report)));
        if let Some(line) = report.actions.iter().find(|line| line.path == file(8)) {
            let reason = line.reason.clone().unwrap_or_default();
            assert!(reason.contains("older versions within an hour"), "{reason}");
        }
    }
    assert_eq!(sent, [(4, 0), (4, 0), (0, 4), (0, 8)]);
    assert!(world.on_service(ids[15]).text.contains("Two"));
    // The hold lasts until an approval, however long it takes, across restarts and for any command.
    world.clock.advance(Duration::from_mins(2));
    for number in 8..13 {
        world.edit(&file(number), "One", "Three");
    }
    let report = engine.cycle(&daemons).await.expect("a cycle");
    assert_eq!((report.requests.put, held(&report)), (5, 3), "{report:#?}");
    drop(engine);
    let report = world.sync().await;
    assert_eq!((report.requests.put, held(&report)), (0, 3));
    assert_eq!(approve(&world).await, 3);
    let report = world.sync().await;
    assert_eq!((report.requests.put, held(&report)), (3, 0));
    // The episode is over: a later roll-back of a single file is not part of it.
    world.edit(&file(9), "Three", "Two");
    let report = world.engine().cycle(&daemons).await.expect("a cycle");
    assert_eq!((report.requests.put, held(&report)), (1, 0));
}

#[tokio::test]
async fn f085_an_approval_of_something_else_does_not_hide_the_batches() {
    let (world, _) = world_of(16).await;
    for number in 0..16 {
        world.edit(&file(number), "One", "Two");
    }
    world.sync().await;
    (0..5).for_each(|number| world.rename(&file(number), &format!("away{number}")));
    assert_eq!(approve(&world).await, 5);
    // The files come back, so nothing needs this approval.
    (0..5).for_each(|number| world.rename(&format!("away{number}"), &file(number)));
    let mut engine = world.engine();
    let mut sent = Vec::new();
    for batch in 0..3 {
        for number in batch * 4..batch * 4 + 4 {
            world.edit(&file(number), "Two", "One");
        }
        let request = CycleRequest {
            cause: Cause::Background,
            ..CycleRequest::new(Direction::Both)
        };
        let report = engine.cycle(&request).await.expect("a cycle");
        sent.push((report.requests.put, held(&report)));
    }
    assert_eq!(sent, [(4, 0), (4, 0), (0, 4)]);
}

#[tokio::test]
async fn f041_the_last_files_of_a_folder_are_held_when_the_first_went_a_moment_before() {
    for (pause, goes) in [(Duration::ZERO, false), (Duration::from_mins(2), true)] {
        let (world, _) = world_of(3).await;
        let other = world.category("other");
        world.article(other, "stays", TEXT);
        world.sync().await;
        let daemons = CycleRequest {
            cause: Cause::Background,
            ..CycleRequest::new(Direction::Both)
        };
        let mut engine = world.engine();
        world.remove(&file(0));
        world.remove(&file(1));
        let report = engine.cycle(&daemons).await.expect("a cycle");
        assert_eq!((report.requests.delete, held(&report)), (2, 0));
        world.clock.advance(pause);
        world.remove(&file(2));
        let report = engine.cycle(&daemons).await.expect("a cycle");
        if goes {
            assert_eq!((report.requests.delete, held(&report)), (1, 0));
            continue;
        }
        assert_eq!((report.requests.delete, held(&report)), (0, 1));
        let reason = reason(&report, &file(2));
        assert!(reason.contains("would empty start/"), "{reason}");
        drop(engine);
        // The hold lasts until an approval, however long it takes.
        world.clock.advance(Duration::from_mins(10));
        assert_eq!(held(&world.sync().await), 1);
        assert_eq!(approve(&world).await, 1);
        assert_eq!(world.sync().await.requests.delete, 1);
    }
}

#[tokio::test]
async fn f041_f042_files_that_go_at_once_and_are_seen_one_after_the_other_are_held() {
    let (world, _) = world_of(48).await;
    let daemons = CycleRequest {
        cause: Cause::Background,
        ..CycleRequest::new(Direction::Both)
    };
    let mut engine = world.engine();
    let mut sent = Vec::new();
    for batch in [0..1, 1..6, 6..14] {
        for number in batch {
            world.remove(&file(number));
        }
        let report = engine.cycle(&daemons).await.expect("a cycle");
        sent.push((report.requests.delete, held(&report)));
    }
    assert_eq!(sent, [(1, 0), (5, 0), (0, 8)]);
    // The removals count as one event as long as some of them are held, for any command.
    world.clock.advance(Duration::from_mins(10));
    let report = engine.cycle(&daemons).await.expect("a cycle");
    assert_eq!((report.requests.delete, held(&report)), (0, 8));
    drop(engine);
    assert_eq!(held(&world.sync().await), 8);
    assert_eq!(approve(&world).await, 8);
    let report = world.sync().await;
    assert_eq!((report.requests.delete, held(&report)), (8, 0));
    // A later removal is another event.
    world.clock.advance(Duration::from_mins(2));
    world.remove(&file(20));
    let report = world.engine().cycle(&daemons).await.expect("a cycle");
    assert_eq!((report.requests.delete, held(&report)), (1, 0));
}

#[tokio::test]
async fn f073_what_is_missing_is_known_but_for_what_waits_for_a_person() {
    let (world, _) = world_of(20).await;
    let polls = after_grace(&[]);
    assert_eq!(world.run(&polls).await.missing.len(), 0);
    for number in 0..11 {
        world.remove(&file(number));
    }
    let report = world.run(&polls).await;
    assert_eq!((report.missing.len(), held(&report)), (11, 0));
    let report = world.sync().await;
    assert_eq!((report.missing.len(), held(&report)), (0, 11));
    assert_eq!(world.run(&polls).await.missing.len(), 0);
    world.remove(&file(12));
    assert_eq!(world.run(&polls).await.missing.len(), 1);
}

#[tokio::test]
async fn f038_a_restored_backup_of_the_service_is_held() {
    let (world, ids) = world_of(11).await;
    let backup: Vec<_> = ids.iter().map(|id| world.on_service(*id)).collect();
    for id in &ids {
        world
            .sandbox()
            .edit(*id, |article| article.text = "<p>Two.</p>".into());
    }
    world.sync().await;
    let before = world.files();
    assert!(before[1].1.contains("Two"));
    for article in backup {
        world.sandbox().restore(article);
    }
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!((held(&report), report.outcome.number()), (11, 3));
        assert_eq!(world.files(), before);
        assert_eq!(world.sent(), [""; 0]);
    }
    assert_eq!(approve(&world).await, 11);
    assert_eq!(world.sync().await.outcome.number(), 0);
    assert!(world.read(&file(0)).contains("One"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f034_a_window_of_zero_reads_before_each_write() {
    let (mut world, _) = world_of(5).await;
    world.settings.guard_window = Duration::ZERO;
    world.edit(&file(0), "One", "1");
    world.edit(&file(1), "One", "1");
    world.remove(&file(2));
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(
        world.asked(),
        [
            "GET base",
            "GET article",
            "PUT article",
            "GET article",
            "PUT article",
            "GET article",
            "DELETE article"
        ]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn f034_nobody_is_overwritten_who_edits_between_the_look_and_the_write() {
    let (mut world, ids) = world_of(5).await;
    world.settings.guard_window = Duration::ZERO;
    let (edited, removed) = (ids[0], ids[1]);
    world.edit(&file(0), "One", "Mine");
    world.remove(&file(1));
    world.edit(&file(2), "One", "1");
    // Colleagues save just after the listing.
    world.sandbox().inject(Fault::once(
        Matcher::new("GET", "/api/base/"),
        FaultKind::HookAfter(Hook::new(move |sandbox| {
            for id in [edited, removed] {
                sandbox.edit(id, |article| article.text = "<p>Theirs.</p>".into());
            }
        })),
    ));
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            format!("update remote {} skipped", file(0)),
            format!("update remote {} done", file(2)),
            format!("delete remote {} skipped", file(1)),
        ]
    );
    assert_eq!(report.outcome.number(), 5);
    assert_eq!(world.on_service(edited).text, "<p>Theirs.</p>");
    assert_eq!(world.on_service(removed).text, "<p>Theirs.</p>");
    // The next cycle decides anew: a conflict, and an edit that wins over the removal.
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            format!("restore local {} done", file(1)),
            format!("conflict both {} held", file(0)),
        ]
    );
    assert!(world.read(&file(0)).contains("Mine"));
    assert!(world.read("start/a00.conflict.html").contains("Theirs"));
    assert!(world.read(&file(1)).contains("Theirs"));
}

#[tokio::test]
async fn f034_a_new_revision_of_the_same_words_is_no_obstacle() {
    let (mut world, ids) = world_of(4).await;
    world.settings.guard_window = Duration::ZERO;
    world.edit(&file(0), "One", "Mine");
    let id = ids[0];
    world.sandbox().inject(Fault::once(
        Matcher::new("GET", "/api/base/"),
        FaultKind::HookAfter(Hook::new(move |sandbox| {
            sandbox.edit(id, |_| ());
        })),
    ));
    let report = world.sync().await;
    assert_eq!(lines(&report), [format!("update remote {} done", file(0))]);
    assert!(world.on_service(id).text.contains("Mine"));
    world.is_quiet().await;
}

#[tokio::test]
async fn a_file_that_is_saved_during_the_cycle_is_not_lost() {
    let (world, ids) = world_of(4).await;
    let path = world.path(&file(0));
    world.sandbox().edit(ids[0], |article| {
        article.title = "Theirs".into();
    });
    // The writer saves while the listing is on its way: after the scan, and before the file is written.
    let saved = path.clone();
    world.sandbox().inject(Fault::once(
        Matcher::new("GET", "/api/base/"),
        FaultKind::Hook(Hook::new(move |_| {
            let text = std::fs::read_to_string(&saved).expect("there");
            std::fs::write(&saved, text.replace("One", "Mine")).expect("saved");
        })),
    ));
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [format!("update local {} skipped", file(0))]
    );
    assert_eq!(report.outcome.number(), 5);
    assert!(
        std::fs::read_to_string(&path)
            .expect("there")
            .contains("Mine")
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), [format!("merge both {} done", file(0))]);
    let file_now = world.read(&file(0));
    assert!(file_now.contains("Mine") && file_now.contains("title: Theirs"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f026_a_draft_that_a_colleague_publishes_before_its_deletion_is_not_deleted() {
    let mut world = hostile::world().await;
    world.settings.guard_window = Duration::ZERO;
    let category = world.category("a");
    let draft = world.article(category, "draft", "<p>draft</p>");
    world.article(category, "other", "<p>other</p>");
    hostile::sync(&world).await;
    world.sandbox().unpublish(draft);
    hostile::sync(&world).await;
    world.remove("a/draft.html");
    // The first probe is the look, the second one the guard read.
    let publish = Hook::new(move |sandbox| {
        sandbox.publish(draft);
    });
    let probe = Matcher::new("PUT", "/api/article/");
    world
        .sandbox()
        .inject(Fault::once(probe, FaultKind::HookAfter(publish)));
    let report = hostile::sync(&world).await;
    assert_eq!(report.requests.delete, 0, "{report:#?}");
    assert!(world.sandbox().article(draft).is_some());
    hostile::sync(&world).await;
    assert!(world.exists("a/draft.html"));
}

#[tokio::test]
async fn a_held_deletion_ends_when_the_file_is_there_again_even_if_it_is_not_ready() {
    let (world, _) = world_of(8).await;
    let before = world.read(&file(0));
    (0..4).for_each(|number| world.remove(&file(number)));
    assert_eq!(held(&world.sync().await), 4);
    world.write(&file(0), &before.replace("title: ", "title "));
    world.sync().await;
    let (_, _, store) = world.engine().into_parts();
    assert_eq!(held_deletions(&store).expect("rows"), 3);
}
