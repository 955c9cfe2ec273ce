//! `kbsync run` from the user's point of view: the real command, real files and real signals, against the sandbox.

use crate::support::daemon::{Daemon, article, articles, get, mirror, until};
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::{Kb, Service, TOKEN};
use crate::support::real_git::git;
use crate::support::schema;
use kbsync::sandbox::{Access, NewSeed, Rights};
use rustix::process::Signal;
use std::time::Duration;

fn holds(service: &Service, text: &str) -> bool {
    let mut articles = service.sandbox.articles().into_iter();
    articles.any(|article| article.text.contains(text))
}

#[test]
fn a_saved_file_is_live_and_a_colleagues_edit_is_in_the_folder() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let path = article(&kb);
    service.sandbox.clear_requests();
    let before = kb.read(&path);
    kb.write(&path, &(before + "<p>saved just now</p>\n"));
    until("the save is live", || holds(&service, "saved just now"));
    until("it is noted", || {
        daemon
            .log()
            .contains("trigger=watch outcome=done actions=1")
    });
    assert_eq!(
        service.sandbox.counts().total,
        2,
        "one guard read, one write"
    );
    // A colleague edits, and the signal makes the daemon fetch the edit.
    let id = service.sandbox.articles()[0].id;
    service.sandbox.edit(id, |article| {
        article.text = "<p>from the dashboard</p>".to_owned();
    });
    daemon.signal(Signal::USR1);
    until("the edit is here", || {
        articles(&kb)
            .iter()
            .any(|path| kb.read(path).contains("from the dashboard"))
    });
    // An article is deleted after its file was removed, once the grace time is over.
    let count = service.sandbox.articles().len();
    std::fs::remove_file(kb.mirror().join(&path)).expect("removed");
    until("the article is gone", || {
        service.sandbox.articles().len() == count - 1
    });
    daemon.stop();
}

#[test]
fn f118_commands_are_handed_to_the_daemon() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let id = service.sandbox.articles()[0].id;
    service
        .sandbox
        .edit(id, |article| article.text = "<p>handed</p>".to_owned());
    let report = kb.run(&["sync", "--json"]).exits(0).json();
    schema::check("report", &report);
    assert_eq!(report["actions"][0]["action"], "update");
    // The log comes through a pipe, and may be a moment late.
    until("the line", || daemon.log().contains("trigger=manual"));
    let status = kb.run(&["status", "--json"]).exits(0).json();
    schema::check("status", &status);
    assert_eq!(status["daemon"]["pid"], daemon.child.id());
    let text = kb.run(&["status"]).exits(0).stdout;
    assert!(text.contains("polls every 1h"), "{text}");
    assert!(text.contains("notices changes by events"), "{text}");
    kb.run(&["doctor", "--health"]).exits(0);
    // A dry run is made beside the daemon.
    let plan = kb.run(&["sync", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(plan["actions"], serde_json::json!([]));
    daemon.stop();
    let status = kb.run(&["status", "--json"]).exits(0).json();
    assert!(status["daemon"].is_null());
    kb.run(&["doctor", "--health"]).exits(1);
}

#[test]
fn f118_held_deletions_are_released_through_the_daemon() {
    let service = Service::start();
    let mut kb = mirror(&service);
    let settings = kb.read("kbsync.yaml") + "max_deletes: {count: 0, percent: 100}\n";
    kb.write("kbsync.yaml", &settings);
    kb.set("KBSYNC_TOKEN", TOKEN);
    let daemon = Daemon::start(&kb, &[]);
    let count = service.sandbox.articles().len();
    let first = article(&kb);
    std::fs::remove_file(kb.mirror().join(&first)).expect("removed");
    let second = article(&kb);
    std::fs::remove_file(kb.mirror().join(&second)).expect("removed");
    until("the removals are held", || {
        let status = kb.run(&["status", "--json"]).exits(0).json();
        status["held"]
            .as_array()
            .is_some_and(|held| held.len() == 2)
    });
    assert_eq!(service.sandbox.articles().len(), count);
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), count - 2);
    daemon.stop();
}

