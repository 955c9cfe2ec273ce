//! New categories wait for a person: at the first sync, and when a name looks mistyped.

use crate::support::daemon::{Daemon, until};
use crate::support::kb::{Kb, Service, TOKEN};
use crate::support::schema;

const NEW: &str = "---\ntitle: New\n---\n<p>New.</p>\n";

fn categories(service: &Service) -> usize {
    service.sandbox.categories().len()
}

/// An empty workspace, and a folder with pages that was never synced.
fn unsynced() -> (Service, Kb) {
    let service = Service::empty();
    let kb = service.mirror();
    kb.write("docs/index.html", NEW);
    kb.write("img/logo.html", NEW);
    (service, kb)
}

#[test]
fn the_first_sync_creates_no_category_until_a_person_says_so() {
    let (service, kb) = unsynced();
    let plan = kb.run(&["sync", "--dry-run"]).exits(0).stdout;
    assert!(plan.contains("docs/ would be a new category"), "{plan}");
    for _ in 0..2 {
        let ran = kb.run(&["sync"]).exits(3);
        for words in [
            "docs/ would be a new category",
            "img/ would be a new category",
            "`kbsync approve` creates it",
            "`kbsync sync --yes` creates every",
        ] {
            assert!(ran.stdout.contains(words), "no {words:?} in {ran:#?}");
        }
        assert_eq!(categories(&service), 0);
        assert_eq!(service.sandbox.counts().post, 0);
    }
    let json = kb.run(&["sync", "--json"]).exits(3).json();
    schema::check("report", &json);
    // A yes for one name does not cover another name.
    std::fs::rename(kb.mirror().join("img"), kb.mirror().join("pictures")).expect("renamed");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("pictures/ would be"), "{ran:#?}");
    let ran = kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(categories(&service), 2, "{ran:#?}");
    assert_eq!(service.sandbox.articles().len(), 2);
    // From then on, new folders become categories.
    kb.write("more/one.html", NEW);
    kb.run(&["sync"]).exits(0);
    assert_eq!(categories(&service), 3);
}

#[test]
fn approve_says_what_a_yes_creates() {
    let (service, kb) = unsynced();
    kb.run(&["sync"]).exits(3);
    let ran = kb.run(&["approve"]).exits(3);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let categories_shown = lines.iter().filter(|line| line.starts_with("create "));
    let categories_shown: Vec<_> = categories_shown.copied().collect();
    assert_eq!(
        categories_shown,
        [
            "create    docs on the service",
            "create    img on the service"
        ],
        "{ran:#?}"
    );
    // The articles in the new categories are listed as well, each after its category.
    let inside: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("  and then create "))
        .collect();
    assert!(!inside.is_empty(), "{ran:#?}");
    assert!(
        lines[1].starts_with("  and then create    docs/"),
        "{ran:#?}"
    );
    assert_eq!(categories(&service), 0);
}

#[test]
fn sync_yes_creates_them_at_once() {
    let (service, kb) = unsynced();
    kb.run(&["sync", "--yes"]).exits(0);
    assert_eq!(
        (categories(&service), service.sandbox.articles().len()),
        (2, 2)
    );
}

#[test]
fn what_was_synced_before_is_no_first_sync() {
    // A sync that found nothing to sync counts as well.
    let service = Service::empty();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.write("docs/index.html", NEW);
    kb.run(&["sync"]).exits(0);
    assert_eq!(categories(&service), 1);
}

#[test]
fn a_folder_beside_known_categories_waits_at_the_first_sync_as_well() {
    let service = Service::start();
    let before = categories(&service);
    let kb = service.mirror();
    kb.write("docs/index.html", NEW);
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("docs/ would be"), "{ran:#?}");
    assert_eq!(categories(&service), before);
    // The rest is synced, and an edit is sent.
    let (path, text) = kb
        .articles()
        .into_iter()
        .find(|(_, text)| text.starts_with("---\n") && text.contains("\nid: "))
        .expect("an article");
    kb.write(&path, &format!("{text}<p>Mine.</p>\n"));
    kb.run(&["sync"]).exits(3);
    let texts = service.sandbox.articles();
    assert!(texts.iter().any(|article| article.text.contains("Mine.")));
    assert_eq!(categories(&service), before);
    kb.run(&["sync", "--yes"]).exits(0);
    assert_eq!(categories(&service), before + 1);
}

