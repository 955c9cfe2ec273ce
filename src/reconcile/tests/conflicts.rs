//! Conflicts: reported, held, and settled by hand or by a command.

use super::small::{Small, article, conflict, short};
use crate::model::{Field, Place};
use crate::reconcile::plan::Plan;
use crate::reconcile::snapshot::{Keep, Parts, Remote};
use std::collections::BTreeSet;

const COPY: &str = "a.conflict.html";

/// A reported and held conflict about the title.
fn shown() -> Small {
    let mut world = Small::new("a; b in=two", "a title=Mine intro=I", "a title=Theirs");
    let plan = world.plan();
    world.apply(&plan);
    assert!(world.local.copies.contains_key(&Place::new("start", COPY)));
    assert_eq!(
        short(&world.planned()),
        "<> conflict start/a.html (title, introtext), held"
    );
    world
}

fn needs_copy(plan: &Plan) -> Option<bool> {
    conflict(plan).map(|conflict| conflict.needs_copy)
}

fn drop_copy(world: &mut Small) {
    world.local.copies.clear();
    world.refresh();
}

/// Edits the file, or the article on the service.
fn edit(world: &mut Small, here: bool) {
    if here {
        world.file_of("a").version.title = "Mine again".to_owned();
    } else {
        world.set_revision("a", "r2");
        if let Some(Remote::Present(seen)) = world.remote.articles.get_mut(&article("a")) {
            seen.version.title = "Theirs again".to_owned();
        }
    }
}

#[test]
fn it_is_shown_once_and_again_when_the_service_changes() {
    let mut world = shown();
    assert_eq!(needs_copy(&world.plan()), Some(false));
    edit(&mut world, true);
    assert_eq!(needs_copy(&world.plan()), Some(false));
    edit(&mut world, false);
    assert_eq!(needs_copy(&world.plan()), Some(true));
}

#[test]
fn deleting_the_copy_settles_what_was_shown() {
    let mut world = shown();
    drop_copy(&mut world);
    assert_eq!(
        short(&world.planned()),
        "-> update start/a.html (title, introtext)"
    );
    edit(&mut world, true);
    assert_eq!(
        short(&world.planned()),
        "-> update start/a.html (title, introtext)"
    );
    // The service's version has changed since the report: a new conflict, with a new copy.
    edit(&mut world, false);
    assert_eq!(
        short(&world.planned()),
        "<> conflict start/a.html (title, introtext), held"
    );
    assert_eq!(needs_copy(&world.plan()), Some(true));
}

#[test]
fn a_copy_that_cannot_be_seen_is_not_gone() {
    let held = "<> conflict start/a.html (title, introtext), held";
    let mut world = shown();
    drop_copy(&mut world);
    world.local.unreadable.insert("start".to_owned());
    assert_eq!(short(&world.planned()), held);
}

#[test]
fn one_of_its_name_elsewhere_keeps_it_and_is_named() {
    let mut world = shown();
    drop_copy(&mut world);
    let elsewhere = Place::new("elsewhere", COPY);
    world.local.copies.insert(elsewhere, Some(article("a")));
    let plan = world.plan();
    let held = plan.actions.iter().find_map(|action| action.held.as_ref());
    let reason = &held.expect("held").reason;
    assert!(
        reason.contains("delete elsewhere/a.conflict.html"),
        "{reason}"
    );
}

#[test]
fn it_moves_along_with_its_file_and_its_folder() {
    let rename = |folder: &str, file: &str, copy: &str| {
        let mut world = shown();
        if folder != "start" {
            let rows = world.base.articles.clone();
            world.rename_folder("start", folder);
            world.base.articles = rows;
            folder.clone_into(
                &mut world
                    .local_category(folder)
                    .version
                    .as_mut()
                    .expect("words")
                    .slug,
            );
        }
        world.local.copies.clear();
        let moved = Place::new(folder, copy);
        world.local.copies.insert(moved, Some(article("a")));
        let moved = world.file_of("a");
        moved.place = Place::new(folder, format!("{file}.html"));
        file.clone_into(&mut moved.version.slug);
        world.refresh();
        short(&world.planned())
    };
    assert_eq!(
        rename("first", "a", COPY),
        "-> update-category first (slug), its public address changes from start to first; \
         <> conflict first/a.html (title, introtext), held"
    );
    assert_eq!(
        rename("start", "b", "b.conflict.html"),
        "<> conflict start/b.html (title, slug, introtext), held"
    );
    assert_eq!(
        rename("start", "b", COPY),
        "<> conflict start/b.html (title, slug, introtext), held"
    );
}

