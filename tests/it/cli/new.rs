//! `kbsync new`: the files are valid and hidden, and never replace others.

use crate::support::kb::{Kb, WORKSPACE};
use crate::support::schema;

fn mirror() -> Kb {
    Kb::with_settings(&format!(
        "service: https://kb.example.com\nworkspace: {WORKSPACE}\n"
    ))
}

#[test]
fn it_writes_a_hidden_article_that_is_good() {
    let kb = mirror();
    let ran = kb
        .run(&[
            "new",
            "--new-category",
            "getting-started",
            "Größe: 100 % & \"mehr\"",
        ])
        .exits(0);
    assert_eq!(ran.stdout, "getting-started/grosse-100-mehr.html\n");
    assert!(
        ran.stderr
            .contains("The article is hidden. To publish it, remove the line `enabled: false`"),
        "{ran:#?}"
    );
    let text = kb.read("getting-started/grosse-100-mehr.html");
    assert!(text.contains("\nenabled: false\n"), "{text}");
    kb.run(&["check"]).exits(0);
    assert!(!kb.mirror().join("getting-started/_category.yaml").exists());
}

#[test]
fn a_category_is_found_by_its_name_and_made_when_new() {
    let kb = mirror();
    kb.write("faq/_category.yaml", "name: Fragen & Antworten\n");
    let json = kb
        .run(&["new", "fragen & antworten", "One", "--json"])
        .exits(0)
        .json();
    schema::check("new", &json);
    assert_eq!(json["path"], "faq/one.html");
    let ran = kb
        .run(&["new", "Tips & Tricks", "One", "--new-category"])
        .exits(0);
    assert!(
        ran.stderr.contains("tips-tricks/ is a new category"),
        "{ran:#?}"
    );
    let words = kb.read("tips-tricks/_category.yaml");
    assert!(words.contains("Tips & Tricks"), "{words}");
    // The same words find the same folder again.
    let ran = kb.run(&["new", "Tips & Tricks", "Two"]).exits(0);
    assert!(!ran.stderr.contains("new category"), "{ran:#?}");
    assert_eq!(ran.stdout, "tips-tricks/two.html\n");
    kb.run(&["new", "Tips, tricks", "Three", "--new-category"])
        .exits(2)
        .complains(
            "`tips-tricks` exists and belongs to another category",
            "kbsync new tips-tricks",
        );
}

/// The API cannot delete a category, so a typing error must not create one.
#[test]
fn a_category_that_is_not_there_is_made_only_when_somebody_says_so() {
    let kb = mirror();
    for folder in ["billing", "faq", "start", "webhooks"] {
        kb.write(&format!("{folder}/one.html"), "---\ntitle: One\n---\n");
    }
    let before = kb.files();
    let slip = ["new", "biling", "Dunning letters"];
    let ran = kb.run(&slip).exits(2).complains(
        "there is no category \"biling\"; did you mean billing?",
        "create one",
    );
    assert!(
        ran.stderr.contains(
            "\n  kbsync new billing 'Dunning letters'\n  kbsync new --new-category biling 'Dunning letters'\n"
        ),
        "{ran:#?}"
    );
    let question = "Create this category? [y/N]";
    let ran = kb.at_terminal(&slip, &[(question, "n\r")]).exits(3);
    let told = "there is no category \"biling\"; did you mean billing?";
    for told in [told, "nothing was written"] {
        assert!(ran.stderr.contains(told), "{ran:#?}");
    }
    assert_eq!(kb.files(), before);
    // The question needs the sentence before it, and `-q` leaves that sentence out, so there is no question.
    let quiet = ["-q", "new", "biling", "Dunning letters"];
    kb.at_terminal(&quiet, &[]).exits(2);
    assert_eq!(kb.files(), before);
    kb.at_terminal(&slip, &[(question, "y\r")]).exits(0);
    assert!(kb.exists("biling/dunning-letters.html"));
    // In a mirror without categories there is no category to propose.
    mirror()
        .run(&["new", "billing", "One"])
        .exits(2)
        .complains("there is no category \"billing\"", "create one");
}

#[test]
fn it_never_overwrites_and_never_leaves_the_mirror() {
    let kb = mirror();
    kb.write("a/one.html", "mine");
    let before = kb.files();
    kb.run(&["new", "a", "One"])
        .exits(2)
        .complains("a/one.html exists already", "another title");
    kb.run(&["new", "a", " "])
        .exits(2)
        .complains("has no letters", "kbsync new");
    kb.run(&["new", "a", &"x".repeat(256)])
        .exits(2)
        .complains("256 characters", "shorten");
    assert_eq!(kb.files(), before);
    kb.run(&["new", "..evil", "../../passwd", "--new-category"])
        .exits(0);
    let existing = ["new", "evil/how-to.html", "How to", "--new-category"];
    kb.run(&existing)
        .exits(2)
        .complains("a category is one folder", "did you mean evil?");
    for words in [["new", "../up", "T"], ["new", "a/b", "T"]] {
        let ran = kb.run(&[&words[..], &["--new-category"]].concat()).exits(2);
        ran.complains("a category is one folder", "kbsync new CATEGORY TITLE");
    }
    kb.run(&["new", "evil", "!!!"])
        .exits(2)
        .complains("has no letters", "quotes");
    assert!(kb.files().iter().all(|(path, _)| {
        path.starts_with(kb.mirror()) && !path.to_string_lossy().contains("..")
    }));
    let elsewhere = Kb::new();
    elsewhere
        .run(&["new", "a", "One"])
        .exits(2)
        .complains("is not a mirror", "kbsync init");
    assert_eq!(elsewhere.files(), []);
}

#[test]
fn with_several_workspaces_the_category_names_one() {
    let kb = Kb::with_settings(&format!(
        "workspaces: [{{id: {WORKSPACE}, folder: en}}]\nservice: https://kb.example.com\n"
    ));
    kb.write("en/.keep", "");
    let ran = kb
        .run(&["new", "--new-category", "en/billing", "Refunds"])
        .exits(0);
    assert_eq!(ran.stdout, "en/billing/refunds.html\n");
    let two = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    let kb = Kb::with_settings(&format!(
        "service: https://kb.example.com\nworkspaces: [{{id: {WORKSPACE}, folder: en}}, {{id: {two}, folder: de}}]\n"
    ));
    kb.run(&["new", "billing", "Refunds"])
        .exits(2)
        .complains("several workspaces", "`en/");
    kb.write("de/.keep", "");
    kb.run(&["new", "--new-category", "de/billing", "Refunds"])
        .exits(0);
    kb.read("de/billing/refunds.html");
}
