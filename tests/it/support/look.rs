//! The checks of tests after a cycle: requests, history, rows, stamps.

use crate::support::world::World;
use kbsync::engine::report::{Report, Status};
use kbsync::engine::settings::{Cause, CycleRequest, PathsInMotion};
use kbsync::model::base::ArticleRow;
use kbsync::model::{ArticleId, Digest, Side};
use kbsync::reconcile::plan::HoldRule;
use kbsync::reconcile::snapshot::{Decision, Direction, Keep};
use kbsync::state::{Store, StoredVersion, Subject};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use uuid::Uuid;

/// The request of a plain `sync`.
pub(crate) fn both() -> CycleRequest {
    CycleRequest::new(Direction::Both)
}

/// The request of `sync --dry-run`.
pub(crate) fn dry_run() -> CycleRequest {
    CycleRequest {
        dry_run: true,
        ..both()
    }
}

/// The held actions in a report that `kbsync approve` releases.
pub(crate) fn approvable(report: &Report) -> Vec<(Side, Digest)> {
    let lines = report.actions.iter();
    let held = lines.filter(|line| line.rule.is_some_and(HoldRule::approvable));
    held.filter_map(|line| Some((line.side, line.fingerprint?)))
        .collect()
}

/// A request of the daemon, with the removed paths whose grace time is over.
pub(crate) fn after_grace(removed: &[&str]) -> CycleRequest {
    CycleRequest {
        cause: Cause::Background,
        in_motion: PathsInMotion {
            has_grace: true,
            removed: removed.iter().map(|path| (*path).to_owned()).collect(),
            ..PathsInMotion::default()
        },
        ..both()
    }
}

/// The paths of the mirror's files.
pub(crate) fn paths(world: &World) -> Vec<String> {
    world.files().into_iter().map(|(path, _)| path).collect()
}

/// The paths of the mirror's files without the categories' files.
pub(crate) fn articles(world: &World) -> Vec<String> {
    let mut paths = paths(world);
    paths.retain(|path| !path.ends_with("_category.yaml"));
    paths
}

/// The base row of an article.
pub(crate) fn row(world: &World, id: Uuid) -> Option<ArticleRow> {
    let engine = world.engine();
    engine
        .store()
        .article(ArticleId::new(id))
        .expect("a readable state")
}

/// The versions of an article, newest first.
pub(crate) fn versions(world: &World, id: Uuid) -> Vec<StoredVersion> {
    let engine = world.engine();
    engine
        .store()
        .versions(&Subject::Article(ArticleId::new(id)))
        .expect("a readable state")
}

/// Every body of an article in the history, newest first, each with the side that it comes from.
pub(crate) fn history(world: &World, id: Uuid) -> Vec<(Side, String)> {
    let engine = world.engine();
    versions(world, id)
        .into_iter()
        .map(|kept| {
            let body = engine.store().body(kept.seen.version.text);
            let body = body.expect("a readable state").expect("a kept body");
            (kept.seen.side, body)
        })
        .collect()
}

/// Returns whether a version of an article in the history has this body.
pub(crate) fn kept(world: &World, id: Uuid, body: &str) -> bool {
    history(world, id).iter().any(|(_, text)| text == body)
}

/// The requests since the last look, such as `GET listing 200` or `PUT article 404`.
pub(crate) fn requests(world: &World) -> Vec<String> {
    let requests = world.sandbox().requests();
    world.sandbox().clear_requests();
    requests
        .iter()
        .map(|request| {
            let path = request.path.split('?').next().unwrap_or_default();
            let parts: Vec<&str> = path.trim_start_matches("/api/").split('/').collect();
            let what = match parts.as_slice() {
                ["base", _, "articles"] => "listing",
                [what, ..] => what,
                [] => path,
            };
            let probe = if request.body == "{}" { " {}" } else { "" };
            format!("{} {what}{probe} {}", request.method, request.status)
        })
        .collect()
}

