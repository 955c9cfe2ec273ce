//! What the records of the budget add up to at one moment. Pure.

use super::{
    Limits,
    clock::Moment,
    record::{Entry, Record},
};
use std::time::Duration;

/// The rolling minute, with a second more for requests that overtake each other on the way.
pub(super) const MINUTE_MS: i64 = 61_000;
/// The rolling day, likewise.
pub(super) const DAY_MS: i64 = 86_401_000;

/// What was spent, by age.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    /// Age in milliseconds and number of requests, oldest first, all within the day.
    spent: Vec<(i64, u32)>,
    /// The limit per minute that the service named last, within the day.
    named_limit: Option<u32>,
    /// How long the service wants to be left alone.
    blocked_ms: i64,
}

impl Tally {
    /// Adds the records up.
    pub(super) fn of(records: &[Record], now: Moment) -> Self {
        let mut tally = Self {
            spent: Vec::with_capacity(records.len()),
            named_limit: None,
            blocked_ms: 0,
        };
        for record in records {
            let age = now.millis_since(record.at);
            if age >= DAY_MS {
                continue;
            }
            match record.entry {
                Entry::Spent(count) => tally.spent.push((age, count)),
                Entry::Limit(limit) => tally.named_limit = Some(limit),
                Entry::Blocked(millis) => {
                    tally.blocked_ms = tally.blocked_ms.max(i64::from(millis).saturating_sub(age));
                }
            }
        }
        tally.spent.sort_by_key(|&(age, _)| std::cmp::Reverse(age));
        tally
    }

    /// The limit per minute: the smaller of the settings' and the service's.
    pub(super) fn per_minute(&self, limits: &Limits) -> u32 {
        let named = self.named_limit.unwrap_or(u32::MAX);
        limits.per_minute.min(named).max(1)
    }

    /// The limit that the service named last.
    pub(super) fn named_limit(&self) -> Option<u32> {
        self.named_limit
    }

    /// How long the service still wants to be left alone.
    pub(super) fn blocked(&self) -> Option<Duration> {
        (self.blocked_ms > 0).then(|| millis(self.blocked_ms))
    }

    /// Requests spent in the rolling minute.
    pub(super) fn minute(&self) -> u32 {
        self.within(MINUTE_MS)
    }

    /// Requests spent in the rolling day.
    pub(super) fn day(&self) -> u32 {
        self.within(DAY_MS)
    }

    /// How long until one more request fits into `limit` in the rolling minute; `None`: now.
    pub(super) fn minute_frees(&self, limit: u32) -> Option<Duration> {
        self.frees(MINUTE_MS, limit)
    }

    /// How long until one more request fits into `limit` in the rolling day; `None`: now.
    pub(super) fn day_frees(&self, limit: u32) -> Option<Duration> {
        self.frees(DAY_MS, limit)
    }

    fn within(&self, window: i64) -> u32 {
        self.spent
            .iter()
            .filter(|&&(age, _)| age < window)
            .fold(0_u32, |sum, &(_, count)| sum.saturating_add(count))
    }

    fn frees(&self, window: i64, limit: u32) -> Option<Duration> {
        let mut used = self.within(window);
        if used < limit {
            return None;
        }
        for &(age, count) in self.spent.iter().filter(|&&(age, _)| age < window) {
            used = used.saturating_sub(count);
            if used < limit {
                return Some(millis(window - age));
            }
        }
        Some(millis(window))
    }
}

fn millis(count: i64) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}
