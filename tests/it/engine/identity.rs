//! The identity of files and articles, however a writer changes names and ids.

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::look::history;
use crate::support::wire::{line, problems, reason};
use crate::support::world::{World, lines};
use kbsync::engine::settings::CycleRequest;
use kbsync::reconcile::guard::MaxDeletes;
use kbsync::reconcile::snapshot::Direction;
use kbsync::sandbox::NewSeed;
use std::time::Duration;
use uuid::Uuid;

const TEXT: &str = "<p>One.</p>";

fn slugs(world: &World, ids: &[Uuid]) -> Vec<String> {
    ids.iter().map(|id| world.on_service(*id).slug).collect()
}

#[tokio::test]
async fn f053_a_rename_is_one_put_and_keeps_the_id() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.rename("start/one.html", "start/uno.html");
    let before = world.files();
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move remote start/uno.html done"]);
    assert_eq!(
        reason(&report, "start/uno.html"),
        "was one.html; its public address changes from one to uno"
    );
    assert_eq!(report.requests.total, 2);
    assert_eq!(world.sent(), [r#"PUT article {"slug":"uno"}"#]);
    assert_eq!(slugs(&world, &ids), ["uno"]);
    assert_eq!(world.files(), before);
    world.is_quiet().await;
}

#[tokio::test]
async fn f053_many_renames_are_no_deletions() {
    let names: Vec<String> = (0..20).map(|number| format!("a{number:02}")).collect();
    let articles: Vec<_> = names.iter().map(|name| (name.as_str(), TEXT)).collect();
    let (world, _, ids) = World::start(&articles).await;
    for name in &names {
        world.rename(
            &format!("start/{name}.html"),
            &format!("start/{name}-b.html"),
        );
    }
    let report = world.sync().await;
    assert_eq!(report.requests.total, 21);
    assert_eq!((report.requests.put, report.outcome.number()), (20, 0));
    assert!(slugs(&world, &ids).iter().all(|slug| slug.ends_with("-b")));
    world.is_quiet().await;
}

#[tokio::test]
async fn a_rename_with_a_slug_key_changes_only_the_place() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.edit("start/one.html", "title: one\n", "title: one\nslug: one\n");
    world.is_quiet().await;
    world.rename("start/one.html", "start/My page.html");
    let report = world.sync().await;
    assert_eq!((lines(&report), problems(&report)), (vec![], vec![]));
    assert_eq!(world.sent(), [""; 0]);
    world.is_quiet().await;
    // The writer's file name stays when the service changes the slug.
    world
        .sandbox()
        .edit(ids[0], |article| article.slug = "uno".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local start/My page.html done"]);
    assert!(world.read("start/My page.html").contains("\nslug: uno\n"));
    world.is_quiet().await;
    // Without the `slug:` line, the file's name is the slug again.
    world.rename("start/My page.html", "start/page.html");
    world.edit("start/page.html", "slug: uno\n", "");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move remote start/page.html done"]);
    assert_eq!(slugs(&world, &ids), ["page"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn f054_a_copy_is_a_new_article_and_the_original_keeps_its_id() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    let original = world.read("start/one.html");
    // Copies whose names sort before and after the original, and a copy in another folder.
    let other = world.category("other");
    world.article(other, "x", TEXT);
    world.sync().await;
    world.sandbox().clear_requests();
    for copy in ["start/a-copy.html", "start/z-copy.html", "other/one.html"] {
        world.write(copy, &original);
    }
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create remote other/one.html done",
            "create remote start/a-copy.html done",
            "create remote start/z-copy.html done"
        ]
    );
    assert_eq!(world.read("start/one.html"), original);
    assert_eq!(slugs(&world, &ids), ["one"]);
    let created: Vec<_> = world.sandbox().articles()[2..].to_vec();
    assert_eq!(created.len(), 3);
    for article in created {
        let path = if article.category_id == other {
            "other/one.html".to_owned()
        } else {
            format!("start/{}.html", article.slug)
        };
        let expected = original.replace(&ids[0].to_string(), &article.id.to_string());
        assert_eq!(world.read(&path), expected);
    }
    // The original was never renamed.
    assert_eq!(history(&world, ids[0]).len(), 1);
    world.is_quiet().await;
}

#[tokio::test]
async fn f055_two_slugs_that_are_swapped_are_held_until_one_of_them_makes_way() {
    let (world, _, ids) = World::start(&[("a", "<p>A</p>"), ("b", "<p>B</p>")]).await;
    world.rename("start/a.html", "start/t.html");
    world.rename("start/b.html", "start/a.html");
    world.rename("start/t.html", "start/b.html");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 3, "{:#?}", report.actions);
    assert_eq!(report.requests.put, 0);
    for line in &report.actions {
        let reason = line.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("use a third slug in between"), "{line:?}");
    }
    assert_eq!(slugs(&world, &ids), ["a", "b"]);
    world.rename("start/b.html", "start/t.html");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:#?}", report.actions);
    assert_eq!(slugs(&world, &ids), ["t", "a"]);
    world.rename("start/t.html", "start/b.html");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:#?}", report.actions);
    assert_eq!(slugs(&world, &ids), ["b", "a"]);
    assert!(world.read("start/a.html").contains(&ids[1].to_string()));
    assert!(world.read("start/b.html").contains("<p>A</p>"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f055_of_a_circle_with_edits_nothing_is_sent_and_a_chain_is_put_in_order() {
    let (world, _, ids) =
        World::start(&[("a", "<p>A</p>"), ("b", "<p>B</p>"), ("c", "<p>C</p>")]).await;
    world.rename("start/a.html", "start/t.html");
    world.rename("start/c.html", "start/a.html");
    world.rename("start/b.html", "start/c.html");
    world.rename("start/t.html", "start/b.html");
    world.edit("start/b.html", "<p>A</p>", "<p>A, edited</p>");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 3, "{:#?}", report.actions);
    assert_eq!(report.requests.put, 0);
    // One file of the circle gets another name, which turns the circle into a chain.
    world.rename("start/b.html", "start/t.html");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:#?}", report.actions);
    assert_eq!(slugs(&world, &ids), ["t", "c", "a"]);
    world.rename("start/t.html", "start/b.html");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:#?}", report.actions);
    assert_eq!(slugs(&world, &ids), ["b", "c", "a"]);
    assert_eq!(world.on_service(ids[0]).text, "<p>A, edited</p>");
    world.is_quiet().await;
    // A chain: c is renamed to d, a to c, and a new file gets the name a.
    world.rename("start/c.html", "start/d.html");
    world.rename("start/a.html", "start/c.html");
    world.write("start/a.html", "---\ntitle: New a\n---\nx\n");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:#?}", report.actions);
    assert_eq!(report.requests.total, 4);
    assert_eq!(slugs(&world, &ids), ["b", "d", "c"]);
    assert_eq!(world.sandbox().articles()[3].slug, "a");
    world.is_quiet().await;
}

#[tokio::test]
async fn f056_a_rename_of_case_only_is_a_rename_here_and_a_slug_line_for_one_there() {
    let (world, _, ids) = World::start(&[("install", TEXT)]).await;
    world.rename("start/install.html", "start/Install.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move remote start/Install.html done"]);
    assert_eq!(slugs(&world, &ids), ["Install"]);
    assert!(world.exists("start/Install.html") && !world.exists("start/install.html"));
    world.is_quiet().await;
    world
        .sandbox()
        .edit(ids[0], |article| article.slug = "INSTALL".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local start/Install.html done"]);
    assert!(!world.exists("start/INSTALL.html"));
    assert!(world.read("start/Install.html").contains("slug: INSTALL\n"));
    world.is_quiet().await;
    world
        .sandbox()
        .edit(ids[0], |article| article.slug = "install".into());
    world.sync().await;
    let file = world.read("start/Install.html");
    assert!(file.contains("slug: install\n"), "{file}");
    world.is_quiet().await;
}

#[tokio::test]
async fn a_file_moved_over_another_deletes_that_first() {
    let (mut world, _, ids) = World::start(&[("a", "<p>A</p>"), ("b", "<p>B</p>")]).await;
    std::fs::rename(world.path("start/b.html"), world.path("start/a.html")).expect("moved");
    world.settings.max_deletes = MaxDeletes {
        count: 0,
        percent: 0,
    };
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "move remote start/a.html held",
            "delete remote start/a.html held"
        ]
    );
    assert_eq!(report.outcome.number(), 3);
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(slugs(&world, &ids), ["a", "b"]);
    // A held action waits for a person, whatever the limit is by then.
    world.settings.max_deletes.count = 10;
    assert_eq!(world.sync().await.outcome.number(), 3);
    let mut request = CycleRequest::new(Direction::Both);
    request.allow_deletes = true;
    let report = world.run(&request).await;
    assert_eq!(
        lines(&report),
        [
            "delete remote start/a.html done",
            "move remote start/a.html done"
        ]
    );
    assert!(world.sandbox().article(ids[0]).is_none());
    assert_eq!(slugs(&world, &ids[1..]), ["a"]);
    assert!(world.read("start/a.html").contains("<p>B</p>"));
    world.is_quiet().await;
}

