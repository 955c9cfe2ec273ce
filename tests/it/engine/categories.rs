//! Folders and their `_category.yaml`: a writer's changes, and the requests that must follow.

use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::wire::{held, line, preferring, problems, reason};
use crate::support::world::{World, lines};
use kbsync::engine::settings::{Cause, CycleRequest};
use kbsync::model::Field;
use kbsync::reconcile::snapshot::{Direction, OnConflict};
use kbsync::service::Purpose;
use std::time::Duration;

const TEXT: &str = "<p>One.</p>";

#[tokio::test]
async fn f057_a_renamed_folder_is_one_put_and_takes_its_files_along() {
    let (world, start, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    let before = world.files();
    world.rename("start", "begin");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update-category remote begin done"]);
    assert_eq!(line(&report, "begin").fields, [Field::Slug]);
    assert_eq!(
        reason(&report, "begin"),
        "its public address changes from start to begin"
    );
    assert_eq!(
        report.requests.total, 3,
        "what the sync before has just seen may be replaced by now"
    );
    assert_eq!(world.sent(), [r#"PUT category {"slug":"begin"}"#]);
    assert_eq!(
        world.sandbox().category(start).expect("there").slug,
        "begin"
    );
    assert_eq!(world.on_service(ids[0]).category_id, start);
    let after: Vec<_> = before
        .into_iter()
        .map(|(path, text)| (path.replace("start/", "begin/"), text))
        .collect();
    assert_eq!(world.files(), after);
    world.is_quiet().await;
    // An edit along with another rename is sent in the same cycle, and the category is read first.
    world.clock.advance(Duration::from_mins(1));
    world.rename("begin", "start");
    world.edit("start/one.html", "One", "1");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update-category remote start done",
            "update remote start/one.html done"
        ]
    );
    assert_eq!(
        world.asked(),
        ["GET base", "GET category", "PUT category", "PUT article"]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn f057_files_without_ids_follow_their_folder_too() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    for (path, id) in [("start/one.html", ids[0]), ("start/two.html", ids[1])] {
        world.edit(path, &format!("id: {id}\n"), "");
    }
    world.rename("start", "begin");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update-category remote begin done",
            "adopt both begin/one.html done",
            "adopt both begin/two.html done"
        ]
    );
    assert_eq!(world.sent(), [r#"PUT category {"slug":"begin"}"#]);
    assert!(world.read("begin/one.html").contains(&ids[0].to_string()));
    world.is_quiet().await;
}

#[tokio::test]
async fn a_folder_with_a_slug_key_is_renamed_without_a_request() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    world.edit("start/_category.yaml", "name:", "slug: start\nname:");
    world.is_quiet().await;
    world.rename("start", "Chapter 1");
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(problems(&report), [""; 0]);
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(
        world.sandbox().category(start).expect("there").slug,
        "start"
    );
    world.edit("Chapter 1/one.html", "One", "1");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote Chapter 1/one.html done"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_10_every_key_of_a_category_goes_alone() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    for (from, to, put) in [
        ("name: start", "name: Start # here", r#"{"name":"Start"}"#),
        (
            "name: Start # here\n",
            "name: Start # here\ndescription: Read this\n",
            r#"{"description":"Read this"}"#,
        ),
        (
            "description: Read this\n",
            "meta_description: m\n",
            r#"{"description":"","meta_description":"m"}"#,
        ),
        (
            "name: Start # here\n",
            "name: Start # here\nslug: other\n",
            r#"{"slug":"other"}"#,
        ),
    ] {
        world.edit("start/_category.yaml", from, to);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["update-category remote start done"]);
        assert_eq!(world.sent(), [format!("PUT category {put}")]);
    }
    assert!(
        world
            .read("start/_category.yaml")
            .contains("name: Start # here\n")
    );
    assert_eq!(
        world.sandbox().category(start).expect("there").slug,
        "other"
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_9_a_new_folder_becomes_a_category_with_a_readable_name() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.write("getting-started/a.html", "---\ntitle: A\n---\na\n");
    world.write("getting-started/b.html", "---\ntitle: B\n---\nb\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote getting-started done",
            "create remote getting-started/a.html done",
            "create remote getting-started/b.html done"
        ]
    );
    assert_eq!(report.requests.total, 4);
    let category = world.sandbox().categories()[1].clone();
    assert_eq!(
        world.sent()[0],
        format!(
            "POST category {{\"base_id\":\"{}\",\"name\":\"Getting started\",\"slug\":\"getting-started\"}}",
            world.workspace
        )
    );
    assert_eq!(
        world.read("getting-started/_category.yaml"),
        format!("id: {}\nname: Getting started\n", category.id)
    );
    assert_eq!(world.sandbox().articles()[1].category_id, category.id);
    world.is_quiet().await;
}

