//! The journal after a crash, row by row: the content of the slot decides, and nothing is guessed.

use crate::support::hostile::{self, Meddler, Stage, engine};
use futures_util::FutureExt as _;
use kbsync::engine::Clock as _;
use kbsync::engine::settings::CycleRequest;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::{ArticleId, Digest, KnownFile, Place, Side, Stamp, TextDigest};
use kbsync::reconcile::snapshot::Direction;
use kbsync::state::{Deed, Entry, FileEntry, Journalled, RowChange};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

const SLOT: i64 = 1000;
const OLD: &str = "<p>Old.</p>";
const NEW: &str = "<p>New.</p>";
const SAVED: &str = "<p>Saved.</p>";
/// A save within the clock's grain: its stamp is the expected stamp.
const AT_ONCE: &str = "<p>Own.</p>";
const LATER: &str = "<p>Later.</p>";

/// The interrupted change: a file was to be written or taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Begun {
    Made,
    Replaced,
    Removed,
    Moved,
}

/// The remains of a killed process, and the result of the next process.
struct Row {
    begun: Begun,
    /// The contents of the slot, of the target, and of the place that a moved file leaves.
    left: [Option<&'static str>; 3],
    /// Whether the interrupted change counts as done.
    done: bool,
    /// The contents of the target, of the copy beside it, and of the place that a moved file leaves.
    then: [Option<&'static str>; 3],
}

const fn row(
    begun: Begun,
    left: [Option<&'static str>; 3],
    done: bool,
    then: [Option<&'static str>; 3],
) -> Row {
    Row {
        begun,
        left,
        done,
        then,
    }
}

const TABLE: [Row; 17] = {
    use Begun::{Made, Moved, Removed, Replaced};
    const NO: Option<&str> = None;
    let (old, new, saved, later) = (Some(OLD), Some(NEW), Some(SAVED), Some(LATER));
    let at_once = Some(AT_ONCE);
    [
        // The slot has the new bytes: not published.
        row(Made, [new, NO, NO], false, [NO, NO, NO]),
        row(Replaced, [new, old, NO], false, [old, NO, NO]),
        row(Moved, [new, NO, old], false, [NO, NO, old]),
        // The slot has the expected old bytes: published.
        row(Replaced, [old, new, NO], true, [new, NO, NO]),
        row(Replaced, [old, later, NO], true, [later, NO, NO]),
        row(Removed, [old, NO, NO], true, [NO, NO, NO]),
        row(Moved, [old, new, NO], true, [new, NO, NO]),
        // The slot has unexpected old bytes: published, and a save was caught.
        row(Replaced, [saved, new, NO], true, [new, saved, NO]),
        row(Removed, [saved, NO, NO], true, [NO, saved, NO]),
        row(Replaced, [at_once, new, NO], true, [new, at_once, NO]),
        // The same, with a later edit of the published file.
        row(Replaced, [saved, later, NO], true, [later, saved, NO]),
        // The slot is empty: published, if the file was new and something lies at the target.
        row(Made, [NO, new, NO], true, [new, NO, NO]),
        row(Moved, [NO, new, old], true, [new, NO, NO]),
        row(Moved, [NO, new, saved], true, [new, saved, NO]),
        row(Moved, [NO, new, at_once], true, [new, at_once, NO]),
        // The slot is empty, because somebody cleared the stage.
        row(Replaced, [NO, old, NO], false, [old, NO, NO]),
        row(Made, [NO, NO, NO], false, [NO, NO, NO]),
    ]
};

fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).expect("a file");
    let nanos = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    Stamp {
        size: found.size(),
        mtime: nanos(found.mtime(), found.mtime_nsec()),
        ctime: nanos(found.ctime(), found.ctime_nsec()),
        inode: found.ino(),
    }
}

fn file(id: ArticleId, text: &str) -> String {
    format!("---\nid: {id}\ntitle: one\n---\n{text}\n")
}

/// Leaves the files and the journal as a killed process would.
fn leave(world: &Stage, id: ArticleId, row: &Row) {
    let stage = format!(".kbsync/stage/{SLOT}");
    let places = [stage.as_str(), "a/one.html", "a/before.html"];
    for (path, text) in places.iter().zip(row.left) {
        match text {
            Some(text) => world.write(path, &file(id, text)),
            None => drop(fs::remove_file(world.path(path))),
        }
    }
    let known = |path: &str, is: Option<&str>| {
        // A file that no longer exists had an inode that no file has now.
        let stamp = match is {
            Some(OLD | AT_ONCE) => stamp(&world.path(path)),
            Some(_) | None => Stamp::default(),
        };
        KnownFile {
            stamp,
            digest: Digest::of_parts(&[file(id, OLD).as_bytes()]),
        }
    };
    let new = Digest::of_parts(&[file(id, NEW).as_bytes()]);
    let over = known(&stage, row.left[0]);
    let left = if matches!(row.left[2], Some(OLD | AT_ONCE)) {
        known("a/before.html", row.left[2])
    } else {
        over
    };
    let is = |begun: Begun| row.begun == begun;
    let mut store = hostile::store(world);
    let mut base = store.article(id).expect("read").expect("a row");
    base.place = Place::new("a", "one.html");
    for side in [&mut base.local, &mut base.remote] {
        side.text = TextDigest::of(NEW);
    }
    let done = Deed {
        action: "update".to_owned(),
        side: Side::Local,
        path: "a/one.html".to_owned(),
        id: Some(id),
        detail: "from the journal".to_owned(),
    };
    let change = Journalled {
        slot: SLOT,
        entry: Entry::File(FileEntry {
            target: Place::new("a", "one.html"),
            leaves: is(Begun::Moved).then(|| (Place::new("a", "before.html"), left)),
            new: (!is(Begun::Removed)).then_some(new),
            over: (is(Begun::Replaced) || is(Begun::Removed)).then_some(over),
        }),
        rows: vec![
            RowChange::Article(Box::new(base)),
            RowChange::Event(Box::new(done)),
        ],
    };
    let now = world.clock.now();
    let begun = store.write_at(now, |tx| {
        tx.put_body(NEW)?;
        tx.begin_change(change.slot, &change.entry, &change.rows)
    });
    begun.expect("written");
}

/// Runs until the first request, and dies.
async fn recover(world: &Stage) {
    let dies: Meddler = Arc::new(|moment| {
        assert!(moment.doing != "GET", "the process dies at {moment:?}");
        Ok(())
    });
    let mut engine = engine(world, &dies);
    let request = CycleRequest::new(Direction::Both);
    let cycle = AssertUnwindSafe(engine.cycle(&request)).catch_unwind();
    assert!(cycle.await.is_err(), "it dies");
}

#[tokio::test]
async fn f001_f002_f080_what_lies_in_the_slot_says_what_was_done() {
    crate::engine::crash::silence_deaths();
    for (number, row) in TABLE.iter().enumerate() {
        let name = format!("row {number}: {:?} {:?}", row.begun, row.left);
        let world = hostile::world().await;
        let one = world.article(world.category("a"), "one", OLD);
        hostile::sync(&world).await;
        let id = ArticleId::new(one);
        leave(&world, id, row);
        // A second recovery changes nothing.
        for _ in 0..2 {
            recover(&world).await;
            assert_recovered(&world, row, &name);
        }
    }
}

/// Checks the files, the journal and the log after a recovery.
fn assert_recovered(world: &Stage, row: &Row, name: &str) {
    let text = |path: &str| {
        let text = fs::read_to_string(world.path(path)).ok()?;
        let text = text.lines().last().map(str::to_owned);
        Some(text.unwrap_or_default())
    };
    let found = ["a/one.html", "a/one.1.conflict.html", "a/before.html"].map(text);
    let then = row.then.map(|text| text.map(str::to_owned));
    assert_eq!(found, then, "{name}");
    let store = hostile::store(world);
    assert_eq!(store.journal().expect("read"), [], "{name}");
    let told = store.events(100, None).expect("read");
    let done = told
        .iter()
        .filter(|event| event.deed.detail == "from the journal");
    assert_eq!(done.count(), usize::from(row.done), "{name}");
    let stage = fs::read_dir(world.path(".kbsync/stage"));
    assert_eq!(stage.expect("listed").count(), 0, "{name}");
}

/// Where a file system cannot refuse to replace a name, a file gets its new name by a hard link, and then loses the old
/// one. A kill in between leaves both names.
#[tokio::test]
async fn a_file_with_a_second_name_in_its_slot_is_one_file() {
    use Begun::{Made, Moved, Removed};
    crate::engine::crash::silence_deaths();
    let (old, new, saved) = (Some(OLD), Some(NEW), Some(SAVED));
    for row in [
        row(Made, [new, new, None], true, [new, None, None]),
        row(Moved, [new, new, old], true, [new, None, None]),
        // An unexpected file was on its way back.
        row(Removed, [saved, saved, None], false, [saved, None, None]),
    ] {
        let name = format!("{:?}", row.begun);
        let world = hostile::world().await;
        let one = world.article(world.category("a"), "one", OLD);
        hostile::sync(&world).await;
        let id = ArticleId::new(one);
        leave(&world, id, &row);
        let (slot, target) = (format!(".kbsync/stage/{SLOT}"), world.path("a/one.html"));
        fs::remove_file(&target).expect("removed");
        fs::hard_link(world.path(&slot), &target).expect("linked");
        recover(&world).await;
        assert_recovered(&world, &row, &name);
    }
}

/// The same, if the replaced file waits for its slot.
#[tokio::test]
async fn a_replacement_by_a_second_name_is_finished_or_undone() {
    use Begun::Replaced;
    crate::engine::crash::silence_deaths();
    for done in [true, false] {
        let (old, new) = (Some(OLD), Some(NEW));
        let then = [if done { new } else { old }, None, None];
        let row = row(Replaced, [old, None, None], done, then);
        let world = hostile::world().await;
        let one = world.article(world.category("a"), "one", OLD);
        hostile::sync(&world).await;
        let id = ArticleId::new(one);
        leave(&world, id, &row);
        let slot = world.path(&format!(".kbsync/stage/{SLOT}"));
        let waits = slot.with_extension("old");
        fs::rename(&slot, &waits).expect("renamed");
        fs::write(&slot, file(id, NEW)).expect("written");
        let linked = if done { &slot } else { &waits };
        fs::hard_link(linked, world.path("a/one.html")).expect("linked");
        recover(&world).await;
        assert_recovered(&world, &row, &format!("done: {done}"));
    }
}

/// A replaced file waits beside its slot, and cannot get its name back now: its article is not deleted.
#[tokio::test]
async fn a_file_that_cannot_be_swept_is_not_missing() {
    crate::engine::crash::silence_deaths();
    let row = row(Begun::Replaced, [Some(OLD), None, None], false, [None; 3]);
    let world = hostile::world().await;
    let one = world.article(world.category("a"), "one", OLD);
    world.article(world.category("a"), "two", OLD);
    hostile::sync(&world).await;
    let id = ArticleId::new(one);
    leave(&world, id, &row);
    let slot = world.path(&format!(".kbsync/stage/{SLOT}"));
    fs::rename(&slot, slot.with_extension("old")).expect("renamed");
    fs::write(&slot, file(id, NEW)).expect("written");
    let stuck: Meddler = Arc::new(|moment| match moment.doing {
        "sweep" => Err(DiskErrorKind::Other),
        _ => Ok(()),
    });
    let report = hostile::sync_with(&world, &stuck).await;
    assert!(world.sandbox().article(one).is_some(), "{report:#?}");
    assert_eq!(hostile::store(&world).journal().expect("read").len(), 1);
    hostile::sync(&world).await;
    assert!(world.read("a/one.html").contains(OLD));
    assert!(world.sandbox().article(one).is_some());
}

/// Syncs, and dies at some moment; `act` is called at every moment before.
async fn dies(world: &Stage, act: impl Fn(&hostile::Moment) + Send + Sync + 'static) {
    let meddle: Meddler = Arc::new(move |moment| {
        act(moment);
        Ok(())
    });
    let sync = AssertUnwindSafe(hostile::sync_with(world, &meddle)).catch_unwind();
    assert!(sync.await.is_err(), "it dies");
}

/// A person creates a file at a path that is about to be written, and kbsync is killed before the batch is recorded.
#[tokio::test]
async fn f001_f080_a_file_made_in_the_instant_of_a_write_is_not_taken_for_what_was_written() {
    crate::engine::crash::silence_deaths();
    let world = hostile::world().await;
    let category = world.category("a");
    world.article(category, "zero", OLD);
    hostile::sync(&world).await;
    let ids = ["one", "two"].map(|slug| world.article(category, slug, OLD));
    let path = world.path("a");
    dies(&world, move |moment| {
        let is = |path: &str| moment.doing == "publish" && moment.what == path && !moment.after;
        if is("a/one.html") {
            fs::write(
                path.join("one.html"),
                "---\ntitle: one\n---\n<p>Mine.</p>\n",
            )
            .expect("made");
        }
        assert!(!is("a/two.html"), "the process dies at {moment:?}");
    })
    .await;
    for _ in 0..2 {
        hostile::sync(&world).await;
        for id in ids {
            let text = world.sandbox().article(id).expect("there").text;
            assert_eq!(text, OLD, "nobody saw that it was replaced");
        }
        let all = world.files();
        let mine = all.iter().any(|(_, text)| text.contains("Mine."));
        assert!(mine, "{all:#?}");
    }
}
