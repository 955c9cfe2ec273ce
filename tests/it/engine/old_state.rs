//! An outdated state: rolled back by a backup, or copied along with the folder.

use crate::support::world::{World, lines};
use kbsync::engine::Clock as _;
use kbsync::engine::settings::{Cause, CycleRequest};
use kbsync::reconcile::snapshot::Direction;
use std::fs;

/// Returns the state file, which no process has open.
fn keep(world: &World) -> Vec<u8> {
    fs::read(world.path(".kbsync/state.db")).expect("a state")
}

fn bring_back(world: &World, bytes: &[u8]) {
    fs::write(world.path(".kbsync/state.db"), bytes).expect("written");
    for beside in ["state.db-wal", "state.db-shm"] {
        // After a clean close these files do not exist.
        fs::remove_file(world.path(".kbsync").join(beside)).ok();
    }
}

#[tokio::test]
async fn f089_a_state_that_was_rolled_back_deletes_doubles_and_overwrites_nothing() {
    let world = World::new().await;
    let start = world.category("start");
    for slug in ["ours", "theirs", "both", "removed", "moved"] {
        world.article(start, slug, &format!("<p>{slug}.</p>\n<p>End.</p>"));
    }
    world.sync().await;
    let old = keep(&world);

    // A day's work on both sides, completely synced.
    let id = |slug: &str| {
        let articles = world.sandbox().articles().into_iter();
        let mut of = articles.filter(|article| article.slug == slug);
        of.next().expect(slug).id
    };
    let text = |slug: &str| world.sandbox().article(id(slug)).expect("there").text;
    world.edit("start/ours.html", "ours.", "ours, edited here.");
    world.sandbox().edit(id("theirs"), |article| {
        article.text = "<p>theirs, edited there.</p>\n<p>End.</p>".into();
    });
    world.edit("start/both.html", "both.", "both, edited here.");
    world.write("start/new.html", "---\ntitle: New\n---\n<p>New.</p>\n");
    world.remove("start/removed.html");
    world.rename("start/moved.html", "start/elsewhere.html");
    let report = world.sync().await;
    assert_eq!(report.problems, []);
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(world.sandbox().articles().len(), 5);
    // One more edit that the lost state never saw.
    world.sandbox().edit(id("both"), |article| {
        article.text = article.text.replace("End.", "End, edited there.");
    });

    let files = world.files();
    bring_back(&world, &old);
    world.sandbox().clear_requests();
    let report = world.sync().await;
    let writes = world.sandbox().requests();
    let writes: Vec<_> = writes
        .iter()
        // An empty update is a probe.
        .filter(|request| request.method != "GET" && request.body != "{}")
        .map(|request| format!("{} {}", request.method, request.body))
        .collect();
    assert!(writes.is_empty(), "{writes:?} of {:?}", lines(&report));
    assert_eq!(
        world.sandbox().articles().len(),
        5,
        "none gone, none double"
    );
    assert!(text("ours").contains("edited here"));
    assert!(text("theirs").contains("edited there"));
    assert!(world.exists("start/elsewhere.html"));
    assert!(!world.exists("start/removed.html"));
    let both = world.read("start/both.html");
    assert!(both.contains("both, edited here."), "{both}");
    let kept = both.contains("End, edited there.") || world.exists("start/both.conflict.html");
    assert!(kept, "the edit that nobody had seen: {both}");
    for (path, before) in files {
        if path != "start/both.html" {
            assert_eq!(world.read(&path), before, "{path}");
        }
    }
    let report = world.sync().await;
    let after: Vec<_> = lines(&report);
    assert!(
        after.iter().all(|line| line.starts_with("conflict ")),
        "it comes to rest: {after:?}"
    );
}

#[tokio::test]
async fn f089_a_state_that_came_with_a_copy_of_the_folder_is_good_for_it() {
    let world = World::new().await;
    let start = world.category("start");
    world.article(start, "one", "<p>One.</p>");
    world.article(start, "two", "<p>Two.</p>");
    world.sync().await;
    // Every file is replaced by a copy with other times and another inode.
    for (path, content) in world.files() {
        world.remove(&path);
        world.write(&path, &content);
    }
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert_eq!(report.problems, []);
    assert_eq!(world.sandbox().counts().total, 1, "one listing");
}

/// A state of an earlier version, which recorded planned file changes and was killed during one.
#[tokio::test]
async fn what_an_earlier_version_began_is_settled_by_what_is_found() {
    let world = World::new().await;
    let start = world.category("start");
    for slug in ["pulled", "caught", "edited"] {
        world.article(start, slug, "<p>One.</p>\n<p>End.</p>");
    }
    world.sync().await;
    let conn = rusqlite::Connection::open(world.path(".kbsync/state.db")).expect("the state");
    conn.execute_batch(
        "DROP TABLE journal; DROP TABLE displaced; DROP TABLE backoff;
         ALTER TABLE articles ADD COLUMN asked INTEGER; PRAGMA user_version = 3;
         INSERT INTO intents (json) VALUES ('{\"write_file\":{}}'), ('{\"remove_file\":{}}');",
    )
    .expect("as it was");
    drop(conn);
    let articles = world.sandbox().articles();
    let id = |slug: &str| {
        let mut found = articles.iter();
        found
            .find(|article| article.slug == slug)
            .expect("there")
            .id
    };
    // The file was pulled before the kill, or an editor's save was caught, or both sides were edited since.
    for slug in ["pulled", "edited"] {
        world.sandbox().edit(id(slug), |article| {
            article.text = article.text.replace("One.", "Theirs.");
        });
    }
    world.edit("start/pulled.html", "One.", "Theirs.");
    world.edit("start/edited.html", "End.", "Mine.");
    let caught = world.read("start/caught.html").replace("One.", "Caught.");
    world.write("start/.kbsync-tmp-1-2-was-caught.html", &caught);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    let text = |slug: &str| world.sandbox().article(id(slug)).expect("there").text;
    assert_eq!(text("pulled"), "<p>Theirs.</p>\n<p>End.</p>");
    assert_eq!(text("edited"), "<p>Theirs.</p>\n<p>Mine.</p>");
    assert_eq!(text("caught"), "<p>One.</p>\n<p>End.</p>");
    let beside = world.read("start/caught.1.conflict.html");
    assert!(beside.contains("Caught."), "{beside}");
}

#[tokio::test]
async fn what_an_earlier_version_was_told_of_an_unknown_id_is_not_asked_for_again() {
    let (world, ..) = World::start(&[("one", "<p>One.</p>")]).await;
    let unknown = "00000000-0000-0000-0000-00000000004d";
    let text = format!("---\nid: {unknown}\ntitle: Two\n---\n<p>Two.</p>\n");
    world.write("start/two.html", &text);
    let told = lines(&world.sync().await);
    let conn = rusqlite::Connection::open(world.path(".kbsync/state.db")).expect("the state");
    let stored = format!(
        "{{\"{unknown}\":{{\"at\":{},\"why\":\"no\",\"hidden\":true}}}}",
        world.clock.now().0
    );
    conn.execute_batch(
        "DROP TABLE backoff; ALTER TABLE articles ADD COLUMN asked INTEGER; PRAGMA user_version = 5;",
    )
    .expect("as it was");
    conn.execute("INSERT INTO meta VALUES ('strangers', ?1)", [stored])
        .expect("as it was");
    drop(conn);
    world.asked();
    let report = world
        .run(&CycleRequest {
            cause: Cause::Background,
            ..CycleRequest::new(Direction::Both)
        })
        .await;
    assert_eq!(lines(&report), told);
    assert_eq!(world.asked(), ["GET base"], "the listing alone");
}