#[test]
fn f116_a_second_daemon_names_the_first() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let mut second = Daemon::spawn(&kb, &[]);
    assert_eq!(second.ended().code(), Some(5));
    let pid = daemon.child.id().to_string();
    assert!(second.log().contains(&format!("process {pid}")));
    daemon.stop();
}

#[test]
fn f117_what_a_killed_daemon_leaves_is_in_nobodys_way() {
    let service = Service::start();
    let kb = mirror(&service);
    let mut daemon = Daemon::start(&kb, &[]);
    daemon.child.kill().expect("killed");
    daemon.child.wait().expect("ended");
    assert!(kb.mirror().join(".kbsync/daemon.sock").exists(), "stale");
    // Commands check the lock, not only the socket.
    kb.run(&["sync"]).exits(0);
    let daemon = Daemon::start(&kb, &[]);
    kb.run(&["doctor", "--health"]).exits(0);
    let socket = kb.mirror().join(".kbsync/daemon.sock");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&socket).expect("there").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    daemon.stop();
    assert!(!socket.exists(), "it is taken away in the end");
}

#[test]
fn f009_a_request_in_flight_is_finished_and_recorded() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let path = article(&kb);
    service.sandbox.clear_requests();
    service.sandbox.inject(Fault::once(
        Matcher::new("PUT", "/api/article/"),
        FaultKind::Latency(Duration::from_millis(400)),
    ));
    let before = kb.read(&path);
    kb.write(&path, &(before + "<p>in flight</p>\n"));
    until("it is on its way", || service.sandbox.counts().put > 0);
    daemon.stop();
    assert!(holds(&service, "in flight"));
    let status = kb.run(&["status", "--json"]).exits(0).json();
    assert_eq!(
        status["changes"],
        serde_json::json!([]),
        "the outcome was recorded"
    );
    assert_eq!(service.sandbox.counts().put, 1);
}

#[test]
fn health_and_figures_are_shown_to_this_machine() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &["--listen", "127.0.0.1:0"]);
    // The first line names the mirror.
    let log = daemon.log();
    assert!(
        log.find("started mirror=") < log.find("listening on"),
        "{log}"
    );
    assert!(log.contains("started mirror="), "{log}");
    let address = &daemon.address();
    for path in ["/", "/healthz", "/readyz"] {
        let answer = get(address, path, "localhost");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let figures = get(address, "/metrics", "127.0.0.1");
    for name in [
        "kbsync_requests_total",
        "kbsync_budget_left",
        "kbsync_cycle_duration_seconds",
    ] {
        assert!(figures.contains(name), "{figures}");
    }
    assert!(!figures.contains("CANARY"));
    let answer = get(address, "/metrics", "evil.example");
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
    assert!(get(address, "/other", "localhost").starts_with("HTTP/1.1 404"));
    daemon.stop();
}

#[test]
fn settings_are_read_again_and_bad_ones_change_nothing() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let settings = kb.read("kbsync.yaml");
    kb.write("kbsync.yaml", &(settings.clone() + "nonsense: 1\n"));
    daemon.signal(Signal::HUP);
    until("it says so", || {
        daemon.log().contains("the daemon keeps the old settings")
    });
    kb.write("kbsync.yaml", &settings.replace("poll: 1h", "poll: 30m"));
    daemon.signal(Signal::HUP);
    until("they are read", || {
        daemon.log().contains("the settings were read again")
    });
    until("they count", || {
        let status = kb.run(&["status"]).exits(0).stdout;
        status.contains("polls every 30m")
    });
    daemon.stop();
}

