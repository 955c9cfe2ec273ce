//! The budget in a simulated world: the product's own budget, by the world's clock, and the ledger that checks it (I6).
//!
//! The budget outlives the process, as its file does. A simulated cycle waits for the minute as the client does, and is
//! refused for the day.

use super::kb::failure;
use super::world::{Shared, World};
use futures_util::future::BoxFuture;
use kbsync::service::budget::clock::{Clock, Moment};
use kbsync::service::budget::{Budget, BudgetLimits, Refusal};
use kbsync::service::{Answer, ErrorKind, Purpose};
use std::sync::Arc;
use std::time::Duration;

pub(super) const MINUTE: i64 = 60_000_000_000;
pub(super) const DAY: i64 = 24 * 60 * MINUTE;

/// The world's time, for the budget.
#[derive(Debug)]
struct WorldClock {
    shared: Shared,
}

impl Clock for WorldClock {
    fn now(&self) -> Moment {
        let now = self.shared.lock().now / 1_000_000;
        Moment {
            wall_ms: now,
            boot: 1,
            boot_ms: now,
        }
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        self.shared.lock().advance(wait);
        Box::pin(tokio::time::advance(wait))
    }
}

/// Returns the limits: the service's, or a few requests, so that a short trace can spend them.
fn limits(thrifty: bool) -> BudgetLimits {
    if thrifty {
        BudgetLimits {
            per_minute: 6,
            per_day: 45,
            ..BudgetLimits::default()
        }
    } else {
        BudgetLimits::default()
    }
}

/// The budget of a world.
#[derive(Clone, Debug)]
pub(crate) struct Purse {
    budget: Budget,
}

impl Purse {
    /// The purse of a world.
    pub(crate) fn new(shared: &Shared) -> Self {
        let thrifty = shared.lock().setup.thrifty;
        let clock = WorldClock {
            shared: shared.clone(),
        };
        Self {
            budget: Budget::in_memory(limits(thrifty), Arc::new(clock)),
        }
    }

    /// Pays for one request, and waits for the minute, except for a write after its guard read (`guarded`), as the
    /// client does.
    pub(crate) async fn pay(
        &self,
        shared: &Shared,
        purpose: Purpose,
        method: &'static str,
        guarded: bool,
    ) -> Answer<()> {
        loop {
            match self.budget.acquire(purpose).await {
                Ok(_) => {
                    shared.lock().sends();
                    return Ok(());
                }
                Err(Refusal::Minute { free_in } | Refusal::Blocked { free_in }) if guarded => {
                    let retry_after = Some(free_in);
                    let kind = ErrorKind::RateLimited { retry_after };
                    return Err(failure(kind, method, None, false));
                }
                Err(refusal) => self.refused(shared, refusal, method).await?,
            }
        }
    }

    /// Waits until there is room for all requests of an operation.
    pub(crate) async fn wait_for_room(
        &self,
        shared: &Shared,
        requests: u32,
        purpose: Purpose,
    ) -> Answer<()> {
        while let Err(refusal) = self.budget.check(requests, purpose).await {
            self.refused(shared, refusal, "GET").await?;
        }
        Ok(())
    }

    /// Waits for the minute; a spent day is an error.
    async fn refused(&self, shared: &Shared, refusal: Refusal, method: &'static str) -> Answer<()> {
        let free_in = match refusal {
            Refusal::Minute { free_in } | Refusal::Blocked { free_in } => free_in,
            Refusal::Day { free_in } => {
                let mut world = shared.lock();
                world.note("  the day is spent");
                world.troubled = true;
                world.ledger.doubt = true;
                let kind = ErrorKind::BudgetSpent { free_in };
                return Err(failure(kind, method, None, false));
            }
            Refusal::Broken { path, source } => panic!("{}: {source}", path.display()),
        };
        self.budget.clock().sleep(free_in).await;
        Ok(())
    }
}

impl World {
    /// Time passes.
    pub(crate) fn advance(&mut self, wait: Duration) {
        self.now += i64::try_from(wait.as_nanos()).expect("short");
        let now = self.now;
        self.mirror.set_time(now);
    }

    /// Sends a request: every rolling minute and every rolling day stay within their limits (I6).
    fn sends(&mut self) {
        let limits = limits(self.setup.thrifty);
        self.sent.push_back(self.now);
        while self.sent.front().is_some_and(|sent| self.now - sent >= DAY) {
            self.sent.pop_front();
        }
        let minute = self.sent.iter().rev();
        let minute = minute.take_while(|sent| self.now - **sent < MINUTE).count();
        for (count, limit, of) in [
            (minute, limits.per_minute, "minute"),
            (self.sent.len(), limits.per_day, "day"),
        ] {
            if u32::try_from(count).is_ok_and(|count| count > limit) {
                self.violated(
                    "I6",
                    format!("{count} requests in a {of}, more than {limit}"),
                );
            }
        }
    }
}
