//! Answers the engine's questions about git for one workspace.
//!
//! A view is built before a cycle and answers after the cycle's scan, so a HEAD that moved in between is noticed. Nothing is
//! written.

use super::{
    Git, HOLD, Head, Known, NOT_COMMITTED, SPARSE, UNKNOWN,
    objects::{Objects, Unread},
};
use crate::engine::{Checkout, Committed, GitView};
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
        let state = git.state();
        let Some(before) = self.before(&git) else {
            return held(UNKNOWN);
        };
        if state.sparse {
            return held(SPARSE);
        }
        // A checkout moves HEAD last: until then only its lock shows the checkout.
        if let Some(busy) = state.busy {
            return Removals::Held(format!("{busy}, and deletions wait until git has finished"));
        }
        if let Some(why) = before.published.refuses(&git, &state) {
            return Removals::Held(format!("{why}: no article is deleted"));
        }
        let (Some(agreed), Some(at_first), Some(now)) =
            (&before.agreed, &before.state.head, &state.head)
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
}

impl GitView for View {
    fn is_there(&self) -> bool {
        Git::find(&self.folder).is_some()
    }

    fn checkout(&self) -> Checkout {
        let known = Git::find(&self.folder)
            .and_then(|git| self.before(&git).map(|before| (git.state(), before, git)));
        let Some((state, before, git)) = known else {
            return Checkout::Same;
        };
        // A checkout moves HEAD last: until then only its lock shows the checkout.
        if let Some(busy) = state.busy {
            return Checkout::Changing(busy.to_string());
        }
        match before.published.refuses(&git, &state) {
            Some(why) => Checkout::Other(why.to_string()),
            None => Checkout::Same,
        }
    }

    fn held_removals(&self, gone: &BTreeSet<String>) -> BTreeMap<String, String> {
        let objects = Objects::around(&self.folder);
        let (held, why) = match self.removals() {
            Removals::Meant => return BTreeMap::new(),
            Removals::Held(why) => (gone.clone(), why),
            // `git stash -u` and `git clean` remove files that were never committed, and HEAD does not move. Where the
            // commits have nothing of this folder, or git cannot say, none of the removals is git's.
            Removals::MeantIfCommitted { agreed } => {
                let held = in_neither(&objects, &agreed, gone, objects.has_folder());
                (held.unwrap_or_default(), NOT_COMMITTED.to_owned())
            }
            // A person removed what HEAD has, because git puts that into the work tree. A branch that went back removed
            // nothing.
            Removals::SinceCommit { agreed, published } => {
                let forward = objects.went_forward_from(&agreed.commit);
                match in_neither(&objects, &agreed, gone, forward) {
                    Some(held) => (held, not_removed_on(&published)),
                    None => (gone.clone(), HOLD.to_owned()),
                }
            }
        };
        let held = held.into_iter();
        held.map(|path| (path, why.clone())).collect()
    }

    fn moved(&self) -> bool {
        let moved = || {
            let git = Git::find(&self.folder)?;
            let agreed = self.before(&git)?.agreed.as_ref()?;
            Some(git.moved(agreed, &git.state().head?))
        };
        moved().unwrap_or(false)
    }

    fn committed(&self, paths: &BTreeSet<String>) -> Result<Committed, String> {
        let Some(git) = Git::find(&self.folder) else {
            return Ok(Committed::default());
        };
        let state = git.state();
        // Files change before HEAD does.
        if let Some(busy) = state.busy {
            return Err(busy.to_string());
        }
        let before = self.before(&git);
        if before.is_some_and(|known| known.state.head != state.head) {
            return Err("git moved HEAD just now".to_owned());
        }
        if let Some(why) = before.and_then(|known| known.published.refuses(&git, &state)) {
            return Err(why.to_string());
        }
        let objects = Objects::around(&self.folder);
        let head = if state.reftable {
            // For reftables, `state.head` is a digest of the tables and no commit.
            "HEAD".to_owned()
        } else {
            state.head.map(|head| head.commit).unwrap_or_default()
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

/// Of these files, returns those that neither HEAD nor an earlier commit has. `None`: that says nothing of who removed the
/// files, or git cannot say.
fn in_neither(
    objects: &Objects,
    earlier: &Head,
    gone: &BTreeSet<String>,
    says: Result<bool, Unread>,
) -> Option<BTreeSet<String>> {
    let in_neither = || -> Result<Option<BTreeSet<String>>, Unread> {
        if !says? {
            return Ok(None);
        }
        let mut committed = objects.files("HEAD", gone)?;
        committed.extend(objects.files(&earlier.commit, gone)?);
        let neither = gone.iter().filter(|path| !committed.contains_key(*path));
        Ok(Some(neither.cloned().collect()))
    };
    in_neither().unwrap_or_else(|error| {
        tracing::debug!(%error, "git cannot say whether a commit has files that are gone");
        None
    })
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

/// The reason of a hold: the files disappeared when HEAD moved, and the published branch did not remove them.
fn not_removed_on(published: &str) -> String {
    format!(
        "these files disappeared when git moved HEAD, and no commit of branch {published} removed them: \
         `kbsync restore FOLDER` brings the files back, `kbsync approve` deletes the articles"
    )
}
