//! The work queue: touched paths, full cycles and commands, and the rule which of them is next.
//!
//! Pure: the caller passes the time, and no file is read. The rules:
//! - Work stays in the queue until a cycle has done it. Work that a cycle could not do is queued again.
//! - A full cycle skips files in motion, but not a file that equals the state. If a skipped file turns out to be
//!   unchanged, another full cycle follows.
//! - An article that changed on the service after it was read is retried at once, a few times.
//! - Commands go first, because a person waits. Pushes are next, then the full cycle. A full cycle that waited for too
//!   long goes before the pushes.
//! - After lost events, the full cycle waits for files in motion, and does not run if no file has changed. After new
//!   ignore rules, it neither waits nor depends on changed files.
//! - While git is busy, or another branch than the published one is checked out, or during an outage, only commands
//!   and plans run.
//! - The first job is a full cycle, and starts when the watch is set up, so that no change is missed.

mod finish;
mod next_job;
mod summary;

pub use finish::is_push;

use super::{
    control::QueuedCommand,
    debounce::{Debounce, Delays, DuePaths, Touch, folders_above},
    git::{self, Busy, Known, Pause},
    job::{Job, Trigger},
    outage::{Outage, OutageBackoff},
    schedule::{self, Moment, Schedule},
    watch::RescanCause,
};
use crate::{
    config::Options,
    engine::{GIT_PATIENCE, report::BudgetLeft},
};
use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// How often the rest of the budget is read.
const BUDGET_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The next job.
#[derive(Debug)]
pub struct NextJob {
    /// The cycle.
    pub job: Job,
    /// The command that it carries out, with its client.
    pub command: Option<QueuedCommand>,
    /// Whether lost events are the only reason for the job: a scan shows whether the cycle is needed.
    pub only_if_changed: bool,
}

/// The waiting work.
#[derive(Debug)]
pub struct WorkQueue {
    settings: Options,
    debounce: Debounce,
    schedule: Schedule,
    outage: OutageBackoff,
    /// The due paths that wait for a cycle.
    due: DuePaths,
    /// Work that one cycle could not do although there is no outage. It has a back-off of its own.
    deferred: Deferred,
    /// The time since which the oldest due path waits.
    due_since: Option<Instant>,
    /// The due paths that the running cycle deals with.
    running: DuePaths,
    /// Paths that the last full cycle skipped, and that wait since: in motion, or missing for less than their grace
    /// time.
    skipped: BTreeSet<String>,
    /// The files that the last full cycle missed. Their grace time has begun.
    missing: BTreeSet<String>,
    full_cycle: Option<Trigger>,
    /// The time since which the full cycle could have run.
    full_cycle_since: Option<Instant>,
    /// Whether the start, or a rescan, waits for a complete full cycle.
    needs_full_cycle: bool,
    commands: VecDeque<QueuedCommand>,
    /// Whether the watch is set up, or has failed: before that, a change may go unnoticed.
    has_watch_answer: bool,
    /// The repositories around the mirror.
    git: Vec<Known>,
    /// Why git pauses the sync.
    pause: Option<Pause>,
    /// When this pause began.
    paused_since: Instant,
    min_interval: Duration,
    budget_checked: Option<Instant>,
    poll_cost: u32,
}

