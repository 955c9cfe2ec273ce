//! The loop: takes events, runs one cycle at a time, goes on taking events meanwhile.
//!
//! What to do is the desk's decision; here is only the waiting. A stop closes the valve, so that the request
//! in flight is the last one, and the cycle ends by itself; one that does not is left where it is, which is
//! what a crash would do, and the next start puts it right. A second stop waits for nothing.

use super::{
    Event,
    control::{Ear, Wished, Word},
    desk::{Desk, Next},
    front::Front,
    git::Trees,
    job::{Cycle, Done, Job},
    quiet::Touch,
    reach::Turn,
    schedule::Schedule,
    settings::Settings,
    supervisor::Supervisor,
    told::Told,
    watch::Rescan,
};
use crate::web::board::Board;
use chrono::{DateTime, Utc};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::Receiver,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// How long the request in flight may take after a stop (failures row 9: a container has ten seconds).
pub const GRACE: Duration = Duration::from_secs(8);

/// How the loop ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It was told to stop, and finished what was in flight.
    Stopped,
    /// It was told to stop, and left what was in flight.
    GaveUp,
    /// It was told twice.
    AtOnce,
    /// Nobody is left who could tell it anything.
    Alone,
    /// Its lock or its state was taken away from under it (failures rows 46, 50 and 116).
    Lost,
}

/// Tells the time of day.
pub type WallClock = Box<dyn Fn() -> DateTime<Utc> + Send>;

/// The loop and what it owns.
pub struct Loop<C> {
    cycle: C,
    front: Front,
}

/// What the loop is given.
pub struct Parts<C> {
    /// Runs the cycles.
    pub cycle: C,
    /// What waits.
    pub desk: Desk,
    /// The settings.
    pub settings: Settings,
    /// Where it is shown how it goes.
    pub board: Arc<Board>,
    /// Takes progress to whoever waits for it.
    pub ear: Ear,
    /// Where git may be at work.
    pub trees: Trees,
    /// How often the watch looks through the files where no events come.
    pub rescan: Rescan,
    /// The time of day.
    pub wall: WallClock,
    /// Cancelled when no further request may begin.
    pub stop: CancellationToken,
}

impl<C: Cycle> Loop<C> {
    /// Puts a loop together.
    pub fn new(parts: Parts<C>) -> Self {
        Self {
            cycle: parts.cycle,
            front: Front {
                desk: parts.desk,
                settings: parts.settings,
                board: parts.board,
                ear: parts.ear,
                trees: parts.trees,
                rescan: parts.rescan,
                supervisor: Supervisor::find(),
                wall: parts.wall,
                stop: parts.stop,
                stops: 0,
                reload: false,
                told: Told::default(),
                paused: None,
            },
        }
    }

    /// Runs until it is stopped.
    pub async fn run(mut self, mut events: Receiver<Event>) -> Ended {
        self.front.supervisor.ready();
        // Nobody knows how long they have been gone: they have the grace time from now on, as after a restart in
        // the middle of it.
        let now = Instant::now();
        for path in self.cycle.missing() {
            self.front.desk.touched(&path, Touch::Removed, now);
        }
        let ended = loop {
            if self.front.stops > 0 {
                break Ended::Stopped;
            }
            if std::mem::take(&mut self.front.reload) {
                self.reload();
            }
            self.look_at_git();
            self.front.refuse();
            let now = self.front.now();
            // Ticks that come while a cycle runs only keep it awake: what is due is found out between two.
            self.front.desk.tick(now, || self.cycle.left());
            if let Some(next) = self.front.desk.next(now, |taken| self.cycle.news(taken)) {
                if self.is_lost() {
                    break Ended::Lost;
                }
                // Our own writes fill the queue of events as well as anybody's.
                if next.maybe && self.cycle.is_as_recorded() {
                    tracing::info!("events were lost, and every file is as it was");
                    continue;
                }
                if let Some(ended) = self.work(next, &mut events).await {
                    break ended;
                }
                // A cycle from under which it was taken has done nothing since.
                if self.is_lost() {
                    break Ended::Lost;
                }
                continue;
            }
            self.front.show();
            let work = self.front.desk.next_deadline(now);
            let alive = self.front.supervisor.next_sign();
            let deadlines = [work, alive].into_iter().flatten();
            let deadline = deadlines.filter(|at| *at > now.steady).min();
            let event = tokio::select! {
                event = events.recv() => event,
                () = until(deadline) => continue,
            };
            let Some(event) = event else {
                break Ended::Alone;
            };
            self.front.take(event);
            // What came along with it is taken in the same turn.
            while let Ok(event) = events.try_recv() {
                self.front.take(event);
            }
        };
        self.front.supervisor.stopping();
        self.cycle.close();
        ended
    }

