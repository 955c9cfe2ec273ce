//! A service that rewrites what it is sent: one PUT, then quiet cycles, and the writer's formatting stays.

use crate::support::faults::Inject as _;
use crate::support::faults::habits::Normalise;
use crate::support::look::{row, versions};
use crate::support::wire::{problems, reason};
use crate::support::world::{World, lines};
use kbsync::model::TextDigest;
use std::time::Duration;

const TEXT: &str = "<p>One.</p>\n<p>Two.</p>\n<p>Three.</p>";

async fn rewriting(normalise: Normalise) -> (World, uuid::Uuid) {
    let world = World::new().await;
    world.sandbox().habits().normalise = normalise;
    let start = world.category("start");
    let id = world.article(start, "one", TEXT);
    world.sync().await;
    world.sandbox().clear_requests();
    (world, id)
}

#[tokio::test]
async fn f031_one_put_then_quiet_and_the_formatting_stays() {
    let (world, id) = rewriting(Normalise::ALL).await;
    world.edit(
        "start/one.html",
        "<p>Two.</p>",
        "<p onclick=\"x()\">  <b>2.</b>  </p>\n\n\n",
    );
    world.edit(
        "start/one.html",
        "title: one",
        "title: \"  Uno  \"\nkeywords: ' k '",
    );
    let written = world.read("start/one.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert_eq!(world.sent().len(), 1);
    let article = world.on_service(id);
    assert_eq!(
        (article.title.as_str(), article.text.as_str()),
        ("Uno", "<p>One.</p><p><strong>2.</strong></p><p>Three.</p>")
    );
    assert_eq!(world.read("start/one.html"), written);
    for _ in 0..3 {
        world.is_quiet().await;
    }
    world.clock.advance(Duration::from_hours(30));
    world.sync().await;
    assert_eq!(
        (world.sent(), world.read("start/one.html")),
        (vec![], written)
    );
}

#[tokio::test]
async fn f031_later_edits_of_either_side_work_and_meet() {
    let (world, id) = rewriting(Normalise::ALL).await;
    world.edit("start/one.html", "<p>Two.</p>", "<p><b>2.</b></p>");
    world.sync().await;
    // A later edit in the file sends the whole text once.
    world.edit("start/one.html", "<p>One.</p>", "<p>Eins.</p>");
    world.sandbox().clear_requests();
    world.sync().await;
    assert_eq!(
        world.sent(),
        [r#"PUT article {"text":"<p>Eins.</p>\n<p><b>2.</b></p>\n<p>Three.</p>"}"#]
    );
    world.is_quiet().await;
    // A later edit on the service is pulled without the service's rewriting of the rest.
    world.sandbox().edit(id, |article| {
        article.text = article.text.replace("Three.", "Drei.");
    });
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", report.actions);
    assert!(
        world
            .read("start/one.html")
            .ends_with("---\n<p>Eins.</p>\n<p><b>2.</b></p>\n<p>Drei.</p>\n")
    );
    world.is_quiet().await;
    // Edits on both sides at once, in different blocks.
    world.edit("start/one.html", "Eins.", "Un.");
    world.sandbox().edit(id, |article| {
        article.text = article.text.replace("Drei.", "Trois.");
    });
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", report.actions);
    let article = world.on_service(id).text;
    assert!(
        article.contains("Un.") && article.contains("Trois."),
        "{article}"
    );
    let file = world.read("start/one.html");
    assert!(file.contains("Un.") && file.contains("Trois."), "{file}");
    world.is_quiet().await;
}

#[tokio::test]
async fn f032_what_the_service_drops_stays_here_and_is_said() {
    let (world, id) = rewriting(Normalise {
        sanitise: true,
        ..Normalise::default()
    })
    .await;
    let video = "<iframe src=\"https://video.example.com/1\">See the video</iframe>";
    world.edit("start/one.html", "<p>Two.</p>", video);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert!(
        reason(&report, "start/one.html").contains("keeps less than it was sent"),
        "{:?}",
        report.actions
    );
    assert!(!world.on_service(id).text.contains("iframe"));
    assert!(world.read("start/one.html").contains(video));
    world.is_quiet().await;
    // A colleague's edit of another block does not delete the dropped block from the file.
    world.sandbox().edit(id, |article| {
        article.text = article.text.replace("Three.", "3.");
    });
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local start/one.html done"]);
    let file = world.read("start/one.html");
    assert!(file.contains(video) && file.contains("3."), "{file}");
    world.is_quiet().await;
    // A rewriting that drops nothing gives no warning.
    world.edit("start/one.html", "<p>One.</p>", "<p><b>One.</b></p>");
    let report = world.sync().await;
    assert!(world.on_service(id).text.contains("<strong>One.</strong>"));
    assert!(report.actions.len() == 1, "{:?}", report.actions);
    world.is_quiet().await;
}

#[tokio::test]
async fn f031_a_slug_in_lower_case_does_not_rename_the_file() {
    let (world, id) = rewriting(Normalise {
        lowercase_slug: true,
        ..Normalise::default()
    })
    .await;
    world.rename("start/one.html", "start/One.html");
    world.write("start/New.html", "---\ntitle: New\n---\nx\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create remote start/New.html done",
            "move remote start/One.html done"
        ]
    );
    assert_eq!(world.sandbox().articles()[1].slug, "new");
    assert_eq!(world.on_service(id).slug, "one");
    assert!(world.exists("start/One.html") && world.exists("start/New.html"));
    world.is_quiet().await;
    world.edit("start/One.html", "Two", "2");
    world.sync().await;
    assert_eq!(world.on_service(id).slug, "one");
    world.is_quiet().await;
}

#[tokio::test]
async fn f031_new_articles_and_categories_are_rewritten_quietly_too() {
    let (world, _) = rewriting(Normalise::ALL).await;
    world.write(
        "Fresh/_category.yaml",
        "name: '  Fresh  '\ndescription: ' d '\n",
    );
    world.write(
        "Fresh/A.html",
        "---\ntitle: '  A  '\n---\n<p>a</p>\n\n<p><b>b</b></p>\n\n",
    );
    let report = world.sync().await;
    assert_eq!(problems(&report), [""; 0]);
    assert_eq!(report.outcome.number(), 0);
    assert_eq!(world.sandbox().categories()[1].slug, "fresh");
    assert_eq!(
        world.sandbox().articles()[1].text,
        "<p>a</p><p><strong>b</strong></p>"
    );
    world.is_quiet().await;
    world.clock.advance(Duration::from_hours(30));
    let report = world.sync().await;
    assert_eq!((lines(&report), problems(&report)), (vec![], vec![]));
    assert!(
        world
            .read("Fresh/_category.yaml")
            .contains("name: '  Fresh  '")
    );
    // The next edit of a key sends only this key.
    world.edit("Fresh/_category.yaml", "' d '", "' e '");
    world.sandbox().clear_requests();
    world.sync().await;
    assert_eq!(world.sent(), [r#"PUT category {"description":" e "}"#]);
    world.sync().await;
    world.is_quiet().await;
}

#[tokio::test]
async fn f031_a_service_that_answers_null_for_nothing_is_quiet() {
    let (world, _) = rewriting(Normalise {
        empty_as_null: true,
        ..Normalise::default()
    })
    .await;
    world.edit(
        "start/one.html",
        "title: one\n",
        "title: one\nkeywords: k\n",
    );
    world.sync().await;
    world.edit("start/one.html", "keywords: k\n", "");
    world.sandbox().clear_requests();
    world.sync().await;
    assert_eq!(world.sent(), [r#"PUT article {"keywords":""}"#]);
    world.is_quiet().await;
}

#[tokio::test]
async fn an_edit_to_what_the_service_made_of_it_needs_no_put() {
    let (world, id) = rewriting(Normalise {
        sanitise: true,
        ..Normalise::default()
    })
    .await;
    world.edit("start/one.html", "Two.", "<b>2.</b>");
    world.sync().await;
    world.edit("start/one.html", "<b>2.</b>", "<strong>2.</strong>");
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0], "{:?}", lines(&report));
    assert_eq!(report.outcome.number(), 0);
    assert!(world.on_service(id).text.contains("<strong>2.</strong>"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f033_readers_do_not_touch_files() {
    let (world, id) = rewriting(Normalise::default()).await;
    world.sandbox().visit(id, 1000);
    world.is_quiet().await;
    // A new revision with the same text does not touch files either.
    world.sandbox().edit(id, |_| ());
    world.is_quiet().await;
    world.is_quiet().await;
}

#[tokio::test]
async fn a_rewritten_article_that_lost_its_base_is_a_conflict_and_prefer_settles_it() {
    let (world, id) = rewriting(Normalise::ALL).await;
    world.edit("start/one.html", "<p>Two.</p>", "<p><b>2.</b></p>");
    world.sync().await;
    std::fs::remove_dir_all(world.path(".kbsync")).expect("removed");
    std::fs::create_dir(world.path(".kbsync")).expect("made");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/one.html held"]);
    let report = world
        .run(&crate::support::wire::preferring(
            kbsync::reconcile::snapshot::OnConflict::Local,
        ))
        .await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert!(!world.exists("start/one.conflict.html"));
    assert!(world.read("start/one.html").contains("<b>2.</b>"));
    assert!(world.on_service(id).text.contains("<strong>2.</strong>"));
    world.is_quiet().await;
}

/// Returns whether the history has a version of an article with the content of its file.
fn is_kept_as_written(world: &World, id: uuid::Uuid, path: &str) -> bool {
    let file = world.read(path);
    let (_, body) = file.split_once("\n---\n").expect("front matter");
    let text = TextDigest::of(body.strip_suffix('\n').expect("a last line"));
    let title = format!("title: {}\n", row(world, id).expect("a row").local.title);
    assert!(file.contains(&title), "{file}");
    versions(world, id)
        .iter()
        .any(|kept| kept.seen.version.text == text && file.contains(&kept.seen.version.title))
}

#[tokio::test]
async fn a_file_that_a_pull_made_is_a_version_even_where_the_service_says_it_in_another_way() {
    let (world, id) = rewriting(Normalise::ALL).await;
    world.edit("start/one.html", "<p>Two.</p>", "<p><b>2.</b></p>");
    world.sync().await;
    world.sandbox().edit(id, |article| {
        article.text = article.text.replace("Three.", "Drei.");
    });
    world.sync().await;
    assert!(world.read("start/one.html").contains("</p>\n<p>Drei.</p>"));
    assert!(is_kept_as_written(&world, id, "start/one.html"));
    // The same for a merge that is not sent yet.
    world.edit("start/one.html", "One.", "Eins.");
    world.sandbox().edit(id, |article| {
        article.text = article.text.replace("Drei.", "Trois.");
    });
    world.pull().await;
    let file = world.read("start/one.html");
    assert!(file.contains("Eins.") && file.contains("Trois."), "{file}");
    assert!(is_kept_as_written(&world, id, "start/one.html"));
}
