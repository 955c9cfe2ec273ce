//! `kbsync run` on a terminal: the lines for a writer who leaves it open beside the editor.

use crate::support::daemon::{Daemon, article, articles, mirror, until};
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::{Kb, Service, WORKSPACE};
use anstream::adapter::strip_str;
use rustix::process::Signal;

/// Returns the lines on the terminal, without colours and times of day.
fn shown(daemon: &Daemon) -> Vec<String> {
    let log = strip_str(&daemon.log()).to_string();
    let lines = log.lines().map(|line| {
        let time = line
            .get(..9)
            .filter(|time| time.chars().nth(2) == Some(':'));
        line[time.map_or(0, str::len)..].to_owned()
    });
    lines.collect()
}

#[test]
fn a_writer_reads_what_was_saved_sent_and_fetched() {
    let service = Service::start();
    let kb = mirror(&service);
    let settings = kb
        .read("kbsync.yaml")
        .replace("push_interval: 0s", "push_interval: 1h");
    kb.write("kbsync.yaml", &settings);
    let daemon = Daemon::spawn_at_terminal(&kb, 100, &[]);
    let sees = |line: &str| until(line, || shown(&daemon).iter().any(|one| one.contains(line)));
    sees("both sides are equal; the service is asked every 1h");
    let path = article(&kb);
    let before = kb.read(&path);
    kb.write(&path, &(before.clone() + "<p>Once.</p>\n"));
    sees(&format!("→ update    {path} (text)"));
    // The second save waits.
    kb.write(&path, &(before + "<p>Twice.</p>\n"));
    sees(&format!("{path}: saved; will be sent in "));
    let articles = service.sandbox.articles();
    let other = articles
        .iter()
        .find(|article| !path.ends_with(&format!("{}.html", article.slug)));
    let id = other.expect("another article").id;
    service
        .sandbox
        .edit(id, |article| article.title = "A colleague's".to_owned());
    daemon.signal(Signal::USR1);
    sees("← update    getting-started/");
    let first = shown(&daemon)[..2].join(" ");
    assert!(
        first.starts_with("Watching /") && first.contains("Ctrl-C ends this."),
        "{first}"
    );
    let records: Vec<_> = shown(&daemon)
        .into_iter()
        .filter(|line| line.contains('='))
        .collect();
    assert_eq!(records, Vec::<String>::new());
    daemon.stop();
}

#[test]
fn the_lines_fit_narrow_and_wide_terminals() {
    for columns in [60, 100, 140] {
        let service = Service::empty();
        let calendars = service.category("calendars-and-invitations");
        service.article(
            calendars,
            "connect-the-calendar-of-another-program",
            "<p>It is easy.</p>",
        );
        let kb = service.mirror();
        kb.write(
            "kbsync.yaml",
            &(kb.read("kbsync.yaml") + "push_interval: 1h\n"),
        );
        kb.run(&["sync"]).exits(0);
        let daemon = Daemon::spawn_at_terminal(&kb, columns, &[]);
        let sees = |line: &str| until(line, || daemon.log().contains(line));
        sees("both sides are equal");
        let path = "calendars-and-invitations/connect-the-calendar-of-another-program.html";
        kb.edit(path, "easy", "very easy");
        sees("→ update");
        kb.edit(path, "easy", "not so easy");
        let mut lines = String::new();
        until("the wait is told", || {
            lines = shown(&daemon).join("\n");
            let saved = lines.split_once("saved;");
            saved.is_some_and(|(_, rest)| rest.contains("in "))
        });
        // The earlier lines contain the path of the mirror, which differs from run to run.
        let at = lines.find("both sides are equal").expect("the first cycle");
        // On a busy machine, some seconds of the hour are over.
        let (lines, wait) = lines[at..].rsplit_once("in ").expect("a wait");
        assert!(wait == "1h" || wait.starts_with("59m "), "{wait}");
        insta::assert_snapshot!(format!("run_at_{columns}"), format!("{lines}in 1h"));
        daemon.stop();
    }
}

