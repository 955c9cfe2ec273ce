//! `kbsync restore`: several paths, the deleted articles of a folder, and the question before an article goes live.

use crate::support::daemon::Daemon;
use crate::support::kb::{Kb, Service};
use crate::support::schema;
use uuid::Uuid;

/// Two articles in `start` that were edited and synced once, and one in `other`.
fn edited() -> (Service, Kb, [Uuid; 3]) {
    let service = Service::empty();
    let (start, other) = (service.category("start"), service.category("other"));
    let ids = [
        service.article(start, "one", "<p>Old.</p>"),
        service.article(start, "two", "<p>Old.</p>"),
        service.article(other, "three", "<p>Old.</p>"),
    ];
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    for path in ["start/one.html", "start/two.html"] {
        kb.edit(path, "Old.", "New.");
    }
    kb.run(&["sync"]).exits(0);
    (service, kb, ids)
}

#[test]
fn what_would_be_live_is_asked_for() {
    let (service, kb, [one, ..]) = edited();
    let before = kb.articles();
    service.sandbox.clear_requests();
    let command = ["restore", "start/one.html"];
    kb.run(&command)
        .exits(2)
        .complains("this would change 1 live article", "--dry-run");
    let ran = kb.run(&command);
    assert!(
        ran.stderr
            .contains("\n  kbsync restore start/one.html --yes\n"),
        "{ran:#?}"
    );
    let json = kb
        .run(&["restore", "start/one.html", "--json"])
        .exits(2)
        .json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "failed");
    let ran = kb.at_terminal(&command, &[("Publish?", "n\r")]).exits(3);
    assert!(
        ran.stderr
            .contains("This would change 1 live article, compared with the last sync:"),
        "{ran:#?}"
    );
    assert!(
        ran.stderr.contains("  start/one.html changes: version @1"),
        "{ran:#?}"
    );
    assert!(ran.stderr.contains("nothing was restored"), "{ran:#?}");
    assert_eq!(kb.articles(), before);
    assert_eq!(
        service.sandbox.counts().total,
        0,
        "nobody was asked anything"
    );
    kb.at_terminal(&command, &[("Publish?", "y\r")]).exits(0);
    assert_eq!(service.text(one), "<p>Old.</p>");
}

#[test]
fn a_daemon_gets_only_what_was_agreed_to() {
    let (service, kb, [one, ..]) = edited();
    let daemon = Daemon::start(&kb, &[]);
    kb.run(&["restore", "start/one.html"])
        .exits(2)
        .complains("which needs your agreement", "agree with");
    assert_eq!(service.text(one), "<p>New.</p>");
    kb.run(&["restore", "start/one.html", "--yes"]).exits(0);
    assert_eq!(service.text(one), "<p>Old.</p>");
    daemon.stop();
}

#[test]
fn what_changes_nothing_for_readers_is_not_asked_for() {
    let (service, kb, [one, two, _]) = edited();
    // Files that were removed only in the mirror.
    kb.remove("start/one.html");
    kb.run(&["restore", "start/one.html"]).exits(0);
    assert!(kb.read("start/one.html").contains("New."));
    // A hidden article.
    kb.edit("start/two.html", "title: two", "title: two\nenabled: false");
    kb.run(&["sync"]).exits(0);
    kb.run(&["restore", "start/two.html@1"]).exits(0);
    assert_eq!(service.text(two), "<p>Old.</p>");
    // A removed file whose last edit was never sent: the restore would publish that edit.
    kb.edit("start/one.html", "New.", "Newer.");
    kb.run(&["status"]).exits(0);
    kb.run(&["sync", "--dry-run"]).exits(0);
    kb.run(&["restore", "start/one.html@1"]).exits(2);
    assert_eq!(service.text(one), "<p>New.</p>");
}

