//! Traces that once went another way on a real folder than in memory, or could not be run there.

use super::regressions::{PLAIN, compares};
use super::relations::{self, Relation};
use super::run::{Bench, Ground, Source};
use super::step::{At, Call, Colleague, Command, Part, Save, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

fn post(at: At, token: u16) -> Step {
    let shown = true;
    Step::Service { deed: Colleague::Post { at, token, shown } }
}

#[test]
fn a_process_dies_over_what_it_keeps_of_a_leftover_on_the_disk_as_in_memory() {
    // A pull leaves a temporary file, and the next process dies before it has it in the history.
    compares(
        Relation::Disk,
        PLAIN,
        &[
            post(At(0, 1), 1),
            post(At(0, 4), 2),
            Step::Kill { after: 39 },
            SYNC,
            Step::Kill { after: 5 },
            SYNC,
        ],
    );
    compares(
        Relation::Disk,
        PLAIN,
        &[
            post(At(0, 4), 3),
            Step::Fault { call: Call::Publish, nth: 0, what: What::Denied {} },
            SYNC,
            Step::Restart {},
            Step::Kill { after: 12 },
            SYNC,
        ],
    );
}

#[test]
fn leftovers_of_a_folder_are_kept_in_one_order_on_the_disk_as_in_memory() {
    let write = |at, token| Step::Mirror {
        deed: Writer::Write {
            at,
            token,
            enabled: true,
        },
    };
    let change = |at, token| Step::Service {
        deed: Colleague::Change {
            at,
            part: Part::First,
            token,
        },
    };
    compares(
        Relation::Disk,
        PLAIN,
        &[
            write(At(0, 2), 1),
            write(At(1, 3), 3),
            SYNC,
            change(At(1, 3), 10),
            change(At(0, 2), 11),
            Step::Kill { after: 31 },
            SYNC,
            Step::Kill { after: 30 },
            SYNC,
        ],
    );
}

#[test]
fn a_state_that_is_copied_set_back_and_lost_is_so_on_the_disk_as_in_memory() {
    let edit = |token| Step::Mirror {
        deed: Writer::Edit {
            at: At(0, 0),
            part: Part::First,
            token,
            save: Save::RenameOver,
        },
    };
    let steps = [
        post(At(0, 0), 1),
        post(At(0, 1), 2),
        SYNC,
        Step::SaveState {},
        edit(3),
        SYNC,
        Step::RestoreState {},
        edit(4),
        SYNC,
        Step::LoseState {},
        SYNC,
    ];
    compares(Relation::Disk, PLAIN, &steps);
    let mut bench = Bench::new();
    let first = bench.run(PLAIN, Source::Steps(&steps), Ground::Memory);
    assert!(relations::other(&mut bench, Relation::Disk, &first).is_some());
}
