//! `kbsync restore`: the meaning of a path or a folder, with the real binary.

use crate::support::daemon::{Daemon, mirror, until};
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::kb::Service;
use kbsync::daemon::control::{self, Command, Response};
use kbsync::model::ArticleId;
use kbsync::state::Subject;
use rustix::process::{Pid, Signal, kill_process};
use std::sync::{Mutex, mpsc};

/// A conflict copy enters the history when it disappears, but was never the article's place.
#[test]
fn an_article_that_was_deleted_in_conflict_was_deleted_where_its_file_was() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "two", "<p>Two.</p>");
    let earlier = service.article(start, "name", "<p>Earlier.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.remove("start/name.html");
    kb.run(&["sync"]).exits(0);
    let later = service.article(start, "name", "<p>Later.</p>");
    kb.run(&["sync"]).exits(0);
    kb.edit("start/name.html", "Later.", "Later, mine.");
    let theirs = |article: &mut kbsync::sandbox::Article| article.text = "<p>Theirs.</p>".into();
    service.sandbox.edit(later, theirs);
    kb.run(&["sync"]).exits(3);
    kb.edit("start/name.conflict.html", "Theirs.", "Theirs and mine.");
    service.sandbox.remove(later);
    kb.run(&["sync"]).exits(3);
    kb.run(&["resolve", "start/name.html", "--keep", "remote"])
        .exits(0);
    assert!(!kb.exists("start/name.html"));
    assert!(
        kb.read("start/name.conflict.html")
            .contains("Theirs and mine.")
    );
    let ran = kb
        .run(&["restore", "start/name.html", "--dry-run"])
        .exits(0);
    assert!(
        ran.stderr.contains("the article that was deleted last")
            && !ran.stdout.contains("Earlier."),
        "{ran:#?}"
    );
    assert!(
        ran.stderr.contains(&format!("`kbsync restore {earlier}`")),
        "{ran:#?}"
    );
    kb.run(&["restore", "--yes", "start/name.html"]).exits(0);
    assert!(!kb.read("start/name.html").contains("Earlier."));
    assert_eq!(service.sandbox.articles().len(), 2);
}

/// A person moves the file that took the place away; the other files do not wait for that.
#[test]
fn a_first_meeting_in_conflict_whose_place_was_taken_is_not_among_what_a_folder_brings_back() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>Theirs.</p>");
    for slug in ["two", "three"] {
        service.article(start, slug, "<p>Words.</p>");
    }
    let kb = service.mirror();
    kb.write("start/one.html", "---\ntitle: one\n---\n<p>Mine.</p>\n");
    kb.run(&["sync"]).exits(3);
    let path = |name: &str| kb.mirror().join("start").join(name);
    std::fs::rename(path("two.html"), path("one.html")).expect("renamed");
    kb.remove("start/three.html");
    kb.run(&["restore", "start"]).exits(0);
    assert!(kb.exists("start/three.html"));
    assert!(kb.read("start/one.html").contains("<p>Words.</p>"));
    assert_eq!(service.sandbox.articles().len(), 3);
}

#[test]
fn a_category_gets_its_file_back_where_its_folder_is() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let yaml = "start/_category.yaml";
    let before = kb.read(yaml);
    kb.remove(yaml);
    kb.run(&["restore", yaml]).exits(0);
    assert_eq!(kb.read(yaml), before);
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.categories().len(), 1);
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    kb.run(&["restore", yaml]).exits(2).complains(
        "the category's folder start is not there",
        "`kbsync restore start`",
    );
    kb.run(&["restore", "start"]).exits(0);
    assert_eq!(kb.read(yaml), before);
    assert!(kb.exists("start/one.html"));
}

