//! Git operations in a mirror that `kbsync run` watches: real git, the real daemon, and the resulting requests.
//!
//! Each operation has a mirror of its own. An article whose file git removed for a moment is not deleted, unmerged
//! files are not sent, and each file that differs in the end is sent once.

use crate::support::daemon::{Daemon, mirror, unlimited, until};
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::kb::{Kb, Service};
use crate::support::real_git::{commit, git, git_in, try_git};
use kbsync::sandbox::RequestRecord;
use rustix::process::Signal;

/// Every branch is synced.
pub(crate) const ANY: &str = "git: {branch: any}\n";

/// A mirror in a repository, with a daemon.
pub(crate) struct GitScene {
    pub(crate) service: Service,
    pub(crate) kb: Kb,
    pub(crate) daemon: Daemon,
}

impl GitScene {
    /// Three articles, and the branches that the operations need; `main` is checked out. `settings` are appended to the
    /// mirror's settings.
    pub(crate) fn new(settings: &str) -> Self {
        let service = Service::empty();
        let start = service.category("start");
        for slug in ["one", "two", "three"] {
            service.article(start, slug, "<p>Old.</p>");
        }
        let kb = unlimited(&service);
        let settings = kb
            .read("kbsync.yaml")
            .replace("quiet_period: 20ms", "quiet_period: 200ms")
            + settings;
        kb.write("kbsync.yaml", &settings);
        git(&kb, &["init", "-q", "-b", "main"]);
        kb.run(&["sync"]).exits(0);
        commit(&kb);
        git(&kb, &["checkout", "-q", "-b", "other"]);
        kb.edit("start/one.html", "Old.", "Other.");
        kb.remove("start/two.html");
        kb.write("start/four.html", "---\ntitle: Four\n---\n<p>Four.</p>\n");
        commit(&kb);
        git(&kb, &["checkout", "-q", "-b", "clash", "main"]);
        kb.edit("start/one.html", "Old.", "Clash.");
        kb.edit("start/three.html", "Old.", "Clash.");
        commit(&kb);
        // A branch that removes a file, and later brings the file back.
        git(&kb, &["checkout", "-q", "-b", "topic", "main"]);
        kb.remove("start/two.html");
        commit(&kb);
        git(&kb, &["checkout", "-q", "HEAD~1", "--", "start/two.html"]);
        commit(&kb);
        kb.edit("start/three.html", "Old.", "Topic.");
        commit(&kb);
        git(&kb, &["checkout", "-q", "main"]);
        kb.edit("start/one.html", "Old.", "Main.");
        commit(&kb);
        kb.run(&["sync"]).exits(0);
        let daemon = Daemon::start(&kb, &[]);
        service.sandbox.clear_requests();
        Self {
            service,
            kb,
            daemon,
        }
    }

    /// Returns the body of an article on the service.
    pub(crate) fn text(&self, slug: &str) -> Option<String> {
        let articles = self.service.sandbox.articles();
        let found = articles.into_iter().find(|article| article.slug == slug);
        found.map(|article| article.text)
    }

    pub(crate) fn live(&self, slug: &str, words: &str) {
        until(words, || {
            self.text(slug).is_some_and(|text| text.contains(words))
        });
    }

    /// Waits until every file that may be sent is live.
    fn live_all(&self) {
        until("all files are live", || {
            let folder = std::fs::read_dir(self.kb.mirror().join("start")).expect("listed");
            folder
                .map(|entry| entry.expect("an entry").path())
                .all(|path| {
                    let (Some("html"), Some(slug)) = (
                        path.extension().and_then(|ending| ending.to_str()),
                        path.file_stem().and_then(|stem| stem.to_str()),
                    ) else {
                        return true;
                    };
                    let file = std::fs::read_to_string(&path).expect("read");
                    let file = file.replace("\r\n", "\n");
                    let is_live = |text: String| file.ends_with(&format!("---\n{text}\n"));
                    file.contains("<<<<<<<") || self.text(slug).is_some_and(is_live)
                })
        });
    }

    /// Returns the requests that changed the service, with the article's name if there is one.
    pub(crate) fn writes(&self) -> Vec<String> {
        let articles = self.service.sandbox.articles();
        let told = |request: &RequestRecord| {
            let id = request.path.rsplit('/').next().unwrap_or_default();
            let found = articles.iter().find(|article| article.id.to_string() == id);
            let name = found.map_or(String::new(), |article| format!(" {}", article.slug));
            format!("{}{name}", request.method)
        };
        let requests = self.service.sandbox.requests();
        let writes = requests.iter().filter(|request| request.method != "GET");
        let mut writes: Vec<String> = writes.map(told).collect();
        writes.sort();
        writes
    }
}

/// Runs an operation, waits until the daemon has handled it, and checks the requests.
#[track_caller]
pub(crate) fn check(name: &str, play: impl FnOnce(&GitScene), expected: &[&str]) {
    check_with(ANY, name, play, expected);
}

