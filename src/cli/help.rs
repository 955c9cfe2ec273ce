//! `kbsync help`: a topic of the guide, the options of every command, or the flags of one.
//!
//! Commands are in groups, each with an example. The global options have a page of their own, which the help of each
//! command names.

use super::{Cli, ExitCode, Global, Outcome, context::Context, guide::TOPICS, layout, pager};
use clap::{
    Args as _, CommandFactory as _,
    builder::PossibleValuesParser,
    error::{ContextKind, ContextValue},
};
use std::fmt::Write as _;

/// The columns without a terminal, and the most columns on a terminal.
const WIDTH: u16 = 100;

/// The form of a command line.
pub(super) const USAGE: &str = "kbsync COMMAND [OPTIONS]";

/// The page with the global options.
const OPTIONS: &str = "options";

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A topic, a command, or `options` [default: a list of them]
    #[arg(value_name = "TOPIC", value_parser = PossibleValuesParser::new(names()), hide_possible_values = true)]
    topic: Option<String>,
}

/// The heading of the commands that are listed by name only: the page fits a terminal of 30 lines.
const MORE: &str = "More";

/// A heading, and the commands below it, each with examples.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// The commands, in the order in which a person meets them.
pub(super) const GROUPS: [Group; 5] = [
    (
        "Begin",
        &[
            ("demo", "kbsync demo"),
            ("init", "kbsync init --service https://kb.example.com"),
        ],
    ),
    (
        "Every day",
        &[
            (
                "sync",
                "kbsync sync --dry-run  # what would it do?\n\
                 kbsync sync\n\
                 kbsync sync billing    # one category",
            ),
            ("status", "kbsync status"),
            (
                "diff",
                "kbsync diff           # since the last sync\n\
                 kbsync diff --remote  # against the service",
            ),
            ("run", "kbsync run"),
            ("new", "kbsync new billing 'How to get a refund'"),
            ("check", "kbsync check billing"),
            ("open", "kbsync open billing/refunds.html"),
        ],
    ),
    (
        "When something waits for you",
        &[
            (
                "resolve",
                "kbsync resolve                       # lists conflicts\n\
                 kbsync resolve billing/refunds.html  # asks for each part\n\
                 kbsync resolve billing/refunds.html --keep local\n\
                 kbsync resolve billing/a.html billing/b.html --keep remote",
            ),
            ("approve", "kbsync approve"),
            ("doctor", "kbsync doctor"),
        ],
    ),
    (
        "Older versions",
        &[
            (
                "log",
                "kbsync log                         # what happened\n\
                 kbsync log billing/refunds.html -p  # with differences",
            ),
            ("show", "kbsync show billing/refunds.html@3"),
            (
                "restore",
                "kbsync restore billing/refunds.html@3 --dry-run\n\
                 kbsync restore billing/refunds.html@3\n\
                 kbsync restore billing --deleted  # all deleted articles",
            ),
        ],
    ),
    (
        MORE,
        &[
            ("pull", "kbsync pull"),
            ("push", "kbsync push billing/refunds.html"),
            ("stats", "kbsync stats --sort sad"),
            (
                "workspaces",
                "KBSYNC_SERVICE=https://kb.example.com kbsync workspaces",
            ),
            ("trust", "kbsync trust --list"),
            ("sandbox", "kbsync sandbox --articles 20"),
            (
                "completions",
                "kbsync completions bash >> ~/.bash_completion",
            ),
            ("man", "kbsync man > kbsync.1 && man ./kbsync.1"),
            ("help", "kbsync help conflicts"),
        ],
    ),
];

/// Names that other programs use for a command.
const ELSEWHERE: [(&str, &str); 14] = [
    ("undo", "restore"),
    ("revert", "restore"),
    ("checkout", "restore"),
    ("ls", "status"),
    ("list", "status"),
    ("publish", "push"),
    ("upload", "push"),
    ("fetch", "pull"),
    ("watch", "run"),
    ("start", "run"),
    ("daemon", "run"),
    // It shows the process id of the daemon.
    ("stop", "status"),
    ("merge", "resolve"),
    ("version", "--version"),
];

/// Flags that people expect of a command, and the command's own way.
const EXPECTED: [(&str, &str, &str); 2] = [
    (
        "kbsync check",
        "--exit-code",
        "`check` needs no flag: it exits with 4 when it found errors",
    ),
    (
        "kbsync doctor",
        "--listen",
        "`doctor --health` finds the daemon of the mirror without an address",
    ),
];

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let text = match args.topic.as_deref() {
        None => layout::wrap(&styled(&command().render_help()), context.out.width()),
        Some(OPTIONS) => options(),
        Some(name) => match TOPICS.iter().find(|topic| topic.name == name) {
            Some(topic) => topic.laid_out(width().into()),
            None => of_command(name),
        },
    };
    pager::show(context, text.trim_end())?;
    Ok(ExitCode::Done)
}

