//! The desk: what came in, what waits, and what is to be done next. The loop's memory, without its waiting.
//!
//! It is told the time, and reads neither clock nor file. Its rules:
//! - What came in is kept until a cycle dealt with it; what a cycle could not deal with comes back.
//! - Commands go first: a person waits. Then pushes, then doubts, then polls; but a storm of saves does not
//!   put off a doubt or a poll for ever: one that waited long enough has its turn.
//! - While git works, or the wrong branch is checked out, or the service is out of reach, everything waits
//!   but plans and a person's commands.
//! - The start is a look at everything, and waits until the watch is set up: nothing falls between.

use super::{
    control::Wished,
    git::{HOLD, Head, SPARSE, Sight, in_no_work_tree, on_another_branch},
    job::{Done, Job, Left, Look, Trigger},
    quiet::{Quiet, Taken, Touch},
    reach::{Reach, Turn, Wall},
    schedule::{Moment, Schedule, Spending},
    settings::Settings,
    watch::Cause,
};
use crate::engine::report::{Line, Status};
use crate::model::Side;
use crate::model::path::{CATEGORY_FILE, CONFLICT_EXTENSION, ignored_name};
use crate::reconcile::plan::Kind;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// A doubt waits so long for files in motion to settle and for pushes, at most.
const PATIENCE: Duration = Duration::from_secs(90);

/// Pushes go before polls for so long, at most.
const TURN: Duration = Duration::from_mins(1);

/// How often it is asked what is left of the budget.
const BUDGET_LOOK: Duration = Duration::from_secs(30);

