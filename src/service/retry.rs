//! The rule for repeated requests, and the waits before them. Pure: no clock, no randomness.
//!
//! | failure | GET | POST, PUT, DELETE |
//! |---|---|---|
//! | refused for lack of budget (429) | wait, repeat | wait, repeat: it was not carried out |
//! | no connection, lost answer, 5xx | wait, repeat | never: the caller looks first (failures rows 14 to 17) |
//! | any other answer | never | never |
//!
//! There are five attempts in all. `Retry-After` is obeyed; if it exceeds the longest wait, the request fails.

use super::ErrorKind;
use chrono::{DateTime, Utc};
pub use reqwest::Method;
use std::time::Duration;

/// The most attempts for one request.
pub const MAX_TRIES: u32 = 5;

/// The longest wait that the service may ask for. For a longer one, the request fails.
pub const MAX_WAIT: Duration = Duration::from_mins(2);

const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Four of these pauses (5, 10, 20, 40 s) outlast the service's minute.
const FIRST_PAUSE_THROTTLED: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_secs(1);
/// A proxy may ask for a day; all processes would send nothing until then.
const LONGEST: Duration = Duration::from_hours(1);

/// Returns the wait before another attempt, after the `attempt`-th attempt (from 1) failed; `jitter` is from 0 to 1.
/// `None`: no further attempt.
pub fn wait(method: &Method, kind: &ErrorKind, attempt: u32, jitter: f64) -> Option<Duration> {
    if attempt >= MAX_TRIES {
        return None;
    }
    let (asked, first) = if let ErrorKind::RateLimited { retry_after } = kind {
        (retry_after, FIRST_PAUSE_THROTTLED)
    } else if let ErrorKind::Unavailable { retry_after } = kind
        && method.is_safe()
    {
        (retry_after, FIRST_PAUSE)
    } else {
        return None;
    };
    let doubled = || first * 2_u32.saturating_pow(attempt.saturating_sub(1));
    let pause = asked.unwrap_or_else(doubled);
    if pause > MAX_WAIT {
        return None;
    }
    // Jitter only adds to the wait: the request is never repeated earlier than asked.
    Some(
        pause
            + pause
                .min(FIRST_PAUSE_THROTTLED)
                .mul_f64(jitter.clamp(0.0, 1.0) / 4.0),
    )
}

/// Parses `Retry-After`: seconds, or a date relative to the answer's own `Date` (failures row 108).
///
/// `now` replaces a missing date. The result is between 1 s and an hour.
pub fn retry_after(
    value: Option<&str>,
    date: Option<&str>,
    now: DateTime<Utc>,
) -> Option<Duration> {
    let value = value?.trim();
    let wait = if let Ok(seconds) = value.parse::<u64>() {
        Duration::from_secs(seconds)
    } else if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        LONGEST
    } else {
        let until = http_date(value)?;
        let from = date.and_then(http_date).unwrap_or(now);
        (until - from).to_std().unwrap_or(SHORTEST)
    };
    Some(wait.clamp(SHORTEST, LONGEST))
}

