//! The tables, and how an older database becomes a newer one.
//!
//! - `PRAGMA user_version` counts the steps of [`STEPS`] that were taken. Steps are only appended, never
//!   changed: databases in the field have taken them.
//! - All missing steps are taken in one transaction: after a crash the database is what it was before.
//! - There is no way back: a database with more steps than we know is refused.
//! - A process that only reads takes no step: [`STAND_INS`] make an older database look like the present one to that reader alone.
//!
//! Ids are 16 bytes, digests 32; times are milliseconds since 1970. A `remote_…` column of an article is
//! NULL where the service holds what the file holds, which is nearly always.

use super::{ErrorKind, Outcome, StateError};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

/// The steps from an empty database to the present schema.
pub(super) const STEPS: &[&str] = &[
    FIRST,
    TOMBSTONES_BY_REVISION,
    REPLACED_BEFORE,
    UNCONFIRMED_IDS,
    JOURNAL,
    BACKOFF,
    INDEX,
    SETTLED_COPIES,
    LISTING_ENTRIES,
    CREATIONS,
    WAITING,
];

/// A reader's stand-in for each step that a database has not taken; empty, where reading is the same without the step.
pub(super) const STAND_INS: &[&str] = &[
    "",
    "",
    WITHOUT_REPLACED_BEFORE,
    WITHOUT_UNCONFIRMED_IDS,
    WITHOUT_JOURNAL,
    WITHOUT_BACKOFF,
    "",
    "",
    WITHOUT_LISTING_ENTRIES,
    WITHOUT_CREATIONS,
    WITHOUT_WAITING,
];

