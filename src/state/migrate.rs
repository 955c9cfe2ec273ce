//! How an older database becomes a newer one.
//!
//! - `PRAGMA user_version` counts the steps that were taken (`schema`).
//! - All missing steps are taken in one transaction: after a crash the database is what it was before.
//! - There is no way back: a database with more steps than we know is refused.
//! - A process that only reads takes the steps in a copy: the older database stays as it is.

use super::{ErrorKind, StateError, StateResult};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

/// Reads how many steps a database has taken.
fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Refuses triggers and views. The schema has none; in a state from elsewhere they would run as a part of our own
/// writes and reads.
pub(super) fn refuse_programs(conn: &Connection) -> StateResult<()> {
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
pub(super) fn take_steps(conn: &mut Connection, steps: &[&str]) -> StateResult<()> {
    if taken(conn, steps)? == steps.len() {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have taken them while we waited for the lock.
    for step in &steps[taken(&tx, steps)?..] {
        tx.execute_batch(step)?;
    }
    tx.pragma_update(None, "user_version", count(steps))?;
    tx.commit()?;
    Ok(())
}

/// Counts the steps that a database has taken. Refuses a database that we cannot carry forward.
pub(super) fn taken(conn: &Connection, steps: &[&str]) -> StateResult<usize> {
    let (found, known) = (version(conn)?, count(steps));
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

fn count(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::schema;

    const STEPS: &[&str] = &[
        "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7;",
        "CREATE TABLE b AS SELECT x + y AS z FROM a;",
    ];

    fn memory() -> Connection {
        Connection::open_in_memory().expect("memory")
    }

    #[test]
    fn every_older_version_reaches_the_newest_with_its_rows() {
        for start in 0..=STEPS.len() {
            let mut conn = memory();
            take_steps(&mut conn, &STEPS[..start]).expect("an older one");
            take_steps(&mut conn, STEPS).expect("the newest");
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
        take_steps(&mut conn, &STEPS[..1]).expect("the first");
        let broken = [STEPS[0], STEPS[1], "CREATE TABLE b (x); NONSENSE"];
        take_steps(&mut conn, &broken).expect_err("nonsense");
        assert_eq!(version(&conn).expect("a version"), 1);
        take_steps(&mut conn, STEPS).expect("goes on from the first");
    }

    #[test]
    fn f013_a_newer_database_is_refused() {
        let mut conn = memory();
        take_steps(&mut conn, STEPS).expect("three steps");
        let newer = ErrorKind::Newer { found: 3, known: 2 };
        assert_eq!(
            take_steps(&mut conn, &STEPS[..2]).expect_err("newer").kind,
            newer
        );
        let error = taken(&conn, &STEPS[..2]).expect_err("newer");
        assert_eq!(error.kind, newer);
        assert_eq!(version(&conn).expect("untouched"), 3);
    }

    #[test]
    fn another_programs_database_is_not_taken_over() {
        let mut conn = memory();
        conn.execute_batch("CREATE TABLE theirs (x)")
            .expect("a table");
        assert_eq!(
            take_steps(&mut conn, STEPS).expect_err("foreign").kind,
            ErrorKind::Corrupt
        );
        let mut conn = memory();
        conn.pragma_update(None, "user_version", -4).expect("set");
        assert_eq!(
            take_steps(&mut conn, STEPS).expect_err("negative").kind,
            ErrorKind::Corrupt
        );
    }

    #[test]
    fn the_present_schema_can_be_made() {
        let mut conn = memory();
        take_steps(&mut conn, schema::STEPS).expect("the schema");
        let taken = taken(&conn, schema::STEPS).expect("current");
        assert_eq!(taken, schema::STEPS.len());
    }
}
