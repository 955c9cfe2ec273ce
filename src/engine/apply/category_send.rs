//! PUT of a category: looked at before it is sent, and looked at again after a lost answer.

use super::guard_read::mark_for_reading;
use super::record::{SentCategory, category_row};
use super::{ApplyState, StepResult, failed};
use crate::engine::Engine;
use crate::engine::apply::not_done;
use crate::engine::history::category::{keep_both_sides, keep_pushed};
use crate::engine::pending::{TRIES, may_repeat, wait_to_repeat, worth_another_look};
use crate::mirror::disk::Disk;
use crate::model::{CategoryId, CategoryVersion, Field, Side, Timestamp};
use crate::reconcile::plan::{Action, SettleCategory};
use crate::service::{Answer, CategoryPatch, ErrorKind, Listed, Purpose, RemoteCategory, Service};
use crate::state::Deed;
use std::time::Duration;

/// Sends what changed in a category, and records what the service made of it.
pub(super) async fn send_category<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<StepResult> {
    if let Some(result) = ensure_category_seen(engine, settle, state).await {
        return Ok(result);
    }
    keep_both_sides(&*engine.disk, &mut engine.store, settle)?;
    match put_category(engine, settle, state).await {
        Ok(category) => {
            let now = engine.store.now();
            let row = category_row(settle, Some(own_part(category, settle, now)), state, now);
            let folder = settle.to.as_deref().unwrap_or_default();
            let fields = Field::keys(&settle.send, ", ");
            let deed = Deed::new("update-category", Side::Remote, folder, None, fields);
            engine.store.write(|tx| {
                tx.put_category(&row)?;
                tx.event(&deed)
            })?;
            state.observed.base.categories.insert(settle.id, row);
            keep_pushed(&*engine.disk, &mut engine.store, settle)?;
            Ok(StepResult::Done(None))
        }
        // The next cycle reads the category, and sees what became of it.
        Err(error) if error.answer_lost => Ok(failed(error)),
        Err(error) => not_done(&mut engine.store, action, error),
    }
}

/// Returns whether a category was read in this cycle, and recently enough to be changed.
pub(super) fn is_category_seen(window: Duration, id: CategoryId, state: &ApplyState<'_>) -> bool {
    let read = state.observed.remote.categories.contains_key(&id);
    read && !window.is_zero() && state.observed.seen_at.elapsed() <= window
}

/// GET before PUT, unless the category was read just now.
async fn ensure_category_seen<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> Option<StepResult> {
    if is_category_seen(engine.settings.guard_window, settle.id, state) {
        return None;
    }
    match look_at_category(&engine.service, settle.id, state).await {
        Ok(category) if category.version == settle.seen => None,
        Ok(_) => Some(StepResult::Overtaken(
            "the category changed on the service since it was read".to_owned(),
        )),
        // A category that cannot be read stops only itself.
        Err(error) if error.kind == ErrorKind::Unreadable => {
            Some(StepResult::Failed(error.to_string()))
        }
        Err(error) => Some(failed(error)),
    }
}

/// Reads a category. Its articles come along, and some may have changed since they were listed.
async fn look_at_category(
    service: &impl Service,
    id: CategoryId,
    state: &mut ApplyState<'_>,
) -> Answer<RemoteCategory> {
    let (category, entries) = service.category(id, Purpose::Push).await?;
    let articles = entries.iter().filter_map(|entry| match entry {
        Listed::Article(article) => Some(&**article),
        Listed::Category(_)
        | Listed::Known(_)
        | Listed::Unreadable { .. }
        | Listed::Retracted { .. } => None,
    });
    mark_for_reading(articles, state);
    Ok(category)
}

/// Sends, and looks after a lost answer: a PUT is repeated only over the version that it was meant for.
async fn put_category<S: Service, D: Disk>(
    engine: &Engine<S, D>,
    settle: &SettleCategory,
    state: &mut ApplyState<'_>,
) -> Answer<RemoteCategory> {
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
    let sent = settle.send.iter();
    sent.for_each(|field| after.take(*field, &settle.file));
    let mut tries = 0;
    loop {
        let error = match engine.service.update_category(settle.id, &patch).await {
            Ok(category) => return Ok(category),
            Err(error) if worth_another_look(&error) && tries < TRIES => error,
            Err(error) => return Err(error),
        };
        tries += 1;
        wait_to_repeat(&engine.service, &*engine.clock, &error, tries).await?;
        let Ok(found) = look_at_category(&engine.service, settle.id, state).await else {
            return Err(error);
        };
        if found.version == after {
            return Ok(found);
        }
        if found.version != settle.seen || !may_repeat(&error) {
            return Err(error);
        }
    }
}

/// Returns what an answer says of the fields that were sent, and when the category counts as read. What else is new in
/// it is a colleague's, from the moment before: it is pulled by the next cycle, which reads the category.
fn own_part(answer: RemoteCategory, settle: &SettleCategory, now: Timestamp) -> SentCategory {
    let mut version = answer.version;
    let mut others = CategoryVersion::FIELDS.into_iter();
    if others
        .all(|field| settle.send.contains(&field) || version.get(field) == settle.seen.get(field))
    {
        return SentCategory {
            version,
            revision: answer.revision,
            read_at: now,
        };
    }
    for field in CategoryVersion::FIELDS {
        if !settle.send.contains(&field) {
            version.take(field, &settle.seen);
        }
    }
    SentCategory {
        version,
        revision: settle.revision.clone(),
        read_at: Timestamp::default(),
    }
}
