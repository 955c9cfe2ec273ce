//! The small sources of events: signals, and a tick every five seconds through tokio-cron-scheduler.
//!
//! The loop wakes by itself when a poll is due, but its clock stands still while the machine sleeps and does not
//! follow the time of day. A tick makes the loop compare the clocks. The scheduler goes by the time of day: while a
//! clock that was set back catches up there are no ticks, and the loop's own wake-ups serve. [`super::schedule`]
//! decides whether a poll is due, because the scheduler runs slow jobs in parallel, ignores daylight saving time, and
//! knows no budget. A tick is dropped while the last one waits.

use super::Event;
use std::io;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::{Sender, channel},
};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::sync::CancellationToken;

/// The signals, with the system's default actions disabled.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user: Signal,
}

impl Signals {
    /// Disables the default actions. A signal that comes before [`Signals::run`] is not lost.
    pub fn take() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }

    /// Sends an event for each signal until the daemon stops.
    pub async fn run(mut self, to: Sender<Event>, stop: CancellationToken) {
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return,
                _ = self.terminate.recv() => Event::Stop,
                _ = self.interrupt.recv() => Event::Stop,
                _ = self.hang_up.recv() => Event::Reload,
                _ = self.user.recv() => Event::SyncNow,
            };
            if to.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// The longest time that a jump of the clock goes unnoticed. A tick costs an idle machine a little power.
const EACH_FIVE_SECONDS: &str = "*/5 * * * * *";

/// Sends ticks until the daemon stops.
pub async fn tick(to: Sender<Event>, stop: CancellationToken) -> Result<(), JobSchedulerError> {
    let (tick, mut ticks) = channel::<()>(1);
    let mut scheduler = JobScheduler::new().await?;
    let job = Job::new(EACH_FIVE_SECONDS, move |_, _| {
        // Full: the last tick still waits.
        let _told_already = tick.try_send(());
    })?;
    scheduler.add(job).await?;
    scheduler.start().await?;
    // The scheduler never drops its closures, so the channel never closes by itself.
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(()) = ticks.recv() => {
                if to.send(Event::Tick).await.is_err() {
                    break;
                }
            }
        }
    }
    scheduler.shutdown().await
}
