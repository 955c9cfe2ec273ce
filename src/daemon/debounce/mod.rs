//! Debounce: decides when a touched path is due. Pure: the caller passes the time, and no file is read.
//!
//! No touched path is ever forgotten. A changed path is due after its quiet period, or at the ceiling after its first
//! event, but not before its push interval has passed. A removal waits for its grace time, and is cancelled when the
//! path appears again, because editors, checkouts and rebases remove files and write them anew. Each further removal
//! restarts the grace time of all waiting removals, up to twice the grace time for each: removals are due together, so
//! that the guards see their number. An event below a waiting folder restarts the folder's quiet period.

use crate::config::Options;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// The delays of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delays {
    /// A changed path is due when no event came for this long.
    pub quiet_period: Duration,
    /// A changed path is due at this age of its first event, quiet or not.
    pub ceiling: Duration,
    /// A removed path is due when it has been absent for this long.
    pub delete_grace: Duration,
    /// The shortest time between two pushes of one path.
    pub push_interval: Duration,
}

/// A path that never becomes quiet is due at this age of its first event.
const CEILING: Duration = Duration::from_secs(5);

impl Delays {
    /// Takes the delays from the settings.
    pub fn of(options: &Options) -> Self {
        Self {
            quiet_period: options.quiet_period,
            ceiling: CEILING.max(options.quiet_period),
            delete_grace: options.delete_grace,
            push_interval: options.push_interval,
        }
    }
}

/// The last event of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Touch {
    /// The path was written, created or renamed to.
    Changed,
    /// The path was removed.
    Removed,
}

/// Paths that are due, each with its last event. A removed path has been absent for its grace time.
pub type DuePaths = BTreeMap<String, Touch>;

#[derive(Clone, Copy, Debug)]
struct Waiting {
    touch: Touch,
    /// When the burst of events began.
    first: Instant,
    /// When the last event came.
    last: Instant,
    /// When the path was removed last.
    gone: Instant,
    /// Whether the wait for the push interval was announced to a person.
    is_announced: bool,
    /// Whether the path equals the state, as after kbsync's own writes; `None`: not compared yet.
    equals_state: Option<bool>,
}

impl Waiting {
    /// Returns when a changed path is quiet, or has been in motion for long enough.
    fn quiet_at(&self, delays: Delays) -> Instant {
        (self.last + delays.quiet_period).min(self.first + delays.ceiling)
    }
}

/// The paths that wait.
#[derive(Clone, Debug)]
pub struct Debounce {
    delays: Delays,
    waiting: BTreeMap<String, Waiting>,
    pushed: BTreeMap<String, Instant>,
}

impl Debounce {
    /// Makes an empty set.
    pub fn new(delays: Delays) -> Self {
        Self {
            delays,
            waiting: BTreeMap::new(),
            pushed: BTreeMap::new(),
        }
    }

    /// Changes the delays, after the settings were read again.
    pub fn set_delays(&mut self, delays: Delays) {
        self.delays = delays;
    }

    /// Records an event.
    pub fn record(&mut self, path: &str, touch: Touch, now: Instant) {
        for folder in folders_above(path) {
            if let Some(above) = self.waiting.get_mut(folder) {
                above.last = above.last.max(now);
            }
        }
        let quiet = self.delays.quiet_period;
        self.waiting
            .entry(path.to_owned())
            .and_modify(|waiting| {
                let was_quiet = now.saturating_duration_since(waiting.last) >= quiet;
                if touch == Touch::Removed {
                    // A second removal means that the path was back in between, as when kbsync replaced the file.
                    waiting.gone = now;
                } else if waiting.touch == Touch::Removed && was_quiet {
                    // The path was absent for a quiet period: the ceiling counts from the path's return.
                    waiting.first = now;
                }
                waiting.touch = touch;
                waiting.last = now;
                waiting.is_announced = false;
                waiting.equals_state = None;
            })
            .or_insert(Waiting {
                touch,
                first: now,
                last: now,
                gone: now,
                is_announced: false,
                equals_state: None,
            });
    }

    /// Returns the changed paths that are quiet and wait only for their push interval, with the remaining time. A path
    /// is returned once after each event.
    pub fn newly_delayed(&mut self, now: Instant) -> Vec<(String, Duration)> {
        let mut delayed = Vec::new();
        for (path, waiting) in &mut self.waiting {
            let Some(&pushed) = self.pushed.get(path) else {
                continue;
            };
            let due = pushed + self.delays.push_interval;
            let is_delayed = waiting.quiet_at(self.delays) <= now && due > now;
            if waiting.touch == Touch::Changed && is_delayed && !waiting.is_announced {
                waiting.is_announced = true;
                delayed.push((path.clone(), due - now));
            }
        }
        delayed
    }

