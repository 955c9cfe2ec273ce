//! `kbsync status`: no request and no lock, as text and as JSON.

use crate::support::kb::{Kb, Service};
use crate::support::schema;
use serde_json::Value;
use uuid::Uuid;

fn synced() -> (Service, Kb, Vec<Uuid>) {
    let service = Service::empty();
    let start = service.category("start");
    let ids = ["one", "two", "three", "four", "five"]
        .map(|slug| service.article(start, slug, &format!("<p>{slug}</p>")));
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    service.sandbox.clear_requests();
    (service, kb, ids.to_vec())
}

fn json(kb: &Kb, arguments: &[&str], code: i32) -> Value {
    let json = kb.run(arguments).exits(code).json();
    schema::check("status", &json);
    json
}

/// Returns the changes as `change path (fields)`.
fn changes(json: &Value) -> Vec<String> {
    json["changes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|change| {
            let fields: Vec<&str> = change["fields"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let word = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {} {} ({})",
                word("side"),
                word("change"),
                word("path"),
                fields.join(",")
            )
            .trim_start()
            .to_owned()
        })
        .collect()
}

#[test]
fn before_the_first_sync_everything_is_new() {
    let service = Service::start();
    let kb = service.mirror();
    let ran = kb.run(&["status"]).exits(0);
    assert!(
        ran.stdout.contains("Nothing has been synced yet"),
        "{ran:#?}"
    );
    // The budget depends on the token, and `status` does not read the token.
    assert!(ran.stdout.ends_with("never synced\n"), "{ran:#?}");
    kb.write("start/mine.html", "---\ntitle: Mine\n---\n<p>x</p>\n");
    let json = json(&kb, &["status", "--json", "--exit-code"], 1);
    assert_eq!(
        changes(&json),
        ["created start ()", "created start/mine.html ()"]
    );
    assert_eq!(json["last_sync"], Value::Null);
    assert_eq!(json["daemon"], Value::Null);
    assert!(!kb.exists(".kbsync"), "it makes nothing");
    assert_eq!(service.sandbox.counts().total, 0);
}

#[test]
fn every_kind_of_change_is_reported_without_a_request() {
    let (service, kb, ids) = synced();
    let quiet = json(&kb, &["status", "--json", "--exit-code"], 0);
    assert_eq!(changes(&quiet), Vec::<String>::new());
    assert_eq!(quiet["budget"]["minute_left"], 58);
    assert!(quiet["last_sync"].is_string());
    kb.edit("start/one.html", "title: one", "title: Uno");
    kb.edit("start/one.html", "<p>one</p>", "<p>uno</p>");
    std::fs::rename(
        kb.mirror().join("start/two.html"),
        kb.mirror().join("start/zwei.html"),
    )
    .expect("renamed");
    kb.remove("start/three.html");
    kb.write("start/six.html", "---\ntitle: Six\n---\n");
    kb.write("start/seven.html", "no front matter");
    kb.edit("start/_category.yaml", "name: start", "name: Beginn");
    let json = json(&kb, &["status", "--json", "--exit-code"], 1);
    assert_eq!(
        changes(&json),
        [
            "modified start (name)",
            "modified start/one.html (title,text)",
            "created start/six.html ()",
            "deleted start/three.html ()",
            "moved start/zwei.html (slug)",
        ]
    );
    assert_eq!(json["changes"][1]["id"], ids[0].to_string().as_str());
    assert_eq!(json["problems"][0]["path"], "start/seven.html");
    assert_eq!(service.sandbox.counts().total, 0);
    let words = kb.run(&["status"]).exits(0).stdout;
    for line in [
        "Changed in the mirror:",
        "  updated   start/one.html (title, text)",
        "  deleted   start/three.html",
        "Left out:",
        "; 58 requests left this minute, 1,438 today",
    ] {
        assert!(words.contains(line), "no {line:?} in {words}");
    }
}

