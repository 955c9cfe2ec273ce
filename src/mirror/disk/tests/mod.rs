//! The real folder: links, races with editors, and what a crash leaves behind.

use super::*;
use proptest::prelude::*;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};
use tempfile::TempDir;

mod links;

const IN: At<'static> = At::Folder("start");

/// A mirror with one folder, `start`, and a file beside the mirror that nothing may touch.
struct World {
    top: TempDir,
    disk: RealDisk,
}

impl World {
    fn new() -> Self {
        Self::with(false)
    }

    fn with(plain: bool) -> Self {
        let top = TempDir::new().expect("a folder");
        fs::create_dir_all(top.path().join("help/start")).expect("a folder");
        fs::create_dir(top.path().join("outside")).expect("a folder");
        fs::write(top.path().join("outside/secret.html"), "secret").expect("a file");
        let mut disk = RealDisk::open(&top.path().join("help")).expect("the mirror");
        disk.plain = plain;
        Self { top, disk }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.top.path().join("help").join(name)
    }

    fn write(&self, name: &str, text: &str) -> Stamp {
        fs::write(self.path(name), text).expect("a file");
        self.stamp(name)
    }

    fn stamp(&self, name: &str) -> Stamp {
        let (folder, file) = name.split_once('/').expect("a path");
        let found = self.disk.look(At::Folder(folder), file).expect("readable");
        found.expect("a file").stamp
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn put(&self, name: &str, text: &str, expect: Expect) -> Result<Stamp, DiskErrorKind> {
        let staged = self
            .disk
            .stage(IN, text.as_bytes(), Durability::Later)
            .expect("staged");
        self.disk
            .publish(staged, name, expect)
            .map_err(|error| error.kind)
    }

    fn names(&self) -> Vec<String> {
        names(&self.path("start"))
    }

    /// Acts once, at a step within an operation.
    fn at_step(&self, step: &'static str, act: impl Fn(&Path) + Send + 'static) {
        let folder = self.path("start");
        let mut done = false;
        *self.disk.meanwhile.lock().expect("free") = Some(Box::new(move |name| {
            if name == step && !done {
                done = true;
                act(&folder);
            }
        }));
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn files_are_written_replaced_renamed_and_removed() {
    for plain in [false, true] {
        let world = World::with(plain);
        let first = world.put("a.html", "one", Expect::Absent).expect("written");
        assert_eq!(world.stamp("start/a.html"), first);
        assert_eq!(
            world.put("a.html", "x", Expect::Absent),
            Err(DiskErrorKind::Exists)
        );
        let second = world
            .put("a.html", "two", Expect::Stamp(first))
            .expect("replaced");
        assert_eq!(world.text("start/a.html"), "two");
        assert_eq!(
            world.put("a.html", "x", Expect::Stamp(first)),
            Err(DiskErrorKind::Changed)
        );
        world.disk.create_folder("next").expect("made");
        let (from, to) = (Place::new("start", "a.html"), Place::new("next", "b.html"));
        let third = world.disk.rename(&from, &to, second).expect("renamed");
        assert_eq!(world.text("next/b.html"), "two");
        world
            .disk
            .remove(At::Folder("next"), "b.html", third)
            .expect("removed");
        world.disk.remove_folder("next").expect("empty");
        assert!(world.names().is_empty(), "{:?}", world.names());
    }
}

#[test]
fn what_is_not_as_expected_is_left_alone() {
    for plain in [false, true] {
        let world = World::with(plain);
        let old = world.write("start/a.html", "one");
        let now = world.write("start/a.html", "three");
        assert_eq!(
            world.put("a.html", "x", Expect::Stamp(old)),
            Err(DiskErrorKind::Changed)
        );
        let gone = world.disk.remove(IN, "a.html", old).expect_err("changed");
        assert_eq!(gone.kind, DiskErrorKind::Changed);
        assert_eq!(
            gone.to_string(),
            "remove start/a.html: it changed meanwhile"
        );
        let (from, to) = (Place::new("start", "a.html"), Place::new("start", "b.html"));
        assert_eq!(
            world
                .disk
                .rename(&from, &to, old)
                .expect_err("changed")
                .kind,
            DiskErrorKind::Changed
        );
        world.write("start/b.html", "other");
        assert_eq!(
            world.disk.rename(&from, &to, now).expect_err("taken").kind,
            DiskErrorKind::Exists
        );
        assert_eq!(
            world.put("none.html", "x", Expect::Stamp(old)),
            Err(DiskErrorKind::Changed)
        );
        assert_eq!(
            (world.text("start/a.html"), world.text("start/b.html")),
            ("three".into(), "other".into())
        );
        assert_eq!(world.names(), ["a.html", "b.html"]);
    }
}

#[test]
fn f080_a_save_in_the_instant_of_the_exchange_is_put_back() {
    for plain in [false, true] {
        let world = World::with(plain);
        let stamp = world.write("start/a.html", "base");
        let step = if plain { "move away" } else { "exchange" };
        // An editor that saves by renaming a new file over the old one.
        world.at_step(step, |folder| {
            fs::write(folder.join("saved"), "the editor's").expect("written");
            fs::rename(folder.join("saved"), folder.join("a.html")).expect("renamed");
        });
        assert_eq!(
            world.put("a.html", "ours", Expect::Stamp(stamp)),
            Err(DiskErrorKind::Changed)
        );
        assert_eq!(world.text("start/a.html"), "the editor's");
        assert_eq!(world.names(), ["a.html"], "plain: {plain}");
    }
}

#[test]
fn f080_a_save_in_place_in_that_instant_is_put_back() {
    let world = World::new();
    let stamp = world.write("start/a.html", "base");
    world.at_step("exchange", |folder| {
        fs::write(folder.join("a.html"), "in place").expect("written");
    });
    assert_eq!(
        world.put("a.html", "ours", Expect::Stamp(stamp)),
        Err(DiskErrorKind::Changed)
    );
    assert_eq!(world.text("start/a.html"), "in place");
    assert_eq!(world.names(), ["a.html"]);
}

#[test]
fn f080_two_saves_around_the_exchange_are_both_kept() {
    let world = World::new();
    let stamp = world.write("start/a.html", "base");
    let mut saves = 0;
    let folder = world.path("start");
    *world.disk.meanwhile.lock().expect("free") = Some(Box::new(move |step| {
        if step.starts_with("exchange") {
            saves += 1;
            fs::write(folder.join("a.html"), format!("save {saves}")).expect("written");
        }
    }));
    assert_eq!(
        world.put("a.html", "ours", Expect::Stamp(stamp)),
        Err(DiskErrorKind::Changed)
    );
    assert_eq!(world.text("start/a.html"), "save 1");
    assert_eq!(world.text("start/a.1.conflict.html"), "save 2");
    assert_eq!(world.names(), ["a.1.conflict.html", "a.html"]);
}

#[test]
fn f080_a_file_removed_in_that_instant_stays_removed() {
    let world = World::new();
    let stamp = world.write("start/a.html", "base");
    world.at_step("exchange", |folder| {
        fs::remove_file(folder.join("a.html")).expect("removed");
    });
    assert_eq!(
        world.put("a.html", "ours", Expect::Stamp(stamp)),
        Err(DiskErrorKind::Changed)
    );
    assert!(world.names().is_empty());
}

#[test]
fn f080_a_new_file_in_that_instant_is_not_replaced() {
    for plain in [false, true] {
        let world = World::with(plain);
        world.at_step("place", |folder| {
            fs::write(folder.join("a.html"), "theirs").expect("written");
        });
        assert_eq!(
            world.put("a.html", "ours", Expect::Absent),
            Err(DiskErrorKind::Exists)
        );
        assert_eq!(world.text("start/a.html"), "theirs");
        assert_eq!(world.names(), ["a.html"]);
    }
}

#[test]
fn f080_a_new_file_while_the_old_one_is_away_leaves_both() {
    let world = World::with(true);
    let stamp = world.write("start/a.html", "base");
    world.at_step("place", |folder| {
        fs::write(folder.join("a.html"), "theirs").expect("written");
    });
    assert_eq!(
        world.put("a.html", "ours", Expect::Stamp(stamp)),
        Err(DiskErrorKind::Changed)
    );
    assert_eq!(world.text("start/a.html"), "theirs");
    assert_eq!(world.text("start/a.1.conflict.html"), "base");
    assert_eq!(world.names(), ["a.1.conflict.html", "a.html"]);
}

#[test]
fn f080_a_save_in_the_instant_of_a_removal_is_put_back() {
    for plain in [false, true] {
        let world = World::with(plain);
        let stamp = world.write("start/a.html", "base");
        world.at_step("move away", |folder| {
            fs::write(folder.join("a.html"), "edited").expect("written");
        });
        assert_eq!(
            world
                .disk
                .remove(IN, "a.html", stamp)
                .expect_err("changed")
                .kind,
            DiskErrorKind::Changed
        );
        assert_eq!(world.text("start/a.html"), "edited");
        assert_eq!(world.names(), ["a.html"]);
    }
}

#[test]
fn f080_a_save_in_the_instant_of_a_rename_goes_back_to_its_name() {
    let world = World::new();
    let stamp = world.write("start/a.html", "base");
    world.at_step("rename", |folder| {
        fs::write(folder.join("a.html"), "edited").expect("written");
    });
    let (from, to) = (Place::new("start", "a.html"), Place::new("start", "b.html"));
    assert_eq!(
        world
            .disk
            .rename(&from, &to, stamp)
            .expect_err("changed")
            .kind,
        DiskErrorKind::Changed
    );
    assert_eq!(world.text("start/a.html"), "edited");
    assert_eq!(world.names(), ["a.html"]);
}

/// An editor and kbsync write the same file at once, without being told when: no save may be lost.
/// (The editor saves by renaming. One that writes in place may still have the replaced file open.)
#[test]
fn f080_no_save_is_lost_in_a_race() {
    for plain in [false, true] {
        let world = World::with(plain);
        let path = world.path("start/a.html");
        for round in 0..200_usize {
            let base = world.write("start/a.html", "base");
            let token = format!("save {round} of the editor");
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    fs::write(path.with_extension("new"), &token).expect("written");
                    start.wait();
                    fs::rename(path.with_extension("new"), &path).expect("renamed");
                });
                start.wait();
                let _published = world.put("a.html", "ours", Expect::Stamp(base));
            });
            let names = world.names();
            let text = |name: &String| world.text(&format!("start/{name}"));
            assert!(
                names.iter().any(|name| text(name) == token),
                "plain: {plain}, {names:?}"
            );
            for name in names {
                assert!(!name.starts_with(TEMPORARY), "{name}");
                fs::remove_file(world.path("start").join(name)).expect("removed");
            }
        }
    }
}