/// How often it is looked whether git is done.
const GIT_LOOK: Duration = Duration::from_secs(1);

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
    whole: Option<Trigger>,
    /// Since when it could have been done.
    whole_since: Option<Instant>,
    doubts: BTreeSet<Cause>,
    doubtful_since: Option<Instant>,
    wishes: VecDeque<Wished>,
    watching: bool,
    /// What git is doing in each repository that there is.
    git: BTreeMap<String, Sight>,
    head_moved: bool,
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
            whole: Some(Trigger::Startup),
            whole_since: None,
            doubts: BTreeSet::new(),
            doubtful_since: None,
            wishes: VecDeque::new(),
            watching: false,
            git: BTreeMap::new(),
            head_moved: false,
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

    /// What git is doing now, by the workspace whose folder is in the repository, and whether a HEAD moved since
    /// both sides agreed on what is removed.
    pub fn git(&mut self, sights: BTreeMap<String, Sight>, head_moved: bool) {
        self.git = sights;
        self.head_moved = head_moved;
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
    pub fn paused(&self) -> Option<String> {
        if let Some(busy) = self.git.values().find_map(|sight| sight.busy) {
            return Some(format!("paused: {busy}"));
        }
        let wanted = self.settings.git_branch.as_deref()?;
        let why = if self.git.is_empty() {
            Some(in_no_work_tree(wanted))
        } else {
            let mut sights = self.git.values();
            sights.find_map(|sight| on_another_branch(sight, wanted))
        };
        why.map(|why| format!("paused: {why}"))
    }

    /// A command that cannot be carried out now, with the reason: git works, and it would write.
    pub fn refused(&mut self) -> Option<(Wished, String)> {
        let why = self.paused()?;
        let at = self.wishes.iter().position(Wished::writes)?;
        self.wishes.remove(at).map(|wished| (wished, why))
    }

    /// Gives what is to be done now. `news` leaves out paths that need no cycle.
    pub fn next(&mut self, now: Moment, news: impl FnOnce(Taken) -> Taken) -> Option<Next> {
        if self.taken.is_empty() {
            self.taken_since = None;
        }
        self.take_up(now.steady);
        let (_, oldest) = self.quiet.backlog(may_matter);
        let due = self.quiet.due(now.steady);
        if !due.is_empty() {
            merge(&mut self.taken, due);
            self.taken_since = self.taken_since.or(oldest);
        }
        if let Some(wished) = self.wishes.pop_front() {
            let look = Look::Wish(wished.cycle());
            return Some(Next {
                job: self.job(Trigger::Manual, look, BTreeSet::new()),
                wished: Some(wished),
                maybe: false,
            });
        }
        if !self.watching || self.paused().is_some() || !self.reach.is_open(now.steady) {
            return None;
        }
        let unsettled = self.quiet.unsettled(now.steady);
        if self.whole.is_some() {
            self.whole_since.get_or_insert(now.steady);
        }
        let waited = |since: Option<Instant>, long| {
            since.is_some_and(|since| now.steady.saturating_duration_since(since) >= long)
        };
        let first = self.whole == Some(Trigger::Startup) || waited(self.whole_since, TURN);
        let lost = |cause: &Cause| match cause {
            Cause::Overflow | Cause::Error | Cause::Replaced | Cause::Fallback => true,
            Cause::Rules | Cause::Unfinished => false,
        };
        let lost = !self.doubts.is_empty() && self.doubts.iter().all(lost);
        let job = if first {
            self.whole_job(now, unsettled)
        } else if waited(self.doubtful_since, PATIENCE) {
            Some(self.doubt_job(unsettled))
        } else if let Some(job) = self.paths_job(&unsettled, news) {
            Some(job)
        } else if self.doubtful_since.is_some() && unsettled.is_empty() {
            Some(self.doubt_job(unsettled))
        } else {
            self.whole_job(now, unsettled)
        };
        job.map(|job| Next {
            maybe: lost && job.look == Look::Mirror,
            job,
            wished: None,
        })
    }

    /// What was put off comes back when its time has come.
    fn take_up(&mut self, now: Instant) {
        if self.put_off.is_empty() || !self.put_off.reach.is_open(now) {
            return;
        }
        let older = std::mem::take(&mut self.put_off.taken);
        let newer = std::mem::replace(&mut self.taken, older);
        merge(&mut self.taken, newer);
        self.taken_since.get_or_insert(now);
        if std::mem::take(&mut self.put_off.doubt) {
            self.doubt(Cause::Unfinished, now);
        }
    }

    fn doubt_job(&mut self, unsettled: BTreeSet<String>) -> Job {
        self.doubts.clear();
        self.doubtful_since = None;
        self.job(Trigger::Rescan, Look::Mirror, unsettled)
    }

    fn paths_job(
        &mut self,
        unsettled: &BTreeSet<String>,
        news: impl FnOnce(Taken) -> Taken,
    ) -> Option<Job> {
        if self.taken.is_empty() {
            return None;
        }
        let taken = news(std::mem::take(&mut self.taken));
        (!taken.is_empty()).then(|| self.job(Trigger::Watch, Look::Paths(taken), unsettled.clone()))
    }

    fn whole_job(&mut self, now: Moment, unsettled: BTreeSet<String>) -> Option<Job> {
        let trigger = self.whole.take()?;
        self.whole_since = None;
        self.schedule.polled(now);
        if unsettled.is_empty() {
            // It looks at all of that.
            self.covered = std::mem::take(&mut self.taken);
            self.covered_doubts = std::mem::take(&mut self.doubts);
            self.doubtful_since = None;
        }
        Some(self.job(trigger, Look::Whole, unsettled))
    }

    fn job(&self, trigger: Trigger, look: Look, unsettled: BTreeSet<String>) -> Job {
        let moved = self.head_moved && self.settings.git_branch.is_none();
        let held = self.git.values().any(|sight| sight.sparse);
        let held = held.then_some(SPARSE);
        let held = held.or(moved.then_some(HOLD));
        Job {
            trigger,
            look,
            unsettled,
            git_hold: held.map(str::to_owned),
            heads: self
                .git
                .iter()
                .filter_map(|(prefix, sight)| Some((prefix.clone(), sight.head.clone()?)))
                .collect(),
        }
    }

    /// Takes what a cycle came to. Gives a change of state that deserves a line in the log.
    pub fn settle(&mut self, job: Job, done: &Done, now: Moment) -> Option<Turn> {
        if job.look == Look::Whole || matches!(&job.look, Look::Wish(wish) if wish.is_whole()) {
            let cost = u32::try_from(done.report.requests.get).unwrap_or(u32::MAX);
            if done.got_through() {
                self.poll_cost = cost.max(1);
            }
            if done.wall.is_none() {
                self.schedule.polled(now);
            }
        }
        for line in &done.report.actions {
            // What was skipped waits for the next look: a file that changed meanwhile has its own event.
            if is_push(line) {
                self.quiet.pushed(&line.path, now.steady);
            }
        }
        let covered = std::mem::take(&mut self.covered);
        let doubts = std::mem::take(&mut self.covered_doubts);
        if job.look == Look::Whole && !done.got_through() {
            // What it was to deal with waits on.
            let newer = std::mem::replace(&mut self.taken, covered);
            merge(&mut self.taken, newer);
            if done.wall.is_none() {
                // Only the poll was put off, and it is not tried again at once.
                for cause in doubts {
                    self.doubt(cause, now.steady);
                }
            }
        }
        if done.got_through() {
            self.put_off.reach.met(None, now.steady);
        } else if done.wall.is_none() {
            match job.look {
                Look::Paths(taken) => self.put_off.add(taken, false, now.steady),
                Look::Mirror => self.put_off.add(Taken::default(), true, now.steady),
                // The next poll looks at everything, and a person sees what came of it.
                Look::Whole | Look::Wish(_) => {}
            }
        } else {
            match job.look {
                Look::Whole => {
                    self.whole.get_or_insert(job.trigger);
                }
                Look::Mirror => {
                    self.doubt(Cause::Unfinished, now.steady);
                }
                Look::Paths(taken) => {
                    let newer = std::mem::replace(&mut self.taken, taken);
                    merge(&mut self.taken, newer);
                }
                Look::Wish(_) => {}
            }
        }
        if done.wall.is_some() {
            // Nothing had its turn: pushes go first again.
            self.whole_since = None;
        }
        self.reach.met(done.wall, now.steady)
    }

    /// Where each HEAD may be remembered to have been, after a cycle: when nothing that git removed waits or is
    /// held any more.
    pub fn agreed_heads(&self, job: &Job, done: &Done) -> BTreeMap<String, Head> {
        let lines = &done.report.actions;
        // What is held elsewhere is not in the report of a cycle over paths.
        let held = done.standing.held_deletions > 0
            || lines
                .iter()
                .any(|line| line.action == Kind::Delete && line.status != Status::Done);
        let looked = match &job.look {
            Look::Whole | Look::Mirror => true,
            // What nobody told of was not looked at.
            Look::Paths(_) => self.doubtful_since.is_none() && self.whole.is_none(),
            Look::Wish(wish) => wish.is_whole(),
        };
        // A path whose time came while the cycle ran was left alone by it, too.
        let (waiting, _) = self.quiet.backlog(|_| true);
        let settled = looked
            && waiting == 0
            && self.taken.is_empty()
            && self.put_off.is_empty()
            && !held
            && done.got_through();
        // Where nobody could look, there may be removals that nobody saw.
        let settled = settled && !done.report.doubt;
        if settled {
            job.heads.clone()
        } else {
            BTreeMap::new()
        }
    }

    /// When it must be looked again, without an event.
    pub fn next_deadline(&self, now: Moment) -> Option<Instant> {
        let poll = now.steady + self.schedule.wait(now, self.least);
        // Git says nothing when it is done.
        let git = self.git.values().any(|sight| sight.busy.is_some());
        let git = git.then(|| now.steady + GIT_LOOK);
        let work = self.work_deadline();
        [Some(poll), git, work].into_iter().flatten().min()
    }

    /// When something that waits may be done.
    fn work_deadline(&self) -> Option<Instant> {
        let put_off = self.put_off.reach.retry_at();
        let put_off = put_off.filter(|_| !self.put_off.is_empty());
        let quiet = self.quiet.next_deadline().into_iter().chain(put_off).min();
        let retry = self.reach.retry_at();
        match (quiet, retry) {
            // Nothing is done before it may be tried again.
            (Some(quiet), Some(retry)) => Some(quiet.max(retry)),
            (quiet, None) => quiet,
            (None, retry) => retry,
        }
    }

    /// What `status` and the metrics show.
    pub fn shown(&self, now: Moment) -> Shown {
        let (waiting, oldest) = self.quiet.backlog(may_matter);
        let taken_since = self.taken_since.filter(|_| !self.taken.is_empty());
        Shown {
            next_poll: self.schedule.next(now, self.least),
            interval: self.schedule.interval(now, self.least),
            pending: waiting
                + [&self.taken, &self.put_off.taken]
                    .iter()
                    .map(|taken| taken.paths().iter().filter(|path| may_matter(path)).count())
                    .sum::<usize>(),
            oldest: [oldest, taken_since].into_iter().flatten().min(),
            paused: self.paused(),
            in_the_way: self.reach.wall().map(|wall| wall.to_string()),
        }
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
        merge(&mut self.taken, taken);
        self.doubt |= doubt;
        self.reach.met(Some(Wall::Unusable), now);
    }
}