#[test]
fn a_writer_reads_at_once_that_the_service_does_not_answer() {
    let settings = format!("service: http://127.0.0.1:1\nworkspace: {WORKSPACE}\n");
    let kb = Kb::with_settings(&settings);
    kb.trust();
    let daemon = Daemon::spawn_at_terminal(&kb, 100, &[]);
    let line = "cannot reach http://127.0.0.1:1 (connection refused), next try in 1s";
    until(line, || shown(&daemon).iter().any(|one| one == line));
    // The status shows the outage as early as the log does.
    let mut status = String::new();
    until("the status says so", || {
        status = kb.run(&["status"]).exits(0).stdout;
        status.contains("the service did not answer (connection refused)")
    });
    assert!(!status.contains("not known yet"), "{status}");
    daemon.stop();
}

#[test]
fn a_writer_reads_once_that_a_saved_file_waits_for_the_service() {
    let service = Service::start();
    let mut kb = mirror(&service);
    kb.set("KBSYNC_DRILL_HURRY", "1");
    let daemon = Daemon::spawn_at_terminal(&kb, 200, &[]);
    let count = |line: &str| {
        let lines = shown(&daemon);
        lines.iter().filter(|one| one.contains(line)).count()
    };
    let sees = |line: &str| until(line, || count(line) > 0);
    sees("both sides are equal");
    let down = FaultKind::Status(503, "{}".to_owned());
    service.sandbox.inject(Fault::always(Matcher::any(), down));
    let paths = articles(&kb);
    let save = |path: &str, text: &str| kb.write(path, &(kb.read(path) + text));
    let waits = |path: &str| {
        format!(
            "{path}: saved; will be sent when syncing works again (the service cannot be reached)"
        )
    };
    // The first save meets the outage, and the second is made while the outage lasts.
    for path in &paths[..2] {
        save(path, "<p>Once.</p>\n");
        sees(&waits(path));
    }
    save(&paths[0], "<p>Twice.</p>\n");
    save(&paths[2], "<p>Once.</p>\n");
    sees(&waits(&paths[2]));
    for path in &paths[..3] {
        assert_eq!(count(&waits(path)), 1, "{:#?}", shown(&daemon));
    }
    service.sandbox.clear_faults();
    daemon.signal(Signal::USR1);
    sees("syncing works again, after");
    daemon.stop();
}

#[test]
fn a_writer_reads_what_is_held() {
    let service = Service::start();
    let kb = mirror(&service);
    kb.run(&["sync"]).exits(0);
    for name in ["one", "two"] {
        let path = format!("geting-started/{name}.html");
        kb.write(&path, &format!("---\ntitle: {name}\n---\n<p>New.</p>\n"));
    }
    let daemon = Daemon::spawn_at_terminal(&kb, 200, &[]);
    let sees = |line: &str| until(line, || shown(&daemon).iter().any(|one| one.contains(line)));
    sees("→ create    geting-started held: ");
    sees("3 held; the service is asked every 1h");
    let lines = shown(&daemon).join("\n");
    assert!(!lines.contains("both sides are equal"), "{lines}");
    daemon.stop();
    // A program finds the same facts as fields.
    let daemon = Daemon::spawn(&kb, &["--log-format", "json"]);
    until("it is read", || daemon.log().contains("3 held;"));
    let log = daemon.log();
    let records = log.lines().map(serde_json::from_str::<serde_json::Value>);
    let records: Vec<_> = records.map(|record| record.expect("JSON")).collect();
    let held: Vec<_> = records
        .iter()
        .filter(|one| one["message"] == "held")
        .collect();
    assert_eq!(held.len(), 2, "{log}");
    assert_eq!(held[0]["action"], "create-category", "{log}");
    assert_eq!(held[0]["path"], "geting-started", "{log}");
    assert!(held[0]["reason"].is_string(), "{log}");
    assert_eq!(
        (&held[1]["action"], &held[1]["more"]),
        (&"create".into(), &1.into()),
        "{log}"
    );
    daemon.stop();
}
