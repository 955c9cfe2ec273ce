//! What becomes of a panic in the daemon: a line in its log, and the end of the process.
//!
//! A thread that died by itself would leave a daemon that runs and sees nothing more. Whoever watches over the
//! daemon starts it again, and the next start puts right what was left behind, as after a kill.

use std::panic::{PanicHookInfo, set_hook};

/// From here on a panic of any thread is logged and ends the process, however the program was built.
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
