//! The mirror as people see it: in memory, or a real folder.

use super::folder::Folder;
use super::step::Save;
use super::token::Tokens;
use super::tree::Tree;
use super::world::{has_ending, is_article, is_ready};
use kbsync::mirror::disk::{Area, Slot};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The place of the files.
#[derive(Debug)]
pub(crate) enum Mirror {
    /// In memory.
    Memory(Box<Tree>),
    /// In a folder.
    Real(Folder),
}

/// A visitor of files: folder, name, bytes, and whether a power loss has torn the bytes.
pub(crate) type Look<'a> = dyn FnMut(&str, &str, &[u8], bool) + 'a;

impl Mirror {
    /// Visits all files.
    pub(crate) fn each(&self, look: &mut Look<'_>) {
        match self {
            Self::Memory(tree) => {
                for (folder, name, node) in tree.files() {
                    look(folder, name, &node.bytes, node.torn);
                }
            }
            Self::Real(real) => {
                for folder in self.folders() {
                    for name in names(&real.root.join(&folder)) {
                        if let Some(bytes) = self.bytes(&folder, &name) {
                            look(&folder, &name, &bytes, false);
                        }
                    }
                }
            }
        }
    }

    /// Returns the words in files that people read as part of the mirror.
    pub(crate) fn tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        match self {
            Self::Memory(tree) => {
                for (_, _, node) in tree.files().filter(|(_, name, _)| is_visible(name)) {
                    tokens.add(&node.tokens);
                }
            }
            Self::Real(_) => self.each(&mut |_, name, bytes, _| {
                if is_visible(name) {
                    tokens.read(bytes);
                }
            }),
        }
        tokens
    }

    /// Returns the words in files that can be articles, at places of articles.
    pub(crate) fn ready_tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        match self {
            Self::Memory(tree) => {
                for (_, _, node) in tree
                    .files()
                    .filter(|(folder, name, node)| is_article(folder, name) && node.is_ready())
                {
                    tokens.add(&node.tokens);
                }
            }
            Self::Real(_) => self.each(&mut |folder, name, bytes, _| {
                if is_article(folder, name) && is_ready(bytes) {
                    tokens.read(bytes);
                }
            }),
        }
        tokens
    }

    /// Returns the words in all files, whatever their names, including staged files and the files that outlived a lost
    /// state. Displaced files do not count: they go after a day.
    pub(crate) fn all_tokens(&self) -> Tokens {
        let mut tokens = Tokens::default();
        match self {
            Self::Memory(tree) => {
                let files = tree.files().map(|(_, _, node)| node);
                for node in files.chain(tree.staged()) {
                    tokens.add(&node.tokens);
                }
            }
            Self::Real(real) => {
                self.each(&mut |_, _, bytes, _| tokens.read(bytes));
                for area in [Area::Stage, Area::Displaced] {
                    let dir = private(&real.root, area);
                    let is_displaced =
                        |name: &String| area == Area::Displaced && slot_of(name).is_some();
                    for name in names(&dir).iter().filter(|name| !is_displaced(name)) {
                        tokens.read(&std::fs::read(dir.join(name)).unwrap_or_default());
                    }
                }
            }
        }
        tokens
    }

    /// Returns the words in the slots of an area, except the slots that a state knows.
    pub(crate) fn tokens_in_slots(&self, area: Area, known: &BTreeSet<Slot>) -> Tokens {
        let mut tokens = Tokens::default();
        match self {
            Self::Memory(tree) => {
                let slots = tree.in_slots(area);
                for (_, node) in slots.filter(|(slot, _)| !known.contains(slot)) {
                    tokens.add(&node.tokens);
                }
            }
            Self::Real(real) => {
                let dir = private(&real.root, area);
                let is_unknown =
                    |name: &String| slot_of(name).is_some_and(|slot| !known.contains(&slot));
                for name in names(&dir).iter().filter(|name| is_unknown(name)) {
                    tokens.read(&std::fs::read(dir.join(name)).unwrap_or_default());
                }
            }
        }
        tokens
    }

    /// The folders' names.
    pub(crate) fn folders(&self) -> Vec<String> {
        match self {
            Self::Memory(tree) => tree.folder_names(),
            Self::Real(real) => {
                let mut folders = names(&real.root);
                folders.retain(|name| name != ".kbsync" && real.root.join(name).is_dir());
                folders
            }
        }
    }

    /// A file's bytes.
    pub(crate) fn bytes(&self, folder: &str, name: &str) -> Option<Vec<u8>> {
        match self {
            Self::Memory(tree) => tree
                .get(folder, name)
                .map(|node| node.bytes.as_ref().clone()),
            Self::Real(real) => std::fs::read(real.root.join(folder).join(name)).ok(),
        }
    }

    /// Returns whether a folder is there.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        self.folders().iter().any(|name| name == folder)
    }

    /// Saves a file, and creates its folder.
    pub(crate) fn save(&mut self, folder: &str, name: &str, bytes: Vec<u8>, save: Save) {
        match self {
            Self::Memory(tree) => tree.save(folder, name, bytes, save == Save::RenameOver),
            Self::Real(real) => real.save(folder, name, &bytes, save),
        }
    }

    /// Removes a file; returns whether there was one.
    pub(crate) fn remove(&mut self, folder: &str, name: &str) -> bool {
        match self {
            Self::Memory(tree) => tree.unlink(folder, name).is_some(),
            Self::Real(real) => std::fs::remove_file(real.root.join(folder).join(name)).is_ok(),
        }
    }

    /// Renames a file, creates the folder, and replaces the file at the new name.
    pub(crate) fn rename(&mut self, from: (&str, &str), to: (&str, &str)) {
        match self {
            Self::Memory(tree) => {
                if let Some(node) = tree.unlink(from.0, from.1) {
                    tree.put(to.0, to.1, node);
                }
            }
            Self::Real(real) => real.rename_over(from, to),
        }
    }

    /// Removes a folder with its content.
    pub(crate) fn remove_folder(&mut self, folder: &str) {
        match self {
            Self::Memory(tree) => tree.drop_folder(folder),
            Self::Real(real) => {
                std::fs::remove_dir_all(real.root.join(folder)).expect("removed");
            }
        }
    }

    /// Renames a folder.
    pub(crate) fn rename_folder(&mut self, from: &str, to: &str) {
        match self {
            Self::Memory(tree) => tree.move_folder(from, to),
            Self::Real(real) => {
                std::fs::rename(real.root.join(from), real.root.join(to)).expect("renamed");
            }
        }
    }

    /// Sets the time of the next changes of files.
    pub(crate) fn set_time(&mut self, nanos: i64) {
        match self {
            Self::Memory(tree) => tree.now = nanos,
            Self::Real(real) => real.now = nanos,
        }
    }
}

/// Returns whether a file's words are part of the mirror for a person.
pub(crate) fn is_visible(name: &str) -> bool {
    name == "_category.yaml" || (has_ending(name, ".html") && !name.starts_with(['.', '_']))
}

fn private(root: &Path, area: Area) -> PathBuf {
    let name = match area {
        Area::Stage => "stage",
        Area::Displaced => "displaced",
    };
    root.join(".kbsync").join(name)
}

/// Returns the slot of a file in the private folder; a file that outlived a lost state has none.
fn slot_of(name: &str) -> Option<Slot> {
    name.parse().ok()
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
