//! The real folder: links, races with editors, and leftovers of crashes.

use super::*;
use proptest::prelude::*;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};
use tempfile::TempDir;

mod links;

const IN: At<'static> = At::Folder("start");
const SLOT: Slot = 7;

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

    fn write(&self, name: &str, text: &str) -> KnownFile {
        fs::write(self.path(name), text).expect("a file");
        self.known(name)
    }

    fn known(&self, name: &str) -> KnownFile {
        KnownFile::of(self.stamp(name), self.text(name).as_bytes())
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
        self.empty();
        self.disk
            .stage(SLOT, IN, text.as_bytes(), Durability::Later)
            .expect("staged");
        self.disk
            .publish(SLOT, IN, name, expect)
            .map_err(|error| error.kind)
    }

    fn take(&self, name: &str, known: KnownFile) -> Result<(), DiskErrorKind> {
        self.empty();
        let taken = self.disk.take(SLOT, IN, name, Expect::File(known));
        taken.map_err(|error| error.kind)
    }

    fn empty(&self) {
        self.disk.discard(Area::Stage, SLOT, IN).expect("emptied");
    }

    /// Returns the content of the slot.
    fn aside(&self) -> Option<String> {
        self.disk.look_aside(Area::Stage, SLOT, IN).expect("seen")?;
        let content = self.disk.read_aside(Area::Stage, SLOT, IN, 100);
        Some(String::from_utf8(content.expect("read").bytes).expect("text"))
    }

    fn names(&self) -> Vec<String> {
        names(&self.path("start"))
    }

    /// Runs an action once, at a step within an operation.
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
fn files_are_written_replaced_and_removed_and_what_was_there_lies_in_the_slot() {
    for plain in [false, true] {
        let world = World::with(plain);
        let first = world.put("a.html", "one", Expect::Absent).expect("written");
        let first = KnownFile::of(first, b"one");
        assert_eq!(world.known("start/a.html"), first);
        assert_eq!(world.aside(), None);
        assert_eq!(
            world.put("a.html", "x", Expect::Absent),
            Err(DiskErrorKind::Exists)
        );
        // An empty slot would mean that the file was put in place.
        assert_eq!(world.aside().as_deref(), Some("x"), "plain: {plain}");
        let second = world
            .put("a.html", "two", Expect::File(first))
            .expect("replaced");
        let second = KnownFile::of(second, b"two");
        assert_eq!(world.text("start/a.html"), "two");
        assert_eq!(world.aside().as_deref(), Some("one"), "plain: {plain}");
        assert_eq!(
            world.put("a.html", "x", Expect::File(first)),
            Err(DiskErrorKind::Changed)
        );
        world.take("a.html", second).expect("taken");
        assert_eq!(world.aside().as_deref(), Some("two"));
        assert!(world.names().is_empty(), "{:?}", world.names());
        let beside = world
            .disk
            .set_beside(Area::Stage, SLOT, IN, "a.html")
            .expect("beside");
        assert_eq!(world.text(&format!("start/{beside}")), "two");
        assert_eq!(world.aside(), None);
    }
}

#[test]
fn f083_a_stamp_that_cannot_vouch_for_the_bytes_is_not_enough() {
    for plain in [false, true] {
        let world = World::with(plain);
        world.write("start/a.html", "one");
        let two = || KnownFile::of(world.stamp("start/a.html"), b"two");
        assert_eq!(
            world.put("a.html", "x", Expect::File(two())),
            Err(DiskErrorKind::Changed)
        );
        assert_eq!(world.text("start/a.html"), "one");
        assert_eq!(world.aside().as_deref(), Some("x"), "plain: {plain}");
        assert_eq!(world.take("a.html", two()), Err(DiskErrorKind::Changed));
        assert_eq!(world.text("start/a.html"), "one");
        let one = world.known("start/a.html");
        world
            .put("a.html", "x", Expect::File(one))
            .expect("replaced");
        assert_eq!(world.aside().as_deref(), Some("one"));
    }
}

