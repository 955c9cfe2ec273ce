//! A state that was made for another folder causes no deletion.

use crate::support::kb::{Kb, Service};
use std::path::Path;
use std::process::Command;

/// Limits that are never reached.
const UNLIMITED: &str = "max_deletes: {count: 100000, percent: 100}\n";

/// A synced mirror of twelve articles in two folders.
fn synced() -> (Service, Kb) {
    let service = Service::empty();
    for folder in ["start", "billing"] {
        let category = service.category(folder);
        for number in 1..=6 {
            service.article(category, &format!("n{number}"), "<p>Text.</p>");
        }
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    (service, kb)
}

/// A clone of the service's mirror with the same state, for another user. `with`: the folders that are copied as well.
fn clone_of(service: &Service, kb: &Kb, with: &[&str]) -> Kb {
    let clone = service.mirror();
    clone.write("kbsync.yaml", &(clone.read("kbsync.yaml") + UNLIMITED));
    for name in [".kbsync"].iter().chain(with) {
        copy(&kb.mirror().join(name), &clone.mirror());
    }
    clone
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.expect("it runs").success());
}

#[test]
fn f089_a_state_without_its_files_deletes_nothing_whatever_the_limits() {
    let (service, kb) = synced();
    let clone = clone_of(&service, &kb, &[]);
    for _ in 0..2 {
        let ran = clone.run(&["sync"]).exits(3);
        assert!(
            ran.stdout.contains("the state was made for another folder"),
            "{ran:#?}"
        );
        assert_eq!(service.sandbox.articles().len(), 12);
    }
    assert_eq!(service.sandbox.counts().delete, 0);
    // The reported deletions are released by an approval.
    clone.run(&["approve", "--yes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 0);
}

#[test]
fn f089_a_file_or_two_that_did_not_come_along_are_held_and_come_back() {
    let (service, kb) = synced();
    let clone = clone_of(&service, &kb, &["start", "billing"]);
    clone.remove("start/n1.html");
    clone.edit("start/n2.html", "Text.", "Mine.");
    // A dry run shows the hold, and does not count as a report.
    let plan = clone.run(&["sync", "--dry-run"]).exits(0).stdout;
    assert!(plan.contains("was made for another folder"), "{plan}");
    // A partial sync does not count as a report either.
    clone.run(&["sync", "start/n1.html"]).exits(3);
    let ran = clone.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("start/n1.html held"), "{ran:#?}");
    // Edits are sent, and a file that is removed from now on counts as removed here.
    assert!(
        service
            .sandbox
            .articles()
            .iter()
            .any(|one| one.text.contains("Mine."))
    );
    clone.remove("billing/n6.html");
    clone.run(&["sync"]).exits(3);
    assert_eq!(service.sandbox.articles().len(), 11);
    clone.run(&["restore", "start"]).exits(0);
    assert!(clone.exists("start/n1.html"));
    clone.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 11);
}

#[test]
fn f089_what_went_on_the_service_is_held_as_well() {
    let (service, kb) = synced();
    let clone = clone_of(&service, &kb, &["start", "billing"]);
    let gone = service.sandbox.articles()[0].id;
    service.sandbox.remove(gone);
    let files = clone.articles().len();
    let ran = clone.run(&["sync"]).exits(3);
    assert!(
        ran.stdout.contains("`kbsync approve` removes the files"),
        "{ran:#?}"
    );
    assert_eq!(clone.articles().len(), files);
}

#[test]
fn a_mirror_that_was_moved_or_has_another_device_number_is_the_same() {
    let (service, kb) = synced();
    // Without the user's records, the inode still identifies the folder.
    std::fs::remove_dir_all(kb.mirror().join("../state/mirrors")).expect("removed");
    kb.remove("start/n1.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 11);
    // If the folder's inode is another, the record still identifies the folder.
    let mirror = kb.mirror();
    copy(&mirror, &mirror.with_extension("copy"));
    std::fs::rename(&mirror, mirror.with_extension("old")).expect("moved");
    std::fs::rename(mirror.with_extension("copy"), &mirror).expect("moved");
    kb.remove("start/n2.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 10);
    // State and record are both about this folder again, and a copy beside it is another mirror.
    let records = std::fs::read_dir(mirror.join("../state/mirrors")).expect("listed");
    assert_eq!(records.count(), 1);
}

/// Deletes the identity of the folder from the state.
fn forget_home(kb: &Kb) {
    let state = rusqlite::Connection::open(kb.mirror().join(".kbsync/state.db"));
    let forgotten = "DELETE FROM meta WHERE key LIKE 'mirror_i%'";
    let rows = state.expect("the state").execute(forgotten, []);
    assert_eq!(rows.expect("forgotten"), 2);
}

#[test]
fn f089_a_state_of_an_earlier_version_is_asked_about_once_if_it_deletes() {
    let (service, kb) = synced();
    forget_home(&kb);
    // A cycle without a deletion does not ask.
    kb.run(&["sync"]).exits(0);
    kb.remove("start/n1.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 11);
    forget_home(&kb);
    kb.remove("start/n2.html");
    kb.run(&["sync"]).exits(3);
    assert_eq!(service.sandbox.articles().len(), 11);
    kb.run(&["approve", "--yes"]).exits(0);
    kb.remove("start/n3.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 9);
}

#[test]
fn f089_a_copied_state_whose_id_was_removed_deletes_nothing() {
    let (service, kb) = synced();
    let clone = clone_of(&service, &kb, &[]);
    forget_home(&clone);
    clone.run(&["sync"]).exits(3);
    assert_eq!(service.sandbox.articles().len(), 12);
}

#[test]
fn a_state_that_began_with_a_pull_belongs_to_its_folder() {
    let service = Service::empty();
    let category = service.category("start");
    for number in 1..=6 {
        service.article(category, &format!("n{number}"), "<p>Text.</p>");
    }
    let kb = service.mirror();
    kb.run(&["pull"]).exits(0);
    kb.remove("start/n1.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 5);
}

#[test]
fn f040_f041_an_emptied_mirror_and_an_emptied_folder_are_held_whatever_the_limits() {
    let (service, kb) = synced();
    kb.write("kbsync.yaml", &(kb.read("kbsync.yaml") + UNLIMITED));
    std::fs::remove_dir_all(kb.mirror().join("billing")).expect("removed");
    kb.remove("start/n1.html");
    let ran = kb.run(&["sync"]).exits(3);
    for words in ["would empty billing/", "`kbsync restore FOLDER`"] {
        assert!(ran.stdout.contains(words), "no {words:?} in {ran:#?}");
    }
    assert_eq!(service.sandbox.articles().len(), 11);
    kb.run(&["restore", "billing"]).exits(0);
    kb.run(&["sync"]).exits(0);
    for folder in ["billing", "start"] {
        std::fs::remove_dir_all(kb.mirror().join(folder)).expect("removed");
    }
    let ran = kb.run(&["sync"]).exits(3);
    assert!(
        ran.stdout
            .contains("no article of this workspace would be left"),
        "{ran:#?}"
    );
    assert_eq!(service.sandbox.articles().len(), 11);
    kb.run(&["sync", "--allow-deletes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 0);
}
