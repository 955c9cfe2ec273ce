//! `kbsync restore`: brings versions back into the mirror, and from there to the service; or all files that are missing
//! in a folder, or all articles that were deleted there.
//!
//! The user sees the changes on the service first, and agrees to them. Then this command writes the files under the lock, or
//! the daemon does so if it holds the lock. Then a cycle over these files sends them, like an edit by hand. Several
//! workspaces follow one after the other.

mod folder;
mod live;
mod preview;
mod targets;

use super::{
    Outcome,
    context::Context,
    cycle,
    exit::ExitCode,
    failure::Failure,
    interrupt::{Work, unless_interrupted},
    published_branch, report,
    scope::Part,
    session::{Session, SessionReport},
    version_spec::below_mirror,
    via_daemon,
};
use crate::{
    config::{Config, Need},
    daemon::job::CycleCommand,
    engine::{
        Clock as _, SystemClock, open,
        report::Report,
        restore::{self, Prospect, Refusal, Refused, RefusedKind, Wish, begun},
        settings::Request,
    },
    mirror::{RealDisk, lock::PRIVATE_FOLDER},
    reconcile::snapshot::Direction,
};
use folder::WorkspaceRestore;
use std::path::PathBuf;
use targets::Targets;

/// Brings a version back.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file or an article's id; `@N` behind it is a version's number in `kbsync log` (@1 is the
    /// oldest) [default: the last version of a deleted article; else the previous version].
    /// A folder stands for the files that were removed from it, while their articles are still there
    ///
    /// The file gets the version's title, introtext, keywords and body; its name, its folder and keys of
    /// your own stay. The present text goes into the history first. A deleted article comes back as a new
    /// article, with a comment in its file that names the old article.
    #[arg(value_name = "PATH[@N]", required = true)]
    paths: Vec<PathBuf>,
    /// Bring back all articles that were deleted in a folder, each as a new article
    #[arg(long)]
    deleted: bool,
    /// A new path for a deleted article's file
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Show what would change in the file, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Agree to what goes live on the service, without a question
    #[arg(short, long)]
    yes: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let outcome = Box::pin(restore(args, context)).await;
    if args.dry_run {
        return outcome;
    }
    cycle::as_report(context, Report::new(false), outcome)
}

async fn restore(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let Targets {
        groups,
        mut refusals,
    } = Targets::of(args, context, &config)?;
    let planned = groups.into_iter().map(|group| Planned::at(&config, group));
    let planned = planned.collect::<Result<Vec<_>, _>>()?;
    let nothing = planned.iter().all(|one| one.found.is_empty());
    if nothing || args.dry_run {
        refusals.extend(planned.iter().flat_map(|one| one.refusals.iter().cloned()));
        refusals.sort_by(|a, b| a.path.cmp(&b.path));
    }
    if nothing && let Some(all) = Refusal::all(refusals.clone()) {
        return Err(refused(all));
    }
    if args.dry_run {
        return preview::show(context, &planned, refusals);
    }
    published_branch::may_write(&config).await?;
    if !args.yes && !live::agreed(context, &config, &planned)? {
        context.out.note("nothing was restored");
        return Ok(ExitCode::Attention);
    }
    let session_report = carry_out_all(context, &config, planned, refusals).await?;
    report::print(context, &session_report)?;
    let broken_off = session_report
        .failures
        .iter()
        .find(|failure| failure.code == ExitCode::Interrupted);
    Ok(broken_off.map_or_else(
        || report::code(&session_report.report, false),
        |failure| failure.code,
    ))
}

/// The restore of one workspace, with the effect of each version.
struct Planned {
    group: WorkspaceRestore,
    /// The files that would be written.
    found: Vec<Prospect>,
    /// The wishes that are refused.
    refusals: Vec<Refusal>,
}

impl Planned {
    fn at(config: &Config, mut group: WorkspaceRestore) -> Result<Self, Failure> {
        let (mut found, mut refusals) = (Vec::new(), Vec::new());
        let each = prospects(config, &group.part, &group.wishes)?;
        for (wish, one) in group.wishes.iter_mut().zip(each) {
            match one {
                Ok(prospect) => {
                    *wish = wish.clone().as_shown(&prospect);
                    found.push(prospect);
                }
                Err(refusal) => refusals.push(Refusal {
                    path: below_mirror(&group.part, &refusal.path),
                    ..refusal
                }),
            }
        }
        Ok(Self {
            group,
            found,
            refusals,
        })
    }
}

