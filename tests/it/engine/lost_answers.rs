//! Lost responses: a POST without duplicates, a PUT and a DELETE that are read after (failures rows 14 to 17, 20).

use crate::support::faults::habits::Normalise;
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::hostile::{self, Stage, settle};
use crate::support::look::{assert_quiet, decision, dry_run, requests};
use crate::support::world::lines;
use kbsync::engine::report::{Report, Status};
use kbsync::engine::settings::{Cause, CycleRequest};
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::{ArticleId, ExitCode, Side};
use kbsync::reconcile::snapshot::{Direction, Keep};
use kbsync::sandbox::{NewSeed, Options};
use kbsync::state::PendingRequest;
use uuid::Uuid;

const POST: (&str, &str) = ("POST", "/api/article");
const PUT: (&str, &str) = ("PUT", "/api/article/");
const DELETE: (&str, &str) = ("DELETE", "/api/article/");

fn on(what: (&str, &str)) -> Matcher {
    Matcher::new(what.0, what.1)
}

/// Lets the next request of this kind fail.
fn fail_once(world: &Stage, request: (&str, &str), fault: FaultKind) {
    world.sandbox().inject(Fault::once(on(request), fault));
}

/// A category with one synced article.
async fn one_article() -> (Stage, Uuid, Uuid) {
    one_article_rewritten(Normalise::default()).await
}

async fn one_article_rewritten(normalise: Normalise) -> (Stage, Uuid, Uuid) {
    let world = hostile::world_with(Options::unlimited()).await;
    world.sandbox().habits().normalise = normalise;
    let category = world.category("a");
    let one = world.article(category, "one", "<p>1</p>");
    settle(&world).await;
    requests(&world);
    (world, category, one)
}

fn text_of(world: &Stage, id: Uuid) -> String {
    world.sandbox().article(id).expect("there").text
}

fn slugs(world: &Stage) -> Vec<String> {
    let mut slugs: Vec<_> = world
        .sandbox()
        .articles()
        .into_iter()
        .map(|article| article.slug)
        .collect();
    slugs.sort();
    slugs
}

fn pending_requests(world: &Stage) -> Vec<PendingRequest> {
    let pending = hostile::store(world).pending_requests().expect("read");
    pending.into_iter().map(|(_, pending)| pending).collect()
}

