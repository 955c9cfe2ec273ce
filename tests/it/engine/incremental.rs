//! Cycles with almost no changes: they compare a few articles only, with the same result as a comparison of all
//! articles.

use crate::simulator::engine::random::Random;
use crate::support::hostile::{self, Tampered, Watched};
use crate::support::world::{World, lines};
use kbsync::engine::Engine;
use kbsync::engine::settings::{CycleRequest, Settings};
use kbsync::model::ArticleId;
use kbsync::reconcile::snapshot::Direction;
use std::time::Duration;
use uuid::Uuid;

type Machine = Engine<Watched, Tampered>;

fn request() -> CycleRequest {
    CycleRequest::new(Direction::Both)
}

/// Runs one cycle. Returns its actions, and whether it compared a few articles only.
async fn sync(engine: &mut Machine) -> (Vec<String>, bool) {
    let report = engine.cycle(&request()).await.expect("a cycle");
    (lines(&report), report.coverage.is_incremental)
}

/// Runs cycles until a quiet cycle compares a few articles only.
async fn settle(engine: &mut Machine) {
    for _ in 0..6 {
        if sync(engine).await == (Vec::new(), true) {
            return;
        }
    }
    panic!("it does not come to rest");
}

/// A workspace with six articles, and an engine that is at rest.
async fn stage() -> (hostile::Stage, Machine, Vec<Uuid>) {
    let world = hostile::world().await;
    let (a, b) = (world.category("a"), world.category("b"));
    let ids = (0..6).map(|n| {
        let category = if n < 3 { a } else { b };
        world.article(category, &format!("n{n}"), &format!("<p>Text {n}.</p>"))
    });
    let ids: Vec<Uuid> = ids.collect();
    let mut engine = hostile::engine(&world, &hostile::calm());
    sync(&mut engine).await;
    world.clock.advance(Duration::from_secs(1));
    settle(&mut engine).await;
    (world, engine, ids)
}

#[tokio::test]
async fn edits_on_either_side_are_compared_by_themselves() {
    let (world, mut engine, ids) = stage().await;
    world
        .sandbox()
        .edit(ids[1], |article| article.text = "<p>Theirs.</p>".into());
    let pulled = vec!["update local a/n1.html done".to_owned()];
    assert_eq!(sync(&mut engine).await, (pulled, true));
    assert!(world.read("a/n1.html").contains("Theirs."));
    assert_eq!(sync(&mut engine).await, (vec![], true));
    world.edit("b/n4.html", "Text 4.", "Ours.");
    let pushed = vec!["update remote b/n4.html done".to_owned()];
    assert_eq!(sync(&mut engine).await, (pushed, true));
    let text = world.sandbox().article(ids[4]).expect("there").text;
    assert_eq!(text, "<p>Ours.</p>");
    assert_eq!(sync(&mut engine).await, (vec![], true));
    // Edits on both sides at once, of one article and of two articles.
    world.edit("a/n0.html", "title: n0", "title: Another");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>New.</p>".into());
    world
        .sandbox()
        .edit(ids[5], |article| article.keywords = Some("k".into()));
    let mut both = vec![
        "merge both a/n0.html done".to_owned(),
        "update local b/n5.html done".to_owned(),
    ];
    let (mut done, incremental) = sync(&mut engine).await;
    both.sort();
    done.sort();
    assert_eq!((done, incremental), (both, true));
    // Readers change the bytes of an entry, and nothing else.
    world.sandbox().visit(ids[3], 7);
    assert_eq!(sync(&mut engine).await, (vec![], true));
    let figures = engine.store().figures().expect("readable");
    let of_three = figures.iter().find(|(id, _)| id.uuid() == ids[3]);
    assert_eq!(of_three.expect("figures").1.views, 7);
    // A new process also compares a few articles only.
    let mut engine = hostile::engine(&world, &hostile::calm());
    assert_eq!(sync(&mut engine).await, (vec![], true));
}

type Change = fn(&World, &[Uuid]);

