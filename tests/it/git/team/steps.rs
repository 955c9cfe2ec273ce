//! The steps of people: a writer edits, commits, pulls, stashes and syncs, a colleague uses the dashboard. Each step
//! tells the judge what it meant.

use super::{
    ground::Team,
    judge::{CATEGORY, Token},
};
use crate::support::daemon::{Daemon, until};
use std::collections::{BTreeMap, BTreeSet};

/// A writer's deed with files and git.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Edit,
    Make,
    Remove,
    Commit,
    Push,
    Pull,
    Rebase,
    Stash,
    Pop,
    Checkout,
    RestoreAll,
    StashAll,
    Reset,
    Clean,
    Upstream,
    Feature,
    CloneFeature,
    Merge,
    Revert,
    Resolve,
}

/// Each deed with the frequency of its entries.
const DEEDS: [Deed; 38] = [
    Deed::Edit,
    Deed::Edit,
    Deed::Edit,
    Deed::Edit,
    Deed::Edit,
    Deed::Edit,
    Deed::Make,
    Deed::Make,
    Deed::Remove,
    Deed::Commit,
    Deed::Commit,
    Deed::Commit,
    Deed::Push,
    Deed::Push,
    Deed::Push,
    Deed::Pull,
    Deed::Pull,
    Deed::Pull,
    Deed::Rebase,
    Deed::Rebase,
    Deed::Stash,
    Deed::Stash,
    Deed::Pop,
    Deed::Pop,
    Deed::Checkout,
    Deed::Checkout,
    Deed::RestoreAll,
    Deed::StashAll,
    Deed::Reset,
    Deed::Clean,
    Deed::Upstream,
    Deed::Upstream,
    Deed::Feature,
    Deed::Feature,
    Deed::CloneFeature,
    Deed::Merge,
    Deed::Revert,
    Deed::Resolve,
];

type Files = BTreeMap<String, BTreeSet<Token>>;

/// The path of a file.
pub(super) fn file(slug: &str) -> String {
    match slug {
        CATEGORY => "start/_category.yaml".to_owned(),
        slug => format!("start/{slug}.html"),
    }
}

/// Prints the daemon's log when a run fails.
struct ToldInPanic<'a>(&'a Daemon);

impl Drop for ToldInPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            super::tell(&self.0.log());
        }
    }
}

impl Team {
    /// Takes a random step.
    pub(super) fn step(&mut self) {
        let index = self.chance.below(self.writers.len());
        match self.chance.below(16) {
            0..=2 => self.dashboard(),
            3..=6 => self.sync(index),
            7 => self.beside_a_daemon(index),
            _ => self.deed(index),
        }
        self.look();
    }

    /// Takes some steps beside a running daemon.
    fn beside_a_daemon(&mut self, index: usize) {
        self.tell(index, "starts the daemon");
        let daemon = Daemon::spawn(&self.writers[index].kb, &[]);
        let told = ToldInPanic(&daemon);
        until("the first cycle", || {
            daemon.log().contains("trigger=startup outcome=")
        });
        for _ in 0..=self.chance.below(3) {
            self.deed(index);
            if self.chance.one_in(2) {
                self.rest(index);
            }
        }
        self.rest(index);
        self.tell(index, "stops the daemon");
        drop(told);
        daemon.stop();
    }

    /// Waits until the daemon has handled the last deeds.
    fn rest(&mut self, index: usize) {
        self.tell(index, "waits for the daemon");
        until("git is at rest", || {
            let ran = self.writers[index].kb.run(&["sync"]);
            assert!(matches!(ran.code, 0 | 3 | 4 | 5), "{ran:#?}");
            ran.code != 5
        });
        self.look();
    }

    pub(super) fn sync(&mut self, index: usize) {
        self.tell(index, "kbsync sync");
        let ran = self.writers[index].kb.run(&["sync"]);
        assert!(matches!(ran.code, 0 | 3 | 4), "{ran:#?}");
        self.look();
    }

    fn tell(&mut self, index: usize, what: &str) {
        let name = self.writers[index].name;
        self.note(format!("{name}: {what}"));
    }

