//! The daemon's answers on its socket: progress, the last poll and the next one.

use crate::support::daemon::{Daemon, mirror, until};
use crate::support::faults::{Fault, FaultKind, Hook, Inject, Matcher, RetryAfter};
use crate::support::kb::{Kb, Service};
use crate::support::schema;
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use kbsync::daemon::control::{self, Command, Response};
use kbsync::engine::Progress;
use kbsync::sandbox::Article;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;

#[test]
fn f118_a_client_hears_how_far_it_is_before_the_report() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    // Each article is read separately.
    service.sandbox.habits().bodies = false;
    service.sandbox.habits().category_bodies = false;
    for article in service.sandbox.articles() {
        let edited = |article: &mut Article| "<p>handed</p>".clone_into(&mut article.text);
        service.sandbox.edit(article.id, edited);
    }
    let wish = serde_json::from_str(r#"{"direction":"both"}"#).expect("a wish");
    let private = kb.mirror().join(".kbsync");
    let mut heard = Vec::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let asking = control::request(&private, Command::Cycle(wish), |step| heard.push(step));
    let word = runtime.block_on(asking).expect("an answer");
    let Some(Response::Report(report, None, _)) = word else {
        panic!("{word:?}");
    };
    assert_eq!(report.actions.len(), 3);
    let reading = Progress::Phase {
        name: "reading articles".to_owned(),
        total: Some(3),
        requests: 1,
    };
    let heard_all = heard
        .windows(4)
        .any(|steps| steps[0] == reading && steps[1..] == [1, 2, 3].map(Progress::Done));
    assert!(heard_all, "{heard:?}");
    daemon.stop();
}

/// Returns a time that `status` shows after a word.
#[track_caller]
fn shown(text: &str, word: &str) -> DateTime<Utc> {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("{text}"));
    let time = rest.get(..19).unwrap_or_else(|| panic!("{text}"));
    let time = NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M:%S");
    time.unwrap_or_else(|error| panic!("{error}: {text}"))
        .and_utc()
}

/// Waits for the next second.
fn next_second() {
    let now = Utc::now().timestamp();
    until("a second", || Utc::now().timestamp() > now);
}

#[test]
fn f012_status_says_since_when_it_runs_when_it_polled_and_when_it_will() {
    let service = Service::start();
    let mut kb: Kb = mirror(&service);
    kb.set("TZ", "UTC");
    let (begin, second) = (Utc::now(), TimeDelta::seconds(1));
    let daemon = Daemon::start(&kb, &[]);
    let times = || {
        let text = kb.run(&["status"]).exits(0).stdout;
        assert!(text.contains("polls every 1h: "), "{text}");
        ["Daemon running since ", ": last ", ", next "].map(|word| shown(&text, word))
    };
    let [since, last, next] = times();
    let around = |at: DateTime<Utc>| begin - second <= at && at <= Utc::now();
    assert!(around(since) && around(last), "{since} {last}");
    let (hour, minute) = (TimeDelta::hours(1), TimeDelta::minutes(1));
    assert!((next - last - hour).abs() <= minute, "{last} {next}");
    // A poll for a person's command counts as a poll.
    next_second();
    kb.run(&["sync"]).exits(0);
    let [still, later, _] = times();
    assert_eq!(still, since);
    assert!(last < later && later <= Utc::now(), "{last} {later}");
    let json = kb.run(&["status", "--json"]).exits(0).json();
    schema::check("status", &json);
    for (name, least) in [("since", begin - second), ("next_poll", Utc::now())] {
        let told = json["daemon"][name].as_str().expect("a time");
        let told: DateTime<Utc> = told.parse().expect("a time");
        assert!(least <= told && told <= Utc::now() + hour, "{name}: {told}");
    }
    // A cron expression is shown as written, with its time zone.
    let settings = kb
        .read("kbsync.yaml")
        .replace("poll: 1h", "poll: 0 3 * * *");
    kb.write("kbsync.yaml", &settings);
    daemon.signal(Signal::HUP);
    let told = "polls by the cron line 0 3 * * * (UTC): last ";
    let status = || kb.run(&["status"]).exits(0).stdout;
    until(told, || status().contains(told));
    let next = shown(&status(), ", next ");
    assert_eq!(next.format("%H:%M:%S").to_string(), "03:00:00");
    assert!(next > Utc::now());
    daemon.stop();
}

/// Ctrl-C ends a command that waits for a suspended daemon. A daemon that continues within seconds answers.
#[test]
#[cfg(target_os = "linux")]
fn f118_a_command_waits_some_seconds_for_a_silent_daemon() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    service.sandbox.clear_requests();
    daemon.signal(Signal::STOP);
    let waiting = || {
        let mut command = kb.process(&["sync"]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let command = command.spawn().expect("it starts");
        let status = format!("/proc/{}/status", command.id());
        until("it listens for Ctrl-C", || {
            let status = std::fs::read_to_string(&status).expect("text");
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = u64::from_str_radix(caught.expect("a mask").trim(), 16);
            caught.expect("a number") & 0b10 != 0
        });
        command
    };
    let command = waiting();
    let pid = i32::try_from(command.id()).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("positive"), Signal::INT).expect("sent");
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("nothing was changed"), "{said}");
    assert_eq!(service.sandbox.requests(), []);
    let command = waiting();
    daemon.signal(Signal::CONT);
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    daemon.stop();
}

