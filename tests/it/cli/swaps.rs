//! Articles and folders that exchange names: each message names the other article or folder, and the way out.

use crate::support::kb::{Kb, Service};
use crate::support::schema;
use uuid::Uuid;

const ONE: &str = "start/one.html";
const TWO: &str = "start/two.html";

fn synced() -> (Service, Kb, [Uuid; 2]) {
    let service = Service::empty();
    let start = service.category("start");
    let ids = ["one", "two"].map(|slug| service.article(start, slug, "<p>Text.</p>"));
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    (service, kb, ids)
}

fn rename(kb: &Kb, from: &str, to: &str) {
    let mirror = kb.mirror();
    std::fs::rename(mirror.join(from), mirror.join(to)).expect("it is renamed");
}

fn slugs(service: &Service, ids: [Uuid; 2]) -> [String; 2] {
    ids.map(|id| service.sandbox.article(id).expect("there").slug)
}

/// Two conflicts about each other's slug, as in a fresh clone.
fn in_conflict() -> (Service, Kb, [Uuid; 2]) {
    let (service, kb, ids) = synced();
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    for (id, slug) in [(ids[0], "aside"), (ids[1], "one"), (ids[0], "two")] {
        let edited = service
            .sandbox
            .edit(id, |article| slug.clone_into(&mut article.slug));
        assert!(edited.is_some());
    }
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("2 conflicts"), "{ran:#?}");
    // A file without a `slug:` line has no line to report for its slug.
    assert!(!ran.stdout.contains("    line "), "{ran:#?}");
    (service, kb, ids)
}

#[test]
fn two_conflicts_about_each_others_slug_are_settled_by_one_command() {
    let (service, kb, ids) = in_conflict();
    let ran = kb.run(&["resolve", ONE, "--keep", "local"]).exits(3);
    let told = ran.stdout.replace('\n', " ");
    assert!(
        told.contains("belongs to start/two.html")
            && told.contains("`kbsync resolve` settles that"),
        "{ran:#?}"
    );
    assert_eq!(slugs(&service, ids), ["two", "one"]);
    let json = kb.run(&["resolve", ONE, TWO, "--keep", "remote", "--json"]);
    let json = json.exits(0).json();
    schema::check("report", &json);
    let actions = json["actions"].as_array().expect("a list");
    assert_eq!(actions.len(), 2, "{json:#}");
    assert!(actions.iter().all(|action| action["action"] == "move"));
    assert_eq!(slugs(&service, ids), ["two", "one"]);
    let ran = kb.run(&["sync"]).exits(0);
    assert_eq!(ran.stdout, "Both sides are equal\n");
}

#[test]
fn with_the_slugs_of_the_files_a_third_one_opens_the_circle() {
    let (service, kb, ids) = in_conflict();
    let both = ["resolve", ONE, TWO, "--keep", "local"];
    let told = kb.run(&both).exits(3).stdout.replace('\n', " ");
    assert!(
        told.contains("belongs to start/two.html") && told.contains("use a third slug in between"),
        "{told}"
    );
    kb.edit(ONE, "title:", "slug: third\ntitle:");
    kb.run(&both).exits(0);
    assert_eq!(slugs(&service, ids), ["third", "two"]);
    kb.edit(ONE, "slug: third\n", "");
    kb.run(&["sync"]).exits(0);
    assert_eq!(slugs(&service, ids), ["one", "two"]);
}

#[test]
fn a_path_that_is_not_in_conflict_stops_the_others() {
    let (_service, kb, _) = in_conflict();
    kb.run(&["resolve", ONE, "start/three.html", "--keep", "remote"])
        .exits(2)
        .complains("start/three.html is not in conflict", "kbsync resolve");
    let ran = kb.run(&["resolve", ONE, TWO]).exits(2);
    assert!(
        ran.stderr
            .contains(&format!("kbsync resolve {ONE} {TWO} --keep both")),
        "{ran:#?}"
    );
    let listed = kb.run(&["resolve", "--json"]).exits(3).json();
    assert_eq!(listed["actions"].as_array().expect("a list").len(), 2);
}

#[test]
fn on_a_terminal_each_file_is_named_before_its_questions_and_wrong_answers_are_told() {
    let (service, kb, ids) = in_conflict();
    let question = "[y]ours, [t]heirs or [q]uit?";
    let answers = [
        (ONE, ""),
        (question, "x\r"),
        ("answer with one of yours, theirs, quit", ""),
        (question, "t\r"),
        (TWO, ""),
        (question, "t\r"),
    ];
    kb.at_terminal(&["resolve", ONE, TWO], &answers).exits(0);
    assert_eq!(slugs(&service, ids), ["two", "one"]);
    kb.run(&["sync"]).exits(0);
}

