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
    model::path::quoted,
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
        group.add_deleted(&store, &folder)?;
        if group.asked.is_empty() {
            return Err(Failure::usage(
                format!("no article in {} was deleted", path.display()),
                "`kbsync log` lists what happened recently",
            ));
        }
        return Ok(Some(group));
    }
    let disk = RealDisk::open(&group.part.root.path)?;
    let missing = restore::missing(&disk, &mut store, &folder)?;
    group.asked.extend(missing.into_iter().map(Asked::of));
    if group.asked.is_empty() {
        return Err(Failure::usage(
            format!("no file of an article is missing in {}", path.display()),
            format!(
                "name a file to restore its previous version; articles that were deleted in the folder come back as new ones:\n  \
                 kbsync restore {} --deleted",
                quoted(&path.to_string_lossy())
            ),
        ));
    }
    group.whole = folder.is_empty();
    Ok(Some(group))
}

impl Group {
    /// Adds the last versions of the articles that were deleted in a folder, except those that were restored since; each
    /// comes back as a new article. Of several articles with one path, the article that was deleted last comes back.
    fn add_deleted(&mut self, store: &Store, folder: &str) -> Result<(), Failure> {
        let mut deleted = Vec::new();
        for last in store.deleted_articles()? {
            let (subject, place) = (last.seen.subject, last.seen.place);
            let is_in_it = folder.is_empty() || place.folder == folder;
            let Some(id) = subject.article().filter(|_| is_in_it) else {
                continue;
            };
            let ended = history::of(store, subject)?.and_then(|history| history.ended);
            // A restored article exists under another id.
            if let Some(ended) = ended
                && !history::ended::came_back(store, id)?
            {
                deleted.push((Reverse(ended), place, id));
            }
        }
        deleted.sort_by_key(|(ended, ..)| *ended);
        let mut places = BTreeSet::new();
        for (_, place, id) in deleted {
            if places.insert(place.clone()) {
                let request = RestoreRequest::of(Subject::Article(id));
                self.asked.push(Asked::of(request));
                continue;
            }
            let refused = Refused::impossible(
                "another article with this path was deleted later, and that article comes back",
                format!(
                    "`kbsync restore {id} --to FOLDER/NAME.html` brings the earlier article back"
                ),
            );
            let path = self.part.path(&place);
            self.refused.push(refused.at(path, Some(id)));
        }
        Ok(())
    }
}
