//! Back-off during an outage. Reports the beginning and the end of each outage once.
//!
//! Pure: the caller passes the time and the outcome of each cycle. During an outage, no cycle starts before
//! [`OutageBackoff::retry_at`], and the waiting work keeps its order (failures row 25). A person's command is always
//! tried.

use crate::service::ErrorKind;
use std::{fmt, time::Duration};
use tokio::time::Instant;

const FIRST_WAIT: Duration = Duration::from_secs(15);
const LONGEST_WAIT: Duration = Duration::from_mins(15);

/// A failure that stops all requests, not only one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outage {
    /// No connection, no answer, or a status of 500 and above.
    Unreachable,
    /// The service rejected the token.
    TokenRejected,
    /// The budget of the day is spent.
    BudgetSpent {
        /// The time until the budget has room again.
        free_in: Duration,
    },
    /// The service asked for a pause.
    Throttled {
        /// The length of the pause, if known.
        wait: Option<Duration>,
    },
    /// The mirror or the state cannot be used.
    MirrorUnusable,
    /// An unusable answer ended one cycle; another cycle may succeed.
    UnusableAnswer,
    /// The daemon is stopping: the cycle was interrupted.
    Stopping,
}

impl Outage {
    /// Returns the outage that a failure stands for; `None`: other requests may succeed.
    pub fn of(kind: &ErrorKind) -> Option<Self> {
        match kind {
            ErrorKind::Unauthorized => Some(Self::TokenRejected),
            ErrorKind::RateLimited { retry_after } => Some(Self::Throttled { wait: *retry_after }),
            ErrorKind::BudgetSpent { free_in } => Some(Self::BudgetSpent { free_in: *free_in }),
            ErrorKind::Unavailable { .. } => Some(Self::Unreachable),
            ErrorKind::Closed => Some(Self::Stopping),
            ErrorKind::Forbidden
            | ErrorKind::NotFound
            | ErrorKind::Refused
            | ErrorKind::Unreadable
            | ErrorKind::TooLarge => None,
        }
    }

    /// Returns the pause after which the outage is known to end. Without a known pause, the back-off grows from try to
    /// try.
    pub fn known_pause(self) -> Option<Duration> {
        match self {
            Self::BudgetSpent { free_in: pause } | Self::Throttled { wait: Some(pause) } => {
                Some(pause.max(Duration::from_secs(1)))
            }
            Self::Unreachable
            | Self::TokenRejected
            | Self::Throttled { wait: None }
            | Self::MirrorUnusable
            | Self::UnusableAnswer
            | Self::Stopping => None,
        }
    }

    /// Returns whether only the budget of requests is spent.
    pub fn is_of_budget(self) -> bool {
        matches!(self, Self::BudgetSpent { .. } | Self::Throttled { .. })
    }

    fn is_same_kind(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the service cannot be reached",
            Self::TokenRejected => "the service does not accept the token",
            Self::BudgetSpent { .. } => "the requests of this day are spent",
            Self::Throttled { .. } => "the service asked for a pause",
            Self::MirrorUnusable => "the mirror or the state cannot be used",
            Self::UnusableAnswer => "the service's answer cannot be used",
            Self::Stopping => "the daemon is stopping",
        })
    }
}

/// A change that is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutageChange {
    /// An outage began.
    Began(Outage),
    /// The outage ended, after this time.
    Ended(Duration),
}

#[derive(Clone, Copy, Debug)]
struct Ongoing {
    outage: Outage,
    since: Instant,
    failures: u32,
    retry_at: Instant,
}

/// The state of the back-off.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutageBackoff {
    ongoing: Option<Ongoing>,
    /// Spreads the retries of many machines, in percent of the wait: 0 to 20.
    jitter: u32,
}

impl OutageBackoff {
    /// Starts without an outage. `seed` differs between machines, so that they do not retry at the same moment.
    pub fn new(seed: u32) -> Self {
        Self {
            ongoing: None,
            jitter: seed % 21,
        }
    }

