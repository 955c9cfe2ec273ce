//! The facts about a plan's deletions: the earlier ones of the same series, and the articles that they are
//! counted against. Judged in `reconcile::deletions`.

use super::Engine;
use super::open_actions::OpenAction;
use super::settings::CycleRequest;
use crate::engine::observation::Observation;
use crate::model::{Side, Timestamp};
use crate::reconcile::deletions::{Deletions, Earlier, Inventory};
use crate::reconcile::plan::{HoldRule, Plan};
use crate::state::home::Fit;
use std::collections::{BTreeMap, BTreeSet};

/// Deletions within this time are counted together, in milliseconds.
const WINDOW: i64 = 24 * 60 * 60 * 1000;

/// Deletions within so many milliseconds of each other are one series.
const SERIES_GAP: i64 = 60 * 1000;

/// Gathers the facts about a plan's deletions; the default, for a plan without deletions.
pub(super) fn deletions<S, D>(
    engine: &Engine<S, D>,
    plan: &Plan,
    observed: &Observation,
    held: &[OpenAction],
) -> anyhow::Result<Deletions> {
    let store = &engine.store;
    let mut folders: BTreeMap<Side, BTreeSet<&str>> = BTreeMap::new();
    for action in &plan.actions {
        if let Some(side) = action.deletes() {
            folders.entry(side).or_default().insert(action.folder());
        }
    }
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let mut deletions = Deletions {
        limit: engine.settings.max_deletes,
        allowed: engine.request.allow_deletes,
        articles: observed.base.articles.len(),
        ..Deletions::default()
    };
    if folders.is_empty() {
        return Ok(deletions);
    }
    let mut recent = BTreeMap::new();
    for (side, folders) in folders {
        let now = store.now();
        let mut earlier = Earlier {
            day: number(store.deletions_since(now.before(WINDOW), side)?),
            in_series: 0,
        };
        if let Some(since) = series_begin(now, side, held, &engine.request) {
            earlier.in_series = number(store.deletions_since(since, side)?);
            for folder in folders {
                let count = number(store.deletions_in(folder, since, side)?);
                recent.insert((side, folder.to_owned()), count);
            }
        }
        match side {
            Side::Local => deletions.local = earlier,
            Side::Remote | Side::Both => deletions.remote = earlier,
        }
    }
    let rows = observed.base.articles.values();
    let paired = &observed.paired;
    let is_here = |id| paired.files.contains_key(id) || paired.unknown.contains_key(id);
    // Without a folder, the engine has nothing to compare its state with.
    let fit = engine
        .home
        .as_ref()
        .map(|home| home.fit(store))
        .transpose()?;
    deletions.inventory = Inventory {
        homes: rows.map(|row| (row.id, row.local.category)).collect(),
        no_files: !observed.base.articles.keys().any(is_here),
        recent,
        from_elsewhere: fit == Some(Fit::Elsewhere),
    };
    Ok(deletions)
}

/// Returns the start of the current series of deletions; `None`: the series has only this cycle. A daemon may see one
/// removal in several cycles. A held deletion keeps the series open, for commands as well.
fn series_begin(
    now: Timestamp,
    side: Side,
    held: &[OpenAction],
    request: &CycleRequest,
) -> Option<Timestamp> {
    let since = held
        .iter()
        .filter(|held| held.rule.is_some_and(HoldRule::holds_deletions) && held.side == side)
        .map(|held| held.since)
        .min();
    let begin = match since {
        Some(since) => since.min(now),
        None if request.is_background => now,
        None => return None,
    };
    Some(begin.before(SERIES_GAP))
}
