//! Old answers after a PUT that got no answer and is made again: nobody told the revision that the first one made.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Probing, Save, Setup, Step, What, Writer};

#[test]
fn seed_78857553753() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::Third, token: 4 } },
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::Third, token: 5, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Reslug { from: 0, to: 2 } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::DropCopy { at: At(0, 0) } },
        Step::Fault { call: Call::Update, nth: 0, what: What::LostAfter {} },
        Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Reslug { from: 2, to: 3 } },
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 16, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Change { at: At(3, 0), part: Part::First, token: 17 } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_78857610698() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(2, 1), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(2, 0), token: 3, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Reslug { from: 2, to: 1 } },
        Step::Service { deed: Colleague::Rename { folder: 1, token: 5 } },
        Step::Run { command: Command::Folder { folder: 2 } },
        Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::First, token: 9, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Delete { at: At(1, 0) } },
        Step::Kill { after: 23 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::First, token: 18 } },
        Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

/// What a service without probes and an old replica hide cannot be known.
#[test]
fn seed_78857610698_where_no_probe_is_answered() {
    let setup = Setup {
        probing: Probing::Forbidden,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(2, 1), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(2, 0), token: 3, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Reslug { from: 2, to: 1 } },
        Step::Service { deed: Colleague::Rename { folder: 1, token: 5 } },
        Step::Run { command: Command::Folder { folder: 2 } },
        Step::Mirror { deed: Writer::Edit { at: At(1, 1), part: Part::First, token: 9, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Delete { at: At(1, 0) } },
        Step::Kill { after: 23 },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::First, token: 18 } },
        Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

/// What is about to be deleted is probed after a PUT without an answer, and the probe's answer is lost: nothing is deleted then.
#[test]
fn seed_502774920646() {
    let sync = Step::Run { command: Command::Sync {} };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 2, shown: true } },
        sync,
        Step::Mirror { deed: Writer::Edit { at: At(0, 0), part: Part::First, token: 3, save: Save::RenameOver } },
        Step::Fault { call: Call::Update, nth: 0, what: What::Html {} },
        sync,
        Step::Mirror { deed: Writer::RemoveAll {} },
        Step::Fault { call: Call::Probe, nth: 0, what: What::LostAfter {} },
        sync,
    ];
    holds(PLAIN, &steps);
}
