//! The budget: 60 requests a minute and 1,440 a day (`docs/api.md`, A8.1), never exceeded.
//!
//! The budget counts the requests of all processes of this machine with one token, in a small file. Both windows
//! roll. A request is counted before it is sent, so lost requests count as well; only a request that never left this
//! machine is uncounted. The service's own count may lower the rest of the budget, never raise it. An operation of
//! several requests reserves them before it begins, so that it is not left half done. The client does the waiting.

pub mod clock;
mod last;
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

/// How often the lock is tried. Each holder needs well under a millisecond.
const LOCK_TRIES: u32 = 2000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The limits of the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Requests in a rolling minute.
    pub per_minute: u32,
    /// Requests in a rolling day.
    pub per_day: u32,
    /// The share of both that polls leave to pushes, in percent.
    pub reserve_for_pushes_percent: u8,
}

impl Default for Limits {
    /// The service's limits (`docs/api.md`, A8.1) and a fifth for pushes.
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
    /// The rolling minute is full, or another process has reserved the rest for a moment.
    Minute {
        /// When there is room again.
        free_in: Duration,
    },
    /// The service asked for a pause.
    Blocked {
        /// Its length.
        free_in: Duration,
    },
    /// The rolling day is full.
    Day {
        /// When there is room again.
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

/// The wait before a reserved request is asked for again.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// Requests that are reserved for an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    at: Moment,
    left: u32,
}

impl Reservation {
    /// Returns how many of them are still in force.
    fn in_force(self, tally: &Tally, now: Moment) -> u32 {
        self.left.min(tally.reserved_at(now.millis_since(self.at)))
    }

    /// Returns a record about the reservation, which has the reservation's moment.
    fn record(self, entry: Entry) -> Record {
        Record { at: self.at, entry }
    }
}

/// A counted request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    at: Moment,
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

    /// Opens the budget with a given clock.
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

    /// Makes a budget that ends with the process, on tokio's clock: for tests and simulations.
    pub fn in_memory(limits: Limits) -> Self {
        Self::in_memory_with(limits, Arc::new(TokioClock::default()))
    }

