//! Two writers and a dashboard, with the real git and the real command: a file that git takes back to the committed
//! version is nobody's edit. The file is neither sent nor overwritten, and it settles when git or the writer moves on.

use crate::support::daemon::{Daemon, unlimited, until};
use crate::support::kb::{Kb, Ran, Service, write_program};
use crate::support::real_git::try_git;
use crate::support::schema;
use rustix::process::Signal;
use std::path::Path;
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const ONE: &str = "start/one.html";
pub(crate) const HELD: &str = "gone back to the committed version";

/// A clone of the repository, with its own state.
pub(crate) struct Writer(pub(crate) Kb);

impl Writer {
    /// Runs git, and returns whether it succeeded.
    fn try_git(&self, arguments: &[&str]) -> bool {
        try_git(&self.0, arguments)
    }

    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) {
        assert!(self.try_git(arguments), "git {arguments:?}");
    }

    #[track_caller]
    pub(crate) fn commit(&self) {
        self.git(&["commit", "-q", "-a", "-m", "a commit"]);
    }

    #[track_caller]
    pub(crate) fn sync(&self, code: i32) -> Ran {
        self.0.run(&["sync"]).exits(code)
    }

    pub(crate) fn has(&self, words: &str) -> bool {
        self.0.read(ONE).contains(words)
    }

    /// Returns the held paths, each with its reason.
    pub(crate) fn held(&self) -> Vec<String> {
        let status = self.0.run(&["status", "--json"]).exits(0).json();
        let held = status["held"].as_array().expect("a list");
        let told = |line: &serde_json::Value| {
            let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", word("path"), word("reason"))
        };
        held.iter().map(told).collect()
    }

    /// Checks that two cycles find the file behind, and leave both sides as they are.
    #[track_caller]
    fn is_behind(&self, team: &Team) {
        let before = self.0.articles();
        for _ in 0..2 {
            let ran = self.sync(3);
            assert!(ran.stdout.contains(HELD), "{ran:#?}");
        }
        assert_eq!(self.0.articles(), before);
        let held = self.held();
        assert!(
            matches!(held.as_slice(), [one] if one.starts_with(ONE)),
            "{held:#?}"
        );
        assert_eq!(team.live(), "<p>New.</p>");
    }
}

/// A service, a bare repository, and two writers with clones that equal both.
pub(crate) struct Team {
    pub(crate) service: Service,
    pub(crate) one: Uuid,
    pub(crate) b: Writer,
    pub(crate) c: Writer,
    _bare: TempDir,
}

impl Team {
    pub(crate) fn new() -> Self {
        Self::with(&["two", "three"])
    }

    /// Like [`Self::new`], with these additional articles.
    fn with(slugs: &[&str]) -> Self {
        let service = Service::empty();
        let start = service.category("start");
        let one = service.article(start, "one", "<p>Old.</p>");
        for slug in slugs {
            service.article(start, slug, "<p>Old.</p>");
        }
        let bare = tempfile::tempdir().expect("a folder");
        let b = Writer(unlimited(&service));
        b.git(&["init", "-q", "-b", "main"]);
        b.sync(0);
        b.git(&["add", "-A"]);
        b.commit();
        b.git(&["init", "-q", "--bare", "-b", "main", path(bare.path())]);
        b.git(&["remote", "add", "origin", path(bare.path())]);
        b.git(&["push", "-q", "-u", "origin", "main"]);
        let mut c = Kb::new();
        c.set("KBSYNC_TOKEN", crate::support::kb::TOKEN);
        let c = Writer(c);
        c.git(&["clone", "-q", path(bare.path()), "."]);
        // A clone's settings come from another person, so the writer has to agree to them.
        c.0.trust();
        for writer in [&b, &c] {
            writer.sync(0);
        }
        Self {
            service,
            one,
            b,
            c,
            _bare: bare,
        }
    }

    /// B sends a text to the service and commits it to the repository.
    pub(crate) fn publish(&self, from: &str, to: &str) {
        self.b.0.edit(ONE, from, to);
        self.b.sync(0);
        self.b.commit();
        self.b.git(&["push", "-q"]);
    }

    /// B publishes a text, and C fetches it from the service, not yet from git.
    fn fetched(&self) {
        self.publish("Old.", "New.");
        self.c.sync(0);
        assert!(self.c.has("New."));
    }

