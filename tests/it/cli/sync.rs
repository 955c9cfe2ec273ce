//! `kbsync sync`, `pull` and `push` with the real command: output, exit codes, JSON.

use crate::support::daemon::Daemon;
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::kb::{Kb, Service, TOKEN};
use crate::support::schema;
use kbsync::mirror::Lock;
use kbsync::sandbox::{Access, Article, Rights};
use rustix::process::{Pid, Signal, kill_process};
use std::io::BufRead as _;
use std::sync::{Mutex, mpsc};
use uuid::Uuid;

/// Two articles in one category, synced.
fn synced() -> (Service, Kb, Uuid, Uuid) {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    let two = service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    service.sandbox.clear_requests();
    (service, kb, one, two)
}

#[test]
fn a_first_sync_writes_every_article_and_a_second_one_is_quiet() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    let ran = kb.run(&["sync"]).exits(0);
    assert!(
        ran.stdout.contains("← create    start/one.html\n"),
        "{ran:#?}"
    );
    assert!(
        ran.stdout.contains("2 changes (in the mirror)\n"),
        "{ran:#?}"
    );
    assert_eq!(ran.stderr, "");
    assert!(kb.read("start/one.html").ends_with("---\n<p>One.</p>\n"));
    assert_eq!(kb.read(".kbsync/.gitignore"), "*\n");
    let before = kb.articles();
    let ran = kb.run(&["sync"]).exits(0);
    assert!(ran.stdout.starts_with("Both sides are equal\n"), "{ran:#?}");
    assert_eq!(kb.articles(), before);
}

#[test]
fn the_readme_shows_the_first_sync_of_its_sandbox() {
    let service = Service::empty();
    service.sandbox.seed(20, 3);
    let ran = service.mirror().run(&["sync"]).exits(0);
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    let readme = readme.expect("text");
    let (_, shown) = readme.split_once("# fetches everything\n").expect("a sync");
    let (first, rest) = shown.split_once("…\n").expect("its lines");
    let (last, _) = rest.split_once("```").expect("its end");
    assert!(ran.stdout.starts_with(first), "{ran:#?}");
    assert!(ran.stdout.ends_with(last), "{ran:#?}");
}

#[test]
fn quiet_prints_nothing_but_errors() {
    let (_service, kb, _, _) = synced();
    kb.edit("start/one.html", "One.", "One, edited.");
    let silent: [&[&str]; 6] = [
        &["-q", "status"],
        &["-q", "diff"],
        &["sync", "--dry-run", "-q"],
        &["sync", "-q"],
        &["log", "start/one.html", "-q"],
        &["show", "start/one.html", "-q"],
    ];
    for arguments in silent {
        let ran = kb.run(arguments).exits(0);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""), "{arguments:?}");
    }
    let ran = kb.run(&["status", "-q", "--json"]).exits(0);
    assert_eq!(ran.json()["version"], 1);
    // A skipped file is an error.
    kb.write("start/broken.html", "<p>No front matter.</p>\n");
    let ran = kb.run(&["sync", "-q"]).exits(4);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("! start/broken.html: "), "{ran:#?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
    let ran = kb.run(&["sync", "-q", "no/such.html"]).exits(2);
    assert!(ran.stderr.starts_with("error: "), "{ran:#?}");
}

#[test]
fn folders_within_a_category_are_nobodys_business_unless_they_hold_articles() {
    let (_service, kb, _, _) = synced();
    kb.write("start/images/logo.png", "a picture");
    kb.write("start/images/icons/down.svg", "another one");
    for _ in 0..2 {
        let ran = kb.run(&["sync"]).exits(0);
        assert!(ran.stdout.starts_with("Both sides are equal"), "{ran:#?}");
        assert_eq!(ran.stderr, "");
    }
    let ran = kb.run(&["check"]).exits(0);
    assert!(!ran.stdout.contains("start/images"), "{ran:#?}");
    kb.write(
        "start/older/2019/three.html",
        "---\ntitle: Three\n---\n<p>3</p>\n",
    );
    let ran = kb.run(&["sync"]).exits(0);
    let told = |text: &str| {
        text.matches("folders within a category are not synced")
            .count()
    };
    assert_eq!(told(&ran.stderr), 1, "{ran:#?}");
    // A line for a person, in a pipe as well.
    assert!(
        ran.stderr.starts_with("! start/older: this folder holds"),
        "{ran:#?}"
    );
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
    let ran = kb.run(&["check"]).exits(0);
    assert_eq!(told(&ran.stdout), 1, "{ran:#?}");
    // A daemon logs it once, however often it scans.
    let daemon = Daemon::start(&kb, &[]);
    for _ in 0..3 {
        kb.run(&["sync"]).exits(0);
    }
    assert_eq!(told(&daemon.log()), 1, "{}", daemon.log());
    daemon.stop();
    assert!(kb.exists("start/older/2019/three.html"));
}

