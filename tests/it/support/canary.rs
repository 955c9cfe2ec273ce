//! The canary: the tests' tokens all contain this word, so that a leaked token can be found anywhere.
//!
//! A world and a mirror of the real command hold a [`Watch`]: at their end every file below the folder is searched,
//! including the state (its packed bodies unpacked), the budget and the lock. The output of a command is searched when
//! the command has ended, and so is the log of a daemon; where no command is run, an [`Ear`] searches the log events of
//! this process.

use kbsync::model::TextDigest;
use kbsync::state::Store;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::{Dispatch, Subscriber, subscriber::DefaultGuard};
use tracing_subscriber::{EnvFilter, fmt};

/// The beginning of every token in the tests.
pub(crate) const CANARY: &str = "CANARY";

/// Searches a folder when the watch is dropped. The folder must still exist: a search of nothing finds nothing.
#[derive(Debug)]
pub(crate) struct Watch {
    folder: PathBuf,
    /// Files in which a test itself put a token.
    keeps: Vec<&'static str>,
}

impl Watch {
    pub(crate) fn over(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            keeps: Vec::new(),
        }
    }

    /// Leaves out files of this name, which hold a token on purpose.
    pub(crate) fn except(&mut self, name: &'static str) {
        self.keeps.push(name);
    }

    /// Searches the folder as it is now.
    pub(crate) fn search(&self) {
        let folder = self.folder.display();
        assert!(self.folder.is_dir(), "nothing was searched in {folder}");
        let found = singing(&self.folder, &self.keeps);
        assert_eq!(found, Vec::<PathBuf>::new(), "files with the token");
        assert!(!SUNG.load(Ordering::SeqCst), "the token is in the log");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.search();
        }
    }
}

/// Whether this process ever logged the token.
static SUNG: AtomicBool = AtomicBool::new(false);

/// Reads the log events, and stores none of them.
#[derive(Clone, Copy)]
struct Ear(&'static AtomicBool);

impl io::Write for Ear {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if memchr::memmem::find(line, CANARY.as_bytes()).is_some() {
            self.0.store(true, Ordering::SeqCst);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Listens to the log events of this thread, as at `-vvv`, until the returned guard is dropped.
pub(crate) fn listen() -> Ears {
    hear(&SUNG)
}

/// A log of this thread, until it is dropped.
pub(crate) struct Ears {
    _guard: DefaultGuard,
    _second: Dispatch,
}

/// Gives this thread's log events to a subscriber. With a single subscriber, an event that another thread meets first
/// would be turned off for good; a second one prevents that.
pub(crate) fn hear_by(subscriber: impl Subscriber + Send + Sync + 'static) -> Ears {
    Ears {
        _second: Dispatch::new(tracing_subscriber::registry()),
        _guard: tracing::subscriber::set_default(subscriber),
    }
}

fn hear(sung: &'static AtomicBool) -> Ears {
    let log = fmt()
        .with_env_filter(EnvFilter::new("info,kbsync=trace"))
        .with_ansi(false);
    hear_by(log.with_writer(move || Ear(sung)).finish())
}

/// Checks that a printed text has no token.
#[track_caller]
pub(crate) fn silent(printed: &str) {
    assert!(!printed.contains(CANARY), "the token in:\n{printed}");
}

fn singing(folder: &Path, keeps: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let name = entry.file_name();
        let kind = entry.file_type().expect("the kind of a file");
        if kind.is_dir() {
            found.append(&mut singing(&path, keeps));
        } else if kind.is_file()
            && !keeps.iter().any(|keep| name == *keep)
            && let Ok(bytes) = std::fs::read(&path)
            && (sings(&bytes)
                || name == "state.db" && bodies(folder).iter().any(|body| sings(body.as_bytes())))
        {
            found.push(path);
        }
    }
    found
}

fn sings(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, CANARY.as_bytes()).is_some()
}

/// Returns the packed bodies of the state, unpacked. A state that a test has broken has no bodies to unpack.
fn bodies(folder: &Path) -> Vec<String> {
    let path = folder.join("state.db");
    let read_only = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(conn) = rusqlite::Connection::open_with_flags(&path, read_only) else {
        return Vec::new();
    };
    let Ok(Some(store)) = Store::open_read_only(folder, None) else {
        return Vec::new();
    };
    let Ok(mut rows) = conn.prepare("SELECT digest FROM bodies") else {
        return Vec::new();
    };
    let digests = rows.query_map([], |row| row.get::<_, [u8; 32]>(0));
    let digests = digests.into_iter().flatten().filter_map(Result::ok);
    digests
        .filter_map(|digest| store.body(TextDigest::from_bytes(digest)).ok().flatten())
        .collect()
}

#[test]
fn f131_the_watch_finds_a_token_wherever_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("a/.kbsync");
    std::fs::create_dir_all(&deep).expect("made");
    std::fs::write(deep.join("state.db"), format!("x\0{CANARY}-1\0")).expect("written");
    assert_eq!(singing(folder.path(), &[]), [deep.join("state.db")]);
    assert_eq!(singing(folder.path(), &["state.db"]), Vec::<PathBuf>::new());
}

