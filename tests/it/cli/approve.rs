//! `kbsync approve`: approves exactly the held actions, and only after showing them.

use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::kb::{Kb, Service, TOKEN};
use crate::support::schema;
use uuid::Uuid;

/// Eight articles; the files of five were deleted, and the deletions are held.
fn held() -> (Service, Kb, Vec<Uuid>) {
    let service = Service::empty();
    let start = service.category("start");
    let ids: Vec<Uuid> = (1..=8)
        .map(|number| service.article(start, &format!("n{number}"), &format!("<p>{number}</p>")))
        .collect();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    for number in 1..=5 {
        kb.remove(&format!("start/n{number}.html"));
    }
    let ran = kb.run(&["sync"]).exits(3);
    assert!(
        ran.stdout
            .contains("5 deletions on the service at once are more than 3"),
        "{ran:#?}"
    );
    assert!(ran.stdout.contains("\n5 held\n"), "{ran:#?}");
    (service, kb, ids)
}

fn left(service: &Service) -> usize {
    service.sandbox.articles().len()
}

#[test]
fn f041_f043_without_a_yes_nothing_is_released() {
    let (service, kb, _) = held();
    let ran = kb.run(&["approve"]).exits(3);
    assert_eq!(ran.stdout.lines().count(), 5 + 1, "{ran:#?}");
    assert!(
        ran.stdout
            .starts_with("delete    start/n1.html on the service\n"),
        "{ran:#?}"
    );
    assert!(ran.stderr.contains("kbsync approve --yes"), "{ran:#?}");
    assert_eq!(left(&service), 8);
    // Asking again does not release the deletions either.
    kb.run(&["sync"]).exits(3);
    assert_eq!(left(&service), 8);
}

#[test]
fn the_list_is_whole_and_says_why_the_actions_are_held() {
    let service = Service::empty();
    let settings = format!(
        "service: {}\nworkspaces: [{{id: {}, folder: en}}]\n",
        service.url, service.workspace
    );
    let start = service.category("start");
    for number in 0..40 {
        service.article(start, &format!("n{number}"), "<p>Text.</p>");
    }
    let mut kb = Kb::with_settings(&settings);
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.trust();
    kb.run(&["sync"]).exits(0);
    for number in 0..38 {
        kb.remove(&format!("en/start/n{number}.html"));
    }
    kb.write("en/strat/new.html", "---\ntitle: New\n---\n<p>x</p>\n");
    let held = kb.run(&["sync"]).exits(3).stdout;
    let shown = kb.run(&["approve"]).exits(3).stdout;
    for number in 0..38 {
        let line = format!("en/start/n{number}.html on the service\n");
        assert!(shown.contains(&line), "{shown}");
    }
    for words in ["would be a new category", "38 deletions on the service"] {
        let mut reasons = held.lines().filter(|line| line.contains(words));
        let reason = reasons.next().expect(words);
        assert_eq!(shown.matches(reason).count(), 1, "{reason} in {shown}");
    }
    assert!(
        shown.contains("en/strat on the service\n  and then create"),
        "{shown}"
    );
}

#[test]
fn a_yes_releases_exactly_these_and_only_once() {
    let (service, kb, ids) = held();
    let json = kb.run(&["approve", "--yes", "--json"]).exits(0).json();
    schema::check("report", &json);
    assert_eq!(json["requests"]["delete"], 5);
    assert_eq!(left(&service), 3);
    assert!(
        ids[..5]
            .iter()
            .all(|id| service.sandbox.article(*id).is_none())
    );
    let ran = kb.run(&["approve", "--yes"]).exits(0);
    assert!(
        ran.stderr.contains("nothing waits for `approve`"),
        "{ran:#?}"
    );
    kb.run(&["sync"]).exits(0);
    let status = kb.run(&["status", "--json"]).exits(0).json();
    assert_eq!(status["held"], serde_json::json!([]));
}

/// `--yes` approves only what a sync has reported.
#[test]
fn f043_removals_since_the_last_sync_are_not_approved_unseen() {
    let (service, kb, _) = held();
    kb.remove("start/n6.html");
    kb.remove("start/n7.html");
    let ran = kb.run(&["approve", "--yes"]).exits(3);
    let told = "the last sync did not hold 2 of the 7 actions above";
    assert!(ran.stderr.contains(told), "{ran:#?}");
    assert!(ran.stderr.contains("help: run `kbsync sync`"), "{ran:#?}");
    assert_eq!(left(&service), 8);
    kb.run(&["sync"]).exits(3);
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(left(&service), 1);
}

