//! The first run over existing files, and the run after the state was lost: equal versions pair by themselves,
//! different versions wait, and nothing is deleted.

use crate::support::faults::Inject as _;
use crate::support::look::{
    articles, assert_quiet, both, changed_rows, decision, dump, held, kept, paths, problems,
    requests, row,
};
use crate::support::world::{World, lines};
use kbsync::engine::settings::CycleRequest;
use kbsync::model::{ArticleId, WorkspaceId};
use kbsync::reconcile::snapshot::{Direction, Keep, OnConflict};
use kbsync::sandbox::NewSeed;
use kbsync::state::{Binding, Store};
use uuid::Uuid;

/// Deletes the state, as `git clean` or a new machine does.
fn lose_state(world: &World) {
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let path = world.path(&format!(".kbsync/{name}"));
        if path.exists() {
            std::fs::remove_file(path).expect("removed");
        }
    }
}

fn writes(report: &kbsync::engine::report::Report) -> u64 {
    report.requests.post + report.requests.put + report.requests.delete
}

#[tokio::test]
async fn equal_files_pair_by_id_and_by_address_and_only_the_id_is_written() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    let two = world.article(a, "two", "<p>2</p>");
    let three = world.article(a, "three", "<p>3</p>");
    let with_id = format!("---\ntitle: one\nid: {one} # mine\n---\n<p>1</p>\n");
    world.write("a/one.html", &with_id);
    world.write(
        "a/two.html",
        "---\n# no id\ntitle: two\nowner: me\n---\n<p>2</p>\n",
    );
    world.write(
        "a/any-name.html",
        "---\ntitle: three\nslug: three\n---\n<p>3</p>\n",
    );
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(writes(&report), 0);
    assert_eq!(world.read("a/one.html"), with_id);
    let file = world.read("a/two.html");
    assert_eq!(
        file.replace(&format!("id: {two}\n"), ""),
        "---\n# no id\ntitle: two\nowner: me\n---\n<p>2</p>\n"
    );
    assert!(world.read("a/any-name.html").contains(&three.to_string()));
    assert_eq!(
        articles(&world),
        ["a/any-name.html", "a/one.html", "a/two.html"]
    );
    assert!(world.read("a/_category.yaml").contains(&a.to_string()));
    assert_quiet(&world, 1).await;
    world.edit("a/any-name.html", "<p>3</p>", "<p>3!</p>");
    world.sync().await;
    assert_eq!(
        world.sandbox().article(three).expect("there").text,
        "<p>3!</p>"
    );
}

#[tokio::test]
async fn with_a_new_state_a_sync_of_another_folder_removes_no_copy() {
    let world = World::new().await;
    let one = world.article(world.category("a"), "one", "<p>old</p>");
    world.article(world.category("b"), "other", "<p>other</p>");
    world.sync().await;
    world.edit("a/one.html", "old", "mine");
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>theirs</p>".into());
    world.sync().await;
    assert!(world.exists("a/one.conflict.html"));
    lose_state(&world);
    let scoped = CycleRequest {
        scope: vec!["b".to_owned()],
        ..CycleRequest::new(Direction::Both)
    };
    world.run(&scoped).await;
    assert!(world.exists("a/one.conflict.html"));
}