    fn deed(&mut self, index: usize) {
        let deed = DEEDS[self.chance.below(DEEDS.len())];
        // A daemon may have pulled a change.
        self.look();
        self.tell(index, &format!("{deed:?}"));
        match deed {
            Deed::Edit => self.edit(index),
            Deed::Make => self.make(index),
            Deed::Remove => self.remove(index),
            Deed::Commit => self.commit_all(index),
            Deed::Push => {
                self.writers[index].git(&["push", "-q"]);
            }
            Deed::Pull => self.pull(index, false),
            Deed::Rebase => self.pull(index, true),
            Deed::Stash => {
                self.writers[index].git(&["stash", "-q"]);
            }
            Deed::Pop => self.pop(index),
            Deed::Checkout => {
                if let Some(slug) = self.any_file(index) {
                    self.tell(index, &format!("checks {slug} out"));
                    self.throw_away(index, &["checkout", "-q", "--", &file(&slug)]);
                }
            }
            Deed::RestoreAll => self.throw_away(index, &["restore", "."]),
            Deed::StashAll => {
                self.writers[index].git(&["stash", "-u", "-q"]);
            }
            Deed::Reset => self.throw_away(index, &["reset", "-q", "--hard"]),
            Deed::Clean => self.throw_away(index, &["clean", "-fdq"]),
            Deed::Upstream => self.upstream(index),
            Deed::Feature => self.feature(index),
            Deed::CloneFeature => self.clone_feature(),
            Deed::Merge => self.merge(index),
            Deed::Revert => self.revert(index),
            Deed::Resolve => self.resolve(index),
        }
    }

    /// Checks out the colleagues' last commit as a CI system does: HEAD is detached, and the branch is the published
    /// one.
    fn upstream(&mut self, index: usize) {
        let writer = &self.writers[index];
        writer.git(&["fetch", "-q"]);
        if !writer.git(&["checkout", "-q", "origin/main"]) {
            return;
        }
        self.sync(index);
        let back = self.writers[index].git(&["checkout", "-q", "main"]);
        if !back {
            self.tell(index, "stashes what keeps git from going back");
            assert!(self.writers[index].git(&["stash", "-u", "-q"]));
            assert!(self.writers[index].git(&["checkout", "-q", "main"]));
        }
    }

    /// Returns a file with exactly one text.
    fn any_file(&mut self, index: usize) -> Option<String> {
        let files = self.writers[index].files().into_iter();
        let plain = files.filter(|(_, tokens)| tokens.len() == 1);
        let slugs: Vec<String> = plain.map(|(slug, _)| slug).collect();
        self.chance.pick(&slugs).cloned()
    }

    fn edit(&mut self, index: usize) {
        let Some(slug) = self.any_file(index) else {
            return;
        };
        let path = file(&slug);
        let text = self.writers[index].kb.read(&path);
        let before = Token::all_in(&text);
        let body = self.judge.write(before.clone()).body();
        self.tell(index, &format!("writes {body} into {slug}"));
        let from = before.iter().next().expect("one").body();
        self.writers[index].kb.edit(&path, &from, &body);
    }

    fn make(&mut self, index: usize) {
        self.made += 1;
        let slug = format!("n{}", self.made);
        let body = self.judge.write(BTreeSet::new()).body();
        self.tell(index, &format!("makes {slug} {body}"));
        let text = format!("---\ntitle: {slug}\n---\n{body}\n");
        self.writers[index].kb.write(&file(&slug), &text);
    }

    /// The last files stay: another guard is about too many removals.
    fn remove(&mut self, index: usize) {
        let Some(slug) = self.any_file(index).filter(|slug| slug != CATEGORY) else {
            return;
        };
        self.tell(index, &format!("removes {slug}"));
        // A daemon may have sent the text by now.
        self.look();
        let before = self.writers[index].files();
        self.removed(index, &slug);
        self.judge.drop_words(before[&slug].iter().copied());
        self.writers[index].kb.remove(&file(&slug));
        if self.chance.one_in(2) {
            self.commit_all(index);
        }
    }

    pub(super) fn commit_all(&mut self, index: usize) {
        let writer = &self.writers[index];
        assert!(writer.git(&["add", "-A"]));
        // There may be nothing to commit.
        writer.git(&["commit", "-q", "-m", "work"]);
    }

