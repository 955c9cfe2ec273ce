//! `kbsync sync`, `pull` and `push`: one cycle, both ways or one.

use super::{
    Outcome,
    connect::budget_left,
    context::Context,
    git_head, report,
    scope::{self, Part},
    session,
    version_spec::never_synced,
};
use crate::{
    config::{Config, Need},
    daemon::job::CycleCommand,
    engine::report::{Report, Status},
    reconcile::{
        plan::Kind,
        snapshot::{Direction, OnConflict},
    },
};
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command"
)]
pub(super) struct Args {
    /// Files and category folders to look at [default: all]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// This time, carry out deletions that would otherwise be held; in doubt, nothing is deleted
    #[arg(long)]
    allow_deletes: bool,
    /// Create the new categories of a first sync without asking
    #[arg(short, long)]
    yes: bool,
    /// Settle conflicts at once in favour of one side; the other version stays in the history
    #[arg(long, value_enum, value_name = "SIDE")]
    prefer: Option<Prefer>,
    /// With --dry-run: exit with 1 when there is something to do
    #[arg(long, requires = "dry_run")]
    exit_code: bool,
}

/// The side that wins conflicts.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Prefer {
    /// The file
    Local,
    /// The service
    Remote,
}

pub(super) async fn run(args: Args, direction: Direction, context: &Context) -> Outcome {
    let dry_run = args.dry_run;
    let outcome = cycle(args, direction, context).await;
    as_report(context, Report::new(dry_run), outcome)
}

/// With JSON, prints this report with the failure, so that a script gets a report even if the command failed.
pub(super) fn as_report(context: &Context, mut report: Report, outcome: Outcome) -> Outcome {
    let failure = match outcome {
        Err(failure) if context.out.json => failure,
        outcome => return outcome,
    };
    if report.requests.total == 0
        && let Ok(config) = context.config(Need::Workspace)
    {
        report.budget = budget_left(&config);
    }
    context.out.json_failure(report, &failure)?;
    Err(failure)
}

async fn cycle(args: Args, direction: Direction, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let parts = scope::parts(context, &config, &args.paths)?;
    let command = CycleCommand {
        dry_run: args.dry_run,
        allow_deletes: args.allow_deletes,
        new_categories: args.yes,
        prefer: args.prefer.map(|side| match side {
            Prefer::Local => OnConflict::Local,
            Prefer::Remote => OnConflict::Remote,
        }),
        ..CycleCommand::new(direction)
    };
    let doing = match direction {
        Direction::Both => "sync",
        Direction::Pull => "pull",
        Direction::Push => "push",
    };
    work(context, &config, doing, &parts, command, args.exit_code).await
}

/// The note for a fresh clone, or for a CI job without its state.
const FIRST_CONFLICTS: &str = "this folder has never been synced, so kbsync cannot tell edits from old copies, and \
                               every difference waits for you; `kbsync help ci` says how a CI job keeps its state";

/// Runs a command's cycle over these parts, and prints the report.
pub(super) async fn work(
    context: &Context,
    config: &Config,
    doing: &str,
    parts: &[Part],
    command: CycleCommand,
    exit_code: bool,
) -> Outcome {
    let is_dry = command.dry_run;
    if !is_dry {
        git_head::may_write(config).await?;
    }
    // An unreadable state fails the cycle, which reports the reason.
    let is_first = never_synced(config, parts).unwrap_or(false);
    let command = CycleCommand {
        scope: scope::paths(config, parts),
        ..command
    };
    let session_report = session::run(context, config, doing, command, None).await?;
    let code = session_report.code(exit_code);
    report::print(context, &session_report, code)?;
    if is_dry && let Some(why) = git_head::refusal_of(config) {
        context.out.note(why);
    }
    let mut lines = session_report.report.actions.iter();
    if is_first && lines.any(|line| line.action == Kind::Conflict && line.status == Status::Held) {
        context.out.note(FIRST_CONFLICTS);
    }
    Ok(code)
}