#[test]
fn f131_the_watch_looks_into_packed_bodies() {
    let folder = tempfile::tempdir().expect("a folder");
    let binding = kbsync::state::Binding {
        service: "https://kb.example.com".to_owned(),
        workspace: kbsync::model::WorkspaceId::new(uuid::Uuid::from_u128(7)),
    };
    let now = kbsync::model::Timestamp(1_800_000_000_000);
    let mut store = Store::open(folder.path(), &binding, now).expect("a state");
    let keep = |store: &mut Store, text: &str| {
        store
            .write_at(now, |tx| tx.put_body(text))
            .expect("written");
    };
    keep(&mut store, &"<p>words</p>".repeat(100));
    assert_eq!(bodies(folder.path()).len(), 1);
    assert_eq!(singing(folder.path(), &[]), Vec::<PathBuf>::new());
    // A packed body does not contain the token as plain bytes.
    keep(&mut store, &["CAN", "ARY "].concat().repeat(100));
    drop(store);
    assert_eq!(
        singing(folder.path(), &[]),
        [folder.path().join("state.db")]
    );
}

#[test]
fn f131_the_ear_hears_a_token_in_the_log() {
    static SUNG_HERE: AtomicBool = AtomicBool::new(false);
    let ear = hear(&SUNG_HERE);
    tracing::trace!(target: "kbsync::service", token = "no", "nothing of it");
    assert!(!SUNG_HERE.load(Ordering::SeqCst));
    tracing::trace!(target: "kbsync::service", token = CANARY, "all of it");
    assert!(SUNG_HERE.load(Ordering::SeqCst));
    drop(ear);
}

/// Returns whether the work found no token.
pub(crate) fn content(work: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok()
}

#[tokio::test]
async fn f131_a_world_searches_the_folder_that_it_has_in_the_end() {
    let stage = crate::support::hostile::world().await;
    assert!(content(move || drop(stage)));
    let mut stage = crate::support::hostile::world().await;
    stage.write(".kbsync/x", CANARY);
    assert!(!content(move || drop(stage)));
    // A world that moved to another folder has searched the folder that it left.
    stage = crate::support::hostile::world().await;
    stage.write(".kbsync/x", CANARY);
    assert!(!content(move || stage.renew()));
    stage = crate::support::hostile::world().await;
    stage.renew();
    stage.write(".kbsync/x", CANARY);
    assert!(!content(move || drop(stage)));
}

#[test]
fn f131_a_folder_that_is_gone_was_not_searched() {
    let folder = tempfile::tempdir().expect("a folder");
    let watch = Watch::over(folder.path());
    drop(folder);
    assert!(!content(move || drop(watch)));
}
