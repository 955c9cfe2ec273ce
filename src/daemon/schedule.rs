//! The schedule of the polls. Pure: the caller passes the time.
//!
//! Two clocks are used together. The steady clock ignores changes of the time of day; the wall clock continues while
//! the machine sleeps. A poll is due when either clock says so. After a night's sleep, or after the clock was set
//! forward, one poll is due, not one for each missed poll; a clock that was set back stops nothing (failures rows 104
//! and 105). The budget stretches the interval: all polls of a day must fit into the budget that pushes leave (row
//! 109).
//!
//! [`super::sources`] wakes the loop; this file only decides.

use crate::config::{BudgetLimits, Options, Poll};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use std::time::Duration;
use tokio::time::Instant;

const DAY: Duration = Duration::from_hours(24);

/// The polls that may fail in a row before the daemon counts as unhealthy.
const POLLS_OF_PATIENCE: u32 = 3;

/// A moment on both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The time of day, which may jump.
    pub wall: DateTime<Utc>,
    /// Never jumps, but stands still while the machine sleeps.
    pub steady: Instant,
}

/// Returns the shortest interval at which polls of this cost fit into the day, beside the reserve for pushes.
/// `day_left`: the requests left in the rolling day.
pub fn min_interval(cost: u32, limits: BudgetLimits, day_left: u32) -> Duration {
    let reserve = u64::from(limits.per_day) * u64::from(limits.reserve_for_pushes) / 100;
    let left = u64::from(day_left).saturating_sub(reserve);
    if left == 0 {
        return DAY;
    }
    let seconds = (u64::from(cost.max(1)) * DAY.as_secs()).div_ceil(left);
    Duration::from_secs(seconds).min(DAY)
}

/// The times of the polls.
#[derive(Clone, Debug)]
pub struct Schedule {
    poll: Poll,
    /// The time zone of a cron line.
    zone: Tz,
    /// When the last poll began.
    last: Moment,
}

impl Schedule {
    /// Makes the schedule of `poll:` and `timezone:`. The start of the daemon counts as the first poll.
    pub fn new(options: &Options, now: Moment) -> Self {
        Self {
            poll: options.poll.clone(),
            zone: options.timezone,
            last: now,
        }
    }

    /// Takes over other settings. The time of the last poll stays.
    pub fn replace(&mut self, options: &Options) {
        *self = Self::new(options, self.last);
    }

    /// Records that a poll begins.
    pub fn polled(&mut self, now: Moment) {
        self.last = now;
    }

    /// Notices a clock that was set back, so that a cron line need not wait until the clock has caught up.
    pub fn observe_clock(&mut self, now: Moment) {
        if now.wall < self.last.wall {
            self.last.wall = now.wall;
        }
    }

    /// Returns the time until the next poll, with at least `min_interval` between polls. Zero: the poll is due.
    pub fn wait(&self, now: Moment, min_interval: Duration) -> Duration {
        let steady = now.steady.saturating_duration_since(self.last.steady);
        let wall = (now.wall - self.last.wall).to_std().unwrap_or_default();
        let elapsed = steady.max(wall);
        let stretched = min_interval.saturating_sub(elapsed);
        match &self.poll {
            Poll::Every(period) => period.saturating_sub(elapsed).max(stretched),
            Poll::Cron(pattern) => {
                let before = self.last.wall.with_timezone(&self.zone);
                match pattern.find_next_occurrence(&before, false) {
                    Ok(next) => {
                        let until = next.with_timezone(&Utc) - now.wall;
                        until.to_std().unwrap_or_default().max(stretched)
                    }
                    // A cron line such as 30 February has no next date.
                    Err(_) => DAY,
                }
            }
        }
    }

    /// Returns the time after a good poll at which the third poll after it is due, for health.
    pub fn patience(&self, last: DateTime<Utc>, min_interval: Duration) -> Duration {
        let planned = match &self.poll {
            Poll::Every(period) => *period * POLLS_OF_PATIENCE,
            Poll::Cron(pattern) => {
                let last = last.with_timezone(&self.zone);
                let runs = pattern.iter_after(last).take(POLLS_OF_PATIENCE as usize);
                let third = runs.last().and_then(|run| (run - last).to_std().ok());
                third.unwrap_or(DAY * POLLS_OF_PATIENCE)
            }
        };
        planned.max(min_interval * POLLS_OF_PATIENCE)
    }

