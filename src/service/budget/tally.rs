//! What the records of the budget add up to at one moment. Pure.

use super::{
    Limits,
    clock::Moment,
    record::{Entry, Record},
};
use std::{collections::BTreeMap, time::Duration};

/// The rolling minute, with a second more for requests that overtake each other on the way.
pub(super) const MINUTE_MS: i64 = 61_000;
/// The rolling day, likewise.
pub(super) const DAY_MS: i64 = 86_401_000;

/// What is kept for an operation is free again after so long: whoever kept it was killed, or waits for
/// something else.
pub(super) const KEPT_MS: i64 = 180_000;

/// What was spent, by age.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    /// Age in milliseconds and number of requests, oldest first, all within the day.
    spent: Vec<(i64, u32)>,
    /// What is kept for operations under way, by the age of the word.
    kept: BTreeMap<i64, u32>,
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
            kept: BTreeMap::new(),
            named_limit: None,
            blocked_ms: 0,
        };
        // What takes something back has the moment of what it takes back, and came after it.
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
                    let kept = tally.kept.entry(age).or_default();
                    *kept = kept.saturating_add(count);
                }
                Entry::Released(count) => {
                    let kept = tally.kept.entry(age).or_default();
                    *kept = kept.saturating_sub(count);
                }
                Entry::Unsent(count) => {
                    let back = unsent.entry(age).or_default();
                    *back = back.saturating_add(count);
                }
            }
        }
        tally.kept.retain(|age, left| *age < KEPT_MS && *left > 0);
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

    /// What is kept for operations under way.
    pub(super) fn kept(&self) -> u32 {
        self.kept
            .values()
            .fold(0, |sum, left| sum.saturating_add(*left))
    }

    /// What is left of that which was kept so long ago.
    pub(super) fn kept_at(&self, age: i64) -> u32 {
        self.kept.get(&age).copied().unwrap_or(0)
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
