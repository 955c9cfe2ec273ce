//! Holds, and their releases.

use super::small::{Small, article, short};
use crate::model::Side;
use crate::reconcile::guard::{Elsewhere, MAX_ROLLBACKS, MaxDeletes};
use crate::reconcile::plan::{Action, HoldRule, Step};
use crate::reconcile::snapshot::Remote;

#[test]
fn the_limit_is_the_smaller_of_a_count_and_a_share_but_for_three() {
    for (count, percent, articles, limit) in [
        (10, 25, 100, 10),
        (10, 25, 39, 9),
        (10, 25, 12, 3),
        (10, 25, 4, 3),
        (10, 25, 0, 3),
        (2, 25, 100, 2),
        (0, 25, 100, 0),
        (10, 0, 100, 3),
        (50, 100, 20, 20),
    ] {
        let max = MaxDeletes { count, percent };
        assert_eq!(
            max.limit(articles),
            limit,
            "{count}, {percent} % of {articles}"
        );
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("a{number:02}")).collect()
}

/// Makes `count` articles that all have these words here and there.
fn many(count: usize, local: &str, remote: &str) -> Small {
    let line = |words: &str| {
        let entries: Vec<String> = names(count)
            .iter()
            .map(|name| format!("{name} {words}"))
            .collect();
        entries.join("; ")
    };
    Small::new(&line(""), &line(local), &line(remote))
}

fn rules(world: &Small) -> Vec<Option<HoldRule>> {
    let mut rules: Vec<_> = world
        .plan()
        .actions
        .iter()
        .map(|action| action.held.as_ref().map(|hold| hold.rule))
        .collect();
    rules.dedup();
    rules
}

#[test]
fn f041_many_deletions_towards_one_side_hold_them_all() {
    for (local, remote) in [("-", ""), ("", "gone")] {
        assert_eq!(rules(&many(10, local, remote)), [None]);
        let held = many(11, local, remote);
        assert_eq!(rules(&held), [Some(HoldRule::MassDeletion)]);

        let mut allowed = held.clone();
        allowed.facts.deletions.allowed = true;
        assert_eq!(rules(&allowed), [None]);

        let mut approved = held.clone();
        let set: Vec<_> = held
            .plan()
            .actions
            .iter()
            .map(Action::fingerprint)
            .collect();
        approved.facts.approved.extend(&set);
        assert_eq!(rules(&approved), [None]);
        // A subset of the approved actions may proceed, additional actions may not.
        approved
            .facts
            .approved
            .extend([crate::model::Digest::of_parts(&[])]);
        assert_eq!(rules(&approved), [None]);
        approved.facts.approved.remove(&set[0]);
        assert_eq!(rules(&approved), [Some(HoldRule::MassDeletion)]);
    }
}

#[test]
fn f053_renames_and_moves_do_not_count_as_deletions() {
    assert_eq!(rules(&many(15, "in=two", "")), [None]);
}

#[test]
fn f042_small_deletions_count_together_for_a_day() {
    let mut world = many(5, "-", "");
    world.facts.deletions.remote.day = 35;
    assert_eq!(rules(&world), [None]);
    world.facts.deletions.remote.day = 36;
    assert_eq!(rules(&world), [Some(HoldRule::MassDeletion)]);
    // The other side has its own count.
    world.facts.deletions.remote.day = 0;
    world.facts.deletions.local.day = 100;
    assert_eq!(rules(&world), [None]);
}

#[test]
fn f041_f042_deletions_that_went_through_a_moment_ago_count() {
    for (local, remote) in [("-", ""), ("", "gone")] {
        let mut world = many(6, local, remote);
        let here = local.is_empty();
        let mut recent = |count: usize| {
            *(if here {
                &mut world.facts.deletions.local.at_once
            } else {
                &mut world.facts.deletions.remote.at_once
            }) = count;
            rules(&world)
        };
        assert_eq!(recent(4), [None]);
        assert_eq!(recent(5), [Some(HoldRule::MassDeletion)]);
        let reason = world.plan().actions[0].held.clone().expect("held").reason;
        let told = "11 deletions";
        assert!(reason.contains(told), "{reason}");
    }
}

