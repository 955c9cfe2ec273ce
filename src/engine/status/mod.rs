//! The status of a workspace, without requests: changes in the mirror since both sides agreed, open matters (conflicts;
//! held, refused and failed actions), and articles that readers do not see.
//!
//! Nothing is written and no lock is needed: another process may be running. The JSON is a public interface; the schema
//! is `examples/schema/status.schema.json`.

mod changes;

use crate::engine::facts::REFUSAL_EXPIRES;
use crate::engine::listing::{LAST_POLL, NOT_FETCHED};
use crate::engine::mirror_view::MirrorView;
use crate::engine::open_actions;
use crate::engine::reasons::put_below;
use crate::engine::report::{BudgetLeft, Report, Status as Became};
use crate::engine::settings::Settings;
use crate::mirror::disk::Disk;
use crate::model::base::{ConflictRow, IndexRow, Visibility};
use crate::model::path::quoted;
use crate::model::{ArticleId, Field, Side, Timestamp};
use crate::reconcile::guard::not_again;
use crate::reconcile::plan::{HoldRule, Kind, Problem};
use crate::reconcile::snapshot::Base;
use crate::reconcile::{
    has_lost_copy, place_in_conflict, removed_in_conflict, ways_without_article,
};
use crate::state::Target;
use crate::state::store::Store;
use changes::{changes, changes_behind};
use serde::Serialize;
use std::collections::BTreeSet;

/// The kind of a side's difference from the base.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content changed.
    Modified,
    /// Its place or address changed, perhaps with its content.
    Moved,
    /// It is gone.
    Deleted,
}

impl ChangeKind {
    /// The word as it is printed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "updated",
            Self::Moved => "moved",
            Self::Deleted => "deleted",
        }
    }
}

/// A change since both sides agreed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Change {
    /// The path in the mirror.
    pub path: String,
    /// The article or category, once it has an id.
    pub id: Option<String>,
    /// The kind of the change.
    pub change: ChangeKind,
    /// The fields that changed.
    pub fields: Vec<Field>,
    /// Whether the file has an older version, as after `git checkout`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub older: bool,
    /// The side that changed, if both were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
}

/// An open matter.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
pub struct Open {
    /// The path in the mirror.
    pub path: String,
    /// The article, once it has an id.
    pub id: Option<ArticleId>,
    /// The action that waits, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Kind>,
    /// The side that it would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// The reason, and the remedy.
    pub reason: String,
    /// The time since which it is open, in RFC 3339.
    pub since: Option<String>,
}

/// The daemon of a mirror.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Daemon {
    /// Its process.
    pub pid: u32,
    /// The time of its start, in RFC 3339.
    pub since: String,
    /// The time of its next poll, in RFC 3339.
    pub next_poll: Option<String>,
}

/// The branches of the git repository that a mirror is in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Branches {
    /// The published branch; `None`: every branch is published, or none was named yet.
    pub published: Option<String>,
    /// The branch that is checked out; `None`: a detached HEAD.
    pub checked_out: Option<String>,
    /// Whether the checkout is synced.
    pub synced: bool,
}

/// The state of a workspace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Status {
    /// The changes.
    pub changes: Vec<Change>,
    /// Conflicts: a person has to choose a version.
    pub conflicts: Vec<Open>,
    /// Actions that wait for a person.
    pub held: Vec<Open>,
    /// Articles that readers do not see.
    pub invisible: Vec<Open>,
    /// Files that are left out, and why.
    pub problems: Vec<Problem>,
    /// The requests that are left; `None`: unknown, for example without a token.
    pub budget: Option<BudgetLeft>,
    /// The time of the last whole listing, in RFC 3339; of several workspaces the oldest. `None`: there was none yet.
    pub last_sync: Option<String>,
    /// The folders of the workspaces that were never synced.
    #[serde(skip)]
    pub never_synced: Vec<String>,
    /// The number of articles of that listing that are not read yet.
    pub unread: usize,
    /// The daemon, while one runs.
    pub daemon: Option<Daemon>,
    /// The git repository that the mirror is in; `None`: it is in none.
    pub git: Option<Branches>,
}

/// Returns the status of one workspace.
///
/// # Errors
///
/// When the mirror or the state cannot be read.
pub fn status<D: Disk>(disk: &D, store: &mut Store, settings: &Settings) -> anyhow::Result<Status> {
    let view = MirrorView::read_changed(disk, store)?;
    let conflicts = open_conflicts(&view);
    let changes = changes(&view, store)?;
    let held = held(store, &changes)?;
    let invisible = invisible(store)?;
    let mut problems = view.problems;
    problems.extend(failed(store)?);
    let last_sync = last_poll(store)?.map(Timestamp::to_rfc3339);
    let folder = settings.prefix.trim_end_matches('/');
    let never_synced = last_sync.is_none().then(|| folder.to_owned());
    let mut status = Status {
        changes,
        conflicts,
        held,
        invisible,
        problems,
        last_sync,
        never_synced: never_synced.into_iter().collect(),
        unread: store.value(NOT_FETCHED)?.unwrap_or_default(),
        ..Status::default()
    };
    status.sort();
    status.put_below(&settings.prefix);
    Ok(status)
}

