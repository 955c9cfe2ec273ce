//! `Retry-After`: whatever a server says, the wait is between a second and a day.

use chrono::{DateTime, Utc};
use kbsync::service::retry::{Decision, MAX_TRIES, Outcome, Verb, decide, retry_after};
use std::time::Duration;

/// Two header lines: `Retry-After` and `Date`.
pub(crate) fn hold(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut lines = text.lines();
    let (value, date) = (lines.next(), lines.next());
    let now = DateTime::<Utc>::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let wait = retry_after(value, date, now);
    if let Some(wait) = wait {
        assert!(
            wait >= Duration::from_secs(1) && wait <= Duration::from_hours(24),
            "{wait:?}"
        );
    }
    let patience = Duration::from_mins(2);
    for verb in [Verb::Get, Verb::Post, Verb::Put, Verb::Delete] {
        for attempt in 1..=MAX_TRIES {
            let outcome = Outcome::Throttled { retry_after: wait };
            match decide(verb, outcome, attempt, 1.0, patience) {
                Decision::GiveUp => {}
                Decision::Wait(pause) => {
                    assert!(attempt < MAX_TRIES);
                    assert!(wait.is_none_or(|wait| pause >= wait), "earlier than asked");
                    assert!(pause <= patience * 2, "{pause:?}");
                }
            }
        }
    }
}
