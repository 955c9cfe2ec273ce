//! Articles that only one side has: an article is created for a file, or a file for an article.

use super::Planner;
use super::World;
use super::plan::{Action, Kind, Outcome, Settle, Step};
use super::snapshot::{LocalFile, Seen};
use crate::model::base::Visibility;
use crate::model::path::{self, EXTENSION};
use crate::model::{ArticleId, Flags, Place, Side};

/// Reports an article without a folder, because its category cannot be read.
pub(super) fn homeless(
    planner: &mut Planner<'_>,
    id: ArticleId,
    place: Option<&Place>,
    seen: &Seen,
) -> Outcome {
    if planner.world.remote.cut_off {
        return Outcome::Unknown;
    }
    let path = place.map(ToString::to_string).unwrap_or_default();
    let (title, category) = (&seen.version.title, seen.version.category);
    let message = format!(
        "\"{title}\" is in category {category}, which cannot be read or has no clear folder"
    );
    planner.problem(path, Some(id), message);
    Outcome::Unknown
}

pub(super) fn create_local(planner: &mut Planner<'_>, id: ArticleId, seen: &Seen) -> Outcome {
    match new_file_for(planner, id, None, seen) {
        Ok(settle) => planner.add(Action::settle(Kind::Create, Side::Local, settle)),
        Err(outcome) => outcome,
    }
}

/// Returns the step that creates the file of an article without a file. `was`: the last place of the file, if any. The
/// error is the outcome for the article if no file is created now.
pub(super) fn new_file_for(
    planner: &mut Planner<'_>,
    id: ArticleId,
    was: Option<&Place>,
    seen: &Seen,
) -> Result<Settle, Outcome> {
    let world = planner.world;
    if !world.policy.direction.pulls() {
        return Err(Outcome::Excluded);
    }
    let category = seen.version.category;
    let known = planner.names.folder(category).is_some();
    let Some(folder) = planner.folder_for(category) else {
        return Err(homeless(planner, id, was, seen));
    };
    // A file at the article's own place may be the article's, so that place must be in reach.
    let own = path::stem_for(&seen.version.slug, id.uuid(), &|_| false);
    let own = Place::new(&folder, format!("{own}{EXTENSION}"));
    let to = planner.names.give_place(&folder, &seen.version.slug, id);
    // An article that was in scope comes back, even if its category's folder is not in scope.
    let covered = was.is_some() || world.policy.scope.covers(&to);
    if (world.out_of_reach)(&own) || !covered {
        planner.names.free(&to);
        if !known {
            planner.names.take_back(category);
        }
        return Err(Outcome::Excluded);
    }
    if world.local.unreadable.contains(&folder) {
        return Err(Outcome::Unknown);
    }
    if let Some(unread) = unread_for(world, &folder, id) {
        let message = format!(
            "its file is not created, because {unread} cannot be read and may be that file; make {unread} readable, \
             or take it out of the mirror"
        );
        planner.problem(own, Some(id), message);
        return Err(Outcome::Unknown);
    }
    let mut seen = seen.clone();
    if seen.visibility == Visibility::Published {
        seen.flags = seen.flags.or(Flags::SHOWN);
    }
    let file_flags = match seen.visibility {
        Visibility::Published => Flags::default(),
        Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => Flags {
            enabled: seen.flags.enabled.filter(|on| !on),
            draft: seen.flags.draft.filter(|on| *on),
        },
    };
    Ok(Settle {
        id,
        before: None,
        to,
        file: seen.version.clone(),
        file_flags,
        write: true,
        send: Vec::new(),
        send_enabled: None,
        base_if_unsent: seen.version.clone(),
        base_flags_if_unsent: file_flags,
        seen,
        ends_conflict: world.base.conflicts.contains_key(&id),
    })
}

/// Returns an unreadable file or folder that may hold the article's file: creating a second file would make one of the
/// two a copy. The unreadable file is in the same folder and is not known to be another article's. With a new state it
/// may be anywhere: a colleague may have changed the article's address since.
fn unread_for(world: World<'_>, folder: &str, id: ArticleId) -> Option<String> {
    let known = |place: &Place| {
        let mut shown = world.base.conflicts.values();
        world.base.articles.values().any(|row| row.place == *place)
            || shown.any(|row| row.id != id && row.place == *place)
    };
    let mut unread = world.local.unreadable_files.iter();
    let file = unread.find(|place| {
        let near = world.local.first || place.folder == folder;
        near && !known(place)
    });
    let mut folders = world.local.closed.iter();
    let hidden = || folders.find(|_| world.local.first).cloned();
    file.map(ToString::to_string).or_else(hidden)
}

pub(super) fn create_remote(
    planner: &mut Planner<'_>,
    file: &LocalFile,
    instead_of: Option<ArticleId>,
) -> Outcome {
    let world = planner.world;
    if !world.policy.direction.pushes() {
        return Outcome::Excluded;
    }
    let mut creations = world.base.creations.iter();
    let begun = creations.find(|one| one.is_at(file.version.category, &file.place.file));
    // If the article exists already, only its id is missing in the file: another slug is an edit, which follows later.
    let made = begun.and_then(|one| Some(one.row.as_ref()?.id));
    let place = planner.placed(&file.place);
    let action = Action::new(
        Kind::Create,
        Side::Remote,
        made,
        place.clone(),
        Step::CreateArticle {
            place,
            version: file.version.clone(),
            flags: file.flags.or(world.policy.new_articles),
            instead_of,
        },
    );
    planner.add(action)
}
