//! Paths in motion: a full cycle leaves them alone on both sides, and does everything else.

use crate::support::faults::Inject as _;
use crate::support::hostile::{self, Stage};
use crate::support::look::{after_grace, articles, both, problems, requests};
use crate::support::world::lines;
use kbsync::engine::report::Report;
use kbsync::engine::settings::CycleRequest;
use kbsync::engine::{Checkout, GitView, NoGit, Since};
use kbsync::sandbox::{NewSeed, Options};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{
    Arc,
    atomic::{AtomicIsize, Ordering},
};
use uuid::Uuid;

/// `a/one.html`, `a/two.html` and `b/three.html`, synced.
async fn world() -> (Stage, [Uuid; 3], [Uuid; 2]) {
    let world = hostile::world().await;
    let (a, b) = (world.category("a"), world.category("b"));
    let ids = [
        world.article(a, "one", "<p>One.</p>"),
        world.article(a, "two", "<p>Two.</p>"),
        world.article(b, "three", "<p>Three.</p>"),
    ];
    hostile::sync(&world).await;
    requests(&world);
    (world, ids, [a, b])
}

async fn sync(world: &Stage, in_motion: &[&str]) -> Report {
    let request = CycleRequest {
        in_motion: hostile::in_motion(in_motion),
        ..both()
    };
    let mut engine = hostile::engine(world, &hostile::calm());
    engine.cycle(&request).await.expect("a cycle")
}

type Prepare = fn(&Stage, [Uuid; 3]);

/// The change at a path in motion, and the actions once it has settled.
const SCENES: [(&str, &[&str], Prepare, &[&str]); 13] = [
    (
        "saved",
        &["a/one.html"],
        |world, _| world.edit("a/one.html", "One.", "Mine."),
        &["update remote a/one.html done"],
    ),
    (
        "removed",
        &["a/one.html"],
        |world, _| world.remove("a/one.html"),
        &["delete remote a/one.html done"],
    ),
    (
        "half written",
        &["a/one.html"],
        |world, _| world.write("a/one.html", "---\ntit"),
        &[],
    ),
    (
        "new",
        &["a/new.html"],
        |world, _| world.write("a/new.html", "---\ntitle: New\n---\n<p>n</p>\n"),
        &["create remote a/new.html done"],
    ),
    (
        "changed by a colleague",
        &["a/one.html"],
        |world, [one, ..]| {
            world
                .sandbox()
                .edit(one, |article| article.text = "<p>Theirs.</p>".into());
        },
        &["update local a/one.html done"],
    ),
    (
        "removed, and changed by a colleague",
        &["a/one.html"],
        |world, [one, ..]| {
            world.remove("a/one.html");
            world
                .sandbox()
                .edit(one, |article| article.text = "<p>Theirs.</p>".into());
        },
        &["restore local a/one.html done"],
    ),
    (
        "gone on the service",
        &["a/one.html"],
        |world, [one, ..]| {
            world.sandbox().remove(one);
        },
        &["delete local a/one.html done"],
    ),
    (
        "renamed on the service",
        &["a/one.html"],
        |world, [one, ..]| {
            world
                .sandbox()
                .edit(one, |article| article.slug = "uno".into());
        },
        &["move local a/uno.html done"],
    ),
    (
        "new on both sides",
        &["a/new.html"],
        |world, _| {
            world.write("a/new.html", "---\ntitle: New\n---\n<p>n</p>\n");
            let a = world.sandbox().categories()[0].id;
            world
                .sandbox()
                .add_article(NewSeed::new(a, "New", "new", "<p>n</p>"));
        },
        &["adopt both a/new.html done"],
    ),
    (
        "moved, both names in motion",
        &["a/one.html", "b/one.html"],
        |world, _| world.rename("a/one.html", "b/one.html"),
        &["move remote b/one.html done"],
    ),
    (
        "a category's words",
        &["a/_category.yaml"],
        |world, _| world.edit("a/_category.yaml", "name: a", "name: A"),
        &["update-category remote a done"],
    ),
    (
        "a new folder",
        &["new"],
        |world, _| {
            world.write("new/_category.yaml", "name: New\n");
            world.write("new/first.html", "---\ntitle: First\n---\n<p>n</p>\n");
        },
        &[
            "create-category remote new done",
            "create remote new/first.html done",
        ],
    ),
    (
        "a folder that went",
        &["a", "a/one.html", "a/two.html"],
        |world, _| {
            world.rename("a", "b/away");
            std::fs::remove_dir_all(world.path("b/away")).expect("removed");
        },
        &[
            "forget local a done",
            // The deletions would empty the category.
            "delete remote a/one.html held",
            "delete remote a/two.html held",
        ],
    ),
];