#[test]
fn f043_what_is_left_of_many_held_deletions_waits_for_a_person_as_well() {
    for (local, remote) in [("-", ""), ("", "gone")] {
        let mut world = many(4, local, remote);
        let ids = names(2)
            .iter()
            .map(|name| article(name))
            .collect::<Vec<_>>();
        let standing = |rule| ids.iter().map(move |id| (rule, *id));
        world.facts.still_held = standing(HoldRule::MassDeletion).collect();
        // The actions that were not held before are few, and proceed.
        let held = |world: &Small| -> Vec<_> {
            let plan = world.plan();
            let held = plan.actions.iter().filter(|action| action.held.is_some());
            held.filter_map(|action| action.id).collect()
        };
        assert_eq!(held(&world), ids);
        world.facts.approved = world
            .plan()
            .actions
            .iter()
            .filter(|action| action.id.is_some_and(|id| ids.contains(&id)))
            .map(Action::fingerprint)
            .collect();
        assert_eq!(held(&world), []);
        world.facts.approved.clear();
        world.facts.deletions.allowed = true;
        assert_eq!(held(&world), []);
        world.facts.deletions.allowed = false;
        // Actions that were held by another rule are not held here.
        world.facts.still_held = standing(HoldRule::MassRollback).collect();
        assert_eq!(held(&world), []);
    }
}

#[test]
fn f040_what_a_restore_left_out_waits_by_itself() {
    let mut world = many(11, "-", "");
    let unrestored = article(&names(1)[0]);
    world.facts.restoring = [unrestored].into();
    assert_eq!(rules(&world), [Some(HoldRule::Unrestored), None]);
    // `--allow-deletes` covers only files that a person removed.
    world.facts.deletions.allowed = true;
    assert_eq!(rules(&world), [Some(HoldRule::Unrestored), None]);
    world.facts.deletions.allowed = false;
    let plan = world.plan();
    let mut actions = plan.actions.iter();
    let held = actions.find(|action| action.id == Some(unrestored));
    world.facts.approved = [held.expect("it waits").fingerprint()].into();
    // Approving the deletion counts as removing the file, like the others.
    assert_eq!(rules(&world), [Some(HoldRule::MassDeletion)]);
    world.facts.approved = plan.actions.iter().map(Action::fingerprint).collect();
    assert_eq!(rules(&world), [None]);
}

#[test]
fn what_lies_in_another_workspaces_folder_waits_by_itself() {
    let mut world = many(2, "-", "");
    let moved = article(&names(1)[0]);
    world.facts.elsewhere.at = [(moved, "de/a/b.html".to_owned())].into();
    let plan = world.plan();
    let mut actions = plan.actions.iter();
    let waiting = actions.find(|action| action.id == Some(moved));
    let waiting = waiting.expect("it waits");
    let hold = waiting.held.as_ref().expect("it is held");
    assert_eq!(hold.rule, HoldRule::Elsewhere);
    assert!(hold.reason.contains("its file is de/a/b.html"), "{hold:?}");
    assert_eq!(rules(&world), [Some(HoldRule::Elsewhere), None]);
    world.facts.approved = [waiting.fingerprint()].into();
    assert_eq!(rules(&world), [None]);
    world.facts.approved.clear();
    world.facts.deletions.allowed = true;
    assert_eq!(rules(&world), [None]);
    world.facts.deletions.allowed = false;
    // An unreadable place may hold any file.
    world.facts.elsewhere = Elsewhere {
        unread: Some("de/".to_owned()),
        ..Elsewhere::default()
    };
    assert_eq!(rules(&world), [Some(HoldRule::Unfound)]);
    // An article whose file was seen there once stays held, even if the file is gone.
    world.facts.elsewhere = Elsewhere::default();
    assert_eq!(rules(&world), [None]);
    world.facts.still_held = [(HoldRule::Elsewhere, moved)].into();
    assert_eq!(rules(&world), [Some(HoldRule::Elsewhere), None]);
}

#[test]
fn f038_what_is_left_of_many_held_roll_backs_waits_for_a_person_as_well() {
    let mut world = many(2, "title=Old", "");
    let ids: Vec<_> = names(2).iter().map(|name| article(name)).collect();
    world.facts.rollbacks.local = ids.iter().copied().collect();
    assert_eq!(rules(&world), [None]);
    world.facts.still_held = ids.iter().map(|id| (HoldRule::MassRollback, *id)).collect();
    assert_eq!(rules(&world), [Some(HoldRule::MassRollback)]);
    // A colleague's edit of another field does not release them.
    let mut merged = many(2, "title=Old", "intro=New");
    merged.facts = world.facts.clone();
    assert!(
        merged
            .plan()
            .actions
            .iter()
            .all(|action| action.side == Side::Both)
    );
    assert_eq!(rules(&merged), [Some(HoldRule::MassRollback)]);
    // The released actions proceed, even if other articles went back meanwhile.
    let marks: Vec<_> = world
        .plan()
        .actions
        .iter()
        .map(Action::fingerprint)
        .collect();
    world.facts.approved = [marks[0]].into();
    assert_eq!(rules(&world), [None, Some(HoldRule::MassRollback)]);
    // An edit with new content is not held.
    world.facts.rollbacks.local.clear();
    assert_eq!(rules(&world), [None]);
}

