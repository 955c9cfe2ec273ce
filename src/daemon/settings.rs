//! The part of the settings that the loop needs.

use super::debounce::Delays;
use crate::config::{Config, Poll, PublishedBranch};
use std::time::Duration;

/// The settings of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The delays of touched paths.
    pub delays: Delays,
    /// When the service is polled.
    pub poll: Poll,
    /// The time zone of a cron line.
    pub timezone: String,
    /// How often the files are scanned where no events come.
    pub rescan: Duration,
    /// Requests allowed in a day.
    pub per_day: u32,
    /// The percentage of them that is reserved for pushes.
    pub reserve_for_pushes: u32,
    /// Which branch of a git repository is published.
    pub git_branch: PublishedBranch,
}

/// A path that never becomes quiet is due at this age of its first event.
const CEILING: Duration = Duration::from_secs(5);

impl Settings {
    /// Takes the values from the checked settings.
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
