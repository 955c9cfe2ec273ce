//! The reading of the service, whatever the shape of its listing, and the limits of a bad listing: it never leads to a
//! deletion.

use crate::support::faults::habits::{Habits, ListingEndpoint, Paging, Shape};
use crate::support::faults::{AnswerEdit, Fault, FaultKind, Hook, Inject, Matcher};
use crate::support::look::{
    articles, assert_quiet, changed_rows, dump, held, let_stamps_settle, problems, requests, row,
    stamps,
};
use crate::support::world::{World, lines};
use kbsync::engine::report::Report;
use kbsync::model::CategoryId;
use kbsync::sandbox::{NewSeed, Options};
use serde_json::{Value, json};
use uuid::Uuid;

const LISTING: &str = "/api/base/*/articles";
/// Articles on a page: the five articles of `filled` need three pages.
const PAGE: usize = 2;

/// Two categories with five articles in all; ids are the same in every world.
async fn filled(habits: Habits) -> (World, Vec<Uuid>) {
    let world = World::with(Options {
        id_seed: Some(1),
        ..Options::unlimited()
    })
    .await;
    *world.sandbox().habits() = Habits {
        page_size: PAGE,
        ..habits
    };
    let categories = [world.category("alpha"), world.category("beta")];
    let ids = ["one", "two", "three", "four", "five"]
        .iter()
        .enumerate()
        .map(|(number, slug)| {
            let seed = NewSeed {
                introtext: Some(format!("About {slug}")),
                ..NewSeed::new(
                    categories[number % 2],
                    slug,
                    slug,
                    &format!("<p>Body of {slug}.</p>\n<p>\u{1F600} \\ \"</p>"),
                )
            };
            world.sandbox().add_article(seed)
        })
        .collect();
    requests(&world);
    (world, ids)
}

/// Checks one shape of the listing, through a first sync, a quiet sync and a colleague's edit.
async fn check(shape: Shape, paging: Paging, bodies: bool, expected: &[(String, String)]) {
    let name = format!("{shape:?} {paging:?} bodies {bodies}");
    let habits = Habits {
        shape,
        paging,
        bodies,
        ..Habits::default()
    };
    let (world, ids) = filled(habits).await;
    let pages = if paging == Paging::None { 1 } else { 3 };
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new(), "{name}");
    assert_eq!(report.outcome.number(), 0, "{name}");
    assert_eq!(world.files(), expected, "{name}");
    // The bodies that a listing leaves out come with the categories, which are read anyway.
    assert_eq!(report.requests.total, pages + 2, "{name}");
    let mut asked: Vec<String> = world
        .sandbox()
        .requests()
        .iter()
        .map(|request| request.path.clone())
        .collect();
    asked.sort();
    asked.dedup();
    assert_eq!(
        asked.len() as u64,
        pages + 2,
        "{name}: something was asked twice"
    );
    let_stamps_settle(&world).await;
    let before = dump(&world);
    assert_quiet(&world, pages).await;
    assert_eq!(
        changed_rows(&before, &dump(&world)),
        Vec::<String>::new(),
        "{name}"
    );
    world
        .sandbox()
        .edit(ids[1], |article| article.text = "<p>edited</p>".into());
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        ["update local beta/two.html done"],
        "{name}"
    );
    assert_eq!(report.requests.total, pages + u64::from(!bodies), "{name}");
    assert!(world.read("beta/two.html").ends_with("<p>edited</p>\n"));
}

async fn check_shape(shape: Shape) {
    let (world, _) = filled(Habits::default()).await;
    world.sync().await;
    let expected = world.files();
    assert_eq!(expected.len(), 7);
    for paging in Paging::ALL {
        for bodies in [true, false] {
            check(shape, paging, bodies, &expected).await;
        }
    }
}

#[tokio::test]
async fn s4_5_articles_at_the_top_in_every_way_of_paging() {
    check_shape(Shape::Articles).await;
}

#[tokio::test]
async fn s4_5_articles_as_data_in_every_way_of_paging() {
    check_shape(Shape::Data).await;
}

#[tokio::test]
async fn s4_5_articles_in_the_base_in_every_way_of_paging() {
    check_shape(Shape::BaseArticles).await;
}

#[tokio::test]
async fn s4_5_articles_in_an_array_of_one_base_in_every_way_of_paging() {
    check_shape(Shape::BaseArrayArticles).await;
}

#[tokio::test]
async fn s4_5_articles_in_their_categories_in_every_way_of_paging() {
    check_shape(Shape::CategoriesArticles).await;
}