#[test]
fn f025_a_service_that_refuses_us_is_one_line_in_the_log() {
    let service = Service::start();
    let kb = mirror(&service);
    service.sandbox.revoke_token(TOKEN);
    let daemon = Daemon::spawn(&kb, &[]);
    let refused = "the service refused the daemon's token";
    until("it is told", || daemon.log().contains(refused));
    // A client that waits for a sync learns what stopped the sync.
    kb.run(&["sync"]).exits(1).complains(
        "the service refused the daemon's token",
        "must be restarted",
    );
    daemon.signal(Signal::USR1);
    service
        .sandbox
        .add_token(TOKEN, Rights::everywhere(Access::Write));
    // A person's command does not wait for the next retry.
    kb.run(&["sync"]).exits(0);
    until("it is told", || {
        daemon.log().contains("syncing works again")
    });
    assert_eq!(daemon.log().matches(refused).count(), 1);
    daemon.stop();
}

#[test]
fn what_waits_for_a_person_is_one_line_in_the_log() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let folder = article(&kb);
    let folder = folder.split('/').next().expect("a folder");
    kb.write(&format!("{folder}/bare.html"), "<p>no title</p>\n");
    let told = || {
        let log = daemon.log();
        let lines = log
            .lines()
            .filter(|line| line.contains("there is no front matter"));
        lines
            .filter(|line| line.contains(&format!("{folder}/bare.html")))
            .count()
    };
    until("it is told", || told() == 1);
    kb.run(&["sync"]).exits(4);
    kb.run(&["sync"]).exits(4);
    assert_eq!(told(), 1);
    daemon.stop();
}

#[test]
fn a_removed_copy_settles_its_conflict_whatever_its_name() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let path = article(&kb);
    let stem = path.strip_suffix(".html").expect("an article").to_owned();
    // The usual name of the copy is taken.
    kb.write(&format!("{stem}.conflict.html"), "a person's own notes\n");
    let before = kb.read(&path);
    let id = service.sandbox.articles().into_iter().find(|article| {
        let line = format!("id: {}", article.id);
        before.contains(&line)
    });
    let id = id.expect("the article").id;
    service
        .sandbox
        .edit(id, |article| article.text = "<p>Theirs.</p>".to_owned());
    let (front, _) = before.split_once("\n---\n").expect("front matter");
    kb.write(&path, &format!("{front}\n---\n<p>Mine.</p>\n"));
    let copy = format!("{stem}.1.conflict.html");
    until("the conflict", || kb.exists(&copy));
    std::fs::remove_file(kb.mirror().join(&copy)).expect("removed");
    // The copy is not named after the article's file, so its removal is noticed by the next sync of everything.
    kb.run(&["sync"]).exits(0);
    assert!(holds(&service, "<p>Mine.</p>"));
    daemon.stop();
}

/// A mirror of two workspaces, in the folders `en` and `de`; `de` has one article.
fn two_workspaces(service: &Service) -> Kb {
    let other = service.sandbox.add_workspace("Hilfe");
    let category = service
        .sandbox
        .add_category(other, "Rechnungen", "rechnungen");
    service
        .sandbox
        .add_article(NewSeed::new(category, "Mahnung", "mahnung", "<p>alt</p>"));
    let kb = mirror(service);
    let settings = kb.read("kbsync.yaml");
    let one = format!("workspace: {}", service.workspace);
    let both = format!(
        "workspaces: [{{id: {}, folder: en}}, {{id: {other}, folder: de}}]",
        service.workspace
    );
    kb.write("kbsync.yaml", &settings.replace(&one, &both));
    kb
}

