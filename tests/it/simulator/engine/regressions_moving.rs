//! Files in motion, and a HEAD that moved: what must not happen meanwhile.

use super::regressions::{PLAIN, holds};
use super::step::{At, Colleague, Command, Part, Step, Writer};

#[test]
fn a_folder_was_renamed_with_a_file_in_it_that_was_being_written() {
    holds(
        PLAIN,
        &[
            Step::Mirror {
                deed: Writer::Write {
                    at: At(1, 0),
                    token: 2,
                    enabled: true,
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Wait { seconds: 90000 },
            Step::Service {
                deed: Colleague::Reslug { from: 1, to: 3 },
            },
            Step::Run {
                command: Command::InMotion { at: At(1, 0) },
            },
        ],
    );
}

#[test]
fn a_folder_got_a_name_under_which_a_file_was_being_written() {
    holds(
        PLAIN,
        &[
            Step::Mirror {
                deed: Writer::Write {
                    at: At(0, 1),
                    token: 3,
                    enabled: true,
                },
            },
            Step::Mirror {
                deed: Writer::Write {
                    at: At(0, 2),
                    token: 4,
                    enabled: true,
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Service {
                deed: Colleague::Change {
                    at: At(0, 2),
                    part: Part::First,
                    token: 7,
                },
            },
            Step::Service {
                deed: Colleague::Touch { at: At(0, 1) },
            },
            Step::Service {
                deed: Colleague::Reslug { from: 0, to: 1 },
            },
            Step::Run {
                command: Command::InMotion { at: At(1, 1) },
            },
        ],
    );
}

/// What a person released goes, though the process died over it and HEAD moved since.
#[test]
fn what_was_released_before_head_moved_is_deleted() {
    let post = |at, token| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    holds(
        PLAIN,
        &[
            post(At(0, 2), 1),
            post(At(0, 4), 2),
            post(At(1, 2), 4),
            post(At(1, 4), 6),
            Step::Run {
                command: Command::Sync {},
            },
            Step::Mirror {
                deed: Writer::RemoveAll {},
            },
            Step::Kill { after: 25 },
            Step::Run {
                command: Command::Approve {},
            },
            Step::Run {
                command: Command::Moved {},
            },
        ],
    );
}