#[test]
fn a_file_that_was_moved_is_not_missing_where_it_was() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>Old.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "Old.", "New.");
    kb.run(&["sync"]).exits(0);
    let path = |name: &str| kb.mirror().join("start").join(name);
    std::fs::rename(path("one.html"), path("uno.html")).expect("renamed");
    // The same before and after both sides know about the move.
    for _ in 0..2 {
        for named in ["start/one.html", "start/one"] {
            kb.run(&["restore", "--yes", named]).exits(2).complains(
                &format!("the file of {named} is start/uno.html now"),
                "`kbsync restore start/uno.html`",
            );
        }
        assert!(kb.read("start/uno.html").contains("New."));
        kb.run(&["sync"]).exits(0);
    }
    assert_eq!(service.text(one), "<p>New.</p>");
    // An id, the present path or a version number makes the argument unambiguous.
    for (named, words) in [
        ("start/one@1", "Old."),
        ("start/uno", "New."),
        (&*one.to_string(), "Old."),
    ] {
        kb.run(&["restore", "--yes", named]).exits(0);
        assert!(kb.read("start/uno.html").contains(words), "{named}");
    }
}

#[test]
fn a_file_that_was_only_moved_is_named_where_it_is() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let path = |name: &str| kb.mirror().join("start").join(name);
    std::fs::rename(path("one.html"), path("uno.html")).expect("renamed");
    // The same before and after both sides know about the move: there is one version of the text.
    for _ in 0..2 {
        kb.run(&["restore", "--yes", "start/one.html"])
            .exits(2)
            .complains(
                "the file of start/one.html is start/uno.html now",
                "`kbsync log start/uno.html`",
            );
        kb.run(&["sync"]).exits(0);
    }
    // At its present place there is nothing else to restore.
    kb.run(&["restore", "--yes", "start/uno.html"])
        .exits(2)
        .complains("there is no other version", "`kbsync log PATH`");
}

#[test]
fn what_cannot_be_restored_by_its_turn_in_the_daemon_ends_as_it_does_without() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    let kb = mirror(&service);
    kb.run(&["sync"]).exits(0);
    let daemon = Daemon::start(&kb, &[]);
    let wish = serde_json::json!({
        "direction": "both",
        "scope": ["start/one.html"],
        "restore": [{"subject": Subject::Article(ArticleId::new(one)), "number": 99}],
    });
    let wish = serde_json::from_value(wish).expect("a wish");
    let private = kb.mirror().join(".kbsync");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let asking = control::request(&private, Command::Cycle(wish), |_| ());
    let word = runtime.block_on(asking).expect("an answer");
    let Some(Response::Report(_, None, failures)) = word else {
        panic!("{word:?}");
    };
    let refusal = &failures[0];
    assert_eq!((refusal.code, failures.len()), (2, 1));
    assert!(
        refusal.message.contains("no version @99") && refusal.help.contains("kbsync log"),
        "{refusal:?}"
    );
    daemon.stop();
}

