//! The desk: what came in, what waits, and what is to be done next. The loop's memory, without its waiting.
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

mod choice;
mod settle;
mod shown;

pub use settle::is_push;
pub use shown::Shown;

use super::{
    control::Wished,
    git::{self, Busy, Known, NotPublished},
    job::{Job, Left, Trigger},
    quiet::{Quiet, Taken, Touch},
    reach::{Reach, Wall},
    schedule::{Moment, Schedule, Spending},
    settings::Settings,
    watch::Cause,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    time::Duration,
};
use tokio::time::Instant;

/// How often it is asked what is left of the budget.
const BUDGET_LOOK: Duration = Duration::from_secs(30);

/// What to do next.
#[derive(Debug)]
pub struct Next {
    /// The cycle.
    pub job: Job,
    /// Who waits for its report.
    pub wished: Option<Wished>,
    /// Whether it is only because events were lost: then a look at the files tells whether it is needed.
    pub maybe: bool,
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
pub struct Desk {
    settings: Settings,
    quiet: Quiet,
    schedule: Schedule,
    reach: Reach,
    taken: Taken,
    /// What a cycle could not deal with, for a reason that stands in nobody else's way: it is tried again when
    /// that is due.
    put_off: PutOff,
    /// Since when the oldest of that has waited.
    taken_since: Option<Instant>,
    /// What the look at everything that runs now deals with, too.
    covered: Taken,
    /// The doubts that it is to clear up.
    covered_doubts: BTreeSet<Cause>,
    /// Paths in motion that the last look at everything left out, and that have not settled since.
    left_out: BTreeSet<String>,
    /// How often an article was tried again at once, because it changed on the service after it was read.
    tries: BTreeMap<String, u32>,
    whole: Option<Trigger>,
    /// Since when it could have been done.
    whole_since: Option<Instant>,
    doubts: BTreeSet<Cause>,
    doubtful_since: Option<Instant>,
    wishes: VecDeque<Wished>,
    watching: bool,
    /// The repositories around the mirror.
    git: Vec<Known>,
    /// Why nothing is synced with what is checked out, if so.
    not_published: Option<NotPublished>,
    least: Duration,
    budget_seen: Option<Instant>,
    poll_cost: u32,
}

impl Desk {
    /// An empty desk, with the start as the first thing to do.
    pub fn new(settings: Settings, schedule: Schedule, reach: Reach) -> Self {
        Self {
            quiet: Quiet::new(settings.pace),
            schedule,
            reach,
            settings,
            taken: Taken::default(),
            put_off: PutOff::default(),
            taken_since: None,
            covered: Taken::default(),
            covered_doubts: BTreeSet::new(),
            left_out: BTreeSet::new(),
            tries: BTreeMap::new(),
            whole: Some(Trigger::Startup),
            whole_since: None,
            doubts: BTreeSet::new(),
            doubtful_since: None,
            wishes: VecDeque::new(),
            watching: false,
            git: Vec::new(),
            not_published: None,
            least: Duration::ZERO,
            budget_seen: None,
            poll_cost: 1,
        }
    }

    /// Goes on with other settings.
    pub fn resettle(&mut self, settings: Settings, schedule: Schedule) {
        self.quiet.set_pace(settings.pace);
        self.schedule.replace(schedule);
        self.settings = settings;
    }

    /// Something happened to a path.
    pub fn touched(&mut self, path: &str, touch: Touch, now: Instant) {
        self.quiet.note(path, touch, now);
    }

    /// What happened cannot be told.
    pub fn doubt(&mut self, cause: Cause, now: Instant) {
        self.doubts.insert(cause);
        self.doubtful_since.get_or_insert(now);
    }

    /// The watch is set up, or will not be.
    pub fn watching(&mut self) {
        self.watching = true;
    }

    /// A person or a signal wants everything looked at.
    pub fn sync_now(&mut self) {
        self.whole.get_or_insert(Trigger::Manual);
    }

    /// A command came in.
    pub fn wish(&mut self, wished: Wished) {
        self.wishes.push_back(wished);
    }

    /// Takes a look at the repositories around the mirror.
    pub fn git(&mut self, found: Vec<Known>) {
        self.not_published = git::not_published(&self.settings.git_branch, &found);
        self.git = found;
    }

    /// Time went on: is a poll due? `left` is asked only when it matters.
    pub fn tick(&mut self, now: Moment, left: impl FnOnce() -> Left) {
        self.schedule.observe(now);
        let stale = self
            .budget_seen
            .is_none_or(|at| now.steady.saturating_duration_since(at) >= BUDGET_LOOK);
        if stale && self.schedule.wait(now, Duration::ZERO).is_zero() {
            self.budget_seen = Some(now.steady);
            self.least = self.spending(left()).least_interval();
        }
        if self.schedule.wait(now, self.least).is_zero() {
            self.whole.get_or_insert(Trigger::Poll);
        }
    }

    /// Why nothing is done, if git is the reason.
    pub fn paused(&self) -> Option<Pause> {
        let busy = self.git.iter().find_map(|known| known.sight.busy);
        let busy = busy.map(Pause::Busy);
        busy.or_else(|| self.not_published.clone().map(Pause::NotPublished))
    }

    /// A command that cannot be carried out now, with the reason: it would write, and everything is paused.
    pub fn refused(&mut self) -> Option<(Wished, Pause)> {
        let why = self.paused()?;
        let at = self.wishes.iter().position(Wished::writes)?;
        self.wishes.remove(at).map(|wished| (wished, why))
    }

    fn spending(&self, left: Left) -> Spending {
        Spending {
            cost: self.poll_cost,
            per_day: self.settings.per_day,
            reserve_for_pushes: self.settings.reserve_for_pushes,
            day_left: left.day,
        }
    }
}

/// What could not be dealt with, and when it is tried again.
#[derive(Debug, Default)]
struct PutOff {
    taken: Taken,
    /// Whether the whole mirror was to be looked at.
    doubt: bool,
    reach: Reach,
}

impl PutOff {
    fn is_empty(&self) -> bool {
        self.taken.is_empty() && !self.doubt
    }

    fn add(&mut self, taken: Taken, doubt: bool, now: Instant) {
        self.taken.add_later(taken);
        self.doubt |= doubt;
        self.reach.met(Some(Wall::Unusable), now);
    }
}
