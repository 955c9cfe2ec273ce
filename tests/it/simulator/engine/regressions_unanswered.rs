//! Old answers to what a PUT without an answer may have replaced, and what else is known of what was there before.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Probing, Rewriting, Save, Setup, Step, What, Writer};

#[test]
fn seed_312286885169() {
    let setup = Setup {
        rewriting: Rewriting::Editor,
        one_line: true,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 1, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 2, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 4), part: Part::First, token: 6, save: Save::RenameOver } },
        Step::Kill { after: 20 },
        Step::Run { command: Command::Sync {} },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_312287023648() {
    let setup = Setup {
        rewriting: Rewriting::Editor,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 2), token: 1, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::First, token: 4, save: Save::RenameOver } },
        Step::Fault { call: Call::Update, nth: 0, what: What::LostAfter {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(0, 2), part: Part::First, token: 8 } },
        Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::First, token: 14, save: Save::RenameOver } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_312287052210() {
    let setup = Setup {
        bodies: false,
        lists_disabled: true,
        probing: Probing::Off,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(0, 0), token: 4, enabled: false } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 1 } },
        Step::Service { deed: Colleague::Change { at: At(0, 0), part: Part::First, token: 12 } },
        Step::Mirror { deed: Writer::Unname { folder: 1 } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RemoveAll {} },
        Step::Service { deed: Colleague::Change { at: At(1, 0), part: Part::First, token: 21 } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_312287110806() {
    let setup = Setup {
        etag: true,
        ..PLAIN
    };
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(2, 1), token: 1, enabled: true } },
        Step::Service { deed: Colleague::Post { at: At(1, 4), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Swap { one: At(2, 1), other: At(0, 1) } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Readdress { from: At(2, 1), to: At(1, 3) } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(2, 1), part: Part::First, token: 16, save: Save::RenameOver } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_312287124508() {
    let setup = Setup {
        rewriting: Rewriting::Editor,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 3), token: 4, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 3), part: Part::More, token: 12, save: Save::RenameOver } },
        Step::Fault { call: Call::Update, nth: 0, what: What::LostAfter {} },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 3), part: Part::First, token: 13, save: Save::RenameOver } },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_312287301713() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::SaveState {},
        Step::LoseState {},
        Step::Mirror { deed: Writer::Edit { at: At(0, 2), part: Part::First, token: 4, save: Save::RenameOver } },
        Step::Run { command: Command::Sync {} },
        Step::RestoreState {},
    ];
    holds(setup, &steps);
}

#[test]
fn seed_12941560605() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 1, shown: true } },
        Step::Mirror { deed: Writer::Write { at: At(0, 1), token: 2, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 3 } },
        Step::Mirror { deed: Writer::RenameFolder { from: 3, to: 1 } },
        Step::Mirror { deed: Writer::Swap { one: At(1, 2), other: At(1, 1) } },
        Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
        Step::Fault { call: Call::Update, nth: 2, what: What::LostAfter {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(1, 1), part: Part::First, token: 17 } },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_12941638335() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 3, shown: true } },
        Step::Service { deed: Colleague::Change { at: At(0, 1), part: Part::First, token: 6 } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Revert { at: At(0, 1) } },
        Step::SaveState {},
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Revert { at: At(0, 1) } },
        Step::RestoreState {},
    ];
    holds(setup, &steps);
}

#[test]
fn seed_532493107141() {
    let setup = PLAIN;
    let steps = [
        Step::Mirror { deed: Writer::Write { at: At(2, 1), token: 3, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(2, 1), part: Part::First, token: 12, save: Save::RenameOver } },
        Step::Fault { call: Call::Read, nth: 0, what: What::Stale {} },
        Step::Fault { call: Call::Update, nth: 0, what: What::LostAfter {} },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Change { at: At(2, 1), part: Part::First, token: 25 } },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Stale {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_363698605351() {
    let setup = Setup {
        no_window: true,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 0), token: 1, shown: true } },
        Step::Service { deed: Colleague::Readdress { from: At(0, 0), to: At(0, 6) } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Edit { at: At(0, 6), part: Part::First, token: 6, save: Save::RenameOver } },
        Step::Fault { call: Call::Update, nth: 1, what: What::ByColleague { deed: Colleague::Change { at: At(0, 6), part: Part::Third, token: 7 } } },
        Step::Fault { call: Call::Update, nth: 0, what: What::LostBefore {} },
        Step::Fault { call: Call::Probe, nth: 0, what: What::Forbidden {} },
        Step::Run { command: Command::Sync {} },
    ];
    holds(setup, &steps);
}

#[test]
fn seed_973727980994() {
    let setup = Setup {
        probing: Probing::Forbidden,
        ..PLAIN
    };
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(2, 2), token: 1, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(0, 2), token: 2, shown: true } },
        Step::Service { deed: Colleague::Post { at: At(2, 3), token: 5, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::RemoveAll {} },
        Step::Fault { call: Call::Delete, nth: 0, what: What::LostBefore {} },
        Step::Fault { call: Call::Probe, nth: 0, what: What::Unauthorized {} },
        Step::Run { command: Command::Sync {} },
        Step::Fault { call: Call::List, nth: 0, what: What::Skip { entry: 2 } },
        Step::Run { command: Command::Folder { folder: 2 } },
    ];
    holds(setup, &steps);
}