#[tokio::test]
async fn two_files_with_one_id_and_neither_at_its_place_are_left_alone() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.write("start/left.html", &world.read("start/one.html"));
    world.rename("start/one.html", "start/right.html");
    let before = world.files();
    let report = world.sync().await;
    assert_eq!((lines(&report), world.sent()), (vec![], vec![]));
    assert_eq!(report.outcome.number(), 4);
    for (path, problem) in ["start/left.html", "start/right.html"]
        .iter()
        .zip(problems(&report))
    {
        assert!(
            problem.starts_with(path) && problem.contains("start/left.html or start/right.html"),
            "{problem}"
        );
    }
    assert_eq!(world.files(), before);
    world.edit("start/left.html", &format!("id: {}\n", ids[0]), "");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create remote start/left.html done",
            "move remote start/right.html done"
        ]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn f123_an_id_edited_to_that_of_another_article_touches_neither() {
    let (world, _, ids) = World::start(&[("a", "<p>A</p>"), ("b", "<p>B</p>")]).await;
    world.edit("start/a.html", &ids[0].to_string(), &ids[1].to_string());
    world.edit("start/b.html", "<p>B</p>", "<p>B, edited</p>");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/b.html done"]);
    let said = problems(&report);
    assert!(
        said.len() == 1
            && said[0].starts_with("start/a.html")
            && said[0].contains(&format!("put `id: {}` back", ids[0])),
        "{said:?}"
    );
    assert_eq!(report.outcome.number(), 4);
    assert_eq!(world.on_service(ids[0]).text, "<p>A</p>");
    assert_eq!(world.on_service(ids[1]).text, "<p>B, edited</p>");
    world.edit("start/a.html", &ids[1].to_string(), &ids[0].to_string());
    world.is_quiet().await;
}

