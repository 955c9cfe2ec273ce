//! The decision table, article by article (design, section 4).

use super::conflict::OUTRUN;
use super::names::{self, Names};
use super::pairing::Paired;
use super::plan::{Action, Conflict, HoldRule, Key, Kind, Outcome, Plan, Problem, Settle, Step};
use super::snapshot::{
    Base, Bodies, Keep, LocalFile, LocalSnapshot, Policy, Remote, RemoteSnapshot, Seen,
};
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, CategoryId, Field, Flags, Place, Side};
use std::collections::{BTreeMap, BTreeSet};

/// Everything a plan is made from, and the plan so far.
pub(super) struct Planner<'a> {
    pub(super) base: &'a Base,
    pub(super) local: &'a LocalSnapshot,
    pub(super) paired: &'a Paired,
    pub(super) remote: &'a RemoteSnapshot,
    pub(super) policy: &'a Policy,
    pub(super) bodies: &'a Bodies,
    pub(super) names: Names,
    /// Articles that are known to keep their names.
    pub(super) staying: &'a BTreeSet<ArticleId>,
    /// Names that were free for others, because these articles seemed to leave them.
    pub(super) freed: BTreeMap<ArticleId, Place>,
    /// Folders that a pulled address renames, old name to new: categories come before articles.
    pub(super) renamed: BTreeMap<String, String>,
    /// Which files have an address: for finding two with the same.
    pub(super) addresses: BTreeMap<(CategoryId, &'a str), Vec<&'a Place>>,
    pub(super) plan: Plan,
}

/// What is known of an article's file.
enum Local<'a> {
    File(&'a LocalFile),
    Absent,
    Unknown,
}

