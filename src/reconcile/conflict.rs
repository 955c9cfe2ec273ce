//! Both sides have it: what they changed is compared, and what clashes waits for a person, or is settled as
//! one chose.
//!
//! A conflict is settled by hand when its copy was there and is not any more; that settles exactly the two
//! versions that were shown.

use super::World;
use super::articles::wait;
use super::aside;
use super::change::{self, ThreeWay};
use super::merge;
use super::pairing::Paired;
use super::plan::{Conflict, HoldRule, Kind, Outcome, Step};
use super::planner::{Case, Planner};
use super::settle::settle_article;
use super::snapshot::{Base, Direction, Keep, LocalFile, LocalSnapshot, OnConflict, Seen};
use crate::drill::defect::{self, Defect};
use crate::model::base::ConflictRow;
use crate::model::path::{CONFLICT_EXTENSION, EXTENSION, quoted};
use crate::model::{ArticleId, Field, Place, TextDigest, Version};

impl World<'_> {
    /// A person's word on an article, while both versions are the ones that were shown to them.
    pub(super) fn wish(
        &self,
        id: ArticleId,
        local: &Version,
        remote: Option<&Version>,
    ) -> Option<Keep> {
        let keep = self.policy.resolve.get(&id).copied()?;
        let Some(conflict) = self.base.conflicts.get(&id) else {
            return Some(keep);
        };
        // The file's own words are known to whoever keeps them, and where they moved it to whoever moved it.
        let words = Version {
            category: conflict.local.category,
            slug: conflict.local.slug.clone(),
            ..local.clone()
        };
        // A file that the base describes has no text that would be lost.
        let is_base = || {
            let row = self.base.articles.get(&id);
            row.is_some_and(|row| row.local == *local)
        };
        let file =
            keep == Keep::Local || conflict.local == words || keep == Keep::Remote && is_base();
        (file && conflict.remote.as_ref() == remote).then_some(keep)
    }

    pub(super) fn choice(&self, keep: Option<Keep>) -> Option<Keep> {
        keep.or(match self.policy.on_conflict {
            OnConflict::Hold => defect::is(Defect::LastWriterWins).then_some(Keep::Local),
            OnConflict::Local => Some(Keep::Local),
            OnConflict::Remote => Some(Keep::Remote),
        })
    }

    /// A conflict is settled by hand when its copy was there and is not any more.
    pub(super) fn settled_by_hand(&self, conflict: &ConflictRow, keep: Option<Keep>) -> bool {
        let gone = || {
            // In a folder that cannot be listed it may lie, too, whatever that was called before.
            self.local.complete
                && self.local.closed.is_empty()
                && copy_of(self.base, self.local, self.paired, conflict).is_none()
                && copy_folders(self.base, self.paired, conflict)
                    .all(|folder| !self.local.unreadable.contains(folder))
        };
        keep == Some(Keep::Local) || conflict.copy.is_some() && gone()
    }
}

/// Both sides have it: compares them, with the base or, on a first meeting, with each other.
pub(super) fn meet(planner: &mut Planner<'_>, case: Case<'_>) -> Outcome {
    let Case {
        id,
        row,
        file,
        seen,
    } = case;
    let world = planner.world;
    let standing = world.base.conflicts.get(&id);
    let keep = world.wish(id, &file.version, Some(&seen.version));
    let compare = |was: &Version, there: &Version| {
        change::three_way(was, there, &file.version, &seen.version, world.bodies)
    };
    let first = || ThreeWay::first_meeting(&file.version, &seen.version);
    let mut way = match (standing, row) {
        (Some(conflict), _) if world.settled_by_hand(conflict, keep) => {
            match shown(conflict, seen) {
                Some(shown) => compare(shown, shown),
                // Both moved on: what was settled is not what is there now.
                None => first(),
            }
        }
        (Some(_), Some(_)) if keep != Some(Keep::Both) => first(),
        (_, None) => first(),
        // Where both are kept, what does not clash is merged.
        (_, Some(row)) => compare(&row.local, &row.remote),
    };
    aside::give_back(&mut way, file, &seen.version.slug, id.uuid());
    if !way.clashes.is_empty() {
        let Some(choice) = world.choice(keep) else {
            return clash(planner, case, &way);
        };
        let both = (choice == Keep::Both).then(|| both(world, case)).flatten();
        settle_clashes(&mut way, choice, &seen.version, both);
    }
    settle_article(planner, case, way)
}

