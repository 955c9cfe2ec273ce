//! Files that were moved over other articles' files, while a daemon watches: that one's article has the grace time of one
//! whose file was removed (design, section 6).

use crate::daemon::{Daemon, mirror, until};
use crate::hostile::{self, Meddler, Stage, Tampered, Watched};
use crate::kb::Service;
use crate::world::lines;
use kbsync::engine::Engine;
use kbsync::engine::report::Report;
use kbsync::engine::settings::Request;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::reconcile::snapshot::Direction;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

const GRACE: Duration = Duration::from_mins(1);

type Daemons = Engine<Watched, Tampered>;

/// `a/one.html`, `a/two.html` and `a/three.html`, synced.
async fn world() -> (Stage, [Uuid; 3]) {
    let world = hostile::world().await;
    let a = world.category("a");
    let ids = ["one", "two", "three"].map(|slug| world.article(a, slug, &format!("<p>{slug}</p>")));
    hostile::sync(&world).await;
    (world, ids)
}

/// A cycle as the daemon runs it.
async fn cycle(engine: &mut Daemons) -> Report {
    let request = Request {
        grace: Some(GRACE),
        patient: true,
        ..Request::new(Direction::Both)
    };
    engine.cycle(&request).await.expect("a cycle")
}

/// Lets time go on for tokio alone.
async fn wait(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn slugs(world: &Stage) -> Vec<String> {
    let mut slugs: Vec<String> = world
        .sandbox()
        .articles()
        .into_iter()
        .map(|article| article.slug)
        .collect();
    slugs.sort();
    slugs
}

#[tokio::test]
async fn an_article_waits_for_its_file_that_another_one_replaced() {
    let (world, [one, ..]) = world().await;
    let mut engine = hostile::engine(&world, &hostile::calm());
    cycle(&mut engine).await;
    world.rename("a/two.html", "a/one.html");
    world.edit("a/three.html", "three", "drei");
    let report = cycle(&mut engine).await;
    assert_eq!(lines(&report), ["update remote a/three.html done"]);
    assert_eq!(report.outcome.exit_code(), 0);
    let [(path, _)] = report.again.as_slice() else {
        panic!("{:?}", report.again);
    };
    assert_eq!(path, "a/one.html");
    wait(GRACE / 2).await;
    let again = cycle(&mut engine).await;
    assert_eq!(lines(&again), [""; 0]);
    assert_eq!(again.again, report.again, "it counts from the first time");
    assert!(world.sandbox().article(one).is_some());
    wait(GRACE / 2).await;
    let report = cycle(&mut engine).await;
    assert_eq!(
        lines(&report),
        [
            "delete remote a/one.html done",
            "move remote a/one.html done"
        ]
    );
    assert_eq!(report.again, []);
    assert_eq!(slugs(&world), ["one", "three"]);
    assert_eq!(lines(&cycle(&mut engine).await), [""; 0]);
}

#[tokio::test]
async fn a_file_that_is_put_back_in_time_deletes_nothing() {
    let (world, [one, two, _]) = world().await;
    let mut engine = hostile::engine(&world, &hostile::calm());
    let file = world.read("a/one.html");
    world.rename("a/two.html", "a/one.html");
    cycle(&mut engine).await;
    world.rename("a/one.html", "a/two.html");
    world.write("a/one.html", &file);
    wait(GRACE / 2).await;
    assert_eq!(lines(&cycle(&mut engine).await), [""; 0]);
    wait(GRACE).await;
    assert_eq!(lines(&cycle(&mut engine).await), [""; 0]);
    assert!(world.sandbox().article(one).is_some());
    assert!(world.sandbox().article(two).is_some());
    // The next time it has all of the time again, and so it has in a new process.
    world.rename("a/two.html", "a/one.html");
    assert_eq!(lines(&cycle(&mut engine).await), [""; 0]);
    drop(engine);
    wait(GRACE / 2).await;
    let mut engine = hostile::engine(&world, &hostile::calm());
    for _ in 0..2 {
        assert_eq!(lines(&cycle(&mut engine).await), [""; 0]);
        wait(GRACE / 2).await;
    }
    assert_eq!(cycle(&mut engine).await.actions.len(), 2);
    assert!(world.sandbox().article(one).is_none());
}

#[tokio::test]
async fn an_article_waits_for_its_file_that_one_without_an_id_replaced() {
    let (world, [one, ..]) = world().await;
    let fails: Meddler = Arc::new(|moment| {
        if (moment.doing, moment.what.as_str()) == ("publish", "a/new.html") {
            return Err(DiskErrorKind::Other);
        }
        Ok(())
    });
    world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
    hostile::sync_with(&world, &fails).await;
    assert_eq!(slugs(&world).len(), 4);
    assert!(!world.read("a/new.html").contains("\nid: "));
    world.rename("a/new.html", "a/one.html");
    let mut engine = hostile::engine(&world, &hostile::calm());
    cycle(&mut engine).await;
    assert!(world.sandbox().article(one).is_some());
    wait(GRACE).await;
    cycle(&mut engine).await;
    assert!(world.sandbox().article(one).is_none());
    assert_eq!(slugs(&world), ["one", "three", "two"]);
}

#[tokio::test]
async fn what_follows_a_replaced_file_waits_with_it() {
    let (world, _) = world().await;
    let mut engine = hostile::engine(&world, &hostile::calm());
    // The address of the second one is wanted by the third, and by a new file.
    world.rename("a/two.html", "a/one.html");
    world.rename("a/three.html", "a/two.html");
    world.write("a/three.html", "---\ntitle: New\n---\n<p>new</p>\n");
    let before = world.files();
    let report = cycle(&mut engine).await;
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(world.files(), before);
    assert_eq!(slugs(&world), ["one", "three", "two"]);
    wait(GRACE).await;
    let report = cycle(&mut engine).await;
    assert_eq!(report.actions.len(), 4, "{report:#?}");
    assert_eq!(slugs(&world), ["one", "three", "two"]);
}

#[test]
fn the_daemon_waits_as_long_for_a_file_that_was_replaced_as_for_one_that_was_removed() {
    let service = Service::empty();
    let start = service.category("start");
    let [one, two] = ["one", "two"].map(|slug| service.article(start, slug, "<p>Old.</p>"));
    let kb = mirror(&service);
    let settings = kb.read("kbsync.yaml");
    kb.write(
        "kbsync.yaml",
        &settings.replace("delete_grace: 50ms", "delete_grace: 1s"),
    );
    kb.run(&["sync"]).exits(0);
    let daemon = Daemon::start(&kb, &[]);
    let replaced = Instant::now();
    let place = |name: &str| kb.mirror().join("start").join(name);
    std::fs::rename(place("two.html"), place("one.html")).expect("renamed");
    until("it is gone", || service.sandbox.article(one).is_none());
    assert!(replaced.elapsed() >= Duration::from_secs(1));
    let slug = || service.sandbox.article(two).expect("there").slug;
    until("the other one has its place", || slug() == "one");
    daemon.stop();
}