#[test]
fn a_word_settles_the_two_versions_that_were_shown() {
    const HELD: &str = "<> conflict start/a.html (title, introtext), held";
    const MINE: &str = "-> update start/a.html (title, introtext)";
    const THEIRS: &str = "<- update start/a.html (title, introtext)";
    const BOTH: &str = "-> update start/a.html (title, introtext)";
    const PARTS: &str = "<> merge start/a.html (title, introtext)";
    let parts = Keep::Parts(Parts {
        file: shown().file_of("a").version.digest(),
        theirs: BTreeSet::from([Field::Title]),
        text: String::new(),
    });
    // The file changed, the service changed, both changed.
    let changes: [&[bool]; 4] = [&[], &[true], &[false], &[true, false]];
    for (keep, plans) in [
        (Keep::Local, [MINE, MINE, HELD, HELD]),
        (Keep::Remote, [THEIRS, HELD, HELD, HELD]),
        (Keep::Both, [BOTH, HELD, HELD, HELD]),
        (parts, [PARTS, HELD, HELD, HELD]),
    ] {
        for (change, plan) in changes.into_iter().zip(plans) {
            let mut world = shown();
            for here in change {
                edit(&mut world, *here);
            }
            world.decide("a", keep.clone());
            let text = world.planned();
            assert_eq!(short(&text), plan, "{keep:?} {change:?}");
            // The command's choice counts even if the copy was deleted.
            let mut by_hand = world.clone();
            drop_copy(&mut by_hand);
            if plan != HELD {
                assert_eq!(short(&by_hand.planned()), plan, "{keep:?} {change:?}");
            }
            assert_eq!(
                text.contains("not settled, because one side changed after you saw"),
                plan == HELD,
                "{text}"
            );
        }
    }
}

#[test]
fn deleted_there_and_edited_here_is_settled_by_a_word() {
    let gone = || {
        let mut world = Small::new("a; b", "a title=Mine", "a gone");
        let plan = world.plan();
        world.apply(&plan);
        world
    };
    for (keep, edited, plan) in [
        (Keep::Local, false, "-> create start/a.html"),
        (Keep::Local, true, "-> create start/a.html"),
        (Keep::Both, false, "-> create start/a.html"),
        (Keep::Remote, false, "<- delete start/a.html"),
        (Keep::Remote, true, "<> conflict start/a.html, held"),
    ] {
        let mut world = gone();
        if edited {
            edit(&mut world, true);
        }
        world.decide("a", keep.clone());
        assert_eq!(short(&world.planned()), plan, "{keep:?} {edited}");
    }
}

#[test]
fn a_file_that_was_removed_in_conflict_waits_for_its_copy() {
    let mut world = shown();
    world
        .local
        .files
        .retain(|file| file.id != Some(article("a")));
    world.refresh();
    assert_eq!(short(&world.planned()), "<> conflict start/a.html, held");
    let mut wished = world.clone();
    wished.decide("a", Keep::Remote);
    let restored = "<- restore start/a.html, removed here and edited on the service: the edit wins";
    assert_eq!(short(&wished.planned()), restored);
    drop_copy(&mut world);
    assert_eq!(short(&world.planned()), restored);
}

#[test]
fn what_became_equal_by_itself_is_no_conflict_any_more() {
    let mut world = shown();
    let theirs = world.remote_version("a");
    world.file_of("a").version = theirs;
    assert_eq!(short(&world.planned()), "<> adopt start/a.html");
}

#[test]
fn the_name_of_a_copy_is_one_that_file_systems_take() {
    let name = "ä".repeat(120);
    let world = Small::new(&format!("a file={name}"), "a title=Mine", "a title=Theirs");
    let plan = world.plan();
    let copy = conflict(&plan).and_then(|conflict| conflict.copy.clone());
    let copy = copy.expect("a copy");
    assert!(
        copy.len() <= 255 && copy.ends_with(".conflict.html"),
        "{copy}"
    );
}

#[test]
fn a_decision_on_a_conflict_that_ended_settles_no_other_one() {
    let mut world = shown();
    for keep in [Keep::Local, Keep::Remote, Keep::Both] {
        let mut ended = world.clone();
        ended.decide("a", keep);
        edit(&mut ended, false);
        ended.base.conflicts.clear();
        assert!(ended.planned().starts_with("<> conflict"));
    }
    world.decide("a", Keep::Local);
    assert!(!world.planned().contains("conflict"));
}