#[tokio::test]
async fn s4_9_a_new_category_yaml_is_enough_and_keeps_its_comments() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.write("empty/nothing.txt", "not ours");
    world.write(
        "billing/_category.yaml",
        "# money\nname: 'Billing'\nslug: bills\nowner: me\ndescription: All of it\n",
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create-category remote billing done"]);
    let category = world.sandbox().categories()[1].clone();
    assert_eq!(
        (category.slug.as_str(), category.description.as_deref()),
        ("bills", Some("All of it"))
    );
    assert_eq!(
        world.read("billing/_category.yaml"),
        format!(
            "id: {}\n# money\nname: 'Billing'\nslug: bills\nowner: me\ndescription: All of it\n",
            category.id
        )
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn f052_a_removed_folder_is_said_once_and_comes_back_with_an_article() {
    let (world, _, _) = World::start(&[("one", TEXT)]).await;
    let billing = world.category("billing");
    for slug in ["a", "b"] {
        world.article(billing, slug, TEXT);
    }
    world.sync().await;
    std::fs::remove_dir_all(world.path("billing")).expect("removed");
    let meant = CycleRequest {
        allow_deletes: true,
        ..CycleRequest::new(Direction::Both)
    };
    let report = world.run(&meant).await;
    assert_eq!(
        lines(&report),
        [
            "forget local billing done",
            "delete remote billing/a.html done",
            "delete remote billing/b.html done"
        ]
    );
    let said = reason(&report, "billing");
    assert!(said.contains("only the dashboard can delete"), "{said}");
    assert_eq!(report.outcome.number(), 0);
    assert!(!world.exists("billing"));
    world.is_quiet().await;
    world.clock.advance(Duration::from_hours(25));
    let report = world.sync().await;
    assert_eq!((lines(&report), problems(&report)), (vec![], vec![]));
    assert!(!world.exists("billing"));
    world.article(billing, "c", TEXT);
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category local billing done",
            "create local billing/c.html done"
        ]
    );
    assert!(world.exists("billing/_category.yaml"));
    world.is_quiet().await;
    // The second removal is reported again.
    std::fs::remove_dir_all(world.path("billing")).expect("removed");
    let report = world.sync().await;
    assert_eq!(lines(&report)[0], "forget local billing done");
    world.is_quiet().await;
}

