//! Files that were half written or half moved, and a service that went on meanwhile.

use super::regressions::{PLAIN, compares, holds};
use super::relations::Relation;
use super::run::{Bench, Ground, Source};
use super::step::{At, Call, Colleague, Command, Kept, Part, Save, Setup, Step, What, Writer};

#[test]
fn a_file_was_renamed_and_not_written_and_the_colleague_took_the_address_back() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 3), part: Part::First, token: 2 } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 3), to: At(0, 0) } },
            Step::Fault { call: Call::Look, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 0), to: At(0, 1) } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 1), to: At(0, 4) } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 4), to: At(0, 3) } },
        ],
    );
}

#[test]
fn a_file_was_moved_and_not_written_and_the_colleague_took_the_category_back() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 3), token: 3, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 10 } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 1), to: At(1, 4) } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::Full {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(1, 4), to: At(0, 1) } },
        ],
    );
}

#[test]
fn what_a_person_settled_was_written_and_its_folder_could_not_be_read_for_a_moment() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 3, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 4, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 0), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Full {} },
            Step::Run { command: Command::Resolve { at: At(1, 0), keep: Kept::Local } },
            Step::Fault { call: Call::Listing, nth: 2, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_was_brought_back_and_in_motion_for_a_moment() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Remove { at: At(0, 1) } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::InMotion { at: At(0, 1) } },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 19 } },
        ],
    );
}

/// A pull is cut off, and then its file is broken: whether it was written stays open for as long as it is.
#[test]
fn what_stays_open_is_made_durable_once() {
    let (at, sync) = (
        At(0, 0),
        Step::Run { command: Command::Sync {} },
    );
    let steps = |after: u16, more: &[Step]| {
        let post = Colleague::Post {
            at,
            token: 1,
            shown: true,
        };
        let change = Colleague::Change {
            at,
            part: Part::First,
            token: 2,
        };
        let mut steps = vec![Step::Service { deed: post }, sync];
        steps.extend([Step::Service { deed: change }, Step::Kill { after }, sync]);
        let deed = Writer::Break { at };
        steps.extend([Step::Mirror { deed }, sync]);
        steps.extend(more);
        steps
    };
    let mut bench = Bench::new();
    let mut flushes = |after: u16, more: &[Step]| {
        let outcome = bench.run(PLAIN, Source::Steps(&steps(after, more)), Ground::Memory);
        assert_eq!(outcome.violation, None, "{after}");
        outcome.calls.get(&Call::Flush).copied().unwrap_or_default()
    };
    let mut open = 0;
    for after in 0..40 {
        if flushes(after, &[]) == 0 {
            continue;
        }
        assert_eq!(flushes(after, &[sync]), 0, "{after}");
        // Another process cannot know of it.
        open += flushes(after, &[Step::Restart {}, sync]);
    }
    assert!(open > 0);
}

/// A colleague gives another address to an article whose file has a `slug:` of its own, and the pull is cut off.
#[test]
fn a_slug_that_was_not_written_yet_does_not_undo_a_colleagues() {
    let sync = Step::Run {
        command: Command::Sync {},
    };
    let at = At(0, 1);
    let write = Step::Mirror {
        deed: Writer::Write {
            at,
            token: 1,
            enabled: true,
        },
    };
    for (name, readdressed) in [(1, at), (3, At(0, 3))] {
        let deed = Writer::Slug { at, name };
        let mut steps = vec![write, sync, Step::Mirror { deed }];
        // Where it says no more than the file's name, there is nothing to send.
        steps.extend((readdressed != at).then_some(sync));
        let deed = Colleague::Readdress {
            from: readdressed,
            to: At(0, 0),
        };
        steps.extend([Step::Service { deed }, sync]);
        for after in 0..40 {
            compares(Relation::Killed(after), PLAIN, &steps);
        }
    }
}

