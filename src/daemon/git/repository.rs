//! What git is doing in a work tree, read from its own files: git itself is not run.
//!
//! Three questions are answered: is an operation under way (then nothing is pushed or written), which branch
//! is checked out, and did HEAD move other than by commits (then removals are git's doing until a person
//! says otherwise). What cannot be read counts as not there: without git all of this is silent.
//!
//! A repository in the reftable format keeps HEAD, branches and their logs in tables that are not read here.
//! Every change of them counts as a move of HEAD by something else than a commit: removals are held too often
//! there, never too seldom.

use crate::model::Digest;
use std::{
    fmt, fs,
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Files and folders that are there while git works, and what it does then.
const UNDER_WAY: [(&str, Busy); 7] = [
    ("index.lock", Busy::Lock),
    ("MERGE_HEAD", Busy::Merge),
    ("rebase-merge", Busy::Rebase),
    ("rebase-apply", Busy::Rebase),
    ("CHERRY_PICK_HEAD", Busy::CherryPick),
    ("REVERT_HEAD", Busy::Revert),
    ("BISECT_LOG", Busy::Bisect),
];

/// What git has not finished. While it lasts, nothing is sent and nothing is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Busy {
    /// A git command changes files.
    Lock,
    /// A merge.
    Merge,
    /// A rebase.
    Rebase,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection.
    Bisect,
}

impl Busy {
    /// What to type.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Lock => {
                "wait for the git command; if none runs, remove the file index.lock in the folder .git"
            }
            Self::Merge => {
                "`git merge --continue` finishes the merge, `git merge --abort` takes it back"
            }
            Self::Rebase => {
                "`git rebase --continue` finishes the rebase, `git rebase --abort` takes it back"
            }
            Self::CherryPick => {
                "`git cherry-pick --continue` finishes the cherry-pick, `git cherry-pick --abort` takes it back"
            }
            Self::Revert => {
                "`git revert --continue` finishes the revert, `git revert --abort` takes it back"
            }
            Self::Bisect => "`git bisect reset` ends the bisection",
        }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock => "git is changing files",
            Self::Merge => "a merge is not finished",
            Self::Rebase => "a rebase is not finished",
            Self::CherryPick => "a cherry-pick is not finished",
            Self::Revert => "a revert is not finished",
            Self::Bisect => "a bisection is not finished",
        })
    }
}

/// So many commits that were made here are looked at.
const COMMITS: usize = 32;

/// A head file or a line of the reflog is short; more is not read.
const LIMIT: u64 = 1024 * 1024;

/// Where HEAD is.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Head {
    /// The commit, or what stands in its place in a repository without one.
    pub commit: String,
    /// How long the log of its moves was.
    pub log: u64,
}

/// What git is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GitState {
    /// What is under way, if something is.
    pub busy: Option<Busy>,
    /// The branch that is checked out; `None`: none, or a commit by itself.
    pub branch: Option<String>,
    /// Where HEAD is.
    pub head: Option<Head>,
    /// Whether the branches are kept in a form that is not read here.
    pub reftable: bool,
    /// Whether git leaves files out of the work tree.
    pub sparse: bool,
}

/// The git folder of a work tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Git {
    /// HEAD, index and what is under way.
    own: PathBuf,
    /// Branches; the same but for linked work trees.
    common: PathBuf,
}

impl Git {
    /// Finds the git folder of the work tree that a folder is in: upwards, through the `.git` file of linked
    /// work trees and submodules (failures row 91).
    pub fn find(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(|above| {
            let found = above.join(".git");
            let own = if found.is_dir() {
                found
            } else {
                let text = read(&found)?;
                above.join(text.strip_prefix("gitdir:")?.trim())
            };
            own.join("HEAD").is_file().then(|| {
                let common = read(&own.join("commondir"))
                    .map_or_else(|| own.clone(), |text| own.join(text.trim()));
                Self { own, common }
            })
        })
    }

