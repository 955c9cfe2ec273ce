//! The canary: every token in these tests has it in its name, so that wherever one turns up can be told.
//!
//! A world and a mirror of the real command hold a [`Watch`]: at their end every file below is searched, the
//! state, the budget and the lock among them. What the command printed is searched when it has run.

use std::path::{Path, PathBuf};

/// What every token of the tests begins with.
pub(crate) const CANARY: &str = "CANARY";

/// Searches a folder when it is dropped, for as long as the folder is still there.
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
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let found = singing(&self.folder, &self.keeps);
            assert_eq!(found, Vec::<PathBuf>::new(), "files with the token");
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
