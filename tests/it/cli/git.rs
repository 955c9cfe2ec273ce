//! One-shot commands in a git work tree, with the real git and the real binary: removals that came with a moved HEAD
//! are held.

use crate::support::kb::{Kb, Service, write_program};
use crate::support::real_git::git;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// Four articles, synced and committed on `main`; the branch `other` lacks the first of them. Every branch is synced.
fn mirror() -> (Service, Kb) {
    mirror_with("any")
}

/// Like [`mirror`], with this branch in the settings.
fn mirror_with(branch: &str) -> (Service, Kb) {
    let (service, kb) = never_synced(branch);
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    commit(&kb, "all");
    git(&kb, &["checkout", "-q", "-b", "other"]);
    git(&kb, &["rm", "-q", "start/n1.html"]);
    git(&kb, &["commit", "-q", "-m", "without"]);
    git(&kb, &["checkout", "-q", "main"]);
    kb.run(&["sync"]).exits(0);
    (service, kb)
}

/// Writes the published branch into the settings.
fn publish(kb: &Kb, branch: &str) {
    let settings = kb.read("kbsync.yaml");
    let lines = settings.lines().filter(|line| !line.starts_with("git:"));
    let settings = lines.fold(String::new(), |all, line| all + line + "\n");
    kb.write(
        "kbsync.yaml",
        &format!("{settings}git: {{branch: {branch}}}\n"),
    );
}

fn commit(kb: &Kb, message: &str) {
    git(kb, &["add", "-A"]);
    git(kb, &["commit", "-q", "-m", message]);
}

fn left(service: &Service) -> usize {
    service.sandbox.articles().len()
}

#[test]
fn what_a_checkout_removed_is_held_until_somebody_says_so() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "other"]);
    for command in [&["sync"][..], &["push"], &["sync", "start"], &["sync"]] {
        let ran = kb.run(command).exits(3);
        assert!(ran.stdout.contains("git moved HEAD"), "{ran:#?}");
    }
    let ran = kb.run(&["sync", "--dry-run"]).exits(0);
    assert!(ran.stdout.contains("git moved HEAD"), "{ran:#?}");
    assert_eq!(left(&service), 4);
    let ran = kb.run(&["approve", "--yes"]).exits(0);
    assert!(
        ran.stdout.starts_with("delete    start/n1.html"),
        "{ran:#?}"
    );
    assert_eq!(left(&service), 3);
    // HEAD is recorded from now on, and a writer's own removal is not held.
    kb.remove("start/n2.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 2);
}

#[test]
fn a_flag_or_the_way_back_releases_it_too() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "other"]);
    kb.run(&["sync"]).exits(3);
    git(&kb, &["checkout", "-q", "main"]);
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 4);
    git(&kb, &["checkout", "-q", "other"]);
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    assert_eq!(left(&service), 3);
    kb.run(&["sync"]).exits(0);
}

#[test]
fn a_pull_in_between_settles_nothing() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "other"]);
    kb.run(&["pull"]);
    kb.run(&["sync"]).exits(3);
    assert_eq!(left(&service), 4);
}

#[test]
fn a_writers_own_removal_goes_through_committed_or_not() {
    let (service, kb) = mirror();
    git(&kb, &["rm", "-q", "start/n1.html"]);
    git(&kb, &["commit", "-q", "-m", "the writer removed it"]);
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3);
    kb.remove("start/n2.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 2);
}

#[test]
fn a_branch_in_the_settings_is_the_one_that_counts() {
    let (service, kb) = mirror_with("main");
    git(&kb, &["merge", "-q", "--no-edit", "other"]);
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3);
}

#[test]
fn another_branch_than_that_of_the_settings_is_reported_before_anybody_syncs() {
    let (_service, kb) = mirror_with("main");
    let silent = kb.run(&["status"]).exits(0);
    assert!(!silent.stdout.contains("nothing is synced"), "{silent:#?}");
    kb.run(&["doctor"]).exits(0);
    git(&kb, &["checkout", "-q", "other"]);
    let told = kb.run(&["status"]).exits(0);
    assert!(told.stdout.contains("nothing is synced"), "{told:#?}");
    let told = kb.run(&["doctor"]).exits(3);
    assert!(told.stdout.contains("git switch main"), "{told:#?}");
}