/// The body that holds both sides', where both are at hand.
fn both(world: World<'_>, case: Case<'_>) -> Option<String> {
    let Case {
        row, file, seen, ..
    } = case;
    let text = |digest: TextDigest| world.bodies.get(&digest).map(AsRef::as_ref);
    let was = row.map(|row| [row.local.text, row.remote.text]);
    let ancestors: Vec<&str> = was.into_iter().flatten().filter_map(text).collect();
    let (ours, theirs) = (text(file.version.text)?, text(seen.version.text)?);
    Some(merge::merge_union(&ancestors, ours, theirs))
}

/// The name of a new copy: of a file that took the name of another one in conflict, it is not that one's.
fn copy_beside(world: World<'_>, id: ArticleId, place: &Place) -> String {
    let usual = copy_name(place);
    let taken = world.base.conflicts.values().any(|other| {
        other.id != id && other.place.folder == place.folder && other.copy.as_ref() == Some(&usual)
    });
    if taken {
        copy_name(&Place::new(
            &place.folder,
            format!("{}~{}{EXTENSION}", place.stem(), &id.to_string()[..8]),
        ))
    } else {
        usual
    }
}

fn clash(planner: &mut Planner<'_>, case: Case<'_>, way: &ThreeWay<Version>) -> Outcome {
    let Case { id, file, seen, .. } = case;
    let world = planner.world;
    let standing = world.base.conflicts.get(&id);
    let place = planner.placed(&file.place);
    let lies =
        standing.and_then(|conflict| copy_of(world.base, world.local, world.paired, conflict));
    // One that lies elsewhere keeps the conflict as well: whoever settles it has to know of it.
    let elsewhere = lies
        .as_ref()
        .filter(|copy| copy.folder != file.place.folder)
        .map(Place::to_string);
    let lies = lies.filter(|_| elsewhere.is_none());
    let copy = match (&lies, standing.and_then(|conflict| conflict.copy.clone())) {
        (Some(place), _) => place.file.clone(),
        (None, Some(copy)) => copy,
        (None, None) => copy_beside(world, id, &file.place),
    };
    let known = standing.is_some_and(|row| {
        row.remote.as_ref() == Some(&seen.version)
            && row.place.folder == place.folder
            && row.copy.as_ref() == Some(&copy)
    });
    // A person's word came too late: both versions are shown again, as they are now.
    let outrun = world.policy.resolve.contains_key(&id);
    let anew = standing.is_some_and(|row| row.remote.as_ref() != Some(&seen.version));
    let reason = match standing.filter(|_| known && !outrun) {
        Some(row) => row.reason.clone(),
        None if anew && !outrun => format!("{ANEW}{}", reasons(way, file, seen)),
        None => reasons(way, file, seen),
    };
    let mut action = wait(Kind::Conflict, id, &place);
    action.fields = way.clashes.iter().map(|(field, _)| *field).collect();
    if world.policy.direction == Direction::Push {
        action.hold(
            HoldRule::Person,
            "both sides changed it, so this will be a conflict: `kbsync sync` puts the service's version beside your file, and \
             changes nothing else",
        );
        return planner.push(action);
    }
    action.hold(
        HoldRule::Person,
        format!(
            "{}{reason}; `kbsync resolve {}` settles it, or edit the file and delete {}",
            if outrun { OUTRUN } else { "" },
            quoted(&place.to_string()),
            elsewhere.as_ref().unwrap_or(&copy),
        ),
    );
    action.step = Step::Conflict(Box::new(Conflict {
        id,
        place,
        local: file.version.clone(),
        flags: file.flags,
        seen: Some(seen.clone()),
        fresh: outrun || !known || lies.is_none() || defect::is(Defect::CopyAfterCopy),
        copy: Some(copy),
        reason,
    }));
    planner.push(action)
}

