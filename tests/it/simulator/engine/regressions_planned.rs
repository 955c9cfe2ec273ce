//! What a dry run plans: the same as is done then.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Probing, Save, Setup, Step, What, Writer};

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

/// The copy of a file takes the place of another article, whose words are merged with it.
#[test]
fn seed_134233272634840() {
    let setup = Setup {
        max_deletes: 3,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 2, enabled: true } },
        Step::Mirror { deed: Writer::Write { at: At(1, 0), token: 3, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 0), token: 4, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 5, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RemoveFolder { folder: 0 } },
        Step::Mirror { deed: Writer::Break { at: At(1, 0) } },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::Look, nth: 0, what: What::Full {} },
        Step::Mirror { deed: Writer::RemoveFolder { folder: 1 } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Copy { from: At(0, 1), to: At(1, 0) } },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::More, token: 20 } },
        Step::Run { command: Command::DryThenSync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_850438594652() {
    let setup = Setup {
        bodies: false,
        etag: true,
        probing: Probing::Forbidden,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 2, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RemoveAll {} },
        Step::Service { deed: Colleague::Touch { at: At(0, 1) } },
        Step::Kill { after: 33 },
        Step::Run { command: Command::Sync {} },
        Step::Run { command: Command::DryThenSync {} },
    ];
    holds(setup, &steps);
}