    /// Returns when the next unannounced path becomes quiet and waits only for its push interval.
    pub fn next_delayed(&self, now: Instant) -> Option<Instant> {
        let waiting = self.waiting.iter();
        let waiting = waiting.filter(|(path, waiting)| {
            let is_new = waiting.touch == Touch::Changed && !waiting.is_announced;
            is_new && self.pushed.contains_key(*path)
        });
        let quiet_at = waiting.map(|(_, waiting)| waiting.quiet_at(self.delays));
        quiet_at.filter(|at| *at > now).min()
    }

    /// Records a push: the path is not due again before the push interval has passed.
    pub fn pushed(&mut self, path: &str, now: Instant) {
        self.pushed.insert(path.to_owned(), now);
    }

    /// Takes the paths that are due.
    pub fn due(&mut self, now: Instant) -> DuePaths {
        let interval = self.delays.push_interval;
        self.pushed
            .retain(|_, at| now.saturating_duration_since(*at) < interval);
        let due = self.deadlines().filter(|(.., at)| *at <= now);
        let due: DuePaths = due
            .map(|(path, waiting, _)| (path.clone(), waiting.touch))
            .collect();
        self.waiting.retain(|path, _| !due.contains_key(path));
        due
    }

    /// Returns when the next path is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines().map(|(.., at)| at).min()
    }

    /// Returns the paths in motion, and the removed paths within their grace time. A quiet path that only waits for its
    /// push interval is left out: a poll may pull a colleague's edit into the file.
    pub fn in_motion(&self, now: Instant) -> BTreeSet<String> {
        let is_quiet = |waiting: &Waiting| waiting.last + self.delays.quiet_period <= now;
        self.deadlines()
            .filter(|(_, waiting, at)| {
                *at > now && (waiting.touch == Touch::Removed || !is_quiet(waiting))
            })
            .map(|(path, ..)| path.clone())
            .collect()
    }

    /// Returns the first event of the oldest waiting path among the paths that `counts` accepts.
    pub fn oldest(&self, counts: impl Fn(&str) -> bool) -> Option<Instant> {
        let waiting = self.waiting.iter().filter(|(path, _)| counts(path));
        waiting.map(|(_, waiting)| waiting.first).min()
    }

    /// Marks the waiting paths that equal the state. `drop_unchanged` compares only the paths that were not compared
    /// yet.
    pub fn judge(&mut self, drop_unchanged: impl FnOnce(DuePaths) -> DuePaths) {
        let waiting = self.waiting.iter();
        let unjudged = waiting.filter(|(_, waiting)| waiting.equals_state.is_none());
        let unjudged: DuePaths = unjudged
            .map(|(path, waiting)| (path.clone(), waiting.touch))
            .collect();
        if unjudged.is_empty() {
            return;
        }
        let changed = drop_unchanged(unjudged);
        for (path, waiting) in &mut self.waiting {
            waiting
                .equals_state
                .get_or_insert(!changed.contains_key(path));
        }
    }

    /// Returns the waiting paths that differ from the state or were not compared yet, with their first events.
    pub fn unsent(&self) -> impl Iterator<Item = (&str, Instant)> {
        let waiting = self.waiting.iter();
        let unsent = waiting.filter(|(_, waiting)| waiting.equals_state != Some(true));
        unsent.map(|(path, waiting)| (path.as_str(), waiting.first))
    }

    /// Returns the last event of a path that waits.
    pub(super) fn touch_of(&self, path: &str) -> Option<Touch> {
        self.waiting.get(path).map(|waiting| waiting.touch)
    }

    /// Returns whether no path waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the waiting paths, and when each is due.
    fn deadlines(&self) -> impl Iterator<Item = (&String, &Waiting, Instant)> {
        let delays = self.delays;
        let removed = self
            .waiting
            .values()
            .filter(|waiting| waiting.touch == Touch::Removed);
        let last_gone = removed.map(|waiting| waiting.gone).max();
        self.waiting.iter().map(move |(path, waiting)| {
            let at = match waiting.touch {
                Touch::Removed => {
                    let own = waiting.gone + delays.delete_grace;
                    let last = last_gone.unwrap_or(waiting.gone).min(own);
                    (last + delays.delete_grace).max(waiting.last + delays.quiet_period)
                }
                Touch::Changed => {
                    let quiet_at = waiting.quiet_at(delays);
                    let pushed = self.pushed.get(path);
                    pushed.map_or(quiet_at, |at| quiet_at.max(*at + delays.push_interval))
                }
            };
            (path, waiting, at)
        })
    }
}

/// Returns the folders above a path, nearest last.
pub(super) fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests;
