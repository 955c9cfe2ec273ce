//! `kbsync resolve`: settles one conflict with exactly the two versions that were shown.

use crate::support::kb::{Kb, Service};
use crate::support::schema;
use uuid::Uuid;

const COPY: &str = "start/one.conflict.html";

/// `start/one.html` in conflict, and `start/two.html` edited in the mirror.
fn in_conflict() -> (Service, Kb, Uuid, Uuid) {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>One.</p>");
    let two = service.article(start, "two", "<p>Two.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "One.", "Mine.");
    service
        .sandbox
        .edit(one, |article| article.text = "<p>Theirs.</p>".into());
    kb.run(&["sync"]).exits(3);
    kb.edit("start/two.html", "Two.", "Two, edited.");
    (service, kb, one, two)
}

#[test]
fn each_version_can_be_kept_and_nothing_else_is_synced() {
    for (keep, path, expected) in [
        ("local", "start/one.html", "<p>Mine.</p>"),
        ("remote", "start/one", "<p>Theirs.</p>"),
        ("both", COPY, "<p>Mine.</p><p>Theirs.</p>"),
    ] {
        let (service, kb, one, two) = in_conflict();
        let json = kb
            .run(&["resolve", path, "--keep", keep, "--json"])
            .exits(0)
            .json();
        schema::check("report", &json);
        assert_eq!(service.text(one), expected, "{keep}");
        assert!(
            kb.read("start/one.html")
                .ends_with(&format!("---\n{expected}\n")),
            "{keep}"
        );
        assert!(!kb.exists(COPY), "{keep}");
        assert_eq!(service.text(two), "<p>Two.</p>", "{keep}");
        kb.run(&["sync"]).exits(0);
        assert_eq!(service.text(two), "<p>Two, edited.</p>", "{keep}");
    }
}

#[test]
fn a_conflict_of_categories_names_their_folders() {
    let service = Service::empty();
    let [start, guide, faq] = ["start", "guide", "faq"].map(|slug| service.category(slug));
    let one = service.article(start, "one", "<p>One.</p>");
    service.article(guide, "two", "<p>Two.</p>");
    service.article(faq, "three", "<p>Three.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    let place = |path: &str| kb.mirror().join(path);
    std::fs::rename(place("start/one.html"), place("guide/one.html")).expect("moved");
    service
        .sandbox
        .edit(one, |article| article.category_id = faq);
    let ran = kb.run(&["sync"]).exits(3);
    for told in ["yours:   category: guide", "theirs:  category: faq"] {
        assert!(ran.stdout.contains(told), "{told}: {ran:#?}");
    }
}

#[test]
fn edited_copies_stay_and_each_newer_version_gets_the_next_name() {
    let (service, kb, one, _) = in_conflict();
    let mut copies = vec![COPY.to_owned()];
    for number in 1..=3 {
        let edited = copies.last().expect("a copy");
        let text = kb.read(edited);
        kb.write(edited, &format!("{text}<p>Remark {number}.</p>\n"));
        service.sandbox.edit(one, |article| {
            article.text = format!("<p>Theirs, version {number}.</p>");
        });
        let ran = kb.run(&["sync"]).exits(3);
        let newer = format!("one.{number}.conflict.html");
        let told = format!("the service's version is in {newer}, because ");
        assert!(ran.stdout.contains(&told), "{ran:#?}");
        copies.push(format!("start/{newer}"));
        let shown = kb.read(copies.last().expect("a copy"));
        assert!(shown.contains(&format!("<p>Theirs, version {number}.</p>")));
        // The next command names the copy that is to be deleted.
        let ran = kb.run(&["sync"]).exits(3);
        assert!(ran.stdout.contains(&format!("delete {newer}")), "{ran:#?}");
    }
    // The command deletes the newest copy, which nobody edited.
    kb.run(&["resolve", "start/one", "--keep", "local"])
        .exits(0);
    let newest = copies.pop().expect("a copy");
    assert!(!kb.exists(&newest));
    for (copy, number) in copies.iter().zip(1..) {
        assert!(
            kb.read(copy)
                .ends_with(&format!("<p>Remark {number}.</p>\n"))
        );
    }
}

#[test]
fn a_copy_of_the_same_version_that_was_edited_is_written_once_more() {
    let (_service, kb, _, _) = in_conflict();
    let shown = kb.read(COPY);
    kb.edit(COPY, "Theirs.", "Remarked upon.");
    // The state of the conflict is lost, and with it the digest of the copy that kbsync wrote.
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    let ran = kb.run(&["sync"]).exits(3);
    let told =
        "is in one.1.conflict.html, because one.conflict.html does not hold what kbsync wrote";
    assert!(ran.stdout.contains(told), "{ran:#?}");
    assert_eq!(kb.read("start/one.1.conflict.html"), shown);
    assert!(kb.read(COPY).contains("Remarked upon."));
}

#[test]
fn a_settled_conflict_says_that_its_edited_copy_stays() {
    for loses_id in [false, true] {
        let (_service, kb, one, _) = in_conflict();
        kb.edit(COPY, "Theirs.", "Remarked upon.");
        for command in [&["sync", "start"][..], &["resolve"]] {
            let listed = kb.run(command);
            let told = "one.conflict.html was edited: `--keep remote` takes the service's text";
            assert!(listed.stdout.contains(told), "{listed:#?}");
        }
        if loses_id {
            kb.edit(COPY, &format!("id: {one}\n"), "");
        }
        let ran = kb
            .run(&["resolve", "start/one", "--keep", "local"])
            .exits(0);
        let told = "one.conflict.html was edited, so it stays";
        assert!(ran.stdout.contains(told), "{loses_id} {ran:#?}");
        assert!(kb.read(COPY).contains("Remarked upon."));
    }
}

#[test]
fn a_file_that_was_renamed_in_conflict_is_settled_by_the_command_that_is_proposed() {
    let (service, kb, one, _) = in_conflict();
    let mirror = kb.mirror();
    std::fs::rename(mirror.join("start/one.html"), mirror.join("start/uno.html")).expect("renamed");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(
        ran.stdout.contains("kbsync resolve start/uno.html"),
        "{ran:#?}"
    );
    kb.run(&["resolve", "start/uno.html", "--keep", "local"])
        .exits(0);
    assert_eq!(service.text(one), "<p>Mine.</p>");
    kb.run(&["sync"]).exits(0);
}

#[test]
fn a_file_that_was_renamed_or_moved_in_conflict_is_settled_at_once_by_its_old_or_new_path() {
    for (keep, expected) in [
        ("local", "<p>Mine.</p>"),
        ("remote", "<p>Theirs.</p>"),
        ("both", "<p>Mine.</p><p>Theirs.</p>"),
    ] {
        for to in ["start/uno.html", "other/one.html"] {
            for path in ["start/one.html", to] {
                let (service, kb, one, _) = in_conflict();
                let mirror = kb.mirror();
                let other = service.category("other");
                service.article(other, "three", "<p>Three.</p>");
                kb.run(&["sync"]).exits(3);
                std::fs::rename(mirror.join("start/one.html"), mirror.join(to)).expect("renamed");
                let case = format!("{keep} {to} by {path}");
                let ran = kb.run(&["resolve", path, "--keep", keep]);
                assert_eq!(ran.code, 0, "{case}: {ran:#?}");
                assert_eq!(service.text(one), expected, "{case}");
                assert!(!kb.exists(COPY), "{case}");
                let file = if keep == "remote" {
                    "start/one.html"
                } else {
                    to
                };
                assert!(
                    kb.read(file).ends_with(&format!("---\n{expected}\n")),
                    "{case}"
                );
                kb.run(&["sync"]).exits(0);
                assert_eq!(service.text(one), expected, "{case}");
            }
        }
    }
}

#[test]
fn check_distinguishes_a_left_over_copy_from_an_open_conflict() {
    let (_service, kb, _, _) = in_conflict();
    let copy = kb.read(COPY);
    let told = |words: &str| {
        let ran = kb.run(&["check", COPY]).exits(0);
        assert!(ran.stdout.contains(words), "{words}: {ran:#?}");
    };
    told("the article has an open conflict");
    kb.run(&["resolve", "start/one", "--keep", "local"])
        .exits(0);
    kb.write(COPY, &copy);
    told("no open conflict uses this conflict copy");
    // Without a state, as in CI, it is unknown.
    std::fs::remove_dir_all(kb.mirror().join(".kbsync")).expect("removed");
    told("until the conflict is settled");
}

#[test]
fn f068_a_version_of_the_service_that_nobody_saw_is_not_overwritten() {
    for keep in ["local", "remote", "both"] {
        let (service, kb, one, _) = in_conflict();
        service
            .sandbox
            .edit(one, |article| article.text = "<p>Later.</p>".into());
        let ran = kb
            .run(&["resolve", "start/one.html", "--keep", keep])
            .exits(3);
        assert!(
            ran.stdout
                .contains("not settled, because one side changed after you saw"),
            "{ran:#?}"
        );
        assert_eq!(service.text(one), "<p>Later.</p>", "{keep}");
        assert!(kb.read("start/one.html").contains("Mine."), "{keep}");
        assert!(
            kb.read(COPY).contains("Later."),
            "{keep}: the new version is shown"
        );
        kb.run(&["resolve", "start/one.html", "--keep", keep])
            .exits(0);
        assert!(!kb.exists(COPY));
    }
}

#[test]
fn a_file_that_moved_on_is_not_replaced_unseen() {
    for keep in ["remote", "both"] {
        let (service, kb, one, _) = in_conflict();
        kb.edit("start/one.html", "Mine.", "Mine, later.");
        let ran = kb
            .run(&["resolve", "start/one.html", "--keep", keep])
            .exits(3);
        assert!(ran.stdout.contains("not settled"), "{ran:#?}");
        assert!(kb.read("start/one.html").contains("Mine, later."), "{keep}");
        assert_eq!(service.text(one), "<p>Theirs.</p>", "{keep}");
        kb.run(&["resolve", "start/one.html", "--keep", keep])
            .exits(0);
    }
    // The person who keeps their own text has seen that text, so the command goes on.
    let (service, kb, one, _) = in_conflict();
    kb.edit("start/one.html", "Mine.", "Mine, later.");
    kb.run(&["resolve", "start/one.html", "--keep", "local"])
        .exits(0);
    assert_eq!(service.text(one), "<p>Mine, later.</p>");
}

#[test]
fn an_article_that_was_deleted_meanwhile_is_recreated_or_its_file_goes() {
    for keep in ["local", "remote"] {
        let (service, kb, one, _) = in_conflict();
        service.sandbox.remove(one);
        kb.run(&["resolve", "start/one.html", "--keep", keep])
            .exits(3);
        let ran = kb.run(&["resolve", "start/one.html"]).exits(2);
        for words in ["--keep local   # a new article", "--keep remote  # no file"] {
            assert!(ran.stderr.contains(words), "{ran:#?}");
        }
        assert!(!ran.stderr.contains("--keep both"), "{ran:#?}");
        assert!(kb.read("start/one.html").contains("Mine."));
        kb.run(&["resolve", "start/one.html", "--keep", keep])
            .exits(0);
        let there = service
            .sandbox
            .articles()
            .iter()
            .any(|article| article.text == "<p>Mine.</p>");
        assert_eq!(
            (there, kb.exists("start/one.html")),
            (keep == "local", keep == "local")
        );
        assert!(!kb.exists(COPY), "{keep}");
    }
}

#[test]
fn a_conflict_whose_other_version_changed_is_reported_as_a_new_one_and_is_no_roll_back() {
    let (service, kb, one, _) = in_conflict();
    let first = kb.run(&["sync", "start/one.html"]).exits(3).stdout;
    assert!(!first.contains("a new conflict"), "{first}");
    service
        .sandbox
        .edit(one, |article| article.text = "<p>Later.</p>".into());
    let new = "a new conflict, because the service's version changed since the last conflict";
    for told in [vec!["sync", "start/one.html"], vec!["status"]] {
        let told = kb.run(&told).stdout;
        assert!(told.contains(new), "{told}");
    }
    assert!(kb.read(COPY).contains("Later."));
    let ran = kb
        .run(&["resolve", "start/one.html", "--keep", "both"])
        .exits(0);
    assert!(!ran.stdout.contains("older version"), "{ran:#?}");
    assert_eq!(service.text(one), "<p>Mine.</p><p>Later.</p>");
    let log = kb.run(&["log", "start/one.html"]).exits(0).stdout;
    assert!(!log.contains("conflict copy"), "the service's own: {log}");
    assert!(log.contains("edited on the service"), "{log}");
}

#[test]
fn both_bodies_in_lines_are_one_below_the_other() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<h1>One</h1>\n<p>Same.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "<h1>One</h1>", "<h1>Mine</h1>");
    service.sandbox.edit(one, |article| {
        article.text = "<h1>Theirs</h1>\n<p>Same.</p>".into();
    });
    kb.run(&["sync"]).exits(3);
    kb.run(&["resolve", "start/one.html", "--keep", "both"])
        .exits(0);
    assert_eq!(
        service.text(one),
        "<h1>Mine</h1>\n<h1>Theirs</h1>\n<p>Same.</p>"
    );
}