#[test]
fn what_is_not_as_expected_is_left_alone() {
    for plain in [false, true] {
        let world = World::with(plain);
        let old = world.write("start/a.html", "one");
        world.write("start/a.html", "three");
        assert_eq!(
            world.put("a.html", "x", Expect::File(old)),
            Err(DiskErrorKind::Changed)
        );
        world.empty();
        let gone = world.disk.take(SLOT, IN, "a.html", Expect::File(old));
        let gone = gone.expect_err("changed");
        assert_eq!(gone.kind, DiskErrorKind::Changed);
        assert_eq!(
            gone.to_string(),
            "remove start/a.html: it changed meanwhile"
        );
        assert_eq!(
            world.put("none.html", "x", Expect::File(old)),
            Err(DiskErrorKind::Changed)
        );
        assert_eq!(world.text("start/a.html"), "three");
        assert_eq!(world.names(), ["a.html"]);
    }
}

#[test]
fn f080_a_save_in_the_instant_of_the_exchange_is_put_back() {
    for plain in [false, true] {
        let world = World::with(plain);
        let known = world.write("start/a.html", "base");
        let step = if plain { "move away" } else { "exchange" };
        // An editor that saves by renaming a new file over the old file.
        world.at_step(step, |folder| {
            fs::write(folder.join("saved"), "the editor's").expect("written");
            fs::rename(folder.join("saved"), folder.join("a.html")).expect("renamed");
        });
        assert_eq!(
            world.put("a.html", "ours", Expect::File(known)),
            Err(DiskErrorKind::Changed)
        );
        assert_eq!(world.text("start/a.html"), "the editor's");
        assert_eq!(world.names(), ["a.html"], "plain: {plain}");
    }
}

#[test]
fn f080_a_save_in_place_in_that_instant_is_put_back() {
    let world = World::new();
    let known = world.write("start/a.html", "base");
    world.at_step("exchange", |folder| {
        fs::write(folder.join("a.html"), "in place").expect("written");
    });
    assert_eq!(
        world.put("a.html", "ours", Expect::File(known)),
        Err(DiskErrorKind::Changed)
    );
    assert_eq!(world.text("start/a.html"), "in place");
    assert_eq!(world.names(), ["a.html"]);
}

#[test]
fn f080_two_saves_around_the_exchange_are_both_kept() {
    let world = World::new();
    let known = world.write("start/a.html", "base");
    let mut saves = 0;
    let folder = world.path("start");
    *world.disk.meanwhile.lock().expect("free") = Some(Box::new(move |step| {
        if step.starts_with("exchange") {
            saves += 1;
            fs::write(folder.join("a.html"), format!("save {saves}")).expect("written");
        }
    }));
    assert_eq!(
        world.put("a.html", "ours", Expect::File(known)),
        Err(DiskErrorKind::Changed)
    );
    assert_eq!(world.text("start/a.html"), "save 1");
    assert_eq!(world.text("start/a.1.conflict.html"), "save 2");
    assert_eq!(world.names(), ["a.1.conflict.html", "a.html"]);
}