#[tokio::test]
async fn a_removed_id_line_comes_back() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.edit("start/one.html", &format!("id: {}\n", ids[0]), "");
    world.edit("start/one.html", "One", "1");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0);
    assert_eq!(world.sent(), [r#"PUT article {"text":"<p>1.</p>"}"#]);
    assert_eq!(line(&report, "start/one.html").path, "start/one.html");
    assert!(
        world
            .read("start/one.html")
            .contains(&format!("id: {}\n", ids[0]))
    );
    world.is_quiet().await;
    world.edit("start/one.html", &format!("id: {}\n", ids[0]), "");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["adopt both start/one.html done"]);
    assert_eq!(
        reason(&report, "start/one.html"),
        "its id is written into the file"
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn an_id_without_a_base_is_asked_for_and_never_posted_as_new() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    let draft = world.sandbox().add_article(NewSeed {
        draft: true,
        ..NewSeed::new(start, "Draft", "draft", TEXT)
    });
    let file = |id: Uuid, title: &str| format!("---\nid: {id}\ntitle: {title}\n---\n{TEXT}\n");
    // An unpublished article with the same words is adopted, and the file then shows that it is a draft.
    world.write("start/draft.html", &file(draft, "Draft"));
    // An unknown id is held like that of a deleted article.
    let nobody = Uuid::from_u128(7);
    world.write("start/nobody.html", &file(nobody, "Nobody"));
    let report = world.sync().await;
    let said = lines(&report);
    assert!(
        said.contains(&"conflict both start/nobody.html held".to_owned()),
        "{said:?}"
    );
    assert_eq!(report.outcome.number(), 3, "{report:#?}");
    assert!(world.read("start/draft.html").contains("\ndraft: true\n"));
    assert!(
        world
            .sent()
            .iter()
            .all(|request| request == "PUT article {}")
    );
    assert_eq!(world.sandbox().articles().len(), 2);
    assert!(world.exists("start/nobody.html"));
    // A draft with other words is a conflict.
    let other = world.sandbox().add_article(NewSeed {
        draft: true,
        ..NewSeed::new(start, "Theirs", "other", TEXT)
    });
    world.remove("start/nobody.html");
    world.write("start/other.html", &file(other, "Mine"));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/other.html held"]);
    assert!(world.read("start/other.html").contains("Mine"));
    assert!(world.read("start/other.conflict.html").contains("Theirs"));
}

#[tokio::test]
async fn an_id_that_cannot_be_asked_for_is_held() {
    let (mut world, _, _) = World::start(&[("one", TEXT)]).await;
    world.settings.probe = false;
    world.write(
        "start/x.html",
        &format!("---\nid: {}\ntitle: X\n---\nx\n", Uuid::from_u128(7)),
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/x.html held"]);
    assert_eq!((report.outcome.number(), world.sent()), (3, vec![]));
}

#[tokio::test]
async fn f058_renamed_on_both_sides_differently_is_a_conflict_of_the_slug_alone() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.rename("start/one.html", "start/mine.html");
    world
        .sandbox()
        .edit(ids[0], |article| article.slug = "theirs".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/mine.html held"]);
    assert_eq!(
        line(&report, "start/mine.html").fields,
        [kbsync::model::Field::Slug]
    );
    assert_eq!(world.sent(), [""; 0]);
    world.remove("start/mine.conflict.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move remote start/mine.html done"]);
    assert_eq!(slugs(&world, &ids), ["mine"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn f060_a_title_never_renames_a_file() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.edit("start/one.html", "title: one", "title: Something else");
    world.sync().await;
    world
        .sandbox()
        .edit(ids[0], |article| article.title = "A third".into());
    world.sync().await;
    assert!(world.read("start/one.html").contains("title: A third\n"));
    assert_eq!(slugs(&world, &ids), ["one"]);
    assert_eq!(world.files().len(), 2);
    world.is_quiet().await;
}

#[tokio::test]
async fn f037_deleted_and_created_again_is_another_article() {
    for edited in [false, true] {
        let (world, start, ids) = World::start(&[("one", "<p>Old.</p>"), ("two", TEXT)]).await;
        if edited {
            world.edit("start/one.html", "Old", "Mine");
        }
        world.sandbox().remove(ids[0]);
        let new = world.article(start, "one", "<p>New.</p>");
        for _ in 0..2 {
            world.sync().await;
            // The writer's words are never lost and nothing is sent, wherever the new article's file is.
            assert!(world.sent().iter().all(|sent| sent == "PUT article {}"));
        }
        assert_eq!(world.on_service(new).text, "<p>New.</p>");
        let texts: Vec<String> = world.files().into_iter().map(|(_, text)| text).collect();
        assert!(
            texts.iter().any(|text| text.contains("<p>New.</p>")),
            "{texts:?}"
        );
        assert_eq!(
            edited,
            texts.iter().any(|text| text.contains("<p>Mine.</p>"))
        );
        assert!(!texts.iter().any(|text| text.contains("<p>Old.</p>")));
        if !edited {
            world.is_quiet().await;
        }
    }
}

// A slug that another article has.

#[tokio::test]
async fn f028_f115_a_slug_of_an_invisible_draft_is_refused_once() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    let draft = world.sandbox().add_article(NewSeed {
        draft: true,
        ..NewSeed::new(start, "Draft", "taken", TEXT)
    });
    world.write("start/taken.html", "---\ntitle: Mine\n---\nx\n");
    world.edit("start/one.html", "One", "1");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update remote start/one.html done",
            "create remote start/taken.html failed"
        ]
    );
    assert_eq!(report.outcome.number(), 4);
    assert!(
        reason(&report, "start/taken.html")
            .contains("An article with this slug already exists in the category."),
    );
    world.sandbox().clear_requests();
    for _ in 0..3 {
        let report = world.sync().await;
        assert_eq!(lines(&report), ["create remote start/taken.html held"]);
        assert_eq!((world.sent(), report.outcome.number()), (vec![], 4));
    }
    world.clock.advance(Duration::from_hours(25));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create remote start/taken.html failed"]);
    assert_eq!(world.sent().len(), 1, "after a day it is tried again, once");
    world.edit("start/taken.html", "Mine", "Mine, edited");
    world.sync().await;
    assert_eq!(world.sent().len(), 1, "an edited file is tried again");
    world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    world.rename("start/taken.html", "start/free.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create remote start/free.html done"]);
    assert_eq!(world.on_service(draft).slug, "taken");
    world.is_quiet().await;
}

