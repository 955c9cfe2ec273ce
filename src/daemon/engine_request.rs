//! Translates a job into the request of one workspace: paths below the mirror become paths below the workspace's
//! folder.

use super::{
    debounce::DuePaths,
    job::{CycleCommand, Job, Scope},
};
use crate::{
    engine::{
        self,
        settings::{CycleRequest, PathsInMotion},
    },
    model::Place,
    reconcile::{new_categories::NewCategories, snapshot::Direction},
    service::Purpose,
};
use std::collections::BTreeSet;

/// Returns the request for one workspace; `None`: the job does not concern it.
pub(super) fn request_for(job: &Job, prefix: &str) -> Option<CycleRequest> {
    let request = match &job.scope {
        Scope::Everything => CycleRequest {
            purpose: Purpose::Poll,
            ..CycleRequest::new(Direction::Both)
        },
        Scope::Mirror => CycleRequest::new(Direction::Both),
        Scope::Paths(due) => CycleRequest {
            in_motion: PathsInMotion {
                removed: below(due.removed.keys(), prefix).collect(),
                ..PathsInMotion::default()
            },
            scope: scope(due.paths().iter(), prefix)?,
            look: files(due, prefix).map_or(engine::settings::Look::Whole, |places| {
                engine::settings::Look::Paths(places)
            }),
            ..CycleRequest::new(Direction::Both)
        },
        Scope::Command(command) => {
            return from_command(command, prefix).map(|request| CycleRequest {
                git_hold: job.git_hold.clone(),
                ..request
            });
        }
    };
    Some(with_holds(job, request, prefix))
}

/// Excludes paths in motion, and holds the removals that git made. A cycle over saved paths must see the paths in motion
/// as well, to recognise moves.
fn with_holds(job: &Job, request: CycleRequest, prefix: &str) -> CycleRequest {
    let limited = match job.scope {
        Scope::Everything | Scope::Mirror => false,
        Scope::Paths(_) | Scope::Command(_) => true,
    };
    let in_motion = below(job.in_motion.iter(), prefix);
    CycleRequest {
        in_motion: PathsInMotion {
            paths: in_motion.filter(|_| !limited).collect(),
            ..request.in_motion
        },
        is_background: true,
        git_hold: job.git_hold.clone(),
        ..request
    }
}

/// Returns whether the grace time applies to files that are removed while the cycle waits. It does not apply to a
/// command, because a person runs it on the files as they are.
pub(super) fn waits_out_grace(scope: &Scope) -> bool {
    match scope {
        Scope::Everything | Scope::Mirror | Scope::Paths(_) => true,
        Scope::Command(_) => false,
    }
}

/// Returns the paths below a workspace's folder, relative to it.
fn below<'p>(
    paths: impl Iterator<Item = &'p String>,
    prefix: &str,
) -> impl Iterator<Item = String> {
    paths.filter_map(move |path| path.strip_prefix(prefix).map(str::to_owned))
}

fn from_command(command: &CycleCommand, prefix: &str) -> Option<CycleRequest> {
    let scope = if command.scope.is_empty() {
        Vec::new()
    } else {
        scope(command.scope.iter(), prefix)?
    };
    Some(CycleRequest {
        scope,
        dry_run: command.dry_run,
        allow_deletes: command.allow_deletes,
        new_categories: if command.new_categories {
            NewCategories::Create
        } else {
            NewCategories::Ask
        },
        prefer: command.prefer.map(Into::into),
        resolve: command.resolve.clone(),
        ..CycleRequest::new(command.direction.into())
    })
}

/// Returns the paths below a workspace's folder; `None`: there are none.
fn scope<'p>(paths: impl Iterator<Item = &'p String>, prefix: &str) -> Option<Vec<String>> {
    let folder = prefix.trim_end_matches('/');
    let found: Vec<String> = paths
        .filter_map(|path| {
            if !folder.is_empty() && path.trim_end_matches('/') == folder {
                return Some(".".to_owned());
            }
            path.strip_prefix(prefix).map(str::to_owned)
        })
        .collect();
    (!found.is_empty()).then_some(found)
}

/// Returns the changed files of a workspace; `None`: something else changed as well.
fn files(due: &DuePaths, prefix: &str) -> Option<BTreeSet<Place>> {
    let gone = due.removed.keys().any(|path| path.starts_with(prefix));
    let changed = due.changed.iter();
    let places: Option<BTreeSet<Place>> = changed
        .filter_map(|path| path.strip_prefix(prefix))
        .map(|path| {
            let (folder, file) = path.split_once('/')?;
            Some(Place::new(folder, file))
        })
        .collect();
    places.filter(|_| !gone)
}
