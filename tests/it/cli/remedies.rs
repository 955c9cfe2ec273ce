//! Unreadable and unwritable files are reported with their path, the reason and a remedy.

use crate::engine::mounts::{OWN_MOUNTS, apart_from, left_out};
use crate::support::daemon::{Daemon, until};
use crate::support::kb::{Kb, Ran, Service};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};

/// A mirror with `start/one.html`, whose new text is to be written here, and `start/two.html`, whose edit is to be
/// sent.
struct Busy {
    service: Service,
    kb: Kb,
}

impl Busy {
    fn new() -> Self {
        let service = Service::empty();
        let start = service.category("start");
        let one = service.article(start, "one", "<p>One.</p>");
        service.article(start, "two", "<p>Two.</p>");
        let kb = service.mirror();
        kb.run(&["sync"]).exits(0);
        let theirs = service
            .sandbox
            .edit(one, |article| article.text = "<p>Theirs.</p>".into());
        assert!(theirs.is_some());
        kb.edit("start/two.html", "Two.", "Mine.");
        Self { service, kb }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.kb.mirror().join(path)
    }

    /// Returns the output of a command that runs as a user without special rights.
    fn said(&self, path: &str, rights: u32, arguments: &[&str]) -> Option<String> {
        let path = self.path(path);
        let allow = |mode| {
            let rights = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, rights).expect("our own");
        };
        let before = path.metadata().expect("it is there").permissions().mode();
        allow(rights);
        let output = apart_from(&OWNER, "", IS_OWNER, &self.kb, arguments);
        allow(before);
        output.map(words)
    }
}

/// A user who owns the files and has no special rights.
const OWNER: [&str; 2] = ["--user", "--map-user=1000"];
const IS_OWNER: &str = "test \"$(id -u)\" = 1000";