    pub(super) fn pull(&mut self, index: usize, rebase: bool) {
        let command: &[&str] = if rebase {
            &["pull", "-q", "--rebase"]
        } else {
            &["pull", "-q", "--no-edit"]
        };
        if self.finishes(index, command) {
            return;
        }
        self.tell(index, "git refuses; stashes and pulls");
        self.writers[index].git(&["stash", "-q"]);
        if !self.finishes(index, command) {
            self.tell(index, "git refuses; commits and pulls");
            self.commit_all(index);
            let done = self.finishes(index, &["pull", "-q", "--no-edit"]);
            assert!(done, "{:?}", self.writers[index].ask_git(&["status"]));
        }
        if self.chance.one_in(2) {
            self.pop(index);
        }
    }

    /// Runs a git command and settles the conflicts that it left; returns whether the command had any effect.
    fn finishes(&mut self, index: usize, command: &[&str]) -> bool {
        self.writers[index].git(command) || self.settle(index)
    }

    fn pop(&mut self, index: usize) {
        self.tell(index, "pops the stash");
        if !self.writers[index].git(&["stash", "pop", "-q"]) && self.settle(index) {
            self.writers[index].git(&["stash", "drop", "-q"]);
        }
    }

    /// Texts that are in no commit are thrown away.
    fn throw_away(&mut self, index: usize, command: &[&str]) {
        let before = self.writers[index].files();
        self.writers[index].git(command);
        let after = self.writers[index].files();
        for (slug, tokens) in before {
            if after.get(&slug) != Some(&tokens) {
                self.judge.drop_words(tokens);
            }
        }
    }

    /// A writer works on a branch of their own, which is not published.
    fn feature(&mut self, index: usize) {
        self.made += 1;
        let branch = format!("f{}", self.made);
        if !self.writers[index].git(&["checkout", "-q", "-b", &branch]) {
            return;
        }
        self.edit(index);
        if self.chance.one_in(3) {
            self.make(index);
        }
        self.commit_all(index);
        self.look();
        let live = self.judge.live().clone();
        let ran = self.writers[index].kb.run(&["sync"]);
        assert!(
            matches!(ran.code, 3 | 5),
            "{branch} is not published: {ran:#?}"
        );
        self.look();
        assert_eq!(*self.judge.live(), live, "{branch} is not published");
        let back = self.writers[index].git(&["checkout", "-q", "main"]);
        assert!(back, "everything is committed");
        if self.chance.one_in(2) {
            self.writers[index].git(&["push", "-q", "origin", &branch]);
        }
    }

    /// A new writer clones a branch that is not published, edits and syncs: nothing is sent.
    fn clone_feature(&mut self) {
        let names = [
            "for-each-ref",
            "--format=%(refname:lstrip=3)",
            "refs/remotes/origin",
        ];
        self.writers[0].git(&["fetch", "-q"]);
        let names = self.writers[0].ask_git(&names).unwrap_or_default();
        let features = names.lines().filter(|name| name.starts_with('f'));
        let features: Vec<String> = features.map(str::to_owned).collect();
        let Some(branch) = self.chance.pick(&features).cloned() else {
            return;
        };
        self.note(format!("dan: clones {branch}, edits and syncs"));
        let kb = self.clone(&branch).kb;
        kb.write("start/mine.html", "---\ntitle: Mine\n---\n<p>Mine.</p>\n");
        let ran = kb.run(&["sync"]);
        assert!(
            matches!(ran.code, 3 | 5),
            "{branch} is not published: {ran:#?}"
        );
        self.look();
        let live = self.judge.live();
        assert!(!live.contains_key("mine"), "{branch} is not published");
    }

    fn merge(&mut self, index: usize) {
        let names = ["for-each-ref", "--format=%(refname:short)", "refs/heads"];
        let names = self.writers[index].ask_git(&names).unwrap_or_default();
        let features = names.lines().filter(|name| name.starts_with('f'));
        let features: Vec<String> = features.map(str::to_owned).collect();
        let Some(branch) = self.chance.pick(&features).cloned() else {
            return;
        };
        self.tell(index, &format!("merges {branch}"));
        self.finishes(index, &["merge", "-q", "--no-edit", &branch]);
    }

