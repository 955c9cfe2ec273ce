//! Checks the running daemon by its own status.

use super::{Check, Verdict};
use crate::{
    cli::{daemon_status::time_of, failure::Failure, via_daemon},
    config::Config,
    daemon::control::DaemonStatus,
};

/// Checks the daemon that has the mirror.
pub(super) async fn check(config: &Config) -> Check {
    // The daemon may see what this process does not: another token, another network, an earlier failure.
    match via_daemon::status(config).await {
        Some(found) => says(found),
        None if via_daemon::is_daemon_there(config) => silent(),
        None => Check::good("daemon", "none is running; `kbsync run` starts one"),
    }
}

/// A daemon that does not answer.
fn silent() -> Check {
    Check::new(
        "daemon",
        Verdict::Bad,
        "the daemon has the mirror, and does not answer",
    )
    .help("if the daemon has just been started, wait; otherwise stop it; its log may say more")
}

/// Judges a daemon's status.
pub(super) fn says(found: DaemonStatus) -> Check {
    if let Some(source) = &found.refused_token {
        return Check::failed("daemon", &Failure::daemon_token(source));
    }
    match (found.unhealthy, found.waiting_for) {
        (Some(why), _) => Check::new("daemon", Verdict::Bad, why).help("its log says more"),
        (None, Some(why)) => Check::new("daemon", Verdict::Warning, why)
            .help("the daemon continues by itself afterwards; its log says more"),
        (None, None) => Check::good("daemon", format!("running since {}", time_of(&found.since))),
    }
}
