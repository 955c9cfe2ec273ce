//! Probes of articles that are not listed stay cheap: not all at once, and not again in every poll while nothing is
//! new.

use crate::support::hostile::{self, Stage, Tampered, Watched};
use crate::support::look::{approvable, both, dry_run, held, requests, row};
use crate::support::world::lines;
use kbsync::engine::Engine;
use kbsync::engine::report::Report;
use kbsync::engine::settings::{Cause, CycleRequest};
use kbsync::model::ArticleId;
use kbsync::sandbox::Options;
use kbsync::service::Purpose;
use kbsync::state::Target;
use std::time::Duration;
use uuid::Uuid;

const DAY: Duration = Duration::from_hours(25);

/// A mirror of so many published articles and as many drafts; both sides know about the drafts.
async fn world(number: usize) -> (Stage, Vec<Uuid>) {
    let world = hostile::world().await;
    let a = world.category("a");
    for index in 0..number {
        world.article(a, &format!("public-{index:02}"), "<p>One.</p>");
    }
    let drafts: Vec<Uuid> = (0..number)
        .map(|index| world.article(a, &format!("draft-{index:02}"), "<p>One.</p><p>Two.</p>"))
        .collect();
    hostile::sync(&world).await;
    for &draft in &drafts {
        world.sandbox().unpublish(draft);
    }
    while drafts
        .iter()
        .any(|id| !world.read(&path(&world, *id)).contains("draft: true"))
    {
        hostile::sync(&world).await;
    }
    requests(&world);
    (world, drafts)
}

fn path(world: &Stage, id: Uuid) -> String {
    row(world, id).expect("a row").place.to_string()
}

/// Runs a poll of the daemon, for which no person waits.
async fn poll(world: &Stage) -> Report {
    let mut engine = hostile::engine(world, &hostile::calm());
    engine.cycle(&a_poll()).await.expect("a cycle")
}

fn a_poll() -> CycleRequest {
    CycleRequest {
        purpose: Purpose::Poll,
        cause: Cause::Background,
        ..both()
    }
}

/// A mirror with so many removed files of disabled articles, held for their number, after polls. The service lists
/// disabled articles or does not.
async fn removed(number: usize, list_disabled: bool) -> (Stage, Vec<Uuid>) {
    let world = hostile::world_with(Options {
        list_disabled,
        ..Options::unlimited()
    })
    .await;
    let a = world.category("a");
    let articles: Vec<Uuid> = (0..number)
        .map(|index| world.article(a, &format!("n-{index:02}"), "<p>One.</p>"))
        .collect();
    hostile::sync(&world).await;
    for &id in &articles {
        world.edit(&path(&world, id), "title:", "enabled: false\ntitle:");
    }
    hostile::sync(&world).await;
    for &id in &articles {
        world.remove(&path(&world, id));
    }
    // Some articles are probed in each poll, and all are held for their number.
    let mut engine = hostile::engine(&world, &hostile::calm());
    for _ in 0..number {
        engine.cycle(&a_poll()).await.expect("a cycle");
    }
    assert_eq!(held(&poll(&world).await).len(), number);
    requests(&world);
    (world, articles)
}

/// Returns the requests of some polls in a row.
async fn cost(world: &Stage, polls: usize) -> Vec<u64> {
    let mut cost = Vec::new();
    for _ in 0..polls {
        cost.push(poll(world).await.requests.total);
    }
    cost
}

#[tokio::test]
async fn many_removed_drafts_are_held_without_being_asked_for_in_every_poll() {
    let (world, drafts) = world(15).await;
    for &draft in &drafts {
        world.remove(&path(&world, draft));
    }
    // A quarter of thirty: seven are probed, and all are held for their number.
    let report = poll(&world).await;
    assert_eq!(report.requests.total, 1 + 7, "{:?}", requests(&world));
    assert_eq!(held(&report).len(), 15);
    assert_eq!(cost(&world, 3).await, [1, 1, 1]);
    assert_eq!(held(&poll(&world).await), held(&report));
    // Once a day they are probed again, some in each poll.
    world.clock.advance(DAY);
    let daily = cost(&world, 5).await;
    assert_eq!(daily, [2 + 7, 1 + 7, 1 + 1, 1, 1], "and the category");
    // A person's command probes at once.
    let report = hostile::sync(&world).await;
    assert_eq!(report.requests.total, 1 + 7);
}

#[tokio::test]
async fn what_was_held_while_it_was_hidden_and_is_shown_by_now_comes_back_as_a_published_article() {
    let (world, articles) = removed(12, false).await;
    world.sandbox().enable(articles[3]);
    let report = poll(&world).await;
    let back = "restore local a/n-03.html done".to_owned();
    assert!(lines(&report).contains(&back), "{:?}", lines(&report));
    assert_eq!(held(&report).len(), 11);
    assert!(!world.read("a/n-03.html").contains("enabled"));
    assert_eq!(report.requests.put, 1, "{:?}", requests(&world));
    assert_eq!(cost(&world, 2).await, [1, 1]);
}

