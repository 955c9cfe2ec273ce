//! Files that went back to older versions in the last cycles. An archive that is unpacked over the mirror makes them
//! in small batches: the guard counts the batches as one roll-back.
//!
//! The roll-back is over when nothing is held for it any more and a minute has passed. Until then its articles count in
//! each plan, that of `kbsync approve` included. Only the cycles of a daemon add articles, because a person's command is
//! no accident. The state keeps the list: a restart does not end the roll-back.

use super::observation::Observation;
use super::open_actions;
use super::report::{Report, Status};
use crate::engine::keys::GONE_BACK;
use crate::model::{ArticleId, Side, Timestamp};
use crate::reconcile::plan::HoldRule;
use crate::state::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// The longest time between two cycles of one roll-back, in milliseconds.
const CLOSELY: u64 = 60 * 1000;

/// Returns how many articles went back to older versions before this plan, in the same roll-back.
pub(super) fn count_recent_rollbacks(
    store: &Store,
    now_older: &BTreeSet<ArticleId>,
) -> anyhow::Result<usize> {
    let now = store.now();
    // A plan without older versions is not held for earlier ones.
    if now_older.is_empty() {
        return Ok(0);
    }
    let goes_on = is_held_back(store)?;
    let gone_back = gone_back(store)?;
    Ok(gone_back
        .into_iter()
        .filter(|(id, at)| (goes_on || is_close(*at, now)) && !now_older.contains(id))
        .count())
}

/// Remembers which articles went back to older versions in this cycle, and forgets a roll-back that is over. The
/// held actions of the cycle have to be stored before.
pub(super) fn note_rollbacks(
    store: &mut Store,
    observed: &Observation,
    report: &Report,
) -> anyhow::Result<()> {
    let now = store.now();
    let (before, older) = (gone_back(store)?, &observed.older);
    if before.is_empty() && older.is_empty() {
        return Ok(());
    }
    let sent = report
        .actions
        .iter()
        .filter(|line| line.status == Status::Done && line.side != Side::Local)
        .filter_map(|line| line.id)
        .filter(|id| observed.request.is_background && older.contains(id));
    let mut after = before.clone();
    if !is_held_back(store)? {
        after.retain(|_, at| is_close(*at, now));
    }
    after.extend(sent.map(|id| (id, now)));
    if after == before {
        return Ok(());
    }
    let rows = after.into_iter();
    let rows = rows.map(|(id, at)| (id.to_string(), (id, at))).collect();
    store.write(|tx| tx.put_waiting(GONE_BACK, &rows))?;
    Ok(())
}

/// Reads which articles' files went back to older versions, and when that was sent.
fn gone_back(store: &Store) -> anyhow::Result<BTreeMap<ArticleId, Timestamp>> {
    Ok(store.waiting(GONE_BACK)?.into_values().collect())
}

/// Returns whether files that went back still wait for a person.
fn is_held_back(store: &Store) -> anyhow::Result<bool> {
    Ok(open_actions::held(store)?
        .iter()
        .any(|held| held.rule == Some(HoldRule::MassRollback) && held.side != Side::Local))
}

/// Returns whether a moment is less than a minute ago. Of a clock that went back nothing can be told: it counts.
fn is_close(at: Timestamp, now: Timestamp) -> bool {
    now <= at || now.millis_since(at) < CLOSELY
}
