//! The log: tracing to stderr, as text or JSON.
//!
//! A terminal and the output of a command get sentences (`terminal_log`). With `-v`, `KBSYNC_LOG` or `--log-format
//! json`, and in a daemon without a terminal, events have all their fields. `-q` shows errors; the default is warnings,
//! for the daemon also actions; `-v` shows actions, `-vv` reasons, `-vvv` everything. `KBSYNC_LOG` overrides this, with
//! the syntax of `RUST_LOG`.

use super::{
    Global, LogFormat, failure::Failure, print::Output, progress::LogWriter,
    terminal_log::ForPeople,
};
use std::io::{self, IsTerminal as _};
use tracing_subscriber::{EnvFilter, fmt};

/// The form of a process's log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// One JSON object a line.
    Json,
    /// All fields of each event, with the time and the level.
    Records,
    /// Sentences: on a terminal, and of a command also in a pipe, beside its report.
    ForPeople,
}

impl Style {
    /// Returns the style for these flags and this standard error. `for_people`: also without a terminal.
    pub(super) fn of(global: &Global, for_people: bool) -> Self {
        let for_people = for_people || io::stderr().is_terminal();
        match global.log_format {
            LogFormat::Json => Self::Json,
            LogFormat::Text if global.verbose == 0 && for_people => Self::ForPeople,
            LogFormat::Text => Self::Records,
        }
    }
}

/// Starts the log of this process. A daemon logs actions as well.
pub(super) fn start(
    global: &Global,
    is_daemon: bool,
    output: Output,
    level: Option<String>,
) -> Result<(), Failure> {
    let verbose = global.verbose.max(u8::from(is_daemon));
    let level = level.filter(|level| !level.trim().is_empty());
    let style = Style::of(global, !is_daemon && level.is_none());
    let filter = match level {
        Some(level) => EnvFilter::try_new(&level).map_err(|error| {
            Failure::usage(
                format!("KBSYNC_LOG: `{level}` is no log filter: {error}"),
                "write a level such as `info`, or `kbsync=debug,warn`",
            )
        })?,
        None if style == Style::ForPeople && is_daemon && !global.quiet => {
            EnvFilter::new("warn,kbsync=info,kbsync::cycle=off,kbsync::wait=debug")
        }
        None => EnvFilter::new(standard(verbose, global.quiet)),
    };
    let log = fmt()
        .with_env_filter(filter)
        .with_writer(|| LogWriter)
        // The library would panic where it tells of a closed standard error.
        .log_internal_errors(false)
        .with_ansi(output.colors_stderr());
    let started = match style {
        Style::Json => log.json().flatten_event(true).try_init(),
        Style::Records => log.with_target(verbose > 1).try_init(),
        Style::ForPeople => {
            let with_time = is_daemon;
            log.event_format(ForPeople { with_time }).try_init()
        }
    };
    Ok(started.map_err(anyhow::Error::from_boxed)?)
}

/// Logs why the daemon did not start, for a program that reads the log. If the log could not be started either, this
/// line is the only record of the failure.
pub(super) fn record(failure: &Failure) {
    let only_errors = fmt()
        .with_max_level(tracing::Level::ERROR)
        .with_writer(io::stderr)
        .log_internal_errors(false)
        .json()
        .flatten_event(true);
    // An error means that the log has been started already.
    only_errors.try_init().ok();
    let (code, help) = (failure.code.number(), failure.help.as_deref());
    tracing::error!(exit_code = code, help, "{:#}", failure.error);
}

/// Returns the default filter. Libraries log only at the highest level: their lines are about bytes, not articles.
fn standard(verbose: u8, quiet: bool) -> &'static str {
    match (quiet, verbose) {
        (true, _) => "error",
        // The report has the result of each article.
        (false, 0) => "warn,kbsync::engine::apply=error",
        (false, 1) => "warn,kbsync=info",
        (false, 2) => "warn,kbsync=debug",
        (false, _) => "info,kbsync=trace",
    }
}
