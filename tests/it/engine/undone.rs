//! `status` reports files that could not be written, until they are written.

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::hostile::{self, Meddler, Stage};
use kbsync::engine::settings::{Cause, CycleRequest};
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::reconcile::snapshot::Direction;
use std::sync::Arc;
use uuid::Uuid;

/// `a/one.html` and `a/two.html` that were edited on the service since the last sync.
async fn edited_there() -> (Stage, [Uuid; 2]) {
    let world = hostile::world().await;
    let a = world.category("a");
    let ids = ["one", "two"].map(|slug| world.article(a, slug, "<p>Old.</p>"));
    hostile::sync(&world).await;
    for id in ids {
        world
            .sandbox()
            .edit(id, |article| article.text = "<p>New.</p>".into());
    }
    (world, ids)
}

/// Returns the problems that `status` reports, as path and message.
fn told(world: &Stage) -> Vec<(String, String)> {
    let problems = hostile::status(world).problems.into_iter();
    problems
        .map(|problem| (problem.path, problem.message))
        .collect()
}

fn failing(doing: &'static str, kind: DiskErrorKind) -> Meddler {
    Arc::new(move |moment| {
        if moment.doing == doing && !moment.after && moment.what.starts_with("a/") {
            Err(kind)
        } else {
            Ok(())
        }
    })
}

async fn sync_of(world: &Stage, path: &str) {
    let request = CycleRequest {
        scope: vec![path.to_owned()],
        ..CycleRequest::new(Direction::Both)
    };
    let report = hostile::engine(world, &hostile::calm())
        .cycle(&request)
        .await
        .expect("a cycle");
    assert_eq!(report.outcome.number(), 0, "{report:#?}");
}

#[tokio::test]
async fn a_file_that_could_not_be_written_is_told_until_it_is() {
    let (world, _) = edited_there().await;
    hostile::sync_with(&world, &failing("stage", DiskErrorKind::Denied)).await;
    let denied = "update failed: failed to stage a/: permission is denied; let this user read and write it; the next sync tries \
         again";
    let of = |path: &str| (path.to_owned(), denied.to_owned());
    assert_eq!(told(&world), [of("a/one.html"), of("a/two.html")]);

    sync_of(&world, "a/one.html").await;
    assert_eq!(told(&world), [of("a/two.html")]);

    let refused = FaultKind::Status(401, r#"{"success":false,"message":"no"}"#.to_owned());
    world.sandbox().inject(Fault::once(Matcher::any(), refused));
    let report = hostile::sync(&world).await;
    assert_ne!(report.outcome.number(), 0, "{report:#?}");
    assert_eq!(told(&world), [of("a/two.html")], "nothing was tried");

    hostile::sync(&world).await;
    assert_eq!(told(&world), []);
    assert!(world.read("a/two.html").contains("New."));
}

#[tokio::test]
async fn what_was_only_skipped_since_is_still_told() {
    let (world, _) = edited_there().await;
    hostile::sync_with(&world, &failing("stage", DiskErrorKind::Denied)).await;
    let paths = || -> Vec<String> { told(&world).into_iter().map(|(path, _)| path).collect() };
    assert_eq!(paths(), ["a/one.html", "a/two.html"]);
    // A full disk stops all writes that follow, so the files are only skipped.
    hostile::sync_with(&world, &failing("stage", DiskErrorKind::Full)).await;
    assert_eq!(paths(), ["a/one.html", "a/two.html"]);
    hostile::sync(&world).await;
    assert_eq!(told(&world), []);
}

#[tokio::test]
async fn a_folder_that_is_not_durable_is_told() {
    let (world, _) = edited_there().await;
    hostile::sync_with(&world, &failing("sync folder", DiskErrorKind::Other)).await;
    let told_first = told(&world);
    assert!(
        told_first
            .iter()
            .any(|(path, why)| path == "a/one.html" && why.contains("failed to sync folder a/")),
        "{told_first:?}"
    );
    hostile::sync(&world).await;
    assert_eq!(told(&world), []);
}

#[tokio::test]
async fn what_is_not_wanted_any_more_is_not_told() {
    let (world, ids) = edited_there().await;
    let mut engine = hostile::engine(&world, &failing("stage", DiskErrorKind::Denied));
    let is_background = CycleRequest {
        cause: Cause::Background,
        ..CycleRequest::new(Direction::Both)
    };
    engine.cycle(&is_background).await.expect("a cycle");
    assert_eq!(told(&world).len(), 2);
    for id in ids {
        world
            .sandbox()
            .edit(id, |article| article.text = "<p>Old.</p>".into());
    }
    engine.cycle(&is_background).await.expect("a cycle");
    assert_eq!(told(&world), []);
}