    /// Tells, and logs, whether the mirror is not this daemon's any more.
    fn is_lost(&self) -> bool {
        let why = self.cycle.lost();
        if let Some(why) = &why {
            tracing::error!("{why}");
        }
        why.is_some()
    }

    /// Runs one cycle, and takes events meanwhile. `Some`: the loop is over.
    async fn work(&mut self, next: Next, events: &mut Receiver<Event>) -> Option<Ended> {
        let Next {
            job,
            wished,
            maybe: _,
        } = next;
        let front = &mut self.front;
        front.ear.turn_to(wished.as_ref());
        front.begin(&job);
        let started = Instant::now();
        let mut give_up = None;
        let outcome = {
            let mut cycle = pin!(self.cycle.cycle(&job));
            loop {
                let sign = front.supervisor.next_sign();
                tokio::select! {
                    biased;
                    done = &mut cycle => break Ok(done),
                    () = until(give_up) => break Err(Ended::GaveUp),
                    event = events.recv() => match event {
                        Some(event) => front.take(event),
                        None => break Err(Ended::Alone),
                    },
                    () = until(sign) => front.supervisor.alive(Instant::now().into_std()),
                }
                if front.stops > 1 {
                    break Err(Ended::AtOnce);
                }
                if front.stops == 1 && give_up.is_none() {
                    give_up = Some(Instant::now() + GRACE);
                }
            }
        };
        front.ear.turn_to(None);
        match outcome {
            Ok(done) => {
                self.finish(job, wished, done, started);
                None
            }
            Err(ended) => Some(ended),
        }
    }

    fn finish(&mut self, job: Job, wished: Option<Wished>, done: Done, started: Instant) {
        let now = self.front.now();
        self.front.record(&job, &done, started);
        for known in &job.git {
            if let Some(branch) = &known.first {
                tracing::info!(branch, "this branch is the published branch from now on");
                self.cycle.remember_branch(&known.prefix, branch);
            }
        }
        let agreed = self.front.desk.agreed_heads(&job, &done);
        let turn = self.front.desk.settle(job, &done, now);
        match turn {
            Some(Turn::Down(wall)) => tracing::warn!("{wall}; trying again now and then"),
            Some(Turn::Up(after)) => {
                let after = crate::model::time::in_words(Duration::from_secs(after.as_secs()));
                tracing::warn!("all is well again, after {after}");
            }
            None => {}
        }
        for (prefix, head) in &agreed {
            self.cycle.remember_head(prefix, head);
        }
        match wished {
            Some(wished) => wished.answer(match done.refused {
                Some(refusal) => Word::Failed(refusal),
                None => Word::Report(Box::new(done.report)),
            }),
            None => drop(done),
        }
    }

    fn look_at_git(&mut self) {
        let setting = &self.front.settings.git_branch;
        let remembered = |prefix: &str| self.cycle.remembered(prefix);
        let found = self.front.trees.look(setting, remembered);
        self.front.git(found);
    }

    fn reload(&mut self) {
        let fresh = self.cycle.reload().and_then(|settings| {
            let now = self.front.now();
            let schedule = Schedule::new(&settings.poll, &settings.timezone, now)
                .map_err(|error| format!("failed to {error}"))?;
            Ok((settings, schedule))
        });
        match fresh {
            Ok((settings, schedule)) => {
                tracing::info!("the settings were read again");
                self.front.rescan.set(settings.rescan);
                self.front.desk.resettle(settings.clone(), schedule);
                self.front.settings = settings;
            }
            Err(why) => tracing::error!("the settings stay as they were: {why}"),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
