//! The metrics, the health and the log of `kbsync run` under many kinds of failures.

use crate::support::canary;
use crate::support::daemon::{self, BOUND, Daemon, get, mirror, until};
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher, RetryAfter};
use crate::support::kb::Service;
use kbsync::{
    daemon::event_loop::GRACE,
    engine::report::BudgetLeft,
    web::{self, BudgetSource, shared_status::SharedStatus},
};
use rustix::process::Signal;
use std::{
    io::ErrorKind,
    os::unix::{net::UnixDatagram, process::ExitStatusExt as _},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

/// Serves health and metrics on a free port.
const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// Returns a fault that answers every listing.
fn listings(what: FaultKind) -> Fault {
    Fault::always(Matcher::new("GET", "/api/base/*/articles"), what)
}

#[test]
fn f012_a_poll_that_was_refused_is_no_successful_one() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &LISTEN);
    let age = || {
        daemon
            .figure("kbsync_last_poll_age_seconds")
            .expect("polled")
    };
    let retry_after = Some(RetryAfter::Seconds(3600));
    service
        .sandbox
        .inject(listings(FaultKind::Latency(Duration::from_millis(200))));
    service
        .sandbox
        .inject(listings(FaultKind::RateLimited { retry_after }));
    let asked = Instant::now();
    daemon.signal(Signal::USR1);
    until("the poll is refused", || {
        daemon.log().contains("trigger=manual outcome=retry")
    });
    let elapsed = asked.elapsed().as_secs_f64();
    let age = age();
    assert!(age >= elapsed, "{age} after {elapsed}");
    daemon.stop();
}

/// With these settings, retries do not wait.
const HURRY: [(&str, &str); 1] = [("KBSYNC_DRILL_HURRY", "1")];

fn unavailable() -> FaultKind {
    FaultKind::Status(503, "{}".to_owned())
}

