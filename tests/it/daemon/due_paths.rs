//! Cycles over due paths, with a real engine: a missing file counts as removed only after its grace time, and files in
//! motion below a due folder are left alone.

use crate::support::world::{World, lines};
use kbsync::daemon::debounce::{DuePaths, Touch};
use kbsync::daemon::job::{Job, Scope, Trigger, request_for};
use kbsync::engine::report::Report;
use uuid::Uuid;

/// `a/one.html`, `a/two.html` and `b/three.html`, synced.
async fn synced() -> (World, Uuid) {
    let world = World::new().await;
    let (a, b) = (world.category("a"), world.category("b"));
    let one = world.article(a, "one", "<p>One.</p>");
    world.article(a, "two", "<p>Two.</p>");
    world.article(b, "three", "<p>Three.</p>");
    world.sync().await;
    (world, one)
}

/// Runs the cycle over due paths, a removed one with `-` before it, while other paths are in motion.
async fn cycle(world: &World, due: &[&str], in_motion: &[&str]) -> Report {
    let due: DuePaths = due
        .iter()
        .map(|path| match path.strip_prefix('-') {
            Some(path) => (path.to_owned(), Touch::Removed),
            None => ((*path).to_owned(), Touch::Changed),
        })
        .collect();
    let job = Job {
        in_motion: in_motion.iter().map(|path| (*path).to_owned()).collect(),
        ..Job::new(Trigger::Watch, Scope::Paths(due), Vec::new())
    };
    let request = request_for(&job, "").expect("it concerns the workspace");
    world.run(&request).await
}

struct Case {
    name: &'static str,
    prepare: fn(&World),
    due: &'static [&'static str],
    in_motion: &'static [&'static str],
    expected: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "a folder's mode changed while a removal below it waits",
        prepare: |world| world.remove("a/one.html"),
        due: &["a"],
        in_motion: &["a/one.html"],
        expected: &[],
    },
    Case {
        name: "a folder's mode changed after a removal without an event",
        prepare: |world| world.remove("a/one.html"),
        due: &["a"],
        in_motion: &[],
        expected: &[],
    },
    Case {
        name: "a saved file was removed before it was sent",
        prepare: |world| world.remove("a/one.html"),
        due: &["a/one.html"],
        in_motion: &[],
        expected: &[],
    },
    Case {
        name: "a saved file and its folder were removed before it was sent",
        prepare: |world| {
            world.remove("b/three.html");
            world.remove("b/_category.yaml");
            std::fs::remove_dir(world.path("b")).expect("removed");
        },
        due: &["b/three.html"],
        in_motion: &["b"],
        expected: &[],
    },
    Case {
        name: "a removal after its grace time",
        prepare: |world| world.remove("a/one.html"),
        due: &["-a/one.html"],
        in_motion: &[],
        expected: &["delete remote a/one.html done"],
    },
    Case {
        name: "a folder's removal after its grace time",
        prepare: |world| std::fs::remove_dir_all(world.path("b")).expect("removed"),
        due: &["-b"],
        in_motion: &[],
        expected: &["forget local b done", "delete remote b/three.html done"],
    },
    Case {
        name: "a moved file, whose old name waits",
        prepare: |world| world.rename("a/one.html", "b/one.html"),
        due: &["b/one.html"],
        in_motion: &["a/one.html"],
        expected: &["move remote b/one.html done"],
    },
    Case {
        name: "a renamed folder, whose old name waits, with a file without an id",
        prepare: |world| {
            let text = world.read("b/three.html");
            let mut text: Vec<&str> = text.lines().collect();
            text.retain(|line| !line.starts_with("id:"));
            world.write(
                "b/three.html",
                &text.join("\n").replace("Three.", "Edited."),
            );
            world.rename("b", "bee");
        },
        due: &["bee"],
        in_motion: &["b", "b/three.html"],
        expected: &[
            "update-category remote bee done",
            "update remote bee/three.html done",
        ],
    },
    Case {
        name: "a renamed folder, from which a file was removed a moment ago",
        prepare: |world| {
            world.remove("a/one.html");
            world.rename("a", "alpha");
        },
        due: &["alpha"],
        in_motion: &["a", "a/one.html"],
        expected: &["update-category remote alpha done"],
    },
    Case {
        name: "a file that is written in a new folder",
        prepare: |world| {
            world.edit("a/one.html", "One.</p>", "Half");
            world.edit("a/two.html", "Two.", "Mine.");
        },
        due: &["a"],
        in_motion: &["a/one.html"],
        expected: &["update remote a/two.html done"],
    },
];

#[tokio::test]
async fn f073_a_cycle_over_paths_waits_for_grace_times_and_for_files_in_motion() {
    let mut wrong = Vec::new();
    for case in CASES {
        let (world, _) = synced().await;
        (case.prepare)(&world);
        let report = cycle(&world, case.due, case.in_motion).await;
        if lines(&report) != case.expected {
            wrong.push((case.name, lines(&report)));
        }
    }
    assert_eq!(wrong, []);
}

#[tokio::test]
async fn f084_a_cycle_over_paths_that_waits_for_a_removal_settles_no_removals() {
    let (world, _) = synced().await;
    world.remove("a/one.html");
    assert!(!cycle(&world, &["a"], &[]).await.settled_removals());
    let report = cycle(&world, &["-a/one.html"], &[]).await;
    assert_eq!(lines(&report), ["delete remote a/one.html done"]);
    assert!(report.settled_removals());
}
