//! Git's operations in a work tree, with the real git, and the daemon's view of them.

use crate::support::real_git::try_git_in;
use kbsync::{
    config::PublishedBranch,
    daemon::git::{self, Busy, Git, GitState, HOLD, Head, Known, Pause, Remembered, UNKNOWN, View},
    engine::{Checkout, GitView as _},
};
use std::{collections::BTreeSet, fs, path::Path};
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

    /// Runs git, and returns whether it succeeded.
    fn try_git(&self, arguments: &[&str]) -> bool {
        try_git_in(self.path(), arguments).is_some()
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

    fn state(&self) -> GitState {
        self.found().state()
    }

    fn head(&self) -> Head {
        self.state().head.expect("a head")
    }

    /// Returns whether HEAD counts as moved by an operation.
    fn moves(&self, play: impl FnOnce(&Self)) -> bool {
        let before = self.head();
        play(self);
        self.found().moved(&before, &self.head())
    }
}

/// A repository with a branch `other` that lacks the article, and a branch that conflicts; ends on `main`.
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
    assert_eq!(repository.state().branch.as_deref(), Some("main"));
    assert_eq!(repository.state().busy, None);
    assert_eq!(repository.head().commit.len(), 40);
    repository.git(&["pack-refs", "--all"]);
    let packed = repository.head();
    assert_eq!(packed.commit.len(), 40, "a packed branch is found, too");
    repository.git(&["checkout", "-q", "--detach"]);
    assert_eq!(repository.state().branch, None);
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
    assert_eq!(repository.state().busy, Some(Busy::Lock));
    fs::remove_file(repository.path().join(".git/index.lock")).expect("removed");
    assert!(!repository.try_git(&["merge", "clash"]), "it conflicts");
    assert_eq!(repository.state().busy, Some(Busy::Operation("merge")));
    repository.git(&["merge", "--abort"]);
    assert_eq!(repository.state().busy, None);
    assert!(!repository.try_git(&["rebase", "clash"]), "it conflicts");
    assert_eq!(repository.state().busy, Some(Busy::Operation("rebase")));
    repository.git(&["rebase", "--abort"]);
    assert!(
        !repository.try_git(&["cherry-pick", "clash"]),
        "it conflicts"
    );
    assert_eq!(
        repository.state().busy,
        Some(Busy::Operation("cherry-pick"))
    );
    repository.git(&["cherry-pick", "--abort"]);
    assert!(
        !repository.try_git(&["revert", "--no-edit", "HEAD~1"]),
        "it conflicts"
    );
    assert_eq!(repository.state().busy, Some(Busy::Operation("revert")));
    repository.git(&["revert", "--abort"]);
    assert_eq!(repository.state().busy, None);
    // The first commit of a series conflicts, and is settled by a commit: the rest of the series is still to come.
    assert!(
        !repository.try_git(&["cherry-pick", "clash", "other"]),
        "it conflicts"
    );
    repository.git(&["commit", "-q", "-a", "-m", "settled"]);
    assert!(!repository.path().join(".git/CHERRY_PICK_HEAD").exists());
    assert_eq!(
        repository.state().busy,
        Some(Busy::Operation("cherry-pick"))
    );
    repository.git(&["cherry-pick", "--quit"]);
    assert_eq!(repository.state().busy, None);
    assert!(
        !repository.try_git(&["revert", "--no-edit", "HEAD~1", "HEAD"]),
        "it conflicts"
    );
    repository.git(&["commit", "-q", "-a", "-m", "settled"]);
    assert!(!repository.path().join(".git/REVERT_HEAD").exists());
    assert_eq!(repository.state().busy, Some(Busy::Operation("revert")));
    repository.git(&["revert", "--quit"]);
    assert_eq!(repository.state().busy, None);
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
    assert_eq!(git.state().branch.as_deref(), Some("other"));
    assert_eq!(git.state().head.expect("a head").commit.len(), 40);
    assert_eq!(repository.state().branch.as_deref(), Some("main"));
}