#[tokio::test]
async fn s4_5_articles_as_data_of_data_in_every_way_of_paging() {
    check_shape(Shape::DataData).await;
}

#[tokio::test]
async fn without_bodies_several_edits_of_one_category_cost_one_request() {
    let habits = Habits {
        bodies: false,
        ..Habits::default()
    };
    let (world, ids) = filled(habits).await;
    world.sync().await;
    for id in [ids[0], ids[2], ids[4]] {
        world
            .sandbox()
            .edit(id, |article| article.text = "<p>edited</p>".into());
    }
    world
        .sandbox()
        .edit(ids[1], |article| article.title = "Another".into());
    requests(&world);
    let report = world.sync().await;
    assert_eq!(report.actions.len(), 4);
    assert_eq!(
        requests(&world),
        ["GET listing 200", "GET category 200", "GET article 200"]
    );
    // A merge needs the service's body as well, so the category is read.
    world.edit("alpha/one.html", "title: one", "title: Uno");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>again</p>".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["merge both alpha/one.html done"]);
    assert_eq!(report.requests.total, 3);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn without_any_bodies_each_new_revision_is_read_once() {
    let habits = Habits {
        bodies: false,
        category_bodies: false,
        ..Habits::default()
    };
    let (world, ids) = filled(habits).await;
    let report = world.sync().await;
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report.requests.total, 1 + 2 + 5);
    assert_eq!(articles(&world).len(), 5);
    assert_quiet(&world, 1).await;
    // A push needs no read: its response contains the stored version.
    world.edit("alpha/one.html", "Body of one", "Edited body of one");
    assert_eq!(world.sync().await.requests.total, 2);
    assert_quiet(&world, 1).await;
    world
        .sandbox()
        .edit(ids[4], |article| article.text = "<p>new</p>".into());
    assert_eq!(world.sync().await.requests.total, 2);
}

#[tokio::test]
async fn without_the_endpoint_the_known_categories_are_read() {
    for status in [404, 405, 501] {
        let habits = Habits {
            listing_endpoint: ListingEndpoint::Missing(status),
            ..Habits::default()
        };
        let (mut world, ids) = filled(habits).await;
        for category in world.sandbox().categories() {
            world
                .settings
                .categories
                .insert(CategoryId::new(category.id));
        }
        let report = world.sync().await;
        assert_eq!(problems(&report), Vec::<String>::new(), "{status}");
        assert_eq!(articles(&world).len(), 5, "{status}");
        assert_eq!(
            report.requests.total,
            1 + 2,
            "{status}: {:?}",
            requests(&world)
        );
        // The categories are known from the state, so the settings need not name them any more.
        world.settings.categories.clear();
        assert_quiet(&world, 1 + 2).await;
        world.edit("alpha/one.html", "Body of one", "Mine of one");
        world
            .sandbox()
            .edit(ids[1], |article| article.text = "<p>theirs</p>".into());
        world.sandbox().remove(ids[2]);
        world.sandbox().unpublish(ids[4]);
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{status}: {:?}", held(&report));
        assert_eq!(report.actions.len(), 4, "{status}: {:?}", lines(&report));
        assert_eq!(articles(&world).len(), 4);
        assert!(world.read("alpha/five.html").contains("draft: true"));
        assert_quiet(&world, 1 + 2).await;
    }
}