#[tokio::test]
async fn a_category_that_was_deleted_in_the_dashboard_is_forgotten() {
    for is_removed in [false, true] {
        let (world, ..) = World::start(&[("one", TEXT)]).await;
        let other = world.category("other");
        let id = world.article(other, "a", TEXT);
        world.sync().await;
        let path = format!("/api/category/{other}");
        // The service has no such category, and its slug is free.
        let free = |category: &mut kbsync::sandbox::Category| "free".clone_into(&mut category.slug);
        world.sandbox().edit_category(other, free);
        let gone = r#"{"success":false,"message":"No such category"}"#;
        let gone = FaultKind::Status(404, gone.to_owned());
        let gone = Fault::always(Matcher::new("GET", &path), gone);
        world.sandbox().inject(gone);
        // The category stays while it has articles.
        world.clock.advance(Duration::from_hours(25));
        let report = world.sync().await;
        assert!(problems(&report)[0].contains("its category cannot be read"));
        world.sandbox().remove(id);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["delete local other/a.html done"]);
        let report = world.sync().await;
        let told = problems(&report);
        assert!(told[0].contains("correct the `id:` line"), "{told:?}");
        if is_removed {
            std::fs::remove_dir_all(world.path("other")).expect("removed");
        } else {
            let yaml = world.read("other/_category.yaml");
            let line = yaml.lines().find(|line| line.starts_with("id:"));
            world.edit("other/_category.yaml", line.expect("an id"), "");
        }
        let report = world.sync().await;
        let new = (!is_removed).then_some("create-category remote other done");
        assert_eq!(lines(&report), Vec::from_iter(new));
        assert_eq!(problems(&report), [""; 0]);
        world.is_quiet().await;
    }
}

#[tokio::test]
async fn a_category_whose_folder_has_only_leftovers_keeps_its_folder() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    let billing = world.category("billing");
    world.article(billing, "a", TEXT);
    world.sync().await;
    world.remove("billing/a.html");
    world.remove("billing/_category.yaml");
    world.write("billing/picture.png", "a picture");
    world.sync().await;
    world.article(billing, "b", TEXT);
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category local billing done",
            "create local billing/b.html done"
        ]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn a_folder_with_the_file_of_another_category_is_not_given_back() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    let billing = world.category("billing");
    world.article(billing, "a", TEXT);
    world.sync().await;
    world.remove("billing/a.html");
    let yaml = world.read("billing/_category.yaml");
    let other = yaml.replace(&billing.to_string(), &uuid::Uuid::from_u128(9).to_string());
    world.write("billing/_category.yaml", &other);
    world.sync().await;
    world.article(billing, "b", TEXT);
    world.sync().await;
    assert_eq!(world.read("billing/_category.yaml"), other);
    assert!(!world.exists("billing/b.html"));
}

#[tokio::test]
async fn f052_a_folder_that_comes_back_under_its_name_is_the_same_category() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    let billing = world.category("billing");
    world.article(billing, "a", TEXT);
    world.sync().await;
    std::fs::remove_dir_all(world.path("billing")).expect("removed");
    world.sync().await;
    world.sandbox().clear_requests();
    world.write("billing/new.html", "---\ntitle: New\n---\nx\n");
    let report = world.sync().await;
    assert_eq!(problems(&report), [""; 0]);
    assert_eq!(
        world.sandbox().categories().len(),
        2,
        "{:?}",
        lines(&report)
    );
    let new = world.sandbox().articles()[1].clone();
    assert_eq!(new.category_id, billing);
    assert_ne!(new.category_id, start);
    assert!(
        world
            .read("billing/_category.yaml")
            .contains(&billing.to_string())
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn files_of_a_removed_folder_that_went_elsewhere_are_moves() {
    let (world, start, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    let billing = world.category("billing");
    world.article(billing, "a", TEXT);
    world.sync().await;
    for name in ["one", "two"] {
        world.rename(
            &format!("start/{name}.html"),
            &format!("billing/{name}.html"),
        );
    }
    world.remove("start/_category.yaml");
    std::fs::remove_dir(world.path("start")).expect("removed");
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "forget local start done",
            "move remote billing/one.html done",
            "move remote billing/two.html done"
        ]
    );
    assert_eq!(world.on_service(ids[0]).category_id, billing);
    assert!(world.sandbox().category(start).is_some());
    world.is_quiet().await;
}