#[test]
fn f009_being_stopped_in_an_outage_is_not_its_end() {
    let service = Service::start();
    let kb = mirror(&service);
    let mut daemon = Daemon::start_with(&kb, &[], &HURRY);
    service.sandbox.inject(listings(unavailable()));
    daemon.signal(Signal::USR1);
    let down = "the service cannot be reached";
    until("it is told", || daemon.log().contains(down));
    // A command is tried in spite of the outage, and hangs.
    service.sandbox.clear_faults();
    service
        .sandbox
        .inject(listings(FaultKind::Latency(Duration::from_mins(1))));
    service.sandbox.clear_requests();
    let before = daemon.log();
    let mut command = kb.process(&["sync"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let command = command.spawn().expect("it starts");
    until("it is asked", || service.sandbox.counts().get > 0);
    let asked = Instant::now();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ended().code(), Some(0));
    // The time that a container gets between SIGTERM and SIGKILL.
    assert!(asked.elapsed() < Duration::from_secs(10));
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(5));
    canary::silent(&String::from_utf8_lossy(&output.stderr));
    canary::silent(&String::from_utf8_lossy(&output.stdout));
    let told = daemon.log_since(&before);
    assert!(told.contains("stopped"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn f009_a_second_signal_ends_it_at_once() {
    let service = Service::start();
    let kb = mirror(&service);
    let mut daemon = Daemon::start(&kb, &[]);
    service.sandbox.inject(Fault::once(
        Matcher::new("PUT", "/api/article/"),
        FaultKind::Latency(Duration::from_mins(1)),
    ));
    let path = daemon::article(&kb);
    let before = kb.read(&path);
    kb.write(&path, &(before + "<p>in flight</p>\n"));
    until("it is on its way", || service.sandbox.counts().put > 0);
    let asked = Instant::now();
    // The kernel may merge two signals of the same kind.
    daemon.signal(Signal::TERM);
    daemon.signal(Signal::INT);
    assert_eq!(daemon.ended().code(), Some(1), "{}", daemon.log());
    assert!(asked.elapsed() < GRACE / 2, "{:?}", asked.elapsed());
    // The next start settles the request that was in flight.
    service.sandbox.clear_faults();
    let daemon = Daemon::start(&kb, &[]);
    let live = |text: &str| text.contains("in flight");
    until("it is live", || {
        let articles = service.sandbox.articles();
        articles.iter().any(|article| live(&article.text))
    });
    daemon.stop();
}

#[test]
fn f025_an_outage_is_one_line_when_it_begins_and_one_when_it_ends() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start_with(&kb, &[], &HURRY);
    service.sandbox.inject(listings(unavailable()));
    let before = daemon.log();
    daemon.signal(Signal::USR1);
    until("it is told", || daemon.log().len() > before.len());
    // A person's commands are tried at once, so here they stand for many retries.
    for _ in 0..3 {
        kb.run(&["sync"]).exits(5);
    }
    service.sandbox.clear_faults();
    kb.run(&["sync"]).exits(0);
    until("it is told", || {
        daemon.log().contains("syncing works again")
    });
    let told = daemon.log_since(&before);
    let (outage, after) = told.split_once("syncing works again").expect("its end");
    let down: Vec<&str> = outage
        .lines()
        .take_while(|line| !line.contains("a cycle is done"))
        .collect();
    assert_eq!(down.len(), 1, "{told}");
    assert!(down[0].contains("WARN") && down[0].contains("cannot be reached"));
    // The warning, the command's own cycle, and the beginning of the line with the news.
    assert_eq!(outage.lines().count(), 3, "{told}");
    assert!(!after.contains("WARN"), "{told}");
    daemon.stop();
}

#[test]
fn each_answer_counts_by_its_own_status() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start_with(&kb, &LISTEN, &HURRY);
    let gets = |status: u16| {
        let name = format!("kbsync_requests_total{{method=\"GET\",status=\"{status}\"}}");
        daemon.figure(&name)
    };
    let (good, before) = (gets(200).expect("the start"), daemon.log());
    service.sandbox.inject(listings(unavailable()).times(3));
    service.sandbox.clear_requests();
    daemon.signal(Signal::USR1);
    until("the poll is done", || {
        daemon
            .log_since(&before)
            .contains("trigger=manual outcome=done")
    });
    assert_eq!(gets(503), Some(3.0));
    let requests = u32::try_from(service.sandbox.counts().get).expect("few");
    assert_eq!(gets(200), Some(good + f64::from(requests - 3)));
    daemon.stop();
}

#[test]
fn what_is_left_of_the_budget_is_what_is_left_now() {
    let service = Service::start();
    let kb = mirror(&service);
    // The first cycle cannot finish, because the first listing hangs.
    service
        .sandbox
        .inject(listings(FaultKind::Latency(Duration::from_mins(1))));
    let mut daemon = Daemon::spawn(&kb, &LISTEN);
    until("it listens", || daemon.log().contains("listening on"));
    let listing = |path: &str| path.contains("/articles");
    until("it is asked", || {
        let requests = service.sandbox.requests();
        requests.iter().any(|request| listing(&request.path))
    });
    let left = |window: &str| {
        let name = format!("kbsync_budget_left{{window=\"{window}\"}}");
        daemon.figure(&name).expect("shown")
    };
    let spent = f64::from(u32::try_from(service.sandbox.counts().total).expect("few"));
    assert_eq!(
        (left("minute"), left("day")),
        (60.0 - spent, 1440.0 - spent)
    );
    // Another process also spends from the budget.
    let day = left("day");
    kb.run(&["workspaces"]).exits(0);
    assert!(left("day") < day);
    daemon.child.kill().expect("killed");
}

#[test]
fn f012_a_panic_of_any_thread_is_in_the_log_and_ends_the_daemon() {
    // The daemon's own first files cause events, and its first cycle records them in the state.
    for (point, thread) in [
        ("watch: an event", "watch"),
        ("state: before commit", "main"),
    ] {
        let service = Service::start();
        let kb = mirror(&service);
        let variables = [("KBSYNC_DRILL_PANIC_AT", point)];
        let mut daemon = Daemon::spawn_with(&kb, &["--log-format", "json"], &variables);
        let status = daemon.ended();
        assert_eq!(status.signal(), Some(Signal::ABORT.as_raw()), "{status}");
        let told = format!("a drill at {point}");
        assert!(daemon.log().contains(&told), "{}", daemon.log());
        for line in daemon.log().lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect(line);
            if line["level"] == "ERROR" {
                assert_eq!(line["thread"], thread, "{line}");
            }
        }
        // The next start continues.
        let daemon = Daemon::start(&kb, &[]);
        assert_eq!(
            daemon::articles(&kb).len(),
            service.sandbox.articles().len()
        );
        daemon.stop();
    }
}

