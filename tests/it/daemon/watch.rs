//! Real events of the file system: the actions of editors, copies and git, and the due paths that follow.
//!
//! Each scene makes the system calls of a program, and exactly the right paths must be due. The tests wait for
//! conditions, never for a time.

use kbsync::config::Root;
use kbsync::daemon::{
    Event,
    debounce::{Debounce, Delays, Touch},
    watch::{Mode, Options, Rescan, RescanCause, Watch, start},
};
use kbsync::model::WorkspaceId;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    sync::mpsc::{Receiver, channel},
    time::Instant,
};
use uuid::Uuid;

/// A watched folder, and its events.
struct Scene {
    folder: TempDir,
    events: Receiver<Event>,
    debounce: Debounce,
    rescans: Vec<RescanCause>,
    modes: Vec<Mode>,
    marks: u32,
    _watch: Watch,
}

/// A time limit that is long enough for any machine; no test waits until its end.
const BOUND: Duration = Duration::from_mins(2);

impl Scene {
    /// A mirror with one category and two articles, watched.
    async fn new() -> Self {
        Self::with(|_| (), |_| ()).await
    }

    async fn with(prepare: impl FnOnce(&Path), change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_owned();
        for name in [".kbsync", "a", "marks"] {
            fs::create_dir(root.join(name)).expect("made");
        }
        fs::write(root.join("a/b.html"), "old").expect("written");
        fs::write(root.join("a/c.html"), "old").expect("written");
        prepare(&root);
        let (to, events) = channel(1024);
        let roots = vec![Root {
            workspace: WorkspaceId::new(Uuid::nil()),
            prefix: String::new(),
            path: root.clone(),
            state: root.join(".kbsync"),
        }];
        let mut options = Options::new(
            roots,
            root.join(".kbsync"),
            Rescan::new(Duration::from_millis(20)),
        );
        options.cookie_timeout = BOUND;
        change(&mut options);
        let watch = start(options, to).expect("a thread");
        let delays = Delays {
            quiet_period: Duration::from_millis(200),
            ceiling: Duration::from_secs(5),
            delete_grace: Duration::from_mins(1),
            push_interval: Duration::from_secs(15),
        };
        let mut scene = Self {
            folder,
            events,
            debounce: Debounce::new(delays),
            rescans: Vec::new(),
            modes: Vec::new(),
            marks: 0,
            _watch: watch,
        };
        while scene.modes.is_empty() {
            scene.next().await;
        }
        scene
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).expect("written");
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("renamed");
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("removed");
    }

    fn mkdir(&self, path: &str) {
        fs::create_dir_all(self.path(path)).expect("made");
    }

    /// Handles one event, and returns its path.
    async fn next(&mut self) -> Option<String> {
        let event = tokio::time::timeout(BOUND, self.events.recv()).await;
        match event.expect("in time").expect("a watch") {
            Event::Touched { path, touch } => {
                if !path.starts_with("marks/") {
                    self.debounce.record(&path, touch, Instant::now());
                }
                Some(path)
            }
            Event::Rescan(cause) => {
                self.rescans.push(cause);
                None
            }
            Event::Watching(mode) => {
                self.modes.push(mode);
                None
            }
            other @ (Event::Tick
            | Event::Command(_)
            | Event::SyncNow
            | Event::Reload
            | Event::Stop) => panic!("{other:?}"),
        }
    }

    /// Handles all events so far, up to the event of a marker file that is written now. The marker is written again if
    /// its event is lost in an overflow.
    async fn settle(&mut self) {
        for _ in 0..BOUND.as_secs() {
            self.marks += 1;
            let mark = format!("marks/{}.html", self.marks);
            self.write(&mark, "");
            let seen = async { while self.next().await.as_deref() != Some(&mark) {} };
            if tokio::time::timeout(Duration::from_secs(1), seen)
                .await
                .is_ok()
            {
                return;
            }
        }
        panic!("no mark was seen");
    }

    /// Returns the due paths after a quiet time; removed paths begin with `-`.
    async fn due(&mut self) -> Vec<String> {
        self.settle().await;
        let (mut changed, mut gone) = (BTreeSet::new(), BTreeSet::new());
        while let Some(deadline) = self.debounce.next_deadline() {
            for (path, touch) in self.debounce.due(deadline) {
                match touch {
                    Touch::Changed => changed.insert(path),
                    Touch::Removed => gone.insert(format!("-{path}")),
                };
            }
        }
        changed.into_iter().chain(gone).collect()
    }
}