impl WorkQueue {
    /// Makes a queue whose first job is the full cycle at the start.
    pub fn new(settings: Options, now: Moment, outage: OutageBackoff) -> Self {
        Self {
            debounce: Debounce::new(Delays::of(&settings)),
            schedule: Schedule::new(&settings, now),
            outage,
            settings,
            due: DuePaths::default(),
            deferred: Deferred::default(),
            due_since: None,
            running: DuePaths::default(),
            skipped: BTreeSet::new(),
            missing: BTreeSet::new(),
            full_cycle: Some(Trigger::Startup),
            full_cycle_since: None,
            needs_full_cycle: true,
            commands: VecDeque::new(),
            has_watch_answer: false,
            git: Vec::new(),
            pause: None,
            paused_since: now.steady,
            min_interval: Duration::ZERO,
            budget_checked: None,
            poll_cost: 1,
        }
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &Options {
        &self.settings
    }

    /// Takes over new settings. New settings may end an outage, so the next try is at once.
    pub fn set_settings(&mut self, settings: Options) {
        self.outage.retry_now();
        self.debounce.set_delays(Delays::of(&settings));
        self.schedule.replace(&settings);
        self.settings = settings;
    }

    /// Adds an event of a path.
    pub fn touched(&mut self, path: &str, touch: Touch, now: Instant) {
        for waiting in [&mut self.due, &mut self.deferred.due, &mut self.running] {
            // A change that waits ends with the removal of its path, because the removal has a grace time.
            let ends_change = touch == Touch::Removed;
            // A removal that waits begins anew with each event: the path may have been back in between.
            let restarts_removal = waiting.get(path) == Some(&Touch::Removed);
            if ends_change || restarts_removal {
                waiting.remove(path);
            }
        }
        self.missing.remove(path);
        self.debounce.record(path, touch, now);
    }

    /// Takes the files that a full cycle missed. Their removals may have had no event, so the grace time of each begins
    /// now, unless it is over or has begun.
    pub fn note_missing(&mut self, mut missing: BTreeSet<String>, now: Instant) {
        // A file with an event since then may be back.
        missing.retain(|path| self.debounce.touch_of(path) != Some(Touch::Changed));
        let before = std::mem::replace(&mut self.missing, missing);
        let waited = |path: &str| {
            let due = [&self.running, &self.due, &self.deferred.due];
            let mut touches = due.iter().filter_map(|due| due.get(path));
            touches.any(|touch| *touch == Touch::Removed)
                || self.debounce.touch_of(path) == Some(Touch::Removed)
        };
        let is_new = |path: &&String| {
            let mut with_folders = folders_above(path).chain([path.as_str()]);
            !before.contains(*path) && !with_folders.any(waited)
        };
        let new: BTreeSet<String> = self.missing.iter().filter(is_new).cloned().collect();
        for path in &new {
            self.debounce.record(path, Touch::Removed, now);
        }
        self.skipped.extend(new);
    }

    /// Adds a full cycle, because it is unknown which paths were touched.
    pub fn rescan(&mut self, cause: RescanCause) {
        self.needs_full_cycle = true;
        self.want(match cause {
            // Files under new ignore rules have not changed.
            RescanCause::Rules => Trigger::Poll,
            RescanCause::Overflow
            | RescanCause::Error
            | RescanCause::Replaced
            | RescanCause::Fallback => Trigger::Rescan,
        });
    }

    /// Adds a full cycle. A rescan, which waits and may not be needed, gives way to any other.
    fn want(&mut self, trigger: Trigger) {
        self.full_cycle = self.full_cycle.into_iter().chain([trigger]).min();
    }

    /// Records that the watch is set up, or could not be set up.
    pub fn watch_answered(&mut self) {
        self.has_watch_answer = true;
    }

    /// Adds a full cycle.
    pub fn sync_now(&mut self) {
        self.outage.retry_now();
        self.want(Trigger::Manual);
    }

    /// Adds a command.
    pub fn add_command(&mut self, command: QueuedCommand) {
        self.commands.push_back(command);
    }

    /// Takes over the repositories around the mirror.
    pub fn set_git(&mut self, found: Vec<Known>, now: Instant) {
        let pause = git::pause(&self.settings.git_branch, &found);
        if pause != self.pause {
            self.paused_since = now;
        }
        self.pause = pause;
        self.git = found;
    }

    /// Adds a poll if one is due. `left` is called only if the answer matters.
    pub fn tick(&mut self, now: Moment, left: impl FnOnce() -> BudgetLeft) {
        self.schedule.observe_clock(now);
        let stale = self
            .budget_checked
            .is_none_or(|at| now.steady.saturating_duration_since(at) >= BUDGET_CHECK_INTERVAL);
        if stale && self.schedule.wait(now, Duration::ZERO).is_zero() {
            self.budget_checked = Some(now.steady);
            let limits = self.settings.budget;
            self.min_interval = schedule::min_interval(self.poll_cost, limits, left().day_left);
        }
        if self.schedule.wait(now, self.min_interval).is_zero() {
            self.want(Trigger::Poll);
        }
    }

    /// Marks the waiting paths that a person changed: only these count as unsent.
    pub fn judge(&mut self, drop_unchanged: impl FnOnce(DuePaths) -> DuePaths) {
        self.debounce.judge(drop_unchanged);
    }

    /// Returns the time until the next request: until the next poll, or until the retry in an outage if work waits.
    pub fn next_try(&self, now: Moment) -> Duration {
        let waits = self.full_cycle.is_some() || !self.due.is_empty();
        let retry_at = self.outage.retry_at();
        let pause = retry_at.map(|at| at.saturating_duration_since(now.steady));
        let poll = self.schedule.wait(now, self.min_interval);
        match pause {
            Some(pause) if waits => pause,
            Some(pause) => poll.max(pause),
            None => poll,
        }
    }

    /// Returns the files that were saved and wait only for their push interval, each once.
    pub fn newly_delayed(&mut self, now: Moment) -> Vec<(String, Duration)> {
        if self.pause.is_some() || !self.outage.may_try(now.steady) {
            return Vec::new();
        }
        self.debounce.newly_delayed(now.steady)
    }

    /// Returns the outage, and the changed files that wait for its end.
    pub fn stopped(&self) -> Option<(Outage, BTreeSet<String>)> {
        let outage = self.outage.current()?;
        let files = self.due.iter();
        let files =
            files.filter(|(path, touch)| **touch == Touch::Changed && summary::is_file(path));
        Some((outage, files.map(|(path, _)| path.clone()).collect()))
    }

    /// Returns why git pauses the sync.
    pub const fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    /// Takes a command that the pause forbids, because the command would write. A new lock of git's index forbids none:
    /// the command's cycle waits for a short git command.
    pub fn take_refused(&mut self, now: Instant) -> Option<(QueuedCommand, Pause)> {
        let why = self.pause.clone()?;
        let is_new = now.saturating_duration_since(self.paused_since) < GIT_PATIENCE;
        let may_pass = is_new && why == Pause::Busy(Busy::Lock);
        let command = self.take_command(|command| {
            // A restore writes files before its cycle looks at git.
            command.writes() && !(may_pass && command.command().restore.is_empty())
        })?;
        Some((command, why))
    }

    /// Takes the first command with a property.
    pub fn take_command(
        &mut self,
        is_meant: impl FnMut(&QueuedCommand) -> bool,
    ) -> Option<QueuedCommand> {
        let at = self.commands.iter().position(is_meant)?;
        self.commands.remove(at)
    }
}

/// Work that a cycle could not do, and when it is retried.
#[derive(Debug, Default)]
struct Deferred {
    due: DuePaths,
    full_cycle: bool,
    backoff: OutageBackoff,
}

impl Deferred {
    fn is_empty(&self) -> bool {
        self.due.is_empty() && !self.full_cycle
    }
}
