//! The state of a git work tree, read from git's own files: git itself is not run.
//!
//! Three questions are answered. Is a git operation unfinished? Then nothing is pushed or written. Which branch is
//! checked out? Did HEAD move in another way than by commits made here? Then git made the removals, and they are
//! held. An unreadable file counts as absent.
//!
//! A repository in the reftable format keeps HEAD, the branches and their logs in tables that kbsync cannot read.
//! Every change of the tables counts as a move of HEAD that is no commit: too many removals are held there, never too
//! few.

use crate::model::Digest;
use std::{
    fmt, fs,
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// The files and folders of unfinished git operations.
const UNDER_WAY: [(&str, Busy); 7] = [
    ("index.lock", Busy::Lock),
    ("MERGE_HEAD", Busy::Operation("merge")),
    ("rebase-merge", Busy::Operation("rebase")),
    ("rebase-apply", Busy::Operation("rebase")),
    ("CHERRY_PICK_HEAD", Busy::Operation("cherry-pick")),
    ("REVERT_HEAD", Busy::Operation("revert")),
    ("BISECT_LOG", Busy::Bisect),
];

/// An unfinished git operation. Nothing is sent or written meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Busy {
    /// A git command changes files.
    Lock,
    /// An unfinished operation of this git command; its `--continue` finishes it.
    Operation(&'static str),
    /// A bisection.
    Bisect,
}

impl Busy {
    /// Returns the remedy for the user.
    pub fn remedy(self) -> String {
        match self {
            Self::Lock => {
                "wait for the git command; if none runs, remove the file index.lock in the folder .git"
                    .to_owned()
            }
            Self::Operation(name) => format!(
                "`git {name} --continue` finishes the {name}, `git {name} --abort` takes it back"
            ),
            Self::Bisect => "`git bisect reset` ends the bisection".to_owned(),
        }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock => f.write_str("git is changing files"),
            Self::Operation(name) => write!(f, "a {name} is not finished"),
            Self::Bisect => f.write_str("a bisection is not finished"),
        }
    }
}

/// The most commits made here that are examined.
const COMMITS: usize = 32;

/// The most bytes that are read of a file: heads and reflogs are short.
const LIMIT: u64 = 1024 * 1024;

/// The position of HEAD.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Head {
    /// The commit, or its substitute in a repository in the reftable format.
    pub commit: String,
    /// The length of HEAD's log.
    pub log: u64,
}

/// The state of a work tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GitState {
    /// The unfinished operation, if there is one.
    pub busy: Option<Busy>,
    /// The branch that is checked out; `None`: HEAD is detached.
    pub branch: Option<String>,
    /// The position of HEAD; `None`: the repository is missing or cannot be read.
    pub head: Option<Head>,
    /// Whether the branches are stored as reftables.
    pub reftable: bool,
    /// Whether git leaves files out of the work tree.
    pub sparse: bool,
}

/// The git folder of a work tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Git {
    /// HEAD, the index and unfinished operations.
    own: PathBuf,
    /// The branches; a folder of its own only in linked work trees.
    common: PathBuf,
}

impl Git {
    /// Finds the git folder of the work tree that a folder is in. Searches upwards, and follows the `.git` file of
    /// linked work trees and submodules (failures row 91). A `.git` that cannot be used ends the search, because the
    /// repository around it has other branches.
    pub fn find(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(|above| {
            let found = above.join(".git");
            fs::symlink_metadata(&found).ok()?;
            let pointer = read(&found);
            let target = pointer
                .as_deref()
                .and_then(|text| text.strip_prefix("gitdir:"));
            let target = target.map(|target| above.join(target.trim()));
            let own = target.filter(|own| own.join("HEAD").is_file());
            let own = own.unwrap_or(found);
            let common = read(&own.join("commondir"))
                .map_or_else(|| own.clone(), |text| own.join(text.trim()));
            Some(Self { own, common })
        })
    }

    /// The git folder of a repository that was around a folder and is gone.
    pub fn gone(folder: &Path) -> Self {
        let own = folder.join(".git");
        let common = own.clone();
        Self { own, common }
    }

    /// The folder, or a file in its place that leads to no repository.
    pub fn path(&self) -> &Path {
        &self.own
    }

    /// Returns the file with the repository's own ignore rules; linked work trees share it.
    pub fn exclude_file(&self) -> PathBuf {
        self.common.join("info/exclude")
    }

    /// Returns whether older commits were not fetched.
    pub fn is_shallow(&self) -> bool {
        self.common.join("shallow").exists()
    }

    /// Finds the rest of a series of commits, after a conflict was settled by `git commit`.
    fn unfinished_series(&self) -> Option<Busy> {
        let series = self.own.join("sequencer");
        fs::symlink_metadata(&series).ok()?;
        let todo = read(&series.join("todo")).unwrap_or_default();
        let reverts = todo.starts_with("revert");
        Some(Busy::Operation(if reverts {
            "revert"
        } else {
            "cherry-pick"
        }))
    }

