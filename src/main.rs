//! The command: allocator, arguments, runtime, exit code.

use clap::Parser as _;
use kbsync::cli::{self, Cli, failure::Failure};

/// Gives memory back once the daemon rests, which the system's allocator does not: a daemon is idle for nearly all
/// of its life, and one cycle in a few minutes must not decide how large it is.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "jemalloc")]
    keep_for_a_moment();
    let cli = Cli::try_parse().unwrap_or_else(|error| cli::refuse(&error));
    let out = cli.output();
    cli::report(run(cli), out).into()
}

/// Pages that are free are kept for half a second, and no longer: long enough to be used again by whatever freed
/// them, and short enough that a large first sync is no larger for it. What is kept when the work ends, the daemon
/// gives back.
#[cfg(feature = "jemalloc")]
fn keep_for_a_moment() {
    use tikv_jemalloc_ctl::{Access as _, AsName as _};
    let keys: [(&[u8], isize); 4] = [
        (b"arenas.dirty_decay_ms\0", 500),
        (b"arenas.muzzy_decay_ms\0", 0),
        (b"arena.0.dirty_decay_ms\0", 500),
        (b"arena.0.muzzy_decay_ms\0", 0),
    ];
    for (key, millis) in keys {
        let told = key.name().write(millis);
        // With the usual delay everything works as well.
        debug_assert!(told.is_ok(), "{told:?}");
    }
}

fn run(cli: Cli) -> cli::Outcome {
    let current = std::env::current_dir().map_err(|error| {
        Failure::failed(error).help("the current folder is gone: change to one")
    })?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::failed)?;
    let outcome = runtime.block_on(cli.run(current, |name| std::env::var(name).ok()));
    // A thread that asks a silent name server cannot be called back, and nobody waits for what it finds
    // (failures row 9: a container has ten seconds).
    runtime.shutdown_background();
    outcome
}
