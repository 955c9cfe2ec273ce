//! `kbsync run` on a system that allows almost no watches: as a user with low limits.
//!
//! On a machine where no such user can be created (a container without that right), the test reports that it is
//! skipped.

use crate::support::daemon::{Daemon, unlimited, until};
use crate::support::kb::{Kb, Service};
use std::process::Command;

/// Returns a shell as a user with this limit, with a command after it; `None`: no such user can be created.
fn limited(limit: &str, value: usize) -> Option<Command> {
    let shell = |then: &str| {
        let script = format!("echo {value} > /proc/sys/user/{limit} && {then}");
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", &script]);
        command
    };
    let works = shell("true")
        .output()
        .is_ok_and(|tried| tried.status.success());
    works.then(|| {
        let mut command = shell(r#"exec "$0" run"#);
        command.arg(env!("CARGO_BIN_EXE_kbsync"));
        command
    })
}

#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
fn left_out() {
    eprintln!("left out: no user with limits of its own can be made here");
}

/// A synced mirror with three articles in two categories. The daemon scans its files at intervals.
fn stage() -> (Service, Kb) {
    let service = Service::start();
    let kb = unlimited(&service);
    let settings = kb.read("kbsync.yaml") + "rescan: 1s\n";
    kb.write("kbsync.yaml", &settings);
    kb.run(&["sync"]).exits(0);
    (service, kb)
}

fn is_live(service: &Service, words: &str) -> bool {
    let articles = service.sandbox.articles();
    articles.iter().any(|article| article.text.contains(words))
}

/// Checks that the daemon reports the scan as its way of noticing changes, and that the scan notices them.
#[track_caller]
fn looks(service: &Service, kb: &Kb, daemon: &Daemon, why: &str) {
    let told = format!("notices changes by a scan every 1s: {why}");
    until("it is told", || {
        kb.run(&["status"]).exits(0).stdout.contains(&told)
    });
    let path = crate::support::daemon::article(kb);
    let text = kb.read(&path) + "<p>looked for</p>\n";
    kb.write(&path, &text);
    until("it is live", || is_live(service, "looked for"));
    assert!(
        daemon.log().contains("events do not work"),
        "{}",
        daemon.log()
    );
}

#[test]
fn f077_a_limit_that_is_used_up_is_reported_and_edits_go_live_all_the_same() {
    let watches = "the system's limit on watches is reached (fs.inotify.max_user_watches)";
    let instances = "the system's limit on watchers is reached (fs.inotify.max_user_instances)";
    for (limit, value, why) in [
        ("max_inotify_watches", 1, watches),
        ("max_inotify_instances", 0, instances),
    ] {
        let Some(command) = limited(limit, value) else {
            return left_out();
        };
        let (service, kb) = stage();
        let daemon = Daemon::spawn_by(command, &kb, &[]);
        looks(&service, &kb, &daemon, why);
        daemon.stop();
    }
}

#[test]
fn f077_a_limit_that_a_new_folder_meets_is_reported_and_its_files_go_live() {
    let (service, kb) = stage();
    let folders = std::fs::read_dir(kb.mirror()).expect("listed");
    // Watches are needed for the mirror and its categories, and for a moment for the private folder.
    let folders = folders.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir()));
    let Some(command) = limited("max_inotify_watches", folders.count() + 1) else {
        return left_out();
    };
    let daemon = Daemon::spawn_by(command, &kb, &[]);
    let events = "notices changes by events";
    until(events, || {
        kb.run(&["status"]).exits(0).stdout.contains(events)
    });
    let first = daemon.log();
    assert!(!first.contains("events do not work"), "{first}");
    for name in ["third", "fourth"] {
        let text = format!("---\ntitle: In {name}\n---\n<p>In {name}.</p>\n");
        kb.write(&format!("{name}/new.html"), &text);
    }
    for name in ["third", "fourth"] {
        until(name, || is_live(&service, &format!("In {name}.")));
    }
    let watches = "the system's limit on watches is reached (fs.inotify.max_user_watches)";
    looks(&service, &kb, &daemon, watches);
    daemon.stop();
}
