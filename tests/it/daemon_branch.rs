//! More of what git does in a mirror while `kbsync run` watches it: the branch that counts, single commits that are
//! taken over or taken back, and conversions of line ends.

use crate::{
    daemon::{Daemon, unlimited, until},
    daemon_deeds::{ANY, Deeds, check, check_with, commit, git},
    kb::Service,
};
use rustix::process::Signal;

#[test]
fn f084_on_another_branch_than_the_one_that_counts_nothing_is_sent() {
    check_with(
        "git: {branch: main}\n",
        "another branch",
        |d| {
            git(&d.kb, &["checkout", "-q", "other"]);
            let paused = "paused: branch other is checked out, and only branch main is published";
            until(paused, || d.daemon.log().contains(paused));
            // It goes along to the branch that counts.
            let text = "---\ntitle: Five\n---\n<p>Five.</p>\n";
            d.kb.write("start/five.html", text);
            d.daemon.signal(Signal::USR1);
            d.kb.run(&["sync"]).exits(3);
            assert_eq!(d.writes(), Vec::<String>::new());
            git(&d.kb, &["checkout", "-q", "main"]);
            d.live("five", "Five.");
        },
        &["POST"],
    );
}

#[test]
fn f084_f087_a_commit_that_is_taken_over_or_back_sends_what_changed_and_deletes_nothing() {
    check(
        "cherry-pick",
        |d| git(&d.kb, &["cherry-pick", "topic"]),
        &["PUT three"],
    );
    check(
        "revert",
        |d| git(&d.kb, &["revert", "--no-edit", "HEAD"]),
        &["PUT one"],
    );
    check(
        "cherry-pick of a removal",
        |d: &Deeds| {
            git(&d.kb, &["cherry-pick", "topic~2"]);
            assert!(!d.kb.exists("start/two.html"));
            let held = || d.kb.run(&["status", "--json"]).exits(0).json()["held"].clone();
            until("it is held", || {
                held().as_array().is_some_and(|held| held.len() == 1)
            });
        },
        &[],
    );
}

#[test]
fn f090_a_checkout_that_converts_line_ends_sends_nothing() {
    check(
        "autocrlf",
        |d| {
            git(&d.kb, &["config", "core.autocrlf", "true"]);
            for slug in ["one", "two", "three"] {
                d.kb.remove(&format!("start/{slug}.html"));
            }
            git(&d.kb, &["checkout", "--", "."]);
            assert!(d.kb.read("start/one.html").starts_with("---\r\n"));
            // What is edited then is sent with the line ends that it had.
            d.kb.edit("start/two.html", "Old.", "Old.\r\nNew.");
            d.live("two", "<p>Old.\nNew.</p>");
        },
        &["PUT two"],
    );
}

#[test]
fn a_repository_that_is_made_under_a_running_daemon_removes_nothing() {
    let service = Service::empty();
    let start = service.category("start");
    let ids = ["one", "two", "three"].map(|slug| service.article(start, slug, "<p>Old.</p>"));
    let kb = unlimited(&service);
    let settings = kb.read("kbsync.yaml") + ANY;
    kb.write("kbsync.yaml", &settings);
    kb.run(&["sync"]).exits(0);
    let daemon = Daemon::start(&kb, &[]);
    git(&kb, &["init", "-q", "-b", "mine"]);
    commit(&kb);
    git(&kb, &["checkout", "-q", "--orphan", "main"]);
    git(&kb, &["rm", "-q", "--cached", "start/two.html"]);
    kb.remove("start/two.html");
    git(&kb, &["commit", "-q", "-m", "without"]);
    daemon.signal(Signal::USR1);
    let status = || kb.run(&["status", "--json"]).exits(0).json();
    let held = || status()["held"].as_array().map_or(0, Vec::len);
    until("it is held", || held() == 1);
    // Whatever was remembered meanwhile, it waits on.
    daemon.signal(Signal::USR1);
    kb.run(&["sync"]).exits(3);
    assert!(service.sandbox.article(ids[1]).is_some());
    daemon.stop();
}
