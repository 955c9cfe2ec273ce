//! `kbsync diff`: against the base and against the service.

use crate::engine::workspaces::two_workspaces;
use crate::support::kb::{Kb, Service};
use crate::support::schema;
use uuid::Uuid;

fn synced() -> (Service, Kb, Uuid, Uuid) {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>\n<p>Same.</p>");
    let two = service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    service.sandbox.clear_requests();
    (service, kb, one, two)
}

#[test]
fn what_could_not_be_compared_is_told_of_the_path_in_the_mirror() {
    let (_service, kb, ..) = two_workspaces();
    let file = kb.read("en/start/one.html");
    kb.remove("en/start/one.html");
    for copy in ["a", "b"] {
        kb.write(&format!("en/start/{copy}.html"), &file);
    }
    let said = kb.run(&["diff"]).exits(0).stderr;
    let both = "kbsync cannot tell whether start/a.html or start/b.html is the file";
    for note in ["en/start/a.html: ", "en/start/b.html: "] {
        assert!(said.contains(&format!("{note}{both}")), "{said}");
    }
}

#[test]
fn an_edit_shows_its_lines_and_nothing_else() {
    let (service, kb, one, _) = synced();
    let quiet = kb.run(&["diff", "--exit-code"]).exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    kb.edit(
        "start/one.html",
        "title: one\n",
        "title: Uno # a comment\nowner: docs\n",
    );
    kb.edit("start/one.html", "<p>One.</p>", "<p>Uno.</p>");
    let ran = kb.run(&["diff", "--exit-code"]).exits(1);
    let expected = format!(
        "--- a/start/one.html\n+++ b/start/one.html\n@@ -1,7 +1,7 @@\n ---\n id: {one}\n\
         -title: one # a comment\n+title: Uno # a comment\n owner: docs\n ---\n\
         -<p>One.</p>\n+<p>Uno.</p>\n <p>Same.</p>\n"
    );
    assert_eq!(ran.stdout, expected);
    assert_eq!(service.sandbox.counts().total, 0);
    assert_eq!(kb.run(&["diff", "start/two.html"]).exits(0).stdout, "");
    kb.run(&["diff", "start/none.html"]).exits(2);
}

#[test]
fn a_fresh_clone_is_not_shown_as_one_difference() {
    let (_service, kb, _, _) = synced();
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    kb.edit("start/one.html", "One.", "Mine.");
    let ran = kb.run(&["diff", "--exit-code"]).exits(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("never synced here"), "{ran:#?}");
    let files = kb.run(&["diff", "--json"]).exits(0).json()["files"].clone();
    assert!(files.as_array().expect("a list").len() > 1, "{files}");
    let remote = kb.run(&["diff", "--remote"]).exits(0).stdout;
    assert!(remote.contains("+<p>Mine.</p>"), "{remote}");
    assert!(!remote.contains("two.html"), "{remote}");
    // The next sync says once why an edit is a conflict.
    let told = "this folder has never been synced";
    let ran = kb.run(&["sync"]).exits(3);
    assert!(ran.stderr.contains(told), "{ran:#?}");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(!ran.stderr.contains(told), "{ran:#?}");
}

#[test]
fn new_removed_and_renamed_files_are_shown() {
    let (_service, kb, _, _) = synced();
    kb.write("start/new.html", "---\ntitle: New\n---\n<p>New.</p>\n");
    kb.remove("start/two.html");
    std::fs::rename(
        kb.mirror().join("start/one.html"),
        kb.mirror().join("start/uno.html"),
    )
    .expect("renamed");
    let json = kb.run(&["diff", "--json"]).exits(0).json();
    schema::check("diff", &json);
    let files: Vec<_> = json["files"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|file| (file["old_path"].as_str(), file["path"].as_str()))
        .collect();
    assert_eq!(
        files,
        [
            (None, Some("start/new.html")),
            (Some("start/two.html"), None),
            (Some("start/one.html"), Some("start/uno.html")),
        ]
    );
    let text = kb.run(&["diff"]).exits(0).stdout;
    assert!(
        text.contains("--- /dev/null\n+++ b/start/new.html\n@@ -0,0 +1,4 @@\n+---\n"),
        "{text}"
    );
    assert!(text.contains("+++ /dev/null\n"), "{text}");
    assert!(text.contains("-<p>Two.</p>\n"), "{text}");
    assert!(
        text.contains("rename from start/one.html\nrename to start/uno.html\n"),
        "{text}"
    );
}

#[test]
fn a_category_s_words_are_compared_too() {
    let (_service, kb, _, _) = synced();
    kb.edit("start/_category.yaml", "name: start", "name: Beginn");
    let text = kb.run(&["diff", "start/_category.yaml"]).exits(0).stdout;
    assert!(text.contains("-name: start\n+name: Beginn\n"), "{text}");
}