/// Returns the names of all commands.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    let groups = GROUPS.iter().flat_map(|(_, commands)| *commands);
    groups.map(|(name, _)| *name)
}

/// Returns the names of all pages.
fn names() -> Vec<&'static str> {
    let topics = TOPICS.iter().map(|topic| topic.name);
    topics.chain(commands()).chain([OPTIONS]).collect()
}

fn width() -> u16 {
    let (_, width) = dialoguer::console::Term::stdout()
        .size_checked()
        .unwrap_or((0, WIDTH));
    width.min(WIDTH)
}

fn styled(text: &clap::builder::StyledStr) -> String {
    text.ansi().to_string()
}

/// Returns the command line with its help for people.
pub(super) fn command() -> clap::Command {
    let mut root = Cli::command();
    // The global options become options of each command, where they can be hidden.
    root.build();
    let page = overview(&root);
    let root = root.help_template(page).override_usage(USAGE);
    root.mut_subcommands(|command| {
        let mut groups = GROUPS.iter().flat_map(|(_, commands)| *commands);
        let example = groups.find(|(name, _)| *name == command.get_name());
        let example = example.map_or("", |(_, example)| example);
        let lines = example.lines().map(|line| format!("  {line}\n"));
        let title = if example.contains('\n') {
            "Examples"
        } else {
            "Example"
        };
        let behind = format!(
            "{title}:\n{}\nOptions of every command: kbsync help {OPTIONS}",
            lines.collect::<String>()
        );
        let hidden = |arg: clap::Arg| {
            let is_global = arg.is_global_set();
            arg.hide(is_global)
        };
        command.mut_args(hidden).after_help(behind)
    })
}

/// Returns the page of kbsync itself: the commands in their groups, and the topics.
fn overview(root: &clap::Command) -> String {
    let mut text = format!("{{about}}\n\nUsage: {USAGE}\n\n");
    for (title, commands) in GROUPS {
        // Writing into a string cannot fail, here and below.
        writeln!(text, "{title}:").ok();
        if title == MORE {
            let names: Vec<&str> = commands.iter().map(|(name, _)| *name).collect();
            writeln!(text, "  {}", names.join(", ")).ok();
            continue;
        }
        for (name, _) in commands {
            let about = root
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            writeln!(text, "  {name:7}  {}", about.unwrap_or_default()).ok();
        }
    }
    let topics = TOPICS.map(|topic| topic.name).join(", ");
    write!(
        text,
        "Topics:\n  {topics}\n\nMore about one of them: kbsync help NAME; options of every command: kbsync help {OPTIONS}"
    )
    .ok();
    text
}

/// Returns the page with the options that every command has.
fn options() -> String {
    let all = Global::augment_args(clap::Command::new("kbsync"));
    let all = all.max_term_width(WIDTH.into()).disable_help_flag(true);
    let mut all = all.help_template("Options of every command:\n\n{options}");
    styled(&all.render_help())
}

fn of_command(name: &str) -> String {
    let mut root = command();
    let command = root.find_subcommand_mut(name);
    command.map_or_else(String::new, |command| styled(&command.render_long_help()))
}

/// Adds a suggestion to the error: the command for a name from another program, or the command's own way for a flag
/// that the command does not have.
pub(super) fn name_meant(error: &mut clap::Error) {
    if let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) {
        let usage = error.get(ContextKind::Usage).map(ToString::to_string);
        let usage = usage.unwrap_or_default();
        let tip = EXPECTED
            .iter()
            .find(|(command, expected, _)| expected == flag && usage.contains(command));
        if let Some((_, _, tip)) = tip {
            let tip = ContextValue::StyledStrs(vec![(*tip).into()]);
            error.insert(ContextKind::Suggested, tip);
        }
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let meant = ELSEWHERE.iter().find(|(name, _)| name == typed);
    if let Some((_, meant)) = meant {
        let meant = ContextValue::Strings(vec![(*meant).to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group() {
        let root = Cli::command();
        let commands: BTreeSet<&str> = root
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let grouped: Vec<&str> = super::commands().collect();
        assert_eq!(grouped.len(), commands.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), commands);
    }

    #[test]
    fn every_example_is_a_command_line_that_is_taken() {
        for (_, commands) in GROUPS {
            for (name, examples) in commands {
                for example in examples.lines() {
                    // On a terminal of 60 columns a command is on one line.
                    assert!(example.len() <= 58, "{example}");
                    let words = example.split(['#', '>']).next().unwrap_or_default();
                    let words = words.replace("'How to get a refund'", "Refund");
                    let words = words
                        .split_whitespace()
                        .skip_while(|word| word.starts_with("KBSYNC_"));
                    let taken = command().try_get_matches_from(words);
                    let taken = taken.unwrap_or_else(|error| panic!("{example}: {error}"));
                    assert_eq!(taken.subcommand_name(), Some(*name), "{example}");
                }
            }
        }
    }
}
