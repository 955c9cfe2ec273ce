//! The daemon put together: the table of contents of the process.

use super::{
    Event,
    control::{self, Ear, Listening, StatusWord},
    desk::Desk,
    git::Trees,
    job::Cycle,
    reach::Reach,
    schedule::{Moment, Schedule, ScheduleError},
    settings::Settings,
    signals::Signals,
    trigger,
    turn::{Ended, Loop, Parts},
    watch,
};
use crate::web::{self, board::Board, health};
use chrono::{SecondsFormat, Utc};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::mpsc, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Events that wait for the loop. When they are full the sources wait in turn.
const IN_FLIGHT: usize = 1024;

/// Sources are given so long to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a daemon is made of. The caller holds the mirror's locks for as long as it runs.
pub struct Daemon<C> {
    /// Runs the cycles; its requests end when `stop` is cancelled.
    pub cycle: C,
    /// The settings.
    pub settings: Settings,
    /// What is watched, and how.
    pub watch: watch::Options,
    /// The signals.
    pub signals: Signals,
    /// Where commands come in, if they can.
    pub control: Option<Listening>,
    /// Where health and figures are shown, if they are.
    pub listen: Option<TcpListener>,
    /// What is left of the budget, to be shown there.
    pub purse: web::Purse,
    /// What is shown.
    pub board: Arc<Board>,
    /// Takes progress to whoever waits for it.
    pub ear: Ear,
    /// Cancelled when no further request may begin.
    pub stop: CancellationToken,
}

/// Runs a daemon until it is stopped.
///
/// # Errors
///
/// When the schedule cannot be read.
pub async fn run<C: Cycle>(daemon: Daemon<C>) -> Result<Ended, ScheduleError> {
    let now = Moment {
        wall: Utc::now(),
        steady: Instant::now(),
    };
    let schedule = Schedule::new(&daemon.settings.poll, &daemon.settings.timezone, now)?;
    let (to, events) = mpsc::channel(IN_FLIGHT);
    let sources = TaskTracker::new();
    // Sources go on while the last request is in flight: a second signal must be heard.
    let over = CancellationToken::new();
    let rescan = daemon.watch.rescan.clone();
    let roots = daemon.watch.roots.iter();
    let trees = Trees::of(roots.map(|root| (root.prefix.clone(), root.path.clone())));
    let watch = watch_or_say(daemon.watch, &to);
    sources.spawn(daemon.signals.run(to.clone(), over.clone()));
    {
        let (to, over) = (to.clone(), over.clone());
        sources.spawn(async move {
            if let Err(error) = trigger::run(to, over).await {
                tracing::error!(%error, "the scheduler failed; the service is not polled");
            }
        });
    }
    if let Some(listening) = daemon.control {
        let board = daemon.board.clone();
        let status: control::Teller = Arc::new(move || status(&board));
        sources.spawn(control::serve(listening, to.clone(), status, over.clone()));
    }
    if let Some(listener) = daemon.listen {
        let (board, purse, over) = (daemon.board.clone(), daemon.purse, over.clone());
        sources.spawn(async move {
            let stop = over.cancelled_owned();
            if let Err(error) = web::serve(listener, board, purse, stop).await {
                tracing::error!(%error, "health and figures are not shown any more");
            }
        });
    }
    drop(to);
    sources.close();
    let ended = Loop::new(Parts {
        cycle: daemon.cycle,
        desk: Desk::new(
            daemon.settings.clone(),
            schedule,
            Reach::new(std::process::id()),
        ),
        settings: daemon.settings,
        board: daemon.board,
        ear: daemon.ear,
        trees,
        rescan,
        wall: Box::new(Utc::now),
        stop: daemon.stop,
    })
    .run(events)
    .await;
    over.cancel();
    drop(watch);
    if ended != Ended::AtOnce {
        let late = tokio::time::timeout(LAST_WORDS, sources.wait()).await;
        if late.is_err() {
            tracing::debug!("a source did not end in time");
        }
    }
    Ok(ended)
}

/// A watch that cannot even be started leaves the polls, which look at all files.
fn watch_or_say(options: watch::Options, to: &mpsc::Sender<Event>) -> Option<watch::Watch> {
    match watch::start(options, to.clone()) {
        Ok(watch) => Some(watch),
        Err(error) => {
            tracing::error!(%error, "files are not watched; polls look at all of them");
            let mode = watch::Mode::Looking {
                every: Duration::ZERO,
                why: format!("only polls look at the files: {error}"),
            };
            // The channel is new and empty.
            let _sent = to.try_send(Event::Watching(mode));
            None
        }
    }
}

/// What `status` shows of a daemon.
pub fn status(board: &Board) -> StatusWord {
    let seen = board.seen();
    let shown = |at: chrono::DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    StatusWord {
        pid: std::process::id(),
        since: shown(seen.since),
        next_poll: seen.next_poll.map(shown),
        last_poll: seen.last_poll.map(|(at, _)| shown(at)),
        interval: seen.interval.as_secs(),
        cron: seen.cron.clone(),
        watching: seen.watching.clone(),
        pending: seen.pending,
        waiting_for: seen.paused.clone().or_else(|| seen.in_the_way.clone()),
        unhealthy: health::illness(&seen, Instant::now()),
    }
}
