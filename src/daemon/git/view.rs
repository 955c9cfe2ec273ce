//! Answers the engine's questions about git for one workspace.
//!
//! A view is built before a cycle and answers after the cycle's scan, so a HEAD that moved in between is noticed. Nothing is
//! written.

use super::{
    Git, HOLD, Head, Known, NOT_COMMITTED, SPARSE, UNKNOWN,
    objects::{Objects, Unread},
};
use crate::engine::{Committed, GitView};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Git in the folder of one workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    folder: PathBuf,
    /// The repositories before the cycle's scan.
    before: Vec<Known>,
}

/// The verdict on files that are gone.
enum Removals {
    /// There is no git, and a person removed the files.
    Meant,
    /// HEAD moved by commits made here alone: a person removed the files that were committed.
    MeantIfCommitted { agreed: Head },
    /// All removals are held, for this reason.
    Held(String),
    /// HEAD moved on the published branch since this commit: a removal is meant if the branch removed the file since.
    SinceCommit { agreed: Head, published: String },
}

impl View {
    /// Makes the view of a workspace's folder.
    pub fn new(folder: &Path, before: Vec<Known>) -> Self {
        Self {
            folder: folder.to_owned(),
            before,
        }
    }

    /// Returns a repository as it was before the cycle.
    fn before(&self, git: &Git) -> Option<&Known> {
        self.before.iter().find(|known| known.git == *git)
    }

    fn removals(&self) -> Removals {
        let held = |why: &str| Removals::Held(why.to_owned());
        let Some(git) = Git::find(&self.folder) else {
            return Removals::Meant;
        };
        let sight = git.sight();
        let Some(before) = self.before(&git) else {
            return held(UNKNOWN);
        };
        if sight.sparse {
            return held(SPARSE);
        }
        // A checkout moves HEAD last: until then only its lock shows the checkout.
        if let Some(busy) = sight.busy {
            return Removals::Held(format!("{busy}, and deletions wait until git has finished"));
        }
        if let Some(why) = before.published.refuses(&git, &sight) {
            return Removals::Held(format!("{why}: no article is deleted"));
        }
        let (Some(agreed), Some(at_first), Some(now)) =
            (&before.agreed, &before.sight.head, &sight.head)
        else {
            return held(UNKNOWN);
        };
        if git.moved(at_first, now) {
            return held(HOLD);
        }
        if !git.moved(agreed, now) {
            return Removals::MeantIfCommitted {
                agreed: agreed.clone(),
            };
        }
        match before.published.name() {
            None => held(HOLD),
            Some(published) => Removals::SinceCommit {
                agreed: agreed.clone(),
                published: published.to_owned(),
            },
        }
    }

    /// Of these files, returns those that were never committed: `git stash -u` and `git clean` remove such files, and
    /// HEAD does not move. Where the commits have nothing of this folder, or git cannot say, none of them is git's.
    fn not_committed(&self, agreed: &Head, gone: &BTreeSet<String>) -> BTreeSet<String> {
        let objects = Objects::around(&self.folder);
        let committed = || -> Result<Option<BTreeSet<String>>, Unread> {
            if !objects.has_folder()? {
                return Ok(None);
            }
            let mut committed = objects.files("HEAD", gone)?;
            committed.extend(objects.files(&agreed.commit, gone)?);
            Ok(Some(committed.into_keys().collect()))
        };
        match committed() {
            Ok(Some(committed)) => gone.difference(&committed).cloned().collect(),
            Ok(None) => BTreeSet::new(),
            Err(error) => {
                tracing::debug!(%error, "whether files that are gone were committed is not known");
                BTreeSet::new()
            }
        }
    }

    /// Of these files, returns those that the published branch removed since a commit, and those that HEAD has: git puts
    /// what HEAD has into the work tree, so a person removed them. `None`: git cannot say, or the branch went back behind
    /// that commit, and no commit removed a file.
    fn removed_since(&self, agreed: &Head, gone: &BTreeSet<String>) -> Option<BTreeSet<String>> {
        let objects = Objects::around(&self.folder);
        if !objects.went_forward_from(&agreed.commit).unwrap_or(false) {
            return None;
        }
        let files = |commit: &str| objects.files(commit, gone);
        match (files(&agreed.commit), files("HEAD")) {
            (Ok(had), Ok(has)) => Some(had.into_keys().chain(has.into_keys()).collect()),
            (Err(error), _) | (_, Err(error)) => {
                tracing::debug!(%error, "git cannot say whether the branch removed files");
                None
            }
        }
    }
}

