//! The log on a terminal: each event as a line for a person, in the words of `sync`.
//!
//! An event with a side is an action, and looks as in the report of a command. Other events show only their subject,
//! the message and the cause; `--log-format json` and `-v` show all fields.

use super::{
    action_lines::action_line,
    layout,
    print::{DIM, ERROR, WARNING, escape},
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

/// The fields of an event, by name.
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
    /// Returns a field; `""`: the event does not have it.
    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn line(&self, level: Level) -> String {
        if let Some(action) = self.action() {
            let mut text = action_line(&action);
            let (more, reason) = (self.get("more"), self.get("reason"));
            if !more.is_empty() {
                text = format!("{text} and {} more", escape(more));
            }
            if !reason.is_empty() {
                text = format!("{text}: {}", escape(reason));
            }
            return text;
        }
        let text = match level {
            Level::ERROR => format!("{ERROR}error:{ERROR:#} "),
            Level::WARN => format!("{WARNING}!{WARNING:#} "),
            Level::INFO | Level::DEBUG | Level::TRACE => String::new(),
        };
        // Without a path, another field names the subject.
        let mut subjects = ["path", "place", "folder", "category", "id"].into_iter();
        let subject = subjects.find(|name| !self.get(name).is_empty());
        let parts = [
            subject.unwrap_or("path"),
            "message",
            "reason",
            "why",
            "error",
            "refusal",
        ];
        let parts = parts.map(|name| escape(self.get(name)));
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        text + &parts.join(": ")
    }

    /// Returns the action that the event reports, done or waiting.
    fn action(&self) -> Option<Line> {
        let (word, status) = match self.get("message") {
            "held" => (self.get("action"), "held"),
            "waits" => (self.get("action"), "skipped"),
            message => (message, "done"),
        };
        let fields = self.get("fields").split(',').filter(|key| !key.is_empty());
        let line = serde_json::json!({
            "action": word, "side": self.get("side"), "path": self.get("path"),
            "fields": fields.collect::<Vec<_>>(), "status": status,
        });
        serde_json::from_value(line).ok()
    }
}

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
