//! Open matters: conflicts, actions that are held, refused or failed, and articles that readers do not see.

use super::{Change, Open};
use crate::engine::facts::is_refusal_fresh;
use crate::engine::mirror_view::MirrorView;
use crate::engine::open_actions;
use crate::model::base::{ConflictRow, IndexRow, Visibility};
use crate::model::path::quoted;
use crate::model::{ArticleId, Side};
use crate::reconcile::guard::not_again;
use crate::reconcile::plan::{HoldRule, Problem};
use crate::reconcile::snapshot::Base;
use crate::reconcile::{
    has_lost_copy, place_in_conflict, removed_in_conflict, ways_without_article,
};
use crate::state::Target;
use crate::state::store::Store;
use std::collections::BTreeSet;

/// Conflicts that stand: one whose copy a person deleted is settled with the next cycle.
pub(super) fn open_conflicts(view: &MirrorView) -> Vec<Open> {
    let (base, local, paired) = (&view.base, &view.local, &view.paired);
    let stands = |row: &ConflictRow| row.remote.is_none() || !has_lost_copy(local, row);
    base.conflicts
        .values()
        .filter(|row| stands(row))
        .map(|row| {
            let file = paired.files.get(&row.id);
            let place = file.map_or_else(|| place_in_conflict(base, row), |file| &file.place);
            let path = place.to_string();
            let reason = match (view.has_lost_file(row), &row.remote) {
                (false, _) => format!("{}; {}", row.reason, ways_out(base, row, &path)),
                (true, Some(_)) => removed_in_conflict(place),
                (true, None) => format!(
                    "gone from both sides, and the next sync drops the conflict; `kbsync restore {}` brings the file \
                     back",
                    quoted(&path)
                ),
            };
            Open {
                path,
                id: Some(row.id),
                reason,
                since: Some(row.at.to_rfc3339()),
                ..Open::default()
            }
        })
        .collect()
}

/// Returns how a conflict whose file is there can be settled.
fn ways_out(base: &Base, row: &ConflictRow, path: &str) -> String {
    match row.copy.as_ref().filter(|_| row.remote.is_some()) {
        Some(copy) => format!(
            "`kbsync resolve {}` settles it, or edit the file and delete {copy}",
            quoted(path)
        ),
        None => ways_without_article(path, base.articles.contains_key(&row.id)),
    }
}

/// Returns the actions that the last cycle held, and those that the service refused.
pub(super) fn held(store: &Store, changes: &[Change]) -> anyhow::Result<Vec<Open>> {
    let now = store.now();
    let mut open: Vec<Open> = open_actions::held(store)?
        .into_iter()
        .filter(|held| held.rule != Some(HoldRule::Refused))
        .map(|held| Open {
            path: held.path,
            id: held.id,
            action: Some(held.action),
            side: Some(held.side),
            reason: held.reason,
            since: Some(held.since.to_rfc3339()),
        })
        .collect();
    let paths: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    for parked in store.parked()?.into_values() {
        let rest = parked.key.split_once(' ').map_or("", |(_, rest)| rest);
        let id = rest.parse::<ArticleId>().ok();
        let path = match id.map(|id| store.article(id)).transpose()?.flatten() {
            Some(row) => row.place.to_string(),
            None => rest.to_owned(),
        };
        let told = open.iter().any(|open| open.path == path);
        if is_refusal_fresh(parked.at, now) && paths.contains(path.as_str()) && !told {
            open.push(Open {
                path,
                id,
                side: Some(Side::Remote),
                reason: not_again(&format!("the service refused it ({})", parked.reason)),
                since: Some(parked.at.to_rfc3339()),
                ..Open::default()
            });
        }
    }
    Ok(open)
}

/// Returns the actions that failed when they were last tried.
pub(super) fn failed(store: &Store) -> anyhow::Result<Vec<Problem>> {
    let failed = open_actions::failed(store)?.into_iter();
    Ok(failed
        .map(|failed| Problem {
            path: failed.path,
            id: failed.id,
            message: format!(
                "{} failed: {}; the next sync tries again",
                failed.action.verb(),
                failed.reason
            ),
        })
        .collect())
}

/// Articles that readers do not see. A deleted one is not hidden: what waits because of it is listed elsewhere.
pub(super) fn invisible(store: &Store) -> anyhow::Result<Vec<Open>> {
    let attempts = store.backoff()?;
    let why = |row: &IndexRow| match row.visibility {
        Visibility::Published | Visibility::Gone => None,
        Visibility::Unpublished if row.flags.draft == Some(true) => Some("a draft"),
        Visibility::Unpublished => Some("disabled"),
        Visibility::NotVisible => Some("left the listing, and nothing said why"),
    };
    let rows = store.hidden_articles()?.into_iter();
    Ok(rows
        .filter_map(|row| {
            Some(Open {
                path: row.place.to_string(),
                id: Some(row.id),
                reason: why(&row)?.to_owned(),
                since: attempts
                    .get(&Target::Article(row.id))
                    .map(|attempt| attempt.last_asked.to_rfc3339()),
                ..Open::default()
            })
        })
        .collect())
}
