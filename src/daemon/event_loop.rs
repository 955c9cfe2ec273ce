//! The event loop: handles events, and runs one cycle at a time.
//!
//! The work queue decides what to do; this file only waits. Events are handled while a cycle runs. A stop signal
//! cancels all further requests, so that the request in flight is the last one and the cycle ends by itself. A cycle
//! that does not end within [`GRACE`] is abandoned, as in a crash, and the next start recovers. A second stop signal
//! ends the loop at once.

use super::{
    Event,
    control::{self, QueuedCommand, Refusal, Response},
    debounce::Touch,
    job::{CycleOutcome, CycleRunner, Job, Scope},
    loop_state::LoopState,
    outage::{Outage, OutageChange},
    schedule::Moment,
    work_queue::NextJob,
};
use crate::model::time::{in_words, wait_in_words};
use std::{collections::BTreeSet, pin::pin, time::Duration};
use tokio::{
    sync::mpsc::Receiver,
    time::{Instant, sleep, sleep_until},
};

/// How long the request in flight may take after a stop signal (failures row 9: a container has ten seconds).
pub const GRACE: Duration = Duration::from_secs(8);

/// The longest sleep of the loop: after the clock was set back, no tick comes until it has caught up.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// How the loop ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// After a stop signal; the cycle in flight was finished.
    Stopped,
    /// After a stop signal; the cycle in flight was abandoned.
    GaveUp,
    /// After a second stop signal.
    AtOnce,
    /// All senders of events are gone.
    Alone,
    /// The lock or the state was removed or replaced (failures rows 46, 50 and 116).
    Lost,
}

/// The loop: the runner of the cycles, and the state that events change.
pub struct EventLoop<C> {
    cycles: C,
    state: LoopState,
}

impl<C: CycleRunner> EventLoop<C> {
    /// Builds a loop.
    pub const fn new(cycles: C, state: LoopState) -> Self {
        Self { cycles, state }
    }

    /// Runs until a stop signal, the end of the events, or the loss of the mirror.
    pub async fn run(mut self, mut events: Receiver<Event>) -> Ended {
        self.state.supervisor.ready();
        let ended = loop {
            if self.state.stop_signals > 0 {
                break Ended::Stopped;
            }
            if std::mem::take(&mut self.state.reload) {
                self.reload();
            }
            let setting = &self.state.work_queue.settings().git_branch;
            let repositories = self.cycles.repositories(setting);
            // Asked after that look: a mirror that was moved away is in no repository, which would be a pause
            // without an end.
            if self.is_lost() {
                break Ended::Lost;
            }
            self.state.set_git(repositories);
            self.state.refuse_commands();
            self.refuse_other_settings();
            let now = self.state.now();
            // A poll that becomes due while a cycle runs is noticed here, after the cycle.
            let cycles = &mut self.cycles;
            self.state.work_queue.tick(now, || cycles.budget_left());
            let queue = &mut self.state.work_queue;
            queue.judge(|due| cycles.drop_unchanged(due));
            let next = queue.next(now, |due| cycles.drop_unchanged(due));
            if let Some(next) = next {
                // The queue of events can overflow because of kbsync's own writes.
                if next.only_if_changed && self.cycles.is_as_recorded() {
                    tracing::info!("events were lost, but no file has changed");
                    self.state.work_queue.rescan_not_needed();
                    continue;
                }
                if let Some(ended) = self.run_cycle(next, &mut events).await {
                    break ended;
                }
                // A cycle that lost its lock or its state has done nothing since.
                if self.is_lost() {
                    break Ended::Lost;
                }
                continue;
            }
            self.announce_delayed(now);
            self.state.publish();
            let work = self.state.work_queue.next_deadline(now);
            let watchdog = self.state.supervisor.next_sign();
            let wake_up = Some(now.steady + LONGEST_SLEEP);
            let deadlines = [work, watchdog, wake_up].into_iter().flatten();
            let deadline = deadlines.filter(|at| *at > now.steady).min();
            let event = tokio::select! {
                event = events.recv() => event,
                () = until(deadline) => continue,
            };
            let Some(event) = event else {
                break Ended::Alone;
            };
            self.state.handle(event);
            // Events that came together are handled together.
            while let Ok(event) = events.try_recv() {
                self.state.handle(event);
            }
        };
        self.state.supervisor.stopping();
        ended
    }

    /// Logs each saved file that waits for its push interval or for the end of an outage. Otherwise a person wonders
    /// why the change is not live.
    fn announce_delayed(&mut self, now: Moment) {
        let delayed = self.state.work_queue.newly_delayed(now);
        let paths = delayed.iter().map(|(path, _)| path.clone());
        // Kbsync's own writes cause events as well.
        let edited = self.edited(&paths.collect());
        for (path, wait) in delayed {
            if edited.contains(&path) {
                let wait = in_words(Duration::from_secs(wait.as_secs() + 1));
                tracing::info!(path, "saved; will be sent in {wait}");
            }
        }
        let Some((outage, mut changed)) = self.state.work_queue.stopped() else {
            return;
        };
        changed.retain(|path| !self.state.announced.contains(path));
        for path in self.edited(&changed) {
            tracing::info!(
                path,
                "saved; will be sent when syncing works again ({outage})"
            );
            self.state.announced.insert(path);
        }
    }

