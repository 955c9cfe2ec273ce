//! The locks of a mirror's workspaces, and the check that the state belongs to the mirror.

use super::failure::Failure;
use crate::{
    config::{Config, Root},
    mirror::lock::{self, Lock},
    model::path::{EXTENSION, PRIVATE_FOLDER},
    state::store::Store,
};
use std::{fs, io, path::Path};

/// Locks every workspace's folder, after a check of all of them. Creates the folder of a new workspace. Only a restore
/// of all files (`refilled`) accepts an empty folder although the state knows articles; workspaces without a private
/// folder are then neither checked nor touched.
pub(super) fn take(
    config: &Config,
    doing: &str,
    refilled: Option<&Root>,
) -> Result<Vec<Lock>, Failure> {
    let roots = config.roots();
    let (mut wanted, mut missing) = (Vec::new(), Vec::new());
    for root in &roots {
        let is_meant = refilled.is_some_and(|refilled| refilled.path == root.path);
        if is_meant || root.path.join(PRIVATE_FOLDER).exists() {
            wanted.push(root);
        } else if refilled.is_none() {
            if is_new(root)? {
                missing.push(root);
            }
            wanted.push(root);
        }
    }
    // Folders are created after all checks, so that an unmounted folder stays as it is.
    for root in missing {
        lock::make_root(&root.path)?;
    }
    let lock = |root: &&Root| Ok(Lock::acquire(&root.path, doing)?);
    wanted.iter().map(lock).collect()
}

/// Checks a folder without a private folder. If a state that is stored elsewhere knows articles, a folder with articles
/// is a fresh checkout, and a folder without articles is an unmounted disk (failures row 40). Returns whether the
/// folder must be created.
fn is_new(root: &Root) -> Result<bool, Failure> {
    let Some(store) = Store::open_read_only(&root.state, None)? else {
        return Ok(!root.path.is_dir());
    };
    if store.article_count()? == 0 || has_articles(&root.path).unwrap_or(true) {
        return Ok(false);
    }
    let (folder, state) = (root.path.display(), root.state.display());
    Err(Failure::failed(
        format!("{folder} has no articles, and the state in {state} knows some"),
        "mount the mirror's disk there; if the files are gone, `kbsync restore .` in that folder brings them back; to begin anew with an empty folder, move the state away, and keep it: it has the history",
    ))
}

/// Returns whether a category folder of the mirror has a file that may be an article.
fn has_articles(mirror: &Path) -> io::Result<bool> {
    for folder in fs::read_dir(mirror)? {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path())? {
            if file?.file_name().to_string_lossy().ends_with(EXTENSION) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