/// Checks for a good end, with nothing open and nothing left to do.
async fn assert_settled(world: &Stage) {
    let report = settle(world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert_eq!(pending_requests(world), []);
    assert_quiet(world, 1).await;
}

/// Returns the reason why the first action was not done.
fn why(report: &Report) -> String {
    report.actions[0].reason.clone().unwrap_or_default()
}

fn write_new(world: &Stage) {
    world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
}

#[tokio::test]
async fn f014_a_post_that_arrived_without_an_answer_is_adopted_in_the_same_run() {
    for lost in [
        FaultKind::ResetAfter,
        FaultKind::Truncate(20),
        FaultKind::InvalidJson,
    ] {
        let (world, ..) = one_article().await;
        write_new(&world);
        world.sandbox().inject(Fault::once(on(POST), lost.clone()));
        let report = settle(&world).await;
        assert_eq!(
            lines(&report),
            ["create remote a/new.html done"],
            "{lost:?}"
        );
        assert_eq!(report.outcome, ExitCode::Done);
        assert_eq!(slugs(&world), ["new", "one"]);
        assert!(world.read("a/new.html").contains("id: "));
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f014_a_post_that_never_arrived_is_sent_again() {
    let failures = [
        FaultKind::ResetBefore,
        FaultKind::Status(500, String::new()),
        FaultKind::Status(502, "<html>Bad gateway</html>".into()),
    ];
    for lost in failures {
        let (world, ..) = one_article().await;
        write_new(&world);
        world.sandbox().inject(Fault::once(on(POST), lost.clone()));
        let report = settle(&world).await;
        assert_eq!(
            lines(&report),
            ["create remote a/new.html done"],
            "{lost:?}"
        );
        assert_eq!(slugs(&world), ["new", "one"]);
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f014_a_post_that_arrived_without_an_answer_after_one_that_did_not_arrive_is_adopted() {
    let (world, ..) = one_article().await;
    write_new(&world);
    let sandbox = world.sandbox();
    sandbox.inject(Fault::always(on(POST), FaultKind::ResetBefore));
    settle(&world).await;
    sandbox.clear_faults();
    assert_eq!(slugs(&world), ["one"]);
    fail_once(&world, POST, FaultKind::ResetAfter);
    let report = settle(&world).await;
    assert_eq!(
        lines(&report),
        ["create remote a/new.html done"],
        "{report:#?}"
    );
    assert_eq!(slugs(&world), ["new", "one"]);
    assert_settled(&world).await;
}

#[tokio::test]
async fn f014_the_adopted_article_is_compared_with_what_was_sent() {
    let normalise = Normalise {
        sanitise: true,
        trim: true,
        ..Normalise::default()
    };
    let (world, ..) = one_article_rewritten(normalise).await;
    world.write(
        "a/new.html",
        "---\ntitle: \"New \"\n---\n<p CLASS=a>new</p>\n",
    );
    fail_once(&world, POST, FaultKind::ResetAfter);
    let report = settle(&world).await;
    assert_eq!(lines(&report), ["create remote a/new.html done"]);
    assert_eq!(slugs(&world), ["new", "one"]);
    settle(&world).await;
    assert_settled(&world).await;
    // An article with another text may be another person's.
    let (world, ..) = one_article_rewritten(normalise).await;
    world.write(
        "a/new.html",
        "---\ntitle: New\n---\n<p onclick=\"x()\">new</p>\n",
    );
    fail_once(&world, POST, FaultKind::ResetAfter);
    let report = settle(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert!(report.problems[0].message.contains("different content"));
    assert_eq!(slugs(&world), ["new", "one"]);
    assert!(world.read("a/new.html").contains("onclick"));
    // The file stays held wherever it is moved.
    world.rename("a/new.html", "a/moved.html");
    let report = settle(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    let message = &report.problems[0].message;
    assert!(message.contains("move it back to a/new.html"), "{message}");
    assert_eq!(slugs(&world), ["new", "one"]);
}

/// A world with a lost POST, in which a colleague took the slug before kbsync read again.
async fn slug_taken_after_a_lost_post() -> Stage {
    let (world, category, _) = one_article().await;
    write_new(&world);
    let theirs = Hook::new(move |sandbox| {
        sandbox.add_article(NewSeed::new(category, "Theirs", "new", "<p>theirs</p>"));
    });
    fail_once(&world, POST, FaultKind::Hook(theirs));
    fail_once(&world, POST, FaultKind::ResetBefore);
    let report = settle(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert!(report.problems[0].message.contains("different content"));
    assert_eq!(report.outcome.number(), 4);
    let [PendingRequest::CreateArticle(creation)] = &pending_requests(&world)[..] else {
        panic!("one creation stands");
    };
    assert!(creation.unclear.is_some(), "{creation:?}");
    let report = settle(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert!(report.problems[0].message.contains("different content"));
    assert_eq!(slugs(&world), ["new", "one"]);
    world
}

#[tokio::test]
async fn f014_an_article_of_somebody_else_is_not_adopted() {
    let world = slug_taken_after_a_lost_post().await;
    let theirs = world.sandbox().articles().pop().expect("there");
    assert_eq!(theirs.text, "<p>theirs</p>");
    assert!(world.read("a/new.html").contains("<p>new</p>"));
    // The first way out: the article belongs to this file.
    let source = world.read("a/new.html");
    let named = source.replacen("---\n", &format!("---\nid: {}\n", theirs.id), 1);
    world.write("a/new.html", &named);
    let report = settle(&world).await;
    assert_eq!(report.outcome.number(), 3, "{report:#?}");
    assert!(world.exists("a/new.conflict.html"));
    assert!(world.read("a/new.html").contains("<p>new</p>"));
    assert_eq!(pending_requests(&world), []);
}

#[tokio::test]
async fn f014_an_article_that_may_be_the_created_one_is_known_at_another_address() {
    let world = slug_taken_after_a_lost_post().await;
    let theirs = world.sandbox().articles().pop().expect("there");
    world
        .sandbox()
        .edit(theirs.id, |article| article.slug = "elsewhere".into());
    let report = settle(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert!(report.problems[0].message.contains("different content"));
    assert_eq!(slugs(&world), ["elsewhere", "one"]);
    assert!(!world.exists("a/elsewhere.html"));
    // A command without a request reports the same.
    let problems = hostile::status(&world).problems;
    assert!(
        problems[0].message.contains("different content"),
        "{problems:?}"
    );
}

#[tokio::test]
async fn f014_a_new_article_that_a_colleague_moved_waits_for_its_file() {
    let (world, ..) = one_article().await;
    let file = "---\ntitle: New\n---\n<p>new</p>\n";
    world.write("a/new.html", file);
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetAfter));
    settle(&world).await;
    world.sandbox().clear_faults();
    let made = world.sandbox().articles().pop().expect("there");
    let sandbox = world.sandbox();
    sandbox.edit(made.id, |article| article.slug = "elsewhere".into());
    // Its writer is at work on the file.
    world.write("a/new.html", "---\ntitle: New\n");
    let report = settle(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    let told = |report: &Report, what: &str| {
        let mut problems = report.problems.iter();
        problems.any(|problem| {
            problem.id == Some(ArticleId::new(made.id)) && problem.message.contains(what)
        })
    };
    assert!(told(&report, "was created from this file"), "{report:#?}");
    assert!(!world.exists("a/elsewhere.html"));
    // Its file can be compared, and is held.
    world.write("a/new.html", file);
    let report = settle(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert!(told(&report, "add `id: "), "{report:#?}");
    // A file with other words is another article's.
    world.write("a/new.html", "---\ntitle: Other\n---\n<p>other</p>\n");
    settle(&world).await;
    assert_settled(&world).await;
    assert_eq!(slugs(&world), ["elsewhere", "new", "one"]);
}

#[tokio::test]
async fn f014_a_dry_run_cannot_compare_and_advises_nothing() {
    let (world, ..) = one_article().await;
    world.sandbox().habits().normalise.sanitise = true;
    world.write("a/new.html", "---\ntitle: New\n---\n<p CLASS=a>new</p>\n");
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetAfter));
    settle(&world).await;
    world.sandbox().clear_faults();
    let request = CycleRequest {
        dry_run: true,
        ..CycleRequest::new(Direction::Both)
    };
    let mut engine = hostile::engine(&world, &hostile::calm());
    let planned = engine.cycle(&request).await.expect("a plan");
    drop(engine);
    assert_eq!(lines(&planned), ["create remote a/new.html planned"]);
    assert!(planned.problems.is_empty(), "{planned:#?}");
    settle(&world).await;
    assert_settled(&world).await;
    assert_eq!(slugs(&world), ["new", "one"]);
}

#[tokio::test]
async fn f014_a_file_whose_slug_somebody_else_took_is_created_under_another_name() {
    let world = slug_taken_after_a_lost_post().await;
    // The second way out: the file is to be another article.
    let source = world.read("a/new.html");
    world.write(
        "a/other.html",
        &source.replace("title: New", "title: Other"),
    );
    world.remove("a/new.html");
    settle(&world).await;
    settle(&world).await;
    assert_settled(&world).await;
    assert_eq!(slugs(&world), ["new", "one", "other"]);
    assert!(world.read("a/new.html").contains("<p>theirs</p>"));
    assert_eq!(pending_requests(&world), []);
}

#[tokio::test]
async fn f014_an_article_that_cannot_be_read_is_held_and_not_sent_in_every_cycle() {
    let (world, ..) = one_article().await;
    world.write(
        "a/new.html",
        "---\ntitle: New\ndraft: true\n---\n<p>new</p>\n",
    );
    fail_once(&world, POST, FaultKind::ResetAfter);
    let report = settle(&world).await;
    assert_eq!(lines(&report), ["create remote a/new.html held"]);
    let reason = why(&report);
    assert!(
        reason.contains(
            "The next sync looks again. If that does not help, publish the article in the dashboard, or put its id into the file"
        ),
        "{reason}"
    );
    assert_eq!(report.outcome.number(), 3);
    let report = settle(&world).await;
    assert_eq!(lines(&report), ["create remote a/new.html held"]);
    assert_eq!((report.requests.post, report.outcome.number()), (0, 3));
    assert_eq!(why(&report), reason);
    assert_eq!(slugs(&world), ["new", "one"]);
    // A person publishes the article.
    let id = world.sandbox().articles().pop().expect("there").id;
    world.sandbox().publish(id);
    let report = settle(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert!(world.read("a/new.html").contains(&id.to_string()));
    assert_settled(&world).await;
}

#[tokio::test]
async fn f014_a_persons_id_line_settles_an_article_that_cannot_be_read() {
    let (world, ..) = one_article().await;
    world.write(
        "a/new.html",
        "---\ntitle: New\ndraft: true\n---\n<p>new</p>\n",
    );
    fail_once(&world, POST, FaultKind::ResetAfter);
    settle(&world).await;
    let id = world.sandbox().articles().pop().expect("there").id;
    world.edit("a/new.html", "title: New", &format!("id: {id}\ntitle: New"));
    let report = settle(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert_eq!(slugs(&world), ["new", "one"]);
    assert_settled(&world).await;
}

#[tokio::test]
async fn f005_a_writer_goes_on_editing_while_the_answer_to_the_post_is_lost() {
    let (world, ..) = one_article().await;
    write_new(&world);
    // Every response is lost: the run gives up, and the article exists.
    fail_once(&world, POST, FaultKind::ResetAfter);
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetBefore).after(1));
    let report = settle(&world).await;
    assert_eq!(lines(&report), ["create remote a/new.html skipped"]);
    assert_eq!(report.outcome.number(), 5);
    assert_eq!(pending_requests(&world).len(), 1);
    world.sandbox().clear_faults();
    world.edit("a/new.html", "title: New", "title: Renamed");
    world.edit("a/new.html", "<p>new</p>", "<p>newer</p>");
    let report = settle(&world).await;
    let expected = [
        "create remote a/new.html done",
        "update remote a/new.html done",
    ];
    assert_eq!(lines(&report), expected);
    assert_eq!(slugs(&world), ["new", "one"]);
    let article = world.sandbox().articles().pop().expect("there");
    assert_eq!(
        (article.title.as_str(), article.text.as_str()),
        ("Renamed", "<p>newer</p>")
    );
    assert_settled(&world).await;
}

#[tokio::test]
async fn f005_the_same_when_the_listing_does_not_show_it_yet() {
    let (world, ..) = one_article().await;
    write_new(&world);
    fail_once(&world, POST, FaultKind::ResetAfter);
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetBefore).after(1));
    settle(&world).await;
    world.sandbox().clear_faults();
    world.edit("a/new.html", "title: New", "title: Renamed");
    // A stale listing first, and then the current listing.
    let id = world.sandbox().articles().pop().expect("there").id;
    let hidden = world.sandbox().remove(id).expect("there");
    world.sandbox().serve_past(&world.sandbox().snapshot(), 1);
    world.sandbox().restore(hidden);
    let report = settle(&world).await;
    assert_eq!(lines(&report), ["create remote a/new.html held"]);
    assert_eq!(slugs(&world), ["new", "one"]);
    let report = settle(&world).await;
    let expected = [
        "create remote a/new.html done",
        "update remote a/new.html done",
    ];
    assert_eq!(lines(&report), expected);
    assert_eq!(world.sandbox().article(id).expect("there").title, "Renamed");
    assert_settled(&world).await;
}

/// A POST with these flags that arrived, and whose responses are lost until the run gives up.
async fn posted_without_an_answer(flags: &str) -> (Stage, Uuid) {
    let (world, ..) = one_article().await;
    world.write(
        "a/new.html",
        &format!("---\ntitle: New\n{flags}---\n<p>new</p>\n"),
    );
    fail_once(&world, POST, FaultKind::ResetAfter);
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetBefore).after(1));
    settle(&world).await;
    world.sandbox().clear_faults();
    let id = world.sandbox().articles().pop().expect("there").id;
    (world, id)
}

/// Hides the article from the first listing of the next cycle.
fn not_shown_yet(world: &Stage, id: Uuid) {
    let hidden = world.sandbox().remove(id).expect("there");
    world.sandbox().serve_past(&world.sandbox().snapshot(), 1);
    world.sandbox().restore(hidden);
}

#[tokio::test]
async fn f014_a_writer_who_hides_a_file_before_the_answer_to_its_post_is_known_is_obeyed() {
    for stale in [false, true] {
        let (world, id) = posted_without_an_answer("").await;
        world.edit("a/new.html", "title: New", "title: New\nenabled: false");
        if stale {
            not_shown_yet(&world, id);
        }
        settle(&world).await;
        settle(&world).await;
        assert!(
            !world.sandbox().article(id).expect("there").enabled,
            "{stale}"
        );
        assert!(world.read("a/new.html").contains("enabled: false"));
        assert_eq!(slugs(&world), ["new", "one"]);
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f014_what_was_sent_hidden_and_a_colleague_published_stays_public() {
    for stale in [false, true] {
        let (world, id) = posted_without_an_answer("enabled: false\n").await;
        world.sandbox().enable(id);
        if stale {
            not_shown_yet(&world, id);
        }
        for _ in 0..3 {
            settle(&world).await;
        }
        assert!(
            world.sandbox().article(id).expect("there").enabled,
            "{stale}"
        );
        let file = world.read("a/new.html");
        assert!(!file.contains("enabled: false"), "{stale}: {file}");
        assert_eq!(slugs(&world), ["new", "one"]);
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f014_a_file_that_was_sent_hidden_then_public_and_is_hidden_again_ends_hidden() {
    for stale in [false, true] {
        let (world, ..) = one_article().await;
        let hidden = "---\ntitle: New\nenabled: false\n---\n<p>new</p>\n";
        world.write("a/new.html", hidden);
        // The first POST never arrives; the second POST arrives, with a lost response.
        world
            .sandbox()
            .inject(Fault::always(on(POST), FaultKind::ResetBefore));
        settle(&world).await;
        world.sandbox().clear_faults();
        world.edit("a/new.html", "enabled: false\n", "");
        fail_once(&world, POST, FaultKind::ResetAfter);
        world
            .sandbox()
            .inject(Fault::always(on(POST), FaultKind::ResetBefore).after(1));
        settle(&world).await;
        world.sandbox().clear_faults();
        let id = world.sandbox().articles().pop().expect("there").id;
        assert!(world.sandbox().article(id).expect("there").enabled);
        world.write("a/new.html", hidden);
        if stale {
            not_shown_yet(&world, id);
        }
        settle(&world).await;
        settle(&world).await;
        assert!(
            !world.sandbox().article(id).expect("there").enabled,
            "{stale}"
        );
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f014_a_draft_line_that_came_before_the_answer_to_a_post_is_told_not_to_count() {
    for stale in [false, true] {
        let (world, id) = posted_without_an_answer("").await;
        world.edit("a/new.html", "title: New", "title: New\ndraft: true");
        if stale {
            not_shown_yet(&world, id);
        }
        settle(&world).await;
        let report = settle(&world).await;
        assert!(
            report
                .problems
                .iter()
                .any(|problem| problem.message.contains("`draft` of an existing article")),
            "{stale}: {report:#?}"
        );
        assert!(!world.sandbox().article(id).expect("there").draft);
        assert!(world.read("a/new.html").contains("draft: true"));
    }
}

/// Returns the file that `kbsync new` writes.
fn stub(title: &str) -> String {
    format!("---\ntitle: {title}\nenabled: false\n---\n<p></p>\n")
}

#[tokio::test]
async fn f014_a_text_that_says_nothing_tells_of_no_file_what_was_sent() {
    let (world, ..) = one_article().await;
    world.write("a/first.html", &stub("First"));
    fail_once(&world, POST, FaultKind::ResetAfter);
    settle(&world).await;
    world.sandbox().clear_faults();
    assert_eq!(slugs(&world), ["first", "one"]);
    // The article is hidden, so only its slug can identify it; meanwhile the writer edits the file, and begins another
    // file.
    world.edit("a/first.html", "<p></p>", "<p>Now it says something.</p>");
    world.write("a/second.html", &stub("Second"));
    settle(&world).await;
    settle(&world).await;
    assert_eq!(slugs(&world), ["first", "one", "second"]);
    assert!(world.read("a/second.html").contains("\nid: "));
}

#[tokio::test]
async fn f014_a_colleagues_article_that_says_as_little_is_not_ours() {
    let (world, ..) = one_article().await;
    let a = world.sandbox().categories()[0].id;
    world.write("a/new.html", "---\ntitle: New\n---\n<p></p>\n");
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetBefore));
    settle(&world).await;
    world.sandbox().clear_faults();
    world
        .sandbox()
        .add_article(NewSeed::new(a, "Theirs", "theirs", "<p></p>"));
    settle(&world).await;
    assert_eq!(slugs(&world), ["new", "one", "theirs"]);
    assert!(world.read("a/new.html").contains("title: New\n"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn f014_a_post_whose_file_is_gone_claims_no_later_file_and_ends_once_every_file_is_ready() {
    let (world, ..) = one_article().await;
    world.write("a/notes.html", "<p>What there is to do this week</p>\n");
    world.write(
        "a/n.html",
        "---\ntitle: Overview\n---\n<p>All that we sell</p>\n",
    );
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetBefore));
    settle(&world).await;
    assert_eq!(pending_requests(&world).len(), 1);
    world.sandbox().clear_faults();
    world.remove("a/n.html");
    settle(&world).await;
    assert_eq!(
        pending_requests(&world).len(),
        1,
        "the other file may be it"
    );
    world.write(
        "a/guide.html",
        "---\ntitle: Overview\n---\n<p>Where to begin</p>\n",
    );
    let report = settle(&world).await;
    assert_eq!(lines(&report), ["create remote a/guide.html done"]);
    assert_eq!(slugs(&world), ["guide", "one"]);
    world.remove("a/notes.html");
    settle(&world).await;
    assert_eq!(pending_requests(&world), []);
}

/// An ignored file is not taken for the missing file.
#[tokio::test]
async fn f014_a_creation_whose_file_is_gone_ends_beside_ignored_files() {
    let (world, new) = created_without_its_id().await;
    world.write("a/_draft.html", "<p>Not yet</p>\n");
    world.write(".kbsyncignore", "notes.html\n");
    world.write("a/notes.html", "<p>What there is to do this week</p>\n");
    world.remove("a/new.html");
    let report = settle(&world).await;
    let made = "create local a/new.html done".to_owned();
    assert!(lines(&report).contains(&made), "{report:#?}");
    assert_eq!(pending_requests(&world), []);
    assert!(world.read("a/new.html").contains(&new.to_string()));
}

/// A new article whose id did not get into its file. Returns the article's id.
async fn created_without_its_id() -> (Stage, Uuid) {
    let (world, ..) = one_article().await;
    write_new(&world);
    let fails: hostile::Meddler = std::sync::Arc::new(|moment| {
        if (moment.doing, moment.what.as_str()) == ("publish", "a/new.html") {
            return Err(DiskErrorKind::Other);
        }
        Ok(())
    });
    hostile::sync_with(&world, &fails).await;
    let new = world.sandbox().articles().pop().expect("there").id;
    assert!(!world.read("a/new.html").contains("\nid: "));
    (world, new)
}

#[tokio::test]
async fn f014_a_created_file_gets_its_id_though_another_article_has_its_new_slug() {
    let (world, new) = created_without_its_id().await;
    world.edit("a/new.html", "title: ", "slug: one\ntitle: ");
    settle(&world).await;
    assert!(world.read("a/new.html").contains(&new.to_string()));
    let report = settle(&world).await;
    let held = &report.actions[0];
    assert_eq!(
        (held.status, held.id.map(ArticleId::uuid)),
        (Status::Held, Some(new))
    );
    let told = "its slug \"one\" belongs to a/one.html: choose another";
    assert!(why(&report).starts_with(told), "{report:?}");
    assert_eq!(slugs(&world), ["new", "one"]);
    assert_eq!(pending_requests(&world), []);
}

#[tokio::test]
async fn f014_a_new_file_that_was_moved_before_its_id_was_in_it_is_held_with_the_way_out() {
    let (world, new) = created_without_its_id().await;
    world.rename("a/new.html", "a/moved.html");
    for _ in 0..2 {
        let report = settle(&world).await;
        let problem = &report.problems[0].message;
        let advice = format!("If it is that article, give it the line `id: {new}`");
        assert!(problem.contains(&advice), "{problem}");
        assert_eq!(slugs(&world), ["new", "one"]);
        assert!(!world.exists("a/new.html"));
    }
    world.edit("a/moved.html", "title: ", &format!("id: {new}\ntitle: "));
    settle(&world).await;
    assert_eq!(slugs(&world), ["moved", "one"]);
    assert_settled(&world).await;
}

#[tokio::test]
async fn f014_a_new_file_that_is_missing_before_its_id_was_in_it_is_no_removal() {
    let (world, new) = created_without_its_id().await;
    world.remove("a/new.html");
    // From here on, the article is like any other.
    let report = settle(&world).await;
    assert_eq!(lines(&report), ["create local a/new.html done"]);
    assert!(world.read("a/new.html").contains(&new.to_string()));
    assert_eq!(pending_requests(&world), []);
    assert_settled(&world).await;
    world.remove("a/new.html");
    settle(&world).await;
    assert_eq!(slugs(&world), ["one"]);
}

#[tokio::test]
async fn f014_a_refusal_after_a_lost_answer_shows_what_the_service_says() {
    let (world, ..) = one_article().await;
    write_new(&world);
    fail_once(&world, POST, FaultKind::ResetBefore);
    let refusal = r#"{"success":false,"message":"The title is too odd."}"#;
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::Status(422, refusal.into())).after(1));
    let report = settle(&world).await;
    world.sandbox().clear_faults();
    assert!(
        why(&report).contains("The title is too odd."),
        "{report:#?}"
    );
    // The refusal was not about a duplicate: after an edit the file is sent again.
    world.edit("a/new.html", "<p>new</p>", "<p>newer</p>");
    let report = settle(&world).await;
    assert_eq!(
        lines(&report),
        ["create remote a/new.html done"],
        "{report:#?}"
    );
    assert_settled(&world).await;
}

#[tokio::test]
async fn f014_a_category_without_an_answer_is_held_with_the_way_out() {
    let world = hostile::world().await;
    world.write(
        "guides/start.html",
        "---\ntitle: Start\n---\n<p>start</p>\n",
    );
    world.sandbox().inject(Fault::once(
        Matcher::new("POST", "/api/category"),
        FaultKind::ResetAfter,
    ));
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote guides held",
            "create remote guides/start.html held"
        ]
    );
    assert_eq!(report.outcome.number(), 3);
    let reason = why(&report);
    assert!(
        reason.contains("which the API does not list, put its id into guides/_category.yaml"),
        "{reason}"
    );
    let report = hostile::sync(&world).await;
    assert_eq!((report.requests.post, report.outcome.number()), (0, 3));
    assert_eq!(lines(&report)[0], "create-category remote guides held");
    assert_eq!(world.sandbox().categories().len(), 1);
    let id = world.sandbox().categories()[0].id;
    world.write(
        "guides/_category.yaml",
        &format!("id: {id}\nname: Guides\n"),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert_eq!(slugs(&world), ["start"]);
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_category_after_a_lost_answer_waits_for_a_person_and_an_edit_sends_it_again() {
    let world = hostile::world().await;
    world.write("guides/_category.yaml", "name: Guides\n");
    let post = || Matcher::new("POST", "/api/category");
    let sandbox = world.sandbox();
    sandbox.inject(Fault::once(post(), FaultKind::ResetAfter));
    hostile::sync(&world).await;
    let id = sandbox.categories()[0].id;
    sandbox.edit_category(id, |category| "free".clone_into(&mut category.slug));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["create-category remote guides held"]);
    world.clock.advance(std::time::Duration::from_hours(25));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["create-category remote guides held"]);
    world.write("guides/_category.yaml", "name: Our guides\n");
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["create-category remote guides done"]);
    assert_settled(&world).await;
}

#[tokio::test]
async fn f014_a_category_that_never_arrived_is_sent_again() {
    let world = hostile::world().await;
    world.write(
        "guides/start.html",
        "---\ntitle: Start\n---\n<p>start</p>\n",
    );
    world.sandbox().inject(Fault::once(
        Matcher::new("POST", "/api/category"),
        FaultKind::ResetBefore,
    ));
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert_eq!(world.sandbox().categories().len(), 1);
    assert_settled(&world).await;
}

#[tokio::test]
async fn f015_a_put_without_an_answer_is_looked_after() {
    let failures = [
        // The second PUT is the probe that follows the first.
        (FaultKind::ResetAfter, 2),
        (FaultKind::Truncate(20), 2),
        (FaultKind::InvalidJson, 2),
        (FaultKind::ResetBefore, 3),
        (FaultKind::Status(500, String::new()), 3),
    ];
    for (lost, puts) in failures {
        let (world, _, one) = one_article().await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        world.sandbox().inject(Fault::once(on(PUT), lost.clone()));
        let report = hostile::sync(&world).await;
        assert_eq!(
            lines(&report),
            ["update remote a/one.html done"],
            "{lost:?}"
        );
        assert_eq!(report.outcome, ExitCode::Done, "{lost:?}");
        assert_eq!(
            (report.requests.put, report.requests.get),
            (puts, 1),
            "{lost:?}"
        );
        assert_eq!(text_of(&world, one), "<p>mine</p>");
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f015_a_put_without_an_answer_keeps_no_place_of_a_folder_that_was_renamed_since() {
    for by_writer in [true, false] {
        let (world, category, one) = one_article().await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        // The PUT arrives, and no later read is answered.
        fail_once(&world, PUT, FaultKind::ResetAfter);
        world
            .sandbox()
            .inject(Fault::always(on(PUT), FaultKind::ResetBefore).after(1));
        hostile::sync(&world).await;
        assert_eq!(pending_requests(&world).len(), 1);
        if by_writer {
            world.rename("a", "b");
        } else {
            world.sandbox().rename_category(category, "B", "b");
            world.clock.advance(std::time::Duration::from_hours(25));
            hostile::sync(&world).await;
            assert_eq!(pending_requests(&world).len(), 1);
        }
        world.sandbox().clear_faults();
        hostile::sync(&world).await;
        assert_settled(&world).await;
        assert_eq!(text_of(&world, one), "<p>mine</p>");
        assert!(world.read("b/one.html").contains("<p>mine</p>"));
        let row = hostile::store(&world).article(ArticleId::new(one));
        let place = row.expect("read").expect("a row").place.to_string();
        assert_eq!(place, "b/one.html", "{by_writer}");
    }
}

#[tokio::test]
async fn f015_a_colleague_who_edits_after_a_lost_put_is_not_overwritten() {
    for lost in [FaultKind::ResetBefore, FaultKind::ResetAfter] {
        let (world, _, one) = one_article().await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        world.sandbox().inject(Fault::once(on(PUT), lost.clone()));
        let theirs = Hook::new(move |sandbox| {
            sandbox.edit(one, |article| article.text = "<p>theirs</p>".into());
        });
        world
            .sandbox()
            .inject(Fault::once(on(PUT), FaultKind::Hook(theirs)).after(1));
        let report = hostile::sync(&world).await;
        assert_eq!(
            lines(&report),
            ["update remote a/one.html skipped"],
            "{lost:?}"
        );
        assert_eq!(report.outcome.number(), 5, "{lost:?}");
        assert_eq!(text_of(&world, one), "<p>theirs</p>");
        let report = hostile::sync(&world).await;
        assert_eq!(text_of(&world, one), "<p>theirs</p>", "{lost:?}");
        assert!(world.read("a/one.html").contains("<p>mine</p>"), "{lost:?}");
        assert_eq!(report.outcome.number(), 3, "{lost:?}: {report:#?}");
        assert!(world.exists("a/one.conflict.html"));
    }
}

#[tokio::test]
async fn f015_an_old_answer_after_a_lost_put_hides_no_colleagues_edit() {
    for lost in [FaultKind::ResetBefore, FaultKind::ResetAfter] {
        let (world, _, one) = one_article().await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        let before = world.sandbox().snapshot();
        world.sandbox().inject(Fault::once(on(PUT), lost.clone()));
        // A read after the PUT is stale: it shows the version before the PUT and before the colleague's edit.
        let theirs = Hook::new(move |sandbox| {
            sandbox.edit(one, |article| article.text = "<p>theirs</p>".into());
            sandbox.serve_past(&before, 1);
        });
        world
            .sandbox()
            .inject(Fault::once(on(PUT), FaultKind::Hook(theirs)).after(1));
        let report = hostile::sync(&world).await;
        assert_eq!(
            lines(&report),
            ["update remote a/one.html skipped"],
            "{lost:?}"
        );
        assert_eq!(text_of(&world, one), "<p>theirs</p>", "{lost:?}");
        let report = hostile::sync(&world).await;
        assert_eq!(report.outcome.number(), 5, "{lost:?}: {report:#?}");
        let report = hostile::sync(&world).await;
        assert_eq!(report.outcome.number(), 3, "{lost:?}: {report:#?}");
        assert_eq!(text_of(&world, one), "<p>theirs</p>", "{lost:?}");
        assert!(world.read("a/one.html").contains("<p>mine</p>"), "{lost:?}");
    }
}

#[tokio::test]
async fn f015_a_colleagues_edit_of_another_field_is_pulled_after_a_lost_put() {
    let (world, _, one) = one_article().await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    fail_once(&world, PUT, FaultKind::ResetAfter);
    let theirs = Hook::new(move |sandbox| {
        sandbox.edit(one, |article| article.title = "Theirs".into());
    });
    world
        .sandbox()
        .inject(Fault::once(on(PUT), FaultKind::Hook(theirs)).after(1));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        ["update local a/one.html done"],
        "{report:#?}"
    );
    assert!(world.read("a/one.html").contains("title: Theirs"));
    assert_eq!(text_of(&world, one), "<p>mine</p>");
    assert_settled(&world).await;
}

#[tokio::test]
async fn f015_a_lost_put_that_also_hides_the_article_is_settled() {
    for lost in [FaultKind::ResetBefore, FaultKind::ResetAfter] {
        let (world, _, one) = one_article().await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        world.edit("a/one.html", "title: one", "title: one\nenabled: false");
        world.sandbox().inject(Fault::once(on(PUT), lost.clone()));
        hostile::sync(&world).await;
        hostile::sync(&world).await;
        let article = world.sandbox().article(one).expect("there");
        assert_eq!(
            (article.enabled, article.text.as_str()),
            (false, "<p>mine</p>"),
            "{lost:?}"
        );
        assert!(world.read("a/one.html").contains("enabled: false"));
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f015_a_lost_put_to_what_a_colleague_deleted_is_not_pending_for_good() {
    for probe in [true, false] {
        let (mut world, _, one) = one_article().await;
        world.settings.probe = probe;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        let sandbox = world.sandbox();
        sandbox.inject(Fault::always(on(PUT), FaultKind::ResetBefore));
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["update remote a/one.html skipped"]);
        sandbox.clear_faults();
        sandbox.remove(one);
        let report = hostile::sync(&world).await;
        assert_eq!(report.outcome.number(), 3, "{probe}: {report:#?}");
        let says = format!("{report:?}");
        assert!(!says.contains("has not said"), "{probe}: {says}");
        assert!(world.read("a/one.html").contains("<p>mine</p>"), "{probe}");
    }
}

#[tokio::test]
async fn f015_a_put_that_is_never_answered_ends_the_cycle_and_the_next_one_settles_it() {
    let (world, category, one) = one_article().await;
    let two = world.article(category, "two", "<p>2</p>");
    hostile::sync(&world).await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    world.remove("a/two.html");
    world
        .sandbox()
        .inject(Fault::always(on(PUT), FaultKind::ResetAfter));
    world.sandbox().inject(Fault::always(
        Matcher::new("GET", "/api/article/"),
        FaultKind::ResetBefore,
    ));
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        [
            "update remote a/one.html skipped",
            "delete remote a/two.html skipped"
        ]
    );
    assert_eq!(report.outcome.number(), 5);
    assert!(world.sandbox().article(two).is_some());
    assert_eq!(text_of(&world, one), "<p>mine</p>");
    world.sandbox().clear_faults();
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        ["delete remote a/two.html done"],
        "{report:#?}"
    );
    // The only request is a probe.
    assert_eq!(report.requests.put, 1);
    assert_settled(&world).await;
}

#[tokio::test]
async fn f015_an_outage_delays_no_look_at_a_pending_request() {
    let (world, _, one) = one_article().await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    let lost = Fault::always(on(PUT), FaultKind::ResetAfter);
    world.sandbox().inject(lost);
    hostile::sync(&world).await;
    assert_eq!(pending_requests(&world).len(), 1);
    let reads = Matcher::new("GET", "/api/");
    let down = Fault::always(reads, FaultKind::ResetBefore);
    world.sandbox().inject(down);
    let background = CycleRequest {
        cause: Cause::Background,
        ..CycleRequest::new(Direction::Both)
    };
    for _ in 0..5 {
        world.clock.advance(std::time::Duration::from_hours(1));
        world.run(&background).await;
    }
    assert_eq!(pending_requests(&world).len(), 1);
    world.sandbox().clear_faults();
    world.run(&background).await;
    assert_eq!(pending_requests(&world), []);
    assert_eq!(text_of(&world, one), "<p>mine</p>");
    assert_settled(&world).await;
}

#[tokio::test]
async fn f015_a_look_that_meets_an_outage_stops_the_cycle() {
    let (world, category, one) = one_article().await;
    let two = world.article(category, "two", "<p>2</p>");
    hostile::sync(&world).await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    world.edit("a/two.html", "<p>2</p>", "<p>mine</p>");
    fail_once(&world, PUT, FaultKind::Truncate(20));
    let refused_token = FaultKind::Status(401, r#"{"success":false,"message":"no"}"#.to_owned());
    // The read is a probe, which is also a PUT.
    world
        .sandbox()
        .inject(Fault::once(on(PUT), refused_token).after(1));
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        [
            "update remote a/one.html skipped",
            "update remote a/two.html skipped"
        ]
    );
    assert_eq!(report.outcome.number(), 1);
    assert_eq!(text_of(&world, one), "<p>mine</p>");
    assert_eq!(text_of(&world, two), "<p>2</p>");
    assert_settled(&world).await;
}

#[tokio::test]
async fn f016_a_delete_without_an_answer_is_looked_after() {
    for (lost, deletes) in [(FaultKind::ResetAfter, 1), (FaultKind::ResetBefore, 2)] {
        let (world, category, one) = one_article().await;
        world.article(category, "two", "<p>2</p>");
        hostile::sync(&world).await;
        world.remove("a/one.html");
        fail_once(&world, DELETE, lost.clone());
        let report = hostile::sync(&world).await;
        assert_eq!(
            lines(&report),
            ["delete remote a/one.html done"],
            "{lost:?}"
        );
        assert_eq!(
            (report.outcome, report.requests.delete),
            (ExitCode::Done, deletes)
        );
        assert!(world.sandbox().article(one).is_none());
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f016_a_lost_delete_is_not_repeated_over_a_colleagues_edit() {
    let (world, _, one) = one_article().await;
    world.remove("a/one.html");
    fail_once(&world, DELETE, FaultKind::ResetBefore);
    let theirs = Hook::new(move |sandbox| {
        sandbox.edit(one, |article| article.text = "<p>theirs</p>".into());
    });
    fail_once(&world, PUT, FaultKind::Hook(theirs));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/one.html skipped"]);
    assert_eq!(text_of(&world, one), "<p>theirs</p>");
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["restore local a/one.html done"]);
    assert!(world.read("a/one.html").contains("<p>theirs</p>"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn f016_an_old_answer_after_a_lost_delete_hides_no_colleagues_edit() {
    let (world, _, one) = one_article().await;
    world.remove("a/one.html");
    let before = world.sandbox().snapshot();
    fail_once(&world, DELETE, FaultKind::ResetBefore);
    // A read after the DELETE is stale: it shows the version before the colleague's edit.
    let theirs = Hook::new(move |sandbox| {
        sandbox.edit(one, |article| article.text = "<p>theirs</p>".into());
        sandbox.serve_past(&before, 1);
    });
    fail_once(&world, PUT, FaultKind::Hook(theirs));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/one.html skipped"]);
    assert_eq!(text_of(&world, one), "<p>theirs</p>");
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/one.html skipped"]);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["restore local a/one.html done"]);
    assert!(world.read("a/one.html").contains("<p>theirs</p>"));
    assert_settled(&world).await;
}

#[tokio::test]
async fn f016_an_article_that_a_colleague_hides_after_a_lost_delete_is_not_taken_for_deleted() {
    let (world, _, one) = one_article().await;
    world.remove("a/one.html");
    fail_once(&world, DELETE, FaultKind::ResetBefore);
    let theirs = Hook::new(move |sandbox| {
        sandbox.edit(one, |article| {
            article.draft = true;
            article.text = "<p>theirs</p>".into();
        });
    });
    fail_once(&world, PUT, FaultKind::Hook(theirs));
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/one.html skipped"]);
    assert_eq!(text_of(&world, one), "<p>theirs</p>");
    assert_eq!(report.requests.delete, 1);
    hostile::sync(&world).await;
    assert_eq!(text_of(&world, one), "<p>theirs</p>");
}

#[tokio::test]
async fn f007_a_delete_that_is_never_answered_is_settled_by_the_next_cycle() {
    let (world, _, one) = one_article().await;
    let old = world.sandbox().article(one).expect("there");
    deleted_without_an_answer(&world).await;
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    // A stale copy from a replica does not come back.
    world.sandbox().restore(old);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert!(!world.exists("a/one.html"));
    world.sandbox().remove(one);
    assert_settled(&world).await;
}

/// A DELETE that arrives, and whose responses are lost until the run gives up.
async fn deleted_without_an_answer(world: &Stage) {
    world.remove("a/one.html");
    let faults = [
        (on(DELETE), FaultKind::ResetAfter),
        (on(PUT), FaultKind::ResetBefore),
        (Matcher::new("GET", "/api/article/"), FaultKind::ResetBefore),
    ];
    for (on, fault) in faults {
        world.sandbox().inject(Fault::always(on, fault));
    }
    let report = hostile::sync(world).await;
    assert_eq!(lines(&report), ["delete remote a/one.html skipped"]);
    world.sandbox().clear_faults();
}

#[tokio::test]
async fn f007_a_file_that_was_put_back_after_a_lost_delete_waits_for_its_writer() {
    // If the article was saved with the same words after its last read, its revision is not that of the base.
    for saved in [false, true] {
        let (world, category, one) = one_article().await;
        world.article(category, "two", "<p>2</p>");
        hostile::sync(&world).await;
        let file = world.read("a/one.html");
        if saved {
            world.sandbox().edit(one, |_| {});
        }
        deleted_without_an_answer(&world).await;
        assert!(world.sandbox().article(one).is_none());
        world.write("a/one.html", &file);
        for _ in 0..2 {
            let report = hostile::sync(&world).await;
            assert_eq!(lines(&report), ["conflict both a/one.html held"], "{saved}");
            assert!(why(&report).contains("--keep local"), "{}", why(&report));
            assert_eq!(world.read("a/one.html"), file);
        }
        // The log shows which side deleted the article.
        let store = hostile::store(&world);
        let events = store.events(100, None).expect("read").into_iter();
        let deleted: Vec<Side> = events
            .filter(|event| event.deed.action == "delete")
            .map(|event| event.deed.side)
            .collect();
        assert_eq!(deleted, [Side::Remote]);
        drop(store);
        let mut request = CycleRequest::new(Direction::Both);
        request
            .resolve
            .extend([decision(&world.path(""), ArticleId::new(one), Keep::Local)]);
        let mut engine = hostile::engine(&world, &hostile::calm());
        let report = engine.cycle(&request).await.expect("a cycle");
        drop(engine);
        assert_eq!(lines(&report), ["create remote a/one.html done"]);
        assert_eq!(slugs(&world), ["one", "two"]);
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn f016_a_deletion_that_may_have_arrived_is_held_where_nothing_tells() {
    let (mut world, ..) = one_article().await;
    world.settings.probe = false;
    let past = world.sandbox().snapshot();
    deleted_without_an_answer(&world).await;
    // A stale listing still shows the article, and without a probe there is no better answer.
    world.sandbox().serve_past(&past, 1);
    for _ in 0..2 {
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["delete remote a/one.html held"]);
        assert!(why(&report).contains("put the file back"), "{report:#?}");
    }
    assert!(!world.exists("a/one.html"));
}

#[tokio::test]
async fn f017_nothing_but_a_budget_refusal_makes_the_client_send_a_write_twice_unseen() {
    let (world, _, one) = one_article().await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    fail_once(&world, PUT, FaultKind::ResetAfter);
    requests(&world);
    hostile::sync(&world).await;
    let sent = requests(&world);
    let writes: Vec<_> = sent
        .iter()
        .filter(|line| !line.starts_with("GET") && !line.contains("{}"))
        .collect();
    assert_eq!(writes.len(), 1, "{sent:?}");
    assert_eq!(text_of(&world, one), "<p>mine</p>");
}

#[tokio::test]
async fn a_categorys_put_without_an_answer_is_looked_after() {
    for lost in [FaultKind::ResetAfter, FaultKind::ResetBefore] {
        let (world, category, _) = one_article().await;
        world.edit("a/_category.yaml", "name: a", "name: Mine");
        world.clock.advance(std::time::Duration::from_mins(1));
        world.sandbox().inject(Fault::once(
            Matcher::new("PUT", "/api/category/"),
            lost.clone(),
        ));
        let report = hostile::sync(&world).await;
        assert_eq!(
            lines(&report),
            ["update-category remote a done"],
            "{lost:?}"
        );
        assert_eq!(
            world.sandbox().category(category).expect("there").name,
            "Mine"
        );
        assert_settled(&world).await;
    }
}

#[tokio::test]
async fn a_colleagues_edit_of_a_category_after_a_lost_put_is_not_overwritten() {
    let (world, category, _) = one_article().await;
    world.edit("a/_category.yaml", "name: a", "name: Mine");
    world.clock.advance(std::time::Duration::from_mins(1));
    world.sandbox().inject(Fault::once(
        Matcher::new("PUT", "/api/category/"),
        FaultKind::ResetBefore,
    ));
    let theirs = Hook::new(move |sandbox| {
        sandbox.edit_category(category, |category| category.name = "Theirs".into());
    });
    world.sandbox().inject(
        Fault::once(
            Matcher::new("GET", "/api/category/"),
            FaultKind::Hook(theirs),
        )
        .after(1),
    );
    let report = hostile::sync(&world).await;
    assert_eq!(report.actions[0].status, Status::Skipped, "{report:#?}");
    assert_eq!(
        world.sandbox().category(category).expect("there").name,
        "Theirs"
    );
}

#[tokio::test]
async fn a_dry_run_after_a_crash_leaves_the_pending_requests_to_the_next_run() {
    let (world, ..) = one_article().await;
    write_new(&world);
    fail_once(&world, POST, FaultKind::ResetAfter);
    world
        .sandbox()
        .inject(Fault::always(on(POST), FaultKind::ResetBefore).after(1));
    hostile::sync(&world).await;
    world.sandbox().clear_faults();
    let before = (pending_requests(&world), world.files());
    requests(&world);
    let mut engine = hostile::engine(&world, &hostile::calm());
    let planned = engine.cycle(&dry_run()).await.expect("a plan");
    drop(engine);
    assert_eq!(planned.actions.len(), 1, "{planned:?}");
    assert_eq!(requests(&world), ["GET listing 200"]);
    assert_eq!((pending_requests(&world), world.files()), before);
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert_eq!(slugs(&world), ["new", "one"]);
    assert_settled(&world).await;
}
