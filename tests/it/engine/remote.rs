//! Colleagues' edits in the service's editor, and the resulting changes in the mirror.

use crate::support::look::{
    articles, assert_quiet, both, decision, held, kept, paths, problems, requests, row,
};
use crate::support::world::{World, lines};
use kbsync::reconcile::guard::MaxDeletes;
use kbsync::sandbox::{Article, NewSeed, Options, TimeGrain};
use std::time::Duration;
use uuid::Uuid;

const DAY: Duration = Duration::from_hours(24);

type Change = fn(&mut Article);

/// A world with one article `a/one.html`, whose file has a writer's own lines, with LF or CRLF.
async fn furnished(crlf: bool) -> (World, Uuid) {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.sandbox().add_article(NewSeed {
        introtext: Some("old intro".into()),
        keywords: Some("old, words".into()),
        ..NewSeed::new(a, "One: the first", "one", "<p>One.</p>\n<p>Two.</p>")
    });
    world.sync().await;
    let file = format!(
        "---\n# kept by the docs team\nid: {one}   # by kbsync\nowner:   docs-team\ntitle: 'One: the first' # quoted\n\
         introtext: \"old intro\"\ntags: [a, b]\nkeywords: old, words\n# the end\n---\n<p>One.</p>\n<p>Two.</p>\n"
    );
    let file = if crlf {
        file.replace('\n', "\r\n")
    } else {
        file
    };
    world.write("a/one.html", &file);
    assert_quiet(&world, 1).await;
    assert_eq!(world.read("a/one.html"), file);
    (world, one)
}

#[tokio::test]
async fn an_edit_of_a_field_changes_its_lines_and_no_other_byte() {
    let table: [(&str, Change, &str, &str); 6] = [
        ("title", |one| one.title = "Uno".into(), "title: ", "Uno"),
        (
            "introtext",
            |one| one.introtext = Some("new: intro".into()),
            "introtext: ",
            "new: intro",
        ),
        ("introtext", |one| one.introtext = None, "introtext: ", ""),
        (
            "keywords",
            |one| one.keywords = Some("no".into()),
            "keywords: ",
            "no",
        ),
        ("keywords", |one| one.keywords = None, "keywords: ", ""),
        (
            "text",
            |one| one.text = "<p>One.</p>\n<p>2.</p>".into(),
            "<p>Two.</p>",
            "<p>2.</p>",
        ),
    ];
    for crlf in [false, true] {
        let (world, one) = furnished(crlf).await;
        for (field, change, line, value) in table {
            let before = world.read("a/one.html");
            world.sandbox().edit(one, change);
            let report = world.sync().await;
            assert_eq!(lines(&report), ["update local a/one.html done"], "{field}");
            assert_eq!(report.requests.total, 1);
            let after = world.read("a/one.html");
            let keep = |text: &str| -> Vec<String> {
                text.split_inclusive('\n')
                    .filter(|one| !one.starts_with(line) && !one.starts_with("<p>2."))
                    .map(str::to_owned)
                    .collect()
            };
            assert_eq!(keep(&before), keep(&after), "{field}, CRLF {crlf}");
            assert!(after.contains(value), "{field}: {after}");
            assert_eq!(
                value.is_empty(),
                !after.contains(line) && field != "text",
                "{after}"
            );
        }
        let after = world.read("a/one.html");
        assert_quiet(&world, 1).await;
        assert_eq!(world.read("a/one.html"), after);
        assert_eq!(after.contains("\r\n"), crlf);
    }
}

