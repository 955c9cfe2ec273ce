//! What a dry run plans after a process died: the same as is done then.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Save, Step, What, Writer};

const AT: At = At(0, 4);

fn posted(at: At, token: u16) -> Step {
    let shown = true;
    let deed = Colleague::Post { at, token, shown };
    Step::Service { deed }
}

fn run(command: Command) -> Step {
    Step::Run { command }
}

/// A colleague changes one paragraph of the article.
fn changed() -> Step {
    let deed = Colleague::Change {
        at: AT,
        part: Part::Second,
        token: 11,
    };
    Step::Service { deed }
}

/// The words of an article that no base knew, whose file was about to be written, were not kept by a dry run: where the
/// cycle merged, it planned a conflict.
#[test]
fn seed_31036584285974() {
    let deed = Writer::Write {
        at: AT,
        token: 3,
        enabled: true,
    };
    for after in 50..70 {
        let steps = [
            posted(At(0, 2), 1),
            posted(AT, 2),
            Step::Mirror { deed },
            Step::Kill { after },
            run(Command::PreferLocal {}),
            changed(),
            run(Command::DryThenSync {}),
        ];
        holds(PLAIN, &steps);
    }
}

/// Nor were those of its file, once that was written and not durable.
#[test]
fn a_new_file_that_is_not_durable_is_merged_by_a_dry_run_too() {
    let deed = Writer::Edit {
        at: AT,
        part: Part::First,
        token: 3,
        save: Save::RenameOver,
    };
    let fault = |nth| Step::Fault {
        call: Call::SyncFolder,
        nth,
        what: What::Broken {},
    };
    for nth in 0..4 {
        let steps = [
            posted(AT, 2),
            fault(nth),
            run(Command::Sync {}),
            Step::Mirror { deed },
            changed(),
            run(Command::DryThenSync {}),
        ];
        holds(PLAIN, &steps);
    }
}