#[test]
fn f087_a_file_that_git_took_back_is_not_sent_however_many_there_are() {
    for count in [1, MAX_ROLLBACKS + 1] {
        let mut world = many(count, "title=Old", "");
        let ids: Vec<_> = names(count).iter().map(|name| article(name)).collect();
        world.facts.rollbacks.local = ids.iter().copied().collect();
        let actions = world.plan().actions;
        let all = actions.iter().map(Action::fingerprint);
        let why = "git did it".to_owned();
        world.facts.git.behind = all.map(|mark| (mark, why.clone())).collect();
        assert_eq!(rules(&world), [Some(HoldRule::Behind)]);
        let first = actions[0].fingerprint();
        world.facts.git.behind.remove(&first);
        assert_eq!(rules(&world)[0], None);
        world.facts.git.behind.insert(first, why);
        let marks = world.plan().actions;
        let hold = marks[0].held.as_ref().expect("held");
        assert_eq!((hold.rule, &*hold.reason), (HoldRule::Behind, "git did it"));
        world.facts.approved = marks.iter().map(Action::fingerprint).collect();
        assert_eq!(rules(&world), [None]);
    }
}

#[test]
fn f087_no_copy_is_made_beside_a_file_that_git_took_back() {
    let mut world = many(1, "title=Old", "title=New");
    let needs_copy = |world: &Small| {
        let plan = world.plan();
        let Step::Conflict(conflict) = &plan.actions[0].step else {
            panic!("no conflict: {plan}");
        };
        conflict.needs_copy
    };
    assert!(needs_copy(&world));
    let mark = world.plan().actions[0].fingerprint();
    world.facts.git.behind = [(mark, String::new())].into();
    assert!(!needs_copy(&world));
    assert_eq!(rules(&world), [Some(HoldRule::Behind)]);
    let marks = world.plan().actions;
    world.facts.approved = marks.iter().map(Action::fingerprint).collect();
    assert!(needs_copy(&world));
}

#[test]
fn nothing_is_deleted_in_doubt_whatever_was_allowed() {
    for (local, remote) in [("-", ""), ("", "gone")] {
        let mut world = many(1, local, remote);
        world.facts.doubt = Some("the listing failed".to_owned());
        world.facts.deletions.allowed = true;
        assert_eq!(rules(&world), [Some(HoldRule::Doubt)]);
    }
}

#[test]
fn f043_a_cycle_in_doubt_does_not_end_the_wait_for_a_person() {
    let mut world = many(1, "-", "");
    world.facts.doubt = Some("the listing failed".to_owned());
    world.facts.still_held = [(HoldRule::MassDeletion, article("a00"))].into();
    let held = rules(&world);
    assert!(held.contains(&Some(HoldRule::MassDeletion)), "{held:?}");
}

#[test]
fn f084_removals_that_came_with_git_wait() {
    let gits = |count: usize| {
        let names = names(count).into_iter();
        names
            .map(|name| (article(&name), "the branch changed".to_owned()))
            .collect()
    };
    let mut world = many(1, "-", "");
    world.facts.git.removed = gits(1);
    assert_eq!(rules(&world), [Some(HoldRule::MovedHead)]);
    // The flag and an approval release the hold.
    world.facts.deletions.allowed = true;
    assert_eq!(rules(&world), [None]);
    world.facts.deletions.allowed = false;
    let marks = world.plan().actions;
    world.facts.approved = marks.iter().map(Action::fingerprint).collect();
    assert_eq!(rules(&world), [None]);
    // A removal by the writer in the same cycle proceeds.
    let mut world = many(2, "-", "");
    world.facts.git.removed = gits(1);
    assert_eq!(rules(&world), [Some(HoldRule::MovedHead), None]);
    let mut world = many(1, "", "gone");
    world.facts.git.removed = gits(1);
    assert_eq!(rules(&world), [None]);
}