/// Returns the commands that a text proposes for the file.
fn proposed(text: &str) -> Vec<Vec<String>> {
    let between = text.split('`').skip(1).step_by(2);
    between
        .filter_map(|command| command.strip_prefix("kbsync "))
        .filter(|command| command.contains("start/one.html"))
        .map(|command| command.split(' ').map(str::to_owned).collect())
        .collect()
}

#[test]
fn a_file_that_was_removed_in_conflict_comes_back_by_each_command_that_is_proposed() {
    let start = || {
        let (service, kb, one, _) = in_conflict();
        kb.remove("start/one.html");
        (service, kb, one)
    };
    let (service, kb, _) = start();
    for telling in [
        vec!["sync", "start/one.html"],
        vec!["status"],
        vec!["resolve", "start/one.html", "--keep", "local"],
        vec!["resolve", "start/one.html", "--keep", "both"],
    ] {
        let told = kb.run(&telling).stdout;
        assert_eq!(
            proposed(&told),
            [
                vec!["restore", "start/one.html"],
                vec!["resolve", "start/one.html", "--keep", "remote"],
            ],
            "{telling:?}: {told}"
        );
    }
    drop((service, kb));

    // The writer's version stays in place, beside the service's, and the conflict stands.
    let (service, kb, one) = start();
    kb.run(&["sync", "start/one.html"]).exits(3);
    kb.run(&["restore", "start/one.html"]).exits(3);
    assert!(kb.read("start/one.html").ends_with("---\n<p>Mine.</p>\n"));
    assert!(kb.read(COPY).ends_with("---\n<p>Theirs.</p>\n"));
    assert_eq!(service.text(one), "<p>Theirs.</p>");
    kb.run(&["resolve", "start/one.html", "--keep", "local"])
        .exits(0);
    assert_eq!(service.text(one), "<p>Mine.</p>");
    assert!(!kb.exists(COPY));

    let (service, kb, one) = start();
    kb.run(&["resolve", "start/one.html", "--keep", "remote"])
        .exits(0);
    assert!(kb.read("start/one.html").ends_with("---\n<p>Theirs.</p>\n"));
    assert_eq!(service.text(one), "<p>Theirs.</p>");
    assert!(!kb.exists(COPY));

    let (service, kb, one) = start();
    kb.run(&["sync", "--prefer", "remote", "start/one.html"])
        .exits(0);
    assert_eq!(service.text(one), "<p>Theirs.</p>");
    assert!(kb.exists("start/one.html") && !kb.exists(COPY));
}

