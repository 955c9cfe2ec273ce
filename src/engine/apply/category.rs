//! Categories: created on the service, folders made and renamed in the mirror. `category_send` has the PUT,
//! `category_yaml` the file.

use super::category_send::send_category;
use super::category_yaml::{NewYaml, ScannedYaml, read_yaml, write_yaml};
use super::record::{category_row, row_renamed, rows_along};
use super::{ApplyState, StepResult, not_done, not_written, wait_for_person};
use crate::engine::Engine;
use crate::engine::form::MAX_YAML;
use crate::engine::journal::Journal;
use crate::engine::journal::recover::take;
use crate::engine::pending::{TRIES, pause, worth_another_try};
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind};
use crate::mirror::document::CategoryDocument;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Place, Side, Stamp};
use crate::reconcile::plan::{Action, SettleCategory};
use crate::service::{ErrorKind, NewCategory, RemoteCategory, Service};
use crate::state::{Deed, RowChange, StateError};

/// A folder that is to be a category.
pub(super) struct NewFolder<'a> {
    pub(super) folder: &'a str,
    /// The id that stands for the category until the service gives one.
    pub(super) provisional: CategoryId,
    pub(super) version: &'a CategoryVersion,
}

/// Creates a category for a folder, and writes its `_category.yaml`.
pub(super) async fn create_category<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    new: &NewFolder<'_>,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<StepResult> {
    let (folder, version) = (new.folder, new.version);
    let request = NewCategory {
        workspace: engine.settings.workspace,
        version: version.clone(),
    };
    let (mut tries, mut is_lost) = (0, false);
    let created = loop {
        let mut error = match engine.service.create_category(&request).await {
            Ok(category) => break category,
            Err(error) => error,
        };
        is_lost |= error.answer_lost;
        if worth_another_try(&error) && tries < TRIES {
            tries += 1;
            tracing::warn!(%folder, %error, tries, "no answer to a POST; its slug tells whether it arrived");
            engine.clock.pause(pause(tries)).await;
            continue;
        }
        state.obstacles.block_folder(folder);
        if error.kind == ErrorKind::Refused {
            error.message = format!(
                "{}; if the workspace has a category \"{}\", which the API does not list, put its id into \
                 {folder}/{CATEGORY_FILE}",
                error.message, version.slug
            );
            if is_lost {
                let store = &mut engine.store;
                return wait_for_person(store, action, error.message);
            }
        }
        return not_done(&mut engine.store, action, error);
    };
    category_born(&mut engine.journal(), new, created, state)
}

