//! Scenarios of the daemon, from its start to the end of its first cycle, and of the command that writes the settings.

use super::stage::Stage;
use super::sweep::{SYNC, Scenario};

fn two(stage: &Stage) {
    stage.synced("alpha", &["one", "two"]);
}

/// A daemon that is asked to stop after its first cycle. Any other command finishes the daemon's work.
const RUN: Scenario = Scenario {
    command: &["run"],
    ..SYNC
};

pub(super) const DAEMON: &[Scenario] = &[
    Scenario {
        name: "daemon: a first sync",
        prepare: |stage| {
            let alpha = stage.category("alpha");
            stage.article(alpha, "one");
            stage.article(alpha, "two");
        },
        ..RUN
    },
    Scenario {
        name: "daemon: edited while it was away",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.web_text("two", "Middle", "Theirs");
        },
        ..RUN
    },
    Scenario {
        name: "daemon: two paragraphs merged",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "First", "Mine");
            stage.web_text("one", "Last", "Theirs");
        },
        ..RUN
    },
    Scenario {
        name: "daemon: a new file, and one that moved",
        prepare: |stage| {
            two(stage);
            stage.new_file("alpha/fresh.html", "title: Fresh\n");
            stage.rename("alpha/two.html", "alpha/deux.html");
        },
        ..RUN
    },
    Scenario {
        name: "init",
        prepare: |stage| stage.remove("kbsync.yaml"),
        command: &[
            "init",
            "--service",
            "{service}",
            "--workspace",
            "{workspace}",
        ],
        then: &["check"],
        quiet: 0,
        ..SYNC
    },
];