/// Plays a program's actions, and checks the due paths.
async fn check(name: &str, play: impl FnOnce(&Scene), expected: &[&str]) {
    let mut scene = Scene::new().await;
    play(&scene);
    assert_eq!(scene.due().await, expected, "{name}");
    assert_eq!(scene.rescans, [], "{name}");
}

#[tokio::test]
async fn f073_f074_editors_that_rename_save_one_article() {
    check(
        "vim, backup by rename",
        |s| {
            s.write("a/4913", "");
            s.remove("a/4913");
            s.write("a/.b.html.swp", "x");
            s.rename("a/b.html", "a/b.html~");
            s.write("a/b.html", "new");
            s.remove("a/b.html~");
            s.remove("a/.b.html.swp");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "vim, backup by copy",
        |s| {
            s.write("a/.b.html.swp", "x");
            fs::copy(s.path("a/b.html"), s.path("a/b.html~")).expect("copied");
            s.write("a/b.html", "new");
            s.remove("a/b.html~");
            s.remove("a/.b.html.swp");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "emacs: lock, autosave, backup by rename",
        |s| {
            std::os::unix::fs::symlink("me@host.1", s.path("a/.#b.html")).expect("a link");
            s.write("a/#b.html#", "autosaved");
            s.rename("a/b.html", "a/b.html~");
            s.write("a/b.html", "new");
            s.remove("a/#b.html#");
            s.remove("a/.#b.html");
        },
        &["a/b.html"],
    )
    .await;
}

#[tokio::test]
async fn f071_f072_editors_that_write_in_place_save_one_article() {
    check(
        "VS Code: in place",
        |s| {
            let file = fs::OpenOptions::new().write(true).open(s.path("a/b.html"));
            let file = file.expect("opened");
            file.set_len(0).expect("truncated");
            std::io::Write::write_all(&mut &file, b"new").expect("written");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "JetBrains, safe write",
        |s| {
            s.write("a/b.html___jb_tmp___", "new");
            s.rename("a/b.html", "a/b.html___jb_old___");
            s.rename("a/b.html___jb_tmp___", "a/b.html");
            s.remove("a/b.html___jb_old___");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "sed -i",
        |s| {
            s.write("a/sedXyZ12", "new");
            s.rename("a/sedXyZ12", "a/b.html");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "nano",
        |s| {
            s.write("a/.b.html.swp", "x");
            s.write("a/b.html", "new");
            s.remove("a/.b.html.swp");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "git checkout: unlink, create, write",
        |s| {
            s.remove("a/b.html");
            s.write("a/b.html", "new");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "slow writer",
        |s| {
            let mut options = fs::OpenOptions::new();
            let file = options
                .write(true)
                .truncate(true)
                .mode(0o644)
                .open(s.path("a/b.html"));
            let file = file.expect("opened");
            for _ in 0..20 {
                std::io::Write::write_all(&mut &file, b"a line\n").expect("written");
            }
        },
        &["a/b.html"],
    )
    .await;
}

#[tokio::test]
async fn what_is_moved_removed_and_made_is_due() {
    check("removed", |s| s.remove("a/b.html"), &["-a/b.html"]).await;
    check(
        "renamed",
        |s| s.rename("a/b.html", "a/d.html"),
        &["a/d.html", "-a/b.html"],
    )
    .await;
    check(
        "moved out of the mirror",
        |s| {
            let outside = tempfile::tempdir_in(s.folder.path().parent().expect("above"));
            let outside = outside.expect("a folder");
            fs::rename(s.path("a/b.html"), outside.path().join("b.html")).expect("moved");
        },
        &["-a/b.html"],
    )
    .await;
    check(
        "words of a category",
        |s| s.write("a/_category.yaml", "x"),
        &["a/_category.yaml"],
    )
    .await;
    check(
        "a conflict settled",
        |s| {
            s.write("a/b.conflict.html", "theirs");
            s.remove("a/b.conflict.html");
        },
        &["a/b.html"],
    )
    .await;
    check(
        "what counts for nothing",
        |s| {
            s.write("kbsync.yaml", "x");
            s.write("a/picture.png", "x");
            s.mkdir(".git/objects");
            s.write(".git/index", "x");
            s.write(".kbsync/state.db", "x");
            fs::read(s.path("a/b.html")).expect("read");
        },
        &[],
    )
    .await;
}

#[tokio::test]
async fn f076_folders_that_are_made_renamed_and_removed() {
    let mut scene = Scene::new().await;
    scene.mkdir("new/deep/er");
    scene.write("new/x.html", "x");
    scene.write("new/deep/er/y.html", "y");
    let due = scene.due().await;
    assert_eq!(due[0], "new", "deep mkdir, with a file at once");
    // The file has an event of its own only if the watch was set up before it was written.
    assert!(due.len() == 1 || due[1..] == ["new/x.html"], "{due:?}");
    // A file that is written before the folder is watched has no event; the folder's event stands for it.
    let mut scene = Scene::new().await;
    scene.mkdir("late");
    scene.settle().await;
    scene.write("late/x.html", "x");
    assert!(scene.due().await.contains(&"late/x.html".to_owned()));
    let mut scene = Scene::new().await;
    scene.rename("a", "z");
    let due = scene.due().await;
    assert_eq!(due, ["z", "-a"]);
    // The folder is watched under its new name, and no longer under the old name.
    scene.write("z/b.html", "new");
    assert_eq!(scene.due().await, ["z/b.html"]);
    // Two folders that are exchanged are both watched afterwards.
    let mut scene = Scene::new().await;
    scene.mkdir("z");
    scene.settle().await;
    let flags = rustix::fs::RenameFlags::EXCHANGE;
    let (a, z) = (scene.path("a"), scene.path("z"));
    rustix::fs::renameat_with(rustix::fs::CWD, a, rustix::fs::CWD, z, flags).expect("exchanged");
    assert_eq!(scene.due().await, ["a", "z"]);
    scene.write("a/b.html", "new");
    scene.write("z/b.html", "new");
    assert_eq!(scene.due().await, ["a/b.html", "z/b.html"]);
    // A folder that was moved away is missed, even if its name looks like the name of a file.
    let mut scene = Scene::with(
        |root| fs::create_dir(root.join("v2.0")).expect("made"),
        |_| (),
    )
    .await;
    let outside = scene.folder.path().with_extension("outside");
    fs::rename(scene.path("v2.0"), &outside).expect("moved");
    assert_eq!(scene.due().await, ["-v2.0"]);
    fs::remove_dir_all(outside).expect("removed");
    let mut scene = Scene::new().await;
    fs::remove_dir_all(scene.path("a")).expect("removed");
    assert_eq!(scene.due().await, ["-a", "-a/b.html", "-a/c.html"]);
    // The folder is made again.
    scene.mkdir("a");
    scene.settle().await;
    scene.write("a/b.html", "new");
    let due = scene.due().await;
    assert!(due.contains(&"a/b.html".to_owned()), "{due:?}");
}

#[tokio::test]
async fn a_copy_of_500_files_is_500_paths() {
    let mut scene = Scene::new().await;
    for number in 0..500 {
        scene.write(&format!("a/n{number:03}.html"), "new");
    }
    let due = scene.due().await;
    let expected: BTreeSet<String> = (0..500).map(|n| format!("a/n{n:03}.html")).collect();
    assert_eq!(due.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[tokio::test]
async fn f075_a_checkout_of_5000_files_during_a_stalled_loop_asks_for_a_rescan() {
    let mut scene = Scene::new().await;
    // Nothing is received meanwhile: first our queue fills, then the system's queue.
    for round in 0..2 {
        for number in 0..5_000 {
            let path = scene.path(&format!("a/n{number:04}.html"));
            if round > 0 {
                fs::remove_file(&path).expect("removed");
            }
            fs::write(path, "new").expect("written");
        }
    }
    // There is no event for this folder.
    scene.mkdir("fresh");
    while scene.rescans.is_empty() {
        scene.next().await;
    }
    assert_eq!(scene.rescans[0], RescanCause::Overflow);
    // The watch continues afterwards.
    scene.settle().await;
    scene.write("a/after.html", "x");
    scene.write("fresh/after.html", "x");
    let due = scene.due().await;
    assert!(due.contains(&"a/after.html".to_owned()));
    assert!(due.contains(&"fresh/after.html".to_owned()), "{due:?}");
}

#[tokio::test]
async fn f078_where_no_events_come_the_files_are_looked_through() {
    let mut scene = Scene::with(|_| (), |options| options.cookie_timeout = Duration::ZERO).await;
    let Mode::Polling { why, .. } = &scene.modes[0] else {
        panic!("{:?}", scene.modes);
    };
    assert_eq!(why, "the file system reports no changes");
    while scene.rescans.is_empty() {
        scene.next().await;
    }
    assert_eq!(scene.rescans, [RescanCause::Fallback]);
    scene.write("a/b.html", "longer than before");
    scene.remove("a/c.html");
    scene.mkdir("new");
    scene.write("new/x.html", "x");
    let mut seen = BTreeSet::new();
    while seen.len() < 3 {
        seen.extend(scene.next().await);
    }
    let expected = ["a/b.html", "a/c.html", "new/x.html"];
    assert_eq!(seen.iter().collect::<Vec<_>>(), expected);
    assert!(
        !scene
            .path(".kbsync")
            .read_dir()
            .expect("listed")
            .any(|entry| {
                let name = entry.expect("an entry").file_name();
                name.to_string_lossy().starts_with("cookie")
            })
    );
}

#[tokio::test]
async fn f078_on_a_network_file_system_the_files_are_watched_and_scanned() {
    let rescan = Rescan::new(Duration::from_hours(1));
    let mut scene = Scene::with(
        |_| (),
        |options| {
            options.is_remote = true;
            options.rescan = rescan.clone();
        },
    )
    .await;
    let why = "this file system may not report changes of other machines";
    assert_eq!(
        scene.modes[0].to_string(),
        format!("a scan every 1h: {why}")
    );
    scene.write("a/b.html", "new");
    assert_eq!(scene.due().await, ["a/b.html"], "by an event");
    assert_eq!(scene.rescans, []);
    // The stamps are those of the start, so a scan finds this file without an event.
    rescan.set(Duration::from_millis(10));
    while scene.next().await.as_deref() != Some("a/b.html") {}
    assert_eq!(
        scene.modes[1].to_string(),
        format!("a scan every 10ms: {why}")
    );
}

#[tokio::test]
async fn f078_settings_that_were_read_again_say_how_often_it_looks() {
    let rescan = Rescan::new(Duration::from_hours(1));
    let mut scene = Scene::with(
        |_| (),
        |options| {
            options.cookie_timeout = Duration::ZERO;
            options.rescan = rescan.clone();
        },
    )
    .await;
    scene.write("a/b.html", "longer than before");
    rescan.set(Duration::from_millis(10));
    while scene.next().await.as_deref() != Some("a/b.html") {}
    let shown: Vec<String> = scene.modes.iter().map(ToString::to_string).collect();
    let why = "the file system reports no changes";
    assert_eq!(
        shown,
        [
            format!("a scan every 1h: {why}"),
            format!("a scan every 10ms: {why}")
        ]
    );
}

#[tokio::test]
async fn f088_a_mirror_that_went_away_is_watched_again_when_it_is_back() {
    let mut scene = Scene::new().await;
    let (here, there) = (scene.path(""), scene.path("").with_extension("gone"));
    fs::rename(&here, &there).expect("moved");
    while scene.modes.len() < 2 {
        scene.next().await;
    }
    assert!(matches!(&scene.modes[1], Mode::Polling { .. }));
    fs::rename(&there, &here).expect("moved back");
    while scene.modes.len() < 3 {
        scene.next().await;
    }
    assert_eq!(scene.modes[2], Mode::Events);
    scene.write("a/b.html", "new");
    assert!(scene.due().await.contains(&"a/b.html".to_owned()));
    assert!(scene.rescans.contains(&RescanCause::Replaced));
}

#[tokio::test]
async fn f048_new_rules_for_what_is_ignored_ask_for_a_rescan() {
    let mut scene = Scene::new().await;
    scene.write(".kbsyncignore", "a/");
    scene.settle().await;
    assert!(
        scene.rescans.contains(&RescanCause::Rules),
        "{:?}",
        scene.rescans
    );
}

#[tokio::test]
async fn f077_without_a_private_folder_it_still_notices() {
    // No watch can be set up at all, just as when a limit is exhausted.
    let mut scene = Scene::with(
        |_| (),
        |options| options.private = options.private.join("missing"),
    )
    .await;
    while !matches!(scene.modes.last(), Some(Mode::Polling { .. })) {
        scene.next().await;
    }
    scene.write("a/b.html", "longer than before");
    while scene.next().await.as_deref() != Some("a/b.html") {}
    let touch = scene.debounce.in_motion(Instant::now());
    assert!(touch.contains("a/b.html"));
}
