//! No effect without a cause: whatever came before, a second sync changes no byte, no file time and no row except the
//! time of the poll (promise 4).

use crate::support::faults::Inject as _;
use crate::support::faults::habits::{Habits, Normalise, Paging};
use crate::support::look::{changed_rows, dump, let_stamps_settle, requests, stamps};
use crate::support::world::{World, lines};
use kbsync::sandbox::NewSeed;
use uuid::Uuid;

/// `a/one.html`, `a/two.html` and `b/three.html`, synced.
async fn world(habits: Habits) -> (World, [Uuid; 3]) {
    let world = World::new().await;
    *world.sandbox().habits() = habits;
    let (a, b) = (world.category("a"), world.category("b"));
    let ids = [
        world.article(a, "one", "<p>One.</p><p>More.</p>"),
        world.article(a, "two", "<p>Two.</p>"),
        world.article(b, "three", "<p>Three.</p>"),
    ];
    world.sync().await;
    (world, ids)
}

/// Syncs the prepared changes, and then checks that the next two syncs change nothing.
async fn settle(name: &str, world: &World, cost: u64) {
    world.sync().await;
    let_stamps_settle(world).await;
    let (files, rows, times) = (world.files(), dump(world), stamps(world));
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(lines(&report), Vec::<String>::new(), "{name}");
        assert_eq!(report.problems, [], "{name}");
        assert_eq!(report.requests.total, cost, "{name}: {:?}", requests(world));
        assert_eq!(
            changed_rows(&rows, &dump(world)),
            Vec::<String>::new(),
            "{name}"
        );
        assert_eq!(world.files(), files, "{name}");
        assert_eq!(stamps(world), times, "{name}");
    }
    assert_eq!(read_again(world), Vec::<String>::new(), "{name}");
}

/// Returns the files that the next cycle would read again although nobody touched them: their row has no stamp.
fn read_again(world: &World) -> Vec<String> {
    let engine = world.engine();
    let articles = engine.store().articles().expect("a readable state");
    let categories = engine.store().categories().expect("a readable state");
    let articles = articles.iter().filter(|row| row.stamp.is_none());
    let articles = articles.map(|row| row.place.to_string());
    let categories = categories.iter().filter(|row| row.stamp.is_none());
    let categories = categories.filter_map(|row| row.folder.clone());
    articles.chain(categories).collect()
}

type Prepare = fn(&World, [Uuid; 3]);

/// Earlier changes by writers and colleagues.
const CAUSES: [(&str, Prepare); 18] = [
    ("nothing", |_, _| {}),
    ("a push", |world, _| {
        world.edit("a/one.html", "One.", "One, mine.");
    }),
    ("a push of a CRLF file", |world, _| {
        let file = world.read("a/one.html").replace("One.", "Mine.");
        world.write("a/one.html", &file.replace('\n', "\r\n"));
    }),
    ("a pull", |world, [one, ..]| {
        world
            .sandbox()
            .edit(one, |article| article.text = "<p>theirs</p>".into());
    }),
    ("a merge", |world, [one, ..]| {
        world.edit("a/one.html", "One.", "One, mine.");
        world.sandbox().edit(one, |article| {
            article.text = "<p>One.</p><p>More of theirs.</p>".into();
        });
    }),
    ("the same edit on both sides", |world, [one, ..]| {
        world.edit("a/one.html", "One.", "Same.");
        world.sandbox().edit(one, |article| {
            article.text = "<p>Same.</p><p>More.</p>".into();
        });
    }),
    ("a new file", |world, _| {
        world.write("a/new.html", "---\ntitle: New\n---\n<p>n</p>");
    }),
    ("a new draft and a new disabled one", |world, _| {
        world.write("a/draft.html", "---\ntitle: New\ndraft: true\n---\n");
        world.write("a/off.html", "---\ntitle: New\nenabled: false\n---\n");
    }),
    ("a new folder", |world, _| {
        world.write("new-things/new.html", "---\ntitle: New\n---\n<p>n</p>\n");
    }),
    ("a renamed file", |world, _| {
        world.rename("a/one.html", "a/uno.html");
    }),
    ("a renamed article", |world, [one, ..]| {
        world
            .sandbox()
            .edit(one, |article| article.slug = "uno".into());
    }),
    (
        "a moved article and a moved file",
        |world, [one, two, _]| {
            let b = world.sandbox().categories()[1].id;
            world.sandbox().edit(one, |article| article.category_id = b);
            world.rename("a/two.html", "b/two.html");
            assert!(world.sandbox().article(two).is_some());
        },
    ),
    ("a renamed folder", |world, _| {
        world.rename("a", "alpha");
    }),
    ("a removed file", |world, _| world.remove("a/one.html")),
    ("a removed article", |world, [one, ..]| {
        world.sandbox().remove(one);
    }),
    ("unpublished and disabled", |world, [one, two, _]| {
        world.sandbox().unpublish(one);
        world.sandbox().disable(two);
    }),
    ("a key of the writer's own", |world, _| {
        world.edit("a/one.html", "title:", "# a comment\nowner: me\ntitle:");
    }),
    ("a file that was only touched", |world, _| {
        let file = world.read("a/one.html");
        world.remove("a/one.html");
        world.write("a/one.html", &file);
    }),
];

#[tokio::test]
async fn after_whatever_came_before() {
    for (name, prepare) in &CAUSES[..9] {
        let (world, ids) = world(Habits::default()).await;
        prepare(&world, ids);
        settle(name, &world, 1).await;
    }
}

#[tokio::test]
async fn after_whatever_else_came_before() {
    for (name, prepare) in &CAUSES[9..] {
        let (world, ids) = world(Habits::default()).await;
        prepare(&world, ids);
        settle(name, &world, 1).await;
    }
}