#[test]
fn a_workspace_that_cannot_be_used_does_not_stop_another_one() {
    let service = Service::start();
    let kb = two_workspaces(&service);
    let daemon = Daemon::start(&kb, &[]);
    let state = rusqlite::Connection::open(kb.mirror().join("de/.kbsync/state.db"));
    let state = state.expect("the state");
    let rename = |from: &str, to: &str| {
        let line = format!("ALTER TABLE {from} RENAME TO {to}");
        state.execute(&line, []).expect("renamed");
    };
    rename("journal", "elsewhere");
    let path = "de/rechnungen/mahnung.html";
    let before = kb.read(path);
    kb.write(path, &before.replace("alt", "neu"));
    until("the failure", || daemon.log().contains("journal"));
    kb.write(
        "en/new/first.html",
        "---\ntitle: First\n---\n<p>Hello.</p>\n",
    );
    until("the other workspace goes on", || {
        holds(&service, "<p>Hello.</p>")
    });
    let log = daemon.log();
    assert!(
        !log.contains("the mirror or the state cannot be used"),
        "{log}"
    );
    rename("elsewhere", "journal");
    kb.write(path, &before.replace("alt", "jung"));
    until("the save is live", || holds(&service, "<p>jung</p>"));
    daemon.stop();
}

#[test]
fn several_workspaces_are_one_daemon() {
    let service = Service::start();
    let kb = two_workspaces(&service);
    let daemon = Daemon::spawn(&kb, &["--log-format", "json"]);
    let path = "de/rechnungen/mahnung.html";
    until("the first cycle", || kb.exists(path));
    let before = kb.read(path);
    kb.write(path, &before.replace("alt", "neu"));
    until("the save is live", || holds(&service, "<p>neu</p>"));
    let new = "de/rechnungen/frist.html";
    kb.write(new, "---\ntitle: Frist\n---\n<p>lang</p>\n");
    // A step is logged with its path in the mirror, and with the id of a new article.
    let logged = |message: &str, path: &str| {
        let log = daemon.log();
        let records = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut records = records.filter(|record: &serde_json::Value| record["path"] == path);
        records.any(|record| record["message"] == message && record["id"].is_string())
    };
    until("the update is logged", || logged("update", path));
    until("the creation is logged", || logged("create", new));
    let id = service.sandbox.articles()[0].id;
    service
        .sandbox
        .edit(id, |article| article.text = "<p>handed</p>".to_owned());
    let report = kb.run(&["sync", "--json", "en"]).exits(0).json();
    let found = report["actions"][0]["path"].as_str().expect("a path");
    assert!(found.starts_with("en/"), "{found}");
    daemon.stop();
}

#[test]
fn f084_what_a_checkout_removes_is_held_and_what_a_writer_removes_is_not() {
    let service = Service::start();
    let kb = mirror(&service);
    let settings = kb.read("kbsync.yaml") + "git: {branch: any}\n";
    kb.write("kbsync.yaml", &settings);
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    let path = article(&kb);
    git(&kb, &["add", "-A"]);
    git(&kb, &["commit", "-q", "-m", "all"]);
    git(&kb, &["checkout", "-q", "-b", "other"]);
    git(&kb, &["rm", "-q", &path]);
    git(&kb, &["commit", "-q", "-m", "without"]);
    git(&kb, &["checkout", "-q", "main"]);
    let daemon = Daemon::start(&kb, &[]);
    let count = service.sandbox.articles().len();
    git(&kb, &["checkout", "-q", "other"]);
    let held = || {
        let status = kb.run(&["status", "--json"]).exits(0).json();
        status["held"].as_array().map_or(0, Vec::len)
    };
    until("the removal is held", || held() == 1);
    // A restart approves nothing.
    daemon.stop();
    let daemon = Daemon::spawn(&kb, &[]);
    until("the first cycle", || {
        daemon.log().contains("trigger=startup")
    });
    assert_eq!(service.sandbox.articles().len(), count);
    assert_eq!(held(), 1);
    // The file comes back with its branch, and no request was sent.
    git(&kb, &["checkout", "-q", "main"]);
    until("nothing is held", || held() == 0);
    assert_eq!(service.sandbox.articles().len(), count);
    // The writer's own removal goes through, committed or not.
    git(&kb, &["rm", "-q", &path]);
    git(&kb, &["commit", "-q", "-m", "the writer removed it"]);
    until("it is gone", || {
        service.sandbox.articles().len() == count - 1
    });
    daemon.stop();
}