#[test]
fn with_remote_a_category_s_words_are_those_of_the_service() {
    let (service, kb, _, _) = synced();
    let start = service.sandbox.categories()[0].id;
    service
        .sandbox
        .edit_category(start, |category| category.name = "Theirs".into());
    assert_eq!(kb.run(&["diff"]).exits(0).stdout, "");
    for asked in [None, Some("start"), Some("start/_category.yaml")] {
        let arguments: Vec<&str> = ["diff", "--remote"].into_iter().chain(asked).collect();
        let text = kb.run(&arguments).exits(0).stdout;
        assert!(
            text.starts_with("--- a/start/_category.yaml\n+++ b/start/_category.yaml\n"),
            "{asked:?}: {text}"
        );
        assert!(text.contains("-name: Theirs\n+name: start\n"), "{text}");
    }
    service.sandbox.clear_requests();
    let of_a_file = kb.run(&["diff", "--remote", "start/one.html"]).exits(0);
    assert_eq!(of_a_file.stdout, "");
    assert_eq!(service.sandbox.counts().total, 1);
}

#[test]
fn with_remote_not_all_of_many_categories_are_asked_for_unless_they_are_named() {
    let service = Service::empty();
    let ids: Vec<Uuid> = (0..8)
        .map(|number| {
            let id = service.category(&format!("c{number}"));
            service.article(id, "one", "<p>One.</p>");
            id
        })
        .collect();
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    for id in ids {
        service
            .sandbox
            .edit_category(id, |category| category.name = "Theirs".into());
    }
    kb.edit("c7/_category.yaml", "name: c7", "name: Mine");
    let ran = kb.run(&["diff", "--remote"]).exits(0);
    let shown = ran.stdout.matches("-name: Theirs").count();
    assert_eq!(shown, 5, "{ran:#?}");
    assert!(ran.stdout.contains("+name: Mine"), "{ran:#?}");
    assert!(
        ran.stderr.contains("not all categories were asked for"),
        "{ran:#?}"
    );
    let ran = kb.run(&["diff", "--remote", "c6"]).exits(0);
    assert!(
        ran.stdout.contains("-name: Theirs\n+name: c6\n"),
        "{ran:#?}"
    );
}

#[test]
fn with_remote_it_is_the_service_that_is_compared_with() {
    let (service, kb, one, two) = synced();
    service.sandbox.edit(one, |article| {
        article.text = "<p>Theirs.</p>\n<p>Same.</p>".into();
    });
    assert_eq!(
        kb.run(&["diff"]).exits(0).stdout,
        "",
        "the base knows nothing of it"
    );
    let text = kb.run(&["diff", "--remote"]).exits(0).stdout;
    assert!(
        text.contains("-<p>Theirs.</p>\n+<p>One.</p>\n <p>Same.</p>\n"),
        "{text}"
    );
    assert_eq!(
        service.sandbox.counts().total,
        2,
        "a listing and a category"
    );
    let text = kb
        .run(&["diff", "--remote", "start/one.html"])
        .exits(0)
        .stdout;
    assert!(text.contains("-<p>Theirs.</p>\n+<p>One.</p>\n"), "{text}");
    let last = service.sandbox.recent_requests(1);
    assert!(
        last[0].path.ends_with(&format!("/api/article/{one}")),
        "{last:?}"
    );
    service.sandbox.unpublish(two);
    let ran = kb.run(&["diff", "--remote", "start/two.html"]).exits(0);
    assert!(
        ran.stderr
            .contains("start/two.html: the service does not show it"),
        "{ran:#?}"
    );
    let category = service.sandbox.categories()[0].id;
    service.article(category, "three", "<p>Three.</p>");
    let text = kb.run(&["diff", "--remote"]).exits(0).stdout;
    assert!(
        text.contains("--- a/start/three.html\n+++ /dev/null\n"),
        "{text}"
    );
}

#[test]
fn colours_are_for_people_and_patch_can_read_the_rest() {
    let (_service, kb, _, _) = synced();
    kb.edit("start/one.html", "<p>One.</p>", "<p>O\u{1b}[2Jne.</p>");
    let piped = kb.run(&["diff"]).exits(0).stdout;
    assert!(
        piped.contains("+<p>O\u{1b}[2Jne.</p>\n"),
        "bytes as they are: {piped:?}"
    );
    let shown = kb.run(&["diff", "--color", "always"]).exits(0).stdout;
    assert!(shown.contains("\u{1b}["), "{shown:?}");
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
}

#[test]
fn differences_can_be_counted_beside_each_other_and_with_less_around_them() {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>1</p>\n<p>2</p>\n<p>3</p>\n<p>4</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "<p>4</p>", "<p>four</p>\n<p>five</p>");
    let counted = kb.run(&["diff", "--stat"]).exits(0).stdout;
    assert_eq!(counted, "file            lines\nstart/one.html  +2 -1\n");
    let near = kb.run(&["diff", "-U", "0"]).exits(0).stdout;
    assert!(
        near.ends_with("@@ -8 +8,2 @@\n-<p>4</p>\n+<p>four</p>\n+<p>five</p>\n"),
        "{near}"
    );
    let beside = kb.run(&["diff", "--side-by-side"]).exits(0).stdout;
    let lines: Vec<&str> = beside.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "--- last agreed: start/one.html",
            "+++ yours: start/one.html"
        ]
    );
    assert!(
        lines[3].starts_with("<p>4</p> ") && lines[3].ends_with(" │ <p>four</p>"),
        "{beside}"
    );
    assert!(lines[4].ends_with(" │ <p>five</p>"), "{beside}");
}