#[tokio::test]
async fn a_command_about_one_file_creates_the_category_that_the_file_moves_to() {
    let (world, ..) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.rename("start/one.html", "fresh-one/one.html");
    let report = world
        .run(&CycleRequest {
            scope: vec!["fresh-one/one.html".to_owned()],
            ..CycleRequest::new(Direction::Both)
        })
        .await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote fresh-one done",
            "move remote fresh-one/one.html done"
        ]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn an_article_moves_into_a_folder_that_is_new() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.rename("start/one.html", "fresh-one/one.html");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote fresh-one done",
            "move remote fresh-one/one.html done"
        ]
    );
    let fresh = world.sandbox().categories()[1].id;
    assert_eq!(world.on_service(ids[0]).category_id, fresh);
    assert_eq!(
        world.sent()[1],
        format!("PUT article {{\"category_id\":\"{fresh}\"}}")
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn a_missing_category_yaml_is_written_again() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    let before = world.files();
    world.remove("start/_category.yaml");
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(report.outcome.number(), 0, "{:?}", report.problems);
    assert_eq!(lines(&report), ["update-category local start done"]);
    assert_eq!(world.files(), before);
    assert!(
        world
            .read("start/_category.yaml")
            .contains(&start.to_string())
    );
    world.is_quiet().await;
}

/// A person who deletes the file gives up its content, and gets the service's version.
#[tokio::test]
async fn a_category_yaml_that_is_removed_in_a_clash_comes_back_with_the_services_words() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    let name = world.read("start/_category.yaml");
    world.write(
        "start/_category.yaml",
        &format!("{name}description: Mine\n"),
    );
    let theirs =
        |category: &mut kbsync::sandbox::Category| category.description = Some("Theirs".into());
    world.sandbox().edit_category(start, theirs);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 3, "{:?}", lines(&report));
    world.remove("start/_category.yaml");
    world.sync().await;
    let yaml = world.read("start/_category.yaml");
    assert!(yaml.contains("Theirs"), "{yaml}");
    world.is_quiet().await;
}

#[tokio::test]
async fn a_refused_category_is_not_sent_again_until_it_changes() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    // Readers never see an empty category, but its slug is taken.
    world.category("billing");
    world.write("billing/a.html", "---\ntitle: A\n---\na\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote billing failed",
            "create remote billing/a.html held"
        ]
    );
    assert!(
        reason(&report, "billing").contains("already exists"),
        "{}",
        reason(&report, "billing")
    );
    world.sandbox().clear_requests();
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(world.sent(), [""; 0], "a refusal was sent again");
        assert_eq!(report.outcome.number(), 4, "{:?}", lines(&report));
        assert_eq!(lines(&report)[0], "create-category remote billing held");
    }
    world.clock.advance(Duration::from_hours(25));
    world.sync().await;
    assert_eq!(world.sent().len(), 1, "a day later it is tried again");
    world.rename("billing", "bills");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote bills done",
            "create remote bills/a.html done"
        ]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn a_refused_rename_of_a_category_is_parked_and_its_articles_go_on() {
    let (world, start, ids) = World::start(&[("one", TEXT)]).await;
    world.category("taken");
    world.rename("start", "taken");
    world.edit("taken/one.html", "One", "1");
    let report = world.sync().await;
    assert_eq!(lines(&report)[0], "update-category remote taken failed");
    assert_eq!(report.outcome.number(), 4);
    world.sync().await;
    assert!(world.on_service(ids[0]).text.contains('1'));
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0], "{:?}", lines(&report));
    assert_eq!(report.outcome.number(), 4);
    assert_eq!(
        world.sandbox().category(start).expect("there").slug,
        "start"
    );
    world.rename("taken", "free");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update-category remote free done"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn f069_a_category_that_may_not_be_changed_stops_only_itself() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    let other = world.category("other");
    world.article(other, "x", TEXT);
    world.sync().await;
    world.sandbox().inject(Fault::always(
        Matcher::new("PUT", &format!("/api/category/{start}")),
        FaultKind::Status(403, r#"{"success":false,"message":"not yours"}"#.into()),
    ));
    world.edit("start/_category.yaml", "name: start", "name: Start");
    world.edit("other/_category.yaml", "name: other", "name: Other");
    world.edit("other/x.html", "One", "1");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update-category remote other done",
            "update-category remote start failed",
            "update remote other/x.html done"
        ]
    );
    assert!(reason(&report, "start").contains("not yours"));
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!((held(&report), report.outcome.number()), (1, 4));
}

