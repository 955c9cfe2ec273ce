//! The state of a run: in memory, or a real database. Both can be saved, rolled back and lost.

use super::kb::workspace;
use kbsync::model::Timestamp;
use kbsync::state::{Binding, Store};
use std::path::{Path, PathBuf};

/// A saved copy of a state.
pub(super) enum Saved {
    Memory(Box<Store>),
    File(PathBuf),
}

/// Returns the binding of the state.
pub(super) fn binding() -> Binding {
    Binding {
        service: "https://kb.example.com".to_owned(),
        workspace: workspace(),
    }
}

/// Opens the database of a real folder.
pub(super) fn open(root: &Path, now: i64) -> Store {
    let now = Timestamp(now / 1_000_000);
    Store::open(&root.join(".kbsync"), &binding(), now).expect("a state")
}

/// Saves a copy of a state.
pub(super) fn save(store: Store, now: i64) -> (Store, Saved) {
    if store.path().is_none() {
        let saved = store.copy().expect("copied");
        return (store, Saved::Memory(Box::new(saved)));
    }
    let (root, path) = closed(store);
    let saved = path.with_extension("saved");
    std::fs::copy(path, &saved).expect("copied");
    (open(&root, now), Saved::File(saved))
}

/// Replaces a state by a saved one.
pub(super) fn restore(store: Store, saved: Saved, now: i64) -> Store {
    match saved {
        Saved::Memory(saved) => *saved,
        Saved::File(saved) => {
            let (root, path) = closed(store);
            std::fs::rename(saved, path).expect("renamed");
            open(&root, now)
        }
    }
}

/// Loses a state: the next state is empty.
pub(super) fn lose(store: Store, now: i64) -> Store {
    if store.path().is_none() {
        return Store::in_memory(&binding()).expect("a state");
    }
    let (root, path) = closed(store);
    std::fs::remove_file(path).expect("removed");
    open(&root, now)
}

/// Closes a real database, so that no part of it is in a log. Returns the mirror and the database's path.
fn closed(store: Store) -> (PathBuf, PathBuf) {
    let path = store.path().expect("a real one").to_owned();
    drop(store);
    assert!(!path.with_extension("db-wal").exists(), "it is closed");
    let root = path.parent().and_then(Path::parent);
    (root.expect("in a mirror").to_owned(), path)
}