    /// Reverts the last commit, if there is no conflict: all changes by the revert are meant.
    fn revert(&mut self, index: usize) {
        // The first commit created everything, including the settings.
        if !self.writers[index].git(&["rev-parse", "-q", "--verify", "HEAD~1"]) {
            return;
        }
        let before = self.writers[index].files();
        if !self.writers[index].git(&["revert", "--no-edit", "HEAD"]) {
            self.writers[index].git(&["revert", "--abort"]);
            return;
        }
        let after = self.writers[index].files();
        self.meant(index, &before, &after);
    }

    /// Records that all changes of a deed were meant.
    fn meant(&mut self, index: usize, before: &Files, after: &Files) {
        for (slug, tokens) in before {
            if !after.contains_key(slug) {
                self.removed(index, slug);
            } else if after[slug] != *tokens {
                self.judge.drop_words(tokens.iter().copied());
            }
        }
        for (slug, tokens) in after {
            if before.get(slug) != Some(tokens) {
                for token in tokens {
                    self.judge.take_back(slug, *token);
                }
            }
        }
    }

    /// A person merges both versions of a conflict, and deletes the copy.
    fn resolve(&mut self, index: usize) {
        for slug in self.writers[index].copies() {
            let copy = format!("start/{slug}.conflict.html");
            let theirs = Token::all_in(&self.writers[index].kb.read(&copy));
            let files = self.writers[index].files();
            let Some(mine) = files.get(&slug).filter(|mine| mine.len() == 1) else {
                continue;
            };
            let body = self
                .judge
                .write(mine.union(&theirs).copied().collect())
                .body();
            self.tell(index, &format!("settles {slug} as {body}"));
            let from = mine.iter().next().expect("one").body();
            self.writers[index].kb.edit(&file(&slug), &from, &body);
            self.writers[index].kb.remove(&copy);
        }
    }

    /// Settles the conflicts that git left, and finishes the operation; returns whether there was any.
    fn settle(&mut self, index: usize) -> bool {
        let mut any = false;
        // A rebase stops at each commit.
        for _ in 0..20 {
            let unmerged = ["diff", "--name-only", "--diff-filter=U", "-z"];
            let unmerged = self.writers[index].ask_git(&unmerged).expect("listed");
            let paths = unmerged.split('\0').filter(|path| !path.is_empty());
            for path in paths {
                self.write_merged(index, path);
                any = true;
            }
            let under_way = |name: &str| self.writers[index].kb.exists(&format!(".git/{name}"));
            let (merge, rebase) = (under_way("MERGE_HEAD"), under_way("rebase-merge"));
            if merge {
                assert!(self.writers[index].git(&["commit", "-q", "--no-edit"]));
                any = true;
            } else if rebase {
                any = true;
                if !self.writers[index].git(&["rebase", "--continue"]) {
                    let unmerged = ["diff", "--name-only", "--diff-filter=U"];
                    let left = self.writers[index].ask_git(&unmerged).expect("listed");
                    if left.is_empty() {
                        self.writers[index].git(&["rebase", "--skip"]);
                    }
                }
            } else {
                if any {
                    // The conflicts of a stash are settled, and not committed yet.
                    self.writers[index].git(&["reset", "-q"]);
                }
                return any;
            }
        }
        panic!("git does not come to an end");
    }

    /// A person writes the merged text of a file in conflict.
    fn write_merged(&mut self, index: usize, path: &str) {
        if self.writers[index].kb.exists(path) {
            let text = self.writers[index].kb.read(path);
            let tokens = Token::all_in(&text);
            if tokens.len() > 1 || text.contains("<<<<<<<") {
                let body = self.judge.write(tokens).body();
                self.tell(index, &format!("merges {path} as {body}"));
                let id = text.lines().find(|line| line.starts_with("id: "));
                let id = id.map_or_else(String::new, |line| format!("{line}\n"));
                let text = if path == file(CATEGORY) {
                    format!("{id}name: start\ndescription: {body}\n")
                } else {
                    format!("---\n{id}title: {path}\n---\n{body}\n")
                };
                self.writers[index].kb.write(path, &text);
            }
            assert!(self.writers[index].git(&["add", "--", path]));
        } else {
            self.writers[index].git(&["rm", "-q", "--cached", "--", path]);
        }
    }
}