#[test]
fn a_file_that_was_removed_after_its_article_was_deleted_comes_back_or_is_forgotten() {
    let start = || {
        let (service, kb, one, _) = in_conflict();
        service.sandbox.remove(one);
        kb.run(&["sync", "start/one.html"]).exits(3);
        kb.remove("start/one.html");
        (service, kb)
    };
    let (_service, kb) = start();
    let told = kb.run(&["status"]).exits(0).stdout;
    assert_eq!(
        proposed(&told),
        [vec!["restore", "start/one.html"]],
        "{told}"
    );
    kb.run(&["restore", "start/one.html"]).exits(3);
    assert!(kb.read("start/one.html").ends_with("---\n<p>Mine.</p>\n"));
    kb.run(&["resolve", "start/one.html", "--keep", "local"])
        .exits(0);

    let (_service, kb) = start();
    kb.run(&["sync", "start/one.html"]).exits(0);
    assert!(!kb.run(&["status"]).exits(0).stdout.contains("one.html"));
}

#[test]
fn a_conflict_whose_file_and_copy_both_went_is_not_settled_by_restoring_the_file() {
    type Removal = fn(&Kb);
    let both: Removal = |kb| {
        kb.remove("start/one.html");
        kb.remove(COPY);
    };
    let folder: Removal =
        |kb| std::fs::remove_dir_all(kb.mirror().join("start")).expect("it is removed");
    for (remove, path) in [
        (both, "start/one.html"),
        (both, "start"),
        (folder, "start/one.html"),
        (folder, "start"),
        (folder, "."),
    ] {
        let (service, kb, one, _) = in_conflict();
        remove(&kb);
        kb.run(&["restore", path]).exits(3);
        assert_eq!(service.text(one), "<p>Theirs.</p>", "{path}");
        assert!(kb.read("start/one.html").ends_with("---\n<p>Mine.</p>\n"));
        assert!(kb.read(COPY).ends_with("---\n<p>Theirs.</p>\n"), "{path}");
        let told = kb.run(&["status"]).exits(0).stdout;
        assert!(
            told.contains("resolve start/one.html` settles it"),
            "{told}"
        );
        // From here on, the conflict can be resolved by hand.
        kb.remove(COPY);
        kb.run(&["sync", "start/one.html"]).exits(0);
        assert_eq!(service.text(one), "<p>Mine.</p>");
    }
}

