//! Categories: created and changed on the service, folders made and renamed in the mirror.

use super::along::{row_renamed, rows_along};
use super::category_yaml::{MAX_YAML, Told};
use super::grain::ScannedYaml;
use super::put::{pause, worth_another_try};
use super::record::deed;
use super::{Done, Run, failed, not_written};
use crate::engine::Engine;
use crate::engine::observe::unsettled::Unsettled;
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind};
use crate::mirror::document::CategoryDocument;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Place, Side, Stamp};
use crate::reconcile::plan::{Action, SettleCategory};
use crate::service::{ErrorKind, NewCategory, RemoteCategory, Service};
use crate::state::{Intent, IntentId, StateError};

/// How often a POST without an answer is repeated.
const TRIES: u32 = 4;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Creates a category for a folder, and writes its `_category.yaml`.
    pub(super) async fn create_category(
        &mut self,
        action: &Action,
        folder: &str,
        provisional: CategoryId,
        version: &CategoryVersion,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let (intent, mut lost) = self.category_intent(folder, version)?;
        let new = NewCategory {
            workspace: self.settings.workspace,
            version: version.clone(),
        };
        let mut tries = 0;
        let created = loop {
            let error = match self.service.create_category(&new).await {
                Ok(category) => break category,
                Err(error) => error,
            };
            lost |= error.answer_lost;
            if worth_another_try(&error) && tries < TRIES {
                tries += 1;
                tracing::warn!(%folder, %error, tries, "no answer to a POST; its slug tells whether it arrived");
                self.clock.pause(pause(tries)).await;
                continue;
            }
            run.blocked.insert(folder.to_owned());
            if error.kind == ErrorKind::Refused && lost {
                let reason = format!(
                    "the category \"{}\" exists, but the API does not list categories; put its id into \
                     {folder}/{CATEGORY_FILE} (the service says: {})",
                    version.slug, error.message
                );
                return self.wait_for_person(action, reason);
            }
            if lost {
                return Ok(failed(error));
            }
            let now = self.clock.now();
            self.store.write(now, |tx| tx.remove_intent(intent))?;
            return self.not_done(action, error);
        };
        self.category_born(folder, provisional, version, &created, intent, run)
            .await
    }

    fn category_intent(
        &mut self,
        folder: &str,
        version: &CategoryVersion,
    ) -> anyhow::Result<(IntentId, bool)> {
        let earlier = self.store.intents()?.into_iter().find(|(_, intent)| {
            matches!(intent, Intent::CreateCategory { version: sent, .. } if sent.slug == version.slug)
        });
        if let Some((id, _)) = earlier {
            return Ok((id, true));
        }
        let intent = Intent::CreateCategory {
            folder: folder.to_owned(),
            version: version.clone(),
        };
        let now = self.clock.now();
        Ok((self.store.write(now, |tx| tx.add_intent(&intent))?, false))
    }

    async fn category_born(
        &mut self,
        folder: &str,
        provisional: CategoryId,
        version: &CategoryVersion,
        created: &RemoteCategory,
        intent: IntentId,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let now = self.clock.now();
        let row = CategoryRow {
            id: created.id,
            folder: Some(folder.to_owned()),
            local: version.clone(),
            remote: created.version.clone(),
            revision: created.revision.clone(),
            read_at: now,
            stamp: None,
        };
        self.store.write(now, |tx| {
            tx.put_category(&row)?;
            tx.remove_intent(intent)?;
            tx.event(&deed(
                "create-category",
                Side::Remote,
                folder,
                None,
                created.id.to_string(),
            ))
        })?;
        run.created.insert(provisional, created.id);
        let scanned = ScannedYaml::of(folder, run);
        self.let_yaml_settle(&scanned).await;
        let told = Told {
            before: None,
            folder: None,
            after: (Side::Both, "create"),
        };
        let note = match self.write_yaml(folder, created.id, version, &scanned, &told) {
            Ok(stamp) => {
                self.note_yaml(folder, stamp, run);
                None
            }
            // The state knows the category; the next cycle writes the file.
            Err(error) => Some((format!("{error:#}"), unwritten(error)?)),
        };
        run.sight.base.categories.insert(created.id, row);
        let told = |reason| {
            format!(
                "the category is created, but {folder}/{CATEGORY_FILE} is not written yet: {reason}"
            )
        };
        Ok(match note {
            None => Done::Yes(None),
            Some((reason, Done::Wall(stop))) => {
                run.meet_wall(stop);
                Done::Failed(told(reason))
            }
            Some((reason, Done::Doubted(_))) => Done::Doubted(told(reason)),
            Some((reason, Done::Failed(_))) => Done::Failed(told(reason)),
            Some((
                reason,
                Done::Yes(_)
                | Done::Later(_)
                | Done::Overtaken(_)
                | Done::Stopped(_)
                | Done::Held(_),
            )) => Done::Yes(Some(told(reason))),
        })
    }

    /// Brings a category's two sides together: folder, `_category.yaml`, then the service.
    pub(super) async fn settle_category(
        &mut self,
        action: &Action,
        settle: &SettleCategory,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let home = settle.from.as_ref().or(settle.to.as_ref());
        let scanned = home.map(|folder| ScannedYaml::of(folder, run));
        let scanned = scanned.unwrap_or_default();
        if settle.write {
            self.let_yaml_settle(&scanned).await;
        }
        let done = self.settle_category_here(settle, &scanned, run)?;
        let Done::Yes(note) = done else {
            run.blocked.extend(settle.from.clone());
            run.blocked.extend(settle.to.clone());
            return Ok(done);
        };
        if settle.send.is_empty() {
            return Ok(Done::Yes(note));
        }
        if let Some(stop) = &run.stop {
            return Ok(Done::Later(stop.message.clone()));
        }
        self.send_category(action, settle, run).await
    }

    fn settle_category_here(
        &mut self,
        settle: &SettleCategory,
        scanned: &ScannedYaml,
        run: &mut Run<'_>,
    ) -> anyhow::Result<Done> {
        let now = self.clock.now();
        let Some(to) = &settle.to else {
            let read = run.sight.remote.categories.contains_key(&settle.id);
            let row = self.category_row(settle, None, read.then_some(now), run);
            self.store.write(now, |tx| tx.put_category(&row))?;
            run.sight.base.categories.insert(settle.id, row);
            return Ok(Done::Yes(None));
        };
        let moves = settle.from.as_ref() != Some(to);
        if let Some(from) = settle.from.as_ref().filter(|_| moves) {
            let unsettled = Unsettled::new(&run.request.unsettled);
            if unsettled.is_about(from) || unsettled.is_about(to) {
                return Ok(Done::Later("a file in it is being written".to_owned()));
            }
        }
        let intent = if moves || settle.write {
            let intent = Intent::WriteCategory {
                id: settle.id,
                from: settle.from.clone(),
                folder: to.clone(),
                version: settle.file.clone(),
                remote: settle.seen.clone(),
                revision: settle.revision.clone(),
            };
            Some(self.store.write(now, |tx| tx.add_intent(&intent))?)
        } else {
            None
        };
        let mut paired = run.sight.paired.categories.iter();
        let others = paired.any(|(id, category)| *id != settle.id && category.folder == *to);
        let lined = settle.from.as_ref().and_then(|from| self.has_slug(from));
        let lined = lined.unwrap_or_else(|| scanned.stamp.is_some());
        let mut renamed = false;
        let folder = self.change_folder(settle, to, (moves, others), scanned, &mut renamed);
        let below = match &settle.from {
            Some(from) if renamed => rows_below(run, from, to),
            Some(_) | None => Vec::new(),
        };
        let told = told(settle, scanned, run);
        let stamp = match folder.and_then(|()| self.change_words(settle, to, scanned, &told)) {
            Ok(stamp) => stamp,
            Err(error) => {
                if renamed {
                    self.record_move((settle, lined), to, below, run)?;
                }
                if let Some(intent) = intent {
                    self.store.write(now, |tx| tx.remove_intent(intent))?;
                }
                return unwritten(error);
            }
        };
        if let Some(stamp) = stamp {
            self.note_yaml(to, stamp, run);
        }
        let read = run.sight.remote.categories.contains_key(&settle.id);
        let row = self.category_row(settle, None, read.then_some(now), run);
        let below = if renamed {
            below
        } else {
            rows_along(&run.sight.base, run.sight, &row)
        };
        self.store.write(now, |tx| {
            tx.put_category(&row)?;
            below.iter().try_for_each(|row| tx.put_article(row))?;
            if let Some(intent) = intent {
                tx.remove_intent(intent)?;
            }
            if moves || settle.write {
                tx.event(&deed(
                    "update-category",
                    Side::Local,
                    to,
                    None,
                    settle.id.to_string(),
                ))?;
            }
            Ok(())
        })?;
        for row in below {
            run.sight.base.articles.insert(row.id, row);
        }
        run.sight.base.categories.insert(settle.id, row);
        Ok(Done::Yes(None))
    }

    /// Notes the stamp of a `_category.yaml` that was just written. It may be saved once more within the clock's
    /// grain: for this cycle it vouches for nothing.
    fn note_yaml(&self, folder: &str, stamp: Stamp, run: &mut Run<'_>) {
        run.sight.category_stamps.insert(folder.to_owned(), stamp);
        let young = self.trusted(stamp).is_none();
        run.sight.racy.extend(young.then_some(stamp));
    }

    fn change_folder(
        &mut self,
        settle: &SettleCategory,
        to: &str,
        (moves, others): (bool, bool),
        scanned: &ScannedYaml,
        renamed: &mut bool,
    ) -> anyhow::Result<()> {
        if settle.write
            && let Some(from) = &settle.from
        {
            // Before anything moves: a file that was edited meanwhile is left to the next cycle.
            self.read_yaml(from, scanned)?;
        }
        match &settle.from {
            Some(from) if moves => {
                self.rename_folder(from, to)?;
                // It has its name, even if that cannot be made durable.
                *renamed = true;
                self.disk.sync_folder(At::Root)?;
            }
            None => {
                if self.disk.look(At::Root, to)?.is_none() {
                    self.disk.create_folder(to)?;
                    self.disk.sync_folder(At::Root)?;
                } else if others {
                    // Another category was to leave it before, and has not.
                    return Err(DiskError::new(DiskErrorKind::Exists, "make", to).into());
                }
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn change_words(
        &mut self,
        settle: &SettleCategory,
        to: &str,
        scanned: &ScannedYaml,
        told: &Told,
    ) -> anyhow::Result<Option<Stamp>> {
        if !settle.write {
            return Ok(None);
        }
        self.write_yaml(to, settle.id, &settle.file, scanned, told)
            .map(Some)
    }

    /// A folder got its name, and its words could not be written: where the files are is known all the same,
    /// or a `_category.yaml` that goes now would leave a folder that nobody knows. `lined`: whether that had a line for
    /// the slug before, in case it cannot be read now.
    fn record_move(
        &mut self,
        (settle, lined): (&SettleCategory, bool),
        to: &str,
        below: Vec<ArticleRow>,
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        let Some(old) = run.sight.base.categories.get(&settle.id) else {
            return Ok(());
        };
        // Unless the file has a line for it, the folder's name is the slug, which nothing else was to change.
        let lined = self.has_slug(to).unwrap_or(lined);
        let pulled = Some(settle.seen.slug.as_str()).filter(|_| !lined);
        let row = row_renamed(old, to, pulled);
        let now = self.clock.now();
        self.store.write(now, |tx| {
            tx.put_category(&row)?;
            below.iter().try_for_each(|row| tx.put_article(row))
        })?;
        for row in below {
            run.sight.base.articles.insert(row.id, row);
        }
        run.sight.base.categories.insert(settle.id, row);
        Ok(())
    }

    /// Returns whether a `_category.yaml` has a line for the slug. `None`: it cannot be read.
    fn has_slug(&self, folder: &str) -> Option<bool> {
        let at = At::Folder(folder);
        let yaml = self.disk.read(at, CATEGORY_FILE, MAX_YAML).ok()?;
        let document = CategoryDocument::parse(&yaml.bytes).ok()?;
        Some(document.slug().is_some())
    }

    /// Renames a folder; a name is also free where an empty folder has it.
    fn rename_folder(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let Err(taken) = self.disk.rename_folder(from, to) else {
            return Ok(());
        };
        if taken.kind != DiskErrorKind::Exists || self.disk.remove_folder(to).is_err() {
            return Err(taken);
        }
        self.disk.rename_folder(from, to)
    }
}

/// How the history tells of what a settlement writes: the service has it only once it was sent.
fn told(settle: &SettleCategory, scanned: &ScannedYaml, run: &Run<'_>) -> Told {
    let before = run.sight.base.categories.get(&settle.id);
    let after = match (settle.send.is_empty(), before, scanned.stamp) {
        (false, _, _) => (Side::Local, "merge"),
        (true, Some(_), _) => (Side::Both, "update"),
        (true, None, Some(_)) => (Side::Both, "adopt"),
        (true, None, None) => (Side::Both, "create"),
    };
    Told {
        before: before.map(|row| row.local.clone()),
        folder: settle.from.clone(),
        after,
    }
}

/// What became of a category's folder or file that could not be written.
fn unwritten(error: anyhow::Error) -> anyhow::Result<Done> {
    if error.is::<StateError>() {
        return Err(error);
    }
    Ok(match error.downcast::<DiskError>() {
        Ok(error) => not_written(&error),
        Err(error) => Done::Failed(format!("{error:#}")),
    })
}

/// Rows of the articles in a folder, under its new name; their stamps move along.
fn rows_below(run: &mut Run<'_>, from: &str, to: &str) -> Vec<ArticleRow> {
    let stamps: Vec<(Place, Stamp)> = run
        .sight
        .stamps
        .iter()
        .filter(|(place, _)| place.folder == from)
        .map(|(place, stamp)| (Place::new(to, place.file.clone()), *stamp))
        .collect();
    run.sight.stamps.extend(stamps);
    run.sight
        .base
        .articles
        .values()
        .filter(|row| row.place.folder == from)
        .map(|row| ArticleRow {
            place: Place::new(to, row.place.file.clone()),
            ..row.clone()
        })
        .collect()
}