#[test]
fn f038_many_articles_that_went_back_are_held() {
    for (local, remote) in [("title=Old", ""), ("", "title=Old")] {
        let world = |count: usize| {
            let mut world = many(count, local, remote);
            let ids = names(count).iter().map(|name| article(name)).collect();
            if local.is_empty() {
                world.facts.rollbacks.remote = ids;
            } else {
                world.facts.rollbacks.local = ids;
            }
            world
        };
        assert_eq!(rules(&world(MAX_ROLLBACKS)), [None]);
        let held = world(MAX_ROLLBACKS + 1);
        assert_eq!(rules(&held), [Some(HoldRule::MassRollback)]);
        let mut approved = held.clone();
        let set = held.plan();
        let set = set.actions.iter().map(Action::fingerprint);
        approved.facts.approved.extend(set);
        assert_eq!(rules(&approved), [None]);
    }
    // An older version counts as a roll-back even if it is merged with an edit.
    let mut world = many(MAX_ROLLBACKS + 1, "intro=Mine", "title=Old");
    world.facts.rollbacks.remote = names(MAX_ROLLBACKS + 1)
        .iter()
        .map(|name| article(name))
        .collect();
    assert_eq!(rules(&world), [Some(HoldRule::MassRollback)]);
}

#[test]
fn f085_that_a_file_went_back_to_an_older_version_is_said() {
    let mut world = many(2, "title=Old", "");
    world.facts.rollbacks.local = [article(&names(2)[0])].into();
    let plan = world.plan();
    let noted: Vec<bool> = plan
        .actions
        .iter()
        .map(|action| {
            action
                .note
                .as_ref()
                .is_some_and(|note| note.contains("older version"))
        })
        .collect();
    assert_eq!(noted, [true, false]);
}

#[test]
fn f119_who_writes_back_and_forth_with_somebody_is_held() {
    let mut world = Small::new("a; b", "a title=X; b title=X", "");
    world.facts.duels.insert(article("a"));
    assert_eq!(
        short(&world.planned()),
        "-> update start/a.html (title), held; -> update start/b.html (title)"
    );
    // A change from the service is still pulled.
    let mut world = Small::new("a", "", "a title=Y");
    world.facts.duels.insert(article("a"));
    assert_eq!(rules(&world), [None]);
}

/// The world with its first action refused.
fn refused(mut world: Small) -> Small {
    world.refuse_first("422");
    assert_eq!(rules(&world), [Some(HoldRule::Refused)]);
    world
}

#[test]
fn f115_what_was_refused_is_sent_again_when_something_changes() {
    let first = refused(Small::new("a", "a title=X", ""));
    let mut other = first.clone();
    other.file_of("a").version.title.push('2');
    assert_eq!(rules(&other), [None], "the file changed");
    let mut other = first;
    other.set_revision("a", "r2");
    assert_eq!(rules(&other), [None], "the revision changed");
}

#[test]
fn a_deletion_that_was_refused_is_not_repeated() {
    let world = refused(Small::new("a", "a -", ""));
    let mut other = world;
    other.remote.articles.insert(article("a"), Remote::Gone);
    assert_eq!(rules(&other), [None]);
}

#[test]
fn f041_what_was_removed_and_cannot_be_read_counts_with_what_was_removed_at_once() {
    let world = |unread: usize| {
        let line = |word: &dyn Fn(usize) -> &'static str| {
            let names = names(11).into_iter().enumerate();
            let entries: Vec<String> = names
                .map(|(number, name)| format!("{name} {}", word(number)))
                .collect();
            entries.join("; ")
        };
        let told = |number| if number < unread { "unread" } else { "" };
        Small::new(&line(&|_| ""), &line(&|_| "-"), &line(&told))
    };
    assert_eq!(rules(&world(0)), [Some(HoldRule::MassDeletion)]);
    assert_eq!(rules(&world(1)), [Some(HoldRule::MassDeletion)]);
    // A person who saw the rest has approved it.
    let mut approved = world(1);
    let set = approved.plan();
    let set = set.actions.iter().map(Action::fingerprint);
    approved.facts.approved.extend(set);
    assert_eq!(rules(&approved), [None]);
    // An unread article whose file was not removed does not count.
    let mut edited = many(10, "-", "");
    edited.remote.articles.insert(
        article("other"),
        Remote::Unknown("its body was not read".to_owned()),
    );
    assert_eq!(rules(&edited), [None]);
}
