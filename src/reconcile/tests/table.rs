//! The decision table: every row, every direction, every policy.

use super::small::{Small, table_for};
use crate::reconcile::snapshot::{Direction, OnConflict};

const DIRECTIONS: [Direction; 3] = [Direction::Both, Direction::Pull, Direction::Push];
const POLICIES: [OnConflict; 3] = [OnConflict::Hold, OnConflict::Local, OnConflict::Remote];

/// Checks one world's plans for `sync`, `pull` and `push` under one policy.
fn row(world: [&str; 3], policy: OnConflict, plans: [&str; 3]) {
    for (direction, plan) in DIRECTIONS.into_iter().zip(plans) {
        table_for(&[[world[0], world[1], world[2], plan]], |world: Small| {
            world.direction(direction).on_conflict(policy)
        });
    }
}

/// Worlds without a conflict, and their plans.
const ROWS: [([&str; 3], [&str; 3]); 19] = [
    // unchanged, unchanged
    (["a", "", ""], ["", "", ""]),
    // modified, unchanged
    (
        ["a", "a title=X text=one+two+3", ""],
        [
            "-> update start/a.html (title, text)",
            "",
            "-> update start/a.html (title, text)",
        ],
    ),
    // unchanged, modified
    (
        ["a", "", "a title=Y"],
        [
            "<- update start/a.html (title)",
            "<- update start/a.html (title)",
            "",
        ],
    ),
    // modified, modified, now equal
    (
        ["a", "a title=X", "a title=X"],
        ["<> adopt start/a.html"; 3],
    ),
    // modified, modified, differ: in other fields, and in other blocks
    (
        ["a", "a title=X", "a intro=Y"],
        [
            "<> merge start/a.html (title, introtext)",
            "<- update start/a.html (introtext)",
            "<> merge start/a.html (title, introtext), held",
        ],
    ),
    (
        ["a", "a text=1+two+three", "a text=one+two+3"],
        [
            "<> merge start/a.html (text)",
            "<- update start/a.html (text)",
            "<> merge start/a.html (text), held",
        ],
    ),
    // deleted, unchanged
    (
        ["a", "a -", ""],
        ["-> delete start/a.html", "", "-> delete start/a.html"],
    ),
    // deleted, modified; published since counts as well
    (
        ["a", "a -", "a title=Y"],
        [
            "<- restore start/a.html, removed here and edited on the service: the edit wins",
            "<- restore start/a.html, removed here and edited on the service: the edit wins",
            "",
        ],
    ),
    (
        ["a unpublished", "a -", "a published"],
        [
            "<- restore start/a.html, removed here and edited on the service: the edit wins",
            "<- restore start/a.html, removed here and edited on the service: the edit wins",
            "",
        ],
    ),
    // unchanged, gone
    (
        ["a", "", "a gone"],
        ["<- delete start/a.html", "<- delete start/a.html", ""],
    ),
    // deleted, gone
    (["a", "a -", "a gone"], ["<> forget start/a.html"; 3]),
    // unchanged, modified, deleted; not visible
    (
        ["a", "", "a hidden"],
        [
            "<- delete start/a.html, held",
            "<- delete start/a.html, held",
            "",
        ],
    ),
    (
        ["a", "a title=X", "a hidden"],
        [
            "-> update start/a.html (title), held",
            "",
            "-> update start/a.html (title), held",
        ],
    ),
    (
        ["a", "a -", "a hidden"],
        [
            "-> delete start/a.html, held",
            "",
            "-> delete start/a.html, held",
        ],
    ),
    // deleted, unpublished and unchanged
    (
        ["a", "a -", "a unpublished"],
        ["-> delete start/a.html", "", "-> delete start/a.html"],
    ),
    // not read in this cycle: nothing is concluded
    (["a", "a -", "a unread"], ["", "", ""]),
    (
        ["x; a", "a title=X", "a unread"],
        [
            "-> update start/a.html (title), held",
            "",
            "-> update start/a.html (title), held",
        ],
    ),
    // created here, created there, created on both and equal
    (
        ["x", "n", "m"],
        [
            "<- create start/m.html; -> create start/n.html",
            "<- create start/m.html",
            "-> create start/n.html",
        ],
    ),
    (
        ["x", "n", "n"],
        ["<> adopt start/n.html, its id is written into the file"; 3],
    ),
];

#[test]
fn what_does_not_conflict_is_the_same_under_every_policy() {
    for policy in POLICIES {
        for (world, plans) in ROWS {
            row(world, policy, plans);
        }
    }
}

#[test]
fn conflicts_are_held_or_settled_as_the_settings_say() {
    use OnConflict::{Hold, Local, Remote};
    const CLASH: [&str; 3] = ["a", "a title=X", "a title=Y"];
    const GONE: [&str; 3] = ["a", "a title=X", "a gone"];
    const TWINS: [&str; 3] = ["x", "n title=X", "n title=Y"];
    let held = "<> conflict start/a.html (title), held";
    row(CLASH, Hold, [held; 3]);
    let wins = "-> update start/a.html (title)";
    row(CLASH, Local, [wins, "", wins]);
    let loses = "<- update start/a.html (title)";
    row(CLASH, Remote, [loses, loses, ""]);

    row(GONE, Hold, ["<> conflict start/a.html, held"; 3]);
    let anew = "-> create start/a.html";
    row(GONE, Local, [anew, "", anew]);
    let goes = "<- delete start/a.html";
    row(GONE, Remote, [goes, goes, ""]);

    row(TWINS, Hold, ["<> conflict start/n.html (title), held"; 3]);
    let wins = "-> update start/n.html (title)";
    row(TWINS, Local, [wins, "", wins]);
    let loses = "<- update start/n.html (title)";
    row(TWINS, Remote, [loses, loses, ""]);
}

#[test]
fn what_clashes_is_settled_and_what_does_not_is_merged_all_the_same() {
    let world = [
        "a",
        "a title=X intro=I text=1+two+three",
        "a title=Y text=one+two+3",
    ];
    row(
        world,
        OnConflict::Local,
        [
            "<> merge start/a.html (title, introtext, text)",
            "<- update start/a.html (text)",
            "<> merge start/a.html (introtext, text, title), held",
        ],
    );
    row(
        world,
        OnConflict::Hold,
        ["<> conflict start/a.html (title), held"; 3],
    );
}

#[test]
fn without_a_base_nothing_is_deleted_or_posted_anew() {
    for policy in POLICIES {
        for remote in ["a gone", "a hidden", "a unread", "a -"] {
            let world = Small::new("", "a id=a title=X", remote).on_conflict(policy);
            let plan = world.plan();
            let mut actions = plan.actions.iter().filter(|action| action.id.is_some());
            assert!(
                actions.all(|action| action.held.is_some()),
                "{remote}: {plan}"
            );
        }
    }
}

#[test]
fn f022_an_old_copy_of_what_we_replaced_changes_nothing() {
    let mut world = Small::new("a title=Ours", "", "a title=Before");
    let before = world.remote_version("a");
    let row = world.row("a");
    row.superseded = vec![(before.digest(), super::small::revision("r1"))];
    assert_eq!(world.planned(), "");
    // The same content under a new revision is a colleague's revert.
    world.set_revision("a", "r2");
    assert_eq!(world.planned(), "<- update start/a.html (title)\n");
}
