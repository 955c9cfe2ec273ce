//! More git operations in a mirror while `kbsync run` watches it: the published branch, cherry-picks and reverts, and
//! conversions of line ends.

use crate::daemon::git_operations::{ANY, GitScene, check, check_with};
use crate::support::daemon::{Daemon, unlimited, until};
use crate::support::kb::{Kb, Service};
use crate::support::real_git::{commit, git};
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
            // The edit is sent from the published branch.
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
        |d: &GitScene| {
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
            // An edit is then sent with the former line ends.
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
    // The deletion is still held, whatever HEAD was recorded meanwhile.
    daemon.signal(Signal::USR1);
    kb.run(&["sync"]).exits(3);
    assert!(service.sandbox.article(ids[1]).is_some());
    daemon.stop();
}

/// The form in which git stores the repository of a work tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Plain,
    /// In the repository of the work tree around the submodule.
    Submodule,
    /// As one of several work trees of a repository.
    Linked,
}

/// Makes the mirror a work tree of this form, on the branch `main`.
fn work_tree(kb: &Kb, form: Form) -> tempfile::TempDir {
    let outer = tempfile::tempdir().expect("a folder");
    let around = outer.path().to_str().expect("text");
    git(kb, &["init", "-q", "-b", "main"]);
    if form == Form::Plain {
        return outer;
    }
    std::fs::remove_dir_all(kb.mirror().join(".git")).expect("removed");
    git(kb, &["init", "-q", "-b", "outer", around]);
    if form == Form::Submodule {
        let own = outer.path().join(".git/modules/help");
        std::fs::create_dir_all(own.parent().expect("a folder")).expect("made");
        let own = own.to_str().expect("text");
        git(kb, &["init", "-q", "-b", "main", "--separate-git-dir", own]);
    } else {
        let linked = outer.path().join("linked");
        let path = linked.to_str().expect("text");
        git(
            kb,
            &["-C", around, "commit", "-q", "--allow-empty", "-m", "first"],
        );
        git(
            kb,
            &["-C", around, "worktree", "add", "-q", "-b", "main", path],
        );
        let pointer = std::fs::read_to_string(linked.join(".git")).expect("a file");
        kb.write(".git", &pointer);
        git(kb, &["worktree", "repair"]);
    }
    assert!(kb.mirror().join(".git").is_file());
    outer
}

#[test]
fn in_every_form_of_a_work_tree_one_branch_is_published() {
    for form in [Form::Plain, Form::Submodule, Form::Linked] {
        let service = Service::empty();
        let start = service.category("start");
        let ids = ["one", "two"].map(|slug| service.article(start, slug, "<p>Old.</p>"));
        let kb = unlimited(&service);
        let _outer = work_tree(&kb, form);
        kb.run(&["sync"]).exits(0);
        commit(&kb);
        git(&kb, &["checkout", "-q", "-b", "other"]);
        kb.remove("start/one.html");
        commit(&kb);
        let refused = "branch other is checked out, and only branch main is published";
        kb.run(&["sync"])
            .exits(3)
            .complains(refused, "git switch main`, or change `git: {branch: …}`");
        git(&kb, &["checkout", "-q", "main"]);
        kb.run(&["sync"]).exits(0);
        // The same with a daemon, which reports the branch once.
        let daemon = Daemon::start(&kb, &[]);
        git(&kb, &["checkout", "-q", "other"]);
        until("it is paused", || daemon.log().contains(refused));
        kb.write("start/new.html", "---\ntitle: New\n---\n<p>New.</p>\n");
        kb.run(&["sync"]).exits(3);
        git(&kb, &["checkout", "-q", "--detach"]);
        until("it is paused by a commit", || {
            daemon.log().contains("not the newest of branch main")
        });
        kb.run(&["sync"]).exits(3);
        assert_eq!(service.sandbox.articles().len(), 2, "{form:?}");
        assert_eq!(daemon.log().matches(refused).count(), 1, "{form:?}");
        git(&kb, &["checkout", "-q", "main"]);
        git(&kb, &["checkout", "-q", "--detach"]);
        until("the new article is live", || {
            service.sandbox.articles().len() == 3
        });
        assert!(service.sandbox.article(ids[0]).is_some(), "{form:?}");
        daemon.stop();
    }
}

#[test]
fn the_daemon_deletes_what_the_published_branch_removed_and_nothing_that_was_left_on_another() {
    let scene = GitScene::new("git: {branch: main}\n");
    let (kb, service) = (&scene.kb, &scene.service);
    let start = service.sandbox.articles()[0].category_id;
    service.article(start, "fetched", "<p>A colleague's.</p>");
    kb.run(&["sync"]).exits(0);
    git(kb, &["checkout", "-q", "-b", "mine"]);
    commit(kb);
    git(kb, &["checkout", "-q", "main"]);
    assert!(!kb.exists("start/fetched.html"));
    let held = || {
        let status = kb.run(&["status", "--json"]).exits(0).json();
        status["held"].to_string()
    };
    until("it is held", || {
        held().contains("not by a commit of branch main")
    });
    git(kb, &["checkout", "-q", "-b", "without", "main"]);
    kb.remove("start/two.html");
    commit(kb);
    git(kb, &["checkout", "-q", "main"]);
    git(kb, &["merge", "-q", "--no-edit", "without"]);
    until("it is deleted", || scene.text("two").is_none());
    assert!(held().contains("start/fetched.html"));
    assert!(scene.text("fetched").is_some());
    kb.run(&["restore", "start"]).exits(0);
    until("nothing is held", || held() == "[]");
    assert!(scene.text("fetched").is_some());
    scene.daemon.stop();
}