    /// Makes a budget that ends with the process, with a given clock.
    pub fn in_memory_with(limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            clock,
            store: Store::Memory(Arc::default()),
        }
    }

    /// Counts one request, if there is room.
    pub async fn try_acquire(&self, purpose: Purpose) -> Result<(), Refusal> {
        self.acquire(purpose, &mut None).await.map(|_counted| ())
    }

    /// Counts one request, if there is room. Reserved requests are used first.
    pub async fn acquire(
        &self,
        purpose: Purpose,
        reservation: &mut Option<Reservation>,
    ) -> Result<Counted, Refusal> {
        let before = *reservation;
        let (counted, left) = self
            .turn(|tally, now| {
                let own = before.map_or(0, |reservation| reservation.in_force(tally, now));
                if let Err(refusal) = self.verdict(tally, purpose, 1, own) {
                    return (Err(refusal), Vec::new());
                }
                let mut records = vec![Record {
                    at: now,
                    entry: Entry::Spent(1),
                }];
                if let Some(reservation) = before.filter(|_| own > 0) {
                    records.push(reservation.record(Entry::Released(1)));
                }
                (Ok((Counted { at: now }, own.saturating_sub(1))), records)
            })
            .await??;
        *reservation = before
            .map(|reservation| Reservation {
                left,
                ..reservation
            })
            .filter(|reservation| reservation.left > 0);
        Ok(counted)
    }

    /// Reserves requests for an operation, if there is room for all of them (failures row 114). Nobody else gets them
    /// until they are used, released or a few minutes old. An earlier reservation is merged into the new one.
    ///
    /// A longer operation reserves only half a minute's requests: while others work as well, the minute may never be
    /// empty.
    pub async fn reserve(
        &self,
        requests: u32,
        purpose: Purpose,
        reservation: &mut Option<Reservation>,
    ) -> Result<(), Refusal> {
        let before = *reservation;
        *reservation = self
            .turn(|tally, now| {
                let own = before.map_or(0, |reservation| reservation.in_force(tally, now));
                if own >= requests {
                    return (Ok(before), Vec::new());
                }
                if let Err(refusal) = self.verdict(tally, purpose, requests, own) {
                    return (Err(refusal), Vec::new());
                }
                let mut records = Vec::new();
                if let Some(reservation) = before.filter(|_| own > 0) {
                    records.push(reservation.record(Entry::Released(own)));
                }
                let fresh = Reservation {
                    at: now,
                    left: requests,
                };
                records.push(fresh.record(Entry::Reserved(requests)));
                (Ok(Some(fresh)), records)
            })
            .await??;
        Ok(())
    }

    /// Releases a reservation.
    pub async fn release(&self, reservation: Reservation) -> Result<(), Refusal> {
        self.turn(|_, _| {
            (
                (),
                vec![reservation.record(Entry::Released(reservation.left))],
            )
        })
        .await
    }

    /// Uncounts a request that never left this machine, because there was no connection.
    pub async fn uncount(&self, counted: Counted) -> Result<(), Refusal> {
        let record = Record {
            at: counted.at,
            entry: Entry::Unsent(1),
        };
        self.turn(|_, _| ((), vec![record])).await
    }

    /// Returns whether there is room for a request, and counts none: for callers that prefer not to wait.
    pub async fn check(&self, purpose: Purpose) -> Result<(), Refusal> {
        self.turn(|tally, _| (self.verdict(tally, purpose, 1, 0), Vec::new()))
            .await?
    }

    /// Returns whether the day has room for requests, and reserves none.
    pub async fn check_day(&self, requests: u32, purpose: Purpose) -> Result<(), Refusal> {
        self.turn(|tally, _| (self.day_verdict(tally, purpose, requests, 0), Vec::new()))
            .await?
    }

    /// Takes over the service's own count from an answer's headers: the limit and the rest.
    pub async fn observe(&self, limit: Option<u32>, remaining: Option<u32>) -> Result<(), Refusal> {
        if let Some(limit) = limit.filter(|&limit| limit > 0) {
            self.turn(|tally, now| {
                let news = tally.named_limit() != Some(limit)
                    && (limit < self.limits.per_minute || tally.named_limit().is_some());
                let entry = news.then_some(Entry::Limit(limit));
                ((), entry.map(|entry| Record { at: now, entry }))
            })
            .await?;
        }
        if let Some(remaining) = remaining {
            self.turn(|tally, now| {
                let ours = tally
                    .per_minute(&self.limits)
                    .saturating_sub(tally.minute());
                let others = ours.saturating_sub(remaining);
                let entry = (others > 0).then_some(Entry::Spent(others));
                ((), entry.map(|entry| Record { at: now, entry }))
            })
            .await?;
        }
        Ok(())
    }

    /// Pauses the requests of all processes (failures row 110).
    pub async fn block(&self, wait: Duration) -> Result<(), Refusal> {
        let millis = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
        let entry = Entry::Blocked(millis);
        self.turn(|_, now| ((), [Record { at: now, entry }])).await
    }

    /// Returns the requests of a day.
    pub fn per_day(&self) -> u32 {
        self.limits.per_day
    }

    /// Returns the rest of the rolling minute and of the rolling day, for pushes. Zero if unknown.
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
        let reservation = tally.reserved();
        (
            tally
                .per_minute(&self.limits)
                .saturating_sub(tally.minute())
                .saturating_sub(reservation),
            self.limits
                .per_day
                .saturating_sub(tally.day())
                .saturating_sub(reservation),
        )
    }

    /// Returns the limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the clock of the budget, which the client uses for its waits.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns whether there is room for requests; `own` of the reserved requests are the caller's.
    fn verdict(
        &self,
        tally: &Tally,
        purpose: Purpose,
        requests: u32,
        own: u32,
    ) -> Result<(), Refusal> {
        self.day_verdict(tally, purpose, requests, own)?;
        if let Some(free_in) = tally.blocked() {
            return Err(Refusal::Blocked { free_in });
        }
        let per_minute = self.share(tally.per_minute(&self.limits), purpose);
        let others = tally.reserved().saturating_sub(own);
        let together = requests.min(per_minute.div_ceil(2).max(2)).min(per_minute);
        let room = per_minute.saturating_sub(together.saturating_sub(1));
        if let Some(free_in) = tally.minute_frees(room) {
            return Err(Refusal::Minute { free_in });
        }
        if tally.minute_frees(room.saturating_sub(others)).is_some() {
            // The room may be free again as soon as the other operation ends.
            return Err(Refusal::Minute {
                free_in: SHORT_WAIT,
            });
        }
        Ok(())
    }

    fn day_verdict(
        &self,
        tally: &Tally,
        purpose: Purpose,
        requests: u32,
        own: u32,
    ) -> Result<(), Refusal> {
        let per_day = self.share(self.limits.per_day, purpose);
        let others = tally.reserved().saturating_sub(own);
        let requests = requests.max(1).min(per_day);
        let room = per_day.saturating_sub(requests - 1);
        if let Some(free_in) = tally.day_frees(room) {
            return Err(Refusal::Day { free_in });
        }
        if tally.day_frees(room.saturating_sub(others)).is_some() {
            // The day is not spent: the other process may release some.
            return Err(Refusal::Minute {
                free_in: SHORT_WAIT,
            });
        }
        Ok(())
    }

    /// Returns what a purpose may spend of a limit: one request at least, or polls would never run.
    fn share(&self, limit: u32, purpose: Purpose) -> u32 {
        let percent = match purpose {
            Purpose::Push => 100,
            Purpose::Poll => 100_u32.saturating_sub(self.limits.reserve_for_pushes_percent.into()),
        };
        let share = u64::from(limit) * u64::from(percent) / 100;
        u32::try_from(share).unwrap_or(limit).max(1)
    }

    /// Reads the records, decides what to append, and appends it, all under the lock.
    async fn turn<T, R: IntoIterator<Item = Record>>(
        &self,
        decide: impl FnOnce(&Tally, Moment) -> (T, R),
    ) -> Result<T, Refusal> {
        match &self.store {
            Store::Memory(records) => {
                let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
                let now = self.clock.now();
                records.retain(|record| now.millis_since(record.at) < DAY_MS);
                let (outcome, news) = decide(&Tally::of(&records, now), now);
                records.extend(news);
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

    async fn turn_at<T, R: IntoIterator<Item = Record>>(
        &self,
        ledger: &Ledger,
        decide: impl FnOnce(&Tally, Moment) -> (T, R),
    ) -> io::Result<T> {
        for _ in 0..LOCK_TRIES {
            let Some(locked) = ledger.try_lock()? else {
                // A real pause, whatever the clock, because the wait is for another process.
                tokio::time::sleep(LOCK_PAUSE).await;
                continue;
            };
            let records = ledger.read()?;
            // The clock is read under the lock, so that the records are in order.
            let now: Moment = self.clock.now();
            let (outcome, news) = decide(&Tally::of(&records, now), now);
            locked.tidy(&records, now, DAY_MS)?;
            for record in news {
                locked.append(&record)?;
            }
            return Ok(outcome);
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "another process does not let go of the lock",
        ))
    }
}