#[tokio::test]
async fn what_is_held_and_listed_though_it_is_hidden_is_asked_for_once_under_each_revision() {
    let (world, articles) = removed(12, true).await;
    let mut engine = hostile::engine(&world, &hostile::calm());
    for _ in 0..2 {
        world.sandbox().edit(articles[3], |_| {});
        for asked in [1, 0, 0] {
            let report = engine.cycle(&a_poll()).await.expect("a cycle");
            assert_eq!(report.requests.put, asked, "{:?}", requests(&world));
            assert_eq!(held(&report).len(), 12);
        }
    }
    world.sandbox().enable(articles[3]);
    let report = engine.cycle(&a_poll()).await.expect("a cycle");
    let back = "restore local a/n-03.html done".to_owned();
    assert!(lines(&report).contains(&back), "{:?}", lines(&report));
    assert!(!world.read("a/n-03.html").contains("enabled"));
}

#[tokio::test]
async fn what_was_not_asked_for_is_read_before_it_is_deleted() {
    let (world, drafts) = world(15).await;
    for &draft in &drafts {
        world.remove(&path(&world, draft));
    }
    let planned = poll(&world).await;
    assert_eq!(held(&planned).len(), 15);
    let marks: Vec<_> = {
        let mut engine = hostile::engine(&world, &hostile::calm());
        approvable(&engine.cycle(&dry_run()).await.expect("a plan"))
    };
    let now = kbsync::engine::Clock::now(&*world.clock);
    hostile::store(&world)
        .write_at(now, |tx| {
            marks
                .iter()
                .try_for_each(|(side, mark)| tx.approve(*side, *mark))
        })
        .expect("written");
    // The draft was edited since its last probe.
    world.sandbox().edit(drafts[14], |article| {
        article.text = "<p>Theirs.</p>".into();
    });
    requests(&world);
    let report = poll(&world).await;
    let requests = requests(&world);
    let count = |wanted: &str| requests.iter().filter(|line| *line == wanted).count();
    assert_eq!(count("PUT article {} 200"), 15, "{requests:?}");
    assert_eq!(count("DELETE article 200"), 14);
    assert_eq!(report.requests.total, 1 + 15 + 14);
    assert!(world.sandbox().article(drafts[14]).is_some());
    let report = poll(&world).await;
    assert_eq!(lines(&report).len(), 1);
    assert!(
        lines(&report)[0].starts_with("restore local"),
        "{:?}",
        lines(&report)
    );
    assert_eq!(cost(&world, 2).await, [1, 1]);
}

#[tokio::test]
async fn many_edited_drafts_are_each_read_once_and_sent_once() {
    let (world, drafts) = world(12).await;
    for &draft in &drafts {
        world.edit(&path(&world, draft), "One.", "Mine.");
    }
    // A draft that is probed late was edited by a colleague as well.
    let last = *drafts.iter().max().expect("some");
    world.sandbox().edit(last, |article| {
        article.text = "<p>One.</p><p>Theirs.</p>".into();
    });
    let report = poll(&world).await;
    assert_eq!(report.requests.total, 1 + 12 + 11, "{:?}", requests(&world));
    let report = poll(&world).await;
    assert_eq!(report.requests.total, 1 + 1 + 1);
    assert!(
        lines(&report)[0].starts_with("merge both"),
        "{:?}",
        lines(&report)
    );
    let text = world.sandbox().article(last).expect("there").text;
    assert_eq!(text, "<p>Mine.</p><p>Theirs.</p>");
    assert_eq!(cost(&world, 2).await, [1, 1]);
}

#[tokio::test]
async fn a_standing_conflict_of_a_draft_costs_nothing() {
    let (world, drafts) = world(1).await;
    let path = path(&world, drafts[0]);
    world.edit(&path, "One.", "Mine.");
    world.sandbox().edit(drafts[0], |article| {
        article.text = "<p>Theirs.</p><p>Two.</p>".into();
    });
    let report = poll(&world).await;
    assert_eq!(report.requests.total, 1 + 1);
    let shown = held(&report);
    assert_eq!(shown.len(), 1);
    assert_eq!(cost(&world, 2).await, [1, 1]);
    assert_eq!(held(&poll(&world).await), shown);
    // The conflict is settled by hand. The colleague has edited again meanwhile, which is a new conflict.
    world.remove(&path.replace(".html", ".conflict.html"));
    world.sandbox().edit(drafts[0], |article| {
        article.text = "<p>Theirs again.</p><p>Two.</p>".into();
    });
    assert_eq!(
        poll(&world).await.requests.put,
        1,
        "a probe before it is sent"
    );
    let report = poll(&world).await;
    assert_eq!(held(&report).len(), 1, "{:?}", lines(&report));
    world.remove(&path.replace(".html", ".conflict.html"));
    let report = poll(&world).await;
    assert_eq!(report.requests.total, 1 + 1 + 1, "{:?}", lines(&report));
    assert!(lines(&report)[0].ends_with("done"), "{:?}", lines(&report));
    assert_eq!(cost(&world, 2).await, [1, 1]);
}

