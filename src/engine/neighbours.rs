//! The folders of the mirror's other workspaces: a file that was moved there is not gone.
//!
//! Nobody looks into them but when an article is to be deleted because its file is missing. Nothing is concluded there
//! but that an `id:` line stands in a file: what is ignored in that workspace, or no article there, counts as well. Links
//! are not followed, and folders of folders not looked into, as in the own mirror.

use super::settings::prefix;
use crate::config::{Config, Root};
use crate::mirror::disk::RealDisk;
use crate::mirror::layout::Layout;
use crate::mirror::scan;
use crate::model::{ArticleId, Place};
use crate::reconcile::guard::Elsewhere;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns which of some articles have their files in other workspaces' folders.
pub type Neighbours = Arc<dyn Fn(&BTreeSet<ArticleId>) -> Elsewhere + Send + Sync>;

/// The folders of all workspaces of a mirror but one.
pub fn of(config: &Config, root: &Root) -> Neighbours {
    let roots = config.roots().into_iter();
    let others = roots.filter(|other| other.path != root.path);
    among(
        others
            .map(|other| (prefix(config, &other), other.path))
            .collect(),
    )
}

/// Folders, each with its name in the mirror.
pub fn among(folders: Vec<(String, PathBuf)>) -> Neighbours {
    Arc::new(move |ids| {
        let mut found = Elsewhere::default();
        if !ids.is_empty() {
            for (name, path) in &folders {
                look(name, path, ids, &mut found);
            }
        }
        found
    })
}

fn look(name: &str, path: &Path, ids: &BTreeSet<ArticleId>, found: &mut Elsewhere) {
    let listed = RealDisk::open(path).and_then(|disk| {
        let places = scan::appeared(&disk, &Layout::default(), &|_, _| false)?;
        Ok(scan::read_strays(&disk, &places))
    });
    let below = |place: &Place| format!("{name}/{}", place.to_string().trim_start_matches('/'));
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
            tracing::debug!(folder = name, "{error}");
            found.unread.get_or_insert_with(|| format!("{name}/"));
        }
    }
}