fn category_born<D: Disk>(
    journal: &mut Journal<'_, D>,
    new: &NewFolder<'_>,
    created: RemoteCategory,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<StepResult> {
    let (folder, id, now) = (new.folder, created.id, journal.store.now());
    let row = CategoryRow {
        id,
        folder: Some(folder.to_owned()),
        local: new.version.clone(),
        remote: created.version,
        revision: created.revision,
        read_at: now,
        stamp: None,
    };
    let (side, detail) = (Side::Remote, id.to_string());
    let deed = Deed::new("create-category", side, folder, None, detail);
    journal.store.write(|tx| {
        tx.put_category(&row)?;
        tx.event(&deed)
    })?;
    state.created.insert(new.provisional, id);
    state.observed.base.categories.insert(id, row);
    let yaml = NewYaml {
        folder,
        id,
        version: new.version,
        scanned: &ScannedYaml::of(folder, state),
        before: None,
        named: folder,
        seen: (Side::Both, "create"),
    };
    // The state knows the category; the next cycle writes the file.
    let Err(error) = write_yaml(journal, &yaml, Vec::new(), state) else {
        return Ok(StepResult::Done(None));
    };
    let what = format!("the category is created, but {folder}/{CATEGORY_FILE} is not written yet");
    Ok(state
        .obstacles
        .outcome_without_file(&what, unwritten(error)?))
}

/// Brings a category's two sides together: folder, `_category.yaml`, then the service.
pub(super) async fn settle_category<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<StepResult> {
    let result = if is_in_motion(settle, state) {
        Some(StepResult::Retry(
            "a file in it is being written".to_owned(),
        ))
    } else {
        let here = settle_here(&mut engine.journal(), settle, state);
        here.err().map(unwritten).transpose()?
    };
    if let Some(result) = result {
        state.obstacles.block_category(settle);
        return Ok(result);
    }
    if settle.send.is_empty() {
        return Ok(StepResult::Done(None));
    }
    if let Some(stop) = &state.obstacles.stop {
        return Ok(StepResult::Retry(stop.message.clone()));
    }
    send_category(engine, action, settle, state).await
}

/// Returns whether a folder is to get another name while a file in it is being written.
fn is_in_motion(settle: &SettleCategory, state: &ApplyState<'_>) -> bool {
    let (Some(from), Some(to)) = (&settle.from, &settle.to) else {
        return false;
    };
    let in_motion = InMotion::new(&state.observed.request.in_motion.paths);
    from != to && (in_motion.is_about(from) || in_motion.is_about(to))
}

/// The mirror's half: the folder, `_category.yaml`, and the rows that become true with them.
fn settle_here<D: Disk>(
    journal: &mut Journal<'_, D>,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    let home = settle.from.as_ref().or(settle.to.as_ref());
    let scanned = home.map(|folder| ScannedYaml::of(folder, state));
    let scanned = scanned.unwrap_or_default();
    let before = state.observed.base.categories.get(&settle.id);
    let before = before.map(|row| row.local.clone());
    if let Some(to) = &settle.to {
        change_folder(journal, settle, to, &scanned, state)?;
    }
    let now = journal.store.now();
    let mut row = category_row(settle, None, state, now);
    let along = rows_along(&state.observed.base, state.observed, &row);
    match &settle.to {
        Some(to) if settle.write => {
            row.stamp = None;
            let yaml = NewYaml {
                folder: to,
                id: settle.id,
                version: &settle.file,
                scanned: &scanned,
                before: before.as_ref(),
                named: settle.from.as_ref().unwrap_or(to),
                seen: seen(settle, before.is_some(), scanned.stamp.is_some()),
            };
            write_yaml(journal, &yaml, rows_of(settle, &row, &along), state)?;
        }
        Some(_) | None => {
            let rows = rows_of(settle, &row, &along);
            journal
                .store
                .write(|tx| rows.iter().try_for_each(|row| tx.apply(row)))?;
        }
    }
    let articles = along.into_iter().map(|row| (row.id, row));
    state.observed.base.articles.extend(articles);
    state.observed.base.categories.insert(settle.id, row);
    Ok(())
}

/// Returns the side that has the written words, and the cause, for the history: the service has them only once they
/// were sent.
fn seen(settle: &SettleCategory, is_known: bool, is_there: bool) -> (Side, &'static str) {
    match (settle.send.is_empty(), is_known, is_there) {
        (false, _, _) => (Side::Local, "merge"),
        (true, true, _) => (Side::Both, "update"),
        (true, false, true) => (Side::Both, "adopt"),
        (true, false, false) => (Side::Both, "create"),
    }
}

fn change_folder<D: Disk>(
    journal: &mut Journal<'_, D>,
    settle: &SettleCategory,
    to: &str,
    scanned: &ScannedYaml,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    if let Some(from) = &settle.from {
        if settle.write {
            // Before anything moves: a file that was edited meanwhile is left to the next cycle.
            read_yaml(journal.disk, from, scanned)?;
        }
        if from != to {
            move_folder(journal, settle, from, to, scanned, state)?;
        }
        return Ok(());
    }
    if journal.disk.look(At::Root, to)?.is_none() {
        journal.disk.create_folder(to)?;
        journal.disk.sync_folder(At::Root)?;
        return Ok(());
    }
    let mut paired = state.observed.paired.categories.iter();
    if paired.any(|(id, category)| *id != settle.id && category.folder == *to) {
        // Another category was to leave it before, and has not.
        return Err(DiskError::new(DiskErrorKind::Exists, "make", to).into());
    }
    Ok(())
}

/// Gives a folder another name; its category and its articles have it from then on, whatever becomes of its words.
fn move_folder<D: Disk>(
    journal: &mut Journal<'_, D>,
    settle: &SettleCategory,
    from: &str,
    to: &str,
    scanned: &ScannedYaml,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    // Unless the file has a line for it, the folder's name is the slug, which nothing else was to change.
    let lined = has_slug(journal.disk, from).unwrap_or(scanned.stamp.is_some());
    let pulled = Some(settle.seen.slug.as_str()).filter(|_| !lined);
    let old = state.observed.base.categories.get(&settle.id);
    let row = old.map(|old| row_renamed(old, to, pulled));
    let below = rows_below(state, from, to);
    let articles = below.into_iter().map(Box::new).map(RowChange::Article);
    let category = row.map(Box::new).map(RowChange::Category);
    let rows: Vec<RowChange> = category.into_iter().chain(articles).collect();
    journal.rename_folder(from, to, &rows)??;
    for row in &rows {
        take(&mut state.observed.base, row);
    }
    let copies = std::mem::take(&mut state.observed.local.copies).into_iter();
    let moved = copies.map(|(mut copy, names)| {
        if copy.folder == from {
            to.clone_into(&mut copy.folder);
        }
        (copy, names)
    });
    state.observed.local.copies = moved.collect();
    Ok(())
}

/// Returns whether a `_category.yaml` has a line for the slug. `None`: it cannot be read.
fn has_slug(disk: &impl Disk, folder: &str) -> Option<bool> {
    let yaml = disk
        .read(At::Folder(folder), CATEGORY_FILE, MAX_YAML)
        .ok()?;
    let document = CategoryDocument::parse(&yaml.bytes).ok()?;
    Some(document.slug().is_some())
}

/// Returns the rows that become true with a settlement.
fn rows_of(settle: &SettleCategory, row: &CategoryRow, along: &[ArticleRow]) -> Vec<RowChange> {
    let mut rows = vec![RowChange::Category(Box::new(row.clone()))];
    let along = along.iter().cloned().map(Box::new);
    rows.extend(along.map(RowChange::Article));
    let is_told = settle.write || settle.from != settle.to;
    if let Some(to) = settle.to.as_ref().filter(|_| is_told) {
        let action = match settle.from {
            Some(_) => "update-category",
            None if settle.write => "create-category",
            None => "adopt",
        };
        let (side, detail) = (Side::Local, settle.id.to_string());
        let event = Deed::new(action, side, to, None, detail);
        rows.push(RowChange::Event(Box::new(event)));
    }
    rows
}

/// Returns the outcome of a category's folder or file that could not be written.
fn unwritten(error: anyhow::Error) -> anyhow::Result<StepResult> {
    if error.is::<StateError>() {
        return Err(error);
    }
    Ok(match error.downcast::<DiskError>() {
        Ok(error) => not_written(&error),
        Err(error) => StepResult::Failed(format!("{error:#}")),
    })
}

/// Rows of the articles in a folder, under its new name; their stamps move along.
fn rows_below(state: &mut ApplyState<'_>, from: &str, to: &str) -> Vec<ArticleRow> {
    let stamps: Vec<(Place, Stamp)> = state
        .observed
        .mirror
        .stamps
        .iter()
        .filter(|(place, _)| place.folder == from)
        .map(|(place, stamp)| (Place::new(to, place.file.clone()), *stamp))
        .collect();
    state.observed.mirror.stamps.extend(stamps);
    state
        .observed
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
