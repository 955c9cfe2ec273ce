//! Whether the service can be reached: backs off while it cannot, and says so once per change.
//!
//! Pure: told the time and what a cycle met. While something is in the way nothing is tried before
//! [`Reach::retry_at`]; what waits meanwhile keeps its order (failures row 25). A person's command is always
//! tried.

use std::{fmt, time::Duration};
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(15);
const LONGEST: Duration = Duration::from_mins(15);

/// What stopped a cycle as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wall {
    /// No connection, no answer, or a 5xx.
    Unreachable,
    /// The token was not accepted.
    SignedOut,
    /// The budget is spent, or the service asked for patience.
    Spent {
        /// For how long, where that is known.
        wait: Option<Duration>,
    },
    /// The mirror or the state cannot be used.
    Broken,
    /// An answer of the service's ended one cycle, and may not end another one.
    Unusable,
    /// The daemon stops: it was not tried to the end.
    Stopping,
}

impl Wall {
    fn same_kind(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the service cannot be reached",
            Self::SignedOut => "the service does not accept the token",
            Self::Spent { .. } => "the budget of requests is spent",
            Self::Broken => "the mirror or the state cannot be used",
            Self::Unusable => "the service's answer cannot be used",
            Self::Stopping => "the daemon stops",
        })
    }
}

/// A change that is worth a line in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Something is in the way now.
    Down(Wall),
    /// All is well again, after so long.
    Up(Duration),
}

#[derive(Clone, Copy, Debug)]
struct Down {
    wall: Wall,
    since: Instant,
    tries: u32,
    retry_at: Instant,
}

/// The state of the way to the service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    down: Option<Down>,
    /// Spreads the tries of many machines, in percent of the wait: 0 to 20.
    spread: u32,
}

impl Reach {
    /// All is well. `seed` differs between machines, so that they do not come back all at once.
    pub fn new(seed: u32) -> Self {
        Self {
            down: None,
            spread: seed % 21,
        }
    }

    /// Notes how a cycle ended: what was in its way, if anything.
    pub fn met(&mut self, wall: Option<Wall>, now: Instant) -> Option<Turn> {
        let before = self.down;
        let Some(wall) = wall else {
            self.down = None;
            return before.map(|down| Turn::Up(now.saturating_duration_since(down.since)));
        };
        let same = before.filter(|down| down.wall.same_kind(wall));
        let tries = same.map_or(0, |down| down.tries.saturating_add(1));
        let wait = match wall {
            Wall::Spent { wait: Some(wait) } => wait.max(Duration::from_secs(1)),
            // Nobody knows how it would have gone.
            Wall::Stopping => return None,
            Wall::Unreachable
            | Wall::SignedOut
            | Wall::Broken
            | Wall::Unusable
            | Wall::Spent { wait: None } => {
                let doubled = FIRST.saturating_mul(2_u32.saturating_pow(tries.min(10)));
                let wait = doubled.min(LONGEST);
                wait + wait * self.spread / 100
            }
        };
        self.down = Some(Down {
            wall,
            since: same.map_or(now, |down| down.since),
            tries,
            retry_at: now + wait,
        });
        same.is_none().then_some(Turn::Down(wall))
    }

    /// When it may be tried again; `None`: now.
    pub fn retry_at(&self) -> Option<Instant> {
        self.down.map(|down| down.retry_at)
    }

    /// Returns whether it may be tried now.
    pub fn is_open(&self, now: Instant) -> bool {
        self.retry_at().is_none_or(|at| at <= now)
    }

    /// What is in the way.
    pub fn wall(&self) -> Option<Wall> {
        self.down.map(|down| down.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f025_thirty_days_without_a_network_are_two_lines() {
        let mut reach = Reach::new(0);
        let start = Instant::now();
        let end = start + Duration::from_hours(24 * 30);
        let (mut now, mut tries) = (start, 0);
        let mut turns = Vec::new();
        while now < end {
            turns.extend(reach.met(Some(Wall::Unreachable), now));
            tries += 1;
            assert!(!reach.is_open(now));
            now = reach.retry_at().expect("down");
            assert!(reach.is_open(now));
        }
        turns.extend(reach.met(None, now));
        assert_eq!(turns.len(), 2, "{turns:?}");
        assert_eq!(turns[0], Turn::Down(Wall::Unreachable));
        assert!(matches!(turns[1], Turn::Up(after) if after >= Duration::from_hours(24 * 30)));
        assert!((2_880..2_900).contains(&tries), "{tries} tries");
        assert!(reach.is_open(now));
    }

    #[test]
    fn f110_what_the_service_says_of_waiting_is_obeyed() {
        let mut reach = Reach::new(7);
        let now = Instant::now();
        let wait = Some(Duration::from_hours(1));
        assert_eq!(
            reach.met(Some(Wall::Spent { wait }), now),
            Some(Turn::Down(Wall::Spent { wait }))
        );
        assert_eq!(reach.retry_at(), Some(now + Duration::from_hours(1)));
        let wait = Some(Duration::from_secs(10));
        assert_eq!(reach.met(Some(Wall::Spent { wait }), now), None, "no news");
        assert_eq!(
            reach.met(Some(Wall::SignedOut), now),
            Some(Turn::Down(Wall::SignedOut)),
            "another wall is news"
        );
    }

    #[test]
    fn f009_being_stopped_is_neither_an_outage_nor_its_end() {
        let now = Instant::now();
        let mut reach = Reach::new(0);
        assert_eq!(reach.met(Some(Wall::Stopping), now), None);
        assert_eq!(reach.wall(), None);
        reach.met(Some(Wall::Unreachable), now);
        assert_eq!(reach.met(Some(Wall::Stopping), now), None);
        assert_eq!(reach.wall(), Some(Wall::Unreachable));
    }

    #[test]
    fn machines_do_not_come_back_all_at_once() {
        let now = Instant::now();
        let retry = |seed| {
            let mut reach = Reach::new(seed);
            reach.met(Some(Wall::Unreachable), now);
            reach.retry_at().expect("down") - now
        };
        assert_eq!(retry(0), FIRST);
        assert_eq!(retry(20), FIRST + FIRST / 5);
        assert_eq!(retry(21), FIRST);
    }
}
