//! The execution of a plan in a small world.
//!
//! The executor is strict where the engine would meet a refusal or would have to stop: at a name or an address that is
//! taken, and at a file or an article that differs from the plan. Such a plan is wrong.

use super::scene::{Scene, listed, revision};
use super::texts;
use kbsync::model::base::{ArticleRow, ConflictRow, Visibility};
use kbsync::model::path::fold;
use kbsync::model::{ArticleId, Flags, Place, Revision, Texts, Timestamp, Version};
use kbsync::reconcile::plan::{Action, Conflict, Plan, Settle, Step};
use kbsync::reconcile::snapshot::{LocalFile, Remote, Seen};

/// The reason why a step cannot or must not be carried out.
pub(super) type Wrong = String;

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}
pub(super) use ensure;

impl Scene {
    /// Carries a plan out as the engine would; held actions only show their conflicts.
    pub(super) fn apply(&mut self, plan: &Plan) -> Result<(), Wrong> {
        self.laid.clear();
        for (digest, text) in &plan.bodies {
            if !self.bodies.contains_key(digest) {
                self.bodies.to_mut().insert(*digest, text.clone());
            }
        }
        ensure!(
            plan.category_records.is_empty(),
            "a category changes in the books"
        );
        for settle in &plan.records {
            self.record(settle, None);
        }
        let mut actions = plan.actions.iter().peekable();
        while let Some(action) = actions.next() {
            if let Step::Conflict(conflict) = &action.step {
                self.show(conflict);
            }
            if action.held.is_some() {
                continue;
            }
            if quiet_settle(action).is_some() {
                let mut batch = vec![action];
                while let Some(next) = actions.next_if(|next| quiet_settle(next).is_some()) {
                    batch.push(next);
                }
                self.write_files(&batch)?;
            } else {
                self.step(action)?;
            }
        }
        self.refresh();
        Ok(())
    }

    fn step(&mut self, action: &Action) -> Result<(), Wrong> {
        match &action.step {
            Step::CreateCategory { .. } | Step::SettleCategory(_) => {
                Err("no category changed".to_owned())
            }
            Step::CreateArticle {
                place,
                version,
                flags,
                instead_of,
            } => {
                if let Some(old) = instead_of {
                    self.forget(*old);
                }
                self.create(place, version, *flags)
            }
            Step::Settle(settle) => {
                if settle.touches_file() {
                    self.leave(settle)?;
                    self.arrive(settle)?;
                }
                self.send(settle)
            }
            Step::DeleteArticle { id, place, seen } => {
                let now = self.seen(*id)?.clone();
                ensure!(now.version == seen.version, "deletes what it has not seen");
                ensure!(self.local.complete, "deletes on an incomplete scan");
                let row = self.base.articles.get(id);
                ensure!(row.is_some(), "deletes without a base");
                let here = self.local.files.iter().any(|file| file.id == Some(*id))
                    || self
                        .local
                        .unknown
                        .iter()
                        .any(|unknown| unknown.place == *place || unknown.id == Some(*id));
                ensure!(!here, "deletes an article whose file is there");
                self.history.push(now.version);
                self.remote.articles.insert(*id, Remote::Gone);
                self.forget(*id);
                Ok(())
            }
            Step::RemoveFile { id, place, version } => {
                let gone = self.remote.articles.get(id) == Some(&Remote::Gone);
                ensure!(gone, "removes a file whose article is not known to be gone");
                ensure!(
                    self.base.articles.contains_key(id),
                    "removes without a base"
                );
                self.take_file(place, version)?;
                self.forget(*id);
                Ok(())
            }
            Step::Forget { id } => {
                self.forget(*id);
                Ok(())
            }
            Step::Conflict(_) | Step::Wait => Err("it only waits, and is not held".to_owned()),
        }
    }

    fn forget(&mut self, id: ArticleId) {
        self.base.articles.remove(&id);
        if let Some(row) = self.base.conflicts.remove(&id)
            && let Some(copy) = row.copy
        {
            self.local
                .copies
                .remove(&Place::new(row.place.folder, copy));
        }
    }

