//! What the loop has to know of the settings.

use super::debounce::Delays;
use crate::config::{Config, Poll, PublishedBranch};
use std::time::Duration;

/// The settings of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long paths wait.
    pub delays: Delays,
    /// When the service is asked.
    pub poll: Poll,
    /// The zone of a cron line.
    pub timezone: String,
    /// How often the files are looked through where no events come.
    pub rescan: Duration,
    /// Requests allowed in a day.
    pub per_day: u32,
    /// Percent of them that polls leave to pushes.
    pub reserve_for_pushes: u32,
    /// Which branch of a git repository is published.
    pub git_branch: PublishedBranch,
}

/// A path that is never quiet is taken so long after its first event.
const CEILING: Duration = Duration::from_secs(5);

impl Settings {
    /// Takes them from the checked settings.
    pub fn of(config: &Config) -> Self {
        let options = &config.options;
        Self {
            delays: Delays {
                quiet_period: options.quiet_period,
                ceiling: CEILING.max(options.quiet_period),
                delete_grace: options.delete_grace,
                push_interval: options.push_interval,
            },
            poll: options.poll.clone(),
            timezone: options.timezone.clone(),
            rescan: options.rescan,
            per_day: options.budget.per_day,
            reserve_for_pushes: options.budget.reserve_for_pushes,
            git_branch: options.git_branch.clone(),
        }
    }
}