/// A mirror of four articles that was never synced, with this branch in the settings.
fn never_synced(branch: &str) -> (Service, Kb) {
    let service = Service::empty();
    let start = service.category("start");
    for number in 1..=4 {
        service.article(start, &format!("n{number}"), "<p>One.</p>");
    }
    let kb = service.mirror();
    publish(&kb, branch);
    (service, kb)
}

#[test]
fn what_git_removed_in_a_repository_that_no_sync_saw_yet_is_held() {
    for branch in ["any", "auto"] {
        let (service, kb) = never_synced(branch);
        kb.run(&["sync"]).exits(0);
        git(&kb, &["init", "-q", "-b", "main"]);
        commit(&kb, "all");
        git(&kb, &["checkout", "-q", "-b", "other"]);
        git(&kb, &["rm", "-q", "start/n1.html"]);
        git(&kb, &["commit", "-q", "-m", "without"]);
        // The next cycles do not record HEAD either, because the sides did not agree on removals.
        for command in [&["sync"][..], &["push"], &["sync", "start"], &["sync"]] {
            let ran = kb.run(command).exits(3);
            assert!(
                ran.stdout.contains("no earlier sync recorded git's HEAD"),
                "{ran:#?}"
            );
            assert!(ran.stdout.contains("`kbsync restore start`"), "{ran:#?}");
        }
        assert_eq!(left(&service), 4);
        kb.run(&["restore", "start"]).exits(0);
        assert!(kb.exists("start/n1.html"));
        kb.run(&["sync"]).exits(0);
        // HEAD is recorded from now on, and a writer's own removal is not held.
        kb.remove("start/n2.html");
        kb.run(&["sync"]).exits(0);
        assert_eq!(left(&service), 3);
    }
}

#[test]
fn a_repository_without_a_commit_at_the_last_sync_is_named_as_the_reason() {
    let (service, kb) = never_synced("main");
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    commit(&kb, "all");
    git(&kb, &["checkout", "-q", "-b", "other"]);
    git(&kb, &["checkout", "-q", "main"]);
    git(&kb, &["rm", "-q", "start/n1.html"]);
    git(&kb, &["commit", "-q", "-m", "without"]);
    let ran = kb.run(&["sync"]).exits(3);
    let reason = "no earlier sync recorded git's HEAD";
    assert!(ran.stdout.contains(reason), "{ran:#?}");
    assert_eq!(left(&service), 4);
}

#[test]
fn what_a_checkout_removed_after_a_first_pull_is_held() {
    let (service, kb) = never_synced("any");
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["pull"]).exits(0);
    commit(&kb, "all");
    git(&kb, &["checkout", "-q", "-b", "other"]);
    git(&kb, &["rm", "-q", "start/n1.html"]);
    git(&kb, &["commit", "-q", "-m", "without"]);
    kb.run(&["sync"]).exits(3);
    assert_eq!(left(&service), 4);
}

#[test]
fn where_a_folder_could_not_be_read_head_is_not_agreed_on() {
    let (service, kb) = mirror();
    git(&kb, &["checkout", "-q", "other"]);
    // The branch lacks a folder that has changed since.
    let (there, aside) = (kb.mirror().join("start"), kb.mirror().join(".aside"));
    std::fs::rename(&there, &aside).expect("moved");
    std::os::unix::fs::symlink(&aside, &there).expect("a link");
    kb.run(&["sync"]);
    assert_eq!(left(&service), 4);
    std::fs::remove_file(&there).expect("removed");
    std::fs::rename(&aside, &there).expect("moved back");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("git moved HEAD"), "{ran:#?}");
    assert_eq!(left(&service), 4);
}

#[test]
fn while_git_changes_files_nothing_is_done() {
    let (service, kb) = mirror();
    kb.remove("start/n1.html");
    kb.write(".git/index.lock", "");
    kb.run(&["sync"])
        .exits(5)
        .complains("nothing is synced: git is changing files", "index.lock");
    let told = kb.run(&["sync", "--dry-run"]).exits(0);
    assert!(told.stdout.contains("git is changing files"), "{told:#?}");
    assert_eq!(left(&service), 4);
    // A sync waits for a short git command.
    let mut waits = kb.process(&["sync", "-vv"]);
    let mut waits = waits.stderr(Stdio::piped()).spawn().expect("it runs");
    let told = waits.stderr.take().expect("a pipe");
    let mut told = BufReader::new(told).lines().map(|line| line.expect("text"));
    assert!(told.any(|line| line.contains("waiting for git")));
    kb.remove(".git/index.lock");
    // Reads the log to the end, so that the command never blocks on a full pipe.
    told.for_each(drop);
    assert!(waits.wait().expect("it ends").success());
    assert_eq!(left(&service), 3);
}

