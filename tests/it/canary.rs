//! The canary: every token in these tests has it in its name, so that wherever one turns up can be told.
//!
//! A world and a mirror of the real command hold a [`Watch`]: at their end every file below is searched, the
//! state, the budget and the lock among them. What the command printed is searched when it has run, and so is
//! the log of a daemon.

use std::path::{Path, PathBuf};

/// What every token of the tests begins with.
pub(crate) const CANARY: &str = "CANARY";

/// Searches a folder when it is dropped. The folder must still be there: a watch over nothing finds nothing.
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

    /// Files of this name hold a token on purpose.
    pub(crate) fn except(&mut self, name: &'static str) {
        self.keeps.push(name);
    }

    /// Searches the folder as it is now.
    pub(crate) fn search(&self) {
        let folder = self.folder.display();
        assert!(self.folder.is_dir(), "nothing was searched in {folder}");
        let found = singing(&self.folder, &self.keeps);
        assert_eq!(found, Vec::<PathBuf>::new(), "files with the token");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.search();
        }
    }
}

/// Checks something that was printed.
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
            && memchr::memmem::find(&bytes, CANARY.as_bytes()).is_some()
        {
            found.push(path);
        }
    }
    found
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

/// Whether nothing was found meanwhile.
pub(crate) fn content(work: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok()
}

#[tokio::test]
async fn f131_a_world_searches_the_folder_that_it_has_in_the_end() {
    let stage = crate::hostile::world().await;
    assert!(content(move || drop(stage)));
    let mut stage = crate::hostile::world().await;
    stage.write(".kbsync/x", CANARY);
    assert!(!content(move || drop(stage)));
    // One that went on elsewhere searched the folder that it left.
    stage = crate::hostile::world().await;
    stage.write(".kbsync/x", CANARY);
    assert!(!content(move || stage.renew()));
    stage = crate::hostile::world().await;
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
