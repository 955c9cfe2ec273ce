//! The counted requests of a service and a token, and the room that they leave. Pure.
//!
//! The requests of one second share an entry with the moment of the last request, so they expire late rather than
//! early.

use super::{BudgetLimits, clock::Moment};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, time::Duration};

/// The rolling minute, with a second more for requests that overtake each other.
pub(super) const MINUTE_MS: i64 = 61_000;
/// The rolling day, likewise.
pub(super) const DAY_MS: i64 = 86_401_000;

/// A number, and the moment at which it was noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Noted {
    at: Moment,
    number: u32,
}

/// The counts of all processes of this machine.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    /// The requests that were sent, oldest first, all within the day.
    spent: Vec<Noted>,
    /// The limit for a minute that the service named last.
    limit: Option<Noted>,
    /// The milliseconds of the pause that the service asked for.
    pause: Option<Noted>,
}

impl Counts {
    /// Drops expired entries, and dates the rest by this boot's clock, so that a later change of the wall clock has no
    /// effect.
    pub(super) fn advance(&mut self, now: Moment) {
        let all = self.spent.iter_mut().chain(&mut self.limit);
        for noted in all.chain(&mut self.pause) {
            noted.at = now.before(now.millis_since(noted.at));
        }
        let age = |noted: &Noted| now.millis_since(noted.at);
        self.spent.retain(|noted| age(noted) < DAY_MS);
        self.limit = self.limit.filter(|noted| age(noted) < DAY_MS);
        let lasts = |noted: &Noted| age(noted) < i64::from(noted.number);
        self.pause = self.pause.filter(lasts);
    }

    /// Counts requests.
    pub(super) fn spend(&mut self, now: Moment, count: u32) {
        match self.spent.last_mut() {
            Some(last) if second(last.at) == second(now) => {
                last.at = now;
                last.number = last.number.saturating_add(count);
            }
            Some(_) | None => self.spent.push(Noted {
                at: now,
                number: count,
            }),
        }
    }

    /// Uncounts a request that was counted at a moment.
    pub(super) fn uncount(&mut self, at: Moment, now: Moment) {
        let age = now.millis_since(at);
        let is_it = |noted: &&mut Noted| now.millis_since(noted.at) <= age && noted.number > 0;
        if let Some(noted) = self.spent.iter_mut().find(is_it) {
            noted.number -= 1;
        }
    }

    /// Notes the limit for a minute that the service named. A limit above ours counts only after a smaller limit.
    pub(super) fn note_limit(&mut self, at: Moment, number: u32, limits: &BudgetLimits) {
        let known = self.limit.map(|limit| limit.number);
        let counts = number < limits.per_minute || known.is_some();
        if number > 0 && known != Some(number) && counts {
            self.limit = Some(Noted { at, number });
        }
    }

    /// Pauses all requests, unless a longer pause is in force.
    pub(super) fn pause(&mut self, at: Moment, wait: Duration) {
        let number = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
        if self.paused(at).is_none_or(|left| left < wait) {
            self.pause = Some(Noted { at, number });
        }
    }

    /// Returns how long the service's pause still lasts.
    pub(super) fn paused(&self, now: Moment) -> Option<Duration> {
        let pause = self.pause?;
        let left = i64::from(pause.number) - now.millis_since(pause.at);
        (left > 0).then(|| millis(left))
    }

    /// Returns the limit for a minute: the smaller one of the settings and the service.
    pub(super) fn per_minute(&self, limits: &BudgetLimits) -> u32 {
        let named = self.limit.map_or(u32::MAX, |limit| limit.number);
        limits.per_minute.min(named).max(1)
    }

    /// Returns the number of requests that a rolling window counts.
    pub(super) fn within(&self, now: Moment, window: i64) -> u32 {
        sum(self.counted(now, window).iter())
    }

    /// Returns the time until a rolling window has room for one more request; `None`: it has room now.
    pub(super) fn free_in(&self, now: Moment, window: i64, limit: u32) -> Option<Duration> {
        let counted = self.counted(now, window);
        let mut used = sum(counted.iter());
        if used < limit {
            return None;
        }
        for noted in counted {
            used = used.saturating_sub(noted.number);
            if used < limit {
                return Some(millis(window - now.millis_since(noted.at)));
            }
        }
        Some(millis(window))
    }

    /// Returns the entries that a rolling window counts, oldest first.
    fn counted(&self, now: Moment, window: i64) -> Vec<Noted> {
        let age = |noted: &Noted| now.millis_since(noted.at);
        let spent = self.spent.iter().copied();
        let mut counted: Vec<_> = spent.filter(|noted| age(noted) < window).collect();
        counted.sort_by_key(|noted| Reverse(age(noted)));
        counted
    }
}

/// Returns the second in which a moment lies.
fn second(at: Moment) -> i64 {
    let millis = if at.boot == 0 { at.wall_ms } else { at.boot_ms };
    millis.div_euclid(1000)
}

fn sum<'n>(noted: impl Iterator<Item = &'n Noted>) -> u32 {
    noted.fold(0, |sum, noted| sum.saturating_add(noted.number))
}

fn millis(count: i64) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}