#[test]
fn f080_a_file_removed_in_that_instant_stays_removed() {
    let world = World::new();
    let known = world.write("start/a.html", "base");
    world.at_step("exchange", |folder| {
        fs::remove_file(folder.join("a.html")).expect("removed");
    });
    assert_eq!(
        world.put("a.html", "ours", Expect::File(known)),
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
    let known = world.write("start/a.html", "base");
    world.at_step("place", |folder| {
        fs::write(folder.join("a.html"), "theirs").expect("written");
    });
    assert_eq!(
        world.put("a.html", "ours", Expect::File(known)),
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
        let known = world.write("start/a.html", "base");
        world.at_step("move away", |folder| {
            fs::write(folder.join("a.html"), "edited").expect("written");
        });
        assert_eq!(world.take("a.html", known), Err(DiskErrorKind::Changed));
        assert_eq!(world.text("start/a.html"), "edited");
        assert_eq!(world.names(), ["a.html"]);
        assert_eq!(world.aside(), None);
    }
}

/// An editor and kbsync write the same file at random moments: no save may be lost. (The editor saves by renaming. An
/// editor that writes in place may still have the replaced file open.)
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
                let _published = world.put("a.html", "ours", Expect::File(base));
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
fn f081_what_is_written_into_a_displaced_file_is_there_to_be_read() {
    use std::io::Write as _;
    for plain in [false, true] {
        let world = World::with(plain);
        let known = world.write("start/a.html", "one");
        let path = world.path("start/a.html");
        let open = fs::OpenOptions::new().append(true).open(path);
        world
            .put("a.html", "ours", Expect::File(known))
            .expect("replaced");
        world.disk.displace(SLOT, IN).expect("displaced");
        assert_eq!(world.aside(), None);
        let look = || world.disk.look_aside(Area::Displaced, SLOT, IN);
        let before = look().expect("seen").expect("there");
        open.expect("open").write_all(b", late").expect("written");
        assert_ne!(look().expect("seen"), Some(before));
        let found = world.disk.read_aside(Area::Displaced, SLOT, IN, 100);
        assert_eq!(found.expect("read").bytes, b"one, late");
        let discard = || world.disk.discard(Area::Displaced, SLOT, IN);
        discard().expect("gone");
        discard().expect("an empty slot stays so");
        assert_eq!(look().expect("seen"), None);
    }
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
        .put("a.html", "y", Expect::File(world.known("start/a.html")))
        .expect("replaced");
    assert_eq!(mode("start/a.html"), 0o640);
}

/// With an access list, the mode's bits of the group are its mask.
#[cfg(target_os = "linux")]
#[test]
fn a_replaced_file_keeps_its_access_list() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    use std::os::unix::fs::{MetadataExt as _, chown};
    // Version 2; then tag, permissions and id: the owner, a user, the group, the mask, and others.
    let entries: [(u16, u16, u32); 5] = [
        (1, 6, u32::MAX),
        (2, 6, 4321),
        (4, 0, u32::MAX),
        (0x10, 6, u32::MAX),
        (0x20, 0, u32::MAX),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let world = World::new();
    world.write("start/a.html", "x");
    let path = world.path("start/a.html");
    if setxattr(&path, place::ACCESS_LIST, &list, XattrFlags::empty()).is_err() {
        return;
    }
    // Only root may give a file away.
    let owner = chown(&path, Some(4321), Some(4321))
        .map_or_else(|_| fs::metadata(&path).expect("a file").uid(), |()| 4321);
    world
        .put("a.html", "y", Expect::File(world.known("start/a.html")))
        .expect("replaced");
    let mut kept = [0_u8; 200];
    let length = getxattr(&path, place::ACCESS_LIST, &mut kept).expect("a list");
    assert_eq!(kept[..length], list);
    let found = fs::metadata(&path).expect("a file");
    assert_eq!((found.mode() & 0o777, found.uid()), (0o660, owner));
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
        world
            .disk
            .stage(SLOT, IN, b"y", Durability::Later)
            .expect("staged");
        let copied = world.disk.keep_mode(SLOT, IN, &Place::new("start", like));
        copied.expect("kept");
        let copy = format!("copy-of-{like}");
        world
            .disk
            .publish(SLOT, IN, &copy, Expect::Absent)
            .expect("written");
        let found = mode(&format!("start/{copy}")).mode() & 0o777;
        assert_eq!(found == 0o600, private, "{like}: {found:o}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_flush_reaches_each_file_system() {
    use std::os::unix::fs::MetadataExt as _;
    let disk = RealDisk::open(Path::new("/")).expect("opened");
    let device = |path: &str| fs::metadata(path).expect("there").dev();
    let mounts = disk.mounts().expect("listed");
    assert!(mounts.contains_key(&device("/proc")), "{mounts:?}");
    assert!(!mounts.contains_key(&device("/")), "{mounts:?}");
    assert!(World::new().disk.mounts().expect("listed").is_empty());
}

#[test]
fn f001_slots_that_nobody_knows_are_emptied() {
    let world = World::new();
    for slot in [1, 2, 3] {
        world
            .disk
            .stage(slot, IN, b"staged", Durability::Now)
            .expect("staged");
    }
    world.disk.displace(3, IN).expect("displaced");
    world.write("start/.kbsync-tmp-4", "staged on another mount");
    world.write("start/.kbsync-tmp-2.old", "replaced in two steps");
    let known = BTreeMap::from([(2, Place::new("start", "a.html"))]);
    assert_eq!(world.disk.sweep(&known, false), 4);
    let there = |area, slot| {
        let found = world.disk.look_aside(area, slot, IN);
        found.expect("seen").is_some()
    };
    assert!(there(Area::Stage, 2) && !there(Area::Stage, 1));
    assert_eq!(world.text("start/.kbsync-tmp-2"), "replaced in two steps");
    // An older state has come back: it does not know a file that was displaced since.
    assert!(!there(Area::Displaced, 3));
    let displaced = world.path(".kbsync/displaced");
    let kept = names(&displaced);
    assert!(kept.len() == 1 && kept[0].starts_with("found-"), "{kept:?}");
    assert_eq!(world.disk.sweep(&known, false), 0);
    assert_eq!(names(&displaced), kept);
}

/// If the file system cannot exchange names, a crash may happen while the name is free.
#[test]
fn f001_a_file_that_was_moved_away_to_be_replaced_gets_its_name_back() {
    let world = World::new();
    world
        .disk
        .stage(SLOT, IN, b"new", Durability::Now)
        .expect("staged");
    let stage = world.path(".kbsync/stage");
    fs::write(stage.join("7.old"), "old").expect("written");
    let known = BTreeMap::from([(SLOT, Place::new("start", "a.html"))]);
    assert_eq!(world.disk.sweep(&known, false), 1);
    assert_eq!(world.text("start/a.html"), "old");
    assert_eq!(world.aside().as_deref(), Some("new"));
}

#[test]
fn f001_a_slot_whose_replaced_file_still_waits_says_nothing_and_the_others_are_swept() {
    let world = World::new();
    for slot in [1, SLOT, 8, 9] {
        world
            .disk
            .stage(slot, IN, b"new", Durability::Now)
            .expect("staged");
    }
    fs::write(world.path(".kbsync/stage/7.old"), "old").expect("written");
    fs::write(world.path(".kbsync/stage/8.old"), "old").expect("written");
    fs::write(world.path(".kbsync/stage/9.old"), "its folder is gone").expect("written");
    fs::write(world.path("no-folder"), "").expect("written");
    let place = |folder| Place::new(folder, "a.html");
    let known = [(SLOT, "no-folder"), (8, "start"), (9, "gone")];
    let known = known.map(|(slot, folder)| (slot, place(folder)));
    let swept = world.disk.sweep(&BTreeMap::from(known), false);
    assert_eq!(swept, 3);
    let waits = world.disk.look_aside(Area::Stage, SLOT, IN);
    assert_eq!(waits.expect_err("it waits").kind, DiskErrorKind::Exists);
    assert_eq!(world.text("start/a.html"), "old");
    let kept = "found-after-a-crash.9.old.1.conflict.html";
    assert_eq!(
        names(&world.path(".kbsync/stage")),
        ["7", "7.old", "8", "9", kept]
    );
    let kept = world.text(&format!(".kbsync/stage/{kept}"));
    assert_eq!(kept, "its folder is gone");
}

#[test]
fn f001_a_replaced_file_that_no_row_knows_is_kept() {
    let world = World::new();
    world
        .disk
        .stage(SLOT, IN, b"new", Durability::Now)
        .expect("staged");
    fs::write(world.path(".kbsync/stage/7.old"), "old").expect("written");
    world.write("start/.kbsync-tmp-8.old", "on another mount");
    for count in [3, 0] {
        assert_eq!(world.disk.sweep(&BTreeMap::new(), false), count);
        assert_eq!(world.aside(), None);
        let kept = names(&world.path(".kbsync/stage"));
        assert_eq!(kept.len(), 1, "{kept:?}");
        let kept = world.text(&format!(".kbsync/stage/{}", kept[0]));
        assert_eq!(kept, "old");
        let found = world.text("start/found-after-a-crash.8.old.1.conflict.html");
        assert_eq!(found, "on another mount");
    }
}

#[test]
fn f001_what_an_earlier_version_left_gets_a_name() {
    let world = World::new();
    world.write("start/.kbsync-tmp-1-2-was-a.html", "being removed");
    world.write("start/.kbsync-tmp-1-3-was-b.html", "replaced");
    world.write("start/.kbsync-tmp-1-4", "caught");
    world.write("start/.kbsync-tmp-1-5", "");
    world.write("start/b.html", "new");
    let swept = world.disk.sweep(&BTreeMap::new(), false);
    assert_eq!(swept, 4);
    assert_eq!(
        world.names(),
        [
            "a.html",
            "b.1.conflict.html",
            "b.html",
            "found-after-a-crash.1-4.1.conflict.html"
        ]
    );
    assert_eq!(world.text("start/b.1.conflict.html"), "replaced");
}

#[test]
fn a_file_that_got_a_name_in_the_private_folder_is_no_leftover() {
    let world = World::new();
    let displaced = world.path(".kbsync/displaced");
    fs::create_dir_all(&displaced).expect("a folder");
    fs::write(displaced.join("odd"), "unknown").expect("written");
    for count in [1, 0] {
        let swept = world.disk.sweep(&BTreeMap::new(), false);
        assert_eq!(swept, count);
        assert_eq!(
            names(&displaced),
            ["found-after-a-crash.odd.1.conflict.html"]
        );
    }
}

#[test]
fn f056_a_folder_that_was_on_its_way_to_another_case_gets_its_name_back() {
    let world = World::new();
    for name in ["Billing", "empty"] {
        let away = world.path(&format!(".kbsync-tmp-folder-was-{name}"));
        fs::create_dir(away).expect("a folder");
    }
    world.write(".kbsync-tmp-folder-was-Billing/a.html", "theirs");
    let swept = world.disk.sweep(&BTreeMap::new(), false);
    assert_eq!(swept, 2);
    assert_eq!(world.text("Billing/a.html"), "theirs");
    assert!(world.path("empty").is_dir());
}

#[test]
fn f010_where_the_journal_is_lost_nothing_of_the_stage_is_removed() {
    let world = World::new();
    let slots = 1..=1_100;
    for slot in slots.clone() {
        let staged = world.disk.stage(slot, IN, b"caught", Durability::Later);
        staged.expect("staged");
    }
    for (lost, count) in [(true, 1_100), (false, 0)] {
        assert_eq!(world.disk.sweep(&BTreeMap::new(), lost), count);
        let kept = slots.clone();
        let kept = kept.map(|slot| format!("found-after-a-crash.{slot}.1.conflict.html"));
        let kept: BTreeSet<String> = kept.collect();
        let names = names(&world.path(".kbsync/stage"));
        assert_eq!(BTreeSet::from_iter(names), kept);
    }
}

#[test]
fn f099_a_folder_that_no_rename_reaches_has_its_own_slots() {
    let world = World::new();
    fs::write(world.path(".kbsync"), "a file").expect("written");
    for plain in [false, true] {
        let mut disk = RealDisk::open(&world.path("")).expect("the mirror");
        disk.plain = plain;
        let known = world.write("start/a.html", "one");
        disk.stage(SLOT, IN, b"two", Durability::Now)
            .expect("staged");
        assert_eq!(world.names(), [".kbsync-tmp-7", "a.html"]);
        disk.publish(SLOT, IN, "a.html", Expect::File(known))
            .expect("replaced");
        assert_eq!(world.text("start/a.html"), "two");
        assert_eq!(world.text("start/.kbsync-tmp-7"), "one");
        disk.displace(SLOT, IN).expect("displaced");
        assert_eq!(world.names(), [".kbsync-tmp-displaced-7", "a.html"]);
        disk.discard(Area::Displaced, SLOT, IN).expect("gone");
    }
}

#[test]
fn f001_an_area_that_cannot_be_opened_is_not_an_empty_one() {
    let world = World::new();
    let staged = world.disk.stage(SLOT, IN, b"new", Durability::Now);
    staged.expect("staged");
    let stage = world.path(".kbsync/stage");
    let allow = |mode| fs::set_permissions(&stage, fs::Permissions::from_mode(mode));
    allow(0o000).expect("our own");
    let seen = world.disk.look_aside(Area::Stage, SLOT, IN);
    // For root, nothing is closed.
    let is_open = fs::read_dir(&stage).is_ok();
    allow(0o700).expect("our own");
    if is_open {
        assert!(seen.expect("open").is_some());
    } else {
        assert_eq!(seen.expect_err("closed").kind, DiskErrorKind::Denied);
    }
}

#[test]
fn f001_only_an_unusable_private_folder_moves_the_slots() {
    use super::slots::unless_unusable;
    for errno in [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::ACCESS] {
        assert!(unless_unusable(Err(errno)).is_ok_and(|dir| dir.is_none()));
    }
    for errno in [Errno::MFILE, Errno::NFILE, Errno::IO, Errno::NOMEM] {
        assert_eq!(unless_unusable(Err(errno)).err(), Some(errno));
    }
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
            .stage(SLOT, at, b"x", Durability::Later)
            .expect_err("a link"),
    );
    wrong(
        world
            .disk
            .take(
                SLOT,
                at,
                "secret.html",
                Expect::File(KnownFile::of(Stamp::default(), b"")),
            )
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
        world.put(
            "link.html",
            "x",
            Expect::File(KnownFile::of(entry.stamp, b"secret"))
        ),
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
    let known = world.write("start/secret.html", "inside");
    let outside = world.top.path().join("outside");
    world.at_step("exchange", move |folder| {
        fs::rename(folder, folder.with_file_name("moved")).expect("renamed");
        symlink(&outside, folder).expect("a link");
    });
    // The open folder is the one that is written, wherever it has been moved.
    world
        .put("secret.html", "ours", Expect::File(known))
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
    let known = world.write(&format!("start/{name}"), "x");
    world.take(&name, known).expect("removed");
    assert!(world.names().is_empty());
    assert_eq!(beside_name(&name, 1).len(), 255);
    world
        .disk
        .set_beside(Area::Stage, SLOT, IN, &name)
        .expect("beside");
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
        let known = world.write("start/a", "x");
        let _made = world.disk.create_folder(&folder);
        if world.disk.stage(SLOT, at, b"evil", Durability::Later).is_ok() {
            let _published = world.disk.publish(SLOT, at, &file, Expect::Absent);
        }
        if let Ok(content) = world.disk.read(at, &file, 100) {
            prop_assert_ne!(content.bytes, b"secret");
        }
        if let Ok(listing) = world.disk.list(at) {
            prop_assert!(listing.entries.iter().all(|entry| entry.name != "only here"));
        }
        let _taken = world.disk.take(8, IN, "a", Expect::File(known));
        let _beside = world.disk.set_beside(Area::Stage, SLOT, at, &file);
        let _renamed = world.disk.rename_folder(&folder, &new);
        let _removed = world.disk.remove_folder(&new);
        prop_assert_eq!(names(world.top.path()), ["help", "outside"]);
        prop_assert_eq!(names(&outside), ["only here", "secret.html"]);
        prop_assert_eq!(fs::read_to_string(outside.join("secret.html")).expect("a file"), "secret");
    }
}
