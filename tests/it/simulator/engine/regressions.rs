//! What the simulator found: each is a short trace, as it was printed, that lost something once.

use super::relations::{self, Relation};
use super::run::{Bench, Ground, Source};
use super::step::{
    At, Call, Colleague, Command, Part, Probing, Rewriting, Save, Setup, Step, What, Writer,
};

/// Runs a trace; everything has to hold.
pub(super) fn holds(setup: Setup, steps: &[Step]) {
    let mut bench = Bench::new();
    bench.talk = true;
    let outcome = bench.run(setup, Source::Steps(steps), Ground::Memory);
    assert_eq!(
        outcome.violation,
        None,
        "what happened:\n{}",
        outcome.log.join("\n")
    );
}

/// Compares a trace with another one; both end with the same.
pub(super) fn compares(relation: Relation, setup: Setup, steps: &[Step]) {
    let (_, violation) = relations::judge(&mut Bench::new(), relation, setup, steps);
    assert_eq!(violation, None);
}

/// A service and settings without anything odd.
pub(super) const PLAIN: Setup = Setup {
    bodies: true,
    etag: false,
    by_category: false,
    lists_disabled: false,
    rewriting: Rewriting::Nothing,
    probing: Probing::Allowed,
    one_line: false,
    no_window: false,
    commands: false,
    max_deletes: 10,
    thrifty: false,
};

#[test]
fn words_that_only_a_conflict_showed_were_lost_with_its_copy() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 3, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 3 } },
            Step::Mirror { deed: Writer::Hide { at: At(0, 1) } },
            Step::Service { deed: Colleague::Change { at: At(3, 1), part: Part::First, token: 10 } },
        ],
    );
}

#[test]
fn an_article_was_deleted_whose_broken_file_lay_in_a_renamed_folder() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Break { at: At(1, 1) } },
            Step::Mirror { deed: Writer::RenameFolder { from: 1, to: 0 } },
        ],
    );
}

#[test]
fn an_article_was_deleted_whose_file_was_moved_and_broken() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 2, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 1), to: At(0, 0) } },
            Step::Mirror { deed: Writer::Break { at: At(0, 0) } },
        ],
    );
}

#[test]
fn a_key_of_the_writers_own_was_lost_with_the_file() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::Owner, token: 10, save: Save::RenameOver } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Remove { at: At(1, 1) } },
        ],
    );
}

#[test]
fn a_category_without_a_folder_cost_a_request_in_every_cycle() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 3 } },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 90_000 },
        ],
    );
}

#[test]
fn a_save_within_the_clocks_grain_was_written_over() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 2, shown: true } },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::Keywords, token: 12 } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 14 } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 1), part: Part::Owner, token: 16, save: Save::RenameOver } },
            Step::Fault {
                call: Call::Stage,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(0, 1),
                        part: Part::Keywords,
                        token: 17,
                        save: Save::InPlace,
                    },
                },
            },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_folder_without_a_category_cost_a_request_in_every_cycle() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Hide { at: At(0, 1) } },
            Step::Mirror { deed: Writer::Unname { folder: 0 } },
            Step::Service { deed: Colleague::Rename { folder: 0, token: 20 } },
            Step::Wait { seconds: 90_000 },
        ],
    );
}

#[test]
fn an_article_got_the_text_of_the_file_that_took_its_broken_files_place() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 4, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(0, 4), other: At(0, 3) } },
            Step::Mirror { deed: Writer::Break { at: At(0, 3) } },
        ],
    );
}

#[test]
fn an_article_was_deleted_whose_file_recovery_took_for_durable() {
    holds(
        Setup {
            by_category: true,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(2, 2), token: 3, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 4, shown: true } },
            Step::Kill { after: 66 },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
            Step::PowerLoss { after: 3, keep: 50 },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_that_was_moved_after_a_crash_was_in_conflict() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 9, shown: true } },
            Step::Kill { after: 38 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(2, 2) } },
        ],
    );
}

#[test]
fn a_deletion_went_unseen_since_the_listing_was_as_before_our_own_write() {
    holds(
        Setup {
            etag: true,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 6, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(0, 1) } },
        ],
    );
}