#[test]
fn its_json_is_one_object_that_keeps_to_the_schema() {
    let (service, kb, one, two) = synced();
    kb.edit("start/one.html", "One.", "One, edited.");
    service
        .sandbox
        .edit(two, |article| article.title = "Zwei".into());
    kb.write("start/three.html", "---\nintrotext: no title\n---\n");
    let ran = kb.run(&["sync", "--json"]).exits(4);
    let json = ran.json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "partial");
    let actions: Vec<String> = json["actions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|action| {
            format!(
                "{} {} {} {}",
                action["action"], action["side"], action["path"], action["status"]
            )
            .replace('"', "")
        })
        .collect();
    assert_eq!(
        actions,
        [
            "update local start/two.html done",
            "update remote start/one.html done"
        ]
    );
    assert_eq!(json["problems"][0]["path"], "start/three.html");
    assert_eq!(json["requests"]["total"], 2);
    assert_eq!(ran.stderr, "", "with --json, nothing else is said");
    assert_eq!(service.text(one), "<p>One, edited.</p>");
}

#[test]
fn pull_and_push_go_one_way() {
    let (service, kb, one, two) = synced();
    kb.edit("start/one.html", "One.", "Mine.");
    service
        .sandbox
        .edit(two, |article| article.text = "<p>Theirs.</p>".into());
    kb.run(&["pull"]).exits(0);
    assert!(kb.read("start/two.html").contains("Theirs."));
    assert_eq!(service.text(one), "<p>One.</p>");
    service
        .sandbox
        .edit(two, |article| article.text = "<p>Again.</p>".into());
    kb.run(&["push"]).exits(0);
    assert_eq!(service.text(one), "<p>Mine.</p>");
    assert!(kb.read("start/two.html").contains("Theirs."));
}

#[test]
fn a_dry_run_reports_and_touches_nothing() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    let ran = kb.run(&["sync", "--dry-run"]).exits(0);
    assert!(
        ran.stdout
            .contains("Dry run, nothing was done: 2 changes (in the mirror)"),
        "{ran:#?}"
    );
    assert!(
        !kb.exists(".kbsync") && !kb.exists("start"),
        "not even a state"
    );
    kb.run(&["sync", "--dry-run", "--exit-code"]).exits(1);
    kb.run(&["sync"]).exits(0);
    kb.run(&["sync", "--dry-run", "--exit-code"]).exits(0);
    kb.edit("start/one.html", "One.", "Mine.");
    service
        .sandbox
        .edit(one, |article| article.text = "<p>Theirs.</p>".into());
    let before = kb.articles();
    let json = kb.run(&["sync", "--dry-run", "--json"]).exits(0).json();
    schema::check("report", &json);
    assert_eq!(json["dry_run"], true);
    assert_eq!(json["actions"][0]["action"], "conflict");
    assert_eq!(json["actions"][0]["status"], "held");
    assert_eq!(kb.articles(), before, "no copy either");
    assert_eq!(service.text(one), "<p>Theirs.</p>");
    kb.run(&["sync", "--exit-code"]).exits(2);
}

