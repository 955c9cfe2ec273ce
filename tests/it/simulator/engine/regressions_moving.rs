//! Files in motion, and a HEAD that moved: what must not happen meanwhile.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Setup, Step, What, Writer};

#[test]
fn a_folder_was_renamed_with_a_file_in_it_that_was_being_written() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 2, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Wait { seconds: 90000 },
            Step::Service { deed: Colleague::Reslug { from: 1, to: 3 } },
            Step::Run { command: Command::InMotion { at: At(1, 0) } },
        ],
    );
}

#[test]
fn a_folder_got_a_name_under_which_a_file_was_being_written() {
    holds(
        PLAIN,
        &[
            Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 3, enabled: true } },
            Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 4, enabled: true } },
            Step::Run { command: Command::Sync {} },
            Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::First, token: 7 } },
            Step::Service { deed: Colleague::Touch { at: At(0, 1) } },
            Step::Service { deed: Colleague::Reslug { from: 0, to: 1 } },
            Step::Run { command: Command::InMotion { at: At(1, 1) } },
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
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::RemoveAll {} },
            Step::Kill { after: 25 },
            Step::Run { command: Command::Approve {} },
            Step::Run { command: Command::Moved {} },
        ],
    );
}

/// A file that was pulled and not made durable changed places with one that has no id: it was taken for a file that was
/// never written, since another one lay where it was to be.
#[test]
fn seed_23689962233224() {
    let (pulled, nameless) = (At(0, 1), At(1, 0));
    let posted = |at, token| Step::Service {
        deed: Colleague::Post {
            at,
            token,
            shown: true,
        },
    };
    let write = |at, token, enabled| Step::Mirror {
        deed: Writer::Write { at, token, enabled },
    };
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    holds(
        setup,
        &[
            write(nameless, 1, true),
            write(At(0, 0), 2, false),
            posted(nameless, 3),
            posted(pulled, 4),
            Step::Fault { call: Call::SyncFolder, nth: 2, what: What::Broken {} },
            Step::Run { command: Command::Sync {} },
            Step::Mirror { deed: Writer::Swap { one: pulled, other: nameless } },
        ],
    );
}