#[tokio::test]
async fn f029_a_slug_of_a_visible_article_is_never_sent_nor_invented() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.write("start/new.html", "---\ntitle: N\nslug: one\n---\nx\n");
    world.edit("start/two.html", "title: two\n", "title: two\nslug: one\n");
    let before = world.files();
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(world.files(), before);
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    assert_eq!(
        lines(&report),
        [
            "create remote start/new.html held",
            "move remote start/two.html held"
        ]
    );
    // The slug's owner is deleted, and the article that asked for the slug gets it.
    world.remove("start/new.html");
    world.sandbox().remove(ids[0]);
    world.sync().await;
    world.sync().await;
    assert_eq!(slugs(&world, &ids[1..]), ["one"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn f069_what_the_service_refuses_stops_only_itself() {
    let (world, _, ids) = World::start(&[("a", TEXT), ("b", TEXT), ("c", TEXT), ("d", TEXT)]).await;
    let put = |id: Uuid| Matcher::new("PUT", &format!("/api/article/{id}"));
    let refuse = |status| {
        FaultKind::Status(
            status,
            r#"{"success":false,"message":"not for you"}"#.into(),
        )
    };
    world
        .sandbox()
        .inject(Fault::always(put(ids[0]), refuse(403)));
    world.edit("start/a.html", "One", "1");
    world.edit("start/b.html", "title: b\n", "title: b\nslug: a b\n");
    world.edit("start/c.html", "One", "1");
    world.sandbox().inject(Fault::always(
        Matcher::new("DELETE", &format!("/api/article/{}", ids[3])),
        refuse(403),
    ));
    world.remove("start/d.html");
    world.write("start/e.html", "---\ntitle: E\n---\nx\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update remote start/a.html failed",
            "move remote start/b.html failed",
            "update remote start/c.html done",
            "create remote start/e.html done",
            "delete remote start/d.html failed"
        ]
    );
    assert_eq!(report.outcome.number(), 4);
    assert!(reason(&report, "start/a.html").contains("not for you"));
    assert!(reason(&report, "start/b.html").contains("slug"));
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update remote start/a.html held",
            "move remote start/b.html held",
            "delete remote start/d.html held"
        ]
    );
    assert_eq!((world.sent(), report.outcome.number()), (vec![], 4));
    // A new version on the service or in the file leads to another attempt.
    world.sandbox().clear_faults();
    world
        .sandbox()
        .edit(ids[0], |article| article.keywords = Some("k".into()));
    world.edit("start/b.html", "slug: a b", "slug: a-b");
    world.write(
        "start/d.html",
        &format!("---\nid: {}\ntitle: d\n---\n{TEXT}\n", ids[3]),
    );
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:#?}", report.actions);
    assert!(world.on_service(ids[0]).text.contains('1'));
    assert_eq!(world.on_service(ids[1]).slug, "a-b");
    world.is_quiet().await;
}

