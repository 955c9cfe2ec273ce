//! Open matters between two cycles: held and failed actions, and articles that a restore has still to bring back. They
//! are stored, so that `kbsync status` needs no requests.
//!
//! - Held and failed actions are stored at the end of a cycle. A cycle over a part, or in one direction, says nothing
//!   about the rest: actions outside it stay held or failed.
//! - An interrupted restore, or a refused file, leaves articles without files. Such an absence is no removal by a
//!   person: while the articles are stored here, none is deleted on the service (failures row 40).

use crate::engine::observation::{Extent, Observation};
use crate::engine::report::{Line, Report, Status};
use crate::engine::settings::{CycleRequest, InMotion, Settings};
use crate::model::{ArticleId, Digest, Place, Side, Timestamp};
use crate::reconcile::plan::{HoldRule, Kind};
use crate::reconcile::snapshot::Direction;
use crate::state::StateResult;
use crate::state::store::Store;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The kind of the actions that are held.
const HELD: &str = "held";

/// The kind of the actions that failed.
const FAILED: &str = "failed";

/// A held action, or a failed one that is tried again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct OpenAction {
    /// The path in the mirror.
    pub(super) path: String,
    /// The article, once it has an id.
    pub(super) id: Option<ArticleId>,
    /// The word for it.
    pub(super) action: Kind,
    /// The side that it would change.
    pub(super) side: Side,
    /// The reason, and the remedy.
    pub(super) reason: String,
    /// The guard that holds it.
    pub(super) rule: Option<HoldRule>,
    /// The time since which it is held.
    pub(super) since: Timestamp,
    /// The fingerprint of the action; `None`: an earlier version of kbsync stored the row.
    #[serde(default)]
    pub(super) fingerprint: Option<Digest>,
}

/// Open actions by the keys of their rows.
pub(super) type OpenActions = BTreeMap<String, OpenAction>;

impl OpenAction {
    /// The key of its row.
    fn key(&self) -> String {
        self.action.key(self.id, &self.path)
    }

    /// Returns whether a report line is about this action; an article's folder may have been renamed since.
    fn is(&self, line: &Line) -> bool {
        self.is_about(line.id, &line.path) && self.action == line.action
    }

    /// Returns whether the action is about this article or, without an id, this path.
    pub(super) fn is_about(&self, id: Option<ArticleId>, path: &str) -> bool {
        match (self.id, id) {
            (Some(one), Some(other)) => one == other,
            (Some(_) | None, _) => self.path == path,
        }
    }
}

/// Reads the actions that were held at the end of the last cycle.
pub(super) fn held(store: &Store) -> anyhow::Result<Vec<OpenAction>> {
    let rows: OpenActions = store.waiting(HELD)?;
    Ok(rows.into_values().collect())
}

/// Returns the fingerprints of the actions that a person approved.
pub(super) fn approved(store: &Store) -> StateResult<BTreeSet<Digest>> {
    let approvals = store.approvals()?.into_iter();
    Ok(approvals.map(|approval| approval.fingerprint).collect())
}

/// Returns the articles whose actions are held.
pub(super) fn held_articles(store: &Store) -> anyhow::Result<BTreeSet<ArticleId>> {
    let held = held(store)?.into_iter();
    Ok(held.filter_map(|held| held.id).collect())
}

/// Returns the articles whose removal is held.
pub(super) fn held_removals(store: &Store) -> anyhow::Result<BTreeSet<ArticleId>> {
    let held = held(store)?.into_iter();
    let removals = held.filter(|held| held.action == Kind::Delete);
    Ok(removals.filter_map(|held| held.id).collect())
}

/// Reads the actions that had failed at the end of the last cycle. Refused actions have rows of their own.
pub(super) fn failed(store: &Store) -> anyhow::Result<Vec<OpenAction>> {
    let rows: OpenActions = store.waiting(FAILED)?;
    Ok(rows.into_values().collect())
}

/// Counts the held deletions of the whole workspace; a report covers only its cycle's scope.
pub fn held_deletions(store: &Store) -> anyhow::Result<usize> {
    Ok(held_removals(store)?.len())
}

/// Counts the actions that no cycle has reported as held with exactly this content: no person can have seen them.
/// `prefix`: the prefix of the workspace's paths.
///
/// # Errors
///
/// When the state cannot be read.
pub fn count_unreported(store: &Store, prefix: &str, lines: &[Line]) -> anyhow::Result<usize> {
    let held = held(store)?;
    let told = |line: &&Line| {
        let path = line.path.strip_prefix(prefix).unwrap_or(&line.path);
        let mut held = held.iter().filter(|held| held.is_about(line.id, path));
        held.any(|held| held.fingerprint == line.fingerprint)
    };
    Ok(lines.iter().filter(|line| !told(line)).count())
}

