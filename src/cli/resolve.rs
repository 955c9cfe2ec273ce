//! `kbsync resolve`: records a person's decision on one conflict, for exactly the two versions that were shown.

use super::{
    Outcome,
    context::Context,
    cycle,
    failure::Failure,
    scope::{self, Part},
};
use crate::{
    config::{Config, Need},
    engine::{open, report::Report, settings::Request},
    mirror::{
        RealDisk,
        disk::{At, Disk as _},
        document::{Document, MAX_FILE},
    },
    model::{ArticleId, path::EXTENSION},
    reconcile::snapshot::{Direction, Keep},
    state::{ConflictRow, Store},
};
use std::{collections::BTreeMap, path::PathBuf};

/// Settles a conflict.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The file that is in conflict
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The version to keep; the other one stays in the history
    #[arg(long, value_enum, value_name = "VERSION")]
    keep: Version,
}

/// The version to keep.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    /// The file as it is now
    Local,
    /// The service's version that lies beside it
    Remote,
    /// Both bodies, one after the other where they clash; of a title and the like yours
    Both,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let outcome = resolve(args, context).await;
    cycle::as_report(context, Report::new(false), outcome)
}

async fn resolve(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let (part, path) = scope::part(context, &config, &args.path)?;
    let (id, places) = conflict(&config, &part, &path)?.ok_or_else(|| {
        Failure::usage(
            format!("{} is not in conflict", args.path.display()),
            "`kbsync status` lists the conflicts",
        )
    })?;
    let keep = match args.keep {
        Version::Local => Keep::Local,
        Version::Remote => Keep::Remote,
        Version::Both => Keep::Both,
    };
    let request = Request {
        resolve: BTreeMap::from([(id, keep)]),
        ..Request::new(Direction::Both)
    };
    let part = Part {
        scope: places,
        ..part
    };
    cycle::work(context, &config, "resolve", &[part], &request, false).await
}

/// Returns the article in conflict at a path, and its present and former paths. The copy's path is accepted, too.
fn conflict(
    config: &Config,
    part: &Part,
    path: &str,
) -> Result<Option<(ArticleId, Vec<String>)>, Failure> {
    let binding = open::binding(config, &part.root);
    let Some(store) = Store::open_read_only(&part.root.state, Some(&binding))? else {
        return Ok(None);
    };
    let places = |row: &ConflictRow, now: Option<String>| {
        let shown = row.place.to_string();
        let copy = row
            .copy
            .as_ref()
            .map(|copy| format!("{}/{copy}", row.place.folder));
        (now, shown, copy)
    };
    // A renamed file has the id of its conflict.
    let told = id_in(part, path);
    for row in store.conflicts()? {
        let now = store.article(row.id)?.map(|base| base.place.to_string());
        let (now, shown, copy) = places(&row, now);
        let places = [Some(&shown), now.as_ref(), copy.as_ref()];
        let named = places
            .into_iter()
            .flatten()
            .any(|name| name == path || name.strip_suffix(EXTENSION) == Some(path));
        if named || told == Some(row.id) {
            let moved = (!named).then(|| with_ending(path));
            let mut places: Vec<String> = now.into_iter().chain([shown]).chain(moved).collect();
            places.dedup();
            return Ok(Some((row.id, places)));
        }
    }
    Ok(None)
}

/// Returns the id in the file at a path, if it is readable.
fn id_in(part: &Part, path: &str) -> Option<ArticleId> {
    let path = with_ending(path);
    let (folder, file) = path.split_once('/')?;
    let disk = RealDisk::open(&part.root.path).ok()?;
    let content = disk.read(At::Folder(folder), file, MAX_FILE).ok()?;
    Document::parse_with_markers(&content.bytes).ok()?.id()
}

/// Adds `.html` if it was left out.
fn with_ending(path: &str) -> String {
    if path.ends_with(EXTENSION) {
        path.to_owned()
    } else {
        format!("{path}{EXTENSION}")
    }
}
