//! `kbsync resolve`: a person's word on one conflict, on exactly the two versions that were shown.

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
    model::ArticleId,
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

/// The article in conflict at a path, and the paths that it has or had. The copy's path will do.
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
    for row in store.conflicts()? {
        let now = store.article(row.id)?.map(|base| base.place.to_string());
        let (now, shown, copy) = places(&row, now);
        let places = [Some(&shown), now.as_ref(), copy.as_ref()];
        let named = places.into_iter().flatten().any(|name| {
            name == path || name.strip_suffix(crate::model::path::EXTENSION) == Some(path)
        });
        if named {
            let mut places: Vec<String> = now.into_iter().chain([shown]).collect();
            places.dedup();
            return Ok(Some((row.id, places)));
        }
    }
    Ok(None)
}
