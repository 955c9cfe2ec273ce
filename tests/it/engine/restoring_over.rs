//! A restore over existing content: files that are not ready, copies of other articles, folders without names.

use crate::support::hostile::{Meddler, Stage, calm, engine, store, sync, world};
use crate::support::world::lines;
use kbsync::engine::restore::{self, RestoreRequest, Restored};
use kbsync::engine::settings::CycleRequest;
use kbsync::mirror::RealDisk;
use kbsync::model::{ArticleId, Field};
use kbsync::reconcile::snapshot::Direction;
use std::sync::Arc;
use uuid::Uuid;

/// `start/n0.html` to `start/n2.html`, synced.
async fn synced() -> (Stage, [Uuid; 3]) {
    let stage = world().await;
    let start = stage.category("start");
    let articles = ["n0", "n1", "n2"]
        .map(|slug| stage.article(start, slug, &format!("<p>Words of {slug}.</p>")));
    sync(&stage).await;
    (stage, articles)
}

async fn restored(stage: &Stage, meddle: &Meddler, wishes: &[RestoreRequest]) -> Restored {
    engine(stage, meddle).restore(wishes).await
}

/// Requests version `number` of an article, whatever lies at its path.
fn version(id: Uuid, number: u64) -> RestoreRequest {
    RestoreRequest {
        missing: false,
        number: Some(number),
        ..RestoreRequest::missing(ArticleId::new(id))
    }
}

/// Returns two half-finished edits of a restored file.
fn half_done(id: Uuid) -> [String; 2] {
    [
        "---\ntitle: [\n---\nhalf a save".to_owned(),
        format!(
            "---\nid: {id}\ntitle: n0\n---\n<<<<<<< a\n<p>1</p>\n=======\n<p>2</p>\n>>>>>>> b\n"
        ),
    ]
}

#[tokio::test]
async fn a_missing_file_that_came_back_and_is_not_ready_is_left_as_it_is() {
    for number in 0..2 {
        let (stage, articles) = synced().await;
        let broken = &half_done(articles[0])[number];
        stage.remove("start/n0.html");
        stage.remove("start/n1.html");
        stage.write("start/n0.html", broken);
        let wishes = [0, 1].map(|number| RestoreRequest::missing(ArticleId::new(articles[number])));
        let restored = restored(&stage, &calm(), &wishes).await;
        assert!(restored.failed.is_none(), "{restored:?}");
        assert_eq!(stage.read("start/n0.html"), *broken);
        assert!(stage.exists("start/n1.html"));
        let [refusal] = restored.refused.as_slice() else {
            panic!("{restored:?}");
        };
        assert_eq!(refusal.path, "start/n0.html");
        assert!(refusal.message.contains("is there again"), "{refusal:?}");
        // A person who names a version number wants this version in any case.
        let restored = self::restored(&stage, &calm(), &[version(articles[0], 1)]).await;
        assert!(restored.failed.is_none(), "{restored:?}");
        assert!(stage.read("start/n0.html").contains("Words of n0."));
    }
}

