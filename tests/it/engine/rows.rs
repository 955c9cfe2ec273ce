//! Rows of the catalogue of failures that fit no other file.

use crate::support::clocks::SteppedClock;
use crate::support::hostile::{self, Meddler, calm, engine, sync};
use crate::support::kb::Service;
use crate::support::words::Words;
use crate::support::world::lines;
use futures_util::FutureExt as _;
use kbsync::engine::restore::RestoreRequest;
use kbsync::engine::settings::CycleRequest;
use kbsync::model::ArticleId;
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::NewSeed;
use kbsync::service::budget::{Budget, BudgetLimits};
use kbsync::service::client::{Client, ClientOptions};
use kbsync::service::token::Token;
use kbsync::state::Subject;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use uuid::Uuid;

#[tokio::test]
async fn f035_a_put_names_what_changed_and_nothing_else() {
    let stage = hostile::world().await;
    let start = stage.category("start");
    let one = stage.sandbox().add_article(NewSeed {
        introtext: Some("In short".into()),
        keywords: Some("a, b".into()),
        ..NewSeed::new(start, "One", "one", "<p>One.</p>")
    });
    sync(&stage).await;
    let before = stage.sandbox().article(one).expect("there");
    stage.sandbox().clear_requests();
    stage.edit("start/one.html", "title: One", "title: Uno");
    sync(&stage).await;
    let requests = stage.sandbox().requests();
    let put = requests.iter().find(|request| request.method == "PUT");
    assert_eq!(put.expect("a PUT").body, r#"{"title":"Uno"}"#);
    let after = stage.sandbox().article(one).expect("there");
    assert_eq!(after.title, "Uno");
    assert_eq!(
        (after.text, after.introtext, after.keywords, after.slug),
        (before.text, before.introtext, before.keywords, before.slug)
    );
}

#[tokio::test]
async fn f047_a_delete_goes_to_the_id_that_was_seen_and_to_no_namesake() {
    let stage = hostile::world().await;
    let (a, b) = (stage.category("a"), stage.category("b"));
    let mine = stage.article(a, "same", "<p>Mine.</p>");
    let namesake = stage.article(b, "same", "<p>Another.</p>");
    let recreated = stage.article(a, "again", "<p>Before.</p>");
    sync(&stage).await;
    stage.remove("a/same.html");
    stage.remove("a/again.html");
    // A colleague also deleted this article, and made a new article with the same name.
    stage.sandbox().remove(recreated);
    let new = stage.article(a, "again", "<p>After.</p>");
    stage.sandbox().clear_requests();
    let report = sync(&stage).await;
    let deleted: Vec<String> = stage
        .sandbox()
        .requests()
        .into_iter()
        .filter(|request| request.method == "DELETE")
        .map(|request| request.path)
        .collect();
    assert_eq!(
        deleted,
        [format!("/api/article/{mine}")],
        "{:?}",
        lines(&report)
    );
    let left: Vec<Uuid> = stage
        .sandbox()
        .articles()
        .iter()
        .map(|one| one.id)
        .collect();
    assert!(left.contains(&namesake) && left.contains(&new), "{left:?}");
    sync(&stage).await;
    assert!(stage.read("a/again.html").contains("After."));
    assert!(stage.read("b/same.html").contains("Another."));
}

#[tokio::test]
async fn f092_a_formatter_over_all_files_is_paced_and_each_goes_once() {
    const FILES: usize = 75;
    let mut stage = hostile::world().await;
    let start = stage.category("start");
    for number in 0..FILES {
        stage.article(start, &format!("a{number:02}"), "<p>One.</p>");
    }
    sync(&stage).await;
    for number in 0..FILES {
        let path = format!("start/a{number:02}.html");
        stage.edit(&path, "<p>One.</p>", "<p>\n  One.\n</p>");
    }
    let clock = Arc::new(SteppedClock::default());
    let budget = Budget::in_memory(BudgetLimits::default(), clock.clone());
    let token = Token::new(&stage.running.token()).expect("a token");
    let options = ClientOptions::new(&stage.running.url, token, budget);
    stage.client = Arc::new(Client::new(options).expect("a client"));
    stage.sandbox().clear_requests();
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(stage.sandbox().counts().put, FILES as u64);
    let minute = Duration::from_mins(1);
    assert!(
        clock.elapsed() >= minute,
        "60 a minute: {:?}",
        clock.elapsed()
    );
    assert!(clock.elapsed() < 3 * minute, "{:?}", clock.elapsed());
}

#[tokio::test]
async fn f113_five_hundred_edits_take_two_days_of_budget_and_each_goes_once_in_order() {
    const FILES: usize = 500;
    let mut stage = hostile::world().await;
    let start = stage.category("start");
    for number in 0..FILES {
        stage.article(start, &format!("a{number:03}"), "<p>One.</p>");
    }
    sync(&stage).await;
    for number in 0..FILES {
        stage.edit(&format!("start/a{number:03}.html"), "One.", "Two.");
    }
    let clock = Arc::new(SteppedClock::default());
    let limits = BudgetLimits {
        per_minute: 60,
        per_day: 300,
        ..BudgetLimits::default()
    };
    let budget = Budget::in_memory(limits, clock.clone());
    stage.sandbox().clear_requests();
    for (day, code) in [5, 0].into_iter().enumerate() {
        // A new process each day: only the state and the files show what is left to do.
        let token = Token::new(&stage.running.token()).expect("a token");
        let options = ClientOptions::new(&stage.running.url, token, budget.clone());
        stage.client = Arc::new(Client::new(options).expect("a client"));
        let before = stage.sandbox().counts().total;
        let report = sync(&stage).await;
        let outcome = report.outcome;
        assert_eq!(outcome.number(), code, "day {day}: {outcome:?}");
        assert!(stage.sandbox().counts().total - before <= 300);
        clock.advance(Duration::from_hours(24));
    }
    let sent: Vec<Uuid> = stage
        .sandbox()
        .requests()
        .iter()
        .filter(|request| request.method == "PUT")
        .filter_map(|request| request.path.rsplit('/').next()?.parse().ok())
        .collect();
    let articles = stage.sandbox().articles();
    let slug = |id: &Uuid| {
        articles
            .iter()
            .find(|one| one.id == *id)
            .map(|one| &one.slug)
    };
    let slugs: Vec<_> = sent.iter().filter_map(slug).collect();
    assert_eq!(slugs.len(), FILES, "each once");
    assert!(slugs.is_sorted(), "in the order of their paths");
    assert!(articles.iter().all(|one| one.text.contains("Two.")));
}

#[test]
fn f093_a_clone_without_a_state_adopts_what_is_equal_and_shows_the_rest() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    // A CI checkout: newly written files, with a new commit on top.
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    for path in ["start/one.html", "start/two.html"] {
        kb.write(path, &kb.read(path));
    }
    kb.edit("start/one.html", "One.", "One, in a commit.");
    kb.remove("start/_category.yaml");
    service.sandbox.clear_requests();
    kb.run(&["sync"]).exits(3);
    let counts = service.sandbox.counts();
    assert_eq!((counts.put, counts.post, counts.delete), (0, 0, 0));
    assert_eq!(service.text(one), "<p>One.</p>");
    assert!(kb.read("start/one.html").contains("One, in a commit."));
    assert!(kb.exists("start/one.conflict.html"));
    assert!(!kb.exists("start/two.conflict.html"));
    // A person who knows the right side decides once.
    kb.run(&["sync", "--prefer", "local"]).exits(0);
    assert_eq!(service.text(one), "<p>One, in a commit.</p>");
}