#[test]
fn f091_what_a_sparse_checkout_leaves_out_is_held_until_somebody_says_so() {
    let (service, kb) = mirror();
    git(
        &kb,
        &[
            "sparse-checkout",
            "set",
            "--no-cone",
            "/*",
            "!/start/n1.html",
        ],
    );
    assert!(!kb.exists("start/n1.html"));
    for branch in ["any", "main"] {
        publish(&kb, branch);
        let ran = kb.run(&["sync"]).exits(3);
        assert!(ran.stdout.contains("sparse checkout"), "{ran:#?}");
    }
    assert_eq!(left(&service), 4);
    git(&kb, &["sparse-checkout", "disable"]);
    kb.run(&["sync"]).exits(0);
    assert!(kb.exists("start/n1.html"));
    // The writer's own removal is not held.
    kb.remove("start/n1.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3);
}

#[test]
fn a_repository_in_the_folder_of_one_workspace_counts_like_any_other() {
    let service = Service::start();
    let other = service.sandbox.add_workspace("Hilfe");
    let start = service.sandbox.add_category(other, "start", "start");
    let (one, two) = (
        service.article(start, "eins", "<p>Eins.</p>"),
        service.article(start, "zwei", "<p>Zwei.</p>"),
    );
    let kb = service.mirror();
    let settings = kb.read("kbsync.yaml").replace(
        &format!("workspace: {}", service.workspace),
        &format!(
            "workspaces: [{{id: {}, folder: en}}, {{id: {other}, folder: de}}]",
            service.workspace
        ),
    );
    kb.write("kbsync.yaml", &settings);
    publish(&kb, "any");
    kb.run(&["sync"]).exits(0);
    let de = |arguments: &[&str]| git(&kb, &[&["-C", "de"], arguments].concat());
    de(&["init", "-q", "-b", "main"]);
    de(&["add", "-A"]);
    de(&["commit", "-q", "-m", "all"]);
    de(&["checkout", "-q", "-b", "other"]);
    de(&["rm", "-q", "start/eins.html"]);
    de(&["commit", "-q", "-m", "without"]);
    de(&["checkout", "-q", "main"]);
    kb.run(&["sync"]).exits(0);
    de(&["checkout", "-q", "other"]);
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("git moved HEAD"), "{ran:#?}");
    assert!(service.sandbox.article(one).is_some());
    de(&["checkout", "-q", "main"]);
    kb.run(&["sync"]).exits(0);
    // The writer's own removal is not held.
    kb.remove("de/start/zwei.html");
    kb.run(&["sync"]).exits(0);
    assert!(service.sandbox.article(two).is_none());
    // No folder is synced on another branch than the branch of the settings, nor without git.
    publish(&kb, "main");
    let ran = kb.run(&["sync"]).exits(0);
    assert!(ran.stderr.is_empty(), "{ran:#?}");
    de(&["checkout", "-q", "other"]);
    for command in [&["sync"][..], &["push"], &["approve", "--yes"]] {
        let ran = kb.run(command).exits(3);
        assert!(ran.stderr.contains("other is checked out"), "{ran:#?}");
    }
    assert!(service.sandbox.article(one).is_some());
    std::fs::rename(kb.mirror().join("de/.git"), kb.mirror().join("away")).expect("moved");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stderr.contains("in no git repository"), "{ran:#?}");
    assert!(ran.stderr.contains("git: {branch: any}"), "{ran:#?}");
    assert!(service.sandbox.article(one).is_some());
}

#[test]
fn removals_in_the_only_workspace_of_a_list_are_not_held() {
    let service = Service::empty();
    let start = service.category("start");
    for slug in ["one", "two", "three"] {
        service.article(start, slug, "<p>Words.</p>");
    }
    let kb = service.mirror();
    let settings = kb.read("kbsync.yaml").replace(
        &format!("workspace: {}", service.workspace),
        &format!("workspaces: [{{id: {}, folder: en}}]", service.workspace),
    );
    kb.write("kbsync.yaml", &settings);
    git(&kb, &["init", "-q", "-b", "main"]);
    publish(&kb, "any");
    kb.run(&["sync"]).exits(0);
    for (file, message) in [("one", "first"), ("two", "second")] {
        commit(&kb, message);
        kb.run(&["sync"]).exits(0);
        kb.remove(&format!("en/start/{file}.html"));
        kb.run(&["sync"]).exits(0);
    }
}