#[tokio::test]
async fn who_waits_for_a_slug_that_is_not_freed_is_not_sent() {
    let (world, _, ids) = World::start(&[("a", TEXT), ("b", TEXT)]).await;
    world.rename("start/b.html", "start/c.html");
    world.rename("start/a.html", "start/b.html");
    world.sandbox().inject(Fault::once(
        Matcher::new("PUT", &format!("/api/article/{}", ids[1])),
        FaultKind::Status(403, r#"{"success":false,"message":"not yet"}"#.into()),
    ));
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "move remote start/c.html failed",
            "move remote start/b.html held"
        ]
    );
    assert_eq!(world.sent(), [r#"PUT article {"slug":"c"}"#]);
    let report = world.sync().await;
    assert_eq!((world.sent(), report.outcome.number()), (vec![], 4));
    world.clock.advance(Duration::from_hours(25));
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "move remote start/c.html done",
            "move remote start/b.html done"
        ]
    );
    assert_eq!(slugs(&world, &ids), ["b", "c"]);
    world.is_quiet().await;
}

/// A second workspace with one article in `billing`, and the two files that a mirror of it has.
fn another_workspace(world: &World) -> (Uuid, Uuid, [(String, String); 2]) {
    let other = world.sandbox().add_workspace("Help EN");
    let category = world.sandbox().add_category(other, "Billing", "billing");
    let article = world.article(category, "invoices", "<p>EN</p>");
    let yaml = format!("id: {category}\nname: Billing\n");
    let file = format!("---\nid: {article}\ntitle: invoices\n---\n<p>EN</p>\n");
    let files = [
        ("_category.yaml".to_owned(), yaml),
        ("invoices.html".to_owned(), file),
    ];
    (category, article, files)
}