/// Changes on either side that affect more than an article's words, each with the resulting actions.
const CHANGES: [(&str, Change, &[&str]); 13] = [
    (
        "an article went",
        |world, ids| drop(world.sandbox().remove(ids[0])),
        &["delete local a/n0.html done"],
    ),
    (
        "an article came",
        |world, ids| {
            let category = world.sandbox().article(ids[0]).expect("there").category_id;
            world.article(category, "new", "<p>New.</p>");
        },
        &["create local a/new.html done"],
    ),
    (
        "another address",
        |world, ids| {
            world
                .sandbox()
                .edit(ids[0], |article| article.slug = "x".into());
        },
        &["move local a/x.html done"],
    ),
    (
        "another category",
        |world, ids| {
            let other = world.sandbox().article(ids[5]).expect("there").category_id;
            world
                .sandbox()
                .edit(ids[0], |article| article.category_id = other);
        },
        &["move local b/n0.html done"],
    ),
    (
        "hidden",
        |world, ids| drop(world.sandbox().disable(ids[0])),
        &[],
    ),
    (
        "a file went",
        |world, _| world.remove("a/n0.html"),
        &["delete remote a/n0.html done"],
    ),
    (
        "a file came",
        |world, _| world.write("a/own.html", "---\ntitle: Own\n---\n<p>Own.</p>\n"),
        &["create remote a/own.html done"],
    ),
    (
        "a file was renamed",
        |world, _| world.rename("a/n0.html", "a/other.html"),
        &[],
    ),
    (
        "a file has another id",
        |world, ids| {
            let (one, other) = (ids[0].to_string(), ids[1].to_string());
            world.edit("a/n0.html", &one, &other);
        },
        &[],
    ),
    (
        "a file cannot be read",
        |world, _| world.write("a/n0.html", "---\ntitle: [\n---\n"),
        &[],
    ),
    (
        "a category's words changed here",
        |world, _| world.edit("a/_category.yaml", "name: a", "name: Letters"),
        &[],
    ),
    (
        "a copy of a conflict",
        |world, _| world.write("a/n0.conflict.html", "<p>Copy.</p>\n"),
        &[],
    ),
    (
        "what is ignored",
        |world, _| world.write(".kbsyncignore", "n0.html\n"),
        &[],
    ),
];

#[tokio::test]
async fn whatever_is_not_as_simple_is_compared_with_everything() {
    for (name, change, expected) in CHANGES {
        let (world, mut engine, ids) = stage().await;
        change(&world, &ids);
        let planned = plan(&mut engine).await;
        let (done, incremental) = sync(&mut engine).await;
        assert!(!incremental, "{name}: {done:?}");
        let words = |line: &String| line.rsplit_once(' ').map(|(words, _)| words.to_owned());
        let done_words: Vec<_> = done.iter().filter_map(words).collect();
        assert_eq!(planned, done_words, "{name}");
        if !expected.is_empty() {
            assert_eq!(done, expected, "{name}");
        }
    }
}

#[tokio::test]
async fn a_conflict_is_shown_among_a_few_and_then_everything_is_compared() {
    let (world, mut engine, ids) = stage().await;
    world.edit("a/n0.html", "Text 0.", "Ours.");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>Theirs.</p>".into());
    assert_eq!(plan(&mut engine).await, ["conflict both a/n0.html"]);
    let shown = vec!["conflict both a/n0.html held".to_owned()];
    assert_eq!(sync(&mut engine).await, (shown.clone(), true));
    assert_eq!(sync(&mut engine).await, (shown, false));
}

/// Returns the actions that a comparison of all articles would take.
async fn plan(engine: &mut Machine) -> Vec<String> {
    let request = CycleRequest {
        dry_run: true,
        ..request()
    };
    let report = engine.cycle(&request).await.expect("a plan");
    let words = |line: &String| line.rsplit_once(' ').map(|(words, _)| words.to_owned());
    lines(&report).iter().filter_map(words).collect()
}

#[tokio::test]
async fn what_another_process_wrote_is_in_the_index() {
    let (world, mut engine, ids) = stage().await;
    world
        .sandbox()
        .edit(ids[2], |article| article.text = "<p>Theirs.</p>".into());
    assert_eq!(lines(&world.sync().await), ["update local a/n2.html done"]);
    assert_eq!(sync(&mut engine).await, (vec![], true));
}

