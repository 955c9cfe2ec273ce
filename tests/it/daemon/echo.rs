//! kbsync's own writes (echoes) start no cycle: the content of a path is compared with the state, never a time.

use crate::support::world::World;
use kbsync::model::Place;

/// The actions of a writer.
type Change = fn(&World);

async fn synced() -> World {
    let world = World::new().await;
    let category = world.category("billing");
    world.article(category, "refunds", "<p>one</p>");
    world.article(category, "invoices", "<p>two</p>");
    world.sync().await;
    world
}

#[tokio::test]
async fn f079_what_we_wrote_ourselves_is_known() {
    let world = synced().await;
    let engine = world.engine();
    for file in [
        "refunds.html",
        "invoices.html",
        "_category.yaml",
        "missing.html",
    ] {
        assert!(
            engine
                .path_check()
                .is_file_known(&Place::new("billing", file)),
            "{file}"
        );
    }
    assert!(engine.path_check().is_folder_known("billing"));
    // A file that is saved with the same text starts no cycle.
    let text = world.read("billing/refunds.html");
    world.write("billing/refunds.html", &text);
    assert!(
        engine
            .path_check()
            .is_file_known(&Place::new("billing", "refunds.html"))
    );
}

#[tokio::test]
async fn f079_a_writers_change_is_news() {
    let cases: [(&str, Change); 6] = [
        ("an edit", |world| {
            world.edit("billing/refunds.html", "one", "1");
        }),
        ("a flag", |world| {
            world.edit("billing/refunds.html", "title:", "enabled: false\ntitle:");
        }),
        ("a removal", |world| world.remove("billing/refunds.html")),
        ("half a file", |world| {
            world.write("billing/refunds.html", "---\n");
        }),
        ("a swap", |world| {
            world.rename("billing/refunds.html", "billing/x.tmp");
            world.rename("billing/invoices.html", "billing/refunds.html");
        }),
        ("a folder in its place", |world| {
            world.remove("billing/refunds.html");
            world.write("billing/refunds.html/x", "");
        }),
    ];
    for (name, change) in cases {
        let world = synced().await;
        change(&world);
        let engine = world.engine();
        assert!(
            !engine
                .path_check()
                .is_file_known(&Place::new("billing", "refunds.html")),
            "{name}"
        );
        assert!(!engine.path_check().is_folder_known("billing"), "{name}");
    }
    let world = synced().await;
    world.write("billing/new.html", "---\ntitle: New\n---\n");
    assert!(
        !world
            .engine()
            .path_check()
            .is_file_known(&Place::new("billing", "new.html"))
    );
    assert!(!world.engine().path_check().is_folder_known("billing"));
    world.edit("billing/_category.yaml", "name:", "description: d\nname:");
    assert!(
        !world
            .engine()
            .path_check()
            .is_file_known(&Place::new("billing", "_category.yaml"))
    );
    assert!(!world.engine().path_check().is_folder_known("elsewhere"));
}