impl Planner<'_> {
    /// Decides on every article that has an id, then on the new files.
    pub(super) fn articles(&mut self) {
        let (base, paired, remote) = (self.base, self.paired, self.remote);
        let ids: BTreeSet<ArticleId> = base
            .articles
            .keys()
            .chain(paired.files.keys())
            .chain(paired.unknown.keys())
            .chain(remote.articles.keys())
            .copied()
            .collect();
        self.free_names(&ids);
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

    /// Names that articles leave because the service moved or deleted them are free for others.
    ///
    /// What an article does is not decided yet: `reconcile` looks afterwards whether each did leave.
    fn free_names(&mut self, ids: &BTreeSet<ArticleId>) {
        if !self.policy.direction.pulls() {
            return;
        }
        for id in ids.iter().filter(|id| !self.staying.contains(*id)) {
            let (Some(row), Some(file)) = (self.base.articles.get(id), self.paired.files.get(id))
            else {
                continue;
            };
            let leaves = match self.remote.articles.get(id) {
                Some(Remote::Present(seen)) => {
                    let pulled = |field| {
                        !seen.version.agrees(&row.remote, field)
                            && file.version.agrees(&row.local, field)
                    };
                    let named = names::derived(file.place.stem(), &file.version.slug, id.uuid());
                    (pulled(Field::Slug) && named) || pulled(Field::Category)
                }
                Some(Remote::Gone) => untouched(row, file),
                Some(Remote::NotVisible(_) | Remote::Unknown(_)) | None => false,
            };
            if leaves {
                let place = self.placed(&file.place);
                self.names.leave(&place);
                self.freed.insert(*id, place);
            }
        }
    }

    /// The articles whose names were given away although they keep them, or leave them too late.
    pub(super) fn kept_their_names(&self) -> BTreeSet<ArticleId> {
        let mut kept: BTreeSet<ArticleId> = self.freed.keys().copied().collect();
        for action in self
            .plan
            .actions
            .iter()
            .filter(|action| action.held.is_none())
        {
            match &action.step {
                Step::Settle(settle)
                    if settle.from.as_ref() != Some(&settle.to) && !settle.sends() =>
                {
                    kept.remove(&settle.id);
                }
                Step::RemoveFile { id, .. } => {
                    kept.remove(id);
                }
                Step::Settle(_)
                | Step::CreateArticle { .. }
                | Step::CreateCategory { .. }
                | Step::SettleCategory(_)
                | Step::ParkSlug { .. }
                | Step::DeleteArticle { .. }
                | Step::Forget { .. }
                | Step::Conflict(_)
                | Step::Wait => {}
            }
        }
        kept
    }

    fn article(&mut self, id: ArticleId) -> Outcome {
        let (base, paired, remote) = (self.base, self.paired, self.remote);
        let row = base.articles.get(&id);
        let local = match (paired.unknown.get(&id), paired.files.get(&id)) {
            (Some(_), _) => Local::Unknown,
            (None, Some(file)) => Local::File(file),
            (None, None) => Local::Absent,
        };
        if let Local::File(LocalFile { place, .. }) = local {
            let was = row.is_some_and(|row| self.policy.covers(&row.place));
            if !was && !self.policy.covers(place) {
                return Outcome::Excluded;
            }
        } else if row.is_some_and(|row| !self.policy.covers(&row.place)) {
            return Outcome::Excluded;
        }
        let unlisted = Remote::Unknown("it was not listed".to_owned());
        let entry = remote.articles.get(&id).unwrap_or(&unlisted);
        match (row, local, entry) {
            (_, Local::Unknown, _) => Outcome::Unknown,
            (None, Local::Absent, Remote::Present(seen)) => self.create_local(id, seen),
            (Some(row), Local::File(file), Remote::Present(seen)) => {
                let seen = fresh_or_base(row, seen);
                self.meet(id, Some(row), file, &seen)
            }
            (Some(row), Local::File(file), Remote::Gone) => self.gone(id, Some(row), file),
            (Some(row), Local::File(file), Remote::NotVisible(why)) => {
                self.vanished(id, row, file, why)
            }
            (Some(row), Local::File(file), Remote::Unknown(why)) => {
                self.unseen(id, row, file, why, HoldRule::Doubt)
            }
            (Some(row), Local::Absent, Remote::Present(seen)) => {
                let seen = fresh_or_base(row, seen);
                self.removed(id, row, &seen)
            }
            (Some(row), Local::Absent, Remote::Gone) => self.forget(id, row),
            (Some(row), Local::Absent, Remote::NotVisible(why)) => {
                self.removed_unseen(id, row, why)
            }
            (Some(_), Local::Absent, Remote::Unknown(_)) | (None, Local::Absent, _) => {
                Outcome::Unknown
            }
            (None, Local::File(file), Remote::Present(seen)) => self.meet(id, None, file, seen),
            (None, Local::File(file), Remote::Gone) => self.gone(id, None, file),
            (None, Local::File(file), Remote::NotVisible(why) | Remote::Unknown(why)) => {
                self.unmet(id, file, why)
            }
        }
    }

    /// A place as it is once categories were renamed.
    pub(super) fn placed(&self, place: &Place) -> Place {
        self.renamed.get(&place.folder).map_or_else(
            || place.clone(),
            |folder| Place::new(folder, place.file.clone()),
        )
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
        self.plan.problems.push(Problem {
            path: path.to_string(),
            id,
            message: message.into(),
        });
    }

    /// The folder of a category; one that has none yet gets it.
    pub(super) fn folder_for(&mut self, id: CategoryId) -> Option<String> {
        if let Some(folder) = self.names.folder(id) {
            return Some(folder.to_owned());
        }
        let slug = self
            .remote
            .categories
            .get(&id)
            .map(|(version, _)| version.slug.clone())
            .or_else(|| {
                self.base
                    .categories
                    .get(&id)
                    .map(|row| row.remote.slug.clone())
            })?;
        Some(self.names.give_folder(id, &slug))
    }

    /// An article's category cannot be read, so there is no folder for it.
    pub(super) fn homeless(
        &mut self,
        id: ArticleId,
        place: Option<&Place>,
        seen: &Seen,
    ) -> Outcome {
        self.plan.problems.push(Problem {
            path: place.map(ToString::to_string).unwrap_or_default(),
            id: Some(id),
            message: format!(
                "\"{}\" is in category {}, which cannot be read",
                seen.version.title, seen.version.category
            ),
        });
        Outcome::Unknown
    }

    fn create_local(&mut self, id: ArticleId, seen: &Seen) -> Outcome {
        if !self.policy.direction.pulls() || self.local.ignored.contains(&id) {
            return Outcome::Excluded;
        }
        let category = seen.version.category;
        let known = self.names.folder(category).is_some();
        let Some(folder) = self.folder_for(category) else {
            return self.homeless(id, None, seen);
        };
        let to = self.names.give_place(&folder, &seen.version.slug, id);
        if !self.policy.covers(&to) {
            self.names.leave(&to);
            if !known {
                self.names.take_back(category);
            }
            return Outcome::Excluded;
        }
        let mut settle = arrive(id, to, seen);
        settle.settles = self.base.conflicts.contains_key(&id);
        let action = Action {
            kind: Kind::Create,
            side: Side::Local,
            id: Some(id),
            path: settle.to.to_string(),
            fields: Vec::new(),
            note: None,
            held: None,
            step: Step::Settle(Box::new(settle)),
        };
        self.push(action)
    }

    /// The file is gone and the article is there: it goes too, unless somebody edited it.
    fn removed(&mut self, id: ArticleId, row: &ArticleRow, seen: &Seen) -> Outcome {
        let published = row.visibility == Visibility::Unpublished
            && seen.visibility == Visibility::Published
            && row.written.as_ref() != Some(&seen.revision);
        let conflict = self.base.conflicts.get(&id);
        let edited = seen.version != row.remote || published || conflict.is_some();
        let wished = self.policy.resolve.get(&id) == Some(&Keep::Remote);
        if let Some(conflict) = conflict.filter(|row| !wished && !self.settled_by_hand(row, None)) {
            let mut action = wait(Kind::Conflict, id, &conflict.place);
            action.hold(
                HoldRule::Person,
                "its file was removed while it was in conflict; delete the .conflict.html as well to get \
                 the service's version back",
            );
            return self.push(action);
        }
        if !edited {
            if !self.policy.direction.pushes() {
                return Outcome::Excluded;
            }
            let action = Action {
                kind: Kind::Delete,
                side: Side::Remote,
                id: Some(id),
                path: row.place.to_string(),
                fields: Vec::new(),
                note: None,
                held: None,
                step: Step::DeleteArticle {
                    id,
                    place: row.place.clone(),
                    seen: Box::new(seen.clone()),
                },
            };
            return self.push(action);
        }
        if !self.policy.direction.pulls() {
            return Outcome::Excluded;
        }
        let Some(folder) = self.folder_for(seen.version.category) else {
            return self.homeless(id, Some(&row.place), seen);
        };
        let to = self.names.give_place(&folder, &seen.version.slug, id);
        let mut settle = arrive(id, to, seen);
        settle.settles = conflict.is_some();
        let action = Action {
            kind: Kind::Restore,
            side: Side::Local,
            id: Some(id),
            path: settle.to.to_string(),
            fields: Vec::new(),
            note: Some("removed here and edited on the service: the edit wins".to_owned()),
            held: None,
            step: Step::Settle(Box::new(settle)),
        };
        self.push(action)
    }

    fn removed_unseen(&mut self, id: ArticleId, row: &ArticleRow, why: &str) -> Outcome {
        if !self.policy.direction.pushes() {
            return Outcome::Excluded;
        }
        let mut action = wait(Kind::Delete, id, &row.place);
        action.side = Side::Remote;
        action.hold(
            HoldRule::Person,
            format!(
                "its file was removed, but the article cannot be read ({why}); delete it in the \
                     dashboard, or put the file back"
            ),
        );
        self.push(action)
    }

    fn forget(&mut self, id: ArticleId, row: &ArticleRow) -> Outcome {
        let action = Action {
            kind: Kind::Forget,
            side: Side::Both,
            id: Some(id),
            path: row.place.to_string(),
            fields: Vec::new(),
            note: None,
            held: None,
            step: Step::Forget { id },
        };
        self.push(action)
    }

    /// The article is gone, confirmed; its file is there.
    fn gone(&mut self, id: ArticleId, row: Option<&ArticleRow>, file: &LocalFile) -> Outcome {
        let unedited = row.is_some_and(|row| untouched(row, file));
        let wish = self.wish(id, &file.version, None);
        let outrun = wish.is_none() && self.policy.resolve.contains_key(&id);
        // Without a base nothing is deleted, and nothing is posted anew, unless a person says so.
        let keep = if row.is_some() {
            self.choice(wish)
        } else {
            wish
        };
        // Who asks for the file by name gets it, edited or not.
        if matches!(wish, Some(Keep::Local | Keep::Both)) {
            return self.create_remote(file, Some(id));
        }
        match (unedited, keep) {
            (true, _) | (false, Some(Keep::Remote)) => {
                if !self.policy.direction.pulls() {
                    return Outcome::Excluded;
                }
                let place = self.placed(&file.place);
                self.push(Action::remove_file(id, place, file.version.clone()))
            }
            (false, Some(Keep::Local | Keep::Both)) => self.create_remote(file, Some(id)),
            (false, None) => {
                let mut action = wait(Kind::Conflict, id, &file.place);
                action.hold(
                    HoldRule::Person,
                    format!(
                        "{}the article was deleted on the service, and the file was edited; \
                         `kbsync resolve {} --keep local` creates it anew, `--keep remote` removes the file",
                        if outrun { OUTRUN } else { "" },
                        file.place
                    ),
                );
                let standing = self.base.conflicts.get(&id);
                action.step = Step::Conflict(Box::new(Conflict {
                    id,
                    place: self.placed(&file.place),
                    local: file.version.clone(),
                    flags: file.flags,
                    seen: None,
                    // A copy of before stays until this is settled.
                    copy: standing.and_then(|row| row.copy.clone()),
                    fresh: outrun || standing.is_none_or(|row| row.remote.is_some()),
                    reason: "deleted on the service, edited here".to_owned(),
                }));
                self.push(action)
            }
        }
    }

    /// The article left the listing, and nothing says why: neither its file nor an edit of it goes anywhere.
    fn vanished(
        &mut self,
        id: ArticleId,
        row: &ArticleRow,
        file: &LocalFile,
        why: &str,
    ) -> Outcome {
        // Many vanished at once, and this one was not asked for yet: it counts as a deletion in doubt.
        let waits = row.visibility == Visibility::Published;
        if !untouched(row, file) {
            let rule = if waits {
                HoldRule::Doubt
            } else {
                HoldRule::Person
            };
            return self.unseen(id, row, file, why, rule);
        }
        if !self.policy.direction.pulls() {
            return Outcome::Unknown;
        }
        let mut action = Action::remove_file(id, self.placed(&file.place), file.version.clone());
        if waits {
            action.hold(HoldRule::MassDeletion, why);
        } else {
            action.step = Step::Wait;
            action.hold(
                HoldRule::Person,
                format!(
                    "the article left the listing, and nothing says whether it is gone ({why}); the file stays \
                     until it is published again or known to be deleted"
                ),
            );
        }
        self.push(action)
    }

    /// The article cannot be seen: an edit waits, since it would overwrite what nobody has seen.
    fn unseen(
        &mut self,
        id: ArticleId,
        row: &ArticleRow,
        file: &LocalFile,
        why: &str,
        rule: HoldRule,
    ) -> Outcome {
        let fields = file.version.differing(&row.local);
        if fields.is_empty() && file.flags == row.file_flags {
            return Outcome::Unknown;
        }
        if !self.policy.direction.pushes() {
            return Outcome::Excluded;
        }
        let mut action = wait(Kind::Update, id, &file.place);
        action.side = Side::Remote;
        action.fields = fields;
        action.hold(
            rule,
            format!("the article's present version cannot be read ({why})"),
        );
        self.push(action)
    }

    /// A file with an id of which neither the state nor the service knows anything certain.
    fn unmet(&mut self, id: ArticleId, file: &LocalFile, why: &str) -> Outcome {
        let mut action = wait(Kind::Conflict, id, &file.place);
        action.hold(
            HoldRule::Person,
            format!(
                "it has the id of an article that cannot be read ({why}); publish that article, or remove \
                 the `id:` line to create a new one"
            ),
        );
        self.push(action)
    }

    fn fresh(&mut self, file: &LocalFile) -> Outcome {
        if !self.policy.covers(&file.place) {
            return Outcome::Excluded;
        }
        if !self.policy.direction.pushes() {
            return Outcome::Excluded;
        }
        self.create_remote(file, None)
    }

    fn create_remote(&mut self, file: &LocalFile, instead_of: Option<ArticleId>) -> Outcome {
        if !self.policy.direction.pushes() {
            return Outcome::Excluded;
        }
        let address = (file.version.category, file.version.slug.as_str());
        let twin = self
            .addresses
            .get(&address)
            .and_then(|places| places.iter().find(|place| **place != &file.place));
        if let Some(twin) = twin {
            let message = format!("its slug \"{}\" is that of {twin}", file.version.slug);
            self.problem(&file.place, instead_of, message);
            return Outcome::Unknown;
        }
        let action = Action {
            kind: Kind::Create,
            side: Side::Remote,
            id: None,
            path: self.placed(&file.place).to_string(),
            fields: Vec::new(),
            note: None,
            held: None,
            step: Step::CreateArticle {
                place: self.placed(&file.place),
                version: file.version.clone(),
                flags: Flags {
                    enabled: Some(file.flags.enabled.unwrap_or(self.policy.new_enabled)),
                    draft: Some(file.flags.draft.unwrap_or(self.policy.new_draft)),
                },
                instead_of,
            },
        };
        self.push(action)
    }
}

