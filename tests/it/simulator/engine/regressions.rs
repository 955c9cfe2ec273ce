//! What the simulator found: each is a short trace, as it was printed, that lost something once.

use super::run::{Bench, Ground, Source};
use super::step::{
    At, Call, Colleague, Command, Kept, Part, Probing, Rewriting, Save, Setup, Step, What, Writer,
};

/// Runs a trace; everything has to hold.
fn holds(setup: Setup, steps: &[Step]) {
    let mut bench = Bench::new();
    bench.talk = true;
    let outcome = bench.run(setup, Source::Steps(steps), Ground::Memory);
    assert_eq!(
        outcome.violation,
        None,
        "what happened:\n{}",
        outcome.log.join("\n")
    );
}

/// A service and settings without anything odd.
const PLAIN: Setup = Setup {
    bodies: true,
    etag: false,
    by_category: false,
    lists_disabled: false,
    rewriting: Rewriting::Nothing,
    probing: Probing::Allowed,
    one_line: false,
    no_window: false,
    commands: false,
    max_deletes: 10,
};
