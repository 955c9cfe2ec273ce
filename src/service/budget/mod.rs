//! The budget: 60 requests a minute and 1,440 a day (`docs/api.md`, A8.1), never exceeded.
//!
//! The budget counts the requests of all processes of this machine with one token, in a small file. Both windows roll.
//! A request is counted before it is sent, so lost requests count as well; only a request that never left this machine
//! is uncounted. The service's own count may lower the rest of the budget, never raise it; a refusal for lack of budget
//! pauses all processes. An operation of several requests waits for room before it begins, so that it is rarely left half
//! done: for all its requests, or for half of a minute's. Nothing is reserved. The client does the waiting.

pub mod clock;
#[cfg(test)]
#[path = "../../../tests/it/support/clocks.rs"]
pub(in crate::service) mod clocks;
mod counts;
mod file;

#[cfg(test)]
mod tests;

use super::{BudgetLeft, Purpose, origin::Origin, token::Token};
pub use crate::model::limits::BudgetLimits;
use clock::{Clock, Moment, SystemClock};
use counts::{Counts, DAY_MS, MINUTE_MS};
use file::CountFile;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The rolling minute, as the budget counts it.
pub(super) const MINUTE: Duration = Duration::from_millis(MINUTE_MS.unsigned_abs());

/// How often the lock is tried. Each holder needs well under a millisecond.
const LOCK_TRIES: u32 = 2000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The reasons why a request may not be sent now.
#[derive(Debug)]
pub enum Refusal {
    /// The rolling minute has too little room.
    Minute {
        /// The time until there is room again.
        free_in: Duration,
    },
    /// The service asked for a pause.
    Blocked {
        /// The length of the pause.
        free_in: Duration,
    },
    /// The rolling day has too little room.
    Day {
        /// The time until there is room again.
        free_in: Duration,
    },
    /// The file could not be read or written. Without a count nothing is sent.
    Broken {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The budget of one service and token. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: BudgetLimits,
    clock: Arc<dyn Clock>,
    store: Store,
}

#[derive(Clone, Debug)]
enum Store {
    Memory(Arc<Mutex<Counts>>),
    File(Arc<CountFile>),
}

impl Budget {
    /// Opens the budget of a service and a token, in the folder `budget` below the user's state directory.
    pub fn open(
        dir: &Path,
        origin: &Origin,
        token: &Token,
        limits: BudgetLimits,
    ) -> io::Result<Self> {
        Self::open_with(dir, origin, token, limits, Arc::new(SystemClock))
    }

    /// Opens the budget with a given clock.
    pub fn open_with(
        dir: &Path,
        origin: &Origin,
        token: &Token,
        limits: BudgetLimits,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let name = token.fingerprint(&["budget", origin.as_str()]);
        let file = CountFile::at(&dir.join("budget"), &name)?;
        Ok(Self {
            limits,
            clock,
            store: Store::File(Arc::new(file)),
        })
    }

    /// Makes a budget that ends with the process, with a given clock: for tests and simulations.
    pub fn in_memory(limits: BudgetLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            clock,
            store: Store::Memory(Arc::default()),
        }
    }

    /// Counts one request, if there is room. Returns the moment at which the request was counted.
    pub async fn acquire(&self, purpose: Purpose) -> Result<Moment, Refusal> {
        self.turn(|counts, now| {
            self.verdict(counts, now, purpose, 1)?;
            counts.spend(now, 1);
            Ok(now)
        })
        .await?
    }

    /// Returns whether there is room for all requests of an operation, and counts none (failures row 114).
    ///
    /// A longer operation may begin with room for half of a minute's requests: while other processes send as well, a
    /// whole minute may never be free.
    pub async fn check(&self, requests: u32, purpose: Purpose) -> Result<(), Refusal> {
        self.turn(|counts, now| self.verdict(counts, now, purpose, requests))
            .await?
    }

    /// Uncounts a request that never left this machine, because there was no connection.
    pub async fn uncount(&self, counted: Moment) -> Result<(), Refusal> {
        self.turn(|counts, now| counts.uncount(counted, now)).await
    }

    /// Takes over the service's own count from an answer's headers: the limit and the rest.
    pub async fn observe(&self, limit: Option<u32>, remaining: Option<u32>) -> Result<(), Refusal> {
        self.turn(|counts, now| {
            if let Some(limit) = limit {
                counts.note_limit(now, limit, &self.limits);
            }
            let ours = self.minute_left(counts, now);
            let others = ours.saturating_sub(remaining.unwrap_or(ours));
            if others > 0 {
                counts.spend(now, others);
            }
        })
        .await
    }

    /// Pauses the requests of all processes (failures row 110).
    pub async fn block(&self, wait: Duration) -> Result<(), Refusal> {
        self.turn(|counts, now| counts.pause(now, wait)).await
    }