#[test]
fn a_file_that_holds_the_version_already_is_no_change() {
    let service = Service::empty();
    service.article(service.category("start"), "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let before = kb.articles();
    let said = kb
        .run(&["restore", "--yes", "start/one.html@1"])
        .exits(0)
        .stdout;
    assert!(said.contains("Nothing to do"), "{said}");
    assert_eq!(kb.articles(), before);

    kb.edit("start/one.html", "One.", "Two.");
    kb.run(&["sync"]).exits(0);
    let said = kb
        .run(&["restore", "--yes", "start/one.html@1"])
        .exits(0)
        .stdout;
    let both = "1 change (in the mirror), 1 change (on the service)";
    assert!(said.contains(both), "{said}");
}

/// The history has more versions than `log` lists: both the agreed version and the file's version before it was
/// replaced.
#[test]
fn a_version_has_the_number_that_the_log_lists() {
    let service = Service::empty();
    let one = service.article(service.category("start"), "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "One.", "Two.");
    kb.run(&["sync"]).exits(0);
    let theirs = service
        .sandbox
        .edit(one, |article| article.text = "<p>Three.</p>".into());
    assert!(theirs.is_some());
    kb.run(&["sync"]).exits(0);
    let newest = || {
        let log = kb.run(&["log", &one.to_string()]).exits(0).stdout;
        let numbers = log.lines().filter_map(|line| line.strip_prefix('@'));
        let numbers: Vec<String> = numbers
            .map(|line| line.chars().take_while(char::is_ascii_digit).collect())
            .collect();
        (numbers[0].clone(), log)
    };
    let (three, log) = newest();
    kb.edit("start/one.html", "Three.", "Four.");
    kb.run(&["sync"]).exits(0);
    let said = kb
        .run(&["restore", "--yes", "start/one.html"])
        .exits(0)
        .stdout;
    assert!(
        said.contains(&format!(
            "version @{three}; the replaced text is in the history\n"
        )),
        "{said}\n{log}"
    );
    let (restored, log) = newest();
    assert!(log.contains(&format!("restored from @{three} ")), "{log}");

    assert!(service.sandbox.remove(one).is_some());
    kb.run(&["sync"]).exits(0);
    kb.run(&["restore", "--yes", "start/one.html"]).exits(0);
    let file = kb.read("start/one.html");
    assert!(
        file.contains(&format!("# restored from {one}@{restored}\n")),
        "{file}\n{log}"
    );
    assert!(file.contains("<p>Three.</p>"), "{file}");
    // A number is used as given.
    let said = kb.run(&[
        "restore",
        "--yes",
        &format!("{one}@{three}"),
        "--to",
        "start/uno.html",
    ]);
    assert!(
        said.exits(0)
            .stdout
            .contains(&format!("version @{three} of {one}")),
        "{log}"
    );
}

#[test]
fn after_ctrl_c_the_daemon_goes_on_and_the_command_says_so() {
    let service = Service::empty();
    let one = service.article(service.category("start"), "one", "<p>One.</p>");
    let kb = mirror(&service);
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "One.", "Two.");
    kb.run(&["sync"]).exits(0);
    let daemon = Daemon::start(&kb, &[]);
    let (come, arrived) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    service.sandbox.inject(Fault::once(
        Matcher::new("PUT", "/api/article"),
        FaultKind::Hook(Hook::new(move |_| {
            come.send(()).expect("awaited");
            gone.lock().expect("one").recv().ok();
        })),
    ));
    let mut process = kb.process(&["restore", "--yes", "start/one.html@1", "--json"]);
    process
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = process.spawn().expect("it runs");
    arrived.recv().expect("the request comes");
    let pid = i32::try_from(child.id()).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("positive"), Signal::INT).expect("sent");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(
        told.contains("error: stopped") && told.contains("the daemon continues with the command"),
        "{told}"
    );
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(json["outcome"], "retry");
    go.send(()).expect("awaited");
    until("the daemon is done with it", || {
        service.text(one) == "<p>One.</p>"
    });
    daemon.stop();
}

#[test]
fn a_place_that_is_ignored_is_advised_what_works() {
    let service = Service::empty();
    let id = service.article(service.category("start"), "one", "<p>Old.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "Old.", "New.");
    kb.run(&["sync"]).exits(0);
    kb.write(".kbsyncignore", "start/one.html\n");
    // The article is alive, so it cannot come back elsewhere.
    let ran = kb.run(&["restore", "start/one.html@1", "--yes"]);
    assert!(
        ran.stderr.contains("take it out of .kbsyncignore"),
        "{ran:#?}"
    );
    // A deleted article can come back elsewhere.
    kb.remove(".kbsyncignore");
    service.sandbox.remove(id);
    kb.run(&["sync"]).exits(0);
    kb.write(".kbsyncignore", "start/one.html\n");
    let ran = kb.run(&["restore", "start/one.html", "--yes"]);
    assert!(
        ran.stderr.contains("name another place with --to"),
        "{ran:#?}"
    );
}
