//! The state of the loop beside the cycles: passes events to the work queue, and reports to the status, the log and the
//! supervisor.
//!
//! No decisions are made here, and nothing blocks, because a cycle may be running.

use super::{
    Event,
    control::{ProgressSink, Refusal, Response},
    git::{Known, Pause},
    job::{CycleOutcome, Job, OpenItems, Scope},
    log_once::LogOnce,
    outage::Outage,
    schedule::Moment,
    supervisor::Supervisor,
    watch::{Mode, Rescan},
    work_queue::{WorkQueue, is_push},
};
use crate::{
    config::Poll,
    engine::{StopCause, report::Status},
    web::shared_status::SharedStatus,
};
use chrono::{DateTime, Utc};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Returns the time of day.
pub type WallClock = Box<dyn Fn() -> DateTime<Utc> + Send>;

/// Everything of the loop except the cycles, so that events can be handled while a cycle runs.
pub struct LoopState {
    pub(super) work_queue: WorkQueue,
    pub(super) status: Arc<SharedStatus>,
    pub(super) progress: ProgressSink,
    pub(super) rescan: Rescan,
    pub(super) supervisor: Supervisor,
    clock: WallClock,
    /// Cancels all further requests.
    stop: CancellationToken,
    pub(super) stop_signals: u32,
    pub(super) reload: bool,
    log_once: LogOnce,
    /// Why the last cycle failed, if it did.
    failure: Option<String>,
    /// The failure of the last cycle, if the service refused the token.
    refused_token: Option<String>,
    /// The saved files that were announced in this outage.
    pub(super) announced: BTreeSet<String>,
}

impl LoopState {
    /// Makes the state at the start. `rescan`: how often the watch scans the files where no events come. `stop` is
    /// cancelled when no further request may begin.
    pub fn new(
        work_queue: WorkQueue,
        status: Arc<SharedStatus>,
        progress: ProgressSink,
        rescan: Rescan,
        clock: WallClock,
        stop: CancellationToken,
    ) -> Self {
        Self {
            work_queue,
            status,
            progress,
            rescan,
            supervisor: Supervisor::find(),
            clock,
            stop,
            stop_signals: 0,
            reload: false,
            log_once: LogOnce::default(),
            failure: None,
            refused_token: None,
            announced: BTreeSet::new(),
        }
    }

    pub(super) fn now(&self) -> Moment {
        Moment {
            wall: (self.clock)(),
            steady: Instant::now(),
        }
    }

    pub(super) fn handle(&mut self, event: Event) {
        let now = Instant::now();
        self.supervisor.alive(now.into_std());
        self.status.update(|status| status.heartbeat = now);
        match event {
            Event::Touched { path, touch } => {
                tracing::trace!(path, ?touch, "touched");
                self.work_queue.touched(&path, touch, now);
            }
            Event::Rescan(cause) => {
                tracing::info!(cause = %cause.word(), "the whole mirror is scanned");
                self.status.metrics.rescan(cause.word());
                self.work_queue.rescan(cause);
            }
            Event::Watching(mode) => {
                match &mode {
                    Mode::Events => tracing::info!(target: "kbsync::cycle", by = %mode, "watching"),
                    Mode::Polling { .. } => tracing::info!("changes are noticed by {mode}"),
                }
                self.status
                    .update(|status| status.watching = mode.to_string());
                self.work_queue.watch_answered();
            }
            Event::Tick => {}
            Event::Command(command) => {
                self.progress.add(&command);
                self.work_queue.add_command(command);
            }
            Event::SyncNow => self.work_queue.sync_now(),
            Event::Reload => self.reload = true,
            Event::Stop => {
                self.stop_signals += 1;
                self.stop.cancel();
                self.supervisor.stopping();
            }
        }
    }

    /// Passes the repositories to the work queue, and logs a pause that begins or ends.
    pub(super) fn set_git(&mut self, found: Vec<Known>) {
        let before = self.work_queue.pause().cloned();
        self.work_queue.set_git(found, Instant::now());
        match self.work_queue.pause() {
            now if now == before.as_ref() => {}
            Some(Pause::Busy(busy)) => tracing::info!("paused: {busy}"),
            Some(why) => tracing::warn!("paused: {why}; {}", why.remedy()),
            None => tracing::info!("no longer paused"),
        }
    }

    /// Answers the commands that a pause forbids.
    pub(super) fn refuse_commands(&mut self) {
        while let Some((command, why)) = self.work_queue.take_refused(Instant::now()) {
            command.respond(Response::Failed(Refusal {
                code: why.code().number(),
                message: format!("paused: {why}"),
                help: why.remedy(),
                ..Refusal::default()
            }));
        }
    }