    /// The repository's own file of names that git ignores; linked work trees share it.
    pub fn exclude_file(&self) -> PathBuf {
        self.common.join("info/exclude")
    }

    /// Looks at it.
    pub fn state(&self) -> GitState {
        let busy = UNDER_WAY
            .iter()
            .find(|(name, _)| fs::symlink_metadata(self.own.join(name)).is_ok())
            .map(|(_, what)| *what);
        let sparse = self.is_sparse();
        if let Some(tables) = self.tables() {
            return GitState {
                busy,
                branch: None,
                head: Some(tables),
                reftable: true,
                sparse,
            };
        }
        let head = read(&self.own.join("HEAD")).unwrap_or_default();
        // Git allows one line without control characters; what else stands there is no branch of git's.
        let head = head.lines().next().unwrap_or_default();
        let head = if head.contains(char::is_control) {
            ""
        } else {
            head
        };
        let reference = head.strip_prefix("ref:").map(str::trim);
        let branch = reference.and_then(|name| name.strip_prefix("refs/heads/"));
        let commit = match reference {
            Some(name) => self.commit_of(name).unwrap_or_default(),
            None => head.trim().to_owned(),
        };
        let log = fs::metadata(self.own.join("logs/HEAD")).map_or(0, |found| found.len());
        GitState {
            busy,
            branch: branch.map(str::to_owned),
            head: Some(Head { commit, log }),
            reftable: false,
            sparse,
        }
    }

    /// Returns whether `git sparse-checkout` is on: it removes files, and HEAD stays where it is. Git writes it to
    /// the configuration of the work tree, or of the repository.
    fn is_sparse(&self) -> bool {
        [self.own.join("config.worktree"), self.common.join("config")]
            .iter()
            .filter_map(|path| read(path))
            .find_map(|text| sparse_of(&text))
            .unwrap_or(false)
    }

    /// The tables of a repository that keeps its branches in them: their names change with every write. A
    /// linked work tree has HEAD in tables of its own.
    fn tables(&self) -> Option<Head> {
        let common = read(&self.common.join("reftable/tables.list"))?;
        let own = read(&self.own.join("reftable/tables.list")).unwrap_or_default();
        let commit = Digest::of_parts(&[common.as_bytes(), own.as_bytes()]).to_string();
        Some(Head { commit, log: 0 })
    }

    /// Returns whether HEAD went from one place to another other than by commits made here. There and back is no
    /// move, but for what was committed there: that is gone from here. A log of moves that does not go on where it
    /// was is another repository's, or was cut: that is a move.
    pub fn moved(&self, before: &Head, now: &Head) -> bool {
        if before == now {
            return false;
        }
        let same = before.commit == now.commit && !now.commit.is_empty();
        let Some(lines) = self.moves_since(before.log) else {
            return !same || now.log < before.log;
        };
        if !lines.starts_with(&before.commit) {
            return true;
        }
        let own = |line: &str| message(line).is_some_and(is_own);
        let others = lines.lines().any(|line| !own(line));
        others && (!same || lines.lines().any(own))
    }

    /// The newest commits of a branch: its own, and those of the branch on a server that it follows. Without a branch
    /// of that name, as after a checkout by a CI system, `origin` is the server.
    pub fn tips(&self, branch: &str) -> Vec<String> {
        let config = read(&self.common.join("config")).unwrap_or_default();
        let section = format!("branch \"{branch}\"");
        let remote = setting(&config, &section, "remote").unwrap_or_else(|| "origin".to_owned());
        let follows = setting(&config, &section, "merge").unwrap_or_default();
        let follows = follows.strip_prefix("refs/heads/").unwrap_or(branch);
        let names = [
            format!("refs/heads/{branch}"),
            format!("refs/remotes/{remote}/{follows}"),
        ];
        names
            .iter()
            .filter_map(|name| self.commit_of(name))
            .collect()
    }