#[test]
fn words_of_a_first_meeting_were_lost_when_the_process_died() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 0), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 2, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(2, 0), part: Part::First, token: 5 } },
            Step::Kill { after: 33 },
            Step::Run { command: Command::PreferLocal {} },
        ],
    );
}

#[test]
fn words_that_a_copy_showed_were_lost_when_the_process_died() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 1), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(2, 1), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 0), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 2, to: 0 } },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::Introtext, token: 5 } },
            Step::Kill { after: 31 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::Owner, token: 8 } },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 2 } },
        ],
    );
}

#[test]
fn an_article_was_posted_twice_whose_file_lay_where_nothing_could_be_read() {
    holds(
        Setup {
            max_deletes: 3,
            thrifty: false,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 0 } },
            Step::Mirror { deed: Writer::Move { from: At(1, 2), to: At(2, 5) } },
            Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::Title, token: 10 } },
            Step::Fault { call: Call::Listing, nth: 2, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_id_was_never_written_into_a_file_after_a_crash() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 2, enabled: true } },
            Step::Kill { after: 42 },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 20 },
            Step::Run { command: Command::One { at: At(3, 1) } },
        ],
    );
}

#[test]
fn an_article_was_deleted_whose_file_came_back_into_a_renamed_folder() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Hide { at: At(0, 4) } },
            Step::Fault { call: Call::List, nth: 0, what: What::Skip { entry: 0 } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 1 } },
            Step::Fault { call: Call::Look, nth: 0, what: What::ByWriter { deed: Writer::Unhide { at: At(1, 4) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_colleagues_words_were_written_over_that_a_second_listing_had_shown() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 3), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(2, 0), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Copy { from: At(2, 0), to: At(1, 0) } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 3), part: Part::First, token: 7, save: Save::RenameOver } },
            Step::Fault {
                call: Call::Create,
                nth: 0,
                what: What::ByColleague {
                    deed: Colleague::Change {
                        at: At(1, 3),
                        part: Part::First,
                        token: 9,
                    },
                },
            },
            Step::Fault { call: Call::Create, nth: 0, what: What::LostAfter {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_hidden_article_is_posted_twice_when_its_file_is_renamed_after_a_crash() {
    holds(
        Setup {
            probing: Probing::Off,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 10, enabled: true } },
            Step::Mirror { deed: Writer::Enable { at: At(0, 0), on: false } },
            Step::Kill { after: 42 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(0, 1) } },
        ],
    );
}

#[test]
fn a_temporary_address_stays_when_a_swap_is_killed_and_the_files_are_removed() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 4), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(1, 4), other: At(1, 1) } },
            Step::Service { deed: Colleague::Change { at: At(1, 4), part: Part::First, token: 8 } },
            Step::Mirror { deed: Writer::Unname { folder: 0 } },
            Step::Mirror { deed: Writer::Unname { folder: 1 } },
            Step::Kill { after: 86 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
        ],
    );
}

#[test]
fn an_article_is_posted_twice_when_the_state_is_lost_and_its_file_cannot_be_read() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::LoseState {},
            Step::Fault { call: Call::ReadFile, nth: 2, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Readdress { from: At(0, 1), to: At(0, 0) } },
        ],
    );
}

#[test]
fn a_conflict_counted_as_settled_whose_copy_was_lost_with_the_power() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 3, shown: false } },
            Step::Kill { after: 44 },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
            Step::PowerLoss { after: 9, keep: 0 },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_is_in_conflict_with_an_old_copy_of_a_swap() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 12, shown: true } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 1), part: Part::First, token: 13, save: Save::RenameOver } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(0, 0), other: At(0, 1) } },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Slug { at: At(0, 0), name: 1 } },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_old_copy_of_what_a_killed_run_replaced_was_taken_for_a_revert() {
    holds(
        Setup {
            no_window: true,
            max_deletes: 3,
            thrifty: false,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 20 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(1, 2), part: Part::First, token: 12 } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 2), part: Part::Title, token: 13, save: Save::RenameOver } },
            Step::Kill { after: 41 },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_kill_before_a_hidden_articles_line_was_written_published_it_again() {
    compares(
        Relation::Killed(28),
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 3), part: Part::First, token: 17, save: Save::RenameOver } },
            Step::Service { deed: Colleague::Show { at: At(0, 3), on: false } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_article_was_overwritten_whose_file_was_moved_to_where_it_could_not_be_read() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 0), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 2, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: At(1, 2), other: At(1, 0) } },
            Step::Fault { call: Call::ReadFile, nth: 2, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn what_a_category_showed_of_an_article_was_written_over() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 1), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 7, save: Save::RenameOver } },
            Step::Wait { seconds: 90000 },
            Step::Fault {
                call: Call::ReadCategory,
                nth: 0,
                what: What::ByColleague {
                    deed: Colleague::Change {
                        at: At(0, 0),
                        part: Part::More,
                        token: 9,
                    },
                },
            },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn words_met_by_a_run_that_was_killed_before_it_wrote_were_lost() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 3, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 5, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(1, 2), part: Part::First, token: 14 } },
            Step::Kill { after: 21 },
            Step::Run { command: Command::PreferLocal {} },
        ],
    );
}

