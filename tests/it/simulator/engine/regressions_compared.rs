//! What the simulator found by comparing two runs, and in runs of articles that were deleted and shown again.

use super::regressions::{PLAIN, compares, holds};
use super::relations::Relation;
use super::step::{At, Call, Colleague, Command, Part, Probing, Rewriting, Save, Setup, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

#[test]
fn an_old_copy_of_what_was_deleted_here_is_not_taken_up_again() {
    let setup = Setup {
        bodies: false,
        etag: true,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 1, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
        SYNC,
        Step::Mirror { deed: Writer::Hide { at: At(1, 1) } },
        SYNC,
        Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::First, token: 11 } },
        Step::Mirror { deed: Writer::Unhide { at: At(1, 1) } },
        Step::Fault { call: Call::Read, nth: 1, what: What::Stale {} },
        SYNC,
    ];
    holds(setup, &steps);
}

#[test]
fn the_stamp_of_a_file_is_not_that_of_the_one_that_lay_there_before() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 8, enabled: true } },
        SYNC,
        Step::Service { deed: Colleague::Delete { at: At(0, 0) } },
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 17, shown: true } },
        Step::Fault { call: Call::Probe, nth: 0, what: What::ByWriter { deed: Writer::Remove { at: At(0, 0) } } },
        SYNC,
    ];
    holds(PLAIN, &steps);
}

#[test]
fn a_hidden_article_that_was_recorded_and_not_told_to_its_file_is_as_it_was_sent() {
    let setup = Setup {
        probing: Probing::Forbidden,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(2, 1), token: 20, enabled: false } },
        SYNC,
    ];
    compares(Relation::Killed(44), setup, &steps);
}

#[test]
fn a_category_that_was_read_by_a_run_that_was_killed_is_read_again() {
    let setup = Setup {
        bodies: false,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 3), token: 4, shown: true } },
        Step::Kill { after: 33 },
        SYNC,
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 6, shown: true } },
        Step::Service { deed: Colleague::Readdress { from: At(1, 1), to: At(0, 2) } },
        Step::Kill { after: 64 },
        SYNC,
        Step::Service { deed: Colleague::Rename { folder: 0, token: 20 } },
        SYNC,
    ];
    compares(Relation::Killed(41), setup, &steps);
}

#[test]
fn a_file_that_could_not_be_read_is_the_same_one_in_a_folder_that_was_renamed() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
        SYNC,
        Step::Service { deed: Colleague::Reslug { from: 0, to: 3 } },
        Step::Wait { seconds: 90000 },
        Step::Mirror { deed: Writer::Edit { at: At(0, 1), part: Part::First, token: 15, save: Save::RenameOver } },
        SYNC,
    ];
    compares(Relation::Struck(128), PLAIN, &steps);
}

#[test]
fn a_file_that_could_not_be_read_may_be_that_of_an_article_that_has_none() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 4, shown: true } },
        Step::Mirror { deed: Writer::Slug { at: At(1, 2), name: 2 } },
        Step::Mirror { deed: Writer::Copy { from: At(1, 2), to: At(1, 0) } },
        SYNC,
    ];
    compares(Relation::Struck(121), PLAIN, &steps);
}

#[test]
fn what_was_deleted_waits_for_a_disk_that_failed_though_a_copy_of_it_lies_elsewhere() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(2, 0), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
        SYNC,
        Step::Service { deed: Colleague::Found { folder: 0 } },
        Step::Service { deed: Colleague::Delete { at: At(2, 0) } },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::First, token: 12 } },
        Step::Mirror { deed: Writer::Copy { from: At(2, 0), to: At(0, 0) } },
        SYNC,
    ];
    compares(Relation::Struck(846), PLAIN, &steps);
}

#[test]
fn what_the_service_rewrote_of_a_post_without_an_answer_is_pulled() {
    let setup = Setup {
        rewriting: Rewriting::Editor,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(2, 3), token: 2, shown: true } },
        SYNC,
        Step::Wait { seconds: 10 },
        SYNC,
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 14, enabled: true } },
        SYNC,
    ];
    compares(Relation::Killed(44), setup, &steps);
}

