//! What is to be done next. Who goes first is told at the head of [`super`].

use super::{Desk, Next, shown::may_matter};
use crate::daemon::{
    git::Known,
    job::{Job, Look, Trigger},
    quiet::Taken,
    schedule::Moment,
    watch::Cause,
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

/// A doubt waits so long for files in motion to settle and for pushes, at most.
const PATIENCE: Duration = Duration::from_secs(90);

/// Pushes go before polls for so long, at most.
const TURN: Duration = Duration::from_mins(1);

impl Desk {
    /// Gives what is to be done now. `news` leaves out paths that need no cycle.
    pub fn next(&mut self, now: Moment, mut news: impl FnMut(Taken) -> Taken) -> Option<Next> {
        if self.taken.is_empty() {
            self.taken_since = None;
        }
        self.take_up(now.steady);
        let (_, oldest) = self.quiet.backlog(may_matter);
        let due = self.quiet.due(now.steady);
        if !due.is_empty() {
            self.taken.add_later(due);
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
            self.whole_job(now, unsettled, &mut news)
        } else if waited(self.doubtful_since, PATIENCE) {
            Some(self.doubt_job(unsettled, &mut news))
        } else if let Some(job) = self.paths_job(&unsettled, &mut news) {
            Some(job)
        } else if self.doubtful_since.is_some() && unsettled.is_empty() {
            Some(self.doubt_job(unsettled, &mut news))
        } else {
            self.whole_job(now, unsettled, &mut news)
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
        self.taken.add_earlier(older);
        self.taken_since.get_or_insert(now);
        if std::mem::take(&mut self.put_off.doubt) {
            self.doubt(Cause::Unfinished, now);
        }
    }

    fn doubt_job(
        &mut self,
        unsettled: BTreeSet<String>,
        news: &mut impl FnMut(Taken) -> Taken,
    ) -> Job {
        self.doubts.clear();
        self.doubtful_since = None;
        let unsettled = self.leave_out(unsettled, news);
        self.job(Trigger::Rescan, Look::Mirror, unsettled)
    }

    fn paths_job(
        &mut self,
        unsettled: &BTreeSet<String>,
        news: &mut impl FnMut(Taken) -> Taken,
    ) -> Option<Job> {
        if self.taken.is_empty() {
            return None;
        }
        let settled = self.taken.paths();
        let taken = news(std::mem::take(&mut self.taken));
        let news = taken.paths();
        let mut left_out = self.left_out.intersection(&settled);
        // The file is as it was after all, but its article may have changed on the service meanwhile.
        if left_out.any(|path| !news.contains(path)) {
            self.whole.get_or_insert(Trigger::Poll);
        }
        self.left_out.retain(|path| !settled.contains(path));
        (!taken.is_empty()).then(|| self.job(Trigger::Watch, Look::Paths(taken), unsettled.clone()))
    }

    fn whole_job(
        &mut self,
        now: Moment,
        unsettled: BTreeSet<String>,
        news: &mut impl FnMut(Taken) -> Taken,
    ) -> Option<Job> {
        let trigger = self.whole.take()?;
        self.whole_since = None;
        self.schedule.polled(now);
        let unsettled = self.leave_out(unsettled, news);
        if unsettled.is_empty() {
            // It looks at all of that.
            self.covered = std::mem::take(&mut self.taken);
            self.covered_doubts = std::mem::take(&mut self.doubts);
            self.doubtful_since = None;
        }
        Some(self.job(trigger, Look::Whole, unsettled))
    }

    /// Of the paths in motion, those that a look at everything leaves out: the files that are not what the state
    /// says. The others were only touched, most often by our own writes.
    fn leave_out(
        &mut self,
        unsettled: BTreeSet<String>,
        news: &mut impl FnMut(Taken) -> Taken,
    ) -> BTreeSet<String> {
        let moving = Taken {
            changed: unsettled,
            ..Taken::default()
        };
        self.left_out = news(moving).changed;
        self.left_out.clone()
    }

    fn job(&self, trigger: Trigger, look: Look, unsettled: BTreeSet<String>) -> Job {
        let held = self.git.iter().find_map(Known::hold);
        Job {
            trigger,
            look,
            unsettled,
            git_hold: held.map(str::to_owned),
            git: self.git.clone(),
        }
    }
}
