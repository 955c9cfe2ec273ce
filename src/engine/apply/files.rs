//! The changes of a plan in the mirror: files written, moved, brought back and removed.
//!
//! Many files go in batches: stage all, make them durable, rename all, make the names durable, record. A few files are
//! made durable one by one, which is quicker (`engine::journal`).

use super::delete::{is_approved, rows_when_deleted};
use super::record::{event_of, row_after, scanned_stamp};
use super::render::{Rendered, rendered};
use super::{ApplyState, NotDone, StepResult, forget_refusals_and_approvals, report_step};
use crate::engine::form::{MAX_FILE, says};
use crate::engine::journal::{FileChange, Journal, MAX_SYNCED_SINGLY};
use crate::engine::ports::{Teller, begin_phase, report_done};
use crate::mirror::disk::{At, Disk, Durability};
use crate::mirror::document::Document;
use crate::model::{ArticleId, KnownFile, Place, Side, Stamp, Version};
use crate::reconcile::plan::{Action, Settle, Step};
use crate::state::store::HistoryEntry;
use crate::state::{RowChange, SeenVersion};

/// Files in one batch.
const BATCH: usize = 2048;

/// The file of one action, from its staging to its row.
struct FileStep<'a> {
    action: &'a Action,
    settle: &'a Settle,
    /// The file that is replaced.
    old: Option<(KnownFile, Vec<u8>)>,
    change: Option<FileChange>,
    /// The stamp of a file that stays as it is.
    stamp: Option<Stamp>,
    /// The stamp of the file at its place, if the file is written or compared.
    outcome: Result<Option<Stamp>, NotDone>,
}

/// Carries out the next `total` actions, which only change the mirror.
pub(super) fn settle_files<D: Disk>(
    journal: &mut Journal<'_, D>,
    teller: &Teller,
    actions: &mut impl Iterator<Item = Action>,
    total: usize,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    if total > MAX_SYNCED_SINGLY {
        begin_phase(teller, "writing files", Some(total), 0);
    }
    for start in (0..total).step_by(BATCH) {
        let end = total.min(start + BATCH);
        let batch: Vec<Action> = actions.take(end - start).collect();
        settle_batch(journal, teller, &batch, total > MAX_SYNCED_SINGLY, state)?;
        report_done(teller, end);
    }
    Ok(())
}

/// Changes the file of an action that also sends.
pub(super) fn settle_first_half<D: Disk>(
    journal: &mut Journal<'_, D>,
    action: &Action,
    settle: &Settle,
    state: &mut ApplyState<'_>,
) -> Result<(), NotDone> {
    let mut settle = settle.clone();
    settle.send.clear();
    settle.send_enabled = None;
    let mut step = prepare(journal, action, &settle, Durability::Now, state)?;
    carry_out(journal, std::slice::from_mut(&mut step), false, state)?;
    // A save within the same clock tick keeps the stamp.
    state.observed.mirror.racy.extend(step.outcome?);
    Ok(())
}

fn settle_batch<D: Disk>(
    journal: &mut Journal<'_, D>,
    teller: &Teller,
    actions: &[Action],
    many: bool,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    let durability = if many {
        Durability::Later
    } else {
        Durability::Now
    };
    let mut steps = Vec::with_capacity(actions.len());
    for action in actions {
        let Step::Settle(settle) = &action.step else {
            continue;
        };
        if let Some((status, reason)) = state.obstacles.of(action) {
            state.say(action, status, Some(reason));
            continue;
        }
        let step = prepare(journal, action, settle, durability, state)?;
        if let Err(why) = &step.outcome {
            state.obstacles.note(why);
        }
        steps.push(step);
    }
    carry_out(journal, &mut steps, true, state)?;
    let done = steps.iter().filter(|step| step.outcome.is_ok());
    let done: Vec<&Action> = done.map(|step| step.action).collect();
    forget_refusals_and_approvals(journal.store, &done)?;
    for step in steps {
        report_step(teller, step.action, step.outcome.map(|_stamp| None), state)?;
    }
    Ok(())
}

