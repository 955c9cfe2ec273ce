//! What was asked for, what an answer told beside that, and what is known in place of an answer.

use super::regressions::{PLAIN, holds};
use super::step::{At, Call, Colleague, Command, Part, Save, Step, What, Writer};

const SYNC: Step = Step::Run {
    command: Command::Sync {},
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
            service(Colleague::Post {
                at,
                token: 1,
                shown: true,
            }),
            SYNC,
            mirror(Writer::Name {
                folder: 0,
                token: 5,
            }),
            mirror(Writer::Edit {
                at,
                part: Part::First,
                token: 8,
                save: Save::RenameOver,
            }),
            reads(What::ByColleague { deed: edited }),
            reads(What::HtmlNotFound {}),
            SYNC,
        ],
    );
}