#[tokio::test]
async fn both_sides_of_a_category_are_merged_by_key_and_a_clash_is_held() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    world.edit("start/_category.yaml", "name: start", "name: Mine");
    world.sandbox().edit_category(start, |category| {
        category.description = Some("Theirs".into());
    });
    world.clock.advance(Duration::from_mins(1));
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update-category both start done"]);
    let yaml = world.read("start/_category.yaml");
    assert!(
        yaml.contains("name: Mine\n") && yaml.contains("description: Theirs\n"),
        "{yaml}"
    );
    assert_eq!(world.sandbox().category(start).expect("there").name, "Mine");
    world.is_quiet().await;
    for (side, name) in [
        (OnConflict::Local, "Mine 2"),
        (OnConflict::Remote, "Theirs 3"),
    ] {
        let number = name.split(' ').next_back().expect("a number");
        let was = world.sandbox().category(start).expect("there").name;
        world.edit("start/_category.yaml", &was, &format!("Mine {number}"));
        world.sandbox().edit_category(start, |category| {
            category.name = format!("Theirs {number}");
        });
        world.clock.advance(Duration::from_mins(1));
        world.sandbox().clear_requests();
        let before = world.files();
        let report = world.sync().await;
        assert_eq!(lines(&report), ["update-category both start held"]);
        assert_eq!(report.outcome.number(), 3);
        assert_eq!((world.sent(), world.files()), (vec![], before));
        let report = world.run(&preferring(side)).await;
        assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
        assert_eq!(world.sandbox().category(start).expect("there").name, name);
        assert!(
            world
                .read("start/_category.yaml")
                .contains(&format!("name: {name}\n"))
        );
        world.is_quiet().await;
    }
}

#[tokio::test]
async fn a_folder_that_a_command_names_is_looked_at_again() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    world.sandbox().rename_category(start, "Billing", "billing");
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0], "it is looked at once a day");
    let scoped = CycleRequest {
        scope: vec!["start".to_owned()],
        ..CycleRequest::new(Direction::Both)
    };
    let report = world.run(&scoped).await;
    assert_eq!(lines(&report), ["update-category local billing done"]);
    assert!(
        world
            .read("billing/_category.yaml")
            .contains("name: Billing\n")
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn f122_a_broken_category_yaml_stops_the_category_and_not_its_articles() {
    let (world, start, ids) = World::start(&[("one", TEXT)]).await;
    world.write("start/_category.yaml", "id: [\n");
    world.edit("start/one.html", "One", "1");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote start/one.html done"]);
    assert_eq!(report.outcome.number(), 4);
    assert!(problems(&report)[0].starts_with("start/_category.yaml: line "));
    assert!(world.on_service(ids[0]).text.contains('1'));
    assert_eq!(
        world.sandbox().category(start).expect("there").name,
        "start"
    );
    assert_eq!(world.read("start/_category.yaml"), "id: [\n");
    // A broken file in a new folder: there is no category yet, so the articles wait.
    world.write("fresh/_category.yaml", "name: [\n");
    world.write("fresh/a.html", "---\ntitle: A\n---\na\n");
    world.sandbox().clear_requests();
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert_eq!(lines(&report), ["create remote fresh/a.html held"]);
    assert_eq!(problems(&report).len(), 2);
}

#[tokio::test]
async fn f054_a_copied_folder_is_a_new_category_with_new_articles() {
    let (world, start, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    for (path, text) in world.files() {
        world.write(&path.replace("start/", "copy/"), &text);
    }
    // It has the other category's name, and may be a mistake.
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 3);
    assert_eq!(world.sandbox().categories().len(), 1);
    world.edit("copy/_category.yaml", "name: start", "name: Copy");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote copy done",
            "create remote copy/one.html done",
            "create remote copy/two.html done"
        ]
    );
    assert_eq!(problems(&report), [""; 0]);
    let copy = world.sandbox().categories()[1].clone();
    assert_eq!(copy.slug, "copy");
    assert_eq!(world.on_service(ids[0]).category_id, start);
    let new = world.sandbox().articles()[2].clone();
    assert_eq!((new.category_id, new.slug.as_str()), (copy.id, "one"));
    assert!(world.read("copy/one.html").contains(&new.id.to_string()));
    assert!(!world.read("copy/one.html").contains(&ids[0].to_string()));
    assert!(
        world
            .read("copy/_category.yaml")
            .contains(&copy.id.to_string())
    );
    assert!(world.read("start/one.html").contains(&ids[0].to_string()));
    world.is_quiet().await;
}