#[tokio::test]
async fn whatever_the_service_makes_of_what_it_is_sent() {
    let habits = Habits {
        normalise: Normalise::ALL,
        ..Habits::default()
    };
    let (world, _) = world(habits).await;
    world
        .sandbox()
        .set_options(|options| options.touch_unchanged = true);
    world.edit(
        "a/one.html",
        "<p>One.</p>",
        "<b onclick=\"x()\">One</b>\n\n<p> x </p>\n",
    );
    world.edit("a/one.html", "title: one", "title: '  one  '");
    world.write(
        "a/New-One.html",
        "---\ntitle: ' New '\nintrotext: ''\n---\n\n<p>n</p>\n\n",
    );
    let written = (world.read("a/one.html"), world.read("a/New-One.html"));
    settle("a rewriting service", &world, 1).await;
    assert_eq!(world.read("a/one.html"), written.0);
    assert!(
        world
            .read("a/New-One.html")
            .ends_with("---\n\n<p>n</p>\n\n")
    );
    // Without stamps every file is read and compared again, and there is still nothing to do.
    let rusqlite = rusqlite::Connection::open(world.path(".kbsync/state.db")).expect("the state");
    rusqlite
        .execute("UPDATE articles SET stamp_size = NULL, stamp_mtime = NULL, stamp_ctime = NULL, stamp_inode = NULL", [])
        .expect("forgotten");
    drop(rusqlite);
    settle("a rewriting service, forgotten stamps", &world, 1).await;
}

#[tokio::test]
async fn whatever_the_listing_looks_like() {
    let table = [
        (
            Habits {
                bodies: false,
                ..Habits::default()
            },
            1,
        ),
        (
            Habits {
                paging: Paging::LinksNext,
                page_size: 1,
                ..Habits::default()
            },
            3,
        ),
        (
            Habits {
                etag: true,
                ..Habits::default()
            },
            1,
        ),
    ];
    for (habits, cost) in table {
        let name = format!("{habits:?}");
        let (world, [one, ..]) = world(habits).await;
        world.edit("b/three.html", "Three.", "Three, mine.");
        world
            .sandbox()
            .edit(one, |article| article.title = "Uno".into());
        world.sync().await;
        settle(&name, &world, cost).await;
    }
}

#[tokio::test]
async fn f033_readers_change_the_figures_and_nothing_else() {
    let (world, [one, ..]) = world(Habits::default()).await;
    let_stamps_settle(&world).await;
    let (rows, times) = (dump(&world), stamps(&world));
    world.sandbox().visit(one, 17);
    let report = world.sync().await;
    assert!(report.is_quiet());
    let mut changed = changed_rows(&rows, &dump(&world));
    // The entry in the listing has other bytes.
    changed.retain(|row| !row[2..].starts_with("listing_entries: "));
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(
        changed.iter().all(|row| row[2..].starts_with("figures: ")),
        "{changed:?}"
    );
    assert!(changed[1].contains("17"), "{changed:?}");
    assert_eq!(stamps(&world), times);
}

#[tokio::test]
async fn f033_a_new_revision_of_the_same_words_touches_no_file() {
    let (world, [one, ..]) = world(Habits::default()).await;
    let (files, times) = (world.files(), stamps(&world));
    world.sandbox().edit(one, |_| {});
    let report = world.sync().await;
    assert!(report.is_quiet(), "{:?}", lines(&report));
    assert_eq!(report.requests.total, 1);
    assert_eq!((world.files(), stamps(&world)), (files, times));
    settle("a touched article", &world, 1).await;
}

#[tokio::test]
async fn null_and_empty_are_the_same() {
    let (world, [one, ..]) = world(Habits::default()).await;
    let times = stamps(&world);
    for value in [Some(String::new()), None, Some(String::new())] {
        world.sandbox().edit(one, |article| {
            article.introtext.clone_from(&value);
            article.keywords.clone_from(&value);
        });
        let report = world.sync().await;
        assert!(report.is_quiet(), "{:?}", lines(&report));
    }
    assert_eq!(stamps(&world), times);
    world.edit("a/one.html", "title:", "introtext: ''\nkeywords:\ntitle:");
    assert_eq!(world.sync().await.requests.put, 0);
    settle("empty keys", &world, 1).await;
}

#[tokio::test]
async fn a_dry_run_and_a_plan_leave_no_trace() {
    let (world, [one, two, _]) = world(Habits::default()).await;
    world.edit("a/one.html", "One.", "One, mine.");
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>clash</p>".into());
    world.sandbox().unpublish(two);
    world.write("b/new.html", "---\ntitle: New\n---\n");
    let b = world.sandbox().categories()[1].id;
    world
        .sandbox()
        .add_article(NewSeed::new(b, "Four", "four", "<p>4</p>"));
    world.remove("b/three.html");
    let (files, rows, times) = (world.files(), dump(&world), stamps(&world));
    let mut request = crate::support::look::both();
    request.dry_run = true;
    let planned = world.run(&request).await;
    assert!(planned.actions.len() >= 5, "{:?}", lines(&planned));
    assert_eq!(changed_rows(&rows, &dump(&world)), Vec::<String>::new());
    assert_eq!((world.files(), stamps(&world)), (files, times));
    // I14: the cycle does what was planned.
    let done = world.sync().await;
    let words = |lines: Vec<String>| -> Vec<String> {
        lines
            .into_iter()
            .map(|line| line.rsplit_once(' ').expect("a status").0.to_owned())
            .collect()
    };
    assert_eq!(words(lines(&planned)), words(lines(&done)));
}
