//! Answers the engine's questions about git for one workspace.
//!
//! A view is built before a cycle and answers after the cycle's scan. If HEAD moved in between, `checkout` ends the
//! cycle before anything is sent, so the other answers need not notice the move. Nothing is written.

use super::{
    FILTERED, Git, GitState, HOLD, Head, Known, NOT_COMMITTED, SPARSE, UNKNOWN,
    objects::{Objects, Unread},
};
use crate::engine::{Checkout, Contents, GitView, Since};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Git cannot be asked about commits that it did not fetch.
const SHALLOW: &str = "this clone is shallow; `git fetch --unshallow`, or a deeper `fetch-depth` in CI, gets the older commits";

/// The reason for ending a cycle whose scan may have read files of two commits.
const MOVED_JUST_NOW: &str = "git moved HEAD just now";

/// Git cannot be asked, because only a `.git` is there and no repository.
const UNUSABLE: &str = "the git repository cannot be read";

/// Git in the folder of one workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    folder: PathBuf,
    /// The repositories before the cycle's scan.
    before: Vec<Known>,
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

    /// Returns the files that git may have removed, and the reason.
    fn removed_by_git(
        &self,
        gone: &BTreeSet<String>,
    ) -> Result<(BTreeSet<String>, String), Unread> {
        let all = |why: &str| Ok((gone.clone(), why.to_owned()));
        let none = Ok((BTreeSet::new(), String::new()));
        let Some(git) = Git::find(&self.folder) else {
            return none;
        };
        let state = git.state();
        let Some(before) = self.before(&git) else {
            return all(UNKNOWN);
        };
        if before.state.sparse || state.sparse {
            return all(SPARSE);
        }
        // A checkout moves HEAD last: until then only its lock shows the checkout.
        if let Some(busy) = state.busy {
            return all(&format!(
                "{busy}, and deletions wait until git has finished"
            ));
        }
        if let Some(why) = before.published.refuses(&git, &state) {
            return all(&format!("{why}: no article is deleted"));
        }
        let now = state.head.as_ref().ok_or(UNUSABLE)?;
        let Some(agreed) = &before.agreed else {
            return all(UNKNOWN);
        };
        let objects = Objects::around(&self.folder);
        if !git.moved(agreed, now) {
            // `git stash -u` and `git clean` remove files that were never committed, and HEAD does not move. In a
            // folder of which HEAD has nothing, and before the first commit, every removal would be held: there a person
            // is the likelier cause.
            if agreed.commit.is_empty() || !objects.has_folder()? {
                return none;
            }
            let held = in_neither(&objects, agreed, gone)?;
            return Ok((held, NOT_COMMITTED.to_owned()));
        }
        let Some(published) = before.published.name() else {
            return all(HOLD);
        };
        // A removal is meant if the published branch removed the file since the last sync. A file that HEAD has was
        // removed by a person, because git puts the files of HEAD into the work tree. A branch that went back removed
        // nothing.
        if !objects.went_forward_from(&agreed.commit).unwrap_or(false) {
            return if git.is_shallow() {
                Err(SHALLOW.to_owned())
            } else {
                all(HOLD)
            };
        }
        match in_neither(&objects, agreed, gone) {
            // The last sync was before the first commit.
            Ok(held) if agreed.commit.is_empty() => Ok((held, UNKNOWN.to_owned())),
            Ok(held) => Ok((held, not_removed_on(published))),
            Err(_) => all(HOLD),
        }
    }
}

impl GitView for View {
    fn is_there(&self) -> bool {
        Git::find(&self.folder).is_some()
    }