/// Parses the three forms of a date in HTTP (RFC 9110, section 5.6.7), with any time zone.
pub(super) fn http_date(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    match DateTime::parse_from_rfc2822(text) {
        Ok(moment) => Some(moment.to_utc()),
        Err(_) => httpdate::parse_http_date(text).ok().map(DateTime::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    const DOWN: ErrorKind = ErrorKind::Unavailable { retry_after: None };
    const THROTTLED: ErrorKind = ErrorKind::RateLimited { retry_after: None };

    fn asked_for(count: u64) -> ErrorKind {
        ErrorKind::RateLimited {
            retry_after: Some(seconds(count)),
        }
    }

    #[test]
    fn the_table_holds_for_every_method_and_failure() {
        let free_in = seconds(1);
        let cases = [
            (THROTTLED, [true, true, true, true]),
            (DOWN, [true, false, false, false]),
            (ErrorKind::Unauthorized, [false; 4]),
            (ErrorKind::Forbidden, [false; 4]),
            (ErrorKind::NotFound, [false; 4]),
            (ErrorKind::Refused, [false; 4]),
            (ErrorKind::BudgetSpent { free_in }, [false; 4]),
            (ErrorKind::Closed, [false; 4]),
            (ErrorKind::Unreadable, [false; 4]),
            (ErrorKind::TooLarge, [false; 4]),
        ];
        for (kind, again) in cases {
            for (method, again) in [Method::GET, Method::POST, Method::PUT, Method::DELETE]
                .into_iter()
                .zip(again)
            {
                let again_after = wait(&method, &kind, 1, 0.0);
                assert_eq!(again_after.is_some(), again, "{method:?} {kind:?}");
                assert_eq!(wait(&method, &kind, MAX_TRIES, 0.0), None);
            }
        }
    }

    #[test]
    fn pauses_double_and_never_shrink_below_what_was_asked() {
        let pause = |kind, attempt, jitter| {
            wait(&Method::GET, kind, attempt, jitter).expect("another attempt")
        };
        let waits: Vec<Duration> = (1..MAX_TRIES)
            .map(|attempt| pause(&DOWN, attempt, 0.0))
            .collect();
        assert_eq!(waits, [1, 2, 4, 8].map(seconds));
        let minute: Duration = (1..MAX_TRIES)
            .map(|attempt| pause(&THROTTLED, attempt, 0.0))
            .sum();
        assert!(minute > seconds(61), "{minute:?}");
        let asked = asked_for(7);
        assert_eq!(pause(&asked, 3, 0.0), seconds(7));
        assert!((seconds(7)..seconds(9)).contains(&pause(&asked, 3, 1.0)));
    }

    #[test]
    fn a_wait_longer_than_ones_patience_is_the_end() {
        let asked = |method, count| wait(method, &asked_for(count), 1, 0.0);
        assert_eq!(asked(&Method::GET, 121), None);
        assert_eq!(asked(&Method::PUT, 120), Some(seconds(120)));
    }

    #[test]
    fn f108_retry_after_is_read_as_seconds_or_date_and_clamped() {
        let now = http_date("Fri, 20 Nov 2026 12:00:00 GMT").expect("a date");
        let cases = [
            (Some("30"), None, Some(seconds(30))),
            (Some(" 0 "), None, Some(seconds(1))),
            (Some("999999999"), None, Some(LONGEST)),
            (Some("99999999999999999999999999"), None, Some(LONGEST)),
            (Some("-5"), None, None),
            (Some("soon"), None, None),
            (Some(""), None, None),
            (None, None, None),
            // The service's clock is a year behind; its own date tells the difference.
            (
                Some("Thu, 20 Nov 2025 12:00:30 GMT"),
                Some("Thu, 20 Nov 2025 12:00:00 GMT"),
                Some(seconds(30)),
            ),
            (
                Some("Fri, 20 Nov 2026 12:01:00 GMT"),
                None,
                Some(seconds(60)),
            ),
            (
                Some("Fri, 20 Nov 2026 12:01:00 GMT"),
                Some("garbled"),
                Some(seconds(60)),
            ),
            (
                Some("Thu, 20 Nov 2025 12:00:00 GMT"),
                None,
                Some(seconds(1)),
            ),
            // The obsolete forms, which every reader has to accept.
            (
                Some("Friday, 20-Nov-26 12:00:45 GMT"),
                None,
                Some(seconds(45)),
            ),
            (
                Some("Fri Nov 20 12:00:45 2026"),
                Some("Friday, 20-Nov-26 12:00:00 GMT"),
                Some(seconds(45)),
            ),
            (Some("Fri, 20 Nov 2099 12:00:00 GMT"), None, Some(LONGEST)),
        ];
        for (value, date, wait) in cases {
            assert_eq!(retry_after(value, date, now), wait, "{value:?} {date:?}");
        }
    }
}