impl GitView for View {
    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        let all = |paths: &mut dyn Iterator<Item = &String>, why: &str| {
            paths.map(|path| (path.clone(), why.to_owned())).collect()
        };
        match self.removals() {
            Removals::Meant => BTreeMap::new(),
            Removals::MeantIfCommitted { agreed } => {
                let uncommitted = self.not_committed(&agreed, gone);
                all(&mut uncommitted.iter(), NOT_COMMITTED)
            }
            Removals::Held(why) => all(&mut gone.iter(), &why),
            Removals::SinceCommit { agreed, published } => {
                match self.removed_since(&agreed, gone) {
                    Some(meant) => all(&mut gone.difference(&meant), &not_removed_on(&published)),
                    None => all(&mut gone.iter(), HOLD),
                }
            }
        }
    }

    fn moved(&self) -> bool {
        let moved = || {
            let git = Git::find(&self.folder)?;
            let agreed = self.before(&git)?.agreed.as_ref()?;
            Some(git.moved(agreed, &git.sight().head?))
        };
        moved().unwrap_or(false)
    }

    fn committed(&self, paths: &BTreeSet<String>) -> Result<Committed, String> {
        let Some(git) = Git::find(&self.folder) else {
            return Ok(Committed::default());
        };
        let sight = git.sight();
        // Files change before HEAD does.
        if let Some(busy) = sight.busy {
            return Err(busy.to_string());
        }
        let before = self.before(&git);
        if before.is_some_and(|known| known.sight.head != sight.head) {
            return Err("git moved HEAD just now".to_owned());
        }
        if let Some(why) = before.and_then(|known| known.published.refuses(&git, &sight)) {
            return Err(why.to_string());
        }
        let objects = Objects::around(&self.folder);
        let head = if sight.reftable {
            // For reftables, `sight.head` is a digest of the tables and no commit.
            "HEAD".to_owned()
        } else {
            sight.head.map(|head| head.commit).unwrap_or_default()
        };
        let mut now = BTreeMap::new();
        read(&objects, &head, paths, |path, content| {
            now.insert(path, content);
        })
        .map_err(|why| why.to_string())?;
        // Without the earlier commits, more files are held, never fewer.
        let Some(agreed) = before.and_then(|known| known.agreed.clone()) else {
            return Ok(Committed {
                now,
                ..Committed::default()
            });
        };
        // A branch that went back lost the newer words, and no commit says so.
        let lately = match objects.went_forward_from(&agreed.commit) {
            Ok(true) => lately(&objects, &agreed.commit, &head, paths).ok(),
            Ok(false) | Err(_) => None,
        };
        let written_here = written_by(&objects, &git.own_commits_since(&agreed), &head, paths);
        Ok(Committed {
            now,
            lately,
            written_here: written_here.unwrap_or_default(),
        })
    }
}

/// Returns the files whose content in HEAD was written by one of these commits. Each commit comes with its parent.
fn written_by(
    objects: &Objects,
    commits: &[(String, String)],
    head: &str,
    paths: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Unread> {
    let now = objects.files(head, paths)?;
    let mut written = BTreeSet::new();
    for (before, after) in commits {
        let earlier = objects.files(before, paths)?;
        let later = objects.files(after, paths)?;
        let wrote = |path: &&String| {
            let there = later.get(*path);
            there.is_some() && there == now.get(*path) && there != earlier.get(*path)
        };
        written.extend(paths.iter().filter(wrote).cloned());
    }
    Ok(written)
}

/// Returns the contents of files in the commit `agreed` and in all later commits up to HEAD.
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

/// Gives each file of a commit, with its content, to `take`.
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

/// The reason of a hold: the files disappeared when HEAD moved, and the published branch did not remove them.
fn not_removed_on(published: &str) -> String {
    format!(
        "these files disappeared when git moved HEAD, and no commit of branch {published} removed them: \
         `kbsync restore FOLDER` brings the files back, `kbsync approve` deletes the articles"
    )
}
