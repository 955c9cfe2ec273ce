//! `kbsync restore`: brings back versions, all missing files of a folder, or all articles that were deleted there.
//!
//! The user first sees the changes on the service, and agrees to them. Then this command writes the files under the
//! lock, or the daemon writes them if it holds the lock. Then a cycle over these files sends them, like an edit by
//! hand. Several workspaces follow one after another.

mod folder;
mod targets;

use super::{
    ExitCode, Outcome, ask,
    context::Context,
    counts::several,
    cycle, differences,
    failure::Failure,
    git_head,
    print::escape,
    report,
    session::{self, SessionReport},
};
use crate::{
    config::{Config, Need},
    daemon::{control::Refusal, job::CycleCommand},
    engine::{
        compare::{Comparison, Pair},
        report::{Report, Status},
        restore::Refused,
    },
    reconcile::{plan::Kind, snapshot::Direction},
};
use std::path::PathBuf;
use targets::{Asked, Group};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file or an article's id; `@N` after it is a version's number in `kbsync log` (@1 is the
    /// oldest) [default: the last version of a deleted article; else the previous version].
    /// A folder stands for the files that were removed from it and whose articles still exist
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
    let mut groups = targets::groups(args, context, &config)?;
    let mut refused = Vec::new();
    for group in &mut groups {
        let by_engine = group.prepare(&config)?;
        refused.append(&mut group.refused);
        // Otherwise the engine refuses these again, and remembers that their files were wanted.
        if args.dry_run || group.found.is_empty() {
            refused.extend(by_engine);
        }
    }
    refused.sort_by(|a, b| a.path.cmp(&b.path));
    if groups.iter().all(|group| group.found.is_empty())
        && let Some(all) = Refused::all(refused.clone())
    {
        return Err(all.into());
    }
    if args.dry_run {
        let preview = preview(&groups, refused);
        let view = differences::View::between("now", "restored");
        differences::print(context, &preview, Some(view))?;
        return Ok(ExitCode::Done);
    }
    git_head::may_write(&config).await?;
    if !args.yes && !agreed(context, &config, &groups)? {
        context.out.note("nothing was restored");
        return Ok(ExitCode::Attention);
    }
    let session_report = carry_out_all(context, &config, groups, refused).await?;
    let code = session_report.code(false);
    report::print(context, &session_report, code)?;
    let mut lines = session_report.report.actions.iter();
    let is_restored = lines.any(|line| line.action == Kind::Restore && line.status == Status::Done);
    if code == ExitCode::Retry && is_restored {
        context
            .out
            .note("the files are restored; `kbsync sync` sends them");
    }
    Ok(code)
}

/// Returns the changes in the files, in the form of `kbsync diff`.
fn preview(groups: &[Group], refused: Vec<Refused>) -> Comparison {
    let mut preview = Comparison::default();
    let is_single = groups.iter().map(|one| one.found.len()).sum::<usize>() == 1;
    for group in groups {
        for file in &group.found {
            let path = group.part.path(&file.target.place);
            preview.notes.push(if is_single {
                file.described()
            } else {
                format!("{path}: {}", file.described())
            });
            preview.pairs.extend((!file.is_there()).then(|| Pair {
                old_path: file.old().map(|_| path.clone()),
                new_path: Some(path),
                old: file.old().unwrap_or_default().to_owned(),
                new: file.new.clone(),
            }));
        }
    }
    let refused = refused.into_iter();
    let notes = refused.map(|one| format!("{}: {one}", one.path));
    preview.notes.extend(notes);
    preview
}

/// Returns whether the user agrees to the changes; `true` if readers would see no change.
fn agreed(context: &Context, config: &Config, groups: &[Group]) -> Result<bool, Failure> {
    let (mut lines, mut fresh) = (Vec::new(), 0);
    for group in groups {
        let found = group.found.iter();
        for file in found.filter(|file| file.goes_live(config.options.new_articles)) {
            let what = if file.is_new_article() {
                fresh += 1;
                "is a new article"
            } else {
                "changes"
            };
            let path = group.part.path(&file.target.place);
            let path = escape(&path);
            lines.push(format!("  {path} {what}: {}", file.described()));
        }
    }
    if lines.is_empty() {
        return Ok(true);
    }
    let what = match (lines.len() - fresh, fresh) {
        (0, fresh) => format!("publish {}", several(fresh, "new article")),
        (_, _) => format!("change {}", several(lines.len(), "live article")),
    };
    if context.out.json || context.out.quiet || !ask::possible() {
        return Err(Failure::usage(
            format!("this would {what}, which needs your agreement"),
            format!(
                "--dry-run shows the changes; agree with:\n  {}",
                ask::again()
            ),
        ));
    }
    context
        .out
        .note(format!("This would {what}, compared with the last sync:"));
    for line in &lines {
        context.out.note(line);
    }
    ask::agrees("Publish?")
}

/// Restores the versions of each workspace. The report includes `refused`.
async fn carry_out_all(
    context: &Context,
    config: &Config,
    groups: Vec<Group>,
    refused: Vec<Refused>,
) -> Result<SessionReport, Failure> {
    let mut all = SessionReport {
        report: Report::new(false),
        ..SessionReport::default()
    };
    let mut is_first = true;
    let groups = groups.into_iter();
    for group in groups.filter(|group| !group.found.is_empty()) {
        if all.is_cut_off() {
            break;
        }
        let found = group.found.iter();
        let places = found.map(|file| group.part.path(&file.target.place));
        let asked = group.asked.into_iter();
        let command = CycleCommand {
            restore: asked.map(|one| one.request).collect(),
            scope: places.collect(),
            ..CycleCommand::new(Direction::Both)
        };
        let refilled = group.whole.then_some(&group.part.root);
        let done = Box::pin(session::run(context, config, "restore", command, refilled));
        match done.await {
            Ok(done) => {
                all.report.add(done.report);
                all.failures.extend(done.failures);
            }
            Err(failure) if is_first => return Err(failure),
            // The earlier workspaces were restored, and are in the report.
            Err(failure) => {
                let failure = Refusal::from(failure);
                all.report.fail_with(failure.code);
                all.failures.push(failure);
            }
        }
        is_first = false;
    }
    all.report.add_restored(Vec::new(), refused);
    Ok(all)
}