#[tokio::test]
async fn what_a_person_decides_and_other_settings_are_no_small_matter() {
    let (world, mut engine, _) = stage().await;
    let settings = Settings::new(world.settings.workspace);
    engine.set_settings(settings.clone());
    assert_eq!(sync(&mut engine).await, (vec![], true));
    engine.set_settings(Settings {
        keep_days: settings.keep_days + 1,
        ..settings
    });
    assert_eq!(sync(&mut engine).await, (vec![], false));
    settle(&mut engine).await;
    for request in [
        CycleRequest::new(Direction::Pull),
        CycleRequest::new(Direction::Push),
        CycleRequest {
            scope: vec!["a".to_owned()],
            ..request()
        },
        CycleRequest {
            allow_deletes: true,
            ..request()
        },
        CycleRequest {
            in_motion: hostile::in_motion(&["a/n0.html"]),
            ..request()
        },
    ] {
        let report = engine.cycle(&request).await.expect("a cycle");
        assert!(!report.coverage.is_incremental, "{request:?}");
        settle(&mut engine).await;
    }
    // A dry run changes nothing, not even the knowledge that the engine holds.
    plan(&mut engine).await;
    assert_eq!(sync(&mut engine).await, (vec![], true));
    // A day later the categories are read again.
    world.clock.advance(Duration::from_hours(25));
    assert_eq!(sync(&mut engine).await, (vec![], false));
    settle(&mut engine).await;
}

#[tokio::test]
async fn a_row_that_was_written_in_between_is_read_again() {
    let (world, mut engine, ids) = stage().await;
    let id = ArticleId::new(ids[0]);
    let mut row = engine
        .store()
        .article(id)
        .expect("readable")
        .expect("there");
    // The row looks as if the file had other content when both sides last agreed.
    row.local.title = "Before".to_owned();
    row.stamp = None;
    let now = kbsync::engine::Clock::now(&*world.clock);
    engine
        .store_mut()
        .write_at(now, |tx| tx.put_article(&row))
        .expect("written");
    let adopted = vec!["adopt both a/n0.html done".to_owned()];
    assert_eq!(sync(&mut engine).await, (adopted, true));
    settle(&mut engine).await;
    let row = engine
        .store()
        .article(id)
        .expect("readable")
        .expect("there");
    assert_eq!(row.local.title, "n0");
}

/// Makes one random change in a workspace.
fn happen(world: &World, random: &mut Random, round: usize) {
    let articles = world.sandbox().articles();
    let Some(article) = random.pick(&articles).cloned() else {
        return;
    };
    let files: Vec<String> = world.files().into_iter().map(|(path, _)| path).collect();
    let files: Vec<&String> = files.iter().filter(|path| path.contains(".html")).collect();
    let file = random.pick(&files).map(|path| (*path).clone());
    let sandbox = world.sandbox();
    match random.below(16) {
        0..=4 => {
            let text = format!("<p>Theirs, {round}.</p>");
            sandbox.edit(article.id, |article| article.text = text);
        }
        5 => drop(sandbox.visit(article.id, 3)),
        6 => {
            sandbox.edit(article.id, |article| article.slug = format!("s{round}"));
        }
        7 => {
            world.article(article.category_id, &format!("r{round}"), "<p>R.</p>");
        }
        8 => drop(sandbox.remove(article.id)),
        9 => drop(sandbox.disable(article.id)),
        10 => drop(sandbox.enable(article.id)),
        11..=13 => {
            if let Some(file) = file {
                let text = format!("{}<p>Ours, {round}.</p>\n", world.read(&file));
                world.write(&file, &text);
            }
        }
        14 => {
            if let Some(file) = file {
                world.remove(&file);
            }
        }
        _ => {
            if let Some(file) = file {
                world.rename(&file, &format!("a/moved-{round}.html"));
            }
        }
    }
}

#[tokio::test]
async fn a_few_articles_come_to_what_all_of_them_come_to() {
    let mut incremental = 0;
    for seed in 0..3 {
        let mut random = Random::stream(seed, "incremental");
        let (world, mut engine, _) = stage().await;
        for round in 0..12 {
            for _ in 0..random.below(3) {
                happen(&world, &mut random, round);
            }
            let planned = plan(&mut engine).await;
            let (done, few) = sync(&mut engine).await;
            incremental += usize::from(few);
            let words = |line: &String| line.rsplit_once(' ').map(|(words, _)| words.to_owned());
            let done: Vec<_> = done.iter().filter_map(words).collect();
            assert_eq!(planned, done, "seed {seed}, round {round}, few: {few}");
        }
    }
    assert!(incremental > 3, "{incremental}");
}