#[test]
fn a_pipe_in_place_of_a_file_of_git_is_not_waited_for() {
    let service = Service::empty();
    let kb = service.mirror();
    for pipe in [".git", ".git/config", ".git/packed-refs"] {
        if pipe != ".git" {
            kb.write(".git/HEAD", "ref: refs/heads/main\n");
        }
        let path = kb.mirror().join(pipe);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        for arguments in [&["status"][..], &["sync"]] {
            let output = kb
                .command(arguments)
                .timeout(std::time::Duration::from_mins(2))
                .output()
                .expect("it ends");
            let is_refused = pipe == ".git" && arguments == ["sync"];
            let code = if is_refused { 3 } else { 0 };
            assert_eq!(output.status.code(), Some(code), "{pipe}: {output:?}");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_version_that_a_person_restores_is_no_reset_of_git() {
    let (service, kb) = mirror();
    let text = || {
        let articles = service.sandbox.articles();
        let one = articles.iter().find(|article| article.slug == "n2");
        one.expect("there").text.clone()
    };
    let before = text();
    kb.edit("start/n2.html", "---\n<p>", "---\n<p>Not committed. ");
    kb.run(&["sync"]).exits(0);
    assert_ne!(text(), before);
    kb.run(&["restore", "start/n2.html", "--yes"]).exits(0);
    assert_eq!(text(), before);
}

#[test]
fn holds_in_a_shallow_clone_name_the_depth() {
    let (service, kb) = mirror_with("main");
    kb.edit("start/n2.html", "---\n<p>", "---\n<p>Later. ");
    commit(&kb, "later");
    kb.run(&["sync"]).exits(0);
    git(&kb, &["revert", "--no-edit", "HEAD"]);
    git(&kb, &["rm", "-q", "start/n3.html"]);
    git(&kb, &["commit", "-q", "-m", "without"]);
    // As in a CI job that keeps the state.
    let from = format!("file://{}", kb.mirror().display());
    git(&kb, &["clone", "-q", "--bare", &from, "../server"]);
    let server = format!("file://{}/../server", kb.mirror().display());
    git(&kb, &["clone", "-q", "--depth", "1", &server, "../job"]);
    let (here, job) = (kb.mirror().join(".git"), kb.mirror().join("../job/.git"));
    std::fs::remove_dir_all(&here).expect("removed");
    std::fs::rename(job, here).expect("moved");
    let ran = kb.run(&["sync"]).exits(3);
    let told = ran
        .stdout
        .matches("this clone is shallow; `git fetch --unshallow`");
    assert_eq!(told.count(), 2, "{ran:#?}");
    git(&kb, &["fetch", "-q", "--unshallow"]);
    kb.run(&["sync"]).exits(0);
    assert_eq!(left(&service), 3);
}

#[test]
fn a_repository_that_git_refuses_is_reported_with_the_remedy_of_git() {
    let (service, mut kb) = mirror_with("main");
    // Git has this variable for its own tests.
    let script = "#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec /usr/bin/git \"$@\"\n";
    let bin = kb.mirror().join("bin");
    std::fs::create_dir(&bin).expect("made");
    write_program(&bin.join("git"), script);
    kb.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let remedy = "git config --global --add safe.directory";
    let ran = kb.run(&["doctor"]).exits(0);
    assert!(ran.stdout.contains(remedy), "{ran:#?}");
    kb.remove("start/n1.html");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains(remedy), "{ran:#?}");
    assert_eq!(left(&service), 4);
}

#[test]
fn f091_doctor_warns_about_a_category_that_is_a_repository_of_its_own() {
    let (_service, kb) = mirror_with("main");
    let warns = || {
        let ran = kb.run(&["doctor"]).exits(0);
        ran.stdout.contains("start is a repository of its own")
    };
    assert!(!warns());
    git(&kb, &["init", "-q", "start"]);
    assert!(warns());
}