#[test]
fn paths_are_taken_from_the_current_folder_and_must_be_known() {
    let (service, kb, one, two) = synced();
    kb.edit("start/one.html", "One.", "Mine.");
    kb.edit("start/two.html", "Two.", "Mine too.");
    let mut command = kb.command(&["sync", "two.html"]);
    command.current_dir(kb.mirror().join("start"));
    assert!(command.output().expect("it runs").status.success());
    assert_eq!(service.text(one), "<p>One.</p>");
    assert_eq!(service.text(two), "<p>Mine too.</p>");
    // The state knows removed files, and the ending `.html` may be left out.
    kb.remove("start/two.html");
    kb.run(&["push", "start/two"]).exits(0);
    assert!(service.sandbox.article(two).is_none());
    assert_eq!(service.text(one), "<p>One.</p>");
    service.sandbox.clear_requests();
    for (path, error, help) in [
        (
            "start/none.html",
            "neither in the mirror nor known",
            "kbsync status",
        ),
        (
            "nowhere",
            "neither in the mirror nor known",
            "kbsync status",
        ),
        (
            "kbsync.yaml",
            "is neither an article",
            "a category's folder",
        ),
        ("/etc/passwd", "is not in the mirror", "-C"),
    ] {
        kb.run(&["sync", path]).exits(2).complains(error, help);
    }
    assert_eq!(service.sandbox.counts().total, 0);
    kb.run(&["sync", "start"]).exits(0);
    assert_eq!(service.text(one), "<p>Mine.</p>");
}

#[test]
fn f118_a_mirror_that_is_in_use_is_left_alone() {
    let (service, kb, _, _) = synced();
    let _lock = Lock::acquire(&kb.mirror(), "run").expect("free");
    let pid = std::process::id();
    for command in [&["sync"][..], &["pull"], &["push"], &["approve"]] {
        kb.run(command).exits(5).complains(
            &format!("kbsync run (process {pid}) has it"),
            "`kbsync status` shows this daemon",
        );
    }
    assert_eq!(service.sandbox.counts().total, 0);
    // A command that only reads does not block others.
    let ran = kb.run(&["status"]).exits(0);
    assert!(
        ran.stdout
            .contains(&format!("kbsync run (process {pid}) is running.")),
        "{ran:#?}"
    );
    kb.run(&["diff"]).exits(0);
    kb.run(&["sync", "--dry-run"]).exits(0);
}

#[test]
fn a_conflict_is_3_and_says_what_to_do_and_prefer_settles_it() {
    let (service, kb, one, two) = synced();
    for (path, id) in [("start/one.html", one), ("start/two.html", two)] {
        kb.edit(path, "<p>", "<p>Mine: ");
        service.sandbox.edit(id, |article| {
            article.text = article.text.replace("<p>", "<p>Theirs: ");
        });
    }
    let ran = kb.run(&["sync"]).exits(3);
    assert!(
        ran.stdout.contains("⚡ conflict  start/one.html (text)"),
        "{ran:#?}"
    );
    assert!(
        ran.stdout
            .contains("`kbsync resolve start/one.html` settles it, or edit the file"),
        "{ran:#?}"
    );
    assert!(ran.stdout.contains("\n2 conflicts\n"), "{ran:#?}");
    kb.run(&["sync", "start/one.html", "--prefer", "local"])
        .exits(0);
    assert_eq!(service.text(one), "<p>Mine: One.</p>");
    assert!(!kb.exists("start/one.conflict.html"));
    kb.run(&["sync", "--prefer", "remote"]).exits(0);
    assert!(kb.read("start/two.html").contains("Theirs: Two."));
    kb.run(&["sync", "--prefer", "both"]).exits(2);
}