/// Returns the messages about a folder's conflicts, and its files, after the folder was renamed.
#[test]
fn a_file_that_was_removed_in_conflict_comes_back_into_its_folder_as_that_is_named_by_now() {
    for synced in [true, false] {
        let (service, kb, one, _) = in_conflict();
        kb.remove("start/one.html");
        let mirror = kb.mirror();
        std::fs::rename(mirror.join("start"), mirror.join("begin")).expect("renamed");
        let path = if synced {
            kb.run(&["sync"]).exits(3);
            let told = kb.run(&["status"]).exits(0).stdout;
            assert!(
                told.contains("kbsync restore begin/one.html")
                    && told.contains("kbsync resolve begin/one.html --keep remote"),
                "{told}"
            );
            "begin/one.html"
        } else {
            "start/one.html"
        };
        kb.run(&["restore", path]).exits(3);
        assert!(kb.read("begin/one.html").ends_with("---\n<p>Mine.</p>\n"));
        assert!(!kb.exists("start"), "{synced}");
        kb.run(&["sync"]).exits(3);
        assert!(!kb.exists("start"), "{synced}");
        assert_eq!(service.sandbox.categories().len(), 1);
        assert_eq!(service.text(one), "<p>Theirs.</p>");
        kb.run(&["resolve", "begin/one.html", "--keep", "local"])
            .exits(0);
        assert_eq!(service.text(one), "<p>Mine.</p>");
    }
}

