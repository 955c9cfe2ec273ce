//! `kbsync log`, `show` and `restore`, with the real binary.

use crate::engine::workspaces::two_workspaces;
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::{Kb, Service};
use crate::support::schema;
use serde_json::Value;
use uuid::Uuid;

/// `start/one.html`, synced, edited in the mirror, edited on the service, and synced after each edit.
fn with_a_past() -> (Service, Kb, Uuid) {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>First.</p>");
    service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "First.", "Second, here.");
    kb.run(&["sync"]).exits(0);
    service
        .sandbox
        .edit(one, |article| article.text = "<p>Third, there.</p>".into());
    kb.run(&["sync"]).exits(0);
    (service, kb, one)
}

fn log(kb: &Kb, arguments: &[&str]) -> Value {
    let all: Vec<&str> = [&["log", "--json"], arguments].concat();
    let json = kb.run(&all).exits(0).json();
    schema::check("log", &json);
    json
}

/// Returns number, side and cause of each version, newest first.
fn versions(log: &Value) -> Vec<(u64, String, String)> {
    let word = |version: &Value, key: &str| version[key].as_str().expect(key).to_owned();
    let listed = log["versions"].as_array().expect("versions");
    listed
        .iter()
        .map(|version| {
            let number = version["number"].as_u64().expect("a number");
            (number, word(version, "side"), word(version, "cause"))
        })
        .collect()
}

fn show(kb: &Kb, what: &str) -> Value {
    let json = kb.run(&["show", "--json", what]).exits(0).json();
    schema::check("show", &json);
    json
}

#[test]
fn what_has_no_versions_is_reported_with_what_has() {
    let (_service, kb, _) = with_a_past();
    for arguments in [&["show", "start@1"][..], &["show", "start/"]] {
        kb.run(arguments)
            .exits(2)
            .complains("is a folder", "name a file");
    }
    for argument in ["start/one@x", "start/one@"] {
        let told = format!("the history has nothing about {argument}");
        kb.run(&["show", argument])
            .exits(2)
            .complains(&told, "with @N for its version N");
    }
    kb.run(&["show", "start/nothing.html"])
        .exits(2)
        .complains("the history has nothing about", "kbsync log");
    let none = kb.run(&["log", "-n", "0"]).exits(2);
    assert!(none.stderr.contains("--limit"), "{none:#?}");
}

#[test]
fn versions_are_listed_with_number_side_cause_and_fields() {
    let (_service, kb, one) = with_a_past();
    let json = log(&kb, &["start/one.html"]);
    assert_eq!(json["path"], "start/one.html");
    assert_eq!(json["id"], one.to_string());
    let listed = versions(&json);
    assert_eq!(listed[0].0, 6, "{listed:?}");
    assert!(listed.contains(&(1, "both".into(), "create".into())));
    assert!(listed.contains(&(2, "local".into(), "edited here".into())));
    assert!(listed.contains(&(4, "remote".into(), "edited on the service".into())));
    let second = &json["versions"][4];
    assert_eq!(
        (&second["number"], &second["changed"]),
        (&2.into(), &serde_json::json!(["text"]))
    );
    let text = kb.run(&["log", "start/one"]).exits(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(&one.to_string()), "{text}");
    assert!(
        lines[2].starts_with("@4") && lines[2].contains("service, now both"),
        "{text}"
    );
    assert!(
        lines[3].starts_with("@2") && lines[3].contains("mirror, then both"),
        "{text}"
    );
    assert!(
        lines[4].starts_with("@1") && lines[4].contains("create"),
        "{text}"
    );
    assert_eq!(lines.len(), 5, "{text}");
    let first = kb.run(&["log", "start/one", "-n", "1"]).exits(0).stdout;
    assert_eq!(first.lines().count(), 3, "{first}");
    let cut = kb.run(&["log", "-n", "1"]).exits(0).stderr;
    assert!(cut.contains("`--limit N` lists more"), "{cut}");
    let whole = kb.run(&["log"]).exits(0).stderr;
    assert!(!whole.contains("--limit"), "{whole}");
}

