//! A cycle over paths: one read and one write for one saved file, and always the outcome of a full cycle.

use crate::support::faults::habits::{Habits, Normalise};
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::hostile::{self, Stage};
use crate::support::look::{held, let_stamps_settle, problems, requests, row};
use crate::support::world::{World, lines};
use kbsync::engine::report::Report;
use kbsync::engine::settings::{CycleRequest, Look};
use kbsync::model::ArticleId;
use kbsync::model::base::ArticleRow;
use kbsync::reconcile::snapshot::{Direction, OnConflict};
use kbsync::sandbox::Options;
use kbsync::state::Subject;
use std::time::Duration;
use uuid::Uuid;

const BODY: &str = "<p>One.</p>\n<p>Two.</p>\n<p>Three.</p>";

/// `a/one.html`, `a/two.html`, `a/three.html`, `b/four.html`, synced.
struct Scene {
    world: Stage,
    ids: [Uuid; 4],
    a: Uuid,
    b: Uuid,
}

async fn scene(habits: Habits) -> Scene {
    let world = hostile::world_with(Options {
        id_seed: Some(7),
        ..Options::unlimited()
    })
    .await;
    *world.sandbox().habits() = habits;
    let (a, b) = (world.category("a"), world.category("b"));
    let ids = [
        world.article(a, "one", BODY),
        world.article(a, "two", BODY),
        world.article(a, "three", BODY),
        world.article(b, "four", BODY),
    ];
    let scene = Scene { world, ids, a, b };
    // The clock is ahead of the files, so that no stamp is racy: a racy stamp costs one more scan.
    scene.world.clock.advance(Duration::from_secs(1));
    hostile::sync(&scene.world).await;
    hostile::sync(&scene.world).await;
    requests(&scene.world);
    scene
}

impl Scene {
    async fn look_at(&self, paths: &[&str], look: bool) -> Report {
        let request = CycleRequest {
            scope: paths.iter().map(|path| (*path).to_owned()).collect(),
            look: if look { Look::Files } else { Look::Whole },
            ..CycleRequest::new(Direction::Both)
        };
        let mut engine = hostile::engine(&self.world, &hostile::calm());
        engine.cycle(&request).await.expect("a cycle")
    }

    async fn glance(&self, paths: &[&str]) -> Report {
        self.look_at(paths, true).await
    }
}

const READ_AND_WRITE: [&str; 2] = ["GET article 200", "PUT article 200"];
const LIST_AND_WRITE: [&str; 2] = ["GET listing 200", "PUT article 200"];

#[tokio::test]
async fn a_saved_file_costs_one_read_and_one_write() {
    let scene = scene(Habits::default()).await;
    let world = &scene.world;
    world.edit("a/one.html", "One.", "Mine.");
    let report = scene.glance(&["a/one.html"]).await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
    assert_eq!(requests(world), READ_AND_WRITE);
    assert_eq!(report.outcome.number(), 0);
    let article = world.sandbox().article(scene.ids[0]).expect("there");
    assert_eq!(article.text, BODY.replace("One.", "Mine."));
    // The next poll has nothing to do, and neither has a second cycle over the same file.
    assert!(scene.glance(&["a/one.html"]).await.is_quiet());
    assert_eq!(requests(world), [""; 0]);
    assert!(hostile::sync(world).await.is_quiet());
    assert_eq!(requests(world), ["GET listing 200"]);
}

#[tokio::test]
async fn f025_a_saved_file_whose_article_cannot_be_shown_delays_no_other_one() {
    let scene = scene(Habits::default()).await;
    let world = &scene.world;
    world.edit("a/one.html", "One.", "Mine.");
    world.edit("a/two.html", "One.", "Mine.");
    let get = Matcher::new("GET", &format!("/api/article/{}", scene.ids[0]));
    let broken = FaultKind::Status(500, String::new());
    world.sandbox().inject(Fault::always(get, broken));
    let report = scene.glance(&["a/one.html", "a/two.html"]).await;
    let text = |id| world.sandbox().article(id).expect("there").text;
    assert_eq!(
        text(scene.ids[1]),
        BODY.replace("One.", "Mine."),
        "{report:#?}"
    );
    assert!(report.is_complete(), "{report:#?}");
}