    pub(crate) fn live(&self) -> String {
        self.service.text(self.one)
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn f087_a_stash_for_a_pull_takes_nobodys_words_back() {
    let team = Team::new();
    team.fetched();
    assert!(!team.c.try_git(&["pull", "-q"]), "git asks for it");
    team.c.git(&["stash", "-q"]);
    assert!(team.c.has("Old."));
    team.c.is_behind(&team);
    team.c.git(&["pull", "-q"]);
    let ran = team.c.sync(0);
    assert!(!ran.stdout.contains("one.html"), "{ran:#?}");
    assert_eq!(team.c.held(), Vec::<String>::new());
    assert_eq!(team.live(), "<p>New.</p>");
    assert!(team.c.has("New."));
}

#[test]
fn f087_a_checkout_or_restore_of_a_file_takes_nobodys_words_back() {
    for undo in [
        &["checkout", "-q", ONE][..],
        &["restore", "."],
        &["reset", "-q", "--hard"],
    ] {
        let team = Team::new();
        team.fetched();
        team.c.git(undo);
        // The file is no edit before the first sync either.
        let status = team.c.0.run(&["status"]).exits(0).stdout;
        assert!(
            status.contains("older     start/one.html (text)"),
            "{status}"
        );
        let json = team.c.0.run(&["status", "--json"]).exits(0).json();
        schema::check("status", &json);
        assert_eq!(json["changes"][0]["older"], true, "{json}");
        team.c.is_behind(&team);
        // Work on other files continues.
        team.c.0.edit("start/two.html", "Old.", "Mine.");
        team.c.sync(3);
        team.c
            .git(&["commit", "-q", "-m", "mine", "start/two.html"]);
        team.c.is_behind(&team);
        team.c.git(&["pull", "-q", "--rebase"]);
        team.c.sync(0);
        assert_eq!(team.live(), "<p>New.</p>");
        assert!(team.c.has("New."));
    }
}

#[test]
fn f087_a_writers_own_words_come_back_from_the_stash() {
    let team = Team::new();
    team.c.0.edit(ONE, "Old.", "New.");
    team.c.sync(0);
    team.c.git(&["stash", "-q"]);
    team.c.is_behind(&team);
    team.c.git(&["stash", "pop", "-q"]);
    team.c.sync(0);
    assert_eq!(team.c.held(), Vec::<String>::new());
    assert_eq!(team.live(), "<p>New.</p>");
}

#[test]
fn f087_a_revert_is_an_edit_for_who_makes_it_and_for_who_pulls_it() {
    let team = Team::new();
    team.fetched();
    team.c.git(&["checkout", "-q", ONE]);
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    team.c.git(&["revert", "--no-edit", "HEAD"]);
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Old.</p>");
    team.c.git(&["push", "-q"]);
    team.b.git(&["pull", "-q"]);
    team.b.sync(0);
    assert_eq!(team.live(), "<p>Old.</p>");
    // The first writer who pulls the revert sends it; the text was committed and taken back since the last sync.
    team.publish("Old.", "Next.");
    team.b.git(&["revert", "--no-edit", "HEAD"]);
    team.b.git(&["push", "-q"]);
    team.c.sync(0);
    team.c.git(&["checkout", "-q", ONE]);
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Old.</p>");
}

#[test]
fn f087_a_hard_reset_to_an_earlier_commit_sends_nothing_and_deletes_nothing() {
    let team = Team::new();
    team.publish("Old.", "New.");
    team.b.sync(0);
    // A new article from the dashboard is committed in this clone, and nowhere else.
    let start = team
        .service
        .sandbox
        .article(team.one)
        .expect("there")
        .category_id;
    team.service.article(start, "dash", "<p>Dash.</p>");
    team.b.sync(0);
    team.b.git(&["add", "-A"]);
    team.b.git(&["commit", "-q", "-m", "from the dashboard"]);
    team.b.sync(0);
    let before = team.service.sandbox.articles().len();
    team.b.git(&["reset", "-q", "--hard", "HEAD~2"]);
    for _cycle in 0..2 {
        let ran = team.b.sync(3);
        assert!(ran.stdout.contains(HELD), "{ran:#?}");
        assert!(ran.stdout.contains("since git moved HEAD"), "{ran:#?}");
    }
    assert_eq!(team.live(), "<p>New.</p>");
    assert_eq!(team.service.sandbox.articles().len(), before);
    team.b.git(&["reset", "-q", "--hard", "ORIG_HEAD"]);
    team.b.sync(0);
    assert_eq!(team.live(), "<p>New.</p>");
    assert_eq!(team.service.sandbox.articles().len(), before);
}

#[test]
fn f087_a_stash_of_new_files_deletes_no_article() {
    let team = Team::new();
    let start = team
        .service
        .sandbox
        .article(team.one)
        .expect("there")
        .category_id;
    team.service.article(start, "dash", "<p>Dash.</p>");
    team.b.sync(0);
    let before = team.service.sandbox.articles().len();
    team.b.git(&["stash", "-q", "-u"]);
    for _cycle in 0..2 {
        let ran = team.b.sync(3);
        assert!(ran.stdout.contains("git stash -u"), "{ran:#?}");
    }
    assert_eq!(team.service.sandbox.articles().len(), before);
    team.b.git(&["stash", "pop", "-q"]);
    team.b.sync(0);
    // A removal of a committed file by a person is a removal like any other.
    team.b.git(&["add", "-A"]);
    team.b.git(&["commit", "-q", "-m", "from the dashboard"]);
    team.b.sync(0);
    team.b.0.remove("start/dash.html");
    team.b.sync(0);
    assert_eq!(team.service.sandbox.articles().len(), before - 1);
}

#[test]
fn f087_newer_words_of_the_dashboard_make_no_conflict_of_a_file_that_is_behind() {
    let team = Team::new();
    team.fetched();
    team.c.git(&["stash", "-q"]);
    team.service.sandbox.edit(team.one, |article| {
        article.text = "<p>Newest.</p>".to_owned();
    });
    let ran = team.c.sync(3);
    assert!(ran.stdout.contains(HELD), "{ran:#?}");
    assert!(team.c.has("Old."));
    assert!(!team.c.0.exists("start/one.conflict.html"));
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Newest.</p>");
    assert!(team.c.has("Newest."));
}

#[test]
fn f087_the_commands_that_are_named_do_what_is_said_of_them() {
    let team = Team::new();
    team.fetched();
    team.c.git(&["checkout", "-q", ONE]);
    let ran = team.c.sync(3);
    for command in [
        "`git stash pop`",
        "`git pull`",
        "`kbsync restore start/one.html`",
        "`kbsync approve`",
    ] {
        assert!(ran.stdout.replace('\n', " ").contains(command), "{ran:#?}");
    }
    team.c.0.run(&["restore", ONE]).exits(0);
    assert!(team.c.has("New."));
    team.c.sync(0);
    assert_eq!(team.live(), "<p>New.</p>");
    team.c.git(&["checkout", "-q", ONE]);
    team.c.sync(3);
    let ran = team.c.0.run(&["approve", "--yes"]).exits(0);
    assert!(
        ran.stdout.starts_with("update    start/one.html"),
        "{ran:#?}"
    );
    assert_eq!(team.live(), "<p>Old.</p>");
    team.c.sync(0);
}

#[test]
fn f038_many_files_that_git_took_back_are_behind_and_no_mass_roll_back() {
    let slugs: Vec<String> = (0..12).map(|number| format!("n{number:02}")).collect();
    let slugs: Vec<&str> = slugs.iter().map(String::as_str).collect();
    let team = Team::with(&slugs);
    for slug in &slugs {
        team.b.0.edit(&format!("start/{slug}.html"), "Old.", "New.");
    }
    team.fetched();
    team.c.git(&["stash", "-q"]);
    let ran = team.c.sync(3);
    assert!(!ran.stdout.contains("at once"), "{ran:#?}");
    let held = team.c.held();
    assert_eq!(held.len(), 13, "{held:#?}");
    assert!(held.iter().all(|line| line.contains(HELD)), "{held:#?}");
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    let articles = team.service.sandbox.articles();
    assert!(articles.iter().all(|article| article.text == "<p>New.</p>"));
}

/// Puts a script in the place of git for the writer's commands.
fn replace_git(writer: &mut Writer, script: &str) {
    let programs = writer.0.mirror().join("../programs");
    std::fs::create_dir(&programs).expect("made");
    write_program(&programs.join("git"), script);
    writer
        .0
        .set("PATH", &format!("{}:/usr/bin:/bin", path(&programs)));
}

#[test]
fn f087_where_git_cannot_be_asked_what_went_back_waits() {
    let mut team = Team::new();
    team.fetched();
    team.c.git(&["checkout", "-q", ONE]);
    replace_git(&mut team.c, "#!/bin/sh\nexec yes\n");
    let told = |team: &Team, why: &str| {
        let ran = team.c.sync(3);
        assert!(ran.stdout.replace('\n', " ").contains(why), "{ran:#?}");
        assert_eq!(team.live(), "<p>New.</p>");
    };
    told(&team, "output is too long");
    team.c.0.set("PATH", "/nowhere");
    told(&team, "is not installed");
    team.c.0.run(&["approve", "--yes"]).exits(0);
    assert_eq!(team.live(), "<p>Old.</p>");
}

#[test]
fn a_cycle_in_which_no_file_changed_does_not_start_git() {
    let mut team = Team::new();
    replace_git(
        &mut team.c,
        "#!/bin/sh\necho \"$@\" >>\"$0.trace\"\nexit 1\n",
    );
    team.publish("Old.", "New.");
    team.c.sync(0);
    team.c.sync(0);
    let trace = team.c.0.mirror().join("../programs/git.trace");
    assert!(!trace.exists());
    // A new text is sent, even if git cannot say whether it is the committed text.
    team.c.0.edit(ONE, "New.", "Mine.");
    team.c.sync(0);
    assert!(trace.exists());
    team.c.0.edit(ONE, "Mine.", "New.");
    team.c.sync(3);
}

#[test]
fn f087_beside_a_daemon_a_stash_is_told_once_and_settles_with_the_pull() {
    let team = Team::new();
    let daemon = Daemon::start(&team.c.0, &[]);
    team.publish("Old.", "New.");
    daemon.signal(Signal::USR1);
    until("the words are fetched", || team.c.has("New."));
    team.c.git(&["stash", "-q"]);
    until("it is told", || daemon.log().contains(HELD));
    for _ in 0..2 {
        team.c.sync(3);
    }
    assert_eq!(team.live(), "<p>New.</p>");
    assert_eq!(daemon.log().matches(HELD).count(), 1, "{}", daemon.log());
    team.c.git(&["pull", "-q"]);
    until("nothing waits", || {
        daemon.signal(Signal::USR1);
        team.c.held().is_empty()
    });
    assert_eq!(team.live(), "<p>New.</p>");
    // A revert is an edit on purpose.
    team.c.git(&["revert", "--no-edit", "HEAD"]);
    until("it is live", || team.live() == "<p>Old.</p>");
    daemon.stop();
}

#[test]
fn f087_what_a_pull_puts_in_the_place_of_words_that_nobody_committed_waits() {
    let team = Team::new();
    // B's text is in git alone. The service has another text by then, which C has fetched.
    team.b.0.edit(ONE, "Old.", "Git.");
    team.b.commit();
    team.b.git(&["push", "-q"]);
    let dashboard = |words: &str| {
        let body = format!("<p>{words}</p>");
        let sandbox = &team.service.sandbox;
        sandbox.edit(team.one, |article| article.text = body);
    };
    dashboard("New.");
    team.c.sync(0);
    team.c.git(&["stash", "-q"]);
    team.c.git(&["pull", "-q"]);
    assert!(team.c.has("Git."));
    team.c.is_behind(&team);
    team.c.0.run(&["restore", ONE]).exits(0);
    assert!(team.c.has("New."));
    // A writer who commits, pulls and syncs is not held, whatever was sent before the commit.
    team.c.git(&["commit", "-q", "-a", "-m", "taken over"]);
    team.c.sync(0);
    team.c.0.edit(ONE, "New.", "Sent.");
    team.c.sync(0);
    team.c.0.edit(ONE, "Sent.", "Committed.");
    team.c.commit();
    team.b.0.edit("start/two.html", "Old.", "More.");
    team.b.commit();
    team.b.git(&["push", "-q"]);
    team.c.git(&["pull", "-q", "--no-rebase", "--no-edit"]);
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Committed.</p>");
}

#[test]
fn f087_a_conflict_that_a_person_settled_is_not_settled_by_what_git_took_back() {
    let team = Team::new();
    team.publish("Old.", "New.");
    team.c.0.edit(ONE, "Old.", "Mine.");
    team.c.sync(3);
    assert!(team.c.0.exists("start/one.conflict.html"));
    team.c.0.remove("start/one.conflict.html");
    team.c.git(&["checkout", "-q", ONE]);
    team.c.is_behind(&team);
    team.c.0.edit(ONE, "Old.", "Mine, again.");
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Mine, again.</p>");
}

#[test]
fn a_copy_that_git_removed_settles_no_conflict() {
    let team = Team::new();
    team.publish("Old.", "New.");
    team.c.0.edit(ONE, "Old.", "Mine.");
    team.c.sync(3);
    let copy = team.c.0.read("start/one.conflict.html");
    team.c.git(&["clean", "-fqxd", "-e", ".kbsync"]);
    assert!(!team.c.0.exists("start/one.conflict.html"));
    team.c.sync(3);
    assert_eq!(team.c.0.read("start/one.conflict.html"), copy);
    assert_eq!(team.live(), "<p>New.</p>");
    // An edit with the removal of the copy settles the conflict, and so does a command.
    team.c.0.edit(ONE, "Mine.", "Mine and new.");
    team.c.0.remove("start/one.conflict.html");
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Mine and new.</p>");
}

#[test]
fn a_new_name_does_not_make_a_missing_copy_a_decision() {
    let team = Team::new();
    team.publish("Old.", "New.");
    team.c.0.edit(ONE, "Old.", "Mine.");
    team.c.sync(3);
    let mirror = team.c.0.mirror();
    std::fs::rename(mirror.join(ONE), mirror.join("start/uno.html")).expect("renamed");
    team.c.sync(3);
    team.c.0.remove("start/one.conflict.html");
    team.c.sync(3);
    assert!(team.c.0.exists("start/uno.conflict.html"));
    assert_eq!(team.live(), "<p>New.</p>");
}

/// A conflict in C's mirror, and C's text taken back by git.
fn in_conflict_and_stashed() -> Team {
    let team = Team::new();
    team.publish("Old.", "New.");
    team.c.0.edit(ONE, "Old.", "Mine.");
    team.c.sync(3);
    assert!(team.c.0.exists("start/one.conflict.html"));
    team.c.git(&["stash", "-q"]);
    assert!(team.c.has("Old."));
    team
}

#[test]
fn f087_no_word_about_a_conflict_sends_what_git_took_back() {
    let team = in_conflict_and_stashed();
    for command in [
        &["resolve", ONE, "--keep", "local"][..],
        &["resolve", ONE, "--keep", "both"],
        &["sync", ONE, "--prefer", "local"],
    ] {
        let ran = team.c.0.run(command).exits(3);
        for words in [HELD, "`git stash pop`", "`kbsync resolve`"] {
            assert!(ran.stdout.replace('\n', " ").contains(words), "{ran:#?}");
        }
        assert_eq!(team.live(), "<p>New.</p>");
        assert!(team.c.0.exists("start/one.conflict.html"));
    }
    // A sync between the commands changes nothing.
    team.c.sync(3);
    let again = team.c.0.run(&["resolve", ONE, "--keep", "local"]);
    assert!(again.exits(3).stdout.contains(HELD));
    team.c.git(&["stash", "pop", "-q"]);
    team.c.0.run(&["resolve", ONE, "--keep", "local"]).exits(0);
    assert_eq!(team.live(), "<p>Mine.</p>");
    team.c.sync(0);
}

#[test]
fn f087_the_other_ways_out_of_a_conflict_stay_open_when_git_took_a_file_back() {
    let team = in_conflict_and_stashed();
    team.c.0.run(&["resolve", ONE, "--keep", "local"]).exits(3);
    team.c.0.edit(ONE, "Old.", "Mine, too.");
    team.c.0.run(&["resolve", ONE, "--keep", "local"]).exits(0);
    assert_eq!(team.live(), "<p>Mine, too.</p>");
    let team = in_conflict_and_stashed();
    team.c.0.run(&["resolve", ONE, "--keep", "remote"]).exits(0);
    assert!(team.c.has("New."));
    assert_eq!(team.live(), "<p>New.</p>");
    team.c.sync(0);
}

#[test]
fn f087_nothing_is_made_anew_of_what_git_took_back() {
    let team = Team::new();
    team.c.0.edit(ONE, "Old.", "New.");
    team.c.sync(0);
    team.c.0.edit(ONE, "New.", "Mine.");
    team.service.sandbox.remove(team.one);
    team.c.sync(3);
    team.c.git(&["stash", "-q"]);
    let before = team.service.sandbox.articles().len();
    let ran = team.c.0.run(&["resolve", ONE, "--keep", "local"]).exits(3);
    assert!(ran.stdout.contains(HELD), "{ran:#?}");
    assert_eq!(team.service.sandbox.articles().len(), before);
    team.c.git(&["stash", "pop", "-q"]);
    team.c.0.run(&["resolve", ONE, "--keep", "local"]).exits(0);
    assert_eq!(team.service.sandbox.articles().len(), before + 1);
}

#[test]
fn f084_a_removal_by_somebody_who_may_not_have_seen_the_newest_text_is_held() {
    let team = Team::new();
    dashboard(&team, "<p>New.</p>");
    team.c.sync(0);
    // B removes the article without having seen the colleague's edit.
    team.b.git(&["rm", "-q", ONE]);
    team.b.commit();
    team.b.git(&["push", "-q"]);
    team.c.git(&["stash", "-q"]);
    team.c.git(&["pull", "-q", "--no-edit"]);
    for _cycle in 0..2 {
        let ran = team.c.sync(3);
        assert!(ran.stdout.contains("may not have seen"), "{ran:#?}");
        assert_eq!(team.live(), "<p>New.</p>");
    }
    team.c.0.run(&["restore", ONE]).exits(0);
    assert!(team.c.has("New."));
    team.c.sync(0);
    assert_eq!(team.live(), "<p>New.</p>");
}

/// A colleague writes into the article in the dashboard.
fn dashboard(team: &Team, text: &str) {
    let edited = team.service.sandbox.edit(team.one, |article| {
        text.clone_into(&mut article.text);
    });
    assert!(edited.is_some());
}

/// Checks that the file waits: C's file is as committed, and C's mirror had a newer text.
#[track_caller]
fn waits(team: &Team, live: &str) {
    for _cycle in 0..2 {
        let ran = team.c.sync(3);
        assert!(ran.stdout.contains(HELD), "{ran:#?}");
        assert_eq!(team.live(), live);
    }
}

#[test]
fn f087_an_own_commit_before_a_stash_or_a_rebase_excuses_no_older_text() {
    // The committed text was never synced, and the synced text was never committed.
    let team = Team::new();
    team.c.0.edit(ONE, "Old.", "First.");
    team.c.commit();
    team.c.0.edit(ONE, "First.", "Second.");
    team.c.sync(0);
    team.c.git(&["stash", "-q"]);
    waits(&team, "<p>Second.</p>");
    // The same with two commits, and a reset to the first one.
    let team = Team::new();
    for (from, to) in [("Old.", "First."), ("First.", "Second.")] {
        team.c.0.edit(ONE, from, to);
        team.c.commit();
    }
    team.c.sync(0);
    team.c.git(&["reset", "-q", "--hard", "HEAD~1"]);
    waits(&team, "<p>Second.</p>");
    // A commit of another file is rebased onto a colleague's commit, and the colleague had not seen the newest text.
    let team = Team::new();
    team.c.0.edit("start/two.html", "Old.", "Mine.");
    team.c.commit();
    team.c.sync(0);
    team.b.0.edit(ONE, "Old.", "Team.");
    team.b.commit();
    team.b.git(&["push", "-q"]);
    dashboard(&team, "<p>New.</p>");
    team.c.sync(0);
    team.c.git(&["stash", "-q"]);
    team.c.git(&["pull", "-q", "--rebase"]);
    waits(&team, "<p>New.</p>");
}

#[test]
fn f087_a_committed_edit_that_git_may_have_put_there_waits() {
    let team = Team::new();
    dashboard(&team, "<p>New.</p>");
    team.c.sync(0);
    team.c.0.edit(ONE, "New.", "Mine.");
    team.c.commit();
    team.c.git(&["switch", "-q", "-c", "other"]);
    team.c.git(&["switch", "-q", "main"]);
    let status = team.c.0.run(&["status"]).exits(0).stdout;
    assert!(status.contains("updated   start/one.html"), "{status}");
    waits(&team, "<p>New.</p>");
    let held = team.c.held();
    assert!(
        held[0].contains("`kbsync approve` sends the file"),
        "{held:?}"
    );
    team.c.0.run(&["restore", ONE]).exits(0);
    assert!(team.c.has("New."));
    team.c.git(&["checkout", "-q", ONE]);
    team.c.sync(3);
    team.c.0.run(&["approve", "--yes"]).exits(0);
    assert_eq!(team.live(), "<p>Mine.</p>");
}

#[test]
fn f087_a_conflict_of_what_git_took_back_is_no_matter_of_an_approval() {
    let team = Team::new();
    team.fetched();
    team.c.git(&["stash", "-q"]);
    dashboard(&team, "<p>Newest.</p>");
    team.c.sync(3);
    let ran = team.c.0.run(&["approve", "--yes"]).exits(0);
    assert!(
        ran.stderr.contains("nothing waits for `approve`"),
        "{ran:#?}"
    );
    // The printed commands settle the conflict.
    let held = team.c.held();
    assert!(
        held[0].contains("and settle the conflict with `kbsync resolve`"),
        "{held:?}"
    );
    team.c.0.edit(ONE, "Old.", "Mine.");
    team.c.sync(3);
    team.c.0.run(&["resolve", ONE, "--keep", "local"]).exits(0);
    assert_eq!(team.live(), "<p>Mine.</p>");
}

#[test]
fn f087_an_article_that_moved_on_the_service_stays_there_when_git_takes_the_file_back() {
    let team = Team::new();
    let guides = team.service.category("guides");
    let moved = team
        .service
        .sandbox
        .edit(team.one, |article| article.category_id = guides);
    assert!(moved.is_some());
    team.c.sync(0);
    team.c.git(&["stash", "-u", "-q"]);
    team.c.sync(3);
    let article = team.service.sandbox.article(team.one).expect("there");
    assert_eq!(article.category_id, guides);
}

#[test]
fn f087_what_git_brings_back_beside_a_renamed_category_or_article_makes_no_second_one() {
    let team = Team::new();
    let article = team.service.sandbox.article(team.one).expect("there");
    let counts = || {
        let sandbox = &team.service.sandbox;
        (sandbox.categories().len(), sandbox.articles().len())
    };
    let before = counts();
    let renamed = team
        .service
        .sandbox
        .rename_category(article.category_id, "Begin", "begin");
    assert!(renamed.is_some());
    team.c.0.run(&["sync", "start/_category.yaml"]).exits(0);
    assert!(team.c.0.exists("begin/one.html"));
    team.c.git(&["checkout", "-q", "."]);
    for _cycle in 0..2 {
        let ran = team.c.sync(3);
        assert!(
            ran.stdout.contains("git brought this file back"),
            "{ran:#?}"
        );
        assert_eq!(counts(), before);
    }
    std::fs::remove_dir_all(team.c.0.mirror().join("start")).expect("removed");
    team.c.sync(0);
    // An article with another slug.
    let edited = team.service.sandbox.edit(team.one, |article| {
        article.slug = "uno".to_owned();
    });
    assert!(edited.is_some());
    team.c.git(&["add", "-A"]);
    team.c.commit();
    team.c.sync(0);
    assert!(team.c.0.exists("begin/uno.html"));
    team.c.git(&["checkout", "-q", "."]);
    let ran = team.c.sync(3);
    assert!(ran.stdout.contains("begin/uno.html"), "{ran:#?}");
    assert_eq!(counts(), before);
    // A copy that a person makes and commits is a new article.
    team.c.0.remove("begin/one.html");
    team.c.sync(0);
    team.c.git(&["add", "-A"]);
    team.c.commit();
    let text = team.c.0.read("begin/two.html");
    team.c.0.write("begin/copy.html", &text);
    team.c.git(&["add", "-A"]);
    team.c.commit();
    team.c.sync(0);
    assert_eq!(counts().1, before.1 + 1);
}

#[test]
fn f087_an_article_that_a_colleague_hid_stays_hidden_when_git_takes_the_file_back() {
    let team = Team::new();
    assert!(team.service.sandbox.disable(team.one).is_some());
    team.c.sync(0);
    assert!(team.c.0.read(ONE).contains("enabled: false"));
    team.c.git(&["stash", "-q"]);
    for _cycle in 0..2 {
        let ran = team.c.sync(3);
        assert!(ran.stdout.contains(HELD), "{ran:#?}");
        let article = team.service.sandbox.article(team.one).expect("there");
        assert!(!article.enabled);
    }
    // A writer publishes the article again by a commit.
    team.c.git(&["stash", "pop", "-q"]);
    team.c.sync(0);
    team.c.commit();
    team.c.0.edit(ONE, "enabled: false", "enabled: true");
    team.c.commit();
    team.c.sync(0);
    let article = team.service.sandbox.article(team.one).expect("there");
    assert!(article.enabled);
}

#[test]
fn f084_without_a_git_program_no_file_of_a_repository_is_deleted() {
    let mut team = Team::new();
    let text = "---\ntitle: Fresh\n---\n<p>Words.</p>\n";
    team.c.0.write("start/fresh.html", text);
    team.c.sync(0);
    let count = team.service.sandbox.articles().len();
    team.c.git(&["stash", "-u", "-q"]);
    team.c.0.set("PATH", "/nowhere");
    let ran = team.c.sync(3);
    assert!(ran.stdout.contains("cannot ask git"), "{ran:#?}");
    assert_eq!(team.service.sandbox.articles().len(), count);
}

#[test]
fn f087_the_id_lines_of_new_files_want_to_be_committed_and_a_sync_says_so_once() {
    const WANTED: &str = "commit the `id:` lines";
    let team = Team::new();
    let new = |name: &str| {
        let text = format!("---\ntitle: {name}\n---\n<p>Words.</p>\n");
        team.c.0.write(&format!("start/{name}.html"), &text);
    };
    new("four");
    new("five");
    let ran = team.c.sync(0);
    assert_eq!(ran.stdout.matches(WANTED).count(), 1, "{ran:#?}");
    // The second sync created nothing, so it reports nothing.
    let ran = team.c.sync(0);
    assert!(!ran.stdout.contains(WANTED), "{ran:#?}");
    std::fs::remove_dir_all(team.c.0.mirror().join(".git")).expect("removed");
    let settings = team.c.0.read("kbsync.yaml") + "git: {branch: any}\n";
    team.c.0.write("kbsync.yaml", &settings);
    team.c.0.trust();
    new("six");
    let ran = team.c.sync(0);
    assert!(ran.stdout.contains("start/six.html"), "{ran:#?}");
    assert!(!ran.stdout.contains(WANTED), "{ran:#?}");
}

#[test]
fn f087_f090_where_a_filter_of_git_changes_the_files_what_went_back_waits() {
    let team = Team::new();
    for (key, words) in [("clean", "s/Old/Stored/"), ("smudge", "s/Stored/Old/")] {
        let filter = format!("sed {words}");
        team.c.git(&["config", &format!("filter.f.{key}"), &filter]);
    }
    team.c.0.write(".gitattributes", "*.html filter=f\n");
    team.c.git(&["add", "--renormalize", "."]);
    team.c.git(&["add", "-A"]);
    team.c.commit();
    team.c.sync(0);
    dashboard(&team, "<p>New.</p>");
    team.c.sync(0);
    team.c.git(&["checkout", "-q", "."]);
    assert!(team.c.has("Old."));
    for _cycle in 0..2 {
        let ran = team.c.sync(3);
        assert!(
            ran.stdout.replace('\n', " ").contains("a filter of git"),
            "{ran:#?}"
        );
        assert_eq!(team.live(), "<p>New.</p>");
    }
    // An edit is an edit, and the named way out works.
    team.c.0.edit("start/two.html", "Old.", "Mine.");
    let ran = team.c.sync(3);
    assert!(ran.stdout.contains("start/two.html"), "{ran:#?}");
    let two = team.service.sandbox.articles();
    assert!(two.iter().any(|article| article.text == "<p>Mine.</p>"));
    team.c.0.run(&["approve", "--yes"]).exits(0);
    assert_eq!(team.live(), "<p>Old.</p>");
    team.c.sync(0);
}