#[test]
fn f043_other_content_than_a_sync_held_is_not_approved_unseen() {
    let service = Service::empty();
    let billing = service.category("billing");
    service.article(billing, "one", "<p>1</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.write("biling/_category.yaml", "name: Held\n");
    kb.write("biling/two.html", "---\ntitle: Two\n---\n<p>2</p>\n");
    kb.run(&["sync"]).exits(3);
    kb.edit("biling/_category.yaml", "Held", "Unseen");
    let ran = kb.run(&["approve", "--yes"]).exits(3);
    let told = "the last sync did not hold 1 of the 1 action above";
    assert!(ran.stderr.contains(told), "{ran:#?}");
    assert_eq!(service.sandbox.categories().len(), 1);
    kb.run(&["sync"]).exits(3);
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(service.sandbox.categories()[1].name, "Unseen");
}

#[test]
fn on_a_terminal_it_asks_and_only_a_yes_releases() {
    let (service, kb, _) = held();
    let question = "permanent, and a category cannot be deleted through the API.\r\nApprove this?";
    for answer in ["n\r", "No\r", "\r", "\u{4}"] {
        kb.at_terminal(&["approve"], &[(question, answer)]).exits(3);
    }
    // An answer that only begins like a yes is none, and a typed line can be corrected.
    for answer in ["yesterday\r", "kbsync\r", "yes\u{7f}\u{7f}\u{7f}no\r"] {
        kb.at_terminal(&["approve"], &[(question, answer)]).exits(3);
    }
    let ran = kb.at_terminal(&["approve"], &[(question, "n\r")]).exits(3);
    assert!(ran.stderr.contains("nothing was approved"), "{ran:#?}");
    assert_eq!(left(&service), 8);
    kb.at_terminal(&["approve"], &[(question, "Yes\r")])
        .exits(0);
    assert_eq!(left(&service), 3);
}

#[test]
fn a_script_that_did_not_say_yes_gets_the_list() {
    let (service, kb, _) = held();
    let json = kb.run(&["approve", "--json"]).exits(3).json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "attention");
    let actions = json["actions"].as_array().expect("a list");
    assert_eq!(actions.len(), 5);
    assert_eq!(actions[0]["path"], "start/n1.html");
    assert!(actions.iter().all(|action| action["status"] == "held"));
    let message = json["problems"][0]["message"].as_str().expect("words");
    assert!(message.contains("5 actions wait for approval"), "{message}");
    assert_eq!(left(&service), 8);
}

#[test]
fn an_edit_on_the_service_meanwhile_is_not_deleted() {
    let (service, kb, ids) = held();
    service
        .sandbox
        .edit(ids[0], |article| article.text = "<p>edited</p>".into());
    let ran = kb.run(&["approve", "--yes"]).exits(0);
    assert!(ran.stdout.contains("← restore   start/n1.html"), "{ran:#?}");
    assert_eq!(left(&service), 4);
    assert!(kb.read("start/n1.html").contains("edited"));
}

#[test]
fn an_article_that_changed_after_the_approval_is_not_deleted() {
    let (service, kb, ids) = held();
    let first = ids[0];
    // The edit comes between the list and the deletions.
    let edit = Hook::new(move |sandbox| {
        sandbox.edit(first, |article| article.text = "<p>edited</p>".into());
    });
    let listing = Matcher::new("GET", "/api/base/*/articles");
    let fault = Fault::once(listing, FaultKind::HookAfter(edit));
    service.sandbox.inject(fault);
    let ran = kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(left(&service), 4);
    assert!(ran.stdout.contains("← restore   start/n1.html"), "{ran:#?}");
}

#[test]
fn an_approval_stands_if_the_cycle_failed() {
    let (service, kb, _) = held();
    let state = rusqlite::Connection::open(kb.mirror().join(".kbsync/state.db"));
    let state = std::sync::Mutex::new(state.expect("the state"));
    // The failure comes between the list and the cycle.
    let fail = Hook::new(move |_sandbox| {
        let line = "ALTER TABLE journal RENAME TO elsewhere";
        state
            .lock()
            .expect("one user")
            .execute(line, [])
            .expect("renamed");
    });
    let listing = Matcher::new("GET", "/api/base/*/articles");
    let fault = Fault::once(listing, FaultKind::HookAfter(fail));
    service.sandbox.inject(fault);
    let ran = kb.run(&["approve", "--yes"]);
    assert!(ran.stderr.contains("journal"), "{ran:#?}");
}

