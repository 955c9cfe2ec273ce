//! A service, a network, a budget or a disk that fails in the middle of a cycle: finished actions stay, unfinished
//! actions are reported, nothing is deleted in doubt, and the next cycle finishes.

use crate::support::faults::{Fault, FaultKind, Inject, Matcher, RetryAfter};
use crate::support::hostile::{self, Meddler, Stage, client_within, sync_with};
use crate::support::look::{assert_quiet, problems, requests};
use crate::support::wire::reason;
use crate::support::world::lines;
use axum::http::StatusCode;
use kbsync::engine::report::Report;
use kbsync::engine::settings::{CycleRequest, Look};
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::{ArticleId, ExitCode};
use kbsync::reconcile::plan::HoldRule;
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::{Article, NewSeed, Options, Sandbox};
use kbsync::service::budget::BudgetLimits;
use kbsync::service::client::Client;
use kbsync::service::{Purpose, ServiceRead as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use uuid::Uuid;

/// Categories `a` and `b` with synced articles, then changes on both sides: an update, a new file, a removal, a pull.
struct Busy {
    world: Stage,
    edited: Uuid,
    removed: Uuid,
}

async fn busy() -> Busy {
    let world = hostile::world_with(Options::unlimited()).await;
    let a = world.category("a");
    let b = world.category("b");
    let edited = world.article(a, "edited", "<p>edited</p>");
    let removed = world.article(a, "removed", "<p>removed</p>");
    let pulled = world.article(b, "pulled", "<p>pulled</p>");
    let gone = world.article(b, "gone", "<p>gone</p>");
    for number in 0..4 {
        world.article(b, &format!("more-{number}"), "<p>more</p>");
    }
    hostile::sync(&world).await;
    world.edit("a/edited.html", "<p>edited</p>", "<p>mine</p>");
    world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
    world.remove("a/removed.html");
    world
        .sandbox()
        .edit(pulled, |article| article.text = "<p>theirs</p>".into());
    world.sandbox().remove(gone);
    requests(&world);
    Busy {
        world,
        edited,
        removed,
    }
}

const ALL: [&str; 5] = [
    "update local b/pulled.html done",
    "update remote a/edited.html done",
    "create remote a/new.html done",
    "delete remote a/removed.html done",
    "delete local b/gone.html done",
];

impl Busy {
    /// Matches the PUT of the edited article; a PUT of another article is a probe.
    fn put(&self) -> Matcher {
        Matcher::new("PUT", &format!("/api/article/{}", self.edited))
    }

    /// Checks that the failed cycle deleted nothing on either side.
    fn assert_nothing_deleted(&self, report: &Report) {
        let removed = self.world.sandbox().article(self.removed);
        assert!(removed.is_some(), "{report:#?}");
        assert!(self.world.exists("b/gone.html"), "{report:#?}");
    }

    /// Checks that the edited article fails, that the others are sent, and that nothing is deleted beside it.
    async fn fails_alone(&self) {
        let report = hostile::sync(&self.world).await;
        assert_eq!(
            lines(&report),
            [
                "update local b/pulled.html done",
                "update remote a/edited.html failed",
                "create remote a/new.html done",
                "delete remote a/removed.html skipped",
                "delete local b/gone.html skipped",
            ]
        );
        self.assert_nothing_deleted(&report);
        self.assert_finished().await;
    }

    /// Checks that the next cycle finishes the rest.
    async fn assert_finished(&self) {
        let world = &self.world;
        world.sandbox().clear_faults();
        let report = hostile::sync(world).await;
        assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
        let text = |id| world.sandbox().article(id).map(|article| article.text);
        assert_eq!(text(self.edited).as_deref(), Some("<p>mine</p>"));
        assert_eq!(text(self.removed), None);
        assert!(world.read("b/pulled.html").contains("theirs"));
        assert!(!world.exists("b/gone.html"));
        let new: Vec<_> = world
            .sandbox()
            .articles()
            .into_iter()
            .filter(|article| article.slug == "new")
            .collect();
        assert_eq!(new.len(), 1);
        assert!(world.read("a/new.html").contains(&new[0].id.to_string()));
        assert_quiet(world, 1).await;
    }
}

/// Returns the lines of actions that were not done.
fn undone(report: &Report) -> Vec<String> {
    let mut undone = lines(report);
    undone.retain(|line| !line.ends_with(" done"));
    undone
}

#[tokio::test]
async fn without_a_fault_all_of_it_is_done() {
    let busy = busy().await;
    let report = hostile::sync(&busy.world).await;
    let mut said = lines(&report);
    said.sort();
    let mut all = ALL.map(str::to_owned).to_vec();
    all.sort();
    assert_eq!(said, all);
    busy.assert_finished().await;
}

#[tokio::test]
async fn f019_f025_a_service_that_is_down_on_any_endpoint_leaves_both_sides_for_the_next_cycle() {
    let endpoints = [
        ("GET", "/api/base/*/articles"),
        ("GET", "/api/article/"),
        ("POST", "/api/article"),
        ("PUT", "/api/article/"),
        ("DELETE", "/api/article/"),
    ];
    let failures = [
        FaultKind::ResetBefore,
        FaultKind::Status(503, "<html>down</html>".into()),
    ];
    for (method, path) in endpoints {
        for failure in &failures {
            let busy = busy().await;
            busy.world
                .sandbox()
                .inject(Fault::always(Matcher::new(method, path), failure.clone()));
            let report = hostile::sync(&busy.world).await;
            assert_eq!(report.outcome.number(), 5, "{method} {path}: {report:#?}");
            assert!(!problems(&report).is_empty());
            // Each unfinished action has a line that reports it.
            for line in undone(&report) {
                assert!(
                    line.ends_with(" skipped") || line.ends_with(" held"),
                    "{line}"
                );
            }
            busy.assert_nothing_deleted(&report);
            busy.assert_finished().await;
        }
    }
}

#[tokio::test]
async fn a_5xx_to_one_put_stops_the_deletions_of_this_cycle() {
    let busy = busy().await;
    busy.world.sandbox().inject(Fault::always(
        busy.put(),
        FaultKind::Status(503, String::new()),
    ));
    let report = hostile::sync(&busy.world).await;
    assert_eq!(report.requests.delete, 0);
    assert_eq!(
        lines(&report),
        [
            "update local b/pulled.html done",
            "update remote a/edited.html skipped",
            "create remote a/new.html skipped",
            "delete remote a/removed.html skipped",
            "delete local b/gone.html skipped",
        ]
    );
    busy.assert_nothing_deleted(&report);
    busy.assert_finished().await;
}

/// Makes the service fail at each PUT of an article, but not at the probes between them.
fn fail_to_store(sandbox: &Sandbox, put: &Matcher, status: u16) {
    for try_ in 0..5 {
        let failure = FaultKind::Status(status, String::new());
        sandbox.inject(Fault::once(put.clone(), failure).after(2 * try_));
    }
}

#[tokio::test]
async fn f025_an_article_that_the_service_cannot_store_delays_no_other_one() {
    for status in [500, 502, 504] {
        let busy = busy().await;
        fail_to_store(busy.world.sandbox(), &busy.put(), status);
        busy.fails_alone().await;
    }
}

#[tokio::test]
async fn f025_an_article_that_the_service_cannot_show_delays_no_other_one() {
    let mut busy = busy().await;
    // Each article is read right before it is written.
    busy.world.settings.guard_window = std::time::Duration::ZERO;
    let get = Matcher::new("GET", &format!("/api/article/{}", busy.edited));
    let broken = FaultKind::Status(500, String::new());
    busy.world.sandbox().inject(Fault::always(get, broken));
    busy.fails_alone().await;
}

#[tokio::test]
async fn f025_questions_that_the_service_cannot_answer_stop_nothing_unless_there_are_three() {
    for unanswered in [1, 2, 3] {
        let world = hostile::world().await;
        let category = world.category("a");
        let asked: Vec<_> = (0..unanswered)
            .map(|number| world.article(category, &format!("n{number}"), "<p>old</p>"))
            .collect();
        let other = world.article(category, "other", "<p>old</p>");
        hostile::sync(&world).await;
        // Articles that left the listing are asked for one by one.
        for id in asked {
            world.sandbox().unpublish(id);
            for method in ["GET", "PUT"] {
                let on = Matcher::new(method, &format!("/api/article/{id}"));
                let broken = FaultKind::Status(500, String::new());
                world.sandbox().inject(Fault::always(on, broken));
            }
        }
        world.edit("a/other.html", "<p>old</p>", "<p>new</p>");
        let report = hostile::sync(&world).await;
        let told = problems(&report);
        assert!(told.iter().any(|line| line.contains("500")), "{told:?}");
        let is_stopped = unanswered == 3;
        assert_eq!(
            report.outcome.number(),
            if is_stopped { 5 } else { 4 },
            "{report:#?}"
        );
        let sent = world.sandbox().article(other).expect("there").text;
        assert_eq!(sent == "<p>new</p>", !is_stopped, "{report:#?}");
        world.sandbox().clear_faults();
        let report = hostile::sync(&world).await;
        assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
        assert_eq!(
            world.sandbox().article(other).expect("there").text,
            "<p>new</p>"
        );
    }
}

#[tokio::test]
async fn f025_a_question_without_an_answer_names_its_article_and_the_way_out() {
    let world = hostile::world().await;
    let category = world.category("a");
    let asked = world.article(category, "asked", "<p>old</p>");
    world.article(category, "removed", "<p>old</p>");
    let draft = NewSeed {
        draft: true,
        ..NewSeed::new(category, "Draft", "draft", "<p>draft</p>")
    };
    let draft = world.sandbox().add_article(draft);
    hostile::sync(&world).await;
    world.sandbox().unpublish(asked);
    for id in [asked, draft] {
        for method in ["GET", "PUT"] {
            let on = Matcher::new(method, &format!("/api/article/{id}"));
            let broken = FaultKind::Status(500, String::new());
            world.sandbox().inject(Fault::always(on, broken));
        }
    }
    world.remove("a/removed.html");
    world.write(
        "a/draft.html",
        &format!("---\nid: {draft}\ntitle: Draft\n---\n<p>draft</p>\n"),
    );
    let report = hostile::sync(&world).await;
    let told = reason(&report, "a/removed.html");
    assert!(told.contains("the article a/asked.html"), "{told}");
    assert!(told.contains("in the dashboard"), "{told}");
    // The next sync may know the draft.
    let line = report
        .actions
        .iter()
        .find(|line| line.path == "a/draft.html");
    let line = line.expect("a line");
    assert_eq!(line.rule, Some(HoldRule::Doubt), "{line:?}");
    assert!(reason(&report, "a/draft.html").contains("`id:` line"));
}

#[tokio::test]
async fn f025_where_a_body_cannot_be_read_nothing_is_deleted() {
    let world = hostile::world().await;
    world.sandbox().habits().bodies = false;
    world.sandbox().habits().category_bodies = false;
    let category = world.category("a");
    let one = world.article(category, "one", "<p>old</p>");
    let removed = world.article(category, "removed", "<p>old</p>");
    let gone = world.article(category, "gone", "<p>old</p>");
    hostile::sync(&world).await;
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>new</p>".into());
    world.remove("a/removed.html");
    world.sandbox().remove(gone);
    let get = Matcher::new("GET", &format!("/api/article/{one}"));
    let broken = FaultKind::Status(500, String::new());
    world.sandbox().inject(Fault::always(get, broken));
    let report = hostile::sync(&world).await;
    assert_eq!(report.requests.delete, 0, "{report:#?}");
    assert!(world.sandbox().article(removed).is_some());
    assert!(world.read("a/gone.html").contains("old"));
    assert_eq!(report.outcome.number(), 5, "{report:#?}");
    world.sandbox().clear_faults();
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert!(world.sandbox().article(removed).is_none());
}

#[tokio::test]
async fn f025_a_service_that_stores_nothing_is_tried_with_three_articles() {
    let world = hostile::world().await;
    let category = world.category("a");
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(world.article(category, &format!("n{number}"), "<p>old</p>"));
    }
    hostile::sync(&world).await;
    for (number, id) in ids.iter().enumerate() {
        world.edit(&format!("a/n{number}.html"), "<p>old</p>", "<p>new</p>");
        let put = Matcher::new("PUT", &format!("/api/article/{id}"));
        fail_to_store(world.sandbox(), &put, 500);
    }
    let report = hostile::sync(&world).await;
    assert_eq!(
        lines(&report),
        [
            "update remote a/n0.html failed",
            "update remote a/n1.html failed",
            "update remote a/n2.html skipped",
            "update remote a/n3.html skipped",
            "update remote a/n4.html skipped",
        ]
    );
    assert_eq!(report.outcome.number(), 5);
}