/// Like [`check`], with more settings.
#[track_caller]
pub(crate) fn check_with(
    settings: &str,
    name: &str,
    play: impl FnOnce(&GitScene),
    expected: &[&str],
) {
    let scene = GitScene::new(settings);
    play(&scene);
    scene.live_all();
    // A full cycle finds every missed change, and deletes what may be deleted.
    until("git is at rest", || scene.kb.run(&["sync"]).code != 5);
    assert_eq!(scene.writes(), expected, "{name}\n{}", scene.daemon.log());
    scene.daemon.stop();
}

#[test]
fn f084_a_checkout_sends_what_changed_and_deletes_nothing() {
    check(
        "checkout",
        |d| git(&d.kb, &["checkout", "-q", "other"]),
        &["POST", "PUT one"],
    );
}

/// The reason that is given for a file that git reset to the commit.
const BEHIND: &str = "gone back to the committed version";

#[test]
fn f087_a_stash_and_its_return_send_nothing() {
    check(
        "stash and pop",
        |d| {
            d.kb.edit("start/one.html", "Main.", "Mine.");
            d.live("one", "Mine.");
            git(&d.kb, &["stash", "-q"]);
            until(BEHIND, || d.daemon.log().contains(BEHIND));
            git(&d.kb, &["stash", "pop", "-q"]);
            d.live("one", "Mine.");
        },
        &["PUT one"],
    );
}

#[test]
fn f086_a_rebase_that_takes_a_file_away_and_brings_it_back_deletes_nothing() {
    check(
        "rebase",
        |d| git(&d.kb, &["rebase", "-q", "main", "topic"]),
        &["PUT three"],
    );
}

#[test]
fn f086_a_merge_with_a_conflict_sends_nothing_before_it_is_settled() {
    let conflict = |d: &GitScene| {
        assert!(!try_git(&d.kb, &["merge", "-q", "clash"]), "a conflict");
        assert!(d.kb.read("start/one.html").contains("<<<<<<<"));
        let paused = "paused: a merge is not finished";
        until(paused, || d.daemon.log().contains(paused));
        d.daemon.signal(Signal::USR1);
        d.kb.run(&["sync"]).exits(5);
        assert_eq!(d.writes(), Vec::<String>::new());
    };
    check(
        "given up",
        |d| {
            conflict(d);
            git(&d.kb, &["merge", "--abort"]);
        },
        &[],
    );
    check(
        "settled",
        |d| {
            conflict(d);
            git(&d.kb, &["checkout", "-q", "--theirs", "start/one.html"]);
            commit(&d.kb);
        },
        &["PUT one", "PUT three"],
    );
}

#[test]
fn f086_a_stash_that_cannot_be_merged_is_not_sent() {
    check(
        "stash pop with a conflict",
        |d| {
            d.kb.edit("start/one.html", "Main.", "Mine.");
            d.live("one", "Mine.");
            git(&d.kb, &["stash", "-q"]);
            until(BEHIND, || d.daemon.log().contains(BEHIND));
            d.kb.edit("start/one.html", "Main.", "Newer.");
            commit(&d.kb);
            d.live("one", "Newer.");
            assert!(!try_git(&d.kb, &["stash", "pop", "-q"]), "a conflict");
            assert!(d.kb.read("start/one.html").contains("<<<<<<<"));
            until("it is told", || {
                let log = d.daemon.log();
                log.contains("conflict markers of git")
            });
        },
        &["PUT one", "PUT one"],
    );
}

#[test]
fn f087_a_hard_reset_and_its_return_send_nothing() {
    check(
        "reset --hard",
        |d| {
            git(&d.kb, &["reset", "-q", "--hard", "HEAD~1"]);
            until(BEHIND, || d.daemon.log().contains(BEHIND));
            git(&d.kb, &["reset", "-q", "--hard", "ORIG_HEAD"]);
        },
        &[],
    );
}

#[test]
fn f087_a_file_that_git_clean_removes_waits_for_the_writer() {
    check(
        "clean",
        |d| {
            let text = "---\ntitle: Five\n---\n<p>Five.</p>\n";
            d.kb.write("start/five.html", text);
            d.live("five", "Five.");
            let id = |text: String| text.contains("id: ");
            until("it has its id", || id(d.kb.read("start/five.html")));
            git(&d.kb, &["clean", "-q", "-fd"]);
            let held = "not committed when last synced";
            until(held, || d.daemon.log().contains(held));
            d.kb.run(&["restore", "start"]).exits(0);
        },
        &["POST"],
    );
}

