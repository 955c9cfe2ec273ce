//! Categories: their words, their folders, their slugs.

use super::small::{Small, table, table_for};
use crate::reconcile::snapshot::{Direction, OnConflict};

/// Base, mirror, service, and the plan.
const WORDS: &[[&str; 4]] = &[
    ["a", "start/ name=X", "", "-> update-category start (name)"],
    ["a", "", "start/ name=X", "<- update-category start (name)"],
    [
        "a",
        "start/ name=X",
        "start/ intro=Y",
        "<> update-category start (name, description)",
    ],
    [
        "a",
        "start/ name=X",
        "start/ name=Y",
        "<> update-category start (name), held",
    ],
    ["a", "start/ name=X", "start/ name=X", ""],
    [
        "a",
        "start/ folder=first",
        "start/ slug=uno",
        "<> update-category first (slug), held",
    ],
    [
        "a",
        "start/ noyaml",
        "start/ name=X",
        "<- update-category start (name)",
    ],
    ["a", "start/ ?", "start/ name=X", ""],
    [
        "a; two/",
        "start/ slug=two",
        "",
        "-> update-category start (slug), its public address changes from start to two, held",
    ],
    [
        "a; two/ -",
        "",
        "n in=two",
        "<- create-category two; <- create two/n.html",
    ],
    ["a; two/ -", "", "", ""],
    [
        "a; b in=two",
        "two/ -",
        "b title=X",
        "<- create-category two; <- restore two/b.html, removed here and edited on the service: the edit wins",
    ],
    ["a", "new/ slug=start", "", "-> create-category new, held"],
    [
        "a",
        "Neu/ noyaml; n in=Neu",
        "",
        "-> create-category Neu; -> create Neu/n.html",
    ],
];

#[test]
fn words_and_folders_follow_each_other() {
    table(WORDS);
}

#[test]
fn pull_sends_nothing() {
    table_for(
        &[
            ["a", "start/ name=X", "", ""],
            ["a", "", "start/ name=X", "<- update-category start (name)"],
            [
                "a",
                "start/ name=X",
                "start/ intro=Y",
                "<- update-category start (description)",
            ],
            [
                "a",
                "start/ name=X",
                "start/ name=Y",
                "<> update-category start (name), held",
            ],
            ["a", "start/ noyaml", "", "<- update-category start"],
            ["a", "start/ folder=first; a title=X", "", ""],
            ["a", "n in=new", "", ""],
            ["a", "a in=new", "a title=X", "<- update new/a.html (title)"],
            [
                "a",
                "",
                "start/ slug=first",
                "<- update-category first (slug)",
            ],
            [
                "a",
                "",
                "n in=new",
                "<- create-category new; <- create new/n.html",
            ],
        ],
        |world| world.direction(Direction::Pull),
    );
}

#[test]
fn push_touches_no_folder() {
    table_for(
        &[
            ["a", "start/ name=X", "", "-> update-category start (name)"],
            ["a", "", "start/ name=X", ""],
            [
                "a",
                "start/ name=X",
                "start/ intro=Y",
                "<> update-category start (name, description), held",
            ],
            [
                "a",
                "start/ name=X",
                "start/ name=Y",
                "<> update-category start (name), held",
            ],
            ["a", "start/ noyaml", "", ""],
            [
                "a",
                "start/ folder=first; a title=X",
                "",
                "-> update-category first (slug), its public address changes from start to first; -> update first/a.html (title)",
            ],
            [
                "a",
                "n in=new",
                "",
                "-> create-category new; -> create new/n.html",
            ],
            [
                "a",
                "a in=new",
                "a title=X",
                "-> create-category new; <> merge new/a.html (category, title), held",
            ],
            ["a", "", "start/ slug=first", ""],
            ["a", "", "n in=new", ""],
        ],
        |world| world.direction(Direction::Push),
    );
}

#[test]
fn a_clash_is_settled_by_the_settings() {
    for (policy, plan) in [
        (OnConflict::Hold, "<> update-category start (name), held"),
        (
            OnConflict::Local,
            "-> update-category start (description, name)",
        ),
        (
            OnConflict::Remote,
            "<> update-category start (description, name)",
        ),
    ] {
        let row = ["a", "start/ name=X intro=I", "start/ name=Y", plan];
        table_for(&[row], |world: Small| world.on_conflict(policy));
    }
}

#[test]
fn a_command_for_one_folder_leaves_the_others_alone() {
    table_for(
        &[
            ["a; b in=two", "two/ name=X; b title=X", "two/ name=Y", ""],
            [
                "a; b in=two",
                "a title=X",
                "b title=Y",
                "-> update start/a.html (title)",
            ],
            [
                "a; b in=two",
                "b in=start",
                "",
                "-> move start/b.html (category), was in two/",
            ],
            [
                "a; b in=two",
                "a in=two",
                "",
                "-> move two/a.html (category), was in start/",
            ],
            ["a; b in=two", "n in=new", "m in=other", ""],
        ],
        |world| world.scope("start"),
    );
    table_for(
        &[
            [
                "a; b",
                "a title=X; b title=X; start/ name=X",
                "",
                "-> update start/a.html (title)",
            ],
            ["a; b", "b -", "a gone", "<- delete start/a.html"],
        ],
        |world| world.scope("start/a"),
    );
}
