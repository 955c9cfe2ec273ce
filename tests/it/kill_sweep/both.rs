//! Scenarios in which both sides change: merges, conflicts, deletions against edits, everything at once; and the other
//! commands that write.

use super::stage::{Stage, text};
use super::sweep::{SYNC, Scenario};
use kbsync::sandbox::NewSeed;

fn two(stage: &Stage) {
    stage.synced("alpha", &["one", "two"]);
}

fn conflict(stage: &Stage) {
    two(stage);
    stage.edit("alpha/one.html", "Middle", "Mine");
    stage.web_text("one", "Middle", "Theirs");
}

fn shown(stage: &Stage) {
    conflict(stage);
    stage.sync();
}

fn everything(stage: &Stage) {
    let beta = stage.category("beta");
    stage.article(beta, "other");
    let slugs = [
        "edited",
        "gone",
        "renamed",
        "moved",
        "first",
        "second",
        "webbed",
        "merged",
        "clash",
        "web-gone",
        "web-moved",
    ];
    stage.synced("alpha", &slugs);
    stage.edit("alpha/edited.html", "Middle", "Mine");
    stage.remove("alpha/gone.html");
    stage.rename("alpha/renamed.html", "alpha/newly-named.html");
    stage.rename("alpha/moved.html", "beta/moved.html");
    stage.rename("alpha/first.html", "alpha/third.html");
    stage.rename("alpha/second.html", "alpha/first.html");
    stage.new_file("alpha/fresh.html", "title: Fresh\n");
    stage.edit("alpha/merged.html", "First", "Mine");
    stage.edit("alpha/clash.html", "Middle", "Mine");
    stage.web_text("merged", "Last", "Theirs");
    stage.web_text("clash", "Middle", "Theirs");
    stage.web_text("webbed", "Middle", "Theirs");
    stage.sandbox.remove(stage.id("web-gone"));
    stage.web("web-moved", |article| article.category_id = beta);
    stage.article(beta, "arrived");
}

/// A command that need not be repeated: any sync finishes the command's work.
const ONCE: Scenario = Scenario { nested: 1, ..SYNC };

pub(super) const BOTH: &[Scenario] = &[
    Scenario {
        name: "everything at once",
        prepare: everything,
        // Few pairs of kills: each of these operations also has a scenario of its own.
        nested: 40,
        ..SYNC
    },
    Scenario {
        name: "two paragraphs merged",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "First", "Mine");
            stage.web_text("one", "Last", "Theirs");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "fields merged",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "title: one", "title: Mine");
            stage.web("one", |article| {
                article.slug = "uno".into();
                article.keywords = Some("theirs".into());
            });
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "the same edit on both sides",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Same");
            stage.web_text("one", "Middle", "Same");
        },
        ..SYNC
    },
    Scenario {
        name: "category renamed on both sides",
        prepare: |stage| {
            two(stage);
            stage.rename("alpha", "gamma");
            stage.web_category("alpha", |category| category.name = "Theirs".into());
        },
        runs: 2,
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "conflict",
        prepare: conflict,
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "conflict, --prefer local",
        prepare: conflict,
        command: &["sync", "--prefer", "local"],
        ..ONCE
    },
    Scenario {
        name: "conflict, --prefer remote",
        prepare: conflict,
        command: &["sync", "--prefer", "remote"],
        ..ONCE
    },
    Scenario {
        name: "resolve --keep local",
        prepare: shown,
        command: &["resolve", "alpha/one.html", "--keep", "local"],
        ..ONCE
    },
    Scenario {
        name: "resolve --keep remote",
        prepare: shown,
        command: &["resolve", "alpha/one.html", "--keep", "remote"],
        ..ONCE
    },
    Scenario {
        name: "resolve --keep both",
        prepare: shown,
        command: &["resolve", "alpha/one.html", "--keep", "both"],
        ..ONCE
    },
    Scenario {
        name: "conflict settled by hand",
        prepare: |stage| {
            shown(stage);
            stage.edit("alpha/one.html", "Mine", "Both");
            stage.remove("alpha/one.conflict.html");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "another edit on the service while a conflict waits",
        prepare: |stage| {
            shown(stage);
            stage.web_text("one", "Theirs", "Theirs again");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "two new articles at one place, equal",
        prepare: |stage| {
            let alpha = stage.synced("alpha", &["one"]);
            stage.new_file("alpha/new.html", "title: New\n");
            let text = text("alpha/new.html");
            let seed = NewSeed::new(alpha, "New", "new", &text);
            stage.sandbox.add_article(seed);
        },
        ..SYNC
    },
    Scenario {
        name: "two new articles at one place, not equal",
        prepare: |stage| {
            let alpha = stage.synced("alpha", &["one"]);
            stage.new_file("alpha/new.html", "title: New\n");
            stage.article(alpha, "new");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "removed here, edited there",
        prepare: |stage| {
            two(stage);
            stage.remove("alpha/one.html");
            stage.web_text("one", "Middle", "Theirs");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "edited here, deleted there",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.sandbox.remove(stage.id("one"));
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "edited here, deleted there, created anew",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.sandbox.remove(stage.id("one"));
            stage.sync();
        },
        command: &["resolve", "alpha/one.html", "--keep", "local"],
        ..ONCE
    },
    Scenario {
        name: "edited here, deleted there, given up",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.sandbox.remove(stage.id("one"));
            stage.sync();
        },
        command: &["resolve", "alpha/one.html", "--keep", "remote"],
        ..ONCE
    },
    Scenario {
        name: "removed here, deleted there",
        prepare: |stage| {
            two(stage);
            stage.remove("alpha/one.html");
            stage.sandbox.remove(stage.id("one"));
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "moved here, edited there",
        prepare: |stage| {
            let beta = stage.category("beta");
            stage.article(beta, "other");
            two(stage);
            stage.rename("alpha/one.html", "beta/one.html");
            stage.web_text("one", "Middle", "Theirs");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "an older version restored",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.sync();
        },
        command: &["restore", "--yes", "alpha/one.html@1"],
        ..ONCE
    },
    Scenario {
        name: "a deleted article restored",
        prepare: |stage| {
            two(stage);
            stage.remove("alpha/one.html");
            stage.sync();
        },
        command: &["restore", "--yes", "alpha/one.html"],
        ..ONCE
    },
    Scenario {
        name: "a conflict's file moved to another folder",
        prepare: |stage| {
            let beta = stage.category("beta");
            stage.article(beta, "other");
            shown(stage);
            stage.rename("alpha/one.html", "beta/one.html");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "new",
        prepare: two,
        command: &["new", "--new-category", "Another one", "A title"],
        then: &["check"],
        quiet: 0,
        ..SYNC
    },
];
