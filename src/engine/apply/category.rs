//! A category on the service: POST and PUT, with a look before the PUT, and another one after a lost response.
//! `category_files` has the mirror's half.

use super::category_files::{NewYaml, scanned_yaml, settle_here, write_yaml};
use super::guard_read::mark_for_reading;
use super::record::category_row;
use super::{ApplyState, NotDone, StepResult, failed, park, park_or_fail};
use crate::engine::Engine;
use crate::engine::history::category::{keep_theirs, last_here, seen_as};
use crate::engine::journal::Journal;
use crate::engine::pending::{MAX_RETRIES, may_repeat, post_until_answered, wait_to_repeat};
use crate::mirror::disk::Disk;
use crate::model::base::CategoryRow;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Field, Place, Side, Texts};
use crate::reconcile::plan::{Action, SettleCategory};
use crate::service::{
    Answer, CategoryPatch, ErrorKind, Listed, NewCategory, Purpose, RemoteCategory, Service,
    ServiceError,
};
use crate::state::Deed;
use std::time::Duration;

/// Creates a category for a folder, and writes its `_category.yaml`.
pub(super) async fn create_category<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    folder: &str,
    version: &CategoryVersion,
    state: &mut ApplyState<'_>,
) -> StepResult {
    let request = NewCategory {
        workspace: engine.settings.workspace,
        version: version.clone(),
    };
    let service = &engine.service;
    let send = async || service.create_category(&request).await;
    let (answer, is_lost) = post_until_answered(&*engine.clock, folder, send).await;
    let mut error = match answer {
        Ok(created) => {
            return category_created(&mut engine.journal(), folder, version, created, state);
        }
        Err(error) => error,
    };
    state.obstacles.block(action);
    if error.kind == ErrorKind::Refused {
        error.message = format!(
            "{}; if the workspace has a category \"{}\", which the API does not list, put its id into \
             {folder}/{CATEGORY_FILE}; if it has none, edit that file, and kbsync tries again",
            error.message, version.slug
        );
        // The try that was lost may have made the category: only a person can find out.
        if is_lost {
            return Err(park(&mut engine.store, action, error.to_string(), true));
        }
    }
    Err(park_or_fail(&mut engine.store, action, error, state))
}

