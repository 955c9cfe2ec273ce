//! The running daemon, as far as it says how it is.

use super::{Check, Verdict};
use crate::{cli::via_daemon, config::Config, daemon::control::DaemonStatus};

/// What there is to say of a daemon that has the mirror.
pub(super) async fn check(config: &Config) -> Option<Check> {
    // It may see what this process does not: another token, another network, an earlier failure.
    match via_daemon::status(config).await {
        Some(found) => Some(says(found)),
        None => via_daemon::is_daemon_there(config).then(silent),
    }
}

/// A daemon that has the mirror and says nothing.
fn silent() -> Check {
    Check::new(
        "daemon",
        Verdict::Bad,
        "it has the mirror, and does not answer",
    )
    .help("wait if it has just been started, else end it; its log may say more")
}

/// What a daemon says of itself.
pub(super) fn says(found: DaemonStatus) -> Check {
    match (found.unhealthy, found.waiting_for) {
        (Some(why), _) => Check::new("daemon", Verdict::Bad, why).help("its log says more"),
        (None, Some(why)) => Check::new("daemon", Verdict::Warning, why)
            .help("it goes on by itself when that is over; its log says more"),
        (None, None) => Check::good("daemon", format!("well, since {}", found.since)),
    }
}