#[test]
fn a_clash_in_a_category_names_the_command_that_settles_it() {
    let service = Service::empty();
    let about = service.category("about");
    let one = service.article(about, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let settings = kb.read("kbsync.yaml") + "guard_window: 0s\n";
    kb.write("kbsync.yaml", &settings);
    kb.edit("about/_category.yaml", "name: about", "name: Mine");
    let theirs = |category: &mut kbsync::sandbox::Category| category.name = "Theirs".to_owned();
    service.sandbox.edit_category(about, theirs);
    let ran = kb.run(&["sync"]).exits(3);
    for words in [
        "`name: Theirs`",
        "`kbsync sync about/_category.yaml --prefer local`",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {ran:#?}");
    }
    // The command's path is the category's file alone, so the articles of the folder are left as they are.
    kb.edit("about/one.html", "<p>", "<p>Mine: ");
    service.sandbox.edit(one, |article| {
        article.text = article.text.replace("<p>", "<p>Theirs: ");
    });
    kb.run(&["sync", "about/_category.yaml", "--prefer", "local"])
        .exits(0);
    assert_eq!(service.text(one), "<p>Theirs: One.</p>");
    let name = service.sandbox.category(about).map(|found| found.name);
    assert_eq!(name.as_deref(), Some("Mine"));
}

#[test]
fn workspaces_that_are_not_named_are_left_alone() {
    let service = Service::empty();
    let mut listed = Vec::new();
    let mut articles = Vec::new();
    for name in ["en", "de", "fr"] {
        let workspace = service.sandbox.add_workspace(name);
        let start = service.sandbox.add_category(workspace, "Start", "start");
        articles.push(service.article(start, "one", "<p>One.</p>"));
        listed.push(format!("{{id: {workspace}, folder: {name}}}"));
    }
    let mut kb = Kb::with_settings(&format!(
        "service: {}\nworkspaces: [{}]\n",
        service.url,
        listed.join(", ")
    ));
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.trust();
    kb.run(&["sync"]).exits(0);
    for name in ["en", "de", "fr"] {
        kb.edit(&format!("{name}/start/one.html"), "One.", "Mine.");
    }
    kb.run(&["sync", "en", "de"]).exits(0);
    let texts: Vec<String> = articles.iter().map(|id| service.text(*id)).collect();
    assert_eq!(texts, ["<p>Mine.</p>", "<p>Mine.</p>", "<p>One.</p>"]);
}

#[test]
fn a_failure_names_the_workspace_where_there_are_several() {
    let service = Service::empty();
    let unknown = "0190c8a2-0000-7000-8000-000000000001";
    let mut kb = Kb::with_settings(&format!(
        "service: {}\nworkspaces: [{{id: {}, folder: en}}, {{id: {unknown}, folder: de}}]\n",
        service.url, service.workspace
    ));
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.trust();
    kb.run(&["sync"]).exits(1).complains(
        "error: de: failed to list the workspace",
        "`kbsync workspaces`",
    );
    let json = kb.run(&["sync", "--json"]).exits(1).json();
    let problems = json["problems"].as_array().expect("a list");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0]["path"], "de");
}

#[test]
fn several_workspaces_are_synced_in_turn_into_one_report() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>One.</p>");
    let german = service.sandbox.add_workspace("Hilfe");
    let anfang = service.sandbox.add_category(german, "Anfang", "anfang");
    let eins = service.article(anfang, "eins", "<p>Eins.</p>");
    let mut kb = Kb::with_settings(&format!(
        "service: {}\nworkspaces: [{{id: {}, folder: help-en}}, {{id: {german}, folder: help-de}}]\n",
        service.url, service.workspace
    ));
    kb.set("KBSYNC_TOKEN", TOKEN);
    kb.trust();
    let json = kb.run(&["sync", "--json"]).exits(0).json();
    schema::check("report", &json);
    let mut paths: Vec<&str> = json["actions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|action| action["path"].as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "help-de/anfang",
            "help-de/anfang/eins.html",
            "help-en/start",
            "help-en/start/one.html"
        ]
    );
    assert_eq!(json["requests"]["total"], 4);
    assert!(kb.exists("help-en/.kbsync/state.db") && kb.exists("help-de/.kbsync/state.db"));
    kb.edit("help-de/anfang/eins.html", "Eins.", "Eins!");
    kb.edit("help-en/start/one.html", "One.", "One!");
    let json = kb.run(&["sync", "help-de", "--json"]).exits(0).json();
    assert_eq!(json["actions"][0]["path"], "help-de/anfang/eins.html");
    assert_eq!(json["actions"].as_array().map(Vec::len), Some(1));
    assert_eq!(service.text(eins), "<p>Eins!</p>");
    let json = kb.run(&["status", "--json"]).exits(0).json();
    schema::check("status", &json);
    assert_eq!(json["changes"][0]["path"], "help-en/start/one.html");
    kb.write("other/a.html", "x");
    kb.run(&["sync", "other"])
        .exits(2)
        .complains("in none of the workspaces", "one of them");
}

