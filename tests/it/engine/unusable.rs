//! Content of the service that no file can express: it is held or left alone, and reported once, in helpful words.

use crate::support::faults::Inject as _;
use crate::support::kb::{Kb, Service};
use kbsync::sandbox::NewSeed;

/// A number of line breaks, which take two bytes each in JSON: over the limit of an article on the service, and not in
/// a file.
const TOO_MANY: usize = 9 * 1024 * 1024;

#[test]
fn a_category_whose_slug_no_file_can_say_is_no_problem() {
    for slug in [String::new(), "x".repeat(5000)] {
        let service = Service::empty();
        let workspace = service.workspace.parse().expect("an id");
        let category = service.sandbox.add_category(workspace, "Named", &slug);
        let article = service.article(category, "one", "<p>One.</p>");
        let kb = service.mirror();
        for _ in 0..3 {
            kb.run(&["sync"]).exits(0);
        }
        kb.run(&["check"]).exits(0);
        kb.run(&["status"]).exits(0);
        let path = format!("{category}/one.html");
        kb.edit(&path, "One.", "Two.");
        kb.run(&["sync"]).exits(0);
        assert!(service.text(article).contains("Two."));
        // The service's slug stays until a writer sets another slug.
        let held = || {
            service
                .sandbox
                .category(category)
                .expect("it is there")
                .slug
        };
        assert_eq!(held(), slug);
        let yaml = format!("{category}/_category.yaml");
        kb.edit(&yaml, "name: Named", "name: Named\nslug: good");
        kb.run(&["sync"]).exits(0);
        assert_eq!(held(), "good");
        kb.run(&["sync"]).exits(0);
    }
}

/// A mirror with an article that was edited here, and that has become too large on the service.
fn outgrown(bodies: bool) -> (Service, Kb) {
    let service = Service::empty();
    let start = service.category("start");
    let id = service
        .sandbox
        .add_article(NewSeed::new(start, "one", "one", "<p>One.</p>"));
    service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    service.sandbox.habits().bodies = bodies;
    service.sandbox.habits().category_bodies = bodies;
    service
        .sandbox
        .edit(id, |article| article.text = "\n".repeat(TOO_MANY))
        .expect("it is there");
    kb.edit("start/one.html", "One.", "Mine.");
    (service, kb)
}

#[test]
fn an_article_that_is_too_large_to_read_is_no_reason_to_try_again() {
    for bodies in [true, false] {
        let (service, kb) = outgrown(bodies);
        for _ in 0..2 {
            let ran = kb.run(&["sync"]).exits(4);
            let said = ran.stdout + &ran.stderr;
            assert!(said.contains("start/one.html"), "{said}");
            assert!(said.contains("larger than the limit"), "{said}");
        }
        assert_eq!(service.sandbox.counts().put, 0, "nobody was overwritten");
        assert!(kb.read("start/one.html").contains("Mine."));
    }
}
