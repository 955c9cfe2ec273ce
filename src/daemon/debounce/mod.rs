//! When a path that was touched is taken: pure bookkeeping that is told the time.
//!
//! Nothing noted is ever forgotten. A changed path is taken when nothing happened to it for the quiet period,
//! at the latest at the ceiling after its first event, and not before its push interval is over. A removal
//! waits for its grace time, and is cancelled when the path appears again: editors, checkouts and rebases
//! remove and write anew. Removals that come close together are taken together, so that their number can be
//! judged: nobody wants them to pass one by one. What happens in a folder that waits itself makes the folder wait as well.
//! A path that is never quiet is not left alone for ever either: after a minute it takes part in polls.
//!
//! No clock is read here, and no file: what is taken is looked at by others.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// How long paths wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delays {
    /// How long nothing may have happened to a path.
    pub quiet_period: Duration,
    /// How long after its first event a path is taken although it is not quiet.
    pub ceiling: Duration,
    /// How long a path must be gone before that counts.
    pub delete_grace: Duration,
    /// The shortest time between two pushes of one path.
    pub push_interval: Duration,
}

/// A path in motion is left alone for so long. What is written then is compared at the very instant.
const MAX_MOTION: Duration = Duration::from_mins(1);

/// Removals that follow each other within this time are one deed.
const GROUP_GAP: Duration = Duration::from_secs(5);

/// What was seen of a path last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Touch {
    /// It is there, and was written, made or renamed to.
    Changed,
    /// It is gone.
    Removed,
}

/// What is to be looked at now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DuePaths {
    /// Paths that changed.
    pub changed: BTreeSet<String>,
    /// Paths that have been gone for the grace time, with the moment they went.
    pub removed: BTreeMap<String, Instant>,
}

impl DuePaths {
    /// Returns whether nothing is due.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    /// All paths.
    pub fn paths(&self) -> BTreeSet<String> {
        self.changed
            .iter()
            .chain(self.removed.keys())
            .cloned()
            .collect()
    }

    /// Adds what was taken later: of one path, the later word counts.
    pub fn add_later(&mut self, newer: Self) {
        for path in &newer.changed {
            self.removed.remove(path);
        }
        for path in newer.removed.keys() {
            self.changed.remove(path);
        }
        self.changed.extend(newer.changed);
        self.removed.extend(newer.removed);
    }

    /// Adds what was taken before: of one path, what is there already counts.
    pub fn add_earlier(&mut self, older: Self) {
        let newer = std::mem::replace(self, older);
        self.add_later(newer);
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    touch: Touch,
    /// When the burst of events began.
    first: Instant,
    /// When the last event came.
    last: Instant,
    /// When the path went, as long as it is gone.
    gone: Instant,
}

/// The paths that wait.
#[derive(Clone, Debug)]
pub struct Debounce {
    delays: Delays,
    waiting: BTreeMap<String, Waiting>,
    /// Since when a path has not been quiet, and when it was last touched, whether or not it was taken meanwhile.
    moving: BTreeMap<String, (Instant, Instant)>,
    pushed: BTreeMap<String, Instant>,
}

impl Debounce {
    /// Nothing waits.
    pub fn new(delays: Delays) -> Self {
        Self {
            delays,
            waiting: BTreeMap::new(),
            moving: BTreeMap::new(),
            pushed: BTreeMap::new(),
        }
    }

    /// Goes on with other times, as after the settings were read again.
    pub fn set_delays(&mut self, delays: Delays) {
        self.delays = delays;
    }

    /// Notes that something happened to a path.
    pub fn record(&mut self, path: &str, touch: Touch, now: Instant) {
        for folder in folders_above(path) {
            if let Some(above) = self.waiting.get_mut(folder) {
                above.last = above.last.max(now);
            }
        }
        let quiet = self.delays.quiet_period;
        let (since, last) = self.moving.entry(path.to_owned()).or_insert((now, now));
        if now.saturating_duration_since(*last) >= quiet {
            *since = now;
        }
        *last = now;
        self.waiting
            .entry(path.to_owned())
            .and_modify(|waiting| {
                let was_quiet = now.saturating_duration_since(waiting.last) >= quiet;
                match (waiting.touch, touch) {
                    // A removal that waited quietly is over: the ceiling counts from its return.
                    (Touch::Removed, Touch::Changed) if was_quiet => waiting.first = now,
                    // Nothing goes twice: it was there in between, as when we replaced it ourselves.
                    (Touch::Changed | Touch::Removed, Touch::Removed) => waiting.gone = now,
                    (Touch::Removed | Touch::Changed, Touch::Changed) => {}
                }
                waiting.touch = touch;
                waiting.last = now;
            })
            .or_insert(Waiting {
                touch,
                first: now,
                last: now,
                gone: now,
            });
    }