#[test]
fn systemd_is_notified_of_start_status_and_stop() {
    let service = Service::start();
    let kb = mirror(&service);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("bound");
    socket.set_read_timeout(Some(BOUND)).expect("set");
    let next = || {
        let mut bytes = [0; 4096];
        let length = loop {
            match socket.recv(&mut bytes) {
                // The child of another test stopped or ended.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received.expect("a word in time"),
            }
        };
        String::from_utf8_lossy(&bytes[..length]).trim().to_owned()
    };
    let socket = path.to_str().expect("text");
    // The daemon sends a keep-alive every second, which is half of the watchdog's timeout.
    let mut daemon = Daemon::spawn_with(
        &kb,
        &[],
        &[("NOTIFY_SOCKET", socket), ("WATCHDOG_USEC", "2000000")],
    );
    assert_eq!(next(), "READY=1");
    let (mut status, mut alive) = (String::new(), 0);
    while alive < 2 || !status.starts_with("STATUS=next poll at ") {
        let word = next();
        match word.split_once('=') {
            Some(("STATUS", _)) => status = word,
            Some(("WATCHDOG", "1")) => alive += 1,
            _ => panic!("{word}"),
        }
    }
    // SIGINT stops the daemon as SIGTERM does.
    daemon.signal(Signal::INT);
    while next() != "STOPPING=1" {}
    assert_eq!(daemon.ended().code(), Some(0), "{}", daemon.log());
}

