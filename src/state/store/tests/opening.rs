//! Opening, damage, other processes, full disks.

use super::{NOW, article, binding, id, memory};
use crate::state::store::open::bound_to;
use crate::{
    drill::death,
    model::{ArticleId, CategoryId, Flags, Place, Side, Timestamp, WorkspaceId},
    state::{
        ArticleRow, Attempt, Binding, Creation, ErrorKind, Sent, Store, Target, Visibility,
        migrate, schema,
    },
};
use rusqlite::{Connection, StatementStatus, config::DbConfig};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    time::Duration,
};
use uuid::Uuid;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn open(dir: &Path) -> Store {
    Store::open(dir, &binding(), NOW).expect("opens")
}

fn bound(store: &Store) -> Binding {
    let bound = bound_to(&store.conn).expect("read");
    bound.expect("bound")
}

fn kind_of(dir: &Path) -> ErrorKind {
    Store::open(dir, &binding(), NOW)
        .expect_err("is refused")
        .kind
}

fn put(store: &mut Store, numbers: std::ops::Range<u128>) {
    store
        .write_at(NOW, |tx| {
            for number in numbers {
                tx.put_article(&article(number))?;
            }
            Ok(())
        })
        .expect("written");
}

#[test]
fn a_store_can_be_sent_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    sendable(&memory());
}

#[test]
fn what_was_written_is_there_after_opening_again() {
    let dir = folder();
    put(&mut open(dir.path()), 1..3);
    let store = open(dir.path());
    assert_eq!(store.articles().expect("rows"), [article(1), article(2)]);
    assert_eq!(bound(&store), binding());
    assert!(store.path().is_some_and(|path| path.ends_with("state.db")));
}

#[test]
fn a_copy_goes_its_own_way() {
    let dir = folder();
    let mut store = open(dir.path());
    put(&mut store, 1..3);
    let copy = store.copy().expect("copied");
    put(&mut store, 3..4);
    assert_eq!(copy.articles().expect("rows"), [article(1), article(2)]);
    assert_eq!(bound(&copy), binding());
    assert_eq!(copy.path(), None);
    assert_eq!(store.articles().expect("rows").len(), 3);
}

#[test]
fn a_process_that_died_commits_nothing_more() {
    let mut store = memory();
    // A transaction passes two points: before its commit, and after.
    death::set(Some(2));
    put(&mut store, 1..2);
    assert!(death::came());
    store
        .write_at(NOW, |tx| tx.put_article(&article(2)))
        .expect_err("dead");
    death::set(None);
    assert_eq!(store.articles().expect("rows"), [article(1)]);
    death::set(Some(1));
    store
        .write_at(NOW, |tx| tx.put_article(&article(2)))
        .expect_err("dead");
    death::set(None);
    assert_eq!(store.articles().expect("rows"), [article(1)]);
}

/// The name of the file system of a folder, as the kernel reports it; the longest mount point counts.
#[cfg(target_os = "linux")]
fn file_system(dir: &Path) -> String {
    let dir = dir.canonicalize().expect("a folder");
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let on = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, kind) = (words.next()?, words.next()?);
        dir.starts_with(point).then_some((point.len(), kind))
    });
    on.max().expect("it is somewhere").1.to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn f098_a_local_disk_gets_a_log_that_is_synced_and_a_shared_one_a_journal() {
    let mut tried = 0;
    for top in [
        std::env::temp_dir(),
        "/dev/shm".into(),
        env!("CARGO_MANIFEST_DIR").into(),
    ] {
        let Ok(dir) = tempfile::tempdir_in(&top) else {
            continue;
        };
        let expected = match file_system(dir.path()).as_str() {
            "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "tmpfs" | "overlay" | "zfs" | "f2fs" => {
                ("wal", 2)
            }
            "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "ceph" | "vboxsf" => {
                ("delete", 3)
            }
            fuse if fuse.starts_with("fuse") => ("delete", 3),
            _ => continue,
        };
        let store = open(dir.path());
        let asked = |pragma: &str| {
            store
                .conn
                .pragma_query_value(None, pragma, |row| row.get(0))
        };
        let mode: String = asked("journal_mode").expect("a mode");
        let synchronous = store
            .conn
            .pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0));
        assert_eq!(
            (mode.as_str(), synchronous.expect("a level")),
            expected,
            "{}",
            top.display()
        );
        tried += 1;
    }
    assert!(tried > 0, "not one of these file systems is known");
}