fn untouched(row: &ArticleRow, file: &LocalFile) -> bool {
    row.local == file.version && row.file_flags == file.flags
}

/// An old copy of what our own last write replaced counts as the version we wrote (design, "Stale reads").
fn fresh_or_base(row: &ArticleRow, seen: &Seen) -> Seen {
    let stale = row.replaced.as_ref().is_some_and(|(digest, revision)| {
        *revision == seen.revision && *digest == seen.version.digest()
    });
    if stale {
        return Seen {
            version: row.remote.clone(),
            revision: row.revision.clone(),
            flags: row.remote_flags,
            visibility: row.visibility,
        };
    }
    seen.clone()
}

fn arrive(id: ArticleId, to: Place, seen: &Seen) -> Settle {
    let mut seen = seen.clone();
    if seen.visibility == Visibility::Published {
        seen.flags.enabled.get_or_insert(true);
        seen.flags.draft.get_or_insert(false);
    }
    let file_flags = match seen.visibility {
        Visibility::Published => Flags::default(),
        Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => Flags {
            enabled: seen.flags.enabled.filter(|on| !on),
            draft: seen.flags.draft.filter(|on| *on),
        },
    };
    Settle {
        id,
        from: None,
        had: None,
        to,
        file: seen.version.clone(),
        file_flags,
        write: true,
        send: Vec::new(),
        send_enabled: None,
        unsent: seen.version.clone(),
        unsent_flags: file_flags,
        seen,
        settles: false,
    }
}

fn wait(kind: Kind, id: ArticleId, place: &Place) -> Action {
    Action {
        kind,
        side: Side::Both,
        id: Some(id),
        path: place.to_string(),
        fields: Vec::new(),
        note: None,
        held: None,
        step: Step::Wait,
    }
}
