//! The second half of a cycle: carries out the plan step by step, and records each outcome.
//!
//! Confirm, then record: a row changes only after the other side confirmed and the bytes are durable. A request for an
//! article is stored as pending before it is sent, and a change of the mirror is journalled before it is made. So the
//! next run can recover from a crash between any two lines.

mod category;
mod category_files;
mod checkout;
mod conflict;
mod create;
mod delete;
mod files;
mod finish_cycle;
mod guard_read;
mod record;
mod render;
mod send;
mod state;

pub(super) use checkout::other_checkout;
pub(super) use conflict::remove_settled_copies;
pub(super) use finish_cycle::{PlanSummary, finish_cycle, refresh_stamps};

use crate::engine::observation::{Extent, Observation};
use crate::engine::ports::{Teller, begin_phase, report_done};
use crate::engine::reasons::put_below;
use crate::engine::report::{Line, Report, Status};
use crate::engine::{Engine, Stop};
use crate::mirror::disk::Disk;
use crate::model::base::Sent;
use crate::model::{Field, TextDigest};
use crate::reconcile::plan::{Action, Plan, Step};
use crate::service::{ErrorKind, Service, ServiceError};
use crate::state::store::Store;
use crate::state::{Parked, StateResult};
use checkout::stop_at_other_checkout;
use delete::{delete_article, forget_article};
use guard_read::{vanished, wait_for_room};
use send::settle_and_send;
use state::{ApplyState, NotDone, Obstacles, StepResult};
use std::collections::BTreeMap;

/// Carries out a plan. Returns the reason for an early end, if any.
pub(super) async fn apply<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    plan: Plan,
    observed: &mut Observation,
    report: &mut Report,
) -> anyhow::Result<Option<Stop>> {
    if !plan.bodies.is_empty() {
        engine.store.write(|tx| {
            plan.bodies
                .values()
                .try_for_each(|text| tx.put_body(text).map(|_digest| ()))
        })?;
    }
    let stop = observed.service.stop.clone();
    let ready = |action: &Action| action.held.is_none();
    let to_send = plan
        .actions
        .iter()
        .filter(|action| ready(action) && action.sends())
        .count();
    // The base has only some rows, so a listing cannot be compared with it: GETs are made, however long the cycle takes.
    let listing_uses = (observed.extent != Extent::All).then_some(0);
    let mut state = ApplyState {
        observed,
        report,
        created: BTreeMap::new(),
        new_ids: BTreeMap::new(),
        obstacles: Obstacles::after(stop),
        latest: BTreeMap::new(),
        reseen: BTreeMap::new(),
        listing_uses,
        to_send,
        done: 0,
        prefix: engine.settings.prefix.clone(),
    };
    let changes =
        !plan.actions.is_empty() || !plan.records.is_empty() || !plan.category_records.is_empty();
    if to_send > 0 || (changes && !state.observed.service.not_modified) {
        record::forget_validator(&mut engine.store)?;
    }
    if to_send > 0 {
        begin_phase(&engine.teller, "sending", Some(to_send), 1);
    }
    // Categories come first: an article's row has the folder of its category after the category's step.
    let mut actions = plan.actions;
    let categories = actions.iter().take_while(|action| is_of_category(action));
    let mut rest = actions.split_off(categories.count()).into_iter();
    for action in actions {
        step(engine, action, &mut state).await?;
    }
    let (records, categories) = (&plan.records, &plan.category_records);
    record::record_quietly(&mut engine.store, records, categories, &state)?;
    loop {
        let following = rest.as_slice().iter();
        let local = following.take_while(|next| is_local_settle(next)).count();
        if local > 0 {
            // Git is asked once for a run of local changes.
            stop_at_other_checkout(&*engine.git, &mut state.obstacles).await;
            let teller = Teller::clone(&engine.teller);
            let journal = &mut engine.journal();
            files::settle_files(journal, &teller, &mut rest, local, &mut state)?;
        } else if let Some(action) = rest.next() {
            step(engine, action, &mut state).await?;
        } else {
            break;
        }
    }
    Ok(state.obstacles.stop)
}

