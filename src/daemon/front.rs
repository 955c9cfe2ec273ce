//! What goes on while a cycle runs: events are taken to the desk, and what waits is shown on the board, in the log and to
//! the supervisor. It decides nothing, and waits for nothing.

use super::{
    Event,
    control::{Ear, Refusal, Word},
    desk::{Desk, Pause, is_push},
    git::{Known, Trees},
    job::{Done, Job, Look},
    schedule::Moment,
    settings::Settings,
    supervisor::Supervisor,
    told::Told,
    turn::WallClock,
    watch::Rescan,
};
use crate::{config::Poll, web::board::Board};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// All but the cycles: what goes on while one runs.
pub(super) struct Front {
    pub(super) desk: Desk,
    pub(super) settings: Settings,
    pub(super) board: Arc<Board>,
    pub(super) ear: Ear,
    pub(super) trees: Trees,
    pub(super) rescan: Rescan,
    pub(super) supervisor: Supervisor,
    pub(super) wall: WallClock,
    /// Closes the valve.
    pub(super) stop: CancellationToken,
    pub(super) stops: u32,
    pub(super) reload: bool,
    pub(super) told: Told,
    /// Why nothing is done because of git, as it was last told.
    pub(super) paused: Option<Pause>,
}

impl Front {
    pub(super) fn now(&self) -> Moment {
        Moment {
            wall: (self.wall)(),
            steady: Instant::now(),
        }
    }

    pub(super) fn take(&mut self, event: Event) {
        let now = Instant::now();
        self.supervisor.alive(now.into_std());
        self.board.show(|seen| seen.beat = now);
        match event {
            Event::Touched { path, touch } => {
                tracing::trace!(path, ?touch, "touched");
                self.desk.touched(&path, touch, now);
            }
            Event::Doubt(cause) => {
                tracing::info!(%cause, "everything is looked at");
                self.board.metrics.rescan(cause.word());
                self.desk.doubt(cause, now);
            }
            Event::Watching(mode) => {
                tracing::info!(by = %mode, "watching");
                self.board.show(|seen| seen.watching = mode.to_string());
                self.desk.watching();
            }
            Event::Tick => {}
            Event::Wish(wished) => self.desk.wish(wished),
            Event::SyncNow => self.desk.sync_now(),
            Event::Reload => self.reload = true,
            Event::Stop => {
                self.stops += 1;
                self.stop.cancel();
                self.supervisor.stopping();
            }
        }
    }

    pub(super) fn git(&mut self, found: Vec<Known>) {
        self.desk.git(found);
        let paused = self.desk.paused();
        if self.paused != paused {
            match &paused {
                Some(Pause::NotPublished(why)) => {
                    tracing::warn!("paused: {why}; {}", why.remedy());
                }
                Some(pause @ Pause::Busy(_)) => tracing::info!("{pause}"),
                None => tracing::info!("going on"),
            }
            self.paused = paused;
        }
    }

    /// Tells those who wait for something that cannot be done now.
    pub(super) fn refuse(&mut self) {
        while let Some((wished, why)) = self.desk.refused() {
            wished.answer(Word::Failed(Refusal {
                code: why.code(),
                message: why.to_string(),
                help: why.remedy(),
            }));
        }
    }

    pub(super) fn begin(&mut self, job: &Job) {
        tracing::debug!(trigger = %job.trigger, "a cycle begins");
        self.show();
        let now = Instant::now();
        self.board.show(|seen| {
            seen.busy = true;
            seen.progress = now;
        });
    }

    pub(super) fn record(&mut self, job: &Job, done: &Done, started: Instant) {
        let now = self.now();
        let took = now.steady.saturating_duration_since(started);
        self.board.metrics.cycle(job.trigger.word(), took);
        let whole = match &job.look {
            Look::Whole => true,
            Look::Wish(wish) => wish.is_whole(),
            Look::Mirror | Look::Paths(_) => false,
        };
        let good = done.got_through();
        let pushed = done.report.actions.iter().any(is_push);
        let standing = done.standing;
        self.board.show(|seen| {
            seen.busy = false;
            seen.conflicts = standing.conflicts;
            seen.held_deletions = standing.held_deletions;
            seen.intents = standing.intents;
            if whole && good {
                seen.ready = true;
                seen.last_poll = Some((now.wall, now.steady));
            }
            if pushed {
                seen.last_push = Some(now.steady);
            }
        });
        self.told.tell(done, whole && good);
        log_cycle(job, done, took);
    }

    pub(super) fn show(&mut self) {
        let now = self.now();
        let shown = self.desk.shown(now);
        let line = match (&shown.paused, &shown.in_the_way) {
            (Some(why), _) | (None, Some(why)) => why.clone(),
            (None, None) => format!("next poll at {}", shown.next_poll.format("%H:%M:%S UTC")),
        };
        let cron = match &self.settings.poll {
            Poll::Cron(line) => Some(format!("{line} ({})", self.settings.timezone)),
            Poll::Every(_) => None,
        };
        self.supervisor.status(&line);
        self.supervisor.alive(now.steady.into_std());
        self.board.show(|seen| {
            seen.beat = now.steady;
            seen.next_poll = Some(shown.next_poll);
            seen.interval = shown.interval;
            seen.cron = cron;
            seen.pending = shown.pending;
            seen.oldest = shown.oldest;
            seen.paused = shown.paused;
            seen.in_the_way = shown.in_the_way;
        });
    }
}

/// A line for each cycle. Of one that met a wall the change of state is the news, which is told once.
fn log_cycle(job: &Job, done: &Done, took: Duration) {
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                trigger = %job.trigger,
                outcome = ?done.report.outcome,
                actions = done.report.actions.len(),
                problems = done.report.problems.len(),
                requests = done.report.requests.total,
                ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "a cycle is done"
            )
        };
    }
    if done.wall.is_some() {
        line!(debug);
    } else {
        line!(info);
    }
}