#[test]
fn f087_a_file_that_was_committed_and_removed_since_the_last_sync_is_held() {
    let service = Service::start();
    let kb = mirror(&service);
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    commit(&kb);
    let before = service.sandbox.articles().len();
    kb.write("start/new.html", "---\ntitle: New\n---\n<p>New.</p>\n");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), before + 1);
    // Neither HEAD nor the commit of the last sync has the file.
    commit(&kb);
    git(&kb, &["rm", "-q", "start/new.html"]);
    commit(&kb);
    let ran = kb.run(&["sync"]).exits(3);
    let held = "not committed when last synced";
    assert!(ran.stdout.contains(held), "{ran:#?}");
    assert_eq!(service.sandbox.articles().len(), before + 1);
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), before);
}

#[test]
fn f084_what_git_removes_while_another_workspace_has_its_turn_is_held() {
    let service = Service::start();
    let other = service.sandbox.add_workspace("Hilfe");
    let start = service.sandbox.add_category(other, "start", "start");
    let ids = ["eins", "zwei"].map(|slug| service.article(start, slug, "<p>Alt.</p>"));
    let kb = mirror(&service);
    let settings = kb.read("kbsync.yaml").replace(
        &format!("workspace: {}", service.workspace),
        &format!(
            "workspaces: [{{id: {}, folder: en}}, {{id: {other}, folder: de}}]",
            service.workspace
        ),
    );
    kb.write("kbsync.yaml", &(settings + ANY));
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    commit(&kb);
    git(&kb, &["checkout", "-q", "-b", "other"]);
    git(&kb, &["rm", "-q", "de/start/eins.html"]);
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    let daemon = Daemon::start(&kb, &[]);
    // Git changes files while the first workspace's listing is on its way.
    let folder = kb.mirror().clone();
    service.sandbox.inject(Fault::once(
        Matcher::new("GET", "/api/base/*/articles"),
        FaultKind::Hook(Hook::new(move |_| {
            git_in(&folder, &["checkout", "-q", "other"]);
        })),
    ));
    // The scan may have mixed the files of both branches, so that cycle changes nothing, and the next cycle holds the
    // removal.
    let ran = kb.run(&["sync"]).exits(5);
    assert!(ran.stdout.contains("git moved HEAD just now"), "{ran:#?}");
    assert!(!kb.exists("de/start/eins.html"), "git was there first");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stdout.contains("git moved HEAD"), "{ran:#?}");
    assert!(service.sandbox.article(ids[0]).is_some());
    git(&kb, &["checkout", "-q", "main"]);
    until("nothing is held any more", || {
        kb.run(&["sync"]);
        let status = kb.run(&["status", "--json"]).exits(0).json();
        status["held"].as_array().is_some_and(Vec::is_empty)
    });
    assert_eq!(
        service.sandbox.article(ids[1]).expect("there").text,
        "<p>Alt.</p>"
    );
    daemon.stop();
}

/// The number of articles among the files of the large checkout.
const ARTICLES: usize = 50;

#[test]
fn f075_a_checkout_of_5000_files_without_events_is_one_rescan() {
    let service = Service::empty();
    let start = service.category("start");
    let slug = |number: usize| format!("z{number:02}");
    for number in 0..ARTICLES {
        service.article(start, &slug(number), "<p>Old.</p>");
    }
    let kb = unlimited(&service);
    let settings = kb
        .read("kbsync.yaml")
        .replace("quiet_period: 20ms", "quiet_period: 300ms");
    kb.write("kbsync.yaml", &(settings + ANY));
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    // Git writes in the order of names, so the articles come last, after the system's queue has overflowed.
    let pictures = |words: &str| {
        for number in ARTICLES..5_000 {
            kb.write(&format!("start/p{number:04}.png"), words);
        }
    };
    pictures("old");
    commit(&kb);
    git(&kb, &["checkout", "-q", "-b", "other"]);
    pictures("other");
    for number in 0..ARTICLES {
        kb.edit(&format!("start/{}.html", slug(number)), "Old.", "New.");
    }
    commit(&kb);
    git(&kb, &["checkout", "-q", "main"]);
    let daemon = Daemon::start(&kb, &["--listen", "127.0.0.1:0"]);
    service.sandbox.clear_requests();
    daemon.signal(Signal::STOP);
    git(&kb, &["checkout", "-q", "other"]);
    daemon.signal(Signal::CONT);
    until("all of it is live", || {
        let articles = service.sandbox.articles();
        articles.iter().all(|article| article.text == "<p>New.</p>")
    });
    let rescans = || daemon.log().matches("trigger=rescan").count();
    until("it is noted", || rescans() > 0);
    // Both sides are equal, and each article was sent once.
    let report = kb.run(&["sync", "--json"]).exits(0).json();
    assert_eq!(report["actions"], serde_json::json!([]));
    let counts = service.sandbox.counts();
    assert_eq!((counts.post, counts.delete), (0, 0));
    assert_eq!(counts.put, u64::try_from(ARTICLES).expect("few"));
    assert_eq!(rescans(), 1, "{}", daemon.log());
    let overflows = daemon.figure("kbsync_rescans_total{cause=\"overflow\"}");
    assert!(overflows.is_some_and(|count| count >= 1.0), "{overflows:?}");
    daemon.stop();
}
