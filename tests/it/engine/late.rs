//! Programs that keep a file open while it is replaced or removed, and write into it afterwards (failures
//! row 81).

use crate::support::hostile::{self, Meddler, Stage};
use crate::support::look::{assert_quiet, both, kept, problems};
use crate::support::world::lines;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::ExitCode;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use uuid::Uuid;

const BESIDE: &str = "a/n.1.conflict.html";

/// A mirror with one article, and a program that has its file open.
async fn opened() -> (Stage, Uuid, File) {
    let world = hostile::world().await;
    let category = world.category("a");
    let id = world.article(category, "n", "<p>old</p>");
    hostile::sync(&world).await;
    let file = OpenOptions::new()
        .append(true)
        .open(world.path("a/n.html"))
        .expect("open");
    (world, id, file)
}

fn theirs(world: &Stage, id: Uuid) {
    world
        .sandbox()
        .edit(id, |article| article.text = "<p>theirs</p>".into());
}

#[tokio::test]
async fn f081_what_is_written_into_a_replaced_file_is_kept_beside_it() {
    let (world, id, mut open) = opened().await;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(world.path("a/n.html"), private).expect("changed");
    theirs(&world, id);
    let mut engine = hostile::engine(&world, &hostile::calm());
    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(lines(&report), ["update local a/n.html done"]);
    open.write_all(b"<p>late words</p>\n").expect("written");

    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(lines(&report), Vec::<String>::new());
    let told = problems(&report);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("a/n.html"), "{told:?}");
    assert!(told[0].contains("n.1.conflict.html"), "{told:?}");
    assert!(world.read(BESIDE).contains("<p>old</p>\n<p>late words</p>"));
    let beside = std::fs::metadata(world.path(BESIDE)).expect("a file");
    assert_eq!(beside.permissions().mode() & 0o777, 0o600);
    assert!(kept(&world, id, "<p>old</p>\n<p>late words</p>"));
    assert!(world.read("a/n.html").contains("<p>theirs</p>"));

    // The file itself lies beside it now: what the program writes next is there at once.
    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    open.write_all(b"<p>more</p>\n").expect("written");
    assert!(world.read(BESIDE).contains("<p>more</p>"));
    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(problems(&report), Vec::<String>::new());
    assert!(!world.exists("a/n.2.conflict.html"));
    drop(engine);

    // The copy is not sent by itself.
    assert_eq!(
        world.sandbox().article(id).expect("there").text,
        "<p>theirs</p>"
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f081_a_command_looks_once_more_at_its_end() {
    let (world, id, open) = opened().await;
    theirs(&world, id);
    let open = Mutex::new(open);
    let meddle: Meddler = Arc::new(move |moment| {
        if moment.doing == "publish" && moment.after && moment.what == "a/n.html" {
            let mut open = open.lock().expect("free");
            open.write_all(b"<p>late words</p>\n").expect("written");
        }
        Ok(())
    });
    let report = hostile::sync_with(&world, &meddle).await;
    assert_eq!(lines(&report), ["update local a/n.html done"]);
    assert_eq!(report.outcome, ExitCode::Partial, "{report:#?}");
    assert!(world.read(BESIDE).contains("<p>late words</p>"));
}

#[tokio::test]
async fn f081_late_words_outlive_a_state_that_is_lost_in_the_same_cycle() {
    let (world, id, open) = opened().await;
    theirs(&world, id);
    let open = Mutex::new(open);
    let state = world.path(".kbsync/state.db");
    let meddle: Meddler = Arc::new(move |moment| {
        if moment.doing == "publish" && moment.after && moment.what == "a/n.html" {
            let mut open = open.lock().expect("free");
            open.write_all(b"<p>late words</p>\n").expect("written");
            std::fs::remove_file(&state).expect("removed");
        }
        Ok(())
    });
    let mut engine = hostile::engine(&world, &meddle);
    engine.cycle(&both()).await.expect_err("no state");
    drop(engine);
    // Without a journal, the owners of the files in the stage are unknown: the next run gives the files other names, and
    // deletes none.
    hostile::sync(&world).await;
    let files = std::fs::read_dir(world.path(".kbsync/stage")).expect("a folder");
    let kept = files.map(|kept| std::fs::read_to_string(kept.expect("a name").path()));
    let kept: Vec<String> = kept.map(|kept| kept.expect("text")).collect();
    let has_words = |kept: &String| kept.contains("<p>late words</p>");
    assert!(kept.iter().any(has_words), "{kept:?}");
}

#[tokio::test]
async fn f081_what_is_written_into_a_removed_file_is_kept_beside_its_place() {
    let (world, id, mut open) = opened().await;
    let category = world.sandbox().article(id).expect("there").category_id;
    world.article(category, "other", "<p>other</p>");
    hostile::sync(&world).await;
    world.sandbox().remove(id);
    let mut engine = hostile::engine(&world, &hostile::calm());
    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(lines(&report), ["delete local a/n.html done"]);
    open.write_all(b"<p>late words</p>\n").expect("written");
    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(problems(&report).len(), 1, "{report:#?}");
    assert!(world.read(BESIDE).contains("<p>late words</p>"));
    assert!(!world.exists("a/n.html"));
}

#[tokio::test]
async fn f081_a_displaced_file_goes_after_a_day() {
    let (world, id, open) = opened().await;
    theirs(&world, id);
    hostile::sync(&world).await;
    let displaced = || {
        let found = std::fs::read_dir(world.path(".kbsync/displaced"));
        found.expect("listed").count()
    };
    assert_eq!(displaced(), 1);
    world.clock.advance(Duration::from_hours(25));
    hostile::sync(&world).await;
    assert_eq!(displaced(), 0);
    assert_eq!(hostile::store(&world).displaced().expect("read"), []);
    drop(open);
}

#[tokio::test]
async fn a_displaced_file_is_read_before_it_goes() {
    let (world, id, mut open) = opened().await;
    theirs(&world, id);
    hostile::sync(&world).await;
    world.clock.advance(Duration::from_hours(1));
    hostile::sync(&world).await;
    // The words have the size and the time of the old ones.
    let before = open.metadata().expect("a file");
    let words = vec![b'w'; usize::try_from(before.len()).expect("small")];
    open.set_len(0).expect("emptied");
    open.write_all(&words).expect("written");
    let time = before.modified().expect("a time");
    open.set_modified(time).expect("set back");
    world.clock.advance(Duration::from_hours(25));
    hostile::sync(&world).await;
    assert_eq!(world.read(BESIDE).into_bytes(), words);
}

#[tokio::test]
async fn a_file_that_could_not_be_displaced_is_not_forgotten() {
    let (world, id, mut open) = opened().await;
    theirs(&world, id);
    let stuck: Meddler = Arc::new(|moment| match moment.doing {
        "displace" => Err(DiskErrorKind::Other),
        _ => Ok(()),
    });
    let mut engine = hostile::engine(&world, &stuck);
    engine.cycle(&both()).await.expect("a cycle");
    open.write_all(b"<p>late</p>\n").expect("written");
    world.clock.advance(Duration::from_hours(25));
    engine.cycle(&both()).await.expect("a cycle");
    drop(engine);
    hostile::sync(&world).await;
    assert!(world.read(BESIDE).contains("<p>late</p>"));
}

#[tokio::test]
async fn f081_a_file_that_was_only_emptied_has_no_words() {
    let (world, id, open) = opened().await;
    theirs(&world, id);
    let mut engine = hostile::engine(&world, &hostile::calm());
    engine.cycle(&both()).await.expect("a cycle");
    open.set_len(0).expect("emptied");
    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(report.outcome, ExitCode::Done, "{report:#?}");
    assert!(!world.exists(BESIDE));
}

#[tokio::test]
async fn f081_what_cannot_be_kept_now_outlasts_the_day() {
    const LARGE: u64 = 20 << 20;
    let (world, id, mut open) = opened().await;
    theirs(&world, id);
    hostile::sync(&world).await;
    world.clock.advance(Duration::from_hours(25));
    let displaced = || {
        let found = std::fs::read_dir(world.path(".kbsync/displaced"));
        found.expect("listed").count()
    };
    // The file is emptied, and filled again only after a cycle.
    open.set_len(0).expect("emptied");
    hostile::sync(&world).await;
    assert_eq!(displaced(), 1);
    open.write_all(b"<p>late</p>\n").expect("written");
    open.set_len(LARGE).expect("grown");
    let full: Meddler = Arc::new(|moment| match moment.doing {
        "set beside" => Err(DiskErrorKind::Full),
        _ => Ok(()),
    });
    for _ in 0..2 {
        let report = hostile::sync_with(&world, &full).await;
        let told = problems(&report);
        assert!(
            told.len() == 1 && told[0].contains(".kbsync/displaced"),
            "{told:?}"
        );
        assert_eq!(displaced(), 1);
    }
    // A file that is too large for the history is put beside its place as well.
    let report = hostile::sync(&world).await;
    assert_eq!(problems(&report).len(), 1, "{report:#?}");
    assert_eq!(displaced(), 0);
    let beside = std::fs::read(world.path(BESIDE)).expect("a file");
    assert!(beside.starts_with(b"<p>late</p>") && beside.len() as u64 == LARGE);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f081_however_many_files_are_replaced_each_one_stays() {
    const MANY: usize = 210;
    let world = hostile::world().await;
    let category = world.category("a");
    let ids: Vec<Uuid> = (0..MANY)
        .map(|number| world.article(category, &format!("n{number}"), "<p>old</p>"))
        .collect();
    hostile::sync(&world).await;
    for id in ids {
        theirs(&world, id);
    }
    hostile::sync(&world).await;
    let displaced = std::fs::read_dir(world.path(".kbsync/displaced"));
    assert_eq!(displaced.expect("listed").count(), MANY);
}