#[test]
fn a_wrong_schedule_is_a_wrong_setting() {
    let service = Service::start();
    let kb = mirror(&service);
    let settings = kb
        .read("kbsync.yaml")
        .replace("poll: 1h", "poll: 99 * * * *");
    kb.write("kbsync.yaml", &settings);
    let mut daemon = Daemon::spawn(&kb, &[]);
    assert_eq!(daemon.ended().code(), Some(2));
    assert!(daemon.log().contains("99 * * * *"), "{}", daemon.log());
}

#[test]
fn a_version_is_brought_back_by_the_daemon() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    let daemon = Daemon::start(&kb, &[]);
    kb.edit("start/one.html", "One.", "Two.");
    until("the edit is sent", || service.text(one) == "<p>Two.</p>");
    let ran = kb
        .run(&["restore", "--yes", "start/one@1", "--json"])
        .exits(0);
    let report = ran.json();
    schema::check("report", &report);
    assert_eq!(report["actions"][0]["action"], "restore");
    assert_eq!(service.text(one), "<p>One.</p>");
    assert!(kb.read("start/one.html").contains("<p>One.</p>"));
    // Obstacles are reported as without a daemon.
    kb.run(&["restore", "--yes", "start/one@99"])
        .exits(2)
        .complains("no version @99", "kbsync log");
    daemon.stop();
}

#[test]
fn what_a_daemon_cannot_bring_back_is_reported_and_the_rest_comes_back() {
    let service = Service::empty();
    let start = service.category("start");
    for number in 0..5 {
        service.article(start, &format!("n{number}"), "<p>Words.</p>");
    }
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    // Enough files are removed for the guard to hold the deletions.
    let path = |name: &str| kb.mirror().join("start").join(name);
    std::fs::rename(path("n1.html"), path("n0.html")).expect("renamed");
    for number in 2..5 {
        kb.remove(&format!("start/n{number}.html"));
    }
    kb.run(&["sync"]).exits(3);
    let daemon = Daemon::spawn(&kb, &[]);
    until("it has begun", || daemon.log().contains("trigger=startup"));
    let report = kb.run(&["restore", "start", "--json"]).exits(4).json();
    schema::check("report", &report);
    let restored = report["actions"].as_array().expect("a list").iter();
    let restored = restored.filter(|line| line["action"] == "restore");
    assert_eq!(restored.count(), 3, "{report}");
    assert_eq!(report["problems"][0]["path"], "start/n0.html");
    assert!((2..5).all(|number| kb.exists(&format!("start/n{number}.html"))));
    daemon.stop();
    assert_eq!(service.sandbox.articles().len(), 5);
}

#[test]
fn f088_a_daemon_whose_state_was_cleaned_away_deletes_nothing_and_ends() {
    let service = Service::start();
    let kb = mirror(&service);
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    git(&kb, &["add", "-A"]);
    git(&kb, &["commit", "-q", "-m", "all"]);
    let mut daemon = Daemon::start(&kb, &[]);
    // An article that git does not know yet.
    let folder = article(&kb);
    let folder = folder.split_once('/').expect("a folder").0;
    kb.write(
        &format!("{folder}/fresh.html"),
        "---\ntitle: Fresh\n---\n<p>Fresh words.</p>\n",
    );
    until("it is live", || holds(&service, "Fresh words."));
    // Waits until the id is in the file: git must not meet a file that is just being renamed.
    until("it is noted", || {
        daemon
            .log()
            .contains("trigger=watch outcome=done actions=1")
    });
    let count = service.sandbox.articles().len();
    // Git removes the article, and the private folder with the state and the lock. The daemon stands still meanwhile: git
    // fails if the daemon, which ends, removes its socket first.
    daemon.signal(Signal::STOP);
    git(&kb, &["clean", "-q", "-fdx"]);
    daemon.signal(Signal::CONT);
    assert_eq!(daemon.ended().code(), Some(1), "{}", daemon.log());
    assert!(daemon.log().contains("removed or replaced"));
    assert_eq!(service.sandbox.articles().len(), count);
    // The next start brings the article back.
    let daemon = Daemon::start(&kb, &[]);
    until("it is back", || articles(&kb).len() == count);
    assert!(holds(&service, "Fresh words."));
    daemon.stop();
}