#[tokio::test]
async fn f019_without_the_endpoint_a_category_that_fails_takes_nothing_away() {
    let habits = Habits {
        listing_endpoint: ListingEndpoint::Missing(404),
        ..Habits::default()
    };
    let (mut world, ids) = filled(habits).await;
    for category in world.sandbox().categories() {
        world
            .settings
            .categories
            .insert(CategoryId::new(category.id));
    }
    world.sync().await;
    world.sandbox().remove(ids[0]);
    world.remove("beta/two.html");
    world.sandbox().inject(
        Fault::once(
            Matcher::new("GET", "/api/category/"),
            FaultKind::Status(403, r#"{"success":false,"message":"no"}"#.into()),
        )
        .after(1),
    );
    let report = world.sync().await;
    assert_ne!(report.outcome.number(), 0);
    assert_eq!(report.requests.delete, 0);
    assert_eq!(articles(&world).len(), 4);
    assert!(world.sandbox().article(ids[1]).is_some());
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", problems(&report));
    assert_eq!(articles(&world).len(), 3);
}

#[tokio::test]
async fn with_an_etag_an_unchanged_listing_is_one_request_without_a_body() {
    let habits = Habits {
        etag: true,
        ..Habits::default()
    };
    let (world, ids) = filled(habits).await;
    world.sync().await;
    let_stamps_settle(&world).await;
    let (rows, times) = (dump(&world), stamps(&world));
    for _ in 0..2 {
        requests(&world);
        let report = world.sync().await;
        assert!(report.is_quiet());
        assert_eq!(requests(&world), ["GET listing 304"]);
        assert_eq!(changed_rows(&rows, &dump(&world)), Vec::<String>::new());
        assert_eq!(stamps(&world), times);
    }
    // Local edits are sent on the basis of the known listing; they change the listing, which is then read once.
    world.edit("alpha/one.html", "Body of one", "Edited body of one");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote alpha/one.html done"]
    );
    assert_eq!(requests(&world), ["GET listing 304", "PUT article 200"]);
    assert_quiet(&world, 1).await;
    assert_eq!(requests(&world), ["GET listing 200"]);
    assert_quiet(&world, 1).await;
    assert_eq!(requests(&world), ["GET listing 304"]);
    world.sandbox().remove(ids[1]);
    assert_eq!(
        lines(&world.sync().await),
        ["delete local beta/two.html done"]
    );
    world.remove("beta/four.html");
    assert_eq!(
        lines(&world.sync().await),
        ["delete remote beta/four.html done"]
    );
}

#[tokio::test]
async fn with_an_etag_known_drafts_stay_as_they_are() {
    let habits = Habits {
        etag: true,
        ..Habits::default()
    };
    let (world, ids) = filled(habits).await;
    world.sync().await;
    world.sandbox().unpublish(ids[0]);
    world.sandbox().disable(ids[1]);
    world.sync().await;
    assert_quiet(&world, 1).await;
    requests(&world);
    assert_quiet(&world, 1).await;
    assert_eq!(requests(&world), ["GET listing 304"]);
    assert!(world.read("alpha/one.html").contains("draft: true"));
    assert!(world.read("beta/two.html").contains("enabled: false"));
}

#[tokio::test]
async fn a_cycle_that_left_something_open_keeps_no_validator() {
    let habits = Habits {
        etag: true,
        ..Habits::default()
    };
    let (world, ids) = filled(habits).await;
    world.sync().await;
    let validator = || {
        dump(&world)["meta"]
            .iter()
            .any(|line| line.contains("listing_validator"))
    };
    assert!(validator());
    // An open conflict: the service's version must be read again in every cycle.
    world.edit("alpha/one.html", "Body of one", "Mine of one");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>theirs</p>".into());
    assert_eq!(world.sync().await.outcome.number(), 3);
    assert!(!validator(), "a conflict");
    requests(&world);
    world.sync().await;
    assert_eq!(requests(&world), ["GET listing 200"]);
    world.remove("alpha/one.conflict.html");
    world.sync().await;
    world.sync().await;
    assert!(validator(), "settled");
    // The same holds for a limited command, a dry run, a refusal, and a file that is not ready.
    world
        .sandbox()
        .edit(ids[1], |article| article.text = "<p>theirs</p>".into());
    let mut request = crate::support::look::both();
    request.scope = vec!["alpha".into()];
    assert_eq!(lines(&world.run(&request).await), Vec::<String>::new());
    assert!(!validator(), "beta was left out");
    assert_eq!(
        lines(&world.sync().await),
        ["update local beta/two.html done"]
    );
    assert!(validator());
    world
        .sandbox()
        .edit(ids[1], |article| article.text = "<p>theirs 2</p>".into());
    let mut request = crate::support::look::both();
    request.dry_run = true;
    world.run(&request).await;
    assert_eq!(
        lines(&world.sync().await),
        ["update local beta/two.html done"]
    );
    let report = world.push().await;
    assert_eq!(report.requests.total, 1);
    world
        .sandbox()
        .edit(ids[1], |article| article.text = "<p>theirs 3</p>".into());
    assert_eq!(lines(&world.push().await), Vec::<String>::new());
    assert_eq!(
        lines(&world.sync().await),
        ["update local beta/two.html done"],
        "a push left the news to a later sync"
    );
}