#[tokio::test]
async fn f095_what_cannot_be_written_down_is_not_sent() {
    for table in ["intents", "versions", "bodies"] {
        let stage = hostile::world().await;
        let start = stage.category("start");
        stage.article(start, "one", "<p>One.</p>");
        stage.article(start, "two", "<p>Two.</p>");
        sync(&stage).await;
        stage.edit("start/one.html", "One.", "One, edited.");
        stage.write("start/new.html", "---\ntitle: New\n---\n<p>New.</p>\n");
        stage.remove("start/two.html");
        // A state with a trigger is not opened, so the trigger is added while the engine has it open.
        let mut engine = engine(&stage, &calm());
        let database = rusqlite::Connection::open(stage.path(".kbsync/state.db"));
        let database = database.expect("the state");
        database
            .execute_batch(&format!(
                "CREATE TRIGGER full BEFORE INSERT ON {table} \
                 BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            ))
            .expect("a trigger");
        stage.sandbox().clear_requests();
        let outcome = engine.cycle(&CycleRequest::new(Direction::Both)).await;
        drop(engine);
        assert!(outcome.is_err(), "{table}: {outcome:?}");
        let counts = stage.sandbox().counts();
        assert_eq!(
            (counts.put, counts.post, counts.delete),
            (0, 0, 0),
            "{table}"
        );
        database
            .execute_batch("DROP TRIGGER full")
            .expect("dropped");
        let report = sync(&stage).await;
        assert_eq!(report.outcome.number(), 0, "{table}: {:?}", lines(&report));
        assert_eq!(stage.sandbox().articles().len(), 2, "{table}");
    }
}

#[tokio::test]
async fn f099_what_is_to_replace_a_file_lies_on_the_same_file_system() {
    let stage = hostile::world().await;
    let start = stage.category("start");
    let one = stage.article(start, "one", "<p>One.</p>");
    sync(&stage).await;
    stage
        .sandbox()
        .edit(one, |article| article.text = "<p>Two.</p>".into());
    let folder = stage.path(".kbsync/stage");
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let meddle: Meddler = Arc::new(move |moment| {
        if moment.doing == "publish" && !moment.after {
            let names = std::fs::read_dir(&folder).expect("listed");
            count.fetch_add(names.count(), Ordering::SeqCst);
        }
        Ok(())
    });
    hostile::sync_with(&stage, &meddle).await;
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    assert!(stage.read("start/one.html").contains("Two."));
}

#[tokio::test]
async fn f003_a_file_that_a_power_loss_emptied_is_neither_sent_nor_taken_for_deleted() {
    for lost in ["", "\0\0\0\0\0\0\0\0", "---\nid: ", "---\ntitle: one\n"] {
        let stage = hostile::world().await;
        let start = stage.category("start");
        let one = stage.article(start, "one", "<p>One.</p>");
        sync(&stage).await;
        stage.write("start/one.html", lost);
        stage.sandbox().clear_requests();
        let report = sync(&stage).await;
        let counts = stage.sandbox().counts();
        assert_eq!(
            (counts.put, counts.post, counts.delete),
            (0, 0, 0),
            "{lost:?}"
        );
        assert_eq!(report.problems.len(), 1, "{lost:?}: {:?}", report.problems);
        assert_eq!(report.problems[0].path, "start/one.html");
        assert_eq!(stage.read("start/one.html"), lost);
        assert_eq!(
            stage.sandbox().article(one).expect("there").text,
            "<p>One.</p>"
        );
        // A colleague's edit does not replace unreadable content either.
        stage
            .sandbox()
            .edit(one, |article| article.text = "<p>Two.</p>".into());
        sync(&stage).await;
        assert_eq!(stage.read("start/one.html"), lost, "{lost:?}");
    }
}

/// A body that ends early after whole front matter could be a writer's intention: it is sent, and the replaced version
/// can be restored. kbsync itself leaves no such file: it writes a temporary file, and fsyncs before the rename.
#[tokio::test]
async fn f003_a_body_that_was_cut_short_can_be_taken_back() {
    let stage = hostile::world().await;
    let start = stage.category("start");
    let one = stage.article(start, "one", "<p>One.</p>\n<p>Two.</p>");
    sync(&stage).await;
    let whole = stage.read("start/one.html");
    let cut = whole.find("<p>Two").expect("a second paragraph");
    stage.write("start/one.html", &whole[..cut]);
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    let text = |id| stage.sandbox().article(id).expect("there").text;
    assert_eq!(text(one), "<p>One.</p>");
    let wish = RestoreRequest {
        subject: Subject::Article(ArticleId::new(one)),
        number: Some(1),
        to: None,
        missing: false,
        shown: None,
    };
    let restored = engine(&stage, &calm()).restore(&[wish]).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    sync(&stage).await;
    assert_eq!(text(one), "<p>One.</p>\n<p>Two.</p>");
    assert_eq!(stage.read("start/one.html"), whole);
}

/// The process dies before or after the DELETE: in both cases the article's words are within reach, and are restored as
/// a new article.
#[tokio::test]
async fn f046_what_a_deletion_of_ours_ends_comes_back_as_another_article() {
    for after in [false, true] {
        let stage = hostile::world().await;
        let start = stage.category("start");
        let one = stage.article(start, "one", "<p>One.</p>");
        stage.article(start, "two", "<p>Two.</p>");
        sync(&stage).await;
        stage.edit("start/one.html", "title: one\n", "title: one\nowner: me\n");
        sync(&stage).await;
        stage.remove("start/one.html");
        let dies: Meddler = Arc::new(move |moment| {
            let now = moment.doing == "DELETE" && moment.after == after;
            assert!(!now, "the process dies at {moment:?}");
            Ok(())
        });
        let mut dying = engine(&stage, &dies);
        let request = CycleRequest::new(Direction::Both);
        let cycle = AssertUnwindSafe(dying.cycle(&request)).catch_unwind();
        assert!(cycle.await.is_err(), "it dies");
        drop(dying);
        let subject = Subject::Article(ArticleId::new(one));
        let kept = |text: &str| {
            let store = hostile::store(&stage);
            let versions = store.versions(&subject).expect("read");
            let mut words = versions
                .iter()
                .flat_map(|kept| crate::support::words::in_version(&store, kept));
            words.any(|words| matches!(words, Words::Article { text: kept, .. } if kept == text))
        };
        assert!(kept("<p>One.</p>"), "after: {after}");
        let report = sync(&stage).await;
        assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
        assert!(stage.sandbox().article(one).is_none() && kept("<p>One.</p>"));
        let wish = RestoreRequest {
            subject: subject.clone(),
            number: None,
            to: None,
            missing: false,
            shown: None,
        };
        let restored = engine(&stage, &calm()).restore(&[wish]).await;
        assert!(restored.failed.is_none(), "{restored:?}");
        assert_eq!(restored.lines[0].id, None, "its id is another one");
        let report = sync(&stage).await;
        assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
        let articles = stage.sandbox().articles();
        let back = articles
            .iter()
            .find(|article| article.slug == "one")
            .expect("it is back");
        assert_eq!(
            (back.text.as_str(), back.title.as_str()),
            ("<p>One.</p>", "one")
        );
        assert_ne!(back.id, one);
        assert!(stage.read("start/one.html").contains("owner: me"));
    }
}