#[test]
fn f141_the_state_is_readable_by_its_owner_only() {
    let dir = folder();
    fs::write(dir.path().join("state.db"), "").expect("made");
    fs::set_permissions(
        dir.path().join("state.db"),
        fs::Permissions::from_mode(0o644),
    )
    .expect("widened");
    let mut store = open(dir.path());
    put(&mut store, 1..2);
    let mut files = 0;
    for entry in fs::read_dir(dir.path()).expect("a listing") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", entry.path().display());
        files += 1;
    }
    assert!(files >= 1);
}

#[test]
fn a_database_that_is_a_link_is_refused() {
    let dir = folder();
    let elsewhere = folder();
    drop(open(elsewhere.path()));
    symlink(
        elsewhere.path().join("state.db"),
        dir.path().join("state.db"),
    )
    .expect("linked");
    assert_eq!(kind_of(dir.path()), ErrorKind::Io);
    assert!(Store::open_read_only(dir.path(), None).is_err());
    // A link in place of the folder is the user's own choice.
    let linked = dir.path().join("folder");
    symlink(elsewhere.path(), &linked).expect("linked");
    drop(open(&linked));
}

#[test]
fn f049_another_workspace_or_service_is_refused() {
    let dir = folder();
    put(&mut open(dir.path()), 1..2);
    let others = [
        Binding {
            workspace: WorkspaceId::new(Uuid::from_u128(2)),
            ..binding()
        },
        Binding {
            service: "https://kb.example.com/eu".to_owned(),
            ..binding()
        },
    ];
    for other in others {
        let refused = ErrorKind::ForeignBinding {
            was: binding(),
            now: Box::new(other.clone()),
        };
        let error = Store::open(dir.path(), &other, NOW).expect_err("foreign");
        assert_eq!(error.kind, refused);
        assert!(
            error.to_string().contains("https://kb.example.com"),
            "{error}"
        );
        let error = Store::open_read_only(dir.path(), Some(&other)).expect_err("foreign");
        assert_eq!(error.kind, refused);
    }
    let unasked = Store::open_read_only(dir.path(), None).expect("opens");
    assert_eq!(bound(&unasked.expect("is there")), binding());
}

#[test]
fn a_state_in_which_nothing_was_recorded_binds_nobody() {
    let dir = folder();
    let mut store = open(dir.path());
    store
        .write_at(NOW, |tx| {
            tx.set_meta("first_sync", "open")?;
            tx.put_waiting("held", &BTreeMap::from([("create a".to_owned(), 1)]))
        })
        .expect("written");
    drop(store);
    let other = Binding {
        service: "https://the-right.example.com".to_owned(),
        ..binding()
    };
    let found = Store::open_read_only(dir.path(), Some(&other)).expect("opens");
    assert!(found.is_none());
    let mut store = Store::open(dir.path(), &other, NOW).expect("bound anew");
    assert_eq!(bound(&store), other);
    assert_eq!(store.meta("first_sync").expect("read"), None);
    let held: BTreeMap<String, i64> = store.waiting("held").expect("rows");
    assert!(held.is_empty());
    // A stored body shows that content was seen.
    store
        .write_at(NOW, |tx| tx.put_body("<p>Hi</p>").map(|_| ()))
        .expect("written");
    drop(store);
    let error = Store::open(dir.path(), &binding(), NOW).expect_err("foreign");
    let now = Box::new(binding());
    assert_eq!(error.kind, ErrorKind::ForeignBinding { was: other, now });
}

