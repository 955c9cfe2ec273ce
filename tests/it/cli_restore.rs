//! What `kbsync restore` takes a path or a folder for, with the real binary.

use crate::kb::Service;

/// The copy of a conflict is put into the history when it goes, and is no place that its article was ever at.
#[test]
fn an_article_that_was_deleted_in_conflict_was_deleted_where_its_file_was() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "two", "<p>Two.</p>");
    let earlier = service.article(start, "name", "<p>Earlier.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.remove("start/name.html");
    kb.run(&["sync"]).exits(0);
    let later = service.article(start, "name", "<p>Later.</p>");
    kb.run(&["sync"]).exits(0);
    kb.edit("start/name.html", "Later.", "Later, mine.");
    let theirs = |article: &mut kbsync::sandbox::Article| article.text = "<p>Theirs.</p>".into();
    service.sandbox.edit(later, theirs);
    kb.run(&["sync"]).exits(3);
    kb.edit("start/name.conflict.html", "Theirs.", "Theirs and mine.");
    service.sandbox.remove(later);
    kb.run(&["sync"]).exits(3);
    kb.run(&["resolve", "start/name.html", "--keep", "remote"])
        .exits(0);
    assert!(!kb.exists("start/name.html") && !kb.exists("start/name.conflict.html"));
    let ran = kb
        .run(&["restore", "start/name.html", "--dry-run"])
        .exits(0);
    assert!(
        ran.stderr.contains("the one that was deleted last") && !ran.stdout.contains("Earlier."),
        "{ran:#?}"
    );
    assert!(
        ran.stderr.contains(&format!("`kbsync restore {earlier}`")),
        "{ran:#?}"
    );
    kb.run(&["restore", "start/name.html"]).exits(0);
    assert!(!kb.read("start/name.html").contains("Earlier."));
    assert_eq!(service.sandbox.articles().len(), 2);
}

/// What took its place is moved away by a person; all the rest is not kept waiting for that.
#[test]
fn a_first_meeting_in_conflict_whose_place_was_taken_is_not_among_what_a_folder_brings_back() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>Theirs.</p>");
    for slug in ["two", "three"] {
        service.article(start, slug, "<p>Words.</p>");
    }
    let kb = service.mirror();
    kb.write("start/one.html", "---\ntitle: one\n---\n<p>Mine.</p>\n");
    kb.run(&["sync"]).exits(3);
    let path = |name: &str| kb.mirror().join("start").join(name);
    std::fs::rename(path("two.html"), path("one.html")).expect("renamed");
    kb.remove("start/three.html");
    kb.run(&["restore", "start"]).exits(0);
    assert!(kb.exists("start/three.html"));
    assert!(kb.read("start/one.html").contains("<p>Words.</p>"));
    assert_eq!(service.sandbox.articles().len(), 3);
}
