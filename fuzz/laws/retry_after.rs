//! `Retry-After`: whatever a server says, the wait is between a second and an hour; and it is what was said.

use chrono::{DateTime, TimeDelta, Utc};
use kbsync::service::{
    ErrorKind,
    retry::{self, MAX_TRIES, MAX_WAIT, Method, retry_after},
};
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
    if let Some(asked) = value.map(str::trim)
        && asked.bytes().all(|byte| byte.is_ascii_digit())
    {
        let expected =
            (!asked.is_empty()).then(|| within_an_hour(asked.parse().unwrap_or(i64::MAX)));
        assert_eq!(wait, expected, "{asked:?} seconds");
    }
    dates(bytes, now);
    if let Some(wait) = wait {
        assert!(
            wait >= Duration::from_secs(1) && wait <= Duration::from_hours(1),
            "{wait:?}"
        );
    }
    for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
        for attempt in 1..=MAX_TRIES {
            let kind = ErrorKind::RateLimited { retry_after: wait };
            if let Some(pause) = retry::wait(&method, &kind, attempt, 1.0) {
                assert!(attempt < MAX_TRIES);
                assert!(wait.is_none_or(|wait| pause >= wait), "earlier than asked");
                assert!(pause <= MAX_WAIT * 2, "{pause:?}");
            }
        }
    }
}

/// So many seconds, as a wait.
fn within_an_hour(seconds: i64) -> Duration {
    Duration::from_secs(seconds.clamp(1, 60 * 60).unsigned_abs())
}

/// A moment that the bytes name, told in the three ways of HTTP, is waited for; by the answer's own clock where
/// it tells one.
fn dates(bytes: &[u8], now: DateTime<Utc>) {
    let number = |at: usize| {
        let bytes = bytes.iter().skip(at).chain(&[7; 4]).take(4);
        bytes.fold(0_i64, |number, byte| number * 256 + i64::from(*byte))
    };
    let until = number(0) % 200_000 - 50_000;
    let ahead = number(4) % 4_000_000;
    let theirs = now + TimeDelta::seconds(ahead);
    for form in [
        "%a, %d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
    ] {
        let told = (theirs + TimeDelta::seconds(until))
            .format(form)
            .to_string();
        let date = theirs.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let by_theirs = retry_after(Some(&told), Some(&date), now);
        assert_eq!(
            by_theirs,
            Some(within_an_hour(until)),
            "{told:?} at {date:?}"
        );
        let by_ours = retry_after(Some(&told), None, now);
        assert_eq!(by_ours, Some(within_an_hour(until + ahead)), "{told:?}");
    }
}