/// Tries one action, or reports why it is not tried.
async fn step<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: Action,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    let is_tried = action.held.is_none() && state.obstacles.of(&action).is_none();
    if is_tried || matches!(action.step, Step::Conflict(_)) {
        stop_at_other_checkout(&*engine.git, &mut state.obstacles).await;
    }
    // A conflict is held, but its copy is written.
    if let Step::Conflict(conflict) = &action.step {
        let shown = match state.obstacles.mirror_stop.clone() {
            Some(stop) => Some(stop.message),
            None => conflict::show_conflict(&mut engine.journal(), conflict, state)?,
        };
        state.say(&action, Status::Held, shown);
        return Ok(());
    }
    if action.held.is_some() {
        state.obstacles.block(&action);
        state.say(&action, Status::Held, None);
        return Ok(());
    }
    if let Some((status, reason)) = state.obstacles.of(&action) {
        if action.sends() {
            state.to_send = state.to_send.saturating_sub(1);
        }
        state.obstacles.block(&action);
        state.say(&action, status, Some(reason));
        return Ok(());
    }
    let result = match wait_for_room(&engine.service, &engine.settings, &action, state).await {
        Ok(()) => carry_out(engine, &action, state).await,
        Err(why) => {
            state.obstacles.block(&action);
            Err(why)
        }
    };
    if result.is_ok() {
        forget_refusals_and_approvals(&mut engine.store, &[&action])?;
    }
    report_step(&engine.teller, &action, result, state)
}

/// Carries out an action that nothing prevents.
async fn carry_out<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    state: &mut ApplyState<'_>,
) -> StepResult {
    match &action.step {
        Step::CreateCategory {
            folder,
            version,
            near: _,
        } => category::create_category(engine, action, folder, version, state).await,
        Step::SettleCategory(settle) => {
            category::settle_category(engine, action, settle, state).await
        }
        Step::CreateArticle {
            place,
            version,
            flags,
            instead_of,
            ..
        } => {
            let new = create::New {
                action,
                place,
                file: Sent {
                    version: state.resolved(version)?,
                    flags: *flags,
                },
                instead_of: *instead_of,
            };
            Box::pin(create::create_article(engine, &new, state)).await
        }
        Step::Settle(settle) => settle_and_send(engine, action, settle, state).await,
        Step::DeleteArticle { id, place, seen } => {
            delete_article(engine, action, *id, place, seen, state).await
        }
        Step::RemoveFile { id, place, version } => {
            files::remove_file(&mut engine.journal(), action, *id, place, version, state)
        }
        Step::Forget { id } => forget_article(&mut engine.journal(), *id, state),
        Step::Conflict(_) | Step::Wait => Ok(None),
    }
}

/// Parks an action that was not done, so that it is not sent in every cycle; `is_for_person`: only a person can settle
/// it.
fn park(store: &mut Store, action: &Action, reason: String, is_for_person: bool) -> NotDone {
    let parked = Parked {
        key: action.key(),
        fingerprint: action.fingerprint(),
        reason: reason.clone(),
        is_for_person,
        at: store.now(),
    };
    match store.write(|tx| tx.park(&parked)) {
        Ok(()) if is_for_person => NotDone::Held(reason),
        Ok(()) => NotDone::Failed(reason),
        Err(error) => error.into(),
    }
}

/// Returns why an action that failed with a service error is not done. Parks an action that was refused for its content,
/// until the action changes.
fn park_or_fail(
    store: &mut Store,
    action: &Action,
    error: ServiceError,
    state: &mut ApplyState<'_>,
) -> NotDone {
    match error.kind {
        ErrorKind::Refused | ErrorKind::Forbidden | ErrorKind::TooLarge => {
            park(store, action, error.to_string(), false)
        }
        ErrorKind::NotFound if action.as_settle().is_some() => vanished(),
        ErrorKind::Unavailable { .. } if !is_of_category(action) => fail_one_article(error, state),
        ErrorKind::Unauthorized
        | ErrorKind::NotFound
        | ErrorKind::RateLimited { .. }
        | ErrorKind::BudgetSpent { .. }
        | ErrorKind::Unavailable { .. }
        | ErrorKind::Closed
        | ErrorKind::Unreadable => failed(error),
    }
}