#[test]
fn a_deleted_article_came_back_when_nothing_remembered_it() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 8, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 0 } },
            Step::Run { command: Command::Sync {} },
            Step::LoseState {},
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_new_article_gave_its_id_to_the_file_that_had_taken_its_place() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 1), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 19, enabled: true } },
            Step::Fault { call: Call::List, nth: 0, what: What::ByWriter { deed: Writer::Swap { one: At(2, 1), other: At(0, 1) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn words_went_from_the_mirror_that_a_colleague_had_put_back_meanwhile() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 4), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(1, 4), part: Part::First, token: 13, save: Save::RenameOver } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Revert { at: At(1, 4) } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::ByColleague { deed: Colleague::Revert { at: At(1, 4) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn words_met_by_a_run_that_was_killed_after_it_wrote_were_lost() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 2, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::First, token: 16 } },
            Step::Kill { after: 24 },
            Step::Run { command: Command::PreferLocal {} },
        ],
    );
}

#[test]
fn a_key_of_the_writers_own_was_lost_that_came_just_before_the_id() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 3, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 9, shown: true } },
            Step::Fault {
                call: Call::Publish,
                nth: 0,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(0, 1),
                        part: Part::Owner,
                        token: 13,
                        save: Save::RenameOver,
                    },
                },
            },
            Step::Run { command: Command::Sync {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Remove { at: At(0, 1) } },
        ],
    );
}

#[test]
fn a_version_was_lost_that_an_unfinished_cycle_had_written() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 6), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 3, shown: true } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Empty { at: At(0, 2) } },
            Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::First, token: 13 } },
        ],
    );
}

#[test]
fn an_article_was_deleted_whose_file_was_moved_to_a_new_folder_meanwhile() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 3, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::ReadFile, nth: 0, what: What::ByWriter { deed: Writer::Move { from: At(1, 2), to: At(0, 1) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_folder_that_was_half_renamed_was_taken_for_a_new_category() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 2), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Unname { folder: 1 } },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 2 } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::Full {} },
            Step::Wait { seconds: 90000 },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_article_was_doubled_whose_file_was_moved_while_the_mirror_was_looked_at() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::Listing, nth: 2, what: What::ByWriter { deed: Writer::Move { from: At(0, 0), to: At(1, 0) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_article_was_deleted_whose_file_was_moved_to_a_folder_that_was_looked_at_before() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::Listing, nth: 2, what: What::ByWriter { deed: Writer::Move { from: At(1, 1), to: At(0, 1) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_copied_file_that_lost_its_words_with_the_power_was_sent_over_newer_ones() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Copy { from: At(0, 3), to: At(0, 0) } },
            Step::Service { deed: Colleague::Change { at: At(0, 3), part: Part::First, token: 7 } },
            Step::PowerLoss { after: 40, keep: 50 },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_file_that_lost_its_words_with_the_power_was_sent_over_newer_ones() {
    holds(
        Setup {
            bodies: false,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(1, 3), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(1, 3), part: Part::First, token: 6 } },
            Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
            Step::PowerLoss { after: 18, keep: 0 },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_conflict_was_settled_by_a_copy_that_went_along_with_a_renamed_folder() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 3, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Unname { folder: 0 } },
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 3 } },
            Step::Mirror { deed: Writer::Copy { from: At(3, 1), to: At(0, 1) } },
        ],
    );
}
