//! Answers the engine's questions about git for one workspace.
//!
//! Built before a cycle and asked after the cycle's scan: what git does in between counts as git's doing. Reads only.

use super::{Git, HOLD, Head, SPARSE, Trees, on_another_branch};
use crate::engine::GitView;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// What was known of a repository before a cycle looked at files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Before {
    /// Where HEAD was then.
    pub head: Option<Head>,
}

/// Git in the folder of one workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    trees: Trees,
    folder: PathBuf,
    /// By what stands before the paths of the first workspace in the repository.
    before: BTreeMap<String, Before>,
    /// The only branch that is synced, if one is named.
    branch: Option<String>,
}

impl Trees {
    /// The view of the workspace with this prefix. `before`: by the prefix of the first workspace in a repository.
    pub fn view(
        &self,
        prefix: &str,
        before: BTreeMap<String, Before>,
        branch: Option<String>,
    ) -> Option<View> {
        let (_, folder) = self.0.iter().find(|(found, _)| found == prefix)?;
        Some(View {
            trees: self.clone(),
            folder: folder.clone(),
            before,
            branch,
        })
    }
}

impl View {
    /// Returns why every removal waits, if it does.
    fn hold(&self) -> Option<String> {
        let git = Git::find(&self.folder)?;
        let found = self.trees.find();
        let (prefix, _) = found.iter().find(|(_, known)| *known == git)?;
        let before = self.before.get(*prefix).cloned().unwrap_or_default();
        let sight = git.sight();
        if sight.sparse {
            return Some(SPARSE.to_owned());
        }
        // A checkout moves HEAD last: until then its lock tells.
        if let Some(busy) = sight.busy {
            return Some(format!("{busy}, and removals wait until it is done"));
        }
        if let Some(wanted) = &self.branch {
            return on_another_branch(&sight, wanted);
        }
        let moved = git.moved(&before.head?, &sight.head?);
        moved.then(|| HOLD.to_owned())
    }
}

impl GitView for View {
    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        match self.hold() {
            Some(why) => gone
                .iter()
                .map(|path| (path.clone(), why.clone()))
                .collect(),
            None => BTreeMap::new(),
        }
    }
}