#[test]
fn a_hidden_article_whose_answer_was_lost_is_told_by_a_person() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 1, enabled: false } },
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 4, shown: false } },
        Step::Service { deed: Colleague::Show { at: At(0, 0), on: true } },
        SYNC,
        Step::Service { deed: Colleague::Delete { at: At(0, 0) } },
        SYNC,
    ];
    compares(Relation::Killed(18), PLAIN, &steps);
}

#[test]
fn a_state_that_was_set_back_knows_nothing_of_a_pull_that_a_colleague_took_back() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 0), token: 1, shown: true } },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::First, token: 7 } },
        SYNC,
        Step::SaveState {},
        Step::Service { deed: Colleague::Revert { at: At(1, 0) } },
        SYNC,
        Step::RestoreState {},
        Step::Service { deed: Colleague::Revert { at: At(1, 0) } },
    ];
    holds(PLAIN, &steps);
}

#[test]
fn what_is_held_waits_since_then_though_its_folder_got_another_name() {
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 1, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 2, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 4, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 4), token: 5, shown: true } },
        SYNC,
        Step::Mirror { deed: Writer::RemoveAll {} },
        SYNC,
        Step::Service { deed: Colleague::Reslug { from: 1, to: 2 } },
        Step::Wait { seconds: 90000 },
        Step::Run { command: Command::Folder { folder: 0 } },
    ];
    holds(PLAIN, &steps);
}

#[test]
fn a_file_that_could_not_be_read_is_that_of_the_article_whose_conflict_it_has() {
    let post = |at, token| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    let write = |at, token| Step::Mirror {
        deed: Writer::Write {
            at,
            token,
            enabled: true,
        },
    };
    let steps = [
        post(At(0, 0), 1),
        write(At(0, 0), 2),
        write(At(0, 2), 3),
        post(At(0, 2), 5),
        SYNC,
        Step::Mirror { deed: Writer::Empty { at: At(0, 0) } },
        SYNC,
    ];
    compares(Relation::Struck(141), PLAIN, &steps);
}

#[test]
fn a_file_that_was_renamed_and_not_written_has_its_new_name_from_us() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 4), token: 1, shown: true } },
        SYNC,
        Step::Service { deed: Colleague::Readdress { from: At(0, 4), to: At(0, 0) } },
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::First, token: 8 } },
        Step::Fault { call: Call::Look, nth: 0, what: What::Denied {} },
        SYNC,
        Step::Service { deed: Colleague::Readdress { from: At(0, 0), to: At(0, 2) } },
    ];
    holds(PLAIN, &steps);
}

#[test]
fn a_copy_whose_article_is_gone_goes_though_the_file_that_it_was_copied_from_has_changed() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 2), token: 3, shown: true } },
        SYNC,
        Step::Mirror { deed: Writer::Copy { from: At(1, 2), to: At(1, 1) } },
        Step::Kill { after: 35 },
        Step::Service { deed: Colleague::Change { at: At(1, 2), part: Part::First, token: 13 } },
        Step::Run { command: Command::One { at: At(1, 1) } },
        Step::Service { deed: Colleague::Delete { at: At(1, 1) } },
    ];
    holds(
        Setup {
            bodies: false,
            ..PLAIN
        },
        &steps,
    );
}

#[test]
fn what_became_of_a_category_may_be_known_sooner_after_a_kill() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 14, shown: true } },
        Step::Run { command: Command::Glance { at: At(0, 3) } },
        Step::Service { deed: Colleague::Reslug { from: 0, to: 2 } },
        Step::Wait { seconds: 20 },
        SYNC,
    ];
    compares(Relation::Killed(25), PLAIN, &steps);
}

#[test]
fn a_kill_may_be_what_makes_known_that_a_colleague_renamed_a_category() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 1), token: 2, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 3, enabled: true } },
        SYNC,
        Step::Service { deed: Colleague::Rename { folder: 0, token: 10 } },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::First, token: 15 } },
        Step::Mirror { deed: Writer::Swap { one: At(0, 0), other: At(1, 1) } },
        SYNC,
    ];
    compares(Relation::Killed(52), PLAIN, &steps);
}

