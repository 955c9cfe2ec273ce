//! A restore of many files, some of which are back by then or cannot be restored: the other files are restored, and
//! nothing else.

use crate::support::hostile::{Meddler, Stage, calm, engine, store, sync, world};
use crate::support::world::lines;
use kbsync::engine::report::Report;
use kbsync::engine::restore::{self, Refused, RestoreRequest, Restored};
use kbsync::engine::settings::CycleRequest;
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::{ArticleId, Place};
use kbsync::reconcile::plan::Kind;
use kbsync::reconcile::snapshot::Direction;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// A synced mirror with so many articles, `start/n0.html` and so on.
async fn synced(count: usize) -> (Stage, Vec<Uuid>) {
    let stage = world().await;
    let start = stage.category("start");
    let articles: Vec<Uuid> = (0..count)
        .map(|number| stage.article(start, &format!("n{number}"), "<p>Words.</p>"))
        .collect();
    sync(&stage).await;
    (stage, articles)
}

fn file(number: usize) -> String {
    format!("start/n{number}.html")
}

/// Writes an article's file with other words.
fn put_back(stage: &Stage, number: usize, id: Uuid, text: &str) {
    stage.write(
        &file(number),
        &format!("---\nid: {id}\ntitle: n{number}\n---\n{text}\n"),
    );
}

async fn restored(stage: &Stage, meddle: &Meddler, articles: &[Uuid]) -> Restored {
    let missing = |id: &Uuid| RestoreRequest::missing(ArticleId::new(*id));
    let wishes: Vec<RestoreRequest> = articles.iter().map(missing).collect();
    engine(stage, meddle).restore(&wishes).await
}

/// Returns the numbers of the files that exist.
fn there(stage: &Stage, count: usize) -> Vec<usize> {
    (0..count)
        .filter(|number| stage.exists(&file(*number)))
        .collect()
}

/// Returns the files that existed again.
fn left_alone(restored: &Restored) -> Vec<String> {
    let refused = restored.refused.iter();
    let left = refused.filter(|one| one.message.contains("left as it is"));
    left.map(|one| one.path.clone()).collect()
}

