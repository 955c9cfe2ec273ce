//! Finds the versions behind `kbsync restore FOLDER`: the files that are missing in the folder, or with `--deleted` the
//! articles that were deleted there.

use crate::{
    cli::{
        context::Context,
        failure::Failure,
        scope::{self, Part},
        version_spec::{below_mirror, is_folder},
    },
    config::Config,
    engine::{
        Clock as _, SystemClock, anew, open, past,
        restore::{Refusal, Refused, RefusedKind, Wish},
        status::{self, ChangeKind},
    },
    mirror::RealDisk,
    model::{
        ArticleId, Place, Timestamp,
        path::{EXTENSION, quoted},
    },
    state::{Store, Subject},
};
use std::{cmp::Reverse, collections::BTreeSet, path::Path};

/// The versions to restore in one workspace.
#[derive(Debug)]
pub(super) struct WorkspaceRestore {
    /// The argument, as it was written.
    pub(super) name: String,
    /// The workspace.
    pub(super) part: Part,
    /// The versions.
    pub(super) wishes: Vec<Wish>,
    /// Whether the versions are all missing files of the workspace.
    pub(super) whole: bool,
    /// The versions behind the argument that cannot come back.
    pub(super) refusals: Vec<Refusal>,
}

/// Returns the workspace and the folder that an argument names; `""` is the workspace itself. `None`: the argument names
/// no folder.
fn workspace_and_folder(
    context: &Context,
    config: &Config,
    path: &Path,
) -> Result<Option<(Part, String)>, Failure> {
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
    Ok(Some((part, folder)))
}

/// Returns the last versions of the files that were removed from a folder. `None`: the argument names no folder.
pub(super) fn missing(
    context: &Context,
    config: &Config,
    path: &Path,
) -> Result<Option<WorkspaceRestore>, Failure> {
    let Some((part, folder)) = workspace_and_folder(context, config, path)? else {
        return Ok(None);
    };
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
    // An article in conflict since the first sync has no row in the base, so the status does not list its removal.
    let conflicts = found.conflicts.iter();
    let in_conflict = conflicts
        .filter(|open| open.removed && is_in(&open.path))
        .filter_map(|open| open.id);
    let ids: BTreeSet<ArticleId> = removed.chain(in_conflict).collect();
    // Some files may exist again before the restore writes them, as after a checkout.
    let wishes: Vec<Wish> = ids.into_iter().map(Wish::missing).collect();
    if wishes.is_empty() {
        return Err(none_missing(path, gone(&store, &folder)?.len()));
    }
    Ok(Some(WorkspaceRestore {
        name: path.display().to_string(),
        whole: folder.is_empty(),
        part,
        wishes,
        refusals: Vec::new(),
    }))
}

/// Makes the failure for a folder without missing files. Deleted articles come back as new articles, which needs a flag of
/// its own.
fn none_missing(path: &Path, deleted: usize) -> Failure {
    let name = path.display();
    let message = format!("no file of an article is missing in {name}");
    let were = match deleted {
        0 => {
            return Failure::usage(
                message,
                "name a file to restore its previous version, or name a deleted article; `kbsync log` lists both",
            );
        }
        1 => {
            "1 article of it was deleted on the service. Bring it back as a new article".to_owned()
        }
        more => format!(
            "{more} articles of it were deleted on the service. Bring them back as new articles"
        ),
    };
    let folder = path.to_string_lossy();
    Failure::usage(
        message,
        format!(
            "{were} with:\n  kbsync restore {} --deleted",
            quoted(&folder)
        ),
    )
}

/// Returns the last versions of the articles that were deleted in a folder; each comes back as a new article. Of several
/// articles with one path, the article that was deleted last comes back.
pub(super) fn deleted(
    context: &Context,
    config: &Config,
    path: &Path,
) -> Result<Option<WorkspaceRestore>, Failure> {
    let Some((part, folder)) = workspace_and_folder(context, config, path)? else {
        return Ok(None);
    };
    let store = open::read_state(config, &part.root)?;
    let mut gone = gone(&store, &folder)?;
    if gone.is_empty() {
        return Err(Failure::usage(
            format!("no article of {} was deleted", path.display()),
            "`kbsync log` lists what happened lately",
        ));
    }
    gone.sort_by_key(|one| Reverse(one.ended));
    let (mut places, mut wishes, mut refusals) = (BTreeSet::new(), Vec::new(), Vec::new());
    for one in gone {
        if !places.insert(one.place.clone()) {
            refusals.push(one.taken(&part));
            continue;
        }
        wishes.push(Wish {
            subject: Subject::Article(one.id),
            number: None,
            to: None,
            missing: false,
        });
    }
    Ok(Some(WorkspaceRestore {
        name: path.display().to_string(),
        part,
        wishes,
        whole: false,
        refusals,
    }))
}

/// A deleted article that was not restored since.
struct DeletedArticle {
    id: ArticleId,
    /// The last place of its file.
    place: Place,
    ended: Timestamp,
}

impl DeletedArticle {
    /// Makes the refusal: an article that was deleted later takes the place.
    fn taken(&self, part: &Part) -> Refusal {
        Refusal {
            path: below_mirror(part, &self.place),
            id: Some(self.id),
            why: Refused {
                kind: RefusedKind::Impossible,
                message:
                    "another article with this path was deleted later, and that article comes back"
                        .to_owned(),
                help: format!(
                    "`kbsync restore {} --to FOLDER/NAME.html` brings the earlier article back",
                    self.id
                ),
            },
        }
    }
}

/// Returns the deleted articles whose last place was in a folder; `""` stands for all folders.
fn gone(store: &Store, folder: &str) -> Result<Vec<DeletedArticle>, Failure> {
    let mut gone = Vec::new();
    for kept in store.deleted_articles()? {
        let Subject::Article(id) = kept.seen.subject else {
            continue;
        };
        let place = kept.seen.place.clone();
        if !folder.is_empty() && place.folder != folder {
            continue;
        }
        let past = past::of(store, kept.seen.subject)?;
        let ended = past.and_then(|past| past.ended);
        // A restored article exists under another id.
        if let Some(ended) = ended
            && !anew::came_back(store, id)?
        {
            gone.push(DeletedArticle { id, place, ended });
        }
    }
    Ok(gone)
}
