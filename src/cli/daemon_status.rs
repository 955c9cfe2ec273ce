//! The lines of `kbsync status` about a running daemon.

use super::{
    counts,
    print::{WARNING, escape},
    times::local_time,
};
use crate::{daemon::control::DaemonStatus, model::Timestamp};
use std::time::Duration;

/// Returns the lines. `unsent` is the number of saved changes that the daemon has not sent yet.
pub(super) fn daemon_lines(daemon: &DaemonStatus, unsent: usize) -> Vec<String> {
    let words = |seconds| crate::model::time::in_words(Duration::from_secs(seconds));
    let mut often = match &daemon.cron {
        Some(cron) => format!("by the cron line {}", escape(cron)),
        None => format!("every {}", words(daemon.planned.unwrap_or(daemon.interval))),
    };
    if daemon.planned.is_some() {
        let interval = words(daemon.interval);
        often = format!("every {interval} instead of {often}, to keep the request budget");
    }
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
    if unsent > 0 {
        lines.push(format!(
            "  {} to be sent",
            counts::waiting(unsent, "saved change")
        ));
    }
    let troubles = [daemon.waiting_for.clone(), daemon.unhealthy.clone()];
    lines.extend(
        troubles
            .into_iter()
            .flatten()
            .map(|why| format!("  {WARNING}{}{WARNING:#}", escape(&why))),
    );
    lines
}

/// Returns a written time as local time, like all times outside of JSON.
pub(super) fn time_of(written: &str) -> String {
    let moment = chrono::DateTime::parse_from_rfc3339(written);
    moment.map_or_else(
        |_| written.to_owned(),
        |moment| local_time(Timestamp(moment.timestamp_millis())),
    )
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
            planned: None,
            cron: None,
            watching: "events".to_owned(),
            waiting_for: None,
            unhealthy: None,
            is_token_refused: false,
        };
        let lines = daemon_lines(&daemon, 0);
        assert!(
            lines[1].starts_with("  polls every 1m: last none yet, next 2026-11-2"),
            "{lines:?}"
        );
        assert!(!lines.join("\n").contains("00Z"), "{lines:?}");
        daemon.planned = Some(30);
        assert_eq!(
            daemon_lines(&daemon, 1)[3],
            "  1 saved change waits to be sent"
        );
        let lines = daemon_lines(&daemon, 0);
        let slowed = "  polls every 1m instead of every 30s, to keep the request budget: last";
        assert!(lines[1].starts_with(slowed), "{lines:?}");
        daemon.planned = None;
        daemon.cron = Some("*/5 8-18 * * 1-5 (Europe/Berlin)".to_owned());
        let lines = daemon_lines(&daemon, 0);
        let shown = "  polls by the cron line */5 8-18 * * 1-5 (Europe/Berlin): last none yet";
        assert!(lines[1].starts_with(shown), "{lines:?}");
    }
}
