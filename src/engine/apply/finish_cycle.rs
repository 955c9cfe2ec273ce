//! The end of a cycle: stores refreshed stamps, figures, times, open matters and the validator of the listing.

use super::record::trusted_scan;
use crate::engine::Engine;
use crate::engine::backoff::attempts_after;
use crate::engine::listing::{LAST_POLL, NOT_FETCHED, VALIDATOR};
use crate::engine::observation::{Extent, IGNORE_RULES, MIRROR_READ, Observation};
use crate::engine::open_actions::open_after;
use crate::engine::report::{Report, Status};
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, CategoryRow};
use crate::model::path::fold;
use crate::model::{ArticleId, Place, Side, Timestamp};
use crate::reconcile::base_is_current;
use crate::reconcile::plan::{Key, Kind, Outcome, Plan};
use crate::reconcile::snapshot::Remote;
use crate::service::Service;
use crate::state::history;
use crate::state::store::Store;
use std::collections::BTreeSet;

/// The facts of a plan that the end of its cycle needs.
pub(in crate::engine) struct PlanSummary {
    /// Whether the state of each key in the plan's scope was known.
    is_decided: bool,
    /// Whether the cycle looked at everything and found nothing to do: if nothing stays open either, from now on the
    /// differences from the index are enough.
    is_quiet: bool,
    /// Whether no article, no article's file and no row of the base changes. A new conflict gets its copy all the same.
    pub(in crate::engine) is_still: bool,
    /// The articles of which this cycle saw nothing: their open actions stay open.
    unknown: BTreeSet<ArticleId>,
}

impl PlanSummary {
    pub(in crate::engine) fn of(plan: &Plan, observed: &Observation) -> Self {
        let records_nothing = plan.records.is_empty() && plan.category_records.is_empty();
        let mut outcomes = plan.outcomes.values();
        let unknown = plan.outcomes.iter().filter_map(|outcome| match outcome {
            (Key::Article(id), Outcome::Unknown) => Some(*id),
            _ => None,
        });
        // A file that is not ready is there.
        let local = &observed.local;
        let with_ids: BTreeSet<ArticleId> =
            local.unknown.iter().filter_map(|file| file.id).collect();
        let is_there = |place: &Place| {
            let names = local.names.get(&place.folder);
            names.is_some_and(|names| names.contains(&fold(&place.file)))
        };
        let unknown = unknown.filter(|id| {
            let row = observed.row(*id);
            !with_ids.contains(id) && !row.is_some_and(|row| is_there(&row.place))
        });
        Self {
            is_decided: !outcomes.any(|one| matches!(one, Outcome::Unknown | Outcome::Excluded)),
            is_quiet: plan.actions.is_empty()
                && records_nothing
                && observed.saw_all()
                && observed.base.articles.values().all(base_is_current),
            is_still: records_nothing && plan.actions.iter().all(|action| action.held.is_some()),
            unknown: unknown.collect(),
        }
    }
}

/// Stores the stamps of files that were read and equal the base, so that they are not read again. Only for a cycle
/// without changes: after a write, a scanned stamp may be that of the replaced file.
pub(in crate::engine) fn refresh_stamps(
    store: &mut Store,
    observed: &Observation,
) -> anyhow::Result<()> {
    let now = store.now();
    let mut rows = Vec::new();
    for (id, file) in &observed.paired.files {
        let stamp = observed.mirror.stamps.get(&file.place);
        let (Some(row), Some(stamp)) = (observed.row(*id), stamp) else {
            continue;
        };
        // A file with a known stamp is assumed to have its id, so a file without an id gets no stamp.
        let same = file.id == Some(*id)
            && file.place == row.place
            && file.version == row.local
            && file.flags == row.file_flags;
        if same && row.stamp != Some(*stamp) {
            let stamp = trusted_scan(*stamp, observed, now);
            rows.extend(stamp.map(|stamp| ArticleRow {
                stamp: Some(stamp),
                ..row.clone()
            }));
        }
    }
    let mut categories = Vec::new();
    for (id, scanned) in &observed.paired.categories {
        let stamp = observed.mirror.category_stamps.get(&scanned.folder);
        let (Some(row), Some(stamp)) = (observed.base.categories.get(id), stamp) else {
            continue;
        };
        // The row of a category that was read gets a new time of reading elsewhere.
        if observed.remote.categories.contains_key(id) {
            continue;
        }
        let same = scanned.id == Some(*id)
            && row.folder.as_ref() == Some(&scanned.folder)
            && scanned.version.as_ref() == Some(&row.local);
        if same && row.stamp != Some(*stamp) {
            let stamp = trusted_scan(*stamp, observed, now);
            categories.extend(stamp.map(|stamp| CategoryRow {
                stamp: Some(stamp),
                ..row.clone()
            }));
        }
    }
    if rows.is_empty() && categories.is_empty() {
        return Ok(());
    }
    store.write(|tx| {
        rows.iter().try_for_each(|row| tx.put_article(row))?;
        categories.iter().try_for_each(|row| tx.put_category(row))
    })?;
    Ok(())
}

