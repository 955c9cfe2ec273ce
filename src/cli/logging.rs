//! The log: tracing to stderr, as text or JSON.
//!
//! `-q` shows errors; the default is warnings, and for the daemon also what is done; `-v` shows what is done, `-vv`
//! why, `-vvv` everything. The variable `KBSYNC_LOG` overrides this, with the syntax of `RUST_LOG`.

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

/// Libraries log only at the highest level: their lines are about bytes, not articles.
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
