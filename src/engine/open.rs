//! From checked settings to an engine: for the commands and for the daemon.
//!
//! [`write_state`] opens the state for changes. [`read_state`] changes nothing at all, makes nothing, and needs no
//! lock.

use super::settings::Settings;
pub use super::settings::prefix;
use super::{Clock, Engine, SystemClock, neighbours};
use crate::config::{Config, Root};
use crate::mirror::disk::RealDisk;
use crate::service::Service;
use crate::state::home::Home;
use crate::state::store::Store;
use crate::state::{Binding, StateError};

/// The workspace that a state belongs to.
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
        prefix: prefix(config, root),
        categories: config.categories.iter().copied().collect(),
        guard_window: options.guard_window,
        max_deletes: options.max_deletes,
        on_conflict: options.on_conflict,
        probe: options.probe,
        new_enabled: options.new_articles.enabled,
        new_draft: options.new_articles.draft,
        keep_days: options.history.keep_days,
        keep_versions: options.history.keep_versions,
    }
}

/// Puts the engine of a workspace together, over a state from [`write_state`] or [`read_state`].
pub fn engine<S: Service>(
    config: &Config,
    root: &Root,
    service: S,
    store: Store,
) -> anyhow::Result<Engine<S, RealDisk>> {
    let disk = RealDisk::open(&root.path)?;
    let engine = Engine::new(service, disk, store, settings(config, root));
    let home = Home::of(&root.path, &config.user_state_dir)?;
    Ok(engine.with_folders(neighbours::of(config, root), Some(home)))
}

/// Opens the state of a workspace to change it. The caller holds the lock of the workspace's folder.
pub fn write_state(config: &Config, root: &Root) -> anyhow::Result<Store> {
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

/// The state of a workspace, for reading; `None`: nothing was synced yet.
pub fn known_state(config: &Config, root: &Root) -> Result<Option<Store>, StateError> {
    Store::open_read_only(&root.state, Some(&binding(config, root)))
}
