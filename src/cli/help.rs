//! `kbsync help`: a topic of the guide, or the flags of a command.

use super::{
    Cli, Outcome,
    context::Context,
    exit::ExitCode,
    failure::Failure,
    guide::{TOPICS, Topic},
};
use clap::CommandFactory as _;
use std::fmt::Write as _;

/// Columns where stdout is no terminal, and at most on one.
const WIDTH: u16 = 100;

/// From here on a name is near another one.
const NEAR: f64 = 0.8;

/// Explains a topic, or a command.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A topic or a command [default: the list of both]
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let text = match &args.topic {
        None => overview(),
        Some(name) => match TOPICS.iter().find(|topic| topic.name == name) {
            Some(topic) => topic.laid_out(width().into()),
            None => of_command(name)?,
        },
    };
    context.out.line(text.trim_end())?;
    Ok(ExitCode::Done)
}

fn width() -> u16 {
    let (_, width) = dialoguer::console::Term::stdout()
        .size_checked()
        .unwrap_or((0, WIDTH));
    width.min(WIDTH)
}

/// The help of kbsync itself, and the topics.
fn overview() -> String {
    let mut text = Cli::command().render_help().ansi().to_string();
    text.push_str("\nTopics (kbsync help TOPIC):\n");
    let longest = TOPICS.map(|topic| topic.name.len()).into_iter().max();
    for topic in TOPICS {
        let (name, title, longest) = (topic.name, topic.title(), longest.unwrap_or_default());
        // Writing into a string cannot fail.
        writeln!(text, "  {name:longest$}  {title}").ok();
    }
    text
}

fn of_command(name: &str) -> Result<String, Failure> {
    let mut root = Cli::command();
    root.build();
    if let Some(command) = root.find_subcommand_mut(name) {
        return Ok(command.render_long_help().ansi().to_string());
    }
    let commands = root.get_subcommands().map(clap::Command::get_name);
    let known: Vec<&str> = TOPICS
        .iter()
        .map(|topic: &Topic| topic.name)
        .chain(commands)
        .collect();
    let wanted = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|known| (strsim::jaro_winkler(&wanted, known), *known))
        .filter(|(likeness, _)| *likeness > NEAR)
        .collect();
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let names: Vec<&str> = near.into_iter().map(|(_, name)| name).take(3).collect();
    Err(Failure::usage(
        format!("there is no topic or command `{name}`"),
        if names.is_empty() {
            "`kbsync help` lists topics and commands".to_owned()
        } else {
            format!("did you mean {}?", names.join(", "))
        },
    ))
}
