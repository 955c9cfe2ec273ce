//! The rate limits (A8.1): rolling windows for each user, on the monotonic clock.
//!
//! A rolling window is the strictest reading of "per minute": a client that complies with it complies with every other
//! reading.

use super::options::Options;
use axum::http::{HeaderMap, HeaderValue};
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);
/// The header with the requests per minute.
pub(super) const LIMIT: &str = "x-ratelimit-limit";
/// The value of the headers if a limit is off.
const UNLIMITED: u32 = 1_000_000;

/// The rate-limit headers of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Allowance {
    /// `x-ratelimit-limit`
    pub(super) limit: u32,
    /// `x-ratelimit-remaining`
    pub(super) remaining: u32,
    /// Whether the request is within the limits.
    pub(super) granted: bool,
}

impl Allowance {
    /// Puts the headers of A8.3 into an answer.
    pub(super) fn tell(self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert("x-ratelimit-remaining", HeaderValue::from(self.remaining));
    }
}

/// The requests of each user in the last 24 hours.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    past: HashMap<u64, VecDeque<Instant>>,
}

impl Limits {
    /// Counts a request of `user`, if it is within the limits.
    pub(super) fn spend(&mut self, options: &Options, user: u64, now: Instant) -> Allowance {
        let past = self.past.entry(user).or_default();
        while past
            .front()
            .is_some_and(|at| now.duration_since(*at) >= DAY)
        {
            past.pop_front();
        }
        let in_minute = past
            .iter()
            .rev()
            .take_while(|at| now.duration_since(**at) < MINUTE)
            .count();
        let minute_left = left(options.per_minute, in_minute);
        let granted = minute_left > 0 && left(options.per_day, past.len()) > 0;
        if granted {
            past.push_back(now);
        }
        Allowance {
            limit: limit(options),
            remaining: if granted { minute_left - 1 } else { 0 },
            granted,
        }
    }

    /// The headers of an answer to a request that is not signed in.
    pub(super) fn signed_out(options: &Options) -> Allowance {
        Allowance {
            limit: limit(options),
            remaining: limit(options),
            granted: true,
        }
    }

    /// Deletes all requests.
    pub(super) fn reset(&mut self) {
        self.past.clear();
    }
}

fn limit(options: &Options) -> u32 {
    match options.per_minute {
        0 => UNLIMITED,
        limit => limit,
    }
}

fn left(limit: u32, used: usize) -> u32 {
    match limit {
        0 => UNLIMITED,
        limit => limit.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX)),
    }
}
