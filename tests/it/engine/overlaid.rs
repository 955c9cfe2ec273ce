//! A file that names an article of which nothing is known, over another article's: nobody took that one's away.

use crate::engine::crash::silence_deaths;
use crate::support::hostile::{self, Meddler, Stage};
use crate::support::look::held;
use crate::support::world::lines;
use futures_util::FutureExt as _;
use kbsync::engine::report::{Ending, Report};
use kbsync::engine::settings::Request;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::ArticleId;
use kbsync::reconcile::snapshot::{Direction, Keep};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use uuid::Uuid;

/// The id in another mirror.
const ELSEWHERE: Uuid = Uuid::from_u128(0x0e15_e3ee);

/// A writer copied a file over from another mirror.
async fn copied_over(hidden: bool) -> (Stage, Uuid) {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.article(a, "two", "<p>2</p>");
    hostile::sync(&world).await;
    if hidden {
        world.sandbox().edit(one, |article| article.enabled = false);
        hostile::sync(&world).await;
    }
    let file = format!("---\nid: {ELSEWHERE}\ntitle: Other\n---\n<p>other</p>\n");
    world.write("a/one.html", &file);
    (world, one)
}

async fn resolve(world: &Stage, keep: Keep, meddle: &Meddler) -> Report {
    let mut request = Request::new(Direction::Both);
    request.resolve.insert(ArticleId::new(ELSEWHERE), keep);
    let mut engine = hostile::engine(world, meddle);
    engine.cycle(&request).await.expect("a cycle")
}

async fn assert_settled(world: &Stage, hidden: bool) {
    let report = hostile::sync(world).await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert_eq!(report.outcome, Ending::Done, "{report:#?}");
    assert_eq!(world.sandbox().articles().len(), 2);
    let file = world.read("a/one.html");
    assert!(file.contains("<p>1</p>"), "{file}");
    assert_eq!(file.contains("enabled: false"), hidden, "{file}");
}

#[tokio::test]
async fn f047_an_article_whose_place_another_ones_file_took_comes_back_when_that_one_goes() {
    for hidden in [false, true] {
        let (world, one) = copied_over(hidden).await;
        let report = hostile::sync(&world).await;
        let told = held(&report);
        assert_eq!(told[0].0, "a/one.html");
        let told = &told[0].1;
        assert!(
            told.contains("--keep remote` replaces it with that article's file"),
            "{told}"
        );
        assert!(told.contains(&one.to_string()), "{told}");
        let report = resolve(&world, Keep::Remote, &hostile::calm()).await;
        assert_eq!(lines(&report), ["delete local a/one.html done"]);
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["restore local a/one.html done"]);
        assert_eq!(report.requests.delete, 0);
        let told = report.actions[0].reason.clone().unwrap_or_default();
        assert!(told.contains("nobody removed it"), "{told}");
        assert_settled(&world, hidden).await;
    }
}

/// The run dies between the file's end and the record of it.
#[tokio::test]
async fn f047_a_run_that_dies_over_such_a_file_does_not_make_a_removal_of_it() {
    let (world, _) = copied_over(false).await;
    hostile::sync(&world).await;
    let dies: Meddler = Arc::new(|moment| {
        if moment.doing == "remove" && moment.after {
            return Err(DiskErrorKind::Other);
        }
        Ok(())
    });
    resolve(&world, Keep::Remote, &dies).await;
    assert!(!world.exists("a/one.html"));
    let report = hostile::sync(&world).await;
    assert_eq!(report.requests.delete, 0, "{report:#?}");
    let restored = "restore local a/one.html done".to_owned();
    assert!(lines(&report).contains(&restored), "{:?}", lines(&report));
    assert_settled(&world, false).await;
}

/// The same, and the daemon that is started then does not know since when the file has been gone.
#[tokio::test]
async fn f047_such_a_file_that_is_in_motion_after_the_death_makes_no_removal_either() {
    silence_deaths();
    let (world, one) = copied_over(false).await;
    hostile::sync(&world).await;
    let dies: Meddler = Arc::new(|moment| {
        let removed = (moment.doing, moment.after) == ("remove", true);
        assert!(!removed, "the process dies");
        Ok(())
    });
    let killed = AssertUnwindSafe(resolve(&world, Keep::Remote, &dies)).catch_unwind();
    assert!(killed.await.is_err());
    assert!(!world.exists("a/one.html"));
    let in_motion = Request {
        unsettled: hostile::unsettled(&["a/one.html"]),
        patient: true,
        ..Request::new(Direction::Both)
    };
    let mut engine = hostile::engine(&world, &hostile::calm());
    engine.cycle(&in_motion).await.expect("a report");
    drop(engine);
    let report = hostile::sync(&world).await;
    assert_eq!(report.requests.delete, 0, "{report:#?}");
    assert!(world.sandbox().article(one).is_some());
    assert_settled(&world, false).await;
}

