//! Where things stand, without asking the service: what changed in the mirror since both sides agreed,
//! what waits for a person, what readers do not see.
//!
//! Nothing is written, no request is made, and no lock is needed: another process may be at work. Its JSON
//! is a public interface (design, section 9); the schema is `examples/schema/status.schema.json`.

mod changes;

use super::apply::LAST_POLL;
use super::observe::unsettled::Unsettled;
use super::observe::{load_base, local};
use super::report::{self, BudgetLeft, Line, Report, Status as Became};
use super::settings::Settings;
use super::spool::Spool;
use super::waiting;
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, ConflictRow, Visibility};
use crate::model::path::quoted;
use crate::model::{ArticleId, Field, Place, Side, Timestamp};
use crate::reconcile::guard::why_not_again;
use crate::reconcile::pairing::{self, Paired};
use crate::reconcile::plan::{HoldRule, Kind, Problem};
use crate::reconcile::removed_in_conflict;
use crate::reconcile::snapshot::{Base, LocalSnapshot, RemoteSnapshot};
use crate::state::store::Store;
use changes::{changes, changes_behind};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How a side differs from what both last agreed on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its words changed.
    Modified,
    /// Its place or address changed, perhaps with its words.
    Moved,
    /// It is gone.
    Deleted,
}

impl ChangeKind {
    /// The word as it is printed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
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
    /// What happened to it.
    pub change: ChangeKind,
    /// The fields that changed.
    pub fields: Vec<Field>,
    /// The side that changed, where both were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
}

/// Something that stands open.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Open {
    /// The path in the mirror.
    pub path: String,
    /// The article, once it has an id.
    pub id: Option<ArticleId>,
    /// The action that waits, where one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Kind>,
    /// The side that it would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// Why, and what to do.
    pub reason: String,
    /// Since when, in RFC 3339.
    pub since: Option<String>,
}

/// The daemon that keeps a mirror.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Daemon {
    /// Its process.
    pub pid: u32,
    /// When it started, in RFC 3339.
    pub since: String,
    /// When it asks the service next, in RFC 3339.
    pub next_poll: Option<String>,
}

/// Where things stand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Status {
    /// The version of this form.
    pub version: u32,
    /// What changed.
    pub changes: Vec<Change>,
    /// Articles of which a person has to choose a version.
    pub conflicts: Vec<Open>,
    /// Actions that wait for a person.
    pub held: Vec<Open>,
    /// Articles that readers do not see.
    pub invisible: Vec<Open>,
    /// Files that are left out, and why.
    pub problems: Vec<Problem>,
    /// What is left of the budget; `None`: it cannot be told, as without a token.
    pub budget: Option<BudgetLeft>,
    /// When the service was last listed whole, in RFC 3339.
    pub last_sync: Option<String>,
    /// The daemon, while one runs.
    pub daemon: Option<Daemon>,
}

/// A refusal is shown for as long as it keeps the same from being sent, in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Looks at one workspace.
///
/// # Errors
///
/// When the mirror or the state cannot be read.
pub fn status<D: Disk>(
    disk: &D,
    store: &mut Store,
    settings: &Settings,
    now: Timestamp,
) -> anyhow::Result<Status> {
    let base = load_base(store)?;
    let mut spool = Spool::new(true, now);
    let scanned = local::scan(disk, store, &base, &Unsettled::default(), &mut spool)?;
    let paired = pairing::pair(&base, &scanned.snapshot, &RemoteSnapshot::default());
    let open = open_conflicts(&base, &scanned.snapshot, &paired);
    let changes = changes(&base, &scanned.snapshot, &paired);
    let held = held(&base, store, &open, &changes, now)?;
    let mut problems = paired.problems;
    problems.extend(scanned.problems);
    problems.sort();
    problems.dedup();
    let mut status = Status {
        version: 1,
        changes,
        conflicts: open.into_values().collect(),
        held,
        invisible: invisible(&base),
        problems,
        budget: None,
        last_sync: last_poll(store)?.map(Timestamp::to_rfc3339),
        daemon: None,
    };
    status.sort();
    status.put_below(&settings.prefix);
    Ok(status)
}

impl Status {
    /// Nothing at all.
    pub fn empty() -> Self {
        Self {
            version: 1,
            changes: Vec::new(),
            conflicts: Vec::new(),
            held: Vec::new(),
            invisible: Vec::new(),
            problems: Vec::new(),
            budget: None,
            last_sync: None,
            daemon: None,
        }
    }