#[test]
fn a_slug_of_an_article_in_conflict_waits_for_that_conflict() {
    let (service, kb, ids) = synced();
    kb.edit(TWO, "Text.", "Mine.");
    let edited = service
        .sandbox
        .edit(ids[1], |article| article.text = "<p>Theirs.</p>".into());
    assert!(edited.is_some());
    kb.run(&["sync"]).exits(3);
    kb.edit(ONE, "title:", "slug: two\ntitle:");
    let told = kb.run(&["sync", ONE]).exits(3).stdout.replace('\n', " ");
    assert!(
        told.contains("belongs to start/two.html")
            && told.contains("`kbsync resolve` settles that"),
        "{told}"
    );
}

#[test]
fn files_that_exchange_their_names_name_each_other() {
    let (_service, kb, ids) = synced();
    let exchange = || {
        rename(&kb, ONE, "aside");
        rename(&kb, TWO, ONE);
        rename(&kb, "aside", TWO);
    };
    exchange();
    let told = kb.run(&["sync"]).exits(3).stdout.replace('\n', " ");
    for name in [ONE, TWO] {
        assert!(told.contains(&format!("belongs to {name}")), "{told}");
    }
    assert!(!told.contains(&ids[0].to_string()), "{told}");
    assert!(told.contains("use a third slug in between"), "{told}");
    exchange();
    kb.run(&["sync"]).exits(0);
}

#[test]
fn folders_that_exchange_their_category_files_or_names_wait_with_their_articles() {
    let (service, kb, ids) = synced();
    let other = service.category("other");
    service.article(other, "three", "<p>Text.</p>");
    kb.run(&["sync"]).exits(0);
    let start = service.sandbox.article(ids[0]).expect("there").category_id;
    let before = service.sandbox.articles();
    for end in ["/_category.yaml", ""] {
        let [a, b] = ["start", "other"].map(|folder| format!("{folder}{end}"));
        let exchange = || {
            rename(&kb, &a, "aside");
            rename(&kb, &b, &a);
            rename(&kb, "aside", &b);
        };
        exchange();
        let told = kb.run(&["sync"]).exits(4).stdout.replace('\n', " ");
        for id in [start, other] {
            assert!(told.contains(&format!("put `id: {id}` back")), "{told}");
        }
        assert_eq!(service.sandbox.articles(), before, "nothing moved");
        exchange();
        kb.run(&["sync"]).exits(0);
    }
    // The way out is a third name. A folder's slug is free in the sync after the folder has left it.
    rename(&kb, "start", "aside");
    rename(&kb, "other", "start");
    rename(&kb, "aside", "other");
    kb.run(&["sync"]).exits(4);
    rename(&kb, "start", "third");
    let told = kb.run(&["sync"]).exits(3).stdout.replace('\n', " ");
    assert!(
        told.contains("until this sync ends; run `kbsync sync` once more"),
        "{told}"
    );
    kb.run(&["sync"]).exits(0);
    rename(&kb, "third", "start");
    kb.run(&["sync"]).exits(0);
    let slug = |id| service.sandbox.category(id).expect("there").slug;
    assert_eq!([slug(other), slug(start)], ["start", "other"]);
}

/// A colleague exchanged two folders, through a third name, and committed that.
#[test]
fn folders_that_both_sides_exchanged_already_are_equal_in_another_clone() {
    let service = Service::empty();
    for slug in ["first", "second"] {
        let category = service.category(slug);
        service.article(category, slug, "<p>Text.</p>");
    }
    let (kb, clone) = (service.mirror(), service.mirror());
    kb.run(&["sync"]).exits(0);
    clone.run(&["sync"]).exits(0);
    for (from, to) in [("first", "third"), ("second", "first"), ("third", "second")] {
        rename(&kb, from, to);
        kb.run(&["sync"]).exits(0);
    }
    // As `git pull` does it.
    for (from, to) in [("first", "third"), ("second", "first"), ("third", "second")] {
        rename(&clone, from, to);
    }
    assert_eq!(clone.articles(), kb.articles());
    let ran = clone.run(&["sync"]).exits(0);
    assert_eq!(ran.stdout, "Both sides are equal\n");
}