#[test]
fn f116_a_daemon_whose_lock_was_removed_leaves_the_mirror_to_others() {
    let service = Service::start();
    let kb = mirror(&service);
    let mut daemon = Daemon::start(&kb, &[]);
    kb.remove(".kbsync/lock");
    let path = article(&kb);
    let text = kb.read(&path) + "<p>Saved later.</p>\n";
    kb.write(&path, &text);
    assert_eq!(daemon.ended().code(), Some(1), "{}", daemon.log());
    assert!(!holds(&service, "Saved later."));
    assert!(daemon.log().contains(".kbsync/lock"), "{}", daemon.log());
    kb.run(&["sync"]).exits(0);
    assert!(holds(&service, "Saved later."));
}

#[test]
fn a_daemon_whose_mirror_was_moved_away_with_its_repository_ends() {
    let service = Service::start();
    let kb = mirror(&service);
    git(&kb, &["init", "-q", "-b", "main"]);
    let settings = kb.read("kbsync.yaml") + "git: {branch: main}\n";
    kb.write("kbsync.yaml", &settings);
    let mut daemon = Daemon::start(&kb, &[]);
    let mirror = kb.mirror();
    std::fs::rename(&mirror, mirror.with_file_name("moved")).expect("moved");
    assert_eq!(daemon.ended().code(), Some(1), "{}", daemon.log());
    assert!(daemon.log().contains("removed or replaced"));
    assert!(!daemon.log().contains("paused"), "{}", daemon.log());
}

#[test]
fn f091_what_a_sparse_checkout_leaves_out_is_held_by_the_daemon() {
    let service = Service::start();
    let kb = mirror(&service);
    git(&kb, &["init", "-q", "-b", "main"]);
    kb.run(&["sync"]).exits(0);
    git(&kb, &["add", "-A"]);
    git(&kb, &["commit", "-q", "-m", "all"]);
    let daemon = Daemon::start(&kb, &[]);
    let count = service.sandbox.articles().len();
    let left_out = format!("!/{}", article(&kb));
    git(
        &kb,
        &["sparse-checkout", "set", "--no-cone", "/*", &left_out],
    );
    let held = || {
        let status = kb.run(&["status", "--json"]).exits(0).json();
        status["held"].as_array().map_or(0, Vec::len)
    };
    until("the removal is held", || held() == 1);
    assert_eq!(service.sandbox.articles().len(), count);
    git(&kb, &["sparse-checkout", "disable"]);
    until("nothing is held", || held() == 0);
    assert_eq!(service.sandbox.articles().len(), count);
    daemon.stop();
}

#[test]
fn the_doctor_reports_what_the_daemon_waits_for() {
    let service = Service::start();
    let kb = mirror(&service);
    git(&kb, &["init", "-q", "-b", "main"]);
    let daemon = Daemon::start(&kb, &[]);
    let ran = kb.run(&["doctor"]).exits(0);
    assert!(
        ran.stdout.contains("daemon       running since"),
        "{ran:#?}"
    );
    kb.write(".git/index.lock", "");
    // The doctor's requests count against the budget, so the log is polled instead.
    let paused = "paused: git is changing files";
    until("it is paused", || daemon.log().contains(paused));
    let ran = kb.run(&["doctor"]).exits(0);
    assert!(ran.stdout.contains(paused), "{ran:#?}");
    kb.run(&["doctor", "--health"]).exits(0);
    daemon.stop();
}
