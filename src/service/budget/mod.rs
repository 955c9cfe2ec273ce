//! The budget: 60 requests a minute and 1,440 a day (API specification, section 8), never exceeded.
//!
//! It counts the requests of all processes of this machine with one token, in a small file
//! (design, section 5). Both windows roll. A request is counted before it is sent: what was sent
//! and lost counts too. What the service says of its own count corrects ours downwards only.
//! Waiting is the client's job.

pub mod clock;
mod ledger;
mod record;
mod tally;

#[cfg(test)]
mod tests;

use super::{Purpose, origin::Origin, token::Token};
use clock::{Clock, Moment, SystemClock, TokioClock};
use ledger::Ledger;
use record::{Entry, Record};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tally::{DAY_MS, Tally};

/// How long a turn at the file is waited for; a turn takes well under a millisecond.
const LOCK_TRIES: u32 = 2000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// What may be spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Requests in a rolling minute.
    pub per_minute: u32,
    /// Requests in a rolling day.
    pub per_day: u32,
    /// What polls leave to pushes, in percent of both.
    pub reserve_for_pushes_percent: u8,
}

impl Default for Limits {
    /// The service's limits (API specification, section 8) and a fifth for pushes.
    fn default() -> Self {
        Self {
            per_minute: 60,
            per_day: 1440,
            reserve_for_pushes_percent: 20,
        }
    }
}

/// Why a request may not be sent now.
#[derive(Debug)]
pub enum Refusal {
    /// The rolling minute is full.
    Minute {
        /// When there is room again.
        free_in: Duration,
    },
    /// The service asked to be left alone.
    Blocked {
        /// For how long.
        free_in: Duration,
    },
    /// The rolling day is full.
    Day {
        /// When there is room again.
        free_in: Duration,
    },
    /// The file could not be read or written; without a count nothing is sent.
    Broken {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The budget of one service and token. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    clock: Arc<dyn Clock>,
    store: Store,
}

#[derive(Clone, Debug)]
enum Store {
    Memory(Arc<Mutex<Vec<Record>>>),
    File(Arc<Ledger>),
}

impl Budget {
    /// Opens the budget of a service and a token, in the folder `budget` below the user's state directory.
    pub fn open(dir: &Path, origin: &Origin, token: &Token, limits: Limits) -> io::Result<Self> {
        Self::open_with(dir, origin, token, limits, Arc::new(SystemClock))
    }

    /// Opens it with a clock of the caller's.
    pub fn open_with(
        dir: &Path,
        origin: &Origin,
        token: &Token,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let name = token.fingerprint(&["budget", origin.as_str()]);
        let ledger = Ledger::at(&dir.join("budget"), &name)?;
        Ok(Self {
            limits,
            clock,
            store: Store::File(Arc::new(ledger)),
        })
    }

    /// A budget that ends with the process, on tokio's clock: for tests and simulations.
    pub fn in_memory(limits: Limits) -> Self {
        Self::in_memory_with(limits, Arc::new(TokioClock::default()))
    }

    /// A budget that ends with the process, with a clock of the caller's.
    pub fn in_memory_with(limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            clock,
            store: Store::Memory(Arc::default()),
        }
    }

    /// Counts one request, if it fits.
    pub async fn try_acquire(&self, purpose: Purpose) -> Result<(), Refusal> {
        self.turn(|tally| {
            let verdict = self.verdict(tally, purpose);
            let entry = verdict.is_ok().then_some(Entry::Spent(1));
            (verdict, entry)
        })
        .await?
    }

    /// Tells whether a request would fit now, and counts none: for those who would rather not wait.
    pub async fn check(&self, purpose: Purpose) -> Result<(), Refusal> {
        self.turn(|tally| (self.verdict(tally, purpose), None))
            .await?
    }