#[test]
fn a_first_meeting_in_conflict_has_its_file_though_no_id_is_in_it() {
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", "<p>Theirs.</p>");
    let kb = service.mirror();
    kb.write("start/one.html", "---\ntitle: one\n---\n<p>Mine.</p>\n");
    kb.run(&["sync"]).exits(3);
    let told = kb.run(&["status"]).exits(0).stdout;
    assert!(
        told.contains("`kbsync resolve start/one.html`") && !told.contains("was removed"),
        "{told}"
    );
    kb.run(&["restore", "start/one.html"])
        .exits(3)
        .complains("start/one.html is in conflict", "--keep local");
    assert!(kb.read("start/one.html").ends_with("<p>Mine.</p>\n"));

    kb.remove("start/one.html");
    let told = kb.run(&["status"]).exits(0).stdout;
    assert!(told.contains("its file was removed"), "{told}");
    kb.run(&["restore", "start/one.html"]).exits(3);
    assert!(kb.read("start/one.html").ends_with("<p>Mine.</p>\n"));
    assert_eq!(service.text(one), "<p>Theirs.</p>");

    // A restore of the folder brings this file back together with the other missing files.
    let two = service.article(start, "two", "<p>Two.</p>");
    kb.run(&["sync"]).exits(3);
    kb.remove("start/one.html");
    kb.remove("start/two.html");
    kb.run(&["restore", "."]).exits(3);
    assert!(kb.read("start/one.html").ends_with("<p>Mine.</p>\n"));
    assert!(kb.exists("start/two.html"));
    assert!(service.sandbox.article(two).is_some());
    kb.remove("start/one.html");
    kb.run(&["restore", "start"]).exits(3);
    assert!(kb.read("start/one.html").ends_with("<p>Mine.</p>\n"));
}

#[test]
fn a_file_that_was_removed_in_conflict_comes_back_to_no_other_place() {
    let (_service, kb, _, _) = in_conflict();
    kb.remove("start/one.html");
    kb.run(&["restore", "start/one.html", "--to", "start/uno.html"])
        .exits(2)
        .complains("--to is for deleted articles", "leave --to out");
    assert!(!kb.exists("start/uno.html") && !kb.exists("start/one.html"));
}

