//! The decision table, article by article.

use super::aside;
use super::flags;
use super::names::Names;
use super::pairing::{Paired, overlaid};
use super::plan::{Action, HoldRule, Key, Kind, Outcome, Plan, Problem, Step};
use super::snapshot::{
    Base, Bodies, LocalFile, LocalSnapshot, Policy, Remote, RemoteSnapshot, Seen,
};
use crate::drill::defect::{self, Defect};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Place, Revision, Side, Version};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Everything a plan is made from, and the plan so far.
pub(super) struct Planner<'a> {
    pub(super) base: &'a Base,
    pub(super) local: &'a LocalSnapshot,
    pub(super) paired: &'a Paired,
    pub(super) remote: &'a RemoteSnapshot,
    pub(super) policy: &'a Policy,
    pub(super) bodies: &'a Bodies,
    /// The files that ask for each address.
    pub(super) addresses: &'a Addresses<'a>,
    pub(super) names: Names,
    /// Names that were free for others, because these articles seemed to leave them.
    pub(super) freed: BTreeMap<ArticleId, Place>,
    /// Folders that a pulled address renames, old name to new: categories come before articles.
    pub(super) renamed: BTreeMap<String, String>,
    pub(super) plan: Plan,
}

/// Files by the category and slug that they ask for.
pub(super) type Addresses<'a> = HashMap<(CategoryId, &'a str), Vec<&'a Place>>;

/// What is known of an article's file.
enum Local<'a> {
    File(&'a LocalFile),
    Absent,
    Unknown,
}

impl<'a> Planner<'a> {
    /// Decides on every article that has an id, then on the new files.
    pub(super) fn articles(&mut self, frees_names: bool) {
        let (base, paired, remote) = (self.base, self.paired, self.remote);
        let ids: BTreeSet<ArticleId> = base
            .articles
            .keys()
            .chain(paired.files.keys())
            .chain(paired.unknown.keys())
            .chain(remote.articles.keys())
            .copied()
            .collect();
        if frees_names {
            self.free_names(&ids);
        }
        for &id in &ids {
            let outcome = self.article(id);
            self.plan.outcomes.insert(Key::Article(id), outcome);
        }
        for file in &paired.fresh {
            let outcome = self.fresh(file);
            self.plan
                .outcomes
                .insert(Key::File(file.place.clone()), outcome);
        }
    }

    fn article(&mut self, id: ArticleId) -> Outcome {
        let (base, paired) = (self.base, self.paired);
        let row = base.articles.get(&id);
        let everything = defect::is(Defect::ScopeIgnored);
        let local = match (paired.unknown.get(&id), paired.files.get(&id)) {
            (Some(_), _) => Local::Unknown,
            (None, Some(file)) => Local::File(file),
            (None, None) => Local::Absent,
        };
        if let Local::File(LocalFile { place, .. }) = local {
            let was = row.is_some_and(|row| self.policy.covers(&row.place));
            if !was && !self.policy.covers(place) && !everything {
                return Outcome::Excluded;
            }
        } else if row.is_some_and(|row| !self.policy.covers(&row.place)) {
            return Outcome::Excluded;
        }
        let unlisted;
        let entry = match self.entry(id) {
            Some(entry) => entry,
            None if defect::is(Defect::AbsenceIsDeletion) => &Remote::Gone,
            None => {
                unlisted = Remote::Unknown("it was not listed".to_owned());
                &unlisted
            }
        };
        match (row, local, entry) {
            (None, Local::Absent, Remote::Present(seen)) => self.create_local(id, seen),
            (Some(row), Local::File(file), Remote::Present(seen)) => {
                if self.agrees(row, file, seen) {
                    debug_assert_eq!(self.meet(id, Some(row), file, seen), Outcome::Quiet);
                    return Outcome::Quiet;
                }
                let seen = fresh_or_base(row, seen);
                self.meet(id, Some(row), file, &seen)
            }
            (Some(row), Local::File(file), Remote::Gone) => self.gone(id, Some(row), file),
            (Some(row), Local::File(file), Remote::NotVisible(why)) => {
                self.vanished(id, row, file, why)
            }
            (Some(row), Local::File(file), Remote::Unknown(why)) => {
                let rule = if self.remote.unreadable.contains(&id) {
                    HoldRule::Person
                } else {
                    HoldRule::Doubt
                };
                self.unseen(id, row, file, why, rule)
            }
            (Some(row), Local::Absent, Remote::Present(seen)) => {
                let seen = fresh_or_base(row, seen);
                self.removed(id, row, &seen)
            }
            (Some(row), Local::Absent, Remote::Gone) => self.forget(id, row),
            (Some(row), Local::Absent, Remote::NotVisible(why)) => {
                self.removed_unseen(id, row, why)
            }
            (Some(_), Local::Absent, Remote::Unknown(_)) => {
                self.plan.removed_unread += usize::from(self.policy.direction.pushes());
                Outcome::Unknown
            }
            (_, Local::Unknown, _) | (None, Local::Absent, _) => Outcome::Unknown,
            // Once it was met, nobody would know that the article whose file was there has lost that to it.
            (None, Local::File(_), Remote::Present(_))
                if overlaid(self.base, self.paired, id).is_some() =>
            {
                Outcome::Unknown
            }
            (None, Local::File(file), Remote::Present(seen)) => self.meet(id, None, file, seen),
            (None, Local::File(file), Remote::Gone) => self.gone(id, None, file),
            (None, Local::File(file), Remote::NotVisible(why) | Remote::Unknown(why)) => {
                self.unmet(id, file, why)
            }
        }
    }

