//! A file with an unknown id over another article's file: nobody removed that other file.

use crate::support::hostile::{self, Stage};
use crate::support::world::lines;
use kbsync::engine::settings::CycleRequest;
use kbsync::model::ExitCode;
use kbsync::reconcile::snapshot::Direction;
use uuid::Uuid;

/// The id of the copied file in its own mirror.
const ELSEWHERE: Uuid = Uuid::from_u128(0x0e15_e3ee);

/// A writer copied a file from another mirror over an article's file.
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
    world.write("a/one.html", &from_elsewhere());
    (world, one)
}

fn from_elsewhere() -> String {
    format!("---\nid: {ELSEWHERE}\ntitle: Other\n---\n<p>other</p>\n")
}

fn own(one: Uuid) -> String {
    format!("---\nid: {one}\ntitle: one\n---\n<p>1, mine</p>\n")
}

#[tokio::test]
async fn f047_a_file_with_an_unknown_id_at_an_articles_place_holds_both() {
    for hidden in [false, true] {
        let (world, one) = copied_over(hidden).await;
        for _ in 0..2 {
            let report = hostile::sync(&world).await;
            assert_eq!(lines(&report), Vec::<String>::new());
            assert_eq!(report.outcome, ExitCode::Partial);
            let told = &report.problems[0].message;
            assert!(told.contains(&format!("put `id: {one}` back")), "{told}");
            assert!(told.contains(&ELSEWHERE.to_string()), "{told}");
            assert_eq!(world.read("a/one.html"), from_elsewhere());
            let article = world.sandbox().article(one).expect("there");
            assert_eq!(article.text, "<p>1</p>");
        }
        // The writer puts the right file back.
        world.write("a/one.html", &own(one));
        hostile::sync(&world).await;
        let article = world.sandbox().article(one).expect("there");
        assert_eq!(article.text, "<p>1, mine</p>");
        assert_eq!(world.sandbox().articles().len(), 2);
    }
}

#[tokio::test]
async fn such_a_file_becomes_an_article_of_its_own_under_another_name() {
    let (world, one) = copied_over(false).await;
    hostile::sync(&world).await;
    world.rename("a/one.html", "a/other.html");
    world.write("a/one.html", &own(one));
    let report = hostile::sync(&world).await;
    let expected = [
        "conflict both a/other.html held",
        "update remote a/one.html done",
    ];
    assert_eq!(lines(&report), expected);
    let id = format!("id: {ELSEWHERE}\n");
    world.edit("a/other.html", &id, "");
    let report = hostile::sync(&world).await;
    let created = "create remote a/other.html done".to_owned();
    assert!(lines(&report).contains(&created), "{:?}", lines(&report));
    assert_eq!(world.sandbox().articles().len(), 3);
}

/// A colleague deleted the article of the replaced file: then the new file's own id decides, and the service is asked
/// for it.
#[tokio::test]
async fn f047_a_file_over_that_of_a_deleted_article_is_asked_for_in_the_same_cycle() {
    let world = hostile::world().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    hostile::sync(&world).await;
    let draft = world.article(a, "draft", "<p>draft</p>");
    let sandbox = world.sandbox();
    sandbox.edit(draft, |article| article.draft = true);
    sandbox.remove(one);
    world.write(
        "a/one.html",
        &format!("---\nid: {draft}\ntitle: draft\nslug: draft\ndraft: true\n---\n<p>draft</p>\n"),
    );
    let report = hostile::sync(&world).await;
    let told = format!("{report:#?}");
    assert!(!told.contains("cannot be read"), "{told}");
    assert!(world.read("a/one.html").contains(&draft.to_string()));
    assert_eq!(world.sandbox().articles().len(), 1);
}

/// An id out of scope is not asked for, and does not keep a command from finishing.
#[tokio::test]
async fn an_unknown_id_out_of_scope_keeps_no_command_that_may_not_probe() {
    let mut world = hostile::world().await;
    world.settings.probe = false;
    world.write(
        "a/new.html",
        "---\ntitle: New\nenabled: false\n---\n<p>1</p>\n",
    );
    world.write("b/other.html", "---\ntitle: Other\n---\n<p>2</p>\n");
    hostile::sync(&world).await;
    let mut hidden = world.sandbox().articles().into_iter();
    let hidden = hidden.find(|article| article.slug == "new").expect("there");
    world.sandbox().enable(hidden.id);
    world.write("b/elsewhere.html", &from_elsewhere());
    let request = CycleRequest {
        scope: vec!["a".to_owned()],
        ..CycleRequest::new(Direction::Both)
    };
    let report = world.run(&request).await;
    assert!(report.stopped.is_none(), "{report:#?}");
}
