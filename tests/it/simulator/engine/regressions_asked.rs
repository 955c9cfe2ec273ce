//! What was asked for, what an answer told beside that, and what is known in place of an answer.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Save, Setup, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

/// What is asked for once a day is asked for at the end.
const THRIFTY: Setup = Setup {
    thrifty: true,
    ..PLAIN
};

fn mirror(deed: Writer) -> Step {
    Step::Mirror { deed }
}

fn service(deed: Colleague) -> Step {
    Step::Service { deed }
}

/// A category was read before it was changed. Its articles came along, one of them edited since it was listed.
#[test]
fn seed_252173575759() {
    let at = At(0, 2);
    let edited = Colleague::Change {
        at,
        part: Part::Second,
        token: 9,
    };
    let reads = |what| Step::Fault {
        call: Call::ReadCategory,
        nth: 0,
        what,
    };
    holds(
        PLAIN,
        &[
            service(Colleague::Post { at, token: 1, shown: true }),
            SYNC,
            mirror(Writer::Name { folder: 0, token: 5 }),
            mirror(Writer::Edit { at, part: Part::First, token: 8, save: Save::RenameOver }),
            reads(What::ByColleague { deed: edited }),
            reads(What::HtmlNotFound {}),
            SYNC,
        ],
    );
}

/// The file of a hidden article in conflict is what the base says, and its copy lies beside it.
#[test]
fn seed_312286954000() {
    holds(
        THRIFTY,
        &[
            mirror(Writer::Write { at: At(0, 4), token: 1, enabled: false }),
            mirror(Writer::RenameFolder { from: 0, to: 3 }),
            SYNC,
            mirror(Writer::RenameFolder { from: 3, to: 2 }),
            service(Colleague::Change { at: At(3, 4), part: Part::Keywords, token: 11 }),
            mirror(Writer::Stash {}),
            mirror(Writer::Edit { at: At(2, 4), part: Part::Keywords, token: 14, save: Save::RenameOver }),
            SYNC,
            mirror(Writer::Checkout {}),
        ],
    );
}

/// One article that was deleted was asked for in vain, the folder of another got a new name in that cycle: a day later
/// both are asked for in their turn.
#[test]
fn seed_312287126991() {
    let wrote = |at, token, enabled| mirror(Writer::Write { at, token, enabled });
    let copied = |from, to| mirror(Writer::Copy { from, to });
    holds(
        THRIFTY,
        &[
            service(Colleague::Post { at: At(1, 3), token: 2, shown: true }),
            wrote(At(1, 1), 3, false),
            wrote(At(0, 2), 4, true),
            copied(At(1, 1), At(0, 1)),
            SYNC,
            mirror(Writer::RenameFolder { from: 0, to: 3 }),
            copied(At(3, 1), At(0, 2)),
            service(Colleague::Delete { at: At(0, 1) }),
            service(Colleague::Delete { at: At(1, 3) }),
            Step::Fault { call: Call::Read, nth: 0, what: What::HtmlNotFound {} },
            SYNC,
        ],
    );
}

#[test]
fn seed_532492900928() {
    let setup = PLAIN;
    let steps = [
        Step::Service { deed: Colleague::Post { at: At(0, 1), token: 1, shown: true } },
        Step::Run { command: Command::Sync {} },
        Step::Service { deed: Colleague::Show { at: At(0, 1), on: false } },
        Step::Mirror { deed: Writer::Write { at: At(0, 3), token: 7, enabled: true } },
        Step::Run { command: Command::Sync {} },
        Step::Mirror { deed: Writer::Write { at: At(0, 5), token: 8, enabled: false } },
        Step::Mirror { deed: Writer::Write { at: At(0, 4), token: 9, enabled: false } },
        Step::Service { deed: Colleague::Show { at: At(0, 3), on: false } },
        Step::Run { command: Command::Sync {} },
        Step::Wait { seconds: 90000 },
        Step::Mirror { deed: Writer::Edit { at: At(0, 3), part: Part::Owner, token: 15, save: Save::RenameOver } },
        Step::Service { deed: Colleague::Change { at: At(0, 3), part: Part::First, token: 18 } },
    ];
    holds(setup, &steps);
}