    /// Returns the limit of a day.
    pub fn per_day(&self) -> u32 {
        self.limits.per_day
    }

    /// Returns the rest of the rolling minute and of the rolling day, for pushes. Zero if unknown.
    pub fn left(&self) -> BudgetLeft {
        let Some((counts, now)) = self.present() else {
            return BudgetLeft::default();
        };
        let day = counts.within(now, DAY_MS);
        BudgetLeft {
            minute_left: self.minute_left(&counts, now),
            day_left: self.limits.per_day.saturating_sub(day),
        }
    }

    /// Returns the time until a spent day has room again; `None`: the day has room, or the counts are unknown.
    pub fn day_free_in(&self) -> Option<Duration> {
        let (counts, now) = self.present()?;
        counts.free_in(now, DAY_MS, self.limits.per_day)
    }

    /// Returns the time until the next request may be sent, if the minute is spent or the service asked for a pause.
    pub fn minute_free_in(&self) -> Option<Duration> {
        let (counts, now) = self.present()?;
        let minute = counts.free_in(now, MINUTE_MS, counts.per_minute(&self.limits));
        minute.max(counts.paused(now))
    }

    /// Reads the counts as they are now.
    fn present(&self) -> Option<(Counts, Moment)> {
        let mut counts = match &self.store {
            Store::Memory(counts) => locked(counts).clone(),
            Store::File(file) => file
                .read()
                .inspect_err(|error| {
                    tracing::warn!(path = %file.path().display(), %error, "cannot read the budget");
                })
                .ok()?,
        };
        let now = self.clock.now();
        counts.advance(now);
        Some((counts, now))
    }

    fn minute_left(&self, counts: &Counts, now: Moment) -> u32 {
        let spent = counts.within(now, MINUTE_MS);
        counts.per_minute(&self.limits).saturating_sub(spent)
    }

    /// Returns the clock of the budget, which the client uses for its waits.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns whether there is room for requests.
    fn verdict(
        &self,
        counts: &Counts,
        now: Moment,
        purpose: Purpose,
        requests: u32,
    ) -> Result<(), Refusal> {
        let per_day = self.share(self.limits.per_day, purpose);
        let room = per_day - (requests.clamp(1, per_day) - 1);
        if let Some(free_in) = counts.free_in(now, DAY_MS, room) {
            return Err(Refusal::Day { free_in });
        }
        let per_minute = self.share(counts.per_minute(&self.limits), purpose);
        let needed = requests.clamp(1, per_minute.div_ceil(2).max(2).min(per_minute));
        let minute = counts.free_in(now, MINUTE_MS, per_minute - (needed - 1));
        // If the pause and the minute both forbid the request, the longer wait counts.
        match (counts.paused(now), minute) {
            (Some(pause), minute) if minute.is_none_or(|minute| minute <= pause) => {
                Err(Refusal::Blocked { free_in: pause })
            }
            (_, Some(free_in)) => Err(Refusal::Minute { free_in }),
            (_, None) => Ok(()),
        }
    }

    /// Returns the part of a limit that a purpose may spend: at least one request, or polls would never run.
    fn share(&self, limit: u32, purpose: Purpose) -> u32 {
        let percent = match purpose {
            Purpose::Push => 100,
            Purpose::Poll => 100_u32.saturating_sub(self.limits.reserve_for_pushes),
        };
        let share = u64::from(limit) * u64::from(percent) / 100;
        u32::try_from(share).unwrap_or(limit).max(1)
    }

    /// Reads the counts, changes them, and writes them, all under the lock.
    async fn turn<T>(&self, change: impl FnOnce(&mut Counts, Moment) -> T) -> Result<T, Refusal> {
        match &self.store {
            Store::Memory(counts) => {
                let mut counts = locked(counts);
                let now = self.clock.now();
                counts.advance(now);
                Ok(change(&mut counts, now))
            }
            Store::File(file) => {
                self.turn_at(file, change)
                    .await
                    .map_err(|source| Refusal::Broken {
                        path: file.path(),
                        source,
                    })
            }
        }
    }

    async fn turn_at<T>(
        &self,
        file: &CountFile,
        change: impl FnOnce(&mut Counts, Moment) -> T,
    ) -> io::Result<T> {
        for _ in 0..LOCK_TRIES {
            let Some(_lock) = file.try_lock()? else {
                // A real pause, whatever the clock, because the wait is for another process.
                tokio::time::sleep(LOCK_PAUSE).await;
                continue;
            };
            let before = file.read()?;
            let mut counts = before.clone();
            // The clock is read under the lock, so that the counts are in order.
            let now = self.clock.now();
            counts.advance(now);
            let outcome = change(&mut counts, now);
            if counts != before {
                file.replace(&counts)?;
            }
            return Ok(outcome);
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "another process does not release the lock",
        ))
    }
}

fn locked(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