#[tokio::test]
async fn two_folders_with_one_category_id_and_neither_at_its_place_are_left_alone() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    for (path, text) in world.files() {
        world.write(&path.replace("start/", "left/"), &text);
    }
    world.rename("start", "right");
    let before = world.files();
    let report = world.sync().await;
    assert_eq!((lines(&report), world.sent()), (vec![], vec![]));
    assert_eq!(report.outcome.number(), 4);
    for problem in problems(&report) {
        assert!(problem.contains("left and right"), "{problem}");
    }
    assert_eq!(world.files(), before);
    std::fs::remove_dir_all(world.path("left")).expect("removed");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update-category remote right done"]);
    world.is_quiet().await;
}

#[tokio::test]
async fn a_folder_whose_name_is_no_slug_is_a_problem_with_a_proposal() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    world.write("Über uns/a.html", "---\ntitle: A\n---\na\n");
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0]);
    assert!(
        problems(&report)
            .iter()
            .any(|problem| problem.contains("uber-uns")),
        "{:?}",
        report.problems
    );
    world.write("Über uns/_category.yaml", "name: Über uns\nslug: about\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "create-category remote Über uns done",
            "create remote Über uns/a.html done"
        ]
    );
    world.is_quiet().await;
}

#[tokio::test]
async fn f055_two_folders_that_swap_their_names_wait_with_their_articles() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    let other = world.category("other");
    world.article(other, "x", TEXT);
    world.sync().await;
    world.rename("start", "aside");
    world.rename("other", "start");
    world.rename("aside", "other");
    world.edit("start/x.html", TEXT, "<p>edited</p>");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 4, "{:#?}", report.actions);
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(problems(&report).len(), 2, "{:?}", report.problems);
    let slug = |id| world.sandbox().category(id).expect("there").slug;
    assert_eq!([slug(start), slug(other)], ["start", "other"]);
    // A third name breaks the circle.
    world.rename("start", "third");
    world.sync().await;
    world.sync().await;
    assert_eq!([slug(start), slug(other)], ["other", "third"]);
    assert!(world.exists("other/one.html") && world.read("third/x.html").contains("edited"));
    world.is_quiet().await;
}

#[tokio::test]
async fn f055_a_new_folder_takes_the_name_that_another_one_leaves() {
    let (world, start, _) = World::start(&[("one", TEXT)]).await;
    world.rename("start", "begin");
    world.write("start/new.html", "---\ntitle: New\n---\nx\n");
    // With the name of the other category, the new one would be held.
    world.write("start/_category.yaml", "name: Another start\n");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update-category remote begin done",
            "create-category remote start done",
            "create remote start/new.html done"
        ]
    );
    assert_eq!(
        world.sandbox().category(start).expect("there").slug,
        "begin"
    );
    assert_eq!(world.sandbox().categories()[1].slug, "start");
    world.is_quiet().await;
}

