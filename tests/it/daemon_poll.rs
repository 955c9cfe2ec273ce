//! `kbsync run` by itself: nobody tells it anything, and it asks as often as its settings and its budget let it.

use crate::{
    daemon::{Daemon, articles, mirror, unlimited, until},
    kb::{Kb, Service},
};
use std::{os::unix::fs::MetadataExt as _, path::PathBuf, time::SystemTime};

/// Every file that the writer sees, with what a write would change of it.
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
    let brought = "trigger=poll outcome=Done actions=1 problems=0 requests=1 ";
    until("a poll brings it", || daemon.log().contains(brought));
    let mut files = articles(&kb).into_iter();
    assert!(files.any(|path| kb.read(&path).contains("from the dashboard")));
    // With nothing to do, one that follows asks once and touches nothing.
    let before = stamps(&kb);
    let quiet = "trigger=poll outcome=Done actions=0 problems=0 requests=1 ";
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
    let spent = "the budget of requests is spent";
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
    // With more to spend it goes on.
    let budget = "budget: {per_minute: 1000, per_day: 1000}\n";
    kb.write("kbsync.yaml", &(settings + budget));
    kb.run(&["sync"]).exits(0);
    assert_eq!(articles(&kb).len(), service.sandbox.articles().len());
}
