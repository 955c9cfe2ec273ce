//! Checks the running daemon by its own status.

use super::{Check, Verdict};
use crate::{
    cli::{ExitCode, daemon_status::time_of, via_daemon},
    config::Config,
    daemon::control::DaemonStatus,
};

/// Checks the daemon that has the mirror. `is_away`: this process found that the service is unavailable for now.
pub(super) async fn check(config: &Config, is_away: bool) -> Check {
    // The daemon may see what this process does not: another token, another network, an earlier failure.
    match via_daemon::status(config).await {
        Some(found) => says(found, is_away),
        None if via_daemon::is_daemon_there(config) => Check::new(
            "daemon",
            Verdict::Bad,
            "the daemon holds the mirror, but does not answer",
        )
        .help("if the daemon has just been started, wait; otherwise stop it; its log may say more"),
        None => Check::good("daemon", "none is running; `kbsync run` starts one"),
    }
}

/// Judges a daemon's status. A daemon that only waits for an unavailable service has no fault of its own.
pub(super) fn says(found: DaemonStatus, is_away: bool) -> Check {
    if found.is_token_refused
        && let Some(why) = found.waiting_for
    {
        return Check::new("daemon", Verdict::Bad, why);
    }
    match (found.unhealthy, found.waiting_for) {
        (Some(why), waits) => {
            let mut check = Check::new("daemon", Verdict::Bad, why).help("its log says more");
            if is_away && waits.is_some() {
                check.code = ExitCode::Retry;
            }
            check
        }
        (None, Some(why)) => Check::new("daemon", Verdict::Warning, why)
            .help("the daemon continues by itself afterwards; its log says more"),
        (None, None) => Check::good("daemon", format!("running since {}", time_of(&found.since))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_waits_for_a_service_that_is_down_is_exit_code_5() {
        let down = Some("the service cannot be reached".to_owned());
        for (waiting_for, is_away, code) in [
            (down.clone(), true, ExitCode::Retry),
            (down, false, ExitCode::Failed),
            (None, true, ExitCode::Failed),
        ] {
            let found = DaemonStatus {
                pid: 7,
                since: "2026-11-20T10:00:00Z".to_owned(),
                next_poll: None,
                last_poll: None,
                interval: 60,
                planned: None,
                cron: None,
                watching: "events".to_owned(),
                waiting_for,
                unhealthy: Some("no successful poll for 5m".to_owned()),
                is_token_refused: false,
            };
            let check = says(found, is_away);
            assert_eq!((check.result, check.code), (Verdict::Bad, code));
        }
    }
}