#[test]
fn another_branch_than_the_settings_want_is_not_synced() {
    let (service, kb, one, _) = synced();
    let settings = kb.read("kbsync.yaml");
    kb.write("kbsync.yaml", &format!("{settings}git: {{branch: main}}\n"));
    kb.edit("start/one.html", "One.", "Mine.");
    kb.write(".git/HEAD", "ref: refs/heads/draft\n");
    kb.run(&["sync"]).exits(3).complains(
        "branch draft is checked out, and only branch main is published",
        "git switch main",
    );
    let json = kb.run(&["push", "--json"]).exits(3).json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "attention");
    kb.run(&["approve"]).exits(3);
    assert_eq!(service.sandbox.counts().total, 0);
    assert_eq!(service.text(one), "<p>One.</p>");
    kb.write(".git/HEAD", "ref: refs/heads/main\n");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.text(one), "<p>Mine.</p>");
}

#[test]
fn f001_a_crash_s_leftovers_are_cleared_up_and_kept() {
    let (_service, kb, _, _) = synced();
    kb.write(
        "start/.kbsync-tmp-1-1",
        "---\ntitle: Caught\n---\nan editor's save\n",
    );
    kb.run(&["sync"]).exits(0);
    assert!(!kb.exists("start/.kbsync-tmp-1-1"));
}

/// Delays a request about an article, after letting some others pass: reports its arrival, and answers it on a signal.
fn held_up(service: &Service, method: &str, after: u32) -> (mpsc::Receiver<()>, mpsc::Sender<()>) {
    held_up_at(service, Matcher::new(method, "/api/article"), after)
}

/// Like [`held_up`], for other requests.
fn held_up_at(
    service: &Service,
    on: Matcher,
    after: u32,
) -> (mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (come, arrived) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let hold = Hook::new(move |_| {
        come.send(()).expect("awaited");
        gone.lock().expect("one").recv().ok();
    });
    let fault = Fault::once(on, FaultKind::HookAfter(hold)).after(after);
    service.sandbox.inject(fault);
    (arrived, go)
}

/// Sends SIGINT to a running command, as Ctrl-C does.
fn press_ctrl_c(child: &std::process::Child) {
    send(child, Signal::INT);
}

/// Sends a signal to a running command.
fn send(child: &std::process::Child, signal: Signal) {
    let pid = i32::try_from(child.id()).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("positive"), signal).expect("sent");
}

/// A service whose listing has no bodies, and an empty mirror.
fn without_bodies(articles: usize) -> (Service, Kb) {
    let service = Service::empty();
    service.sandbox.habits().bodies = false;
    service.sandbox.habits().category_bodies = false;
    let start = service.category("start");
    for number in 0..articles {
        let slug = format!("n{number}");
        service.article(start, &slug, "<p>Text.</p>");
    }
    let kb = service.mirror();
    (service, kb)
}

/// Runs a command until a request is delayed, and ends the command by Ctrl-C.
fn ended_by_ctrl_c(
    kb: &Kb,
    arguments: &[&str],
    held_up: &(mpsc::Receiver<()>, mpsc::Sender<()>),
) -> std::process::Output {
    ended_by(Signal::INT, kb, arguments, held_up)
}

/// Like [`ended_by_ctrl_c`], with another signal.
fn ended_by(
    signal: Signal,
    kb: &Kb,
    arguments: &[&str],
    (arrived, go): &(mpsc::Receiver<()>, mpsc::Sender<()>),
) -> std::process::Output {
    let mut process = kb.process(arguments);
    process
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = process.spawn().expect("it runs");
    arrived.recv().expect("the request comes");
    send(&child, signal);
    let output = child.wait_with_output().expect("it ends");
    go.send(()).ok();
    output
}

#[test]
fn what_was_read_before_ctrl_c_or_sigterm_is_written_and_the_next_sync_goes_on() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (service, kb) = without_bodies(5);
        let hold = held_up(&service, "GET", 2);
        let output = ended_by(signal, &kb, &["sync"], &hold);
        let told = String::from_utf8(output.stderr).expect("text");
        let listed = String::from_utf8(output.stdout).expect("text");
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(
            told.contains("error: stopped while reading articles: 2 of 5 done"),
            "{told}"
        );
        assert!(told.contains("the next `kbsync sync` continues"), "{told}");
        assert_eq!(listed.matches("← create    start/n").count(), 2, "{listed}");
        let status = kb.run(&["status"]).exits(0).stdout;
        assert!(
            status.contains("not fetched yet: 3 articles; `kbsync sync` continues\n"),
            "{status}"
        );
        schema::check("status", &kb.run(&["status", "--json"]).exits(0).json());
        service.sandbox.clear_requests();
        kb.run(&["sync"]).exits(0);
        let reads = service.sandbox.requests();
        let reads = reads
            .iter()
            .filter(|one| one.path.contains("/api/article/"));
        assert_eq!(reads.count(), 3, "what was read is not read again");
        assert!((0..5).all(|number| kb.exists(&format!("start/n{number}.html"))));
        let status = kb.run(&["status"]).exits(0).stdout;
        assert!(!status.contains("not fetched yet"), "{status}");
    }
}