#[test]
fn f043_held_deletions_and_conflicts_are_remembered() {
    let (service, kb, ids) = synced();
    kb.edit("start/one.html", "<p>one</p>", "<p>mine</p>");
    service
        .sandbox
        .edit(ids[0], |article| article.text = "<p>theirs</p>".into());
    for name in ["two", "three", "four", "five"] {
        kb.remove(&format!("start/{name}.html"));
    }
    kb.run(&["sync"]).exits(3);
    service.sandbox.clear_requests();
    let first = json(&kb, &["status", "--json"], 0);
    assert_eq!(first["held"].as_array().map(Vec::len), Some(4));
    assert_eq!(first["held"][0]["path"], "start/five.html");
    assert_eq!(first["held"][0]["action"], "delete");
    assert!(
        first["held"][0]["reason"]
            .as_str()
            .is_some_and(|why| why.contains("kbsync approve"))
    );
    assert_eq!(first["conflicts"][0]["path"], "start/one.html");
    assert!(first["conflicts"][0]["since"].is_string());
    assert_eq!(first["conflicts"].as_array().map(Vec::len), Some(1));
    assert_eq!(service.sandbox.counts().total, 0);
    // A partial cycle says nothing about the other files.
    kb.run(&["pull"]).exits(3);
    kb.run(&["sync", "start/one.html"]).exits(3);
    let second = json(&kb, &["status", "--json"], 0);
    assert_eq!(second["held"], first["held"]);
    // The copy is gone: the conflict is resolved, and is sent with the next sync.
    kb.remove("start/one.conflict.html");
    let third = json(&kb, &["status", "--json"], 0);
    assert_eq!(third["conflicts"], serde_json::json!([]));
    assert!(changes(&third).contains(&"modified start/one.html (text)".to_owned()));
}

#[test]
fn articles_that_readers_do_not_see_are_listed() {
    let (service, kb, ids) = synced();
    service.sandbox.unpublish(ids[1]);
    service.sandbox.disable(ids[2]);
    kb.run(&["sync"]).exits(0);
    let json = json(&kb, &["status", "--json", "--exit-code"], 0);
    assert_eq!(json["invisible"][0]["path"], "start/three.html");
    assert_eq!(json["invisible"][0]["reason"], "disabled");
    assert_eq!(json["invisible"][1]["path"], "start/two.html");
    assert_eq!(json["invisible"][1]["reason"], "a draft");
}

#[test]
fn f115_what_the_service_refused_waits_and_is_reported() {
    let (service, kb, _) = synced();
    let rights = kbsync::sandbox::Rights::everywhere(kbsync::sandbox::Access::Read);
    service.sandbox.add_token(crate::support::kb::TOKEN, rights);
    kb.edit("start/one.html", "<p>one</p>", "<p>mine</p>");
    kb.run(&["sync"]).exits(4);
    let json = json(&kb, &["status", "--json"], 0);
    assert_eq!(json["held"][0]["path"], "start/one.html");
    assert_eq!(json["held"][0]["action"], "update");
    assert!(
        json["held"][0]["reason"]
            .as_str()
            .is_some_and(|why| why.contains("403"))
    );
}

#[test]
fn with_remote_both_sides_changes_are_reported_and_nothing_is_touched() {
    let (service, kb, ids) = synced();
    kb.edit("start/one.html", "<p>one</p>", "<p>mine</p>");
    service
        .sandbox
        .edit(ids[1], |article| article.title = "Zwei".into());
    kb.edit("start/three.html", "<p>three</p>", "<p>mine</p>");
    service
        .sandbox
        .edit(ids[2], |article| article.text = "<p>theirs</p>".into());
    let before = kb.articles();
    let json = json(&kb, &["status", "--remote", "--json", "--exit-code"], 1);
    assert_eq!(
        changes(&json),
        [
            "local modified start/one.html (text)",
            "remote modified start/two.html (title)",
        ]
    );
    assert_eq!(json["conflicts"][0]["path"], "start/three.html");
    assert_eq!(kb.articles(), before);
    assert_eq!(service.text(ids[0]), "<p>one</p>");
    assert_eq!(service.sandbox.counts().total, 1);
    let words = kb.run(&["status", "--remote"]).exits(0).stdout;
    assert!(
        words.contains("Changed on the service:\n  updated   start/two.html (title)"),
        "{words}"
    );
    service.sandbox.revoke_token(crate::support::kb::TOKEN);
    let ran = kb.run(&["status", "--remote"]).exits(1);
    assert!(ran.stderr.contains("help: make a new token"), "{ran:#?}");
}

