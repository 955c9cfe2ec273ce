//! A model of the engine for a plan that succeeds completely: the base, the mirror and the service afterwards.
//!
//! The model is strict where the engine would meet an error: a taken name, a slug of another article, a file or an
//! article that differs from the plan.

use super::small::{Small, article, category, revision};
use crate::model::base::{ArticleRow, CategoryRow, ConflictRow, Visibility};
use crate::model::path::fold;
use crate::model::{ArticleId, CategoryId, Flags, Place, Revision, Texts, Timestamp, Version};
use crate::reconcile::plan::{Action, Conflict, Plan, Settle, SettleCategory, Step};
use crate::reconcile::snapshot::{LocalCategory, LocalFile, Remote, Seen};
use std::collections::BTreeMap;

/// The outcome of an article's PUT.
struct Sent {
    version: Version,
    revision: Revision,
    flags: Flags,
    visibility: Visibility,
}

impl Small {
    /// Applies a plan; of held actions, only conflicts are recorded.
    pub(super) fn apply(&mut self, plan: &Plan) {
        self.bodies.extend(
            plan.bodies
                .iter()
                .map(|(digest, text)| (*digest, text.clone())),
        );
        let mut created = BTreeMap::new();
        let mut actions = plan.actions.iter().peekable();
        let mut recorded = false;
        while let Some(action) = actions.next() {
            let categories = matches!(
                action.step,
                Step::CreateCategory { .. } | Step::SettleCategory(_)
            );
            if !categories && !std::mem::replace(&mut recorded, true) {
                self.record(plan);
            }
            if let Step::Conflict(conflict) = &action.step {
                self.show(conflict);
            }
            if action.held.is_some() {
                continue;
            }
            if is_local(action) {
                let mut batch = vec![action];
                while let Some(next) = actions.next_if(|action| is_local(action)) {
                    batch.push(next);
                }
                self.write_files(&batch);
            } else {
                self.step(action, &mut created);
            }
        }
        if !recorded {
            self.record(plan);
        }
        self.refresh();
    }

    fn record(&mut self, plan: &Plan) {
        for settle in &plan.category_records {
            self.category_row(settle, false);
        }
        for settle in &plan.records {
            let row = self.row_after(settle, None);
            self.base.articles.insert(settle.id, row);
        }
    }

    fn step(&mut self, action: &Action, created: &mut BTreeMap<CategoryId, CategoryId>) {
        match &action.step {
            Step::CreateCategory {
                folder, version, ..
            } => {
                let taken = self
                    .categories
                    .values()
                    .any(|(known, _)| known.slug == version.slug);
                assert!(!taken, "POST refused: {action}");
                self.writes += 1;
                let name = format!("{folder}-{}", self.writes);
                let id = category(&name);
                self.names.insert(id.to_string(), format!("#{name}"));
                created.insert(CategoryId::provisional(folder), id);
                self.categories.insert(id, (version.clone(), revision("w")));
                self.base.categories.insert(
                    id,
                    CategoryRow {
                        id,
                        folder: Some(folder.clone()),
                        local: version.clone(),
                        remote: version.clone(),
                        revision: revision("w"),
                        read_at: Timestamp(0),
                        stamp: None,
                    },
                );
                let known = self.local_category(folder);
                known.id = Some(id);
                known.version = Some(version.clone());
            }
            Step::SettleCategory(settle) => self.settle_category(settle),
            Step::CreateArticle {
                place,
                version,
                flags,
                instead_of,
            } => self.create(
                action,
                place,
                &resolved(version, created),
                *flags,
                *instead_of,
            ),
            Step::Settle(settle) => {
                let mut settle = (**settle).clone();
                settle.file = resolved(&settle.file, created);
                if settle.touches_file() {
                    self.leave(&settle);
                    self.arrive(action, &settle);
                }
                self.send(action, &settle);
            }
            Step::DeleteArticle { id, seen, .. } => {
                assert!(
                    matches!(self.remote.articles.remove(id), Some(Remote::Present(now)) if now.version == seen.version),
                    "{action}"
                );
                self.drop_row(*id);
            }
            Step::RemoveFile { id, place, version } => {
                let before = self.local.files.len();
                self.local.files.retain(|file| {
                    file.place != *place || file.version != resolved_here(version, file)
                });
                assert_eq!(self.local.files.len() + 1, before, "{action}");
                self.drop_row(*id);
            }
            Step::Forget { id } => self.drop_row(*id),
            Step::Conflict(_) | Step::Wait => {}
        }
    }

