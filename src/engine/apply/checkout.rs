//! Git's checkout during a cycle: nothing is sent or written from the files of another checkout.

use super::state::Obstacles;
use crate::engine::{Checkout, GIT_PATIENCE, GitView, Stop, StopCause};
use std::time::Duration;
use tokio::time::Instant;

/// The pause between two looks at git while a cycle waits.
const GIT_LOOK: Duration = Duration::from_millis(50);

/// Returns the reason, if any, why nothing may be sent or written: git replaced the files with those of another branch,
/// or is still replacing them. Waits for a git command that only refreshes the index.
pub(in crate::engine) async fn other_checkout(git: &dyn GitView) -> Option<String> {
    let until = Instant::now() + GIT_PATIENCE;
    loop {
        match git.checkout() {
            Checkout::Same => return None,
            Checkout::Other(why) => return Some(why),
            Checkout::Changing(why) if Instant::now() >= until => return Some(why),
            Checkout::Changing(_) => tokio::time::sleep(GIT_LOOK).await,
        }
    }
}

/// Stops both sides if git has changed the checkout since the scan: a long plan takes minutes.
pub(super) async fn stop_at_other_checkout(git: &dyn GitView, obstacles: &mut Obstacles) {
    if obstacles.mirror_stop.is_some() {
        return;
    }
    if let Some(why) = other_checkout(git).await {
        let message = format!("nothing more is synced: {why}");
        obstacles.stop_both_sides(Stop::new(StopCause::Git, message));
    }
}