impl Status {
    /// Adds another workspace of the same mirror. The older listing counts for both.
    pub fn add(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.conflicts.extend(other.conflicts);
        self.held.extend(other.held);
        self.invisible.extend(other.invisible);
        self.problems.extend(other.problems);
        self.unread += other.unread;
        // RFC 3339 in UTC is in the order of its moments.
        self.last_sync = match (self.last_sync.take(), other.last_sync) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        self.never_synced.extend(other.never_synced);
    }

    /// Adds the result of a dry run: the changes of both sides, and the actions that would be held.
    pub fn take_plan(&mut self, report: &Report) {
        self.changes = report.actions.iter().flat_map(changes_behind).collect();
        let held = report.actions.iter();
        for line in held.filter(|line| line.status == Became::Held) {
            let is_conflict = line.action == Kind::Conflict;
            let list = if is_conflict {
                &mut self.conflicts
            } else {
                &mut self.held
            };
            if list.iter().all(|open| open.path != line.path) {
                list.push(Open {
                    path: line.path.clone(),
                    id: line.id,
                    action: (!is_conflict).then_some(line.action),
                    side: Some(line.side).filter(|side| *side != Side::Both),
                    reason: line.reason.clone().unwrap_or_default(),
                    ..Open::default()
                });
            }
        }
        self.problems.extend(report.problems.iter().cloned());
        self.budget = report.budget.or(self.budget);
        self.sort();
    }

    /// Returns whether there is nothing to do.
    pub fn is_quiet(&self) -> bool {
        self.changes.is_empty()
            && self.conflicts.is_empty()
            && self.held.is_empty()
            && self.problems.is_empty()
    }

    fn sort(&mut self) {
        self.problems.sort();
        self.problems.dedup();
        self.changes.sort();
        for list in [&mut self.conflicts, &mut self.held, &mut self.invisible] {
            list.sort();
        }
    }

    fn put_below(&mut self, prefix: &str) {
        for open in [&mut self.conflicts, &mut self.held, &mut self.invisible] {
            for open in open {
                put_below(prefix, &mut open.path, Some(&mut open.reason));
            }
        }
        for change in &mut self.changes {
            put_below(prefix, &mut change.path, None);
        }
        for problem in &mut self.problems {
            put_below(prefix, &mut problem.path, Some(&mut problem.message));
        }
    }
}

/// Returns the time of the last whole listing.
pub(crate) fn last_poll(store: &Store) -> anyhow::Result<Option<Timestamp>> {
    Ok(store.value(LAST_POLL)?)
}

/// Returns the open conflicts; outside of git, the next cycle settles a conflict whose copy a person deleted.
fn open_conflicts(view: &MirrorView) -> Vec<Open> {
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

/// Returns the ways to settle a conflict whose file exists.
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
fn held(store: &Store, changes: &[Change]) -> anyhow::Result<Vec<Open>> {
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
        let (word, rest) = parked.key.split_once(' ').unwrap_or_default();
        let id = rest.parse::<ArticleId>().ok();
        let path = match id.map(|id| store.article(id)).transpose()?.flatten() {
            Some(row) => row.place.to_string(),
            None => rest.to_owned(),
        };
        let told = open.iter().any(|open| open.path == path);
        if parked.at.is_recent(now, REFUSAL_EXPIRES) && paths.contains(path.as_str()) && !told {
            let reason = if parked.is_for_person {
                parked.reason
            } else {
                not_again(&format!("the service refused it ({})", parked.reason))
            };
            open.push(Open {
                path,
                id,
                action: serde_json::from_value(word.into()).ok(),
                side: Some(Side::Remote),
                reason,
                since: Some(parked.at.to_rfc3339()),
            });
        }
    }
    Ok(open)
}

/// Returns the actions that failed when they were last tried.
fn failed(store: &Store) -> anyhow::Result<Vec<Problem>> {
    let failed = open_actions::failed(store)?.into_iter();
    Ok(failed
        .map(|failed| {
            let (verb, reason) = (failed.action.verb(), failed.reason);
            let message = format!("{verb} failed: {reason}; the next sync tries again");
            Problem::at(failed.path, failed.id, message)
        })
        .collect())
}

/// Returns the articles that readers do not see. A deleted article is not among them: its open matters are listed
/// elsewhere.
fn invisible(store: &Store) -> anyhow::Result<Vec<Open>> {
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
