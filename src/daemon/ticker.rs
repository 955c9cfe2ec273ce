//! What wakes the loop when nothing else does: tokio-cron-scheduler, as a trigger only.
//!
//! The loop knows when a poll is due, and wakes by itself; but its clock stands still while the machine sleeps,
//! and knows nothing of a time of day that was set. A tick finds that out. Whether a poll is due is decided by
//! [`super::schedule`]: the scheduler runs jobs side by side when they are slow, forgets summer time, and knows
//! no budget. A tick that finds the last one waiting is not needed.

use super::Event;
use tokio::sync::mpsc::{Sender, channel};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tokio_util::sync::CancellationToken;

/// How long a jump of the clock may go unnoticed; each tick costs an idle machine a little.
const EACH_FIVE_SECONDS: &str = "*/5 * * * * *";

/// Ticks until it is stopped.
///
/// # Errors
///
/// When the scheduler cannot be started.
pub async fn run(to: Sender<Event>, stop: CancellationToken) -> Result<(), JobSchedulerError> {
    let (tick, mut ticks) = channel::<()>(1);
    let mut scheduler = JobScheduler::new().await?;
    let job = Job::new(EACH_FIVE_SECONDS, move |_, _| {
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
