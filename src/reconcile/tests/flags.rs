//! `enabled` and `draft`: the file's lines before and now, and the service's values before and now.

use super::small::{Small, article, revision, settles};
use crate::model::Flags;
use crate::model::base::Visibility;
use crate::reconcile::plan::Action;
use crate::reconcile::snapshot::Remote;

/// A flag in a file or on the service; `None`: no line, or unknown.
type Flag = Option<bool>;

const ON: Flag = Some(true);
const OFF: Flag = Some(false);
const NONE: Flag = None;

/// Returns the line for `enabled` in the file afterwards, and the value that is sent.
fn enabled(was: Flag, now: Flag, known: Flag, shown: Flag) -> (Flag, Flag) {
    let mut world = Small::new("a", "", "");
    let row = world.row("a");
    row.file_flags.enabled = was;
    row.remote_flags.enabled = known;
    row.visibility = visibility(known);
    world.file_of("a").flags.enabled = now;
    let id = article("a");
    if let Some(Remote::Present(seen)) = world.remote.articles.get_mut(&id) {
        seen.flags.enabled = shown.filter(|_| shown == OFF);
        seen.visibility = visibility(shown);
        seen.revision = revision("r1");
    }
    let plan = world.plan();
    let after = settles(&plan).next().map_or((now, NONE), |settle| {
        (settle.file_flags.enabled, settle.send_enabled)
    });
    // Afterwards nothing is left to do, and nothing flips back.
    world.apply(&plan);
    assert_eq!(
        world.plan().actions,
        [],
        "{was:?} {now:?} {known:?} {shown:?}"
    );
    after
}

fn visibility(enabled: Flag) -> Visibility {
    if enabled == OFF {
        Visibility::Unpublished
    } else {
        Visibility::Published
    }
}

#[test]
fn enabled_is_three_way() {
    // The line before and now; the service's value before and now; the line afterwards, and the sent value.
    for (was, now, known, shown, line, sent) in [
        // Nobody changed it.
        (NONE, NONE, ON, ON, NONE, NONE),
        (OFF, OFF, OFF, OFF, OFF, NONE),
        (ON, ON, ON, ON, ON, NONE),
        // The writer changed it.
        (NONE, OFF, ON, ON, OFF, OFF),
        (OFF, NONE, OFF, OFF, NONE, ON),
        (OFF, ON, OFF, OFF, ON, ON),
        (ON, OFF, ON, ON, OFF, OFF),
        // The line only repeats the present value.
        (NONE, ON, ON, ON, ON, NONE),
        (ON, NONE, ON, ON, NONE, NONE),
        // A colleague changed it.
        (NONE, NONE, ON, OFF, OFF, NONE),
        (OFF, OFF, OFF, ON, NONE, NONE),
        (ON, ON, ON, OFF, OFF, NONE),
        // Both changed it, to the same value.
        (NONE, OFF, ON, OFF, OFF, NONE),
        (OFF, NONE, OFF, ON, NONE, NONE),
        // It was not known before.
        (NONE, NONE, NONE, ON, NONE, NONE),
        (NONE, NONE, NONE, OFF, OFF, NONE),
        (NONE, OFF, NONE, ON, OFF, OFF),
    ] {
        assert_eq!(
            enabled(was, now, known, shown),
            (line, sent),
            "{was:?} -> {now:?}, {known:?} -> {shown:?}"
        );
    }
}

#[test]
fn draft_of_an_existing_article_cannot_be_sent() {
    for (was, now, known, said) in [
        (NONE, ON, OFF, true),
        (ON, OFF, ON, true),
        (ON, NONE, ON, true),
        (NONE, OFF, OFF, false),
        (ON, ON, ON, false),
    ] {
        let mut world = Small::new("a", "", "");
        let flags = Flags {
            enabled: ON,
            draft: known,
        };
        let row = world.row("a");
        row.file_flags.draft = was;
        row.remote_flags = flags;
        let hidden = known == ON;
        row.visibility = if hidden {
            Visibility::Unpublished
        } else {
            Visibility::Published
        };
        let visibility = row.visibility;
        world.file_of("a").flags.draft = now;
        let id = article("a");
        if let Some(Remote::Present(seen)) = world.remote.articles.get_mut(&id) {
            seen.visibility = visibility;
            seen.flags = if hidden { flags } else { Flags::default() };
        }
        let plan = world.plan();
        assert!(!plan.actions.iter().any(Action::sends), "{plan}");
        assert_eq!(
            !plan.problems.is_empty(),
            said,
            "{was:?} -> {now:?}: {plan}"
        );
    }
}

#[test]
fn our_own_write_on_its_way_into_the_listing_changes_nothing() {
    let mut world = Small::new("a unpublished", "", "a");
    let mark = revision("r1");
    world.row("a").written = Some(mark.clone());
    let id = article("a");
    if let Some(Remote::Present(seen)) = world.remote.articles.get_mut(&id) {
        seen.revision = mark;
        seen.visibility = Visibility::Published;
        seen.flags = Flags::default();
    }
    let plan = world.plan();
    assert_eq!(plan.actions, []);
    assert_eq!(
        plan.records[0].file_flags.enabled, OFF,
        "the line stays: {plan:?}"
    );
}

#[test]
fn a_first_meeting_takes_what_the_service_shows() {
    let world = Small::new("", "a id=a off", "a");
    let plan = world.plan();
    let settle = settles(&plan).next();
    let settle = settle.expect("an adoption");
    assert_eq!(
        (settle.file_flags.enabled, settle.send_enabled),
        (NONE, NONE)
    );
}
