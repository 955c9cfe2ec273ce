//! Moments for people, in local time.

use super::layout::Column;
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
fn when() -> &'static str {
    static WHEN: LazyLock<String> =
        LazyLock::new(|| format!("when ({})", Local::now().format("UTC%:z")));
    &WHEN
}

/// The form of times in a table. On a narrow terminal, the year, the seconds and the zone are left out for the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    is_narrow: bool,
}

impl Times {
    /// A terminal with fewer columns is narrow.
    const NARROW: usize = 80;

    pub(super) fn for_width(width: Option<usize>) -> Self {
        let is_narrow = width.is_some_and(|width| width < Self::NARROW);
        Self { is_narrow }
    }

    pub(super) fn column(self) -> Column {
        Column::whole(if self.is_narrow { "when" } else { when() })
    }

    pub(super) fn of(self, at: Timestamp) -> String {
        let time = local_time(at);
        // `11-23 10:20` of `2026-11-23 10:20:30`.
        let short = time.get(5..16).filter(|_| self.is_narrow);
        short.map(str::to_owned).unwrap_or(time)
    }
}
