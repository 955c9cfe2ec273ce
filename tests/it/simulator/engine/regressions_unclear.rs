//! What the simulator found in files of which nobody can say what they are: written and not made durable, moved before their id was in them, not
//! ready, or in motion.

use super::regressions::{PLAIN, holds};
use super::run::{Bench, Ground, Source};
use super::step::{At, Call, Colleague, Command, Part, Probing, Save, Setup, Step, What, Writer};

#[test]
fn what_a_write_left_unclear_waits_for_a_cycle_that_deals_with_its_article() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 0), token: 3, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::First, token: 6 } },
        Step::Service { deed: Colleague::Reslug { from: 1, to: 0 } },
        Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Denied {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Remove { at: At(1, 0) } },
        Step::Run { command: Command::Folder { folder: 0 } },
        Step::Service { deed: Colleague::Revert { at: At(0, 0) } },
    ];
    holds(setup, &steps);
}

#[test]
fn what_a_write_left_unclear_waits_until_its_article_was_dealt_with() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 1 } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::First, token: 21 } },
        Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
        Step::Fault { call: Call::MakeFolder, nth: 0, what: What::Denied {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Revert { at: At(1, 0) } },
    ];
    holds(setup, &steps);
}

#[test]
fn what_a_person_settled_stays_so_while_the_file_cannot_be_read() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 3, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 4, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::SyncFolder, nth: 0, what: What::Broken {} },
        Step::Run { command: Command::PreferLocal {} },
        Step::Mirror { deed: Writer::Mark { at: At(0, 0) } },
        Step::Mirror { deed: Writer::Swap { one: At(0, 1), other: At(0, 0) } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Mend { at: At(0, 1) } },
    ];
    holds(setup, &steps);
}

#[test]
fn a_file_that_cannot_be_read_and_took_a_new_ones_place_does_not_get_its_id() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 1, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 2, enabled: true } },
        Step::Mirror { deed: Writer::Mark { at: At(1, 3) } },
        Step::Fault { call: Call::Stage, nth: 0, what: What::ByWriter { deed: Writer::Swap { one: At(1, 2), other: At(1, 3) } } },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn a_new_article_that_was_moved_is_found_though_a_copy_of_another_lies_at_its_place() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 11, enabled: true } },
        Step::Fault { call: Call::Publish, nth: 0, what: What::ByWriter { deed: Writer::Move { from: At(1, 1), to: At(0, 3) } } },
        Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 13, enabled: false } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Copy { from: At(1, 2), to: At(1, 1) } },
    ];
    holds(setup, &steps);
}

#[test]
fn a_folder_stays_its_categorys_while_a_file_in_it_is_in_motion() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 0), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Unname { folder: 1 } },
        Step::Service { deed: Colleague::Readdress { from: At(0, 0), to: At(1, 3) } },
        Step::Run { command: Command::InMotion { at: At(1, 0) } },
        Step::Service { deed: Colleague::Readdress { from: At(1, 0), to: At(0, 1) } },
    ];
    holds(setup, &steps);
}

/// A DELETE without an answer, and a listing that leaves out what can be read: it was not deleted.
#[test]
fn what_can_be_read_was_not_deleted_though_a_listing_left_it_out() {
    let setup = Setup {
        probing: Probing::Forbidden,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 3, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Hide { at: At(0, 0) } },
        Step::Fault { call: Call::Delete, nth: 0, what: What::Down { requests: 7 } },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Skip { entry: 1 } },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

/// Two new files change places while they are created; a colleague edits one of the articles then.
#[test]
fn new_files_that_changed_places_while_they_were_created_take_their_words_along() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 5, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 7, enabled: true } },
        Step::Fault { call: Call::Look, nth: 0, what: What::ByWriter { deed: Writer::Swap { one: At(0, 2), other: At(1, 1) } } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::Title, token: 12 } },
    ];
    holds(setup, &steps);
}

/// Nothing is left that could tell: README, Limits.
#[test]
fn a_hidden_article_is_created_twice_when_its_file_moved_and_the_state_was_lost() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 5), token: 2, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 4, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Copy { from: At(0, 0), to: At(1, 1) } },
        Step::Fault { call: Call::Look, nth: 0, what: What::ByWriter { deed: Writer::RenameFolder { from: 0, to: 3 } } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 15, enabled: false } },
        Step::Service { deed: Colleague::Change { at: At(0, 5), part: Part::First, token: 16 } },
        Step::Kill { after: 73 },
        Step::Run { command: Command::Sync {} },
        Step::Kill { after: 58 },
        Step::Run { command: Command::Sync {} },
        Step::LoseState {},
        Step::Mirror { deed: Writer::Swap { one: At(0, 4), other: At(1, 1) } },
    ];
    holds(setup, &steps);
}

/// The same where a colleague gave it another address.
#[test]
fn a_hidden_article_is_created_twice_when_its_address_changed_and_the_state_was_lost() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 1, enabled: false } },
        Step::Kill { after: 44 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Readdress { from: At(2, 0), to: At(2, 1) } },
        Step::LoseState {},
    ];
    holds(setup, &steps);
}

/// It was refused because what was sent before had arrived: what that said is the base.
#[test]
fn what_was_edited_after_a_lost_answer_is_an_edit_of_what_was_sent() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 1, enabled: false } },
        Step::Kill { after: 33 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Enable { at: At(0, 0), on: true } },
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 7, save: Save::RenameOver } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Show { at: At(0, 0), on: true } },
    ];
    holds(setup, &steps);
}