#[test]
fn what_is_not_in_conflict_is_refused() {
    let (service, kb, _, _) = in_conflict();
    service.sandbox.clear_requests();
    kb.run(&["resolve", "start/two.html", "--keep", "local"])
        .exits(2)
        .complains("start/two.html is not in conflict", "kbsync resolve");
    let json = kb
        .run(&["resolve", "start/two.html", "--keep", "local", "--json"])
        .exits(2)
        .json();
    schema::check("report", &json);
    assert_eq!(json["outcome"], "failed");
    kb.run(&["resolve", "start/one.html"])
        .exits(2)
        .complains("which version is to be kept?", "name it");
    kb.run(&["resolve", "start/one.html", "--keep", "mine"])
        .exits(2);
    assert_eq!(service.sandbox.counts().total, 0);
    let fresh = service.mirror();
    fresh
        .run(&["resolve", "start/one.html", "--keep", "local"])
        .exits(2);
}

#[test]
fn without_a_path_the_conflicts_are_listed_with_both_sides() {
    let (service, kb, one, _) = in_conflict();
    service.sandbox.clear_requests();
    let ran = kb.run(&["resolve"]).exits(3);
    assert_eq!(
        ran.stdout,
        "⚡ start/one.html\n    line 5\n      yours:   <p>Mine.</p>\n      theirs:  <p>Theirs.</p>\n      \
         kbsync resolve start/one.html\n"
    );
    let json = kb.run(&["resolve", "--json"]).exits(3).json();
    schema::check("report", &json);
    assert_eq!(json["actions"][0]["id"], one.to_string());
    assert_eq!(json["actions"][0]["fields"], serde_json::json!(["text"]));
    assert_eq!(service.sandbox.counts().total, 0);
    kb.run(&["resolve", "start/one.html", "--keep", "local"])
        .exits(0);
    let ran = kb.run(&["resolve"]).exits(0);
    assert!(ran.stderr.contains("nothing is in conflict"), "{ran:#?}");
}

/// An article of seven paragraphs with three parts in conflict, and on each side a change without conflict.
fn in_parts() -> (Service, Kb, Uuid) {
    let text = |marks: [&str; 7]| marks.map(|mark| format!("<p>{mark}</p>")).join("\n");
    let service = Service::empty();
    let start = service.category("start");
    let one = service.article(start, "one", &text(["1", "2", "3", "4", "5", "6", "7"]));
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    kb.edit("start/one.html", "title: one", "title: Mine");
    kb.edit("start/one.html", "<p>1</p>", "<p>1, mine</p>");
    kb.edit("start/one.html", "<p>3</p>", "<p>3, mine</p>");
    kb.edit("start/one.html", "<p>7</p>", "<p>7, mine</p>");
    service.sandbox.edit(one, |article| {
        article.title = "Theirs".into();
        article.keywords = Some("theirs".into());
        article.text = text(["1", "2", "3, theirs", "4", "5, theirs", "6", "7, theirs"]);
    });
    kb.run(&["sync"]).exits(3);
    (service, kb, one)
}

#[test]
fn on_a_terminal_each_part_in_conflict_is_asked_for_and_the_rest_is_merged() {
    let (service, mut kb, one) = in_parts();
    kb.set("EDITOR", "sed -i s/theirs/edited/");
    let (field, block) = ("[y]ours, [t]heirs or [q]uit?", "or [q]uit?");
    let resolve = ["resolve", "start/one.html"];
    let ran = kb.at_terminal(
        &resolve,
        &[
            ("1 of 3", ""),
            (field, "t\r"),
            ("2 of 3", ""),
            ("yours:   <p>3, mine</p>", ""),
            ("theirs:  <p>3, theirs</p>", ""),
            // Neither Enter nor another word is an answer.
            (block, "\r"),
            (block, "you idiot\r"),
            (block, "old\r"),
            ("old:     <p>3</p>", ""),
            (block, "yours\r"),
            ("3 of 3", ""),
            (block, "e\r"),
        ],
    );
    assert!(
        ran.exits(0).stdout.contains("↔ merge"),
        "what was chosen went to both sides"
    );
    let article = service.sandbox.article(one).expect("an article");
    assert_eq!(article.title, "Theirs");
    assert_eq!(article.keywords.as_deref(), Some("theirs"));
    let expected = "<p>1, mine</p>\n<p>2</p>\n<p>3, mine</p>\n<p>4</p>\n<p>5, theirs</p>\n<p>6</p>\n\
                    <p>7, mine</p>\n<p>7, edited</p>";
    assert_eq!(service.text(one), expected);
    assert!(
        kb.read("start/one.html")
            .ends_with(&format!("{expected}\n"))
    );
    assert!(!kb.exists(COPY));
    kb.run(&["sync"]).exits(0);
}

