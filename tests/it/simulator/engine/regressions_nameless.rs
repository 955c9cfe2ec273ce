//! New articles whose id never came into their file, and what else of them was lost: the file that is not ready, or the
//! state.

use super::regressions::{PLAIN, compares, holds};
use super::relations::Relation;
use super::step::{At, Call, Colleague, Command, Part, Save, Setup, Step, What, Writer};

#[test]
fn a_new_article_that_lies_at_anothers_place_with_markers_of_git_was_deleted() {
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 1), to: At(0, 0) } },
            Step::Kill { after: 48 },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(0, 1) } },
            Step::Mirror { deed: Writer::Mark { at: At(0, 1) } },
        ],
    );
}

#[test]
fn a_copy_without_an_id_of_its_own_that_was_removed_goes_though_a_colleague_was_quicker() {
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 3), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Copy { from: At(1, 3), to: At(1, 1) } },
            Step::Fault { call: Call::Publish, nth: 0, what: What::Full {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Remove { at: At(1, 1) } },
            Step::Fault {
                call: Call::Delete,
                nth: 1,
                what: What::ByColleague {
                    deed: Colleague::Change {
                        at: At(1, 1),
                        part: Part::Keywords,
                        token: 17,
                    },
                },
            },
            Step::Fault { call: Call::Delete, nth: 0, what: What::LostBefore {} },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_folder_that_was_removed_is_held_though_one_of_its_articles_cannot_be_read() {
    compares(
        Relation::Struck(60),
        Setup {
            bodies: false,
            ..PLAIN
        },
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 1, enabled: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 4), token: 2, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 2), token: 4, shown: true } },
            Step::Service { deed: Colleague::Post { at: At(0, 6), token: 5, shown: true } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveFolder { folder: 0 } },
            Step::Service { deed: Colleague::Touch { at: At(0, 2) } },
            Step::Run { command: Command::Sync {} },
        ],
    );
}

#[test]
fn a_new_article_that_was_moved_was_created_twice_when_the_state_was_lost() {
    for after in 20..60 {
        holds(
            PLAIN,
            &[
                Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 1, enabled: true } },
                Step::Kill { after },
                Step::Run { command: Command::Sync {} },
                Step::Mirror { deed: Writer::Move { from: At(0, 0), to: At(0, 1) } },
                Step::LoseState {},
                Step::Run { command: Command::Sync {} },
                Step::Run { command: Command::Sync {} },
            ],
        );
    }
}

/// What lies at the place of an article in doubt is told, too: it may be its file.
#[test]
fn a_file_at_the_place_of_an_article_in_doubt_is_told() {
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 3, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Copy { from: At(0, 0), to: At(0, 1) } },
        Step::Fault { call: Call::Stage, nth: 0, what: What::Broken {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::Keywords, token: 16, save: Save::RenameOver } },
        Step::Mirror { deed: Writer::Edit { at: At(0, 1), part: Part::First, token: 17, save: Save::RenameOver } },
    ];
    holds(PLAIN, &steps);
}

/// Two new files change places while their articles are created, and one of them is not ready by the time that the
/// other one is sent: until it is, two articles say the same.
#[test]
fn two_new_files_changed_places_and_one_of_them_is_not_ready() {
    let (one, other) = (At(0, 2), At(1, 1));
    let write = |at: At, token: u16| Step::Mirror {
        deed: Writer::Write {
            at,
            token,
            enabled: true,
        },
    };
    let swap = Writer::Swap { one, other };
    holds(
        PLAIN,
        &[
            write(other, 5),
            write(one, 7),
            Step::Fault { call: Call::Look, nth: 0, what: What::ByWriter { deed: swap } },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Break { at: other } },
        ],
    );
}