/// Returns the prospect of each wish. Nothing is written.
fn prospects(
    config: &Config,
    part: &Part,
    wishes: &[Wish],
) -> Result<Vec<Result<Prospect, Refusal>>, Failure> {
    let mut store = open::read_state(config, &part.root)?;
    let disk = RealDisk::open(&part.root.path)?;
    let prepared = restore::prepare(&disk, &mut store, wishes, SystemClock.now());
    prepared.map_err(Failure::of)
}

/// Restores the versions of each workspace. `refusals` belong to no workspace.
async fn carry_out_all(
    context: &Context,
    config: &Config,
    planned: Vec<Planned>,
    refusals: Vec<Refusal>,
) -> Result<SessionReport, Failure> {
    let mut all: Option<SessionReport> = None;
    let mut refused_before = refusals;
    for one in planned {
        if one.found.is_empty() {
            refused_before.extend(one.refusals);
            continue;
        }
        let done = Box::pin(carry_out(context, config, one)).await;
        all = Some(match (all, done) {
            (None, done) => done?,
            (Some(mut all), Ok(done)) => {
                all.report.add(done.report);
                all.failures.extend(done.failures);
                all
            }
            // The earlier workspaces were restored, and the report says so.
            (Some(mut all), Err(failure)) => {
                all.report.outcome = all.report.outcome.min(cycle::ending(&failure));
                all.failures.push(failure);
                all
            }
        });
    }
    let mut session_report = all.unwrap_or_else(|| SessionReport {
        report: Report::new(false),
        failures: Vec::new(),
    });
    session_report
        .report
        .add_restored(Vec::new(), refused_before);
    Ok(session_report)
}

async fn carry_out(
    context: &Context,
    config: &Config,
    planned: Planned,
) -> Result<SessionReport, Failure> {
    let WorkspaceRestore {
        part,
        wishes,
        whole,
        ..
    } = planned.group;
    let places = planned.found.iter().map(|one| one.place().to_string());
    let part = Part {
        scope: places.collect(),
        ..part
    };
    match to_daemon(context, config, &part, &wishes).await? {
        Some(session_report) => Ok(session_report),
        None => here(context, config, part, &wishes, whole).await,
    }
}

fn refused(refused: Refused) -> Failure {
    let failure = Failure::usage(refused.message, refused.help);
    match refused.kind {
        RefusedKind::Undecided => Failure {
            code: ExitCode::Attention,
            ..failure
        },
        RefusedKind::Impossible => failure,
    }
}

async fn to_daemon(
    context: &Context,
    config: &Config,
    part: &Part,
    wishes: &[Wish],
) -> Result<Option<SessionReport>, Failure> {
    let request = Request::new(Direction::Both);
    let asked = CycleCommand {
        restore: wishes.to_vec(),
        ..via_daemon::cycle_command(std::slice::from_ref(part), &request, Vec::new())
    };
    via_daemon::to_daemon(context, config, asked).await
}

/// Writes the files and runs the cycle under the command's own lock.
async fn here(
    context: &Context,
    config: &Config,
    part: Part,
    wishes: &[Wish],
    whole: bool,
) -> Result<SessionReport, Failure> {
    let refilled = whole.then_some(&part.root);
    if let Some(root) = refilled.filter(|root| !root.path.join(PRIVATE_FOLDER).exists()) {
        // The lock makes the folder count as synced, whatever happens next.
        let missing = begun::articles(wishes);
        let mut store = open::write_state(config, root).map_err(Failure::of)?;
        begun::begin(&mut store, missing, SystemClock.now()).map_err(Failure::of)?;
    }
    let mut session = Session::writing_into(context, config, "restore", refilled)?;
    let mut engine = session.engine(&part, false)?;
    let mut report = Report::new(false);
    report.partial = true;
    let so_far = session.so_far();
    let writing = Box::pin(async { Ok(engine.restore(wishes).await) });
    let restored = unless_interrupted(Work::Step, writing, so_far).await?;
    session.give_back(engine);
    let scope = restored.places;
    report.add_restored(restored.lines, restored.refusals);
    let failed = restored.failed.map(|error| match error.downcast() {
        Ok(reason) => refused(reason),
        Err(error) => Failure::of(error),
    });
    let cycle = match failed {
        None => {
            let request = Request::new(Direction::Both);
            session.cycles(&[Part { scope, ..part }], &request).await
        }
        Some(failure) if scope.is_empty() => return Err(failure),
        Some(failure) => Err(failure),
    };
    let failures = match cycle {
        Ok(cycle) => {
            report.add(cycle.report);
            cycle.failures
        }
        // The files are written, and the report says so.
        Err(failure) => {
            report.outcome = cycle::ending(&failure);
            vec![failure]
        }
    };
    Ok(SessionReport { report, failures })
}