/// Removes the refusals and approvals of actions that were done: an approval is valid once and, after a kill at this
/// point, once more for exactly this action.
fn forget_refusals_and_approvals(store: &mut Store, done: &[&Action]) -> StateResult<()> {
    if !store.has_parked_or_approved()? {
        return Ok(());
    }
    store.write(|tx| {
        for action in done {
            tx.unpark(&action.key())?;
            tx.use_up_approval(action.side, action.fingerprint())?;
        }
        Ok(())
    })
}

fn report_step(
    teller: &Teller,
    action: &Action,
    result: StepResult,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    if let Err(why) = &result {
        state.obstacles.note(why);
    }
    let (status, reason) = match result {
        Ok(note) => (Status::Done, note),
        Err(NotDone::Retry(reason)) => (Status::Skipped, Some(reason)),
        Err(NotDone::Overtaken(reason)) => {
            state.report.look_again.insert(action.path.clone());
            (Status::Skipped, Some(reason))
        }
        Err(NotDone::Held(reason)) => (Status::Held, Some(reason)),
        Err(NotDone::Failed(reason) | NotDone::Unsafe(reason)) => (Status::Failed, Some(reason)),
        Err(NotDone::Stopped(stop)) => (Status::Skipped, Some(stop.message)),
        Err(NotDone::MirrorUnwritable(stop)) => (Status::Failed, Some(stop.message)),
        Err(NotDone::Broken(error)) => return Err(error),
    };
    if action.sends() {
        state.to_send = state.to_send.saturating_sub(1);
        state.done += 1;
        report_done(teller, state.done);
    }
    let line = state.say(action, status, reason).clone();
    log_step(line, &state.prefix);
    Ok(())
}

/// Logs a step that was done or that failed; the caller of the cycle logs what waits.
fn log_step(line: Line, prefix: &str) {
    let (mut path, word) = (line.path, line.action.word());
    put_below(prefix, &mut path, None);
    let id = line.id.map(tracing::field::display);
    if line.status == Status::Done {
        let fields = Field::keys(&line.fields, ",");
        tracing::info!(%path, id, %fields, side = line.side.word(), "{word}");
    } else if line.status == Status::Failed {
        tracing::warn!(%path, id, reason = line.reason, "{word} failed");
    }
}

/// A body by its digest.
fn text(store: &Store, digest: TextDigest) -> anyhow::Result<String> {
    let text = store.text(digest)?;
    match text {
        Some(text) => Ok(text.to_string()),
        None => anyhow::bail!("failed to find the body {digest} in the state"),
    }
}

fn is_of_category(action: &Action) -> bool {
    matches!(
        action.step,
        Step::CreateCategory { .. } | Step::SettleCategory(_)
    )
}

fn is_local_settle(action: &Action) -> bool {
    action.held.is_none() && matches!(&action.step, Step::Settle(settle) if !settle.sends())
}

/// Returns why a step is not done after a failed read or write of one article, and counts a server error. The articles
/// behind it do not wait for a service that is unable to read or to store it, unless several fail.
fn fail_one_article(error: ServiceError, state: &mut ApplyState<'_>) -> NotDone {
    if error.kind == ErrorKind::NotFound {
        return vanished();
    }
    if error.is_server_error() {
        let is_last_straw = state.observed.service.count_server_error();
        // The step itself still counts as to be sent.
        if !is_last_straw && state.to_send > 1 {
            return NotDone::Unsafe(error.to_string());
        }
    }
    failed(error)
}

/// Returns why a step is not done after a service error, for one article or for all requests.
fn failed(error: ServiceError) -> NotDone {
    if error.stops_all() {
        return NotDone::Stopped(Stop::of(error));
    }
    match error.kind {
        ErrorKind::NotFound => {
            NotDone::Retry("the service says that it is not there any more".to_owned())
        }
        // The response is not the service's: a proxy may stand between.
        ErrorKind::Unreadable => NotDone::Unsafe(error.to_string()),
        ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::Refused
        | ErrorKind::RateLimited { .. }
        | ErrorKind::BudgetSpent { .. }
        | ErrorKind::Unavailable { .. }
        | ErrorKind::Closed
        | ErrorKind::TooLarge => NotDone::Failed(error.to_string()),
    }
}
