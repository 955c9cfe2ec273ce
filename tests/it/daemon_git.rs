//! What git does in a mirror, with the real git.

use kbsync::{
    daemon::git::{Before, Git, HOLD, Head, Sight, Trees},
    engine::GitView as _,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};
use tempfile::TempDir;

struct Repository(TempDir);

impl Repository {
    /// A work tree on `main` with one article.
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().expect("a folder"));
        repository.git(&["init", "-q", "-b", "main"]);
        repository.write("a/b.html", "one\n");
        repository.commit("first");
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Runs git, and gives whether it was content.
    fn try_git(&self, arguments: &[&str]) -> bool {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments)
            .current_dir(self.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .output()
            .expect("git runs");
        output.status.success()
    }

    fn git(&self, arguments: &[&str]) {
        assert!(self.try_git(arguments), "git {arguments:?}");
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn found(&self) -> Git {
        Git::find(&self.path().join("a")).expect("a git folder above")
    }

    fn sight(&self) -> Sight {
        self.found().sight()
    }

    fn head(&self) -> Head {
        self.sight().head.expect("a head")
    }

    /// Whether HEAD counts as moved by what is done.
    fn moves(&self, play: impl FnOnce(&Self)) -> bool {
        let before = self.head();
        play(self);
        self.found().moved(&before, &self.head())
    }
}

/// A branch `other` without the article, and one that conflicts; ends on `main`.
fn branches() -> Repository {
    let repository = Repository::new();
    repository.git(&["checkout", "-q", "-b", "other"]);
    repository.git(&["rm", "-q", "a/b.html"]);
    repository.write("a/c.html", "c\n");
    repository.commit("other");
    repository.git(&["checkout", "-q", "-b", "clash", "main"]);
    repository.write("a/b.html", "theirs\n");
    repository.commit("clash");
    repository.git(&["checkout", "-q", "main"]);
    repository.write("a/b.html", "ours\n");
    repository.commit("ours");
    repository
}

#[test]
fn without_git_there_is_nothing_to_see() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(Git::find(folder.path()), None);
}

#[test]
fn the_branch_is_the_one_that_is_checked_out() {
    let repository = branches();
    assert_eq!(repository.sight().branch.as_deref(), Some("main"));
    assert_eq!(repository.sight().busy, None);
    assert_eq!(repository.head().commit.len(), 40);
    repository.git(&["pack-refs", "--all"]);
    let packed = repository.head();
    assert_eq!(packed.commit.len(), 40, "a packed branch is found, too");
    repository.git(&["checkout", "-q", "--detach"]);
    assert_eq!(repository.sight().branch, None);
    assert_eq!(repository.head().commit, packed.commit);
}

#[test]
fn f084_commits_are_the_writers_and_other_moves_are_gits() {
    let repository = branches();
    assert!(!repository.moves(|_| ()), "nothing happened");
    assert!(!repository.moves(|r| {
        r.git(&["rm", "-q", "a/b.html"]);
        r.commit("the writer removed it");
        r.git(&["commit", "-q", "--amend", "-m", "and said it better"]);
    }));
    assert!(repository.moves(|r| r.git(&["checkout", "-q", "other"])));
    assert!(
        !repository.moves(|r| {
            r.git(&["checkout", "-q", "main"]);
            r.git(&["checkout", "-q", "other"]);
        }),
        "there and back is no move"
    );
    assert!(
        repository.moves(|r| {
            r.git(&["checkout", "-q", "-b", "feature"]);
            r.write("a/new.html", "saved and synced before it was committed\n");
            r.commit("new");
            r.git(&["checkout", "-q", "other"]);
        }),
        "but for what was committed there"
    );
    assert!(
        repository.moves(|r| r.git(&["reset", "-q", "--hard", "main"])),
        "reset"
    );
    assert!(
        repository.moves(|r| {
            r.write("a/d.html", "d\n");
            r.commit("more");
            r.git(&["checkout", "-q", "clash"]);
        }),
        "a commit and a checkout"
    );
    assert!(repository.moves(|r| r.git(&["reset", "-q", "--hard", "HEAD~1"])));
    assert!(
        repository.moves(|r| r.git(&["merge", "-q", "--no-edit", "main~1", "other"])),
        "a merge brings others' removals"
    );
    let repository = branches();
    assert!(
        repository.moves(|r| {
            assert!(!r.try_git(&["merge", "clash"]), "it conflicts");
            r.write("a/b.html", "both\n");
            r.commit("merged by hand");
        }),
        "and so does one that a person ended"
    );
}

#[test]
fn f084_a_repository_without_a_log_of_moves_is_doubted() {
    let repository = branches();
    let before = repository.head();
    repository.git(&["checkout", "-q", "other"]);
    fs::remove_dir_all(repository.path().join(".git/logs")).expect("removed");
    assert!(repository.found().moved(&before, &repository.head()));
}

#[test]
fn f086_what_git_has_not_finished_is_seen() {
    let repository = branches();
    fs::write(repository.path().join(".git/index.lock"), "").expect("written");
    assert_eq!(repository.sight().busy, Some("git is changing files"));
    fs::remove_file(repository.path().join(".git/index.lock")).expect("removed");
    assert!(!repository.try_git(&["merge", "clash"]), "it conflicts");
    assert_eq!(repository.sight().busy, Some("a merge is not finished"));
    repository.git(&["merge", "--abort"]);
    assert_eq!(repository.sight().busy, None);
    assert!(!repository.try_git(&["rebase", "clash"]), "it conflicts");
    assert_eq!(repository.sight().busy, Some("a rebase is not finished"));
    repository.git(&["rebase", "--abort"]);
    assert!(
        !repository.try_git(&["cherry-pick", "clash"]),
        "it conflicts"
    );
    assert_eq!(
        repository.sight().busy,
        Some("a cherry-pick is not finished")
    );
    repository.git(&["cherry-pick", "--abort"]);
    assert!(
        !repository.try_git(&["revert", "--no-edit", "HEAD~1"]),
        "it conflicts"
    );
    assert_eq!(repository.sight().busy, Some("a revert is not finished"));
    repository.git(&["revert", "--abort"]);
    assert_eq!(repository.sight().busy, None);
}