/// Like [`held`], and the service cannot say whether the last article is there.
fn held_in_doubt() -> (Service, Kb, Vec<Uuid>) {
    let (service, mut kb, ids) = held();
    kb.set("KBSYNC_DRILL_HURRY", "1");
    service.sandbox.unpublish(ids[7]);
    for method in ["GET", "PUT"] {
        let on = Matcher::new(method, &format!("/api/article/{}", ids[7]));
        let broken = FaultKind::Status(500, String::new());
        service.sandbox.inject(Fault::always(on, broken));
    }
    (service, kb, ids)
}

#[test]
fn an_approval_stands_if_a_doubt_held_the_deletions() {
    let (service, kb, ids) = held_in_doubt();
    kb.run(&["approve", "--yes"]).exits(5);
    let is_there = |id: &Uuid| service.sandbox.article(*id).is_some();
    assert!(ids.iter().all(is_there));
    service.sandbox.clear_faults();
    kb.run(&["sync"]).exits(0);
    assert_eq!(ids.iter().filter(|id| is_there(id)).count(), 3);
}

#[test]
fn an_approval_without_its_action_does_not_stand_because_a_doubt_held_others() {
    let (service, kb, ids) = held_in_doubt();
    let path = kb.mirror().join("start/n1.html");
    let like = std::fs::read_to_string(kb.mirror().join("start/n6.html")).expect("a file");
    let file = like.replace(&ids[5].to_string(), &ids[0].to_string());
    let file = file.replace("n6", "n1").replace("<p>6</p>", "<p>1</p>");
    // One file comes back between the list and the cycle.
    let write = Hook::new(move |_sandbox| std::fs::write(&path, &file).expect("written"));
    let listing = Matcher::new("GET", "/api/base/*/articles");
    let fault = Fault::once(listing, FaultKind::HookAfter(write));
    service.sandbox.inject(fault);
    kb.run(&["approve", "--yes"]).exits(5);
    service.sandbox.clear_faults();
    kb.remove("start/n1.html");
    kb.run(&["sync"]).exits(3);
    assert_eq!(left(&service), 8);
}

#[test]
fn f043_restoring_one_or_naming_a_part_approves_none_of_the_rest() {
    let (service, kb, _) = held();
    kb.run(&["sync", "start/n2.html"]).exits(3);
    kb.run(&["restore", "start/n1.html"]).exits(0);
    kb.run(&["restore", "start/n5.html"]).exits(0);
    for command in [
        &["sync"][..],
        &["sync", "start"],
        &["sync", "start/n2.html"],
        &["push", "start/n3.html"],
        &["sync"],
    ] {
        let ran = kb.run(command).exits(3);
        assert!(ran.stdout.contains("it was held with others"), "{ran:#?}");
        assert_eq!(left(&service), 8);
    }
    // A later removal is a new action, apart from the held actions.
    kb.remove("start/n1.html");
    kb.run(&["sync", "start/n1.html"]).exits(0);
    assert_eq!(left(&service), 7);
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(left(&service), 4);
}

#[test]
fn allow_deletes_does_it_for_one_command() {
    let (service, kb, _) = held();
    let ran = kb.run(&["sync", "--allow-deletes"]).exits(0);
    assert!(
        ran.stdout.contains("5 changes (on the service)"),
        "{ran:#?}"
    );
    assert_eq!(left(&service), 3);
}

#[test]
fn with_nothing_held_it_says_so() {
    let service = Service::start();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let ran = kb.run(&["approve"]).exits(0);
    assert!(
        ran.stderr.contains("nothing waits for `approve`"),
        "{ran:#?}"
    );
    schema::check("report", &kb.run(&["approve", "--json"]).exits(0).json());
}

#[test]
fn articles_that_vanished_in_numbers_are_released_together() {
    let service = Service::empty();
    let start = service.category("start");
    let ids: Vec<Uuid> = (1..=12)
        .map(|number| service.article(start, &format!("n{number:02}"), "<p>x</p>"))
        .collect();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    for id in &ids[..6] {
        service.sandbox.remove(*id);
    }
    let files = || {
        kb.articles()
            .iter()
            .filter(|(path, _)| path.contains("/n"))
            .count()
    };
    for _ in 0..3 {
        kb.run(&["sync"]).exits(3);
        assert_eq!(files(), 12, "nothing goes without a yes");
    }
    let ran = kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(files(), 6, "{ran:#?}");
    kb.run(&["sync"]).exits(0);
}
