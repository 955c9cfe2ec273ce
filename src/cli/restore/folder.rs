//! The files that are missing in a folder, for `kbsync restore FOLDER`.

use super::{
    context::Context,
    failure::Failure,
    past::{below_mirror, is_folder},
    print::escape,
    scope::{self, Part},
};
use crate::{
    config::Config,
    engine::{
        Clock as _, SystemClock, anew, open, past,
        restore::Wish,
        status::{self, ChangeKind},
    },
    mirror::RealDisk,
    model::{ArticleId, path::EXTENSION},
    state::{Kept, Store, Subject},
};
use std::{collections::BTreeSet, path::Path};

/// What is to be brought back into a workspace.
#[derive(Debug)]
pub(super) struct Missing {
    /// The workspace.
    pub(super) part: Part,
    /// The versions.
    pub(super) wishes: Vec<Wish>,
    /// Whether it is all that is missing in it.
    pub(super) whole: bool,
}

/// What a folder stands for: the last versions of the files that were removed from it. `None`: it is none.
pub(super) fn missing(
    context: &Context,
    config: &Config,
    path: &Path,
) -> Result<Option<Missing>, Failure> {
    if path.to_string_lossy().parse::<ArticleId>().is_ok() {
        return Ok(None);
    }
    let Ok((part, folder)) = scope::part(context, config, path) else {
        return Ok(None);
    };
    scope::must_be_there(config, &part.root)?;
    if folder.contains('/') || (!folder.is_empty() && !is_folder(config, &part, &folder)?) {
        return Ok(None);
    }
    let mut store = open::read_state(config, &part.root)?;
    let disk = RealDisk::open(&part.root.path)?;
    let settings = open::settings(config, &part.root);
    let found = status::status(&disk, &mut store, &settings, SystemClock.now());
    let found = found.map_err(Failure::of)?;
    let within = below_mirror(&part, &folder);
    let within = within.trim_end_matches('/');
    let is_in = |path: &str| {
        let rest = path.strip_prefix(within);
        within.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
    };
    // A category's folder comes back with its files.
    let removed = found.changes.iter().filter(|change| {
        change.change == ChangeKind::Deleted
            && change.path.ends_with(EXTENSION)
            && is_in(&change.path)
    });
    let removed = removed.filter_map(|change| change.id.as_ref()?.parse().ok());
    // Of a first meeting in conflict there is no base that it could be missed by.
    let conflicts = found.conflicts.iter();
    let in_conflict = conflicts
        .filter(|open| open.removed && is_in(&open.path))
        .filter_map(|open| open.id);
    let ids: BTreeSet<ArticleId> = removed.chain(in_conflict).collect();
    // Until it is their turn some of them may be there again, as after a checkout.
    let wishes: Vec<Wish> = ids.into_iter().map(Wish::missing).collect();
    if wishes.is_empty() {
        return Err(none_missing(path, &part, &deleted(&store, &folder)?));
    }
    Ok(Some(Missing {
        whole: folder.is_empty(),
        part,
        wishes,
    }))
}

/// So many deleted articles are named with the command that brings them back.
const NAMED: usize = 20;

/// Only what still has its article comes back with its folder: what was deleted comes back as a new article, and
/// a person says which.
fn none_missing(path: &Path, part: &Part, deleted: &[Kept]) -> Failure {
    let path = path.display();
    let message = format!("no file of an article is missing in {path}");
    if deleted.is_empty() {
        return Failure::usage(
            message,
            "name a file to get an older version of it, or a deleted article; `kbsync log` lists both",
        );
    }
    let named = deleted.iter().take(NAMED).filter_map(|kept| {
        let Subject::Article(id) = kept.seen.subject else {
            return None;
        };
        let file = escape(&below_mirror(part, &kept.seen.place)).into_owned();
        Some(format!("\n  kbsync restore {id}  # {file}"))
    });
    let more = match deleted.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("\n  and {more} more: `kbsync log {path}`"),
    };
    Failure::usage(
        message,
        format!(
            "articles that were deleted come back one by one, each as a new one:{}{more}",
            named.collect::<String>()
        ),
    )
}

/// The deleted articles whose file was in a folder last; all, in the mirror itself.
fn deleted(store: &Store, folder: &str) -> Result<Vec<Kept>, Failure> {
    let mut deleted = store.deleted_articles()?;
    deleted.retain(|kept| folder.is_empty() || kept.seen.place.folder == folder);
    let mut gone = Vec::new();
    for kept in deleted {
        let Subject::Article(id) = kept.seen.subject else {
            continue;
        };
        let past = past::of(store, kept.seen.subject.clone())?;
        let ended = past.is_some_and(|past| past.ended.is_some());
        // One that came back is there under another id.
        if ended && !anew::came_back(store, id)? {
            gone.push(kept);
        }
    }
    Ok(gone)
}
