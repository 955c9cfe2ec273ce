//! Categories: created and changed on the service, folders made and renamed in the mirror.

use super::along::{row_renamed, rows_along};
use super::category_yaml::{NewYaml, ScannedYaml, Told};
use super::{Done, Run, not_written};
use crate::engine::Engine;
use crate::engine::form::MAX_YAML;
use crate::engine::journal::recover::take;
use crate::engine::pending::{pause, worth_another_try};
use crate::engine::unsettled::Unsettled;
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind};
use crate::mirror::document::CategoryDocument;
use crate::mirror::scan::trusted;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Place, Side, Stamp};
use crate::reconcile::plan::{Action, SettleCategory};
use crate::service::{ErrorKind, NewCategory, RemoteCategory, Service};
use crate::state::{Deed, RowChange, StateError};

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
        let new = NewCategory {
            workspace: self.settings.workspace,
            version: version.clone(),
        };
        let (mut tries, mut lost) = (0, false);
        let created = loop {
            let mut error = match self.service.create_category(&new).await {
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
            if error.kind == ErrorKind::Refused && !lost {
                error.message = format!(
                    "{}; if the workspace has a category \"{}\", put its id into {folder}/{CATEGORY_FILE}",
                    error.message, version.slug
                );
            } else if error.kind == ErrorKind::Refused {
                let reason = format!(
                    "the category \"{}\" exists, but the API does not list categories; put its id into \
                     {folder}/{CATEGORY_FILE} (the service says: {})",
                    version.slug, error.message
                );
                return self.wait_for_person(action, reason);
            }
            return self.not_done(action, error);
        };
        self.category_born(folder, provisional, version, &created, run)
    }

    fn category_born(
        &mut self,
        folder: &str,
        provisional: CategoryId,
        version: &CategoryVersion,
        created: &RemoteCategory,
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
            tx.event(&Deed::new(
                "create-category",
                Side::Remote,
                folder,
                None,
                created.id.to_string(),
            ))
        })?;
        run.created.insert(provisional, created.id);
        let scanned = ScannedYaml::of(folder, run);
        let new = NewYaml {
            folder,
            id: created.id,
            version,
            scanned: &scanned,
            told: &Told {
                before: None,
                folder: None,
                after: (Side::Both, "create"),
            },
        };
        let note = match self.write_yaml(&new, Vec::new()) {
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
            let unsettled = Unsettled::new(&run.request.unsettled.paths);
            if unsettled.is_about(from) || unsettled.is_about(to) {
                return Ok(Done::Later("a file in it is being written".to_owned()));
            }
        }
        let mut paired = run.sight.paired.categories.iter();
        let others = paired.any(|(id, category)| *id != settle.id && category.folder == *to);
        let told = told(settle, scanned, run);
        let folder = self.change_folder(settle, to, (others, scanned), run);
        let words = folder.and_then(|()| self.change_words(settle, (to, scanned), &told, run));
        let stamp = match words {
            Ok(stamp) => stamp,
            Err(error) => return unwritten(error),
        };
        if let Some(stamp) = stamp {
            self.note_yaml(to, stamp, run);
        }
        let row = self.settled_row(settle, run);
        let along = rows_along(&run.sight.base, run.sight, &row);
        if stamp.is_none() {
            let rows = rows_of(settle, &row, &along);
            self.store
                .write(now, |tx| rows.iter().try_for_each(|row| tx.apply(row)))?;
        }
        for row in along {
            run.sight.base.articles.insert(row.id, row);
        }
        run.sight.base.categories.insert(settle.id, row);
        Ok(Done::Yes(None))
    }

    fn settled_row(&self, settle: &SettleCategory, run: &Run<'_>) -> CategoryRow {
        let read = run.sight.remote.categories.contains_key(&settle.id);
        let read_at = read.then(|| self.clock.now());
        self.category_row(settle, None, read_at, run)
    }

    /// Notes the stamp of a `_category.yaml` that was just written. It may be saved once more within the clock's
    /// grain: for this cycle it vouches for nothing.
    fn note_yaml(&self, folder: &str, stamp: Stamp, run: &mut Run<'_>) {
        run.sight
            .mirror
            .category_stamps
            .insert(folder.to_owned(), stamp);
        let young = trusted(stamp, self.clock.now()).is_none();
        run.sight.mirror.racy.extend(young.then_some(stamp));
    }

    fn change_folder(
        &mut self,
        settle: &SettleCategory,
        to: &str,
        (others, scanned): (bool, &ScannedYaml),
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        if settle.write
            && let Some(from) = &settle.from
        {
            // Before anything moves: a file that was edited meanwhile is left to the next cycle.
            self.read_yaml(from, scanned)?;
        }
        match &settle.from {
            Some(from) if from != to => self.move_folder(settle, (from, to), scanned, run)?,
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

    /// Gives a folder another name; its category and its articles have it from then on, whatever becomes of its words.
    fn move_folder(
        &mut self,
        settle: &SettleCategory,
        (from, to): (&str, &str),
        scanned: &ScannedYaml,
        run: &mut Run<'_>,
    ) -> anyhow::Result<()> {
        // Unless the file has a line for it, the folder's name is the slug, which nothing else was to change.
        let lined = self.has_slug(from).unwrap_or(scanned.stamp.is_some());
        let pulled = Some(settle.seen.slug.as_str()).filter(|_| !lined);
        let old = run.sight.base.categories.get(&settle.id);
        let row = old.map(|old| row_renamed(old, to, pulled));
        let below = rows_below(run, from, to);
        let articles = below.into_iter().map(Box::new).map(RowChange::Article);
        let category = row.map(Box::new).map(RowChange::Category);
        let rows: Vec<RowChange> = category.into_iter().chain(articles).collect();
        self.journal().rename_folder(from, to, &rows)??;
        for row in &rows {
            take(&mut run.sight.base, row);
        }
        let copies = std::mem::take(&mut run.sight.local.copies).into_iter();
        let moved = copies.map(|(mut copy, names)| {
            if copy.folder == from {
                to.clone_into(&mut copy.folder);
            }
            (copy, names)
        });
        run.sight.local.copies = moved.collect();
        Ok(())
    }

    fn change_words(
        &mut self,
        settle: &SettleCategory,
        (to, scanned): (&str, &ScannedYaml),
        told: &Told,
        run: &Run<'_>,
    ) -> anyhow::Result<Option<Stamp>> {
        if !settle.write {
            return Ok(None);
        }
        let row = CategoryRow {
            stamp: None,
            ..self.settled_row(settle, run)
        };
        let along = rows_along(&run.sight.base, run.sight, &row);
        let rows = rows_of(settle, &row, &along);
        let new = NewYaml {
            folder: to,
            id: settle.id,
            version: &settle.file,
            scanned,
            told,
        };
        self.write_yaml(&new, rows).map(Some)
    }

    /// Returns whether a `_category.yaml` has a line for the slug. `None`: it cannot be read.
    fn has_slug(&self, folder: &str) -> Option<bool> {
        let at = At::Folder(folder);
        let yaml = self.disk.read(at, CATEGORY_FILE, MAX_YAML).ok()?;
        let document = CategoryDocument::parse(&yaml.bytes).ok()?;
        Some(document.slug().is_some())
    }
}

/// Returns the rows that become true with a settlement.
fn rows_of(settle: &SettleCategory, row: &CategoryRow, along: &[ArticleRow]) -> Vec<RowChange> {
    let mut rows = vec![RowChange::Category(Box::new(row.clone()))];
    let along = along.iter().cloned().map(Box::new);
    rows.extend(along.map(RowChange::Article));
    if let Some(to) = &settle.to {
        let event = Deed::new(
            match settle.from {
                Some(_) => "update-category",
                None if settle.write => "create-category",
                None => "adopt",
            },
            Side::Local,
            to,
            None,
            settle.id.to_string(),
        );
        let told = settle.write || settle.from.as_ref() != Some(to);
        rows.extend(told.then(|| RowChange::Event(Box::new(event))));
    }
    rows
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

/// Returns the outcome of a category's folder or file that could not be written.
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
        .mirror
        .stamps
        .iter()
        .filter(|(place, _)| place.folder == from)
        .map(|(place, stamp)| (Place::new(to, place.file.clone()), *stamp))
        .collect();
    run.sight.mirror.stamps.extend(stamps);
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
