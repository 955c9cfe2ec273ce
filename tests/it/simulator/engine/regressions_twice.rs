//! Articles that were there twice: files whose id was not in them yet, files that a new state had not read, and a place
//! that two articles had.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Probing, Rewriting, Save, Setup, Step, What, Writer};

#[test]
fn a_new_article_that_was_moved_and_has_one_paragraph_left_was_created_twice() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 10, enabled: true } },
            Step::Kill { after: 38 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::Second, token: 14, save: Save::RenameOver } },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Title, token: 15 } },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(1, 3) } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 3), part: Part::Title, token: 18, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn a_new_article_that_changed_places_with_another_was_created_twice() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 8, enabled: true } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 0), to: At(0, 4) } },
            Step::Mirror { deed: Writer::Swap { one: At(0, 0), other: At(0, 2) } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::Title, token: 14, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn what_got_no_answer_was_created_twice_once_it_had_another_folder_title_and_address() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 5, enabled: false } },
            Step::Kill { after: 36 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Slug { at: At(1, 3), name: 1 } },
            Step::Mirror { deed: Writer::RenameFolder { from: 1, to: 0 } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 3), part: Part::More, token: 13, save: Save::RenameOver } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 3), part: Part::Title, token: 16, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn an_article_with_a_phrase_in_common_was_taken_for_what_got_no_answer() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 5), token: 3, shown: true } },
            Step::Fault { call: Call::Create, nth: 0, what: What::Down { requests: 7 } },
            Step::Run { command: Command::Glance { at: At(0, 2) } },
        ],
    );
}

#[test]
fn a_new_article_that_was_moved_over_another_one_got_its_id() {
    holds(
        Setup {
            probing: Probing::Forbidden,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 1, enabled: false } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 3, enabled: true } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::ByWriter { deed: Writer::Move { from: At(2, 0), to: At(0, 1) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_new_state_made_a_second_file_for_one_that_could_not_be_read() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 2, shown: false } },
            Step::Run { command: Command::Sync {} },
            Step::LoseState {},
            Step::Service { deed: Colleague::Readdress { from: At(2, 0), to: At(0, 1) } },
            Step::Fault { call: Call::ReadFile, nth: 2, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_new_state_made_a_second_file_for_one_in_conflict_that_could_not_be_read() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 2, shown: false } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(2, 0), part: Part::Title, token: 8 } },
            Step::LoseState {},
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(2, 0), to: At(0, 1) } },
            Step::Fault { call: Call::ReadFile, nth: 2, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_was_taken_for_that_of_a_deleted_article_whose_place_it_had() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 1), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 5, shown: true } },
            Step::Service { deed: Colleague::Readdress { from: At(2, 1), to: At(1, 0) } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(1, 0) } },
            Step::Service { deed: Colleague::Delete { at: At(1, 1) } },
            Step::Service { deed: Colleague::Post { at: At(1, 0), token: 12, shown: true } },
            Step::Kill { after: 39 },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

/// What happens after a POST was killed before its answer was read: of an article that is listed, or of a hidden one.
fn after_a_lost_answer(enabled: bool, steps: &[Step]) {
    let mut all = vec![
        Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 5, enabled } },
        Step::Kill { after: 36 },
        Step::Run { command: Command::Sync {} },
    ];
    all.extend_from_slice(steps);
    holds(PLAIN, &all);
}

#[test]
fn what_a_colleague_gave_another_title_and_address_was_created_twice() {
    after_a_lost_answer(
        true,
        &[
            Step::Service { deed: Colleague::Change { at: At(1, 3), part: Part::Title, token: 8 } },
            Step::Service { deed: Colleague::Readdress { from: At(1, 3), to: At(1, 1) } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_a_colleague_gave_another_title_was_created_twice_from_another_place() {
    after_a_lost_answer(
        true,
        &[
            Step::Service { deed: Colleague::Change { at: At(1, 3), part: Part::Title, token: 8 } },
            Step::Mirror { deed: Writer::Move { from: At(1, 3), to: At(1, 1) } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_got_another_title_and_address_on_both_sides_was_created_twice() {
    after_a_lost_answer(
        true,
        &[
            Step::Service { deed: Colleague::Readdress { from: At(1, 3), to: At(1, 1) } },
            Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::Title, token: 8 } },
            Step::Mirror { deed: Writer::Move { from: At(1, 3), to: At(0, 1) } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 1), part: Part::Title, token: 9, save: Save::RenameOver } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 1), part: Part::Second, token: 10, save: Save::RenameOver } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_left_its_place_to_another_new_file_was_created_twice() {
    after_a_lost_answer(
        false,
        &[
            Step::Mirror { deed: Writer::Move { from: At(1, 3), to: At(1, 1) } },
            Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 6, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_left_its_place_to_another_new_file_and_was_edited_was_created_twice() {
    after_a_lost_answer(
        false,
        &[
            Step::Mirror { deed: Writer::Move { from: At(1, 3), to: At(1, 1) } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::Title, token: 9, save: Save::RenameOver } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::Second, token: 10, save: Save::RenameOver } },
            Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 6, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

/// Two new files change places while they are created; of the changes that this makes one goes out and the other not, and
/// then the files go.
#[test]
fn seed_78857495470() {
    let sync = Step::Run {
        command: Command::Sync {},
    };
    let written = |at, token, enabled| Step::Mirror {
        deed: Writer::Write { at, token, enabled },
    };
    let swap = Writer::Swap {
        one: At(2, 1),
        other: At(0, 1),
    };
    holds(
        PLAIN,
        &[
            written(At(2, 2), 2, false),
            written(At(1, 1), 3, true),
            written(At(0, 1), 4, true),
            written(At(2, 1), 5, true),
            Step::Fault { call: Call::Look, nth: 0, what: What::ByWriter { deed: swap } },
            sync,
            Step::Service { deed: Colleague::Change { at: At(2, 1), part: Part::Second, token: 13 } },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 14, shown: true } },
            Step::Fault { call: Call::Stage, nth: 2, what: What::Full {} },
            sync,
            Step::Mirror { deed: Writer::RemoveAll {} },
        ],
    );
}

#[test]
fn seed_532492722238() {
    let setup = Setup {
        rewriting: Rewriting::Editor,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 4, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 5, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Write { at: At(2, 4), token: 6, enabled: true } },
        Step::Kill { after: 49 },
        Step::Run { command: Command::Sync {} },
        Step::LoseState {},
        Step::Mirror { deed: Writer::Slug { at: At(2, 4), name: 5 } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_363698416325() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 4), token: 3, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(1, 4), part: Part::More, token: 4, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Change { at: At(1, 4), part: Part::More, token: 9 } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Move { from: At(1, 4), to: At(1, 1) } },
        Step::LoseState {},
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::DropCopy { at: At(1, 1) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_850438777439() {
    let setup = Setup {
        max_deletes: 3,
        thrifty: true,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 2), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Reslug { from: 1, to: 3 } },
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 8, enabled: false } },
        Step::Fault { call: Call::Create, nth: 0, what: What::LostAfter {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Slug { at: At(1, 2), name: 3 } },
        Step::Mirror { deed: Writer::Slug { at: At(1, 1), name: 2 } },
    ];
    holds(setup, &steps);
}