#[test]
fn without_a_token_it_works_all_the_same() {
    let (_service, mut kb, _) = synced();
    kb.set("KBSYNC_TOKEN", "");
    let json = json(&kb, &["status", "--json"], 0);
    crate::support::schema::check("status", &json);
    // The mirror records which budget was used last.
    assert!(json["budget"]["day_left"].as_u64() < Some(1440), "{json}");
    let ran = kb.run(&["status"]).exits(0);
    assert!(ran.stdout.contains("left this minute"), "{ran:#?}");
    kb.run(&["diff"]).exits(0);
}

#[test]
fn without_the_service_what_changed_here_is_reported_all_the_same() {
    let (service, kb, _) = synced();
    kb.edit("start/two.html", "two", "two, edited");
    service.sandbox.revoke_token(crate::support::kb::TOKEN);
    let ran = kb.run(&["status", "--remote"]);
    assert_ne!(ran.code, 0, "{ran:#?}");
    assert!(ran.stdout.contains("start/two.html"), "{ran:#?}");
    assert!(ran.stderr.contains("error:"), "{ran:#?}");
}

#[test]
fn a_conflict_that_nobody_recorded_yet_is_reported_with_what_records_it() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "One.", "Mine.");
    service
        .sandbox
        .edit(one, |article| article.text = "<p>Theirs.</p>".into());
    for arguments in [&["status", "--remote"][..], &["sync", "--dry-run"]] {
        let told = kb.run(arguments).exits(0).stdout;
        assert!(told.contains("`kbsync sync` shows both versions"), "{told}");
        assert!(!told.contains("--keep"), "{told}");
    }
    kb.run(&["sync"]).exits(3);
    for arguments in [
        &["status"][..],
        &["status", "--remote"],
        &["sync", "--dry-run"],
    ] {
        let told = kb.run(arguments).exits(0).stdout;
        let way = "`kbsync resolve start/one.html` settles it, or edit the file";
        assert!(told.contains(way), "{told}");
        // The command that settles the conflict shows the differences.
        assert_eq!(told.contains("theirs:"), arguments[0] == "sync", "{told}");
    }
}

#[test]
fn a_removed_category_file_is_shown_and_said_to_come_back() {
    let (service, kb, start) = crate::cli::categories::synced();
    let path = "start/_category.yaml";
    let before = kb.read(path);
    kb.remove(path);
    let expected = format!("deleted {path} ()");
    assert_eq!(
        changes(&json(&kb, &["status", "--json"], 0)),
        [expected.as_str()]
    );
    let told = kb.run(&["status"]).exits(0).stdout;
    assert!(told.contains(&format!("deleted   {path}\n")), "{told}");
    let both = json(&kb, &["status", "--remote", "--json"], 0);
    assert_eq!(changes(&both), [format!("local {expected}")]);
    let told = kb.run(&["sync"]).exits(0).stdout;
    assert!(
        told.starts_with("← update    start\n") && told.ends_with("1 change (in the mirror)\n"),
        "{told}"
    );
    assert_eq!(kb.read(path), before);
    assert!(service.sandbox.category(start).is_some());
    assert!(changes(&json(&kb, &["status", "--json"], 0)).is_empty());
}

#[test]
fn a_reason_that_holds_several_files_is_printed_once() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>one</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    for number in 1..=3 {
        let id = uuid::Uuid::from_u128(number);
        let text = format!("---\nid: {id}\ntitle: T\n---\n<p>{number}</p>\n");
        kb.write(&format!("start/n{number}.html"), &text);
    }
    for command in ["sync", "status"] {
        let told = kb.run(&[command]).stdout;
        assert_eq!(
            told.matches("resolve PATH --keep local").count(),
            1,
            "{told}"
        );
        assert!(!told.contains("resolve start"), "{told}");
    }
    let both = json(&kb, &["status", "--json"], 0);
    let reason = both["conflicts"][0]["reason"].as_str().expect("a text");
    assert!(
        reason.contains("resolve start/n1.html --keep local"),
        "{reason}"
    );
}
