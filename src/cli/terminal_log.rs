//! The log on a terminal: each event as a line for a person, in the words of `sync`.
//!
//! An event with a side is an action, and looks as in the report of a command. Of other events only the path, the reason
//! and the error are shown; `--log-format json` and `-v` have them all.

use super::{
    layout,
    print::{DIM, ERROR, WARNING, escape},
    report,
};
use crate::engine::report::Line;
use dialoguer::console::Term;
use std::{collections::BTreeMap, fmt};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// The time of day in front of a line.
const TIME: &str = "%H:%M:%S";

/// Formats events for a person.
pub(super) struct ForPeople {
    /// Whether each line begins with the time of day: in the log of a daemon.
    pub(super) with_time: bool,
}

/// The fields of an event, by their names.
#[derive(Default)]
struct Shown(BTreeMap<&'static str, String>);

impl Visit for Shown {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Shown {
    fn of(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn line(&self, level: Level) -> String {
        let (start, names) = match (self.action(), level) {
            (Some(action), _) => (report::action_line(&action), ["more", "reason"].as_slice()),
            (None, Level::ERROR) => (format!("{ERROR}error{ERROR:#}"), WORDS),
            (None, Level::WARN) => (format!("{WARNING}!{WARNING:#}"), WORDS),
            (None, Level::INFO | Level::DEBUG | Level::TRACE) => (String::new(), WORDS),
        };
        let parts = names.iter().map(|name| self.of(name));
        let parts = parts.filter(|part| !part.is_empty()).map(escape);
        let parts = parts.collect::<Vec<_>>().join(": ");
        match (start.is_empty(), parts.is_empty()) {
            (true, _) => parts,
            (false, true) => start,
            (false, false) => format!("{start}: {parts}"),
        }
    }

    /// Returns the action that the event reports: as done, or as waiting.
    fn action(&self) -> Option<Line> {
        let (word, status) = match self.of("message") {
            "held" => (self.of("action"), "held"),
            "waits" => (self.of("action"), "skipped"),
            word => (word, "done"),
        };
        let fields = self.of("fields").split(',').filter(|key| !key.is_empty());
        let line = serde_json::json!({
            "action": word, "side": self.of("side"), "path": self.of("path"),
            "fields": fields.collect::<Vec<_>>(), "status": status,
        });
        serde_json::from_value(line).ok()
    }
}

/// What is shown of an event that is no action.
const WORDS: &[&str] = &["path", "message", "reason", "error"];

impl<S, N> FormatEvent<S, N> for ForPeople
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut shown = Shown::default();
        event.record(&mut shown);
        let mut line = shown.line(*event.metadata().level());
        let mut hang = 2;
        if self.with_time {
            let now = chrono::Local::now().format(TIME);
            line = format!("{DIM}{now}{DIM:#} {line}");
            hang = "00:00:00 ".len() + 2;
        }
        if let Some((_, width)) = Term::stderr().size_checked() {
            line = layout::wrap_line(&line, usize::from(width), hang);
        }
        if !writer.has_ansi_escapes() {
            line = anstream::adapter::strip_str(&line).to_string();
        }
        writeln!(writer, "{line}")
    }
}
