//! Reads commits through the git program: the files of a commit and their contents.
//!
//! Only git commands that read are run. None of them runs a hook, a filter, a file system monitor, a pager or a
//! transport, whatever the configuration of the repository says. Each call is bounded in size, and all calls of one
//! [`Objects`] have one deadline. An [`Unread`] says nothing about the repository: the caller then holds the action.

use crate::programs::{self, Unanswered};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The time limit for all calls of one [`Objects`].
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of output of one call of git.
const LIMIT: u64 = 64 * 1024 * 1024;

/// The most paths or blobs in one call: the arguments of a program and the buffer of a pipe are bounded.
const AT_ONCE: usize = 64;

/// The most commits that are read one by one.
const COMMITS: usize = 64;

/// Why git gave no answer.
pub type Unread = String;

const LATE: &str = "git did not answer in time";

/// The id of a file's content in git.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Blob(String);

/// The commits of the repository around a folder, for one question. Paths are relative to the folder, with `/`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Objects {
    folder: PathBuf,
    /// The deadline of the question: a git that hangs costs the time limit once, whatever the number of calls.
    deadline: Instant,
}

impl Objects {
    /// Starts the time limit of a question about a folder. Git searches for the repository at each call.
    pub fn around(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            deadline: Instant::now() + PATIENCE,
        }
    }

    /// Returns the blobs of those paths that are files in a commit. A commit is named by its id, or as `HEAD`; an empty
    /// name stands for a branch without a commit, which has no files.
    pub fn files(
        &self,
        commit: &str,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Blob>, Unread> {
        let mut files = BTreeMap::new();
        if commit.is_empty() {
            return Ok(files);
        }
        let commit = checked(commit)?;
        for paths in chunks(paths) {
            let mut arguments = vec!["ls-tree", "-z", commit, "--"];
            arguments.extend(paths.into_iter().map(String::as_str));
            let listed = self.ask(&arguments, b"")?;
            files.extend(listed.split(|byte| *byte == 0).filter_map(file));
        }
        Ok(files)
    }

    /// Returns the content of each blob.
    pub fn contents(&self, blobs: &BTreeSet<Blob>) -> Result<BTreeMap<Blob, Vec<u8>>, Unread> {
        let mut contents = BTreeMap::new();
        for blobs in chunks(blobs) {
            let ids: Vec<&str> = blobs.iter().map(|blob| blob.0.as_str()).collect();
            let input = ids.join("\n") + "\n";
            let answer = self.ask(&["cat-file", "--batch"], input.as_bytes())?;
            let mut rest = answer.as_slice();
            for blob in blobs {
                let content = take_content(&mut rest, blob)
                    .ok_or_else(|| failed(&format!("the repository has no blob {}", blob.0)))?;
                contents.insert(blob.clone(), content);
            }
        }
        Ok(contents)
    }

    /// Returns the merge base of two commits. The name is empty if a commit is missing, as before the first commit.
    pub fn shared(&self, one: &str, other: &str) -> Result<String, Unread> {
        if one.is_empty() || other.is_empty() {
            return Ok(String::new());
        }
        let base = self.ask(&["merge-base", checked(one)?, checked(other)?], b"")?;
        Ok(String::from_utf8_lossy(&base).trim().to_owned())
    }

    /// Returns the commits of `from..to` that changed one of these paths; of many, only the newest.
    pub fn commits_between(
        &self,
        from: &str,
        to: &str,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, Unread> {
        let mut commits = BTreeSet::new();
        if to.is_empty() {
            return Ok(commits);
        }
        let to = checked(to)?;
        let range = match from {
            "" => to.to_owned(),
            from => format!("{}..{to}", checked(from)?),
        };
        let most = format!("--max-count={COMMITS}");
        for paths in chunks(paths) {
            let mut arguments = vec!["rev-list", "--full-history", &most, &range, "--"];
            arguments.extend(paths.into_iter().map(String::as_str));
            let listed = self.ask(&arguments, b"")?;
            commits.extend(String::from_utf8_lossy(&listed).lines().map(str::to_owned));
        }
        Ok(commits)
    }

    /// Returns whether a commit is HEAD or an ancestor of HEAD: the branch has only gone forward since.
    pub fn went_forward_from(&self, commit: &str) -> Result<bool, Unread> {
        if commit.is_empty() {
            return Ok(true);
        }
        let range = format!("HEAD..{}", checked(commit)?);
        let lost = self.ask(&["rev-list", "--max-count=1", &range, "--"], b"")?;
        Ok(lost.is_empty())
    }

    /// Returns why git refuses the repository, if git does.
    pub fn check(&self) -> Result<(), Unread> {
        self.ask(&["rev-parse", "--git-dir"], b"").map(drop)
    }

    /// Returns whether HEAD has anything in the folder.
    pub fn has_folder(&self) -> Result<bool, Unread> {
        Ok(!self.ask(&["ls-tree", "-z", "HEAD"], b"")?.is_empty())
    }

    /// Returns those of the paths to which git attaches a filter, as for large files.
    pub fn filtered(&self, paths: &BTreeSet<String>) -> Result<BTreeSet<String>, Unread> {
        let mut input = String::new();
        for path in paths {
            input.push_str(path);
            input.push('\0');
        }
        let answer = self.ask(&["check-attr", "--stdin", "-z", "filter"], input.as_bytes())?;
        let answer = String::from_utf8_lossy(&answer);
        let words: Vec<&str> = answer.split('\0').collect();
        let entries = words.chunks_exact(3);
        let filtered = entries.filter(|entry| !["unspecified", "unset"].contains(&entry[2]));
        Ok(filtered.map(|entry| entry[0].to_owned()).collect())
    }

    fn ask(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, Unread> {
        let command = self.command(arguments);
        let ended = programs::run(command, Some(input), LIMIT, self.deadline);
        let ended = ended.map_err(|unanswered| match unanswered {
            Unanswered::Failed(error) if error.kind() == io::ErrorKind::NotFound => {
                "the git program is not installed".to_owned()
            }
            Unanswered::Failed(error) => failed(&error.to_string()),
            Unanswered::Late => LATE.to_owned(),
            Unanswered::TooMuch => "git's output is too long".to_owned(),
        })?;
        if ended.status.success() {
            return Ok(ended.out);
        }
        // Git's remedy is in the last line.
        let lines = ended.said.lines().map(str::trim);
        let said: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        Err(failed(&said.join(" ")))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            // In a hook, these variables point at the hook's repository. The user's own configuration stays.
            if name_text.starts_with("GIT_") && !name_text.starts_with("GIT_CONFIG_") {
                command.env_remove(&name);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            // An old git would fetch what a partial clone lacks. The empty list forbids every transport, whatever
            // `protocol.*.allow` the repository has.
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1")
            .arg("-C")
            .arg(&self.folder)
            .arg("--no-pager")
            .args(["-c", "core.fsmonitor=false"])
            .args(["-c", "core.hooksPath=/dev/null"])
            // Files in the folder that look like a bare repository are somebody's files.
            .args(["-c", "safe.bareRepository=explicit"])
            .args(arguments);
        command
    }
}

fn failed(why: &str) -> Unread {
    format!("git failed: {why}")
}

/// Checks a commit's name, so that git cannot read the name as an option.
fn checked(commit: &str) -> Result<&str, Unread> {
    let is_id =
        matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id || commit == "HEAD" {
        Ok(commit)
    } else {
        Err(failed("HEAD names no commit"))
    }
}

/// Parses `MODE TYPE ID\tPATH`; `None` for links and submodules, which are no files.
fn file(entry: &[u8]) -> Option<(String, Blob)> {
    let entry = std::str::from_utf8(entry).ok()?;
    let (what, path) = entry.split_once('\t')?;
    let mut what = what.split(' ');
    let is_file = what.next()?.starts_with("100") && what.next()? == "blob";
    is_file.then_some((path.to_owned(), Blob(what.next()?.to_owned())))
}

/// Takes `ID blob LENGTH\nCONTENT\n` from the answer of `cat-file --batch`.
fn take_content(rest: &mut &[u8], blob: &Blob) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&rest[..end]).ok()?;
    let length: usize = head
        .strip_prefix(&format!("{} blob ", blob.0))?
        .parse()
        .ok()?;
    let body = rest.get(end + 1..)?;
    let content = body.get(..length)?.to_vec();
    *rest = body.get(length + 1..)?;
    Some(content)
}

fn chunks<T>(all: &BTreeSet<T>) -> Vec<Vec<&T>> {
    let all: Vec<&T> = all.iter().collect();
    all.chunks(AT_ONCE).map(<[_]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_calls_of_one_question_have_one_deadline() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let objects = Objects::around(folder);
        assert!(objects.deadline <= Instant::now() + PATIENCE);
        let late = Objects {
            deadline: Instant::now(),
            ..objects
        };
        let paths = BTreeSet::from(["README.md".to_owned()]);
        assert_eq!(late.files("HEAD", &paths), Err(LATE.to_owned()));
        assert_eq!(late.went_forward_from("HEAD"), Err(LATE.to_owned()));
        assert_eq!(late.check(), Err(LATE.to_owned()));
    }
}
