//! Many files that are restored at once: from one scan of the mirror, with progress, and interrupted without harm.

use crate::support::hostile::{Meddler, Stage, calm, engine, sync, sync_with, world};
use crate::support::world::lines;
use kbsync::engine::Progress;
use kbsync::engine::restore::{RestoreRequest, Restored};
use kbsync::engine::settings::CycleRequest;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::ArticleId;
use kbsync::reconcile::snapshot::Direction;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// A number of files of which some may be deleted without an approval.
const FILES: usize = 40;

/// A synced mirror that was then emptied. Returns its articles.
async fn emptied() -> (Stage, Vec<Uuid>) {
    let stage = world().await;
    let start = stage.category("start");
    let articles: Vec<Uuid> = (0..FILES)
        .map(|number| stage.article(start, &format!("n{number:02}"), "<p>Words.</p>"))
        .collect();
    sync(&stage).await;
    std::fs::remove_dir_all(stage.path("start")).expect("emptied");
    (stage, articles)
}

fn wishes(articles: &[Uuid]) -> Vec<RestoreRequest> {
    let wish = |id: &Uuid| RestoreRequest::missing(ArticleId::new(*id));
    articles.iter().map(wish).collect()
}

/// A power loss before the file of this name exists.
fn until(name: &'static str) -> Meddler {
    Arc::new(move |moment| {
        if moment.doing == "publish" && moment.what.ends_with(name) {
            return Err(DiskErrorKind::Full);
        }
        Ok(())
    })
}

async fn broken_off(stage: &Stage, articles: &[Uuid]) -> Restored {
    let restored = engine(stage, &until("n36.html"))
        .restore(&wishes(articles))
        .await;
    assert!(restored.failed.is_some() && restored.places.len() == 36);
    restored
}

#[tokio::test]
async fn f040_a_restore_that_is_broken_off_deletes_nothing_and_can_be_gone_on_with() {
    let (stage, articles) = emptied().await;
    broken_off(&stage, &articles).await;
    for allow_deletes in [false, true] {
        let request = CycleRequest {
            allow_deletes,
            ..CycleRequest::new(Direction::Both)
        };
        let report = engine(&stage, &calm()).cycle(&request).await;
        let report = report.expect("it runs");
        assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
        assert_eq!(stage.sandbox().articles().len(), FILES);
        let held = report
            .actions
            .iter()
            .filter_map(|line| line.reason.as_ref());
        let told = held.filter(|reason| {
            reason.contains("was interrupted") && reason.contains("`kbsync restore start/n3")
        });
        assert_eq!(told.count(), 4, "{:?}", lines(&report));
    }
    let restored = engine(&stage, &calm())
        .restore(&wishes(&articles[36..]))
        .await;
    assert!(restored.failed.is_none(), "{restored:?}");
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    // A later removal by a person is synced as usual.
    for name in ["start/n00.html", "start/n39.html"] {
        stage.remove(name);
    }
    sync(&stage).await;
    assert_eq!(stage.sandbox().articles().len(), FILES - 2);
}

#[tokio::test]
async fn a_file_that_came_back_otherwise_after_a_restore_was_broken_off_can_be_removed_again() {
    let (stage, articles) = emptied().await;
    broken_off(&stage, &articles).await;
    for (number, id) in articles.iter().enumerate().skip(36) {
        stage.write(
            &format!("start/n{number}.html"),
            &format!("---\nid: {id}\ntitle: n{number}\n---\n<p>Words.</p>\n"),
        );
    }
    sync(&stage).await;
    stage.remove("start/n39.html");
    let report = sync_with(&stage, &calm()).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(stage.sandbox().articles().len(), FILES - 1);
}

#[tokio::test]
async fn a_restore_of_many_files_tells_how_far_it_is() {
    let (stage, articles) = emptied().await;
    let told: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let teller = Arc::clone(&told);
    let mut restoring = engine(&stage, &calm()).with_teller(Arc::new(move |progress| {
        teller.lock().expect("no panic holds it").push(progress);
    }));
    let restored = restoring.restore(&wishes(&articles)).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    let told = told.lock().expect("no panic holds it").clone();
    let begun = Progress::Phase {
        name: "restoring".to_owned(),
        total: Some(FILES as u64),
        requests: 0,
    };
    let done = (1..=FILES as u64).map(Progress::Done);
    let expected: Vec<Progress> = std::iter::once(begun).chain(done).collect();
    assert_eq!(told, expected);
}

/// Missing files are written without a wait, and Ctrl-C takes effect only at a wait.
#[tokio::test]
async fn a_restore_can_be_broken_off_after_each_file() {
    let (stage, articles) = emptied().await;
    let mut engine = engine(&stage, &calm());
    let all = wishes(&articles);
    tokio::select! {
        biased;
        restored = engine.restore(&all) => panic!("nothing broke it off: {restored:?}"),
        () = std::future::ready(()) => {}
    }
    assert!(stage.exists("start/n00.html") && !stage.exists("start/n01.html"));
}
