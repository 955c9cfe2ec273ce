//! Both sides have it: what they changed is compared, and what clashes waits for a person, or is settled as
//! one chose.
//!
//! A conflict is settled by hand when its copy was there and is not any more; that settles exactly the two
//! versions that were shown.

use super::World;
use super::articles::undecided;
use super::change::{self, Clash, ThreeWay};
use super::merge;
use super::plan::{Conflict, Outcome, Step};
use super::settle::settle_article;
use super::snapshot::{Direction, Keep, LocalFile, LocalSnapshot, OnConflict, Seen};
use super::{Case, Planner};
use crate::model::base::ConflictRow;
use crate::model::path::{CONFLICT_EXTENSION, quoted};
use crate::model::{ArticleId, Field, Place, TextDigest, Version};

impl World<'_> {
    /// A person's word on an article, while both versions are the ones that were shown to them.
    pub(super) fn wish(
        &self,
        id: ArticleId,
        local: &Version,
        remote: Option<&Version>,
    ) -> Option<Keep> {
        let keep = self.policy.resolve.get(&id).cloned()?;
        let Some(conflict) = self.base.conflicts.get(&id) else {
            return Some(keep);
        };
        // The writer knows the file's own content and its new place.
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
        let file = match &keep {
            Keep::Local => true,
            Keep::Remote => conflict.local == words || is_base(),
            Keep::Both => conflict.local == words,
            Keep::Parts(parts) => parts.file == words.digest(),
        };
        (file && conflict.remote.as_ref() == remote).then_some(keep)
    }

    pub(super) fn choice(&self, keep: Option<Keep>) -> Option<Keep> {
        keep.or(match self.policy.on_conflict {
            OnConflict::Hold => None,
            OnConflict::Local => Some(Keep::Local),
            OnConflict::Remote => Some(Keep::Remote),
        })
    }

    /// A conflict is settled by hand when its copy was there and is not any more. A choice made by a command counts
    /// first.
    pub(super) fn settled_by_hand(&self, conflict: &ConflictRow, keep: Option<&Keep>) -> bool {
        match keep {
            Some(keep) => *keep == Keep::Local,
            None => has_lost_copy(self.local, conflict),
        }
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
        (Some(conflict), _) if world.settled_by_hand(conflict, keep.as_ref()) => {
            match &conflict.remote {
                Some(shown) if *shown == seen.version => compare(shown, shown),
                // Both moved on: what was settled is not what is there now.
                Some(_) | None => first(),
            }
        }
        (Some(_), Some(_)) if !matches!(keep, Some(Keep::Both | Keep::Parts(_))) => first(),
        (_, None) => first(),
        // What does not clash is merged.
        (_, Some(row)) => compare(&row.local, &row.remote),
    };
    if !way.clashes.is_empty() {
        let Some(choice) = world.choice(keep) else {
            return clash(planner, case, &way);
        };
        let body = match &choice {
            Keep::Both => both(world, case),
            Keep::Parts(parts) => Some(parts.text.clone()),
            Keep::Local | Keep::Remote => None,
        };
        settle_clashes(&mut way, &choice, case, body);
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

/// The name of a new copy. A name that is too long, or that another conflict's copy has, gets digits of the id.
fn copy_name(world: World<'_>, id: ArticleId, place: &Place) -> String {
    let stem = place.stem();
    let usual = format!("{stem}{CONFLICT_EXTENSION}");
    let taken = world.base.conflicts.values().any(|other| {
        other.id != id && other.place.folder == place.folder && other.copy.as_ref() == Some(&usual)
    });
    if !taken && usual.len() <= LONGEST_NAME {
        return usual;
    }
    let start: String = stem.chars().take(40).collect();
    format!("{start}~{}{CONFLICT_EXTENSION}", &id.to_string()[..8])
}

/// The longest name that common file systems accept, in bytes.
const LONGEST_NAME: usize = 255;

fn clash(planner: &mut Planner<'_>, case: Case<'_>, way: &ThreeWay<Version>) -> Outcome {
    let Case { id, file, seen, .. } = case;
    let world = planner.world;
    let standing = world.base.conflicts.get(&id);
    let place = planner.placed(&file.place);
    let fields = way.clashes.iter().map(|(field, _)| *field).collect();
    if world.policy.direction == Direction::Push {
        let told = "both sides changed it, so this will be a conflict: `kbsync sync` puts the service's version beside \
                    your file, and changes nothing else";
        let mut action = undecided(id, &place, told);
        action.fields = fields;
        return planner.push(action);
    }
    let lies = standing.and_then(|conflict| copy_of(world.local, conflict));
    // A copy in another folder keeps the conflict as well, so the message names its path.
    let elsewhere = lies
        .filter(|copy| copy.folder != file.place.folder)
        .map(Place::to_string);
    let lies = lies.filter(|_| elsewhere.is_none());
    let copy = match (lies, standing.and_then(|conflict| conflict.copy.clone())) {
        (Some(place), _) => place.file.clone(),
        (None, Some(copy)) => copy,
        (None, None) => copy_name(world, id, &file.place),
    };
    let known = standing.is_some_and(|row| {
        row.remote.as_ref() == Some(&seen.version) && row.place.folder == place.folder
    });
    // A person's word came too late: both versions are shown again, as they are now.
    let outrun = world.policy.resolve.contains_key(&id);
    let anew = standing.is_some_and(|row| row.remote.as_ref() != Some(&seen.version));
    let reason = match standing.filter(|_| known && !outrun) {
        Some(row) => row.reason.clone(),
        None if anew && !outrun => format!("{ANEW}{}", reasons(way, file, seen)),
        None => reasons(way, file, seen),
    };
    let told = format!(
        "{}{reason}; `kbsync resolve {}` settles it, or edit the file and delete {}",
        if outrun { OUTRUN } else { "" },
        quoted(&place.to_string()),
        elsewhere.as_ref().unwrap_or(&copy),
    );
    let mut action = undecided(id, &place, told);
    action.fields = fields;
    action.step = Step::Conflict(Box::new(Conflict {
        id,
        place,
        local: file.version.clone(),
        flags: file.flags,
        seen: Some(seen.clone()),
        fresh: outrun || !known || lies.is_none(),
        copy: Some(copy),
        reason,
    }));
    planner.push(action)
}

/// Returns the place of a conflict's copy, wherever it was moved.
pub(crate) fn copy_of<'a>(local: &'a LocalSnapshot, conflict: &ConflictRow) -> Option<&'a Place> {
    let copy = conflict.copy.as_ref()?;
    let shown = Place::new(&conflict.place.folder, copy);
    copies_of(local, conflict).max_by_key(|place| **place == shown)
}

