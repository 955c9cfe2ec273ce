//! What the simulator found about identity: articles posted twice, addresses that nobody gave, conflicts
//! without a second writer, and edits that were never seen.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Rewriting, Save, Setup, Step, What, Writer};

#[test]
fn a_file_that_was_made_and_not_durable_was_in_conflict_once_it_was_edited() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 2, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(1, 0) } },
            Step::Mirror { deed: Writer::Move { from: At(1, 0), to: At(0, 1) } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 15, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn an_article_that_a_colleague_readdressed_after_a_killed_post_was_posted_twice() {
    holds(
        Setup {
            max_deletes: 3,
            thrifty: false,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 3), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveAll {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 12, enabled: true } },
            Step::Kill { after: 39 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 1), to: At(0, 0) } },
        ],
    );
}

#[test]
fn a_new_file_that_was_moved_after_a_killed_post_was_posted_twice() {
    holds(
        Setup {
            rewriting: Rewriting::Editor,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 9, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 12, enabled: true } },
            Step::Kill { after: 19 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(1, 0), to: At(0, 2) } },
        ],
    );
}

#[test]
fn a_temporary_address_was_pulled_when_a_swap_could_not_go_on() {
    holds(
        Setup {
            max_deletes: 3,
            thrifty: false,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(2, 1), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(2, 1), part: Part::First, token: 16 } },
            Step::Mirror { deed: Writer::Swap { one: At(1, 1), other: At(2, 1) } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_edit_within_the_grain_of_our_own_write_was_never_seen() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Owner, token: 10 } },
            Step::Fault {
                call: Call::SyncFolder,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(0, 0),
                        part: Part::Introtext,
                        token: 13,
                        save: Save::InPlace,
                    },
                },
            },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_category_could_not_get_the_name_of_an_empty_folder() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(0, 1) } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Unname { folder: 0 } },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 3 } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 13, enabled: true } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 3 } },
        ],
    );
}

#[test]
fn a_category_could_not_get_the_name_of_a_folder_that_was_emptied() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 2, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 0 } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 8, enabled: false } },
            Step::Wait { seconds: 90000 },
            Step::Mirror { deed: Writer::Move { from: At(0, 1), to: At(1, 0) } },
        ],
    );
}

#[test]
fn a_new_file_in_another_folder_was_posted_twice_and_the_first_one_held() {
    holds(
        Setup {
            by_category: true,
            max_deletes: 3,
            thrifty: false,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 2, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 4, enabled: false } },
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 5, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(0, 1) } },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 1 } },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 2 } },
            Step::Service { deed: Colleague::Change { at: At(2, 4), part: Part::First, token: 20 } },
            Step::Service { deed: Colleague::Reslug { from: 2, to: 1 } },
            Step::Kill { after: 60 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(1, 1), to: At(0, 1) } },
            Step::Fault { call: Call::List, nth: 0, what: What::Skip { entry: 1 } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_that_lies_for_another_article_was_sent_as_that_one() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 2, enabled: false } },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 1 } },
            Step::Service { deed: Colleague::Readdress { from: At(1, 2), to: At(1, 0) } },
            Step::Kill { after: 39 },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 90000 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(1, 0), other: At(1, 2) } },
            Step::Mirror { deed: Writer::Hide { at: At(1, 2) } },
        ],
    );
}

#[test]
fn an_article_that_a_colleague_moved_after_a_lost_answer_was_posted_twice() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 3, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 4, enabled: false } },
            Step::Mirror { deed: Writer::Swap { one: At(0, 2), other: At(2, 0) } },
            Step::Service { deed: Colleague::Found { folder: 1 } },
            Step::Fault { call: Call::Create, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 2), to: At(1, 0) } },
        ],
    );
}

#[test]
fn a_temporary_address_of_a_hidden_article_was_a_conflict() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 5), token: 2, enabled: false } },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(1, 5), other: At(0, 2) } },
            Step::Fault { call: Call::Update, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_temporary_address_was_pulled_after_a_killed_swap() {
    holds(
        Setup {
            max_deletes: 3,
            thrifty: false,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 4), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(2, 0), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(1, 4), other: At(2, 0) } },
            Step::Service { deed: Colleague::Change { at: At(2, 0), part: Part::First, token: 18 } },
            Step::Kill { after: 52 },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::PreferRemote {} },
        ],
    );
}

#[test]
fn a_temporary_address_was_pulled_when_a_folder_could_not_be_synced() {
    holds(
        Setup {
            max_deletes: 3,
            thrifty: false,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 2 } },
            Step::Mirror { deed: Writer::Copy { from: At(2, 3), to: At(0, 1) } },
            Step::Mirror { deed: Writer::Remove { at: At(2, 1) } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(2, 1), other: At(0, 1) } },
            Step::Service { deed: Colleague::Change { at: At(2, 1), part: Part::First, token: 14 } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_listing_without_a_tag_left_the_tag_of_an_older_one() {
    holds(
        Setup {
            etag: true,
            ..PLAIN
        },
        &[
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 3, shown: true } },
            Step::Fault { call: Call::List, nth: 0, what: What::Skip { entry: 4 } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(0, 0) } },
        ],
    );
}

#[test]
fn a_folder_whose_new_name_was_not_recorded_was_unknown_without_its_words() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 1, enabled: false } },
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 3, shown: false } },
            Step::Mirror { deed: Writer::Swap { one: At(1, 0), other: At(1, 3) } },
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 9, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(1, 0) } },
            Step::Service { deed: Colleague::Readdress { from: At(1, 1), to: At(0, 0) } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 2 } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 0), to: At(2, 2) } },
            Step::Fault { call: Call::Look, nth: 1, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Unname { folder: 2 } },
        ],
    );
}

#[test]
fn a_new_file_in_the_place_of_an_emptied_one_was_posted_twice() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 4, enabled: true } },
            Step::Mirror { deed: Writer::Empty { at: At(0, 3) } },
            Step::Kill { after: 20 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(0, 2), other: At(0, 3) } },
        ],
    );
}

#[test]
fn a_file_that_was_old_again_after_a_loss_of_power_was_taken_for_an_edit() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 0), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 2, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RenameFolder { from: 2, to: 1 } },
            Step::Mirror { deed: Writer::Swap { one: At(0, 0), other: At(1, 0) } },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 11 } },
            Step::PowerLoss { after: 79, keep: 50 },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_hidden_article_that_a_colleague_moved_was_posted_again_after_a_day() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 3, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 4, enabled: false } },
            Step::Mirror { deed: Writer::Swap { one: At(0, 2), other: At(2, 0) } },
            Step::Service { deed: Colleague::Found { folder: 1 } },
            Step::Fault { call: Call::Create, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 90000 },
            Step::Service { deed: Colleague::Readdress { from: At(0, 2), to: At(1, 0) } },
        ],
    );
}

#[test]
fn seed_532492849031() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 5, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(1, 0), part: Part::Introtext, token: 8, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::Introtext, token: 10 } },
        Step::Mirror { deed: Writer::Copy { from: At(1, 0), to: At(2, 1) } },
        Step::Kill { after: 62 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Hide { at: At(1, 0) } },
        Step::Service { deed: Colleague::Delete { at: At(2, 1) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_850438612332() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::SaveState {},
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 7, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Swap { one: At(0, 3), other: At(0, 0) } },
        Step::Run { command: Command::Sync {} },
        Step::RestoreState {},
        Step::Mirror { deed: Writer::Hide { at: At(0, 0) } },
    ];
    holds(setup, &steps);
}
