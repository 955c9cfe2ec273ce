//! What wakes the loop every other second: tokio-cron-scheduler, as a trigger only.
//!
//! Whether a poll is due is decided by [`super::schedule`]: the scheduler runs jobs side by side when they are
//! slow, forgets summer time, and knows no budget. A tick that finds the last one waiting is not needed.

use super::Event;
use tokio::sync::mpsc::{Sender, channel};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::sync::CancellationToken;

/// Polls are minutes apart, and each tick wakes a daemon that has nothing else to do.
const EVERY_OTHER_SECOND: &str = "*/2 * * * * *";

/// Ticks until it is stopped.
///
/// # Errors
///
/// When the scheduler cannot be started.
pub async fn run(to: Sender<Event>, stop: CancellationToken) -> Result<(), JobSchedulerError> {
    let (tick, mut ticks) = channel::<()>(1);
    let mut scheduler = JobScheduler::new().await?;
    let job = Job::new(EVERY_OTHER_SECOND, move |_, _| {
        // Full: the loop was told already, and has not come round to it.
        let _told_already = tick.try_send(());
    })?;
    scheduler.add(job).await?;
    scheduler.start().await?;
    // Its closures outlive the scheduler, so that the channel never closes by itself.
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