#[tokio::test]
async fn a_file_that_comes_back_unready_in_that_very_moment_stops_only_itself() {
    let (stage, articles) = synced().await;
    for name in ["start/n0.html", "start/n1.html"] {
        stage.remove(name);
    }
    let path = stage.path("start/n0.html");
    let meddle: Meddler = Arc::new(move |moment| {
        if (moment.doing, moment.what.as_str(), moment.after) == ("publish", "start/n0.html", false)
        {
            std::fs::write(&path, "---\ntitle: [\n---\nhalf a save").expect("written");
        }
        Ok(())
    });
    let wishes = [0, 1].map(|number| RestoreRequest::missing(ArticleId::new(articles[number])));
    let restored = restored(&stage, &meddle, &wishes).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    assert_eq!(restored.refused.len(), 1, "{restored:?}");
    assert!(stage.read("start/n0.html").contains("half a save"));
    assert!(stage.exists("start/n1.html"));
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_shown_is_left_as_it_is() {
    let (stage, articles) = synced().await;
    stage.edit("start/n0.html", "Words", "Second words");
    sync(&stage).await;
    let wish = RestoreRequest {
        missing: false,
        ..RestoreRequest::missing(ArticleId::new(articles[0]))
    };
    let disk = RealDisk::open(stage.folder.path()).expect("a mirror");
    let each = restore::prepare(&disk, &mut store(&stage), std::slice::from_ref(&wish));
    let shown = each.expect("read").remove(0).expect("prepared");
    assert!(shown.new.contains("<p>Words of n0.</p>"), "{shown:?}");
    let agreed = shown.agreed(&wish);
    // A colleague's edit, which another sync pulls while the person reads the question.
    stage.sandbox().edit(articles[0], |article| {
        "<p>Third words of n0.</p>".clone_into(&mut article.text);
    });
    sync(&stage).await;
    let refused = restored(&stage, &calm(), &[agreed]).await.failed;
    let refused = refused.expect("refused").to_string();
    assert!(refused.contains("changed just now"), "{refused}");
    assert!(stage.read("start/n0.html").contains("Third words"));
}

#[tokio::test]
async fn a_copy_of_another_articles_file_gets_its_own_id_with_its_own_words() {
    let (stage, articles) = synced().await;
    let copy = stage.read("start/n1.html");
    stage.write("start/n0.html", &copy);
    sync(&stage).await;
    let restored = restored(&stage, &calm(), &[version(articles[0], 1)]).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    let file = stage.read("start/n0.html");
    assert!(
        file.contains(&format!("id: {}\n", articles[0])) && file.contains("Words of n0."),
        "{file}"
    );
    assert!(!file.contains(&articles[1].to_string()), "{file}");
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(stage.sandbox().articles().len(), 3);
}

#[tokio::test]
async fn an_old_version_of_a_deleted_article_comes_back_into_its_last_category() {
    let (stage, articles) = synced().await;
    let help = stage.category("help-center");
    stage.article(help, "first", "<p>First.</p>");
    sync(&stage).await;
    // The folder's name is not the category's slug.
    let named = stage.read("help-center/_category.yaml");
    stage.write(
        "help-center/_category.yaml",
        &format!("{named}slug: help-center\n"),
    );
    stage.rename("help-center", "help");
    stage.rename("start/n0.html", "help/n0.html");
    sync(&stage).await;
    std::fs::remove_dir_all(stage.path("help")).expect("removed");
    let allowed = CycleRequest {
        allow_deletes: true,
        ..CycleRequest::new(Direction::Both)
    };
    stage.run(&allowed).await;
    assert!(stage.sandbox().article(articles[0]).is_none());
    let restored = restored(&stage, &calm(), &[version(articles[0], 1)]).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    assert!(stage.read("help/n0.html").contains("Words of n0."));
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(stage.sandbox().categories().len(), 2);
    let articles = stage.sandbox().articles();
    let back = articles.iter().find(|article| article.slug == "n0");
    assert_eq!(back.expect("it is back").category_id, help);
}

#[tokio::test]
async fn a_folder_that_came_back_with_a_file_and_without_its_name_is_the_category_that_it_was() {
    let (stage, articles) = synced().await;
    for slug in ["n3", "n4"] {
        let start = stage.sandbox().categories()[0].id;
        stage.article(start, slug, "<p>Words.</p>");
    }
    sync(&stage).await;
    let named = stage.read("start/_category.yaml");
    stage.write("start/_category.yaml", &format!("{named}slug: start\n"));
    stage.rename("start", "help");
    sync(&stage).await;
    let file = stage.read("help/n0.html");
    std::fs::remove_dir_all(stage.path("help")).expect("removed");
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    stage.write("help/n0.html", &file.replace("Words", "Other words"));
    let restored = restored(&stage, &calm(), &[version(articles[0], 1)]).await;
    assert!(restored.failed.is_none(), "{restored:?}");
    let report = sync(&stage).await;
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    assert!(stage.read("help/n0.html").contains("<p>Words of n0.</p>"));
    assert_eq!(stage.sandbox().categories().len(), 1);
}

#[tokio::test]
async fn a_restored_text_does_not_publish_an_article_that_a_colleague_hid() {
    for is_edited in [true, false] {
        let (stage, articles) = synced().await;
        let older = stage.read("start/n0.html");
        stage.sandbox().edit(articles[0], |article| {
            article.enabled = false;
            if is_edited {
                article.title = "Newer".to_owned();
            }
        });
        sync(&stage).await;
        let newer = stage.read("start/n0.html");
        assert!(newer.contains("enabled: false\n"), "{newer}");
        // An older commit has neither the line nor the title.
        stage.write("start/n0.html", &older);
        let wish = RestoreRequest {
            missing: false,
            ..RestoreRequest::missing(ArticleId::new(articles[0]))
        };
        let restored = restored(&stage, &calm(), &[wish]).await;
        assert!(restored.failed.is_none(), "{restored:?}");
        let fields = restored.lines[0].fields.as_slice();
        let expected = [Field::Title, Field::Enabled];
        assert_eq!(fields, &expected[usize::from(!is_edited)..]);
        let file = stage.read("start/n0.html");
        assert!(file.contains("enabled: false\n"), "{file}");
        assert_eq!(file.contains("Newer"), is_edited, "{file}");
        let report = sync(&stage).await;
        assert_eq!(report.requests.put, 0, "{:?}", lines(&report));
        let article = stage.sandbox().article(articles[0]).expect("an article");
        assert!(!article.enabled);
    }
}