/// An article is met for the first time, and its file is under its name and not durable when the run is killed. The
/// colleague goes on, and the power fails before the next run has looked at anything.
#[test]
fn what_was_met_by_a_run_that_was_killed_outlives_a_loss_of_power() {
    let sync = Step::Run {
        command: Command::Sync {},
    };
    let at = At(0, 1);
    let post = Colleague::Post {
        at,
        token: 1,
        shown: true,
    };
    let change = Colleague::Change {
        at,
        part: Part::First,
        token: 2,
    };
    for after in 20..80 {
        for until in 0..4 {
            holds(
                PLAIN,
                &[
                    Step::Service { deed: post },
                    Step::Kill { after },
                    sync,
                    Step::Service { deed: change },
                    Step::PowerLoss { after: until, keep: 0 },
                    sync,
                ],
            );
        }
    }
}

/// A file was moved by its writer, and what a colleague took back is written into it, but not made durable. The writer
/// goes on from there, and the colleague takes the taking back back.
#[test]
fn a_file_that_was_moved_and_written_shows_what_a_colleague_takes_back_later() {
    let sync = Step::Run {
        command: Command::Sync {},
    };
    let (at, to) = (At(0, 1), At(1, 1));
    let post = Colleague::Post {
        at,
        token: 1,
        shown: true,
    };
    let change = Colleague::Change {
        at,
        part: Part::First,
        token: 2,
    };
    let revert = Colleague::Revert { at };
    let edit = Writer::Edit {
        at: to,
        part: Part::First,
        token: 3,
        save: Save::RenameOver,
    };
    for nth in 0..3 {
        holds(
            PLAIN,
            &[
                Step::Service { deed: post },
                sync,
                Step::Service { deed: change },
                sync,
                Step::Mirror { deed: Writer::Move { from: at, to } },
                Step::Service { deed: revert },
                Step::Fault { call: Call::SyncFolder, nth, what: What::Broken {} },
                sync,
                Step::Mirror { deed: edit },
                Step::Service { deed: revert },
            ],
        );
    }
}

#[test]
fn seed_363698343675() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::Third, token: 5 } },
        Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::First, token: 6, save: Save::RenameOver } },
        Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Full {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::More, token: 8, save: Save::RenameOver } },
        Step::Fault { call: Call::Stage, nth: 0, what: What::Full {} },
        Step::Run { command: Command::Sync {} },
        Step::Kill { after: 28 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Revert { at: At(0, 2) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_850438610882() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 1, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 4, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::More, token: 11 } },
        Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
        Step::PowerLoss { after: 43, keep: 0 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 18, enabled: true } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_850438737739() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Stash {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 6, save: Save::RenameOver } },
        Step::Wait { seconds: 20 },
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Third, token: 7 } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Checkout {} },
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::First, token: 14 } },
        Step::Kill { after: 21 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Revert { at: At(0, 0) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_363698598970() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 0), token: 2, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 3, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 4, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Delete { at: At(0, 0) } },
        Step::Wait { seconds: 20 },
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 8, shown: true } },
        Step::Fault { call: Call::Stage, nth: 0, what: What::Denied {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Readdress { from: At(1, 0), to: At(0, 0) } },
        Step::Service { deed: Colleague::Readdress { from: At(1, 1), to: At(1, 0) } },
        Step::Kill { after: 62 },
        Step::Run { command: Command::Sync {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::DropCopy { at: At(1, 0) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_973728133835() {
    let setup = Setup {
        bodies: false,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Write { at: At(2, 4), token: 8, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Swap { one: At(0, 1), other: At(1, 2) } },
        Step::Service { deed: Colleague::Touch { at: At(0, 1) } },
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 12, enabled: true } },
        Step::Kill { after: 40 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(2, 4), part: Part::First, token: 18 } },
        Step::Service { deed: Colleague::Touch { at: At(0, 0) } },
        Step::PowerLoss { after: 69, keep: 0 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Swap { one: At(0, 0), other: At(1, 2) } },
    ];
    holds(setup, &steps);
}
