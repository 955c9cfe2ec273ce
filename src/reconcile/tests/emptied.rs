//! Deletions that empty a category or the mirror, and deletions from a state of another folder.

use super::small::Small;
use crate::reconcile::plan::{Action, HoldRule};

/// Makes a world with its base counted, and with a limit that holds nothing.
fn stocked(base: &str, local: &str, remote: &str) -> Small {
    let mut world = Small::new(base, local, remote);
    world.facts.deletions.limit.count = 1000;
    world.facts.deletions.limit.percent = 100;
    world.facts.deletions.articles = 1000;
    let rows = world.base.articles.values();
    world.facts.deletions.inventory.homes = rows.map(|row| (row.id, row.local.category)).collect();
    world
}

/// Returns the rules that hold deletions, and the reasons.
fn held(world: &Small) -> Vec<(Option<HoldRule>, String)> {
    let plan = world.plan();
    let deletes = plan
        .actions
        .iter()
        .filter(|action| action.deletes().is_some());
    deletes
        .map(|action| {
            let hold = action.held.clone();
            let (rule, reason) = hold.map(|hold| (hold.rule, hold.reason)).unzip();
            (rule, reason.unwrap_or_default())
        })
        .collect()
}

fn rules(world: &Small) -> Vec<Option<HoldRule>> {
    held(world).into_iter().map(|(rule, _)| rule).collect()
}

const MASS: Option<HoldRule> = Some(HoldRule::MassDeletion);

#[test]
fn f041_a_category_that_is_emptied_is_held_whatever_the_limit() {
    for (base, local, remote, wanted) in [
        // All of two or more articles, on either side.
        ("a; b; x in=two", "a -; b -", "", &[MASS, MASS][..]),
        ("a; b; x in=two", "", "a gone; b gone", &[MASS, MASS]),
        // Not all; the only article; a moved article is not gone.
        ("a; b; c; x in=two", "a -; b -", "", &[None, None]),
        ("a; x in=two", "a -", "", &[None]),
        ("a; b; x in=two", "a in=two; b -", "", &[None]),
        ("a; b; x in=two", "a in=two; b in=two", "", &[]),
        // An unreadable article may be gone as well.
        (
            "a; b unpublished; x in=two",
            "",
            "a gone; b hidden",
            &[MASS],
        ),
        // An article that is gone on both sides is not a deletion.
        ("a; b; x in=two", "a -; b -", "a gone", &[None]),
        // The other category's articles are deleted.
        (
            "a; b; x in=two; y in=two; z in=two",
            "a -; b -; x -",
            "",
            &[MASS, MASS, None],
        ),
    ] {
        let world = stocked(base, local, remote);
        assert_eq!(rules(&world), wanted, "{base} | {local} | {remote}");
    }
    let reason = held(&stocked("a; b; x in=two", "a -; b -", ""))[0]
        .1
        .clone();
    assert!(
        reason.contains("would empty start/")
            && reason.contains("`kbsync approve`")
            && reason.contains("`kbsync restore FOLDER`"),
        "{reason}"
    );
}

#[test]
fn f041_the_last_of_a_category_waits_when_the_others_went_a_moment_before() {
    let mut world = stocked("a; x in=two", "a -", "");
    world.facts.deletions.remote.at_once = 1;
    assert_eq!(rules(&world), [MASS]);
    // Earlier deletions on the other side do not count.
    world.facts.deletions.remote.at_once = 0;
    world.facts.deletions.local.at_once = 1;
    assert_eq!(rules(&world), [None]);
}