    /// Notes that a path was pushed: it is not taken again before the push interval is over.
    pub fn pushed(&mut self, path: &str, now: Instant) {
        self.pushed.insert(path.to_owned(), now);
    }

    /// Takes what is due.
    pub fn due(&mut self, now: Instant) -> DuePaths {
        let interval = self.delays.push_interval;
        let quiet = self.delays.quiet_period;
        self.moving
            .retain(|_, (_, last)| now.saturating_duration_since(*last) < quiet);
        self.pushed
            .retain(|_, at| now.saturating_duration_since(*at) < interval);
        let deadlines = self.deadlines();
        let paths: Vec<String> = self
            .waiting
            .iter()
            .filter(|(path, waiting)| deadlines.of(path, waiting) <= now)
            .map(|(path, _)| path.clone())
            .collect();
        let mut due = DuePaths::default();
        for path in paths {
            let Some(waiting) = self.waiting.remove(&path) else {
                continue;
            };
            match waiting.touch {
                Touch::Changed => {
                    due.changed.insert(path);
                }
                Touch::Removed => {
                    due.removed.insert(path, waiting.gone);
                }
            }
        }
        due
    }

    /// When the next path is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        let deadlines = self.deadlines();
        self.waiting
            .iter()
            .map(|(path, waiting)| deadlines.of(path, waiting))
            .min()
    }

    /// The paths that are in motion, or gone for too short a time. One that is quiet and waits for its push
    /// interval alone is none of them: a poll may pull what a colleague wrote there.
    pub fn unsettled(&self, now: Instant) -> BTreeSet<String> {
        let deadlines = self.deadlines();
        self.waiting
            .iter()
            .filter(|(path, waiting)| deadlines.of(path, waiting) > now)
            .filter(|(path, waiting)| match waiting.touch {
                Touch::Removed => true,
                Touch::Changed => {
                    waiting.last + self.delays.quiet_period > now && !self.moves_too_long(path, now)
                }
            })
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Returns whether a path has been in motion for so long that it is not waited for any more.
    fn moves_too_long(&self, path: &str, now: Instant) -> bool {
        self.moving.get(path).is_some_and(|(since, last)| {
            now.saturating_duration_since(*last) < self.delays.quiet_period
                && last.saturating_duration_since(*since) >= MAX_MOTION
        })
    }

    /// How many paths wait, and since when the oldest does: of those that count.
    pub fn backlog(&self, counts: impl Fn(&str) -> bool) -> (usize, Option<Instant>) {
        let waiting = self.waiting.iter().filter(|(path, _)| counts(path));
        waiting.fold((0, None), |(count, oldest), (_, waiting)| {
            let oldest = oldest.map_or(waiting.first, |oldest: Instant| oldest.min(waiting.first));
            (count + 1, Some(oldest))
        })
    }

    fn deadlines(&self) -> Deadlines<'_> {
        let removed = |waiting: &&Waiting| waiting.touch == Touch::Removed;
        let gone = self.waiting.values().filter(removed);
        let mut gone: Vec<Instant> = gone.map(|waiting| waiting.gone).collect();
        gone.sort_unstable();
        let mut ends = gone.clone();
        for at in (1..gone.len()).rev() {
            if gone[at].saturating_duration_since(gone[at - 1]) <= GROUP_GAP {
                ends[at - 1] = ends[at];
            }
        }
        Deadlines {
            quiet: self,
            gone,
            ends,
        }
    }
}

/// When each path is due, as of now.
struct Deadlines<'q> {
    quiet: &'q Debounce,
    /// When each path that is gone went, in order.
    gone: Vec<Instant>,
    /// When the last one went that went together with it.
    ends: Vec<Instant>,
}

impl Deadlines<'_> {
    fn of(&self, path: &str, waiting: &Waiting) -> Instant {
        let delays = self.quiet.delays;
        let quiet = waiting.last + delays.quiet_period;
        match waiting.touch {
            Touch::Removed => {
                let grace = delays.delete_grace;
                let at = self.gone.partition_point(|gone| *gone < waiting.gone);
                let end = self.ends.get(at).copied().unwrap_or(waiting.gone);
                // No removal waits for others longer than for itself.
                quiet.max(end.min(waiting.gone + grace) + grace)
            }
            Touch::Changed => {
                let settled = quiet.min(waiting.first + delays.ceiling);
                match self.quiet.pushed.get(path) {
                    Some(&at) => settled.max(at + delays.push_interval),
                    None => settled,
                }
            }
        }
    }
}

/// The folders above a path, nearest last.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests;
