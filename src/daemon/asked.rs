//! What a job asks of one workspace: paths of the whole mirror become paths of its folder.

use super::{
    job::{CycleWish, Job, Look},
    quiet::Taken,
};
use crate::{
    engine::{self, settings::Request},
    model::Place,
    reconcile::{new_categories::NewCategories, snapshot::Direction},
    service::Purpose,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a job asks of one workspace; `None`: nothing.
pub(super) fn request_for(job: &Job, prefix: &str) -> Option<Request> {
    let request = match &job.look {
        Look::Whole => Request {
            purpose: Purpose::Poll,
            ..Request::new(Direction::Both)
        },
        Look::Mirror => Request::new(Direction::Both),
        Look::Paths(taken) => Request {
            gone: below(taken.removed.keys(), prefix).collect(),
            scope: scope(taken.paths().iter(), prefix)?,
            look: files(taken, prefix).map_or(engine::settings::Look::Whole, |places| {
                engine::settings::Look::Paths(places)
            }),
            ..Request::new(Direction::Both)
        },
        Look::Wish(wish) => {
            return wished(wish, prefix).map(|request| Request {
                git_hold: job.git_hold.clone(),
                ..request
            });
        }
    };
    Some(guarded(job, request, prefix))
}

/// What is in motion is left alone, and what git removed is held. A cycle that is limited to paths that came
/// to rest needs the others to know what was moved.
fn guarded(job: &Job, request: Request, prefix: &str) -> Request {
    let limited = match job.look {
        Look::Whole | Look::Mirror => false,
        Look::Paths(_) | Look::Wish(_) => true,
    };
    let unsettled = below(job.unsettled.iter(), prefix);
    Request {
        unsettled: unsettled.filter(|_| !limited).collect(),
        patient: true,
        git_hold: job.git_hold.clone(),
        ..request
    }
}

/// Returns whether files that go while such a cycle waits have their grace time before them. A person who says what
/// is to be looked at means what is there.
pub(super) fn may_miss(look: &Look) -> bool {
    match look {
        Look::Whole | Look::Mirror | Look::Paths(_) => true,
        Look::Wish(_) => false,
    }
}

/// Those of the paths that are in a workspace's folder, as it names them.
fn below<'p>(
    paths: impl Iterator<Item = &'p String>,
    prefix: &str,
) -> impl Iterator<Item = String> {
    paths.filter_map(move |path| path.strip_prefix(prefix).map(str::to_owned))
}

fn wished(wish: &CycleWish, prefix: &str) -> Option<Request> {
    let scope = if wish.scope.is_empty() {
        Vec::new()
    } else {
        scope(wish.scope.iter(), prefix)?
    };
    Some(Request {
        scope,
        dry_run: wish.dry_run,
        allow_deletes: wish.allow_deletes,
        new_categories: if wish.new_categories {
            NewCategories::Create
        } else {
            NewCategories::Ask
        },
        prefer: wish.prefer.map(Into::into),
        resolve: wish
            .resolve
            .iter()
            .map(|(id, keep)| (*id, (*keep).into()))
            .collect::<BTreeMap<_, _>>(),
        ..Request::new(wish.direction.into())
    })
}

/// The paths that are in a workspace's folder; `None`: none is.
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

/// The files that changed in a workspace's folder; `None`: something else did, too.
fn files(taken: &Taken, prefix: &str) -> Option<BTreeSet<Place>> {
    let gone = taken.removed.keys().any(|path| path.starts_with(prefix));
    let changed = taken.changed.iter();
    let places: Option<BTreeSet<Place>> = changed
        .filter_map(|path| path.strip_prefix(prefix))
        .map(|path| {
            let (folder, file) = path.split_once('/')?;
            Some(Place::new(folder, file))
        })
        .collect();
    places.filter(|_| !gone)
}
