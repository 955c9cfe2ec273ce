//! `kbsync completions`: completions for a shell.

use super::{Cli, ExitCode, Outcome, context::Context};
use clap::CommandFactory as _;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    // Rendered first, because the generator panics when a pipe closes.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kbsync", &mut text);
    context.out.bytes(&text)?;
    Ok(ExitCode::Done)
}
