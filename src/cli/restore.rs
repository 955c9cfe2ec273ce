//! `kbsync restore`: brings a version back into the mirror, and from there to the service.
//!
//! The file is written first, by whoever has the mirror: this command under the lock, or the daemon that it
//! is handed to. Then a cycle over that file sends it, as it would an edit made by hand.

use super::{
    Outcome,
    context::Context,
    cycle,
    diff::{as_patch, print_pair},
    exit::ExitCode,
    failure::Failure,
    handed,
    past::{Named, described, is_folder, named},
    paths::in_mirror,
    report,
    scope::Part,
    session::{Session, Worked},
};
use crate::{
    config::{Config, Need},
    daemon::job::CycleWish,
    engine::{
        Clock as _, SystemClock,
        compare::Pair,
        open,
        report::Report,
        restore::{self, Prepared, Refused, RefusedKind, Wish},
        settings::Request,
    },
    mirror::RealDisk,
    model::Place,
    reconcile::snapshot::Direction,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Brings a version back.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file or an article's id; `@N` behind it is a version's number in `kbsync log` (@1 is the
    /// oldest) [default: the last version of a deleted article; else the one before the present one]
    ///
    /// The file gets the version's title, introtext, keywords and body; its name, its folder and keys of
    /// your own stay. What it holds now is in the history before. A deleted article comes back as a new
    /// one, with a comment in its file that names the old one.
    #[arg(value_name = "PATH[@N]")]
    path: PathBuf,
    /// Where a deleted article's file is to be, if not where it was
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Show what would change in the file, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// What a dry run prints with --json: the form of `kbsync diff`.
#[derive(Serialize)]
struct Shown {
    version: u32,
    files: Vec<ShownFile>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ShownFile {
    path: Option<String>,
    old_path: Option<String>,
    diff: String,
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
    let named = one(named(context, &config, &args.path)?)?;
    if named.number.is_some() {
        named.version()?;
    }
    let wish = Wish {
        subject: named.past.subject.clone(),
        number: named.number,
        to: match &args.to {
            Some(to) => Some(place(context, &config, &named.part, to)?),
            None => None,
        },
    };
    let prepared = look(&config, &named, &wish)?;
    if args.dry_run {
        return show(context, &named, &prepared);
    }
    if let Some(failure) = cycle::wrong_branch(&config) {
        return Err(failure);
    }
    let part = Part {
        scope: vec![prepared.place.to_string()],
        ..named.part
    };
    let worked = match to_daemon(context, &config, &part, &wish).await? {
        Some(worked) => worked,
        None => here(context, &config, part, &wish).await?,
    };
    report::print(context, &worked)?;
    Ok(report::code(&worked.report, false))
}

/// Of several deleted articles that had a path, a person names the one that is meant.
fn one(named: Named) -> Result<Named, Failure> {
    let articles = std::iter::once(&named.past).chain(&named.others);
    let articles: Vec<_> = articles.filter(|past| past.article().is_some()).collect();
    if articles.len() < 2 || named.is_meant() {
        return Ok(named);
    }
    let listed: Vec<String> = articles.iter().map(|past| described(past)).collect();
    Err(Failure::usage(
        format!(
            "several articles had the path {}:\n  {}",
            named.name,
            listed.join("\n  ")
        ),
        "name the one that is meant by its id: `kbsync restore ID[@N]`",
    ))
}

/// The place behind `--to`: a file in a category's folder of the same workspace.
fn place(context: &Context, config: &Config, part: &Part, to: &Path) -> Result<Place, Failure> {
    let path = in_mirror(&config.mirror, &context.current, to)?;
    let below = if part.prefix.is_empty() {
        Some(path.as_str())
    } else {
        path.strip_prefix(&part.prefix)
            .and_then(|rest| rest.strip_prefix('/'))
    };
    match below.and_then(|below| below.split_once('/')) {
        // A slip of the pen would make a category, which cannot be deleted through the service.
        Some((folder, file)) if !file.contains('/') && !is_folder(config, part, folder)? => {
            Err(Failure::usage(
                format!("{} is in no category's folder", to.display()),
                "check the folder's name; a new category is made by making its folder first",
            ))
        }
        Some((folder, file)) if !file.contains('/') => Ok(Place::new(folder, file)),
        Some(_) | None => Err(Failure::usage(
            format!(
                "{} is no place for an article of this workspace",
                to.display()
            ),
            "name a file like FOLDER/NAME.html",
        )),
    }
}

/// Finds out what would be written. What is in the way is told before anything is handed over.
fn look(config: &Config, named: &Named, wish: &Wish) -> Result<Prepared, Failure> {
    let root = &named.part.root;
    let mut store = open::read_state(config, root)?;
    let disk = RealDisk::open(&root.path)?;
    let prepared = restore::prepare(&disk, &mut store, wish, SystemClock.now());
    prepared.map_err(Failure::of)?.map_err(refused)
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

fn show(context: &Context, named: &Named, prepared: &Prepared) -> Outcome {
    let path = named.path(&prepared.place);
    let pair = Pair {
        old_path: prepared.old.as_ref().map(|_| path.clone()),
        new_path: Some(path),
        old: prepared.old.clone().unwrap_or_default(),
        new: prepared.new.clone(),
    };
    if context.out.json {
        let changed = (!prepared.is_there()).then(|| ShownFile {
            diff: as_patch(&pair),
            path: pair.new_path.clone(),
            old_path: pair.old_path.clone(),
        });
        context.out.json(&Shown {
            version: 1,
            files: changed.into_iter().collect(),
            notes: vec![prepared.described()],
        })?;
        return Ok(ExitCode::Done);
    }
    context.out.note(prepared.described());
    if prepared.is_there() {
        context.out.note("the file holds it already");
    } else {
        print_pair(context.out, &pair)?;
    }
    Ok(ExitCode::Done)
}

async fn to_daemon(
    context: &Context,
    config: &Config,
    part: &Part,
    wish: &Wish,
) -> Result<Option<Worked>, Failure> {
    let request = Request::new(Direction::Both);
    let asked = CycleWish {
        restore: Some(wish.clone()),
        ..handed::wish(std::slice::from_ref(part), &request, Vec::new())
    };
    handed::to_daemon(context, config, asked).await
}

/// Writes the file and runs the cycle under our own lock.
async fn here(
    context: &Context,
    config: &Config,
    part: Part,
    wish: &Wish,
) -> Result<Worked, Failure> {
    let mut session = Session::writing(context, config, "restore")?;
    let mut engine = session.engine(&part, false)?;
    let restored = engine.restore(wish).await;
    session.give_back(engine);
    let (prepared, line) = restored.map_err(Failure::of)?.map_err(refused)?;
    let part = Part {
        scope: vec![prepared.place.to_string()],
        ..part
    };
    let request = Request::new(Direction::Both);
    let cycle = session.cycles(&[part], &request).await;
    let mut report = Report::new(false);
    report.actions.push(line);
    report.partial = true;
    let cycle = match cycle {
        Ok(cycle) => cycle,
        // The file is written all the same, and that is said.
        Err(failure) => {
            report.outcome = cycle::ending(&failure);
            let failures = vec![failure];
            return Ok(Worked { report, failures });
        }
    };
    report.add(cycle.report);
    Ok(Worked {
        report,
        failures: cycle.failures,
    })
}
