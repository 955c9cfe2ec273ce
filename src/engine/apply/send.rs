//! PUT: sends the changed fields of one article, and records the response.

use super::files::settle_first_half;
use super::guard_read::{changed_meanwhile, ensure_seen};
use super::record::{event_of, row_as_scanned};
use super::{ApplyState, NotDone, StepResult, failed, park_or_fail};
use crate::engine::Engine;
use crate::engine::observation::SeenAt;
use crate::engine::pending::{
    MAX_RETRIES, PENDING, Recorded, SendOutcome, end_request, is_pending, may_repeat, send_request,
    store_request, wait_to_repeat,
};
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Digest, Revision, Side, Timestamp};
use crate::reconcile::plan::{Action, Settle};
use crate::reconcile::snapshot::Seen;
use crate::service::Service;
use crate::state::{PutOrDelete, RowChange, SeenVersion, Update};

/// Writes the file if needed, then sends: a merged article is pushed in the same cycle.
pub(super) async fn settle_and_send<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    settle: &Settle,
    state: &mut ApplyState<'_>,
) -> StepResult {
    let settle = Settle {
        file: state.resolved(&settle.file)?,
        ..settle.clone()
    };
    if is_pending(&engine.store, settle.id)? {
        return Err(NotDone::Retry(PENDING.to_owned()));
    }
    if settle.touches_file() {
        settle_first_half(&mut engine.journal(), action, &settle, state)?;
    } else {
        engine.journal().sync_files(&[&settle.to])?;
    }
    send(engine, action, &settle, state).await
}

async fn send<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    settle: &Settle,
    state: &mut ApplyState<'_>,
) -> StepResult {
    let change = |engine: &Engine<S, D>, state: &ApplyState<'_>| {
        let (over, over_revision) = replaced_version(settle, state);
        Ok(PutOrDelete::Put(Update {
            id: settle.id,
            version: settle.file.clone(),
            fields: settle.send.clone(),
            enabled: settle.send_enabled,
            over,
            over_revision,
            rows: rows_when_sent(engine.store.now(), action, settle, state),
        }))
    };
    let sent = send_seen(engine, action, settle.id, &settle.seen, &change, state);
    let Recorded { row, warning } = sent.await?;
    if let Some(row) = row {
        let answers = &mut engine.gathered.answers;
        if row.written.is_none() {
            answers.ask_again(settle.id);
        } else {
            answers.note_as_recorded(settle.id);
        }
        state.observed.base.articles.insert(settle.id, *row);
    }
    let warning = warning.map(|lost| format!("the service keeps less than it was sent: {lost}"));
    Ok(warning.or_else(|| action.note.clone()))
}

/// Makes a request, if nothing prevents it.
type MakeChange<'r, S, D> =
    dyn Fn(&Engine<S, D>, &ApplyState<'_>) -> Result<PutOrDelete, NotDone> + Sync + 'r;

/// Sends a request for a seen article. A request that was not carried out, for lack of budget or of the service, is
/// sent again after another guard read.
pub(super) async fn send_seen<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    action: &Action,
    id: ArticleId,
    seen: &Seen,
    change: &MakeChange<'_, S, D>,
    state: &mut ApplyState<'_>,
) -> Result<Recorded, NotDone> {
    let mut tries = 0;
    loop {
        let request = store_then_read(engine, id, seen, change, state).await?;
        let error = match send_request(engine, &request).await? {
            SendOutcome::Done(recorded) => return Ok(recorded),
            SendOutcome::Changed => return Err(changed_meanwhile()),
            SendOutcome::Pending(error) => return Err(failed(error)),
            SendOutcome::NotAccepted(error) => {
                state.reseen.remove(&id);
                state.observed.service.read_first.insert(id);
                error
            }
            SendOutcome::NotArrived(error) => {
                state.reseen.insert(id, SeenAt::now());
                error
            }
        };
        tries += 1;
        if tries > MAX_RETRIES || !may_repeat(&error) {
            return Err(park_or_fail(&mut engine.store, action, error, state));
        }
        let wait = wait_to_repeat(&engine.service, &*engine.clock, &error, tries);
        wait.await.map_err(failed)?;
    }
}

/// Stores a request, and then makes sure that its article is as seen: nothing slow may come between the guard read and
/// the request. Returns the stored request.
async fn store_then_read<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    id: ArticleId,
    seen: &Seen,
    change: &MakeChange<'_, S, D>,
    state: &mut ApplyState<'_>,
) -> Result<PutOrDelete, NotDone> {
    let request = change(engine, state)?;
    store_request(&mut engine.store, &request)?;
    let last_read = state.reseen.get(&id).copied();
    let new_request = match ensure_seen(engine, id, seen, state).await {
        Ok(()) if state.reseen.get(&id).copied() == last_read => return Ok(request),
        // During the read, a removed file may have come back, or the version may have been saved again, unchanged,
        // under another revision.
        Ok(()) => change(engine, state),
        Err(NotDone::Broken(error)) => return Err(error.into()),
        Err(why) => Err(why),
    };
    if new_request.as_ref().ok() == Some(&request) {
        return new_request;
    }
    end_request(&mut engine.store, id)?;
    if let Ok(new_request) = &new_request {
        store_request(&mut engine.store, new_request)?;
    }
    new_request
}

/// Returns the rows that become true with an update.
fn rows_when_sent(
    now: Timestamp,
    action: &Action,
    settle: &Settle,
    state: &ApplyState<'_>,
) -> Vec<RowChange> {
    // The row of the file as scanned or written; it may have been saved again since.
    let row = row_as_scanned(state, settle, now, true);
    let side = Side::Both;
    let pushed = SeenVersion::of_article(row.id, &row.place, side, "pushed", &settle.file);
    let event = event_of(action, row.id);
    let mut rows = vec![
        RowChange::Article(Box::new(row)),
        RowChange::Version(Box::new(pushed)),
        event,
    ];
    if settle.ends_conflict {
        rows.push(RowChange::NoConflict(settle.id));
    }
    rows
}

/// Returns the version that a PUT replaces: the last seen one.
fn replaced_version(settle: &Settle, state: &ApplyState<'_>) -> (Digest, Revision) {
    let (version, revision) = state.latest.get(&settle.id).map_or_else(
        || (&settle.seen.version, &settle.seen.revision),
        |(version, revision)| (version, revision),
    );
    match state.row(settle.id) {
        // A stale read, from before our own last write: the PUT replaces the result of that write.
        Some(row) if row.has_superseded(version, revision) => {
            let written = row.written.as_ref().unwrap_or(&row.revision);
            (row.remote.digest(), written.clone())
        }
        Some(_) | None => (version.digest(), revision.clone()),
    }
}