#[test]
fn differences_are_shown_against_the_version_before() {
    let (_service, kb, _) = with_a_past();
    let text = kb.run(&["log", "-p", "start/one.html"]).exits(0).stdout;
    for line in [
        "-<p>First.</p>\n+<p>Second, here.</p>\n",
        "-<p>Second, here.</p>\n+<p>Third, there.</p>\n",
        "--- /dev/null\n+++ b/start/one.html\n",
    ] {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
    let json = log(&kb, &["-p", "start/one.html"]);
    let diff = json["versions"][4]["diff"].as_str().expect("a diff");
    assert!(diff.contains("+<p>Second, here.</p>"), "{diff}");
    kb.run(&["log", "-p"]).exits(2);
    kb.run(&["log", "-p", "start"])
        .exits(2)
        .complains("this is a folder", "name a file");
}

#[test]
fn what_happened_lately_is_reported_newest_first() {
    let (_service, kb, _) = with_a_past();
    let json = log(&kb, &[]);
    let told: Vec<String> = json["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| {
            format!("{} {} {}", event["action"], event["side"], event["path"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        told[..3],
        [
            "update local start/one.html",
            "update remote start/one.html",
            "create local start/two.html"
        ]
    );
    assert_eq!(
        log(&kb, &["start/"])["events"]
            .as_array()
            .expect("events")
            .len(),
        5
    );
    assert_eq!(
        log(&kb, &["-n", "2"])["events"]
            .as_array()
            .expect("events")
            .len(),
        2
    );
    assert_eq!(
        log(&kb, &["."])["events"].as_array().expect("events").len(),
        5
    );
    let text = kb.run(&["log"]).exits(0).stdout;
    assert!(
        text.lines()
            .nth(1)
            .is_some_and(|line| line.contains("start/one.html")),
        "{text}"
    );
    kb.run(&["log", "nowhere"])
        .exits(2)
        .complains("nothing about nowhere", "name a file");
    kb.run(&["log", "nowhere/a.html"])
        .exits(2)
        .complains("nothing about", "kbsync log");
    kb.run(&["log", "start/one@2"])
        .exits(2)
        .complains("all versions", "kbsync show start/one@2");
}

#[test]
fn a_version_is_shown_as_the_file_that_it_was() {
    let (_service, kb, one) = with_a_past();
    let first = format!("---\nid: {one}\ntitle: one\n---\n<p>First.</p>\n");
    assert_eq!(kb.run(&["show", "start/one.html@1"]).exits(0).stdout, first);
    assert_eq!(
        kb.run(&["show", &format!("{one}@1")]).exits(0).stdout,
        first
    );
    assert_eq!(
        kb.run(&["show", "start/one"]).exits(0).stdout,
        kb.read("start/one.html")
    );
    let json = show(&kb, "start/one@2");
    assert_eq!(json["text"], "<p>Second, here.</p>");
    assert_eq!(
        (&json["side"], &json["cause"]),
        (&"local".into(), &"edited here".into())
    );
    assert_eq!(json["now_at"], "start/one.html");
    assert_eq!(json["views"], 0);
    assert!(json["updated_at"].is_string());
    kb.run(&["show", "start/one@9"])
        .exits(2)
        .complains("no version @9", "its newest version is @");
    kb.run(&["show", "start/one@0"])
        .exits(2)
        .complains("no version @0", "its newest version is @");
    kb.run(&["show", "start/three"])
        .exits(2)
        .complains("nothing about start/three", "kbsync log");
}

#[test]
fn without_a_number_the_newest_version_of_the_log_is_shown() {
    let (service, kb, one) = with_a_past();
    kb.edit("start/one.html", "title: one", "title: one # mine");
    kb.run(&["sync"]).exits(0);
    // Both sides agree once more, without a file of its own.
    service.sandbox.edit(one, |article| article.enabled = false);
    kb.run(&["sync"]).exits(0);
    let listed = kb.run(&["log", "start/one"]).exits(0).stdout;
    let newest = listed.lines().find(|line| line.starts_with('@'));
    let number = format!("@{} ", show(&kb, "start/one")["number"]);
    assert!(
        newest.is_some_and(|line| line.starts_with(&number)),
        "{listed}"
    );
    let shown = kb.run(&["show", "start/one"]).exits(0).stdout;
    assert!(shown.contains("title: one # mine\n"), "{shown}");
}

#[test]
fn looking_asks_nothing_and_changes_nothing() {
    let (service, kb, _) = with_a_past();
    service.sandbox.clear_requests();
    let before = kb.articles();
    for arguments in [
        &["log"][..],
        &["log", "-p", "start/one"],
        &["show", "start/one@1"],
        &["restore", "--dry-run", "start/one@1"],
    ] {
        kb.run(arguments).exits(0);
    }
    assert_eq!(kb.articles(), before);
    assert_eq!(service.sandbox.counts().total, 0);
    let fresh = service.mirror();
    assert_eq!(fresh.run(&["log"]).exits(0).stdout, "");
    fresh
        .run(&["show", "start/one"])
        .exits(2)
        .complains("empty", "kbsync sync");
    fresh
        .run(&["restore", "start/one"])
        .exits(2)
        .complains("empty", "kbsync sync");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let (_service, kb, _) = with_a_past();
    for arguments in [
        &["log"][..],
        &["log", "-p", "start/one"],
        &["show", "start/one"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kbsync"))
            .args(arguments)
            .current_dir(kb.mirror())
            .env("KBSYNC_USER_STATE_DIR", kb.mirror())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn an_edited_article_gets_an_earlier_version_back_on_both_sides() {
    let (service, kb, one) = with_a_past();
    kb.edit(
        "start/one.html",
        "title: one\n",
        "title: one\nowner: docs # mine\n",
    );
    let json = kb
        .run(&["restore", "--yes", "start/one@1", "--json"])
        .exits(0)
        .json();
    schema::check("report", &json);
    assert_eq!(json["actions"][0]["action"], "restore");
    assert_eq!(json["actions"][0]["fields"], serde_json::json!(["text"]));
    assert_eq!(json["actions"][1]["side"], "remote");
    let file = kb.read("start/one.html");
    assert_eq!(
        file,
        format!("---\nid: {one}\ntitle: one\nowner: docs # mine\n---\n<p>First.</p>\n")
    );
    assert_eq!(service.text(one), "<p>First.</p>");
    let listed = versions(&log(&kb, &["start/one"]));
    assert!(
        listed
            .iter()
            .any(|(_, _, cause)| cause == "restored from @1"),
        "{listed:?}"
    );
    // Restored back: without a number, `restore` takes the version before the present one.
    kb.run(&["restore", "--yes", "start/one"]).exits(0);
    assert_eq!(service.text(one), "<p>Third, there.</p>");
    assert!(kb.read("start/one.html").contains("owner: docs # mine"));
    kb.run(&["sync"]).exits(0);
    service.sandbox.clear_requests();
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.counts().total, 1);
}

#[test]
fn an_edit_that_was_not_synced_is_in_the_history_before_it_is_replaced() {
    let (service, kb, one) = with_a_past();
    kb.edit("start/one.html", "Third, there.", "Never synced.");
    let said = kb.run(&["restore", "--yes", "start/one@2"]).exits(0).stdout;
    assert_eq!(service.text(one), "<p>Second, here.</p>");
    let json = log(&kb, &["-p", "start/one"]);
    let number = json["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .find(|version| {
            version["diff"]
                .as_str()
                .is_some_and(|diff| diff.contains("+<p>Never synced.</p>"))
        })
        .expect("it is there")["number"]
        .to_string();
    assert_eq!(
        show(&kb, &format!("start/one@{number}"))["text"],
        "<p>Never synced.</p>"
    );
    let told = "the replaced text is in the history";
    assert!(said.contains(told), "{said}");
    // The same for a file that is not ready.
    kb.edit("start/one.html", "title:", "titel:");
    let broken = kb.read("start/one.html");
    let said = kb.run(&["restore", "--yes", "start/one@2"]).exits(0).stdout;
    assert!(said.contains(told), "{said}");
    let json = log(&kb, &["start/one"]);
    let versions = json["versions"].as_array().expect("versions").iter();
    let mut shown = versions.map(|version| {
        let number = version["number"].to_string();
        kb.run(&["show", &format!("start/one@{number}")]).exits(0)
    });
    assert!(shown.any(|shown| shown.stdout.contains(broken.trim_end())));
}

#[test]
fn a_deleted_article_comes_back_as_a_new_one_that_names_the_old() {
    let (service, kb, one) = with_a_past();
    kb.remove("start/one.html");
    kb.run(&["sync"]).exits(0);
    assert!(service.sandbox.article(one).is_none());
    let text = kb.run(&["log", "start/one"]).exits(0).stdout;
    assert!(text.contains("kbsync restore start/one"), "{text}");
    assert_eq!(log(&kb, &[&one.to_string()])["path"], Value::Null);
    let dry = kb.run(&["restore", "start/one.html", "--dry-run"]).exits(0);
    assert!(dry.stdout.contains("+<p>Third, there.</p>"), "{dry:#?}");
    assert!(!kb.exists("start/one.html"));
    kb.run(&["restore", "--yes", "start/one.html"]).exits(0);
    let file = kb.read("start/one.html");
    assert!(file.contains(&format!("# restored from {one}@")), "{file}");
    let articles = service.sandbox.articles();
    let new = articles
        .iter()
        .find(|article| article.slug == "one")
        .expect("it is there");
    assert_ne!(new.id, one);
    assert_eq!(new.text, "<p>Third, there.</p>");
    assert!(file.contains(&format!("id: {}", new.id)), "{file}");
    // The old article's history is reachable from the new article.
    let json = log(&kb, &["start/one"]);
    assert_eq!(json["id"], new.id.to_string());
    assert_eq!(json["others"], serde_json::json!([one.to_string()]));
    let listed = versions(&json);
    let (_, _, cause) = listed.last().expect("a first version");
    let from = cause.strip_prefix("restored from ").expect(cause);
    assert_eq!(show(&kb, from)["text"], "<p>Third, there.</p>");
    kb.run(&[
        "restore",
        "--yes",
        &format!("{one}@1"),
        "--to",
        "start/uno.html",
    ])
    .exits(0);
    assert!(kb.read("start/uno.html").contains("<p>First.</p>"));
    assert!(
        service
            .sandbox
            .articles()
            .iter()
            .any(|article| article.slug == "uno")
    );
    kb.run(&["sync"]).exits(0);
}

#[test]
fn a_version_of_what_is_hidden_is_shown_hidden() {
    let (_service, kb, _) = with_a_past();
    let written = "---\ntitle: New\nenabled: false\n---\n<p>New.</p>\n";
    kb.write("start/new.html", written);
    kb.run(&["sync"]).exits(0);
    // The output can replace the file as it is.
    let shown = kb.run(&["show", "start/new.html"]).exits(0).stdout;
    assert_eq!(shown, kb.read("start/new.html"));
    // The category does not count as changed when the article was created.
    let listed = log(&kb, &["start/new.html"]);
    assert_eq!(listed["versions"][0]["changed"], serde_json::json!([]));
    kb.remove("start/new.html");
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    let shown = kb.run(&["show", "start/new.html"]).exits(0).stdout;
    assert!(shown.contains("\nenabled: false\n"), "{shown}");
}

#[test]
fn what_was_hidden_comes_back_hidden() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.write(
        "start/secret.html",
        "---\ntitle: Secret\ndraft: true\n---\n<p>Not yet.</p>\n",
    );
    kb.write(
        "start/off.html",
        "---\ntitle: Off\nenabled: false\n---\n<p>Off.</p>\n",
    );
    kb.run(&["sync"]).exits(0);
    kb.remove("start/secret.html");
    kb.remove("start/off.html");
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 1);
    kb.run(&["restore", "start/secret"]).exits(0);
    kb.run(&["restore", "start/off"]).exits(0);
    let flags = |slug: &str| {
        let articles = service.sandbox.articles();
        let article = articles
            .iter()
            .find(|article| article.slug == slug)
            .expect("there");
        (article.enabled, article.draft)
    };
    assert_eq!(flags("secret"), (true, true));
    assert_eq!(flags("off"), (false, false));
}

#[test]
fn what_was_hidden_and_never_sent_comes_back_hidden() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    service
        .sandbox
        .inject(Fault::always(Matcher::any(), FaultKind::Html));
    let hidden = "---\ntitle: Off\nenabled: false\n---\n<p>Off.</p>\n";
    kb.write("start/gone.html", hidden);
    kb.write("start/broken.html", hidden);
    kb.run(&["sync"]).exits(1);
    kb.remove("start/gone.html");
    kb.write("start/broken.html", "half a save");
    service.sandbox.clear_faults();
    kb.run(&["restore", "start/broken.html@1"]).exits(0);
    kb.run(&["restore", "start/gone.html"]).exits(0);
    let articles = service.sandbox.articles();
    assert_eq!(articles.len(), 3, "{articles:?}");
    for article in articles.iter().filter(|article| article.slug != "two") {
        assert!(!article.enabled, "{article:?}");
    }
}

#[test]
fn an_article_comes_back_into_the_category_whose_folder_went() {
    let (service, kb, _one) = with_a_past();
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 0);
    kb.run(&["restore", "--yes", "start/one.html"]).exits(0);
    kb.run(&["sync"]).exits(0);
    let categories = service.sandbox.categories();
    assert_eq!(categories.len(), 1, "{categories:?}");
    let articles = service.sandbox.articles();
    assert_eq!(articles.len(), 1, "{articles:?}");
    assert_eq!(articles[0].text, "<p>Third, there.</p>");
    assert_eq!(articles[0].category_id, categories[0].id);
}