#[tokio::test]
async fn f024_401_in_the_middle_stops_everything_with_exit_1() {
    for html in [false, true] {
        let busy = busy().await;
        let failure = if html {
            FaultKind::Html
        } else {
            FaultKind::Status(
                401,
                r#"{"success":false,"message":"Unauthenticated."}"#.into(),
            )
        };
        busy.world
            .sandbox()
            .inject(Fault::always(busy.put(), failure));
        let report = hostile::sync(&busy.world).await;
        assert_eq!(report.outcome.number(), 1, "{report:#?}");
        assert!(
            problems(&report)
                .iter()
                .any(|told| told.contains("not signed in")),
            "{report:#?}"
        );
        assert_eq!(
            (report.requests.put, report.requests.post),
            (2, 0),
            "{report:#?}"
        );
        busy.assert_nothing_deleted(&report);
        busy.assert_finished().await;
    }
}

#[tokio::test]
async fn f024_a_token_that_is_revoked_before_the_cycle_deletes_nothing() {
    let busy = busy().await;
    let token = busy.world.running.token();
    busy.world.sandbox().revoke_token(&token);
    let report = hostile::sync(&busy.world).await;
    assert_eq!((report.outcome.number(), report.requests.total), (1, 1));
    busy.assert_nothing_deleted(&report);
}