#[test]
fn f040_an_emptied_mirror_is_held_whatever_the_limit() {
    for (base, local, remote, no_files, wanted) in [
        ("a; x in=two", "a -; x -", "", true, &[MASS, MASS][..]),
        ("a; x in=two", "", "a gone; x gone", false, &[MASS, MASS]),
        ("a", "a -", "", true, &[None]),
        // The fate of the other article is unknown, and its file is gone as well.
        ("a; x in=two", "a -; x -", "x hidden", true, &[MASS]),
        ("a; x in=two", "a -", "", false, &[None]),
    ] {
        let mut world = stocked(base, local, remote);
        world.facts.deletions.inventory.no_files = no_files;
        assert_eq!(rules(&world), wanted, "{base} | {local} | {remote}");
    }
}

#[test]
fn what_is_emptied_is_released_as_a_whole_and_not_by_a_part() {
    let world = stocked("a; b; x in=two", "a -; b -", "");
    let marks: Vec<_> = world
        .plan()
        .actions
        .iter()
        .filter(|action| action.deletes().is_some())
        .map(Action::fingerprint)
        .collect();
    let mut released = world.clone();
    released.facts.approved.extend(&marks);
    assert_eq!(rules(&released), [None, None]);
    released.facts.approved.remove(&marks[0]);
    assert_eq!(rules(&released), [MASS, MASS]);
    let mut allowed = world;
    allowed.facts.deletions.allowed = true;
    assert_eq!(rules(&allowed), [None, None]);
}

#[test]
fn f089_a_state_from_elsewhere_deletes_nothing_on_either_side() {
    const FOREIGN: Option<HoldRule> = Some(HoldRule::ForeignState);
    for (local, remote) in [("a -", ""), ("", "a gone")] {
        let mut world = stocked("a; b; c", local, remote);
        world.facts.deletions.inventory.from_elsewhere = true;
        assert_eq!(rules(&world), [FOREIGN]);
        // The state is bound by now, and the hold is not released.
        let mut standing = world.clone();
        standing.facts.deletions.inventory.from_elsewhere = false;
        assert_eq!(rules(&standing), [None]);
        let id = super::small::article("a");
        standing
            .facts
            .still_held
            .insert((HoldRule::ForeignState, id));
        assert_eq!(rules(&standing), [FOREIGN]);
        let marks = world
            .plan()
            .actions
            .iter()
            .map(Action::fingerprint)
            .collect();
        standing.facts.approved = marks;
        assert_eq!(rules(&standing), [None]);
        world.facts.deletions.allowed = true;
        assert_eq!(rules(&world), [None]);
    }
    // Edits proceed.
    let mut world = stocked("a; b", "a title=X", "b title=Y");
    world.facts.deletions.inventory.from_elsewhere = true;
    assert!(
        world
            .plan()
            .actions
            .iter()
            .all(|action| action.held.is_none())
    );
}

#[test]
fn a_new_category_is_held_when_its_name_is_near_or_nobody_was_asked() {
    let rule = |base: &str, local: &str, asks| {
        let mut world = Small::new(base, local, "");
        world.facts.asks_for_categories = asks;
        let plan = world.plan();
        let rules: Vec<_> = plan
            .actions
            .iter()
            .map(|action| action.held.as_ref().map(|hold| hold.rule))
            .collect();
        let mut approved = world.clone();
        approved.facts.approved = plan.actions.iter().map(Action::fingerprint).collect();
        let left = approved.plan();
        assert!(left.actions.iter().all(|action| action.held.is_none()));
        rules
    };
    let waits = Some(HoldRule::Waits);
    let near = [Some(HoldRule::NearCategory), waits];
    assert_eq!(rule("a", "strat/ noyaml; n in=strat", false), near);
    assert_eq!(rule("a", "strat/ noyaml; n in=strat", true), near);
    assert_eq!(rule("a", "docs/ noyaml; n in=docs", false), [None, None]);
    assert_eq!(
        rule("a", "docs/ noyaml; n in=docs", true),
        [Some(HoldRule::NewCategory), waits]
    );
    // The slug counts as well.
    assert_eq!(rule("a", "other/ slug=strat; n in=other", false), near);
    // A copied folder has another category's name.
    assert_eq!(rule("a", "other/ name=Start; n in=other", false), near);
}
