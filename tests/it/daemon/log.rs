//! The daemon's log at every level, including all libraries: the token is not in it.
//!
//! The whole output is searched when the test ends.

use crate::support::canary::{CANARY, content};
use crate::support::daemon::{Daemon, article, mirror, until};
use crate::support::kb::{Kb, Service, TOKEN};
use kbsync::sandbox::{Access, Fault, FaultKind, Matcher, Rights};
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
        // A push whose answer is lost, and which is sent again.
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
        // A token that is rejected.
        sandbox.revoke_token(TOKEN);
        daemon.signal(Signal::USR1);
        let refused = "the service does not accept the token";
        until("it is told", || daemon.log().contains(refused));
        sandbox.add_token(TOKEN, Rights::everywhere(Access::Write));
        kb.run(&["-vvv", "sync"]).exits(0);
        daemon.stop();
    }
}
