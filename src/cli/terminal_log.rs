//! The log on a terminal: each event as a line for a person, in the words of `sync`.
//!
//! An event with a side is an action, and looks as in the report of a command. Other events show only the path, the
//! message, the reason and the error; `--log-format json` and `-v` show all fields.

use super::{
    layout,
    print::{DIM, ERROR, WARNING, escape},
    report,
};
use crate::engine::report::Line;
use dialoguer::console::Term;
use std::fmt::{self, Write as _};
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

/// The fields of an event that are shown.
#[derive(Default)]
struct Shown {
    message: String,
    action: String,
    path: String,
    side: String,
    fields: String,
    reason: String,
    more: String,
    error: String,
}

impl Visit for Shown {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let at = match field.name() {
            "message" => &mut self.message,
            "action" => &mut self.action,
            "path" => &mut self.path,
            "side" => &mut self.side,
            "fields" => &mut self.fields,
            "reason" => &mut self.reason,
            "more" => &mut self.more,
            "error" => &mut self.error,
            _ => return,
        };
        // Writing into a string cannot fail.
        write!(at, "{value:?}").ok();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl Shown {
    fn line(&self, level: Level) -> String {
        if let Some(action) = self.action() {
            let mut text = report::action_line(&action);
            if !self.more.is_empty() {
                // Writing into a string cannot fail, here and below.
                write!(text, " and {} more", self.more).ok();
            }
            if !self.reason.is_empty() {
                write!(text, ": {}", escape(&self.reason)).ok();
            }
            return text;
        }
        let mut text = match level {
            Level::ERROR => format!("{ERROR}error:{ERROR:#} "),
            Level::WARN => format!("{WARNING}!{WARNING:#} "),
            Level::INFO | Level::DEBUG | Level::TRACE => String::new(),
        };
        let parts = [&self.path, &self.message, &self.reason, &self.error];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        text += &parts
            .map(|part| escape(part))
            .collect::<Vec<_>>()
            .join(": ");
        text
    }

    /// Returns the action that the event reports, done or waiting.
    fn action(&self) -> Option<Line> {
        let (word, status) = match self.message.as_str() {
            "held" => (&self.action, "held"),
            "waits" => (&self.action, "skipped"),
            _ => (&self.message, "done"),
        };
        let fields: Vec<&str> = self
            .fields
            .split(',')
            .filter(|key| !key.is_empty())
            .collect();
        let line = serde_json::json!({
            "action": word, "side": self.side, "path": self.path, "fields": fields, "status": status,
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