#[test]
fn a_daemon_that_gets_a_yes_creates_them() {
    let (service, kb) = unsynced();
    let daemon = Daemon::spawn(&kb, &[]);
    until("the first cycle", || {
        daemon.log().contains("docs/ would be")
    });
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("docs/ would be"), "{ran:#?}");
    assert_eq!(categories(&service), 0);
    kb.run(&["sync", "--yes"]).exits(0);
    assert_eq!(categories(&service), 2);
    daemon.stop();
}

/// A workspace with one category, and a mirror that `init` made around a page of a site.
fn initialised() -> (Service, Kb) {
    let service = Service::empty();
    let known = service.category("known");
    service.article(known, "one", "<p>One.</p>");
    let mut kb = Kb::new();
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.write("docs/index.html", NEW);
    kb.write("known/mine.html", NEW);
    kb.run(&[
        "init",
        "--yes",
        "--service",
        &service.url,
        "--workspace",
        &service.workspace,
    ])
    .exits(0);
    kb.trust();
    (service, kb)
}

#[test]
fn a_pull_or_a_part_is_no_first_sync() {
    for first in [&["pull"][..], &["sync", "known"]] {
        let (service, kb) = initialised();
        kb.run(first).exits(0);
        for _ in 0..2 {
            let ran = kb.run(&["sync"]).exits(3);
            assert!(ran.stdout.contains("docs/ would be"), "{first:?}: {ran:#?}");
            assert_eq!(categories(&service), 1);
        }
        kb.run(&["approve", "--yes"]).exits(0);
        assert_eq!(categories(&service), 2);
        kb.write("more/one.html", NEW);
        kb.run(&["sync"]).exits(0);
        assert_eq!(categories(&service), 3);
    }
}

#[test]
fn a_state_of_an_earlier_version_is_not_asked_about_new_categories() {
    let (service, kb) = initialised();
    kb.run(&["pull"]).exits(0);
    let state = rusqlite::Connection::open(kb.mirror().join(".kbsync/state.db"));
    let forgotten = "DELETE FROM meta WHERE key = 'first_sync'";
    let rows = state.expect("the state").execute(forgotten, []);
    assert_eq!(rows.expect("forgotten"), 1);
    kb.run(&["sync"]).exits(0);
    assert_eq!(categories(&service), 2);
}

/// A synced mirror with articles in `faq`.
fn with_faq() -> (Service, Kb) {
    let service = Service::empty();
    let faq = service.category("faq");
    service.article(faq, "one", "<p>One.</p>");
    service.article(faq, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    (service, kb)
}

#[test]
fn a_new_folder_with_the_name_of_a_renamed_category_is_held() {
    let (service, kb) = with_faq();
    std::fs::rename(kb.mirror().join("faq"), kb.mirror().join("faq-old")).expect("renamed");
    kb.write("faq/new.html", NEW);
    for _ in 0..2 {
        let ran = kb.run(&["sync"]).exits(3);
        let told = "if you meant the category faq-old, move the files to its folder";
        assert!(ran.stdout.contains(told), "{ran:#?}");
        assert_eq!(categories(&service), 1);
    }
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(categories(&service), 2);
}

#[test]
fn a_renamed_folder_that_lost_its_category_file_is_held() {
    let (service, kb) = with_faq();
    kb.remove("faq/_category.yaml");
    std::fs::rename(kb.mirror().join("faq"), kb.mirror().join("questions")).expect("renamed");
    for _ in 0..3 {
        let ran = kb.run(&["sync"]).exits(3);
        let told = "if you meant the category faq, move the files to its folder";
        assert!(ran.stdout.contains(told), "{ran:#?}");
        assert_eq!(categories(&service), 1);
    }
    // What the message proposes works.
    std::fs::rename(kb.mirror().join("questions"), kb.mirror().join("faq")).expect("renamed");
    kb.run(&["sync"]).exits(0);
    assert!(kb.exists("faq/_category.yaml"));
    assert_eq!(
        (categories(&service), service.sandbox.articles().len()),
        (1, 2)
    );
}
