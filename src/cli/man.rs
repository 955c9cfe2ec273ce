//! `kbsync man`: the manual pages, one for kbsync and one for each command.

use super::{Cli, Outcome, context::Context, exit::ExitCode, failure::Failure};
use clap::CommandFactory as _;

/// Prints a manual page.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The command [default: kbsync itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let page = match &args.command {
        Some(name) => page_of(name)?,
        None => Cli::command(),
    };
    // Rendered first, so that a closed pipe meets one write.
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    context.out.bytes(&text)?;
    Ok(ExitCode::Done)
}

fn page_of(name: &str) -> Result<clap::Command, Failure> {
    let mut root = Cli::command();
    root.build();
    let names: Vec<String> = root
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    match root.find_subcommand(name) {
        Some(command) => Ok(command
            .clone()
            .name(format!("kbsync-{name}"))
            .bin_name(format!("kbsync {name}"))),
        None => Err(Failure::usage(
            format!("there is no command `{name}`"),
            format!("commands: {}", names.join(", ")),
        )),
    }
}
