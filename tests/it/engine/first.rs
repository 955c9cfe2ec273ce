//! The main path: first sync, quiet sync, edits both ways.

use crate::support::world::{World, lines};

#[tokio::test]
async fn first_sync_writes_what_is_there_and_a_second_one_is_quiet() {
    let world = World::new().await;
    let start = world.category("getting-started");
    let billing = world.category("billing");
    world.article(start, "install", "<h1>Install</h1>\n<p>Do it.</p>");
    world.article(start, "first-steps", "<p>One.</p>");
    world.article(billing, "refunds", "<p>Money back.</p>");
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(report.problems, []);
    assert_eq!(
        lines(&report),
        [
            "create-category local billing done",
            "create-category local getting-started done",
            "create local billing/refunds.html done",
            "create local getting-started/first-steps.html done",
            "create local getting-started/install.html done",
        ]
    );
    assert_eq!(report.requests.total, 3);
    assert_eq!(report.outcome.number(), 0);
    assert!(
        world
            .read("getting-started/install.html")
            .ends_with("---\n<h1>Install</h1>\n<p>Do it.</p>\n")
    );
    let before = world.files();
    let report = world.sync().await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert_eq!(report.requests.total, 1);
    assert_eq!(world.files(), before);
}

#[tokio::test]
async fn an_edit_on_either_side_reaches_the_other() {
    let world = World::new().await;
    let start = world.category("start");
    let one = world.article(start, "one", "<p>One.</p>");
    let two = world.article(start, "two", "<p>Two.</p>");
    world.sync().await;
    world.edit("start/one.html", "<p>One.</p>", "<p>One, edited.</p>");
    world
        .sandbox()
        .edit(two, |article| article.text = "<p>Two, edited.</p>".into());
    let report = world.sync().await;
    assert_eq!(report.problems, []);
    assert_eq!(
        lines(&report),
        [
            "update local start/two.html done",
            "update remote start/one.html done"
        ]
    );
    assert_eq!(report.requests.total, 2);
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>One, edited.</p>"
    );
    assert!(world.read("start/two.html").contains("Two, edited."));
    let report = world.sync().await;
    assert_eq!((lines(&report).len(), report.requests.total), (0, 1));
}

#[tokio::test]
async fn pull_and_push_go_one_way_and_a_rename_or_removal_reaches_the_service() {
    let world = World::new().await;
    let start = world.category("start");
    let one = world.article(start, "one", "<p>One.</p>");
    let two = world.article(start, "two", "<p>Two.</p>");
    world.pull().await;
    world.rename("start/one.html", "start/uno.html");
    world.remove("start/two.html");
    world.clock.advance(std::time::Duration::from_mins(1));
    assert_eq!(lines(&world.pull().await), Vec::<String>::new());
    assert_eq!(
        lines(&world.push().await),
        [
            "move remote start/uno.html done",
            "delete remote start/two.html done"
        ]
    );
    assert_eq!(world.sandbox().article(one).expect("there").slug, "uno");
    assert!(world.sandbox().article(two).is_none());
    assert!(!world.exists("start/two.html"));
}
