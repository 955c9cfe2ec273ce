//! Answers the engine's questions about git for one workspace.
//!
//! Built before a cycle and asked after the cycle's scan: what git does in between counts as git's doing. Reads only.

use super::objects::{Objects, Unread};
use super::{Git, HOLD, Head, SPARSE, Trees, on_another_branch};
use crate::engine::{Committed, GitView};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// What was known of a repository before a cycle looked at files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Before {
    /// Where HEAD was then.
    pub head: Option<Head>,
    /// Where HEAD was when both sides last agreed.
    pub agreed: Option<Head>,
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
    /// Returns what was known of a repository that one of the workspaces is in.
    fn before(&self, git: &Git) -> Option<Before> {
        let found = self.trees.find();
        let (prefix, _) = found.iter().find(|(_, known)| known == git)?;
        Some(self.before.get(*prefix).cloned().unwrap_or_default())
    }

    /// Returns why every removal waits, if it does.
    fn hold(&self) -> Option<String> {
        let git = Git::find(&self.folder)?;
        let before = self.before(&git)?;
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

    fn committed(&self, paths: &BTreeSet<String>) -> Result<Committed, String> {
        let Some(git) = Git::find(&self.folder) else {
            return Ok(Committed::default());
        };
        let sight = git.sight();
        let objects = Objects::around(&self.folder);
        let head = if sight.reftable {
            // Its tables are not read here, and do not name a commit.
            "HEAD".to_owned()
        } else {
            sight.head.map(|head| head.commit).unwrap_or_default()
        };
        let mut now = BTreeMap::new();
        read(&objects, &head, paths, |path, content| {
            now.insert(path, content);
        })
        .map_err(|why| why.to_string())?;
        // What is not known of earlier commits only makes more files wait.
        let agreed = self.before(&git).and_then(|before| before.agreed);
        let lately = agreed.and_then(|agreed| lately(&objects, &agreed.commit, &head, paths).ok());
        let lately = lately.unwrap_or_default();
        Ok(Committed { now, lately })
    }
}

/// Returns the contents of files in one commit, and in those that came after that up to HEAD.
fn lately(
    objects: &Objects,
    agreed: &str,
    head: &str,
    paths: &BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<Vec<u8>>>, Unread> {
    let mut commits = objects.commits_between(agreed, head, paths)?;
    commits.insert(agreed.to_owned());
    let mut lately: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for commit in commits {
        read(objects, &commit, paths, |path, content| {
            lately.entry(path).or_default().push(content);
        })?;
    }
    Ok(lately)
}

/// Reads the files of a commit one by one.
fn read(
    objects: &Objects,
    commit: &str,
    paths: &BTreeSet<String>,
    mut take: impl FnMut(String, Vec<u8>),
) -> Result<(), Unread> {
    let files = objects.files(commit, paths)?;
    let contents = objects.contents(&files.values().cloned().collect())?;
    for (path, blob) in files {
        if let Some(content) = contents.get(&blob) {
            take(path, content.clone());
        }
    }
    Ok(())
}