#[test]
fn on_a_terminal_a_renamed_file_in_conflict_is_asked_for_too() {
    for is_synced in [true, false] {
        let (service, kb, one) = in_parts();
        let mirror = kb.mirror();
        let (from, to) = ("start/one.html", "start/renamed.html");
        std::fs::rename(mirror.join(from), mirror.join(to)).expect("renamed");
        if is_synced {
            kb.run(&["sync"]).exits(3);
        }
        let before = service.text(one);
        let resolve = ["resolve", "start/renamed.html"];
        kb.at_terminal(&resolve, &[("1 of 3", ""), ("[q]uit?", "q\r")])
            .exits(3);
        assert_eq!(service.text(one), before);
        // A file that cannot be read is no answer.
        kb.write("start/renamed.html", "no front matter");
        kb.at_terminal(&["resolve", "start/one.html"], &[]).exits(3);
        assert_eq!(service.text(one), before);
    }
}

#[test]
fn who_stops_at_a_question_has_settled_nothing() {
    let (service, kb, one) = in_parts();
    let before = (service.text(one), kb.read("start/one.html"));
    let resolve = ["resolve", "start/one.html"];
    let block = "or [q]uit?";
    let told = kb.run(&["resolve", "--json"]).exits(3).json();
    let reason = told["actions"][0]["reason"].as_str().expect("a text");
    let both = "both sides changed the title, both sides changed the same part of the text";
    assert!(reason.contains(both), "{reason}");
    let ran = kb.at_terminal(&resolve, &[(block, "t\r"), (block, "b\r"), (block, "q\r")]);
    assert!(ran.exits(3).stderr.contains("nothing was settled"));
    // The end of the input settles nothing either.
    let ran = kb.at_terminal(&resolve, &[(block, "t\r"), (block, "\u{4}")]);
    assert!(ran.exits(3).stderr.contains("nothing was settled"));
    assert_eq!(before, (service.text(one), kb.read("start/one.html")));
    assert!(kb.exists(COPY));
    // An edit made since then is in the text that is shown and settled.
    kb.edit("start/one.html", "3, mine", "3, mine again");
    let ran = kb.at_terminal(&resolve, &[(block, "y\r"), (block, "y\r"), (block, "t\r")]);
    assert!(
        ran.exits(0)
            .stderr
            .contains("yours:   <p>3, mine again</p>")
    );
    assert!(service.text(one).contains("<p>3, mine again</p>"));
    assert!(service.text(one).contains("<p>7, theirs</p>"));
}

#[test]
fn answers_that_break_the_markup_settle_nothing() {
    let (service, mut kb, one) = in_parts();
    kb.set("EDITOR", "sed -i 's/<p>3/<b>3/'");
    let block = "or [q]uit?";
    let ran = kb.at_terminal(
        &["resolve", "start/one.html"],
        &[(block, "t\r"), (block, "e\r"), (block, "t\r")],
    );
    let told = "the markup would be broken: <b>; nothing was settled";
    assert!(ran.exits(2).stderr.contains(told));
    assert!(service.text(one).contains("<p>7, theirs</p>"));
    assert!(kb.exists(COPY));
}

#[test]
fn on_a_terminal_a_file_whose_article_is_gone_is_asked_for() {
    for (answer, there) in [("y\r", true), ("t\r", false)] {
        let (service, kb, one, _) = in_conflict();
        service.sandbox.remove(one);
        kb.run(&["sync"]).exits(3);
        let listed = kb.run(&["resolve"]).exits(3).stdout;
        assert!(
            listed.contains("was deleted on the service, and the file was edited"),
            "{listed}"
        );
        let status = kb.run(&["status"]).exits(0).stdout;
        assert!(!status.contains("Hidden from readers"), "{status}");
        let ran = kb.at_terminal(&["resolve", "start/one.html"], &[("or [q]uit?", answer)]);
        assert!(ran.exits(0).stderr.contains("deleted on the service"));
        assert_eq!(kb.exists("start/one.html"), there);
    }
}

