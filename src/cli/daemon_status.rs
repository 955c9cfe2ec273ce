//! The lines of `kbsync status` about a running daemon.

use super::{
    print::{WARNING, escape},
    report,
    status::moment,
    version_spec::local_time,
};
use crate::daemon::control::DaemonStatus;
use std::time::Duration;

/// Returns the lines.
pub(super) fn daemon_lines(daemon: &DaemonStatus) -> Vec<String> {
    let interval = crate::model::time::in_words(Duration::from_secs(daemon.interval));
    let often = match &daemon.cron {
        Some(cron) => format!("by the cron line {}", escape(cron)),
        None => format!("every {interval}"),
    };
    let or = |written: &Option<String>, none: &str| {
        written.as_deref().map_or_else(|| none.to_owned(), time_of)
    };
    let last = or(&daemon.last_poll, "none yet");
    let next = or(&daemon.next_poll, "not known yet");
    let mut lines = vec![
        format!(
            "Daemon running since {}, process {}",
            time_of(&daemon.since),
            daemon.pid
        ),
        format!("  polls {often}: last {last}, next {next}"),
        format!("  notices changes by {}", escape(&daemon.watching)),
    ];
    if daemon.pending > 0 {
        lines.push(format!(
            "  {} to be synced",
            report::waiting(daemon.pending, "path")
        ));
    }
    let troubles = [&daemon.waiting_for, &daemon.unhealthy];
    lines.extend(
        troubles
            .into_iter()
            .flatten()
            .map(|why| format!("  {WARNING}{}{WARNING:#}", escape(why))),
    );
    lines
}

/// Returns a time of the daemon as local time, like all times outside of JSON.
pub(super) fn time_of(written: &str) -> String {
    moment(written).map_or_else(|| written.to_owned(), local_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cron_line_is_shown_as_one_and_times_as_people_here_write_them() {
        let mut daemon = DaemonStatus {
            pid: 7,
            since: "2026-11-20T10:00:00Z".to_owned(),
            next_poll: Some("2026-11-20T11:00:00Z".to_owned()),
            last_poll: None,
            interval: 60,
            cron: None,
            watching: "events".to_owned(),
            pending: 0,
            waiting_for: None,
            unhealthy: None,
        };
        let lines = daemon_lines(&daemon);
        assert!(
            lines[1].starts_with("  polls every 1m: last none yet, next 2026-11-2"),
            "{lines:?}"
        );
        assert!(!lines.join("\n").contains("00Z"), "{lines:?}");
        daemon.cron = Some("*/5 8-18 * * 1-5 (Europe/Berlin)".to_owned());
        let lines = daemon_lines(&daemon);
        let shown = "  polls by the cron line */5 8-18 * * 1-5 (Europe/Berlin): last none yet";
        assert!(lines[1].starts_with(shown), "{lines:?}");
    }
}
