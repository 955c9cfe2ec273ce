//! The work_queue: what came in, what waits, and what is to be outcome next. The loop's memory, without its waiting.
//!
//! It is told the time, and reads neither clock nor file. Its rules:
//! - What came in is kept until a cycle dealt with it; what a cycle could not deal with comes back.
//! - A look at everything leaves out what is in motion, and no more: a file that is what the state says takes part.
//!   What was left out and turns out to be unchanged is caught up with by another look.
//! - An article that changed on the service after it was read is tried again at once, a few times.
//! - Commands go first: a person waits. Then pushes, then doubts, then polls; but a storm of saves does not
//!   put off a doubt or a poll for ever: one that waited long enough has its turn.
//! - While git works, or another branch than the published one is checked out, or the service is out of reach, everything waits
//!   but plans and a person's commands.
//! - The start is a look at everything, and waits until the watch is set up: nothing falls between.

mod finish;
mod next_job;
mod summary;

pub use finish::is_push;
pub use summary::QueueSummary;

use super::{
    control::QueuedCommand,
    debounce::{Debounce, DuePaths, Touch},
    git::{self, Busy, Known, NotPublished},
    job::{Job, Trigger},
    outage::{Outage, OutageBackoff},
    schedule::{Moment, PollBudget, Schedule},
    settings::Settings,
    watch::Cause,
};
use crate::engine::report::BudgetLeft;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    time::Duration,
};
use tokio::time::Instant;

/// How often it is asked what is left of the budget.
const BUDGET_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// What to do next.
#[derive(Debug)]
pub struct NextJob {
    /// The cycle.
    pub job: Job,
    /// Who waits for its report.
    pub command: Option<QueuedCommand>,
    /// Whether it is only because events were lost: then a look at the files tells whether it is needed.
    pub only_if_changed: bool,
}

/// Why git keeps everything waiting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pause {
    /// It has not finished something.
    Busy(Busy),
    /// Another branch than the published one is checked out.
    NotPublished(NotPublished),
}

impl Pause {
    /// What to type.
    pub fn remedy(&self) -> String {
        match self {
            Self::Busy(busy) => busy.remedy().to_owned(),
            Self::NotPublished(why) => why.remedy(),
        }
    }

    /// The exit code of a command that is refused because of it.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Busy(_) => 5,
            Self::NotPublished(_) => 3,
        }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(busy) => write!(f, "paused: {busy}"),
            Self::NotPublished(why) => write!(f, "paused: {why}"),
        }
    }
}

/// What came in and what waits.
#[derive(Debug)]
pub struct WorkQueue {
    settings: Settings,
    debounce: Debounce,
    schedule: Schedule,
    outage: OutageBackoff,
    due: DuePaths,
    /// What a cycle could not deal with, for a reason that stands in nobody else's way: it is tried again when
    /// that is due.
    deferred: Deferred,
    /// Since when the oldest of that has waited.
    due_since: Option<Instant>,
    /// What the look at everything that runs now deals with, too.
    covered: DuePaths,
    /// The doubts that it is to clear up.
    covered_doubts: BTreeSet<Cause>,
    /// Paths in motion that the last look at everything left out, and that have not settled since.
    left_out: BTreeSet<String>,
    /// How often an article was tried again at once, because it changed on the service after it was read.
    attempts: BTreeMap<String, u32>,
    full_cycle: Option<Trigger>,
    /// Since when it could have been outcome.
    full_cycle_since: Option<Instant>,
    doubts: BTreeSet<Cause>,
    doubtful_since: Option<Instant>,
    commands: VecDeque<QueuedCommand>,
    watching: bool,
    /// The repositories around the mirror.
    git: Vec<Known>,
    /// Why nothing is synced with what is checked out, if so.
    not_published: Option<NotPublished>,
    min_interval: Duration,
    budget_checked: Option<Instant>,
    poll_cost: u32,
}

