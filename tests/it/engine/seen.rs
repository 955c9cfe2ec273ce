//! Versions that were read only in passing are in the history as well (promise 1): by the read after a lost response,
//! in a cycle that may not write files, in an edited conflict copy.

use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::hostile::{self, Meddler, Stage};
use crate::support::world::lines;
use kbsync::engine::restore::{Refused, RestoreRequest};
use kbsync::engine::settings::CycleRequest;
use kbsync::mirror::disk::DiskErrorKind;
use kbsync::model::{ArticleId, Place};
use kbsync::reconcile::snapshot::{Direction, OnConflict};
use kbsync::state::Subject;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

const COPY: &str = "a/one.conflict.html";

async fn one_article() -> (Stage, Uuid) {
    let world = hostile::world().await;
    let category = world.category("a");
    let one = world.article(category, "one", "<p>One.</p>");
    hostile::sync(&world).await;
    (world, one)
}

/// Returns every text of an article that the history can bring back.
fn texts(world: &Stage, id: Uuid) -> Vec<String> {
    let store = hostile::store(world);
    let versions = store.versions(&Subject::Article(ArticleId::new(id)));
    let versions = versions.expect("read").into_iter();
    let texts = versions.filter_map(|kept| store.body(kept.seen.version.text).expect("read"));
    texts.collect()
}

async fn push(world: &Stage) {
    let mut engine = hostile::engine(world, &hostile::calm());
    let report = engine.cycle(&CycleRequest::new(Direction::Push)).await;
    report.expect("a cycle");
}

fn replies(world: &Stage, id: Uuid, text: &'static str) {
    world
        .sandbox()
        .edit(id, |article| text.clone_into(&mut article.text));
}

#[tokio::test]
async fn what_the_look_after_a_lost_write_finds_is_kept() {
    for method in ["PUT", "DELETE"] {
        let (world, one) = one_article().await;
        match method {
            "PUT" => world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>"),
            _ => world.remove("a/one.html"),
        }
        let path = "/api/article/";
        let theirs = Hook::new(move |sandbox| {
            sandbox.edit(one, |article| article.text = "<p>Passing.</p>".to_owned());
        });
        let faults = [FaultKind::Hook(theirs), FaultKind::ResetBefore];
        for fault in faults {
            let on = Matcher::new(method, path);
            world.sandbox().inject(Fault::once(on, fault));
        }
        let report = hostile::sync(&world).await;
        assert_eq!(report.actions.len(), 1, "{method}: {:?}", lines(&report));
        // The colleague edits again before the next cycle, so no other read saw the first text.
        replies(&world, one, "<p>Later.</p>");
        hostile::sync(&world).await;
        let texts = texts(&world, one);
        for text in ["<p>Passing.</p>", "<p>Later.</p>"] {
            assert!(texts.contains(&text.to_owned()), "{method}: {texts:?}");
        }
    }
}

#[tokio::test]
async fn what_a_push_saw_of_an_article_that_it_may_not_fetch_is_kept() {
    let (world, _) = one_article().await;
    let a = world.sandbox().categories()[0].id;
    let new = world.article(a, "new", "<p>First.</p>");
    push(&world).await;
    assert_eq!(texts(&world, new), ["<p>First.</p>"]);
    replies(&world, new, "<p>Second.</p>");
    push(&world).await;
    push(&world).await;
    assert_eq!(texts(&world, new), ["<p>Second.</p>", "<p>First.</p>"]);
    assert!(!world.exists("a/new.html"));
    let store = hostile::store(&world);
    assert_eq!(store.deleted_articles().expect("read"), []);
    drop(store);
    // The article is alive: restored as a new article it would exist twice.
    let mut wish = RestoreRequest {
        subject: Subject::Article(ArticleId::new(new)),
        number: Some(1),
        to: None,
        missing: false,
        shown: None,
    };
    let mut engine = hostile::engine(&world, &hostile::calm());
    let restored = engine.restore(std::slice::from_ref(&wish)).await;
    let refused = restored.failed.expect("refused");
    assert!(
        refused.is::<Refused>() && refused.to_string().contains("never fetched"),
        "{refused}"
    );
    // With another path, a person can restore it as a new article.
    wish.to = Some(Place::new("a", "again.html"));
    let restored = engine.restore(&[wish]).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    assert!(world.read("a/again.html").contains("<p>First.</p>"));
    drop(engine);
    world.remove("a/again.html");
    hostile::sync(&world).await;
    assert!(world.read("a/new.html").contains("<p>Second.</p>"));
    assert_eq!(
        texts(&world, new).last().map(String::as_str),
        Some("<p>First.</p>")
    );
}

