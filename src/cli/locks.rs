//! The locks of a mirror's workspaces, and the look whether it is the mirror that the state knows.

use super::failure::Failure;
use crate::{
    config::{Config, Root},
    mirror::lock::{self, Lock, PRIVATE_FOLDER},
    model::path::EXTENSION,
    state::store::Store,
};
use std::{fs, io, path::Path};

/// Takes the lock of every workspace's folder, after a look at all of them. One that was never synced is made. Only
/// where all of its files are about to be brought back may one be empty that the state knows otherwise: then what
/// nobody has written to yet of the other workspaces is not looked at, and stays as it is.
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
    // Before anything is made in any of them: what is not mounted stays as bare as it is.
    for root in missing {
        lock::make_root(&root.path)?;
    }
    let lock = |root: &&Root| Ok(Lock::acquire(&root.path, doing)?);
    wanted.iter().map(lock).collect()
}

/// Looks at a folder that kbsync never wrote to. A state that is kept elsewhere may know articles all the same:
/// then either this is a fresh checkout of them, or their disk is not mounted (failures row 40). Returns whether it is
/// still to be made.
fn is_new(root: &Root) -> Result<bool, Failure> {
    let Some(store) = Store::open_read_only(&root.state, None)? else {
        return Ok(!root.path.is_dir());
    };
    if store.articles()?.is_empty() || has_articles(&root.path).unwrap_or(true) {
        return Ok(false);
    }
    let (folder, state) = (root.path.display(), root.state.display());
    Err(Failure::failed(anyhow::anyhow!(
        "there is not one article in {folder}, and the state in {state} knows some"
    ))
    .help("mount the mirror's disk there; if the files are gone, `kbsync restore .` in that folder brings them back; to begin anew with an empty folder, move the state away, and keep it: it has the history"))
}

/// Returns whether a folder of a mirror has a file that may be an article.
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