#[test]
fn every_promised_metric_shows_what_happened() {
    let service = Service::empty();
    let start = service.category("start");
    for slug in ["one", "two", "three", "four"] {
        service.article(start, slug, "<p>Old.</p>");
    }
    let mut kb = mirror(&service);
    let settings = kb.read("kbsync.yaml") + "max_deletes: {count: 0, percent: 100}\n";
    kb.write("kbsync.yaml", &settings);
    kb.set("KBSYNC_DRILL_HURRY", "1");
    let daemon = Daemon::start_with(&kb, &LISTEN, &HURRY);
    let figure = |name: &str| daemon.figure(&format!("kbsync_{name}"));
    let is = |name: &str, value: f64| {
        until(name, || figure(name) == Some(value));
    };
    let grows = |name: &str| until(name, || figure(name).is_some_and(|value| value > 0.0));
    grows("last_poll_age_seconds");
    assert_eq!(figure("last_push_age_seconds"), None, "nothing was pushed");
    grows(r#"requests_total{method="GET",status="200"}"#);
    let day = figure(r#"budget_left{window="day"}"#).expect("shown");
    // A push.
    kb.edit("start/one.html", "Old.", "New.");
    grows("last_push_age_seconds");
    is(r#"requests_total{method="PUT",status="200"}"#, 1.0);
    grows(r#"cycle_duration_seconds_count{trigger="watch"}"#);
    grows(r#"cycle_duration_seconds_bucket{le="+Inf",trigger="watch"}"#);
    assert!(figure(r#"budget_left{window="day"}"#).expect("shown") < day);
    grows(r#"budget_left{window="minute"}"#);
    grows("articles");
    for calm in [
        "left_out",
        "pending_pushes",
        "pending_oldest_age_seconds",
        "conflicts",
        "held_deletions",
        "unresolved_intents",
    ] {
        is(calm, 0.0);
    }
    // A conflict.
    let two = service.sandbox.articles();
    let two = two.iter().find(|article| article.slug == "two");
    service
        .sandbox
        .edit(two.expect("it is there").id, |article| {
            article.text = "<p>Theirs.</p>".to_owned();
        });
    kb.edit("start/two.html", "Old.", "Ours.");
    is("conflicts", 1.0);
    // A held deletion.
    kb.remove("start/three.html");
    is("held_deletions", 1.0);
    // A full cycle.
    kb.write(".kbsyncignore", "nothing.html\n");
    grows(r#"rescans_total{cause="rules"}"#);
    // A write with a lost response, followed by an outage.
    let gone = Hook::new(|sandbox| {
        sandbox.inject(Fault::always(Matcher::any(), unavailable()));
    });
    let put = || Matcher::new("PUT", "/api/article/");
    service
        .sandbox
        .inject(Fault::once(put(), FaultKind::HookAfter(gone)));
    service
        .sandbox
        .inject(Fault::once(put(), FaultKind::ResetAfter));
    kb.edit("start/four.html", "Old.", "New.");
    is("unresolved_intents", 1.0);
    is(r#"requests_total{method="PUT",status="none"}"#, 1.0);
    grows(r#"requests_total{method="GET",status="503"}"#);
    is("pending_pushes", 1.0);
    grows("pending_oldest_age_seconds");
    daemon.stop();
}

#[test]
fn f012_a_daemon_that_is_not_ready_or_not_well_says_so_over_http() {
    // No listing has arrived yet.
    let service = Service::start();
    let kb = mirror(&service);
    service
        .sandbox
        .inject(listings(FaultKind::Latency(Duration::from_mins(1))));
    let daemon = Daemon::spawn(&kb, &LISTEN);
    until("it listens", || daemon.log().contains("listening on"));
    let ready = get(&daemon.address(), "/readyz", "localhost");
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert!(ready.contains("the first cycle is not done"), "{ready}");
    let health = get(&daemon.address(), "/healthz", "localhost");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    daemon.stop();
}

#[tokio::test]
async fn f012_the_page_of_an_ill_daemon_is_a_503_with_the_reason() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0");
    let listener = listener.await.expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    let status = Arc::new(SharedStatus::new(chrono::Utc::now()));
    let long_ago = tokio::time::Instant::now().checked_sub(Duration::from_mins(20));
    status.update(|status| {
        status.ready = true;
        status.queue.patience = Duration::from_mins(15);
        status.last_poll = long_ago.map(|at| (chrono::Utc::now(), at));
        status.queue.outage = Some("the service cannot be reached".to_owned());
    });
    let budget: BudgetSource = Arc::new(BudgetLeft::default);
    tokio::spawn(web::serve(listener, status, budget, std::future::pending()));
    let ask = move |path: &'static str| {
        let address = address.clone();
        tokio::task::spawn_blocking(move || get(&address, path, "localhost"))
    };
    let overview = ask("/").await.expect("an answer");
    assert!(overview.contains("/readyz"), "{overview}");
    let health = ask("/healthz").await.expect("an answer");
    assert!(health.starts_with("HTTP/1.1 503"), "{health}");
    let why = "no successful poll for 20m: the service cannot be reached";
    assert!(health.contains(why), "{health}");
    let ready = ask("/readyz").await.expect("an answer");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
}

#[test]
fn a_failure_after_an_outage_is_not_its_end() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start_with(&kb, &[], &HURRY);
    service.sandbox.inject(listings(unavailable()));
    daemon.signal(Signal::USR1);
    until("the outage", || {
        daemon.log().contains("the service cannot be reached")
    });
    service.sandbox.clear_faults();
    let gone = r#"{"success":false,"message":"Base not found."}"#;
    let gone = FaultKind::Status(404, gone.to_owned());
    let of_workspace = Matcher::new("GET", "/api/base");
    service.sandbox.inject(Fault::always(of_workspace, gone));
    daemon.signal(Signal::USR1);
    until("the failure", || daemon.log().contains("outcome=failed"));
    let status = kb.run(&["status"]).exits(0).stdout;
    assert!(
        status.contains("the last sync failed: ") && status.contains("Base not found."),
        "{status}"
    );
    assert!(!daemon.log().contains("works again"), "{}", daemon.log());
    service.sandbox.clear_faults();
    daemon.signal(Signal::USR1);
    until("the end", || daemon.log().contains("syncing works again"));
    daemon.stop();
}
