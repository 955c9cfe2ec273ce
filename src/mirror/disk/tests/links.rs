//! Links that are swapped in at each step of a write, for the folder and for the file (failures row 130).

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An operation on `start/secret.html`.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Deed {
    Replace,
    Create,
    Remove,
}

/// The steps of each operation: the operation, whether the file system cannot exchange names (`plain`), the step, and
/// the earlier step at which an editor must save so that the step is reached at all.
const STEPS: &[(Deed, bool, &str, Option<&str>)] = &[
    (Deed::Replace, false, "exchange", None),
    (Deed::Replace, false, "exchange back", Some("exchange")),
    (Deed::Replace, true, "exchange", None),
    (Deed::Replace, true, "move away", None),
    (Deed::Replace, true, "place", None),
    (Deed::Replace, true, "put back", Some("move away")),
    (Deed::Create, false, "place", None),
    (Deed::Create, true, "place", None),
    (Deed::Remove, false, "move away", None),
    (Deed::Remove, false, "put back", Some("move away")),
    (Deed::Remove, true, "move away", None),
    (Deed::Remove, true, "put back", Some("move away")),
];

const FILE: &str = "secret.html";

/// Returns whether a file of the mirror has this text; staged files do not count.
fn is_placed(world: &World, text: &str) -> bool {
    let stage = world.path(".kbsync/stage");
    let staged = if stage.exists() {
        texts(&stage)
    } else {
        Vec::new()
    };
    let count = |found: &[String]| found.iter().filter(|found| *found == text).count();
    count(&texts(&world.path(""))) > count(&staged)
}

/// The texts of all regular files of the mirror; no link is followed.
fn texts(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in names(folder) {
        let path = folder.join(name);
        let kind = fs::symlink_metadata(&path).expect("seen").file_type();
        if kind.is_dir() {
            found.extend(texts(&path));
        } else if kind.is_file() {
            found.push(fs::read_to_string(&path).expect("a file"));
        }
    }
    found
}

/// Puts a link in the place of the folder or of the file in it; the original is moved aside.
fn swap(folder: &Path, whole: bool) {
    let outside = folder.parent().and_then(Path::parent).expect("the top");
    let outside = outside.join("outside");
    if whole {
        fs::rename(folder, folder.with_file_name("moved")).expect("renamed");
        symlink(outside, folder).expect("a link");
        return;
    }
    let file = folder.join(FILE);
    // Between two steps, the file may be missing.
    if file.exists() {
        fs::rename(&file, folder.join("aside.html")).expect("renamed");
    }
    symlink(outside.join(FILE), file).expect("a link");
}

fn carry_out(world: &World, deed: Deed) -> Result<(), DiskErrorKind> {
    let known = || world.known("start/secret.html");
    match deed {
        Deed::Replace => world.put(FILE, "ours", Expect::File(known())).map(drop),
        Deed::Create => world.put(FILE, "ours", Expect::Absent).map(drop),
        Deed::Remove => world.take(FILE, known()),
    }
}

fn assert_nothing_outside_is_touched(world: &World, cell: &str) {
    let outside = world.top.path().join("outside");
    let secret = outside.join(FILE);
    assert_eq!(names(&outside), [FILE], "{cell}");
    let text = fs::read_to_string(&secret).expect("a file");
    assert_eq!(text, "secret", "{cell}");
    let mode = fs::metadata(&secret).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o604, "{cell}");
    let inside = texts(&world.path(""));
    assert!(!inside.iter().any(|text| text == "secret"), "{cell}");
}

/// A mirror beside a file with a mode that kbsync never gives.
fn guarded(plain: bool) -> World {
    let world = World::with(plain);
    let secret = world.top.path().join("outside").join(FILE);
    fs::set_permissions(secret, fs::Permissions::from_mode(0o604)).expect("changed");
    world
}

#[test]
fn f130_a_link_swapped_in_at_any_step_of_a_write_leads_nowhere() {
    for &(deed, plain, step, save_at) in STEPS {
        for whole in [true, false] {
            let what = if whole { "folder" } else { "file" };
            let cell = format!("{deed:?}, plain: {plain}, {what} at {step:?}");
            let world = guarded(plain);
            if deed != Deed::Create {
                world.write("start/secret.html", "inside");
            }
            let swapped = Arc::new(AtomicBool::new(false));
            let (done, folder) = (swapped.clone(), world.path("start"));
            *world.disk.meanwhile.lock().expect("free") = Some(Box::new(move |name| {
                if Some(name) == save_at && !folder.join("saved").exists() {
                    fs::write(folder.join("saved"), "theirs, later").expect("written");
                    fs::rename(folder.join("saved"), folder.join(FILE)).expect("saved");
                }
                if name == step && !done.swap(true, Ordering::SeqCst) {
                    swap(&folder, whole);
                }
            }));
            let outcome = carry_out(&world, deed);
            assert!(swapped.load(Ordering::SeqCst), "{cell}: it was not reached");
            assert_nothing_outside_is_touched(&world, &cell);
            let inside = texts(&world.path(""));
            let has = |text: &str| inside.iter().any(|found| found == text);
            match (save_at, outcome) {
                (Some(_), outcome) => {
                    assert!(has("theirs, later"), "{cell}: {outcome:?} {inside:?}");
                }
                (None, Ok(())) if deed == Deed::Remove => {
                    assert!(has("inside"), "{cell}: {inside:?}");
                }
                (None, Ok(())) => assert!(has("ours"), "{cell}: {inside:?}"),
                (None, Err(error)) => {
                    assert!(!is_placed(&world, "ours"), "{cell}: {error:?} {inside:?}");
                    assert!(has("inside") || deed == Deed::Create, "{cell}: {inside:?}");
                }
            }
        }
    }
}

#[test]
fn f130_no_race_with_links_leads_outside() {
    for plain in [false, true] {
        let world = guarded(plain);
        world.write("start/secret.html", "inside");
        let folder = world.path("start");
        let away = folder.with_file_name("moved");
        let outside = world.top.path().join("outside");
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let swapper = std::thread::spawn(move || {
            for _ in 0..200 {
                fs::rename(&folder, &away).expect("renamed");
                symlink(&outside, &folder).expect("a link");
                std::thread::yield_now();
                fs::remove_file(&folder).expect("removed");
                fs::rename(&away, &folder).expect("renamed");
                std::thread::yield_now();
            }
            ended.store(true, Ordering::SeqCst);
        });
        while !over.load(Ordering::SeqCst) {
            // The read finds the folder itself, or nothing.
            let expect = match world.disk.read(IN, FILE, 100) {
                Ok(found) => {
                    assert_ne!(found.bytes, b"secret", "read through a link");
                    Expect::File(KnownFile::of(found.stamp, &found.bytes))
                }
                Err(error) if error.kind == DiskErrorKind::NotFound => Expect::Absent,
                Err(_the_link) => continue,
            };
            if world
                .disk
                .stage(SLOT, IN, b"ours", Durability::Later)
                .is_ok()
            {
                let _either = world.disk.publish(SLOT, IN, FILE, expect);
            }
        }
        swapper.join().expect("no panic");
        assert_nothing_outside_is_touched(&world, &format!("plain: {plain}"));
    }
}