#[test]
fn what_may_have_an_address_still_keeps_a_new_article_from_it() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Delete { at: At(0, 2) } },
        Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 20, enabled: true } },
        Step::Mirror { deed: Writer::Swap { one: At(0, 1), other: At(0, 2) } },
        Step::Run { command: Command::Sync {} },
    ];
    compares(Relation::Struck(355), setup, &steps);
}

#[test]
fn with_a_new_state_what_cannot_be_read_may_be_any_articles_file() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(1, 2), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 3), token: 5, shown: true } },
        Step::Run { command: Command::Sync {} },
    ];
    compares(Relation::Struck(218), setup, &steps);
}

#[test]
fn what_is_listed_is_there_though_a_probe_is_refused() {
    let setup = Setup {
        lists_disabled: true,
        probing: Probing::Forbidden,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 2, enabled: false } },
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
        SYNC,
    ];
    compares(Relation::Killed(51), setup, &steps);
}

#[test]
fn a_dry_run_knows_that_a_probe_is_refused() {
    let setup = Setup {
        lists_disabled: true,
        probing: Probing::Forbidden,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 2, enabled: false } },
        Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 2 } },
        SYNC,
        Step::Service { deed: Colleague::Show { at: At(2, 2), on: false } },
        Step::Run { command: Command::DryThenSync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn what_was_being_deleted_is_gone_though_a_probe_is_refused() {
    let setup = Setup {
        probing: Probing::Forbidden,
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 1), token: 2, enabled: true } },
        SYNC,
        Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(1, 1) } },
        SYNC,
    ];
    compares(Relation::Killed(36), setup, &steps);
}

/// Two files of one folder want one slug, and neither is sent. While the one's article cannot be read, the other's is.
#[test]
fn seed_8351952606050() {
    let service = |deed| Step::Service { deed };
    let mirror = |deed| Step::Mirror { deed };
    let posted = |at, token| {
        let shown = true;
        service(Colleague::Post { at, token, shown })
    };
    let setup = Setup {
        by_category: true,
        ..PLAIN
    };
    let steps = [
        posted(At(0, 1), 1),
        posted(At(0, 0), 2),
        SYNC,
        mirror(Writer::Slug { at: At(0, 1), name: 0 }),
        service(Colleague::Reslug { from: 0, to: 3 }),
        SYNC,
        mirror(Writer::RenameFolder { from: 3, to: 1 }),
        service(Colleague::Show { at: At(3, 1), on: false }),
        mirror(Writer::Unname { folder: 1 }),
        SYNC,
    ];
    compares(Relation::Struck(656), setup, &steps);
}

/// An article's file wants the address of one that cannot be read: what else its article says is pulled, and only the
/// answer tells that the address is taken.
#[test]
fn what_wants_the_address_of_an_article_that_cannot_be_read_is_sent() {
    let setup = Setup {
        bodies: false,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 4), token: 4, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 5, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Show { at: At(0, 3), on: false } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(0, 3), part: Part::First, token: 11 } },
        Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 3 } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Slug { at: At(3, 3), name: 4 } },
        Step::Run { command: Command::Sync {} },
    ];
    compares(Relation::Struck(14), setup, &steps);
}

#[test]
fn seed_532492917250() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 2, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 4, enabled: true } },
        Step::Mirror { deed: Writer::Break { at: At(0, 0) } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Unname { folder: 0 } },
        Step::Mirror { deed: Writer::Break { at: At(0, 1) } },
        Step::Run { command: Command::Sync {} },
    ];
    compares(Relation::Struck(57), setup, &steps);
}

#[test]
fn seed_946494729367() {
    let setup = Setup {
        rewriting: Rewriting::Editor,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(1, 4), token: 1, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 6), token: 2, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 0), token: 3, shown: true } },
        Step::Run { command: Command::Sync {} },
    ];
    compares(Relation::Killed(66), setup, &steps);
}
