//! Commits read through the real git program: their content, and the programs that are never run.

use crate::support::kb::write_program;
use crate::support::real_git::git_in;
use kbsync::daemon::git::objects::Objects;
use std::{collections::BTreeSet, fs, path::Path, process::Command};
use tempfile::TempDir;

struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().expect("a folder"));
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        git_in(self.path(), arguments).trim().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Commits everything, and returns the commit's id.
    fn commit(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "a commit"]);
        self.git(&["rev-parse", "HEAD"])
    }
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// Returns these paths of a commit, as text.
fn read(objects: &Objects, commit: &str, paths: &[&str]) -> Vec<(String, String)> {
    let files = objects.files(commit, &set(paths)).expect("read");
    let contents = objects
        .contents(&files.values().cloned().collect())
        .expect("read");
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).expect("text");
    files
        .into_iter()
        .map(|(path, blob)| (path, text(&contents[&blob])))
        .collect()
}

fn pair(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

#[test]
fn files_of_a_commit_are_read_below_the_folder() {
    let repository = Repository::new();
    let objects = Objects::around(&repository.path().join("help"));
    repository.write("a/b.html", "not below the folder\n");
    repository.write("help/a/b.html", "one\n\nmore");
    repository.write("help/a/c d:*é.html", "two\n");
    repository.write("help/a/empty.html", "");
    std::os::unix::fs::symlink("b.html", repository.path().join("help/a/link.html")).expect("made");
    let first = repository.commit();
    repository.write("help/a/b.html", "later\n");
    fs::remove_file(repository.path().join("help/a/empty.html")).expect("removed");
    let second = repository.commit();
    repository.write("help/a/b.html", "not committed\n");
    let all = [
        "a/b.html",
        "a/c d:*é.html",
        "a/empty.html",
        "a/link.html",
        "a",
        "no.html",
    ];
    let one = [
        pair("a/b.html", "one\n\nmore"),
        pair("a/c d:*é.html", "two\n"),
        pair("a/empty.html", ""),
    ];
    assert_eq!(read(&objects, &first, &all), one);
    let two = [pair("a/b.html", "later\n"), pair("a/c d:*é.html", "two\n")];
    assert_eq!(read(&objects, "HEAD", &all), two);
    assert_eq!(read(&objects, &second, &all), two);
    assert_eq!(read(&objects, "", &all), []);
    let between = |from, to, path| {
        objects
            .commits_between(from, to, &set(&[path]))
            .expect("read")
    };
    assert_eq!(between(&first, "HEAD", "a/b.html"), set(&[&second]));
    assert_eq!(between(&first, "HEAD", "a/c d:*é.html"), set(&[]));
    assert_eq!(between("", &second, "a/b.html"), set(&[&first, &second]));
}

#[test]
fn many_files_are_read_in_several_calls() {
    let repository = Repository::new();
    let paths: Vec<String> = (0..200)
        .map(|number| format!("a/n{number:03}.html"))
        .collect();
    for path in &paths {
        repository.write(path, path);
    }
    repository.commit();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let found = read(&Objects::around(repository.path()), "HEAD", &paths);
    assert_eq!(found.len(), 200);
    assert!(found.iter().all(|(path, text)| path == text));
}

#[test]
fn a_question_without_an_answer_is_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = set(&["a/b.html"]);
    let unread =
        |objects: &Objects, commit: &str| objects.files(commit, &paths).expect_err("unread");
    let none = Objects::around(folder.path());
    assert!(unread(&none, "HEAD").contains("not a git repository"));
    let repository = Repository::new();
    let objects = Objects::around(repository.path());
    // HEAD is on a branch without a commit.
    unread(&objects, "HEAD");
    repository.write("a/b.html", "one\n");
    repository.commit();
    for commit in ["0123456789012345678901234567890123456789", "main", "--help"] {
        unread(&objects, commit);
        objects
            .commits_between(commit, "HEAD", &paths)
            .expect_err("unread");
    }
    // The commit is there, and the file's content is not.
    let blob = repository.git(&["rev-parse", "HEAD:a/b.html"]);
    let file = repository
        .path()
        .join(".git/objects")
        .join(&blob[..2])
        .join(&blob[2..]);
    fs::remove_file(file).expect("removed");
    let files = objects.files("HEAD", &paths).expect("listed");
    let error = objects
        .contents(&files.into_values().collect())
        .expect_err("unread");
    assert!(error.starts_with("git failed: "), "{error:?}");
}

#[test]
fn nothing_that_a_repository_names_is_run() {
    let repository = Repository::new();
    repository.write("a/b.html", "one\n");
    let first = repository.commit();
    repository.write("a/b.html", "two\n");
    repository.commit();
    repository.write(".gitattributes", "*.html filter=trap diff=trap\n");
    let trap = repository.path().join("trap.sh");
    let trace = repository.path().join("trapped");
    let script = format!("#!/bin/sh\necho $0 >>'{}'\ncat\n", trace.display());
    write_program(&trap, &script);
    let trap = trap.to_str().expect("text");
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
        "diff.trap.textconv",
        "diff.trap.command",
        "gpg.program",
        "credential.helper",
    ] {
        repository.git(&["config", key, trap]);
    }
    repository.git(&["config", "log.showSignature", "true"]);
    let hooks = repository.path().join(".git/hooks");
    fs::create_dir_all(&hooks).expect("made");
    for hook in [
        "post-index-change",
        "reference-transaction",
        "post-checkout",
    ] {
        fs::copy(trap, hooks.join(hook)).expect("copied");
    }
    let objects = Objects::around(repository.path());
    assert_eq!(
        read(&objects, "HEAD", &["a/b.html"]),
        [pair("a/b.html", "two\n")]
    );
    objects
        .commits_between(&first, "HEAD", &set(&["a/b.html"]))
        .expect("read");
    // A partial clone fetches missing objects, and a transport can be a program.
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "o"),
        ("remote.o.promisor", "true"),
        ("remote.o.url", &format!("ext::{trap}")),
        ("protocol.ext.allow", "always"),
        ("protocol.allow", "always"),
    ] {
        repository.git(&["config", key, value]);
    }
    let blob = repository.git(&["rev-parse", "HEAD:a/b.html"]);
    let (folder, name) = blob.split_at(2);
    fs::remove_file(
        repository
            .path()
            .join(".git/objects")
            .join(folder)
            .join(name),
    )
    .expect("removed");
    let files = objects
        .files("HEAD", &set(&["a/b.html"]))
        .expect("read")
        .into_values()
        .collect();
    let error = objects.contents(&files).expect_err("unread");
    assert!(error.starts_with("git failed: "), "{error:?}");
    assert!(!trace.exists(), "{:?}", fs::read_to_string(&trace));
}

#[test]
fn a_bare_repository_among_the_files_is_not_used() {
    let repository = Repository::new();
    repository.write("help/a/b.html", "one\n");
    repository.commit();
    let objects = Objects::around(&repository.path().join("help"));
    let files = || objects.files("HEAD", &set(&["a/b.html", "help/a/b.html"]));
    assert_eq!(files().expect("read").len(), 1);
    let copied = Command::new("cp")
        .args([
            "-r",
            ".git/HEAD",
            ".git/objects",
            ".git/refs",
            ".git/config",
        ])
        .arg("help")
        .current_dir(repository.path())
        .status();
    assert!(copied.expect("cp runs").success());
    let error = files().expect_err("unread");
    assert!(error.contains("bare repository"), "{error:?}");
}
