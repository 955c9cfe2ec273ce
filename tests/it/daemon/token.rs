//! A token that the service refuses while the daemon runs: the daemon reads the token's source again.

use crate::support::daemon::{Daemon, mirror, until};
use crate::support::kb::{Kb, Service, TOKEN};
use crate::support::schema;
use kbsync::sandbox::{Access, Rights};
use rustix::process::Signal;
use std::path::PathBuf;

/// A mirror whose token is in a file.
fn with_token_file(service: &Service, token: &str) -> (Kb, PathBuf) {
    let mut kb = mirror(service);
    let file = kb.user_state().join("token");
    std::fs::write(&file, token).expect("written");
    kb.keeps_token_in("token");
    let path = file.to_str().expect("text");
    kb.set("KBSYNC_TOKEN", "").set("KBSYNC_TOKEN_FILE", path);
    (kb, file)
}

/// Starts the daemon with a token that the service does not know.
fn refused(kb: &Kb, file: &std::path::Path) -> Daemon {
    let file = file.to_str().expect("text");
    let variables = [("KBSYNC_TOKEN", ""), ("KBSYNC_TOKEN_FILE", file)];
    let daemon = Daemon::spawn_with(kb, &[], &variables);
    until("the token is refused", || {
        daemon.log().contains("refused the daemon's token")
    });
    daemon
}

const CHANGED: &str = "the token has changed; the daemon continues with the new one";

#[test]
fn a_token_file_is_read_again_at_the_next_try() {
    let service = Service::start();
    let (kb, file) = with_token_file(&service, "CANARY-other");
    let daemon = refused(&kb, &file);
    // An unchanged token is not reported.
    kb.run(&["sync"]).exits(1);
    assert!(!daemon.log().contains(CHANGED), "{}", daemon.log());
    std::fs::write(&file, TOKEN).expect("written");
    // A command is a try without back-off.
    kb.run(&["sync"]).exits(0);
    until("it continues", || {
        daemon.log().contains("syncing works again")
    });
    assert_eq!(daemon.log().matches(CHANGED).count(), 1);
    // The metrics and the status show the budget of the new token.
    let left = kb.run(&["status", "--json"]).exits(0).json();
    assert!(left["budget"]["day_left"].as_u64() < Some(1440), "{left}");
    daemon.stop();
}

#[test]
fn a_signal_makes_the_daemon_read_the_token_and_try_at_once() {
    for signal in [Signal::HUP, Signal::USR1] {
        let service = Service::start();
        let (kb, file) = with_token_file(&service, "CANARY-other");
        let daemon = refused(&kb, &file);
        std::fs::write(&file, TOKEN).expect("written");
        daemon.signal(signal);
        // The next try by itself comes after 15 seconds or more.
        until("it continues", || {
            daemon.log().contains("syncing works again")
        });
        let log = daemon.log();
        assert_eq!(log.matches(CHANGED).count(), 1, "{log}");
        let (_, after) = log.split_once("syncing works again, after ").expect("it");
        let seconds = after.lines().next().expect("a time");
        assert!(!seconds.contains('m') || seconds.contains("ms"), "{log}");
        daemon.stop();
    }
}

#[test]
fn a_token_that_cannot_be_read_again_changes_nothing_and_is_one_line() {
    let service = Service::start();
    let (mut kb, file) = with_token_file(&service, TOKEN);
    let path = file.to_str().expect("text").to_owned();
    let variables = [("KBSYNC_TOKEN", ""), ("KBSYNC_TOKEN_FILE", path.as_str())];
    let daemon = Daemon::start_with(&kb, &[], &variables);
    kb.set("KBSYNC_TOKEN", TOKEN);
    service.sandbox.revoke_token(TOKEN);
    std::fs::remove_file(&file).expect("removed");
    let unread = "the daemon keeps the old token: ";
    // The first of them meets the refusal.
    for _ in 0..4 {
        kb.run(&["sync"]).exits(1);
    }
    until("it is told", || daemon.log().contains(unread));
    let log = daemon.log();
    assert_eq!(log.matches(unread).count(), 1, "{log}");
    assert!(log.contains("it does not exist"), "{log}");
    // The old token is valid again.
    service
        .sandbox
        .add_token(TOKEN, Rights::everywhere(Access::Write));
    kb.run(&["sync"]).exits(0);
    daemon.stop();
}

#[test]
fn a_command_and_the_doctor_name_the_refused_token_of_the_daemon() {
    let service = Service::start();
    let mut kb = mirror(&service);
    kb.set("TZ", "UTC");
    // The commands have a valid token.
    let daemon = Daemon::spawn_with(&kb, &[], &[("KBSYNC_TOKEN", "CANARY-other")]);
    until("the token is refused", || {
        daemon.log().contains("refused the daemon's token")
    });
    let refused = "the service refused the daemon's token, which is from the variable KBSYNC_TOKEN";
    let ran = kb.run(&["sync"]).exits(1);
    let ran = ran.complains(refused, "must be restarted for a variable");
    assert_eq!(ran.stderr.matches("error:").count(), 1, "{ran:#?}");
    let json = kb.run(&["sync", "--json"]).exits(1).json();
    schema::check("report", &json);
    assert_eq!(
        (&json["error"], &json["exit_code"]),
        (&refused.into(), &1.into())
    );
    let doctor = kb.run(&["doctor"]).exits(1).stdout;
    assert!(
        doctor.contains(&format!("bad  daemon       {refused}")),
        "{doctor}"
    );
    assert!(doctor.contains("must be restarted"), "{doctor}");
    kb.run(&["doctor", "--health"]).exits(0);
    // The status and the log name the same next try: in some seconds, not at the poll an hour later.
    let daemon_json = || kb.run(&["status", "--json"]).exits(0).json()["daemon"].clone();
    let next = daemon_json()["next_poll"]
        .as_str()
        .expect("a time")
        .to_owned();
    let next = chrono::DateTime::parse_from_rfc3339(&next).expect("a time");
    let left = (next.to_utc() - chrono::Utc::now()).num_seconds();
    let log = daemon.log();
    let (_, said) = log.split_once("next try in ").expect("the next try");
    let (wait, _) = said
        .split_once(", then at growing intervals")
        .expect("a wait");
    let wait = humantime::parse_duration(wait).expect("a time").as_secs();
    assert!(wait < 60, "{log}");
    // The first tries may be over by now, and the back-off grows.
    assert!(left < 5 * 60, "{left} s");
    daemon.stop();
}
