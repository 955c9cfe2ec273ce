//! Held and failed actions are stored, so that `kbsync status` can tell without asking the
//! service.
//!
//! Written at the end of a cycle, and only when it changed. A cycle that looked at a part, or went one way
//! only, says nothing about the rest: what was held there is still held, and what failed there is not done yet.

use super::report::{Line, Report, Status};
use super::settings::CycleRequest;
use crate::engine::in_motion::InMotion;
use crate::engine::keys::{FAILED, HELD};
use crate::engine::settings::Settings;
use crate::model::{ArticleId, Place, Side, Timestamp};
use crate::reconcile::plan::{Action, HoldRule, Kind};
use crate::reconcile::snapshot::Direction;
use crate::state::store::Store;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An action that waits, or failed and is tried again.
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
    /// Which guard holds it.
    pub(super) rule: Option<HoldRule>,
    /// The time since which it is held.
    pub(super) since: Timestamp,
}

/// Rows that wait, by their keys.
pub(super) type OpenActions = BTreeMap<String, OpenAction>;

impl OpenAction {
    /// The key of its row.
    fn key(&self) -> String {
        let id = self.id.map(|id| id.to_string());
        let about = id.as_ref().unwrap_or(&self.path);
        format!("{} {about}", self.action.word())
    }

    /// Returns whether it is the same that waits: an article's folder may have got another name since.
    fn is(&self, id: Option<ArticleId>, path: &str, action: Kind) -> bool {
        self.is_about(id, path) && self.action == action
    }

    /// Returns whether the action is about this article, or about this path.
    pub(super) fn is_about(&self, id: Option<ArticleId>, path: &str) -> bool {
        match (self.id, id) {
            (Some(one), Some(other)) => one == other,
            (Some(_) | None, _) => self.path == path,
        }
    }
}

/// Reads what was held at the end of the last cycle.
pub(super) fn held(store: &Store) -> anyhow::Result<Vec<OpenAction>> {
    let rows: OpenActions = store.waiting(HELD)?;
    Ok(rows.into_values().collect())
}

/// Reads what had failed at the end of the last cycle. What the service refused has rows of its own.
pub(super) fn failed(store: &Store) -> anyhow::Result<Vec<OpenAction>> {
    let rows: OpenActions = store.waiting(FAILED)?;
    Ok(rows.into_values().collect())
}

/// Counts the deletions that wait for a person, wherever they are: a cycle over a part tells of that part alone.
pub fn held_deletions(store: &Store) -> anyhow::Result<usize> {
    let held = held(store)?;
    Ok(held
        .iter()
        .filter(|held| held.action == Kind::Delete)
        .count())
}

/// Counts those of some actions that no cycle has held and told yet: nobody can have seen them.
///
/// # Errors
///
/// When the state cannot be read.
pub fn count_unreported<'a>(
    store: &Store,
    actions: impl IntoIterator<Item = &'a Action>,
) -> anyhow::Result<usize> {
    let held = held(store)?;
    let told = |action: &Action| {
        held.iter()
            .any(|held| held.is(action.id, &action.path, action.kind))
    };
    Ok(actions.into_iter().filter(|action| !told(action)).count())
}

/// Returns the held actions after a cycle; `None`: it is what was held before.
pub(super) fn held_after(
    store: &Store,
    settings: &Settings,
    request: &CycleRequest,
    report: &Report,
) -> anyhow::Result<Option<OpenActions>> {
    let now = store.now();
    let before: OpenActions = store.waiting(HELD)?;
    if before.is_empty() && !report.has(Status::Held) {
        return Ok(None);
    }
    // Conflicts that were shown have rows of their own.
    let shown: BTreeSet<ArticleId> = store.conflicts()?.into_iter().map(|row| row.id).collect();
    let has_row = |id: Option<ArticleId>, action: Kind| {
        action == Kind::Conflict && id.is_some_and(|id| shown.contains(&id))
    };
    let known = before
        .values()
        .filter(|held| !has_row(held.id, held.action));
    let known: Vec<OpenAction> = known.cloned().collect();
    let waits = |line: &&Line| line.status == Status::Held && !has_row(line.id, line.action);
    let lines = report.actions.iter().filter(waits);
    let after = merge_open(settings, &known, lines, request, report, now);
    Ok((after != before).then_some(after))
}

/// Returns the failed actions after a cycle; `None`: they are those that failed before.
pub(super) fn failed_after(
    store: &Store,
    settings: &Settings,
    request: &CycleRequest,
    report: &Report,
) -> anyhow::Result<Option<OpenActions>> {
    let now = store.now();
    let before: OpenActions = store.waiting(FAILED)?;
    if before.is_empty() && !report.has(Status::Failed) {
        return Ok(None);
    }
    let refused: BTreeSet<String> = store
        .parked()?
        .into_values()
        .map(|parked| parked.reason)
        .collect();
    let reason = |line: &Line| line.reason.clone().unwrap_or_default();
    let failed = |line: &&Line| line.status == Status::Failed && !refused.contains(&reason(line));
    let lines = report.actions.iter().filter(failed);
    let known: Vec<OpenAction> = before.values().cloned().collect();
    let after = merge_open(settings, &known, lines, request, report, now);
    Ok((after != before).then_some(after))
}

/// Some lines of a report, with what was remembered of all that the cycle did not look at.
fn merge_open<'l>(
    settings: &Settings,
    before: &[OpenAction],
    lines: impl Iterator<Item = &'l Line>,
    request: &CycleRequest,
    report: &Report,
    now: Timestamp,
) -> OpenActions {
    // What something else stood in the way of was not looked at either.
    let skipped = |held: &OpenAction| {
        let mut lines = report.actions.iter();
        lines
            .any(|line| line.status == Status::Skipped && held.is(line.id, &line.path, line.action))
    };
    let policy = settings.policy(request);
    let in_motion = InMotion::new(&request.in_motion.paths);
    let looked_at = |held: &OpenAction| {
        let (folder, file) = held.path.split_once('/').unwrap_or((&held.path, ""));
        let place = Place::new(folder, file);
        let in_scope = if file.is_empty() {
            policy.covers_folder(folder)
        } else {
            policy.covers(&place)
        } && !in_motion.covers(&place);
        let in_direction = match (request.direction, held.side) {
            (Direction::Both, _) | (Direction::Pull | Direction::Push, Side::Both) => true,
            (Direction::Pull, side) => side == Side::Local,
            (Direction::Push, side) => side == Side::Remote,
        };
        in_scope && in_direction
    };
    let since = |line: &Line| {
        before
            .iter()
            .find(|held| held.is(line.id, &line.path, line.action))
            .map_or(now, |held| held.since)
    };
    let mut after: Vec<OpenAction> = lines
        .map(|line| OpenAction {
            path: line.path.clone(),
            id: line.id,
            action: line.action,
            side: line.side,
            reason: line.reason.clone().unwrap_or_default(),
            rule: line.rule,
            since: since(line),
        })
        .collect();
    let rest: Vec<OpenAction> = before
        .iter()
        .filter(|held| !looked_at(held) || skipped(held))
        .filter(|held| {
            !after
                .iter()
                .any(|new| new.is(held.id, &held.path, held.action))
        })
        .cloned()
        .collect();
    after.extend(rest);
    after.into_iter().map(|held| (held.key(), held)).collect()
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