    /// Returns the paths that differ from the state, as after a person's edit.
    fn edited(&mut self, changed: &BTreeSet<String>) -> BTreeSet<String> {
        let saved = changed.iter().cloned();
        let saved = saved.map(|path| (path, Touch::Changed)).collect();
        self.cycles.drop_unchanged(saved).into_keys().collect()
    }

    /// Returns whether the daemon has lost its mirror, and logs why.
    fn is_lost(&self) -> bool {
        let why = self.cycles.lost_mirror();
        if let Some(why) = &why {
            tracing::error!("{why}");
        }
        why.is_some()
    }

    /// Runs one cycle, and handles events meanwhile. Returns how the loop ended, if it did.
    async fn run_cycle(&mut self, next: NextJob, events: &mut Receiver<Event>) -> Option<Ended> {
        let NextJob {
            job,
            command,
            only_if_changed: _,
        } = next;
        let state = &mut self.state;
        state.progress.send_to(command.as_ref());
        state.cycle_started(&job);
        let started = Instant::now();
        let mut give_up = None;
        let outcome = {
            let mut cycle = pin!(self.cycles.run(&job));
            loop {
                let sign = state.supervisor.next_sign();
                tokio::select! {
                    biased;
                    outcome = &mut cycle => break Ok(outcome),
                    () = until(give_up) => break Err(Ended::GaveUp),
                    event = events.recv() => match event {
                        Some(event) => state.handle(event),
                        None => break Err(Ended::Alone),
                    },
                    () = until(sign) => state.supervisor.alive(Instant::now().into_std()),
                    () = sleep(LONGEST_SLEEP) => state.handle(Event::Tick),
                }
                if state.stop_signals > 1 {
                    break Err(Ended::AtOnce);
                }
                if state.stop_signals == 1 && give_up.is_none() {
                    give_up = Some(Instant::now() + GRACE);
                }
            }
        };
        state.progress.send_to(None);
        match outcome {
            Ok(outcome) => {
                self.finish(&job, command, outcome, started);
                None
            }
            Err(ended) => {
                if let Some(command) = command {
                    command.respond(Response::Failed(control::interrupted()));
                }
                Some(ended)
            }
        }
    }

    /// Ends a cycle: stores what git published, logs an outage, and answers the command.
    fn finish(
        &mut self,
        job: &Job,
        command: Option<QueuedCommand>,
        outcome: CycleOutcome,
        started: Instant,
    ) {
        let now = self.state.now();
        self.state.cycle_finished(job, &outcome, started);
        if job.scope == Scope::Everything {
            let missing = outcome.report.missing.clone();
            self.state.work_queue.note_missing(missing, now.steady);
        }
        let to_remember = self.state.work_queue.to_remember(job, &outcome);
        match self.state.work_queue.finish(job, &outcome, started, now) {
            Some(OutageChange::Began(outage)) => {
                let wait = wait_in_words(self.state.work_queue.next_try(now));
                let then = match outage.known_pause() {
                    Some(_) => "",
                    None => ", then at growing intervals",
                };
                let failure = outcome.failures.last();
                let why = failure.filter(|_| outage == Outage::TokenRejected);
                let why = why.map_or_else(|| outage.to_string(), Refusal::to_string);
                tracing::warn!("{why}; next try in {wait}{then}");
            }
            Some(OutageChange::Ended(after)) => {
                self.state.announced.clear();
                let after = in_words(Duration::from_secs(after.as_secs()));
                tracing::info!("syncing works again, after {after}");
            }
            None => {}
        }
        for (prefix, what) in to_remember {
            if let Some(branch) = &what.branch {
                tracing::info!(branch, "this branch is the published branch from now on");
            }
            self.cycles.remember(&prefix, &what);
        }
        if let Some(command) = command {
            // The client may ask for the status at once.
            self.state.publish();
            let mut report = outcome.report;
            let stopped = report.stopped.take();
            let failures = outcome.failures;
            command.respond(Response::Report(Box::new(report), stopped, failures));
        }
    }

    /// Answers the commands of clients with other settings, also those that waited before a reload.
    fn refuse_other_settings(&mut self) {
        let (queue, cycles) = (&mut self.state.work_queue, &self.cycles);
        let mut why = None;
        while let Some(command) = queue.take_command(|command| {
            why = cycles.refusal(command.command());
            why.is_some()
        }) {
            let refusal = why.take().unwrap_or_default();
            command.respond(Response::Failed(refusal));
        }
    }

    fn reload(&mut self) {
        match self.cycles.reload() {
            Ok(settings) => {
                tracing::info!("the settings were read again");
                self.state.rescan.set(settings.rescan);
                self.state.work_queue.set_settings(settings);
            }
            Err(why) => tracing::error!("the daemon keeps the old settings: {why}"),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