/// Returns the reason why an article whose file is missing is not deleted.
fn reason(report: &Report, path: &str) -> String {
    let mut lines = report.actions.iter();
    let line = lines.find(|line| line.path == path && line.action == Kind::Delete);
    line.and_then(|line| line.reason.clone())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_file_that_came_back_before_its_turn_is_left_as_it_is() {
    let (stage, articles) = synced(3).await;
    for number in 0..2 {
        stage.remove(&file(number));
    }
    // A colleague's edit wins over a removal; the writer's checkout is not synced yet.
    stage.sandbox().edit(articles[0], |article| {
        article.text = "<p>Theirs.</p>".into();
    });
    put_back(&stage, 1, articles[1], "<p>Mine.</p>");
    sync(&stage).await;
    assert!(stage.read(&file(0)).contains("Theirs."));
    put_back(&stage, 1, articles[1], "<p>Mine again.</p>");
    stage.remove(&file(2));
    let restored = restored(&stage, &calm(), &articles).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    assert!(stage.read(&file(0)).contains("Theirs."));
    assert!(stage.read(&file(1)).contains("Mine again."));
    assert!(stage.exists(&file(2)));
    assert_eq!(left_alone(&restored), [file(0), file(1)]);
    let told = restored.lines[0].reason.clone().unwrap_or_default();
    assert!(told.contains("version @"), "{told}");
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    let text = |number: usize| {
        stage
            .sandbox()
            .article(articles[number])
            .expect("there")
            .text
    };
    assert_eq!(text(0), "<p>Theirs.</p>");
    assert_eq!(text(1), "<p>Mine again.</p>");
}

#[tokio::test]
async fn a_file_that_was_shown_as_missing_is_left_as_it_is_when_it_came_back_meanwhile() {
    let (stage, articles) = synced(1).await;
    stage.remove(&file(0));
    let named = |number| RestoreRequest {
        missing: false,
        number,
        ..RestoreRequest::missing(ArticleId::new(articles[0]))
    };
    let shown = |wish: RestoreRequest| {
        let disk = RealDisk::open(stage.folder.path()).expect("a mirror");
        let mut store = store(&stage);
        let wishes = std::slice::from_ref(&wish);
        let found = restore::prepare(&disk, &mut store, wishes);
        let found = found.expect("looked").pop().expect("one of one");
        found.expect("it can").agreed(&wish)
    };
    let shown_missing = [None, Some(1)].map(|number| shown(named(number)));
    // A colleague's edit wins over the removal.
    stage.sandbox().edit(articles[0], |article| {
        article.text = "<p>Theirs.</p>".into();
    });
    sync(&stage).await;
    for wish in shown_missing {
        let restored = engine(&stage, &calm()).restore(&[wish]).await;
        assert!(restored.failed.is_some_and(|error| error.is::<Refused>()));
        assert!(stage.read(&file(0)).contains("Theirs."));
    }
    // A person who has seen the file wants the version.
    for wish in [None, Some(1)].map(|number| shown(named(number))) {
        let restored = engine(&stage, &calm()).restore(&[wish]).await;
        assert!(restored.failed.is_none(), "{restored:?}");
        assert!(stage.read(&file(0)).contains("Words."));
        stage.edit(&file(0), "Words.", "Theirs.");
    }
}

#[tokio::test]
async fn a_file_that_comes_back_while_others_are_brought_back_is_left_as_it_is() {
    let (stage, articles) = synced(3).await;
    for number in 0..3 {
        stage.remove(&file(number));
    }
    let path = |number| (stage.path(&file(number)), articles[number]);
    let back = [path(1), path(2)];
    // One file comes back before its turn, and one at the moment of its turn.
    let meddle: Meddler = Arc::new(move |moment| {
        let (path, id) = match (moment.doing, moment.what.as_str(), moment.after) {
            ("publish", "start/n0.html", true) => &back[0],
            ("publish", "start/n2.html", false) => &back[1],
            _ => return Ok(()),
        };
        let file = format!("---\nid: {id}\ntitle: Mine\n---\n<p>Mine.</p>\n");
        std::fs::write(path, file).expect("written");
        Ok(())
    });
    let restored = restored(&stage, &meddle, &articles).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    assert_eq!(restored.lines.len(), 1);
    for number in [1, 2] {
        assert!(stage.read(&file(number)).contains("<p>Mine.</p>"));
    }
    assert_eq!(left_alone(&restored), [file(1), file(2)]);
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(stage.sandbox().articles().len(), 3);
}

#[tokio::test]
async fn an_article_that_is_gone_by_its_turn_does_not_come_back_as_a_new_one() {
    let (stage, articles) = synced(3).await;
    stage.remove(&file(0));
    stage.remove(&file(1));
    stage.sandbox().remove(articles[0]);
    let gone = stage.sandbox().articles().len();
    let allowed = sync(&stage).await;
    assert_eq!(allowed.outcome.number(), 0, "{:?}", lines(&allowed));
    assert_eq!((gone, stage.sandbox().articles().len()), (2, 1));
    stage.remove(&file(2));
    let restored = restored(&stage, &calm(), &articles).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    let told: Vec<_> = restored.refused.iter().map(ToString::to_string).collect();
    for id in &articles[..2] {
        let command = format!("`kbsync restore {id}`");
        let mut told = told.iter();
        assert!(
            told.any(|told| told.contains("deleted meanwhile") && told.contains(&command)),
            "{restored:?}"
        );
    }
    assert_eq!(told.len(), 2);
    assert_eq!(there(&stage, 3), [2]);
}

#[tokio::test]
async fn what_cannot_come_back_stops_nothing_but_itself() {
    let (stage, articles) = synced(5).await;
    stage.rename(&file(1), &file(0));
    for number in 2..5 {
        stage.remove(&file(number));
    }
    let missing: Vec<Uuid> = [0, 2, 3, 4].map(|number| articles[number]).to_vec();
    let restored = restored(&stage, &calm(), &missing).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    assert_eq!(there(&stage, 5), [0, 2, 3, 4]);
    assert_eq!(restored.places.len(), 3);
    let told = restored.refused.into_iter().map(Refused::problem);
    let told: Vec<_> = told
        .map(|problem| (problem.path, problem.message))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, file(0));
    assert!(told[0].1.contains("move it away"), "{told:?}");
    // A person who wanted the file back is asked before its article is deleted.
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    let told = reason(&report, &file(0));
    assert!(
        told.contains("interrupted or failed") && told.contains("`kbsync approve`"),
        "{told}"
    );
    assert_eq!(stage.sandbox().articles().len(), 5);
}

