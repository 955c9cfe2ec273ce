//! The decision table of the design's section 4, row by row.

use super::{Small, table, table_for};
use crate::reconcile::snapshot::{Direction, OnConflict};

/// Base, mirror and service of every row of the table.
const ROWS: [[&str; 3]; 16] = [
    // unchanged, unchanged
    ["a", "", ""],
    // modified, unchanged
    ["a", "a title=X text=one+two+3", ""],
    // unchanged, modified
    ["a", "", "a title=Y"],
    // modified, modified, now equal
    ["a", "a title=X", "a title=X"],
    // modified, modified, differ: in other fields, in other blocks, in the same
    ["a", "a title=X", "a intro=Y"],
    ["a", "a text=1+two+three", "a text=one+two+3"],
    ["a", "a title=X", "a title=Y"],
    // deleted, unchanged
    ["a", "a -", ""],
    // deleted, modified
    ["a", "a -", "a title=Y"],
    // unchanged, gone
    ["a", "", "a gone"],
    // modified, gone
    ["a", "a title=X", "a gone"],
    // deleted, gone
    ["a", "a -", "a gone"],
    // unchanged, modified, deleted; not visible
    ["a", "", "a hidden"],
    ["a", "a title=X", "a hidden"],
    ["a", "a -", "a hidden"],
    // created here, created there, created on both
    ["x", "a; b title=X", "b title=Y; c"],
];

fn rows(plans: [&'static str; 16], direction: Direction, on_conflict: OnConflict) {
    let rows: Vec<[&str; 4]> = ROWS
        .iter()
        .zip(plans)
        .map(|([base, local, remote], plan)| [*base, *local, *remote, plan])
        .collect();
    table_for(&rows, |world: Small| {
        world.direction(direction).on_conflict(on_conflict)
    });
}

#[test]
fn sync_and_hold() {
    rows([""; 16], Direction::Both, OnConflict::Hold);
}

#[test]
fn sync_and_local() {
    rows([""; 16], Direction::Both, OnConflict::Local);
}

#[test]
fn sync_and_remote() {
    rows([""; 16], Direction::Both, OnConflict::Remote);
}

#[test]
fn pull_and_hold() {
    rows([""; 16], Direction::Pull, OnConflict::Hold);
}

#[test]
fn push_and_hold() {
    rows([""; 16], Direction::Push, OnConflict::Hold);
}