    fn seen(&mut self, id: ArticleId) -> Result<&mut Seen, Wrong> {
        match self.remote.articles.get_mut(&id) {
            Some(Remote::Present(seen)) => Ok(seen),
            Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) | Remote::Foreign)
            | None => Err("it is not there to be changed".to_owned()),
        }
    }

    fn write_files(&mut self, batch: &[&Action]) -> Result<(), Wrong> {
        let settles = || batch.iter().filter_map(|action| quiet_settle(action));
        for settle in settles().filter(|settle| settle.touches_file()) {
            self.leave(settle)?;
        }
        for settle in settles() {
            if settle.touches_file() {
                self.arrive(settle)?;
            }
            self.record(settle, None);
            self.settled(settle);
        }
        Ok(())
    }

    fn take_file(&mut self, place: &Place, version: &Version) -> Result<(), Wrong> {
        let found = self
            .local
            .files
            .iter()
            .position(|file| file.place == *place);
        let file = self
            .local
            .files
            .swap_remove(found.ok_or_else(|| format!("no file at {place}"))?);
        // A scanned file does not contain its category; its folder decides.
        let text = (&file.version.title, &file.version.slug, file.version.text);
        ensure!(
            text == (&version.title, &version.slug, version.text),
            "{place} is not what the plan says"
        );
        self.history.push(file.version);
        Ok(())
    }

    fn leave(&mut self, settle: &Settle) -> Result<(), Wrong> {
        match (settle.from(), settle.had()) {
            (Some(from), Some(had)) => self.take_file(from, had),
            (None, None) => Ok(()),
            (Some(_), None) | (None, Some(_)) => Err("half a file".to_owned()),
        }
    }

    fn arrive(&mut self, settle: &Settle) -> Result<(), Wrong> {
        let to = &settle.to;
        let files = self.local.files.iter().map(|file| &file.place);
        let unknown = self.local.unknown.iter().map(|unknown| &unknown.place);
        let mut others = files.chain(unknown).chain(self.local.copies.keys());
        let taken =
            others.any(|place| place.folder == to.folder && fold(&place.file) == fold(&to.file));
        ensure!(!taken, "the name {to} is taken");
        self.local.files.push(LocalFile {
            place: to.clone(),
            id: Some(settle.id),
            version: settle.file.clone(),
            flags: settle.file_flags,
        });
        Ok(())
    }

    fn settled(&mut self, settle: &Settle) {
        if settle.ends_conflict
            && let Some(row) = self.base.conflicts.remove(&settle.id)
            && let Some(copy) = row.copy
        {
            self.local
                .copies
                .remove(&Place::new(row.place.folder, copy));
        }
    }

    /// Refuses a slug that another article of the category has, as the service would.
    fn ensure_free(&self, but: ArticleId, version: &Version) -> Result<(), Wrong> {
        let taken = self.remote.articles.iter().any(|(id, entry)| {
            *id != but
                && matches!(entry, Remote::Present(seen) if seen.version.category == version.category
                    && seen.version.slug == version.slug)
        });
        ensure!(
            !taken,
            "asks for the address {} that another one has",
            version.slug
        );
        Ok(())
    }

    fn create(&mut self, place: &Place, version: &Version, flags: Flags) -> Result<(), Wrong> {
        self.writes += 1;
        let id = texts::article(100 + self.writes);
        self.ensure_free(id, version)?;
        let file = self
            .local
            .files
            .iter_mut()
            .find(|file| file.place == *place);
        let file = file.ok_or_else(|| format!("no file at {place}"))?;
        file.id = Some(id);
        let shown = if flags.hides() {
            Visibility::Unpublished
        } else {
            Visibility::Published
        };
        let seen = Seen {
            version: answered(version.clone()),
            revision: revision(1 + self.writes),
            flags: listed(flags, shown),
            visibility: shown,
        };
        let row = ArticleRow {
            id,
            place: place.clone(),
            local: version.clone(),
            remote: seen.version.clone(),
            revision: seen.revision.clone(),
            file_flags: file.flags,
            remote_flags: flags,
            visibility: shown,
            stamp: None,
            superseded: Vec::new(),
            written: Some(seen.revision.clone()),
        };
        self.base.articles.insert(id, row);
        self.remote.articles.insert(id, Remote::Present(seen));
        self.created.push((id, place.clone()));
        Ok(())
    }

    fn send(&mut self, settle: &Settle) -> Result<(), Wrong> {
        let now = self.seen(settle.id)?.clone();
        let parked = self.base.articles.get(&settle.id);
        let parked = parked.is_some_and(|row| row.remote == now.version);
        ensure!(
            parked || now.version == settle.seen.version,
            "overwrites what it has not seen"
        );
        let mut wanted = now.version.clone();
        for field in &settle.send {
            wanted.take(*field, &settle.file);
        }
        self.ensure_free(settle.id, &wanted)?;
        self.writes += 1;
        let flags = Flags {
            enabled: settle.send_enabled.or(settle.seen.flags.enabled),
            draft: settle.seen.flags.draft,
        };
        let shown = match (flags.hides(), settle.send_enabled) {
            (true, _) => Visibility::Unpublished,
            (false, Some(true)) => Visibility::Published,
            (false, _) => settle.seen.visibility,
        };
        let sent = Seen {
            version: answered(wanted),
            revision: revision(1 + self.writes),
            flags,
            visibility: shown,
        };
        self.record(settle, Some(&sent));
        self.settled(settle);
        self.history.push(now.version);
        let seen = Seen {
            flags: listed(flags, shown),
            ..sent
        };
        self.remote
            .articles
            .insert(settle.id, Remote::Present(seen));
        Ok(())
    }

    fn record(&mut self, settle: &Settle, sent: Option<&Seen>) {
        let written = self
            .base
            .articles
            .remove(&settle.id)
            .and_then(|row| row.written);
        let now = sent.unwrap_or(&settle.seen);
        let (local, file_flags) = match sent {
            Some(_) => (&settle.file, settle.file_flags),
            None => (&settle.base_if_unsent, settle.base_flags_if_unsent),
        };
        let row = ArticleRow {
            id: settle.id,
            place: settle.to.clone(),
            local: local.clone(),
            remote: now.version.clone(),
            revision: now.revision.clone(),
            file_flags,
            remote_flags: now.flags,
            visibility: now.visibility,
            stamp: None,
            superseded: Vec::new(),
            written: sent.map(|sent| sent.revision.clone()).or(written),
        };
        self.base.articles.insert(settle.id, row);
    }

    fn show(&mut self, conflict: &Conflict) {
        if !conflict.needs_copy {
            return;
        }
        if let (Some(copy), Some(seen)) = (&conflict.copy, &conflict.seen) {
            let place = Place::new(&conflict.place.folder, copy);
            self.local.copies.insert(place, Some(conflict.id));
            self.copies.insert(conflict.id, seen.version.clone());
        }
        let row = ConflictRow {
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
        };
        self.base.conflicts.insert(conflict.id, row);
    }
}

/// Returns a settlement that sends nothing and is not held.
fn quiet_settle(action: &Action) -> Option<&Settle> {
    match &action.step {
        Step::Settle(settle) if action.held.is_none() && !settle.sends() => Some(settle),
        Step::Settle(_)
        | Step::CreateArticle { .. }
        | Step::CreateCategory { .. }
        | Step::SettleCategory(_)
        | Step::DeleteArticle { .. }
        | Step::RemoveFile { .. }
        | Step::Forget { .. }
        | Step::Conflict(_)
        | Step::Wait => None,
    }
}

/// Returns a version as the service rewrites it: it trims a mark off titles.
fn answered(mut version: Version) -> Version {
    if version.title.ends_with('!') {
        version.title.pop();
    }
    version
}
