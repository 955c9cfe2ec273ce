//! Scenarios of changes that come from the service.

use super::stage::{Stage, text};
use super::sweep::{SYNC, Scenario};
use crate::support::faults::habits::{ListingEndpoint, Paging};

fn three(stage: &Stage) {
    let alpha = stage.category("alpha");
    let beta = stage.category("beta");
    stage.article(alpha, "one");
    stage.article(alpha, "two");
    stage.article(beta, "three");
}

fn many(stage: &Stage) {
    let alpha = stage.category("alpha");
    for number in 1..=12 {
        stage.article(alpha, &format!("n{number}"));
    }
}

pub(super) const PULLS: &[Scenario] = &[
    Scenario {
        name: "first sync",
        prepare: three,
        nested: 3,
        ..SYNC
    },
    Scenario {
        name: "first sync of many",
        prepare: many,
        ..SYNC
    },
    Scenario {
        name: "first sync beside files of one's own",
        prepare: |stage| {
            three(stage);
            stage.new_file("alpha/mine.html", "title: Mine\n");
        },
        ..SYNC
    },
    Scenario {
        name: "text edited on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.web_text("one", "Middle", "Edited");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "title and keywords edited on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one"]);
            stage.web("one", |article| {
                article.title = "Another".into();
                article.keywords = Some("a, b".into());
                article.introtext = Some("In short".into());
            });
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "article added on the service",
        prepare: |stage| {
            let alpha = stage.synced("alpha", &["one"]);
            stage.article(alpha, "two");
        },
        ..SYNC
    },
    Scenario {
        name: "category added on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one"]);
            let beta = stage.category("beta");
            stage.article(beta, "two");
        },
        ..SYNC
    },
    Scenario {
        name: "slug changed on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.web("one", |article| article.slug = "uno".into());
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "moved on the service",
        prepare: |stage| {
            let beta = stage.category("beta");
            stage.article(beta, "other");
            stage.synced("alpha", &["one", "two"]);
            stage.web("one", |article| article.category_id = beta);
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "moved into a new category and edited on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            let beta = stage.category("beta");
            stage.web("one", |article| article.category_id = beta);
            stage.web_text("one", "Middle", "Edited");
        },
        nested: 3,
        ..SYNC
    },
    Scenario {
        name: "category renamed on the service",
        prepare: |stage| {
            let alpha = stage.synced("alpha", &["one", "two"]);
            stage.sandbox.rename_category(alpha, "Gamma", "gamma");
            stage.web_text("one", "Middle", "Edited");
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "slugs swapped on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.web("one", |article| article.slug = "aside".into());
            stage.web("two", |article| article.slug = "one".into());
            stage.web("aside", |article| article.slug = "two".into());
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "three slugs in a circle on the service, one edited",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two", "three"]);
            stage.web_text("two", "Middle", "Edited");
            stage.web("one", |article| article.slug = "aside".into());
            stage.web("three", |article| article.slug = "one".into());
            stage.web("two", |article| article.slug = "three".into());
            stage.web("aside", |article| article.slug = "two".into());
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "article deleted on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.sandbox.remove(stage.id("one"));
        },
        nested: 1,
        ..SYNC
    },
    Scenario {
        name: "last article of a category deleted on the service",
        prepare: |stage| {
            let beta = stage.category("beta");
            stage.article(beta, "other");
            stage.synced("alpha", &["one"]);
            stage.sandbox.remove(stage.id("one"));
        },
        nested: 2,
        ..SYNC
    },
    Scenario {
        name: "unpublished on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.sandbox.unpublish(stage.id("one"));
        },
        ..SYNC
    },
    Scenario {
        name: "disabled and edited on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.web_text("one", "Middle", "Edited");
            stage.sandbox.disable(stage.id("one"));
        },
        nested: 2,
        ..SYNC
    },
    Scenario {
        name: "published again on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.sandbox.unpublish(stage.id("one"));
            stage.sync();
            stage.web_text("one", "Middle", "Edited");
            stage.sandbox.publish(stage.id("one"));
        },
        nested: 2,
        ..SYNC
    },
    Scenario {
        name: "many edited on the service",
        prepare: |stage| {
            many(stage);
            stage.sync();
            for number in 1..=12 {
                stage.web_text(&format!("n{number}"), "Middle", "Edited");
            }
        },
        nested: 20,
        ..SYNC
    },
    Scenario {
        name: "a CRLF file edited on the service",
        prepare: |stage| {
            stage.synced("alpha", &["one"]);
            let text = stage.read("alpha/one.html").replace('\n', "\r\n");
            stage.write("alpha/one.html", &text);
            stage.sync();
            stage.web_text("one", "Middle", "Edited");
        },
        ..SYNC
    },
    Scenario {
        name: "a listing without bodies",
        habits: |habits| {
            habits.bodies = false;
            habits.category_bodies = false;
        },
        prepare: |stage| {
            let alpha = stage.synced("alpha", &["one", "two", "three"]);
            stage.web_text("one", "Middle", "Edited");
            stage.web_text("two", "Middle", "Edited");
            stage.article(alpha, "four");
        },
        ..SYNC
    },
    Scenario {
        name: "no listing endpoint",
        habits: |habits| habits.listing_endpoint = ListingEndpoint::Missing(404),
        settings: "",
        prepare: |stage| {
            let alpha = stage.category("alpha");
            stage.article(alpha, "one");
            stage.article(alpha, "two");
            let settings = stage.read("kbsync.yaml");
            stage.write("kbsync.yaml", &format!("{settings}categories: [{alpha}]\n"));
            stage.sync();
            stage.web_text("one", "Middle", "Edited");
            stage.article(alpha, "three");
        },
        quiet: 2,
        ..SYNC
    },
    Scenario {
        name: "a listing in pages, with an ETag",
        habits: |habits| {
            habits.paging = Paging::Meta;
            habits.page_size = 2;
            habits.etag = true;
        },
        prepare: |stage| {
            stage.synced("alpha", &["one", "two", "three"]);
            stage.web_text("two", "Middle", "Edited");
            stage.sandbox.remove(stage.id("three"));
        },
        ..SYNC
    },
    Scenario {
        name: "pull: edited on both sides",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.edit("alpha/one.html", "First", "Mine");
            stage.web_text("one", "Last", "Theirs");
            stage.web_text("two", "Middle", "Edited");
        },
        command: &["pull"],
        then: &["pull"],
        nested: 2,
        ..SYNC
    },
    Scenario {
        name: "state lost, nothing changed",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.lose_state();
        },
        ..SYNC
    },
    Scenario {
        name: "state lost, both sides changed, --prefer remote",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.web_text("two", "Middle", "Theirs");
            stage.lose_state();
        },
        command: &["sync", "--prefer", "remote"],
        nested: 3,
        ..SYNC
    },
    Scenario {
        name: "state lost, both sides changed",
        prepare: |stage| {
            stage.synced("alpha", &["one", "two"]);
            stage.edit("alpha/one.html", "Middle", "Mine");
            stage.web_text("two", "Middle", "Theirs");
            stage.new_file("alpha/new.html", "title: New\n");
            stage.lose_state();
        },
        ..SYNC
    },
    Scenario {
        name: "articles of two categories exchanged on the service",
        prepare: |stage| {
            let beta = stage.category("beta");
            stage.article(beta, "three");
            stage.synced("alpha", &["one", "two"]);
            for slug in ["one", "two"] {
                stage.web(slug, |article| article.category_id = beta);
            }
            let alpha = stage.sandbox.categories()[1].id;
            stage.web("three", |article| {
                article.category_id = alpha;
                article.text = text("three, moved");
            });
        },
        nested: 3,
        ..SYNC
    },
];