#[test]
fn f113_a_day_that_is_spent_says_what_is_missing() {
    let (_service, kb) = without_bodies(9);
    let settings = kb.read("kbsync.yaml") + "budget: {per_minute: 60, per_day: 8}\n";
    kb.write("kbsync.yaml", &settings);
    kb.run(&["sync"]).exits(5);
    let status = kb.run(&["status", "--json"]).exits(0).json();
    let unread = status["unread"].as_u64().expect("a number");
    assert!((1..9).contains(&unread), "{status}");
    let status = kb.run(&["status"]).exits(0).stdout;
    let expected = format!("0 today\nnot fetched yet: {unread} article");
    assert!(status.contains(&expected), "{expected}: {status}");
}

#[test]
fn a_day_that_is_spent_does_not_say_that_changes_wait_where_nothing_changed() {
    let service = Service::start();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let settings = kb.read("kbsync.yaml") + "budget: {per_day: 1}\n";
    kb.write("kbsync.yaml", &settings);
    let status = kb.run(&["status"]).exits(0).stdout;
    let spent = "today's requests are spent; `kbsync sync` can continue in";
    assert!(status.contains(spent), "{status}");
    kb.write("billing/new.html", "---\ntitle: New\n---\n<p>New.</p>\n");
    let status = kb.run(&["status"]).exits(0).stdout;
    assert!(
        status.contains("changes wait; `kbsync sync` can"),
        "{status}"
    );
}

#[test]
fn what_was_sent_before_ctrl_c_is_listed() {
    let service = Service::empty();
    let start = service.category("start");
    let ids = ["a", "b", "c", "d"].map(|slug| service.article(start, slug, "<p>Old.</p>"));
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    for slug in ["a", "b", "c", "d"] {
        kb.edit(&format!("start/{slug}.html"), "Old.", "New.");
    }
    let settings = kb.read("kbsync.yaml") + "budget: {per_minute: 6, per_day: 1000}\n";
    kb.write("kbsync.yaml", &settings);
    let mut process = kb.process(&["sync"]);
    process
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = process.spawn().expect("it runs");
    // The budget of this minute is spent after some articles.
    let mut told = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("waiting") {
        line.clear();
        assert!(told.read_line(&mut line).expect("text") > 0, "it waits");
    }
    press_ctrl_c(&child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let listed = String::from_utf8(output.stdout).expect("text");
    let sent = ids.iter().filter(|id| service.text(**id).contains("New."));
    let sent = sent.count();
    assert!((1..4).contains(&sent), "{listed}");
    let lines = listed.lines().filter(|line| line.starts_with("→ update"));
    let (postponed, done): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.ends_with(" postponed"));
    assert_eq!((done.len(), postponed.len()), (sent, 4 - sent), "{listed}");
}