#[tokio::test]
async fn a_folder_copied_from_another_workspace_never_changes_its_articles() {
    let (world, ..) = World::start(&[("one", "<p>One.</p>")]).await;
    let (category, article, files) = another_workspace(&world);
    for (name, content) in &files {
        world.write(&format!("billing/{name}"), content);
    }
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(
        problems(&report),
        [format!(
            "billing: category {category} belongs to another workspace; move the folder there, or take out the \
             `id:` lines in it for new articles here"
        )]
    );
    world.edit("billing/invoices.html", "EN", "DE");
    world.sync().await;
    world.remove("billing/invoices.html");
    world.sync().await;
    std::fs::remove_dir_all(world.path("billing")).expect("removed");
    world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(world.on_service(article).text, "<p>EN</p>");
    world.is_quiet().await;
}

#[tokio::test]
async fn a_file_copied_from_another_workspace_is_not_adopted() {
    let (world, ..) = World::start(&[("one", "<p>One.</p>")]).await;
    let (_, article, files) = another_workspace(&world);
    world.write("start/invoices.html", &files[1].1);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both start/invoices.html held"]);
    // No folder of this mirror has the other workspace's category, so no folder is reported as moved.
    assert_eq!(problems(&report), [""; 0]);
    assert_eq!(report.outcome.number(), 3);
    assert_eq!(problems(&world.sync().await), [""; 0]);
    let told = reason(&report, "start/invoices.html");
    assert!(
        told.contains("another workspace; move it to that workspace's folder"),
        "{told}"
    );
    assert!(!told.contains("publish"), "{told}");
    world.edit("start/invoices.html", "EN", "DE");
    world.sync().await;
    world.remove("start/invoices.html");
    world.sync().await;
    let mut sent = world.sent();
    sent.retain(|request| request != "PUT article {}");
    assert_eq!(sent, [""; 0], "nothing but probes");
    assert_eq!(world.on_service(article).text, "<p>EN</p>");
}