#[tokio::test]
async fn f036_f060_a_changed_address_renames_the_file_and_a_changed_title_does_not() {
    let (world, one) = furnished(false).await;
    let before = world.read("a/one.html");
    world
        .sandbox()
        .edit(one, |article| article.slug = "uno".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move local a/uno.html done"]);
    assert_eq!(report.requests.total, 1);
    assert_eq!(articles(&world), ["a/uno.html"]);
    assert_eq!(world.read("a/uno.html"), before, "renamed, not rewritten");
    world
        .sandbox()
        .edit(one, |article| article.title = "Another".into());
    assert_eq!(lines(&world.sync().await), ["update local a/uno.html done"]);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn another_category_moves_the_file_with_its_bytes() {
    let (world, one) = furnished(true).await;
    let before = world.read("a/one.html");
    let b = world.category("b");
    world.sandbox().edit(one, |article| article.category_id = b);
    requests(&world);
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        ["create-category local b done", "move local b/one.html done"]
    );
    assert_eq!(
        requests(&world),
        ["GET listing 200", "GET category 200", "GET category 200"]
    );
    assert_eq!(
        paths(&world),
        ["a/_category.yaml", "b/_category.yaml", "b/one.html"]
    );
    assert_eq!(world.read("b/one.html"), before);
    // The article is moved and edited at once, and moved back.
    let a = world.sandbox().categories()[0].id;
    world.sandbox().edit(one, |article| {
        article.category_id = a;
        article.slug = "eins".into();
        article.title = "Eins".into();
    });
    assert_eq!(lines(&world.sync().await), ["move local a/eins.html done"]);
    assert!(world.read("a/eins.html").contains("title: "));
    assert!(!world.exists("b/one.html"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_name_that_the_writer_chose_stays_and_only_its_key_changes() {
    let (world, one) = furnished(false).await;
    world.edit("a/one.html", "title:", "slug: one\ntitle:");
    world.rename("a/one.html", "a/my own name.html");
    assert_eq!(world.sync().await.requests.put, 0);
    let before = world.read("a/my own name.html");
    world
        .sandbox()
        .edit(one, |article| article.slug = "uno".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/my own name.html done"]);
    assert_eq!(
        world.read("a/my own name.html"),
        before.replace("slug: one\n", "slug: uno\n")
    );
    // A move to another category keeps the chosen name.
    let b = world.category("b");
    world.sandbox().edit(one, |article| article.category_id = b);
    world.sync().await;
    assert_eq!(articles(&world), ["b/my own name.html"]);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn swapped_addresses_and_a_circle_of_three_swap_the_files() {
    let world = World::new().await;
    let a = world.category("a");
    let ids: Vec<Uuid> = ["one", "two", "three", "four", "five"]
        .iter()
        .map(|slug| world.article(a, slug, &format!("<p>{slug}</p>")))
        .collect();
    world.sync().await;
    let names = ["two", "one", "four", "five", "three"];
    for (id, slug) in ids.iter().zip(names) {
        world
            .sandbox()
            .edit(*id, |article| article.slug = slug.to_owned());
    }
    // One article of each circle also gets another text.
    for id in [ids[0], ids[3]] {
        world
            .sandbox()
            .edit(id, |article| article.text.push_str("<p>more</p>"));
    }
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report.requests.total, 1);
    assert_eq!(report.actions.len(), 5);
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    // One file of each circle is moved aside for the others.
    let files = articles(&world);
    let aside = files.iter().filter(|file| file.contains('~'));
    assert_eq!((files.len(), aside.count()), (5, 2), "{files:?}");
    for path in files {
        let file = world.read(&path);
        let id = ids.iter().find(|id| file.contains(&id.to_string()));
        let article = world.sandbox().article(*id.expect("an id")).expect("there");
        let by_name = path == format!("a/{}.html", article.slug);
        let says = file.contains(&format!("slug: {}\n", article.slug));
        assert!(by_name != says, "{path}: {file}");
        assert!(
            file.ends_with(&format!("---\n{}\n", article.text)),
            "{file}"
        );
    }
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_new_article_makes_its_file_and_a_new_category_its_folder() {
    let world = World::new().await;
    let a = world.category("a");
    world.article(a, "one", "<p>1</p>");
    world.sync().await;
    let b = world.category("getting-started");
    world.sandbox().edit_category(b, |category| {
        category.description = Some("First: things".into());
        category.meta_description = Some("for robots".into());
    });
    world.article(b, "two", "<p>2</p>\n");
    world.article(a, "three", "---\nnot: front matter\n---\n");
    requests(&world);
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category local getting-started done",
            "create local a/three.html done",
            "create local getting-started/two.html done"
        ]
    );
    assert_eq!(requests(&world), ["GET listing 200", "GET category 200"]);
    let yaml = world.read("getting-started/_category.yaml");
    for line in [
        format!("id: {b}"),
        "name: getting started".into(),
        "meta_description: for robots".into(),
    ] {
        assert!(yaml.contains(&line), "{yaml}");
    }
    assert!(!yaml.contains("slug:"), "{yaml}");
    assert!(
        world
            .read("getting-started/two.html")
            .ends_with("---\n<p>2</p>\n\n")
    );
    // f126: a body that looks like front matter is restored byte for byte.
    assert!(
        world
            .read("a/three.html")
            .ends_with("---\n---\nnot: front matter\n---\n\n")
    );
    assert_quiet(&world, 1).await;
    world.edit("a/three.html", "not: front", "still: not front");
    world.sync().await;
    let articles = world.sandbox().articles();
    assert!(
        articles
            .iter()
            .any(|one| one.text == "---\nstill: not front matter\n---\n")
    );
}

#[tokio::test]
async fn f059_f101_f102_f103_f129_unsafe_addresses_get_safe_names_and_round_trip() {
    let long = "x".repeat(300);
    let slugs = [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        "C:\\x",
        "con",
        "aux.html",
        ".git",
        ".git/hooks/x",
        "x.conflict",
        "_category.yaml",
        "_hidden",
        "kbsync.yaml",
        "trailing.",
        "a b",
        "nul\0byte",
        "line\nbreak",
        "Twin",
        "twin",
        "caf\u{e9}",
        "cafe\u{301}",
        "日本語",
        "4913",
        "x~",
        long.as_str(),
    ];
    let options = Options {
        strict_slugs: false,
        ..Options::unlimited()
    };
    let world = World::with(options).await;
    let a = world.category("a");
    for slug in slugs {
        let seed = NewSeed::new(
            a,
            "A title",
            slug,
            &format!("<p>{}</p>", slug.escape_debug()),
        );
        world.sandbox().add_article(seed);
    }
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    let files = articles(&world);
    assert_eq!(files.len(), slugs.len(), "{files:?}");
    let mut folded: Vec<String> = files.iter().map(|path| path.to_lowercase()).collect();
    folded.dedup();
    assert_eq!(folded.len(), files.len(), "case twins: {files:?}");
    for path in &files {
        let name = path.strip_prefix("a/").expect("in its folder");
        assert!(name.len() <= 210 && !name.starts_with('.') && !name.contains(['/', '\\', ':']));
    }
    for plain in ["caf\u{e9}", "日本語"] {
        assert!(!world.read(&format!("a/{plain}.html")).contains("slug:"));
    }
    assert_quiet(&world, 1).await;
    // An edit goes to the article of its file, and nothing else is sent.
    for path in &files {
        world.edit(path, "<p>", "<p>edited ");
    }
    let report = world.sync().await;
    assert_eq!(
        report.requests.put,
        slugs.len() as u64,
        "{:?} {:#?}",
        problems(&report),
        report.actions
    );
    for article in world.sandbox().articles() {
        assert_eq!(
            article.text,
            format!("<p>edited {}</p>", article.slug.escape_debug())
        );
        assert!(slugs.contains(&article.slug.as_str()), "{:?}", article.slug);
    }
    assert_quiet(&world, 1).await;
    // Without the state, each file finds its article again, except the file over the limits.
    std::fs::remove_file(world.path(".kbsync/state.db")).expect("removed");
    let report = world.sync().await;
    assert_eq!(report.requests.put + report.requests.post, 0);
    assert!(
        lines(&report)
            .iter()
            .all(|line| line.starts_with("adopt both "))
    );
    let problems = problems(&report);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("slug has 300 characters"));
    assert_eq!(articles(&world), files);
}

#[tokio::test]
async fn f129_unsafe_categories_get_safe_folders() {
    let options = Options {
        strict_slugs: false,
        ..Options::unlimited()
    };
    let world = World::with(options).await;
    for slug in [
        "../up", ".git", ".kbsync", "con", "Guide", "guide", "x.html/y",
    ] {
        let category = world
            .sandbox()
            .add_category(world.workspace, "A name", slug);
        world.article(category, "one", &format!("<p>{slug}</p>"));
    }
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    let files = articles(&world);
    assert_eq!(files.len(), 7, "{files:?}");
    assert!(files.iter().all(|path| path.matches('/').count() == 1));
    assert!(!world.exists(".git") && !world.exists(".kbsync/one.html"));
    assert_quiet(&world, 1).await;
    for path in &files {
        world.edit(path, "<p>", "<p>! ");
    }
    assert_eq!(world.sync().await.requests.put, 7);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_renamed_category_is_found_after_a_day_and_its_folder_keeps_the_edits() {
    let world = World::new().await;
    let (a, b) = (world.category("a"), world.category("b"));
    let one = world.article(a, "one", "<p>1</p>");
    world.article(b, "two", "<p>2</p>");
    world.sync().await;
    world.edit("a/_category.yaml", "name:", "# ours\nname:");
    world.sandbox().edit_category(a, |category| {
        category.name = "Alpha".into();
        category.slug = "alpha".into();
        category.description = Some("The first".into());
    });
    assert_quiet(&world, 1).await;
    world.clock.advance(DAY);
    world.edit("a/one.html", "<p>1</p>", "<p>1, edited</p>");
    world.write("a/notes.txt", "mine");
    requests(&world);
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update-category local alpha done",
            "update remote alpha/one.html done"
        ]
    );
    assert_eq!(
        requests(&world),
        [
            "GET listing 200",
            "GET category 200",
            "GET category 200",
            "PUT article 200"
        ]
    );
    assert_eq!(
        paths(&world),
        [
            "alpha/_category.yaml",
            "alpha/notes.txt",
            "alpha/one.html",
            "b/_category.yaml",
            "b/two.html"
        ]
    );
    let yaml = world.read("alpha/_category.yaml");
    assert!(yaml.contains("# ours\nname: Alpha\n") && yaml.contains("description: The first"));
    assert!(!yaml.contains("slug:"), "{yaml}");
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>1, edited</p>"
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_renamed_category_is_found_when_an_article_moves_into_it() {
    let world = World::new().await;
    let (a, b) = (world.category("a"), world.category("b"));
    let one = world.article(a, "one", "<p>1</p>");
    world.article(b, "two", "<p>2</p>");
    world.sync().await;
    world.sandbox().rename_category(b, "Beta", "beta");
    world.sandbox().edit(one, |article| article.category_id = b);
    world.edit("b/two.html", "<p>2</p>", "<p>2!</p>");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update-category local beta done",
            "move local beta/one.html done",
            "update remote beta/two.html done"
        ]
    );
    assert_eq!(articles(&world), ["beta/one.html", "beta/two.html"]);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn categories_that_swap_their_addresses_keep_their_articles() {
    let world = World::new().await;
    let (a, b) = (world.category("a"), world.category("b"));
    world.article(a, "one", "<p>1</p>");
    world.article(b, "two", "<p>2</p>");
    world.sync().await;
    world.sandbox().rename_category(a, "B", "b");
    world.sandbox().rename_category(b, "A", "a");
    world.clock.advance(DAY);
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report.requests.put, 0);
    world.sync().await;
    assert_eq!(articles(&world).len(), 2);
    for (id, name) in [(a, "one.html"), (b, "two.html")] {
        let path = articles(&world)
            .into_iter()
            .find(|path| path.ends_with(name))
            .expect("its file");
        let folder = path.split('/').next().expect("a folder");
        let yaml = world.read(&format!("{folder}/_category.yaml"));
        assert!(yaml.contains(&id.to_string()), "{path}: {yaml}");
    }
    assert_quiet(&world, 1).await;
    for category in world.sandbox().categories() {
        assert!(["a", "b"].contains(&category.slug.as_str()));
    }
}

#[tokio::test]
async fn f046_a_deleted_article_takes_its_file_and_its_bytes_stay_in_the_history() {
    let (world, one) = furnished(false).await;
    let file = world.read("a/one.html");
    world.sandbox().remove(one);
    requests(&world);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete local a/one.html done"]);
    assert_eq!(
        requests(&world),
        ["GET listing 200", "GET article 404", "PUT article {} 404"]
    );
    assert_eq!(articles(&world), Vec::<String>::new());
    assert!(kept(&world, one, "<p>One.</p>\n<p>Two.</p>"));
    let engine = world.engine();
    let whole: Vec<String> = crate::support::look::versions(&world, one)
        .into_iter()
        .filter_map(|kept| kept.seen.file)
        .filter_map(|digest| engine.store().body(digest).expect("readable"))
        .collect();
    assert!(whole.contains(&file), "comments and all: {whole:?}");
    assert_eq!(row(&world, one), None);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f037_deleted_and_created_anew_at_the_same_address_is_another_article() {
    let world = World::new().await;
    let a = world.category("a");
    let old = world.article(a, "one", "<p>old</p>");
    world.article(a, "other", "<p>other</p>");
    world.sync().await;
    world.sandbox().remove(old);
    let new = world.article(a, "one", "<p>new</p>");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_eq!(report.requests.put, 1, "the probe alone");
    world.sync().await;
    assert_eq!(articles(&world), ["a/one.html", "a/other.html"]);
    let file = world.read("a/one.html");
    assert!(file.contains(&new.to_string()) && file.ends_with("<p>new</p>\n"));
    assert!(kept(&world, old, "<p>old</p>"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f037_an_edited_file_of_a_deleted_article_is_not_taken_for_its_successor() {
    let world = World::new().await;
    let a = world.category("a");
    let old = world.article(a, "one", "<p>old</p>");
    world.sync().await;
    world.edit("a/one.html", "old", "edited");
    world.sandbox().remove(old);
    let new = world.article(a, "one", "<p>new</p>");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 3);
    assert!(world.read("a/one.html").contains("<p>edited</p>"));
    assert_eq!(
        world.sandbox().article(new).expect("there").text,
        "<p>new</p>"
    );
    let other: Vec<String> = articles(&world)
        .into_iter()
        .filter(|path| path != "a/one.html")
        .collect();
    assert_eq!(other.len(), 1, "{other:?}");
    assert!(world.read(&other[0]).contains("<p>new</p>"));
    assert_eq!(world.sandbox().articles().len(), 1);
}

#[tokio::test]
async fn f044_removed_here_and_edited_there_comes_back() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.article(a, "two", "<p>2</p>");
    world.sync().await;
    world.remove("a/one.html");
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>1, edited</p>".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["restore local a/one.html done"]);
    assert!(
        report.actions[0]
            .reason
            .as_deref()
            .is_some_and(|reason| reason.contains("the edit wins"))
    );
    assert_eq!(report.requests.delete, 0);
    assert!(world.read("a/one.html").ends_with("<p>1, edited</p>\n"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn removed_on_both_sides_is_forgotten() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.article(a, "two", "<p>2</p>");
    world.sync().await;
    world.remove("a/one.html");
    world.sandbox().remove(one);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["forget both a/one.html done"]);
    assert_eq!(report.requests.delete, 0);
    assert_eq!(row(&world, one), None);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f022_an_old_copy_of_what_our_own_write_replaced_changes_nothing() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.sync().await;
    world.edit("a/one.html", "<p>1</p>", "<p>1, edited</p>");
    world.sandbox().serve_past(&world.sandbox().snapshot(), 3);
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/one.html done"]
    );
    let before = world.files();
    // The second old copy is asked about.
    for requests in [1, 2, 1] {
        assert_quiet(&world, requests).await;
        assert_eq!(world.files(), before);
    }
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>1, edited</p>"
    );
    // A colleague's true revert has the old text under a new revision.
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>1</p>".into());
    assert_eq!(lines(&world.sync().await), ["update local a/one.html done"]);
    assert!(world.read("a/one.html").ends_with("---\n<p>1</p>\n"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f022_an_edit_on_top_of_a_stale_read_is_still_sent() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.sync().await;
    world.edit("a/one.html", "<p>1</p>", "<p>2</p>");
    world.sandbox().serve_past(&world.sandbox().snapshot(), 2);
    world.sync().await;
    world.edit("a/one.html", "<p>2</p>", "<p>3</p>");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>3</p>"
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_deleted_article_that_an_old_listing_still_shows_does_not_come_back() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.article(a, "two", "<p>2</p>");
    world.sync().await;
    world.remove("a/one.html");
    world.sandbox().serve_past(&world.sandbox().snapshot(), 3);
    assert_eq!(
        lines(&world.sync().await),
        ["delete remote a/one.html done"]
    );
    for _ in 0..3 {
        assert_quiet(&world, 1).await;
        assert_eq!(articles(&world), ["a/two.html"]);
    }
    // The same id under another revision: a person has restored the article.
    let mut back = world.sandbox().articles()[0].clone();
    back.id = one;
    back.slug = "one".into();
    world.sandbox().restore(back);
    assert_eq!(lines(&world.sync().await), ["create local a/one.html done"]);
}

#[tokio::test]
async fn a_new_article_that_an_old_listing_does_not_show_yet_keeps_its_file() {
    let world = World::new().await;
    let a = world.category("a");
    world.article(a, "one", "<p>1</p>");
    world.sync().await;
    world.write("a/two.html", "---\ntitle: Two\n---\n<p>2</p>\n");
    world.sandbox().serve_past(&world.sandbox().snapshot(), 4);
    assert_eq!(
        lines(&world.sync().await),
        ["create remote a/two.html done"]
    );
    let before = world.files();
    for _ in 0..3 {
        let report = world.sync().await;
        assert_eq!(lines(&report), Vec::<String>::new());
        assert_eq!(report.requests.delete + report.requests.post, 0);
        assert_eq!(world.files(), before);
    }
    assert_eq!(world.sandbox().articles().len(), 2);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f107_a_second_edit_within_the_grain_of_time_is_seen() {
    let options = Options {
        time_grain: TimeGrain::Seconds,
        ..Options::unlimited()
    };
    let world = World::with(options).await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world
        .sandbox()
        .set_clock("2031-01-01T00:00:00Z".parse().expect("a time"));
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>2</p>".into());
    world.sync().await;
    let revision = row(&world, one).expect("a row").revision;
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>3</p>".into());
    assert_eq!(lines(&world.sync().await), ["update local a/one.html done"]);
    assert!(world.read("a/one.html").contains("<p>3</p>"));
    assert_eq!(row(&world, one).expect("a row").revision, revision);
}

#[tokio::test]
async fn f038_a_restored_backup_is_held() {
    let world = World::new().await;
    let a = world.category("a");
    let ids: Vec<Uuid> = (0..12)
        .map(|number| world.article(a, &format!("n{number}"), "<p>first</p>"))
        .collect();
    world.sync().await;
    let backup = world.sandbox().articles();
    for id in &ids {
        world
            .sandbox()
            .edit(*id, |article| article.text = "<p>second</p>".into());
    }
    world.sync().await;
    for article in backup {
        world.sandbox().restore(article);
    }
    let report = world.sync().await;
    assert_eq!(held(&report).len(), 12, "{:?}", lines(&report));
    assert_eq!(report.outcome.number(), 3);
    assert!(world.read("a/n0.html").contains("second"));
    assert!(
        held(&report)[0].1.contains("kbsync approve"),
        "{:?}",
        held(&report)[0]
    );
}

#[tokio::test]
async fn f045_deleted_there_and_edited_here_waits_for_a_person() {
    use kbsync::model::ArticleId;
    use kbsync::reconcile::snapshot::Keep;
    for keep in [Keep::Local, Keep::Remote] {
        let world = World::new().await;
        let a = world.category("a");
        let one = world.article(a, "one", "<p>1</p>");
        world.article(a, "two", "<p>2</p>");
        world.sync().await;
        world.edit("a/one.html", "<p>1</p>", "<p>mine</p>");
        world.sandbox().remove(one);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["conflict both a/one.html held"]);
        assert_eq!(report.outcome.number(), 3);
        requests(&world);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["conflict both a/one.html held"]);
        assert_eq!(requests(&world), ["GET listing 200"], "the 404 is known");
        assert_eq!(articles(&world), ["a/one.html", "a/two.html"]);
        let mut request = both();
        request
            .resolve
            .extend([decision(&world.path(""), ArticleId::new(one), keep.clone())]);
        let report = world.run(&request).await;
        assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
        match keep {
            Keep::Local | Keep::Both | Keep::Parts(_) => {
                assert_eq!(lines(&report), ["create remote a/one.html done"]);
                let article = world
                    .sandbox()
                    .articles()
                    .into_iter()
                    .find(|article| article.slug == "one")
                    .expect("created anew");
                assert_eq!(article.text, "<p>mine</p>");
                assert!(world.read("a/one.html").contains(&article.id.to_string()));
                assert!(!world.read("a/one.html").contains(&one.to_string()));
            }
            Keep::Remote => {
                assert_eq!(lines(&report), ["delete local a/one.html done"]);
                assert!(!world.exists("a/one.html"));
                assert!(kept(&world, one, "<p>mine</p>"));
            }
        }
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f021_many_that_vanish_at_once_are_asked_for_in_turn_and_held() {
    let mut world = World::new().await;
    world.settings.max_deletes = MaxDeletes {
        count: 4,
        percent: 50,
    };
    let a = world.category("a");
    let ids: Vec<Uuid> = (0..20)
        .map(|number| world.article(a, &format!("n{number:02}"), "<p>x</p>"))
        .collect();
    world.sync().await;
    for id in ids.iter().take(9) {
        world.sandbox().remove(*id);
    }
    for asked in [4, 4, 1, 0] {
        requests(&world);
        let report = world.sync().await;
        assert_eq!(report.requests.total, 1 + 2 * asked);
        assert_eq!(articles(&world).len(), 20, "{:?}", lines(&report));
        assert_eq!(held(&report).len(), 9, "{:?}", lines(&report));
        assert_eq!(report.outcome.number(), 3);
    }
    let mut request = both();
    request.allow_deletes = true;
    let report = world.run(&request).await;
    assert_eq!(report.actions.len(), 9);
    assert_eq!(report.requests.total, 1, "the answers were remembered");
    assert_eq!(articles(&world).len(), 11);
    for id in ids.iter().take(9) {
        assert!(kept(&world, *id, "<p>x</p>"));
    }
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn allow_deletes_asks_for_all_of_them_at_once() {
    let mut world = World::new().await;
    world.settings.max_deletes = MaxDeletes {
        count: 3,
        percent: 25,
    };
    let a = world.category("a");
    let ids: Vec<Uuid> = (0..10)
        .map(|number| world.article(a, &format!("n{number}"), "<p>x</p>"))
        .collect();
    world.sync().await;
    for id in ids.iter().take(6) {
        world.sandbox().remove(*id);
    }
    let mut request = both();
    request.allow_deletes = true;
    let report = world.run(&request).await;
    assert_eq!(report.requests.total, 1 + 2 * 6);
    assert_eq!(articles(&world).len(), 4);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f041_many_files_removed_at_once_are_held() {
    let mut world = World::new().await;
    world.settings.max_deletes = MaxDeletes {
        count: 3,
        percent: 25,
    };
    let a = world.category("a");
    for number in 0..10 {
        world.article(a, &format!("n{number}"), "<p>x</p>");
    }
    world.sync().await;
    for number in 0..4 {
        world.remove(&format!("a/n{number}.html"));
    }
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(held(&report).len(), 4);
        assert_eq!(report.requests.total, 1);
        assert_eq!(world.sandbox().articles().len(), 10);
    }
    // One file is put back: three deletions are within the limit, but nobody has approved them.
    world.write("a/n0.html", &world.read("a/n9.html").replace("n9", "n0"));
    let id = world.sandbox().articles()[0].id;
    let file = format!("---\nid: {id}\ntitle: n0\n---\n<p>x</p>\n");
    world.write("a/n0.html", &file);
    let report = world.sync().await;
    assert_eq!((held(&report).len(), report.requests.delete), (3, 0));
    let mut request = both();
    request.allow_deletes = true;
    let report = world.run(&request).await;
    assert_eq!(report.requests.delete, 3, "{:?}", lines(&report));
    assert_eq!(world.sandbox().articles().len(), 7);
}

#[tokio::test]
async fn f119_an_article_that_goes_back_and_forth_is_held() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>B</p>");
    world.sync().await;
    for round in 0..3 {
        world.edit("a/one.html", "<p>B</p>", "<p>A</p>");
        let report = world.sync().await;
        if round < 2 {
            assert_eq!(lines(&report), ["update remote a/one.html done"]);
        } else {
            assert_eq!(lines(&report), ["update remote a/one.html held"]);
            assert!(held(&report)[0].1.contains("back and forth between"));
            assert_eq!(report.outcome.number(), 3);
            break;
        }
        world
            .sandbox()
            .edit(one, |article| article.text = "<p>B</p>".into());
        assert_eq!(lines(&world.sync().await), ["update local a/one.html done"]);
    }
    // A new text is synced as usual.
    world.edit("a/one.html", "<p>A</p>", "<p>C</p>");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/one.html done"]
    );
    assert_quiet(&world, 1).await;
}
