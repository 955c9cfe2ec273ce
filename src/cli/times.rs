//! Moments for people, in local time.

use crate::model::Timestamp;
use chrono::{Local, TimeZone as _};
use std::sync::LazyLock;

/// Formats a moment in local time.
pub(super) fn local_time(at: Timestamp) -> String {
    Local.timestamp_millis_opt(at.0).single().map_or_else(
        || at.to_rfc3339(),
        |moment| moment.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// Returns the heading of a column of local times, with their zone.
pub(super) fn when() -> &'static str {
    static WHEN: LazyLock<String> =
        LazyLock::new(|| format!("when ({})", Local::now().format("UTC%:z")));
    &WHEN
}
