//! `kbsync restore`: brings a version back into the mirror, and from there to the service; or all files that are
//! missing in a folder.
//!
//! The file is written first, by whoever has the mirror: this command under the lock, or the daemon that it
//! is handed to. Then a cycle over that file sends it, as it would an edit made by hand.

use super::{
    Outcome,
    context::Context,
    cycle,
    exit::ExitCode,
    failure::Failure,
    handed,
    interrupt::{Work, unless_interrupted},
    missing::{Missing, missing},
    past::{Named, became, below_mirror, described, is_folder, named},
    paths::in_mirror,
    published_branch, report,
    restored::show,
    scope::Part,
    session::{Session, Worked},
};
use crate::{
    config::{Config, Need},
    daemon::job::CycleWish,
    engine::{
        Clock as _, SystemClock, open,
        report::Report,
        restore::{self, Prospect, Refusal, Refused, RefusedKind, Wish, begun},
        settings::Request,
    },
    mirror::{RealDisk, lock::PRIVATE_FOLDER},
    model::{ArticleId, Place, path::quoted},
    reconcile::snapshot::Direction,
};
use std::path::{Path, PathBuf};

/// Brings a version back.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file or an article's id; `@N` behind it is a version's number in `kbsync log` (@1 is the
    /// oldest) [default: the last version of a deleted article; else the one before the present one].
    /// A folder stands for the files that were removed from it, while their articles are still there
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

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let outcome = Box::pin(restore(args, context)).await;
    if args.dry_run {
        return outcome;
    }
    cycle::as_report(context, Report::new(false), outcome)
}

async fn restore(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let Missing {
        part,
        mut wishes,
        whole,
    } = match missing(context, &config, &args.path)? {
        None => {
            let (named, wish) = wish(args, context, &config)?;
            is_named_now(&config, &named, &wish)?;
            Missing {
                part: named.part,
                wishes: vec![wish],
                whole: false,
            }
        }
        Some(found) if args.to.is_none() => found,
        Some(_) => {
            return Err(Failure::usage(
                "--to is for one article, and this is a folder",
                "name a file, or leave --to out",
            ));
        }
    };
    let (found, refusals) = look(&config, &part, &wishes)?;
    if args.dry_run {
        return show(context, &part, &found, refusals);
    }
    if let ([shown], [wish]) = (found.as_slice(), wishes.as_mut_slice()) {
        *wish = wish.clone().as_shown(shown);
    }
    published_branch::may_write(&config).await?;
    let part = Part {
        scope: places(&found),
        ..part
    };
    let worked = match to_daemon(context, &config, &part, &wishes).await? {
        Some(worked) => worked,
        None => here(context, &config, part, &wishes, whole).await?,
    };
    report::print(context, &worked)?;
    let broken_off = worked
        .failures
        .iter()
        .find(|failure| failure.code == ExitCode::Interrupted);
    Ok(broken_off.map_or_else(
        || report::code(&worked.report, false),
        |failure| failure.code,
    ))
}

/// What is wished for by a file's path or an article's id.
fn wish(args: &Args, context: &Context, config: &Config) -> Result<(Named, Wish), Failure> {
    let named = one(context, named(context, config, &args.path)?)?;
    if named.number.is_some() {
        named.version()?;
    }
    let to = match &args.to {
        Some(to) => Some(place(context, config, &named.part, to)?),
        None => None,
    };
    let wish = Wish {
        subject: named.past.subject.clone(),
        number: named.number,
        to,
        missing: false,
    };
    Ok((named, wish))
}

