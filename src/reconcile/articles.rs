//! The decision table, article by article (design, section 4).

use super::change::{self, ThreeWay};
use super::names::{self, Names};
use super::pairing::Paired;
use super::plan::{Action, Conflict, HoldRule, Key, Kind, Outcome, Plan, Problem, Settle, Step};
use super::snapshot::{
    Base, Bodies, Direction, Keep, LocalFile, LocalSnapshot, OnConflict, Policy, Remote,
    RemoteSnapshot, Seen,
};
use crate::model::base::{ArticleRow, ConflictRow, Visibility};
use crate::model::{ArticleId, CategoryId, Field, Flags, Place, Side, Version};
use std::collections::BTreeMap;

/// Everything a plan is made from, and the plan so far.
pub(super) struct Planner<'a> {
    pub(super) base: &'a Base,
    pub(super) local: &'a LocalSnapshot,
    pub(super) paired: &'a Paired,
    pub(super) remote: &'a RemoteSnapshot,
    pub(super) policy: &'a Policy,
    pub(super) bodies: &'a Bodies,
    pub(super) names: Names,
    /// Folders that a pulled address renames, old name to new: categories come before articles.
    pub(super) renamed: BTreeMap<String, String>,
    pub(super) plan: Plan,
}

/// What is known of an article's file.
enum Local<'a> {
    File(&'a LocalFile),
    Absent,
    Unknown(&'a str),
}

impl Planner<'_> {
    /// Decides on every article that has an id, then on the new files.
    pub(super) fn articles(&mut self) {
        let (base, paired, remote) = (self.base, self.paired, self.remote);
        let ids: std::collections::BTreeSet<ArticleId> = base
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

    /// Names that articles leave because the service moved them are free for others.
    fn free_names(&mut self, ids: &std::collections::BTreeSet<ArticleId>) {
        if !self.policy.direction.pulls() {
            return;
        }
        for id in ids {
            if let (Some(row), Some(file), Some(Remote::Present(seen))) = (
                self.base.articles.get(id),
                self.paired.files.get(id),
                self.remote.articles.get(id),
            ) {
                let way = |field| {
                    !seen.version.agrees(&row.remote, field)
                        && file.version.agrees(&row.local, field)
                };
                if way(Field::Slug) || way(Field::Category) {
                    self.names.leave(&self.placed(&file.place));
                }
            }
        }
    }

    fn article(&mut self, id: ArticleId) -> Outcome {
        let (base, paired, remote) = (self.base, self.paired, self.remote);
        let row = base.articles.get(&id);
        let local = match (paired.unknown.get(&id), paired.files.get(&id)) {
            (Some(why), _) => Local::Unknown(why),
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
            (_, Local::Unknown(_), _) => Outcome::Unknown,
            (None, Local::Absent, Remote::Present(seen)) => self.create_local(id, seen),
            (Some(row), Local::File(file), Remote::Present(seen)) => {
                let seen = fresh_or_base(row, seen);
                self.meet(id, Some(row), file, &seen)
            }
            (Some(row), Local::File(file), Remote::Gone) => self.gone(id, Some(row), file),
            (Some(row), Local::File(file), Remote::NotVisible(why) | Remote::Unknown(why)) => {
                self.unseen(id, row, file, why)
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
    fn placed(&self, place: &Place) -> Place {
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

    fn problem(&mut self, path: &Place, id: Option<ArticleId>, message: impl Into<String>) {
        self.plan.problems.push(Problem {
            path: path.to_string(),
            id,
            message: message.into(),
        });
    }

    /// Both sides have it: compares them, with the base or, on a first meeting, with each other.
    fn meet(
        &mut self,
        id: ArticleId,
        row: Option<&ArticleRow>,
        file: &LocalFile,
        seen: &Seen,
    ) -> Outcome {
        let standing = self.base.conflicts.get(&id);
        let keep = self.policy.resolve.get(&id).copied();
        let (mut way, settled) = match (standing, row) {
            (Some(conflict), _) if self.settled_by_hand(conflict, keep) => {
                match self.shown(conflict, seen) {
                    Some(shown) => {
                        let shown = shown.clone();
                        (
                            change::three_way(
                                &shown,
                                &shown,
                                &file.version,
                                &seen.version,
                                self.bodies,
                            ),
                            true,
                        )
                    }
                    // Both moved on: what was settled is not what is there now.
                    None => (first_meeting(file, seen), false),
                }
            }
            (Some(_), _) | (None, None) => (first_meeting(file, seen), false),
            (None, Some(row)) => (
                change::three_way(
                    &row.local,
                    &row.remote,
                    &file.version,
                    &seen.version,
                    self.bodies,
                ),
                false,
            ),
        };
        if !way.clashes.is_empty() {
            match self.choice(keep) {
                None => return self.clash(id, file, seen, &way),
                Some(choice) => {
                    settle_clashes(&mut way, choice, &file.version, &seen.version, self.bodies)
                }
            }
        }
        let settles = settled || standing.is_some();
        self.settle(id, row, file, seen, way, settles)
    }

    fn choice(&self, keep: Option<Keep>) -> Option<Keep> {
        keep.or(match self.policy.on_conflict {
            OnConflict::Hold => None,
            OnConflict::Local => Some(Keep::Local),
            OnConflict::Remote => Some(Keep::Remote),
        })
    }

    /// A conflict is settled by hand when its copy was there and is not any more.
    fn settled_by_hand(&self, conflict: &ConflictRow, keep: Option<Keep>) -> bool {
        keep == Some(Keep::Local)
            || conflict.copy.as_ref().is_some_and(|copy| {
                !self
                    .local
                    .copies
                    .contains(&Place::new(&conflict.place.folder, copy))
                    && !self.local.unreadable.contains(&conflict.place.folder)
            })
    }

    fn shown<'c>(&self, conflict: &'c ConflictRow, seen: &Seen) -> Option<&'c Version> {
        conflict
            .remote
            .as_ref()
            .filter(|shown| **shown == seen.version)
    }

    fn clash(&mut self, id: ArticleId, file: &LocalFile, seen: &Seen, way: &ThreeWay) -> Outcome {
        let standing = self.base.conflicts.get(&id);
        let copy = standing
            .and_then(|conflict| conflict.copy.clone())
            .unwrap_or_else(|| format!("{}.conflict.html", file.place.stem()));
        let present = self
            .local
            .copies
            .contains(&Place::new(&file.place.folder, &copy));
        let known = standing.is_some_and(|row| row.remote.as_ref() == Some(&seen.version));
        let reasons: Vec<&str> = way
            .clashes
            .iter()
            .map(|(_, reason)| reason.as_str())
            .collect();
        let place = self.placed(&file.place);
        let mut action = Action {
            kind: Kind::Conflict,
            side: Side::Both,
            id: Some(id),
            path: place.to_string(),
            fields: way.clashes.iter().map(|(field, _)| *field).collect(),
            note: None,
            held: None,
            step: Step::Wait,
        };
        if self.policy.direction == Direction::Push {
            action.hold(
                HoldRule::Person,
                "both sides changed it; `kbsync sync` or `pull` shows both",
            );
            return self.push(action);
        }
        action.hold(
            HoldRule::Person,
            format!(
                "{}; edit the file and delete {copy}, or `kbsync resolve {place} --keep local|remote|both`",
                reasons.join(", ")
            ),
        );
        action.step = Step::Conflict(Box::new(Conflict {
            id,
            place,
            local: file.version.clone(),
            flags: file.flags,
            seen: Some(seen.clone()),
            fresh: !(known && present),
            copy: Some(copy),
            reason: reasons.join(", "),
        }));
        self.push(action)
    }

    /// Turns a comparison without clashes into an action, a record, or nothing.
    fn settle(
        &mut self,
        id: ArticleId,
        row: Option<&ArticleRow>,
        file: &LocalFile,
        seen: &Seen,
        mut way: ThreeWay,
        settles: bool,
    ) -> Outcome {
        let direction = self.policy.direction;
        let flags = self.flags(id, row, file, seen);
        let wishes = flags.send.is_some() || !way.pushed.is_empty();
        let comes = !way.pulled.is_empty() || flags.file != file.flags;
        if direction == Direction::Push && wishes && comes {
            return self.held_merge(id, file, &way);
        }
        let excluded = (!direction.pushes() && wishes && !comes) || (!direction.pulls() && comes);
        if excluded {
            return Outcome::Excluded;
        }
        let send = if direction.pushes() {
            std::mem::take(&mut way.pushed)
        } else {
            Vec::new()
        };
        let needs_id = file.id != Some(id);
        let from = self.placed(&file.place);
        let to = self.place_after(id, file, &way);
        let content = way.pulled.iter().any(|field| *field != Field::Category);
        let settle = Settle {
            id,
            had: Some(file.version.clone()),
            write: content || flags.file != file.flags || needs_id,
            file: way.merged,
            file_flags: flags.file,
            send_enabled: flags.send.filter(|_| direction.pushes()),
            seen: Seen {
                flags: flags.remote,
                ..seen.clone()
            },
            unsent: way.unsent,
            unsent_flags: flags.unsent,
            settles,
            send,
            from: Some(from),
            to,
        };
        if let Some((digest, body)) = way.body {
            self.plan.bodies.insert(digest, body);
        }
        self.file_settle(row, settle, way.pulled, !way.agreed.is_empty(), needs_id)
    }

    fn file_settle(
        &mut self,
        row: Option<&ArticleRow>,
        settle: Settle,
        pulled: Vec<Field>,
        agreed: bool,
        needs_id: bool,
    ) -> Outcome {
        let moved = settle.from.as_ref() != Some(&settle.to);
        let sends_move =
            settle.send.contains(&Field::Slug) || settle.send.contains(&Field::Category);
        let mut fields = settle.send.clone();
        fields.extend(pulled.iter().filter(|field| !settle.send.contains(field)));
        fields.extend(settle.send_enabled.map(|_| Field::Enabled));
        fields.sort_unstable();
        let pulls = settle.touches_file() && (!pulled.is_empty() || !needs_id);
        let (kind, side) = match (settle.sends(), pulls) {
            (true, true) => (Kind::Merge, Side::Both),
            (true, false) if sends_move => (Kind::Move, Side::Remote),
            (true, false) => (Kind::Update, Side::Remote),
            (false, true) if moved => (Kind::Move, Side::Local),
            (false, true) => (Kind::Update, Side::Local),
            (false, false) => (Kind::Adopt, Side::Both),
        };
        let news = settle.sends() || pulls || agreed || needs_id || row.is_none() || settle.settles;
        if !news {
            return self.record(row, settle);
        }
        let note = match (kind, needs_id) {
            (Kind::Move, _) if settle.send.contains(&Field::Slug) => {
                Some("its public address changes".to_owned())
            }
            (Kind::Adopt, true) => Some("its id is written into the file".to_owned()),
            _ => None,
        };
        let action = Action {
            kind,
            side,
            id: Some(settle.id),
            path: settle.to.to_string(),
            fields,
            note,
            held: None,
            step: Step::Settle(Box::new(settle)),
        };
        self.push(action)
    }

    /// Brings a row up to date when nothing is to be seen of it; a row that is up to date stays untouched.
    fn record(&mut self, row: Option<&ArticleRow>, settle: Settle) -> Outcome {
        let known = row.is_some_and(|row| {
            row.place == settle.to
                && row.revision == settle.seen.revision
                && row.visibility == settle.seen.visibility
                && row.remote == settle.seen.version
                && row.local == settle.unsent
                && row.file_flags == settle.unsent_flags
                && row.remote_flags == settle.seen.flags
        });
        if known {
            return Outcome::Quiet;
        }
        self.plan.records.push(settle);
        Outcome::Recorded
    }

    fn held_merge(&mut self, id: ArticleId, file: &LocalFile, way: &ThreeWay) -> Outcome {
        let mut fields = way.pushed.clone();
        fields.extend(
            way.pulled
                .iter()
                .filter(|field| !way.pushed.contains(field)),
        );
        let mut action = Action {
            kind: Kind::Merge,
            side: Side::Both,
            id: Some(id),
            path: file.place.to_string(),
            fields,
            note: None,
            held: None,
            step: Step::Wait,
        };
        action.hold(
            HoldRule::Person,
            "both sides changed it; `kbsync sync` merges them",
        );
        self.push(action)
    }

    /// Where the file is afterwards: a pulled address or category moves it, unless a writer chose its name.
    fn place_after(&mut self, id: ArticleId, file: &LocalFile, way: &ThreeWay) -> Place {
        let from = self.placed(&file.place);
        let slug = way.pulled.contains(&Field::Slug);
        let category = way.pulled.contains(&Field::Category);
        if !slug && !category {
            return from;
        }
        let folder = if category {
            match self.folder_for(way.merged.category) {
                Some(folder) => folder,
                None => return from,
            }
        } else {
            from.folder.clone()
        };
        self.names.leave(&from);
        if slug && names::derived(from.stem(), &file.version.slug, id.uuid()) {
            self.names.give_place(&folder, &way.merged.slug, id)
        } else {
            self.names.keep_name(&folder, &from, id)
        }
    }

    /// The folder of a category; one that has none yet gets it.
    fn folder_for(&mut self, id: CategoryId) -> Option<String> {
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

    fn create_local(&mut self, id: ArticleId, seen: &Seen) -> Outcome {
        if !self.policy.direction.pulls() {
            return Outcome::Excluded;
        }
        let Some(folder) = self.folder_for(seen.version.category) else {
            self.plan.problems.push(Problem {
                path: String::new(),
                id: Some(id),
                message: format!(
                    "\"{}\" is in category {}, which cannot be read",
                    seen.version.title, seen.version.category
                ),
            });
            return Outcome::Unknown;
        };
        let to = self.names.give_place(&folder, &seen.version.slug, id);
        if !self.policy.covers(&to) {
            self.names.leave(&to);
            return Outcome::Excluded;
        }
        let settle = arrive(id, to, seen);
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
        if let Some(conflict) = conflict.filter(|row| !self.settled_by_hand(row, None)) {
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
            return Outcome::Unknown;
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
        let mut action = wait(Kind::Delete, id, &row.place);
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
        let untouched =
            row.is_some_and(|row| row.local == file.version && row.file_flags == file.flags);
        let keep = self.choice(self.policy.resolve.get(&id).copied());
        match (untouched, keep) {
            (true, _) | (false, Some(Keep::Remote)) => {
                if !self.policy.direction.pulls() {
                    return Outcome::Excluded;
                }
                let action = Action {
                    kind: Kind::Delete,
                    side: Side::Local,
                    id: Some(id),
                    path: file.place.to_string(),
                    fields: Vec::new(),
                    note: None,
                    held: None,
                    step: Step::RemoveFile {
                        id,
                        place: self.placed(&file.place),
                        version: file.version.clone(),
                    },
                };
                self.push(action)
            }
            (false, Some(Keep::Local | Keep::Both)) => self.create_remote(file, Some(id)),
            (false, None) => {
                let mut action = wait(Kind::Conflict, id, &file.place);
                action.hold(
                    HoldRule::Person,
                    format!(
                        "the article was deleted on the service, and the file was edited; \
                         `kbsync resolve {} --keep local` creates it anew, `--keep remote` removes the file",
                        file.place
                    ),
                );
                action.step = Step::Conflict(Box::new(Conflict {
                    id,
                    place: self.placed(&file.place),
                    local: file.version.clone(),
                    flags: file.flags,
                    seen: None,
                    copy: None,
                    fresh: !self.base.conflicts.contains_key(&id),
                    reason: "deleted on the service, edited here".to_owned(),
                }));
                self.push(action)
            }
        }
    }

    /// The article cannot be seen: an edit waits, since it would overwrite what nobody has seen.
    fn unseen(&mut self, id: ArticleId, row: &ArticleRow, file: &LocalFile, why: &str) -> Outcome {
        let fields = file.version.differing(&row.local);
        if fields.is_empty() && file.flags == row.file_flags {
            return Outcome::Unknown;
        }
        let mut action = wait(Kind::Update, id, &file.place);
        action.side = Side::Remote;
        action.fields = fields;
        action.hold(
            HoldRule::Doubt,
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
        let same_address = |other: &LocalFile| {
            other.place != file.place
                && other.version.category == file.version.category
                && other.version.slug == file.version.slug
        };
        let twin = self
            .paired
            .files
            .values()
            .chain(&self.paired.fresh)
            .find(|other| same_address(other));
        if let Some(twin) = twin {
            let message = format!(
                "its slug \"{}\" is that of {}",
                file.version.slug, twin.place
            );
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

/// What becomes of `enabled` and `draft`.
struct FlagChange {
    /// In the file afterwards.
    file: Flags,
    /// What the service is known to have.
    remote: Flags,
    /// `enabled`, if it is to be sent.
    send: Option<bool>,
    /// What the base keeps as the file's while nothing was sent.
    unsent: Flags,
}

impl Planner<'_> {
    fn flags(
        &mut self,
        id: ArticleId,
        row: Option<&ArticleRow>,
        file: &LocalFile,
        seen: &Seen,
    ) -> FlagChange {
        let (was, known) = row.map_or((Flags::default(), Flags::default()), |row| {
            (row.file_flags, row.remote_flags)
        });
        // A listing shows published articles; only our own last write may still be on its way there.
        let shown = match (seen.visibility, row) {
            (Visibility::Published, Some(row)) if row.written.as_ref() == Some(&seen.revision) => {
                known
            }
            (Visibility::Published, _) => Flags {
                enabled: Some(seen.flags.enabled.unwrap_or(true)),
                draft: Some(seen.flags.draft.unwrap_or(false)),
            },
            (Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone, _) => Flags {
                enabled: seen.flags.enabled.or(known.enabled),
                draft: seen.flags.draft.or(known.draft),
            },
        };
        let mut change = FlagChange {
            file: file.flags,
            remote: shown,
            send: None,
            unsent: file.flags,
        };
        let wish = file.flags.enabled.unwrap_or(self.policy.new_enabled);
        let wished = row.is_some() && file.flags.enabled != was.enabled;
        if wished && Some(wish) != shown.enabled {
            change.send = Some(wish);
            change.unsent.enabled = was.enabled;
        } else if !wished && shown.enabled != known.enabled {
            change.file.enabled = shown
                .enabled
                .and_then(|on| flag_line(file.flags.enabled, on, true));
        }
        if row.is_some()
            && file.flags.draft != was.draft
            && file.flags.draft.is_some()
            && file.flags.draft != shown.draft
        {
            let message = if file.flags.draft == Some(true) {
                "`draft` of an existing article cannot be changed through the API; `enabled: false` hides it"
            } else {
                "`draft` cannot be changed through the API: publish the article in the dashboard"
            };
            change.unsent.draft = was.draft;
            self.problem(&file.place, Some(id), message);
        } else if shown.draft != known.draft {
            change.file.draft = shown
                .draft
                .and_then(|on| flag_line(file.flags.draft, on, false));
        }
        if change.send.is_none() {
            change.unsent.enabled = change.file.enabled;
        }
        if change.unsent.draft == file.flags.draft {
            change.unsent.draft = change.file.draft;
        }
        change
    }
}

/// A line is written where it says something unusual, and otherwise stays as it is or goes.
fn flag_line(line: Option<bool>, value: bool, usual: bool) -> Option<bool> {
    if value != usual || line == Some(value) {
        Some(value)
    } else {
        None
    }
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

/// Without a base every difference is a clash.
fn first_meeting(file: &LocalFile, seen: &Seen) -> ThreeWay {
    let differing = file.version.differing(&seen.version);
    ThreeWay {
        merged: file.version.clone(),
        pulled: Vec::new(),
        pushed: Vec::new(),
        agreed: Vec::new(),
        clashes: differing
            .into_iter()
            .map(|field| (field, format!("the {field} differs from the service's")))
            .collect(),
        body: None,
        unsent: seen.version.clone(),
    }
}

/// Settles what clashes as a person chose.
fn settle_clashes(
    way: &mut ThreeWay,
    keep: Keep,
    local: &Version,
    remote: &Version,
    bodies: &Bodies,
) {
    for (field, _) in std::mem::take(&mut way.clashes) {
        way.unsent.take(field, remote);
        match keep {
            Keep::Remote => {
                way.merged.take(field, remote);
                way.pulled.push(field);
            }
            Keep::Both if field == Field::Text => {
                if let (Some(ours), Some(theirs)) =
                    (bodies.get(&local.text), bodies.get(&remote.text))
                {
                    let both = format!("{}\n{}", ours.trim_end_matches('\n'), theirs);
                    let digest = crate::model::TextDigest::of(&both);
                    way.merged.text = digest;
                    way.body = Some((digest, both.into()));
                    way.pulled.push(field);
                }
                way.pushed.push(field);
            }
            Keep::Local | Keep::Both => way.pushed.push(field),
        }
    }
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