#[test]
fn f087_a_stash_moves_no_head() {
    let repository = branches();
    repository.write("a/b.html", "not yet\n");
    assert!(!repository.moves(|r| r.git(&["stash", "-q"])));
    assert!(!repository.moves(|r| r.git(&["stash", "pop", "-q"])));
    repository.write("a/untracked.html", "x\n");
    assert!(!repository.moves(|r| r.git(&["clean", "-fdxq"])));
}

#[test]
fn f091_a_linked_work_tree_has_its_own_head() {
    let repository = branches();
    let other = tempfile::tempdir().expect("a folder");
    let linked = other.path().join("linked");
    let name = linked.to_str().expect("text");
    repository.git(&["worktree", "add", "-q", name, "other"]);
    let git = Git::find(&linked).expect("through the .git file");
    assert_eq!(git.sight().branch.as_deref(), Some("other"));
    assert_eq!(git.sight().head.expect("a head").commit.len(), 40);
    assert_eq!(repository.sight().branch.as_deref(), Some("main"));
}

#[test]
fn f084_a_repository_with_reftables_is_doubted_whatever_moved() {
    let repository = Repository(tempfile::tempdir().expect("a folder"));
    // Of a git that does not know them there are no such repositories.
    if !repository.try_git(&["init", "-q", "-b", "main", "--ref-format=reftable"]) {
        return;
    }
    repository.write("a/b.html", "one\n");
    repository.commit("first");
    repository.git(&["branch", "other"]);
    assert!(repository.sight().reftable);
    assert_eq!(repository.sight().branch, None);
    assert!(!repository.moves(|_| {}));
    assert!(!repository.moves(|repository| repository.write("a/b.html", "edited\n")));
    assert!(repository.moves(|repository| repository.commit("by hand")));
    assert!(repository.moves(|repository| repository.git(&["checkout", "-q", "other"])));
    repository.git(&["worktree", "add", "-q", "linked", "main"]);
    let linked = Git::find(&repository.path().join("linked")).expect("a git folder");
    let before = linked.sight().head.expect("a head");
    repository.git(&["-C", "linked", "checkout", "-q", "--detach"]);
    assert!(linked.moved(&before, &linked.sight().head.expect("a head")));
}

/// Why a removal waits, if it does, by the view of a workspace in this repository.
fn held(repository: &Repository, before: &Before, branch: Option<&str>) -> Option<String> {
    let trees = Trees::of([(String::new(), repository.path().to_owned())]);
    let before = BTreeMap::from([(String::new(), before.clone())]);
    let view = trees.view("", before, branch.map(str::to_owned));
    let gone = BTreeSet::from(["a/b.html".to_owned()]);
    let held = view.expect("a workspace").held_removals(&gone);
    held.into_values().next()
}

#[test]
fn f084_what_git_does_after_the_first_look_holds_removals_too() {
    let repository = branches();
    let before = Before {
        head: Some(repository.head()),
        agreed: None,
    };
    assert_eq!(held(&repository, &before, None), None);
    // A writer's own commit holds nothing; the files are changed before HEAD is.
    let lock = repository.path().join(".git/index.lock");
    fs::write(&lock, "").expect("written");
    let told = held(&repository, &before, None).expect("held");
    assert!(told.starts_with("git is changing files"), "{told}");
    fs::remove_file(&lock).expect("done");
    repository.git(&["checkout", "-q", "other"]);
    assert_eq!(held(&repository, &before, None).as_deref(), Some(HOLD));
    // On the one branch that counts nothing is git's doing, on any other everything is.
    assert_eq!(held(&repository, &before, Some("other")), None);
    let told = held(&repository, &before, Some("main")).expect("held");
    assert!(told.starts_with("other is checked out"), "{told}");
}

#[test]
fn f091_a_submodule_has_its_own_head() {
    let (repository, other) = (branches(), branches());
    let source = other.path().to_str().expect("text");
    let allowed = "protocol.file.allow=always";
    repository.git(&["-c", allowed, "submodule", "add", "-q", source, "sub"]);
    let sub = repository.path().join("sub");
    let pointer = fs::read_to_string(sub.join(".git")).expect("a file");
    assert!(pointer.starts_with("gitdir: ../"), "{pointer}");
    let git = Git::find(&sub.join("a")).expect("through the .git file");
    assert_eq!(git.sight().branch.as_deref(), Some("main"));
    let before = git.sight().head.expect("a head");
    assert_eq!(before.commit.len(), 40);
    // What is done around it is none of its business.
    repository.commit("with a submodule");
    assert_eq!(git.sight().head.as_ref(), Some(&before));
    repository.git(&["-C", "sub", "checkout", "-q", "other"]);
    assert!(git.moved(&before, &git.sight().head.expect("a head")));
    assert_eq!(git.sight().branch.as_deref(), Some("other"));
    assert_eq!(repository.sight().branch.as_deref(), Some("main"));
    let own = repository.path().join(".git/modules/sub");
    fs::write(own.join("index.lock"), "").expect("written");
    assert_eq!(git.sight().busy, Some("git is changing files"));
    assert_eq!(repository.sight().busy, None);
}