#[tokio::test]
async fn what_is_in_motion_is_left_alone_and_all_else_goes_on() {
    for (name, in_motion, prepare, settled) in SCENES {
        let (world, ids, _) = world().await;
        prepare(&world, ids);
        let before = world.files();
        let remote = world.sandbox().articles().len();
        let report = sync(&world, in_motion).await;
        assert_eq!(lines(&report), [""; 0], "{name}");
        assert_eq!(problems(&report), [""; 0], "{name}");
        assert_eq!(world.files(), before, "{name}");
        assert_eq!(world.sandbox().articles().len(), remote, "{name}");
        let writes = requests(&world);
        assert!(
            writes
                .iter()
                .all(|line| line.starts_with("GET") || line.contains("{}")),
            "{name}: {writes:?}"
        );
        // All other paths are synced as usual.
        world.edit("b/three.html", "Three.", "Mine.");
        let report = sync(&world, in_motion).await;
        assert_eq!(
            lines(&report),
            ["update remote b/three.html done"],
            "{name}"
        );
        let report = hostile::sync(&world).await;
        let mut done = lines(&report);
        done.sort_by_key(|line| settled.iter().position(|known| known == line));
        assert_eq!(done, settled, "{name}");
    }
}

#[tokio::test]
async fn a_file_that_was_moved_is_not_waited_for_at_its_old_name() {
    let (world, _, [_, b]) = world().await;
    world.rename("a/one.html", "b/one.html");
    let report = sync(&world, &["a/one.html"]).await;
    assert_eq!(lines(&report), ["move remote b/one.html done"]);
    let moved = world.sandbox().articles();
    assert_eq!(
        moved
            .iter()
            .filter(|article| article.category_id == b)
            .count(),
        2
    );
    assert_eq!(
        articles(&world),
        ["a/two.html", "b/one.html", "b/three.html"]
    );
}

#[tokio::test]
async fn a_folder_keeps_its_name_while_a_file_in_it_is_written() {
    let (world, [_, two, _], [a, b]) = world().await;
    world.sandbox().edit_category(a, |category| {
        category.slug = "alpha".into();
    });
    // Because an article moves out, the category is read before its day is over.
    world.sandbox().edit(two, |article| article.category_id = b);
    for place in ["a/one.html", "a/.one.html.swp", "alpha/one.html"] {
        let report = sync(&world, &[place]).await;
        assert_eq!(
            lines(&report),
            [
                "update-category local alpha skipped",
                "move local b/two.html skipped"
            ]
        );
        assert!(world.exists("a/one.html") && !world.exists("alpha"));
    }
    let report = sync(&world, &["b/three.html"]).await;
    assert_eq!(
        lines(&report),
        [
            "update-category local alpha done",
            "move local b/two.html done"
        ]
    );
    assert!(world.exists("alpha/one.html") && !world.exists("a"));
}

#[tokio::test]
async fn a_missing_file_is_waited_for_until_its_grace_time_is_over() {
    let (world, ..) = world().await;
    world.remove("a/one.html");
    let mut engine = hostile::engine(&world, &hostile::calm());
    let report = engine.cycle(&after_grace(&[])).await.expect("a cycle");
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(report.missing, BTreeSet::from(["a/one.html".to_owned()]));
    assert_eq!(world.sandbox().articles().len(), 3);
    let over = after_grace(&["a/one.html"]);
    engine.set_git(Arc::new(Moved));
    let report = engine.cycle(&over).await.expect("a cycle");
    assert_eq!(lines(&report), ["delete remote a/one.html held"]);
    // A held deletion waits for a person, and has no further grace time.
    world.edit("a/two.html", "Two.", "Mine.");
    let report = engine.cycle(&after_grace(&[])).await.expect("a cycle");
    assert!(
        lines(&report).contains(&"delete remote a/one.html held".to_owned()),
        "{:?}",
        lines(&report)
    );
    engine.set_git(Arc::new(NoGit));
    let report = engine.cycle(&over).await.expect("a cycle");
    assert_eq!(lines(&report), ["delete remote a/one.html done"]);
}