/// Where the copy of a conflict lies: it may have gone along with its folder, or with its file, and have
/// been renamed as that was. One of its name in any other folder may be it, too: a copy that was moved
/// settles nothing.
pub(crate) fn copy_of(
    base: &Base,
    local: &LocalSnapshot,
    paired: &Paired,
    conflict: &ConflictRow,
) -> Option<Place> {
    let copy = conflict.copy.as_ref()?;
    let file = paired.files.get(&conflict.id);
    // A copy beside an edited one has a name of its own, and keeps that name.
    let file = file.filter(|_| *copy == copy_name(&conflict.place));
    let renamed = file.map(|file| Place::new(&file.place.folder, copy_name(&file.place)));
    let of_another = |place: &Place| {
        base.conflicts.values().any(|other| {
            other.id != conflict.id
                && other.place.folder == place.folder
                && other.copy.as_ref() == Some(&place.file)
        })
    };
    copy_folders(base, paired, conflict)
        .map(|folder| Place::new(folder, copy))
        .chain(renamed.filter(|place| !of_another(place)))
        .find(|place| local.copies.contains(place))
        .or_else(|| {
            let mut copies = local.copies.iter();
            let moved = copies.find(|place| place.file == *copy && !of_another(place));
            moved.cloned()
        })
}

/// The folders in which the copy of a conflict may lie.
fn copy_folders<'c>(
    base: &Base,
    paired: &'c Paired,
    conflict: &'c ConflictRow,
) -> impl Iterator<Item = &'c str> {
    let file = paired.files.get(&conflict.id);
    let row = base.articles.get(&conflict.id);
    [
        Some(conflict.place.folder.as_str()),
        row.and_then(|row| paired.folder(row.local.category)),
        file.map(|file| file.place.folder.as_str()),
    ]
    .into_iter()
    .flatten()
}

/// What clashes, and what else would be settled with it: one version or the other is kept as a whole.
fn reasons(way: &ThreeWay<Version>, file: &LocalFile, seen: &Seen) -> String {
    let reasons: Vec<&str> = way.clashes.iter().map(|(_, why)| why.as_str()).collect();
    let reasons = reasons.join(", ");
    let clashes = |field: &Field| way.clashes.iter().any(|(clash, _)| clash == field);
    let others: Vec<String> = file
        .version
        .differing(&seen.version)
        .iter()
        .filter(|field| !clashes(field))
        .map(ToString::to_string)
        .collect();
    match others.as_slice() {
        [] => reasons,
        [one] => format!("{reasons}; the {one} differs, too"),
        [_, ..] => format!("{reasons}; {} differ, too", others.join(", ")),
    }
}

/// The name of the copy beside a file.
fn copy_name(place: &Place) -> String {
    let stem = place.stem();
    if stem.len() + CONFLICT_EXTENSION.len() <= LONGEST_NAME {
        return format!("{stem}{CONFLICT_EXTENSION}");
    }
    let mark = TextDigest::of(stem).to_string();
    let start: String = stem.chars().take(40).collect();
    format!("{start}~{}{CONFLICT_EXTENSION}", &mark[..8])
}

/// What file systems take for a name, in bytes.
const LONGEST_NAME: usize = 255;

/// Said where a person settled what is not there any more.
pub(super) const OUTRUN: &str =
    "not settled, because it changed after it was shown: look at both again; ";

/// Said of a conflict of which something else was shown before.
const ANEW: &str = "a new conflict, because the service's version changed since the last one: ";

/// The version that was shown, while the service still has it.
fn shown<'c>(conflict: &'c ConflictRow, seen: &Seen) -> Option<&'c Version> {
    conflict
        .remote
        .as_ref()
        .filter(|shown| **shown == seen.version)
}

/// Settles the clashes as a person chose; `both` is the body that has both sides'.
fn settle_clashes(way: &mut ThreeWay<Version>, keep: Keep, remote: &Version, both: Option<String>) {
    let text = way.clashes.iter().any(|(field, _)| *field == Field::Text);
    way.settle_clashes(remote, keep == Keep::Remote);
    if let Some(both) = both.filter(|_| text) {
        let digest = TextDigest::of(&both);
        way.merged.text = digest;
        way.body = Some((digest, both.into()));
        way.pulled.push(Field::Text);
    }
}
