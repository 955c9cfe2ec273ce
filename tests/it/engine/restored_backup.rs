//! Old copies that are listed again: a replica that is behind for long, and a service that was restored from a backup
//! (failures row 22).

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::look::{assert_quiet, both, problems};
use crate::support::world::{World, lines};
use kbsync::engine::settings::CycleRequest;
use kbsync::sandbox::Snapshot;
use uuid::Uuid;

const FIRST: &str = "<p>1</p>";
const OURS: &str = "<p>1, ours</p>";

/// An article that the writer has edited once. Returns the service as it was before.
async fn pushed() -> (World, Uuid, Snapshot) {
    let world = World::new().await;
    let a = world.category("a");
    let id = world.article(a, "one", FIRST);
    world.sync().await;
    let past = world.sandbox().snapshot();
    world.edit("a/one.html", FIRST, OURS);
    world.sync().await;
    (world, id, past)
}

#[tokio::test]
async fn f022_a_service_that_was_restored_from_a_backup_is_believed_at_the_second_look() {
    let (world, _, past) = pushed().await;
    world.sandbox().go_back(&past);
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    assert!(world.read("a/one.html").contains(OURS));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/one.html done"]);
    assert!(world.read("a/one.html").contains(FIRST));
    assert_quiet(&world, 1).await;
}

/// Twelve articles that the writer has edited once.
async fn many_pushed() -> (World, Vec<Uuid>, Snapshot) {
    let world = World::new().await;
    let a = world.category("a");
    let names = (0..12).map(|number| format!("a{number}"));
    let ids = names.map(|name| world.article(a, &name, FIRST)).collect();
    world.sync().await;
    let past = world.sandbox().snapshot();
    for number in 0..12 {
        world.edit(&format!("a/a{number}.html"), FIRST, OURS);
    }
    world.sync().await;
    (world, ids, past)
}

#[tokio::test]
async fn f022_many_articles_from_a_backup_wait_for_a_person() {
    let (world, _, past) = many_pushed().await;
    world.sandbox().go_back(&past);
    world.sync().await;
    for _ in 0..2 {
        let report = world.sync().await;
        let held = lines(&report);
        assert_eq!(held.len(), 12, "{held:?}");
        assert!(held.iter().all(|line| line.ends_with("held")), "{held:?}");
    }
    assert!(world.read("a/a0.html").contains(OURS));
}

#[tokio::test]
async fn f022_a_replica_that_is_behind_for_long_changes_nothing() {
    let (world, _, past) = pushed().await;
    let files = world.files();
    for probes in [0, 1, 0, 1] {
        world.sandbox().serve_past(&past, 1);
        let report = world.sync().await;
        assert_eq!(lines(&report), [""; 0]);
        assert_eq!(report.requests.put, probes);
        assert_eq!(world.files(), files);
    }
    world.sync().await;
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f022_a_refused_probe_is_the_last_one_and_a_person_is_told() {
    let (world, id, past) = pushed().await;
    world.sandbox().go_back(&past);
    world.sync().await;
    let put = Matcher::new("PUT", &format!("/api/article/{id}"));
    let refusal = r#"{"success":false,"message":"read only"}"#;
    let refused = FaultKind::Status(403, refusal.into());
    world.sandbox().inject(Fault::once(put, refused));
    for probes in [1, 0] {
        let report = world.sync().await;
        assert_eq!(report.requests.put, probes);
        let told = problems(&report);
        assert!(told[0].contains("lists an older version"), "{told:?}");
    }
}

/// A person who syncs one file asks for no other article.
#[tokio::test]
async fn f022_an_old_copy_outside_of_the_paths_is_not_asked_about() {
    let (world, _, past) = pushed().await;
    world.write("a/two.html", "---\ntitle: Two\n---\n<p>2</p>\n");
    world.sandbox().go_back(&past);
    world.sync().await;
    let scoped = CycleRequest {
        scope: vec!["a/two.html".to_owned()],
        ..both()
    };
    let report = world.run(&scoped).await;
    assert_eq!(report.requests.put, 0);
}

/// Ended early, the answers would go through as a few roll-backs.
#[tokio::test]
async fn f022_answers_of_a_look_that_broke_off_do_not_count() {
    let (world, ids, past) = many_pushed().await;
    world.sandbox().go_back(&past);
    world.sync().await;
    let put = Matcher::new("PUT", &format!("/api/article/{}", ids[4]));
    let refusal = r#"{"success":false,"message":"no"}"#;
    let refused = FaultKind::Status(401, refusal.into());
    world.sandbox().inject(Fault::once(put, refused));
    let before = world.files();
    world.sync().await;
    assert_eq!(world.files(), before);
}

/// A hidden article is not listed: the probe that reads it is believed as well.
#[tokio::test]
async fn f022_a_hidden_article_of_a_restored_service_is_believed() {
    let world = World::new().await;
    let a = world.category("a");
    let id = world.article(a, "one", FIRST);
    world.sync().await;
    let hide = |article: &mut kbsync::sandbox::Article| article.enabled = false;
    world.sandbox().edit(id, hide);
    world.sync().await;
    let past = world.sandbox().snapshot();
    let file = world.read("a/one.html");
    assert!(file.contains(FIRST), "{file}");
    world.edit("a/one.html", FIRST, OURS);
    world.sync().await;
    assert_eq!(world.sandbox().article(id).expect("there").text, OURS);
    world.sandbox().go_back(&past);
    world.edit("a/one.html", OURS, "<p>1, ours again</p>");
    for _ in 0..2 {
        world.sync().await;
    }
    let report = world.sync().await;
    let told = format!("{:?} {:?}", lines(&report), problems(&report));
    assert!(told.contains("conflict both a/one.html held"), "{told}");
}

#[tokio::test]
async fn f022_without_probes_a_person_is_told_of_a_second_old_copy() {
    let (mut world, _, past) = pushed().await;
    world.settings.probe = false;
    world.sandbox().go_back(&past);
    let report = world.sync().await;
    assert_eq!(problems(&report), [""; 0]);
    let report = world.sync().await;
    assert_eq!(report.requests.put, 0);
    let told = problems(&report);
    assert!(told[0].contains("lists an older version"), "{told:?}");
    assert!(world.read("a/one.html").contains(OURS));
}