/// The same where its folder was renamed, and another file lies where it was.
#[test]
fn another_file_where_a_hidden_article_was_sent_from_is_not_what_was_sent() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(2, 1), token: 7, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 8, enabled: false } },
        Step::Kill { after: 36 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RenameFolder { from: 2, to: 1 } },
        Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 12, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Show { at: At(1, 0), on: true } },
    ];
    holds(setup, &steps);
}

/// Its title is that of the article whose place it took as well: its text tells.
#[test]
fn what_was_sent_is_told_from_an_article_with_the_same_title_by_its_text() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 1, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 2, enabled: false } },
        Step::Kill { after: 77 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Swap { one: At(2, 0), other: At(1, 0) } },
        Step::Mirror { deed: Writer::Remove { at: At(2, 0) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_12941583963() {
    let setup = Setup {
        etag: true,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 9, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::Keywords, token: 11 } },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::First, token: 12 } },
        Step::Kill { after: 29 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::First, token: 15, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Revert { at: At(1, 1) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_532492935621() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 3, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Wait { seconds: 20 },
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 4, shown: true } },
        Step::Service { deed: Colleague::Show { at: At(1, 1), on: false } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RemoveAll {} },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::Title, token: 9 } },
        Step::PowerLoss { after: 25, keep: 0 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Revert { at: At(1, 1) } },
    ];
    holds(setup, &steps);
}

/// What is done while a pull of what a colleague wrote may be cut off anywhere.
fn cut_off_anywhere(before: &[Step], after: &[Step]) {
    for kill in 8..40 {
        let mut steps = before.to_vec();
        steps.push(Step::Kill { after: kill });
        steps.push(Step::Run { command: Command::Sync {} });
        steps.extend_from_slice(after);
        holds(PLAIN, &steps);
    }
}

#[test]
fn an_old_copy_of_what_we_replaced_takes_nothing_of_a_pull_back() {
    let at = At(0, 0);
    let edit = |part, token| Step::Mirror { deed: Writer::Edit { at, part, token, save: Save::RenameOver } };
    let before = [
        Step::Service { deed: Colleague::Post { at, token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        edit(Part::Title, 2),
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at, part: Part::First, token: 3 } },
    ];
    let stale = Step::Fault { call: Call::List, nth: 0, what: What::Stale {} };
    for deed in [Step::Mirror { deed: Writer::Remove { at } }, edit(Part::Keywords, 4)] {
        cut_off_anywhere(&before, &[deed, stale, Step::Run { command: Command::Sync {} }]);
        cut_off_anywhere(&before, &[deed, stale, Step::Run { command: Command::Sync {} }, Step::Run { command: Command::Sync {} }]);
    }
}

#[test]
fn what_both_sides_said_is_no_proof_that_a_pull_was_written() {
    let at = At(0, 0);
    let edit = |part, token| Step::Mirror { deed: Writer::Edit { at, part, token, save: Save::RenameOver } };
    let change = |part, token| Step::Service { deed: Colleague::Change { at, part, token } };
    for part in [Part::Title, Part::First] {
        let before = [
            Step::Service { deed: Colleague::Post { at, token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            edit(part, 2),
            change(part, 2),
            change(Part::More, 3),
        ];
        cut_off_anywhere(&before, &[]);
        cut_off_anywhere(&before, &[edit(Part::Keywords, 4)]);
    }
}

#[test]
fn a_line_that_a_pull_wrote_is_no_wish_of_the_writers() {
    let at = At(0, 0);
    let mut bench = Bench::new();
    for after in 8..40 {
        let steps = [
            Step::Service { deed: Colleague::Post { at, token: 1, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Show { at, on: false } },
            Step::Kill { after },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Edit { at, part: Part::First, token: 4, save: Save::RenameOver } },
            Step::Service { deed: Colleague::Show { at, on: true } },
        ];
        let outcome = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
        assert_eq!(outcome.violation, None, "killed after {after}");
        let shown = outcome.end.iter().any(|line| line.contains(" a true false "));
        assert!(shown, "killed after {after}: {:#?}", outcome.end);
    }
}

#[test]
fn seed_946494788082() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 1, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 4), token: 2, shown: true } },
        Step::Service { deed: Colleague::Readdress { from: At(1, 4), to: At(0, 4) } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Show { at: At(0, 4), on: false } },
        Step::Service { deed: Colleague::Readdress { from: At(0, 4), to: At(0, 3) } },
        Step::Fault { call: Call::Look, nth: 0, what: What::Full {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Delete { at: At(0, 3) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_946494825613() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Wait { seconds: 20 },
        Step::Service { deed: Colleague::Reslug { from: 0, to: 2 } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(2, 0), part: Part::Second, token: 7 } },
        Step::Service { deed: Colleague::Show { at: At(2, 0), on: false } },
        Step::Wait { seconds: 90000 },
        Step::Service { deed: Colleague::Change { at: At(2, 0), part: Part::First, token: 12 } },
        Step::Kill { after: 53 },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(2, 0), part: Part::First, token: 13, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Revert { at: At(2, 0) } },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_973728149596() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 3, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 4, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 2 } },
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 14, enabled: true } },
        Step::Mirror { deed: Writer::Copy { from: At(0, 0), to: At(0, 2) } },
        Step::Fault { call: Call::Listing, nth: 2, what: What::Broken {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_34397379986() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 4), token: 1, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 2, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 5), token: 5, shown: false } },
        Step::Fault { call: Call::SyncFolder, nth: 1, what: What::Full {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Readdress { from: At(1, 4), to: At(0, 3) } },
        Step::Fault { call: Call::Listing, nth: 1, what: What::Denied {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}