#[test]
fn f081_what_is_written_into_a_file_without_a_name_is_found_once() {
    use std::io::Write as _;
    for plain in [false, true] {
        let world = World::with(plain);
        let open = |name: &str| {
            let path = world.path(name);
            fs::OpenOptions::new()
                .append(true)
                .open(path)
                .expect("open")
        };
        let (first, second) = (
            world.write("start/a.html", "one"),
            world.write("start/b.html", "two"),
        );
        let (mut replaced, mut removed) = (open("start/a.html"), open("start/b.html"));
        world
            .put("a.html", "ours", Expect::Stamp(first))
            .expect("replaced");
        world.disk.remove(IN, "b.html", second).expect("removed");
        assert_eq!(world.disk.late(true, 100), [], "plain: {plain}");
        replaced.write_all(b", late").expect("written");
        removed.write_all(b", late").expect("written");
        let now = std::time::SystemTime::now() + std::time::Duration::from_millis(900);
        for open in [&replaced, &removed] {
            open.set_modified(now).expect("set");
        }
        assert_eq!(world.disk.late(false, 100), [], "they may go on");
        let late = |name: &str, text: &str| Late {
            folder: Some("start".to_owned()),
            name: name.to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        assert_eq!(
            world.disk.late(true, 100),
            [late("a.html", "one, late"), late("b.html", "two, late")],
        );
        assert_eq!(world.disk.late(true, 100), [], "once is enough");
    }
}

#[test]
fn f081_the_last_files_stay_open_and_the_others_are_looked_at_when_they_go() {
    use std::io::Write as _;
    let world = World::new();
    let mut stamp = world.write("start/a.html", "first");
    let mut open = fs::OpenOptions::new()
        .append(true)
        .open(world.path("start/a.html"))
        .expect("open");
    for number in 0..200 {
        let text = number.to_string();
        stamp = world
            .put("a.html", &text, Expect::Stamp(stamp))
            .expect("replaced");
        if number == 10 {
            open.write_all(b", late").expect("written");
        }
    }
    let open_files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    assert!(open_files < 1000, "{open_files}");
    let late = world.disk.late(true, 100);
    assert_eq!(late.len(), 1, "{late:?}");
    assert_eq!(late[0].bytes, b"first, late");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_a_new_one_is_readable() {
    let world = World::new();
    let mode = |name: &str| {
        fs::metadata(world.path(name))
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    world.put("a.html", "x", Expect::Absent).expect("written");
    assert_eq!(mode("start/a.html") & 0o600, 0o600);
    assert_eq!(mode("start/a.html") & 0o133, 0);
    fs::set_permissions(
        world.path("start/a.html"),
        fs::Permissions::from_mode(0o640),
    )
    .expect("changed");
    world
        .put("a.html", "y", Expect::Stamp(world.stamp("start/a.html")))
        .expect("replaced");
    assert_eq!(mode("start/a.html"), 0o640);
}

#[test]
fn a_copy_of_a_private_file_is_private() {
    let world = World::new();
    world.write("start/a.html", "x");
    let mode = |name: &str| {
        fs::metadata(world.path(name))
            .expect("a file")
            .permissions()
    };
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(world.path("start/a.html"), private).expect("changed");
    symlink("a.html", world.path("start/link.html")).expect("a link");
    for (like, private) in [("a.html", true), ("none.html", false), ("link.html", false)] {
        let staged = world
            .disk
            .stage(IN, b"y", Durability::Later)
            .expect("staged");
        world.disk.keep_mode(&staged, IN, like).expect("kept");
        let copy = format!("copy-of-{like}");
        world
            .disk
            .publish(staged, &copy, Expect::Absent)
            .expect("written");
        let found = mode(&format!("start/{copy}")).mode() & 0o777;
        assert_eq!(found == 0o600, private, "{like}: {found:o}");
    }
}

#[test]
fn f001_what_a_crash_left_is_shown_before_it_goes() {
    let world = World::new();
    drop(
        world
            .disk
            .stage(IN, b"staged", Durability::Now)
            .expect("staged"),
    );
    drop(
        world
            .disk
            .stage(At::Root, b"in the root", Durability::Later)
            .expect("staged"),
    );
    world.write("start/.kbsync-tmp-1-2-was-a.html", "being removed");
    world.write("start/.kbsync-tmp-1-3-was-b.html", "replaced");
    world.write("start/b.html", "new");
    let mut seen = Vec::new();
    let swept = world.disk.sweep(&mut |leftover| {
        seen.push((
            leftover.name.clone(),
            String::from_utf8_lossy(&leftover.bytes).into_owned(),
        ));
        leftover.name.is_none()
    });
    assert_eq!(swept.expect("swept"), 3);
    seen.sort();
    let expected = [
        (None, "in the root"),
        (None, "staged"),
        (Some("b.html"), "replaced"),
    ];
    assert_eq!(
        seen,
        expected.map(|(name, text)| (name.map(str::to_owned), text.to_owned()))
    );
    assert_eq!(world.text("start/a.html"), "being removed");
    assert_eq!(
        world.names(),
        [".kbsync-tmp-1-3-was-b.html", "a.html", "b.html"]
    );
}

#[test]
fn f130_links_are_neither_read_nor_written_through() {
    let world = World::new();
    let outside = world.top.path().join("outside");
    symlink(outside.join("secret.html"), world.path("start/link.html")).expect("a link");
    symlink(&outside, world.path("linked")).expect("a link");
    let at = At::Folder("linked");
    let wrong = |error: DiskError| assert_eq!(error.kind, DiskErrorKind::WrongKind, "{error}");
    wrong(world.disk.read(IN, "link.html", 100).expect_err("a link"));
    wrong(world.disk.read(at, "secret.html", 100).expect_err("a link"));
    wrong(world.disk.list(at).expect_err("a link"));
    wrong(
        world
            .disk
            .stage(at, b"x", Durability::Later)
            .expect_err("a link"),
    );
    wrong(
        world
            .disk
            .remove(at, "secret.html", Stamp::default())
            .expect_err("a link"),
    );
    wrong(
        world
            .disk
            .rename_folder("linked", "other")
            .expect_err("a link"),
    );
    let entry = world
        .disk
        .look(IN, "link.html")
        .expect("seen")
        .expect("there");
    assert_eq!(entry.kind, Kind::Link);
    assert_eq!(
        world.put("link.html", "x", Expect::Stamp(entry.stamp)),
        Err(DiskErrorKind::WrongKind)
    );
    assert_eq!(
        world.put("link.html", "x", Expect::Absent),
        Err(DiskErrorKind::Exists)
    );
    let listed = world.disk.list(At::Root).expect("listed").entries;
    let kinds: Vec<_> = listed
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind))
        .collect();
    assert!(kinds.contains(&("linked", Kind::Link)) && kinds.contains(&("start", Kind::Folder)));
    assert_eq!(
        fs::read_to_string(outside.join("secret.html")).expect("untouched"),
        "secret"
    );
    assert_eq!(names(&outside), ["secret.html"]);
}

#[test]
fn f130_a_folder_swapped_for_a_link_within_an_operation_changes_nothing_outside() {
    let world = World::new();
    let stamp = world.write("start/secret.html", "inside");
    let outside = world.top.path().join("outside");
    world.at_step("exchange", move |folder| {
        fs::rename(folder, folder.with_file_name("moved")).expect("renamed");
        symlink(&outside, folder).expect("a link");
    });
    // The folder that was opened is the one that is written, wherever it is by now.
    world
        .put("secret.html", "ours", Expect::Stamp(stamp))
        .expect("written");
    assert_eq!(world.text("moved/secret.html"), "ours");
    assert_eq!(
        fs::read_to_string(world.top.path().join("outside/secret.html")).expect("a file"),
        "secret"
    );
}

#[test]
fn other_kinds_and_large_files_are_told_apart() {
    let world = World::new();
    fs::create_dir(world.path("start/folder.html")).expect("a folder");
    let error = world
        .disk
        .read(IN, "folder.html", 10)
        .expect_err("a folder");
    assert_eq!(error.kind, DiskErrorKind::WrongKind);
    world.write("start/a.html", "0123456789");
    assert!(world.disk.read(IN, "a.html", 10).expect("read").whole);
    let part = world.disk.read(IN, "a.html", 9).expect("read");
    assert_eq!(
        (part.whole, part.bytes.as_slice()),
        (false, b"012345678".as_slice())
    );
    assert_eq!(
        world.disk.read(IN, "none", 9).expect_err("absent").kind,
        DiskErrorKind::NotFound
    );
    assert_eq!(
        world.disk.remove_folder("start").expect_err("full").kind,
        DiskErrorKind::NotEmpty
    );
    assert_eq!(
        world.disk.create_folder("start").expect_err("there").kind,
        DiskErrorKind::Exists
    );
}

/// To the calls, a second name of the same file is what a name in another case is on a file system that folds
/// case: it is taken, by the file itself.
#[test]
fn f056_a_name_in_another_case_is_reached_where_case_is_folded() {
    let world = World::new();
    world.write("start/a.html", "words");
    fs::hard_link(world.path("start/a.html"), world.path("start/A.html")).expect("a link");
    let stamp = world.stamp("start/a.html");
    // Where case is folded, both names go at once.
    world.at_step("move away", |folder| {
        fs::remove_file(folder.join("A.html")).expect("removed");
    });
    let (from, to) = (Place::new("start", "a.html"), Place::new("start", "A.html"));
    let renamed = world.disk.rename(&from, &to, stamp).expect("renamed");
    assert_eq!(world.names(), ["A.html"]);
    assert_eq!(world.text("start/A.html"), "words");
    assert_eq!(renamed, world.stamp("start/A.html"));
}

#[test]
fn f056_a_name_in_another_case_that_is_another_file_is_not_replaced() {
    let world = World::new();
    let stamp = world.write("start/a.html", "words");
    world.write("start/A.html", "others");
    let (from, to) = (Place::new("start", "a.html"), Place::new("start", "A.html"));
    let refused = world.disk.rename(&from, &to, stamp).expect_err("taken");
    assert_eq!(refused.kind, DiskErrorKind::Exists);
    assert_eq!(world.text("start/a.html"), "words");
    assert_eq!(world.text("start/A.html"), "others");
    // Nor is one that comes while the file is on its way.
    let world = World::new();
    world.write("start/a.html", "words");
    fs::hard_link(world.path("start/a.html"), world.path("start/A.html")).expect("a link");
    let stamp = world.stamp("start/a.html");
    let refused = world.disk.rename(&from, &to, stamp).expect_err("taken");
    assert_eq!(refused.kind, DiskErrorKind::Exists);
    assert_eq!(world.names(), ["A.html", "a.html"]);
    assert_eq!(world.text("start/a.html"), "words");
}

#[test]
fn f056_folders_are_renamed_but_never_onto_another() {
    let world = World::new();
    world.disk.rename_folder("start", "Start").expect("renamed");
    world.disk.create_folder("other").expect("made");
    for plain in [false, true] {
        let mut disk = RealDisk::open(&world.path("")).expect("the mirror");
        disk.plain = plain;
        let error = disk.rename_folder("Start", "other").expect_err("taken");
        assert_eq!(error.kind, DiskErrorKind::Exists);
    }
    world
        .disk
        .sync_folder(At::Folder("other"))
        .expect("flushed");
    world.disk.flush().expect("flushed");
}

#[test]
fn f097_a_mirror_that_was_moved_away_is_no_empty_one() {
    let world = World::new();
    fs::rename(world.path(""), world.top.path().join("elsewhere")).expect("renamed");
    assert_eq!(
        world.disk.list(At::Root).expect_err("gone").kind,
        DiskErrorKind::Replaced
    );
    fs::create_dir(world.path("")).expect("a folder");
    assert_eq!(
        world.disk.list(At::Root).expect_err("another").kind,
        DiskErrorKind::Replaced
    );
    assert_eq!(
        world.disk.list(IN).expect_err("another").kind,
        DiskErrorKind::Replaced
    );
    assert!(RealDisk::open(&world.path("none")).is_err());
}

#[test]
fn f101_the_longest_names_can_be_removed_and_set_beside() {
    let world = World::new();
    let name = format!("{}.html", "a".repeat(250));
    let stamp = world.write(&format!("start/{name}"), "x");
    world.disk.remove(IN, &name, stamp).expect("removed");
    assert!(world.names().is_empty());
    assert_eq!(rescue::beside_name(&name, 1).len(), 255);
    assert!(rescue::removal_name(".kbsync-tmp-1", &name).len() <= 255);
}

fn hostile() -> impl Strategy<Value = String> {
    let parts = vec![
        "..",
        ".",
        "/",
        "\\",
        "\0",
        "outside",
        "secret.html",
        "start",
        "linked",
        "~",
        "\u{202e}",
        "",
        "a",
    ];
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(parts), 0..5)
            .prop_map(|parts| parts.concat()),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn f129_no_name_leads_out_of_the_mirror(folder in hostile(), file in hostile(), new in hostile()) {
        let world = World::new();
        let outside = world.top.path().join("outside");
        symlink(&outside, world.path("linked")).expect("a link");
        fs::write(outside.join("only here"), "").expect("a file");
        let at = At::Folder(&folder);
        let stamp = world.write("start/a", "x");
        let _made = world.disk.create_folder(&folder);
        if let Ok(staged) = world.disk.stage(at, b"evil", Durability::Later) {
            let _published = world.disk.publish(staged, &file, Expect::Absent);
        }
        if let Ok(content) = world.disk.read(at, &file, 100) {
            prop_assert_ne!(content.bytes, b"secret");
        }
        if let Ok(listing) = world.disk.list(at) {
            prop_assert!(listing.entries.iter().all(|entry| entry.name != "only here"));
        }
        let _moved = world.disk.rename(&Place::new("start", "a"), &Place::new(folder.clone(), file.clone()), stamp);
        let _renamed = world.disk.rename_folder(&folder, &new);
        let _removed = world.disk.remove_folder(&new);
        prop_assert_eq!(names(world.top.path()), ["help", "outside"]);
        prop_assert_eq!(names(&outside), ["only here", "secret.html"]);
        prop_assert_eq!(fs::read_to_string(outside.join("secret.html")).expect("a file"), "secret");
    }
}
