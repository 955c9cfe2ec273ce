//! `kbsync resolve`: records a person's decisions on conflicts, for exactly the versions that were shown.

use super::{
    ExitCode, Outcome, ask, conflict,
    conflict_parts::{self, bytes, document},
    connect::budget_left,
    context::Context,
    cycle,
    failure::Failure,
    print::{WARNING, escape},
    report,
    scope::{self, Part},
    version_spec::is_at,
};
use crate::{
    config::{Config, Need},
    daemon::job::CycleCommand,
    engine::report::Report,
    model::{
        base::ConflictRow,
        path::{EXTENSION, quoted},
    },
    reconcile::snapshot::{self, Decision, Direction},
};
use std::{io, path::PathBuf, process::Command};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The files that are in conflict [default: lists all conflicts]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The version to keep; the other one stays in the history [default: a question, on a terminal]
    #[arg(long, value_enum, value_name = "VERSION", requires = "paths")]
    keep: Option<Keep>,
    /// Open your file and the service's version in a merge tool, then keep your file
    ///
    /// The tool is the command in KBSYNC_MERGE_TOOL, or vimdiff. It gets the two files as arguments.
    #[arg(long, requires = "paths", conflicts_with = "keep")]
    tool: bool,
}

/// The version to keep.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    /// The file as it is now
    Local,
    /// The service's version that lies beside it
    Remote,
    /// Both bodies, one after the other where they clash; your title and other fields where those clash
    Both,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let outcome = resolve(args, context).await;
    cycle::as_report(context, Report::new(false), outcome)
}

async fn resolve(args: &Args, context: &Context) -> Outcome {
    if args.tool && context.out.json {
        return Err(Failure::usage(
            "a merge tool needs the terminal, so `--tool` gives no JSON",
            "leave out one of `--tool` and `--json`",
        ));
    }
    let config = context.config(Need::Workspace)?;
    if args.paths.is_empty() {
        return list(context, &config);
    }
    let mut conflicts: Vec<(Part, Found)> = Vec::new();
    for path in &args.paths {
        let (part, path) = scope::part(context, &config, path)?;
        let found = conflicts_at(&config, &part, &path)?;
        // One path that is not in conflict stops all: nothing is asked and nothing is settled.
        if found.is_empty() {
            return Err(Failure::usage(
                format!("{} is not in conflict", quoted(&part.path(&path))),
                "`kbsync resolve` lists the conflicts",
            ));
        }
        conflicts.extend(found.into_iter().map(|found| (part.clone(), found)));
    }
    let is_one = conflicts.len() == 1;
    let mut command = CycleCommand::new(Direction::Both);
    let mut parts: Vec<Part> = Vec::new();
    let mut left = ExitCode::Done;
    for (part, found) in conflicts {
        let path = part.path(found.path());
        let keep = match args.keep {
            _ if command.resolve.contains_key(&found.row.id) => continue,
            Some(Keep::Local) => Some(snapshot::Keep::Local),
            Some(Keep::Remote) => Some(snapshot::Keep::Remote),
            Some(Keep::Both) => Some(snapshot::Keep::Both),
            None if args.tool => {
                if !in_tool(context, &part, &found)? {
                    let path = quoted(&path);
                    context.out.note(format!(
                        "nothing was changed in {path}; `kbsync resolve {path} --keep local` keeps it as it is"
                    ));
                    left = ExitCode::Attention;
                    continue;
                }
                Some(snapshot::Keep::Local)
            }
            None => {
                may_ask(context, &args.paths, found.row.remote.is_none())?;
                if !is_one {
                    context.out.note(escape(&path));
                }
                conflict_parts::asked(context, &config, &part, &found.row, &found.places)?
            }
        };
        let Some(keep) = keep else {
            command.resolve.clear();
            break;
        };
        let decision = Decision::on(&found.row, keep);
        command.resolve.insert(found.row.id, decision);
        match parts.iter_mut().find(|known| known.root == part.root) {
            Some(known) => known.scope.extend(found.places),
            None => parts.push(Part {
                scope: found.places,
                ..part
            }),
        }
    }
    if command.resolve.is_empty() {
        context.out.note("nothing was settled");
        return Ok(ExitCode::Attention);
    }
    let done = cycle::work(context, &config, "resolve", &parts, command, false).await?;
    Ok(ExitCode::worst([done, left]))
}

/// Lists the open conflicts, as the report of a sync does.
fn list(context: &Context, config: &Config) -> Outcome {
    let mut report = Report::new(false);
    let conflicts = conflict::open(config)?;
    report.actions = conflicts.iter().map(conflict::Conflict::line).collect();
    if !conflicts.is_empty() {
        report.outcome = ExitCode::Attention;
    }
    report.budget = budget_left(config);
    if context.out.json {
        context.out.json(&report)?;
    } else if conflicts.is_empty() {
        context.out.note("nothing is in conflict");
    }
    for conflict in conflicts.iter().filter(|_| !context.out.json) {
        context
            .out
            .line(format!("{WARNING}⚡{WARNING:#} {}", escape(&conflict.path)))?;
        for line in conflict.lines() {
            context.out.line(line)?;
        }
        context
            .out
            .line(format!("      kbsync resolve {}", quoted(&conflict.path)))?;
    }
    Ok(report::code(&report, false))
}