#[tokio::test]
async fn what_a_colleague_changed_meanwhile_is_merged_or_a_conflict() {
    let scene = scene(Habits::default()).await;
    let world = &scene.world;
    world.edit("a/one.html", "One.", "Mine.");
    world.sandbox().edit(scene.ids[0], |article| {
        article.text = BODY.replace("Three.", "Theirs.");
    });
    let report = scene.glance(&["a/one.html"]).await;
    assert_eq!(lines(&report), ["merge both a/one.html done"]);
    assert_eq!(requests(world), READ_AND_WRITE);
    let merged = BODY.replace("One.", "Mine.").replace("Three.", "Theirs.");
    assert!(world.read("a/one.html").contains(&merged));

    world.edit("a/two.html", "One.", "Mine.");
    world.sandbox().edit(scene.ids[1], |article| {
        article.text = BODY.replace("One.", "Theirs.");
    });
    let report = scene.glance(&["a/two.html"]).await;
    assert_eq!(lines(&report), ["conflict both a/two.html held"]);
    assert_eq!(requests(world), ["GET article 200"]);
    assert!(world.exists("a/two.conflict.html"));
    // The conflict is settled by hand, which needs a full listing.
    world.remove("a/two.conflict.html");
    let report = scene.glance(&["a/two.html"]).await;
    assert_eq!(lines(&report), ["update remote a/two.html done"]);
    assert_eq!(requests(world), LIST_AND_WRITE);
}

#[tokio::test]
async fn a_known_draft_is_probed() {
    let scene = scene(Habits::default()).await;
    let world = &scene.world;
    world.sandbox().disable(scene.ids[0]);
    hostile::sync(world).await;
    requests(world);
    world.edit("a/one.html", "One.", "Mine.");
    let report = scene.glance(&["a/one.html"]).await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
    assert_eq!(requests(world), ["PUT article {} 200", "PUT article 200"]);
    // The article was enabled by a colleague: only a listing shows whether it is published.
    world.sandbox().enable(scene.ids[0]);
    world.edit("a/one.html", "Mine.", "Ours.");
    scene.glance(&["a/one.html"]).await;
    assert_eq!(
        requests(world),
        [
            "PUT article {} 200",
            "GET listing 200",
            "PUT article {} 200",
            "PUT article 200"
        ]
    );
}

type Prepare = fn(&Scene);

/// Changes that need a full cycle: the paths and the preparation.
const WHOLE: [(&str, &[&str], Prepare); 12] = [
    ("a new file", &["a/new.html"], |scene| {
        scene
            .world
            .write("a/new.html", "---\ntitle: New\n---\n<p>n</p>");
    }),
    ("a removed file", &["a/one.html"], |scene| {
        scene.world.remove("a/one.html");
    }),
    ("a renamed file", &["a/uno.html"], |scene| {
        scene.world.rename("a/one.html", "a/uno.html");
    }),
    ("another slug", &["a/one.html"], |scene| {
        scene
            .world
            .edit("a/one.html", "title:", "slug: uno\ntitle:");
    }),
    ("no id", &["a/one.html"], |scene| {
        let id = format!("id: {}\n", scene.ids[0]);
        scene.world.edit("a/one.html", &id, "");
    }),
    ("another's id", &["a/one.html"], |scene| {
        let (one, two) = (scene.ids[0].to_string(), scene.ids[1].to_string());
        scene.world.edit("a/one.html", &one, &two);
    }),
    ("half a file", &["a/one.html"], |scene| {
        scene.world.write("a/one.html", "---\ntitle: Hal");
    }),
    ("a category's words", &["a/_category.yaml"], |scene| {
        scene.world.edit("a/_category.yaml", "name: a", "name: A");
    }),
    ("a category's id", &["a/one.html"], |scene| {
        let (a, b) = (scene.a.to_string(), scene.b.to_string());
        scene.world.edit("a/_category.yaml", &a, &b);
        scene.world.edit("a/one.html", "One.", "Mine.");
    }),
    ("an ignored file", &["a/one.html"], |scene| {
        scene.world.edit("a/one.html", "One.", "Mine.");
        scene.world.write(".kbsyncignore", "a/one.html\n");
    }),
    (
        "many files",
        &["a/one.html", "a/two.html", "a/three.html", "b/four.html"],
        |scene| {
            for path in ["a/one.html", "a/two.html", "a/three.html", "b/four.html"] {
                scene.world.edit(path, "One.", "Mine.");
            }
        },
    ),
    ("a link", &["a/one.html"], |scene| {
        scene.world.rename("a/one.html", "one.html");
        std::os::unix::fs::symlink("../one.html", scene.world.path("a/one.html")).expect("linked");
    }),
];