fn prepare<'a, D: Disk>(
    journal: &mut Journal<'_, D>,
    action: &'a Action,
    settle: &'a Settle,
    durability: Durability,
    state: &ApplyState<'_>,
) -> anyhow::Result<FileStep<'a>> {
    let mut step = FileStep {
        action,
        settle,
        old: None,
        change: None,
        stamp: None,
        outcome: Ok(None),
    };
    if !settle.touches_file() {
        step.stamp = scanned_stamp(&settle.to, state.observed, journal.store.now());
        return Ok(step);
    }
    match stage(journal, &mut step, durability, state) {
        Err(NotDone::Broken(error)) => return Err(error),
        outcome => step.outcome = outcome,
    }
    Ok(step)
}

/// Stages the new file of a step, unless it equals the present one, whose stamp is returned.
fn stage<D: Disk>(
    journal: &mut Journal<'_, D>,
    step: &mut FileStep<'_>,
    durability: Durability,
    state: &ApplyState<'_>,
) -> Result<Option<Stamp>, NotDone> {
    let settle = step.settle;
    let Rendered { bytes, old } = rendered(journal, settle, state)?;
    let moves = settle.from().filter(|from| **from != settle.to);
    let same = moves.is_none() && old.as_ref().is_some_and(|(_, had)| *had == bytes);
    let known = old.as_ref().map(|(known, _)| *known);
    step.old = old;
    if let Some(known) = known.filter(|_| same) {
        // With the scanned stamp, the next look reads a file that was saved since, and stores it in the history.
        step.stamp = scanned_stamp(&settle.to, state.observed, journal.store.now());
        return Ok(Some(known.stamp));
    }
    let over = known.filter(|_| moves.is_none());
    let mut change = journal.stage(&settle.to, &bytes, over, moves, durability)??;
    change.file.leaves = moves.cloned().zip(known);
    step.change = Some(change);
    Ok(None)
}

