//! The log: tracing to stderr, for people or as JSON.
//!
//! `-q` shows errors, the default warnings (for the daemon: what is done), `-v` what is done, `-vv` why, `-vvv` everything. The
//! variable `KBSYNC_LOG` says it finer, in the manner of `RUST_LOG`, and wins.

use super::{Global, LogFormat, failure::Failure, print::Output};
use std::io;
use tracing_subscriber::{EnvFilter, fmt};

/// Starts the log of this process.
pub(super) fn start(
    global: &Global,
    least: u8,
    output: Output,
    level: Option<String>,
) -> Result<(), Failure> {
    let verbose = global.verbose.max(least);
    let filter = match level.filter(|level| !level.trim().is_empty()) {
        Some(level) => EnvFilter::try_new(&level).map_err(|error| {
            Failure::usage(
                format!("KBSYNC_LOG: `{level}` is no log filter: {error}"),
                "write a level such as `info`, or `kbsync=debug,warn`",
            )
        })?,
        None => EnvFilter::new(standard(verbose, global.quiet)),
    };
    let log = fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match global.log_format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Text => log
            .with_ansi(output.colors_stderr())
            .with_target(verbose > 1)
            .try_init(),
    };
    started.map_err(|error| Failure::failed(anyhow::Error::from_boxed(error)))
}

/// The libraries below speak only at the highest level: their lines are about bytes, not articles.
fn standard(verbose: u8, quiet: bool) -> &'static str {
    match (quiet, verbose) {
        (true, _) => "error",
        // What became of each article is in the report.
        (false, 0) => "warn,kbsync::engine::apply=error",
        (false, 1) => "warn,kbsync=info",
        (false, 2) => "warn,kbsync=debug",
        (false, _) => "info,kbsync=trace",
    }
}
