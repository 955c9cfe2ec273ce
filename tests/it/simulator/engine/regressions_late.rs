//! What the simulator found late: races with the scan, old copies, and releases that were cut off.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Save, Step, What, Writer};

#[test]
fn a_release_that_was_cut_off_counts_in_the_next_run() {
    holds(
        PLAIN,
        &[
            Step::Service {
                deed: Colleague::Post {
                    at: At(0, 1),
                    token: 1,
                    shown: true,
                },
            },
            Step::Service {
                deed: Colleague::Post {
                    at: At(0, 4),
                    token: 2,
                    shown: true,
                },
            },
            Step::Service {
                deed: Colleague::Post {
                    at: At(0, 0),
                    token: 3,
                    shown: true,
                },
            },
            Step::Mirror {
                deed: Writer::Write {
                    at: At(0, 3),
                    token: 5,
                    enabled: false,
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Kill { after: 1 },
            Step::Mirror {
                deed: Writer::RemoveFolder { folder: 0 },
            },
            Step::Run {
                command: Command::Approve {},
            },
        ],
    );
}

#[test]
fn an_old_copy_after_the_loss_of_the_state_is_pulled_like_a_revert() {
    holds(
        PLAIN,
        &[
            Step::Mirror {
                deed: Writer::Write {
                    at: At(1, 0),
                    token: 3,
                    enabled: true,
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::Mirror {
                deed: Writer::Edit {
                    at: At(1, 0),
                    part: Part::First,
                    token: 6,
                    save: Save::RenameOver,
                },
            },
            Step::Run {
                command: Command::Sync {},
            },
            Step::LoseState {},
            Step::Run {
                command: Command::Sync {},
            },
            Step::Fault {
                call: Call::List,
                nth: 0,
                what: What::Stale {},
            },
            Step::Run {
                command: Command::Sync {},
            },
        ],
    );
}
