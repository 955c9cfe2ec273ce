//! The JSON file of `kbsync sandbox --data FILE`, which stores the content between runs.
//!
//! The file is replaced atomically. Options, tokens, faults and requests are not stored.

use super::{
    handle::Sandbox,
    options::Options,
    store::{Article, Category, Store, Workspace},
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    changes: u64,
    /// The number of ids so far: no id is used twice, even with a seed for ids.
    #[serde(default)]
    ids: u64,
    workspaces: Vec<Workspace>,
    categories: Vec<Category>,
    articles: Vec<Article>,
}

impl Sandbox {
    /// Loads a service from `path`; without the file, the service is empty. Changes are stored there during
    /// [`Sandbox::serve`], and by [`Sandbox::save`]. A missing folder is created.
    pub fn load(path: &Path, options: Options) -> io::Result<Self> {
        let sandbox = Self::new(options);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let content = match std::fs::read(path) {
            Ok(bytes) => Some(serde_json::from_slice::<Content>(&bytes).map_err(invalid)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut world = sandbox.lock();
        if let Some(content) = content {
            if content.version != VERSION {
                return Err(invalid(format!(
                    "the file has version {}, not {VERSION}",
                    content.version
                )));
            }
            let newest = content.articles.iter().map(|one| one.updated_at).max();
            if let Some(newest) = newest {
                world.clock.after(newest);
            }
            world.ids = content.ids;
            world.store = Store::from_parts(
                content.workspaces,
                content.categories,
                content.articles,
                content.changes,
            );
        }
        world.saved = world.store.changes();
        world.file = Some(path.to_owned());
        drop(world);
        Ok(sandbox)
    }

    /// Returns whether the content is stored in a file.
    pub(super) fn has_file(&self) -> bool {
        self.lock().file.is_some()
    }

    /// Returns whether there are unsaved changes.
    pub(super) fn unsaved(&self) -> bool {
        let world = self.lock();
        world.file.is_some() && world.saved != world.store.changes()
    }

    /// Writes the content to its file, if there is one.
    pub fn save(&self) -> io::Result<()> {
        let (path, ids, store) = {
            let world = self.lock();
            let Some(path) = world.file.clone() else {
                return Ok(());
            };
            (path, world.ids, world.store.clone())
        };
        let content = Content {
            version: VERSION,
            changes: store.changes(),
            ids,
            workspaces: store.workspaces().to_vec(),
            categories: store.categories().to_vec(),
            articles: store.articles().map(|one| Article::clone(one)).collect(),
        };
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        let mut writer = BufWriter::new(file);
        serde_json::to_writer(&mut writer, &content)?;
        writer.flush()?;
        let file = writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)?;
        self.lock().saved = store.changes();
        Ok(())
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