#[test]
fn a_reader_takes_missing_steps_in_a_copy() {
    for taken in 1..schema::STEPS.len() {
        let dir = folder();
        let path = dir.path().join("state.db");
        let mut conn = Connection::open(&path).expect("opens");
        migrate::take_steps(&mut conn, &schema::STEPS[..taken]).expect("an older one");
        let bound = (binding().service, binding().workspace);
        conn.execute("INSERT INTO binding VALUES (1, ?1, ?2, 0)", bound)
            .expect("bound");
        conn.execute("INSERT INTO figures VALUES (?1, 7, 0, 0, 0, NULL)", [id(1)])
            .expect("written");
        drop(conn);
        let bytes = fs::read(&path).expect("bytes");
        let check = |store: &Store| {
            assert_eq!(store.figures().expect("rows")[0].1.views, 7, "{taken}");
            assert_eq!(store.articles().expect("rows"), [], "{taken}");
            assert_eq!(store.listing_entries().expect("rows"), [], "{taken}");
            assert_eq!(store.journal().expect("rows"), [], "{taken}");
        };
        let read = Store::open_read_only(dir.path(), Some(&binding())).expect("opens");
        check(&read.expect("is there"));
        assert_eq!(fs::read(&path).expect("bytes"), bytes, "{taken}");
        check(&open(dir.path()));
    }
}

#[test]
fn a_state_from_before_several_replaced_versions_were_known_is_carried_on() {
    let dir = folder();
    let mut known = article(1);
    known.superseded.truncate(1);
    open(dir.path())
        .write_at(NOW, |tx| tx.put_article(&known))
        .expect("written");
    let conn = Connection::open(dir.path().join("state.db")).expect("opens");
    let (digest, revision) = &known.superseded[0];
    conn.execute(
        "UPDATE articles SET replaced_digest = ?1, replaced_revision = ?2",
        (digest.as_bytes().as_slice(), &revision.0),
    )
    .expect("as it was");
    conn.execute_batch(
        "ALTER TABLE articles DROP COLUMN replaced_before;
         DROP TABLE tombstones;
         DROP TABLE journal;
         DROP TABLE displaced;
         INSERT INTO intents (json) VALUES ('{\"write_file\":{}}'), ('{\"remove_file\":{}}'),
           ('{\"write_category\":{}}');
         CREATE TABLE tombstones (
           article BLOB NOT NULL PRIMARY KEY, revision TEXT NOT NULL, at INTEGER NOT NULL
         ) STRICT, WITHOUT ROWID;
         DROP TABLE backoff;
         ALTER TABLE articles ADD COLUMN asked INTEGER;
         PRAGMA user_version = 1;",
    )
    .expect("as it was");
    drop(conn);
    let bytes = fs::read(dir.path().join("state.db")).expect("bytes");
    let store = Store::open_read_only(dir.path(), None).expect("opens");
    let store = store.expect("is there");
    assert_eq!(store.articles().expect("rows"), [known.clone()]);
    let buried = store.is_buried(known.id, &known.revision);
    assert!(!buried.expect("no row"));
    assert_eq!(store.pending_requests().expect("rows"), []);
    assert_eq!(store.journal().expect("rows"), []);
    assert_eq!(store.displaced().expect("rows"), []);
    drop(store);
    let after = fs::read(dir.path().join("state.db")).expect("bytes");
    assert_eq!(after, bytes);
    let mut store = open(dir.path());
    assert_eq!(store.articles().expect("rows"), [known]);
    assert_eq!(store.pending_requests().expect("rows"), []);
    assert_eq!(store.last_slot().expect("read"), 0);
    put(&mut store, 1..2);
    assert_eq!(store.articles().expect("rows"), [article(1)]);
}