    /// Reads the state.
    pub fn state(&self) -> GitState {
        let Some(head) = read(&self.own.join("HEAD")) else {
            return GitState::default();
        };
        let busy = UNDER_WAY
            .iter()
            .find(|(name, _)| fs::symlink_metadata(self.own.join(name)).is_ok())
            .map(|(_, what)| *what)
            .or_else(|| self.unfinished_series());
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
        // A valid HEAD is one line without control characters.
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

    /// Returns whether `git sparse-checkout` is on. It removes files and does not move HEAD. Git stores the setting
    /// in the configuration of the work tree, or of the repository.
    fn is_sparse(&self) -> bool {
        [self.own.join("config.worktree"), self.common.join("config")]
            .iter()
            .filter_map(|path| read(path))
            .find_map(|text| sparse_of(&text))
            .unwrap_or(false)
    }

    /// Returns a digest of the list of tables, which changes with every write. A linked work tree has tables of its
    /// own for HEAD.
    fn tables(&self) -> Option<Head> {
        let common = read(&self.common.join("reftable/tables.list"))?;
        let own = read(&self.own.join("reftable/tables.list")).unwrap_or_default();
        let commit = Digest::of_parts(&[common.as_bytes(), own.as_bytes()]).to_string();
        Some(Head { commit, log: 0 })
    }

    /// Returns whether HEAD moved in another way than by commits made here. A return to the same commit is no move,
    /// unless commits were made in between, because these are gone from the work tree. A log that is shorter, or that
    /// does not continue, is a move as well: the log was rewritten or belongs to another repository.
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

    /// Returns the newest commits of a branch and of its upstream branch. Without a configured upstream, as after a
    /// checkout by a CI system, `origin` is the server.
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

    /// Returns the branch that the team shares, as far as the repository shows it: the default branch of the server in
    /// a clone, else the branch that is checked out. A clone of a single branch does not know the default branch; there
    /// the branch that is checked out counts only if its name is usual for a shared branch.
    pub fn shared_branch(&self, state: &GitState) -> Option<String> {
        let is_usual = |name: &str| matches!(name, "main" | "master" | "trunk" | "develop");
        let here = || {
            let branch = state.branch.clone();
            branch.filter(|name| !self.is_clone() || is_usual(name))
        };
        self.default_branch().or_else(here)
    }

    /// Returns the default branch of the server, as `git clone` records it; `None`: this is no clone, or git recorded
    /// no default.
    fn default_branch(&self) -> Option<String> {
        let text = read(&self.common.join("refs/remotes/origin/HEAD"))?;
        let branch = text.trim().strip_prefix("ref: refs/remotes/origin/")?;
        let is_name = !branch.is_empty() && !branch.contains(char::is_control);
        is_name.then(|| branch.to_owned())
    }

    /// Returns whether the repository has a server named `origin`.
    fn is_clone(&self) -> bool {
        let config = read(&self.common.join("config")).unwrap_or_default();
        setting(&config, "remote \"origin\"", "url").is_some()
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

    /// Returns the newest commits that were made here since HEAD was at a position, each with its parent. The list is
    /// empty after a reset (`git stash` makes one) or a checkout, because later commits then do not show which files
    /// the person had before.
    pub fn own_commits_since(&self, before: &Head) -> Vec<(String, String)> {
        let lines = self.moves_since(before.log).unwrap_or_default();
        let replaced = |what: &str| what.starts_with("reset:") || what.starts_with("checkout:");
        if lines.lines().filter_map(message).any(replaced) {
            return Vec::new();
        }
        // A patch that was applied here is a person's commit, although it may remove others' files.
        let made_here = |what: &str| is_own(what) || what.starts_with("am:");
        let own = lines
            .lines()
            .filter(|line| message(line).is_some_and(made_here));
        let commits = own.rev().filter_map(|line| {
            let mut words = line.split(' ');
            let (before, after) = (words.next()?, words.next()?);
            // The first commit has no parent.
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

    /// Returns the lines that were added to HEAD's log; `None`: there are none, or the log was rewritten.
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

/// Returns `core.sparseCheckout` of a configuration; `None`: it is not set.
fn sparse_of(config: &str) -> Option<bool> {
    let value = setting(config, "core", "sparsecheckout")?.to_ascii_lowercase();
    Some(matches!(value.as_str(), "true" | "yes" | "on" | "1"))
}

/// Returns the last value of a key in a configuration file. A key without a value is true. A section's name ignores
/// case, its quoted part does not.
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

/// Returns whether a commit has the committer's own changes. A merge commit brings others' removals.
fn is_own(what: &str) -> bool {
    what.starts_with("commit")
        && !what.starts_with("commit (merge)")
        && !what.starts_with("commit (cherry-pick)")
}

/// Returns the message in a line of the reflog: `old new name <mail> time zone\tmessage`.
fn message(line: &str) -> Option<&str> {
    line.split_once('\t').map(|(_, message)| message)
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    open(path)?.take(LIMIT).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Opens a regular file. Does not wait for a pipe in its place.
fn open(path: &Path) -> Option<fs::File> {
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).ok()?;
    let mut options = fs::File::options();
    let file = options.read(true).custom_flags(nonblock).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}
