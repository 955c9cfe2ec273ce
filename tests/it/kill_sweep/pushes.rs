//! Scenarios of changes that go to the service.

use super::stage::Stage;
use super::sweep::{SYNC, Scenario};
use crate::support::faults::habits::{Habits, Normalise};
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};

fn two(stage: &Stage) {
    stage.synced("alpha", &["one", "two"]);
}

/// A writing operation: the run after a kill is killed as well.
const PUSH: Scenario = Scenario { nested: 1, ..SYNC };

fn rewriting(habits: &mut Habits) {
    habits.normalise = Normalise::ALL;
}

fn losing(stage: &Stage, method: &str, path: &str) {
    stage.sandbox.inject(Fault::once(
        Matcher::new(method, path),
        FaultKind::ResetAfter,
    ));
}

pub(super) const PUSHES: &[Scenario] = &[
    Scenario {
        name: "text edited",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
        },
        ..PUSH
    },
    Scenario {
        name: "title and keywords edited",
        prepare: |stage| {
            two(stage);
            stage.edit(
                "alpha/one.html",
                "title: one\n",
                "title: Another\nkeywords: a, b\nowner: me\n",
            );
        },
        ..PUSH
    },
    Scenario {
        name: "two edited",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.edit("alpha/two.html", "Middle", "Mine");
        },
        command: &["push"],
        then: &["push"],
        ..PUSH
    },
    Scenario {
        name: "new file",
        prepare: |stage| {
            two(stage);
            stage.new_file("alpha/new.html", "title: New\n# a remark\n");
        },
        ..PUSH
    },
    Scenario {
        name: "new draft",
        prepare: |stage| {
            two(stage);
            stage.new_file("alpha/new.html", "title: New\ndraft: true\n");
        },
        ..PUSH
    },
    Scenario {
        name: "new folder",
        prepare: |stage| {
            two(stage);
            stage.new_file("gamma/new.html", "title: New\n");
        },
        ..PUSH
    },
    Scenario {
        name: "new folder with its own words",
        prepare: |stage| {
            two(stage);
            stage.write(
                "gamma/_category.yaml",
                "name: Third\ndescription: All of it\n",
            );
            stage.new_file("gamma/new.html", "title: New\n");
            stage.new_file("gamma/newer.html", "title: Newer\n");
        },
        ..PUSH
    },
    Scenario {
        name: "file renamed",
        prepare: |stage| {
            two(stage);
            stage.rename("alpha/one.html", "alpha/uno.html");
        },
        ..PUSH
    },
    Scenario {
        name: "file moved",
        prepare: |stage| {
            let beta = stage.category("beta");
            stage.article(beta, "other");
            two(stage);
            stage.rename("alpha/one.html", "beta/one.html");
        },
        ..PUSH
    },
    Scenario {
        name: "file moved into a new folder and edited",
        prepare: |stage| {
            two(stage);
            stage.rename("alpha/one.html", "gamma/uno.html");
            stage.edit("gamma/uno.html", "Middle", "Mine");
        },
        ..PUSH
    },
    Scenario {
        name: "folder renamed",
        prepare: |stage| {
            two(stage);
            stage.rename("alpha", "gamma");
            stage.edit("gamma/one.html", "Middle", "Mine");
        },
        ..PUSH
    },
    Scenario {
        name: "category's words edited",
        prepare: |stage| {
            two(stage);
            stage.edit(
                "alpha/_category.yaml",
                "name: alpha\n",
                "name: Alpha\ndescription: The first\n",
            );
        },
        ..PUSH
    },
    Scenario {
        name: "file removed",
        prepare: |stage| {
            two(stage);
            stage.remove("alpha/one.html");
        },
        ..PUSH
    },
    Scenario {
        name: "a file moved over another",
        prepare: |stage| {
            two(stage);
            stage.rename("alpha/one.html", "alpha/two.html");
        },
        ..PUSH
    },
    Scenario {
        name: "folder removed",
        prepare: |stage| {
            let beta = stage.category("beta");
            stage.article(beta, "other");
            two(stage);
            stage.remove("alpha");
        },
        ..PUSH
    },
    Scenario {
        name: "file copied",
        prepare: |stage| {
            two(stage);
            stage.write("alpha/copy.html", &stage.read("alpha/one.html"));
        },
        ..PUSH
    },
    Scenario {
        name: "article disabled",
        prepare: |stage| {
            two(stage);
            stage.edit(
                "alpha/one.html",
                "title: one\n",
                "title: one\nenabled: false\n",
            );
        },
        ..PUSH
    },
    Scenario {
        name: "unpublished article edited",
        prepare: |stage| {
            two(stage);
            stage.sandbox.unpublish(stage.id("one"));
            stage.sync();
            stage.edit("alpha/one.html", "Middle", "Mine");
        },
        ..PUSH
    },
    Scenario {
        name: "unpublished article removed",
        prepare: |stage| {
            two(stage);
            stage.sandbox.unpublish(stage.id("one"));
            stage.sync();
            stage.remove("alpha/one.html");
        },
        ..PUSH
    },
    Scenario {
        name: "new file for a service that rewrites what it gets",
        habits: rewriting,
        rewrites: true,
        prepare: |stage| {
            two(stage);
            stage.new_file("alpha/New.html", "title: \"New \"\n");
            stage.edit("alpha/New.html", "<p>", "<p onclick=\"x()\"><b>");
        },
        ..PUSH
    },
    Scenario {
        name: "edit for a service that rewrites what it gets",
        habits: rewriting,
        rewrites: true,
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "<b>Mine</b>");
        },
        ..PUSH
    },
    Scenario {
        name: "edit for a service whose reads lag behind",
        habits: |habits| habits.stale_reads_after_write = 1,
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
        },
        ..PUSH
    },
    Scenario {
        name: "the answer to a POST is lost",
        prepare: |stage| {
            two(stage);
            stage.new_file("alpha/new.html", "title: New\n");
            losing(stage, "POST", "/api/article");
        },
        ..PUSH
    },
    Scenario {
        name: "the answer to a PUT is lost",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/one.html", "Middle", "Mine");
            losing(stage, "PUT", "/api/article/");
        },
        ..PUSH
    },
    Scenario {
        name: "the answer to a DELETE is lost",
        prepare: |stage| {
            two(stage);
            stage.remove("alpha/one.html");
            losing(stage, "DELETE", "/api/article/");
        },
        ..PUSH
    },
    Scenario {
        name: "the answer to a category's PUT is lost",
        prepare: |stage| {
            two(stage);
            stage.edit("alpha/_category.yaml", "name: alpha\n", "name: Alpha\n");
            losing(stage, "PUT", "/api/category/");
        },
        ..PUSH
    },
    Scenario {
        name: "five removals held for their number",
        prepare: |stage| {
            stage.synced("alpha", &["a", "b", "c", "d", "e", "f", "g"]);
            for slug in ["a", "b", "c", "d", "e"] {
                stage.remove(&format!("alpha/{slug}.html"));
            }
        },
        ..SYNC
    },
    Scenario {
        name: "five removals with --allow-deletes",
        prepare: |stage| {
            stage.synced("alpha", &["a", "b", "c", "d", "e", "f", "g"]);
            for slug in ["a", "b", "c", "d", "e"] {
                stage.remove(&format!("alpha/{slug}.html"));
            }
        },
        command: &["sync", "--allow-deletes"],
        then: &["sync", "--allow-deletes"],
        ..PUSH
    },
    Scenario {
        name: "five held removals approved",
        prepare: |stage| {
            stage.synced("alpha", &["a", "b", "c", "d", "e", "f", "g"]);
            for slug in ["a", "b", "c", "d", "e"] {
                stage.remove(&format!("alpha/{slug}.html"));
            }
            stage.sync();
        },
        command: &["approve", "--yes"],
        ..PUSH
    },
];