#[test]
fn a_place_that_is_taken_is_not_written_over() {
    let (service, kb, one) = with_a_past();
    kb.remove("start/one.html");
    kb.run(&["sync"]).exits(0);
    kb.write(
        "start/one.html",
        "---\ntitle: Another\n---\n<p>Another.</p>\n",
    );
    kb.run(&["restore", "--yes", &one.to_string()])
        .exits(2)
        .complains("something else is at start/one.html", "--to");
    for (to, error) in [
        ("start/two.html", "something else is at"),
        ("start/one.conflict.html", "cannot be at"),
        ("start/a b.html", "cannot be at"),
        ("start/one.txt", "cannot be at"),
        ("one.html", "cannot be at"),
        ("a/b/one.html", "cannot be at"),
    ] {
        kb.run(&["restore", "--yes", &one.to_string(), "--to", to])
            .exits(2)
            .complains(error, "");
    }
    assert!(kb.read("start/one.html").contains("Another"));
    let attic = [
        "restore",
        "--yes",
        &one.to_string(),
        "--to",
        "attic/one.html",
    ];
    kb.run(&attic)
        .exits(2)
        .complains("in no category's folder", "make its folder");
    std::fs::create_dir(kb.mirror().join("attic")).expect("a folder");
    kb.run(&attic).exits(0);
    assert!(kb.exists("attic/_category.yaml"));
    assert_eq!(service.sandbox.articles().len(), 2);
}