fn words(output: Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    let ran = Ran {
        code: output.status.code().expect("an exit code"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    };
    ran.stdout + &ran.stderr
}

#[track_caller]
fn names(said: &str, wanted: &[&str]) {
    for words in wanted {
        assert!(said.contains(words), "no `{words}` in:\n{said}");
    }
}

#[test]
fn f097_what_may_not_be_read_or_written_is_reported_with_a_remedy() {
    let cases: [(&str, u32, &[&str], &[&str]); 8] = [
        (
            "",
            0o555,
            &["doctor"],
            &["bad  mirror", "cannot be written to", "the right to write"],
        ),
        (
            "start",
            0o555,
            &["sync"],
            &[
                "start/one.html",
                "write start/one.html: permission is denied; let this user read and write it",
            ],
        ),
        (
            "start",
            0,
            &["sync"],
            &[
                "! start: failed to list start: permission is denied; let this user read and write it",
            ],
        ),
        (
            "start/two.html",
            0,
            &["sync"],
            &[
                "! start/two.html: cannot read start/two.html: permission is denied; let this user read",
            ],
        ),
        (
            "start/two.html",
            0,
            &["restore", "start/two.html"],
            &[
                "start/two.html: permission is denied",
                "help: let this user read and write",
            ],
        ),
        (
            ".kbsync",
            0o555,
            &["sync"],
            &[".kbsync/state.db", "help: this user must be able to"],
        ),
        (
            ".kbsync/lock",
            0,
            &["sync"],
            &[
                ".kbsync/lock",
                "ermission denied",
                "help: let this user read and write",
            ],
        ),
        (
            ".kbsync/state.db",
            0,
            &["sync"],
            &[
                ".kbsync/state.db",
                "help: this user must be able to read and write this file",
            ],
        ),
    ];
    for (path, rights, arguments, wanted) in cases {
        let busy = Busy::new();
        let Some(said) = busy.said(path, rights, arguments) else {
            return left_out();
        };
        names(&said, wanted);
        busy.kb.run(&["sync"]).exits(0);
        assert!(busy.kb.read("start/one.html").contains("Theirs."));
        assert_eq!(busy.service.sandbox.articles().len(), 2, "{path}");
    }
}

#[test]
fn f130_what_is_in_the_place_of_a_file_or_a_folder_is_reported_with_a_remedy() {
    let busy = Busy::new();
    let (place, away) = (busy.path("start/two.html"), busy.path(".away"));
    std::fs::rename(&place, &away).expect("moved");
    symlink(&away, &place).expect("a link");
    let said = busy.kb.run(&["sync"]).exits(4).stdout;
    names(
        &said,
        &[
            "start/two.html",
            "a symbolic link",
            "put the file itself there",
        ],
    );
    std::fs::remove_file(&place).expect("removed");
    std::fs::create_dir(&place).expect("made");
    let said = busy.kb.run(&["sync"]).exits(4).stdout;
    names(&said, &["start/two.html", "a folder", "move it away"]);
    std::fs::remove_dir(&place).expect("removed");
    std::fs::rename(&away, &place).expect("moved back");

    let folder = busy.path("start");
    std::fs::rename(&folder, &away).expect("moved");
    symlink(&away, &folder).expect("a link");
    let said = busy.kb.run(&["sync"]).exits(4).stdout;
    names(
        &said,
        &["! start: ", "a symbolic link", "put the folder back"],
    );
    busy.kb
        .run(&["restore", "start/one.html@1"])
        .exits(1)
        .complains("start", "put the file or folder itself there");
    std::fs::remove_file(&folder).expect("removed");
    std::fs::rename(&away, &folder).expect("moved back");

    let private = busy.path(".kbsync");
    std::fs::rename(&private, &away).expect("moved");
    symlink(&away, &private).expect("a link");
    busy.kb
        .run(&["sync"])
        .exits(1)
        .complains(".kbsync: it is not a folder", "replace it with a folder");
    std::fs::remove_file(&private).expect("removed");
    std::fs::rename(&away, &private).expect("moved back");

    // An archive can contain pipes without a writer, and no command may block on them.
    for (name, commands) in [
        ("lock", &["sync", "doctor"][..]),
        ("state.db", &["sync", "status"]),
    ] {
        let place = private.join(name);
        std::fs::rename(&place, &away).expect("moved");
        let made = Command::new("mkfifo").arg(&place).status();
        assert!(made.expect("it runs").success());
        for command in commands {
            let ran = busy.kb.run(&[command]).exits(1);
            let said = ran.stdout + &ran.stderr;
            names(&said, &[name, "it is not a regular file", "move it away"]);
        }
        std::fs::remove_file(&place).expect("removed");
        std::fs::rename(&away, &place).expect("moved back");
    }
    busy.kb.run(&["sync"]).exits(0);
}

#[test]
fn too_few_open_files_are_reported() {
    let service = Service::start();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    // With fewer than nine open files, the program cannot even start.
    for limit in 9..32 {
        let script = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        let mut command = kb.process_by(&script, &["sync"]);
        let output = command.output().expect("it runs");
        if output.status.success() {
            continue;
        }
        // A failure in the middle of a cycle is a line of the report.
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8(said).expect("text");
        let names_limit = ["ulimit -n 1024", "Too many open files"];
        assert!(
            names_limit.iter().any(|words| said.contains(words)),
            "{limit}: {said}"
        );
    }
}

/// The first failure may be at a lock, the state or a file.
#[test]
fn f095_f096_a_full_disk_and_one_that_is_read_only_are_reported_with_a_remedy() {
    let full = "cp -a . ../copy && mount -t tmpfs -o size=2m none . && cd \"$PWD\" && cp -a ../copy/. . && \
                rm -r ../copy && { dd if=/dev/zero of=fill bs=1k 2>/dev/null || true; } &&";
    let read_only = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\" &&";
    for (script, remedy) in [
        (full, "help: make room on this disk"),
        (read_only, "help: mount "),
    ] {
        for arguments in [
            &["sync"] as &[&str],
            &["restore", "start/one.html@1"],
            &["new", "start", "A third one"],
        ] {
            let busy = Busy::new();
            let probe = "! { echo words > probe; } 2>/dev/null";
            let Some(output) = apart_from(&OWN_MOUNTS, script, probe, &busy.kb, arguments) else {
                return left_out();
            };
            let said = words(output);
            names(&said, &["error: failed to ", remedy]);
            assert!(!said.contains("must be a writable folder"), "{said}");
        }
    }
    // The state is on another disk, which has room.
    let mut busy = Busy::new();
    let state = busy.kb.user_state();
    busy.kb.set("KBSYNC_STATE_DIR", &state.to_string_lossy());
    if let Some(output) = apart_from(&OWN_MOUNTS, full, "true", &busy.kb, &["doctor"]) {
        names(&words(output), &["is full", "make room on this disk"]);
    }
}

#[test]
fn f097_a_daemon_that_may_not_write_reports_the_same() {
    let busy = Busy::new();
    busy.kb.run(&["sync"]).exits(0);
    if apart_from(&OWNER, "", IS_OWNER, &busy.kb, &["status"]).is_none() {
        return left_out();
    }
    let mut command = Command::new("unshare");
    command.args(OWNER);
    command.args([env!("CARGO_BIN_EXE_kbsync"), "run"]);
    let daemon = Daemon::spawn_by(command, &busy.kb, &[]);
    until("the first cycle", || {
        daemon.log().contains("trigger=startup outcome=done")
    });
    let folder = busy.path("start");
    let allow = |mode| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&folder, rights).expect("our own");
    };
    allow(0o555);
    let ran = busy.kb.run(&["restore", "--yes", "start/two.html@1"]);
    allow(0o755);
    ran.exits(1).complains(
        "failed to write start/two.html: permission is denied",
        "let this user read and write it",
    );
    daemon.stop();
}