/// The run dies when it has written down that the other article's file is to come back, and before it does anything.
#[tokio::test]
async fn f047_a_run_that_dies_before_such_a_file_goes_leaves_nothing_of_it() {
    silence_deaths();
    let (world, one) = copied_over(false).await;
    hostile::sync(&world).await;
    let dies: Meddler = Arc::new(|moment| {
        let removes = (moment.doing, moment.after) == ("remove", false);
        assert!(!removes, "the process dies");
        Ok(())
    });
    let run = AssertUnwindSafe(resolve(&world, Keep::Remote, &dies)).catch_unwind();
    assert!(run.await.is_err());
    let file = world.read("a/one.html");
    assert!(file.contains(&ELSEWHERE.to_string()));
    hostile::sync(&world).await;
    // The writer puts the right file back, with an edit, and a colleague has another one.
    world.write(
        "a/one.html",
        &format!("---\nid: {one}\ntitle: one\n---\n<p>1, mine</p>\n"),
    );
    world
        .sandbox()
        .edit(one, |article| article.title = "Eins".to_owned());
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["merge both a/one.html done"]);
    assert!(world.read("a/one.html").contains("title: Eins"));
}

/// Sent as a new one, it would lie at the other one's place without an id on the way.
#[tokio::test]
async fn such_a_file_is_made_an_article_of_its_own_under_another_name() {
    let (world, one) = copied_over(false).await;
    hostile::sync(&world).await;
    let report = resolve(&world, Keep::Local, &hostile::calm()).await;
    assert_eq!(report.requests.post + report.requests.delete, 0);
    let told = held(&report);
    assert!(
        told[0]
            .1
            .contains("copy it to another name without the `id:` line"),
        "{told:?}"
    );
    let file = world.read("a/one.html");
    let id = format!("id: {ELSEWHERE}\n");
    assert!(file.contains(&id));
    world.write("a/other.html", &file.replace(&id, ""));
    let report = hostile::sync(&world).await;
    let created = "create remote a/other.html done".to_owned();
    assert!(lines(&report).contains(&created), "{:?}", lines(&report));
    resolve(&world, Keep::Remote, &hostile::calm()).await;
    hostile::sync(&world).await;
    let report = hostile::sync(&world).await;
    assert!(report.is_quiet(), "{:?}", lines(&report));
    assert!(world.read("a/one.html").contains(&one.to_string()));
    assert_eq!(world.sandbox().articles().len(), 3);
}

/// Somebody saves it in that instant, or the folder is read-only.
fn cannot_remove() -> Meddler {
    Arc::new(|moment| {
        if moment.doing == "remove" && !moment.after {
            return Err(DiskErrorKind::Changed);
        }
        Ok(())
    })
}

/// A removal that was announced for the other article's sake, and did not come about.
async fn not_removed() -> (Stage, Uuid, String) {
    let (world, one) = copied_over(false).await;
    hostile::sync(&world).await;
    resolve(&world, Keep::Remote, &cannot_remove()).await;
    let file = world.read("a/one.html");
    assert!(file.contains(&ELSEWHERE.to_string()), "{file}");
    let own = format!("---\nid: {one}\ntitle: one\n---\n<p>1</p>\n");
    (world, one, own)
}

#[tokio::test]
async fn a_file_that_could_not_be_removed_deletes_the_other_article_when_a_person_removes_it() {
    let (world, one, _) = not_removed().await;
    world.remove("a/one.html");
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/one.html done"]);
    assert!(world.sandbox().article(one).is_none());
}

#[tokio::test]
async fn a_file_that_could_not_be_removed_is_no_conflict_once_the_id_is_put_back() {
    let (world, one, own) = not_removed().await;
    world.write("a/one.html", &own);
    let theirs = |article: &mut kbsync::sandbox::Article| article.text = "<p>theirs</p>".into();
    world.sandbox().edit(one, theirs);
    let report = hostile::sync(&world).await;
    assert_eq!(report.outcome, Ending::Done, "{report:#?}");
    assert!(world.read("a/one.html").contains("<p>theirs</p>"));
}

#[tokio::test]
async fn a_conflict_of_the_other_article_that_stands_open_stays_as_it_is() {
    for meddle in [hostile::calm(), cannot_remove()] {
        let world = hostile::world().await;
        let a = world.category("a");
        let one = world.article(a, "one", "<p>1</p>");
        hostile::sync(&world).await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        let theirs = |article: &mut kbsync::sandbox::Article| article.text = "<p>theirs</p>".into();
        world.sandbox().edit(one, theirs);
        hostile::sync(&world).await;
        let file = format!("---\nid: {ELSEWHERE}\ntitle: Other\n---\n<p>other</p>\n");
        world.write("a/one.html", &file);
        hostile::sync(&world).await;
        let conflict = |world: &Stage| {
            let mut all = hostile::store(world).conflicts().expect("a state");
            all.retain(|row| row.id == ArticleId::new(one));
            all
        };
        let before = conflict(&world);
        assert_eq!(before.len(), 1);
        resolve(&world, Keep::Remote, &meddle).await;
        assert_eq!(conflict(&world), before);
    }
}