#[tokio::test]
async fn where_nothing_can_come_back_each_is_told_with_what_is_in_its_way() {
    let (stage, articles) = synced(4).await;
    stage.rename(&file(1), &file(0));
    stage.rename(&file(3), &file(2));
    let restored = restored(&stage, &calm(), &[articles[0], articles[2]]).await;
    let told = restored.failed.expect("refused");
    assert!(told.is::<Refused>(), "{told:#}");
    let told = told.to_string();
    for number in [0, 2] {
        let each = format!("{0}: something else is at {0}", file(number));
        assert!(told.contains(&each), "{told}");
    }
}

#[tokio::test]
async fn a_file_that_was_not_brought_back_holds_no_other_deletion() {
    let (stage, articles) = synced(12).await;
    stage.remove(&file(9));
    let full: Meddler = Arc::new(|moment| match moment.doing {
        "publish" => Err(DiskErrorKind::Full),
        _ => Ok(()),
    });
    let broken_off = restored(&stage, &full, &articles[9..10]).await;
    assert!(broken_off.failed.is_some());
    let unrestored = |report: &Report| {
        let told = reason(report, &file(9));
        assert!(told.contains("`kbsync restore start/n9.html`"), "{told}");
        assert!(told.contains("`kbsync approve`"), "{told}");
    };
    unrestored(&sync(&stage).await);
    // Each removal comes alone, some hours after the last.
    for number in 0..5 {
        stage.clock.advance(Duration::from_hours(3));
        stage.remove(&file(number));
        let report = sync(&stage).await;
        unrestored(&report);
        assert_eq!(
            stage.sandbox().articles().len(),
            11 - number,
            "{:?} {}",
            lines(&report),
            reason(&report, &file(number))
        );
    }
    assert!(stage.sandbox().article(articles[9]).is_some());
}

/// A folder `help` that is the category `help-center`, removed and recorded as removed.
async fn without_its_folder() -> (Stage, Vec<Uuid>) {
    let stage = world().await;
    let category = stage.category("help-center");
    let articles: Vec<Uuid> = (0..5)
        .map(|number| stage.article(category, &format!("n{number}"), "<p>Words.</p>"))
        .collect();
    sync(&stage).await;
    let named = stage.read("help-center/_category.yaml");
    stage.write(
        "help-center/_category.yaml",
        &format!("{named}slug: help-center\n"),
    );
    let renamed = std::fs::rename(stage.path("help-center"), stage.path("help"));
    renamed.expect("renamed");
    sync(&stage).await;
    std::fs::remove_dir_all(stage.path("help")).expect("removed");
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    (stage, articles)
}

async fn is_one_category(stage: &Stage, articles: &[Uuid]) {
    let restored = restored(stage, &calm(), articles).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    let report = sync(stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    let categories = stage.sandbox().categories();
    assert_eq!(categories.len(), 1, "{categories:?}");
    assert_eq!(stage.sandbox().articles().len(), 5);
}

#[tokio::test]
async fn a_folder_that_was_made_before_its_files_come_back_is_the_category_that_it_was() {
    let (stage, articles) = without_its_folder().await;
    std::fs::create_dir(stage.path("help")).expect("made");
    is_one_category(&stage, &articles).await;
}

#[tokio::test]
async fn a_folder_that_was_left_without_its_name_is_the_category_that_it_was() {
    let (stage, articles) = without_its_folder().await;
    let full: Meddler = Arc::new(|moment| match moment.what.as_str() {
        "help/_category.yaml" => Err(DiskErrorKind::Full),
        _ => Ok(()),
    });
    let broken_off = restored(&stage, &full, &articles).await;
    assert!(broken_off.failed.is_some() && stage.path("help").is_dir());
    is_one_category(&stage, &articles).await;
}

#[tokio::test]
async fn a_folder_that_is_named_for_a_new_article_does_not_become_the_category_of_the_old_one() {
    let (stage, articles) = without_its_folder().await;
    let allowed = CycleRequest {
        allow_deletes: true,
        ..CycleRequest::new(Direction::Both)
    };
    stage.run(&allowed).await;
    assert_eq!(stage.sandbox().articles().len(), 0);
    std::fs::create_dir(stage.path("fresh")).expect("made");
    let wish = RestoreRequest {
        missing: false,
        to: Some(Place::new("fresh", "again.html")),
        ..RestoreRequest::missing(ArticleId::new(articles[0]))
    };
    let restored = engine(&stage, &calm()).restore(&[wish]).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    let slugs: Vec<String> = stage
        .sandbox()
        .categories()
        .into_iter()
        .map(|category| category.slug)
        .collect();
    assert_eq!(slugs, ["help-center", "fresh"]);
}