fn category_created<D: Disk>(
    journal: &mut Journal<'_, D>,
    folder: &str,
    version: &CategoryVersion,
    created: RemoteCategory,
    state: &mut ApplyState<'_>,
) -> StepResult {
    let (id, now) = (created.id, journal.store.now());
    let row = CategoryRow {
        id,
        folder: Some(folder.to_owned()),
        local: version.clone(),
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
    state.created.insert(CategoryId::provisional(folder), id);
    state.observed.base.categories.insert(id, row);
    let scanned = scanned_yaml(folder, state);
    let yaml = NewYaml {
        folder,
        id,
        version,
        scanned: scanned.as_ref(),
        before: None,
        named: folder,
        seen: (Side::Both, "create"),
    };
    // The state knows the category; the next cycle writes the file.
    let Err(why) = write_yaml(journal, &yaml, Vec::new(), state) else {
        return Ok(None);
    };
    let what = format!("the category is created, but {folder}/{CATEGORY_FILE} is not written yet");
    state.obstacles.outcome_without_file(&what, why)
}

/// Brings the two sides of a category together: folder, `_category.yaml`, then the service.
pub(super) async fn settle_category<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> StepResult {
    if let Err(why) = settle_here(&mut engine.journal(), settle, state) {
        state.obstacles.block_category(settle);
        return Err(why);
    }
    if settle.send.is_empty() {
        return Ok(None);
    }
    if let Some(stop) = &state.obstacles.stop {
        return Err(NotDone::Retry(stop.message.clone()));
    }
    send_category(engine, action, settle, state).await
}

/// Sends the changed fields of a category, and records the response.
async fn send_category<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> StepResult {
    let folder = settle.to.as_ref().unwrap_or(&settle.seen.slug);
    let file = Place::new(folder.as_str(), CATEGORY_FILE);
    engine.journal().sync_files(&[&file])?;
    ensure_category_seen(engine, settle, state).await?;
    let store = &mut engine.store;
    keep_theirs(store, (settle.id, folder), "replaced", &settle.seen)?;
    match put_category(engine, settle, state).await {
        Ok(None) => Err(category_changed()),
        Ok(Some(category)) => {
            let now = engine.store.now();
            let answer = (category.version, category.revision);
            let row = category_row(settle, Some(&answer), state, now);
            let pushed = last_here(&engine.store, settle.id, None)?;
            let side = (Side::Both, "pushed");
            let pushed =
                pushed.map(|source| seen_as(settle.id, folder, side, &settle.file, &source));
            let fields = Field::keys(&settle.send, ", ");
            let deed = Deed::new("update-category", Side::Remote, folder, None, fields);
            engine.store.write(|tx| {
                tx.put_category(&row)?;
                let mut pushed = pushed.iter();
                pushed.try_for_each(|seen| tx.record(seen).map(drop))?;
                tx.event(&deed)
            })?;
            state.observed.base.categories.insert(settle.id, row);
            Ok(None)
        }
        // The next cycle reads the category, and sees the outcome.
        Err(error) if error.response_lost => Err(failed(error)),
        Err(error) => Err(park_or_fail(&mut engine.store, action, error, state)),
    }
}

/// Returns whether a category was read in this cycle, and recently enough to be changed.
pub(super) fn is_category_seen(window: Duration, id: CategoryId, state: &ApplyState<'_>) -> bool {
    let read = state.observed.remote.categories.contains_key(&id);
    read && state.observed.seen_at.is_within(window)
}

/// The guard read of a category: a GET, unless it was read recently enough.
async fn ensure_category_seen<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    if is_category_seen(engine.settings.guard_window, settle.id, state) {
        return Ok(());
    }
    match look_at_category(&engine.service, settle.id, state).await {
        Ok(category) if category.version == settle.seen => Ok(()),
        Ok(_) => Err(category_changed()),
        // A category that cannot be read stops only itself.
        Err(error) if error.kind == ErrorKind::Unreadable => {
            Err(NotDone::Failed(error.to_string()))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns the reason to leave a category alone that changed on the service.
fn category_changed() -> NotDone {
    NotDone::Overtaken("the category changed on the service since it was read".to_owned())
}

/// Reads a category. The response has its articles as well; some may have changed since they were listed.
async fn look_at_category(
    service: &impl Service,
    id: CategoryId,
    state: &mut ApplyState<'_>,
) -> Answer<RemoteCategory> {
    let (category, entries) = service.category(id, Purpose::Push).await?;
    let articles = entries.iter().filter_map(|entry| match entry {
        Listed::Article(article) => Some(&**article),
        Listed::Category(_) | Listed::Known(_) | Listed::Unreadable { .. } | Listed::Restart => {
            None
        }
    });
    mark_for_reading(articles, state);
    Ok(category)
}

/// Sends the PUT, with a look after a lost response: it is repeated only over the version that it was meant for.
/// `None`: the category has another version by now.
async fn put_category<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> Answer<Option<RemoteCategory>> {
    let value = |field| {
        let is_sent = settle.send.contains(&field);
        is_sent.then(|| settle.file.get(field).to_owned())
    };
    let patch = CategoryPatch {
        name: value(Field::Name),
        slug: value(Field::Slug),
        description: value(Field::Description),
        meta_description: value(Field::MetaDescription),
    };
    let mut after = settle.seen.clone();
    after.take_all(&settle.send, &settle.file);
    let mut tries = 0;
    loop {
        let error = match engine.service.update_category(settle.id, &patch).await {
            Ok(category) => return Ok(Some(category)),
            Err(error) if needs_look(&error) && tries < MAX_RETRIES => error,
            Err(error) => return Err(error),
        };
        tries += 1;
        wait_to_repeat(&engine.service, &*engine.clock, &error, tries).await?;
        let Ok(found) = look_at_category(&engine.service, settle.id, state).await else {
            return Err(error);
        };
        if found.version == after {
            return Ok(Some(found));
        }
        if found.version != settle.seen {
            return Ok(None);
        }
        if !may_repeat(&error) {
            return Err(error);
        }
    }
}

/// Returns whether a failed PUT is worth a look: it may have arrived, or may be sent again after a wait.
fn needs_look(error: &ServiceError) -> bool {
    may_repeat(error) || error.response_lost && error.kind != ErrorKind::Unauthorized
}
