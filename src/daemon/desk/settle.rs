//! What becomes of what a cycle dealt with, and of what it did not.

use super::Desk;
use crate::daemon::{
    git::Head,
    job::{Done, Job, Look},
    quiet::Taken,
    reach::Turn,
    schedule::Moment,
    watch::Cause,
};
use crate::engine::report::{Line, Report, Status};
use crate::model::Side;
use crate::reconcile::plan::Kind;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// How often an article is tried again at once; then it waits for the next poll.
const TRIES: u32 = 3;

impl Desk {
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
        self.try_again(&job, &done.report, now.steady);
        let covered = std::mem::take(&mut self.covered);
        let doubts = std::mem::take(&mut self.covered_doubts);
        if job.look == Look::Whole && !done.got_through() {
            // What it was to deal with waits on.
            self.taken.add_earlier(covered);
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
                    self.taken.add_earlier(taken);
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

    /// Takes paths again whose articles changed on the service after they were read: nothing else would bring them back
    /// before the next poll.
    fn try_again(&mut self, job: &Job, report: &Report, now: Instant) {
        if job.look == Look::Whole {
            self.tries.clear();
        }
        self.tries.retain(|path, _| report.overtaken.contains(path));
        let mut again = Taken::default();
        for line in &report.actions {
            if line.status != Status::Skipped || !report.overtaken.contains(&line.path) {
                continue;
            }
            let tries = self.tries.entry(line.path.clone()).or_default();
            *tries += 1;
            if *tries > TRIES {
                continue;
            }
            if line.action == Kind::Delete {
                again.removed.insert(line.path.clone(), now);
            } else {
                again.changed.insert(line.path.clone());
            }
        }
        self.taken.add_earlier(again);
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
            let places = job.git.iter().filter_map(|known| {
                let place = known.sight.head.clone()?;
                Some((known.prefix.clone(), place))
            });
            places.collect()
        } else {
            BTreeMap::new()
        }
    }
}

/// Returns whether a line changed the service.
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
