//! What the simulator found in longer runs: names and places that outlive a cycle that was cut off.

use super::regressions::{PLAIN, compares, holds};
use super::relations::Relation;
use super::step::{
    At, Call, Colleague, Command, Kept, Part, Rewriting, Save, Setup, Step, What, Writer,
};

#[test]
fn an_article_posted_without_an_answer_is_found_in_another_category() {
    holds(
        Setup {
            rewriting: Rewriting::Editor,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 5), token: 1, enabled: false } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 2, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 3, enabled: true } },
            Step::Kill { after: 62 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 1), to: At(2, 1) } },
        ],
    );
}

#[test]
fn a_folder_with_nothing_but_a_temporary_file_is_there_for_the_taking() {
    holds(
        Setup {
            commands: true,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 3), token: 2, shown: true } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::DryThenSync {} },
        ],
    );
}

#[test]
fn a_file_that_is_not_ready_moves_along_with_its_renamed_folder() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 5), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 3 } },
            Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 15, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 17, enabled: true } },
            Step::Mirror { deed: Writer::Empty { at: At(3, 5) } },
            Step::Mirror { deed: Writer::Copy { from: At(0, 4), to: At(0, 2) } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 0 } },
        ],
    );
}

#[test]
fn a_slug_that_a_category_without_a_folder_has_is_not_asked_for_again() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 3), token: 1, shown: false } },
            Step::Service { deed: Colleague::Show { at: At(2, 3), on: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 2, to: 0 } },
            Step::Mirror { deed: Writer::Unname { folder: 2 } },
            Step::Mirror { deed: Writer::Copy { from: At(2, 3), to: At(0, 2) } },
            Step::Mirror { deed: Writer::Mark { at: At(2, 3) } },
            Step::Wait { seconds: 90000 },
        ],
    );
}

#[test]
fn a_name_that_another_file_had_left_was_given_by_the_writer() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 2, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 5), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 5), part: Part::First, token: 8 } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 3), to: At(0, 4) } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(0, 4), other: At(0, 5) } },
        ],
    );
}

#[test]
fn a_file_that_comes_back_under_another_name_at_the_last_look_is_kept() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: false } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 4, shown: true } },
            Step::Service { deed: Colleague::Show { at: At(0, 1), on: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(0, 4), other: At(0, 1) } },
            Step::Mirror { deed: Writer::Hide { at: At(0, 1) } },
            Step::Fault { call: Call::Look, nth: 0, what: What::ByWriter { deed: Writer::Unhide { at: At(0, 1) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_folder_renamed_twice_is_found_by_its_slug_at_once() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 0), token: 2, shown: false } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 1 } },
            Step::Wait { seconds: 20 },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 2 } },
            Step::Run { command: Command::PreferLocal {} },
            Step::Mirror { deed: Writer::Unname { folder: 1 } },
            Step::Mirror { deed: Writer::RenameFolder { from: 1, to: 2 } },
        ],
    );
}

#[test]
fn an_edit_after_a_settled_conflict_that_was_not_made_durable_is_no_conflict() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::PreferRemote {} },
            Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::First, token: 7, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn a_category_whose_folder_cannot_be_read_gets_no_second_one() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(0, 3) } },
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 14, shown: true } },
            Step::Fault { call: Call::Listing, nth: 1, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_lost_put_is_known_again_though_the_listing_left_its_article_out() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 3), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 3), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(2, 3), part: Part::Title, token: 6, save: Save::RenameOver } },
            Step::Fault { call: Call::Update, nth: 0, what: What::LostAfter {} },
            Step::Fault { call: Call::Read, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(2, 3), part: Part::Title, token: 7, save: Save::RenameOver } },
            Step::Fault { call: Call::List, nth: 0, what: What::Skip { entry: 2 } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_a_colleague_took_back_outlives_the_removal_of_a_file_that_was_being_pulled() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 0), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 2, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(1, 3), part: Part::First, token: 5 } },
            Step::Kill { after: 27 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
            Step::Service { deed: Colleague::Revert { at: At(1, 3) } },
        ],
    );
}

#[test]
fn a_folder_that_another_category_did_not_leave_is_not_taken() {
    holds(
        Setup {
            no_window: true,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Name { folder: 0, token: 10 } },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 2 } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 18, shown: true } },
            Step::Service { deed: Colleague::Delete { at: At(2, 4) } },
            Step::Fault { call: Call::Probe, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_the_daily_question_told_is_asked_for_again_when_the_cycle_was_cut_off() {
    let at = At(0, 1);
    let run = Step::Run {
        command: Command::Sync {},
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at, token: 1, enabled: true } },
        run,
        Step::Service { deed: Colleague::Show { at, on: false } },
        run,
        Step::Service { deed: Colleague::Change { at, part: Part::First, token: 7 } },
        Step::Wait { seconds: 90_000 },
        run,
    ];
    for after in 0..40 {
        compares(Relation::Killed(after), PLAIN, &steps);
    }
}

/// A listing from before it shows nothing of what a colleague wrote since.
#[test]
fn what_was_sent_when_a_run_died_is_read_before_it_is_sent_again() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(2, 3), token: 4, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Wait { seconds: 20 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(2, 3), part: Part::First, token: 10, save: Save::RenameOver } },
        Step::Kill { after: 16 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(2, 3), part: Part::First, token: 12 } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::PreferRemote {} },
    ];
    holds(setup, &steps);
}

/// What a colleague took back of it leaves an empty line between the writer's own.
#[test]
fn what_is_taken_out_of_a_writers_own_lines_leaves_an_empty_one() {
    let setup = Setup {
        rewriting: Rewriting::Editor,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::More, token: 4, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::More, token: 6 } },
        Step::Service { deed: Colleague::Reslug { from: 0, to: 1 } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Reslug { from: 1, to: 2 } },
        Step::Run { command: Command::Resolve { at: At(0, 0), keep: Kept::Both } },
        Step::Service { deed: Colleague::Revert { at: At(2, 0) } },
    ];
    holds(setup, &steps);
}

/// Nor is it deleted before it is read.
#[test]
fn what_was_sent_when_a_run_died_is_read_before_it_is_deleted() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(2, 3), token: 4, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Wait { seconds: 20 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(2, 3), part: Part::First, token: 10, save: Save::RenameOver } },
        Step::Kill { after: 16 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(2, 3), part: Part::First, token: 12 } },
        Step::Mirror { deed: Writer::RemoveFolder { folder: 2 } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::PreferRemote {} },
    ];
    holds(setup, &steps);
}