#[test]
fn f084_a_repository_with_reftables_is_doubted_whatever_moved() {
    let repository = Repository(tempfile::tempdir().expect("a folder"));
    // An older git cannot create such repositories.
    if !repository.try_git(&["init", "-q", "-b", "main", "--ref-format=reftable"]) {
        return;
    }
    repository.write("a/b.html", "one\n");
    repository.commit("first");
    repository.git(&["branch", "other"]);
    assert!(repository.state().reftable);
    assert_eq!(repository.state().branch, None);
    let found = look(&repository, &PublishedBranch::Auto, None);
    assert_eq!(found.not_published(), Some(Pause::Unreadable));
    let found = look(&repository, &PublishedBranch::Any, None);
    assert_eq!(found.not_published(), None);
    assert!(!repository.moves(|_| {}));
    assert!(!repository.moves(|repository| repository.write("a/b.html", "edited\n")));
    assert!(repository.moves(|repository| repository.commit("by hand")));
    assert!(repository.moves(|repository| repository.git(&["checkout", "-q", "other"])));
    repository.git(&["worktree", "add", "-q", "linked", "main"]);
    let linked = Git::find(&repository.path().join("linked")).expect("a git folder");
    let before = linked.state().head.expect("a head");
    repository.git(&["-C", "linked", "checkout", "-q", "--detach"]);
    assert!(linked.moved(&before, &linked.state().head.expect("a head")));
}

/// Reads the state of the repository, with `agreed` as the stored HEAD.
fn look(repository: &Repository, setting: &PublishedBranch, agreed: Option<&Head>) -> Known {
    let found = git::look([("", repository.path())], setting, |_| Remembered {
        head: agreed.cloned(),
        branch: None,
    });
    found.into_iter().next().expect("a repository")
}

/// Returns why a removal is held in a cycle that began with this state.
fn held(repository: &Repository, before: &Known, path: &str) -> Option<String> {
    let view = View::new(repository.path(), vec![before.clone()]);
    let gone = BTreeSet::from([path.to_owned()]);
    view.held_removals(&gone).into_values().next()
}

#[test]
fn f084_what_git_does_after_the_first_look_holds_removals_too() {
    let repository = branches();
    let agreed = repository.head();
    let any = look(&repository, &PublishedBranch::Any, Some(&agreed));
    let held = |before: &Known| held(&repository, before, "a/b.html");
    assert_eq!(held(&any), None);
    // Without git at work, nothing is held. Git changes files before HEAD, so its lock already holds removals.
    let lock = repository.path().join(".git/index.lock");
    fs::write(&lock, "").expect("written");
    let told = held(&any).expect("held");
    assert!(told.starts_with("git is changing files"), "{told}");
    fs::remove_file(&lock).expect("done");
    let named = |name: &str| PublishedBranch::Named(name.to_owned());
    let main = look(&repository, &named("main"), Some(&agreed));
    repository.git(&["checkout", "-q", "other"]);
    assert_eq!(held(&any).as_deref(), Some(HOLD));
    let told = held(&main).expect("held");
    assert!(told.starts_with("branch other is checked out"), "{told}");
}

#[test]
fn f084_a_cycle_ends_when_git_moved_head_since_the_first_look() {
    let repository = branches();
    let before = look(&repository, &PublishedBranch::Any, None);
    let view = View::new(repository.path(), vec![before]);
    assert_eq!(view.checkout(), Checkout::Same);
    repository.write("a/b.html", "pulled\n");
    repository.commit("pulled");
    let why = "git moved HEAD just now".to_owned();
    assert_eq!(view.checkout(), Checkout::Other(why));
}

#[test]
fn without_a_remembered_head_every_removal_waits() {
    let repository = branches();
    for setting in [PublishedBranch::Any, PublishedBranch::Auto] {
        let before = look(&repository, &setting, None);
        let told = held(&repository, &before, "a/b.html");
        assert_eq!(told.as_deref(), Some(UNKNOWN));
    }
    // The same goes for a repository that appeared since the first look.
    let view = View::new(repository.path(), Vec::new());
    let told = view.held_removals(&BTreeSet::from(["a/b.html".to_owned()]));
    assert_eq!(told.into_values().collect::<Vec<_>>(), [UNKNOWN]);
}

#[test]
fn after_a_moved_head_only_what_the_published_branch_removed_goes_through() {
    let repository = branches();
    repository.write("a/kept.html", "kept\n");
    repository.commit("kept");
    let agreed = repository.head();
    repository.git(&["merge", "-q", "--no-edit", "-X", "theirs", "clash"]);
    repository.git(&["rm", "-q", "a/b.html"]);
    repository.git(&["commit", "-q", "--amend", "-m", "merged, and one removed"]);
    let auto = look(&repository, &PublishedBranch::Auto, Some(&agreed));
    assert_eq!(held(&repository, &auto, "a/b.html"), None);
    // HEAD has the file, so git would have put the file into the work tree.
    assert_eq!(held(&repository, &auto, "a/kept.html"), None);
    let told = held(&repository, &auto, "a/never-committed.html").expect("held");
    assert!(told.contains("not by a commit of branch main"), "{told}");
    // After a move of HEAD during the cycle, the cycle ends.
    repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let why = "git moved HEAD just now".to_owned();
    let view = View::new(repository.path(), vec![auto]);
    assert_eq!(view.checkout(), Checkout::Other(why));
}

