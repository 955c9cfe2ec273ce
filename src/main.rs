//! The command: allocator, arguments, runtime, exit code.

use anyhow::Context as _;
use kbsync::cli::{self, Cli, failure::Failure};

/// Returns freed memory at once, unlike the system's allocator: a daemon is idle for nearly all of its life, and one
/// cycle in a few minutes must not decide how large it is. The Dockerfile has the settings.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    let cli = match Cli::of_process() {
        Ok(cli) => cli,
        Err(error) => return cli::refuse(error).number().into(),
    };
    let out = cli.output();
    cli::report(run(cli), out).number().into()
}

fn run(cli: Cli) -> cli::Outcome {
    let current = std::env::current_dir().map_err(|error| {
        let message = format!("the current folder cannot be used: {error}");
        Failure::failed(message, "change to another folder")
    })?;
    // A variable that is not UTF-8 would count as unset, and kbsync might sync another folder.
    let mut unreadable = std::env::vars_os().filter(|(_, value)| value.to_str().is_none());
    if let Some((name, _)) = unreadable.find(|(name, _)| is_setting(name)) {
        let message = format!("{} is not valid UTF-8", name.display());
        return Err(Failure::usage(
            message,
            "set it to a valid value, or unset it",
        ));
    }
    let runtime = tokio::runtime::Runtime::new().context("failed to start")?;
    let outcome = runtime.block_on(cli.run(current, |name| std::env::var(name).ok()));
    // A thread that waits for a silent name server cannot be stopped, and nobody needs its result (failures row 9: a
    // container has ten seconds).
    runtime.shutdown_background();
    outcome
}

fn is_setting(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("KBSYNC_")
}
