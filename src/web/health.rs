//! The health and the readiness of a daemon. Pure: the caller passes the time.

use super::shared_status::StatusSnapshot;
use std::time::Duration;
use tokio::time::Instant;

/// The longest pause of a healthy loop outside of a cycle. The loop runs every five seconds at least.
const TICK: Duration = Duration::from_secs(30);

/// The least patience: with a very short interval, a single slow answer is no failure.
const SHORTEST: Duration = Duration::from_mins(1);

/// Returns why a daemon is unhealthy: the event loop is stuck, or the third poll after the last successful one is
/// overdue. A cycle that makes progress is healthy however long it takes, and so is a pause for git.
pub fn illness(status: &StatusSnapshot, now: Instant) -> Option<String> {
    let age = |at: Instant| now.saturating_duration_since(at);
    let longest_cycle = (status.queue.interval * 3).max(SHORTEST);
    let longest_silence = if status.busy { longest_cycle } else { TICK };
    if age(status.heartbeat) > longest_silence {
        return Some("the event loop is stuck".to_owned());
    }
    if status.queue.paused.is_some() || (status.busy && age(status.progress) <= longest_cycle) {
        return None;
    }
    let patience = status.queue.patience.max(SHORTEST);
    let last = status.last_poll.map_or(status.started, |(_, at)| at);
    if age(last) > patience {
        let age = crate::model::time::in_words(Duration::from_secs(age(last).as_secs()));
        let why = status.queue.outage.as_deref().unwrap_or("polls fail");
        return Some(format!("no successful poll for {age}: {why}"));
    }
    None
}

/// Returns why a daemon is not ready: its first full cycle is not done.
pub fn unreadiness(status: &StatusSnapshot) -> Option<String> {
    (!status.ready).then(|| match &status.queue.outage {
        Some(why) => format!("the first cycle is not done: {why}"),
        None => "the first cycle is not done".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::shared_status::SharedStatus;

    type Change = fn(&mut StatusSnapshot, Instant);

    #[test]
    fn f012_the_age_of_the_last_good_poll_is_health() {
        let base = SharedStatus::new(chrono::DateTime::UNIX_EPOCH).snapshot();
        let start = base.started;
        let minutes = |n| Duration::from_mins(n);
        let mut base = base;
        base.queue.interval = minutes(5);
        base.queue.patience = minutes(15);
        // Name, minutes after the start, change of the status, whether the daemon is healthy.
        let table: [(&str, u64, Change, bool); 8] = [
            (
                "just started",
                1,
                |status, now| status.heartbeat = now,
                true,
            ),
            (
                "never polled",
                16,
                |status, now| status.heartbeat = now,
                false,
            ),
            (
                "polled lately",
                60,
                |status, now| {
                    status.heartbeat = now;
                    status.last_poll =
                        Some((chrono::DateTime::UNIX_EPOCH, now - Duration::from_mins(14)));
                },
                true,
            ),
            (
                "polled three intervals ago",
                60,
                |status, now| {
                    status.heartbeat = now;
                    status.last_poll =
                        Some((chrono::DateTime::UNIX_EPOCH, now - Duration::from_mins(16)));
                },
                false,
            ),
            ("the event loop is stuck", 1, |_, _| (), false),
            (
                "a first sync of hours that gets ahead",
                300,
                |status, now| {
                    status.heartbeat = now;
                    status.busy = true;
                    status.progress = now - Duration::from_mins(1);
                },
                true,
            ),
            (
                "a cycle that hangs",
                300,
                |status, now| {
                    status.heartbeat = now;
                    status.busy = true;
                },
                false,
            ),
            (
                "a rebase over lunch",
                60,
                |status, now| {
                    status.heartbeat = now;
                    status.queue.paused = Some("paused".to_owned());
                },
                true,
            ),
        ];
        for (name, after, change, well) in table {
            let mut status = base.clone();
            let now = start + minutes(after);
            change(&mut status, now);
            let found = illness(&status, now);
            assert_eq!(found.is_none(), well, "{name}: {found:?}");
        }
    }

    #[test]
    fn it_is_ready_after_the_first_full_cycle() {
        let mut status = SharedStatus::new(chrono::DateTime::UNIX_EPOCH).snapshot();
        assert!(unreadiness(&status).is_some());
        status.ready = true;
        assert_eq!(unreadiness(&status), None);
    }
}