    fn drop_row(&mut self, id: ArticleId) {
        self.base.articles.remove(&id);
        self.base.conflicts.remove(&id);
    }

    pub(super) fn local_category(&mut self, folder: &str) -> &mut LocalCategory {
        let known = &mut self.local.categories;
        if !known.iter().any(|category| category.folder == folder) {
            known.push(LocalCategory {
                folder: folder.to_owned(),
                id: None,
                version: None,
            });
        }
        known
            .iter_mut()
            .find(|category| category.folder == folder)
            .expect("just made")
    }

    fn settle_category(&mut self, settle: &SettleCategory) {
        if let Some(to) = &settle.to {
            if let Some(from) = settle.from.as_ref().filter(|from| *from != to) {
                self.rename_folder(from, to);
            }
            let known = self.local_category(to);
            if settle.write {
                known.id = Some(settle.id);
                known.version = Some(settle.file.clone());
            }
        }
        if !settle.send.is_empty() {
            let (version, _) = self.categories.get_mut(&settle.id).expect("on the service");
            assert_eq!(*version, settle.seen);
            for field in &settle.send {
                version.take(*field, &settle.file);
            }
            let slug = version.slug.clone();
            let holders = self
                .categories
                .values()
                .filter(|(known, _)| known.slug == slug);
            assert_eq!(holders.count(), 1, "PUT refused: {slug}");
        }
        self.category_row(settle, true);
    }

    pub(super) fn rename_folder(&mut self, from: &str, to: &str) {
        assert!(
            !self.local.top.contains(&fold(to)) || fold(from) == fold(to),
            "{to}/ is taken"
        );
        self.local.top.remove(&fold(from));
        self.local.top.insert(fold(to));
        let mv = |folder: &mut String| {
            if folder == from {
                to.clone_into(folder);
            }
        };
        self.local
            .files
            .iter_mut()
            .for_each(|file| mv(&mut file.place.folder));
        self.local
            .unknown
            .iter_mut()
            .for_each(|unknown| mv(&mut unknown.place.folder));
        self.local
            .categories
            .iter_mut()
            .for_each(|category| mv(&mut category.folder));
        self.base
            .articles
            .values_mut()
            .for_each(|row| mv(&mut row.place.folder));
        self.local.copies = std::mem::take(&mut self.local.copies)
            .into_iter()
            .map(|(mut place, names)| {
                mv(&mut place.folder);
                (place, names)
            })
            .collect();
    }

    fn category_row(&mut self, settle: &SettleCategory, sent: bool) {
        let sent = sent && !settle.send.is_empty();
        let known = self.base.categories.get(&settle.id).cloned();
        self.base.categories.insert(
            settle.id,
            CategoryRow {
                id: settle.id,
                folder: settle.to.clone(),
                local: if sent {
                    settle.file.clone()
                } else {
                    settle.base_if_unsent.clone()
                },
                remote: if sent {
                    self.categories[&settle.id].0.clone()
                } else {
                    settle.seen.clone()
                },
                revision: settle.revision.clone(),
                read_at: known.map_or(Timestamp(0), |row| row.read_at),
                stamp: None,
            },
        );
    }

    /// Writes files without any request: all names are freed before any name is taken.
    fn write_files(&mut self, batch: &[&Action]) {
        let settles: Vec<(&Action, &Settle)> = batch
            .iter()
            .filter_map(|action| match &action.step {
                Step::Settle(settle) => Some((*action, &**settle)),
                Step::CreateArticle { .. }
                | Step::CreateCategory { .. }
                | Step::SettleCategory(_)
                | Step::DeleteArticle { .. }
                | Step::RemoveFile { .. }
                | Step::Forget { .. }
                | Step::Conflict(_)
                | Step::Wait => None,
            })
            .collect();
        for (_, settle) in &settles {
            if settle.touches_file() {
                self.leave(settle);
            }
        }
        for (action, settle) in settles {
            if settle.touches_file() {
                self.arrive(action, settle);
            }
            let row = self.row_after(settle, None);
            self.base.articles.insert(settle.id, row);
            self.settled(settle);
        }
    }