#[tokio::test]
async fn a_wrong_category_id_is_put_right_or_said_and_moves_nothing() {
    let (world, start, ids) = World::start(&[("one", TEXT)]).await;
    let other = world.category("other");
    world.article(other, "x", TEXT);
    world.sync().await;
    let before = world.files();
    // The id was deleted, or replaced by that of another folder: the folder's own id is restored.
    for wrong in [String::new(), format!("id: {other}\n")] {
        world.edit("start/_category.yaml", &format!("id: {start}\n"), &wrong);
        world.sandbox().clear_requests();
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{:?}", report.problems);
        assert_eq!((world.sent(), world.files()), (vec![], before.clone()));
        world.is_quiet().await;
    }
    // An unknown id is reported, and nothing is moved to the unknown category.
    let nobody = uuid::Uuid::from_u128(7);
    world.edit(
        "start/_category.yaml",
        &start.to_string(),
        &nobody.to_string(),
    );
    let report = world.sync().await;
    assert_eq!(world.sent(), [""; 0], "{:?}", lines(&report));
    assert_ne!(report.outcome.number(), 0);
    assert!(
        problems(&report)
            .iter()
            .any(|said| said.contains(&nobody.to_string())),
        "{:?}",
        report.problems
    );
    assert_eq!(world.on_service(ids[0]).category_id, start);
    world.edit(
        "start/_category.yaml",
        &nobody.to_string(),
        &start.to_string(),
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), [""; 0], "{:#?}", report.actions);
    world.is_quiet().await;
}

#[tokio::test]
async fn a_renamed_folder_settles_no_conflict_and_leaves_no_copy() {
    let (world, _, ids) = World::start(&[("one", TEXT), ("two", TEXT)]).await;
    world.edit("start/one.html", "One", "Mine");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>Theirs.</p>".into());
    world.sync().await;
    assert!(world.exists("start/one.conflict.html"));
    world.rename("start", "begin");
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(
            lines(&report).last().map(String::as_str),
            Some("conflict both begin/one.html held")
        );
        assert_eq!(world.on_service(ids[0]).text, "<p>Theirs.</p>");
        assert!(world.read("begin/one.html").contains("Mine"));
    }
    world.remove("begin/one.conflict.html");
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote begin/one.html done"]);
    assert_eq!(world.on_service(ids[0]).text, "<p>Mine.</p>");
    assert_eq!(world.files().len(), 3);
    world.is_quiet().await;
}

#[tokio::test]
async fn polls_ask_ever_more_rarely_for_a_category_that_cannot_be_read() {
    let (world, ..) = World::start(&[("one", TEXT)]).await;
    let other = world.sandbox().add_workspace("Other");
    let foreign = world.sandbox().add_category(other, "Theirs", "theirs");
    let lost = uuid::Uuid::from_u128(7);
    world.write(
        "theirs/_category.yaml",
        &format!("id: {foreign}\nname: T\n"),
    );
    world.write("lost/_category.yaml", &format!("id: {lost}\nname: L\n"));
    let mut poll = CycleRequest::new(Direction::Both);
    poll.purpose = Purpose::Poll;
    poll.cause = Cause::Background;
    let mut asked = 0;
    let mut first = None;
    for _ in 0..16 {
        let report = world.run(&poll).await;
        let asking = world.asked();
        asked += asking.iter().filter(|one| *one == "GET category").count();
        let told = first.get_or_insert_with(|| problems(&report)).clone();
        let mut now = problems(&report);
        now.sort();
        let mut told = told;
        told.sort();
        assert_eq!(now, told, "it is told each time");
        world.clock.advance(Duration::from_mins(5));
    }
    assert!(
        (8..=14).contains(&asked),
        "{asked} times in 16 polls of two"
    );
    // A person's command reads the category at once.
    world.sync().await;
    let asking = world.asked();
    assert_eq!(
        asking.iter().filter(|one| *one == "GET category").count(),
        2
    );
}