/// Returns the rows of held and failed actions after a cycle, by kind: those of its report, and the stored rows of
/// everything that the cycle did not look at. `unknown`: the articles that it could not see.
pub(super) fn open_after(
    store: &Store,
    settings: &Settings,
    request: &CycleRequest,
    report: &Report,
    unknown: &BTreeSet<ArticleId>,
) -> anyhow::Result<[(&'static str, OpenActions); 2]> {
    // Shown conflicts and refused actions have rows of their own.
    let shown: BTreeSet<ArticleId> = store.conflicts()?.into_iter().map(|row| row.id).collect();
    let refused = store.parked()?;
    let (policy, in_motion) = (settings.policy(request), InMotion::new(&request.in_motion));
    let is_looked_at = |open: &OpenAction| {
        let (folder, file) = open.path.split_once('/').unwrap_or((&open.path, ""));
        let place = Place::new(folder, file);
        let in_scope = if file.is_empty() {
            policy.scope.covers_folder(folder)
        } else {
            policy.scope.covers(&place)
        };
        let in_direction = match (request.direction, open.side) {
            (Direction::Both, _) | (Direction::Pull | Direction::Push, Side::Both) => true,
            (Direction::Pull, side) => side == Side::Local,
            (Direction::Push, side) => side == Side::Remote,
        };
        // A skipped action counts as not looked at.
        let mut skipped = report.actions.iter();
        let is_skipped = skipped.any(|line| line.status == Status::Skipped && open.is(line));
        let is_unknown = open.id.is_some_and(|id| unknown.contains(&id));
        in_scope && in_direction && !in_motion.covers(&place) && !is_skipped && !is_unknown
    };
    let after = |kind, status| -> anyhow::Result<(&'static str, OpenActions)> {
        let before: OpenActions = store.waiting(kind)?;
        let lines = report.actions.iter().filter(|line| line.status == status);
        let lines: Vec<&Line> = lines.collect();
        let told = lines.iter().map(|line| {
            let known = before.values().find(|open| open.is(line));
            OpenAction {
                path: line.path.clone(),
                id: line.id,
                action: line.action,
                side: line.side,
                reason: line.reason.clone().unwrap_or_default(),
                rule: line.rule,
                since: known.map_or_else(|| store.now(), |open| open.since),
                // An action that an obstacle held has none of its own.
                fingerprint: line.fingerprint.or(known.and_then(|open| open.fingerprint)),
            }
        });
        let is_told = |open: &OpenAction| lines.iter().any(|line| open.is(line));
        let rest = before
            .values()
            .filter(|open| !is_looked_at(open) && !is_told(open));
        let has_row = |open: &OpenAction| {
            let is_shown = open.id.is_some_and(|id| shown.contains(&id));
            let is_refused = kind == FAILED && refused.contains_key(&open.key());
            is_refused || open.action == Kind::Conflict && is_shown
        };
        let after = told.chain(rest.cloned()).filter(|open| !has_row(open));
        Ok((kind, after.map(|open| (open.key(), open)).collect()))
    };
    Ok([after(HELD, Status::Held)?, after(FAILED, Status::Failed)?])
}

/// The kind of the articles that a restore has still to bring back.
const RESTORING: &str = "restoring";

/// Returns the articles that a restore has still to bring back.
pub(super) fn unfinished(store: &Store) -> anyhow::Result<BTreeSet<ArticleId>> {
    Ok(store.waiting(RESTORING)?.into_values().collect())
}

/// Stores the articles before the first of their files is written.
///
/// # Errors
///
/// When the state cannot be written.
pub fn begin_restore(
    store: &mut Store,
    articles: impl IntoIterator<Item = ArticleId>,
) -> anyhow::Result<()> {
    let mut ids = unfinished(store)?;
    ids.extend(articles);
    put_unfinished(store, &ids)
}

fn put_unfinished(store: &mut Store, ids: &BTreeSet<ArticleId>) -> anyhow::Result<()> {
    let rows = ids.iter().map(|id| (id.to_string(), *id)).collect();
    store.write(|tx| tx.put_waiting(RESTORING, &rows))?;
    Ok(())
}

/// Removes the articles whose files are back, and those that are no longer articles of this workspace.
pub(super) fn forget_restored(store: &mut Store, observed: &Observation) -> anyhow::Result<()> {
    let before = unfinished(store)?;
    let mut left = before.clone();
    left.retain(|id| {
        let is_ours = observed.extent != Extent::All || observed.row(*id).is_some();
        is_ours && !observed.paired.files.contains_key(id)
    });
    if left != before {
        put_unfinished(store, &left)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_row_is_the_one_that_the_step_of_the_schema_makes() {
        let of_path = OpenAction {
            path: "a".to_owned(),
            id: None,
            action: Kind::CreateCategory,
            side: Side::Remote,
            reason: String::new(),
            rule: None,
            since: Timestamp(0),
            fingerprint: None,
        };
        let of_article = OpenAction {
            id: Some(
                "0190c8a2-0000-7000-8000-000000000001"
                    .parse()
                    .expect("an id"),
            ),
            action: Kind::Delete,
            ..of_path.clone()
        };
        for held in [of_path, of_article] {
            let json = serde_json::to_value(&held).expect("JSON");
            let about = json["id"].as_str().or(json["path"].as_str());
            let action = json["action"].as_str().expect("a word");
            assert_eq!(held.key(), format!("{action} {}", about.expect("a name")));
        }
    }
}