#[test]
fn a_path_that_names_nothing_stops_all() {
    let (service, kb, [one, two, _]) = edited();
    for (path, told) in [
        ("nowhere/none.html", "nothing about nowhere/none.html"),
        ("start/two.html@9", "has no version @9"),
        (
            "start/one.html@2",
            "is named twice, with different versions",
        ),
    ] {
        let ran = kb.run(&["restore", "--yes", "--json", "start/one.html@1", path]);
        let json = ran.exits(2).json();
        schema::check("report", &json);
        let message = json["problems"][0]["message"].as_str().expect("words");
        assert!(message.contains(told), "{message}");
        assert_eq!(service.text(one), "<p>New.</p>");
    }
    let both = ["restore", "--yes", "start/one.html@1", "start/two.html@1"];
    kb.run(&both).exits(0);
    for id in [one, two] {
        assert_eq!(service.text(id), "<p>Old.</p>");
    }
    kb.run(&[
        "restore",
        "start/one.html",
        "start/two.html",
        "--to",
        "start/x.html",
    ])
    .exits(2)
    .complains("--to is for one article", "name one file");
}

#[test]
fn the_deleted_articles_of_a_folder_come_back_together() {
    let (service, kb, ids) = edited();
    for path in ["start/one.html", "start/two.html"] {
        kb.remove(path);
    }
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    // A later article lives at an earlier article's path.
    kb.write(
        "start/one.html",
        "---\ntitle: Another\n---\n<p>Another.</p>\n",
    );
    kb.run(&["sync"]).exits(0);
    kb.remove("start/one.html");
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 1);

    let ran = kb.run(&["restore", "start"]).exits(2);
    assert!(
        ran.stderr
            .contains("articles that were deleted in the folder come back as new ones")
            && ran.stderr.contains("\n  kbsync restore start --deleted\n"),
        "{ran:#?}"
    );
    let dry = kb
        .run(&["restore", "start", "--deleted", "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(dry["files"].as_array().expect("a list").len(), 2, "{dry}");
    let earlier = format!("kbsync restore {} --to FOLDER/NAME.html", ids[0]);
    let notes = dry["notes"].to_string();
    assert!(notes.contains(&earlier), "{dry}");
    assert!(notes.contains("\"start/two.html: version @"), "{dry}");

    kb.run(&["restore", "start", "--deleted"])
        .exits(2)
        .complains("this would publish 2 new articles", "--dry-run");
    assert!(!kb.exists("start/two.html"));
    let ran = kb.run(&["restore", "start", "--deleted", "--yes"]).exits(4);
    assert!(ran.stdout.contains("deleted later"), "{ran:#?}");
    assert!(kb.read("start/one.html").contains("Another."));
    assert!(kb.read("start/two.html").contains("New."));
    assert_eq!(service.sandbox.articles().len(), 3);

    kb.run(&["restore", "other", "--deleted"])
        .exits(2)
        .complains("no article in other was deleted", "kbsync log");
    kb.run(&["restore", "start/two.html", "--deleted"])
        .exits(2)
        .complains(
            "is not a category's folder",
            "kbsync restore start/two.html",
        );
}

#[test]
fn what_the_file_publishes_beside_its_words_is_asked_for() {
    let (service, kb, [one, two, _]) = edited();
    kb.edit("start/two.html", "title: two", "title: two\nenabled: false");
    kb.run(&["sync"]).exits(0);
    kb.edit("start/two.html", "enabled: false", "enabled: true");
    kb.edit("start/two.html", "New.", "Newer.");
    kb.run(&["restore", "start/two.html@2"]).exits(2);
    kb.edit("start/one.html", "title: one", "title: one\nslug: eins");
    kb.edit("start/one.html", "New.", "Newer.");
    kb.run(&["restore", "start/one.html@2"]).exits(2);
    let on_service = |id| service.sandbox.article(id).expect("there");
    assert!(!on_service(two).enabled);
    assert_eq!(on_service(one).slug, "one");
}

#[test]
fn a_restore_that_could_not_be_sent_is_not_to_be_repeated() {
    let (_service, kb, _) = edited();
    let settings = kb.read("kbsync.yaml") + "budget: {per_day: 1}\n";
    kb.write("kbsync.yaml", &settings);
    let ran = kb.run(&["restore", "--yes", "start/one.html"]).exits(5);
    assert!(ran.stderr.contains("`kbsync sync` sends"), "{ran:#?}");
    assert!(kb.read("start/one.html").contains("Old."));
}