    /// Returns the effective interval between polls, for `status`.
    pub fn interval(&self, now: Moment, min_interval: Duration) -> Duration {
        match &self.poll {
            Poll::Every(period) => (*period).max(min_interval),
            Poll::Cron(pattern) => {
                let local = now.wall.with_timezone(&self.zone);
                let mut runs = pattern.iter_after(local).take(2);
                match (runs.next(), runs.next()) {
                    (Some(one), Some(two)) => {
                        (two - one).to_std().unwrap_or_default().max(min_interval)
                    }
                    _ => DAY,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse_poll;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    fn moment(wall: &str, steady: Instant) -> Moment {
        Moment {
            wall: at(wall),
            steady,
        }
    }

    fn cron(line: &str, zone: Tz, last: &str) -> Schedule {
        let options = Options {
            poll: parse_poll(line).expect("a cron line"),
            timezone: zone,
            ..Options::standard()
        };
        Schedule::new(&options, moment(last, Instant::now()))
    }

    /// The schedule of a duration or a cron line, from now on.
    fn schedule(poll: &str, now: Moment) -> Schedule {
        let options = Options {
            poll: parse_poll(poll).expect("a period or a cron line"),
            ..Options::standard()
        };
        Schedule::new(&options, now)
    }

    /// The polls between two times, with a check every `tick`, as in the loop.
    fn polls(mut schedule: Schedule, from: &str, until: &str, tick: u64) -> Vec<String> {
        let mut now = Moment {
            wall: at(from),
            steady: Instant::now(),
        };
        let mut found = Vec::new();
        while now.wall <= at(until) {
            schedule.observe_clock(now);
            if schedule.wait(now, Duration::ZERO).is_zero() {
                schedule.polled(now);
                found.push(now.wall.format("%dT%H:%M:%S").to_string());
            }
            now.wall += Duration::from_secs(tick);
            now.steady += Duration::from_secs(tick);
        }
        found
    }

    #[test]
    fn durations_and_cron_lines_come_when_they_say() {
        let begin = "2026-11-20T09:00:00Z";
        let schedule = |poll: &str| schedule(poll, moment(begin, Instant::now()));
        assert_eq!(
            polls(schedule("5m"), begin, "2026-11-20T09:11:00Z", 1),
            ["20T09:05:00", "20T09:10:00"]
        );
        assert_eq!(
            polls(schedule("20s"), begin, "2026-11-20T09:01:00Z", 1),
            ["20T09:00:20", "20T09:00:40", "20T09:01:00"]
        );
        assert_eq!(
            polls(
                schedule("*/10 8-18 * * 1-5"),
                begin,
                "2026-11-20T09:25:00Z",
                1
            ),
            ["20T09:10:00", "20T09:20:00"]
        );
        assert_eq!(
            polls(schedule("*/30 * * * * *"), begin, "2026-11-20T09:01:00Z", 1),
            ["20T09:00:30", "20T09:01:00"]
        );
    }

    #[test]
    fn cron_lines_go_by_the_zone_and_survive_its_jumps() {
        // Berlin, spring: 02:30 does not exist on the 29th, and comes at 03:00 (01:00 UTC).
        let spring = cron("30 2 * * *", Tz::Europe__Berlin, "2026-03-27T12:00:00Z");
        assert_eq!(
            polls(spring, "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z", 60),
            ["28T01:30:00", "29T01:00:00", "30T00:30:00"]
        );
        // Autumn: 02:30 comes twice on the 25th, and is one poll.
        let autumn = cron("30 2 * * *", Tz::Europe__Berlin, "2026-10-24T12:00:00Z");
        let found = polls(autumn, "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", 60);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], "26T01:30:00");
    }

    #[test]
    fn f105_a_night_of_sleep_is_one_poll() {
        for poll in ["5m", "*/5 * * * *"] {
            let start = Instant::now();
            let begin = moment("2026-11-20T22:00:00Z", start);
            let mut schedule = schedule(poll, begin);
            // The wall clock went on for nine hours, the steady one for a second.
            let morning = moment("2026-11-21T07:00:02Z", start + Duration::from_secs(1));
            schedule.observe_clock(morning);
            assert!(schedule.wait(morning, Duration::ZERO).is_zero(), "{poll:?}");
            schedule.polled(morning);
            assert!(
                schedule.wait(morning, Duration::ZERO) > Duration::from_mins(4),
                "{poll:?}"
            );
        }
    }

    #[test]
    fn f104_a_clock_set_back_stops_nothing() {
        for poll in ["5m", "*/5 * * * *"] {
            let start = Instant::now();
            let begin = moment("2026-11-20T22:00:00Z", start);
            let mut schedule = schedule(poll, begin);
            let mut polled = 0;
            for second in 0..3600_u64 {
                let now = Moment {
                    wall: at("2026-11-13T22:00:00Z") + Duration::from_secs(second),
                    steady: start + Duration::from_secs(second),
                };
                schedule.observe_clock(now);
                if schedule.wait(now, Duration::ZERO).is_zero() {
                    schedule.polled(now);
                    polled += 1;
                }
            }
            assert!((11..=12).contains(&polled), "{poll:?}: {polled}");
        }
    }

    #[test]
    fn f109_the_budget_stretches_the_interval() {
        let limits = BudgetLimits {
            per_minute: 60,
            per_day: 1440,
            reserve_for_pushes: 20,
        };
        for (cost, left, seconds) in [
            (0, 1440, 75),
            (1, 1440, 75),
            (11, 1440, 825),
            (1, 288 + 96, 900),
            (1, 288, 86_400),
            (1, 0, 86_400),
            (5_000, 1440, 86_400),
        ] {
            assert_eq!(
                min_interval(cost, limits, left).as_secs(),
                seconds,
                "{cost} requests a poll, {left} left"
            );
        }
        let now = moment("2026-11-20T22:00:00Z", Instant::now());
        let min_interval = min_interval(11, limits, 1440);
        for poll in ["5m", "*/5 * * * *"] {
            let schedule = schedule(poll, now);
            assert_eq!(schedule.wait(now, min_interval).as_secs(), 825);
            assert_eq!(schedule.interval(now, min_interval).as_secs(), 825);
        }
    }

    #[test]
    fn f012_patience_ends_with_the_third_poll_after_a_good_one() {
        let line = "*/10 8-18 * * 1-5";
        let friday = "2026-11-20T18:00:00Z";
        let weekdays = cron(line, Tz::UTC, friday);
        for (last, third) in [
            ("2026-11-20T17:00:03Z", "2026-11-20T17:30:00Z"),
            // Two polls are left on Friday.
            ("2026-11-20T18:30:03Z", "2026-11-23T08:00:00Z"),
            ("2026-11-20T18:50:03Z", "2026-11-23T08:20:00Z"),
        ] {
            let patience = weekdays.patience(at(last), Duration::ZERO);
            assert_eq!(at(last) + patience, at(third), "{last}");
        }
        let slow = weekdays.patience(at(friday), Duration::from_hours(1));
        assert_eq!(slow, Duration::from_hours(3));
        let now = moment(friday, Instant::now());
        let plain = schedule("5m", now);
        let patience = plain.patience(at(friday), Duration::ZERO);
        assert_eq!(patience, Duration::from_mins(15));
        let never = cron("0 0 30 2 *", Tz::UTC, friday);
        assert_eq!(never.patience(at(friday), Duration::ZERO), DAY * 3);
    }

    #[test]
    fn a_cron_line_without_a_date_is_asked_again_tomorrow() {
        let now = moment("2026-11-20T22:00:00Z", Instant::now());
        let never = cron("0 0 30 2 *", Tz::UTC, "2026-11-20T22:00:00Z");
        assert_eq!(never.wait(now, Duration::ZERO), DAY);
    }
}