#[test]
fn a_sync_that_is_broken_off_with_ctrl_c_says_so_and_the_next_one_goes_on() {
    let service = Service::start();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.write("new/one.html", "---\ntitle: One\n---\n<p>One.</p>\n");
    // The answer to the POST of the article never comes.
    let hold = held_up(&service, "POST", 0);
    let output = ended_by_ctrl_c(&kb, &["sync", "--json"], &hold);
    let told = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(
        told.contains("error: stopped while sending: 1 of 2 done"),
        "{told}"
    );
    assert!(told.contains("the next `kbsync sync` continues"), "{told}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(json["outcome"], "retry");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), 4, "not created twice");
    assert!(kb.read("new/one.html").starts_with("---\nid: "));
    kb.run(&["sync"]).exits(0);
}

/// A shell starts the background commands of a script with SIGINT ignored.
#[test]
fn a_sync_in_the_background_of_a_script_takes_no_notice_of_ctrl_c() {
    let service = Service::start();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.write("new/one.html", "---\ntitle: One\n---\n<p>One.</p>\n");
    let (arrived, go) = held_up(&service, "POST", 0);
    let mut child = kb
        .process_by("trap '' INT; exec \"$0\" \"$@\"", &["sync"])
        .spawn()
        .expect("it runs");
    arrived.recv().expect("the request comes");
    press_ctrl_c(&child);
    go.send(()).expect("awaited");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(kb.read("new/one.html").starts_with("---\nid: "));
}

#[test]
fn ctrl_c_while_categories_are_read_is_one_line() {
    let service = Service::empty();
    for name in ["a", "b", "c"] {
        let category = service.category(name);
        for slug in ["one", "two", "three"] {
            service.article(category, &format!("{name}-{slug}"), "<p>Text.</p>");
        }
    }
    let kb = service.mirror();
    let hold = held_up_at(&service, Matcher::new("GET", "/api/category"), 1);
    let output = ended_by_ctrl_c(&kb, &["sync"], &hold);
    let told = String::from_utf8(output.stderr).expect("text");
    let listed = String::from_utf8(output.stdout).expect("text");
    assert!(
        told.contains("error: stopped while reading categories"),
        "{told}"
    );
    assert!(!listed.contains("cannot be read"), "{listed}");
    let status = kb.run(&["status"]).exits(0).stdout;
    assert!(status.contains("not fetched yet: "), "{status}");
}

#[test]
fn json_of_a_sync_that_fails_has_the_failure() {
    let (service, mut kb) = without_bodies(1);
    service.sandbox.revoke_token(TOKEN);
    let json = kb.run(&["sync", "--json"]).exits(1).json();
    schema::check("report", &json);
    assert_eq!(json["exit_code"], 1, "{json}");
    let error = json["error"].as_str().expect("text");
    assert!(
        error.starts_with("the service refused the token: "),
        "{json}"
    );
    assert!(
        json["help"].as_str().expect("text").contains("new token"),
        "{json}"
    );
    let status = kb.run(&["status", "--remote", "--json"]).exits(1).json();
    schema::check("status", &status);
    assert_eq!(
        (&status["error"], &status["exit_code"]),
        (&json["error"], &1.into())
    );
    let workspaces = kb.run(&["workspaces", "--json"]).exits(1).json();
    schema::check("error", &workspaces);
    assert_eq!(workspaces["requests"]["get"], 1, "{workspaces}");
    kb.set("KBSYNC_DRILL_HURRY", "1");
    let down = FaultKind::Status(503, "{}".to_owned());
    service
        .sandbox
        .add_token(TOKEN, Rights::everywhere(Access::Write));
    service
        .sandbox
        .inject(Fault::always(Matcher::new("GET", "/api/base"), down));
    let json = kb.run(&["sync", "--json"]).exits(5).json();
    schema::check("report", &json);
    assert_eq!(
        (&json["outcome"], &json["exit_code"]),
        (&"retry".into(), &5.into()),
        "{json}"
    );
    // Without a request, the budget is unknown.
    kb.set("KBSYNC_TOKEN", "")
        .set("KBSYNC_SERVICE", "http://127.0.0.1:1");
    let json = kb.run(&["sync", "--json"]).exits(2).json();
    schema::check("report", &json);
    assert!(
        json["budget"].is_null() && json["error"].is_string(),
        "{json}"
    );
}

#[test]
fn a_push_beside_an_open_conflict_says_that_it_is_open() {
    let (service, kb, one, _) = synced();
    kb.edit("start/one.html", "One.", "Mine.");
    let theirs = |text: &str| {
        let edited = |article: &mut Article| text.clone_into(&mut article.text);
        service.sandbox.edit(one, edited);
    };
    theirs("<p>Theirs.</p>");
    let push = || kb.run(&["push"]).exits(3).stdout;
    assert!(push().contains("so this will be a conflict: `kbsync sync`"));
    kb.run(&["sync"]).exits(3);
    let open = "text; `kbsync resolve start/one.html` settles it\n";
    assert!(push().contains(open), "{}", push());
    // Another version on the service makes another conflict.
    theirs("<p>Theirs again.</p>");
    assert!(push().contains("so this will be a conflict: `kbsync sync`"));
}
