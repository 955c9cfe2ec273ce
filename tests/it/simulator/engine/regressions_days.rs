//! What the simulator found in what is asked for once a day only.

use super::regressions::{PLAIN, compares, holds};
use super::relations::Relation;
use super::step::{At, Call, Colleague, Command, Part, Probing, Save, Setup, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

#[test]
fn what_became_an_article_in_a_cycle_that_was_disturbed_is_asked_for_in_its_turn() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 7, enabled: false } },
        Step::Mirror { deed: Writer::Copy { from: At(1, 1), to: At(0, 2) } },
        Step::Mirror { deed: Writer::Copy { from: At(1, 1), to: At(0, 0) } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::First, token: 16 } },
        Step::Mirror { deed: Writer::Copy { from: At(0, 0), to: At(0, 3) } },
        Step::Fault { call: Call::Look, nth: 0, what: What::ByColleague { deed: Colleague::Change { at: At(0, 2), part: Part::More, token: 19 } } },
        Step::Run { command: Command::Sync {} },
        Step::Wait { seconds: 90000 },
    ];
    holds(setup, &steps);
}

#[test]
fn what_turned_out_to_be_gone_was_asked_for_as_well() {
    let steps = vec![
        Step::Service { deed: Colleague::Post { at: At(1, 2), token: 1, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 3, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 4, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 5, shown: false } },
        Step::Mirror { deed: Writer::Enable { at: At(0, 1), on: false } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Delete { at: At(1, 1) } },
        Step::Service { deed: Colleague::Delete { at: At(0, 1) } },
        Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::First, token: 14, save: Save::RenameOver } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Show { at: At(1, 1), on: false } },
        Step::Mirror { deed: Writer::Enable { at: At(1, 2), on: false } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Copy { from: At(1, 1), to: At(0, 3) } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(0, 3), part: Part::First, token: 28 } },
    ];
    compares(Relation::Order, PLAIN, &steps);
}

#[test]
fn a_day_goes_by_in_both_runs_that_are_compared() {
    let setup = Setup {
        probing: Probing::Forbidden,
        no_window: true,
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(2, 6), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Rename { folder: 0, token: 7 } },
        Step::Mirror { deed: Writer::Hide { at: At(0, 3) } },
        Step::Mirror { deed: Writer::Edit { at: At(2, 6), part: Part::First, token: 9, save: Save::RenameOver } },
        Step::Run { command: Command::Sync {} },
    ];
    compares(Relation::Killed(48), setup, &steps);
}

/// As many hidden articles as one cycle may ask for are asked for, that of an empty file among them: the last one's turn
/// comes in the next.
#[test]
fn the_article_of_an_empty_file_is_asked_for_in_its_turn() {
    let setup = Setup {
        thrifty: true,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(2, 1), token: 1, enabled: false } },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 2, enabled: false } },
        Step::Mirror { deed: Writer::Copy { from: At(1, 0), to: At(1, 2) } },
        Step::Mirror { deed: Writer::Copy { from: At(1, 2), to: At(1, 1) } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Empty { at: At(2, 1) } },
        Step::Service { deed: Colleague::Change { at: At(1, 2), part: Part::First, token: 25 } },
    ];
    holds(setup, &steps);
}

/// Its file could not be brought back. A colleague shows the hidden article meanwhile, which was asked for not long ago.
#[test]
fn seed_614929012768() {
    let at = At(0, 3);
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at, token: 3, enabled: false } },
            SYNC,
            Step::Mirror { deed: Writer::RemoveFolder { folder: 0 } },
            Step::Service { deed: Colleague::Change { at, part: Part::First, token: 18 } },
            Step::Fault { call: Call::Stage, nth: 0, what: What::Broken {} },
            SYNC,
            Step::Service { deed: Colleague::Show { at, on: true } },
            Step::Run { command: Command::InMotion { at: At(1, 3) } },
        ],
    );
}

/// The file of one was edited long ago, and what came of that was dealt with in a cycle that had something else to tell.
#[test]
fn seed_594611442890() {
    let mirror = |deed| Step::Mirror { deed };
    let (enabled, part) = (false, Part::First);
    let (token, other) = (1, 2);
    holds(
        Setup {
            thrifty: true,
            ..PLAIN
        },
        &[
            mirror(Writer::Write { at: At(2, 1), token, enabled }),
            mirror(Writer::Write { at: At(1, 0), token: other, enabled }),
            SYNC,
            mirror(Writer::Copy { from: At(1, 0), to: At(1, 2) }),
            mirror(Writer::Edit { at: At(1, 2), part, token: 9, save: Save::RenameOver }),
            mirror(Writer::Copy { from: At(1, 2), to: At(1, 1) }),
            Step::Fault { call: Call::Publish, nth: 0, what: What::ByWriter { deed: Writer::Name { folder: 1, token: 13 } } },
            SYNC,
            mirror(Writer::Empty { at: At(2, 1) }),
            Step::Service { deed: Colleague::Change { at: At(1, 2), part, token: 25 } },
            SYNC,
        ],
    );
}
