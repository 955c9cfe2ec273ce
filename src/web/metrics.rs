//! The metrics of a daemon, in the text format of Prometheus.

use super::shared_status::StatusSnapshot;
use crate::engine::report::BudgetLeft;
use prometheus_client::{
    encoding::text::encode,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use std::{fmt, sync::atomic::AtomicU64, time::Duration};
use tokio::time::Instant;

/// The labels of a series, with their values.
type Labels = Vec<(&'static str, String)>;

/// The version of this program.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Counters and histograms.
#[derive(Clone, Debug)]
pub struct Metrics {
    requests: Family<Labels, Counter>,
    rescans: Family<Labels, Counter>,
    failures: Counter,
    cycles: Family<Labels, Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            rescans: Family::default(),
            failures: Counter::default(),
            // From 5 ms to about 87 minutes.
            cycles: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.005, 4.0, 11))
            }),
        }
    }
}

impl Metrics {
    /// Counts a request by the status of its answer; without an answer, by `none`.
    pub fn request(&self, method: &str, status: Option<u16>) {
        let status = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        let labels = vec![("method", method.to_owned()), ("status", status)];
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts a scan of the whole mirror, with its cause.
    pub fn rescan(&self, cause: &'static str) {
        let labels = vec![("cause", cause.to_owned())];
        self.rescans.get_or_create(&labels).inc();
    }

    /// Counts a cycle that failed or was cut off.
    pub fn failure(&self) {
        self.failures.inc();
    }

    /// Records the duration of a cycle.
    pub fn cycle(&self, trigger: &'static str, took: Duration) {
        let labels = vec![("trigger", trigger.to_owned())];
        self.cycles
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    /// Writes all metrics, with the current status and the rest of the budget.
    pub fn text(
        &self,
        status: &StatusSnapshot,
        budget: BudgetLeft,
        now: Instant,
    ) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("kbsync");
        let build = Family::<Labels, Gauge>::default();
        let labels = vec![("version", VERSION.to_owned())];
        build.get_or_create(&labels).set(1);
        registry.register("build_info", "The version that runs", build);
        registry.register("requests", "Requests to the service", self.requests.clone());
        registry.register(
            "rescans",
            "Scans of the whole mirror, by cause",
            self.rescans.clone(),
        );
        registry.register(
            "cycle_duration_seconds",
            "How long cycles took",
            self.cycles.clone(),
        );
        registry.register(
            "failed_cycles",
            "Cycles that failed or were cut off",
            self.failures.clone(),
        );
        let age = |at: Instant| now.saturating_duration_since(at).as_secs_f64();
        let ages = [
            (
                "last_poll_age_seconds",
                "Seconds since the last successful poll",
                status.last_poll.map(|(_, at)| age(at)),
            ),
            (
                "last_push_age_seconds",
                "Seconds since the last successful push",
                status.last_push.map(age),
            ),
            (
                "pending_oldest_age_seconds",
                "Age of the oldest change that waits",
                Some(status.queue.oldest.map_or(0.0, age)),
            ),
        ];
        for (name, help, age) in ages {
            // An event that never happened has no age.
            if let Some(age) = age {
                let gauge = Gauge::<f64, AtomicU64>::default();
                gauge.set(age);
                registry.register(name, help, gauge);
            }
        }
        let numbers = [
            (
                "pending_pushes",
                "Saved changes that are not sent yet",
                status.queue.pending,
            ),
            ("articles", "Articles", status.open.articles),
            ("left_out", "Files and articles left out", status.left_out),
            ("conflicts", "Articles in conflict", status.open.conflicts),
            (
                "held_deletions",
                "Held deletions",
                status.open.held_deletions,
            ),
            (
                "unresolved_intents",
                "Pending requests",
                status.open.pending_requests,
            ),
        ];
        for (name, help, number) in numbers {
            let gauge = Gauge::<i64>::default();
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
            registry.register(name, help, gauge);
        }
        let left = Family::<Labels, Gauge>::default();
        for (window, number) in [("minute", budget.minute_left), ("day", budget.day_left)] {
            left.get_or_create(&vec![("window", window.to_owned())])
                .set(i64::from(number));
        }
        registry.register("budget_left", "Requests left in the rolling window", left);
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::shared_status::SharedStatus;

    #[test]
    fn everything_that_was_promised_is_there() {
        let status = SharedStatus::new(chrono::DateTime::UNIX_EPOCH);
        let now = status.snapshot().started + Duration::from_secs(90);
        status.metrics.request("GET", Some(200));
        status.metrics.request("GET", Some(503));
        status.metrics.request("GET", Some(200));
        status.metrics.request("PUT", None);
        status.metrics.rescan("overflow");
        status.metrics.failure();
        status.metrics.cycle("poll", Duration::from_millis(12));
        status.update(|status| {
            status.last_poll = Some((chrono::DateTime::UNIX_EPOCH, status.started));
            status.queue.pending = 2;
            status.queue.oldest = Some(status.started + Duration::from_secs(80));
            (status.open.articles, status.left_out) = (30, 2);
            status.open.conflicts = 1;
        });
        let budget = BudgetLeft {
            minute_left: 0,
            day_left: 1400,
        };
        let text = status.metrics.text(&status.snapshot(), budget, now);
        let text = text.expect("text");
        for line in [
            "kbsync_requests_total{method=\"GET\",status=\"200\"} 2",
            "kbsync_requests_total{method=\"GET\",status=\"503\"} 1",
            "kbsync_requests_total{method=\"PUT\",status=\"none\"} 1",
            "kbsync_rescans_total{cause=\"overflow\"} 1",
            "kbsync_cycle_duration_seconds_count{trigger=\"poll\"} 1",
            "kbsync_last_poll_age_seconds 90.0",
            "kbsync_pending_pushes 2",
            "kbsync_pending_oldest_age_seconds 10.0",
            "kbsync_budget_left{window=\"day\"} 1400",
            "kbsync_budget_left{window=\"minute\"} 0",
            concat!(
                "kbsync_build_info{version=\"",
                env!("CARGO_PKG_VERSION"),
                "\"} 1"
            ),
            "kbsync_failed_cycles_total 1",
            "kbsync_articles 30",
            "kbsync_left_out 2",
            "kbsync_conflicts 1",
            "kbsync_held_deletions 0",
            "kbsync_unresolved_intents 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("last_push_age"), "nothing was pushed");
    }
}
