//! Restores without a version number, and their messages: the writer's own text comes back, and the printed commands
//! work.

use crate::support::kb::{Kb, Service};
use uuid::Uuid;

const FILE: &str = "start/one.html";
const COPY: &str = "start/one.conflict.html";

/// A synced mirror with these articles in `start`.
fn synced(slugs: &[&str]) -> (Service, Kb, Vec<Uuid>) {
    let service = Service::empty();
    let start = service.category("start");
    let article = |slug: &&str| service.article(start, slug, &format!("<p>{slug}.</p>"));
    let ids = slugs.iter().map(article).collect();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    (service, kb, ids)
}

/// `start/one.html` in conflict, with a remark in its copy.
fn remarked() -> (Service, Kb, Uuid) {
    let (service, kb, ids) = synced(&["one"]);
    kb.edit(FILE, "one.", "Mine.");
    service
        .sandbox
        .edit(ids[0], |article| article.text = "<p>Theirs.</p>".into());
    kb.run(&["sync"]).exits(3);
    kb.write(COPY, &format!("{}<p>Notes.</p>\n", kb.read(COPY)));
    (service, kb, ids[0])
}

#[test]
fn of_an_article_that_ended_in_conflict_the_writer_s_file_comes_back() {
    for keep in ["remote", "local", "both"] {
        let (service, kb, one) = remarked();
        service.sandbox.remove(one);
        kb.run(&["sync"]).exits(3);
        kb.run(&["resolve", FILE, "--keep", keep]).exits(0);
        assert!(kb.read(COPY).contains("<p>Notes.</p>"), "{keep}");
        if keep == "remote" {
            let log = kb.run(&["log", FILE]).exits(0).stdout;
            assert!(log.contains("brings it back"), "{log}");
            kb.run(&["restore", "--yes", FILE]).exits(0);
        }
        let now = kb.read(FILE);
        assert!(
            now.contains("<p>Mine.</p>") && !now.contains("slug:"),
            "{keep}: {now}"
        );
    }
}

#[test]
fn the_text_of_an_edited_copy_is_no_version_of_the_article() {
    let (service, kb, one) = remarked();
    kb.run(&["sync"]).exits(3);
    kb.remove(COPY);
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.text(one), "<p>Mine.</p>");
    let ran = kb.run(&["restore", FILE, "--dry-run"]).exits(0).stdout;
    assert!(
        ran.contains("+<p>Theirs.</p>") && !ran.contains("Notes"),
        "{ran}"
    );
}

#[test]
fn with_the_service_s_version_kept_the_one_before_is_the_writer_s() {
    let (_service, kb, _) = remarked();
    kb.run(&["resolve", FILE, "--keep", "remote"]).exits(0);
    let ran = kb.run(&["restore", FILE, "--dry-run"]).exits(0).stdout;
    assert!(
        ran.contains("+<p>Mine.</p>") && !ran.contains("Notes"),
        "{ran}"
    );
}

#[test]
fn the_old_id_of_an_article_that_was_recreated_is_known() {
    let (service, kb, ids) = synced(&["one"]);
    let old = ids[0].to_string();
    kb.edit(FILE, "one.", "Mine.");
    service.sandbox.remove(ids[0]);
    kb.run(&["sync"]).exits(3);
    kb.run(&["resolve", FILE, "--keep", "local"]).exits(0);
    let new = service.sandbox.articles()[0].id.to_string();
    let log = kb.run(&["log", &old]).exits(0);
    assert!(
        log.stdout.contains(&new) && log.stderr.contains("created anew"),
        "{log:#?}"
    );
    kb.run(&["show", &format!("{old}@1")]).exits(0);
    kb.run(&["restore", "--yes", &format!("{old}@1")]).exits(0);
    assert!(kb.read(FILE).contains("<p>one.</p>"));
    // The old id belongs to the article's own history, so this works more than once.
    kb.edit(FILE, "one.", "Again.");
    service.sandbox.remove(new.parse().expect("an id"));
    kb.run(&["sync"]).exits(3);
    kb.run(&["resolve", FILE, "--keep", "local"]).exits(0);
    let newest = service.sandbox.articles()[0].id.to_string();
    assert!(kb.run(&["log", &old]).exits(0).stdout.contains(&newest));
}