#[tokio::test]
async fn different_files_are_conflicts_each_with_its_copy() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    let two = world.article(a, "two", "<p>2</p>");
    world.write(
        "a/one.html",
        &format!("---\nid: {one}\ntitle: one\n---\n<p>mine</p>\n"),
    );
    world.write("a/two.html", "---\ntitle: Two of mine\n---\n<p>2</p>\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report)
            .into_iter()
            .filter(|line| line.contains(".html"))
            .collect::<Vec<_>>(),
        [
            "conflict both a/one.html held",
            "conflict both a/two.html held"
        ]
    );
    assert_eq!((writes(&report), report.outcome.number()), (0, 3));
    assert!(world.read("a/one.conflict.html").ends_with("<p>1</p>\n"));
    assert!(world.read("a/two.conflict.html").contains("title: two\n"));
    let again = world.sync().await;
    assert_eq!(held(&again).len(), 2);
    assert_eq!(again.requests.total, 1);
    // The conflicts are settled by hand: the file for the first, the service's version for the second.
    world.remove("a/one.conflict.html");
    let mut request = both();
    request
        .resolve
        .extend([decision(&world.path(""), ArticleId::new(two), Keep::Remote)]);
    let report = world.run(&request).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<p>mine</p>"
    );
    assert!(world.read("a/two.html").contains("title: two\n"));
    assert!(world.read("a/two.html").contains(&two.to_string()));
    assert!(!world.exists("a/two.conflict.html"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn prefer_settles_the_first_meeting_in_bulk_and_keeps_the_losers() {
    for prefer in [OnConflict::Local, OnConflict::Remote] {
        let world = World::new().await;
        let a = world.category("a");
        let ids: Vec<Uuid> = (0..4)
            .map(|number| world.article(a, &format!("n{number}"), "<p>theirs</p>"))
            .collect();
        for (number, id) in ids.iter().enumerate() {
            let id = if number % 2 == 0 {
                format!("id: {id}\n")
            } else {
                String::new()
            };
            world.write(
                &format!("a/n{number}.html"),
                &format!("---\n{id}title: n{number}\n---\n<p>mine</p>\n"),
            );
        }
        let mut request = both();
        request.prefer = Some(prefer);
        let report = world.run(&request).await;
        assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
        let (winner, puts) = match prefer {
            OnConflict::Local => ("<p>mine</p>", 4),
            OnConflict::Remote | OnConflict::Hold => ("<p>theirs</p>", 0),
        };
        assert_eq!(writes(&report), puts);
        for (number, id) in ids.iter().enumerate() {
            let article = world.sandbox().article(*id).expect("there");
            assert_eq!(article.text, winner);
            let file = world.read(&format!("a/n{number}.html"));
            assert!(
                file.contains(winner) && file.contains(&id.to_string()),
                "{file}"
            );
            assert!(kept(&world, *id, "<p>mine</p>"), "{prefer:?}");
            assert!(kept(&world, *id, "<p>theirs</p>"), "{prefer:?}");
        }
        assert_eq!(articles(&world).len(), 4);
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f010_losing_the_state_loses_nothing() {
    let world = World::new().await;
    let (a, b) = (world.category("a"), world.category("b"));
    let one = world.article(a, "one", "<p>1</p>");
    world.article(a, "two", "<p>2</p>");
    world.article(b, "../three", "<p>3</p>");
    world.sync().await;
    world.edit("a/_category.yaml", "name: a", "name: a # ours");
    world.sync().await;
    let before = world.files();
    lose_state(&world);
    requests(&world);
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(
        requests(&world),
        ["GET listing 200", "GET category 200", "GET category 200"]
    );
    assert_eq!(world.files(), before);
    assert!(row(&world, one).is_some());
    assert_quiet(&world, 1).await;
    // The new state is as good as the old: edits go both ways.
    world.edit("a/one.html", "<p>1</p>", "<p>1!</p>");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/one.html done"]
    );
}

#[tokio::test]
async fn f050_f088_without_a_base_nothing_is_deleted_on_either_side() {
    let world = World::new().await;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    let two = world.article(a, "two", "<p>2</p>");
    world.article(a, "three", "<p>3</p>");
    world.sync().await;
    // While the state is lost, a file is removed here and an article is deleted there.
    std::fs::remove_dir_all(world.path(".kbsync")).expect("removed");
    std::fs::create_dir(world.path(".kbsync")).expect("made");
    world.remove("a/one.html");
    world.sandbox().remove(two);
    requests(&world);
    let mut request = both();
    request.allow_deletes = true;
    let report = world.run(&request).await;
    assert_eq!(report.requests.delete + report.requests.post, 0);
    assert!(world.sandbox().article(one).is_some());
    assert_eq!(
        articles(&world),
        ["a/one.html", "a/three.html", "a/two.html"]
    );
    // The file with the id of a deleted article is held, and is not created anew without a word from a person.
    assert_eq!(held(&report).len(), 1, "{:?}", lines(&report));
    assert_eq!(held(&report)[0].0, "a/two.html");
    assert_eq!(report.outcome.number(), 3);
    let report = world.sync().await;
    assert_eq!(held(&report).len(), 1);
    assert_eq!(report.requests.total, 1, "the answer is known");
    let mut request = both();
    request
        .resolve
        .extend([decision(&world.path(""), ArticleId::new(two), Keep::Local)]);
    let report = world.run(&request).await;
    assert_eq!(lines(&report), ["create remote a/two.html done"]);
    assert_eq!(world.sandbox().articles().len(), 3);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_file_with_the_id_of_an_unpublished_article_meets_it() {
    let world = World::new().await;
    let a = world.category("a");
    world.article(a, "other", "<p>o</p>");
    let equal = world
        .sandbox()
        .add_article(NewSeed::new(a, "Equal", "equal", "<p>e</p>").draft());
    let differs = world
        .sandbox()
        .add_article(NewSeed::new(a, "Differs", "differs", "<p>d</p>").disabled());
    world.write(
        "a/equal.html",
        &format!("---\nid: {equal}\ntitle: Equal\n---\n<p>e</p>\n"),
    );
    world.write(
        "a/differs.html",
        &format!("---\nid: {differs}\ntitle: Differs\n---\n<p>mine</p>\n"),
    );
    let report = world.sync().await;
    assert_eq!(report.requests.post, 0);
    assert_eq!(held(&report).len(), 1, "{:?}", lines(&report));
    assert!(world.read("a/equal.html").contains("draft: true"));
    assert!(world.read("a/differs.conflict.html").contains("<p>d</p>"));
    world.remove("a/differs.conflict.html");
    world.sync().await;
    let article = world.sandbox().article(differs).expect("there");
    assert_eq!(
        (article.text.as_str(), article.enabled),
        ("<p>mine</p>", false)
    );
    assert_eq!(world.sandbox().articles().len(), 3);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f049_another_service_or_workspace_is_refused() {
    let world = World::new().await;
    let a = world.category("a");
    world.article(a, "one", "<p>1</p>");
    world.sync().await;
    let before = dump(&world);
    let here = Binding {
        service: world.running.url.clone(),
        workspace: world.settings.workspace,
    };
    let (workspace, service) = (here.workspace, here.service.clone());
    let elsewhere = [
        (
            format!("this folder mirrors workspace {workspace} of {service}, and"),
            Binding {
                workspace: WorkspaceId::new(Uuid::from_u128(7)),
                ..here.clone()
            },
        ),
        (
            format!(
                "this folder mirrors {service}, and kbsync.yaml (or KBSYNC_SERVICE, KBSYNC_WORKSPACE) now names https://kb.example.org;"
            ),
            Binding {
                service: "https://kb.example.org".into(),
                ..here.clone()
            },
        ),
    ];
    let now = kbsync::model::Timestamp(1);
    for (told, binding) in elsewhere {
        let error = Store::open(&world.path(".kbsync"), &binding, now).expect_err("another one");
        let message = format!("{:#}", anyhow::Error::new(error));
        assert!(message.contains(&told), "{message}");
        let may_have_moved = binding.service != service;
        assert_eq!(
            message.contains("if the service moved"),
            may_have_moved,
            "{message}"
        );
    }
    assert_eq!(changed_rows(&before, &dump(&world)), Vec::<String>::new());
    Store::open(&world.path(".kbsync"), &here, now).expect("the same");
}

#[tokio::test]
async fn f049_a_mirror_of_another_workspace_is_not_merged_into_this_one() {
    let world = World::new().await;
    let a = world.category("a");
    world.article(a, "one", "<p>1</p>");
    // Files that were written for another workspace, and no state.
    let other = world.sandbox().add_workspace("Other");
    let theirs = world.sandbox().add_category(other, "Theirs", "theirs");
    let article = world.article(theirs, "two", "<p>2</p>");
    world.write(
        "theirs/_category.yaml",
        &format!("id: {theirs}\nname: Theirs\n"),
    );
    world.write(
        "theirs/two.html",
        &format!("---\nid: {article}\ntitle: two\n---\n<p>edited</p>\n"),
    );
    let report = world.sync().await;
    assert_ne!(report.outcome.number(), 0);
    assert_eq!(report.requests.post, 0, "{:?}", lines(&report));
    assert_eq!(
        world.sandbox().article(article).expect("there").text,
        "<p>2</p>"
    );
    assert_eq!(world.sandbox().categories().len(), 2);
    assert!(
        problems(&report)
            .iter()
            .any(|one| one.contains("another workspace")),
        "{:?}",
        problems(&report)
    );
}

#[tokio::test]
async fn after_a_loss_what_the_service_had_rewritten_is_a_conflict_and_prefer_settles_it() {
    let world = World::new().await;
    world.sandbox().habits().normalise.one_line = true;
    let a = world.category("a");
    let one = world.article(a, "one", "<p>1</p>");
    world.sync().await;
    world.edit("a/one.html", "<p>1</p>", "<h1>One</h1>\n\n<p>1</p>");
    world.sync().await;
    assert_eq!(
        world.sandbox().article(one).expect("there").text,
        "<h1>One</h1><p>1</p>"
    );
    assert_quiet(&world, 1).await;
    lose_state(&world);
    let report = world.sync().await;
    assert_eq!(held(&report).len(), 1, "{:?}", lines(&report));
    assert_eq!(writes(&report), 0);
    let mut request = both();
    request.prefer = Some(OnConflict::Local);
    let report = world.run(&request).await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert!(
        world
            .read("a/one.html")
            .ends_with("<h1>One</h1>\n\n<p>1</p>\n"),
        "the writer's own form stays"
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_folder_without_published_articles_meets_its_category_by_the_settings_or_its_id() {
    for by_settings in [true, false] {
        let mut world = World::new().await;
        let a = world.category("a");
        let empty = world.category("empty");
        world.article(a, "one", "<p>1</p>");
        if by_settings {
            world
                .settings
                .categories
                .insert(kbsync::model::CategoryId::new(empty));
        } else {
            world.write(
                "empty/_category.yaml",
                &format!("id: {empty}\nname: empty\n"),
            );
        }
        world.write("empty/new.html", "---\ntitle: New\n---\n<p>n</p>\n");
        let report = world.sync().await;
        assert_eq!(problems(&report), Vec::<String>::new());
        assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
        assert_eq!(world.sandbox().categories().len(), 2);
        assert_eq!(report.requests.post, 1);
        let new = world.sandbox().articles().pop().expect("created");
        assert_eq!(new.category_id, empty);
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn a_category_named_in_the_settings_gets_its_folder() {
    let mut world = World::new().await;
    let empty = world.category("empty");
    world
        .settings
        .categories
        .insert(kbsync::model::CategoryId::new(empty));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create-category local empty done"]);
    assert_eq!(paths(&world), ["empty/_category.yaml"]);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_stranger_at_the_same_address_is_not_overwritten() {
    // A new file here, and at the same time a colleague's new article with the same slug.
    let world = World::new().await;
    let a = world.category("a");
    world.article(a, "one", "<p>1</p>");
    world.sync().await;
    world.write("a/new.html", "---\ntitle: Mine\n---\n<p>mine</p>\n");
    let new = world.article(a, "new", "<p>theirs</p>");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/new.html held"]);
    assert_eq!(writes(&report), 0);
    assert_eq!(
        world.sandbox().article(new).expect("there").text,
        "<p>theirs</p>"
    );
    assert!(world.read("a/new.conflict.html").contains("<p>theirs</p>"));
    assert!(world.read("a/new.html").contains("<p>mine</p>"));
    // Equal articles pair.
    world.write("a/same.html", "---\ntitle: same\n---\n<p>s</p>\n");
    world.article(a, "same", "<p>s</p>");
    let report = world.sync().await;
    assert!(
        lines(&report).contains(&"adopt both a/same.html done".to_owned()),
        "{:?}",
        lines(&report)
    );
}

#[tokio::test]
async fn f055_after_a_loss_files_that_swapped_their_names_are_held() {
    let world = World::new().await;
    let a = world.category("a");
    let ids = [
        world.article(a, "one", "<p>1</p>"),
        world.article(a, "two", "<p>2</p>"),
    ];
    world.sync().await;
    world.rename("a/one.html", "a/was-one.tmp");
    world.rename("a/two.html", "a/one.html");
    world.rename("a/was-one.tmp", "a/two.html");
    lose_state(&world);
    requests(&world);
    let mut request = both();
    request.prefer = Some(OnConflict::Local);
    let report = world.run(&request).await;
    assert_eq!(report.outcome.number(), 3, "{:#?}", report.actions);
    assert_eq!(report.requests.put, 0);
    let slugs = ids.map(|id| world.sandbox().article(id).expect("there").slug);
    assert_eq!(slugs, ["one", "two"]);
    assert!(world.read("a/two.html").contains("<p>1</p>"));
}
