//! Names, links, temporary files and files that are not ready: none of them is ever pushed, and none ever counts as a
//! removal.

use crate::support::wire::{held, problems, reason};
use crate::support::world::{World, lines};
use kbsync::sandbox::NewSeed;

const TEXT: &str = "<p>One.</p>";
const NEW: &str = "---\ntitle: New\n---\n<p>new</p>\n";

/// Syncs a mirror in which nothing may be sent and no file may change, and returns the problems.
async fn left_alone(world: &World) -> Vec<String> {
    let before = bytes(world);
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(bytes(world), before);
    let said = problems(&report);
    assert_eq!(report.outcome.number(), if said.is_empty() { 0 } else { 4 });
    said
}

fn bytes(world: &World) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in ["start", "."] {
        for entry in std::fs::read_dir(world.path(folder)).expect("listed") {
            let path = entry.expect("an entry").path();
            if let Ok(bytes) = std::fs::read(&path) {
                found.push((path.display().to_string(), bytes));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_name_that_is_no_slug_is_a_problem_with_a_proposal() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.write("start/Über uns.html", NEW);
    let said = left_alone(&world).await;
    assert!(
        said.len() == 1
            && said[0].starts_with("start/Über uns.html: ")
            && said[0].contains("`uber-uns.html`"),
        "{said:?}"
    );
    world.rename("start/Über uns.html", "start/uber-uns.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create remote start/uber-uns.html done"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn letters_of_every_language_make_a_slug_and_come_back_as_a_name() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    // Some file systems return decomposed names.
    world.write("start/u\u{308}ber.html", NEW);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", report.problems);
    assert_eq!(world.sandbox().articles()[1].slug, "\u{fc}ber");
    world.is_quiet().await;
    world.article(start, "東京", TEXT);
    world.sync().await;
    assert!(world.exists("start/東京.html"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f059_f103_f129_slugs_that_are_no_names_get_safe_ones_and_edits_find_their_way() {
    let world = World::new().await;
    let start = world.category("start");
    let slugs = [
        "../../etc/passwd",
        "/etc/x",
        "con",
        "aux.html",
        "a.conflict",
        ".hidden",
        "_draft",
        "trailing.",
        "C:\\x",
        "Install",
        "install",
        "a b",
        "x\u{7}y",
    ];
    let long = "l".repeat(255);
    let ids: Vec<_> = slugs
        .iter()
        .copied()
        .chain([long.as_str()])
        .map(|slug| {
            world
                .sandbox()
                .add_article(NewSeed::new(start, "T", slug, TEXT))
        })
        .collect();
    let report = world.sync().await;
    assert_eq!((problems(&report), report.outcome.number()), (vec![], 0));
    let files = world.files();
    assert_eq!(files.len(), ids.len() + 1);
    for (path, _) in &files {
        assert!(path.starts_with("start/"), "{path}");
    }
    assert!(!files.iter().any(|(path, _)| path.contains(".conflict.")));
    world.is_quiet().await;
    for (path, text) in files {
        if path != "start/_category.yaml" {
            world.write(&path, &text.replace("One", "1"));
        }
    }
    let report = world.sync().await;
    assert_eq!(
        report.requests.put,
        ids.len() as u64,
        "{:?}",
        report.problems
    );
    for (id, slug) in ids.iter().zip(slugs.iter().copied().chain([long.as_str()])) {
        let article = world.on_service(*id);
        assert_eq!(
            (article.slug.as_str(), article.text.as_str()),
            (slug, "<p>1.</p>")
        );
    }
    world.is_quiet().await;
}

#[tokio::test]
async fn f074_f121_leftovers_of_editors_and_tools_are_no_articles() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    for name in [
        ".hidden.html",
        "_draft.html",
        "one.html~",
        "#one.html#",
        ".#one.html",
        "4913",
        "one.tmp",
        "x.html___jb_tmp___",
        ".one.html.swp",
        "one.conflict.html",
        "one.sync-conflict-20240101-101010-ABCDEFG.html",
        "notes.txt",
    ] {
        world.write(&format!("start/{name}"), NEW);
    }
    world.write("_drafts/a.html", NEW);
    world.write(".git/a.html", NEW);
    assert_eq!(left_alone(&world).await, [""; 0]);
    assert_eq!(world.sandbox().articles().len(), 1);
}

#[tokio::test]
async fn f061_files_at_the_top_and_deeper_are_said_and_left_alone() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.write("top.html", NEW);
    world.write("start/deep/er.html", NEW);
    world.write("start/UPPER.HTML", NEW);
    let said = left_alone(&world).await;
    // The folder within the category is only a warning in the log.
    assert_eq!(said.len(), 2, "{said:?}");
    for path in ["start/UPPER.HTML: ", "top.html: "] {
        assert!(said.iter().any(|said| said.starts_with(path)), "{said:?}");
    }
    assert_eq!(world.sandbox().articles().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn f130_links_are_never_followed_pushed_nor_taken_for_a_removal() {
    use std::os::unix::fs::symlink;
    let (world, ..) = World::start(&[("one", TEXT), ("two", TEXT), ("three", TEXT)]).await;
    let outside = tempfile::tempdir().expect("made");
    let secret = outside.path().join("secret.html");
    std::fs::write(&secret, NEW).expect("written");
    symlink(&secret, world.path("start/link.html")).expect("linked");
    symlink(outside.path(), world.path("linked")).expect("linked");
    // Articles whose file became a link (even to the same text), or a folder.
    std::fs::rename(
        world.path("start/one.html"),
        outside.path().join("one.html"),
    )
    .expect("moved");
    symlink(
        outside.path().join("one.html"),
        world.path("start/one.html"),
    )
    .expect("linked");
    world.remove("start/two.html");
    std::fs::create_dir(world.path("start/two.html")).expect("made");
    world.sandbox().clear_requests();
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(lines(&report), [""; 0]);
        assert_eq!(world.sent(), [""; 0]);
        assert_eq!(report.outcome.number(), 4);
        let said = problems(&report);
        for path in ["start/link.html: ", "start/one.html: ", "start/two.html: "] {
            assert!(said.iter().any(|said| said.starts_with(path)), "{said:?}");
        }
    }
    assert_eq!(world.sandbox().articles().len(), 3);
    // Nothing is written through a link either.
    for article in world.sandbox().articles() {
        world
            .sandbox()
            .edit(article.id, |article| article.text = "<p>Theirs.</p>".into());
    }
    world.sync().await;
    assert!(world.read("start/three.html").contains("Theirs"));
    let kept = std::fs::read_to_string(outside.path().join("one.html")).expect("there");
    assert!(kept.contains("<p>One.</p>"));
    assert_eq!(std::fs::read_to_string(&secret).expect("there"), NEW);
}

#[cfg(unix)]
#[tokio::test]
async fn f040_f097_a_folder_that_became_a_link_or_a_file_voids_deletions() {
    use std::os::unix::fs::symlink;
    let (world, ..) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    let other = world.category("other");
    world.article(other, "x", TEXT);
    world.sync().await;
    let away = tempfile::tempdir().expect("made");
    std::fs::rename(world.path("start"), away.path().join("start")).expect("moved");
    for link in [true, false] {
        if link {
            symlink(away.path().join("start"), world.path("start")).expect("linked");
        } else {
            std::fs::remove_file(world.path("start")).expect("removed");
            std::fs::write(world.path("start"), "not a folder").expect("written");
        }
        world.sandbox().clear_requests();
        let report = world.sync().await;
        assert_eq!(
            (lines(&report), world.sent()),
            (vec![], vec![]),
            "link: {link}"
        );
        assert_eq!(world.sandbox().articles().len(), 3);
    }
    std::fs::remove_file(world.path("start")).expect("removed");
    std::fs::rename(away.path().join("start"), world.path("start")).expect("moved");
    world.is_quiet().await;
}

#[tokio::test]
async fn f090_f122_files_that_are_not_ready_are_never_pushed_and_never_deleted() {
    let (world, ..) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    let ready = world.read("start/one.html");
    let id_line = ready
        .lines()
        .find(|line| line.starts_with("id:"))
        .expect("an id")
        .to_owned();
    let broken = |front: &str, body: &str| format!("---\n{id_line}\n{front}\n---\n{body}\n");
    let long = "x".repeat(256);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing in it", Vec::new(), "front matter"),
        ("no front matter", b"<p>Hello</p>\n".to_vec(), "front matter"),
        ("no title", broken("keywords: a", TEXT).into(), "title"),
        ("broken YAML", broken("title: [a", TEXT).into(), "line "),
        ("an alias", broken("title: &a b\nkeywords: *a", TEXT).into(), "line "),
        ("a key twice", broken("title: a\ntitle: b", TEXT).into(), "line "),
        ("too long a title", broken(&format!("title: {long}"), TEXT).into(), "255"),
        ("not UTF-8", [broken("title: a", "").into_bytes(), vec![0xff, 0xfe]].concat(), "UTF-8"),
        ("a NUL", broken("title: a", "x\0y").into(), "NUL"),
        (
            "an LFS pointer",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n".to_vec(),
            "LFS",
        ),
        (
            "an unmerged body",
            broken("title: one", "<<<<<<< HEAD\nOne.\n=======\n1.\n>>>>>>> x").into(),
            "conflict markers",
        ),
        (
            "an unmerged head",
            format!("---\n{id_line}\n<<<<<<< HEAD\ntitle: a\n=======\ntitle: b\n>>>>>>> x\n---\n{TEXT}\n")
                .into(),
            "conflict markers",
        ),
    ];
    for (what, content, words) in cases {
        std::fs::write(world.path("start/one.html"), &content).expect("written");
        let said = left_alone(&world).await;
        assert!(
            said.len() == 1 && said[0].starts_with("start/one.html: ") && said[0].contains(words),
            "{what}: {said:?}"
        );
        // The same as a new file.
        std::fs::write(world.path("start/fresh.html"), &content).expect("written");
        assert_eq!(left_alone(&world).await.len(), 2, "{what}");
        world.remove("start/fresh.html");
    }
    assert_eq!(world.sandbox().articles().len(), 2);
    world.write("start/one.html", &ready);
    world.is_quiet().await;
}

#[tokio::test]
async fn an_id_in_a_file_that_is_not_ready_is_present_wherever_it_lies() {
    let (world, ..) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.edit("start/one.html", "title: one\n", "title: [\n");
    world.rename("start/one.html", "start/moved.html");
    let said = left_alone(&world).await;
    assert!(
        said.len() == 1 && said[0].starts_with("start/moved.html"),
        "{said:?}"
    );
    world.edit("start/moved.html", "title: [\n", "title: one\n");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move remote start/moved.html done"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn every_id_in_a_file_that_is_not_ready_is_present() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT), ("three", TEXT)]).await;
    let [one, two] = [ids[0], ids[1]];
    let both = format!("---\nid: {one}\ntitle: One\nid: {two}\ntitle: Two\n---\n{TEXT}\n");
    world.write("start/both.html", &both);
    world.remove("start/one.html");
    world.remove("start/two.html");
    let report = world.sync().await;
    assert_eq!((lines(&report), world.sent()), (vec![], vec![]));
    assert_eq!(problems(&report).len(), 2, "{:?}", report.problems);
}

#[tokio::test]
async fn f066_an_article_about_git_may_show_conflict_markers() {
    let shown = "<pre>\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n</pre>";
    let (world, _, ids) = World::start(&[("git", shown), ("one", TEXT)]).await;
    world.edit("start/git.html", "\na\n", "\nc\n");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/git.html done"]);
    assert!(world.on_service(ids[0]).text.contains("\nc\n"));
    world.is_quiet().await;
    // Markers are allowed only where the base already has them.
    world.edit("start/one.html", TEXT, shown);
    assert_eq!(left_alone(&world).await.len(), 1);
}

#[tokio::test]
async fn f067_f090_a_conversion_of_line_ends_changes_nothing() {
    let (world, _, ids) = World::start(&[("one", "<p>a</p>\n<p>b</p>\n"), ("two", TEXT)]).await;
    for path in ["start/one.html", "start/two.html", "start/_category.yaml"] {
        world.write(path, &world.read(path).replace('\n', "\r\n"));
    }
    world.is_quiet().await;
    // An edit of such a file changes only the edited lines; pulled text gets the file's line ends.
    world.edit("start/one.html", "<p>a</p>", "<p>A</p>");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert_eq!(world.on_service(ids[0]).text, "<p>A</p>\n<p>b</p>\n");
    world.sandbox().edit(ids[0], |article| {
        article.text = "<p>A</p>\n<p>B</p>\n".into();
    });
    world.sync().await;
    let file = world.read("start/one.html");
    assert!(
        file.ends_with("\r\n---\r\n<p>A</p>\r\n<p>B</p>\r\n\r\n"),
        "{file:?}"
    );
    world.is_quiet().await;
    for path in ["start/one.html", "start/two.html", "start/_category.yaml"] {
        world.write(path, &world.read(path).replace("\r\n", "\n"));
    }
    world.is_quiet().await;
}

#[tokio::test]
async fn a_text_with_cr_survives_in_both_kinds_of_files() {
    let text = "<p>a</p>\r\n<p>b</p>\n<p>c\r</p>";
    let (world, _, ids) = World::start(&[("one", text)]).await;
    let file = world.read("start/one.html");
    assert!(file.ends_with(&format!("---\n{text}\n")), "{file:?}");
    world.edit("start/one.html", "title: one", "title: Uno");
    world.sync().await;
    assert_eq!(world.sent(), [r#"PUT article {"title":"Uno"}"#]);
    let file = world.read("start/one.html");
    world.write(
        "start/one.html",
        &file.replace("\r\n", "\n").replace('\n', "\r\n"),
    );
    world.is_quiet().await;
    assert_eq!(world.on_service(ids[0]).text, text);
}

#[tokio::test]
async fn f125_a_byte_order_mark_is_no_edit() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.write(
        "start/one.html",
        &format!("\u{feff}{}", world.read("start/one.html")),
    );
    world.is_quiet().await;
    world.edit("start/one.html", "One", "1");
    world.sync().await;
    assert_eq!(world.on_service(ids[0]).text, "<p>1.</p>");
    world
        .sandbox()
        .edit(ids[0], |article| article.title = "Uno".into());
    world.sync().await;
    assert!(world.read("start/one.html").starts_with("\u{feff}---\n"));
    world.is_quiet().await;
}

#[tokio::test]
async fn every_text_comes_back_byte_for_byte() {
    for text in [
        "",
        "\n",
        "\n\n",
        "---\n",
        "---\na: b\n---\nx",
        "x",
        "x\n",
        " \t x",
        "{{< a >}}",
    ] {
        let (world, _, ids) = World::start(&[("one", text)]).await;
        world.edit("start/one.html", "title: one", "title: Uno");
        let report = world.sync().await;
        assert_eq!(world.sent(), [r#"PUT article {"title":"Uno"}"#], "{text:?}");
        assert_eq!(report.outcome.number(), 0);
        assert_eq!(world.on_service(ids[0]).text, text);
        world.is_quiet().await;
    }
}

#[tokio::test]
async fn f048_what_kbsyncignore_names_is_out_of_scope_both_ways() {
    let (world, start, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    let draft_category = world.category("internal");
    world.article(draft_category, "x", TEXT);
    world.sync().await;
    world.write(
        ".kbsyncignore",
        "# not yet\nstart/one.html\ninternal/\n*.draft.html\n",
    );
    world.is_quiet().await;
    // Neither an edit nor a removal is pushed, and nothing is written at these paths.
    world.edit("start/one.html", "One", "1");
    world.write("start/new.draft.html", NEW);
    std::fs::remove_dir_all(world.path("internal")).expect("removed");
    world.sandbox().clear_requests();
    world.is_quiet().await;
    world.remove("start/one.html");
    world.is_quiet().await;
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>Theirs.</p>".into());
    let report = world.sync().await;
    assert_eq!((lines(&report), world.sent()), (vec![], vec![]));
    assert!(!world.exists("start/one.html"));
    assert_eq!(world.sandbox().articles().len(), 3);
    // Without the rules, the files are like any others. A file that was removed while it was ignored is no removal, and
    // comes back.
    world.remove(".kbsyncignore");
    world.remove("start/new.draft.html");
    let report = world.sync().await;
    assert!(
        lines(&report).contains(&"create local start/one.html done".to_owned()),
        "{:?}",
        lines(&report)
    );
    assert_eq!(world.on_service(ids[1]).category_id, start);
}

#[tokio::test]
async fn f048_what_is_ignored_is_not_written_either() {
    let world = World::new().await;
    let start = world.category("start");
    let internal = world.category("internal");
    world.article(start, "one", TEXT);
    world.article(start, "secret", TEXT);
    world.article(internal, "x", TEXT);
    world.write(".kbsyncignore", "secret.html\ninternal/\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category local start done",
            "create local start/one.html done"
        ]
    );
    assert_eq!(report.outcome.number(), 0, "{:?}", report.problems);
    world.is_quiet().await;
    // An ignored folder that existed before the rules gets no new files.
    world.write(".kbsyncignore", "");
    world.sync().await;
    assert!(world.exists("internal/x.html") && world.exists("start/secret.html"));
    world.write(".kbsyncignore", "internal/\n");
    world.article(internal, "y", TEXT);
    let report = world.sync().await;
    assert_eq!((lines(&report), problems(&report)), (vec![], vec![]));
    assert!(!world.exists("internal/y.html"));
    world.is_quiet().await;
}

#[tokio::test]
async fn an_article_that_moves_to_an_ignored_place_keeps_its_file() {
    let world = World::new().await;
    let (start, internal) = (world.category("start"), world.category("internal"));
    let ids = ["one", "two"].map(|slug| world.article(start, slug, TEXT));
    world.write(".kbsyncignore", "secret.html\ninternal/\n");
    world.sync().await;
    let sandbox = world.sandbox();
    sandbox.edit(ids[0], |article| "secret".clone_into(&mut article.slug));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local start/one.html done"]);
    assert!(world.read("start/one.html").contains("slug: secret\n"));
    world.is_quiet().await;
    sandbox.edit(ids[1], |article| article.category_id = internal);
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    let told = problems(&report);
    assert!(told[0].contains("`.kbsyncignore` leaves out"), "{told:?}");
    assert!(world.exists("start/two.html") && !world.exists("internal"));
    world.write(".kbsyncignore", "");
    let report = world.sync().await;
    assert_eq!(lines(&report)[1], "move local internal/two.html done");
    world.is_quiet().await;
}

#[tokio::test]
async fn a_name_that_is_taken_by_something_else_is_left_to_it() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    world.write("start/new.html", "no article at all");
    let id = world.article(start, "new", TEXT);
    let report = world.sync().await;
    assert_eq!(world.read("start/new.html"), "no article at all");
    let path = format!("start/new~{}.html", &id.simple().to_string()[..8]);
    assert!(
        lines(&report).contains(&format!("create local {path} done")),
        "{:?}",
        lines(&report)
    );
    assert!(world.read(&path).contains("\nslug: new\n"));
    assert_eq!(held(&report), 0);
    let report = world.sync().await;
    assert_eq!((lines(&report), reason_count(&report)), (vec![], 1));
}

fn reason_count(report: &kbsync::engine::report::Report) -> usize {
    problems(report).len()
}

#[tokio::test]
async fn a_folder_whose_name_another_category_wants_is_not_mixed_with_it() {
    let (world, start, ids) = World::start(&[("one", TEXT)]).await;
    world.edit("start/_category.yaml", "name:", "slug: start\nname:");
    world.rename("start", "billing");
    world.sync().await;
    let billing = world.category("billing");
    world.article(billing, "x", TEXT);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", report.problems);
    let folder = format!("billing~{}", &billing.simple().to_string()[..8]);
    assert!(
        world.exists(&format!("{folder}/x.html")),
        "{:?}",
        lines(&report)
    );
    assert_eq!(reason(&report, &format!("{folder}/x.html")), "");
    assert_eq!(world.on_service(ids[0]).category_id, start);
    world.is_quiet().await;
}