/// Checks that a person can answer questions. `paths`: the arguments. `is_gone`: the service has no version.
fn may_ask(context: &Context, paths: &[PathBuf], is_gone: bool) -> Result<(), Failure> {
    if ask::possible() && !context.out.json && !context.out.quiet {
        return Ok(());
    }
    let paths = paths.iter().map(|path| path.display().to_string());
    let paths: Vec<_> = paths.map(|path| quoted(&path).into_owned()).collect();
    let paths = paths.join(" ");
    let ways: &[&str] = if is_gone {
        &["local   # a new article", "remote  # no file"]
    } else {
        &["local", "remote", "both"]
    };
    let ways = ways.iter();
    let ways = ways.map(|way| format!("\n  kbsync resolve {paths} --keep {way}"));
    Err(Failure::usage(
        "which version is to be kept?",
        format!("name it:{}", ways.collect::<String>()),
    ))
}

/// Opens both versions in the person's merge tool. The person's file takes the result. Returns whether the person
/// changed that file.
fn in_tool(context: &Context, part: &Part, found: &Found) -> Result<bool, Failure> {
    let tool = (context.env)("KBSYNC_MERGE_TOOL").unwrap_or_else(|| "vimdiff".to_owned());
    let copy = found.row.copy_place().map(|copy| copy.to_string());
    let files = [Some(found.path().to_owned()), copy].into_iter().flatten();
    let files: Vec<_> = files.map(|path| part.root.path.join(path)).collect();
    let before = bytes(part, found.path());
    if files.len() < 2 || before.is_none() || !files[1].is_file() {
        return Err(Failure::usage(
            "one of the two files to compare is missing",
            "settle the conflict with --keep",
        ));
    }
    if in_program(&tool, &files)? {
        return Ok(bytes(part, found.path()) != before);
    }
    Err(Failure::failed(
        format!("`{tool}` failed, and nothing was settled"),
        "name another tool in KBSYNC_MERGE_TOOL, or settle the conflict with --keep",
    ))
}

/// Opens files in the person's program, and returns whether the program succeeded. The command may have arguments of
/// its own.
pub(super) fn in_program(command: &str, files: &[PathBuf]) -> io::Result<bool> {
    let script = format!("{command} \"$@\"");
    let mut shell = Command::new("sh");
    Ok(shell
        .args(["-c", &script, "sh"])
        .args(files)
        .status()?
        .success())
}

/// A conflict that an argument names.
struct Found {
    /// The present path of the article's file, and former ones.
    places: Vec<String>,
    /// The conflict as it is shown.
    row: ConflictRow,
}

impl Found {
    fn path(&self) -> &str {
        &self.places[0]
    }
}

/// Returns the conflict at a path, or all conflicts in a folder. The copy's path is accepted, too, and a former path if
/// nothing else has that path.
fn conflicts_at(config: &Config, part: &Part, path: &str) -> Result<Vec<Found>, Failure> {
    let Some(store) = part.state(config)? else {
        return Ok(Vec::new());
    };
    // A renamed file is recognised by the article's id in it.
    let stem = path.strip_suffix(EXTENSION).unwrap_or(path);
    let named = format!("{stem}{EXTENSION}");
    let id = document(part, &named).and_then(|file| file.id());
    let (mut in_folder, mut here, mut formerly) = (Vec::new(), Vec::new(), Vec::new());
    for row in store.conflicts()? {
        let now = store.article(row.id)?.map(|base| base.place.to_string());
        let mut places: Vec<String> = now.into_iter().chain([row.place.to_string()]).collect();
        let copy = row.copy_place().map(|copy| copy.to_string());
        let is_named = |name: &String| is_at(name, path);
        let is_here = is_named(&places[0]) || copy.as_ref().is_some_and(is_named);
        // Of two files with one id, the one at the known place is the article's.
        let is_second = || {
            let is_elsewhere = places[0] != named && copy.as_ref() != Some(&named);
            let home = || document(part, &places[0])?.id();
            is_elsewhere && home() == Some(row.id)
        };
        let found = if id == Some(row.id) && !is_second() {
            if copy.as_ref() != Some(&named) {
                places.insert(0, named.clone());
            }
            &mut here
        } else if id.is_none() && is_here {
            &mut here
        } else if path.is_empty() || row.place.folder == path {
            &mut in_folder
        } else if is_here || places.iter().any(is_named) {
            &mut formerly
        } else {
            continue;
        };
        places.dedup();
        found.push(Found { places, row });
    }
    formerly.truncate(1);
    let found = [here, in_folder, formerly];
    Ok(found
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default())
}
