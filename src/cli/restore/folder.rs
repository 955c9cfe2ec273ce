//! Finds the versions for `kbsync restore FOLDER`: those of the files that are missing in the folder, or with
//! `--deleted` those of the articles that were deleted there.

use super::{Asked, Group};
use crate::{
    cli::{context::Context, failure::Failure, scope},
    config::Config,
    engine::{
        history, open,
        restore::{self, Refused, RestoreRequest},
    },
    mirror::RealDisk,
    model::{ArticleId, Place, Timestamp, path::quoted},
    state::{Store, Subject},
};
use std::{cmp::Reverse, collections::BTreeSet, path::Path};

/// Returns the versions of a folder. `None`: the argument names no folder.
pub(super) fn group(
    context: &Context,
    config: &Config,
    path: &Path,
    deleted_ones: bool,
) -> Result<Option<Group>, Failure> {
    let named = scope::folders(context, config, path)?.unwrap_or_default();
    // The folders of several workspaces are not restored at once.
    let Ok([(part, folder)]) = <[_; 1]>::try_from(named) else {
        return Ok(None);
    };
    let mut store = open::read_state(config, &part.root)?;
    let mut group = Group::new(part);
    if deleted_ones {
        group.add_deleted(gone(&store, &folder)?, path)?;
        return Ok(Some(group));
    }
    let disk = RealDisk::open(&group.part.root.path)?;
    let missing = restore::missing(&disk, &mut store, &folder);
    let missing = missing?;
    if missing.is_empty() {
        return Err(none_missing(path));
    }
    group.asked.extend(missing.into_iter().map(Asked::of));
    group.whole = folder.is_empty();
    Ok(Some(group))
}

/// Makes the failure for a folder without missing files.
fn none_missing(path: &Path) -> Failure {
    Failure::usage(
        format!("no file of an article is missing in {}", path.display()),
        format!(
            "name a file to restore its previous version; articles that were deleted in the folder come back as new ones:\n  \
             kbsync restore {} --deleted",
            quoted(&path.to_string_lossy())
        ),
    )
}

impl Group {
    /// Adds the last versions of deleted articles; each comes back as a new article. Of several articles with one path,
    /// the article that was deleted last comes back.
    fn add_deleted(&mut self, mut gone: Vec<Deleted>, path: &Path) -> Result<(), Failure> {
        if gone.is_empty() {
            return Err(Failure::usage(
                format!("no article in {} was deleted", path.display()),
                "`kbsync log` lists what happened recently",
            ));
        }
        gone.sort_by_key(|one| Reverse(one.ended));
        let mut places = BTreeSet::new();
        for Deleted { id, place, .. } in gone {
            if places.insert(place.clone()) {
                self.asked.push(Asked::of(RestoreRequest {
                    missing: false,
                    ..RestoreRequest::missing(id)
                }));
            } else {
                let refused = Refused::impossible(
                    "another article with this path was deleted later, and that article comes back",
                    format!(
                        "`kbsync restore {id} --to FOLDER/NAME.html` brings the earlier article back"
                    ),
                );
                let path = self.part.path(&place);
                self.refused.push(refused.at(path, Some(id)));
            }
        }
        Ok(())
    }
}

/// A deleted article that has not been restored since.
struct Deleted {
    id: ArticleId,
    /// The last place of its file.
    place: Place,
    ended: Timestamp,
}

/// Returns the deleted articles whose last place was in a folder; `""` stands for all folders.
fn gone(store: &Store, folder: &str) -> Result<Vec<Deleted>, Failure> {
    let mut gone = Vec::new();
    for kept in store.deleted_articles()? {
        let (subject, place) = (kept.seen.subject, kept.seen.place);
        let Subject::Article(id) = subject else {
            continue;
        };
        if !folder.is_empty() && place.folder != folder {
            continue;
        }
        let history = history::of(store, subject)?;
        // A restored article exists under another id.
        if let Some(ended) = history.and_then(|history| history.ended)
            && !history::ended::came_back(store, id)?
        {
            gone.push(Deleted { id, place, ended });
        }
    }
    Ok(gone)
}