#[test]
fn a_merge_tool_gets_both_files_and_what_it_leaves_is_kept() {
    let (service, mut kb, one, _) = in_conflict();
    kb.set("KBSYNC_MERGE_TOOL", "false");
    kb.run(&["resolve", "start/one.html", "--tool"])
        .exits(1)
        .complains(
            "`false` failed, and nothing was settled",
            "KBSYNC_MERGE_TOOL",
        );
    assert!(kb.exists(COPY));
    // The tool would write to the terminal in between.
    kb.run(&["resolve", "--json", "start/one.html", "--tool"])
        .exits(2);
    // A merge tool that changes nothing settles nothing.
    kb.set("KBSYNC_MERGE_TOOL", "true");
    let ran = kb.run(&["resolve", "start/one.html", "--tool"]).exits(3);
    assert!(ran.stderr.contains("nothing was settled"), "{ran:#?}");
    assert!(kb.exists(COPY));
    let tool = kb.mirror().join("../tool");
    std::fs::write(&tool, "sed -i s/Mine./Ours./ $1 && grep -q Theirs. $2").expect("written");
    kb.set("KBSYNC_MERGE_TOOL", &format!("sh {}", tool.display()));
    kb.run(&["resolve", "start/one.html", "--tool"]).exits(0);
    assert_eq!(service.text(one), "<p>Ours.</p>");
    assert!(!kb.exists(COPY));
}

#[test]
fn a_file_with_an_unknown_id_becomes_an_article_without_its_id_line_and_goes_by_a_command() {
    let (service, kb, _, _) = in_conflict();
    kb.run(&["resolve", "start/one.html", "--keep", "local"])
        .exits(0);
    let stray = "start/stray.html";
    let id = format!("id: {}\n", Uuid::from_u128(7));
    kb.write(
        stray,
        &format!("---\n{id}title: Stray\n---\n<p>Stray.</p>\n"),
    );
    for command in ["sync", "status"] {
        let told = kb.run(&[command]).stdout.replace('\n', " ");
        assert!(
            told.contains("`kbsync resolve start/stray.html --keep local` creates it anew")
                && told.contains("or remove the `id:` line to create a new article"),
            "{told}"
        );
    }
    let before = service.sandbox.articles().len();
    kb.edit(stray, &id, "");
    kb.run(&["sync"]).exits(0);
    assert_eq!(service.sandbox.articles().len(), before + 1);
    // The file never lived here, and the log does not claim that it did.
    let stray = "start/other.html";
    kb.write(
        stray,
        &format!("---\n{id}title: Stray\n---\n<p>Stray.</p>\n"),
    );
    kb.run(&["sync"]).exits(3);
    kb.run(&["resolve", stray, "--keep", "remote"]).exits(0);
    let told = kb.run(&["log", stray]).exits(0).stdout;
    assert!(
        told.contains("no article had its id") && !told.contains("deleted on the service"),
        "{told}"
    );
}

#[test]
fn an_editor_that_changes_nothing_takes_nothing() {
    let (service, mut kb, one) = in_parts();
    let before = service.text(one);
    kb.set("EDITOR", "true");
    let block = "or [q]uit?";
    let answers = [
        (block, "t\r"),
        (block, "e\r"),
        ("nothing was edited", ""),
        (block, "q\r"),
    ];
    kb.at_terminal(&["resolve", "start/one.html"], &answers)
        .exits(3);
    assert_eq!(service.text(one), before);
}

#[test]
fn a_folder_names_the_conflicts_in_it_and_an_unchanged_file_is_skipped_by_a_tool() {
    let (service, mut kb, one, _) = in_conflict();
    let tool = kb.mirror().join("../tool");
    std::fs::write(&tool, "exit 0").expect("written");
    kb.set("KBSYNC_MERGE_TOOL", &format!("sh {}", tool.display()));
    let ran = kb
        .run(&["resolve", "start", "start/one.html", "--tool"])
        .exits(3);
    assert!(
        ran.stderr.contains(
            "nothing was changed in start/one.html; `kbsync resolve start/one.html --keep local` keeps it as it is"
        ),
        "{ran:#?}"
    );
    assert!(kb.exists(COPY));
    kb.run(&["resolve", "start", "--keep", "remote"]).exits(0);
    assert_eq!(service.text(one), "<p>Theirs.</p>");
    assert!(!kb.exists(COPY));
}

#[test]
fn of_two_files_with_an_id_only_the_article_s_own_names_the_conflict() {
    let (service, kb, one) = in_parts();
    let before = service.sandbox.article(one);
    kb.write("start/copy.html", &kb.read("start/one.html"));
    kb.run(&["resolve", "start/copy.html", "--keep", "local"])
        .exits(2);
    assert_eq!(service.sandbox.article(one), before);
}