    fn checkout(&self) -> Checkout {
        let Some(git) = Git::find(&self.folder) else {
            return Checkout::Same;
        };
        let Some(before) = self.before(&git) else {
            return Checkout::Other(MOVED_JUST_NOW.to_owned());
        };
        let state = git.state();
        // A checkout moves HEAD last: until then only its lock shows the checkout.
        if let Some(busy) = state.busy {
            return Checkout::Changing(busy.to_string());
        }
        if let Some(why) = before.published.refuses(&git, &state) {
            return Checkout::Other(why.to_string());
        }
        // The scan may have read files of the new commit, and compared them with the old one.
        if before.state.head != state.head {
            return Checkout::Other(MOVED_JUST_NOW.to_owned());
        }
        Checkout::Same
    }

    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        let judged = self.removed_by_git(gone);
        let (held, why) = judged.unwrap_or_else(|error| (gone.clone(), unread(&error)));
        let held = held.into_iter();
        held.map(|path| (path, why.clone())).collect()
    }

    fn committed(&self, paths: &BTreeSet<String>) -> Result<Contents, String> {
        let Some(git) = Git::find(&self.folder) else {
            return Ok(Contents::new());
        };
        let objects = Objects::around(&self.folder);
        let mut contents = Contents::new();
        read(&objects, &head(&git.state())?, paths, |path, content| {
            contents.insert(path, content);
        })?;
        Ok(contents)
    }

    fn filtered(&self, paths: &BTreeSet<String>) -> BTreeMap<String, String> {
        let (paths, why) = match Objects::around(&self.folder).filtered(paths) {
            Ok(filtered) => (filtered, FILTERED.to_owned()),
            Err(error) => (paths.clone(), error),
        };
        let paths = paths.into_iter();
        paths.map(|path| (path, why.clone())).collect()
    }

    fn committed_since(&self, paths: &BTreeSet<String>) -> Result<Since, String> {
        let Some(git) = Git::find(&self.folder) else {
            return Ok(Since::default());
        };
        let known = self.before(&git);
        let Some((known, agreed)) = known.and_then(|known| Some((known, known.agreed.clone()?)))
        else {
            return Ok(Since::default());
        };
        let (objects, head) = (Objects::around(&self.folder), head(&git.state())?);
        let by_own_commits = written_by(&objects, &git.own_commits_since(&agreed), &head, paths);
        // Commits of the published branch that HEAD does not share were lost by a rebase or a reset, so the merge base
        // is the start. Where every branch is published, HEAD may also have switched branches on purpose, so only a
        // forward move has a start.
        let start = match known.published.name() {
            Some(_) => objects.shared(&agreed.commit, &head).ok(),
            None => match objects.went_forward_from(&agreed.commit) {
                Ok(true) => Some(agreed.commit),
                Ok(false) | Err(_) => None,
            },
        };
        if start.is_none() && git.is_shallow() {
            return Err(SHALLOW.to_owned());
        }
        Ok(Since {
            contents: start.and_then(|start| contents_since(&objects, &start, &head, paths).ok()),
            by_own_commits: by_own_commits.unwrap_or_default(),
        })
    }
}

/// The name of the commit that is checked out.
fn head(state: &GitState) -> Result<String, Unread> {
    if state.reftable {
        // For reftables, `state.head` is a digest of the tables and no commit.
        return Ok("HEAD".to_owned());
    }
    let head = state.head.as_ref().ok_or(UNUSABLE)?;
    Ok(head.commit.clone())
}

/// Returns those of the files that neither HEAD nor an earlier commit has.
fn in_neither(
    objects: &Objects,
    earlier: &Head,
    gone: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Unread> {
    let mut committed = objects.files("HEAD", gone)?;
    committed.extend(objects.files(&earlier.commit, gone)?);
    let neither = gone.iter().filter(|path| !committed.contains_key(*path));
    Ok(neither.cloned().collect())
}

/// Returns the files that one of these commits wrote or removed, and that HEAD still has, or lacks, as in that commit.
/// Each commit comes with its parent.
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
            there == now.get(*path) && there != earlier.get(*path)
        };
        written.extend(paths.iter().filter(wrote).cloned());
    }
    Ok(written)
}

/// Returns the contents of files in a commit and in those after it.
fn contents_since(
    objects: &Objects,
    start: &str,
    head: &str,
    paths: &BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<Vec<u8>>>, Unread> {
    let mut commits = objects.commits_between(start, head, paths)?;
    commits.insert(start.to_owned());
    let mut contents: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for commit in commits {
        read(objects, &commit, paths, |path, content| {
            contents.entry(path).or_default().push(content);
        })?;
    }
    Ok(contents)
}

/// Passes each file of a commit, with its content, to `take`.
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

/// The reason of a hold: git cannot say who removed the files.
fn unread(why: &str) -> String {
    format!(
        "gone, and kbsync cannot ask git whether git is the reason ({why}): `kbsync restore FOLDER` brings back what is \
         missing, `kbsync approve` deletes on the service"
    )
}

/// The reason of a hold: the files disappeared when HEAD moved, and the published branch did not remove them.
fn not_removed_on(published: &str) -> String {
    format!(
        "gone since git moved HEAD, and not by a commit of branch {published}: `kbsync restore FOLDER` brings back what is \
         missing, `kbsync approve` deletes on the service"
    )
}
