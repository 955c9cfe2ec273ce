//! Files that went back to older versions in the last cycles. An archive that is unpacked over the mirror makes them
//! in small batches: the guard counts the batches as one roll-back.
//!
//! The roll-back is over when nothing is held for it any more and a minute has passed. Until then its articles count in
//! each plan, that of `kbsync approve` included. Only the cycles of a daemon add articles, because a person's command is
//! no accident. The state keeps the list: a restart does not end the roll-back.

use super::report::{Report, Status};
use super::settings::Request;
use super::waiting;
use crate::engine::keys::GONE_BACK;
use crate::model::{ArticleId, Side, Timestamp};
use crate::reconcile::plan::HoldRule;
use crate::state::store::Store;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The longest time between two cycles of one roll-back, in milliseconds.
const CLOSELY: u64 = 60 * 1000;

/// Articles whose files went back to older versions, and when that was sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct GoneBack(BTreeMap<ArticleId, Timestamp>);

/// Returns how many articles went back to older versions before this plan, in the same roll-back.
pub(super) fn lately_older(
    store: &Store,
    now: Timestamp,
    now_older: &BTreeSet<ArticleId>,
) -> anyhow::Result<usize> {
    // A plan without older versions is not held for earlier ones.
    if now_older.is_empty() {
        return Ok(0);
    }
    let goes_on = is_held_back(store)?;
    let gone_back = gone_back(store)?.0;
    Ok(gone_back
        .into_iter()
        .filter(|(id, at)| (goes_on || is_close(*at, now)) && !now_older.contains(id))
        .count())
}

/// Remembers which articles went back to older versions in this cycle, and forgets a roll-back that is over. The
/// held actions of the cycle have to be stored before.
pub(super) fn note_gone_back(
    store: &mut Store,
    now: Timestamp,
    older: &BTreeSet<ArticleId>,
    request: &Request,
    report: &Report,
) -> anyhow::Result<()> {
    let before = gone_back(store)?;
    if before.0.is_empty() && older.is_empty() {
        return Ok(());
    }
    let sent = report
        .actions
        .iter()
        .filter(|line| line.status == Status::Done && line.side != Side::Local)
        .filter_map(|line| line.id)
        .filter(|id| request.patient && older.contains(id));
    let mut after = before.clone();
    if !is_held_back(store)? {
        after.0.retain(|_, at| is_close(*at, now));
    }
    after.0.extend(sent.map(|id| (id, now)));
    if after == before {
        return Ok(());
    }
    if after.0.is_empty() {
        store.write(now, |tx| tx.remove_meta(GONE_BACK))?;
        return Ok(());
    }
    let text = serde_json::to_string(&after)?;
    store.write(now, |tx| tx.set_meta(GONE_BACK, &text))?;
    Ok(())
}

fn gone_back(store: &Store) -> anyhow::Result<GoneBack> {
    let stored = store.meta(GONE_BACK)?;
    // A later version may write the list in another form: then it begins anew.
    Ok(stored
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default())
}

/// Returns whether files that went back still wait for a person.
fn is_held_back(store: &Store) -> anyhow::Result<bool> {
    Ok(waiting::held(store)?
        .iter()
        .any(|held| held.rule == Some(HoldRule::MassRollback) && held.side != Side::Local))
}

/// Returns whether a moment is less than a minute ago. Of a clock that went back nothing can be told: it counts.
fn is_close(at: Timestamp, now: Timestamp) -> bool {
    now <= at || now.millis_since(at) < CLOSELY
}