/// A state of the version with a table of the new articles that had no id in their file.
#[test]
fn what_an_earlier_version_was_creating_stands_and_no_file_of_it_is_missed() {
    let dir = folder();
    drop(open(dir.path()));
    let (new, restored) = (article(1).id, article(2).id);
    let creation = Creation {
        request: 1,
        place: Place::new("start", "new.html"),
        first: Sent {
            version: article(3).local,
            flags: Flags::default(),
        },
        later: Vec::new(),
        row: None,
        unclear: None,
    };
    let mut written = serde_json::to_value(&creation).expect("written");
    for added in ["later", "row"] {
        let fields = written.as_object_mut().expect("a map");
        assert!(fields.remove(added).is_some());
    }
    let conn = Connection::open(dir.path().join("state.db")).expect("opens");
    conn.execute_batch(&format!(
        "CREATE TABLE unconfirmed_ids (article BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
         INSERT INTO unconfirmed_ids VALUES (unhex(replace('{new}', '-', '')));
         INSERT INTO meta VALUES ('restoring', '[\"{restored}\"]');
         INSERT INTO intents (json) VALUES ('{{\"create_article\":{written}}}'),
           ('{{\"create_category\":{{}}}}'), ('{{\"update_category\":{{}}}}');
         PRAGMA user_version = 9;"
    ))
    .expect("as it was");
    drop(conn);
    let read = Store::open_read_only(dir.path(), None).expect("opens");
    let read = read.expect("is there").creations().expect("rows");
    let store = open(dir.path());
    assert_eq!(store.creations().expect("rows"), read);
    assert_eq!(read, [creation]);
    let restoring: BTreeMap<String, ArticleId> = store.waiting("restoring").expect("rows");
    let restoring: BTreeSet<ArticleId> = restoring.into_values().collect();
    assert_eq!(restoring, [new, restored].into());
    drop(store);
    // A state without new articles stays as it is.
    let conn = Connection::open(dir.path().join("state.db")).expect("opens");
    conn.execute_batch(
        "CREATE TABLE unconfirmed_ids (article BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
         DELETE FROM meta; DELETE FROM waiting; PRAGMA user_version = 9;",
    )
    .expect("as it was");
    drop(conn);
    let store = open(dir.path());
    let restoring: BTreeMap<String, ArticleId> = store.waiting("restoring").expect("rows");
    assert!(restoring.is_empty());
}

