//! Files that are moved between the folders of a mirror's workspaces: the move alone deletes no article.

use crate::support::daemon::{Daemon, until};
use crate::support::kb::{Kb, Service, TOKEN};
use crate::support::schema;
use crate::support::world::{World, lines};
use kbsync::engine::open;
use kbsync::engine::settings::CycleRequest;
use kbsync::model::ExitCode;
use kbsync::reconcile::snapshot::Direction;
use std::fs;
use uuid::Uuid;

/// Two workspaces in `en` and `de`, with an article each.
pub(crate) fn two_workspaces() -> (Service, Kb, Uuid, Uuid) {
    let service = Service::empty();
    let other = service.sandbox.add_workspace("Hilfe");
    let here = service.category("start");
    let there = service.sandbox.add_category(other, "Start", "start");
    let one = service.article(here, "one", "<p>One.</p>");
    let eins = service.article(there, "eins", "<p>Eins.</p>");
    let mut kb = Kb::with_settings(&format!(
        "service: {}\nworkspaces:\n  - {{id: {}, folder: en}}\n  - {{id: {other}, folder: de}}\n",
        service.url, service.workspace
    ));
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.trust();
    kb.run(&["sync"]).exits(0);
    (service, kb, one, eins)
}

fn rename(kb: &Kb, from: &str, to: &str) {
    let (from, to) = (kb.mirror().join(from), kb.mirror().join(to));
    fs::create_dir_all(to.parent().expect("a parent")).expect("made");
    fs::rename(from, to).expect("renamed");
}

/// Returns the reason of each held action, from `status`.
fn held(kb: &Kb) -> Vec<String> {
    let json = kb.run(&["status", "--json"]).exits(0).json();
    schema::check("status", &json);
    let held = json["held"].as_array().expect("a list").iter();
    held.map(|one| one["reason"].as_str().expect("a reason").to_owned())
        .collect()
}

