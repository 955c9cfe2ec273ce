//! The service's clock, for `updated_at` and `created_at`.

use super::options::TimeGrain;
use chrono::{DateTime, DurationRound, SecondsFormat, TimeDelta, Utc};

/// Returns the time of each change.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// The fixed start; `None`: the real time.
    fixed: Option<DateTime<Utc>>,
    /// The last time that was returned.
    last: Option<DateTime<Utc>>,
}

impl Clock {
    /// Counts from `moment`, with a microsecond for each change.
    pub(super) fn fix(&mut self, moment: DateTime<Utc>) {
        self.fixed = Some(to_micros(moment));
        self.last = None;
    }

    /// Returns the time of a change: later than all earlier changes, unless the time grain is coarse.
    pub(super) fn tick(&mut self, grain: TimeGrain) -> DateTime<Utc> {
        let wished = self.fixed.unwrap_or_else(|| to_micros(Utc::now()));
        let now = match self.last {
            Some(last) if wished <= last => last + TimeDelta::microseconds(1),
            Some(_) | None => wished,
        };
        self.last = Some(now);
        match grain {
            TimeGrain::Micros => now,
            TimeGrain::Seconds => now.duration_trunc(TimeDelta::seconds(1)).unwrap_or(now),
        }
    }
}

fn to_micros(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment
        .duration_trunc(TimeDelta::microseconds(1))
        .unwrap_or(moment)
}

/// Formats a time for people, in UTC.
pub(super) fn to_read(moment: DateTime<Utc>) -> String {
    moment.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats a time as the service does: with microseconds and `Z` (`docs/api.md`, A2).
pub(super) fn stamp(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Micros, true)
}
