//! What is so only in passing: two articles say the same until what waits is sent, and the words of an article whose id
//! was never in its file are back in another one's.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Setup, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
};

/// Two new files change places while they are created. Of the two PUTs that say so one is refused, and waits.
#[test]
fn seed_655601354586() {
    let (one, other) = (At(0, 3), At(0, 1));
    let write = |at, token, enabled| Step::Mirror {
        deed: Writer::Write { at, token, enabled },
    };
    let fault = |call, what| Step::Fault { call, nth: 0, what };
    let deed = Writer::Swap { one, other };
    holds(
        PLAIN,
        &[
            write(one, 1, true),
            write(other, 5, false),
            fault(Call::Publish, What::ByWriter { deed }),
            SYNC,
            fault(Call::Update, What::Refused {}),
            SYNC,
        ],
    );
}

/// A copy is created, and taken away before its own id is in it. When its article goes, so has its original, whose file
/// comes back.
#[test]
fn seed_655601374691() {
    let at = At(0, 1);
    let mirror = |deed| Step::Mirror { deed };
    let meanwhile = |call, deed| Step::Fault {
        call,
        nth: 0,
        what: What::ByWriter { deed },
    };
    holds(
        Setup {
            max_deletes: 3,
            ..PLAIN
        },
        &[
            Step::Service { deed: Colleague::Post { at, token: 2, shown: true } },
            SYNC,
            mirror(Writer::Hide { at }),
            Step::Service { deed: Colleague::Change { at, part: Part::Introtext, token: 11 } },
            SYNC,
            mirror(Writer::Copy { from: at, to: At(1, 2) }),
            meanwhile(Call::List, Writer::RemoveAll {}),
            SYNC,
            Step::Run { command: Command::Glance { at } },
            meanwhile(Call::Look, Writer::Unhide { at }),
            SYNC,
        ],
    );
}

/// Two new files, of which one comes to the other's place while they are created. The article of the one at its own
/// place waits for what lies there by now, in a folder whose category has another address than its name.
#[test]
fn seed_23689962230030() {
    let (one, other) = (At(0, 0), At(0, 1));
    let service = |deed| Step::Service { deed };
    let write = |at, token| Step::Mirror {
        deed: Writer::Write {
            at,
            token,
            enabled: true,
        },
    };
    let fault = |call, what| Step::Fault { call, nth: 0, what };
    let reslug = Colleague::Reslug { from: 0, to: 2 };
    let taken = Writer::Move {
        from: one,
        to: other,
    };
    holds(
        PLAIN,
        &[
            service(Colleague::Post { at: other, token: 2, shown: true }),
            write(other, 3),
            SYNC,
            fault(Call::List, What::ByColleague { deed: reslug }),
            SYNC,
            write(one, 8),
            service(Colleague::Delete { at: At(2, 1) }),
            fault(Call::Publish, What::ByWriter { deed: taken }),
            SYNC,
            write(one, 18),
            Step::Mirror { deed: Writer::Mark { at: one } },
        ],
    );
}

/// A copy takes the place of a colleague's article, and the conflict is settled for it by a push, which writes that
/// article's id over its original's.
#[test]
fn seed_23689962219575() {
    let (original, copy) = (At(0, 1), At(1, 3));
    let mirror = |deed| Step::Mirror { deed };
    holds(
        PLAIN,
        &[
            mirror(Writer::Write { at: original, token: 1, enabled: true }),
            SYNC,
            Step::Service { deed: Colleague::Post { at: copy, token: 3, shown: true } },
            mirror(Writer::Copy { from: original, to: copy }),
            SYNC,
            mirror(Writer::DropCopy { at: copy }),
            Step::Run { command: Command::Push {} },
        ],
    );
}

/// A new file may be that of the article whose title it has, or of the one whose address: both wait, and what is wrong
/// with the file tells it.
#[test]
fn seed_23689962259129() {
    let (one, other) = (At(0, 3), At(0, 4));
    let mirror = |deed| Step::Mirror { deed };
    let write = |at, token| {
        mirror(Writer::Write { at, token, enabled: true })
    };
    holds(
        PLAIN,
        &[
            Step::Service { deed: Colleague::Post { at: one, token: 2, shown: true } },
            SYNC,
            mirror(Writer::Slug { at: one, name: 1 }),
            write(other, 4),
            SYNC,
            mirror(Writer::Swap { one, other }),
            SYNC,
            mirror(Writer::RemoveFolder { folder: 0 }),
            write(other, 12),
            mirror(Writer::Move { from: other, to: At(0, 1) }),
        ],
    );
}

/// A folder was renamed to another category's name, and its `_category.yaml` could not be read in one cycle: an article
/// that was pulled into it moves with it to its category, while a colleague deletes that article.
#[test]
fn seed_21799179595320() {
    let there = |deed| Step::Service { deed };
    let (token, shown) = (2, true);
    let at = At(0, 4);
    let pulled = At(1, 2);
    holds(
        PLAIN,
        &[
            there(Colleague::Post { at, token, shown }),
            SYNC,
            SYNC,
            there(Colleague::Post {
                at: pulled,
                token: 9,
                shown,
            }),
            Step::Mirror { deed: Writer::RenameFolder { from: 0, to: 1 } },
            Step::Fault { call: Call::ReadFile, nth: 2, what: What::Broken {} },
            SYNC,
            there(Colleague::Delete { at: pulled }),
        ],
    );
}