#[test]
fn a_workspace_that_was_never_synced_hides_nothing_of_the_others() {
    let (service, kb, ..) = two_workspaces();
    let new = service.sandbox.add_workspace("Aide");
    let settings = kb.read("kbsync.yaml");
    kb.write(
        "kbsync.yaml",
        &format!("{settings}  - {{id: {new}, folder: fr}}\n"),
    );
    fs::create_dir(kb.mirror().join("fr")).expect("made");
    kb.edit("en/start/one.html", "One.", "Uno.");
    let json = kb.run(&["status", "--json"]).exits(0).json();
    assert_eq!(json["last_sync"], serde_json::Value::Null);
    let said = kb.run(&["status"]).exits(0).stdout;
    for line in [
        "fr was never synced: `kbsync sync` compares its files with the service.",
        "updated   en/start/one.html",
        "last sync ",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn a_file_that_is_moved_into_another_workspaces_folder_takes_no_article_away() {
    let (service, kb, one, _) = two_workspaces();
    rename(&kb, "en/start/one.html", "de/start/one.html");
    for arguments in [
        &["sync", "--dry-run"][..],
        &["sync"],
        &["push", "en"],
        &["sync"],
    ] {
        let ran = kb.run(arguments);
        assert!(
            ran.stdout.contains("its file is de/start/one.html now"),
            "{arguments:?}: {ran:#?}"
        );
        assert_eq!(service.sandbox.articles().len(), 2, "{arguments:?}");
    }
    // The other workspace also holds the file.
    let held = held(&kb);
    let reason = held.iter().find(|reason| reason.starts_with("its file is"));
    let reason = reason.expect("it waits");
    assert!(
        reason.contains("move the file back") && reason.contains("`kbsync approve`"),
        "{reason}"
    );
    assert_eq!(held.len(), 2, "{held:?}");
    // Once the file is moved back, everything is as before.
    rename(&kb, "de/start/one.html", "en/start/one.html");
    kb.run(&["sync"]).exits(0);
    assert!(service.sandbox.article(one).is_some());
    assert_eq!(service.sandbox.articles().len(), 2);
}

#[test]
fn what_lies_in_another_workspaces_folder_counts_whatever_it_is_there() {
    for place in [
        "de/start/draft.htm",
        "de/start/one.conflict.html",
        "de/new/one.html",
        "de/one.html",
        "de/hidden/one.html",
    ] {
        let (service, kb, one, _) = two_workspaces();
        kb.write("de/.kbsyncignore", "hidden/\n");
        rename(&kb, "en/start/one.html", place);
        let ran = kb.run(&["sync", "en"]).exits(3);
        assert!(ran.stdout.contains(place), "{ran:#?}");
        assert!(service.sandbox.article(one).is_some(), "{place}");
    }
}

#[test]
fn a_copy_with_its_id_in_another_workspaces_folder_is_the_only_thing_that_is_told() {
    let (_service, kb, ..) = two_workspaces();
    let copy = kb.read("en/start/one.html");
    kb.write("de/new/one.html", &copy);
    for _ in 0..2 {
        let json = kb.run(&["sync", "--json"]).exits(3).json();
        assert_eq!(json["problems"], serde_json::json!([]), "{json:#}");
        let lines = json["actions"].as_array().expect("actions");
        let held = lines.iter().filter(|line| line["status"] == "held");
        let paths: Vec<_> = held.map(|line| line["path"].clone()).collect();
        assert_eq!(paths, ["de/new/one.html"], "{json:#}");
    }
}

#[test]
fn a_person_lets_an_article_go_whose_file_is_in_another_workspaces_folder() {
    for command in [
        &["approve", "--yes"][..],
        &["sync", "en", "--allow-deletes"],
    ] {
        let (service, kb, one, _) = two_workspaces();
        rename(&kb, "en/start/one.html", "de/start/one.html");
        kb.run(&["sync", "en"]).exits(3);
        kb.run(command);
        assert!(service.sandbox.article(one).is_none(), "{command:?}");
        assert_eq!(service.sandbox.articles().len(), 1, "{command:?}");
        assert_eq!(held(&kb).len(), 0, "{command:?}");
    }
}

#[test]
fn without_its_id_line_it_is_an_article_of_the_other_workspace() {
    let (service, kb, one, _) = two_workspaces();
    rename(&kb, "en/start/one.html", "de/start/one.html");
    kb.run(&["sync", "en"]).exits(3);
    kb.edit("de/start/one.html", &format!("id: {one}\n"), "");
    // The missing id line alone is no decision about the old article.
    let ran = kb.run(&["sync"]).exits(3);
    let told = "its file was moved into another workspace's folder";
    assert!(ran.stdout.contains(told), "{ran:#?}");
    assert!(service.sandbox.article(one).is_some());
    assert_eq!(service.sandbox.articles().len(), 3);
    assert!(kb.read("de/start/one.html").contains("\nid: "));
    kb.run(&["approve", "--yes"]);
    assert!(service.sandbox.article(one).is_none());
    kb.run(&["sync"]).exits(0);
}

/// An editor empties a file before it writes the file anew: for a moment the `id:` line is missing.
#[test]
fn a_file_that_is_just_being_saved_in_the_other_workspaces_folder_lets_nothing_go() {
    let (service, kb, one, _) = two_workspaces();
    rename(&kb, "en/start/one.html", "de/start/one.html");
    kb.run(&["sync", "en"]).exits(3);
    let text = kb.read("de/start/one.html");
    kb.write("de/start/one.html", "");
    kb.run(&["sync", "en"]).exits(3);
    assert!(service.sandbox.article(one).is_some());
    kb.write("en/start/one.html", &text);
    kb.remove("de/start/one.html");
    kb.run(&["sync"]).exits(0);
    assert!(service.sandbox.article(one).is_some());
}

#[test]
fn a_copy_of_a_conflict_claims_nothing() {
    let (service, kb, one, _) = two_workspaces();
    let copy = format!(
        "---\n# The version of article {one} on the service.\ntitle: one\n---\n<p>One.</p>\n"
    );
    kb.write("de/start/one.conflict.html", &copy);
    kb.remove("en/start/one.html");
    kb.run(&["sync", "en"]).exits(0);
    assert!(service.sandbox.article(one).is_none());
}

#[tokio::test]
async fn while_another_workspaces_folder_cannot_be_looked_at_no_file_counts_as_removed() {
    let world = World::new().await;
    let category = world.category("start");
    let (one, two) = (
        world.article(category, "one", "<p>One.</p>"),
        world.article(category, "two", "<p>Two.</p>"),
    );
    world.sync().await;
    world.remove("start/one.html");
    let request = CycleRequest::new(Direction::Both);
    let beside = |path: &str| {
        let folders = vec![("de/".to_owned(), world.path(path))];
        world.engine().with_folders(open::among(folders), None)
    };
    let mut engine = beside("not-mounted");
    let report = engine.cycle(&request).await.expect("a cycle");
    assert_eq!(lines(&report), ["delete remote start/one.html held"]);
    assert_eq!(report.outcome, ExitCode::Attention);
    let reason = report.actions[0].reason.as_deref().expect("a reason");
    assert!(reason.contains("de/ cannot be read"), "{reason}");
    // A cycle without a removal does not look at the other folders.
    world.edit("start/two.html", "Two.", "Zwei.");
    let scoped = CycleRequest {
        scope: vec!["start/two.html".to_owned()],
        ..request.clone()
    };
    let report = engine.cycle(&scoped).await.expect("a cycle");
    assert_eq!(lines(&report), ["update remote start/two.html done"]);
    assert_eq!(
        world.sandbox().article(two).expect("there").text,
        "<p>Zwei.</p>"
    );
    drop(engine);
    fs::create_dir(world.path(".kbsync/empty")).expect("made");
    let report = beside(".kbsync/empty").cycle(&request).await;
    assert_eq!(
        lines(&report.expect("a cycle")),
        ["delete remote start/one.html done"]
    );
    assert!(world.sandbox().article(one).is_none());
}

#[test]
fn the_daemon_keeps_an_article_whose_file_went_into_another_workspaces_folder() {
    let (service, kb, one, _) = two_workspaces();
    let settings = kb.read("kbsync.yaml");
    kb.write(
        "kbsync.yaml",
        &format!("{settings}quiet_period: 20ms\ndelete_grace: 100ms\n"),
    );
    let daemon = Daemon::start(&kb, &[]);
    rename(&kb, "en/start/one.html", "de/start/one.html");
    // The other workspace also holds the file, perhaps first.
    until("the removal is held", || {
        held(&kb)
            .iter()
            .any(|reason| reason.starts_with("its file is"))
    });
    assert!(service.sandbox.article(one).is_some());
    kb.run(&["approve", "--yes"]);
    assert!(service.sandbox.article(one).is_none());
    daemon.stop();
}
