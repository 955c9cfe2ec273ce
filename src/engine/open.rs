//! From checked settings to an engine: for the commands and for the daemon.
//!
//! [`writer`] opens the state for changes and clears up what a crash left behind; the caller holds the
//! lock of the workspace's folder. [`reader`] changes nothing at all, makes nothing, and needs no lock: it
//! is for a dry run.

use super::apply::needs_whole;
use super::settings::Settings;
use super::{Clock, Engine, SystemClock};
use crate::config::{self, Config, Root};
use crate::mirror::disk::{Disk as _, Leftover, RealDisk};
use crate::mirror::document::Document;
use crate::model::{CategoryId, Place, Side, TextDigest, Timestamp, Version, path};
use crate::reconcile::guard::MaxDeletes;
use crate::reconcile::snapshot::OnConflict;
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{Binding, Seen, StateError, Subject};

/// The workspace that a state belongs to.
pub fn binding(config: &Config, root: &Root) -> Binding {
    Binding {
        service: config.service.clone(),
        workspace: root.workspace,
    }
}

/// The folder of a workspace below the mirror, with `/` between names; empty when it is the mirror itself.
pub fn prefix(config: &Config, root: &Root) -> String {
    let below = root.path.strip_prefix(&config.mirror).unwrap_or(&root.path);
    let names: Vec<_> = below
        .components()
        .map(|name| name.as_os_str().to_string_lossy())
        .collect();
    names.join("/")
}

/// What a cycle has to know of the settings.
pub fn settings(config: &Config, root: &Root) -> Settings {
    let options = &config.options;
    Settings {
        workspace: root.workspace,
        prefix: prefix(config, root),
        categories: config.categories.iter().copied().collect(),
        guard_window: options.guard_window,
        max_deletes: MaxDeletes {
            count: options.max_deletes.count,
            percent: options.max_deletes.percent,
        },
        on_conflict: match options.on_conflict {
            config::OnConflict::Hold => OnConflict::Hold,
            config::OnConflict::Local => OnConflict::Local,
            config::OnConflict::Remote => OnConflict::Remote,
        },
        probe: options.probe,
        new_enabled: options.new_articles.enabled,
        new_draft: options.new_articles.draft,
        keep_days: options.history.keep_days,
        keep_versions: options.history.keep_versions,
    }
}

/// Opens a workspace to change it. The caller holds the lock of its folder.
pub fn writer<S: Service>(
    config: &Config,
    root: &Root,
    service: S,
) -> anyhow::Result<Engine<S, RealDisk>> {
    let now = SystemClock.now();
    Store::prepare(&root.state)?;
    let mut store = Store::open(&root.state, &binding(config, root), now)?;
    let disk = RealDisk::open(&root.path)?;
    sweep(&disk, &mut store, now)?;
    Ok(Engine::new(service, disk, store, settings(config, root)))
}

/// Opens a workspace to look at it. Where nothing was synced yet, the state is an empty one.
pub fn reader<S: Service>(
    config: &Config,
    root: &Root,
    service: S,
) -> anyhow::Result<Engine<S, RealDisk>> {
    let store = read_state(config, root)?;
    let disk = RealDisk::open(&root.path)?;
    Ok(Engine::new(service, disk, store, settings(config, root)))
}

/// The state of a workspace, for reading; an empty one where there is none.
pub fn read_state(config: &Config, root: &Root) -> Result<Store, StateError> {
    let binding = binding(config, root);
    match Store::open_read_only(&root.state, Some(&binding))? {
        Some(store) => Ok(store),
        None => Store::in_memory(&binding),
    }
}

/// Clears up what a crash left in the mirror. Bytes that nobody knows go into the history first.
fn sweep(disk: &RealDisk, store: &mut Store, now: Timestamp) -> anyhow::Result<()> {
    let mut broken = None;
    let swept = disk.sweep(&mut |leftover| match keep(store, leftover, now) {
        Ok(kept) => kept,
        Err(error) => {
            broken = Some(error);
            false
        }
    })?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    if swept > 0 {
        tracing::info!(files = swept, "cleared up what an earlier run left behind");
    }
    Ok(())
}

/// Keeps a leftover in the history; `false`: it cannot be kept there and stays where it is.
fn keep(store: &mut Store, leftover: &Leftover, now: Timestamp) -> Result<bool, StateError> {
    let Ok(source) = std::str::from_utf8(&leftover.bytes) else {
        return Ok(false);
    };
    let folder = leftover.folder.clone().unwrap_or_default();
    let document = Document::parse_with_markers(&leftover.bytes).ok();
    let named = leftover.name.as_ref().map(|name| Place::new(&folder, name));
    let row = match (document.as_ref().and_then(Document::id), &named) {
        (Some(id), _) => store.article(id)?,
        (None, Some(place)) => store.articles_at(place)?.into_iter().next(),
        (None, None) => None,
    };
    let id = document
        .as_ref()
        .and_then(Document::id)
        .or_else(|| row.as_ref().map(|row| row.id));
    let place = named
        .or_else(|| row.as_ref().map(|row| row.place.clone()))
        .unwrap_or_else(|| Place::new(&folder, format!("leftover{}", path::EXTENSION)));
    let text = document.as_ref().map_or(source, Document::text);
    let version = Version {
        title: document
            .as_ref()
            .map_or_else(|| place.stem().to_owned(), |doc| doc.title().to_owned()),
        slug: document
            .as_ref()
            .and_then(Document::slug)
            .map_or_else(|| place.stem().to_owned(), str::to_owned),
        category: row.as_ref().map_or_else(
            || CategoryId::provisional(&folder),
            |row| row.local.category,
        ),
        introtext: document
            .as_ref()
            .map_or_else(String::new, |doc| doc.introtext().to_owned()),
        keywords: document
            .as_ref()
            .map_or_else(String::new, |doc| doc.keywords().to_owned()),
        text: TextDigest::of(text),
    };
    let known = match id {
        Some(id) => store.knew(id, version.digest())?.is_some(),
        None => false,
    };
    if known && !needs_whole(source, &version, &place) {
        return Ok(true);
    }
    store.write(now, |tx| {
        tx.put_body(text)?;
        let file = Some(tx.put_body(source)?);
        tx.record(&Seen {
            subject: id.map_or_else(|| Subject::File(place.clone()), Subject::Article),
            place: place.clone(),
            side: Side::Local,
            cause: "left behind by a run that was cut off".to_owned(),
            version: version.clone(),
            file,
        })
    })?;
    Ok(true)
}
