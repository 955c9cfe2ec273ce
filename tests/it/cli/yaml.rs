//! `_category.yaml` is a writer's file: none of its content is lost, whether edited, held or removed.

use crate::cli::categories::synced;
use crate::support::kb::{Kb, Service};
use uuid::Uuid;

const YAML: &str = "start/_category.yaml";

/// A mirror with a conflict about the category's name, and a description that only the mirror has.
fn held() -> (Service, Kb, Uuid) {
    let (service, kb, start) = synced();
    kb.edit(
        YAML,
        "name: start",
        "# ours\nname: Mine\ndescription: My words",
    );
    service
        .sandbox
        .edit_category(start, |category| category.name = "Theirs".into())
        .expect("it is there");
    let ran = kb.run(&["sync", "start"]).exits(3);
    assert!(
        ran.stdout.contains("both sides have their own name"),
        "{ran:#?}"
    );
    (service, kb, start)
}

fn name_there(service: &Service, id: Uuid) -> String {
    service.sandbox.category(id).expect("it is there").name
}

#[test]
fn a_held_category_whose_file_is_removed_takes_the_service_s_words_and_keeps_its_own_in_the_history()
 {
    let (service, kb, start) = held();
    kb.remove(YAML);
    kb.run(&["sync"]).exits(0);
    let back = kb.read(YAML);
    assert!(back.contains("# ours\nname: Theirs\n"), "{back}");
    assert!(!back.contains("My words"), "{back}");
    assert_eq!(name_there(&service, start), "Theirs");
    // The writer's own words are a version of the file.
    let shown = |number| kb.run(&["show", &format!("{YAML}@{number}")]).stdout;
    assert!((1..9).any(|number| shown(number).contains("description: My words")));
}

#[test]
fn words_that_were_held_come_back_with_their_folder_and_are_held_again() {
    let (service, kb, start) = held();
    let before = kb.read(YAML);
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    kb.run(&["sync"]);
    // The restored file's changes wait for a person as before, and the command says so.
    let ran = kb.run(&["restore", "--yes", "start/one.html"]).exits(3);
    assert!(
        ran.stdout.contains("both sides have their own name"),
        "{ran:#?}"
    );
    assert_eq!(kb.read(YAML), before);
    kb.run(&["sync", "start"]).exits(3);
    assert_eq!(name_there(&service, start), "Theirs");
}

#[test]
fn a_folder_that_is_brought_back_with_a_held_category_is_not_done() {
    let (service, kb, start) = held();
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    let ran = kb.run(&["restore", "start", "--json"]).exits(3);
    let json = ran.json();
    assert_eq!(json["outcome"], "attention");
    let held: Vec<_> = json["actions"]
        .as_array()
        .expect("actions")
        .iter()
        .filter(|line| line["status"] == "held")
        .collect();
    assert_eq!(held.len(), 1, "{json:#}");
    assert_eq!(held[0]["action"], "update-category");
    assert_eq!(name_there(&service, start), "Theirs");
}

#[test]
fn a_folder_that_is_brought_back_with_what_was_agreed_on_is_done() {
    let (_service, kb, _) = synced();
    let before = kb.articles();
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    kb.run(&["restore", "start"]).exits(0);
    assert_eq!(kb.articles(), before);
    kb.run(&["sync"]).exits(0);
}

#[test]
fn comments_and_keys_of_its_own_are_versions_of_a_category_s_file() {
    let (_service, kb, _) = synced();
    let plain = kb.read(YAML);
    kb.write(YAML, &format!("{plain}mine: precious # words\n"));
    kb.run(&["sync"]).exits(0);
    let said = kb.run(&["log", "-p", YAML]).exits(0).stdout;
    assert!(said.contains("+mine: precious # words"), "{said}");
    // The same content is stored once.
    kb.run(&["sync"]).exits(0);
    let again = kb.run(&["log", "-p", YAML]).exits(0).stdout;
    assert_eq!(said, again);
    let precious = kb.read(YAML);
    kb.remove(YAML);
    kb.run(&["sync"]).exits(0);
    assert_eq!(kb.read(YAML), precious);
    // The removed text is still in the history, and comes back by its number or as the version before.
    kb.write(YAML, &plain);
    kb.run(&["sync"]).exits(0);
    kb.remove(YAML);
    kb.run(&["restore", &format!("{YAML}@2")]).exits(0);
    assert_eq!(kb.read(YAML), precious);
}

#[test]
fn a_folder_comes_back_with_its_file_as_it_was() {
    let (service, kb, start) = synced();
    for slug in ["two", "three", "four", "five", "six"] {
        service.article(start, slug, "<p>More.</p>");
    }
    kb.run(&["sync"]).exits(0);
    let plain = kb.read(YAML);
    let precious = format!("# ours\n{plain}mine: precious\n");
    kb.write(YAML, &precious);
    kb.run(&["sync"]).exits(0);
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    kb.run(&["sync"]).exits(3);
    kb.run(&["restore", "."]).exits(0);
    assert_eq!(kb.read(YAML), precious);
}

#[test]
fn a_removed_file_that_is_restored_says_what_it_said_here() {
    let (_service, kb, _) = held();
    let before = kb.read(YAML);
    kb.remove(YAML);
    kb.run(&["restore", "--yes", YAML]).exits(3);
    assert_eq!(kb.read(YAML), before);
}
