//! The engine of a workspace, made from checked settings: for the commands and the daemon.
//!
//! - [`write_state`] opens the state for changes. [`read_state`] changes and creates nothing, and needs no lock.
//! - [`Neighbours`] finds files that were moved into the folders of other workspaces. It is asked only before an
//!   article is deleted because its file is missing, and looks for `id:` lines: a file that is ignored or no article in
//!   that workspace counts as well. As in the own mirror, it does not follow links or descend into nested folders.

use crate::config::{Config, Root};
use crate::engine::settings::Settings;
use crate::engine::{Clock as _, Engine, SystemClock};
use crate::mirror::disk::RealDisk;
use crate::mirror::layout::Layout;
use crate::mirror::lock::lock_path;
use crate::mirror::scan;
use crate::model::{ArticleId, Place};
use crate::reconcile::guard::Elsewhere;
use crate::service::Service;
use crate::state::home::Home;
use crate::state::store::Store;
use crate::state::{Binding, StateError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The service and the workspace of a state.
fn binding(config: &Config, root: &Root) -> Binding {
    Binding {
        service: config.service.clone(),
        workspace: root.workspace,
    }
}

/// Returns the settings that a cycle needs.
pub fn settings(config: &Config, root: &Root) -> Settings {
    let options = &config.options;
    Settings {
        workspace: root.workspace,
        prefix: root.prefix.clone(),
        categories: config.categories.iter().copied().collect(),
        guard_window: options.guard_window,
        max_deletes: options.max_deletes,
        on_conflict: options.on_conflict,
        probe: options.probe,
        new_articles: options.new_articles,
        keep_days: options.history.keep_days,
        keep_versions: options.history.keep_versions,
    }
}

/// Makes the engine of a workspace over a state from [`write_state`] or [`read_state`].
pub fn engine<S: Service>(
    config: &Config,
    root: &Root,
    service: S,
    store: Store,
) -> anyhow::Result<Engine<S, RealDisk>> {
    let disk = RealDisk::open(&root.path)?;
    let engine = Engine::new(service, disk, store, settings(config, root));
    let home = Home::of(&root.path, &config.user_state_dir)?;
    Ok(engine.with_folders(other_workspaces(config, root), Some(home)))
}

/// Opens the state of a workspace for changes. The caller holds the lock of the workspace's folder.
pub fn write_state(config: &Config, root: &Root) -> anyhow::Result<Store> {
    let mut store = unlocked_state(config, root)?;
    store.keep_with(lock_path(&root.path))?;
    Ok(store)
}

/// Opens the state of a workspace for changes, before there is a lock.
pub fn unlocked_state(config: &Config, root: &Root) -> anyhow::Result<Store> {
    Store::prepare(&root.state)?;
    let now = SystemClock.now();
    Ok(Store::open(&root.state, &binding(config, root), now)?)
}

/// The state of a workspace, for reading; an empty one where there is none.
pub fn read_state(config: &Config, root: &Root) -> Result<Store, StateError> {
    match known_state(config, root)? {
        Some(store) => Ok(store),
        None => Store::in_memory(&binding(config, root)),
    }
}

/// The state of a workspace, for reading; `None`: there was no sync yet.
pub fn known_state(config: &Config, root: &Root) -> Result<Option<Store>, StateError> {
    Store::open_read_only(&root.state, Some(&binding(config, root)))
}

/// Returns which of some articles have their files in other workspaces' folders.
pub type Neighbours = Arc<dyn Fn(&BTreeSet<ArticleId>) -> Elsewhere + Send + Sync>;

/// The folders of all workspaces of a mirror but one.
fn other_workspaces(config: &Config, root: &Root) -> Neighbours {
    let roots = config.roots().into_iter();
    let others = roots.filter(|other| other.path != root.path);
    among(others.map(|other| (other.prefix, other.path)).collect())
}

/// Folders, each with the prefix of its paths in the mirror.
pub fn among(folders: Vec<(String, PathBuf)>) -> Neighbours {
    Arc::new(move |ids| {
        let mut found = Elsewhere::default();
        if !ids.is_empty() {
            for (prefix, path) in &folders {
                look(prefix, path, ids, &mut found);
            }
        }
        found
    })
}

fn look(prefix: &str, path: &Path, ids: &BTreeSet<ArticleId>, found: &mut Elsewhere) {
    let listed = RealDisk::open(path)
        .and_then(|disk| scan::find_strays(&disk, &Layout::default(), &|_, _| false));
    let below = |place: &Place| format!("{prefix}{}", place.to_string().trim_start_matches('/'));
    match listed {
        Ok(strays) => {
            let asked = strays.ids.iter().filter(|(_, id)| ids.contains(id));
            for (place, id) in asked {
                found.at.entry(*id).or_insert_with(|| below(place));
            }
            if let Some(place) = strays.unreadable.first() {
                found.unread.get_or_insert_with(|| below(place));
            }
        }
        Err(error) => {
            tracing::debug!(folder = prefix, "{error}");
            found.unread.get_or_insert_with(|| prefix.to_owned());
        }
    }
}