/// Returns whether a conflict's copy was there, and is gone for certain: it is in no folder that cannot be listed.
pub(crate) fn has_lost_copy(local: &LocalSnapshot, conflict: &ConflictRow) -> bool {
    conflict.copy.is_some()
        && local.complete
        && local.closed.is_empty()
        && !local.unreadable.contains(&conflict.place.folder)
        && copy_of(local, conflict).is_none()
}

/// Returns the places of all copies of a conflict.
pub(crate) fn copies_of<'a>(
    local: &'a LocalSnapshot,
    conflict: &ConflictRow,
) -> impl Iterator<Item = &'a Place> {
    // A copy that lost its `id:` line is recognised by its name.
    let names = |(place, id): &(&Place, &Option<ArticleId>)| match id {
        Some(id) => *id == conflict.id,
        None => conflict.copy.as_ref() == Some(&place.file),
    };
    let copies = local.copies.iter().filter(names);
    copies.map(|(place, _)| place)
}

/// Returns the clashes, and the other fields that a choice would settle with them: one version is kept as a whole.
fn reasons(way: &ThreeWay<Version>, file: &LocalFile, seen: &Seen) -> String {
    let reason = |(field, clash): &(Field, Clash)| match clash {
        Clash::BothChanged => format!("both sides changed the {field}"),
        Clash::Differs => format!("the {field} differs from the service's"),
        Clash::Unmerged(reason) => reason.to_string(),
    };
    let reasons: Vec<String> = way.clashes.iter().map(reason).collect();
    let reasons = reasons.join(", ");
    let clashes = |field: &Field| way.clashes.iter().any(|(clash, _)| clash == field);
    let mut others = file.version.differing(&seen.version);
    others.retain(|field| !clashes(field));
    if others.is_empty() {
        return reasons;
    }
    format!("{reasons}; different, too: {}", Field::keys(&others, ", "))
}

/// Said where a person settled what is not there any more.
pub(super) const OUTRUN: &str =
    "the conflict is not settled, because something changed after it was shown: look again; ";

/// Said of a conflict of which something else was shown before.
const ANEW: &str = "a new conflict, because the service's version changed since the last one: ";

/// Settles the clashes as a person chose; `body` is the text that neither side has.
fn settle_clashes(way: &mut ThreeWay<Version>, keep: &Keep, case: Case<'_>, body: Option<String>) {
    let (mine, theirs) = (&case.file.version, &case.seen.version);
    let text = way.clashes.iter().any(|(field, _)| *field == Field::Text);
    way.settle_clashes(theirs, |field| match keep {
        Keep::Local | Keep::Both => false,
        Keep::Remote => true,
        Keep::Parts(parts) => parts.theirs.contains(&field),
    });
    if let Some(body) = body.filter(|_| text) {
        let digest = TextDigest::of(&body);
        way.merged.text = digest;
        way.body = Some((digest, body.into()));
        let places = [(&mut way.pushed, theirs.text), (&mut way.pulled, mine.text)];
        for (fields, was) in places {
            fields.retain(|field| *field != Field::Text);
            fields.extend((digest != was).then_some(Field::Text));
        }
    }
}