    /// Returns the branch that a clone names as the default of its server, as `git clone` writes it; `None`: this is no
    /// clone, or git recorded no default.
    pub fn default_branch(&self) -> Option<String> {
        let text = read(&self.common.join("refs/remotes/origin/HEAD"))?;
        let branch = text.trim().strip_prefix("ref: refs/remotes/origin/")?;
        let is_name = !branch.is_empty() && !branch.contains(char::is_control);
        is_name.then(|| branch.to_owned())
    }

    fn commit_of(&self, name: &str) -> Option<String> {
        if let Some(commit) = read(&self.common.join(name)) {
            return Some(commit.trim().to_owned());
        }
        let packed = read(&self.common.join("packed-refs"))?;
        packed.lines().find_map(|line| {
            let (commit, found) = line.split_once(' ')?;
            (found == name).then(|| commit.to_owned())
        })
    }

    /// Returns the commits that were made here since HEAD was at a place, each with the one before; the last ones, if
    /// there are many.
    pub fn own_commits_since(&self, before: &Head) -> Vec<(String, String)> {
        let lines = self.moves_since(before.log).unwrap_or_default();
        // A patch that was applied here is a person's commit, too, though it may remove others' files.
        let made_here = |what: &str| is_own(what) || what.starts_with("am:");
        let own = lines
            .lines()
            .filter(|line| message(line).is_some_and(made_here));
        let commits = own.rev().filter_map(|line| {
            let mut words = line.split(' ');
            let (before, after) = (words.next()?, words.next()?);
            // A first commit has nothing before it.
            let before = before.trim_start_matches('0');
            let before = if before.is_empty() {
                ""
            } else {
                line.split(' ').next()?
            };
            Some((before.to_owned(), after.to_owned()))
        });
        commits.take(COMMITS).collect()
    }

    /// The lines that the log of HEAD grew by; `None`: there are none, or it was rewritten.
    fn moves_since(&self, length: u64) -> Option<String> {
        let mut file = open(&self.own.join("logs/HEAD"))?;
        if file.metadata().ok()?.len() <= length {
            return None;
        }
        file.seek(SeekFrom::Start(length)).ok()?;
        let mut lines = String::new();
        file.take(LIMIT).read_to_string(&mut lines).ok()?;
        Some(lines)
    }
}

/// What a configuration says of `core.sparseCheckout`; `None`: nothing.
fn sparse_of(config: &str) -> Option<bool> {
    let value = setting(config, "core", "sparsecheckout")?.to_ascii_lowercase();
    Some(matches!(value.as_str(), "true" | "yes" | "on" | "1"))
}

/// A value of a configuration file; the last one counts. A key without a value is true. A section's own name has no
/// case, the name in quotes behind it has.
fn setting(config: &str, section: &str, key: &str) -> Option<String> {
    let (mut inside, mut said) = (false, None);
    for line in config.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            let found = rest.split(']').next().unwrap_or_default().trim();
            let word = |name: &str| {
                name.split(' ')
                    .next()
                    .unwrap_or_default()
                    .to_ascii_lowercase()
            };
            let name = |text: &str| text.split_once(' ').map(|(_, name)| name.trim().to_owned());
            inside = word(found) == word(section) && name(found) == name(section);
            continue;
        }
        let (found, value) = line.split_once('=').unwrap_or((line, "true"));
        if inside && found.trim().eq_ignore_ascii_case(key) {
            let value = value.split(['#', ';']).next().unwrap_or_default();
            said = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    said
}

/// Returns whether a commit was made of the writer's own changes. One that ends a merge brings others' removals.
fn is_own(what: &str) -> bool {
    what.starts_with("commit")
        && !what.starts_with("commit (merge)")
        && !what.starts_with("commit (cherry-pick)")
}

/// What a line of the reflog says: `old new name <mail> time zone\tmessage`.
fn message(line: &str) -> Option<&str> {
    line.split_once('\t').map(|(_, message)| message)
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    open(path)?.take(LIMIT).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Opens a regular file. A pipe in its place is not waited for.
fn open(path: &Path) -> Option<fs::File> {
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let mut options = fs::File::options();
    let file = options.read(true).custom_flags(nonblock).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}
