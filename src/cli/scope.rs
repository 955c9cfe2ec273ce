//! Finds the workspaces that a command is about, and the paths and folders in each.

use super::{context::Context, failure::Failure, paths::in_mirror, print::escape};
use crate::{
    config::{Config, Root},
    engine::open,
    model::{
        ArticleId,
        path::{CATEGORY_FILE, EXTENSION, PRIVATE_FOLDER},
    },
    state::{StateError, Store},
};
use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

/// A workspace, with the paths that a command is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// The workspace's location.
    pub(super) root: Root,
    /// Files and category folders; empty: everything.
    pub(super) scope: Vec<String>,
}

impl Part {
    /// Returns a path below this workspace; `""` is the workspace itself.
    pub(super) fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        if path == self.root.folder() {
            return Some("");
        }
        path.strip_prefix(&self.root.prefix)
    }

    /// Returns a path of this workspace as a path below the mirror.
    pub(super) fn path(&self, below: impl Display) -> String {
        format!("{}{below}", self.root.prefix)
    }

    /// Opens the state for reading; `None`: nothing was synced yet.
    pub(super) fn state(&self, config: &Config) -> Result<Option<Store>, Failure> {
        Ok(open::known_state(config, &self.root)?)
    }

    /// Returns whether a name is or was a category's folder.
    pub(super) fn has_folder(&self, config: &Config, name: &str) -> Result<bool, Failure> {
        if self.root.path.join(name).is_dir() {
            return Ok(true);
        }
        match self.state(config)? {
            Some(store) => Ok(!store.events(1, Some(name))?.is_empty()),
            None => Ok(false),
        }
    }

    /// Returns whether a path is a folder above this workspace.
    fn is_under(&self, path: &str) -> bool {
        let below = self.root.folder().strip_prefix(path);
        path.is_empty() || below.is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Returns the paths of these parts, relative to the mirror. The list is empty if the parts are the whole mirror.
pub(super) fn paths(config: &Config, parts: &[Part]) -> Vec<String> {
    let whole = |part: &Part| part.scope.is_empty();
    if parts.iter().all(whole) && parts.len() == config.roots().len() {
        return Vec::new();
    }
    parts
        .iter()
        .flat_map(|part| {
            if whole(part) {
                vec![part.root.folder().to_owned()]
            } else {
                part.scope.iter().map(|path| part.path(path)).collect()
            }
        })
        .collect()
}

/// Returns all workspaces of the mirror.
pub(super) fn all(config: &Config) -> Vec<Part> {
    let roots = config.roots().into_iter();
    let whole = roots.map(|root| Part {
        root,
        scope: Vec::new(),
    });
    whole.collect()
}

/// Returns the workspaces that the paths are in; without paths, all workspaces.
pub(super) fn parts(
    context: &Context,
    config: &Config,
    paths: &[PathBuf],
) -> Result<Vec<Part>, Failure> {
    let mut parts = all(config);
    for path in paths {
        let below = in_mirror(&config.mirror, &context.current, path)?;
        let mut found = false;
        for part in &mut parts {
            let rest = match part.below(&below) {
                None if !part.is_under(&below) => continue,
                // An empty path stands for the whole workspace, until the scope is cleared below.
                None | Some("") => String::new(),
                Some(rest) => known(config, part, rest, path)?,
            };
            part.scope.push(rest);
            found = true;
        }
        if !found {
            return Err(in_none(path, &parts));
        }
    }
    parts.retain(|part| paths.is_empty() || !part.scope.is_empty());
    for part in &mut parts {
        if part.scope.iter().any(String::is_empty) {
            part.scope.clear();
        }
    }
    Ok(parts)
}

/// Checks that a workspace's folder exists: with several workspaces, each has its history in its own folder.
pub(super) fn must_be_there(config: &Config, root: &Root) -> Result<(), Failure> {
    let is_whole = root.path == config.mirror;
    if is_whole || !root.state.starts_with(&root.path) || root.path.exists() {
        return Ok(());
    }
    let folder = root.folder();
    Err(Failure::failed(
        format!(
            "the folder of a workspace, {folder}, is not there, and its history lay in {folder}/{PRIVATE_FOLDER}"
        ),
        format!(
            "put the folder back as it was, `{PRIVATE_FOLDER}` included; or `kbsync sync {folder}` fetches what the \
             service has, without the history"
        ),
    ))
}

/// Returns the workspace, and the path in it, of one argument.
pub(super) fn part(
    context: &Context,
    config: &Config,
    path: &Path,
) -> Result<(Part, String), Failure> {
    let below = in_mirror(&config.mirror, &context.current, path)?;
    let parts = all(config);
    let found = parts
        .iter()
        .find_map(|part| Some((part, part.below(&below)?)));
    match found {
        Some((part, rest)) => Ok((part.clone(), rest.to_owned())),
        None if parts.iter().any(|part| part.is_under(&below)) => {
            for part in &parts {
                must_be_there(config, &part.root)?;
            }
            Err(Failure::usage(
                format!("{} holds the folders of several workspaces", path.display()),
                format!(
                    "name one of these folders, or a path inside one: {}",
                    names(&parts)
                ),
            ))
        }
        None => Err(in_none(path, &parts)),
    }
}

/// Returns the folders that an argument names, each with its workspace: `""` for the mirror or a workspace, else a
/// category's folder, present or former. `None`: the argument names no folder, but perhaps an article.
pub(super) fn folders(
    context: &Context,
    config: &Config,
    path: &Path,
) -> Result<Option<Vec<(Part, String)>>, Failure> {
    if path.to_string_lossy().parse::<ArticleId>().is_ok() {
        return Ok(None);
    }
    if in_mirror(&config.mirror, &context.current, path).is_ok_and(|below| below.is_empty()) {
        let parts = all(config).into_iter();
        return Ok(Some(parts.map(|part| (part, String::new())).collect()));
    }
    let Ok((part, folder)) = part(context, config, path) else {
        return Ok(None);
    };
    must_be_there(config, &part.root)?;
    let is_folder =
        !folder.contains('/') && (folder.is_empty() || part.has_folder(config, &folder)?);
    Ok(is_folder.then(|| vec![(part, folder)]))
}

fn in_none(path: &Path, parts: &[Part]) -> Failure {
    Failure::usage(
        format!("{} is in none of the workspaces' folders", path.display()),
        format!(
            "name a file or a category's folder in one of them: {}",
            names(parts)
        ),
    )
}

/// Lists the workspaces' folders.
fn names(parts: &[Part]) -> String {
    let names = parts.iter().map(|part| escape(&part.root.prefix));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns a path that exists in the mirror or in the state. `.html` may be left out.
fn known(config: &Config, part: &Part, rest: &str, written: &Path) -> Result<String, Failure> {
    let depth = rest.split('/').count();
    let in_state = |path: &str| -> Result<bool, Failure> {
        let store = part.state(config)?;
        let known = store.as_ref().map(known_paths).transpose()?;
        Ok(known.into_iter().flatten().any(|known| known == path))
    };
    let on_disk = |path: &str| part.root.path.join(path).symlink_metadata().is_ok();
    let with_ending = format!("{rest}{EXTENSION}");
    let file =
        depth == 2 && (rest.ends_with(EXTENSION) || rest.ends_with(&format!("/{CATEGORY_FILE}")));
    let found = if depth == 2 && !file && (on_disk(&with_ending) || in_state(&with_ending)?) {
        Some(with_ending)
    } else if (depth == 1 && part.root.path.join(rest).is_dir())
        || (file && on_disk(rest))
        || (depth <= 2 && in_state(rest)?)
    {
        Some(rest.to_owned())
    } else {
        None
    };
    found.ok_or_else(|| {
        let what = if on_disk(rest) {
            "neither an article nor a category's folder"
        } else {
            "neither in the mirror nor known from an earlier sync"
        };
        Failure::usage(
            format!("{} is {what}", written.display()),
            "name a category's folder, or an .html file directly in one; `kbsync status` lists what changed",
        )
    })
}

/// Lists the paths that a state knows: files and categories' folders.
fn known_paths(store: &Store) -> Result<Vec<String>, StateError> {
    let places = store.index()?.into_iter().map(|row| row.place);
    let places = places.flat_map(|place| [place.to_string(), place.folder]);
    let folders = store.categories()?.into_iter().filter_map(|row| row.folder);
    Ok(places.chain(folders).collect())
}
