//! The first sync of a state: its binding to the mirror, and the question about new categories.
//!
//! The first writing cycle binds an empty state to its mirror. Any other state is bound at the end of its first
//! complete cycle. Until then each cycle holds the deletions of a state from elsewhere, and held deletions stay held
//! after the binding ([`HoldRule::ForeignState`]).

use crate::engine::observation::{MIRROR_READ, Observation};
use crate::engine::open_actions::OpenAction;
use crate::reconcile::plan::{HoldRule, Plan, Step};
use crate::state::home::Home;
use crate::state::store::Store;

/// The state's key for its first sync: [`OPEN`] until a complete cycle has ended, then [`OVER`]. States of an earlier
/// kbsync have no such key.
const FIRST_SYNC: &str = "first_sync";

const OPEN: &str = "open";

const OVER: &str = "over";

/// Prepares a state without any rows: binds the state to its mirror, and opens its first sync.
pub(super) fn begin_state(store: &mut Store, home: Option<&Home>) -> anyhow::Result<()> {
    let begun = store.meta(FIRST_SYNC)?.is_some() || store.meta(MIRROR_READ)?.is_some();
    if begun || store.article_count()? > 0 || !store.categories()?.is_empty() {
        return Ok(());
    }
    if let Some(home) = home {
        home.bind(store, store.now())?;
    }
    store.write(|tx| tx.set_meta(FIRST_SYNC, OPEN))?;
    Ok(())
}

/// Returns whether a person approves each new category. Every sync asks until a complete cycle has ended. Later syncs ask
/// while a new category of the first sync is held: the user may have renamed the folder since.
pub(super) fn asks_for_categories(
    store: &Store,
    plan: &Plan,
    observed: &Observation,
    held: &[OpenAction],
) -> anyhow::Result<bool> {
    let creates = |step: &Step| matches!(step, Step::CreateCategory { .. });
    if !observed.request.asks_for_categories
        || !plan.actions.iter().any(|action| creates(&action.step))
    {
        return Ok(false);
    }
    let base = &observed.base;
    // A dry run may find a state that no cycle has begun.
    let untouched = observed.local.first && base.articles.is_empty() && base.categories.is_empty();
    let first = untouched || store.meta(FIRST_SYNC)?.as_deref() == Some(OPEN);
    let waits = held
        .iter()
        .any(|held| held.rule == Some(HoldRule::NewCategory));
    Ok(first || waits)
}

/// After a complete cycle, ends the first sync and binds the state to the mirror: the guards have held its deletions by
/// then.
pub(super) fn bind_home(
    store: &mut Store,
    home: Option<&Home>,
    observed: &Observation,
) -> anyhow::Result<()> {
    if !observed.request.is_whole() || !observed.is_complete() {
        return Ok(());
    }
    if store.meta(FIRST_SYNC)?.as_deref() == Some(OPEN) {
        store.write(|tx| tx.set_meta(FIRST_SYNC, OVER))?;
    }
    if let Some(home) = home {
        home.bind(store, store.now())?;
    }
    Ok(())
}
