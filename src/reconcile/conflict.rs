//! Articles that both sides have: their changes are compared, and a clash is held for a person or settled by an earlier
//! choice.
//!
//! A conflict is settled by hand if its copy existed and is gone; this settles exactly the two versions that were
//! reported. In a git work tree, the file must be edited as well (`Observation::reopen_conflicts`).

use super::World;
use super::articles::undecided;
use super::change::{self, Clash, ThreeWay};
use super::merge;
use super::plan::{Conflict, Outcome, Step};
use super::settle::settle_article;
use super::snapshot::{Decision, Direction, Keep, LocalFile, LocalSnapshot, OnConflict, Seen};
use super::{Case, Planner};
use crate::model::base::ConflictRow;
use crate::model::path::{CONFLICT_EXTENSION, quoted};
use crate::model::{ArticleId, Field, Place, TextDigest, Texts, Version};

impl World<'_> {
    /// Returns a person's decision on an article, if both versions are still the ones that were reported.
    pub(super) fn wish(
        &self,
        id: ArticleId,
        local: &Version,
        remote: Option<&Version>,
    ) -> Option<Keep> {
        let Decision { keep, shown } = self.policy.resolve.get(&id).cloned()?;
        let Some(conflict) = self.base.conflicts.get(&id) else {
            // Another command may have settled the conflict since, or this one before a crash.
            let is_shown = shown.is_none() || remote.map(Version::digest) == shown;
            return is_shown.then_some(keep);
        };
        let recorded = conflict.remote.as_ref();
        // The writer knows the file's new content and its new place.
        let words = Version {
            category: conflict.local.category,
            slug: conflict.local.slug.clone(),
            ..local.clone()
        };
        // A file that equals the base has no text that could be lost.
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
        // A cycle may have recorded another version between the question and the answer.
        let is_shown = recorded.map(Version::digest) == shown;
        (file && is_shown && recorded == remote).then_some(keep)
    }

    pub(super) fn choice(&self, keep: Option<Keep>) -> Option<Keep> {
        keep.or(match self.policy.on_conflict {
            OnConflict::Hold => None,
            OnConflict::Local => Some(Keep::Local),
            OnConflict::Remote => Some(Keep::Remote),
        })
    }

    /// Returns whether a conflict was settled by hand: its copy existed and is gone. A command's choice takes
    /// precedence.
    pub(super) fn settled_by_hand(&self, conflict: &ConflictRow, keep: Option<&Keep>) -> bool {
        match keep {
            Some(keep) => *keep == Keep::Local,
            None => has_lost_copy(self.local, conflict),
        }
    }
}

/// Compares the two sides of an article: with the base or, on a first meeting, directly.
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
                // Both sides have changed since: the settled versions are not the present ones.
                Some(_) | None => first(),
            }
        }
        (Some(_), Some(_)) if !matches!(keep, Some(Keep::Both | Keep::Parts(_))) => first(),
        (_, None) => first(),
        // Parts that do not clash are merged.
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

/// Returns a body with both sides' texts, if both are available.
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

/// Returns the name of a new copy. A name that is too long, or that another conflict's copy has, is shortened and gets
/// digits of the id.
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
    let known = standing.is_some_and(|row| {
        row.remote.as_ref() == Some(&seen.version) && row.place.folder == place.folder
    });
    if world.policy.direction == Direction::Push {
        let told = match standing.filter(|_| known) {
            Some(row) => format!(
                "{}; `kbsync resolve {}` settles it",
                row.reason,
                quoted(&place.to_string())
            ),
            None => "both sides changed it, so this will be a conflict: `kbsync sync` puts the service's version \
                     beside your file, and changes nothing else"
                .to_owned(),
        };
        let mut action = undecided(id, &place, told);
        action.fields = fields;
        return planner.add(action);
    }
    let lies = standing.and_then(|conflict| copy_of(world.local, conflict));
    // A copy in another folder keeps the conflict open as well, so the message names its path.
    let elsewhere = lies
        .filter(|copy| copy.folder != file.place.folder)
        .map(Place::to_string);
    let lies = lies.filter(|_| elsewhere.is_none());
    let copy = match (lies, standing.and_then(|conflict| conflict.copy.clone())) {
        (Some(place), _) => place.file.clone(),
        (None, Some(copy)) => copy,
        (None, None) => copy_name(world, id, &file.place),
    };
    // The decision came too late: both versions are reported again, as they are now.
    let decided_too_late = world.policy.resolve.contains_key(&id);
    // The copy has flags as well, which a version does not show.
    let revised = standing.is_some_and(|row| row.revision != seen.revision);
    let anew = standing.is_some_and(|row| row.remote.as_ref() != Some(&seen.version));
    let reason = match standing.filter(|_| known && !decided_too_late) {
        Some(row) => row.reason.clone(),
        None if anew && !decided_too_late => format!("{ANEW}{}", reasons(way, file, seen)),
        None => reasons(way, file, seen),
    };
    let told = format!(
        "{}{reason}; `kbsync resolve {}` settles it, or edit the file and delete {}",
        if decided_too_late {
            CHANGED_SINCE_SHOWN
        } else {
            ""
        },
        quoted(&place.to_string()),
        elsewhere.as_ref().unwrap_or(&copy),
    );
    let mut action = undecided(id, &place, told);
    action.fields = fields;
    action.step = Step::Conflict(Box::new(Conflict {
        id,
        place,
        local: file.version.clone(),
        seen: Some(seen.clone()),
        needs_copy: decided_too_late || !known || revised || lies.is_none(),
        copy: Some(copy),
        reason,
    }));
    planner.add(action)
}

/// Returns the place of a conflict's copy, even if it was moved.
pub(crate) fn copy_of<'a>(local: &'a LocalSnapshot, conflict: &ConflictRow) -> Option<&'a Place> {
    let shown = conflict.copy_place()?;
    // A copy without its `id:` line is recognised by its name.
    let is_copy = |(place, id): &(&Place, &Option<ArticleId>)| match id {
        Some(id) => *id == conflict.id,
        None => shown.file == place.file,
    };
    let copies = local.copies.iter().filter(is_copy);
    let places = copies.map(|(place, _)| place);
    places.max_by_key(|place| **place == shown)
}

/// Returns whether a conflict's copy existed and is gone for certain: every folder that may hold it was listed.
pub(crate) fn has_lost_copy(local: &LocalSnapshot, conflict: &ConflictRow) -> bool {
    conflict.copy.is_some()
        && local.complete
        && local.closed.is_empty()
        && !local.unreadable.contains(&conflict.place.folder)
        && copy_of(local, conflict).is_none()
}

/// Returns the reasons of the clashes, and the other differing fields: a choice keeps one version as a whole.
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
    format!("{reasons}; also different: {}", Field::keys(&others, ", "))
}

/// The prefix for a decision about versions that are no longer present.
pub(super) const CHANGED_SINCE_SHOWN: &str = "the conflict is not settled, because one side changed after you saw the \
                                              conflict: check it again; ";

/// The prefix for a conflict whose service version changed after the report.
const ANEW: &str =
    "a new conflict, because the service's version changed since the last conflict: ";

/// Settles the clashes by a person's choice; `body` is a new text that neither side has.
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
