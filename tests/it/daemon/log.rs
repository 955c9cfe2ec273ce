//! The daemon's log at every level, including all libraries, does not contain the token.
//!
//! The whole output is searched when the test ends.

use crate::support::canary::{CANARY, content};
use crate::support::daemon::{Daemon, article, articles, mirror, until};
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::kb::{Kb, Service, TOKEN};
use kbsync::sandbox::{Access, Rights};
use rustix::process::Signal;
use std::process::Command;

#[test]
fn f131_what_a_daemon_says_is_searched() {
    for to in ["", " >&2"] {
        let kb = Kb::new();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo {CANARY}{to}")]);
        let daemon = Daemon::spawn_by(command, &kb, &[]);
        until("it is said", || !daemon.log().is_empty());
        assert!(!content(move || drop(daemon)));
    }
}

#[test]
fn a_daemon_whose_log_cannot_be_written_continues() {
    let service = Service::start();
    let kb = mirror(&service);
    let mut command = Command::new("sh");
    let script = "exec \"$0\" run 2>/dev/full";
    command.args(["-c", script, env!("CARGO_BIN_EXE_kbsync")]);
    let daemon = Daemon::spawn_by(command, &kb, &[]);
    until("the first cycle", || !articles(&kb).is_empty());
    daemon.stop();
}

#[test]
fn f131_the_most_talkative_log_has_no_token() {
    for format in ["text", "json"] {
        let service = Service::start();
        let kb = mirror(&service);
        let daemon = Daemon::spawn_with(
            &kb,
            &["-vvv", "--log-format", format],
            &[("KBSYNC_LOG", "trace"), ("KBSYNC_DRILL_HURRY", "1")],
        );
        until("the first cycle", || {
            daemon.log().contains("a cycle is done")
        });
        for library in ["hyper_util", "kbsync"] {
            assert!(daemon.log().contains(library), "nothing of {library}");
        }
        // A push with a lost response, which is sent again.
        let put = Matcher::new("PUT", "/api/article/");
        let sandbox = &service.sandbox;
        sandbox.inject(Fault::once(put, FaultKind::ResetAfter));
        let path = article(&kb);
        let text = kb.read(&path) + "<p>said aloud</p>\n";
        kb.write(&path, &text);
        until("it is live", || {
            let articles = sandbox.articles();
            articles.iter().any(|one| one.text.contains("said aloud"))
        });
        // A token that the service rejects.
        sandbox.revoke_token(TOKEN);
        daemon.signal(Signal::USR1);
        let refused = "the service refused the daemon's token";
        until("it is told", || daemon.log().contains(refused));
        sandbox.add_token(TOKEN, Rights::everywhere(Access::Write));
        kb.run(&["-vvv", "sync"]).exits(0);
        daemon.stop();
    }
}

/// Returns the log records of a daemon that failed to start.
#[track_caller]
fn records(kb: &Kb, arguments: &[&str], code: i32) -> Vec<serde_json::Value> {
    let all: Vec<&str> = ["run", "--log-format", "json"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let ran = kb.run(&all).exits(code);
    let lines = ran.stderr.lines();
    let records: Vec<_> = lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{ran:#?}")))
        .collect();
    assert!(!records.is_empty(), "{ran:#?}");
    records
}

#[test]
fn a_daemon_that_cannot_start_says_so_in_the_form_of_its_log() {
    let service = Service::start();
    let mut kb = service.mirror();
    let settings = kb.read("kbsync.yaml");
    let says = |kb: &Kb, arguments: &[&str], code: i32, words: &str| {
        let records = records(kb, arguments, code);
        let last = records.last().expect("a record");
        assert_eq!(last["level"], "ERROR", "{last}");
        assert_eq!(last["exit_code"], code, "{last}");
        let message = last["message"].as_str().expect("a text");
        assert!(message.contains(words), "{last}");
        assert!(last["help"].is_string(), "{last}");
    };
    says(&kb, &["--listne", "x"], 2, "unexpected argument");
    kb.write("kbsync.yaml", &format!("{settings}nonsense: 1\n"));
    says(&kb, &[], 2, "nonsense");
    kb.write("kbsync.yaml", &settings);
    kb.set("KBSYNC_TOKEN", "").set("KBSYNC_TOKENN", "x");
    says(&kb, &[], 2, "there is no token");
    kb.set("KBSYNC_LOG", "kbsync=loud");
    says(&kb, &[], 2, "is no log filter");
}
