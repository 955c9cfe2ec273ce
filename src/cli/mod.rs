//! The commands, one file each: a command parses its arguments, makes one library call and prints one value.
//!
//! A command is added by a file with `Args` and `run`, and an arm in `Command`. Results go to
//! stdout, all else to stderr; the exit codes are those of [`ExitCode`].

pub mod context;
mod counts;
pub mod print;

mod action_lines;
mod approve;
mod ask;
mod check;
mod completions;
mod conflict;
mod conflict_copies;
mod conflict_parts;
mod connect;
mod consent;
mod cycle;
mod daemon_clients;
mod daemon_status;
mod demo;
mod diff;
mod differences;
mod doctor;
mod first_sync_preview;
mod git_head;
mod guide;
mod help;
mod init;
mod interrupt;
mod layout;
mod locks;
mod log;
mod logging;
mod man;
mod new;
mod open;
mod pager;
mod paths;
mod progress;
mod report;
mod resolve;
mod restore;
mod run;
mod sandbox;
mod scope;
mod session;
mod show;
mod stats;
mod status;
mod terminal_log;
mod times;
mod trust;
mod version_spec;
mod via_daemon;
mod workspaces;

pub use crate::daemon::failure;
use crate::engine::report::Report;
use crate::model::ExitCode;
use crate::reconcile::snapshot::Direction;
use clap::FromArgMatches as _;
use context::Context;
use failure::Failure;
use std::path::PathBuf;

/// The result of a command.
pub type Outcome = Result<ExitCode, Failure>;

/// Keeps a folder of HTML files and a hosted knowledge base equal, in both directions.
#[derive(clap::Parser, Debug)]
#[command(
    name = "kbsync",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The global flags.
#[derive(clap::Args, Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each one is a flag of the command line"
)]
pub struct Global {
    /// The mirror's folder [default: KBSYNC_DIR, else the nearest folder upwards with a kbsync.yaml]
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// The settings file [default: kbsync.yaml in the mirror]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print one JSON object to stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Say more: -v what is done, -vv why, -vvv everything
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
    /// Print only errors; with --json, also print the result
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// When to colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true)]
    pub color: Color,
    /// How log lines are written to stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT", global = true)]
    pub log_format: LogFormat,
    /// Allow http:// to a host that is not this machine: the token can be read on the way
    #[arg(long, global = true)]
    pub insecure_http: bool,
    /// Send the token to this service, although the token has belonged to another service until now
    #[arg(long, global = true)]
    pub trust_service: bool,
}

/// The choice of colours.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The form of log lines.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// The commands.
#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Make a folder a mirror: write its kbsync.yaml
    Init(init::Args),
    /// Agree to what a folder's settings name: the service, and where the token is
    Trust(trust::Args),
    /// List the workspaces that the token's owner created
    Workspaces,
    /// Bring both sides together
    Sync(cycle::Args),
    /// Bring the service's changes into the mirror, and nothing else
    Pull(cycle::Args),
    /// Bring the mirror's changes to the service, and nothing else
    Push(cycle::Args),
    /// Keep both sides equal until stopped: save a file, and it is live
    Run(run::Args),
    /// Show what changed and what waits for you
    Status(status::Args),
    /// Show changes line by line
    Diff(diff::Args),
    /// Settle conflicts
    Resolve(resolve::Args),
    /// Release held deletions, categories and old texts, after showing them
    Approve(approve::Args),
    /// List the versions of an article, or what happened recently
    Log(log::Args),
    /// Print one version of an article
    Show(show::Args),
    /// Bring a version back, even one of a deleted article
    Restore(restore::Args),
    /// Look for what is wrong in the files, without asking the service
    Check(check::Args),
    /// Write a file for a new article, and print its path
    New(new::Args),
    /// Open an article's public page
    Open(open::Args),
    /// Find out what is wrong here, and what to do about it
    Doctor(doctor::Args),
    /// Show views and ratings, with bars
    Stats(stats::Args),
    /// Run a local stand-in for the service
    Sandbox(sandbox::Args),
    /// Watch it work: a stand-in service, a mirror, and what can happen between them
    Demo(demo::Args),
    /// Explain a topic (files, conflicts, git, …) or a command
    Help(help::Args),
    /// Print completions for a shell
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
}