/// A file that was moved is not missing where it was: who asks for it there does not mean the version before the
/// present one. Who names a version knows what it is.
fn is_named_now(config: &Config, named: &Named, wish: &Wish) -> Result<(), Failure> {
    if wish.number.is_some() || named.past.article().is_none() {
        return Ok(());
    }
    let (found, _) = look(config, &named.part, std::slice::from_ref(wish))?;
    let moved = found.iter().find_map(|prospect| match prospect {
        Prospect::Write(prepared) if prepared.old.is_some() => Some(&prepared.place),
        Prospect::Write(_) | Prospect::IsBack { .. } => None,
    });
    let Some(place) = moved.filter(|place| !named.names(place)) else {
        return Ok(());
    };
    let path = named.path(place);
    Err(Failure::usage(
        format!("the file of {} is {path} now", named.name),
        format!(
            "`kbsync restore {}` gives it the version before the present one; `kbsync log` lists all",
            quoted(&path)
        ),
    ))
}

fn places(found: &[Prospect]) -> Vec<String> {
    let places = found.iter().map(|prospect| prospect.place().to_string());
    places.collect()
}

/// Of several articles that had a path, it is the one that was deleted there last. Where time does not tell, a person
/// names the one that is meant.
fn one(context: &Context, named: Named) -> Result<Named, Failure> {
    let articles = std::iter::once(&named.past).chain(&named.others);
    let articles: Vec<_> = articles
        .filter_map(|past| Some((past.article()?, past)))
        .collect();
    if articles.len() < 2 || named.is_meant() {
        return Ok(named);
    }
    let number = named
        .number
        .map_or_else(String::new, |number| format!("@{number}"));
    let command = |id: &ArticleId| format!("kbsync restore {id}{number}");
    if named.ended_last() {
        context.out.note(format!(
            "of the articles that had this path it is the one that was deleted last: {}",
            described(&named.past)
        ));
        for (id, other) in &articles[1..] {
            let command = command(id);
            context
                .out
                .note(format!("another one: `{command}` ({})", became(other)));
        }
        return Ok(named);
    }
    let commands: Vec<String> = articles
        .iter()
        .map(|(id, past)| format!("{}  # {}", command(id), became(past)))
        .collect();
    Err(Failure::usage(
        format!("several articles had the path {}", named.name),
        format!("name the one that is meant:\n  {}", commands.join("\n  ")),
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

/// Finds out what would be written. Where all of it is refused, that is told before anything is handed over.
fn look(
    config: &Config,
    part: &Part,
    wishes: &[Wish],
) -> Result<(Vec<Prospect>, Vec<Refusal>), Failure> {
    let mut store = open::read_state(config, &part.root)?;
    let disk = RealDisk::open(&part.root.path)?;
    let prepared = restore::prepare(&disk, &mut store, wishes, SystemClock.now());
    let (mut found, mut refusals) = (Vec::new(), Vec::new());
    for one in prepared.map_err(Failure::of)? {
        match one {
            Ok(prospect) => found.push(prospect),
            Err(refusal) => refusals.push(Refusal {
                path: below_mirror(part, &refusal.path),
                ..refusal
            }),
        }
    }
    refusals.sort_by(|a, b| a.path.cmp(&b.path));
    match Refusal::all(refusals.clone()) {
        Some(all) if found.is_empty() => Err(refused(all)),
        Some(_) | None => Ok((found, refusals)),
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
) -> Result<Option<Worked>, Failure> {
    let request = Request::new(Direction::Both);
    let asked = CycleWish {
        restore: wishes.to_vec(),
        ..handed::wish(std::slice::from_ref(part), &request, Vec::new())
    };
    handed::to_daemon(context, config, asked).await
}

/// Writes the files and runs the cycle under our own lock.
async fn here(
    context: &Context,
    config: &Config,
    part: Part,
    wishes: &[Wish],
    whole: bool,
) -> Result<Worked, Failure> {
    let refilled = whole.then_some(&part.root);
    if let Some(root) = refilled.filter(|root| !root.path.join(PRIVATE_FOLDER).exists()) {
        // From the lock on the folder counts as one that was synced, however far this gets.
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
        // What is written stays, and that is said.
        Err(failure) => {
            report.outcome = cycle::ending(&failure);
            vec![failure]
        }
    };
    Ok(Worked { report, failures })
}