impl WorkQueue {
    /// An empty work_queue, with the start as the first thing to do.
    pub fn new(settings: Settings, schedule: Schedule, outage: OutageBackoff) -> Self {
        Self {
            debounce: Debounce::new(settings.delays),
            schedule,
            outage,
            settings,
            due: DuePaths::default(),
            deferred: Deferred::default(),
            due_since: None,
            covered: DuePaths::default(),
            covered_doubts: BTreeSet::new(),
            left_out: BTreeSet::new(),
            attempts: BTreeMap::new(),
            full_cycle: Some(Trigger::Startup),
            full_cycle_since: None,
            doubts: BTreeSet::new(),
            doubtful_since: None,
            commands: VecDeque::new(),
            watching: false,
            git: Vec::new(),
            not_published: None,
            min_interval: Duration::ZERO,
            budget_checked: None,
            poll_cost: 1,
        }
    }

    /// Goes on with other settings.
    pub fn set_settings(&mut self, settings: Settings, schedule: Schedule) {
        self.debounce.set_delays(settings.delays);
        self.schedule.replace(schedule);
        self.settings = settings;
    }

    /// Something happened to a path.
    pub fn touched(&mut self, path: &str, touch: Touch, now: Instant) {
        self.debounce.record(path, touch, now);
    }

    /// What happened cannot be told.
    pub fn doubt(&mut self, cause: Cause, now: Instant) {
        self.doubts.insert(cause);
        self.doubtful_since.get_or_insert(now);
    }

    /// The watch is set up, or will not be.
    pub fn watch_started(&mut self) {
        self.watching = true;
    }

    /// A person or a signal wants everything looked at.
    pub fn sync_now(&mut self) {
        self.full_cycle.get_or_insert(Trigger::Manual);
    }

    /// A command came in.
    pub fn add_command(&mut self, command: QueuedCommand) {
        self.commands.push_back(command);
    }

    /// Takes a look at the repositories around the mirror.
    pub fn set_git(&mut self, found: Vec<Known>) {
        self.not_published = git::not_published(&self.settings.git_branch, &found);
        self.git = found;
    }

    /// Time went on: is a poll due? `left` is asked only when it matters.
    pub fn tick(&mut self, now: Moment, left: impl FnOnce() -> BudgetLeft) {
        self.schedule.observe_clock(now);
        let stale = self
            .budget_checked
            .is_none_or(|at| now.steady.saturating_duration_since(at) >= BUDGET_CHECK_INTERVAL);
        if stale && self.schedule.wait(now, Duration::ZERO).is_zero() {
            self.budget_checked = Some(now.steady);
            self.min_interval = self.poll_budget(left()).min_interval();
        }
        if self.schedule.wait(now, self.min_interval).is_zero() {
            self.full_cycle.get_or_insert(Trigger::Poll);
        }
    }

    /// Why nothing is outcome, if git is the reason.
    pub fn paused(&self) -> Option<Pause> {
        let busy = self.git.iter().find_map(|known| known.state.busy);
        let busy = busy.map(Pause::Busy);
        busy.or_else(|| self.not_published.clone().map(Pause::NotPublished))
    }

    /// A command that cannot be carried out now, with the reason: it would write, and everything is paused.
    pub fn take_refused(&mut self) -> Option<(QueuedCommand, Pause)> {
        let why = self.paused()?;
        let at = self.commands.iter().position(QueuedCommand::writes)?;
        self.commands.remove(at).map(|command| (command, why))
    }

    fn poll_budget(&self, left: BudgetLeft) -> PollBudget {
        PollBudget {
            cost: self.poll_cost,
            per_day: self.settings.per_day,
            reserve_for_pushes: self.settings.reserve_for_pushes,
            day_left: left.day_left,
        }
    }
}

/// What could not be dealt with, and when it is tried again.
#[derive(Debug, Default)]
struct Deferred {
    due: DuePaths,
    /// Whether the whole mirror was to be looked at.
    doubt: bool,
    backoff: OutageBackoff,
}

impl Deferred {
    fn is_empty(&self) -> bool {
        self.due.is_empty() && !self.doubt
    }

    fn add(&mut self, due: DuePaths, doubt: bool, now: Instant) {
        self.due.add_later(due);
        self.doubt |= doubt;
        self.backoff.record(Some(Outage::UnusableAnswer), now);
    }
}
