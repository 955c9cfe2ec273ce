//! The sums of the budget's records at one moment. Pure.

use super::{
    Limits,
    clock::Moment,
    record::{Entry, Record},
};
use std::{collections::BTreeMap, time::Duration};

/// The rolling minute, with a second more for requests that overtake each other.
pub(super) const MINUTE_MS: i64 = 61_000;
/// The rolling day, likewise.
pub(super) const DAY_MS: i64 = 86_401_000;

/// A reservation expires after this time: its owner was killed, or waits for something else.
pub(super) const RESERVED_MS: i64 = 180_000;

/// The requests that were spent, by age.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    /// Age in milliseconds and number of requests, oldest first, all within the day.
    spent: Vec<(i64, u32)>,
    /// The reserved requests, by the age of the reservation.
    reserved: BTreeMap<i64, u32>,
    /// The limit for a minute that the service named last, within the day.
    named_limit: Option<u32>,
    /// How long the service's pause lasts.
    blocked_ms: i64,
}

impl Tally {
    /// Adds the records up.
    pub(super) fn of(records: &[Record], now: Moment) -> Self {
        let mut tally = Self {
            spent: Vec::with_capacity(records.len()),
            reserved: BTreeMap::new(),
            named_limit: None,
            blocked_ms: 0,
        };
        // An uncounted request has the moment of the request, and its record comes later.
        let mut unsent: BTreeMap<i64, u32> = BTreeMap::new();
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
                Entry::Reserved(count) => {
                    let reserved = tally.reserved.entry(age).or_default();
                    *reserved = reserved.saturating_add(count);
                }
                Entry::Released(count) => {
                    let reserved = tally.reserved.entry(age).or_default();
                    *reserved = reserved.saturating_sub(count);
                }
                Entry::Unsent(count) => {
                    let back = unsent.entry(age).or_default();
                    *back = back.saturating_add(count);
                }
            }
        }
        tally
            .reserved
            .retain(|age, left| *age < RESERVED_MS && *left > 0);
        for (age, count) in &mut tally.spent {
            if let Some(back) = unsent.get_mut(age) {
                let less = (*back).min(*count);
                *count -= less;
                *back -= less;
            }
        }
        tally.spent.sort_by_key(|&(age, _)| std::cmp::Reverse(age));
        tally
    }

    /// Returns the limit for a minute: the smaller one of the settings and the service.
    pub(super) fn per_minute(&self, limits: &Limits) -> u32 {
        let named = self.named_limit.unwrap_or(u32::MAX);
        limits.per_minute.min(named).max(1)
    }

    /// Returns the limit that the service named last.
    pub(super) fn named_limit(&self) -> Option<u32> {
        self.named_limit
    }

    /// Returns how long the service's pause still lasts.
    pub(super) fn blocked(&self) -> Option<Duration> {
        (self.blocked_ms > 0).then(|| millis(self.blocked_ms))
    }

    /// Returns the requests spent in the rolling minute.
    pub(super) fn minute(&self) -> u32 {
        self.within(MINUTE_MS)
    }

    /// Returns the requests spent in the rolling day.
    pub(super) fn day(&self) -> u32 {
        self.within(DAY_MS)
    }

    /// Returns the reserved requests.
    pub(super) fn reserved(&self) -> u32 {
        self.reserved
            .values()
            .fold(0, |sum, left| sum.saturating_add(*left))
    }

    /// Returns what is left of the reservation of this age.
    pub(super) fn reserved_at(&self, age: i64) -> u32 {
        self.reserved.get(&age).copied().unwrap_or(0)
    }

    /// Returns the time until the rolling minute has room for one more request; `None`: it has room now.
    pub(super) fn minute_frees(&self, limit: u32) -> Option<Duration> {
        self.frees(MINUTE_MS, limit)
    }

    /// Returns the time until the rolling day has room for one more request; `None`: it has room now.
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