#[test]
fn another_repository_in_the_place_of_the_one_that_was_remembered_is_a_move() {
    let (one, other) = (branches(), Repository::new());
    for number in 0..20 {
        other.write("a/d.html", &format!("{number}\n"));
        other.commit("more");
    }
    let before = one.head();
    assert!(!one.found().moved(&before, &one.head()));
    fs::rename(one.path().join(".git"), one.path().join("away")).expect("moved");
    fs::rename(other.path().join(".git"), one.path().join(".git")).expect("moved");
    let now = one.head();
    assert!(now.log > before.log, "its log is longer, and another one");
    assert!(one.found().moved(&before, &now));
    // A log that was cut counts as a move as well.
    let log = one.path().join(".git/logs/HEAD");
    fs::write(&log, "").expect("written");
    assert!(one.found().moved(&now, &one.head()));
}

#[test]
fn a_commit_by_itself_counts_as_the_published_branch_if_it_is_the_newest_of_it() {
    let repository = branches();
    let main = PublishedBranch::Named("main".to_owned());
    let refused = || look(&repository, &main, None).not_published();
    assert_eq!(refused(), None);
    repository.git(&["checkout", "-q", "--detach"]);
    assert_eq!(refused(), None, "the newest");
    let unnamed = look(&repository, &PublishedBranch::Auto, None);
    assert_eq!(unnamed.not_published(), Some(Pause::NoBranch));
    repository.git(&["checkout", "-q", "main~1"]);
    let published = "main".to_owned();
    let detached = Some(Pause::Detached { published });
    assert_eq!(refused(), detached);
    // As in CI: no branch is checked out, and the server's branch is at this commit.
    repository.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert_eq!(refused(), None);
    repository.git(&["branch", "-q", "-D", "main"]);
    assert_eq!(refused(), None);
    repository.git(&["pack-refs", "--all"]);
    assert_eq!(refused(), None);
    // A branch may follow a branch of another name, on another server.
    repository.git(&["branch", "-q", "main", "other"]);
    repository.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    assert_eq!(refused(), detached);
    repository.git(&["config", "branch.main.remote", "upstream"]);
    repository.git(&["config", "branch.main.merge", "refs/heads/trunk"]);
    repository.git(&["update-ref", "refs/remotes/upstream/trunk", "HEAD"]);
    assert_eq!(refused(), None);
}

#[test]
fn a_branch_without_a_commit_is_one() {
    let repository = Repository(tempfile::tempdir().expect("a folder"));
    repository.git(&["init", "-q", "-b", "trunk"]);
    let found = look(&repository, &PublishedBranch::Auto, None);
    assert_eq!(found.not_published(), None);
    assert_eq!(found.first.as_deref(), Some("trunk"));
    // The first commit is the writer's own, so HEAD does not count as moved.
    assert!(!repository.moves(|repository| {
        repository.write("a/b.html", "one\n");
        repository.commit("first");
    }));
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
    assert_eq!(git.state().branch.as_deref(), Some("main"));
    let before = git.state().head.expect("a head");
    assert_eq!(before.commit.len(), 40);
    // Operations in the outer repository have no effect on the submodule.
    repository.commit("with a submodule");
    assert_eq!(git.state().head.as_ref(), Some(&before));
    repository.git(&["-C", "sub", "checkout", "-q", "other"]);
    assert!(git.moved(&before, &git.state().head.expect("a head")));
    assert_eq!(git.state().branch.as_deref(), Some("other"));
    assert_eq!(repository.state().branch.as_deref(), Some("main"));
    let own = repository.path().join(".git/modules/sub");
    fs::write(own.join("index.lock"), "").expect("written");
    assert_eq!(git.state().busy, Some(Busy::Lock));
    assert_eq!(repository.state().busy, None);
}

#[test]
fn f091_a_cycle_ends_when_its_repository_can_no_longer_be_read() {
    let repository = branches();
    let own = repository.path().join("own");
    let name = own.to_str().expect("text");
    repository.git(&["init", "-q", "--separate-git-dir", name]);
    for lost in [own.clone(), own.join("HEAD")] {
        let before = look(&repository, &PublishedBranch::Auto, None);
        let view = View::new(repository.path(), vec![before]);
        assert_eq!(view.checkout(), Checkout::Same);
        let away = repository.path().join("away");
        fs::rename(&lost, &away).expect("moved");
        assert_ne!(view.checkout(), Checkout::Same, "{lost:?}");
        let gone = BTreeSet::from(["a/b.html".to_owned()]);
        assert_eq!(view.held_removals(&gone).len(), 1, "{lost:?}");
        fs::rename(&away, &lost).expect("moved");
    }
}