const FIRST: &str = "
CREATE TABLE binding (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  service TEXT NOT NULL,
  workspace BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE articles (
  id BLOB NOT NULL PRIMARY KEY,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  local_title TEXT NOT NULL,
  local_slug TEXT NOT NULL,
  local_category BLOB NOT NULL,
  local_introtext TEXT NOT NULL,
  local_keywords TEXT NOT NULL,
  local_text BLOB NOT NULL,
  local_text_lf BLOB,
  local_digest BLOB NOT NULL,
  remote_title TEXT,
  remote_slug TEXT,
  remote_category BLOB,
  remote_introtext TEXT,
  remote_keywords TEXT,
  remote_text BLOB,
  remote_digest BLOB NOT NULL,
  revision TEXT NOT NULL,
  file_enabled INTEGER,
  file_draft INTEGER,
  remote_enabled INTEGER,
  remote_draft INTEGER,
  visibility TEXT NOT NULL,
  stamp_size INTEGER,
  stamp_mtime INTEGER,
  stamp_ctime INTEGER,
  stamp_inode INTEGER,
  replaced_digest BLOB,
  replaced_revision TEXT,
  written TEXT,
  asked INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX articles_place ON articles (folder, file);

CREATE TABLE categories (
  id BLOB NOT NULL PRIMARY KEY,
  folder TEXT,
  local_name TEXT NOT NULL,
  local_slug TEXT NOT NULL,
  local_description TEXT NOT NULL,
  local_meta_description TEXT NOT NULL,
  remote_name TEXT NOT NULL,
  remote_slug TEXT NOT NULL,
  remote_description TEXT NOT NULL,
  remote_meta_description TEXT NOT NULL,
  revision TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  stamp_size INTEGER,
  stamp_mtime INTEGER,
  stamp_ctime INTEGER,
  stamp_inode INTEGER
) STRICT, WITHOUT ROWID;

-- put_at: when it was last asked to be kept; a body that nothing names stays for a while.
CREATE TABLE bodies (
  digest BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  packed BLOB NOT NULL,
  put_at INTEGER NOT NULL
) STRICT;

CREATE TABLE intents (id INTEGER PRIMARY KEY AUTOINCREMENT, json TEXT NOT NULL) STRICT;
CREATE TABLE intent_digests (
  intent INTEGER NOT NULL REFERENCES intents ON DELETE CASCADE,
  digest BLOB NOT NULL,
  PRIMARY KEY (intent, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE conflicts (
  article BLOB NOT NULL PRIMARY KEY,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  local TEXT NOT NULL,
  remote TEXT,
  revision TEXT NOT NULL,
  copy TEXT,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE conflict_digests (
  article BLOB NOT NULL REFERENCES conflicts ON DELETE CASCADE,
  digest BLOB NOT NULL,
  PRIMARY KEY (article, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE parked (
  key TEXT NOT NULL PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A subject is an article, or a file that has no id yet.
CREATE TABLE subjects (
  id INTEGER PRIMARY KEY,
  article BLOB UNIQUE,
  folder TEXT,
  file TEXT,
  UNIQUE (folder, file),
  CHECK ((article IS NULL) = (folder IS NOT NULL) AND (folder IS NULL) = (file IS NULL))
) STRICT;
CREATE TABLE versions (
  subject INTEGER NOT NULL REFERENCES subjects,
  number INTEGER NOT NULL,
  at INTEGER NOT NULL,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  side TEXT NOT NULL,
  cause TEXT NOT NULL,
  title TEXT NOT NULL,
  slug TEXT NOT NULL,
  category BLOB NOT NULL,
  introtext TEXT NOT NULL,
  keywords TEXT NOT NULL,
  text BLOB NOT NULL,
  whole BLOB,
  digest BLOB NOT NULL,
  PRIMARY KEY (subject, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX versions_place ON versions (folder, file);

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  side TEXT NOT NULL,
  path TEXT NOT NULL,
  article BLOB,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX events_path ON events (path);

CREATE TABLE approvals (
  side TEXT NOT NULL,
  kind TEXT NOT NULL,
  held BLOB NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (side, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE deletions (
  at INTEGER NOT NULL,
  side TEXT NOT NULL,
  approved INTEGER NOT NULL,
  count INTEGER NOT NULL
) STRICT;

CREATE TABLE tombstones (
  article BLOB NOT NULL PRIMARY KEY,
  revision TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE figures (
  article BLOB NOT NULL PRIMARY KEY,
  views INTEGER NOT NULL,
  happy INTEGER NOT NULL,
  neutral INTEGER NOT NULL,
  sad INTEGER NOT NULL,
  full_url TEXT
) STRICT, WITHOUT ROWID;
";

/// An article may be shown as it was at several moments before it was deleted: a tombstone for each.
const TOMBSTONES_BY_REVISION: &str = "
CREATE TABLE tombstones_by_revision (
  article BLOB NOT NULL,
  revision TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (article, revision)
) STRICT, WITHOUT ROWID;
INSERT INTO tombstones_by_revision SELECT article, revision, at FROM tombstones;
DROP TABLE tombstones;
ALTER TABLE tombstones_by_revision RENAME TO tombstones;
";

/// The versions that our own writes replaced before the last one.
const REPLACED_BEFORE: &str = "ALTER TABLE articles ADD COLUMN replaced_before TEXT;";
const WITHOUT_REPLACED_BEFORE: &str =
    "CREATE TEMP VIEW articles AS SELECT *, NULL AS replaced_before FROM main.articles;";

/// New articles whose `id:` line is not known to be in their file. An older database has them among the rows without
/// a stamp: this step takes all of those, and the next scan confirms the rest.
const UNCONFIRMED_IDS: &str = "
CREATE TABLE unconfirmed_ids (article BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO unconfirmed_ids
  SELECT id FROM articles WHERE stamp_size IS NULL AND (revision = '' OR written = revision);
";
const WITHOUT_UNCONFIRMED_IDS: &str = "CREATE TEMP VIEW unconfirmed_ids AS
  SELECT id AS article FROM main.articles
  WHERE stamp_size IS NULL AND (revision = '' OR written = revision);";

/// Changes of the mirror are in a journal. What an earlier version was about to do to files is settled by the sides as
/// they are found: equal ones are adopted, others decided three ways.
const JOURNAL: &str = r#"
CREATE TABLE journal (
  slot INTEGER PRIMARY KEY AUTOINCREMENT,
  entry TEXT NOT NULL,
  changes TEXT NOT NULL
) STRICT;
CREATE TABLE displaced (
  slot INTEGER PRIMARY KEY,
  folder TEXT NOT NULL,
  file TEXT NOT NULL,
  stamp_size INTEGER NOT NULL,
  stamp_mtime INTEGER NOT NULL,
  stamp_ctime INTEGER NOT NULL,
  stamp_inode INTEGER NOT NULL,
  digest BLOB NOT NULL,
  since INTEGER NOT NULL
) STRICT;
DELETE FROM intents WHERE json LIKE '{"write_file"%' OR json LIKE '{"remove_file"%'
  OR json LIKE '{"write_category"%';
"#;
const WITHOUT_JOURNAL: &str = "
CREATE TEMP VIEW journal AS SELECT 0 AS slot, '' AS entry, '' AS changes WHERE 0;
CREATE TEMP VIEW displaced AS SELECT 0 AS slot, '' AS folder, '' AS file, 0 AS stamp_size,
  0 AS stamp_mtime, 0 AS stamp_ctime, 0 AS stamp_inode, x'' AS digest, 0 AS since WHERE 0;
";

/// When the service was last asked for what it did not list or show, and the answer: in one table for all of them.
const BACKOFF: &str = "
CREATE TABLE backoff (
  kind TEXT NOT NULL,
  id BLOB NOT NULL,
  last_asked INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  answer TEXT,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
INSERT INTO backoff SELECT 'article', id, asked, 0, NULL FROM articles
  WHERE asked IS NOT NULL AND visibility <> 'published';
INSERT OR REPLACE INTO backoff
  SELECT 'article', unhex(replace(key, '-', '')), value ->> 'at', 0, json_object('article', json_object(
    'remote', json_object(iif(value ->> 'hidden', 'not_visible', 'unknown'), value ->> 'why'),
    'file', NULL))
  FROM (SELECT value AS stored FROM meta WHERE key = 'strangers'), json_each(stored);
INSERT OR REPLACE INTO backoff
  SELECT 'category', unhex(replace(key, '-', '')), value ->> 'at', 1,
    json_object('category', json_object('why', value ->> 'why', 'foreign', value -> 'foreign'))
  FROM (SELECT value AS stored FROM meta WHERE key = 'unread_categories'), json_each(stored);
DELETE FROM meta WHERE key IN ('strangers', 'unread_categories');
ALTER TABLE articles DROP COLUMN asked;
";
const WITHOUT_BACKOFF: &str = "CREATE TEMP VIEW backoff AS
  SELECT 'article' AS kind, id, asked AS last_asked, 0 AS failures, NULL AS answer
  FROM main.articles WHERE asked IS NOT NULL AND visibility <> 'published';";

/// The columns that show whether an article changed, in an index of their own: a pass over them reads no words. SQLite
/// keeps it up to date.
const INDEX: &str = "
DROP INDEX IF EXISTS articles_place;
CREATE INDEX IF NOT EXISTS articles_index ON articles (folder, file, stamp_size, stamp_mtime, stamp_ctime,
  stamp_inode, remote_digest, revision, written, visibility, remote_enabled, remote_draft);
";

/// No intent is needed to remove the copy of a settled conflict: the next scan finds the copy.
const SETTLED_COPIES: &str = r#"DELETE FROM intents WHERE json LIKE '{"clear_copy"%';"#;

/// The meaning of each entry of the last listing, in the order of the entries. Nothing else depends on it.
const LISTING_ENTRIES: &str = "
CREATE TABLE IF NOT EXISTS listing_entries (
  position INTEGER PRIMARY KEY,
  article BLOB NOT NULL,
  fingerprint BLOB NOT NULL,
  said BLOB NOT NULL,
  enabled INTEGER,
  draft INTEGER
) STRICT;
";
const WITHOUT_LISTING_ENTRIES: &str = "CREATE TEMP VIEW listing_entries AS SELECT 0 AS position,
  x'' AS article, x'' AS fingerprint, x'' AS said, 0 AS enabled, 0 AS draft WHERE 0;";

/// A request that creates an article ends with the article's id in its file, so no article in the base is without. One of
/// an earlier version is not deleted for its missing file, as if a restore had yet to bring the file back. A request to a
/// category decides nothing.
const CREATIONS: &str = r#"
DELETE FROM intents WHERE json LIKE '{"create_category"%' OR json LIKE '{"update_category"%';
CREATE TABLE IF NOT EXISTS unconfirmed_ids (article BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO meta SELECT 'restoring', ids FROM (
  SELECT count(*) AS number, json_group_array(id) AS ids FROM (
    SELECT value AS id FROM (SELECT value AS stored FROM meta WHERE key = 'restoring'), json_each(stored)
    UNION
    SELECT lower(substr(x, 1, 8) || '-' || substr(x, 9, 4) || '-' || substr(x, 13, 4) || '-' || substr(x, 17, 4)
      || '-' || substr(x, 21)) FROM (SELECT hex(article) AS x FROM unconfirmed_ids)))
  WHERE number > 0;
DROP TABLE unconfirmed_ids;
"#;
/// Hides the intents that this step and earlier ones delete: a database without an earlier one is without this, too.
const WITHOUT_CREATIONS: &str = r#"
CREATE TEMP VIEW intents AS SELECT * FROM main.intents WHERE json NOT LIKE '{"write_file"%'
  AND json NOT LIKE '{"remove_file"%' AND json NOT LIKE '{"write_category"%' AND json NOT LIKE '{"clear_copy"%'
  AND json NOT LIKE '{"create_category"%' AND json NOT LIKE '{"update_category"%';
"#;

/// The rows of `waiting` (kind, key, JSON) from the lists that `meta` had before.
macro_rules! waiting_from_meta {
    () => {
        "SELECT iif(list = 'undone', 'failed', list) AS kind,
    value ->> 'action' || ' ' || coalesce(value ->> 'id', value ->> 'path') AS key, value AS json
  FROM (SELECT key AS list, value AS stored FROM main.meta WHERE key IN ('held', 'undone')
    AND json_valid(value)), json_each(stored)
  WHERE type = 'object' AND value ->> 'action' IS NOT NULL AND coalesce(value ->> 'id', value ->> 'path') IS NOT NULL
  UNION ALL SELECT 'restoring', value, json_quote(value)
  FROM (SELECT value AS stored FROM main.meta WHERE key = 'restoring' AND json_valid(value)), json_each(stored)
  WHERE type = 'text'
  UNION ALL SELECT 'gone_back', key, json_array(key, value)
  FROM (SELECT value AS stored FROM main.meta WHERE key = 'gone_back' AND json_valid(value)), json_each(stored)
  WHERE type = 'integer';"
    };
}
/// A row for each action that waits.
const WAITING: &str = concat!(
    "
CREATE TABLE IF NOT EXISTS waiting (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO waiting ",
    waiting_from_meta!(),
    "
DELETE FROM meta WHERE key IN ('held', 'undone', 'restoring', 'gone_back');
"
);
const WITHOUT_WAITING: &str = concat!("CREATE TEMP VIEW waiting AS ", waiting_from_meta!());

/// Reads how many steps a database has taken.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Refuses triggers and views. The schema has none; in a state from elsewhere they would run as a part of our own
/// writes and reads.
pub(super) fn refuse_programs(conn: &Connection) -> Outcome<()> {
    let found: Option<String> = conn
        .query_row(
            "SELECT type || ' ' || name FROM main.sqlite_schema WHERE type IN ('trigger', 'view')",
            [],
            |row| row.get(0),
        )
        .optional()?;
    match found {
        Some(found) => Err(StateError::corrupt(format!(
            "it contains the {}, and kbsync creates no triggers or views",
            found.escape_debug()
        ))),
        None => Ok(()),
    }
}

/// Takes the steps that are missing.
pub(super) fn migrate(conn: &mut Connection, steps: &[&str]) -> Outcome<()> {
    let known = count(steps);
    if version(conn)? == known {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have taken them while we waited for the lock.
    let found = version(&tx)?;
    let taken = usable(&tx, found, known)?;
    for step in steps.iter().skip(taken) {
        tx.execute_batch(step)?;
    }
    tx.pragma_update(None, "user_version", known)?;
    tx.commit()?;
    Ok(())
}

/// Makes a database ready for a reader. `false`: nothing was ever recorded in it.
///
/// The database itself stays as it is: `status`, a dry run or `restore` are there before anything is changed.
pub(super) fn make_readable(
    conn: &Connection,
    steps: &[&str],
    stand_ins: &[&str],
) -> Outcome<bool> {
    let taken = usable(conn, version(conn)?, count(steps))?;
    if taken == 0 {
        return Ok(false);
    }
    for stand_in in stand_ins.iter().skip(taken) {
        conn.execute_batch(stand_in)?;
    }
    Ok(true)
}

fn count(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Refuses what we cannot carry forward, and counts the steps that were taken.
fn usable(conn: &Connection, found: i64, known: i64) -> Outcome<usize> {
    if found > known {
        return Err(StateError::new(ErrorKind::Newer { found, known }));
    }
    if found == 0 {
        let tables: i64 =
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 {
            return Err(StateError::corrupt("it holds another program's tables"));
        }
    }
    usize::try_from(found)
        .map_err(|_negative| StateError::corrupt(format!("its schema version is {found}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[&str] = &[
        "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7;",
        "CREATE TABLE b AS SELECT x + y AS z FROM a;",
    ];

    const STAND_INS: &[&str] = &[
        "",
        "CREATE TEMP VIEW a AS SELECT *, 7 AS y FROM main.a;",
        "",
    ];

    fn memory() -> Connection {
        Connection::open_in_memory().expect("memory")
    }

    #[test]
    fn every_older_version_reaches_the_newest_with_its_rows() {
        for start in 0..=STEPS.len() {
            let mut conn = memory();
            migrate(&mut conn, &STEPS[..start]).expect("an older one");
            migrate(&mut conn, STEPS).expect("the newest");
            assert_eq!(version(&conn).expect("a version"), 3, "from {start}");
            let z: i64 = conn
                .query_row("SELECT z FROM b", [], |row| row.get(0))
                .expect("the row");
            assert_eq!(z, 8, "from {start}");
        }
    }

    #[test]
    fn a_failed_step_leaves_everything_as_it_was() {
        let mut conn = memory();
        migrate(&mut conn, &STEPS[..1]).expect("the first");
        let broken = [STEPS[0], STEPS[1], "CREATE TABLE b (x); NONSENSE"];
        migrate(&mut conn, &broken).expect_err("nonsense");
        assert_eq!(version(&conn).expect("a version"), 1);
        migrate(&mut conn, STEPS).expect("goes on from the first");
    }

    #[test]
    fn f013_a_newer_database_is_refused() {
        let mut conn = memory();
        migrate(&mut conn, STEPS).expect("three steps");
        let newer = ErrorKind::Newer { found: 3, known: 2 };
        assert_eq!(
            migrate(&mut conn, &STEPS[..2]).expect_err("newer").kind,
            newer
        );
        let error = make_readable(&conn, &STEPS[..2], STAND_INS).expect_err("newer");
        assert_eq!(error.kind, newer);
        assert_eq!(version(&conn).expect("untouched"), 3);
    }

    #[test]
    fn an_older_database_is_read_as_the_present_one_and_stays_what_it_is() {
        let columns = |conn: &Connection| {
            let row = conn.query_row("SELECT x, y FROM a", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            });
            row.expect("the row")
        };
        let mut conn = memory();
        assert!(!make_readable(&conn, STEPS, STAND_INS).expect("empty"));
        migrate(&mut conn, &STEPS[..1]).expect("one step");
        assert!(make_readable(&conn, STEPS, STAND_INS).expect("older"));
        assert_eq!(columns(&conn), (1, 7));
        assert_eq!(version(&conn).expect("untouched"), 1);
        // Another process takes the steps meanwhile.
        conn.execute_batch("ALTER TABLE main.a ADD COLUMN y INTEGER NOT NULL DEFAULT 9;")
            .expect("the step");
        assert_eq!(columns(&conn), (1, 9));
        let mut conn = memory();
        migrate(&mut conn, STEPS).expect("the newest");
        assert!(make_readable(&conn, STEPS, STAND_INS).expect("current"));
        assert_eq!(columns(&conn), (1, 7));
    }

    #[test]
    fn every_step_has_what_stands_in_for_it() {
        assert_eq!(super::STEPS.len(), super::STAND_INS.len());
    }

    #[test]
    fn another_programs_database_is_not_taken_over() {
        let mut conn = memory();
        conn.execute_batch("CREATE TABLE theirs (x)")
            .expect("a table");
        assert_eq!(
            migrate(&mut conn, STEPS).expect_err("foreign").kind,
            ErrorKind::Corrupt
        );
        let mut conn = memory();
        conn.pragma_update(None, "user_version", -4).expect("set");
        assert_eq!(
            migrate(&mut conn, STEPS).expect_err("negative").kind,
            ErrorKind::Corrupt
        );
    }

    #[test]
    fn the_present_schema_can_be_made() {
        let mut conn = memory();
        migrate(&mut conn, super::STEPS).expect("the schema");
        assert!(make_readable(&conn, super::STEPS, super::STAND_INS).expect("current"));
    }
}