/// A state of the version with lists in `meta`: waiting actions still wait, for a reader and after the step.
#[test]
fn what_waits_is_carried_over_from_lists_to_rows() {
    let dir = folder();
    drop(open(dir.path()));
    let id = article(1).id;
    let conn = Connection::open(dir.path().join("state.db")).expect("opens");
    conn.execute_batch(&format!(
        "DROP TABLE waiting;
         INSERT INTO meta VALUES
           ('held', '[{{\"path\":\"a/b.html\",\"id\":\"{id}\",\"action\":\"delete\"}},
             {{\"path\":\"a\",\"id\":null,\"action\":\"create-category\"}}]'),
           ('undone', '[null, \"odd\", {{}}, {{\"path\":\"a/c.html\",\"id\":null,\"action\":\"create\"}}]'),
           ('restoring', '[\"{id}\"]'),
           ('gone_back', '{{\"{id}\":7}}');
         PRAGMA user_version = 10;"
    ))
    .expect("as it was");
    drop(conn);
    let check = |store: &Store| {
        let keys = |kind| {
            let rows: BTreeMap<String, serde_json::Value> = store.waiting(kind).expect("rows");
            rows.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(
            keys("held"),
            ["create-category a".to_owned(), format!("delete {id}")]
        );
        assert_eq!(keys("failed"), ["create a/c.html"]);
        let restoring: BTreeMap<String, ArticleId> = store.waiting("restoring").expect("rows");
        assert_eq!(restoring, [(id.to_string(), id)].into());
        let back: BTreeMap<String, (ArticleId, Timestamp)> =
            store.waiting("gone_back").expect("rows");
        assert_eq!(back, [(id.to_string(), (id, Timestamp(7)))].into());
    };
    let read = Store::open_read_only(dir.path(), None).expect("opens");
    check(&read.expect("is there"));
    let store = open(dir.path());
    check(&store);
    assert_eq!(store.meta("held").expect("read"), None);
}

#[test]
fn f013_a_newer_state_is_refused_and_left_alone() {
    let dir = folder();
    drop(open(dir.path()));
    let path = dir.path().join("state.db");
    let conn = Connection::open(&path).expect("opens");
    conn.pragma_update(None, "user_version", 99).expect("set");
    drop(conn);
    let before = fs::read(&path).expect("bytes");
    assert!(matches!(
        kind_of(dir.path()),
        ErrorKind::Newer { found: 99, .. }
    ));
    let error = Store::open_read_only(dir.path(), None).expect_err("newer");
    assert!(matches!(error.kind, ErrorKind::Newer { found: 99, .. }));
    assert_eq!(fs::read(&path).expect("bytes"), before);
}

#[test]
fn f010_a_file_that_is_no_database_is_refused_and_left_alone() {
    let dir = folder();
    let path = dir.path().join("state.db");
    let junk = "<p>not a database</p>\n".repeat(500);
    fs::write(&path, &junk).expect("written");
    let error = Store::open(dir.path(), &binding(), NOW).expect_err("junk");
    assert_eq!(error.kind, ErrorKind::Corrupt);
    let text = error.to_string();
    assert!(
        text.contains("state.db") && text.contains("kbsync sync"),
        "{text}"
    );
    let error = Store::open_read_only(dir.path(), None).expect_err("junk");
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert_eq!(fs::read_to_string(&path).expect("text"), junk);
}

#[test]
fn f010_damaged_pages_are_an_error_and_never_missing_rows() {
    let dir = folder();
    put(&mut open(dir.path()), 0..600);
    let path = dir.path().join("state.db");
    let whole = fs::read(&path).expect("bytes");
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(&path, &damaged).expect("written");
        match Store::open(dir.path(), &binding(), NOW).and_then(|store| store.articles()) {
            // The page belongs to another table, or to an index.
            Ok(rows) => assert_eq!(rows.len(), 600, "page {page}"),
            Err(error) => assert_eq!(error.kind, ErrorKind::Corrupt, "page {page}: {error:?}"),
        }
    }
}

#[test]
fn f010_damage_is_looked_for_after_an_unclean_end() {
    let dir = folder();
    put(&mut open(dir.path()), 0..2000);
    let path = dir.path().join("state.db");
    let mut bytes = fs::read(&path).expect("bytes");
    let last = bytes.len() / 4096 - 1;
    bytes[last * 4096..].fill(0xa5);
    fs::write(&path, &bytes).expect("written");
    fs::write(dir.path().join("state.db-wal"), "torn").expect("left");
    assert_eq!(kind_of(dir.path()), ErrorKind::Corrupt);
}

#[test]
fn f133_a_state_with_a_trigger_or_a_view_is_refused() {
    for program in [
        "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM articles; END",
        "CREATE VIEW t AS SELECT 1",
    ] {
        let dir = folder();
        put(&mut open(dir.path()), 1..3);
        let path = dir.path().join("state.db");
        let conn = Connection::open(&path).expect("opens");
        conn.execute_batch(program).expect("made");
        drop(conn);
        let writing = Store::open(dir.path(), &binding(), NOW).expect_err("refused");
        let reading = Store::open_read_only(dir.path(), None).expect_err("refused");
        for error in [writing, reading] {
            assert_eq!(error.kind, ErrorKind::Corrupt);
            let said = error.to_string();
            assert!(
                said.contains(" t, and kbsync creates no triggers or views"),
                "{said}"
            );
            assert!(
                said.contains("move it away and run `kbsync sync`"),
                "{said}"
            );
        }
    }
}

#[test]
fn f010_a_damaged_schema_is_told_as_other_damage() {
    for damage in [
        "ALTER TABLE figures DROP COLUMN neutral",
        "DROP TABLE events",
        "PRAGMA user_version = 2",
    ] {
        let dir = folder();
        put(&mut open(dir.path()), 1..3);
        let path = dir.path().join("state.db");
        let conn = Connection::open(&path).expect("opens");
        conn.execute_batch(damage).expect("damaged");
        drop(conn);
        let used = Store::open(dir.path(), &binding(), NOW).and_then(|mut store| {
            store.figures()?;
            store.write_at(NOW, |tx| {
                tx.event(&crate::state::Deed {
                    action: "update".into(),
                    side: Side::Local,
                    path: "a/b.html".into(),
                    id: None,
                    detail: String::new(),
                })
            })
        });
        let error = used.expect_err(damage);
        assert_eq!(error.kind, ErrorKind::Corrupt, "{damage}: {error}");
    }
}

#[test]
fn f130_a_pipe_is_no_database_and_nobody_waits_for_it() {
    let dir = folder();
    let path = dir.path().join("state.db");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("a pipe");
    assert_eq!(kind_of(dir.path()), ErrorKind::Corrupt);
    let error = Store::open_read_only(dir.path(), None).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.to_string().contains("it is not a regular file"));
}

#[test]
fn f010_a_truncated_database_is_refused() {
    let dir = folder();
    put(&mut open(dir.path()), 0..500);
    let path = dir.path().join("state.db");
    let bytes = fs::read(&path).expect("bytes");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("cut");
    let outcome = Store::open(dir.path(), &binding(), NOW).and_then(|store| store.articles());
    assert_eq!(outcome.expect_err("cut").kind, ErrorKind::Corrupt);
}

#[test]
fn a_copy_taken_in_the_middle_has_what_was_committed_and_nothing_else() {
    let dir = folder();
    let mut store = open(dir.path());
    put(&mut store, 1..20);
    let copy = folder();
    store
        .write_at(NOW, |tx| {
            tx.remove_article(id(1))?;
            tx.put_article(&article(99))?;
            // The files that a crash at this point would leave behind.
            for name in ["state.db", "state.db-wal"] {
                let from = dir.path().join(name);
                if from.exists() {
                    fs::copy(from, copy.path().join(name)).expect("copied");
                }
            }
            Ok(())
        })
        .expect("written");
    let found = open(copy.path()).articles().expect("rows");
    assert_eq!(found, (1..20).map(article).collect::<Vec<_>>());
}

#[test]
fn a_failed_change_changes_nothing() {
    let dir = folder();
    let mut store = open(dir.path());
    put(&mut store, 1..3);
    let error = store
        .write_at(NOW, |tx| {
            tx.remove_article(id(1))?;
            tx.put_body("<p>lost</p>")?;
            Err::<(), _>(crate::state::StateError::corrupt("made up"))
        })
        .expect_err("made up");
    assert!(error.path.is_some());
    assert_eq!(store.articles().expect("rows").len(), 2);
    assert!(
        !store
            .has_body(crate::model::TextDigest::of("<p>lost</p>"))
            .expect("looked")
    );
}

#[test]
fn reading_needs_no_database_and_makes_none() {
    let dir = folder();
    assert!(
        Store::open_read_only(dir.path(), Some(&binding()))
            .expect("none")
            .is_none()
    );
    assert!(
        Store::open_read_only(&dir.path().join("missing"), None)
            .expect("none")
            .is_none()
    );
    assert_eq!(fs::read_dir(dir.path()).expect("a listing").count(), 0);
    // A database that was only begun holds nothing yet.
    fs::write(dir.path().join("state.db"), "").expect("begun");
    assert!(
        Store::open_read_only(dir.path(), None)
            .expect("none")
            .is_none()
    );
}

#[test]
fn readers_and_a_writer_do_not_stop_each_other() {
    let dir = folder();
    let mut store = open(dir.path());
    put(&mut store, 1..3);
    let reader = Store::open_read_only(dir.path(), Some(&binding()))
        .expect("opens")
        .expect("is there");
    store
        .write_at(NOW, |tx| {
            tx.remove_article(id(1))?;
            assert_eq!(reader.articles()?.len(), 2);
            let late = Store::open_read_only(dir.path(), None)?.expect("is there");
            assert_eq!(late.articles()?.len(), 2);
            Ok(())
        })
        .expect("written");
    assert_eq!(reader.articles().expect("rows").len(), 1);
}

#[test]
fn a_reader_cannot_write() {
    let dir = folder();
    put(&mut open(dir.path()), 1..3);
    let mut reader = Store::open_read_only(dir.path(), None)
        .expect("opens")
        .expect("is there");
    let error = reader
        .write_at(NOW, |tx| tx.remove_article(id(1)))
        .expect_err("only read");
    assert_eq!(error.kind, ErrorKind::Io);
}

#[test]
fn a_disk_that_takes_no_shared_memory_is_read_as_it_is() {
    let dir = folder();
    let odd = dir.path().join("50% \"odd\" #?ü");
    fs::create_dir(&odd).expect("made");
    put(&mut open(&odd), 1..3);
    // As on a read-only disk, the shared memory cannot be created.
    symlink("/nonexistent/shm", odd.join("state.db-shm")).expect("in the way");
    let reader = Store::open_read_only(&odd, Some(&binding()))
        .expect("opens")
        .expect("is there");
    assert_eq!(reader.articles().expect("rows").len(), 2);
    // With a log beside the database, the database alone is incomplete.
    fs::write(odd.join("state.db-wal"), "log").expect("left");
    assert!(Store::open_read_only(&odd, None).is_err());
}

#[test]
fn another_writer_is_waited_for_and_then_named() {
    let dir = folder();
    let mut store = open(dir.path());
    store
        .conn
        .busy_timeout(Duration::ZERO)
        .expect("no patience");
    let other = Connection::open(dir.path().join("state.db")).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("taken");
    let error = store
        .write_at(NOW, |tx| tx.put_article(&article(1)))
        .expect_err("taken");
    assert_eq!(error.kind, ErrorKind::Busy);
    other.execute_batch("ROLLBACK").expect("given back");
    put(&mut store, 1..2);
}

#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let dir = folder();
    let mut store = open(dir.path());
    put(&mut store, 1..3);
    let pages: i64 = store
        .conn
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .expect("a count");
    store
        .conn
        .pragma_update(None, "max_page_count", pages + 2)
        .expect("set");
    let error = store
        .write_at(NOW, |tx| {
            (10..400).try_for_each(|number| tx.put_article(&article(number)))
        })
        .expect_err("full");
    assert_eq!(error.kind, ErrorKind::Full);
    assert!(error.to_string().contains("disk is full"), "{error}");
    assert_eq!(store.articles().expect("rows").len(), 2);
    put(&mut store, 3..4);
}

#[test]
fn a_swallowed_error_does_not_pass_for_success() {
    let dir = folder();
    let mut store = open(dir.path());
    put(&mut store, 1..3);
    let pages: i64 = store
        .conn
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .expect("a count");
    store
        .conn
        .pragma_update(None, "max_page_count", pages + 2)
        .expect("set");
    let outcome = store.write_at(NOW, |tx| {
        let failures = (10..400).filter(|&number| tx.put_article(&article(number)).is_err());
        assert!(failures.count() > 0);
        Ok(())
    });
    assert_eq!(outcome.expect_err("taken back").kind, ErrorKind::Io);
    assert_eq!(store.articles().expect("rows").len(), 2);
}

#[test]
fn a_log_from_a_local_disk_is_put_away_on_a_remote_one() {
    let dir = folder();
    put(&mut open(dir.path()), 1..3);
    let path = dir.path().join("state.db");
    if !super::super::open::uses_wal(&path).expect("a header") {
        return;
    }
    let conn = Connection::open(&path).expect("opens");
    super::super::open::use_rollback_journal(&conn, &path).expect("changed");
    drop(conn);
    assert!(!super::super::open::uses_wal(&path).expect("a header"));
    assert_eq!(open(dir.path()).articles().expect("rows").len(), 2);
}

#[test]
fn statements_stay_prepared_whatever_is_bound() {
    let store = Store::in_memory(&binding()).expect("a state");
    let copy = store.copy().expect("copied");
    let prepared_anew = |conn: &Connection| {
        let mut statement = conn
            .prepare("SELECT number FROM versions WHERE subject = ?1 ORDER BY number DESC LIMIT 2")
            .expect("prepared");
        for subject in [1, 5, 1, 7] {
            let rows = statement.query_map([subject], |row| row.get::<_, i64>(0));
            assert_eq!(rows.expect("asked").count(), 0);
        }
        statement.get_status(StatementStatus::RePrepare)
    };
    assert_eq!(prepared_anew(&store.conn), 0);
    assert_eq!(prepared_anew(&copy.conn), 0);
    let guarantee = DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    store.conn.set_db_config(guarantee, false).expect("taken");
    assert!(prepared_anew(&store.conn) > 0, "nothing would show it");
}

#[test]
fn a_state_from_before_there_was_one_table_for_attempts_carries_them_over() {
    let dir = folder();
    let hidden = ArticleRow {
        visibility: Visibility::Unpublished,
        ..article(1)
    };
    open(dir.path())
        .write_at(NOW, |tx| {
            tx.put_article(&hidden)?;
            tx.put_article(&article(2))
        })
        .expect("written");
    let conn = Connection::open(dir.path().join("state.db")).expect("opens");
    conn.execute_batch(
        "DROP TABLE backoff;
         ALTER TABLE articles ADD COLUMN asked INTEGER;
         UPDATE articles SET asked = 5;
         INSERT INTO meta VALUES
           ('strangers', '{\"00000000-0000-0000-0000-00000000004d\":{\"at\":6,\"why\":\"gone\",\"hidden\":true}}'),
           ('unread_categories', '{\"00000000-0000-0000-0000-00000000004e\":{\"since\":1,\"at\":7,\"why\":\"no\",\"foreign\":true}}');
         PRAGMA user_version = 5;",
    )
    .expect("as it was");
    drop(conn);
    let read = Store::open_read_only(dir.path(), None).expect("opens");
    let known = Target::Article(hidden.id);
    let attempts = read.expect("is there").backoff().expect("rows");
    let store = open(dir.path());
    assert_eq!(store.backoff().expect("rows"), attempts);
    let attempt = |last_asked, failures, answer: Option<&str>| Attempt {
        last_asked: Timestamp(last_asked),
        failures,
        answer: answer.map(str::to_owned),
    };
    let (unknown, category) = (Uuid::from_u128(0x4d), Uuid::from_u128(0x4e));
    assert_eq!(
        store.backoff().expect("rows"),
        BTreeMap::from([
            (known, attempt(5, 0, None)),
            (
                Target::Article(ArticleId::new(unknown)),
                attempt(
                    6,
                    0,
                    Some(r#"{"article":{"remote":{"not_visible":"gone"},"file":null}}"#)
                ),
            ),
            (
                Target::Category(CategoryId::new(category)),
                attempt(7, 1, Some(r#"{"category":{"why":"no","foreign":true}}"#)),
            ),
        ])
    );
    assert_eq!(store.meta("strangers").expect("read"), None);
}
