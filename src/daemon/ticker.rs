//! Wakes the loop every five seconds, through tokio-cron-scheduler.
//!
//! The loop wakes by itself when a poll is due, but its clock stands still while the machine sleeps and does not
//! follow the time of day. A tick makes the loop compare the clocks. [`super::schedule`] decides whether a poll is
//! due, because the scheduler runs slow jobs in parallel, ignores daylight saving time, and knows no budget. A tick
//! is dropped while the last one waits.

use super::Event;
use tokio::sync::mpsc::{Sender, channel};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::sync::CancellationToken;

/// How long a jump of the clock may go unnoticed. A tick costs an idle machine a little power.
const EACH_FIVE_SECONDS: &str = "*/5 * * * * *";

/// Sends ticks until the daemon stops.
///
/// # Errors
///
/// When the scheduler cannot be started.
pub async fn run(to: Sender<Event>, stop: CancellationToken) -> Result<(), JobSchedulerError> {
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