#[tokio::test]
async fn the_files_of_a_missing_folder_are_waited_for_as_well() {
    let (world, ..) = world().await;
    // The whole folder is gone, as after a checkout of a branch without it.
    std::fs::remove_dir_all(world.path("b")).expect("removed");
    let mut engine = hostile::engine(&world, &hostile::calm());
    let report = engine.cycle(&after_grace(&[])).await.expect("a cycle");
    assert_eq!(lines(&report), [""; 0], "{report:#?}");
    assert_eq!(report.missing, BTreeSet::from(["b/three.html".to_owned()]));
    assert_eq!(world.sandbox().articles().len(), 3);
    let over = after_grace(&["b/three.html"]);
    let report = engine.cycle(&over).await.expect("a cycle");
    assert_eq!(
        lines(&report),
        ["forget local b done", "delete remote b/three.html done"]
    );
}

/// A git view in which another branch is checked out some looks after the scan.
struct Leaves(AtomicIsize);

impl GitView for Leaves {
    fn checkout(&self) -> Checkout {
        match self.0.fetch_sub(1, Ordering::Relaxed) {
            1.. => Checkout::Same,
            _ => Checkout::Other("another branch is checked out".to_owned()),
        }
    }
}

#[tokio::test]
async fn f084_a_checkout_in_the_middle_of_a_plan_ends_the_cycle() {
    let (world, [_, _, three], _) = world().await;
    world.edit("a/one.html", "One.", "Mine.");
    world.edit("a/two.html", "Two.", "Mine.");
    world
        .sandbox()
        .edit(three, |article| article.text = "<p>Theirs.</p>".into());
    let mut engine = world.engine();
    // The look before the plan, and the one before the first step.
    engine.set_git(Arc::new(Leaves(AtomicIsize::new(2))));
    let report = engine.cycle(&both()).await.expect("a cycle");
    let done = lines(&report).into_iter();
    let done = done.filter(|line| line.ends_with("done")).count();
    assert_eq!((done, report.actions.len()), (1, 3), "{report:#?}");
    let stop = report.stopped.expect("a stop");
    assert_eq!(
        stop.message,
        "nothing more is synced: another branch is checked out"
    );
    drop(engine);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report).len(), 2, "{report:#?}");
}

/// A git view in which git was involved in every missing file.
struct Moved;

impl GitView for Moved {
    fn is_there(&self) -> bool {
        true
    }

    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        let gone = gone.iter();
        gone.map(|path| (path.clone(), "git moved".to_owned()))
            .collect()
    }

    fn committed_since(&self, _paths: &BTreeSet<String>) -> Result<Since, String> {
        Ok(Since {
            contents: Some(BTreeMap::new()),
            ..Since::default()
        })
    }
}

#[tokio::test]
async fn what_git_does_during_the_scan_holds_what_is_missing_then() {
    let (world, ..) = world().await;
    world.remove("a/one.html");
    let mut engine = world.engine();
    engine.set_git(Arc::new(Moved));
    let report = engine.cycle(&both()).await.expect("a cycle");
    assert_eq!(lines(&report), ["delete remote a/one.html held"]);
    drop(engine);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["delete remote a/one.html done"]);
}

#[tokio::test]
async fn a_conflict_whose_copy_went_a_moment_ago_is_not_settled() {
    let (world, [one, ..], _) = world().await;
    world.edit("a/one.html", "One.", "Mine.");
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>Theirs.</p>".into());
    hostile::sync(&world).await;
    world.remove("a/one.conflict.html");
    let report = sync(&world, &["a/one.conflict.html"]).await;
    assert_eq!(lines(&report), ["conflict both a/one.html held"]);
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
}

#[tokio::test]
async fn a_listing_is_not_done_with_while_something_is_in_motion() {
    let world = hostile::world_with(Options::unlimited()).await;
    world.sandbox().habits().etag = true;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>One.</p>");
    hostile::sync(&world).await;
    hostile::sync(&world).await;
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>Theirs.</p>".into());
    sync(&world, &["a/one.html"]).await;
    // The same listing once more: its changes were not applied yet.
    let report = hostile::sync(&world).await;
    assert_eq!(lines(&report), ["update local a/one.html done"]);
}
