//! Stale reads after a PUT with a lost response, and stale versions that look like the known version (failures row 22).

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::look::assert_quiet;
use crate::support::world::{World, lines};
use kbsync::sandbox::Snapshot;
use uuid::Uuid;

const FIRST: &str = "<p>1</p>";
const OURS: &str = "<p>1, ours</p>";
const THEIRS: &str = "<p>1, theirs</p>";

fn text_of(world: &World, id: Uuid) -> String {
    world.sandbox().article(id).expect("there").text
}

/// An article on which both sides agree. Returns the service as it is now.
async fn agreed() -> (World, Uuid, Snapshot) {
    let world = World::new().await;
    let a = world.category("a");
    let id = world.article(a, "one", FIRST);
    world.sync().await;
    let past = world.sandbox().snapshot();
    (world, id, past)
}

/// A PUT that arrives with a lost response. The read after it fails as well or, if `looked`, shows the text as the
/// service rewrote it.
async fn unanswered(world: &World, id: Uuid, looked: bool) {
    let sandbox = world.sandbox();
    sandbox.habits().normalise.sanitise = true;
    world.edit("a/one.html", FIRST, "<p>1, <b>ours</b></p>");
    no_answer(world, id, looked).await;
    assert_eq!(text_of(world, id), "<p>1, <strong>ours</strong></p>");
}

async fn no_answer(world: &World, id: Uuid, looked: bool) {
    let sandbox = world.sandbox();
    let path = format!("/api/article/{id}");
    let put = Matcher::new("PUT", &path);
    sandbox.inject(Fault::once(put.clone(), FaultKind::ResetAfter));
    if !looked {
        sandbox.inject(Fault::once(put, FaultKind::Html).after(1));
    }
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html skipped"]);
}

/// The service rewrote the text, so its author is unknown: it is merged like a colleague's text.
#[tokio::test]
async fn f022_what_a_put_without_an_answer_replaced_does_not_come_back() {
    let world = World::new().await;
    let a = world.category("a");
    let id = world.article(a, "one", "<p>1</p>\n<p>2</p>\n<p>3</p>");
    world.sync().await;
    let sandbox = world.sandbox();
    let past = sandbox.snapshot();
    sandbox.habits().normalise.sanitise = true;
    world.edit("a/one.html", FIRST, OURS);
    world.edit("a/one.html", "<p>3</p>", "<p onclick=\"x\">3</p>");
    no_answer(&world, id, false).await;
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
    let file = world.read("a/one.html");
    assert!(file.contains(OURS));
    sandbox.serve_past(&past, 1);
    assert_quiet(&world, 1).await;
    assert_eq!(world.read("a/one.html"), file);
}

/// The writer's next edit is not the edit of the PUT.
#[tokio::test]
async fn f022_after_a_put_without_an_answer_other_words_are_not_sent_over_what_old_listings_hide() {
    for removed in [false, true] {
        let (world, id, past) = agreed().await;
        unanswered(&world, id, false).await;
        let sandbox = world.sandbox();
        sandbox.edit(id, |article| THEIRS.clone_into(&mut article.text));
        let expected = if removed {
            world.remove("a/one.html");
            "delete remote a/one.html skipped"
        } else {
            world.edit("a/one.html", "<b>ours</b>", "ours again");
            "update remote a/one.html skipped"
        };
        for probes in [1, 0, 0] {
            sandbox.serve_past(&past, 1);
            let report = world.sync().await;
            assert_eq!(lines(&report), [expected]);
            let writes = (report.requests.put, report.requests.delete);
            assert_eq!(writes, (probes, 0));
            assert_eq!(text_of(&world, id), THEIRS);
        }
    }
}

/// The read after the PUT showed the rewritten version, so a stale listing and a stale read that agree prove nothing.
#[tokio::test]
async fn f022_what_was_seen_after_a_put_without_an_answer_is_newer_than_what_it_replaced() {
    let (world, id, past) = agreed().await;
    unanswered(&world, id, true).await;
    world.edit("a/one.html", "<b>ours</b>", "ours again");
    world.sandbox().serve_past(&past, 2);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html skipped"]);
    assert_eq!(report.requests.put, 0, "{report:#?}");
    assert_eq!(text_of(&world, id), "<p>1, <strong>ours</strong></p>");
}

/// A replica that answers reads may lag behind all the time; a probe is answered by the server that carries out writes.
#[tokio::test]
async fn f022_a_put_without_an_answer_is_not_made_again_over_what_two_old_answers_hide() {
    let (world, id, past) = agreed().await;
    unanswered(&world, id, false).await;
    let sandbox = world.sandbox();
    sandbox.edit(id, |article| THEIRS.clone_into(&mut article.text));
    sandbox.serve_past(&past, 2);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html skipped"]);
    assert_eq!(text_of(&world, id), THEIRS);
}

/// A PUT that did not arrive is not waited for once its edit is taken back.
#[tokio::test]
async fn a_put_that_did_not_arrive_is_forgotten_with_its_edit() {
    let (world, id, _) = agreed().await;
    world.edit("a/one.html", FIRST, OURS);
    let path = format!("/api/article/{id}");
    let put = Matcher::new("PUT", &path);
    let sandbox = world.sandbox();
    sandbox.inject(Fault::once(put.clone(), FaultKind::ResetBefore));
    sandbox.inject(Fault::once(put, FaultKind::Html).after(1));
    world.sync().await;
    world.edit("a/one.html", OURS, FIRST);
    world.sync().await;
    let engine = world.engine();
    assert_eq!(engine.store().pending_requests().expect("readable"), []);
    drop(engine);
    assert_quiet(&world, 1).await;
}

/// The validator of a stale listing proves nothing: the next listing of the same age is read as well.
#[tokio::test]
async fn f022_the_tag_of_an_old_listing_does_not_vouch_for_what_it_hides() {
    let (world, id, past) = agreed().await;
    let sandbox = world.sandbox();
    sandbox.habits().etag = true;
    world.edit("a/one.html", FIRST, OURS);
    world.sync().await;
    sandbox.edit(id, |article| THEIRS.clone_into(&mut article.text));
    sandbox.serve_past(&past, 1);
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    world.edit("a/one.html", OURS, "<p>1, ours again</p>");
    sandbox.serve_past(&past, 1);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/one.html held"]);
    assert_eq!(text_of(&world, id), THEIRS);
}

/// The listing is from before a PUT with a lost response, and the article shows the PUT's text: the PUT is settled, and
/// the replaced version is known.
#[tokio::test]
async fn f022_a_put_without_an_answer_that_is_found_to_have_arrived_is_not_made_again() {
    let (world, id, past) = agreed().await;
    world.edit("a/one.html", FIRST, OURS);
    no_answer(&world, id, false).await;
    let sandbox = world.sandbox();
    sandbox.serve_past(&past, 1);
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    // The only request is a probe.
    assert_eq!(report.requests.put, 1, "{report:#?}");
    assert_eq!(text_of(&world, id), OURS);
    assert_quiet(&world, 1).await;
    let files = world.files();
    sandbox.serve_past(&past, 1);
    assert_quiet(&world, 1).await;
    assert_eq!(world.files(), files);
}