#[test]
fn a_conflict_names_every_field_that_differs() {
    let (service, kb, ids) = synced(&["one"]);
    kb.edit(FILE, "one.", "Mine.");
    service.sandbox.edit(ids[0], |article| {
        article.text = "<p>Theirs.</p>".into();
        article.title = "Their title".into();
    });
    let told = kb.run(&["sync"]).exits(3).stdout;
    assert!(told.contains("also different: title"), "{told}");
    let status = kb.run(&["status"]).exits(0).stdout;
    assert!(status.contains("also different: title"), "{status}");
}

#[test]
fn what_is_in_conflict_without_a_base_was_not_deleted() {
    let (_service, kb, _) = synced(&["one"]);
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    kb.edit(FILE, "one.", "Mine.");
    kb.run(&["sync"]).exits(3);
    let log = kb.run(&["log", FILE]).exits(0).stdout;
    assert!(!log.contains("deleted"), "{log}");
    kb.run(&["restore", "start", "--deleted"])
        .exits(2)
        .complains("no article in start was deleted", "kbsync log");
}

#[test]
fn deleted_articles_that_came_back_are_not_offered_again() {
    let (_service, kb, _) = synced(&["one", "two"]);
    kb.remove(FILE);
    kb.run(&["sync"]).exits(0);
    let ran = kb.run(&["restore", "start"]).exits(2);
    assert!(
        ran.stderr.contains("kbsync restore start --deleted"),
        "{ran:#?}"
    );
    kb.run(&["restore", "--yes", FILE]).exits(0);
    kb.run(&["restore", "start", "--deleted"])
        .exits(2)
        .complains("no article in start was deleted", "kbsync log");
}

#[test]
fn what_was_deleted_there_and_is_held_can_be_kept_as_is_said() {
    let (service, kb, ids) = synced(&["one", "two", "three", "four"]);
    for id in ids {
        service.sandbox.remove(id);
    }
    let told = kb.run(&["sync"]).exits(3).stdout;
    assert!(
        told.contains("`kbsync restore PATH` then brings back"),
        "{told}"
    );
    kb.run(&["approve", "--yes"]).exits(0);
    kb.run(&["restore", "--yes", FILE]).exits(0);
    assert!(kb.read(FILE).contains("<p>one.</p>"));
    assert_eq!(service.sandbox.articles().len(), 1);
}

/// Two workspaces in `en` and `de`, with an article each.
fn two_workspaces() -> (Service, Kb) {
    let service = Service::empty();
    let other = service.sandbox.add_workspace("Hilfe");
    let here = service.category("start");
    let there = service.sandbox.add_category(other, "Start", "start");
    service.article(here, "one", "<p>One.</p>");
    service.article(there, "eins", "<p>Eins.</p>");
    let mut kb = Kb::with_settings(&format!(
        "service: {}\nworkspaces:\n  - {{id: {}, folder: en}}\n  - {{id: {other}, folder: de}}\n",
        service.url, service.workspace
    ));
    kb.set("KBSYNC_TOKEN", crate::support::kb::TOKEN);
    kb.trust();
    kb.run(&["sync"]).exits(0);
    (service, kb)
}

#[test]
fn a_workspace_s_folder_that_went_is_reported_with_its_history() {
    let (_service, kb) = two_workspaces();
    std::fs::remove_dir_all(kb.mirror().join("en")).expect("removed");
    for arguments in [
        &["restore", "."][..],
        &["restore", "en"],
        &["restore", "en/start/one.html"],
        &["log", "en/start/one.html"],
        &["log", "en"],
        &["status"],
    ] {
        kb.run(arguments).exits(1).complains(
            "the folder of a workspace, en, is not there, and its history lay in en/.kbsync",
            "`kbsync sync en` fetches",
        );
    }
    kb.run(&["sync", "en"]).exits(0);
    assert!(kb.exists("en/start/one.html"));
    kb.run(&["status"]).exits(0);
}

#[test]
fn a_file_with_the_id_of_another_workspace_is_no_deleted_article() {
    let (_service, kb) = two_workspaces();
    let one = kb.read("en/start/one.html");
    kb.write("de/start/one.html", &one);
    kb.run(&["sync"]);
    let log = kb.run(&["log", "de/start/one.html"]).exits(0).stdout;
    assert!(!log.contains("deleted"), "{log}");
    kb.remove("de/start/one.html");
    kb.run(&["sync"]);
    kb.run(&["restore", "de/start", "--deleted"])
        .exits(2)
        .complains("no article in de/start was deleted", "kbsync log");
}