    /// Tells at a glance that both sides are as the row says, and that nothing of it waits: nearly every article
    /// in nearly every cycle. What comparing them field by field would come to is nothing, then.
    fn agrees(&self, row: &ArticleRow, file: &LocalFile, seen: &Seen) -> bool {
        untouched(row, file)
            && row.remote == seen.version
            && row.revision == seen.revision
            && row.visibility == seen.visibility
            && row.place == file.place
            && file.id == Some(row.id)
            && flags::shown(Some(row), seen, row.remote_flags) == row.remote_flags
            // It may be an old copy that says the same, but for its flags.
            && is_calm(row)
            && !self.renamed.contains_key(&file.place.folder)
            && !self.base.conflicts.contains_key(&row.id)
            && !self.policy.resolve.contains_key(&row.id)
            && !defect::is(Defect::EchoIsEdit)
    }

    /// What the service said of an article.
    fn entry(&self, id: ArticleId) -> Option<&'a Remote> {
        let articles = &self.remote.articles;
        if defect::is(Defect::SlugIsKey)
            && let Some(row) = self.base.articles.get(&id)
        {
            return articles.values().find(|entry| {
                matches!(entry, Remote::Present(seen) if seen.version.slug == row.remote.slug)
            });
        }
        articles.get(&id)
    }

    pub(super) fn push(&mut self, action: Action) -> Outcome {
        let outcome = if action.held.is_some() {
            Outcome::Held
        } else {
            Outcome::Planned
        };
        self.plan.actions.push(action);
        outcome
    }

    pub(super) fn problem(
        &mut self,
        path: &Place,
        id: Option<ArticleId>,
        message: impl Into<String>,
    ) {
        self.plan.problems.push(Problem::at(path, id, message));
    }
}

pub(super) fn untouched(row: &ArticleRow, file: &LocalFile) -> bool {
    row.local == file.version && row.file_flags == file.flags
}

/// Returns whether nothing follows for an article when both sides are as the base says: nothing of its own is
/// under way, and what the base says of the service cannot be an old copy of what we replaced.
pub(crate) fn is_calm(row: &ArticleRow) -> bool {
    aside::original(&row.remote.slug, row.id.uuid()).is_none()
        && !row.has_replaced(&row.remote, &row.revision)
}

fn is_old_copy(row: &ArticleRow, seen: &Seen) -> bool {
    row.has_replaced(&seen.version, &seen.revision)
}

/// Returns whether an answer is an old copy of what our own last write replaced: it says nothing of what a colleague
/// wrote since. Where that write left the very same behind, words and revision, nothing tells the two apart.
pub(crate) fn is_outdated(row: &ArticleRow, revision: &Revision, version: &Version) -> bool {
    let left = row.written.as_ref() == Some(revision) && row.remote == *version;
    row.has_replaced(version, revision) && !left
}

/// An old copy of what our own writes replaced counts as the version we wrote. Where that
/// only freed the article's address for a moment, a colleague's words are still in the copy, and not in the base.
fn fresh_or_base(row: &ArticleRow, seen: &Seen) -> Seen {
    let parked = aside::original(&row.remote.slug, row.id.uuid()).is_some();
    let last = (seen.version.digest(), seen.revision.clone());
    if row.replaced.as_ref() == Some(&last) && parked && row.written.as_ref() != Some(&row.revision)
    {
        return Seen {
            version: Version {
                slug: row.remote.slug.clone(),
                ..seen.version.clone()
            },
            revision: row.written.clone().unwrap_or_default(),
            ..seen.clone()
        };
    }
    if is_old_copy(row, seen) {
        return Seen {
            version: row.remote.clone(),
            revision: row.revision.clone(),
            flags: row.remote_flags,
            visibility: row.visibility,
        };
    }
    seen.clone()
}

pub(super) fn wait(kind: Kind, id: ArticleId, place: &Place) -> Action {
    Action::new(kind, Side::Both, Some(id), place, Step::Wait)
}
