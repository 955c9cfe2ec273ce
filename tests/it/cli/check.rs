//! `kbsync check`: offline, without a token and without settings.

use super::layout;
use crate::support::kb::{Kb, Service};
use crate::support::schema;

const ID: &str = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";

fn broken() -> Kb {
    let kb = Kb::new();
    kb.write("start/_category.yaml", "name: Getting started\n");
    kb.write(
        "start/good.html",
        "---\ntitle: Good\n---\n<p>See <a href=\"other.html\">other</a></p>\n",
    );
    kb.write(
        "start/other.html",
        &format!("---\nid: {ID}\ntitle: Other\n---\n<p>x</p>\n"),
    );
    kb.write(
        "billing/copy.html",
        &format!("---\nid: {ID}\ntitle: Copy\n---\n<p>x</p>\n"),
    );
    kb.write(
        "billing/tags.html",
        "---\ntitle: Tags\n---\n<p>one</p>\n<div><p>two</p>\n",
    );
    kb.write(
        "billing/dead.html",
        "---\ntitle: Dead\n---\n<a href=\"gone.html\">x</a>\n<img src=\"/a.png\">\n",
    );
    kb.write("billing/broken.html", "---\ntitle: [a\n---\n");
    kb
}

#[test]
fn it_finds_what_is_wrong_and_exits_4() {
    let kb = broken();
    let before = kb.files();
    let ran = kb.run(&["check"]).exits(4);
    for (words, help) in [
        ("billing/broken.html:2: error: ", "help: "),
        ("billing/copy.html: error: the id ", "delete the `id:` line"),
        (
            "billing/dead.html:4: error: the link to \"gone.html\" leads nowhere",
            "correct the path",
        ),
        ("billing/dead.html:5: warning: ", "alt"),
        (
            "billing/tags.html:5: error: <div> is never closed",
            "add </div>",
        ),
        ("start/other.html: error: the id ", "delete the `id:` line"),
    ] {
        let mut lines = ran.stdout.lines();
        assert!(
            lines.any(|line| line.starts_with(words)),
            "{words}: {}",
            ran.stdout
        );
        assert!(
            lines.next().is_some_and(|line| line.contains(help)),
            "{help}: {}",
            ran.stdout
        );
    }
    assert!(!ran.stdout.contains("good.html"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "6 files, 5 errors, 1 warning\n");
    assert_eq!(kb.files(), before);
}

#[test]
fn lists_are_cut_and_say_how_much_is_left_out() {
    let kb = Kb::new();
    for n in 0..30 {
        kb.write(
            &format!("start/copy-{n:02}.html"),
            &format!("---\nid: {ID}\ntitle: Copy\nslug: one\n---\n<p>x</p>\n"),
        );
    }
    let images = "<img src=https://a.example/x.png>\n".repeat(500);
    // The only error of this file comes after more warnings than are listed.
    kb.write(
        "many/images.html",
        &format!("---\ntitle: Images\n---\n{images}<div>\n"),
    );
    let ran = kb.run(&["check"]).exits(4);
    let named = |line: &str| line.matches("start/copy-").count();
    for rule in ["[double-id]", "[double-slug]"] {
        let lines: Vec<&str> = ran
            .stdout
            .lines()
            .filter(|line| line.contains(rule))
            .collect();
        assert_eq!(lines.len(), 30, "{rule}");
        for line in lines {
            assert!(named(line) == 11 && line.contains(" and 19 more"), "{line}");
        }
    }
    let of_file = |line: &&str| line.starts_with("many/images.html");
    assert_eq!(ran.stdout.lines().filter(of_file).count(), 101);
    assert!(
        ran.stdout.contains("<div> is never closed"),
        "{}",
        ran.stdout
    );
    let left = "many/images.html: warning: 401 more findings in this file";
    assert!(ran.stdout.contains(left), "{}", ran.stdout);
    assert_eq!(ran.stderr, "31 files, 61 errors, 500 warnings\n");
    let json = kb.run(&["check", "--json"]).exits(4).json();
    schema::check("check", &json);
    assert_eq!(
        (&json["errors"], &json["warnings"]),
        (&61.into(), &500.into())
    );
    let findings = json["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 60 + 101);
}

#[test]
fn json_keeps_to_its_schema_and_github_gets_annotations() {
    let kb = broken();
    for arguments in [&["check", "--json"][..], &["check", "--format", "json"]] {
        let json = kb.run(arguments).exits(4).json();
        schema::check("check", &json);
        assert_eq!((&json["errors"], &json["warnings"]), (&5.into(), &1.into()));
    }
    let annotations = kb.run(&["check", "--format", "github"]).exits(4).stdout;
    assert!(
        annotations.contains("::error file=billing/tags.html,line=5,title=unclosed-tag::<div> is"),
        "{annotations}"
    );
    let narrow = layout::shown(&kb, 40, &["check", "--format", "github"]);
    assert!(narrow.contains(&annotations), "{narrow}");
}

#[test]
fn paths_choose_what_is_reported() {
    let kb = broken();
    let ran = kb.run(&["check", "start"]).exits(4);
    assert!(
        ran.stdout.starts_with("start/other.html: error"),
        "{}",
        ran.stdout
    );
    kb.run(&["check", "start/good.html"]).exits(0);
    // Files that are not named still count for the rules across files, such as an id that two files have.
    let ran = kb.run(&["check", "start/other.html"]).exits(4);
    let told = "the id is also that of billing/copy.html";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    assert_eq!(ran.stderr, "1 file, 1 error, 0 warnings\n");
    kb.run(&["check", "start/gone.html"])
        .exits(2)
        .complains("start/gone.html does not exist", "files or folders");
    kb.run(&["check", "/etc/passwd"])
        .exits(2)
        .complains("/etc/passwd is not in the mirror", "-C");
}

#[test]
fn settings_are_read_where_there_are_some() {
    let kb = Kb::with_settings("workspaces:\n");
    kb.run(&["check"])
        .exits(2)
        .complains("kbsync.yaml:1: ", "folder");
    let kb = Kb::with_settings(&format!("workspaces: [{{id: {ID}, folder: en}}]\n"));
    kb.write("en/start/a.html", "---\ntitle: A\n---\n<div>\n");
    let ran = kb.run(&["check"]).exits(4);
    assert!(
        ran.stdout.starts_with("en/start/a.html:4: error"),
        "{}",
        ran.stdout
    );
    // A check in the wrong folder must not look like a successful check.
    Kb::new()
        .run(&["check"])
        .exits(2)
        .complains("is not a mirror", "-C");
}

#[cfg(unix)]
#[test]
fn f130_links_are_not_followed() {
    let kb = Kb::new();
    kb.write("start/a.html", "---\ntitle: A\n---\n<p>x</p>\n");
    std::os::unix::fs::symlink("/etc", kb.mirror().join("etc")).expect("a link");
    std::os::unix::fs::symlink("/etc/passwd", kb.mirror().join("start/p.html")).expect("a link");
    let ran = kb.run(&["check"]).exits(4);
    assert_eq!(ran.stderr, "1 file, 1 error, 0 warnings\n");
    assert!(
        ran.stdout
            .starts_with("start/p.html: error: not synced: a symbolic link"),
        "{}",
        ran.stdout
    );
    kb.write(".kbsyncignore", "start/p.html\n");
    let ran = kb.run(&["check"]).exits(0);
    assert_eq!(ran.stderr, "1 file, 0 errors, 0 warnings\n");
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_sync_reports_of_names_and_places_is_an_error() {
    use std::os::unix::ffi::OsStrExt as _;
    let (_service, kb, _) = crate::cli::categories::synced();
    let text = "---\ntitle: A\n---\n<p>x</p>\n";
    let odd = |bytes: &[u8]| kb.mirror().join(std::ffi::OsStr::from_bytes(bytes));
    std::fs::write(odd(b"start/b\xff.html"), text).expect("a file");
    std::fs::create_dir(odd(b"c\xff")).expect("a folder");
    kb.write("root.html", text);
    kb.write("start/UP.HTML", text);
    for command in ["check", "sync"] {
        let ran = kb.run(&[command]).exits(4);
        for (path, told) in [
            ("c\u{fffd}", "the name is not UTF-8"),
            ("root.html", "an article must be in a category's folder"),
            ("start/UP.HTML", "the name must end in `.html`"),
            ("start/b\u{fffd}.html", "the name is not UTF-8"),
        ] {
            let mut lines = ran.stdout.lines();
            let is_told = lines.any(|line| line.contains(path)) && ran.stdout.contains(told);
            assert!(is_told, "{command}, {path}: {ran:#?}");
        }
    }
    let ran = kb.run(&["check"]);
    assert_eq!(ran.stderr, "1 file, 4 errors, 0 warnings\n", "{ran:#?}");
}

#[test]
fn a_misspelt_key_that_hides_an_article_keeps_it_from_being_sent() {
    let (service, kb, _) = crate::cli::categories::synced();
    let path = "start/secret.html";
    for (line, meant) in [("enabeld: false", "enabled"), ("drafft: true", "draft")] {
        kb.write(path, &format!("---\ntitle: S\n{line}\n---\n<p>x</p>\n"));
        for command in ["check", "sync"] {
            let ran = kb.run(&[command]).exits(4);
            let told = format!("did you mean `{meant}`?");
            assert!(ran.stdout.contains(&told), "{command}: {ran:#?}");
        }
    }
    assert_eq!(service.sandbox.articles().len(), 1);
}

#[test]
fn a_key_that_is_nearly_one_of_a_category_is_found_here_and_stops_a_sync() {
    let (_service, kb, _) = crate::cli::categories::synced();
    let yaml = "start/_category.yaml";
    kb.edit(yaml, "name:", "nam:");
    let told = "`nam` is not a key of kbsync";
    let ran = kb.run(&["check"]).exits(4);
    assert!(
        ran.stdout.starts_with(&format!("{yaml}:2: error: {told}")),
        "{ran:#?}"
    );
    let ran = kb.run(&["sync"]).exits(4);
    assert!(ran.stdout.contains(told), "{ran:#?}");
    kb.edit(yaml, "nam:", "title:");
    let ran = kb.run(&["sync"]).exits(4);
    assert!(ran.stdout.contains("`title`"), "{ran:#?}");
    kb.edit(yaml, "title:", "descripton: Words\nname:");
    let ran = kb.run(&["check"]).exits(0);
    assert!(
        ran.stdout.starts_with(&format!(
            "{yaml}:2: warning: `descripton` is not sent: it is not a key of kbsync"
        )) && ran.stdout.contains("did you mean `description`?"),
        "{ran:#?}"
    );
}

#[test]
fn faults_that_the_service_has_as_well_are_sent_and_no_errors() {
    let service = Service::empty();
    let start = service.category("start");
    let marked = "<pre>\n<<<<<<< a\n=======\n>>>>>>> b\n</pre>";
    service.article(start, "git", marked);
    let long = service.article(start, "long", "<p>Long.</p>");
    let title = "x".repeat(300);
    service
        .sandbox
        .edit(long, |article| article.title.clone_from(&title));
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/git.html", "<pre>", "<p>Git.</p>\n<pre>");
    kb.edit("start/long.html", "Long.", "Longer.");
    kb.run(&["check"]).exits(0);
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.text(long), "<p>Longer.</p>");
    kb.edit("start/long.html", "xxx", "yyy");
    for command in ["check", "sync"] {
        let ran = kb.run(&[command]).exits(4);
        assert!(ran.stdout.contains("title has 300 characters"), "{ran:#?}");
    }
}

#[test]
fn a_text_that_a_number_sign_cuts_is_not_sent() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let title = || service.sandbox.article(one).expect("it is there").title;
    kb.edit(
        "start/one.html",
        "title: one",
        "title: Fixed #42 in two steps",
    );
    kb.write(
        "start/new.html",
        "---\ntitle: New #3 thing\n---\n<p>New.</p>\n",
    );
    for command in ["sync", "check"] {
        let ran = kb.run(&[command]).exits(4);
        for words in [
            "the text of `title` ends before the ` #`",
            "put the text into quotes",
        ] {
            assert!(ran.stdout.contains(words), "{words} in {ran:#?}");
        }
        assert!(ran.stdout.contains("start/one.html"), "{ran:#?}");
    }
    // No old line is shown that never existed.
    let ran = kb.run(&["diff"]).exits(0);
    assert!(!ran.stdout.contains("-title"), "{ran:#?}");
    assert!(ran.stderr.contains("ends before the ` #`"), "{ran:#?}");
    assert_eq!(
        (title().as_str(), service.sandbox.articles().len()),
        ("one", 1)
    );
    // Nor does it pass for the text that both sides have, and a comment is no obstacle.
    kb.remove("start/new.html");
    kb.edit(
        "start/one.html",
        "title: Fixed #42 in two steps",
        "title: one #42",
    );
    for command in ["sync", "check"] {
        kb.run(&[command]).exits(4);
    }
    kb.edit(
        "start/one.html",
        "title: one #42",
        "title: 'Fixed #42' # in two steps",
    );
    kb.run(&["sync"]).exits(0);
    assert_eq!(title(), "Fixed #42");
}

#[test]
fn a_category_whose_text_a_number_sign_cuts_waits() {
    let service = Service::empty();
    let category = service.category("start");
    service.article(category, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let name = || {
        service
            .sandbox
            .category(category)
            .expect("it is there")
            .name
    };
    for (key, line) in [
        ("name", "name: C #1"),
        ("description", "name: start\ndescription: For #1"),
    ] {
        let file = kb.read("start/_category.yaml");
        kb.edit("start/_category.yaml", "name: start", line);
        for command in ["sync", "check"] {
            let ran = kb.run(&[command]).exits(4);
            let message = format!("the text of `{key}` ends before the ` #`");
            assert!(ran.stdout.contains(&message), "{ran:#?}");
        }
        assert_eq!(name(), "start");
        kb.write("start/_category.yaml", &file);
    }
    kb.edit(
        "start/_category.yaml",
        "name: start",
        "name: 'C #1' # the first",
    );
    kb.run(&["sync"]).exits(0);
    assert_eq!(name(), "C #1");
}

#[test]
fn a_page_in_the_root_can_be_ignored() {
    let service = Service::empty();
    let kb = service.mirror();
    kb.write("index.html", "<p>The site.</p>");
    for command in ["sync", "check"] {
        let ran = kb.run(&[command]).exits(4);
        assert!(ran.stdout.contains("name it in .kbsyncignore"), "{ran:#?}");
    }
    for rule in ["index.html", "/index.html", "*.html"] {
        kb.write(".kbsyncignore", rule);
        for command in ["sync", "check"] {
            kb.run(&[command]).exits(0);
        }
    }
}