    /// Adds another workspace of the same mirror. The older look at the service counts for both.
    pub fn add(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.conflicts.extend(other.conflicts);
        self.held.extend(other.held);
        self.invisible.extend(other.invisible);
        self.problems.extend(other.problems);
        // RFC 3339 in UTC is in the order of its moments.
        self.last_sync = match (self.last_sync.take(), other.last_sync) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (None, _) | (_, None) => None,
        };
    }

    /// Takes what a dry run found: both sides' changes, and what would wait.
    pub fn take_plan(&mut self, report: &Report) {
        let both: Vec<Change> = report.actions.iter().flat_map(changes_behind).collect();
        self.changes = both;
        let line_of = |line: &Line| Open {
            path: line.path.clone(),
            id: line.id,
            action: Some(line.action).filter(|action| *action != Kind::Conflict),
            side: Some(line.side).filter(|side| *side != Side::Both),
            reason: line.reason.clone().unwrap_or_default(),
            since: None,
        };
        let known = |open: &[Open], line: &Line| open.iter().any(|one| one.path == line.path);
        for line in report
            .actions
            .iter()
            .filter(|line| line.status == Became::Held)
        {
            if line.action == Kind::Conflict {
                if !known(&self.conflicts, line) {
                    self.conflicts.push(line_of(line));
                }
            } else if !known(&self.held, line) {
                self.held.push(line_of(line));
            }
        }
        self.problems.extend(report.problems.iter().cloned());
        self.problems.sort();
        self.problems.dedup();
        self.budget = Some(report.budget);
        self.sort();
    }

    /// Tells whether there is something to do.
    pub fn is_quiet(&self) -> bool {
        self.changes.is_empty()
            && self.conflicts.is_empty()
            && self.held.is_empty()
            && self.problems.is_empty()
    }

    fn sort(&mut self) {
        self.changes.sort();
        for list in [&mut self.conflicts, &mut self.held, &mut self.invisible] {
            list.sort();
        }
    }

    fn put_below(&mut self, prefix: &str) {
        for open in [&mut self.conflicts, &mut self.held, &mut self.invisible] {
            for open in open {
                report::put_below(prefix, &mut open.path, Some(&mut open.reason));
            }
        }
        for change in &mut self.changes {
            report::put_below(prefix, &mut change.path, None);
        }
        for problem in &mut self.problems {
            report::put_below(prefix, &mut problem.path, Some(&mut problem.message));
        }
    }
}

/// When the service was last listed whole.
pub(super) fn last_poll(store: &Store) -> anyhow::Result<Option<Timestamp>> {
    let written = store.meta(LAST_POLL)?;
    Ok(written
        .and_then(|millis| millis.parse().ok())
        .map(Timestamp))
}

/// Conflicts that stand: one whose copy a person deleted is settled with the next cycle.
fn open_conflicts(
    base: &Base,
    local: &LocalSnapshot,
    paired: &Paired,
) -> BTreeMap<ArticleId, Open> {
    let stands = |row: &ConflictRow| {
        let folder = &row.place.folder;
        row.remote.is_none()
            || local.unreadable.contains(folder)
            || row
                .copy
                .as_ref()
                .is_none_or(|copy| local.copies.contains(&Place::new(folder, copy)))
    };
    base.conflicts
        .values()
        .filter(|row| stands(row))
        .map(|row| {
            let path = row.place.to_string();
            let removed =
                !paired.files.contains_key(&row.id) && !paired.unknown.contains_key(&row.id);
            let reason = match (removed, &row.remote) {
                (false, _) => format!("{}; {}", row.reason, ways_out(row)),
                (true, Some(_)) => removed_in_conflict(row),
                (true, None) => format!(
                    "gone from both sides, which the next sync forgets; `kbsync restore {}` brings the file back",
                    quoted(&path)
                ),
            };
            let open = Open {
                path,
                id: Some(row.id),
                action: None,
                side: None,
                reason,
                since: Some(row.at.to_rfc3339()),
            };
            (row.id, open)
        })
        .collect()
}

/// How a conflict whose file is there can be settled.
fn ways_out(row: &ConflictRow) -> String {
    let resolve = format!(
        "`kbsync resolve {} --keep local`",
        quoted(&row.place.to_string())
    );
    match row.copy.as_ref().filter(|_| row.remote.is_some()) {
        Some(copy) => {
            format!("edit the file and delete {copy}, or {resolve} (or `remote`, `both`)")
        }
        None => format!("{resolve} creates it anew, `--keep remote` removes the file"),
    }
}

/// What was held when last looked at, and what the service refused.
fn held(
    base: &Base,
    store: &Store,
    conflicts: &BTreeMap<ArticleId, Open>,
    changes: &[Change],
    now: Timestamp,
) -> anyhow::Result<Vec<Open>> {
    let mut open: Vec<Open> = waiting::held(store)?
        .into_iter()
        .filter(|held| held.rule != Some(HoldRule::Refused))
        .filter(|held| {
            let row = held.id.is_some_and(|id| base.conflicts.contains_key(&id));
            let shown = held.id.is_some_and(|id| conflicts.contains_key(&id));
            held.action != Kind::Conflict || (!row && !shown)
        })
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
        let path = match id.and_then(|id| base.articles.get(&id)) {
            Some(row) => row.place.to_string(),
            None => rest.to_owned(),
        };
        let told = open.iter().any(|open| open.path == path);
        if now.millis_since(parked.at) < DAY && paths.contains(path.as_str()) && !told {
            open.push(Open {
                path,
                id,
                action: None,
                side: Some(Side::Remote),
                reason: why_not_again(&parked.reason, |reason| {
                    format!("the service refused it ({reason})")
                }),
                since: Some(parked.at.to_rfc3339()),
            });
        }
    }
    Ok(open)
}

fn invisible(base: &Base) -> Vec<Open> {
    let why = |row: &ArticleRow| match row.visibility {
        Visibility::Published => None,
        Visibility::Unpublished if row.remote_flags.draft == Some(true) => Some("a draft"),
        Visibility::Unpublished => Some("disabled"),
        Visibility::NotVisible => Some("left the listing, and nothing said why"),
        Visibility::Gone => Some("deleted on the service"),
    };
    base.articles
        .values()
        .filter_map(|row| {
            Some(Open {
                path: row.place.to_string(),
                id: Some(row.id),
                action: None,
                side: None,
                reason: why(row)?.to_owned(),
                since: row.asked.map(Timestamp::to_rfc3339),
            })
        })
        .collect()
}