#[tokio::test]
async fn ids_of_strangers_are_not_asked_for_in_every_poll() {
    let (world, _) = world(1).await;
    let other = world.sandbox().add_workspace("Other");
    let foreign = world.sandbox().add_category(other, "Other", "other");
    let theirs = world.article(foreign, "theirs", "<p>t</p>");
    let unknown = Uuid::from_u128(77);
    for (name, id) in [("theirs", theirs), ("nobody", unknown)] {
        let text = format!("---\nid: {id}\ntitle: {name}\n---\n<p>t</p>\n");
        world.write(&format!("a/{name}.html"), &text);
    }
    let first = poll(&world).await;
    assert!(first.requests.total > 1);
    requests(&world);
    assert_eq!(cost(&world, 3).await, [1, 1, 1], "{:?}", requests(&world));
    assert_eq!(held(&poll(&world).await), held(&first));
    world.clock.advance(DAY);
    assert!(cost(&world, 1).await[0] > 1);
    requests(&world);
    let after = cost(&world, 2).await;
    assert_eq!(after, [1, 1], "{:?}", requests(&world));
    assert!(hostile::sync(&world).await.requests.total > 1);
    // Once the files are removed, nothing about these ids is remembered.
    world.remove("a/theirs.html");
    world.remove("a/nobody.html");
    poll(&world).await;
    let store = hostile::store(&world);
    let attempts = store.backoff().expect("readable");
    for id in [theirs, unknown] {
        let target = Target::Article(ArticleId::new(id));
        assert!(!attempts.contains_key(&target), "{attempts:?}");
    }
}

/// Returns the requests of some polls in a row, all by one daemon.
async fn cost_of_one(engine: &mut Engine<Watched, Tampered>, polls: usize) -> Vec<u64> {
    let mut cost = Vec::new();
    for _ in 0..polls {
        let report = engine.cycle(&a_poll()).await.expect("a cycle");
        cost.push(report.requests.total);
    }
    cost
}

#[tokio::test]
async fn conflicts_of_drafts_after_a_loss_of_the_state_are_asked_for_once_a_day() {
    let (world, drafts) = world(5).await;
    for &draft in &drafts {
        world.sandbox().edit(draft, |article| {
            article.text = "<p>Theirs.</p>".into();
        });
    }
    let paths: Vec<String> = drafts.iter().map(|id| path(&world, *id)).collect();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let path = world.path(&format!(".kbsync/{name}"));
        assert!(!path.exists() || std::fs::remove_file(path).is_ok());
    }
    let mut engine = hostile::engine(&world, &hostile::calm());
    let first = engine.cycle(&a_poll()).await.expect("a cycle");
    assert_eq!(held(&first).len(), 5, "{:?}", lines(&first));
    assert!(first.requests.put >= 5, "{:?}", requests(&world));
    requests(&world);
    let cost = cost_of_one(&mut engine, 3).await;
    assert_eq!(cost, [1, 1, 1], "{:?}", requests(&world));
    // A file that is saved again is a reason to read its article.
    world.edit(&paths[0], "One.", "Mine.");
    assert_eq!(cost_of_one(&mut engine, 2).await, [1 + 2, 1]);
    world.clock.advance(DAY);
    let cost = cost_of_one(&mut engine, 2).await;
    assert!(cost[0] > 5 && cost[1] == 1, "{cost:?}");
    // A draft whose conflict was settled by hand is read before it is sent.
    world.sandbox().edit(drafts[0], |article| {
        article.text = "<p>Theirs again.</p>".into();
    });
    world.remove(&paths[0].replace(".html", ".conflict.html"));
    let report = engine.cycle(&a_poll()).await.expect("a cycle");
    assert!(
        report.look_again.contains(&paths[0]),
        "{:?}",
        lines(&report)
    );
    let report = engine.cycle(&a_poll()).await.expect("a cycle");
    assert_eq!(held(&report).len(), 5, "{:?}", lines(&report));
    let copy = world.read(&paths[0].replace(".html", ".conflict.html"));
    assert!(copy.contains("Theirs again."), "{copy}");
}

#[tokio::test]
async fn a_held_move_of_an_article_that_was_hidden_since_is_asked_for_once_a_day() {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>One.</p>");
    world.article(a, "two", "<p>Two.</p>");
    hostile::sync(&world).await;
    world.edit("a/one.html", "title:", "slug: two\ntitle:");
    world.sandbox().unpublish(one);
    let mut engine = hostile::engine(&world, &hostile::calm());
    let report = engine.cycle(&a_poll()).await.expect("a cycle");
    assert_eq!(held(&report).len(), 1, "{:?}", lines(&report));
    requests(&world);
    let cost = cost_of_one(&mut engine, 3).await;
    assert_eq!(cost, [1, 1, 1], "{:?}", requests(&world));
    world.clock.advance(DAY);
    let cost = cost_of_one(&mut engine, 2).await;
    assert!(cost[0] > 1 && cost[1] == 1, "{cost:?}");
    // The move is given up, and the file shows the present article.
    world.edit("a/one.html", "slug: two\n", "");
    cost_of_one(&mut engine, 1).await;
    assert!(world.read("a/one.html").contains("draft: true"));
}