/// Stores a cycle's figures, times and open matters, and prunes the history.
pub(in crate::engine) fn finish_cycle<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    observed: &Observation,
    report: &Report,
    summary: &PlanSummary,
    ended_early: bool,
) -> anyhow::Result<()> {
    let now = engine.store.now();
    let attempts = attempts_after(&engine.store, &mut engine.gathered.answers, observed)?;
    let read = category_read_times(&engine.store, observed, report)?;
    let figures = std::mem::take(&mut engine.gathered.figures);
    let is_done = summary.is_decided
        && !ended_early
        && report.problems.is_empty()
        && report
            .actions
            .iter()
            .all(|line| line.status == Status::Done);
    let mut sides = report.actions.iter().map(|line| line.side);
    let has_listing = observed.extent != Extent::Paths;
    let clean = is_done
        && has_listing
        && !observed.service.validator_unsafe
        && engine.request.scope.is_empty()
        && engine.request.in_motion.paths.is_empty()
        // If the service derives the ETag from the content and a colleague undoes our write, the old ETag matches
        // again, and would hide that change.
        && sides.all(|side| side == Side::Local);
    let validator = observed.service.validator.as_ref().filter(|_| clean);
    let open = open_after(
        &engine.store,
        &engine.settings,
        &engine.request,
        report,
        &summary.unknown,
    )?;
    let ended = ended_conflicts(observed);
    let mark = engine.settings.rest_mark(&observed.mirror.layout);
    let rules = observed.mirror.layout.text();
    let known_rules: Option<String> = engine.store.value(IGNORE_RULES)?;
    let memory = engine.gathered.memory.as_ref();
    engine.store.write(|tx| {
        ended.iter().try_for_each(|id| tx.remove_conflict(*id))?;
        read.iter().try_for_each(|row| tx.put_category(row))?;
        for (target, attempt) in &attempts {
            match attempt {
                Some(attempt) => tx.put_attempt(*target, attempt)?,
                None => tx.remove_attempt(*target)?,
            }
        }
        figures
            .iter()
            .try_for_each(|(id, row)| tx.put_figures(*id, row))?;
        match validator {
            Some(_) => tx.put_value(VALIDATOR, validator)?,
            // A quiet cycle with a 304 keeps the validator. After a listing without an ETag it is removed: the listing
            // may return to the content of the old ETag.
            None if clean && observed.service.not_modified => {}
            // There was neither a listing nor a change.
            None if !has_listing && report.actions.is_empty() => {}
            None => tx.remove_meta(VALIDATOR)?,
        }
        for (kind, rows) in &open {
            tx.put_waiting(kind, rows)?;
        }
        if has_listing && known_rules.as_deref() != Some(rules) {
            tx.put_value(IGNORE_RULES, Some(&rules))?;
        }
        if observed.is_first_full_read() {
            tx.put_value(MIRROR_READ, Some(&now))?;
        }
        if has_listing {
            tx.put_value(LAST_POLL, Some(&now))?;
            let unread = Some(&observed.service.not_fetched).filter(|unread| **unread > 0);
            tx.put_value(NOT_FETCHED, unread)?;
        }
        if let (Some(memory), Some(entries)) = (memory, &observed.service.entries) {
            memory.store(entries, tx)?;
        }
        match observed.extent {
            // A look at a few articles says nothing about the rest.
            Extent::Differences | Extent::Paths if is_done => Ok(()),
            Extent::All if is_done && summary.is_quiet => tx.rest(&mark),
            Extent::All | Extent::Differences | Extent::Paths => tx.end_rest(),
        }
    })?;
    history::prune(
        &mut engine.store,
        engine.settings.keep_days,
        engine.settings.keep_versions,
        now,
    )?;
    Ok(())
}

/// Returns the rows of the categories that were read, with new times of reading. A settled category counts as read now.
/// If a change is left to the next cycle, the category counts as unread; otherwise its time stays.
fn category_read_times(
    store: &Store,
    observed: &Observation,
    report: &Report,
) -> anyhow::Result<Vec<CategoryRow>> {
    let put_off = report
        .actions
        .iter()
        .any(|line| line.action == Kind::UpdateCategory && line.status == Status::Skipped);
    let mut rows = Vec::new();
    for (id, (version, _)) in &observed.remote.categories {
        let Some(row) = store.category(*id)? else {
            continue;
        };
        let is_settled = *version == row.remote || !observed.paired.categories.contains_key(id);
        let read_at = match (is_settled, put_off) {
            (true, _) => store.now(),
            (false, true) => Timestamp::default(),
            (false, false) => continue,
        };
        rows.push(CategoryRow { read_at, ..row });
    }
    Ok(rows)
}

/// Returns the conflicts of articles that are gone from both sides: there is no version left to choose.
fn ended_conflicts(observed: &Observation) -> Vec<ArticleId> {
    let is_left = |id: &ArticleId| {
        let remote = observed.remote.articles.get(id);
        observed.row(*id).is_some()
            || observed.paired.files.contains_key(id)
            || observed.paired.unknown.contains_key(id)
            || remote.is_some_and(|entry| !matches!(entry, Remote::Gone))
    };
    let conflicts = observed.base.conflicts.values();
    conflicts
        .filter(|row| observed.is_complete() && row.copy.is_none() && !is_left(&row.id))
        .map(|row| row.id)
        .collect()
}
