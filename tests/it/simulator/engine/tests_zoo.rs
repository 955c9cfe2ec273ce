//! Defects that need a restart or a moment to be seen: their short traces hold without them, and do not with them.

use super::run::{Bench, Ground, Source};
use super::step::{At, Colleague, Command, PLAIN, Step, Writer};
use kbsync::drill::defect::{self, Defect};

const SYNC: Step = Step::Run {
    command: Command::Sync,
};

fn post(at: At, token: u16) -> Step {
    let shown = true;
    Step::Service {
        deed: Colleague::Post { at, token, shown },
    }
}

/// What the trace violates, with a defect or without one.
fn found(with: Option<Defect>, steps: &[Step]) -> Option<&'static str> {
    defect::let_in(with);
    let outcome = Bench::new().run(PLAIN, Source::Steps(steps), Ground::Memory);
    defect::let_in(None);
    outcome.violation.map(|violation| violation.invariant)
}

#[test]
fn f043_a_guard_that_forgets_at_a_restart_is_found() {
    let mut steps: Vec<Step> = (0..4).map(|n| post(At(0, n), u16::from(n) + 1)).collect();
    let gone = Writer::RemoveFolder { folder: 0 };
    steps.extend([SYNC, Step::Mirror { deed: gone }, SYNC, SYNC]);
    let with = Some(Defect::GuardForgotten);
    assert_eq!(found(None, &steps), None);
    assert_eq!(found(with, &steps), Some("I16"));
    // It is held until then: only what comes after the restart is wrong.
    steps.extend([
        Step::Run {
            command: Command::AllowDeletes,
        },
        Step::Restart,
        SYNC,
    ]);
    assert_eq!(found(with, &steps), None);
}