#[tokio::test]
async fn anything_else_is_listed_and_no_article_is_read_before() {
    for (name, paths, prepare) in WHOLE {
        let scene = scene(Habits::default()).await;
        prepare(&scene);
        scene.glance(paths).await;
        let requests = requests(&scene.world);
        assert_eq!(
            requests.first().expect("asked"),
            "GET listing 200",
            "{name}"
        );
        assert!(!requests.contains(&"GET article 200".to_owned()), "{name}");
    }
}

#[tokio::test]
async fn an_answer_that_leaves_something_open_is_followed_by_a_listing() {
    let table: [(&str, Prepare, &str); 4] = [
        (
            "gone",
            |scene| {
                scene.world.sandbox().remove(scene.ids[0]);
            },
            "GET article 404",
        ),
        (
            "disabled",
            |scene| {
                scene.world.sandbox().disable(scene.ids[0]);
            },
            "GET article 404",
        ),
        (
            "another address",
            |scene| {
                scene
                    .world
                    .sandbox()
                    .edit(scene.ids[0], |article| article.slug = "uno".into());
            },
            "GET article 200",
        ),
        (
            "another category",
            |scene| {
                scene
                    .world
                    .sandbox()
                    .edit(scene.ids[0], |article| article.category_id = scene.b);
            },
            "GET article 200",
        ),
    ];
    for (name, prepare, answer) in table {
        let scene = scene(Habits::default()).await;
        prepare(&scene);
        scene.world.edit("a/one.html", "One.", "Mine.");
        scene.glance(&["a/one.html"]).await;
        let requests = requests(&scene.world);
        assert_eq!(requests[..2], [answer, "GET listing 200"], "{name}");
    }
}

#[tokio::test]
async fn the_rest_of_the_books_stays_as_it_was() {
    let scene = scene(Habits {
        etag: true,
        ..Habits::default()
    })
    .await;
    let world = &scene.world;
    let last_poll = |world: &World| {
        let engine = world.engine();
        engine.store().meta("last_poll").expect("a readable state")
    };
    let before = (last_poll(world), row(world, scene.ids[1]));
    world.clock.advance(Duration::from_mins(1));
    world.edit("a/one.html", "One.", "Mine.");
    // Another file's removal, and a colleague's edit, wait for the next poll.
    world.remove("a/two.html");
    world
        .sandbox()
        .edit(scene.ids[3], |article| article.title = "Four".into());
    scene.glance(&["a/one.html"]).await;
    assert_eq!((last_poll(world), row(world, scene.ids[1])), before);
    assert!(!world.read("b/four.html").contains("Four"));
    let report = hostile::sync(world).await;
    let mut done = lines(&report);
    done.sort();
    assert_eq!(
        done,
        [
            "delete remote a/two.html done",
            "update local b/four.html done"
        ]
    );
}

#[tokio::test]
async fn a_service_that_is_away_stops_the_cycle_before_it_lists() {
    let scene = scene(Habits::default()).await;
    let world = &scene.world;
    world.edit("a/one.html", "One.", "Mine.");
    world.sandbox().inject(Fault::always(
        Matcher::any(),
        FaultKind::Status(401, "{\"success\":false,\"message\":\"no\"}".to_owned()),
    ));
    let report = scene.glance(&["a/one.html"]).await;
    assert_eq!(requests(world), ["GET article 401"]);
    assert_eq!(report.outcome.number(), 1);
    assert_eq!(problems(&report).len(), 1, "{:?}", problems(&report));
}

#[tokio::test]
async fn a_refused_edit_is_not_sent_again_and_its_correction_is() {
    let scene = scene(Habits {
        max_body: Some(400),
        ..Habits::default()
    })
    .await;
    let world = &scene.world;
    let long = "x".repeat(600);
    world.edit("a/one.html", "One.", &long);
    let report = scene.glance(&["a/one.html"]).await;
    assert_eq!(lines(&report), ["update remote a/one.html failed"]);
    requests(world);
    world.edit("a/one.html", "title:", "owner: me\ntitle:");
    let report = scene.glance(&["a/one.html"]).await;
    assert_eq!(held(&report).len(), 1, "{:?}", lines(&report));
    assert!(!requests(world).iter().any(|line| line.starts_with("PUT")));
    world.edit("a/one.html", &long, "Short.");
    let report = scene.glance(&["a/one.html"]).await;
    assert_eq!(lines(&report), ["update remote a/one.html done"]);
}