    /// Records how a cycle ended. Returns a change that is worth a log line. `began`: the earliest moment at which the
    /// outage may have begun, because a cycle waits long for the service before it gives up.
    pub fn record(
        &mut self,
        outage: Option<Outage>,
        began: Instant,
        now: Instant,
    ) -> Option<OutageChange> {
        let before = self.ongoing;
        let Some(outage) = outage else {
            self.ongoing = None;
            return before
                .map(|ongoing| OutageChange::Ended(now.saturating_duration_since(ongoing.since)));
        };
        // An interrupted cycle says nothing about the service.
        if outage == Outage::Stopping {
            return None;
        }
        let same = before.filter(|ongoing| ongoing.outage.is_same_kind(outage));
        let failures = same.map_or(0, |ongoing| ongoing.failures.saturating_add(1));
        let wait = if let Some(pause) = outage.known_pause() {
            // This clock stands still while the machine sleeps. A try during the pause sends nothing: the budget
            // refuses.
            pause.min(LONGEST_WAIT)
        } else {
            let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(failures.min(10)));
            let wait = doubled.min(LONGEST_WAIT);
            wait + wait * self.jitter / 100
        };
        self.ongoing = Some(Ongoing {
            outage,
            since: same.map_or(began, |ongoing| ongoing.since),
            failures,
            retry_at: now + wait,
        });
        same.is_none().then_some(OutageChange::Began(outage))
    }

    /// Returns when the next retry may start; `None`: at once.
    pub fn retry_at(&self) -> Option<Instant> {
        self.ongoing.map(|ongoing| ongoing.retry_at)
    }

    /// Lets the next retry start at once: a person has asked for it, or has changed something.
    pub fn retry_now(&mut self) {
        if let Some(ongoing) = &mut self.ongoing {
            ongoing.retry_at = ongoing.since;
        }
    }

    /// Returns whether a cycle may start now.
    pub fn may_try(&self, now: Instant) -> bool {
        self.retry_at().is_none_or(|at| at <= now)
    }

    /// Returns the current outage.
    pub fn current(&self) -> Option<Outage> {
        self.ongoing.map(|ongoing| ongoing.outage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f025_thirty_days_without_a_network_are_two_lines() {
        let mut backoff = OutageBackoff::new(0);
        let start = Instant::now();
        let end = start + Duration::from_hours(24 * 30);
        let (mut now, mut failures) = (start, 0);
        let mut changes = Vec::new();
        while now < end {
            changes.extend(backoff.record(Some(Outage::Unreachable), now, now));
            failures += 1;
            assert!(!backoff.may_try(now));
            now = backoff.retry_at().expect("ongoing");
            assert!(backoff.may_try(now));
        }
        changes.extend(backoff.record(None, now, now));
        assert_eq!(changes.len(), 2, "{changes:?}");
        assert_eq!(changes[0], OutageChange::Began(Outage::Unreachable));
        assert!(
            matches!(changes[1], OutageChange::Ended(after) if after >= Duration::from_hours(24 * 30))
        );
        assert!((2_880..2_900).contains(&failures), "{failures} failures");
        assert!(backoff.may_try(now));
    }

    #[test]
    fn f110_what_the_service_says_of_waiting_is_obeyed() {
        let mut backoff = OutageBackoff::new(7);
        let now = Instant::now();
        let wait = Some(Duration::from_mins(10));
        assert_eq!(
            backoff.record(Some(Outage::Throttled { wait }), now, now),
            Some(OutageChange::Began(Outage::Throttled { wait }))
        );
        assert_eq!(backoff.retry_at(), Some(now + Duration::from_mins(10)));
        let wait = Some(Duration::from_secs(10));
        assert_eq!(
            backoff.record(Some(Outage::Throttled { wait }), now, now),
            None,
            "no news"
        );
        assert_eq!(
            backoff.record(Some(Outage::TokenRejected), now, now),
            Some(OutageChange::Began(Outage::TokenRejected)),
            "another outage is news"
        );
    }

    #[test]
    fn f105_a_long_pause_is_looked_at_again_because_the_machine_may_have_slept() {
        let mut backoff = OutageBackoff::new(7);
        let now = Instant::now();
        let free_in = Duration::from_hours(10);
        backoff.record(Some(Outage::BudgetSpent { free_in }), now, now);
        assert!(!backoff.may_try(now));
        assert!(backoff.may_try(now + LONGEST_WAIT));
    }

    #[test]
    fn f009_being_stopped_is_neither_an_outage_nor_its_end() {
        let now = Instant::now();
        let mut backoff = OutageBackoff::new(0);
        assert_eq!(backoff.record(Some(Outage::Stopping), now, now), None);
        assert_eq!(backoff.current(), None);
        backoff.record(Some(Outage::Unreachable), now, now);
        assert_eq!(backoff.record(Some(Outage::Stopping), now, now), None);
        assert_eq!(backoff.current(), Some(Outage::Unreachable));
    }

    #[test]
    fn a_person_who_asks_does_not_wait_for_the_next_retry() {
        let now = Instant::now();
        let mut backoff = OutageBackoff::new(0);
        backoff.retry_now();
        assert!(backoff.may_try(now));
        backoff.record(Some(Outage::TokenRejected), now, now);
        assert!(!backoff.may_try(now));
        backoff.retry_now();
        assert!(backoff.may_try(now));
        // The outage is the same one.
        assert_eq!(backoff.record(Some(Outage::TokenRejected), now, now), None);
        assert!(!backoff.may_try(now));
    }

    #[test]
    fn machines_do_not_come_back_all_at_once() {
        let now = Instant::now();
        let retry = |seed| {
            let mut backoff = OutageBackoff::new(seed);
            backoff.record(Some(Outage::Unreachable), now, now);
            backoff.retry_at().expect("ongoing") - now
        };
        assert_eq!(retry(0), FIRST_WAIT);
        assert_eq!(retry(20), FIRST_WAIT + FIRST_WAIT / 5);
        assert_eq!(retry(21), FIRST_WAIT);
    }
}
