//! Superseded versions that return: our own last write after a colleague's version was pulled over it, and a deleted
//! article's text from before our last writes (failures row 22).

use crate::support::faults::{AnswerEdit, Fault, FaultKind, Inject, Matcher};
use crate::support::look::{assert_quiet, problems};
use crate::support::world::{World, lines};
use kbsync::sandbox::Snapshot;
use serde_json::Value;
use uuid::Uuid;

const OURS: &str = "<p>1, ours</p>";
const THEIRS: &str = "<p>1, theirs</p>";

/// An article of ours, over which a colleague's edit was pulled. Returns the service as it was between the two.
async fn pulled() -> (World, Uuid, Snapshot) {
    let world = World::new().await;
    let a = world.category("a");
    let id = world.article(a, "one", "<p>1</p>");
    world.sync().await;
    world.edit("a/one.html", "<p>1</p>", OURS);
    world.sync().await;
    let past = world.sandbox().snapshot();
    let sandbox = world.sandbox();
    sandbox.edit(id, |article| THEIRS.clone_into(&mut article.text));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/one.html done"]);
    (world, id, past)
}

fn text_of(world: &World, id: Uuid) -> String {
    world.sandbox().article(id).expect("there").text
}

#[tokio::test]
async fn f022_what_we_left_does_not_come_back_over_what_was_pulled() {
    let (world, id, past) = pulled().await;
    let files = world.files();
    world.sandbox().serve_past(&past, 1);
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(world.files(), files);
    // The same stale read once more, now with an edit by the writer: the article is asked for.
    world.edit("a/one.html", THEIRS, "<p>1, ours again</p>");
    world.sandbox().serve_past(&past, 2);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
    assert_eq!(text_of(&world, id), "<p>1, ours again</p>");
    assert_quiet(&world, 1).await;
}

/// The same text under a new revision is a colleague's own revert.
#[tokio::test]
async fn a_colleague_who_takes_the_last_edit_back_is_obeyed() {
    let (world, id, _) = pulled().await;
    let sandbox = world.sandbox();
    sandbox.edit(id, |article| OURS.clone_into(&mut article.text));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/one.html done"]);
    assert!(world.read("a/one.html").contains(OURS));
    assert_quiet(&world, 1).await;
}

/// The DELETE may have a lost response; a listing from before our last two writes still has the article.
#[tokio::test]
async fn f022_a_deleted_article_does_not_come_back_from_before_several_writes() {
    for answered in [true, false] {
        let world = World::new().await;
        let a = world.category("a");
        let id = world.article(a, "one", "<p>1</p>");
        world.sync().await;
        let past = world.sandbox().snapshot();
        let mut now = "<p>1</p>";
        for text in ["<p>2</p>", "<p>3</p>"] {
            world.edit("a/one.html", now, text);
            world.sync().await;
            now = text;
        }
        world.remove("a/one.html");
        if !answered {
            let path = format!("/api/article/{id}");
            let on = Matcher::new("DELETE", &path);
            let sandbox = world.sandbox();
            sandbox.inject(Fault::once(on, FaultKind::ResetAfter));
            let on = Matcher::new("PUT", &path);
            sandbox.inject(Fault::once(on, FaultKind::Html));
        }
        let report = world.sync().await;
        let became = if answered { "done" } else { "skipped" };
        assert_eq!(
            lines(&report),
            [format!("delete remote a/one.html {became}")]
        );
        world.sandbox().serve_past(&past, 1);
        world.sync().await;
        assert!(!world.exists("a/one.html"), "answered: {answered}");
        world.sync().await;
        world.sandbox().serve_past(&past, 1);
        let report = world.sync().await;
        assert_eq!(lines(&report), [""; 0], "answered: {answered}");
        assert!(!world.exists("a/one.html"), "answered: {answered}");
        assert_quiet(&world, 1).await;
    }
}

/// An answer without the body is reported, and changes nothing.
#[tokio::test]
async fn an_answer_without_a_body_is_told() {
    let (world, id, _) = pulled().await;
    let files = world.files();
    let sandbox = world.sandbox();
    sandbox.habits().bodies = false;
    sandbox.habits().category_bodies = false;
    sandbox.edit(id, |article| "<p>newer</p>".clone_into(&mut article.text));
    let bodiless = AnswerEdit::new(|answer: &mut Value| without(answer, "text"));
    let on = Matcher::new("GET", &format!("/api/article/{id}"));
    sandbox.inject(Fault::once(on, FaultKind::Edit(bodiless)));
    let report = world.sync().await;
    assert_eq!(world.files(), files);
    assert_eq!(
        problems(&report),
        ["a/one.html: its body cannot be read: the answer has none"]
    );
    world.sync().await;
    assert!(world.read("a/one.html").contains("<p>newer</p>"));
    assert_quiet(&world, 1).await;
}

fn without(value: &mut Value, field: &str) {
    if let Value::Object(fields) = value {
        fields.remove(field);
        fields.values_mut().for_each(|value| without(value, field));
    }
}

/// A pulled version may be stale, and may as well be a colleague's revert. In either case our own last write does not
/// count as superseded.
#[tokio::test]
async fn f022_what_we_left_comes_back_after_an_older_version_that_was_a_colleagues() {
    let world = World::new().await;
    let a = world.category("a");
    let id = world.article(a, "one", "<p>1</p>");
    world.sync().await;
    let past = world.sandbox().snapshot();
    let sandbox = world.sandbox();
    sandbox.edit(id, |article| THEIRS.clone_into(&mut article.text));
    world.sync().await;
    world.edit("a/one.html", THEIRS, OURS);
    world.sync().await;
    assert_eq!(text_of(&world, id), OURS);
    world.sandbox().serve_past(&past, 1);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/one.html done"]);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/one.html done"]);
    assert!(world.read("a/one.html").contains(OURS));
    assert_quiet(&world, 1).await;
}
