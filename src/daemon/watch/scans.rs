//! The scans at intervals: instead of events, or beside them.

use super::{Mode, Options, stamps::Stamps};
use crate::daemon::Event;
use std::time::{Duration, Instant};

/// The longest time that new settings go unnoticed between two scans.
const SETTINGS_CHECK: Duration = Duration::from_secs(1);

/// The scans of a watch.
pub(super) struct Scans<'o> {
    options: &'o Options,
    /// Why events are not enough.
    why: String,
    stamps: Stamps,
    /// The interval that was reported last.
    every: Duration,
    /// When the last scan ended.
    last: Instant,
}

impl<'o> Scans<'o> {
    /// Reads the stamps with which the first scan is compared.
    pub(super) fn begin(options: &'o Options, why: &str) -> Self {
        Self {
            options,
            why: why.to_owned(),
            stamps: Stamps::read(&options.roots),
            every: options.rescan.every(),
            last: Instant::now(),
        }
    }

    /// Returns the event that reports the scans.
    pub(super) fn report(&self) -> Event {
        Event::Watching(Mode::Polling {
            every: self.every,
            why: self.why.clone(),
        })
    }

    /// Returns the time until the next scan or the next look at the settings.
    pub(super) fn wait(&self) -> Duration {
        let every = self.options.rescan.every();
        let left = every.saturating_sub(self.last.elapsed());
        left.min(SETTINGS_CHECK)
    }

    /// Scans the files if it is time, and returns the events. `None`: it is not time yet.
    pub(super) fn next(&mut self) -> Option<Vec<Event>> {
        let every = self.options.rescan.every();
        if self.last.elapsed() < every {
            return None;
        }
        let mut events = Vec::new();
        if self.every != every {
            self.every = every;
            events.push(self.report());
        }
        let touched = self.stamps.renew(&self.options.roots).into_iter();
        events.extend(touched.map(|(path, touch)| Event::Touched { path, touch }));
        self.last = Instant::now();
        Some(events)
    }
}