#[tokio::test]
async fn someone_who_writes_back_and_forth_is_held() {
    let scene = scene(Habits::default()).await;
    let world = &scene.world;
    let mut last = Vec::new();
    let (mut from, mut to) = ("One.", "Mine.");
    for _ in 0..6 {
        world.edit("a/one.html", from, to);
        let report = scene.glance(&["a/one.html"]).await;
        last = held(&report);
        if !last.is_empty() {
            break;
        }
        // Another tool writes its own version again, and a poll pulls it.
        world
            .sandbox()
            .edit(scene.ids[0], |article| article.text = BODY.into());
        hostile::sync(world).await;
        (from, to) = ("One.", "Mine.");
    }
    assert!(
        last.first()
            .is_some_and(|(_, why)| why.contains("back and forth")),
        "{last:?}"
    );
}

/// A source of small pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn pick(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("small") % sides
    }
}

/// Returns the shape of both sides, without anything that differs between two runs.
fn shape(scene: &Scene) -> String {
    let world = &scene.world;
    let mut articles = world.sandbox().articles();
    articles.sort_by_key(|article| article.id);
    let remote: Vec<String> = articles
        .iter()
        .map(|article| {
            format!(
                "{} {} {} {:?} {:?} {} {} {}",
                article.id,
                article.slug,
                article.title,
                article.text,
                article.keywords,
                article.enabled,
                article.draft,
                article.category_id
            )
        })
        .collect();
    let engine = world.engine();
    let rows = engine.store().articles().expect("a readable state");
    let rows: Vec<String> = rows.iter().map(bare).collect();
    let history: Vec<String> = scene
        .ids
        .iter()
        .flat_map(|id| {
            let subject = Subject::Article(ArticleId::new(*id));
            engine.store().versions(&subject).expect("readable")
        })
        .map(|kept| {
            let seen = kept.seen;
            format!("{:?} {} {}", seen.side, seen.cause, seen.version.digest())
        })
        .collect();
    let conflicts: Vec<String> = engine
        .store()
        .conflicts()
        .expect("readable")
        .iter()
        .map(|row| format!("{} {} {:?} {}", row.id, row.place, row.copy, row.reason))
        .collect();
    format!(
        "{:#?}\n{remote:#?}\n{rows:#?}\n{history:#?}\n{conflicts:#?}",
        world.files()
    )
}

fn bare(row: &ArticleRow) -> String {
    format!(
        "{} {} {} {} {:?} {:?} {:?} own={} superseded={:?}",
        row.id,
        row.place,
        row.local.digest(),
        row.remote.digest(),
        row.file_flags,
        row.remote_flags,
        row.visibility,
        row.written.as_ref() == Some(&row.revision),
        row.superseded.first().map(|(digest, _)| *digest),
    )
}

/// A writer's edits of `a/one.html`, and whether the edit changes nothing for the service.
const EDITS: [(&str, Prepare, bool); 13] = [
    (
        "body",
        |s| s.world.edit("a/one.html", "One.", "Mine."),
        false,
    ),
    (
        "last block",
        |s| {
            s.world.edit("a/one.html", "Three.", "Mine.");
        },
        false,
    ),
    (
        "title",
        |s| {
            s.world.edit("a/one.html", "title: one", "title: Mine");
        },
        false,
    ),
    (
        "keywords",
        |s| {
            s.world
                .edit("a/one.html", "title:", "keywords: mine\ntitle:");
        },
        false,
    ),
    (
        "disable",
        |s| {
            s.world
                .edit("a/one.html", "title:", "enabled: false\ntitle:");
        },
        false,
    ),
    (
        "draft",
        |s| {
            s.world.edit("a/one.html", "title:", "draft: true\ntitle:");
        },
        false,
    ),
    (
        "own key",
        |s| {
            s.world.edit("a/one.html", "title:", "owner: me\ntitle:");
        },
        true,
    ),
    (
        "crlf",
        |s| {
            let text = s
                .world
                .read("a/one.html")
                .replace("One.", "Mine.")
                .replace('\n', "\r\n");
            s.world.write("a/one.html", &text);
        },
        false,
    ),
    (
        "touch",
        |s| {
            let text = s.world.read("a/one.html");
            s.world.write("a/one.html", &text);
        },
        true,
    ),
    (
        "slug",
        |s| {
            s.world.edit("a/one.html", "title:", "slug: uno\ntitle:");
        },
        false,
    ),
    (
        "slug of another",
        |s| {
            s.world.edit("a/one.html", "title:", "slug: two\ntitle:");
        },
        false,
    ),
    (
        "no id",
        |s| {
            let id = format!("id: {}\n", s.ids[0]);
            s.world.edit("a/one.html", &id, "");
        },
        false,
    ),
    (
        "markers",
        |s| {
            s.world
                .edit("a/one.html", "<p>One.</p>", "<<<<<<< a\n=======\n>>>>>>> b");
        },
        false,
    ),
];

