//! `kbsync run` without events: it polls as often as its settings and its budget allow.

use crate::support::daemon::{Daemon, articles, mirror, unlimited, until};
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher, RetryAfter};
use crate::support::kb::{Kb, Service};
use rustix::process::Signal;
use std::{os::unix::fs::MetadataExt as _, path::PathBuf, time::SystemTime};

/// Returns every file of the mirror, with the properties that a write would change.
fn stamps(kb: &Kb) -> Vec<(PathBuf, SystemTime, u64)> {
    let files = articles(kb).into_iter().flat_map(|path| {
        let path = kb.mirror().join(path);
        [path.with_file_name("_category.yaml"), path]
    });
    files
        .map(|path| {
            let found = path.metadata().expect("there");
            (path, found.modified().expect("a time"), found.ino())
        })
        .collect()
}

#[track_caller]
fn a_poll_brings_a_colleagues_edit(poll: &str) {
    let service = Service::start();
    let kb = unlimited(&service);
    let settings = kb
        .read("kbsync.yaml")
        .replace("poll: 1h", &format!("poll: {poll}"));
    kb.write("kbsync.yaml", &settings);
    let daemon = Daemon::start(&kb, &[]);
    let id = service.sandbox.articles()[0].id;
    service.sandbox.clear_requests();
    service.sandbox.edit(id, |article| {
        "<p>from the dashboard</p>".clone_into(&mut article.text);
    });
    let brought = "trigger=poll outcome=done actions=1 problems=0 requests=1 ";
    until("a poll brings it", || daemon.log().contains(brought));
    let mut files = articles(&kb).into_iter();
    assert!(files.any(|path| kb.read(&path).contains("from the dashboard")));
    // Without news, a poll costs one request and touches nothing.
    let before = stamps(&kb);
    let quiet = "trigger=poll outcome=done actions=0 problems=0 requests=1 ";
    let polls = || daemon.log().matches(quiet).count();
    let polled = polls();
    until("another poll", || polls() > polled);
    assert_eq!(stamps(&kb), before);
    let log = daemon.log();
    daemon.stop();
    for line in log.lines().filter(|line| line.contains("trigger=poll")) {
        assert!(line.contains(brought) || line.contains(quiet), "{line}");
    }
    for request in service.sandbox.requests() {
        let is_listing = request.path.ends_with("/articles");
        assert!(request.method == "GET" && is_listing, "{request:?}");
    }
}

#[test]
fn a_poll_brings_a_colleagues_edit_with_one_request() {
    a_poll_brings_a_colleagues_edit("1s");
}

#[test]
fn a_cron_line_brings_a_colleagues_edit_with_one_request() {
    a_poll_brings_a_colleagues_edit("\"* * * * * *\"");
}

/// A mirror of a service with the article `a/one.html`, with additional settings.
fn one_article(settings: &[(&str, &str)]) -> (Service, Kb, uuid::Uuid) {
    let service = Service::empty();
    let id = service.article(service.category("a"), "one", "<p>One.</p><p>Two.</p>");
    let kb = unlimited(&service);
    let mut text = kb.read("kbsync.yaml");
    for (from, to) in settings {
        assert!(text.contains(from), "{text}");
        text = text.replace(from, to);
    }
    kb.write("kbsync.yaml", &text);
    (service, kb, id)
}

fn colleague(service: &Service, id: uuid::Uuid, text: &str) {
    let edited = service
        .sandbox
        .edit(id, |article| text.clone_into(&mut article.text));
    assert!(edited.is_some());
}

#[test]
fn f079_after_its_own_pull_the_daemon_pulls_the_next_edit_as_well() {
    // The grace time of removals is longer than the test.
    let settings = [("poll: 1h", "poll: 1s"), ("grace: 50ms", "grace: 10m")];
    let (service, kb, id) = one_article(&settings);
    let daemon = Daemon::start(&kb, &[]);
    for text in ["<p>First.</p>", "<p>Second.</p>", "<p>Third.</p>"] {
        colleague(&service, id, text);
        until(text, || kb.read("a/one.html").contains(text));
    }
    daemon.stop();
}

#[test]
fn f079_a_file_that_was_only_touched_takes_part_in_a_look_at_everything() {
    let settings = [("quiet_period: 20ms", "quiet_period: 4s")];
    let (service, kb, id) = one_article(&settings);
    let daemon = Daemon::start_with(&kb, &[], &[("KBSYNC_LOG", "kbsync=trace")]);
    let before = daemon.log();
    kb.write("a/one.html", &kb.read("a/one.html"));
    until("the touch is noticed", || {
        let log = daemon.log_since(&before);
        log.lines()
            .any(|line| line.contains("touched path=\"a/one.html\""))
    });
    colleague(&service, id, "<p>Theirs.</p>");
    daemon.signal(Signal::USR1);
    let done = "trigger=manual outcome=done actions=1 problems=0";
    until("the look at everything brings it", || {
        daemon.log().contains(done)
    });
    assert!(kb.read("a/one.html").contains("Theirs."));
    daemon.stop();
}