#[tokio::test]
async fn another_workspaces_folder_in_the_place_of_ours_deletes_nothing() {
    let (world, _, ids) = World::start(&[("one", "<p>One.</p>")]).await;
    let (_, article, files) = another_workspace(&world);
    std::fs::remove_dir_all(world.path("start")).expect("removed");
    for (name, content) in &files {
        world.write(&format!("start/{name}"), content);
    }
    world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(world.on_service(ids[0]).text, "<p>One.</p>");
    assert_eq!(world.on_service(article).text, "<p>EN</p>");
}

#[tokio::test]
async fn f097_a_file_moved_to_where_no_article_can_be_is_not_gone() {
    for to in [
        "start/one.HTML",
        "start/one.htm",
        "start/_one.html",
        "start/.one.html",
        "one.html",
        "_one.html",
    ] {
        let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
        world.rename("start/one.html", to);
        let report = world.sync().await;
        assert_eq!(lines(&report), [""; 0], "{to}");
        assert_eq!(world.sent(), [""; 0], "{to}");
        assert!(
            problems(&report)
                .iter()
                .any(|problem| problem.starts_with(&format!("{to}: the file of an article"))),
            "{to}: {:?}",
            problems(&report)
        );
        // A file that is then deleted counts as removed.
        world.remove(to);
        assert_eq!(
            lines(&world.sync().await),
            ["delete remote start/one.html done"],
            "{to}"
        );
        assert!(world.sandbox().article(ids[1]).is_some());
        world.is_quiet().await;
    }
}

#[tokio::test]
async fn f097_a_moved_file_that_is_not_ready_has_one_problem() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.rename("start/one.html", "start/uno.html");
    world.edit("start/uno.html", "title: one", "title: [one");
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    let problems = problems(&report);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("start/uno.html"), "{problems:?}");
    assert!(world.sandbox().article(ids[0]).is_some());
}

#[tokio::test]
async fn f097_a_copy_under_an_ignored_name_is_in_nobodys_way() {
    let (world, _, ids) = World::start(&[("one", TEXT)]).await;
    world.write("start/_one.html", &world.read("start/one.html"));
    world.rename("start/one.html", "start/uno.html");
    world.edit("start/uno.html", "One", "Uno");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["move remote start/uno.html done"]);
    assert_eq!(slugs(&world, &ids), ["uno"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn f097_nothing_is_deleted_while_a_file_cannot_be_read() {
    use std::os::unix::ffi::OsStrExt as _;
    let (world, _, _) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    let odd = world
        .path("start")
        .join(std::ffi::OsStr::from_bytes(b"uno\xff.html"));
    std::fs::rename(world.path("start/one.html"), &odd).expect("renamed");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["delete remote start/one.html held"]);
    assert!(
        reason(&report, "start/one.html").contains("could not be read"),
        "{}",
        reason(&report, "start/one.html")
    );
    assert_eq!(world.sent(), [""; 0]);
    std::fs::rename(&odd, world.path("start/one.html")).expect("renamed");
    world.is_quiet().await;
}
