//! An engine that lists repeatedly: entries with known bytes are not parsed, and the result is the same as if they
//! were.

use crate::support::hostile::{self, Tampered, Watched};
use crate::support::look::dry_run;
use crate::support::world::lines;
use kbsync::engine::Engine;
use kbsync::engine::report::Report;
use kbsync::engine::settings::CycleRequest;
use kbsync::reconcile::snapshot::Direction;
use std::sync::atomic::Ordering;

type Machine = Engine<Watched, Tampered>;

fn request() -> CycleRequest {
    CycleRequest::new(Direction::Both)
}

/// Runs one cycle. Returns the actions, and the number of entries that were not parsed.
async fn sync(engine: &mut Machine) -> (Vec<String>, usize) {
    let report: Report = engine.cycle(&request()).await.expect("a cycle");
    assert_eq!(report.problems, []);
    (
        lines(&report),
        engine.service().known.load(Ordering::SeqCst),
    )
}

fn nothing(known: usize) -> (Vec<String>, usize) {
    (Vec::new(), known)
}

fn only(line: &str, known: usize) -> (Vec<String>, usize) {
    (vec![line.to_owned()], known)
}

#[tokio::test]
async fn only_what_changed_is_read_again() {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    for n in 2..=5 {
        world.article(a, &format!("n{n}"), "<p>words</p>");
    }
    let mut engine = hostile::engine(&world, &hostile::calm());
    let (done, known) = sync(&mut engine).await;
    assert_eq!((done.len(), known), (6, 0));
    assert_eq!(sync(&mut engine).await, nothing(5));
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>1, edited</p>".into());
    let pulled = "update local a/one.html done";
    assert_eq!(sync(&mut engine).await, only(pulled, 4));
    assert_eq!(sync(&mut engine).await, nothing(5));
    world.sandbox().remove(one);
    assert_eq!(sync(&mut engine).await.0, ["delete local a/one.html done"]);
    assert_eq!(sync(&mut engine).await, nothing(4));
    // A new process does not parse them either.
    let mut engine = hostile::engine(&world, &hostile::calm());
    assert_eq!(sync(&mut engine).await, nothing(4));
}

#[tokio::test]
async fn f022_old_bytes_of_an_article_that_we_have_written_since_are_read_and_known_as_old() {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.article(a, "two", "<p>2</p>");
    let mut engine = hostile::engine(&world, &hostile::calm());
    sync(&mut engine).await;
    assert_eq!(sync(&mut engine).await, nothing(2));
    world.edit("a/one.html", "<p>1</p>", "<p>1, edited</p>");
    // The next listings are stale, and their bytes are known.
    world.sandbox().serve_past(&world.sandbox().snapshot(), 4);
    assert_eq!(sync(&mut engine).await.0, ["update remote a/one.html done"]);
    assert_eq!(sync(&mut engine).await, nothing(1));
    assert_eq!(sync(&mut engine).await, nothing(1));
    world.sandbox().serve_past(&world.sandbox().snapshot(), 0);
    assert_eq!(sync(&mut engine).await, nothing(1));
    assert_eq!(sync(&mut engine).await, nothing(2));
    let text = world.sandbox().article(one).expect("there").text;
    assert_eq!(text, "<p>1, edited</p>");
    assert!(world.read("a/one.html").contains("1, edited"));
    // The old text under a new revision is a colleague's edit.
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>1</p>".into());
    let pulled = "update local a/one.html done";
    assert_eq!(sync(&mut engine).await, only(pulled, 1));
    assert!(world.read("a/one.html").ends_with("---\n<p>1</p>\n"));
}

#[tokio::test]
async fn a_known_article_is_still_what_a_writers_edit_is_compared_with() {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    let mut engine = hostile::engine(&world, &hostile::calm());
    sync(&mut engine).await;
    world.edit("a/one.html", "<p>1</p>", "<p>2</p>");
    let pushed = "update remote a/one.html done";
    assert_eq!(sync(&mut engine).await, only(pushed, 1));
    let text = world.sandbox().article(one).expect("there").text;
    assert_eq!(text, "<p>2</p>");
    // Both sides changed, and the merge still has the text of the listing.
    let body = "<p>One.</p>\n<p>Two.</p>\n<p>Three.</p>";
    world.edit("a/one.html", "<p>2</p>", body);
    sync(&mut engine).await;
    sync(&mut engine).await;
    world.edit("a/one.html", "<p>One.</p>", "<p>One, here.</p>");
    world.sandbox().edit(one, |article| {
        article.text = article.text.replace("Three.", "Three, there.");
    });
    assert_eq!(sync(&mut engine).await.0, ["merge both a/one.html done"]);
    let merged = "<p>One, here.</p>\n<p>Two.</p>\n<p>Three, there.</p>";
    let text = world.sandbox().article(one).expect("there").text;
    assert_eq!(text, merged);
}

#[tokio::test]
async fn figures_are_recorded_though_a_dry_run_met_them_first() {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    let mut engine = hostile::engine(&world, &hostile::calm());
    sync(&mut engine).await;
    world.sandbox().visit(one, 5);
    engine.cycle(&dry_run()).await.expect("a plan");
    sync(&mut engine).await;
    let views = |engine: &Machine| engine.store().figures().expect("readable")[0].1.views;
    assert_eq!(views(&engine), 5);
    world.sandbox().visit(one, 2);
    assert_eq!(sync(&mut engine).await, nothing(0));
    assert_eq!(views(&engine), 7);
    assert_eq!(sync(&mut engine).await, nothing(1));
    assert_eq!(views(&engine), 7);
}