#[test]
fn its_own_removals_do_not_count_as_saved_changes() {
    // The grace time of removals is longer than the test.
    let settings = [("poll: 1h", "poll: 1h"), ("grace: 50ms", "grace: 10m")];
    let (service, kb, id) = one_article(&settings);
    let stays = service.category("b");
    let other = service.article(stays, "two", "<p>Two.</p>");
    service.article(stays, "three", "<p>Three.</p>");
    let daemon = Daemon::start(&kb, &["--listen", "127.0.0.1:0"]);
    assert!(service.sandbox.remove(id).is_some());
    daemon.signal(Signal::USR1);
    until("the file is removed", || !kb.exists("a/one.html"));
    // This event comes after the event of the removal, so the removal's event has arrived by now.
    kb.edit("b/two.html", "Two.", "2.");
    until("it is sent", || service.text(other).contains("2."));
    until("all is sent", || {
        daemon.figure("kbsync_pending_pushes") == Some(0.0)
    });
    let status = kb.run(&["status"]).exits(0).stdout;
    assert!(!status.contains("to be sent"), "{status}");
    // A person's removal counts.
    kb.remove("b/three.html");
    until("it waits", || {
        daemon.figure("kbsync_pending_pushes") == Some(1.0)
    });
    let status = kb.run(&["status"]).exits(0).stdout;
    assert!(
        status.contains("  1 saved change waits to be sent"),
        "{status}"
    );
    daemon.stop();
}

#[test]
fn a_save_that_the_service_lets_wait_counts_until_it_is_sent() {
    let (service, kb, id) = one_article(&[("poll: 1h", "poll: 1h\nguard_window: 0s")]);
    let daemon = Daemon::start(&kb, &["--listen", "127.0.0.1:0"]);
    let refused = FaultKind::RateLimited {
        retry_after: Some(RetryAfter::Seconds(3)),
    };
    let reading = Matcher::new("GET", "/api/article/");
    let asked = || {
        let mut requests = service.sandbox.requests().into_iter();
        requests.any(|request| request.status == 429)
    };
    service.sandbox.inject(Fault::once(reading, refused));
    kb.edit("a/one.html", "One.", "1.");
    until("the service lets it wait", asked);
    assert_eq!(daemon.figure("kbsync_pending_pushes"), Some(1.0));
    let status = kb.run(&["status"]).exits(0).stdout;
    assert!(
        status.contains("  1 saved change waits to be sent"),
        "{status}"
    );
    until("it is sent", || service.text(id).contains("1."));
    until("nothing waits", || {
        daemon.figure("kbsync_pending_pushes") == Some(0.0)
    });
    daemon.stop();
}

#[test]
fn a_save_that_a_colleague_overtook_is_merged_and_sent_long_before_the_next_poll() {
    let (service, kb, id) = one_article(&[("poll: 1h", "poll: 1h\nguard_window: 0s")]);
    let daemon = Daemon::start(&kb, &[]);
    // Once a save was sent, the events of the first cycle are handled, and the next cycle is about this path alone.
    kb.edit("a/one.html", "One.", "One");
    until("the first save is sent", || {
        service.text(id).contains("One<")
    });
    service.sandbox.inject(Fault::once(
        Matcher::new("GET", "/api/article/"),
        FaultKind::HookAfter(Hook::new(move |sandbox| {
            sandbox.edit(id, |article| {
                article.text = article.text.replace("Two.", "Two, theirs.");
            });
        })),
    ));
    kb.edit("a/one.html", "One", "One, mine.");
    let merged = "<p>One, mine.</p><p>Two, theirs.</p>";
    until("both are there", || service.text(id) == merged);
    until("the file has both", || {
        kb.read("a/one.html").contains(merged)
    });
    daemon.stop();
}

#[test]
fn f112_a_daemon_that_dies_again_and_again_stays_within_its_budget() {
    const ALL: usize = 8;
    let service = Service::start();
    let kb = mirror(&service);
    service.sandbox.set_options(|options| {
        options.per_minute = 0;
        options.per_day = 0;
    });
    let settings = kb.read("kbsync.yaml");
    let budget = format!("budget: {{per_minute: {ALL}, per_day: {ALL}}}\n");
    kb.write("kbsync.yaml", &(settings.clone() + &budget));
    let asked = || service.sandbox.requests().len();
    let spent = "the requests of this day are spent";
    let mut refused = 0;
    for _ in 0..ALL + 2 {
        let before = asked();
        let mut daemon = Daemon::spawn(&kb, &[]);
        until("it asks, or knows better", || {
            asked() > before || daemon.log().contains(spent)
        });
        daemon.child.kill().expect("killed");
        daemon.ended();
        refused += usize::from(asked() == before);
    }
    assert!(asked() <= ALL, "{} requests", asked());
    assert!(refused >= 2, "{refused} were refused");
    // With a larger budget, polls continue.
    let budget = "budget: {per_minute: 1000, per_day: 1000}\n";
    kb.write("kbsync.yaml", &(settings + budget));
    kb.run(&["sync"]).exits(0);
    assert_eq!(articles(&kb).len(), service.sandbox.articles().len());
}