/// Changes the files, and records the rows. The first half of an action stores only its row; the whole action is logged
/// later.
fn carry_out<D: Disk>(
    journal: &mut Journal<'_, D>,
    steps: &mut [FileStep<'_>],
    whole: bool,
    state: &mut ApplyState<'_>,
) -> anyhow::Result<()> {
    let (mut touched, mut changes) = (Vec::new(), Vec::new());
    // Rows without a change of a file.
    let mut alone = Vec::new();
    let is_alone = |step: &&mut FileStep<'_>| step.change.is_none() && step.outcome.is_ok();
    let kept: Vec<_> = steps.iter_mut().filter(is_alone).collect();
    let places: Vec<&Place> = kept.iter().map(|step| &step.settle.to).collect();
    if let Err(error) = journal.sync_files(&places) {
        for step in kept {
            step.outcome = Err((&error).into());
        }
    }
    for (index, step) in steps.iter_mut().enumerate() {
        if step.outcome.is_err() {
            continue;
        }
        let rows = step.rows(whole, state);
        if let Some(mut change) = step.change.take() {
            touched.push(index);
            change.history = step.replaced();
            change.rows = rows;
            change.matches_row = step.is_agreed();
            changes.push(change);
            continue;
        }
        alone.extend(rows);
    }
    let done = journal.change_files(&changes)?;
    // After a kill here, the next plan has these rows again.
    if !alone.is_empty() {
        journal
            .store
            .write(|tx| alone.iter().try_for_each(|row| tx.apply(row)))?;
    }
    let mut true_rows = alone;
    for ((&index, stamp), change) in touched.iter().zip(done).zip(changes) {
        if stamp.is_ok() {
            true_rows.extend(change.rows);
        }
        steps[index].outcome = stamp.map(Some).map_err(NotDone::from);
    }
    // The base in memory, and the cycle's knowledge of the files.
    for row in true_rows {
        if let RowChange::Article(row) = row {
            state.observed.base.articles.insert(row.id, *row);
        }
    }
    for step in steps {
        if let Ok(Some(stamp)) = step.outcome {
            let stamps = &mut state.observed.mirror.stamps;
            stamps.insert(step.settle.to.clone(), stamp);
        }
    }
    Ok(())
}

impl FileStep<'_> {
    /// Returns the rows that become true with the file.
    fn rows(&self, whole: bool, state: &ApplyState<'_>) -> Vec<RowChange> {
        let settle = self.settle;
        let (id, place, remote) = (settle.id, &settle.to, &settle.seen.version);
        let row = row_after(state, settle, self.stamp, false);
        let mut rows = vec![RowChange::Article(Box::new(row))];
        if settle.ends_conflict {
            rows.push(RowChange::NoConflict(id));
        }
        if !whole {
            return rows;
        }
        let cause = self.action.kind.word();
        let mut record = |side, version| {
            let seen = SeenVersion::of_article(id, place, side, cause, version);
            rows.push(RowChange::Version(Box::new(seen)));
        };
        record(Side::Both, remote);
        // If the service rewrites content, or a merge is not sent yet, the file differs.
        if settle.touches_file() && settle.file != *remote {
            record(Side::Local, &settle.file);
        }
        rows.push(event_of(self.action, id));
        rows
    }

    /// Returns whether the file says what the base will say.
    fn is_agreed(&self) -> bool {
        let settle = self.settle;
        settle.file == settle.base_if_unsent && settle.file_flags == settle.base_flags_if_unsent
    }

    /// Returns the version that is about to be replaced.
    fn replaced(&self) -> HistoryEntry {
        let settle = self.settle;
        let (Some((_, bytes)), Some(before)) = (&self.old, &settle.before) else {
            return HistoryEntry::default();
        };
        let seen = SeenVersion::of_article(
            settle.id,
            &before.place,
            Side::Local,
            "replaced",
            &before.version,
        );
        HistoryEntry::of_file(seen, bytes)
    }
}

/// Removes a file whose article is gone; its bytes stay in the history.
pub(super) fn remove_file<D: Disk>(
    journal: &mut Journal<'_, D>,
    action: &Action,
    id: ArticleId,
    place: &Place,
    version: &Version,
    state: &mut ApplyState<'_>,
) -> StepResult {
    let at = At::Folder(&place.folder);
    let content = journal.disk.read(at, &place.file, MAX_FILE)?;
    let unchanged = state.observed.mirror.stamps.get(place) == Some(&content.stamp);
    if !content.whole || !unchanged {
        return Err(NotDone::file_changed());
    }
    let document = Document::parse_leniently(&content.bytes).ok();
    // A racy stamp does not vouch for the scanned content.
    let racy = state.observed.mirror.racy.contains(&content.stamp);
    let holds = |document: &Document| says(document, place, version);
    if racy && !document.as_ref().is_some_and(holds) {
        return Err(NotDone::file_changed());
    }
    let text = document.map_or_else(String::new, |document| document.text().to_owned());
    let approved = is_approved(journal.store, action, state)?;
    let rows = rows_when_deleted(id, Side::Local, place, approved, state);
    // A file from elsewhere may have the id of another service's article.
    let cause = if state.row(id).is_some() {
        "deleted on the service"
    } else {
        "no article had its id"
    };
    let seen = SeenVersion::of_article(id, place, Side::Local, cause, version);
    let mut entry = HistoryEntry::of_file(seen, &content.bytes);
    entry.bodies.push(text);
    let known = KnownFile::of(content.stamp, &content.bytes);
    let mut removal = journal.removal(place, known)?;
    removal.history = entry;
    removal.rows = rows;
    journal.change_file(removal)??;
    state.observed.base.articles.remove(&id);
    Ok(None)
}
