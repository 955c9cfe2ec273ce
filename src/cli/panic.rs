//! Ends the process after a panic in the daemon, with a line in its log.
//!
//! If only a thread died, the daemon would keep running without noticing changes. The supervisor starts the daemon
//! again, and the next start recovers as after a kill.

use std::panic::{PanicHookInfo, set_hook};

/// Makes a panic of any thread end the process, whatever the build's panic strategy is.
pub(super) fn ends_the_process() {
    set_hook(Box::new(|panic| {
        log(panic);
        std::process::abort();
    }));
}

fn log(panic: &PanicHookInfo<'_>) {
    let current = std::thread::current();
    let thread = current.name().unwrap_or("unnamed");
    let place = panic.location().map(ToString::to_string);
    let message = panic.payload_as_str().unwrap_or("for no stated reason");
    tracing::error!(
        thread,
        place = place.as_deref(),
        "the program is at fault, and ends: {message}"
    );
}
