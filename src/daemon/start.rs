//! Wires the daemon: its sources of events, its loop and their order of shutdown.

use super::{
    Event,
    control::{self, DaemonStatus, Listening, ProgressSink},
    event_loop::{Ended, EventLoop},
    job::CycleRunner,
    loop_state::LoopState,
    outage::OutageBackoff,
    schedule::Moment,
    sources::{self, Signals},
    watch,
    work_queue::WorkQueue,
};
use crate::{
    config::Options,
    web::{self, health, shared_status::SharedStatus},
};
use chrono::{SecondsFormat, Utc};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::mpsc, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The capacity of the channel of events. When it is full, the sources wait.
const EVENT_CAPACITY: usize = 1024;

/// How long the sources may take to end.
const SOURCE_GRACE: Duration = Duration::from_secs(1);

/// The parts of a daemon. The caller holds the mirror's locks while the daemon runs.
pub struct Daemon<C> {
    /// Runs the cycles; their requests end when `stop` is cancelled.
    pub cycles: C,
    /// The settings.
    pub settings: Options,
    /// The settings of the watch.
    pub watch: watch::Options,
    /// The signals.
    pub signals: Signals,
    /// The socket for commands, if there is one.
    pub control: Option<Listening>,
    /// The listener for health and metrics, if there is one.
    pub listen: Option<TcpListener>,
    /// The rest of the budget, for the metrics.
    pub budget: web::BudgetSource,
    /// The status for health checks, metrics and `kbsync status`.
    pub status: Arc<SharedStatus>,
    /// Sends progress to the client whose command runs.
    pub progress: ProgressSink,
    /// Cancelled when no further request may begin.
    pub stop: CancellationToken,
}

/// Runs a daemon until a stop signal.
pub async fn run<C: CycleRunner>(daemon: Daemon<C>) -> Ended {
    let now = Moment {
        wall: Utc::now(),
        steady: Instant::now(),
    };
    let (to, events) = mpsc::channel(EVENT_CAPACITY);
    let tasks = TaskTracker::new();
    // The sources end last: a second stop signal must be received while the last request is in flight.
    let over = CancellationToken::new();
    let rescan = daemon.watch.rescan.clone();
    let watch = start_watch(daemon.watch, &to);
    tasks.spawn(daemon.signals.run(to.clone(), over.clone()));
    {
        let (to, over) = (to.clone(), over.clone());
        tasks.spawn(async move {
            if let Err(error) = sources::tick(to, over).await {
                tracing::error!(%error, "the scheduler failed; the service is not polled");
            }
        });
    }
    if let Some(listening) = daemon.control {
        let (shared, progress) = (daemon.status.clone(), daemon.progress.clone());
        let status: control::StatusSource = Arc::new(move || status(&shared, &progress));
        tasks.spawn(control::serve(listening, to.clone(), status, over.clone()));
    }
    if let Some(listener) = daemon.listen {
        let (shared, budget, over) = (daemon.status.clone(), daemon.budget, over.clone());
        tasks.spawn(async move {
            let stop = over.cancelled_owned();
            if let Err(error) = web::serve(listener, shared, budget, stop).await {
                tracing::error!(%error, "health and metrics are no longer served");
            }
        });
    }
    drop(to);
    tasks.close();
    let backoff = OutageBackoff::new(std::process::id());
    let state = LoopState::new(
        WorkQueue::new(daemon.settings, now, backoff),
        daemon.status,
        daemon.progress,
        rescan,
        Box::new(Utc::now),
        daemon.stop,
    );
    let ended = EventLoop::new(daemon.cycles, state).run(events).await;
    over.cancel();
    drop(watch);
    if ended != Ended::AtOnce {
        let late = tokio::time::timeout(SOURCE_GRACE, tasks.wait()).await;
        if late.is_err() {
            tracing::debug!("an event source did not stop in time");
        }
    }
    ended
}

/// Without a watch, only the polls scan the files.
fn start_watch(options: watch::Options, to: &mpsc::Sender<Event>) -> Option<watch::Watch> {
    match watch::start(options, to.clone()) {
        Ok(watch) => Some(watch),
        Err(error) => {
            tracing::error!(%error, "the files are not watched; only polls scan them");
            let mode = watch::Mode::Polling {
                every: Duration::ZERO,
                why: format!("only polls scan the files: {error}"),
            };
            // The channel is new and empty.
            let _sent = to.try_send(Event::Watching(mode));
            None
        }
    }
}

/// Returns the status for `kbsync status`. If a request waits, its next try is shown in place of the next poll.
pub fn status(shared: &SharedStatus, progress: &ProgressSink) -> DaemonStatus {
    let snapshot = shared.snapshot();
    let queue = &snapshot.queue;
    let wait = progress.current_wait();
    let next_try = wait.as_ref().filter(|note| !note.is_most());
    let next_try = next_try.map(|note| Utc::now() + note.wait);
    let shown = |at: chrono::DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    DaemonStatus {
        pid: std::process::id(),
        since: shown(snapshot.since),
        next_poll: next_try.or(queue.next_poll).map(shown),
        last_poll: snapshot.last_poll.map(|(at, _)| shown(at)),
        interval: queue.interval.as_secs(),
        planned: queue.planned.map(|planned| planned.as_secs()),
        cron: snapshot.cron.clone(),
        watching: snapshot.watching.clone(),
        // A refused token is shown even during a pause.
        waiting_for: (queue.paused.clone().filter(|_| !queue.is_token_refused))
            .or_else(|| queue.outage.clone())
            .or_else(|| wait.map(|note| note.why())),
        unhealthy: health::illness(&snapshot, Instant::now()),
        is_token_refused: queue.is_token_refused,
    }
}