/// The held actions, each with its reason.
pub(crate) fn held(report: &Report) -> Vec<(String, String)> {
    report
        .actions
        .iter()
        .filter(|line| line.status == Status::Held)
        .map(|line| (line.path.clone(), line.reason.clone().unwrap_or_default()))
        .collect()
}

/// The messages of a report's problems.
pub(crate) fn problems(report: &Report) -> Vec<String> {
    report
        .problems
        .iter()
        .map(|problem| format!("{}: {}", problem.path, problem.message))
        .collect()
}

/// Checks that a sync makes so many requests and has nothing to do.
pub(crate) async fn assert_quiet(world: &World, requests: u64) {
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(crate::support::world::lines(&report), Vec::<String>::new());
    assert_eq!(report.requests.total, requests);
    assert_eq!(report.outcome.number(), 0);
}

/// Lets racy stamps grow old: the next cycle reads recently written files once more, and remembers their stamps.
pub(crate) async fn let_stamps_settle(world: &World) {
    world.clock.advance(std::time::Duration::from_secs(1));
    world.sync().await;
}

/// Every row of every table of the state, except the time of the last poll.
pub(crate) fn dump(world: &World) -> BTreeMap<String, Vec<String>> {
    let file = world.path(".kbsync/state.db");
    let conn = rusqlite::Connection::open(file).expect("the state");
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut names = conn.prepare(names).expect("a query");
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .expect("rows")
        .map(|name| name.expect("a name"))
        .collect();
    names
        .into_iter()
        .map(|table| {
            let mut all = conn
                .prepare(&format!("SELECT * FROM {table}"))
                .expect("a table");
            let columns = all.column_count();
            let mut rows: Vec<String> = all
                .query_map([], |row| {
                    (0..columns)
                        .map(|column| row.get_ref(column).map(shown))
                        .collect::<Result<Vec<_>, _>>()
                })
                .expect("rows")
                .map(|row| row.expect("a row").join(" | "))
                .filter(|row| table != "meta" || !row.contains("last_poll"))
                .collect();
            rows.sort();
            (table, rows)
        })
        .collect()
}

fn shown(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => format!("{bytes:02x?}"),
    }
}

/// The rows that only one of two dumps has.
pub(crate) fn changed_rows(
    before: &BTreeMap<String, Vec<String>>,
    after: &BTreeMap<String, Vec<String>>,
) -> Vec<String> {
    let lost = |mark, from: &BTreeMap<String, Vec<String>>, to: &BTreeMap<String, Vec<String>>| {
        from.iter()
            .flat_map(|(table, rows)| {
                rows.iter()
                    .filter(|row| !to.get(table).is_some_and(|other| other.contains(row)))
                    .map(|row| format!("{mark} {table}: {row}"))
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    [lost('-', before, after), lost('+', after, before)].concat()
}

/// Inode, size and times of everything in the mirror except private files.
pub(crate) fn stamps(world: &World) -> BTreeMap<String, (u64, u64, i64, i64, i64, i64)> {
    let root = world.folder.path();
    let mut stamps = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("listed") {
            let entry = entry.expect("an entry");
            let meta = entry.metadata().expect("metadata");
            if entry.file_name() == ".kbsync" {
                continue;
            }
            if meta.is_dir() {
                folders.push(entry.path());
            }
            let stamp = (
                meta.ino(),
                meta.size(),
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec(),
            );
            let name = entry.path();
            let name = name.strip_prefix(root).expect("below").to_string_lossy();
            stamps.insert(name.into_owned(), stamp);
        }
    }
    stamps
}

/// A person's decision on the conflict of an article, as the state of this mirror shows it now.
pub(crate) fn decision(mirror: &Path, id: ArticleId, keep: Keep) -> (ArticleId, Decision) {
    let store = Store::open_read_only(&mirror.join(".kbsync"), None).expect("a state");
    let rows = store.map_or_else(Vec::new, |store| store.conflicts().expect("read"));
    let decision = match rows.iter().find(|row| row.id == id) {
        Some(row) => Decision::on(row, keep),
        None => Decision { keep, shown: None },
    };
    (id, decision)
}
