//! What the simulator found late: races with the scan, old copies, and releases that were cut off.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Kept, Part, Save, Setup, Step, What, Writer};

#[test]
fn a_release_that_was_cut_off_counts_in_the_next_run() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 3, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 5, enabled: false } },
            Step::Run { command: Command::Sync {} },
            Step::Kill { after: 1 },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 0 } },
            Step::Run { command: Command::Approve {} },
        ],
    );
}

#[test]
fn a_name_given_after_a_lost_post_was_never_sent() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(2, 1), token: 6, shown: true } },
            Step::Fault { call: Call::Create, nth: 0, what: What::Down { requests: 7 } },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 9, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(0, 6) } },
        ],
    );
}

#[test]
fn an_old_copy_after_the_loss_of_the_state_is_pulled_like_a_revert() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 3, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(1, 0), part: Part::First, token: 6, save: Save::RenameOver } },
            Step::Run { command: Command::Sync {} },
            Step::LoseState {},
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_save_within_the_grain_of_the_clock_was_lost_to_the_id_of_a_new_article() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 5, enabled: false } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 3), part: Part::Third, token: 6, save: Save::RenameOver } },
            Step::Fault {
                call: Call::Stage,
                nth: 1,
                what: What::ByWriter {
                    deed: Writer::Edit {
                        at: At(1, 3),
                        part: Part::Third,
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
fn an_article_was_deleted_whose_file_took_another_name_under_the_scan() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 8, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 24, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 3), to: At(0, 0) } },
            Step::Fault { call: Call::ReadFile, nth: 2, what: What::ByWriter { deed: Writer::Swap { one: At(0, 1), other: At(0, 0) } } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn an_old_copy_was_taken_for_a_put_that_did_not_arrive() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 3, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 4, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 5, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(1, 1), to: At(0, 1) } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 1), to: At(1, 1) } },
            Step::Fault { call: Call::Update, nth: 0, what: What::HtmlNotFound {} },
            Step::Run { command: Command::Sync {} },
            Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
            Step::Run { command: Command::Resolve { at: At(0, 4), keep: Kept::Local } },
        ],
    );
}

#[test]
fn a_plan_did_not_say_that_a_deletion_waits_for_a_category() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 1, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 3, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 4, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Hide { at: At(2, 0) } },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
            Step::Mirror { deed: Writer::RenameFolder { from: 2, to: 1 } },
            Step::Mirror { deed: Writer::Move { from: At(0, 1), to: At(2, 3) } },
            Step::Run { command: Command::DryThenSync {} },
        ],
    );
}

#[test]
fn a_deletion_went_unseen_behind_a_tag_from_before_a_kill() {
    holds(
        Setup {
            etag: true,
            ..PLAIN
        },
        &[
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 4, enabled: true } },
            Step::Mirror { deed: Writer::Move { from: At(1, 2), to: At(2, 1) } },
            Step::Kill { after: 48 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(2, 1) } },
            Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 17, enabled: true } },
        ],
    );
}

#[test]
fn an_article_was_deleted_whose_file_had_no_id_yet_and_was_broken_elsewhere() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(2, 1), token: 1, enabled: true } },
            Step::Mirror { deed: Writer::Move { from: At(2, 1), to: At(0, 2) } },
            Step::Fault { call: Call::Stage, nth: 0, what: What::ByWriter { deed: Writer::Move { from: At(0, 2), to: At(2, 1) } } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Mark { at: At(2, 1) } },
        ],
    );
}

#[test]
fn what_a_colleague_took_back_after_a_kill_was_written_over() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 4, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 5, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 2 } },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::First, token: 18 } },
            Step::Service { deed: Colleague::Change { at: At(2, 1), part: Part::First, token: 19 } },
            Step::Kill { after: 31 },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Revert { at: At(0, 0) } },
            Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 21, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn an_article_without_its_id_in_the_file_was_made_twice_once_that_was_moved_and_edited() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 8, enabled: true } },
            Step::Mirror { deed: Writer::Move { from: At(0, 1), to: At(0, 0) } },
            Step::Fault { call: Call::Stage, nth: 0, what: What::ByWriter { deed: Writer::Move { from: At(0, 0), to: At(1, 0) } } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at: At(1, 0), part: Part::Keywords, token: 18, save: Save::RenameOver } },
            Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Introtext, token: 21 } },
        ],
    );
}

#[test]
fn an_article_whose_answer_was_lost_was_made_twice_once_a_colleague_had_edited_and_moved_it() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 0), token: 3, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(1, 4), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Delete { at: At(1, 4) } },
            Step::Mirror { deed: Writer::Name { folder: 0, token: 11 } },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(0, 4) } },
            Step::Service { deed: Colleague::Delete { at: At(0, 0) } },
            Step::Run { command: Command::One { at: At(0, 4) } },
            Step::Wait { seconds: 20 },
            Step::Kill { after: 59 },
            Step::Run { command: Command::PreferLocal {} },
            Step::Service { deed: Colleague::Change { at: At(0, 4), part: Part::Second, token: 21 } },
            Step::Service { deed: Colleague::Readdress { from: At(0, 4), to: At(0, 5) } },
        ],
    );
}

#[test]
fn a_new_file_was_taken_for_one_of_the_same_title_that_had_no_id_yet() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 2, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 3, enabled: true } },
            Step::Fault { call: Call::Publish, nth: 1, what: What::Broken {} },
            Step::Fault { call: Call::Stage, nth: 0, what: What::Denied {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 8, enabled: false } },
            Step::Mirror { deed: Writer::Edit { at: At(1, 0), part: Part::Title, token: 10, save: Save::RenameOver } },
        ],
    );
}

#[test]
fn the_id_of_a_copy_did_not_come_into_a_folder_that_was_renamed() {
    holds(
        Setup {
            by_category: true,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 3), token: 2, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 3 } },
            Step::Mirror { deed: Writer::Copy { from: At(0, 3), to: At(0, 5) } },
        ],
    );
}