#[test]
fn a_command_without_the_daemons_consent_is_not_refused() {
    let service = Service::start();
    let mut kb = mirror(&service);
    let settings = kb.read("kbsync.yaml") + "max_deletes: {count: 1000, percent: 100}\n";
    kb.write("kbsync.yaml", &settings);
    let daemon = Daemon::start(&kb, &[]);
    kb.run(&["trust", "--revoke"]).exits(0);
    kb.set("KBSYNC_SERVICE", &service.url);
    kb.run(&["push"]).exits(0);
    daemon.stop();
}

/// A daemon carries out no command under other settings than those of the command.
#[test]
fn a_command_with_other_settings_than_the_daemon_is_refused() {
    let service = Service::start();
    let mut kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let settings = kb.read("kbsync.yaml");
    kb.write("kbsync.yaml", &format!("{settings}on_conflict: local\n"));
    service.sandbox.clear_requests();
    let refused = |kb: &Kb| {
        let said = kb.run(&["push"]).exits(2).stderr;
        assert_eq!(service.sandbox.requests(), [], "{said}");
        said
    };
    let said = refused(&kb);
    let pid = daemon.child.id();
    assert!(said.contains("the daemon has other settings"), "{said}");
    assert!(said.contains(&format!("`kill -HUP {pid}`")), "{said}");
    daemon.signal(Signal::HUP);
    until("the settings are read again", || {
        daemon.log().contains("the settings were read again")
    });
    kb.run(&["push"]).exits(0);
    // The settings of the loop alone decide nothing.
    kb.write(
        "kbsync.yaml",
        &format!("{settings}on_conflict: local\n").replace("1h", "2h"),
    );
    kb.run(&["push"]).exits(0);
    let staging = Service::start();
    kb.set("KBSYNC_SERVICE", &staging.url);
    service.sandbox.clear_requests();
    let said = refused(&kb);
    let other = format!("and this command is for {}", staging.url);
    assert!(said.contains(&other), "{said}");
    daemon.stop();
}

/// A suspended daemon does not keep a command waiting for ever.
#[test]
fn f118_a_daemon_that_does_not_answer_is_reported() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    daemon.signal(Signal::STOP);
    let said = kb.run(&["sync"]).exits(5).stderr;
    assert!(said.contains("the daemon no longer answers"), "{said}");
    // The command was not sent.
    assert!(!said.contains("carry out"), "{said}");
    let said = kb.run(&["doctor"]).exits(1).stdout;
    assert!(
        said.contains("the daemon holds the mirror, but does not answer"),
        "{said}"
    );
    daemon.signal(Signal::CONT);
    daemon.stop();
}

#[test]
fn f118_a_daemon_that_falls_silent_in_a_command_ends_the_wait() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let pid = i32::try_from(daemon.child.id()).expect("small");
    let pid = Pid::from_raw(pid).expect("positive");
    let listing = Matcher::new("GET", "/api/base/*/articles");
    let suspend = Hook::new(move |_| kill_process(pid, Signal::STOP).expect("sent"));
    let fault = Fault::always(listing, FaultKind::Hook(suspend)).times(1);
    service.sandbox.inject(fault);
    let said = kb.run(&["sync"]).exits(5).stderr;
    assert!(said.contains("the daemon no longer answers"), "{said}");
    assert!(
        said.contains("it may still carry out your command"),
        "{said}"
    );
    daemon.signal(Signal::CONT);
    daemon.stop();
}

/// Returns the exit code, and the lines that a command printed to standard error.
fn said(mut command: std::process::Command) -> (Option<i32>, String) {
    let output = command.output().expect("it ends");
    let text = String::from_utf8(output.stderr).expect("text");
    (output.status.code(), text)
}

#[test]
fn a_command_hears_what_the_daemon_waits_for() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let retry_after = Some(RetryAfter::Seconds(1));
    let listing = || Matcher::new("GET", "/api/base/*/articles");
    let wait = |kind| {
        service
            .sandbox
            .inject(Fault::always(listing(), kind).times(1));
    };
    wait(FaultKind::RateLimited { retry_after });
    let (code, text) = said(kb.process(&["sync"]));
    assert_eq!(code, Some(0), "{text}");
    let alone = "the service asked for a pause (status 429): waiting 1s\n";
    assert!(text.starts_with(alone), "{text}");
    // A command without a daemon prints the same line.
    daemon.stop();
    wait(FaultKind::RateLimited { retry_after });
    let (code, text) = said(kb.process(&["sync"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with(alone), "{text}");
}

#[test]
fn a_command_behind_a_waiting_cycle_hears_why_as_well() {
    let service = Service::start();
    let kb = mirror(&service);
    let daemon = Daemon::start(&kb, &[]);
    let retry_after = Some(RetryAfter::Seconds(3));
    let listing = Matcher::new("GET", "/api/base/*/articles");
    let refused = FaultKind::RateLimited { retry_after };
    service
        .sandbox
        .inject(Fault::always(listing, refused).times(1));
    service.sandbox.clear_requests();
    daemon.signal(Signal::USR1);
    until("the poll waits", || {
        let mut requests = service.sandbox.requests().into_iter();
        requests.any(|request| request.status == 429)
    });
    let (code, text) = said(kb.process(&["sync"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("the service asked for a pause"), "{text}");
    daemon.stop();
}