    /// Takes what an answer's headers say of the service's own count: the limit and what is left of it.
    pub async fn observe(&self, limit: Option<u32>, remaining: Option<u32>) -> Result<(), Refusal> {
        if let Some(limit) = limit.filter(|&limit| limit > 0) {
            self.turn(|tally| {
                let news = tally.named_limit() != Some(limit)
                    && (limit < self.limits.per_minute || tally.named_limit().is_some());
                ((), news.then_some(Entry::Limit(limit)))
            })
            .await?;
        }
        if let Some(remaining) = remaining {
            self.turn(|tally| {
                let ours = tally
                    .per_minute(&self.limits)
                    .saturating_sub(tally.minute());
                let others = ours.saturating_sub(remaining);
                ((), (others > 0).then_some(Entry::Spent(others)))
            })
            .await?;
        }
        Ok(())
    }

    /// Leaves the service alone for a while, in all processes (failures row 110).
    pub async fn block(&self, wait: Duration) -> Result<(), Refusal> {
        let millis = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
        self.turn(|_| ((), Some(Entry::Blocked(millis)))).await
    }

    /// What is left of the rolling minute and of the rolling day, for pushes. Nothing, where that cannot be told.
    pub fn left(&self) -> (u32, u32) {
        let records = match &self.store {
            Store::Memory(records) => records
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            Store::File(ledger) => match ledger.read() {
                Ok(records) => records,
                Err(error) => {
                    tracing::warn!(path = %ledger.path().display(), %error, "cannot read the budget");
                    return (0, 0);
                }
            },
        };
        let tally = Tally::of(&records, self.clock.now());
        (
            tally
                .per_minute(&self.limits)
                .saturating_sub(tally.minute()),
            self.limits.per_day.saturating_sub(tally.day()),
        )
    }

    /// The limits that were set.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The clock that the budget goes by; the client waits by it.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn verdict(&self, tally: &Tally, purpose: Purpose) -> Result<(), Refusal> {
        let per_day = self.share(self.limits.per_day, purpose);
        let per_minute = self.share(tally.per_minute(&self.limits), purpose);
        if let Some(free_in) = tally.day_frees(per_day) {
            return Err(Refusal::Day { free_in });
        }
        if let Some(free_in) = tally.blocked() {
            return Err(Refusal::Blocked { free_in });
        }
        if let Some(free_in) = tally.minute_frees(per_minute) {
            return Err(Refusal::Minute { free_in });
        }
        Ok(())
    }

    /// What a purpose may spend of a limit; one request at least, or polls would wait for ever.
    fn share(&self, limit: u32, purpose: Purpose) -> u32 {
        let percent = match purpose {
            Purpose::Push => 100,
            Purpose::Poll => 100_u32.saturating_sub(self.limits.reserve_for_pushes_percent.into()),
        };
        let share = u64::from(limit) * u64::from(percent) / 100;
        u32::try_from(share).unwrap_or(limit).max(1)
    }

    /// Reads the records, asks what to add, and adds it, with nobody in between.
    async fn turn<T>(
        &self,
        decide: impl FnOnce(&Tally) -> (T, Option<Entry>),
    ) -> Result<T, Refusal> {
        match &self.store {
            Store::Memory(records) => {
                let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
                let now = self.clock.now();
                records.retain(|record| now.millis_since(record.at) < DAY_MS);
                let (outcome, entry) = decide(&Tally::of(&records, now));
                records.extend(entry.map(|entry| Record { at: now, entry }));
                Ok(outcome)
            }
            Store::File(ledger) => {
                self.turn_at(ledger, decide)
                    .await
                    .map_err(|source| Refusal::Broken {
                        path: ledger.path().to_owned(),
                        source,
                    })
            }
        }
    }

    async fn turn_at<T>(
        &self,
        ledger: &Ledger,
        decide: impl FnOnce(&Tally) -> (T, Option<Entry>),
    ) -> io::Result<T> {
        for _ in 0..LOCK_TRIES {
            let Some(locked) = ledger.try_lock()? else {
                // A real pause whatever the clock: it is another process that is waited for.
                tokio::time::sleep(LOCK_PAUSE).await;
                continue;
            };
            let records = ledger.read()?;
            // Read the clock under the lock, so that records are in the order of their moments.
            let now: Moment = self.clock.now();
            let (outcome, entry) = decide(&Tally::of(&records, now));
            locked.tidy(&records, now, DAY_MS)?;
            if let Some(entry) = entry {
                locked.append(&Record { at: now, entry })?;
            }
            return Ok(outcome);
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "another process does not let go of the lock",
        ))
    }
}