#[test]
fn a_folder_stands_for_the_files_that_were_removed_from_it() {
    let service = Service::empty();
    let (start, other) = (service.category("start"), service.category("other"));
    for number in 1..=4 {
        service.article(start, &format!("n{number}"), "<p>One.</p>");
        service.article(other, &format!("m{number}"), "<p>One.</p>");
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let before = kb.articles();
    kb.run(&["restore", "start"])
        .exits(2)
        .complains("no file of an article is missing in start", "name a file");
    for path in ["start/n1", "start/n2", "start/n3", "other/m1"] {
        kb.remove(&format!("{path}.html"));
    }
    kb.run(&["sync"]).exits(3);
    kb.run(&["restore", "start", "--to", "start/n9.html"])
        .exits(2)
        .complains("--to is for one article", "");
    let json = kb
        .run(&["restore", "start", "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(json["files"].as_array().expect("a list").len(), 3);
    service.sandbox.clear_requests();
    let json = kb.run(&["restore", "start", "--json"]).exits(0).json();
    schema::check("report", &json);
    assert_eq!(json["actions"].as_array().expect("a list").len(), 3);
    assert!(!kb.exists("other/m1.html"));
    let writes = service.sandbox.counts();
    assert_eq!((writes.post, writes.put, writes.delete), (0, 0, 0));
    kb.run(&["restore", "."]).exits(0);
    assert_eq!(kb.articles(), before);
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 8);
    // An article that was deleted on both sides comes back by its id, as a new article.
    let file = kb.read("start/n2.html");
    let id = file.lines().find_map(|line| line.strip_prefix("id: "));
    let id = id.expect("an id").to_owned();
    kb.remove("start/n2.html");
    kb.run(&["sync"]).exits(0);
    kb.run(&["restore", "other"])
        .exits(2)
        .complains("no file of an article is missing in other", "name a file");
    let ran = kb.run(&["restore", "start"]).exits(2);
    let told = "come back as new ones:\n  kbsync restore start --deleted\n";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    kb.run(&["restore", "--yes", &id]).exits(0);
    assert!(kb.exists("start/n2.html"));
}

#[test]
fn of_a_folder_what_cannot_come_back_is_reported_and_the_rest_comes_back() {
    let service = Service::empty();
    let start = service.category("start");
    for number in 0..6 {
        service.article(start, &format!("n{number}"), "<p>One.</p>");
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let rename = |from: &str, to: &str| {
        let path = |name: &str| kb.mirror().join("start").join(name);
        std::fs::rename(path(from), path(to)).expect("renamed");
    };
    rename("n1.html", "n0.html");
    rename("n3.html", "n2.html");
    let ran = kb.run(&["restore", "start"]).exits(2).complains(
        "none of the 2 files can be brought back",
        "the reason for each:",
    );
    for name in ["n0", "n2"] {
        let each = format!("\n  start/{name}.html: something else is at start/{name}.html; move");
        assert!(ran.stderr.contains(&each), "{}", ran.stderr);
    }
    kb.remove("start/n4.html");
    let dry = kb
        .run(&["restore", "start", "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(dry["files"].as_array().expect("a list").len(), 1);
    assert!(dry["notes"].to_string().contains("move it away"), "{dry}");
    let json = kb.run(&["restore", ".", "--json"]).exits(4).json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "partial");
    let told: Vec<&str> = json["problems"]
        .as_array()
        .expect("problems")
        .iter()
        .filter_map(|problem| problem["path"].as_str())
        .collect();
    assert_eq!(told, ["start/n0.html", "start/n2.html"]);
    assert!(kb.exists("start/n4.html"));
    assert_eq!(service.sandbox.articles().len(), 6);
}

/// The listing of the cycle that deleted the articles still showed them. A listing that old says nothing new about
/// their places.
#[test]
fn what_was_deleted_with_its_whole_folder_comes_back_where_it_was() {
    let service = Service::empty();
    let start = service.category("start");
    for number in 1..=3 {
        service.article(start, &format!("n{number}"), "<p>One.</p>");
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 0);
    let ran = kb.run(&["restore", "start"]).exits(2);
    let told = "articles that were deleted in the folder come back as new ones";
    assert!(ran.stderr.contains(told), "{ran:#?}");
    kb.run(&["restore", "--yes", "start/n2.html"]).exits(0);
    assert!(kb.exists("start/n2.html"), "{:?}", kb.articles());
    assert_eq!(service.sandbox.articles().len(), 1);
}

#[test]
fn a_folder_whose_name_is_not_the_slug_comes_back_as_the_category_that_it_was() {
    let service = Service::empty();
    let about = service.category("about-us");
    for number in 1..=5 {
        service.article(about, &format!("n{number}"), "<p>One.</p>");
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let folder = "Über uns & Co";
    kb.write(
        "about-us/_category.yaml",
        &(kb.read("about-us/_category.yaml") + "slug: about-us\n"),
    );
    std::fs::rename(kb.mirror().join("about-us"), kb.mirror().join(folder)).expect("renamed");
    kb.run(&["sync"]).exits(0);
    let whole = |kb: &Kb| {
        kb.run(&["sync"]).exits(0);
        let categories = service.sandbox.categories();
        assert_eq!(categories.len(), 1, "{categories:?}");
        assert_eq!(categories[0].slug, "about-us");
        service.sandbox.articles().len()
    };
    let gone = |kb: &Kb| std::fs::remove_dir_all(kb.mirror().join(folder)).expect("removed");
    // Each case in turn: one file, the held removals, and a deleted article.
    kb.remove(&format!("{folder}/n1.html"));
    kb.run(&["sync"]).exits(0);
    kb.run(&["restore", "--yes", &format!("{folder}/n1.html")])
        .exits(0);
    assert_eq!(whole(&kb), 5);
    gone(&kb);
    kb.run(&["sync"]).exits(3);
    kb.run(&["restore", folder]).exits(0);
    assert_eq!(whole(&kb), 5);
    gone(&kb);
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    kb.run(&["restore", "--yes", &format!("{folder}/n2.html")])
        .exits(0);
    assert_eq!(whole(&kb), 1);
}

#[test]
fn a_place_that_is_ignored_is_refused() {
    let (service, kb, one) = with_a_past();
    kb.remove("start/one.html");
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    kb.write(".kbsyncignore", "start/one.html\n");
    kb.run(&["restore", "--yes", "start/one.html"])
        .exits(2)
        .complains("is ignored", ".kbsyncignore");
    assert!(!kb.exists("start/one.html"));
    kb.run(&[
        "restore",
        "--yes",
        &one.to_string(),
        "--to",
        "start/uno.html",
    ])
    .exits(0);
    assert_eq!(service.sandbox.articles().len(), 2);
}

#[test]
fn several_deleted_articles_of_one_path_are_distinguished_by_id() {
    let (service, kb, one) = with_a_past();
    kb.remove("start/one.html");
    kb.run(&["sync"]).exits(0);
    kb.write(
        "start/one.html",
        "---\ntitle: Another\n---\n<p>Another.</p>\n",
    );
    kb.run(&["sync"]).exits(0);
    let articles = service.sandbox.articles();
    let other = articles
        .iter()
        .find(|article| article.slug == "one")
        .expect("there")
        .id;
    // While an article lives at the path, the path means this article.
    let ran = kb.run(&["log", "start/one"]).exits(0);
    assert!(ran.stdout.contains(&other.to_string()), "{ran:#?}");
    assert!(ran.stderr.contains(&one.to_string()), "{ran:#?}");
    kb.remove("start/one.html");
    kb.run(&["sync"]).exits(0);
    // The path means the article that was deleted last, and the command names the others.
    let ran = kb.run(&["restore", "start/one", "--dry-run"]).exits(0);
    assert!(ran.stdout.contains("+<p>Another.</p>"), "{ran:#?}");
    assert!(
        ran.stderr.contains(&format!("`kbsync restore {one}`")),
        "{ran:#?}"
    );
    kb.run(&["restore", "--yes", &one.to_string()]).exits(0);
    assert!(kb.read("start/one.html").contains("<p>Third, there.</p>"));
}

#[test]
fn the_article_that_was_deleted_last_comes_back_however_old_its_words_are() {
    let (service, kb, one) = with_a_past();
    let gone = |path: &str| {
        kb.remove(path);
        kb.run(&["sync"]).exits(0);
    };
    // Another article has the path for a while, with later words, and is deleted first.
    kb.run(&["sync"]).exits(0);
    std::fs::rename(
        kb.mirror().join("start/one.html"),
        kb.mirror().join("start/away.html"),
    )
    .expect("renamed");
    kb.run(&["sync"]).exits(0);
    kb.write("start/one.html", "---\ntitle: Other\n---\n<p>Other.</p>\n");
    kb.run(&["sync"]).exits(0);
    // While one of the articles is elsewhere, the path is ambiguous, and the printed commands can be pasted.
    gone("start/one.html");
    let ran = kb.run(&["restore", "--yes", "start/one.html@1"]).exits(2);
    assert!(
        ran.stderr.contains(&format!(
            "\n  kbsync restore {one}@1  # now start/away.html"
        )),
        "{ran:#?}"
    );
    std::fs::rename(
        kb.mirror().join("start/away.html"),
        kb.mirror().join("start/one.html"),
    )
    .expect("renamed");
    kb.run(&["sync"]).exits(0);
    gone("start/one.html");
    let shown = kb.run(&["show", "start/one.html"]).exits(0);
    assert!(shown.stdout.contains("Third, there."), "{shown:#?}");
    kb.run(&["restore", "--yes", "start/one.html"]).exits(0);
    assert!(kb.read("start/one.html").contains("<p>Third, there.</p>"));
    assert_eq!(service.sandbox.articles().len(), 2);
}

#[test]
fn a_renamed_article_is_found_by_its_former_path() {
    let (service, kb, one) = with_a_past();
    std::fs::rename(
        kb.mirror().join("start/one.html"),
        kb.mirror().join("start/uno.html"),
    )
    .expect("renamed");
    kb.run(&["sync"]).exits(0);
    assert_eq!(log(&kb, &["start/one"])["path"], "start/uno.html");
    let text = kb.run(&["log", "start/uno"]).exits(0).stdout;
    assert!(text.contains("was start/one.html"), "{text}");
    kb.run(&["restore", "--yes", "start/one@1"]).exits(0);
    assert!(kb.read("start/uno.html").contains("<p>First.</p>"));
    let article = service.sandbox.article(one).expect("there");
    assert_eq!(
        (article.slug.as_str(), article.text.as_str()),
        ("uno", "<p>First.</p>")
    );
}

#[test]
fn a_file_that_moved_to_another_category_is_no_merge() {
    let (service, kb, _) = with_a_past();
    let guide = service.category("guide");
    service.article(guide, "three", "<p>Three.</p>");
    kb.run(&["sync"]).exits(0);
    let place = |path: &str| kb.mirror().join(path);
    std::fs::rename(place("start/one.html"), place("guide/one.html")).expect("moved");
    kb.run(&["sync"]).exits(0);
    let log = kb.run(&["log", "guide/one.html"]).exits(0).stdout;
    assert!(log.contains("moved"), "{log}");
    assert!(!log.contains("merged"), "{log}");
}

#[test]
fn an_emptied_mirror_gets_its_folders_and_files_back() {
    let service = Service::start();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let before = kb.articles();
    for folder in std::fs::read_dir(kb.mirror()).expect("listed") {
        let folder = folder.expect("an entry");
        let is_private = folder.file_name() == ".kbsync";
        if folder.path().is_dir() && !is_private {
            std::fs::remove_dir_all(folder.path()).expect("removed");
        }
    }
    assert_eq!(kb.articles().len(), 1, "the settings");
    kb.run(&["restore", "."]).exits(0);
    assert_eq!(kb.articles(), before);
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 3);
}

#[test]
fn an_article_in_conflict_is_settled_first() {
    let (service, kb, one) = with_a_past();
    kb.edit("start/one.html", "Third, there.", "Mine.");
    service
        .sandbox
        .edit(one, |article| article.text = "<p>Theirs.</p>".into());
    kb.run(&["sync"]).exits(3);
    kb.run(&["restore", "--yes", "start/one@1"])
        .exits(3)
        .complains(
            "start/one.html is in conflict",
            "settle that first with `kbsync resolve start/one.html --keep local`",
        );
    kb.run(&["resolve", "start/one", "--keep", "remote"])
        .exits(0);
    // The losing version is a version like any other.
    let json = log(&kb, &["-p", "start/one"]);
    let mine = json["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .find(|version| {
            version["diff"]
                .as_str()
                .is_some_and(|diff| diff.contains("+<p>Mine.</p>"))
        });
    let number = mine.expect("it is kept")["number"].to_string();
    kb.run(&["restore", "--yes", &format!("start/one@{number}")])
        .exits(0);
    assert_eq!(service.text(one), "<p>Mine.</p>");
}

#[test]
fn a_removed_file_of_a_living_article_comes_back_as_the_same_article() {
    let (service, kb, one) = with_a_past();
    kb.remove("start/one.html");
    kb.run(&["restore", "--yes", "start/one@1"]).exits(0);
    assert_eq!(service.text(one), "<p>First.</p>");
    assert_eq!(
        kb.read("start/one.html"),
        format!("---\nid: {one}\ntitle: one\n---\n<p>First.</p>\n")
    );
    assert_eq!(service.sandbox.articles().len(), 2);
}

#[test]
fn f122_a_broken_file_is_kept_as_it_is_and_replaced() {
    let (service, kb, one) = with_a_past();
    kb.write("start/one.html", "---\ntitle: [\n---\nhalf a save");
    kb.run(&["sync"]).exits(4);
    kb.run(&["restore", "start/one@4"]).exits(0);
    assert_eq!(service.text(one), "<p>Third, there.</p>");
    assert!(kb.read("start/one.html").contains("<p>Third, there.</p>"));
    let json = log(&kb, &["start/one"]);
    let broken = json["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .any(|version| {
            let shown = show(&kb, &format!("start/one@{}", version["number"]));
            shown["file"]
                .as_str()
                .is_some_and(|file| file.contains("half a save"))
        });
    assert!(broken, "{json:#}");
    // Bytes that are not text cannot be stored in the history, so they are not replaced.
    std::fs::write(
        kb.mirror().join("start/one.html"),
        b"---\ntitle: \xff\n---\n",
    )
    .expect("written");
    kb.run(&["restore", "start/one@1"])
        .exits(2)
        .complains("cannot keep", "move it away");
}

#[test]
fn a_category_has_versions_too() {
    let (service, kb, _) = with_a_past();
    let yaml = "start/_category.yaml";
    let before = kb.read(yaml);
    kb.edit(yaml, "name: start", "# ours\nname: Begin here");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.categories()[0].name, "Begin here");
    let listed = versions(&log(&kb, &[yaml]));
    assert!(
        listed.iter().any(|(_, side, _)| side == "local"),
        "{listed:?}"
    );
    let text = kb.run(&["log", yaml]).exits(0).stdout;
    assert!(text.contains("name"), "{text}");
    assert_eq!(
        kb.run(&["show", &format!("{yaml}@1")]).exits(0).stdout,
        before
    );
    kb.run(&["restore", "--yes", &format!("{yaml}@1")]).exits(0);
    assert_eq!(service.sandbox.categories()[0].name, "start");
    assert!(
        kb.read(yaml).contains("# ours"),
        "the writer's comment stays"
    );
}

#[test]
fn comments_and_own_keys_come_back_with_a_deleted_article() {
    let (service, kb, _) = with_a_past();
    kb.edit(
        "start/one.html",
        "title: one\n",
        "title: one # short\nowner: docs\n",
    );
    kb.run(&["sync"]).exits(0);
    kb.remove("start/one.html");
    kb.run(&["sync"]).exits(0);
    kb.run(&["restore", "--yes", "start/one"]).exits(0);
    let file = kb.read("start/one.html");
    assert!(file.contains("title: one # short\nowner: docs\n"), "{file}");
    assert_eq!(service.sandbox.articles().len(), 2);
}

#[test]
fn a_file_without_its_id_line_moves_to_another_workspace() {
    let (service, kb, one, _) = two_workspaces();
    let with_id = kb.read("en/start/one.html");
    kb.remove("en/start/one.html");
    kb.write("de/start/one.html", &with_id);
    // With its id line, the file belongs to the other workspace, and is not created here.
    kb.run(&["sync", "de"]).exits(3);
    assert_eq!(service.sandbox.articles().len(), 2);
    let without = with_id.replace(&format!("id: {one}\n"), "");
    kb.write("de/start/one.html", &without);
    kb.run(&["sync"]).exits(0);
    let articles = service.sandbox.articles();
    assert_eq!(articles.len(), 2, "{articles:?}");
    assert!(service.sandbox.article(one).is_none());
    assert!(kb.read("de/start/one.html").contains("\nid: "));
}

#[test]
fn above_several_workspaces_the_folders_are_named_that_a_command_can_be_about() {
    let (_service, kb, _, _) = two_workspaces();
    kb.remove("de/start/eins.html");
    kb.run(&["restore", "."])
        .exits(2)
        .complains("holds the folders of several workspaces", "en/, de/");
    kb.run(&["sync", "fr"])
        .exits(2)
        .complains("fr is in none of the workspaces' folders", "en/, de/");
    kb.run(&["restore", "de"]).exits(0);
    assert!(kb.exists("de/start/eins.html"));
}

#[test]
fn several_workspaces_have_a_history_each() {
    let (service, kb, one, eins) = two_workspaces();
    kb.edit("de/start/eins.html", "Eins.", "Zwei.");
    kb.edit("en/start/one.html", "One.", "Two.");
    kb.run(&["sync"]).exits(0);
    let json = log(&kb, &[]);
    let paths: Vec<&str> = json["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["path"].as_str())
        .collect();
    assert!(
        paths.contains(&"de/start/eins.html") && paths.contains(&"en/start/one.html"),
        "{paths:?}"
    );
    assert_eq!(log(&kb, &["de"])["path"], "de");
    assert_eq!(log(&kb, &["de/start"])["path"], "de/start");
    assert_eq!(log(&kb, &[&eins.to_string()])["path"], "de/start/eins.html");
    let ran = kb
        .run(&["restore", "--yes", "de/start/eins", "--json"])
        .exits(0);
    assert_eq!(ran.json()["actions"][0]["path"], "de/start/eins.html");
    assert_eq!(service.text(eins), "<p>Eins.</p>");
    assert_eq!(service.text(one), "<p>Two.</p>");
    kb.remove("de/start/eins.html");
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    kb.run(&[
        "restore",
        "--yes",
        "de/start/eins",
        "--to",
        "en/start/eins.html",
    ])
    .exits(2);
    kb.run(&[
        "restore",
        "--yes",
        "de/start/eins",
        "--to",
        "de/start/uno.html",
    ])
    .exits(0);
    assert!(kb.exists("de/start/uno.html"));
}

#[test]
fn a_version_that_differs_by_a_line_of_kbsync_only_names_its_key() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "title:", "# mine\ntitle:");
    kb.run(&["sync"]).exits(0);
    for line in ["enabled: false", "slug: one", "# another"] {
        kb.edit("start/one.html", "title:", &format!("{line}\ntitle:"));
        kb.run(&["sync"]).exits(0);
    }
    let text = kb.run(&["log", "start/one.html"]).exits(0).stdout;
    let rows = text.lines().rev().filter(|line| line.starts_with('@'));
    let changed: Vec<&str> = rows
        .map(|row| row.rsplit("  ").next().expect("a cell").trim())
        .collect();
    let own = "comments, quotes or keys of your own";
    assert_eq!(changed[1..], [own, "enabled", "slug", own], "{text}");
}
