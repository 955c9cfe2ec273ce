//! `kbsync man`: the manual pages, one for kbsync and one for each command.
//!
//! Exit codes, variables and files are sections of the guide, in the guide's words.

use super::{
    Cli, ExitCode, Outcome,
    context::Context,
    failure::Failure,
    guide::TOPICS,
    help::{self, GROUPS, USAGE},
};
use anstream::adapter::strip_str;
use clap::{CommandFactory as _, builder::PossibleValuesParser};
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

/// The columns of a section from the guide: with the indent of `man`, the section fits a terminal of 80 columns.
const WIDTH: usize = 70;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The command [default: kbsync itself]
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(help::commands()), hide_possible_values = true)]
    command: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    // Rendered first, so that only one write can meet a closed pipe.
    let mut text = Vec::new();
    match &args.command {
        Some(name) => of_command(name, &mut text)?,
        None => of_kbsync(&mut text)?,
    }
    context.out.bytes(&text)?;
    Ok(ExitCode::Done)
}

fn of_kbsync(text: &mut Vec<u8>) -> Result<(), Failure> {
    let page = Man::new(Cli::command().override_usage(USAGE));
    page.render_title(text)?;
    page.render_name_section(text)?;
    page.render_synopsis_section(text)?;
    page.render_description_section(text)?;
    page.render_subcommands_section(text)?;
    page.render_options_section(text)?;
    let mut rest = Roff::new();
    from_guide(&mut rest, "EXIT STATUS", "scripts", "## Exit codes");
    from_guide(&mut rest, "ENVIRONMENT", "settings", "## Environment");
    from_guide(&mut rest, "FILES", "files", "# ");
    rest.control("SH", ["EXAMPLES"]);
    for (title, commands) in GROUPS.iter().take(GROUPS.len() - 1) {
        let lines = commands.iter().flat_map(|(_, examples)| examples.lines());
        let lines: Vec<String> = lines.map(|line| format!("    {line}")).collect();
        rest.control("PP", []).text([roman(format!("{title}:"))]);
        preformatted(&mut rest, &lines.join("\n"));
    }
    rest.control("SH", ["SEE ALSO"]);
    rest.text([
        roman("The guide: "),
        bold("kbsync help"),
        roman(", and the topics that it lists."),
    ]);
    rest.to_writer(text)?;
    Ok(())
}

/// Adds a section of a page of the guide, in the lines that a terminal shows.
fn from_guide(roff: &mut Roff, title: &str, topic: &str, heading: &str) {
    roff.control("SH", [title]);
    let page = TOPICS.iter().find(|known| known.name == topic);
    let text = page.map(|page| page.section(heading, WIDTH));
    let text = strip_str(&text.unwrap_or_default()).to_string();
    preformatted(roff, text.trim());
}

/// Adds lines that stay as they are.
fn preformatted(roff: &mut Roff, text: &str) {
    roff.control("PP", []).control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

fn of_command(name: &str, text: &mut Vec<u8>) -> Result<(), Failure> {
    let command = help::command().find_subcommand(name).cloned();
    let command = command.unwrap_or_default().name(format!("kbsync-{name}"));
    Ok(Man::new(command.bin_name(format!("kbsync {name}"))).render(text)?)
}