    fn leave(&mut self, settle: &Settle) {
        let Some(from) = settle.from() else { return };
        let position = self
            .local
            .files
            .iter()
            .position(|file| file.place == *from)
            .unwrap_or_else(|| panic!("no file at {from}"));
        let file = self.local.files.swap_remove(position);
        let had = settle.had().expect("a file has a version");
        assert_eq!(resolved_here(had, &file), file.version, "{from} changed");
    }

    fn arrive(&mut self, action: &Action, settle: &Settle) {
        let name = |place: &Place| (fold(&place.folder), fold(&place.file));
        let to = name(&settle.to);
        let taken = self.local.files.iter().any(|file| name(&file.place) == to)
            || self
                .local
                .unknown
                .iter()
                .any(|unknown| name(&unknown.place) == to);
        assert!(!taken, "the name is taken: {action}");
        let folder = self
            .local
            .categories
            .iter()
            .any(|category| category.folder == settle.to.folder);
        assert!(folder, "there is no folder: {action}");
        self.local.files.push(LocalFile {
            place: settle.to.clone(),
            id: Some(settle.id),
            version: settle.file.clone(),
            flags: settle.file_flags,
        });
    }

    fn settled(&mut self, settle: &Settle) {
        if settle.ends_conflict && self.base.conflicts.remove(&settle.id).is_some() {
            let copies = &mut self.local.copies;
            copies.retain(|_, names| *names != Some(settle.id));
        }
    }

    /// Refuses a slug that another article of the category has, as the service would.
    fn assert_free(&self, action: &Action, but: Option<ArticleId>, version: &Version) {
        let holder = self.remote.articles.iter().find(|(id, entry)| {
            Some(**id) != but
                && matches!(entry, Remote::Present(seen)
                    if seen.version.category == version.category && seen.version.slug == version.slug)
        });
        assert!(holder.is_none(), "refused, the slug is taken: {action}");
    }

    fn create(
        &mut self,
        action: &Action,
        place: &Place,
        version: &Version,
        flags: Flags,
        instead_of: Option<ArticleId>,
    ) {
        assert!(!version.category.is_provisional(), "{action}");
        self.assert_free(action, None, version);
        self.writes += 1;
        let name = format!("new{}", self.writes);
        let id = article(&name);
        self.names.insert(id.to_string(), format!("#{name}"));
        if let Some(old) = instead_of {
            self.drop_row(old);
        }
        let file = self
            .local
            .files
            .iter_mut()
            .find(|file| file.place == *place)
            .unwrap_or_else(|| panic!("no file at {place}"));
        file.id = Some(id);
        file.flags = Flags {
            enabled: flags.enabled.filter(|on| !on).or(file.flags.enabled),
            draft: flags.draft.filter(|on| *on).or(file.flags.draft),
        };
        let file_flags = file.flags;
        let visibility = if flags.hides() {
            Visibility::Unpublished
        } else {
            Visibility::Published
        };
        let revision = revision(&format!("w{}", self.writes));
        let answer = self.rewritten(version);
        self.base.articles.insert(
            id,
            ArticleRow {
                id,
                place: place.clone(),
                local: version.clone(),
                remote: answer.clone(),
                revision: revision.clone(),
                file_flags,
                remote_flags: flags,
                visibility,
                stamp: None,
                superseded: Vec::new(),
                written: Some(revision.clone()),
            },
        );
        self.remote.articles.insert(
            id,
            Remote::Present(Seen {
                version: answer,
                revision,
                flags: listed(flags, visibility),
                visibility,
            }),
        );
    }

    /// Returns the service's form of a version: the service trims a mark from titles.
    fn rewritten(&self, version: &Version) -> Version {
        let mut answer = version.clone();
        if self.rewrites {
            answer.title = answer.title.trim_end_matches('!').to_owned();
        }
        answer
    }

