//! Files that go out of scope or come back into it, and the rows that are dropped with them.

use crate::support::kb::{Kb, Service};
use crate::support::look::both;
use crate::support::world::{World, lines};
use kbsync::engine::report::Status;
use uuid::Uuid;

fn synced() -> (Service, Kb, Uuid) {
    let service = Service::empty();
    let start = service.category("start");
    for slug in ["one", "two", "three"] {
        service.article(start, slug, "<p>Text.</p>");
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    service.sandbox.clear_requests();
    (service, kb, start)
}

#[test]
fn f048_what_went_while_it_was_ignored_is_forgotten_and_comes_back() {
    let (service, kb, _) = synced();
    kb.write(".kbsyncignore", "start/one.html\n");
    kb.run(&["sync"]).exits(0);
    kb.remove("start/one.html");
    kb.run(&["sync", "--dry-run"]).exits(0);
    kb.run(&["sync"]).exits(0);
    assert!(!kb.exists("start/one.html"));
    kb.remove(".kbsyncignore");
    kb.run(&["sync"]).exits(0);
    assert!(kb.exists("start/one.html"));
    assert_eq!(service.sandbox.articles().len(), 3);
    assert_eq!(service.sandbox.counts().delete, 0);
    // In scope, a removal counts.
    kb.remove("start/one.html");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 2);
}

#[test]
fn f048_a_folder_that_went_while_it_was_ignored_comes_back() {
    let (service, kb, _) = synced();
    kb.write(".kbsyncignore", "start/\n");
    std::fs::remove_dir_all(kb.mirror().join("start")).expect("removed");
    kb.run(&["sync"]).exits(0);
    kb.remove(".kbsyncignore");
    kb.run(&["sync"]).exits(0);
    assert!(kb.exists("start/one.html") && kb.exists("start/three.html"));
    assert_eq!(service.sandbox.articles().len(), 3);
    kb.run(&["sync"]).exits(0);
}

#[test]
fn f048_a_file_that_went_to_another_folder_is_no_file_that_went() {
    let (service, kb, _) = synced();
    let other = service.category("other");
    service.article(other, "four", "<p>Four.</p>");
    kb.run(&["sync"]).exits(0);
    kb.write(".kbsyncignore", "start/\n");
    let (from, to) = ("start/one.html", "other/one.html");
    std::fs::rename(kb.mirror().join(from), kb.mirror().join(to)).expect("moved");
    kb.run(&["sync"]).exits(0);
    kb.remove(".kbsyncignore");
    kb.run(&["sync"]).exits(0);
    let articles = service.sandbox.articles();
    let moved = articles.iter().find(|article| article.slug == "one");
    assert_eq!(moved.expect("there").category_id, other);
    assert_eq!(articles.len(), 4);
}

#[test]
fn f010_a_damaged_row_of_a_category_moves_no_article() {
    for without_file in [false, true] {
        let (service, kb, start) = synced();
        if without_file {
            kb.remove("start/_category.yaml");
        }
        let state = rusqlite::Connection::open(kb.mirror().join(".kbsync/state.db"));
        let mut bytes = *start.as_bytes();
        bytes[7] ^= 1;
        let flip = "UPDATE categories SET id = ?1";
        let rows = state.expect("the state").execute(flip, [&bytes[..]]);
        assert_eq!(rows.expect("damaged"), 1);
        let before = kb.read("start/one.html");
        kb.run(&["sync", "--dry-run"]).exits(0);
        kb.run(&["sync"]).exits(0);
        let counts = service.sandbox.counts();
        assert_eq!((counts.put, counts.post, counts.delete), (0, 0, 0));
        assert_eq!(kb.read("start/one.html"), before);
        assert!(kb.read("start/_category.yaml").contains(&start.to_string()));
        // The row is whole again, and the next cycle is quiet.
        service.sandbox.clear_requests();
        kb.run(&["sync"]).exits(0);
        assert_eq!(service.sandbox.counts().total, 1);
    }
}

/// An editor may empty a file before it writes the new text: rules that hide files seem to be gone then.
#[tokio::test]
async fn f048_a_half_saved_rules_file_publishes_nothing() {
    let world = World::new().await;
    world.write("start/_category.yaml", "name: Start\n");
    world.write("start/secret.html", "---\ntitle: Secret\n---\n<p>x</p>\n");
    world.write("notes/secret.html", "---\ntitle: Secret\n---\n<p>x</p>\n");
    world.write(".kbsyncignore", "secret.html\nnotes/\n");
    world.sync().await;
    assert_eq!(world.sandbox().articles(), []);
    world.write(".kbsyncignore", "");
    let report = world.sync().await;
    let secret = report
        .actions
        .iter()
        .filter(|line| line.status == Status::Held);
    let held: Vec<&str> = secret.map(|line| line.path.as_str()).collect();
    assert!(
        held.contains(&"start/secret.html") && held.contains(&"notes"),
        "{held:?}"
    );
    assert_eq!(world.sandbox().articles(), []);
    world.write(".kbsyncignore", "secret.html\nnotes/\n");
    world.sync().await;
    assert_eq!(world.sandbox().articles(), []);
    // If a second look finds the same rules, they are meant: a command needs no second run.
    world.write(".kbsyncignore", "notes/\n");
    let report = world
        .engine()
        .cycle_until_settled(&both())
        .await
        .expect("a cycle");
    assert_eq!(lines(&report), ["create remote start/secret.html done"]);
    assert_eq!(world.sandbox().articles().len(), 1);
    // The same holds for the private edit of a known file.
    world.write(".kbsyncignore", "notes/\nsecret.html\n");
    world.sync().await;
    world.edit("start/secret.html", "<p>x</p>", "<p>private</p>");
    world.write(".kbsyncignore", "");
    world.sync().await;
    world.write(".kbsyncignore", "notes/\nsecret.html\n");
    world.sync().await;
    assert_eq!(world.sandbox().articles()[0].text, "<p>x</p>");
}
