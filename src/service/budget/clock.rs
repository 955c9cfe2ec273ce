//! The clocks of the budget, and its waits.
//!
//! A [`Moment`] has the wall clock and the time since the machine started, so that a wall clock that is set forward
//! does not refill a window (failures row 106). Nothing here decides how long to wait.

use crate::drill::failpoint;
use futures_util::future::BoxFuture;
use std::{
    fmt,
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A moment on two clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970 by the wall clock, which may jump.
    pub wall_ms: i64,
    /// The number of this start of the machine; 0: unknown.
    pub boot: u64,
    /// Milliseconds since the machine started, including sleep.
    pub boot_ms: i64,
}

impl Moment {
    /// Returns the milliseconds since an earlier moment: within one boot, never more than really passed.
    ///
    /// Across two boots, only the wall clock counts. If the wall clock went back, the time since the start of the
    /// machine is a lower bound.
    pub fn millis_since(self, earlier: Self) -> i64 {
        const SLACK_MS: i64 = 1000;
        let same_boot = self.boot != 0 && self.boot == earlier.boot;
        if same_boot && earlier.boot_ms <= self.boot_ms.saturating_add(SLACK_MS) {
            return self.boot_ms.saturating_sub(earlier.boot_ms).max(0);
        }
        let by_wall = self.wall_ms.saturating_sub(earlier.wall_ms);
        if by_wall >= 0 {
            by_wall
        } else if self.boot != 0 && !same_boot {
            self.boot_ms.max(0)
        } else {
            0
        }
    }

    /// Returns the moment that is `millis` earlier on both clocks.
    #[must_use]
    pub fn before(self, millis: i64) -> Self {
        Self {
            wall_ms: self.wall_ms.saturating_sub(millis),
            boot: self.boot,
            boot_ms: self.boot_ms.saturating_sub(millis),
        }
    }
}

/// A source of time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the present moment.
    fn now(&self) -> Moment;

    /// Waits.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()>;
}

/// The machine's clocks. Without `/proc`, only the wall clock counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let wall_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_millis()).ok())
            .unwrap_or(0);
        match (boot_id(), uptime_ms()) {
            (Some(boot), Some(boot_ms)) => Moment {
                wall_ms,
                boot,
                boot_ms,
            },
            (None, _) | (_, None) => Moment {
                wall_ms,
                boot: 0,
                boot_ms: 0,
            },
        }
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(failpoint::wait(wait)))
    }
}

/// Returns a number for this start of the machine.
fn boot_id() -> Option<u64> {
    static BOOT: OnceLock<Option<u64>> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let digest = crate::model::digest::sha256(&[text.trim().as_bytes()]);
        let mut first = [0_u8; 8];
        first.copy_from_slice(&digest[..8]);
        // 0 means unknown.
        Some(u64::from_le_bytes(first).max(1))
    })
}

/// Returns the milliseconds since the machine started, including sleep, to a hundredth of a second.
fn uptime_ms() -> Option<i64> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    parse_uptime(&text)
}

fn parse_uptime(text: &str) -> Option<i64> {
    let (seconds, rest) = text.split_once('.')?;
    let hundredths = rest.get(..2)?;
    let seconds: i64 = seconds.parse().ok()?;
    let hundredths: i64 = hundredths.parse().ok()?;
    seconds
        .checked_mul(1000)?
        .checked_add(hundredths.checked_mul(10)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(wall_ms: i64, boot: u64, boot_ms: i64) -> Moment {
        Moment {
            wall_ms,
            boot,
            boot_ms,
        }
    }

    #[test]
    fn f106_time_is_measured_by_the_boot_clock_and_across_boots_by_the_wall_clock() {
        let cases = [
            ("same boot", moment(0, 7, 100), moment(50, 7, 900), 800),
            (
                "wall forward",
                moment(0, 7, 0),
                moment(86_400_000, 7, 10),
                10,
            ),
            ("wall back", moment(86_400_000, 7, 0), moment(0, 7, 10), 10),
            (
                "rebooted",
                moment(1000, 7, 900),
                moment(61_000, 8, 5),
                60_000,
            ),
            (
                "rebooted, wall back",
                moment(9000, 7, 900),
                moment(0, 8, 5),
                5,
            ),
            (
                "no boot clock",
                moment(1000, 0, 0),
                moment(3000, 0, 0),
                2000,
            ),
            (
                "no boot clock, wall back",
                moment(9, 0, 0),
                moment(3, 0, 0),
                0,
            ),
            (
                "uptime restarted",
                moment(0, 7, 90_000),
                moment(4000, 7, 10),
                4000,
            ),
        ];
        for (name, earlier, now, millis) in cases {
            assert_eq!(now.millis_since(earlier), millis, "{name}");
        }
    }

    #[test]
    fn uptime_is_read_to_the_hundredth() {
        assert_eq!(parse_uptime("350735.47 234388.90\n"), Some(350_735_470));
        assert_eq!(parse_uptime("5\n"), None);
        assert_eq!(parse_uptime("x.47 1.0"), None);
    }

    #[test]
    fn the_system_clock_does_not_stand_at_zero() {
        let now = SystemClock.now();
        assert!(now.wall_ms > 1_700_000_000_000);
        assert_eq!(now.boot == 0, now.boot_ms == 0);
    }
}