#[tokio::test]
async fn f069_403_to_one_article_concerns_it_alone() {
    let busy = busy().await;
    let path = format!("/api/article/{}", busy.edited);
    busy.world.sandbox().inject(Fault::always(
        Matcher::new("PUT", &path),
        FaultKind::Status(403, r#"{"success":false,"message":"Not yours."}"#.into()),
    ));
    let report = hostile::sync(&busy.world).await;
    assert_eq!(undone(&report), ["update remote a/edited.html failed"]);
    assert_eq!(report.outcome.number(), 4);
    assert!(busy.world.sandbox().article(busy.removed).is_none());
    // The edit is not sent again before something changes.
    let report = hostile::sync(&busy.world).await;
    assert_eq!(lines(&report), ["update remote a/edited.html held"]);
    assert_eq!((report.requests.put, report.outcome.number()), (0, 4));
    busy.world.sandbox().clear_faults();
    busy.world
        .edit("a/edited.html", "<p>mine</p>", "<p>mine, too</p>");
    let report = hostile::sync(&busy.world).await;
    assert_eq!(lines(&report), ["update remote a/edited.html done"]);
    assert_quiet(&busy.world, 1).await;
}

#[tokio::test]
async fn f110_a_429_is_waited_out_whatever_form_retry_after_has() {
    let forms = [
        None,
        Some(RetryAfter::Seconds(0)),
        Some(RetryAfter::Seconds(30)),
        Some(RetryAfter::HttpDate(20)),
    ];
    for retry_after in forms {
        let busy = busy().await;
        for (method, path) in [
            ("GET", "/api/base/"),
            ("POST", "/api/article"),
            ("PUT", "/api/article/"),
            ("DELETE", "/api/article/"),
        ] {
            busy.world.sandbox().inject(Fault::once(
                Matcher::new(method, path),
                FaultKind::RateLimited { retry_after },
            ));
        }
        let report = hostile::sync(&busy.world).await;
        assert_eq!(
            report.outcome,
            ExitCode::Done,
            "{retry_after:?}: {report:#?}"
        );
        assert_eq!(undone(&report), Vec::<String>::new());
        busy.assert_finished().await;
    }
}

#[tokio::test]
async fn f110_a_retry_after_beyond_patience_ends_the_cycle_with_exit_5() {
    let busy = busy().await;
    busy.world.sandbox().inject(Fault::once(
        busy.put(),
        FaultKind::RateLimited {
            retry_after: Some(RetryAfter::Seconds(3600)),
        },
    ));
    let report = hostile::sync(&busy.world).await;
    assert_eq!(report.outcome.number(), 5, "{report:#?}");
    assert_eq!(
        (report.requests.put, report.requests.delete),
        (2, 0),
        "{report:#?}"
    );
    busy.assert_nothing_deleted(&report);
}

#[tokio::test]
async fn s8_a_refusal_with_nothing_left_of_the_minute_is_no_refusal() {
    for status in [
        StatusCode::FORBIDDEN,
        StatusCode::BAD_REQUEST,
        StatusCode::TOO_MANY_REQUESTS,
    ] {
        let busy = busy().await;
        busy.world.sandbox().reset_limits();
        // Enough for the listing and for the probe of the vanished article.
        busy.world
            .sandbox()
            .set_options(|options| options.per_minute = 3);
        busy.world.sandbox().habits().limit_status = status;
        let report = hostile::sync(&busy.world).await;
        assert_eq!(report.outcome.number(), 5, "{status}: {report:#?}");
        busy.assert_nothing_deleted(&report);
        let parked = hostile::store(&busy.world).parked().expect("read");
        assert!(parked.is_empty(), "{status}: {parked:?}");
        busy.world
            .sandbox()
            .set_options(|options| options.per_minute = 0);
        busy.assert_finished().await;
    }
}

#[tokio::test]
async fn f113_f114_a_day_that_is_spent_ends_the_cycle_and_the_next_day_finishes() {
    // Every budget below the cost of a whole cycle, so that the budget ends before each request once.
    let busy = busy().await;
    let whole = hostile::sync(&busy.world).await.requests.total;
    assert!(whole >= 5);
    for left in 1..whole {
        let mut busy = self::busy().await;
        let limits = BudgetLimits {
            per_minute: 1_000,
            per_day: u32::try_from(left).expect("few"),
            reserve_for_pushes: 0,
        };
        let poor = Arc::new(client_within(&busy.world, limits));
        let rich = std::mem::replace(&mut busy.world.client, poor);
        let report = hostile::sync(&busy.world).await;
        assert_eq!(report.outcome.number(), 5, "{left}: {report:#?}");
        assert!(report.requests.total <= left, "{left}: {report:#?}");
        let told = problems(&report);
        assert!(
            told[0].contains("the budget of the day is spent"),
            "{told:?}"
        );
        busy.world.client = rich;
        busy.assert_finished().await;
    }
}

#[tokio::test]
async fn f112_what_a_colleague_writes_while_the_minute_is_full_is_not_overwritten() {
    for deletes in [false, true] {
        let (mut world, ids, _) = poor(1_000).await;
        for slug in ["three", "four", "five", "six", "seven", "eight"] {
            let category = world.category("b");
            world.article(category, slug, "<p>other</p>");
        }
        // A second article, because emptying a folder would be held.
        let category = world.sandbox().article(ids[0]).expect("there").category_id;
        world.article(category, "stays", "<p>other</p>");
        hostile::sync(&world).await;
        let limits = BudgetLimits {
            per_minute: 2,
            per_day: 1_000,
            reserve_for_pushes: 0,
        };
        // The minute has room for the listing and one write only, so the other write waits.
        world.client = Arc::new(client_within(&world, limits));
        for path in ["a/one.html", "a/two.html"] {
            if deletes {
                world.remove(path);
            } else {
                world.edit(path, "old", "mine");
            }
        }
        let sandbox = world.sandbox().clone();
        let writes = AtomicUsize::new(0);
        let meddle: Meddler = Arc::new(move |moment| {
            let is_write = ["PUT", "DELETE"].contains(&moment.doing);
            if is_write && !moment.after && writes.fetch_add(1, Ordering::Relaxed) == 1 {
                let id = Uuid::parse_str(&moment.what).expect("an article's id");
                let theirs = |article: &mut Article| "<p>theirs</p>".clone_into(&mut article.text);
                sandbox.edit(id, theirs).expect("edited");
            }
            Ok(())
        });
        let report = hostile::sync_with(&world, &meddle).await;
        let texts: Vec<String> = ids
            .iter()
            .filter_map(|id| Some(world.sandbox().article(*id)?.text))
            .collect();
        assert!(
            texts.contains(&"<p>theirs</p>".to_owned()),
            "{texts:?} {report:#?}"
        );
        let written = report.requests.put + report.requests.delete;
        assert_eq!(written, 1, "{report:#?}");
    }
}

/// A world with two articles, and a client with so many requests in a day.
async fn poor(per_day: u64) -> (Stage, Vec<Uuid>, Arc<Client>) {
    let mut world = hostile::world().await;
    let category = world.category("a");
    let ids = ["one", "two"]
        .map(|slug| world.article(category, slug, "<p>old</p>"))
        .to_vec();
    hostile::sync(&world).await;
    hostile::sync(&world).await;
    let limits = BudgetLimits {
        per_minute: 1_000,
        per_day: u32::try_from(per_day).expect("few"),
        reserve_for_pushes: 0,
    };
    let poor = Arc::new(client_within(&world, limits));
    let rich = std::mem::replace(&mut world.client, poor);
    (world, ids, rich)
}

#[tokio::test]
async fn f114_no_look_is_made_that_the_budget_leaves_without_its_write() {
    // A listing, then a guard read and a write for each of the two articles.
    for (per_day, get, put) in [(1, 1, 0), (2, 1, 0), (3, 2, 1), (4, 2, 1), (5, 3, 2)] {
        let (mut world, ids, rich) = poor(per_day).await;
        world.settings.guard_window = Duration::ZERO;
        for path in ["a/one.html", "a/two.html"] {
            world.edit(path, "old", "mine");
        }
        let report = hostile::sync(&world).await;
        let requests = (report.requests.get, report.requests.put);
        assert_eq!(requests, (get, put), "{per_day} a day: {report:#?}");
        world.client = rich;
        hostile::sync(&world).await;
        for id in ids {
            let text = world.sandbox().article(id).expect("there").text;
            assert_eq!(text, "<p>mine</p>", "{per_day} a day");
        }
    }
}

#[tokio::test]
async fn f114_a_saved_file_is_not_looked_after_without_room_for_its_push() {
    let (world, ids, _) = poor(2).await;
    world.edit("a/one.html", "old", "mine");
    let id = ArticleId::new(ids[1]);
    let read = world.client.article(id, Purpose::Push).await;
    read.expect("one of the two");
    requests(&world);
    let request = CycleRequest {
        scope: vec!["a/one.html".to_owned()],
        look: Look::Files,
        ..CycleRequest::new(Direction::Both)
    };
    let mut engine = hostile::engine(&world, &hostile::calm());
    let report = engine.cycle(&request).await.expect("a cycle");
    assert_eq!(report.outcome, ExitCode::Retry, "{report:#?}");
    assert_eq!(requests(&world), Vec::<String>::new());
    assert_eq!(report.requests.total, 0);
    assert_eq!(report.budget.expect("known").day_left, 1);
}

#[tokio::test]
async fn f115_what_is_too_large_for_the_service_is_not_sent_in_every_cycle() {
    let busy = busy().await;
    busy.world.sandbox().habits().max_body = Some(2_000);
    let long = "x".repeat(3_000);
    busy.world
        .edit("a/edited.html", "<p>mine</p>", &format!("<p>{long}</p>"));
    let report = hostile::sync(&busy.world).await;
    assert_eq!(undone(&report), ["update remote a/edited.html failed"]);
    let report = hostile::sync(&busy.world).await;
    assert_eq!(lines(&report), ["update remote a/edited.html held"]);
    assert_eq!(report.requests.put, 0);
}

/// Fails each step of the disk that `meets` selects.
fn failing(
    kind: DiskErrorKind,
    meets: impl Fn(&str, &str) -> bool + Send + Sync + 'static,
) -> Meddler {
    Arc::new(move |moment| {
        if !moment.after && meets(moment.doing, &moment.what) {
            return Err(kind);
        }
        Ok(())
    })
}

#[tokio::test]
async fn f094_a_full_disk_leaves_the_file_and_stops_all_writes_and_deletions() {
    for (kind, words) in [
        (DiskErrorKind::Full, "no space is left"),
        (DiskErrorKind::ReadOnly, "the file system is read-only"),
        (
            DiskErrorKind::Replaced,
            "the mirror's folder is gone or was replaced",
        ),
    ] {
        let busy = busy().await;
        let before = busy.world.read("b/pulled.html");
        let meddle = failing(kind, |doing, _| doing == "stage");
        let report = sync_with(&busy.world, &meddle).await;
        assert_eq!(report.outcome.number(), 1, "{kind:?}: {report:#?}");
        assert_eq!(lines(&report)[0], "update local b/pulled.html failed");
        assert!(
            undone(&report)[1..]
                .iter()
                .all(|line| line.ends_with("skipped")),
            "{report:#?}"
        );
        let why = report.actions[0].reason.clone().expect("a reason");
        assert!(
            why.starts_with("failed to ") && why.contains(words),
            "{why}"
        );
        assert_eq!(busy.world.read("b/pulled.html"), before);
        let writes = report.requests.put + report.requests.post + report.requests.delete;
        // The only PUT is the probe of the vanished article.
        assert_eq!(writes, 1, "{report:#?}");
        busy.assert_nothing_deleted(&report);
        busy.assert_finished().await;
    }
}

#[tokio::test]
async fn f097_a_folder_without_rights_stops_only_what_is_in_it_and_all_deletions() {
    let busy = busy().await;
    let before = busy.world.read("b/pulled.html");
    let meddle = failing(DiskErrorKind::Denied, |doing, what| {
        doing == "stage" && what.starts_with("b/")
    });
    let report = sync_with(&busy.world, &meddle).await;
    assert_eq!(
        lines(&report),
        [
            "update local b/pulled.html failed",
            "update remote a/edited.html done",
            "create remote a/new.html done",
            "delete remote a/removed.html skipped",
            "delete local b/gone.html skipped",
        ]
    );
    assert_eq!(report.outcome.number(), 5);
    assert_eq!(busy.world.read("b/pulled.html"), before);
    let why = report.actions[0].reason.clone().expect("a reason");
    assert!(why.contains("permission is denied"), "{why}");
    let why = report.actions[3].reason.clone().expect("a reason");
    assert!(
        why.contains("nothing is deleted in a cycle in which something failed"),
        "{why}"
    );
    busy.assert_nothing_deleted(&report);
    busy.assert_finished().await;
}

#[tokio::test]
async fn f100_names_that_cannot_be_made_durable_do_not_count_as_written() {
    let busy = busy().await;
    let meddle = failing(DiskErrorKind::Other, |doing, what| {
        doing == "sync folder" && what.starts_with("b/")
    });
    let report = sync_with(&busy.world, &meddle).await;
    assert_eq!(
        lines(&report)[0],
        "update local b/pulled.html failed",
        "{report:#?}"
    );
    busy.assert_nothing_deleted(&report);
    busy.assert_finished().await;
}

#[tokio::test]
async fn f094_a_flush_that_fails_leaves_every_file_as_it_was() {
    for at in [0, 1] {
        let world = hostile::world().await;
        let a = world.category("a");
        let ids: Vec<_> = (0..12)
            .map(|number| world.article(a, &format!("n{number}"), "<p>old</p>"))
            .collect();
        hostile::sync(&world).await;
        for id in &ids {
            world
                .sandbox()
                .edit(*id, |article| article.text = "<p>new</p>".into());
        }
        let before = world.files();
        let flushes = Arc::new(AtomicUsize::new(0));
        let meddle = failing(DiskErrorKind::Full, move |doing, _| {
            doing == "flush" && flushes.fetch_add(1, Ordering::SeqCst) == at
        });
        let report = sync_with(&world, &meddle).await;
        assert_eq!(report.outcome.number(), 1, "{report:#?}");
        assert_eq!(undone(&report).len(), 12);
        if at == 0 {
            assert_eq!(
                world.files(),
                before,
                "nothing was replaced, nothing is left over"
            );
        }
        let report = hostile::sync(&world).await;
        assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
        for number in 0..12 {
            assert!(
                world
                    .read(&format!("a/n{number}.html"))
                    .contains("<p>new</p>")
            );
        }
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f005_an_id_that_cannot_be_written_is_written_by_the_next_cycle() {
    for kind in [
        DiskErrorKind::Full,
        DiskErrorKind::Denied,
        DiskErrorKind::Changed,
    ] {
        let world = hostile::world().await;
        let a = world.category("a");
        world.article(a, "one", "<p>1</p>");
        hostile::sync(&world).await;
        world.write("a/new.html", "---\ntitle: New\n---\n<p>new</p>\n");
        let meddle = failing(kind, |doing, _| doing == "stage");
        let report = sync_with(&world, &meddle).await;
        let line = &report.actions[0];
        let why = line.reason.clone().expect("a reason");
        assert!(
            why.contains("its id is not in the file yet"),
            "{kind:?}: {why}"
        );
        assert!(line.id.is_some());
        assert_eq!(world.sandbox().articles().len(), 2);
        let report = hostile::sync(&world).await;
        assert_eq!(
            lines(&report),
            ["create remote a/new.html done"],
            "{kind:?}: {report:#?}"
        );
        assert_eq!(world.sandbox().articles().len(), 2);
        assert!(world.read("a/new.html").contains("id: "));
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f011_a_conflict_whose_copy_cannot_be_written_is_not_remembered_as_shown() {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    hostile::sync(&world).await;
    world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>theirs</p>".into());
    let meddle = failing(DiskErrorKind::Denied, |doing, _| doing == "stage");
    let report = sync_with(&world, &meddle).await;
    assert_eq!(lines(&report), ["conflict both a/one.html held"]);
    let why = report.actions[0].reason.clone().expect("a reason");
    assert!(why.contains("the copy could not be written"), "{why}");
    assert!(!world.exists("a/one.conflict.html"));
    assert_eq!(hostile::store(&world).conflicts().expect("read"), []);
    hostile::sync(&world).await;
    assert!(world.read("a/one.conflict.html").contains("<p>theirs</p>"));
    assert!(world.read("a/one.html").contains("<p>mine</p>"));
}

#[tokio::test]
async fn f020_a_truncated_listing_is_no_listing() {
    let busy = busy().await;
    busy.world.sandbox().inject(Fault::always(
        Matcher::new("GET", "/api/base/*/articles"),
        FaultKind::Truncate(300),
    ));
    let report = hostile::sync(&busy.world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert_ne!(report.outcome, ExitCode::Done);
    busy.assert_nothing_deleted(&report);
    busy.assert_finished().await;
}

#[tokio::test]
async fn f018_a_page_instead_of_an_answer_in_the_middle_deletes_nothing() {
    let busy = busy().await;
    let path = format!("/api/article/{}", busy.edited);
    busy.world.sandbox().inject(Fault::always(
        Matcher::new("PUT", &path),
        FaultKind::Status(404, "<html>not here</html>".into()),
    ));
    let report = hostile::sync(&busy.world).await;
    assert_eq!(
        lines(&report)[1],
        "update remote a/edited.html failed",
        "{report:#?}"
    );
    assert_eq!(report.requests.delete, 0);
    busy.assert_nothing_deleted(&report);
    busy.assert_finished().await;
}

#[tokio::test]
async fn one_bad_article_stops_only_itself() {
    let world = hostile::world().await;
    let a = world.category("a");
    let ids: Vec<_> = (0..5)
        .map(|number| world.article(a, &format!("n{number}"), "<p>old</p>"))
        .collect();
    hostile::sync(&world).await;
    for number in 0..5 {
        world.edit(&format!("a/n{number}.html"), "old", "mine");
    }
    world.sandbox().inject(Fault::always(
        Matcher::new("PUT", &format!("/api/article/{}", ids[2])),
        FaultKind::Status(422, r#"{"success":false,"message":"odd"}"#.into()),
    ));
    let report = hostile::sync(&world).await;
    assert_eq!(undone(&report), ["update remote a/n2.html failed"]);
    assert_eq!(report.requests.put, 5);
    for (number, id) in ids.iter().enumerate() {
        let text = world.sandbox().article(*id).expect("there").text;
        assert_eq!(
            text,
            if number == 2 {
                "<p>old</p>"
            } else {
                "<p>mine</p>"
            }
        );
    }
}

#[tokio::test]
async fn f055_files_of_which_one_cannot_be_moved_wait_for_it() {
    for (at, left) in [(0, 2), (1, 1), (2, 1)] {
        let world = hostile::world().await;
        let a = world.category("a");
        let slugs = ["x", "y", "z"];
        let ids = slugs.map(|slug| world.article(a, slug, &format!("<p>{slug}</p>")));
        hostile::sync(&world).await;
        for (id, slug) in ids.iter().zip(["y", "z", "x"]) {
            world
                .sandbox()
                .edit(*id, |article| slug.clone_into(&mut article.slug));
        }
        let publishes = AtomicUsize::new(0);
        let meddle = failing(DiskErrorKind::Other, move |doing, _| {
            doing == "publish" && publishes.fetch_add(1, Ordering::SeqCst) == at
        });
        let report = sync_with(&world, &meddle).await;
        assert_eq!(undone(&report).len(), left, "{at} {report:#?}");
        let report = hostile::sync(&world).await;
        assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
        assert_eq!((report.requests.put, report.requests.delete), (0, 0));
        let files = world.files();
        for slug in slugs {
            let says = |file: &&(String, String)| file.1.contains(&format!("<p>{slug}</p>"));
            let found = files.iter().filter(says);
            assert_eq!(found.count(), 1, "{slug}: {files:#?}");
        }
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f019_categories_that_cannot_be_read_or_sent_leave_their_articles_for_the_next_cycle() {
    let endpoints = [
        ("GET", "/api/category/"),
        ("POST", "/api/category"),
        ("PUT", "/api/category/"),
    ];
    for (method, path) in endpoints {
        for failure in [
            FaultKind::ResetBefore,
            FaultKind::Status(500, String::new()),
        ] {
            let world = hostile::world().await;
            let a = world.category("a");
            world.article(a, "one", "<p>1</p>");
            hostile::sync(&world).await;
            let b = world.category("b");
            world.article(b, "two", "<p>2</p>");
            world.edit("a/_category.yaml", "name: a", "name: Mine");
            world.write("c/three.html", "---\ntitle: Three\n---\n<p>3</p>\n");
            world.clock.advance(std::time::Duration::from_mins(1));
            world
                .sandbox()
                .inject(Fault::always(Matcher::new(method, path), failure));
            let report = hostile::sync(&world).await;
            assert_eq!(report.outcome.number(), 5, "{method} {path}: {report:#?}");
            // The articles of a category that was not read are counted, and not reported one by one.
            let mut problems = report.problems.iter();
            assert!(
                problems.all(|problem| !problem.message.contains("\"two\"")),
                "{report:#?}"
            );
            let unread = usize::from(method == "GET");
            assert_eq!(hostile::status(&world).unread, unread, "{method} {path}");
            world.sandbox().clear_faults();
            let report = hostile::sync(&world).await;
            assert_eq!(
                report.outcome,
                ExitCode::Done,
                "{method} {path}: {report:#?}"
            );
            assert_eq!(world.sandbox().category(a).expect("there").name, "Mine");
            assert_eq!(world.sandbox().articles().len(), 3);
            assert!(world.read("b/two.html").contains("<p>2</p>"));
            assert_eq!(world.sandbox().categories().len(), 3);
            assert_quiet(&world, 1).await;
        }
    }
}
