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
            Step::Service {
                deed: Colleague::Post {
                    at,
                    token: 2,
                    shown: true,
                },
            },
            SYNC,
            mirror(Writer::Hide { at }),
            Step::Service {
                deed: Colleague::Change {
                    at,
                    part: Part::Introtext,
                    token: 11,
                },
            },
            SYNC,
            mirror(Writer::Copy {
                from: at,
                to: At(1, 2),
            }),
            meanwhile(Call::List, Writer::RemoveAll {}),
            SYNC,
            Step::Run {
                command: Command::Glance { at },
            },
            meanwhile(Call::Look, Writer::Unhide { at }),
            SYNC,
        ],
    );
}