/// Returns a synced world that owes one deletion on either side, after a cycle with a spoilt listing.
async fn spoilt(fault: Fault) -> (World, Report) {
    let (world, ids) = filled(Habits::default()).await;
    world.sync().await;
    world.sandbox().remove(ids[0]);
    world.remove("beta/two.html");
    world.edit("alpha/three.html", "Body of three", "Mine of three");
    requests(&world);
    world.sandbox().inject(fault);
    let report = world.sync().await;
    assert_eq!(report.requests.delete, 0, "{:?}", lines(&report));
    assert!(world.sandbox().article(ids[1]).is_some());
    assert!(world.exists("alpha/one.html"));
    world.sandbox().clear_faults();
    (world, report)
}

fn edited(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Fault {
    Fault::once(
        Matcher::new("GET", LISTING),
        FaultKind::Edit(AnswerEdit::new(edit)),
    )
}

#[tokio::test]
async fn f018_f020_a_bad_listing_stops_the_cycle_and_deletes_nothing() {
    let on = || Matcher::new("GET", LISTING);
    let table = [
        ("a login page", Fault::once(on(), FaultKind::Html), 1),
        // The listing is requested again, and is never whole.
        (
            "broken off",
            Fault::always(on(), FaultKind::Truncate(900)),
            5,
        ),
        (
            "half of the JSON",
            Fault::always(on(), FaultKind::InvalidJson),
            5,
        ),
        (
            "another shape",
            edited(|answer| *answer = json!({"success": true, "items": answer["articles"]})),
            1,
        ),
        ("null", edited(|answer| answer["articles"] = Value::Null), 1),
        (
            "no success",
            edited(|answer| answer["success"] = json!(false)),
            1,
        ),
        (
            "the same article twice",
            edited(|answer| {
                let first = answer["articles"][0].clone();
                answer["articles"]
                    .as_array_mut()
                    .expect("a list")
                    .push(first);
            }),
            1,
        ),
        (
            "not one readable entry",
            Fault::once(on(), FaultKind::WrongType),
            1,
        ),
        (
            "more pages in an unknown way",
            edited(|answer| answer["has_more"] = json!(true)),
            1,
        ),
        (
            "fewer than it says",
            edited(|answer| answer["total"] = json!(17)),
            1,
        ),
        (
            "no rights",
            Fault::once(
                on(),
                FaultKind::Status(403, r#"{"success":false,"message":"No access."}"#.into()),
            ),
            1,
        ),
        (
            "not signed in",
            Fault::once(
                on(),
                FaultKind::Status(401, r#"{"success":false,"message":"Who are you?"}"#.into()),
            ),
            1,
        ),
    ];
    for (name, fault, code) in table {
        let (world, report) = spoilt(fault).await;
        assert_eq!(
            report.outcome.number(),
            code,
            "{name}: {:?}",
            problems(&report)
        );
        assert_eq!(report.actions, [], "{name}");
        assert_eq!(
            problems(&report).len(),
            1,
            "{name}: {:?}",
            problems(&report)
        );
        if name == "another shape" {
            assert!(
                problems(&report)[0].contains("items"),
                "{:?}",
                problems(&report)
            );
        }
        // The next listing is whole again.
        let report = world.sync().await;
        assert_eq!(report.outcome.number(), 0, "{name}: {:?}", lines(&report));
        assert_eq!(articles(&world).len(), 3, "{name}");
        assert_quiet(&world, 1).await;
    }
}

#[tokio::test]
async fn f127_one_id_with_other_words_voids_the_listing() {
    let (world, report) = spoilt(edited(|answer| {
        let mut other = answer["articles"][0].clone();
        other["title"] = json!("Another");
        other["slug"] = json!("another");
        other["text"] = json!("<p>another</p>");
        answer["articles"]
            .as_array_mut()
            .expect("a list")
            .push(other);
    }))
    .await;
    assert_eq!(report.outcome.number(), 1, "{:?}", problems(&report));
    assert_eq!(report.actions, []);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", lines(&report));
    assert_quiet(&world, 1).await;
}

/// Two articles cannot have the same slug; if a listing says so, each still has a file of its own.
#[tokio::test]
async fn f127_one_slug_twice_in_a_listing_mixes_nothing_up() {
    let (world, ids) = filled(Habits::default()).await;
    world.sync().await;
    let [three, five] = ["three", "five"].map(|slug| {
        let articles = world.sandbox().articles();
        articles
            .into_iter()
            .find(|one| one.slug == slug)
            .expect("there")
    });
    assert!(ids.contains(&three.id) && three.category_id == five.category_id);
    let doubled = |id: Uuid| {
        edited(move |answer| {
            for entry in answer["articles"].as_array_mut().expect("a list") {
                if entry["id"] == json!(id) {
                    entry["slug"] = json!("three");
                    entry["updated_at"] = json!("2031-01-01T00:00:00.000000Z");
                }
            }
        })
    };
    world.sandbox().inject(doubled(five.id));
    requests(&world);
    let report = world.sync().await;
    assert_eq!(
        report.requests.put + report.requests.post + report.requests.delete,
        0,
        "{:?}",
        lines(&report)
    );
    let holder = |id: Uuid| {
        let files = world.files().into_iter();
        let found: Vec<_> = files
            .filter(|(_, text)| text.contains(&format!("id: {id}")))
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().expect("one")
    };
    for article in [&three, &five] {
        let (path, text) = holder(article.id);
        assert!(text.contains(&article.text), "{path}: {text}");
    }
    // The next listing is a good one.
    world.sync().await;
    assert_eq!(holder(three.id).0, "alpha/three.html");
    assert_eq!(holder(five.id).0, "alpha/five.html");
    let slugs = |id| world.sandbox().article(id).expect("there").slug;
    assert_eq!(
        (slugs(three.id), slugs(five.id)),
        ("three".to_owned(), "five".to_owned())
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f021_an_empty_listing_takes_nothing_away_either() {
    let (world, report) = spoilt(edited(|answer| answer["articles"] = json!([]))).await;
    // The answer is a valid listing, so the missing articles are read, three at most. Some can be read, so the listing
    // is not trusted, and nothing is deleted because of it.
    assert!(report.requests.total > 2 * 3, "{:?}", requests(&world));
    for name in ["alpha/five.html", "beta/four.html", "alpha/three.html"] {
        assert!(world.exists(name), "{name}: {:?}", lines(&report));
    }
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_quiet(&world, 1).await;
    assert!(!world.read("alpha/five.html").contains("draft"));
}

#[tokio::test]
async fn f039_an_entry_that_cannot_be_read_is_unknown_and_not_absent() {
    let (world, ids) = filled(Habits::default()).await;
    world.sync().await;
    let before = world.read("alpha/one.html");
    let id = ids[0].to_string();
    let spoil = move || {
        let id = id.clone();
        edited(move |answer| {
            for entry in answer["articles"].as_array_mut().expect("a list") {
                if entry["id"] == json!(id) {
                    entry["title"] = json!({"en": "One"});
                }
            }
        })
    };
    world.sandbox().inject(spoil());
    world.edit("beta/two.html", "Body of two", "Mine of two");
    requests(&world);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote beta/two.html done"]);
    assert_eq!(report.outcome.number(), 4);
    assert_eq!(problems(&report).len(), 1, "{:?}", problems(&report));
    assert!(
        problems(&report)[0].starts_with("alpha/one.html: "),
        "{:?}",
        problems(&report)
    );
    assert_eq!(requests(&world), ["GET listing 200", "PUT article 200"]);
    assert_eq!(world.read("alpha/one.html"), before);
    // An edit of the article waits, and the removal of its file is no deletion.
    world.edit("alpha/one.html", "Body of one", "Mine of one");
    world.sandbox().inject(spoil());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote alpha/one.html held"]);
    assert_eq!(report.requests.put, 0);
    world.write("kept", &world.read("alpha/one.html"));
    world.remove("alpha/one.html");
    world.sandbox().inject(spoil());
    let report = world.sync().await;
    assert_eq!(report.requests.delete, 0, "{:?}", lines(&report));
    world.rename("kept", "alpha/one.html");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote alpha/one.html done"]
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f020_what_a_listing_that_begins_again_lacks_is_gone() {
    let (world, ids) = filled(Habits::default()).await;
    world.sync().await;
    let gone = ids[0];
    let remove = Hook::new(move |sandbox| {
        sandbox.remove(gone);
    });
    // The first answer breaks off after the article's entry.
    let on = || Matcher::new("GET", LISTING);
    let broken = Fault::once(on(), FaultKind::InvalidJson);
    world.sandbox().inject(broken);
    let removed = Fault::once(on(), FaultKind::Hook(remove));
    world.sandbox().inject(removed.after(1));
    requests(&world);
    let report = world.sync().await;
    assert_eq!(requests(&world)[..2], ["GET listing 200"; 2]);
    assert_eq!(lines(&report), ["delete local alpha/one.html done"]);
    assert_eq!(problems(&report), Vec::<String>::new());
}

#[tokio::test]
async fn f039_an_entry_without_a_readable_id_voids_deletions_alone() {
    let (world, report) = spoilt(edited(|answer| {
        let last = answer["articles"].as_array().expect("a list").len() - 1;
        answer["articles"][last]["id"] = json!(17);
    }))
    .await;
    assert_eq!(
        lines(&report)
            .into_iter()
            .filter(|line| line.ends_with("done"))
            .collect::<Vec<_>>(),
        ["update remote alpha/three.html done"]
    );
    assert!(!problems(&report).is_empty());
    assert_ne!(report.outcome.number(), 0);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0);
    assert_eq!(articles(&world).len(), 3);
}

#[tokio::test]
async fn f021_a_listing_that_changes_while_its_pages_are_read() {
    for paging in [Paging::NextPageUrl, Paging::LinksNext, Paging::Meta] {
        let habits = Habits {
            paging,
            ..Habits::default()
        };
        let (world, ids) = filled(habits).await;
        world.sync().await;
        // The first article is deleted after its page was read: the third article moves onto that page, unseen.
        let gone = ids[0];
        world.sandbox().inject(Fault::once(
            Matcher::new("GET", LISTING).query("page=2"),
            FaultKind::Hook(Hook::new(move |sandbox| {
                sandbox.remove(gone);
            })),
        ));
        let report = world.sync().await;
        assert!(
            world.exists("alpha/three.html"),
            "{paging:?}: {:?}",
            lines(&report)
        );
        assert!(
            !world.read("alpha/three.html").contains("draft"),
            "{paging:?}"
        );
        assert_eq!(report.requests.delete, 0);
        let report = world.sync().await;
        assert_eq!(
            report.outcome.number(),
            0,
            "{paging:?}: {:?}",
            held(&report)
        );
        assert_eq!(articles(&world).len(), 4, "{paging:?}");
        assert!(world.exists("alpha/three.html"), "{paging:?}");
        assert_quiet(&world, 2).await;
    }
}

#[tokio::test]
async fn f019_a_later_page_that_fails_voids_the_listing() {
    let habits = Habits {
        paging: Paging::Meta,
        ..Habits::default()
    };
    let (world, ids) = filled(habits).await;
    world.sync().await;
    world.sandbox().remove(ids[0]);
    world.remove("beta/two.html");
    world.sandbox().inject(Fault::once(
        Matcher::new("GET", LISTING).query("page=2"),
        FaultKind::Status(404, "<html>not here</html>".into()),
    ));
    let report = world.sync().await;
    assert_eq!(report.actions, []);
    assert_ne!(report.outcome.number(), 0);
    assert_eq!(articles(&world).len(), 4);
    assert!(world.sandbox().article(ids[1]).is_some());
}

#[tokio::test]
async fn f132_a_page_address_elsewhere_is_not_followed() {
    let elsewhere = World::new().await;
    let habits = Habits {
        paging: Paging::NextPageUrl,
        page_origin: Some(elsewhere.running.url.clone()),
        ..Habits::default()
    };
    let (world, _) = filled(habits).await;
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 1);
    assert_eq!(elsewhere.sandbox().counts().total, 0);
    assert_eq!(articles(&world), Vec::<String>::new());
}

#[tokio::test]
async fn two_articles_at_one_address_get_two_files() {
    let (world, _) = filled(Habits::default()).await;
    let alpha = world.sandbox().categories()[0].id;
    let twin = world.article(alpha, "one", "<p>twin</p>");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", problems(&report));
    assert_eq!(articles(&world).len(), 6);
    assert_quiet(&world, 1).await;
    let place = row(&world, twin).expect("a row").place.to_string();
    world.edit(&place, "<p>twin</p>", "<p>twin, edited</p>");
    world.sync().await;
    assert_eq!(
        world.sandbox().article(twin).expect("there").text,
        "<p>twin, edited</p>"
    );
}

#[tokio::test]
async fn listed_articles_of_a_category_that_cannot_be_read_wait() {
    let (world, _) = filled(Habits::default()).await;
    let alpha = world.sandbox().categories()[0].id;
    world.sandbox().inject(Fault::once(
        Matcher::new("GET", &format!("/api/category/{alpha}")),
        FaultKind::Status(403, r#"{"success":false,"message":"No access."}"#.into()),
    ));
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 4, "{:?}", lines(&report));
    assert_eq!(articles(&world), ["beta/four.html", "beta/two.html"]);
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0);
    assert_eq!(articles(&world).len(), 5);
    assert_quiet(&world, 1).await;
}
