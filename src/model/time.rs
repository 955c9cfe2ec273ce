//! Times in the state and in reports. No decision compares the times of two machines.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Milliseconds since 1970-01-01T00:00:00Z, by this machine's clock.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// A day in milliseconds.
    pub const DAY: i64 = 24 * 60 * 60 * 1000;

    /// Returns the milliseconds since `earlier`; zero if the clock went back.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// Returns whether the time is less than `millis` ago. A time in the future is not: the clock went back since.
    pub fn is_recent(self, now: Self, millis: i64) -> bool {
        self <= now && now.0.saturating_sub(self.0) < millis
    }

    /// Returns the time `millis` earlier.
    #[must_use]
    pub fn before(self, millis: i64) -> Self {
        Self(self.0.saturating_sub(millis))
    }

    /// Formats the time as RFC 3339 in UTC, to the second.
    pub fn to_rfc3339(self) -> String {
        chrono::DateTime::from_timestamp_millis(self.0).map_or_else(
            || "out of range".to_owned(),
            |moment| moment.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        )
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

/// Formats a duration in words: `2 days 3h 5m`.
pub fn in_words(time: Duration) -> String {
    let written = humantime::format_duration(time).to_string();
    let words = written.split(' ').map(|part| {
        let unit = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let number = &part[..part.len() - unit.len()];
        // Short units have no space before them.
        let gap = if unit.len() > 2 { " " } else { "" };
        format!("{number}{gap}{unit}")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Formats a remaining wait in words, in whole seconds, at least one.
pub fn wait_in_words(wait: Duration) -> String {
    in_words(Duration::from_secs(wait.as_secs().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_reported_in_words_that_can_be_read_again() {
        for (seconds, words) in [
            (0, "0s"),
            (61, "1m 1s"),
            (86_400, "1 day"),
            (2 * 86_400 + 3 * 3600 + 5, "2 days 3h 5s"),
        ] {
            let time = Duration::from_secs(seconds);
            assert_eq!(in_words(time), words);
            assert_eq!(humantime::parse_duration(words), Ok(time), "{words}");
        }
        assert_eq!(in_words(Duration::from_millis(200)), "200ms");
    }

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(
            Timestamp(1_767_225_600_123).to_string(),
            "2026-01-01T00:00:00Z"
        );
        assert_eq!(Timestamp(5).millis_since(Timestamp(9)), 0);
    }
}