    pub(super) fn cycle_started(&mut self, job: &Job) {
        tracing::debug!(trigger = %job.trigger.word(), "a cycle begins");
        self.publish();
        let now = Instant::now();
        self.status.update(|status| {
            status.busy = true;
            status.progress = now;
        });
    }

    pub(super) fn cycle_finished(&mut self, job: &Job, outcome: &CycleOutcome, started: Instant) {
        let now = self.now();
        let took = now.steady.saturating_duration_since(started);
        self.status.metrics.cycle(job.trigger.word(), took);
        if !outcome.is_complete() {
            self.status.metrics.failure();
        }
        let polled = job.scope.is_poll() && outcome.is_complete();
        let pushed = outcome.report.actions.iter().any(is_push);
        let open = outcome.open_items;
        let is_first = polled && !self.status.snapshot().ready;
        self.status.update(|status| {
            status.busy = false;
            status.open = open;
            if polled {
                status.left_out = outcome.report.problems.len();
                status.ready = true;
                status.last_poll = Some((now.wall, now.steady));
            }
            if pushed {
                status.last_push = Some(now.steady);
            }
        });
        let failure = outcome.failures.last();
        let refused = failure.filter(|_| outcome.outage == Some(Outage::TokenRejected));
        self.refused_token = refused.map(Refusal::to_string);
        // The person sees the failure of a command.
        if !matches!(job.scope, Scope::Command(_)) {
            self.failure = failure_of(outcome);
        }
        self.log_once.log(outcome, polled);
        let nothing = OpenItems {
            articles: open.articles,
            ..OpenItems::default()
        };
        let is_equal = polled && open == nothing && outcome.report.problems.is_empty();
        let lines = &outcome.report.actions;
        let held = lines
            .iter()
            .filter(|line| line.status == Status::Held)
            .count();
        if is_first && (is_equal || held > 0) {
            let interval = self.work_queue.summary(now, now.wall).interval;
            let every = crate::model::time::in_words(interval);
            let state = match held {
                0 => "both sides are equal".to_owned(),
                held => format!("{held} held"),
            };
            tracing::info!("{state}; the service is asked every {every}");
        }
        log_cycle(job, outcome, took);
    }

    /// Publishes the work queue's summary.
    pub(super) fn publish(&mut self) {
        let now = self.now();
        let snapshot = self.status.snapshot();
        let good_poll = snapshot.last_poll.map_or(snapshot.since, |(at, _)| at);
        let mut queue = self.work_queue.summary(now, good_poll);
        let line = match (&queue.paused, &queue.outage) {
            (Some(why), _) | (None, Some(why)) => why.clone(),
            (None, None) => {
                let next = queue.next_poll.unwrap_or(now.wall);
                format!("next poll at {}", next.format("%H:%M:%S UTC"))
            }
        };
        let refused = self.refused_token.as_ref();
        let refused = refused.filter(|_| queue.is_token_refused);
        queue.outage = refused.or(self.failure.as_ref()).cloned().or(queue.outage);
        let settings = self.work_queue.settings();
        let cron = match &settings.poll {
            Poll::Cron(line) => Some(format!("{line} ({})", settings.timezone)),
            Poll::Every(_) => None,
        };
        self.supervisor.status(&line);
        self.supervisor.alive(now.steady.into_std());
        self.status.update(|status| {
            status.heartbeat = now.steady;
            status.cron = cron;
            status.queue = queue;
        });
    }
}

/// Returns why a cycle failed, if it did. Outages and pauses because of git are reported elsewhere.
fn failure_of(outcome: &CycleOutcome) -> Option<String> {
    if outcome.outage.is_some() {
        return None;
    }
    let report = &outcome.report;
    let stop = report.stopped.as_ref();
    if outcome.is_complete() || stop.is_some_and(|stop| stop.cause == StopCause::Git) {
        return None;
    }
    let failure = outcome.failures.last().map(|failure| &failure.message);
    let why = stop.map(|stop| &stop.message).or(failure)?;
    Some(format!("the last sync failed: {why}"))
}

/// Logs a line for each cycle. During an outage only its beginning and its end are news.
fn log_cycle(job: &Job, outcome: &CycleOutcome, took: Duration) {
    macro_rules! line {
        ($level:ident) => {
            // People on a terminal see the actions instead.
            tracing::$level!(
                target: "kbsync::cycle",
                trigger = %job.trigger.word(),
                outcome = %outcome.report.outcome.word(),
                actions = outcome.report.actions.len(),
                problems = outcome.report.problems.len(),
                requests = outcome.report.requests.total,
                ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "a cycle is done"
            )
        };
    }
    if outcome.outage.is_some() {
        line!(debug);
    } else {
        line!(info);
    }
}
