//! `kbsync man`: the manual page.

use super::{Cli, Outcome, context::Context, exit::ExitCode};
use clap::CommandFactory as _;

pub(super) fn run(context: &Context) -> Outcome {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text)?;
    for command in Cli::command().get_subcommands() {
        let name = format!("kbsync-{}", command.get_name());
        clap_mangen::Man::new(command.clone().name(name)).render_name_section(&mut text)?;
        let page = clap_mangen::Man::new(command.clone());
        page.render_synopsis_section(&mut text)?;
        page.render_options_section(&mut text)?;
    }
    context.out.bytes(&text)?;
    Ok(ExitCode::Done)
}