/// Tells whether a path may be of an article, a category or a conflict; editors' files and our own are not.
fn may_matter(path: &str) -> bool {
    path.split('/').all(|name| {
        ignored_name(name).is_none() || name == CATEGORY_FILE || name.ends_with(CONFLICT_EXTENSION)
    })
}

/// What is shown of the desk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The next poll.
    pub next_poll: chrono::DateTime<chrono::Utc>,
    /// The effective time between two polls.
    pub interval: Duration,
    /// Paths that wait to be looked at.
    pub pending: usize,
    /// Since when the oldest of them waits.
    pub oldest: Option<Instant>,
    /// Why nothing is done because of git.
    pub paused: Option<String>,
    /// Why nothing is done because of the service.
    pub in_the_way: Option<String>,
}

/// Tells whether a line changed the service.
pub fn is_push(line: &Line) -> bool {
    line.status == Status::Done
        && match line.side {
            Side::Remote | Side::Both => true,
            Side::Local => false,
        }
        && match line.action {
            Kind::Adopt | Kind::Forget | Kind::Conflict => false,
            Kind::Create
            | Kind::Update
            | Kind::Move
            | Kind::Delete
            | Kind::Merge
            | Kind::Restore
            | Kind::CreateCategory
            | Kind::UpdateCategory => true,
        }
}

/// Adds what was taken later: of one path, the later word counts.
fn merge(taken: &mut Taken, newer: Taken) {
    for path in &newer.changed {
        taken.removed.remove(path);
    }
    for path in newer.removed.keys() {
        taken.changed.remove(path);
    }
    taken.changed.extend(newer.changed);
    taken.removed.extend(newer.removed);
}