    fn send(&mut self, action: &Action, settle: &Settle) {
        let Some(Remote::Present(now)) = self.remote.articles.get(&settle.id).cloned() else {
            panic!("nothing to send to: {action}");
        };
        let parked = self
            .base
            .articles
            .get(&settle.id)
            .is_some_and(|row| row.remote == now.version);
        assert!(
            parked || now.version == settle.seen.version,
            "overwritten unseen: {action}"
        );
        let mut wanted = now.version.clone();
        for field in &settle.send {
            wanted.take(*field, &settle.file);
        }
        assert!(!wanted.category.is_provisional(), "{action}");
        self.assert_free(action, Some(settle.id), &wanted);
        self.writes += 1;
        let flags = Flags {
            enabled: settle.send_enabled.or(settle.seen.flags.enabled),
            draft: settle.seen.flags.draft,
        };
        let visibility = if flags.hides() {
            Visibility::Unpublished
        } else if settle.send_enabled == Some(true) {
            Visibility::Published
        } else {
            settle.seen.visibility
        };
        let sent = Sent {
            version: self.rewritten(&wanted),
            revision: revision(&format!("w{}", self.writes)),
            flags,
            visibility,
        };
        self.remote.articles.insert(
            settle.id,
            Remote::Present(Seen {
                version: sent.version.clone(),
                revision: sent.revision.clone(),
                flags: listed(flags, visibility),
                visibility,
            }),
        );
        let row = self.row_after(settle, Some(&sent));
        self.base.articles.insert(settle.id, row);
        self.settled(settle);
    }

    fn row_after(&self, settle: &Settle, sent: Option<&Sent>) -> ArticleRow {
        let old = self.base.articles.get(&settle.id);
        let (local, file_flags) = match sent {
            Some(_) => (&settle.file, settle.file_flags),
            None => (&settle.base_if_unsent, settle.base_flags_if_unsent),
        };
        let mut row = ArticleRow {
            id: settle.id,
            place: settle.to.clone(),
            local: local.clone(),
            remote: sent.map_or_else(|| settle.seen.version.clone(), |sent| sent.version.clone()),
            revision: sent.map_or_else(
                || settle.seen.revision.clone(),
                |sent| sent.revision.clone(),
            ),
            file_flags,
            remote_flags: sent.map_or(settle.seen.flags, |sent| sent.flags),
            visibility: sent.map_or(settle.seen.visibility, |sent| sent.visibility),
            stamp: None,
            superseded: old.map_or_else(Vec::new, |row| row.superseded.clone()),
            written: match sent {
                Some(sent) => Some(sent.revision.clone()),
                None => old.and_then(|row| row.written.clone()),
            },
        };
        if let Some(sent) = sent {
            let over = (settle.seen.version.digest(), settle.seen.revision.clone());
            row.supersede(over, &sent.revision);
        }
        row
    }

    fn show(&mut self, conflict: &Conflict) {
        if !conflict.needs_copy {
            return;
        }
        if let Some(copy) = &conflict.copy {
            let place = Place::new(&conflict.place.folder, copy);
            self.local.copies.insert(place, Some(conflict.id));
        }
        self.base.conflicts.insert(
            conflict.id,
            ConflictRow {
                id: conflict.id,
                place: conflict.place.clone(),
                local: conflict.local.clone(),
                remote: conflict.seen.as_ref().map(|seen| seen.version.clone()),
                revision: conflict
                    .seen
                    .as_ref()
                    .map_or_else(Revision::default, |seen| seen.revision.clone()),
                copy: conflict.copy.clone(),
                reason: conflict.reason.clone(),
                at: Timestamp(0),
            },
        );
    }
}

fn is_local(action: &Action) -> bool {
    action.held.is_none() && matches!(&action.step, Step::Settle(settle) if !settle.sends())
}

fn resolved(version: &Version, created: &BTreeMap<CategoryId, CategoryId>) -> Version {
    let mut version = version.clone();
    if let Some(id) = created.get(&version.category) {
        version.category = *id;
    }
    version
}

/// Sets the category of a scanned file: only its folder tells the category.
fn resolved_here(version: &Version, file: &LocalFile) -> Version {
    Version {
        category: file.version.category,
        ..version.clone()
    }
}

/// Listings do not carry `enabled` and `draft`.
fn listed(flags: Flags, visibility: Visibility) -> Flags {
    match visibility {
        Visibility::Published => Flags::default(),
        Visibility::Unpublished | Visibility::NotVisible | Visibility::Gone => flags,
    }
}
