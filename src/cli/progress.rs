//! The progress of long work, with an estimate that knows the rate limit.
//!
//! The bar is drawn only on a terminal. The budget of requests nearly always limits long work, so the estimate counts
//! requests, not bytes.

use super::print::Output;
use crate::{
    config::BudgetLimits,
    engine,
    model::time::in_words,
    service::{BudgetLeft, budget::Budget, client::WaitNote},
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::{
    fmt,
    io::{self, Write},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The bar on the terminal.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Standard error for the log. The bar fills its line, and would stay above a line that is written while it is shown.
pub(super) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bar = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match bar {
            Some(bar) => bar.suspend(|| io::stderr().write(bytes)),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// How often the bar moves by itself.
const TICK: Duration = Duration::from_millis(120);

/// The progress of a command: a bar on a terminal, and a line for each wait elsewhere.
#[derive(Debug)]
pub(super) struct Progress {
    out: Output,
    bar: ProgressBar,
    phase: String,
    /// Requests for one unit of the phase.
    per_unit: u32,
    limits: BudgetLimits,
    /// The budget that this command spends. `None`: the daemon does the work, and reports when its own budget is spent.
    budget: Option<Budget>,
}

impl Progress {
    /// Prepares the bar.
    pub(super) fn new(out: Output, limits: BudgetLimits) -> Self {
        let target = if out.shows_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self {
            out,
            bar,
            phase: String::new(),
            per_unit: 0,
            limits,
            budget: None,
        }
    }

    /// Counts against this budget from now on.
    pub(super) fn set_budget(&mut self, budget: Budget) {
        self.budget = Some(budget);
    }

    /// Shows a step.
    pub(super) fn show(&mut self, step: engine::Progress) {
        match step {
            engine::Progress::Phase {
                name,
                total,
                requests,
            } => self.begin(name, total, requests),
            engine::Progress::Done(units) => self.done(units),
            engine::Progress::Waiting(note) if self.bar.is_hidden() => {
                self.out.note(note.to_string());
            }
            engine::Progress::Waiting(note) => self.wait(&note),
        }
    }

    fn begin(&mut self, name: String, total: Option<u64>, per_unit: u32) {
        // The bar moves by itself, so that a person sees that the program is not hanging. Before the first phase, a
        // question may be on the bar's line.
        let is_new = self.phase.is_empty() || self.bar.is_finished();
        if is_new && !self.bar.is_hidden() {
            // A bar that was removed for a question is shown again.
            self.bar.reset();
            self.bar.enable_steady_tick(TICK);
        }
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        (self.phase, self.per_unit) = (name, per_unit);
        self.done(0);
    }

    fn done(&self, units: u64) {
        self.bar.set_style(style(if self.bar.length().is_some() {
            "{spinner} {bar:24} {pos}/{len} {wide_msg}"
        } else {
            "{spinner} {wide_msg}"
        }));
        self.bar.set_position(units);
        let message = match self.rest(Duration::ZERO) {
            None => self.phase.clone(),
            Some(time) => format!("{}: about {time} left at this rate limit", self.phase),
        };
        self.bar.set_message(message);
    }

    /// Returns the time that the rate limit makes the rest take after a wait; `None`: no time.
    fn rest(&self, wait: Duration) -> Option<String> {
        let units = self.bar.length().unwrap_or(0);
        let units = units.saturating_sub(self.bar.position());
        let left = match &self.budget {
            Some(budget) if self.per_unit > 0 => budget.left(),
            Some(_) | None => BudgetLeft {
                minute_left: 0,
                day_left: self.limits.per_day,
            },
        };
        let requests = units.saturating_mul(self.per_unit.into());
        let time = estimate(requests, left, self.limits, wait);
        (!time.is_zero()).then(|| in_words(time))
    }

    /// Counts a wait down, with its reason and the time for all the rest.
    fn wait(&self, note: &WaitNote) {
        // A narrow terminal cuts off the end of a line, so there is no bar, which takes half of a line.
        let phase = match self.bar.length() {
            Some(total) => format!("{}, {} of {total}", self.phase, self.bar.position()),
            None => self.phase.clone(),
        };
        let all = self.rest(note.least());
        let all = all.map_or_else(String::new, |time| format!("; about {time} in all"));
        // A command that waits for the daemon has no phase yet.
        let progress = if phase.is_empty() {
            String::new()
        } else {
            format!(" ({phase}{all})")
        };
        let until = Instant::now() + note.wait;
        let most = if note.is_most() { "up to " } else { "" };
        let left = move |_: &ProgressState, text: &mut dyn fmt::Write| {
            let left = until.saturating_duration_since(Instant::now());
            // If the line cannot be drawn, there is nobody to tell.
            write!(text, "waiting {most}{}", in_seconds(left)).ok();
        };
        self.bar
            .set_style(style("{spinner} {left}: {wide_msg}").with_key("left", left));
        self.bar.set_message(format!("{}{progress}", note.why()));
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(TICK);
        }
    }

    /// Describes the progress, for a message after `stopped`.
    pub(super) fn so_far(&self) -> String {
        let (phase, done) = (&self.phase, self.bar.position());
        match self.bar.length() {
            Some(total) => format!(" while {phase}: {done} of {total} done"),
            None if phase.is_empty() => String::new(),
            None => format!(" while {phase}"),
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns the time in which the budget allows the requests, after the wait before the first one: none if they fit into
/// this minute; days if they do not fit into this day (failures row 113).
fn estimate(requests: u64, left: BudgetLeft, limits: BudgetLimits, wait: Duration) -> Duration {
    let tomorrow = requests.saturating_sub(left.day_left.into());
    if tomorrow > 0 {
        let days = tomorrow.div_ceil(limits.per_day.max(1).into());
        return Duration::from_hours(24).saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
    }
    if requests == 0 {
        return Duration::ZERO;
    }
    let over = requests.saturating_sub(left.minute_left.into());
    let seconds = over.saturating_mul(60) / u64::from(limits.per_minute.max(1));
    let seconds = seconds.saturating_add(wait.as_secs());
    // Precision to the second is useless for minutes.
    let rounded = if seconds > 120 {
        seconds.div_ceil(60) * 60
    } else {
        seconds
    };
    Duration::from_secs(rounded)
}

/// Formats the rest of a wait in whole seconds, rounded up: the last second is shown as one.
fn in_seconds(left: Duration) -> String {
    in_words(Duration::from_secs(left.as_secs() + 1))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Options, service::client::WaitReason};

    #[test]
    fn the_estimate_counts_requests_against_the_minute() {
        let limits = Options::standard().budget;
        for (requests, minute_left, wait, seconds) in [
            (40, 60, 0, 0),
            (0, 0, 55, 0),
            (1, 0, 55, 56),
            (100, 60, 0, 40),
            (200, 20, 0, 180),
            (1000, 0, 0, 17 * 60),
            (1401, 60, 0, 24 * 3600),
            (3000, 60, 0, 2 * 24 * 3600),
        ] {
            let wait = Duration::from_secs(wait);
            let left = BudgetLeft {
                minute_left,
                day_left: 1400,
            };
            let time = estimate(requests, left, limits, wait);
            assert_eq!(time.as_secs(), seconds, "{requests}");
        }
    }

    #[test]
    fn an_invisible_bar_takes_every_step() {
        let out = Output {
            json: false,
            quiet: true,
            color: anstream::ColorChoice::Never,
        };
        let mut progress = Progress::new(out, Options::standard().budget);
        assert_eq!(progress.so_far(), "");
        progress.show(engine::Progress::Phase {
            name: "pushing".to_owned(),
            total: Some(90),
            requests: 1,
        });
        progress.show(engine::Progress::Done(30));
        assert_eq!(
            progress.bar.message(),
            "pushing: about 1m left at this rate limit"
        );
        assert_eq!(progress.so_far(), " while pushing: 30 of 90 done");
        let note = WaitNote {
            reason: WaitReason::Minute,
            wait: Duration::from_secs(65),
            cause: None,
        };
        progress.wait(&note);
        assert_eq!(
            progress.bar.message(),
            "the budget of this minute is spent (pushing, 30 of 90; about 3m in all)"
        );
        // A wait that may end at once is no part of the estimate.
        let silent = WaitNote {
            reason: WaitReason::Silent,
            ..note
        };
        progress.wait(&silent);
        assert_eq!(
            progress.bar.message(),
            "the service is silent (pushing, 30 of 90; about 1m in all)"
        );
        assert_eq!(in_seconds(Duration::from_millis(64_900)), "1m 5s");
        progress.finish();
    }
}
