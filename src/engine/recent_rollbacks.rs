//! Articles that go back to older versions, in this plan and in the last cycles. An archive that is unpacked over the
//! mirror makes older files in small batches: the guard counts the batches of an hour as one roll-back.
//!
//! Only the cycles of a daemon add articles to the batches, because a person's command is no accident. The state keeps
//! the list: a restart does not end the roll-back.

use super::observation::Observation;
use super::open_actions;
use super::report::{Report, Status};
use crate::model::{ArticleId, Side, Timestamp, Version};
use crate::reconcile::guard::Rollbacks;
use crate::reconcile::plan::{HoldRule, Settle};
use crate::state::store::Store;
use std::collections::BTreeMap;

/// The kind of the articles whose files went back to older versions.
const GONE_BACK: &str = "gone_back";

/// The time in which batches are counted as one roll-back, in milliseconds.
const RECENT: i64 = 60 * 60 * 1000;

/// Finds the articles that the plan takes back to an older version on either side.
pub(super) fn rollbacks<'p>(
    store: &Store,
    settled: impl Iterator<Item = &'p Settle>,
    observed: &Observation,
) -> anyhow::Result<Rollbacks> {
    let mut rollbacks = Rollbacks::default();
    for settle in settled {
        let Some(row) = observed.base.articles.get(&settle.id) else {
            continue;
        };
        let knew = |version: &Version, side| {
            let known = store.knew(settle.id, version.digest(), side);
            known.map(|number| number.is_some())
        };
        if let Some(had) = settle.had().filter(|had| **had != row.local)
            && knew(had, Side::Local)?
        {
            rollbacks.local.insert(settle.id);
        }
        let seen = &settle.seen.version;
        if *seen != row.remote && knew(seen, Side::Remote)? {
            rollbacks.remote.insert(settle.id);
        }
    }
    // A plan without older versions is not held for earlier ones.
    if !rollbacks.local.is_empty() {
        let mut recent = recent(store)?;
        recent.retain(|id, _| !rollbacks.local.contains(id));
        rollbacks.recent_local = recent.len();
    }
    Ok(rollbacks)
}

/// Remembers which articles went back to older versions in this cycle.
pub(super) fn note_rollbacks(
    store: &mut Store,
    observed: &Observation,
    report: &Report,
) -> anyhow::Result<()> {
    if observed.older.is_empty() || !observed.request.is_background {
        return Ok(());
    }
    let sent = report.actions.iter();
    let sent = sent.filter(|line| line.status == Status::Done && line.side != Side::Local);
    let sent = sent.filter_map(|line| line.id);
    let sent = sent.filter(|id| observed.older.contains(id));
    let mut rows = recent(store)?;
    rows.extend(sent.map(|id| (id, store.now())));
    let rows = rows.into_iter();
    let rows = rows.map(|(id, at)| (id.to_string(), (id, at))).collect();
    store.write(|tx| tx.put_waiting(GONE_BACK, &rows))?;
    Ok(())
}

/// Returns the articles whose older files were sent in the last hour; while a roll-back is held, since an hour before
/// it was. A time in the future counts as recent.
fn recent(store: &Store) -> anyhow::Result<BTreeMap<ArticleId, Timestamp>> {
    let now = store.now();
    let rows: BTreeMap<String, (ArticleId, Timestamp)> = store.waiting(GONE_BACK)?;
    let held = open_actions::held(store)?;
    let held = held.iter();
    let held = held
        .filter(|held| held.rule == Some(HoldRule::MassRollback) && held.side != Side::Local)
        .map(|held| held.since);
    let begin = held.min().map_or(now, |since| since.min(now));
    let begin = begin.before(RECENT);
    let rows = rows.into_values();
    Ok(rows.filter(|(_, at)| *at >= begin).collect())
}