#[test]
fn a_removed_file_comes_back_with_its_present_flags() {
    let (service, kb, ids) = synced(&["one"]);
    // The history has this file as a whole, because of its comment.
    kb.edit(
        FILE,
        "---\n<p>",
        "enabled: false # a draft of Ann's\n---\n<p>",
    );
    kb.run(&["sync"]).exits(0);
    service
        .sandbox
        .edit(ids[0], |article| article.enabled = true);
    kb.edit(FILE, "enabled: false # a draft of Ann's\n", "");
    kb.run(&["sync"]).exits(0);
    kb.remove(FILE);
    kb.run(&["restore", FILE, "--yes"]).exits(0);
    assert!(!kb.read(FILE).contains("enabled"), "{}", kb.read(FILE));
    assert!(service.sandbox.article(ids[0]).expect("there").enabled);
}

/// Breaks the front matter of `start/one.html`, and gives it another text.
fn broken(kb: &Kb) -> String {
    kb.edit(FILE, "one.", "Unsent.");
    let broken = kb.read(FILE).replace("title: ", "title ");
    kb.write(FILE, &broken);
    kb.run(&["sync"]).exits(4);
    broken
}

#[test]
fn a_file_that_was_never_ready_comes_back_as_it_was_by_its_number() {
    let (service, kb, ids) = synced(&["one"]);
    let ready = kb.read(FILE);
    let broken = broken(&kb);
    kb.remove(FILE);
    kb.run(&["restore", FILE]).exits(0);
    assert_eq!(kb.read(FILE), ready);
    let log = kb.run(&["log", FILE]).exits(0).stdout;
    let unready = log.lines().find(|line| line.contains("not ready"));
    let number = unready.and_then(|line| line.split_whitespace().next());
    let numbered = format!("{FILE}{}", number.expect("a number"));
    kb.run(&["restore", &numbered]).exits(4);
    assert_eq!(kb.read(FILE), broken);
    assert_eq!(service.text(ids[0]), "<p>one.</p>");
}

#[test]
fn the_version_before_a_mended_file_is_the_last_one_that_was_ready() {
    let (_service, kb, _) = synced(&["one"]);
    let ready = kb.read(FILE);
    broken(&kb);
    kb.write(FILE, &ready.replace("title: one", "title: Mended"));
    kb.run(&["sync"]).exits(0);
    let log = kb.run(&["log", FILE]).exits(0).stdout;
    let mended = log.lines().find(|line| line.contains("@3"));
    assert!(
        mended.is_some_and(|line| line.contains("title") && !line.contains("text")),
        "{log}"
    );
    kb.run(&["restore", "--yes", FILE]).exits(0);
    assert!(kb.read(FILE).contains("title: one"));
}

#[test]
fn a_deleted_article_comes_back_from_a_file_that_was_ready() {
    let (service, kb, ids) = synced(&["one"]);
    broken(&kb);
    service.sandbox.remove(ids[0]);
    kb.remove(FILE);
    kb.run(&["sync"]).exits(0);
    let id = ids[0].to_string();
    let versions = kb.run(&["log", &id, "--json"]).exits(0).json();
    let all = versions["versions"].as_array().expect("versions");
    let unready = all.iter().find(|version| version["cause"] == "not ready");
    let numbered = format!("{id}@{}", unready.expect("stored")["number"]);
    let refused = kb.run(&["restore", "--yes", &numbered]).exits(2);
    assert!(refused.stderr.contains("kbsync show"), "{refused:#?}");
    assert!(
        kb.run(&["show", &numbered])
            .exits(0)
            .stdout
            .contains("Unsent.")
    );
    kb.run(&["restore", "--yes", &id]).exits(0);
    assert!(!kb.read(FILE).contains("Unsent."));
    assert_eq!(service.sandbox.articles().len(), 1);
}

#[test]
fn a_file_that_hid_an_unknown_article_hides_it_when_it_comes_back() {
    let (service, kb, ids) = synced(&["one"]);
    kb.edit(FILE, "title: one", "title: one\nenabled: false");
    kb.run(&["sync"]).exits(0);
    service.sandbox.remove(ids[0]);
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    kb.run(&["sync"]).exits(3);
    kb.remove(FILE);
    kb.run(&["sync"]).exits(0);
    kb.run(&["restore", "--yes", FILE]).exits(0);
    assert!(
        kb.read(FILE).contains("enabled: false"),
        "{}",
        kb.read(FILE)
    );
}