/// The parsed command line.
impl Cli {
    /// Parses the arguments of this process.
    pub fn of_process() -> Result<Self, clap::Error> {
        let mut command = help::command();
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// Returns the command's output.
    pub fn output(&self) -> print::Output {
        print::Output {
            json: self.global.json,
            quiet: self.global.quiet,
            color: match self.global.color {
                Color::Auto => anstream::ColorChoice::Auto,
                Color::Always => anstream::ColorChoice::Always,
                Color::Never => anstream::ColorChoice::Never,
            },
        }
    }

    /// Starts the log and runs the command.
    pub async fn run(
        self,
        current: PathBuf,
        env: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Outcome {
        let out = self.output();
        // A daemon shows only its log.
        let is_daemon = matches!(self.command, Command::Run(_));
        let has_json_log = is_daemon && self.global.log_format == LogFormat::Json;
        let outcome = self.run_logged(current, env, is_daemon).await;
        match outcome {
            Err(failure) if has_json_log && !failure.is_broken_pipe() => {
                logging::record(&failure);
                if out.json {
                    out.json_failure(Report::new(false), &failure)?;
                }
                Ok(failure.code)
            }
            outcome => outcome,
        }
    }

    async fn run_logged(
        self,
        current: PathBuf,
        env: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
        is_daemon: bool,
    ) -> Outcome {
        let out = self.output();
        logging::start(&self.global, is_daemon, out, env("KBSYNC_LOG"))?;
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let warning = print::WARNING;
        for note in crate::config::mistyped(names) {
            if is_daemon {
                tracing::warn!("{note}");
            } else {
                out.note(format!("{warning}warning:{warning:#} {note}"));
            }
        }
        let context = Context {
            global: self.global,
            out,
            current,
            env: Box::new(env),
        };
        // Boxed, because the caller's future would otherwise be as large as the largest command's.
        Box::pin(self.command.run(&context)).await
    }
}

impl Command {
    async fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Init(args) => init::run(args, context).await,
            Self::Trust(args) => trust::run(&args, context),
            Self::Workspaces => workspaces::run(context).await,
            Self::Sync(args) => cycle::run(args, Direction::Both, context).await,
            Self::Pull(args) => cycle::run(args, Direction::Pull, context).await,
            Self::Push(args) => cycle::run(args, Direction::Push, context).await,
            Self::Run(args) => run::run(&args, context).await,
            Self::Status(args) => status::run(&args, context).await,
            Self::Diff(args) => diff::run(&args, context).await,
            Self::Resolve(args) => resolve::run(&args, context).await,
            Self::Approve(args) => approve::run(&args, context).await,
            Self::Log(args) => log::run(&args, context),
            Self::Show(args) => show::run(&args, context),
            Self::Restore(args) => restore::run(&args, context).await,
            Self::Check(args) => check::run(&args, context),
            Self::New(args) => new::run(&args, context),
            Self::Open(args) => open::run(&args, context).await,
            Self::Doctor(args) => doctor::run(&args, context).await,
            Self::Stats(args) => stats::run(&args, context),
            Self::Sandbox(args) => sandbox::run(args, context).await,
            Self::Demo(args) => demo::run(&args, context).await,
            Self::Help(args) => help::run(&args, context),
            Self::Completions(args) => completions::run(&args, context),
            Self::Man(args) => man::run(&args, context),
        }
    }
}

/// Prints an error about the arguments, or the help text. With `--json`, the error is JSON as well.
pub fn refuse(mut error: clap::Error) -> ExitCode {
    help::name_meant(&mut error);
    let out = print::Output {
        json: false,
        quiet: false,
        color: anstream::ColorChoice::Auto,
    };
    let text = error.render().ansi().to_string();
    if !error.use_stderr() {
        // A closed pipe is no error.
        out.line(text.trim_end()).ok();
        return ExitCode::Done;
    }
    let has = |wanted: &str| std::env::args_os().any(|argument| argument == wanted);
    let failure = print::failure_of_usage(&error.render().to_string());
    if has("--json") {
        // If stdout is closed, stderr and the exit code have the same message.
        out.json_failure(Report::new(false), &failure).ok();
    }
    if has("run") && (has("--log-format=json") || (has("--log-format") && has("json"))) {
        logging::record(&failure);
    } else {
        out.wrong(text.trim_end());
    }
    ExitCode::Usage
}

/// Prints a command's failure, if there is one, and returns the exit code.
pub fn report(outcome: Outcome, out: print::Output) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(failure) if failure.is_broken_pipe() => ExitCode::Done,
        Err(failure) => {
            out.failure(&failure);
            failure.code
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
