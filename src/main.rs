//! The command: arguments, runtime, exit code.

use clap::Parser as _;
use kbsync::cli::{self, Cli, failure::Failure};

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let out = cli.output();
    cli::report(run(cli), out).into()
}

fn run(cli: Cli) -> cli::Outcome {
    let current = std::env::current_dir().map_err(|error| {
        Failure::failed(error).help("the current folder is gone: change to one")
    })?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::failed)?;
    runtime.block_on(cli.run(current, |name| std::env::var(name).ok()))
}