/// A colleague's edits of the same article meanwhile.
const MEANWHILE: [(&str, Prepare); 12] = [
    ("nothing", |_| {}),
    ("nothing", |_| {}),
    ("another block", |s| {
        s.world.sandbox().edit(s.ids[0], |article| {
            article.text = BODY.replace("Two.", "Theirs.");
        });
    }),
    ("the same block", |s| {
        s.world.sandbox().edit(s.ids[0], |article| {
            article.text = BODY.replace("One.", "Theirs.");
        });
    }),
    ("the same", |s| {
        s.world.sandbox().edit(s.ids[0], |article| {
            article.text = BODY.replace("One.", "Mine.");
        });
    }),
    ("title", |s| {
        s.world
            .sandbox()
            .edit(s.ids[0], |article| article.title = "Theirs".into());
    }),
    ("a touch", |s| {
        s.world.sandbox().edit(s.ids[0], |_| {});
    }),
    ("slug", |s| {
        s.world
            .sandbox()
            .edit(s.ids[0], |article| article.slug = "eins".into());
    }),
    ("moved", |s| {
        s.world
            .sandbox()
            .edit(s.ids[0], |article| article.category_id = s.b);
    }),
    ("gone", |s| {
        s.world.sandbox().remove(s.ids[0]);
    }),
    ("disabled", |s| {
        s.world.sandbox().disable(s.ids[0]);
    }),
    ("unpublished", |s| {
        s.world.sandbox().unpublish(s.ids[0]);
    }),
];

/// The versions on which both sides agreed before.
const BEFORE: [(&str, Prepare); 4] = [
    ("published", |_| {}),
    ("published", |_| {}),
    ("disabled", |s| {
        s.world.sandbox().disable(s.ids[0]);
    }),
    ("draft", |s| {
        s.world.sandbox().unpublish(s.ids[0]);
    }),
];

const RULES: [OnConflict; 3] = [OnConflict::Hold, OnConflict::Local, OnConflict::Remote];

#[tokio::test]
async fn a_cycle_over_paths_comes_to_what_a_whole_one_comes_to() {
    let given = |name: &str| std::env::var(name).ok()?.parse().ok();
    let seed: u64 = given("KBSYNC_SEED").unwrap_or(1_592_594_922);
    let rounds = given("KBSYNC_ROUNDS").unwrap_or(16);
    let mut dice = Dice(seed);
    for number in 0..rounds {
        let before = BEFORE[dice.pick(BEFORE.len())];
        let meanwhile = MEANWHILE[dice.pick(MEANWHILE.len())];
        let edit = EDITS[dice.pick(EDITS.len())];
        let rule = RULES[dice.pick(RULES.len())];
        let normalise = dice.pick(2) == 1;
        let name = format!(
            "KBSYNC_SEED={seed}, round {number}: {}, {}, {}, {rule:?}, {normalise}",
            before.0, meanwhile.0, edit.0
        );
        let (mut shapes, mut reports) = (Vec::new(), Vec::new());
        for look in [true, false] {
            let mut scene = scene(Habits {
                normalise: Normalise {
                    trim: normalise,
                    one_line: normalise,
                    ..Normalise::default()
                },
                ..Habits::default()
            })
            .await;
            scene.world.settings.on_conflict = rule;
            (before.1)(&scene);
            hostile::sync(&scene.world).await;
            (edit.1)(&scene);
            (meanwhile.1)(&scene);
            let report = scene.look_at(&["a/one.html"], look).await;
            shapes.push(shape(&scene));
            reports.push((lines(&report), held(&report), problems(&report)));
            hostile::sync(&scene.world).await;
            let_stamps_settle(&scene.world).await;
            shapes.push(shape(&scene));
        }
        // If the file has nothing new for the service, the article is not even read: the next poll pulls its version.
        if !edit.2 {
            assert_eq!(reports[0], reports[1], "{name}");
            assert_eq!(shapes[0], shapes[2], "{name}");
        }
        assert_eq!(shapes[1], shapes[3], "{name}, and a sync");
    }
}