#[tokio::test]
async fn what_a_mirror_ignores_is_not_kept_and_what_waits_for_a_file_in_motion_is() {
    let (world, _) = one_article().await;
    let a = world.sandbox().categories()[0].id;
    world.write(".kbsyncignore", "a/draft-*\n");
    let ignored = world.article(a, "draft-one", "<p>Not ours.</p>");
    let awaited = world.article(a, "new", "<p>First.</p>");
    let request = CycleRequest {
        in_motion: hostile::in_motion(&["a/new.html"]),
        ..CycleRequest::new(Direction::Both)
    };
    let mut engine = hostile::engine(&world, &hostile::calm());
    engine.cycle(&request).await.expect("a cycle");
    drop(engine);
    assert!(!world.exists("a/draft-one.html") && !world.exists("a/new.html"));
    assert_eq!(texts(&world, ignored), [""; 0]);
    assert_eq!(texts(&world, awaited), ["<p>First.</p>"]);
}

#[tokio::test]
async fn what_a_first_sync_cannot_write_is_kept() {
    let world = hostile::world().await;
    let one = world.article(world.category("a"), "one", "<p>One.</p>");
    let full: Meddler = Arc::new(|moment| match moment.what.as_str() {
        "a/one.html" => Err(DiskErrorKind::Full),
        _ => Ok(()),
    });
    let mut engine = hostile::engine(&world, &full);
    let request = CycleRequest::new(Direction::Both);
    engine.cycle(&request).await.expect("a cycle");
    drop(engine);
    assert!(!world.exists("a/one.html"));
    assert_eq!(texts(&world, one), ["<p>One.</p>"]);
}

/// An article without a row whose file has another name than its slug, while the slug's place is ignored.
async fn adopted() -> (Stage, Uuid) {
    let mut world = hostile::world().await;
    world.settings.on_conflict = OnConflict::Local;
    let category = world.category("a");
    let one = world.article(category, "old", "<p>Theirs.</p>");
    world.write(".kbsyncignore", "a/old.html\n");
    let head = format!("---\nid: {one}\ntitle: Mine\nslug: old\n---\n");
    world.write("a/new.html", &(head + "<p>Mine.</p>\n"));
    (world, one)
}

#[tokio::test]
async fn what_a_file_replaces_is_kept_although_the_place_of_its_slug_is_ignored() {
    let (world, one) = adopted().await;
    hostile::sync(&world).await;
    let now = world.sandbox().article(one).expect("there").text;
    assert_eq!(now, "<p>Mine.</p>");
    assert!(texts(&world, one).contains(&"<p>Theirs.</p>".to_owned()));
}

#[tokio::test]
async fn what_the_read_before_a_first_write_finds_is_kept() {
    let (mut world, one) = adopted().await;
    world.settings.guard_window = Duration::ZERO;
    let passing = Hook::new(move |sandbox| {
        sandbox.edit(one, |article| article.text = "<p>Passing.</p>".to_owned());
    });
    world.sandbox().inject(Fault::once(
        Matcher::new("GET", "/api/article/"),
        FaultKind::Hook(passing),
    ));
    hostile::sync(&world).await;
    replies(&world, one, "<p>Later.</p>");
    hostile::sync(&world).await;
    let kept = texts(&world, one);
    for text in ["<p>Theirs.</p>", "<p>Passing.</p>", "<p>Later.</p>"] {
        assert!(kept.contains(&text.to_owned()), "{text}: {kept:?}");
    }
}

/// The history stores text. Bytes that are not text, or too many, cannot be brought back from it, so the file stays.
#[tokio::test]
async fn a_file_at_the_place_of_a_conflict_copy_is_neither_replaced_nor_removed() {
    let latin = b"<p>Gr\xfc\xdfe</p>\n".to_vec();
    let long = [b"<p>".to_vec(), vec![b'a'; 17 << 20]].concat();
    for bytes in [latin, long] {
        // The file exists before the conflict is shown.
        let (world, one) = one_article().await;
        std::fs::write(world.path(COPY), &bytes).expect("written");
        world.edit("a/one.html", "<p>One.</p>", "<p>One, mine.</p>");
        replies(&world, one, "<p>One, theirs.</p>");
        let report = hostile::sync(&world).await;
        assert_eq!(lines(&report), ["conflict both a/one.html held"]);
        assert_eq!(std::fs::read(world.path(COPY)).expect("there"), bytes);
        assert!(world.read("a/one.html").contains("mine"));
        // The conflict is settled in another way.
        replies(&world, one, "<p>One, mine.</p>");
        hostile::sync(&world).await;
        hostile::sync(&world).await;
        assert_eq!(std::fs::read(world.path(COPY)).expect("there"), bytes);
        let report = hostile::sync(&world).await;
        assert!(report.is_quiet(), "{:?}", lines(&report));
    }
}
