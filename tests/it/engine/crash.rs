//! kill -9 at every moment: before and after every request and every change of the mirror.
//!
//! After each death a new process continues. Its end must equal that of an undisturbed run: no article twice, no text
//! lost, and then a quiet cycle (promise 7; failures rows 1 to 8).

use crate::support::faults::Inject as _;
use crate::support::hostile::{self, Meddler, Stage, calm, dies_at, engine};
use crate::support::look::decision;
use crate::support::words::{Sides, Written};
use futures_util::FutureExt as _;
use kbsync::engine::report::{Report, Status};
use kbsync::engine::settings::CycleRequest;
use kbsync::model::{ArticleId, ExitCode};
use kbsync::reconcile::plan::Kind;
use kbsync::reconcile::snapshot::{Direction, Keep};
use kbsync::sandbox::{Article, Category, Options};
use kbsync::state::Subject;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// The situation before the cycle that dies, and the expected end.
struct Scenario {
    /// Prepares both sides before the first sync.
    prepare: fn(&Stage),
    /// Changes both sides after the first sync.
    change: fn(&Stage),
    /// The request of the cycle that dies.
    request: fn(&Stage) -> CycleRequest,
    /// The undisturbed outcome.
    ending: ExitCode,
}

fn sync_all(_: &Stage) -> CycleRequest {
    CycleRequest::new(Direction::Both)
}

/// Both sides in a form that can be compared: articles by category and slug, files without their ids.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    articles: Vec<(String, String, String, String, bool)>,
    categories: Vec<(String, String)>,
    files: Vec<(String, String)>,
}

impl Outcome {
    /// Returns this outcome with the other outcome's files at some paths.
    pub(crate) fn but_for(&self, other: &Self, paths: &[&str]) -> Self {
        let is_one = |(path, _): &&(String, String)| paths.contains(&path.as_str());
        let own = self.files.iter().filter(|file| !is_one(file));
        let mut files: Vec<_> = own
            .chain(other.files.iter().filter(is_one))
            .cloned()
            .collect();
        files.sort();
        Self {
            articles: self.articles.clone(),
            categories: self.categories.clone(),
            files,
        }
    }
}

/// The categories of this workspace.
pub(crate) fn categories(world: &Stage) -> Vec<Category> {
    let mut categories = world.sandbox().categories();
    categories.retain(|category| category.workspace == world.workspace);
    categories
}

/// The articles of this workspace.
pub(crate) fn articles(world: &Stage) -> Vec<Article> {
    let categories = categories(world);
    let mut articles = world.sandbox().articles();
    articles.retain(|article| categories.iter().any(|one| one.id == article.category_id));
    articles
}

pub(crate) fn outcome(world: &Stage) -> Outcome {
    let categories = categories(world);
    let slug_of = |id: Uuid| {
        categories
            .iter()
            .find(|category| category.id == id)
            .map(|category| category.slug.clone())
            .unwrap_or_default()
    };
    let mut articles: Vec<_> = articles(world)
        .into_iter()
        .map(|one| {
            let category = slug_of(one.category_id);
            (category, one.slug, one.title, one.text, one.enabled)
        })
        .collect();
    articles.sort();
    let mut categories: Vec<_> = categories
        .iter()
        .map(|category| (category.slug.clone(), category.name.clone()))
        .collect();
    categories.sort();
    let files = world
        .files()
        .into_iter()
        .map(|(path, content)| {
            let kept: Vec<_> = content
                .lines()
                .filter(|line| !line.starts_with("id: "))
                .collect();
            // A file whose name was taken has digits of the id in its name, which differ between runs.
            let name = path.split_once('~').map(|(name, _)| format!("{name}~"));
            (name.unwrap_or(path), kept.join("\n"))
        })
        .collect();
    Outcome {
        articles,
        categories,
        files,
    }
}

/// Returns the present words of both sides.
pub(crate) fn sides(world: &Stage) -> Sides {
    Sides {
        files: world.files().into_iter().collect(),
        articles: articles(world),
        categories: categories(world),
    }
}

/// Checks that every text that was ever written is still somewhere.
pub(crate) fn nothing_lost(world: &Stage, written: &Written) {
    let lost = written.lost(&sides(world), || Some(hostile::store(world)));
    assert!(lost.is_empty(), "{lost:#?} is nowhere");
}

/// Checks that every file has the id of the article with its slug, and that no temporary file is left.
fn ids_fit(world: &Stage) {
    let articles = articles(world);
    for (path, content) in world.files() {
        assert!(!path.contains(".kbsync"), "{path} was left behind");
        if path.ends_with("_category.yaml") {
            continue;
        }
        let id = content
            .lines()
            .find_map(|line| line.strip_prefix("id: "))
            .unwrap_or_else(|| panic!("{path} has no id:\n{content}"));
        let found = articles
            .iter()
            .any(|article| article.id.to_string() == id && content.contains(&article.text));
        assert!(found, "{path} has the id {id}, which is not its article's");
    }
}

/// Starts over with this scenario. Returns everything that was written.
async fn set_up(world: &mut Stage, scenario: &Scenario) -> Written {
    world.renew();
    let mut written = Written::default();
    (scenario.prepare)(world);
    hostile::sync(world).await;
    written.add(&sides(world));
    (scenario.change)(world);
    written.add(&sides(world));
    written
}

/// Runs a cycle in which the process may die.
async fn run(world: &Stage, request: &CycleRequest, meddle: &Meddler) -> bool {
    let mut engine = engine(world, meddle);
    let cycle = AssertUnwindSafe(engine.cycle(request)).catch_unwind();
    match cycle.await {
        Ok(report) => {
            report.expect("a cycle");
            true
        }
        Err(_death) => false,
    }
}

/// Lets a new process continue until nothing is left to do.
async fn go_on(
    world: &Stage,
    scenario: &Scenario,
    written: &Written,
    expected: &Outcome,
    died: &str,
) {
    let mut rounds = 0;
    loop {
        let mut engine = engine(world, &calm());
        let report = engine.cycle(&(scenario.request)(world)).await;
        let report = report.expect("a cycle");
        if rounds == 0 && names_category(world, &report) {
            continue;
        }
        assert_eq!(report.outcome, scenario.ending, "{died}: {report:#?}");
        let done = report
            .actions
            .iter()
            .any(|line| line.status == Status::Done);
        if !done && report.requests.total == 1 {
            break;
        }
        rounds += 1;
        assert!(rounds < 4, "{died}: it does not come to rest: {report:#?}");
    }
    assert_eq!(outcome(world), *expected, "{died}");
    if scenario.ending == ExitCode::Done {
        ids_fit(world);
    }
    nothing_lost(world, written);
}

/// A person follows the report: a category whose creation had a lost response cannot be found through the API.
fn names_category(world: &Stage, report: &Report) -> bool {
    let waits = report.actions.iter().find(|line| {
        let reason = line.reason.as_deref().unwrap_or_default();
        line.action == Kind::CreateCategory
            && reason.contains("put its id into new-one/_category.yaml")
    });
    let Some(line) = waits else { return false };
    assert_eq!(report.outcome, ExitCode::Partial);
    let categories = categories(world);
    let found = categories.iter().find(|one| one.slug == line.path);
    let id = found.expect("it was created").id;
    world.write(
        "new-one/_category.yaml",
        &format!("id: {id}\nname: New one\n"),
    );
    true
}

/// Dies at every moment that is a multiple of `stride` plus `offset`, and recovers each time.
async fn sweep(scenario: Scenario, stride: usize, offset: usize) {
    silence_deaths();
    let mut world = hostile::world().await;
    let written = set_up(&mut world, &scenario).await;
    let (meddle, count) = dies_at(usize::MAX);
    assert!(run(&world, &(scenario.request)(&world), &meddle).await);
    let moments = count.load(Ordering::SeqCst);
    hostile::sync(&world).await;
    let expected = outcome(&world);
    nothing_lost(&world, &written);
    assert!(moments > 5, "{moments}");
    for n in (offset..moments).step_by(stride) {
        let written = set_up(&mut world, &scenario).await;
        let (meddle, _) = dies_at(n);
        let request = (scenario.request)(&world);
        assert!(
            !run(&world, &request, &meddle).await,
            "moment {n} of {moments}"
        );
        nothing_lost(&world, &written);
        go_on(
            &world,
            &scenario,
            &written,
            &expected,
            &format!("died at moment {n} of {moments}"),
        )
        .await;
    }
}

/// Keeps the deaths, which are on purpose, out of the output.
pub(crate) fn silence_deaths() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let death = info
                .payload_as_str()
                .is_some_and(|message| message.starts_with("the process dies"));
            if !death {
                told(info);
            }
        }));
    });
}

fn article(world: &Stage, category: Uuid, slug: &str) -> Uuid {
    let text = format!("<p>First of {slug}.</p>\n<p>Middle.</p>\n<p>Last of {slug}.</p>");
    world.article(category, slug, &text)
}

fn id_of(world: &Stage, slug: &str) -> Uuid {
    articles(world)
        .iter()
        .find(|article| article.slug == slug)
        .unwrap_or_else(|| panic!("no {slug}"))
        .id
}

/// A colleague replaces some words of an article.
fn web_edit(world: &Stage, slug: &str, from: &str, to: &str) {
    let edited = world.sandbox().edit(id_of(world, slug), |article| {
        article.text = article.text.replace(from, to);
    });
    assert!(edited.is_some(), "{slug} is there");
}

fn nothing(_: &Stage) {}

const FIRST_SYNC: Scenario = Scenario {
    prepare: nothing,
    change: |world| {
        let alpha = world.category("alpha");
        let beta = world.category("beta");
        for (category, slug) in [(alpha, "one"), (alpha, "two"), (beta, "three")] {
            article(world, category, slug);
        }
    },
    request: sync_all,
    ending: ExitCode::Done,
};

const PULLS: Scenario = Scenario {
    prepare: |world| {
        let alpha = world.category("alpha");
        let beta = world.category("beta");
        for slug in ["edited", "gone", "renamed", "moved", "swap-a", "swap-b"] {
            article(world, alpha, slug);
        }
        article(world, beta, "other");
    },
    change: |world| {
        web_edit(world, "edited", "Middle", "Edited on the web");
        world.sandbox().remove(id_of(world, "gone"));
        let renamed = id_of(world, "renamed");
        world.sandbox().edit(renamed, |article| {
            "newly-named".clone_into(&mut article.slug);
        });
        let beta = categories(world)[1].id;
        world
            .sandbox()
            .edit(id_of(world, "moved"), |article| article.category_id = beta);
        web_edit(world, "moved", "Middle", "Moved");
        let (a, b) = (id_of(world, "swap-a"), id_of(world, "swap-b"));
        world
            .sandbox()
            .edit(a, |article| "swap-b".clone_into(&mut article.slug));
        world
            .sandbox()
            .edit(b, |article| "swap-a".clone_into(&mut article.slug));
        world.sandbox().rename_category(beta, "Gamma", "gamma");
        article(world, beta, "arrived");
    },
    request: sync_all,
    ending: ExitCode::Done,
};

const PUSHES: Scenario = Scenario {
    prepare: |world| {
        let alpha = world.category("alpha");
        let beta = world.category("beta");
        for slug in ["edited", "gone", "renamed", "moved", "first", "second"] {
            article(world, alpha, slug);
        }
        article(world, beta, "other");
    },
    change: |world| {
        world.edit("alpha/edited.html", "Middle", "Edited here");
        world.remove("alpha/gone.html");
        world.rename("alpha/renamed.html", "alpha/newly-named.html");
        world.rename("alpha/moved.html", "beta/moved.html");
        world.rename("alpha/first.html", "alpha/third.html");
        world.rename("alpha/second.html", "alpha/first.html");
        let text = "<p>Written here.</p>".to_owned();
        world.write(
            "alpha/fresh.html",
            &format!("---\ntitle: Fresh\n---\n{text}\n"),
        );
        let text = "<p>In a new category.</p>".to_owned();
        world.write(
            "new-one/start.html",
            &format!("---\ntitle: Start\n---\n{text}\n"),
        );
    },
    request: sync_all,
    ending: ExitCode::Done,
};

const MERGES: Scenario = Scenario {
    prepare: |world| {
        let alpha = world.category("alpha");
        for slug in ["both", "both-too", "titled", "hidden"] {
            article(world, alpha, slug);
        }
    },
    change: |world| {
        world.edit("alpha/both.html", "First", "The first");
        web_edit(world, "both", "Last", "The last");
        world.edit("alpha/both-too.html", "First", "The first");
        web_edit(world, "both-too", "First", "The first");
        world.edit("alpha/titled.html", "title: titled", "title: Titled here");
        web_edit(world, "titled", "Middle", "Edited on the web");
        world.edit(
            "alpha/hidden.html",
            "title: hidden",
            "title: hidden\nenabled: false",
        );
        web_edit(world, "hidden", "Middle", "Edited on the web");
    },
    request: sync_all,
    ending: ExitCode::Done,
};

#[tokio::test]
async fn f001_f004_a_crash_anywhere_in_the_first_sync_is_finished_by_the_next() {
    sweep(FIRST_SYNC, 1, 0).await;
}

#[tokio::test]
async fn f001_f002_f008_a_crash_anywhere_in_a_pull_is_finished_by_the_next_sync() {
    sweep(PULLS, 1, 0).await;
}

#[tokio::test]
async fn f005_f006_f007_a_crash_anywhere_in_a_push_is_finished_without_doubles() {
    sweep(PUSHES, 1, 0).await;
}

#[tokio::test]
async fn f006_a_crash_anywhere_in_a_merge_is_finished_by_the_next_sync() {
    sweep(MERGES, 1, 0).await;
}

/// More files than are fsynced one by one, and more than one roll-back may affect.
const MANY: Scenario = Scenario {
    prepare: |world| {
        let alpha = world.category("alpha");
        for number in 0..12 {
            article(world, alpha, &format!("n{number:02}"));
        }
    },
    change: |world| {
        for number in 0..12 {
            web_edit(world, &format!("n{number:02}"), "Middle", "Edited");
        }
    },
    request: sync_all,
    ending: ExitCode::Done,
};

/// Both sides changed the same line: a conflict copy beside the file.
const CONFLICT: Scenario = Scenario {
    prepare: |world| {
        let alpha = world.category("alpha");
        article(world, alpha, "clash");
    },
    change: |world| {
        world.edit("alpha/clash.html", "Middle", "Mine");
        web_edit(world, "clash", "Middle", "Theirs");
    },
    request: sync_all,
    ending: ExitCode::Attention,
};

/// A conflict that a person settles by keeping both versions.
const RESOLVED: Scenario = Scenario {
    prepare: CONFLICT.prepare,
    change: |world| {
        (CONFLICT.change)(world);
    },
    request: |world| {
        let mut request = sync_all(world);
        let id = ArticleId::new(id_of(world, "clash"));
        request
            .resolve
            .extend([decision(&world.path(""), id, Keep::Both)]);
        request
    },
    ending: ExitCode::Done,
};

/// A deleted article that is created anew from its edited file.
const ANEW: Scenario = Scenario {
    prepare: |world| {
        let alpha = world.category("alpha");
        article(world, alpha, "lost");
        article(world, alpha, "other");
    },
    change: |world| {
        world.sandbox().remove(id_of(world, "lost"));
        world.edit("alpha/lost.html", "Middle", "Mine");
    },
    request: |world| {
        let mut request = sync_all(world);
        let there = world.sandbox().articles();
        let rows = hostile::store(world).articles().expect("read");
        let gone = rows
            .iter()
            .map(|row| row.id)
            .filter(|id| !there.iter().any(|article| article.id == id.uuid()));
        let decided = gone.map(|id| decision(&world.path(""), id, Keep::Local));
        request.resolve.extend(decided);
        request
    },
    ending: ExitCode::Done,
};

/// Three slugs that are exchanged in a circle, with edits.
const CIRCLE: Scenario = Scenario {
    prepare: |world| {
        let alpha = world.category("alpha");
        for slug in ["a", "b", "c"] {
            article(world, alpha, slug);
        }
    },
    change: |world| {
        let ids = ["a", "b", "c"].map(|slug| id_of(world, slug));
        web_edit(world, "b", "Middle", "Edited");
        for (id, slug) in ids.into_iter().zip(["b", "c", "a"]) {
            world
                .sandbox()
                .edit(id, |article| slug.clone_into(&mut article.slug));
        }
    },
    request: sync_all,
    ending: ExitCode::Done,
};

#[tokio::test]
async fn f055_a_crash_while_three_files_take_each_others_names_is_finished() {
    sweep(CIRCLE, 1, 0).await;
}

#[tokio::test]
async fn f002_f038_a_crash_in_a_large_pull_is_finished_and_not_taken_for_a_roll_back() {
    sweep(MANY, 7, 0).await;
}

#[tokio::test]
async fn f011_a_crash_while_a_conflict_is_shown_shows_it_again() {
    sweep(CONFLICT, 1, 0).await;
}

#[tokio::test]
async fn f011_a_crash_while_a_conflict_is_settled_loses_neither_version() {
    sweep(RESOLVED, 1, 0).await;
}

#[tokio::test]
async fn f005_a_crash_while_an_article_is_created_anew_makes_one_article() {
    sweep(ANEW, 1, 0).await;
}

/// The run after a crash may crash as well, and so may the run after that.
#[tokio::test]
async fn f008_crashes_while_recovering_are_recovered_from() {
    silence_deaths();
    let mut world = hostile::world().await;
    for scenario in [PUSHES, MERGES] {
        set_up(&mut world, &scenario).await;
        let (meddle, count) = dies_at(usize::MAX);
        assert!(run(&world, &sync_all(&world), &meddle).await);
        let moments = count.load(Ordering::SeqCst);
        hostile::sync(&world).await;
        let expected = outcome(&world);
        for first in (5..moments).step_by(moments / 4) {
            for then in [3, 8, 15] {
                let written = set_up(&mut world, &scenario).await;
                let died = format!("died at moments {first}, {then} and {then} again");
                let request = sync_all(&world);
                assert!(!run(&world, &request, &dies_at(first).0).await, "{died}");
                run(&world, &request, &dies_at(then).0).await;
                run(&world, &request, &dies_at(then).0).await;
                go_on(&world, &scenario, &written, &expected, &died).await;
            }
        }
    }
}

/// The service writes slugs in lower case: the file keeps its name, and gets a `slug:` line. After two deaths nothing is
/// left open.
#[tokio::test]
async fn f008_f056_a_slug_in_another_case_that_was_begun_is_over_with_the_next_run() {
    silence_deaths();
    let mut world = hostile::world_with(Options::unlimited()).await;
    world.sandbox().habits().normalise.lowercase_slug = true;
    let mut begun = 0;
    for moment in 0.. {
        world.renew();
        let alpha = world.category("alpha");
        world.article(alpha, "one", "<p>One.</p>");
        hostile::sync(&world).await;
        world.write("alpha/New.html", "---\ntitle: New\n---\n<p>new</p>\n");
        let dies: Meddler = Arc::new(|moment| {
            let now = moment.doing == "POST" && moment.after;
            assert!(!now, "the process dies at {moment:?}");
            Ok(())
        });
        assert!(!run(&world, &sync_all(&world), &dies).await);
        if run(&world, &sync_all(&world), &dies_at(moment).0).await {
            break;
        }
        let open = || {
            let store = hostile::store(&world);
            store.pending_requests().expect("read").len() + store.journal().expect("read").len()
        };
        begun += usize::from(open() > 0);
        let mut report = hostile::sync(&world).await;
        if report.outcome == ExitCode::Retry {
            // The file is created as it was sent; the second look, which follows at once, writes the line.
            report = hostile::sync(&world).await;
        }
        assert_eq!(report.outcome, ExitCode::Done, "{moment}: {report:#?}");
        assert_eq!(
            open(),
            0,
            "{moment}: {:?}",
            hostile::store(&world).pending_requests()
        );
        assert!(world.read("alpha/New.html").contains("slug: new\n"));
    }
    assert!(begun > 3, "{begun}");
}

/// A run first reads an article, and is killed before the file is durable. A power loss takes the file, a colleague
/// edits the article, and the service cannot be reached: the history still has the first text.
#[tokio::test]
async fn what_a_run_that_was_killed_met_is_kept_before_anything_is_asked() {
    silence_deaths();
    let world = hostile::world().await;
    let one = world.article(world.category("a"), "one", "<p>Met.</p>");
    let dies_at = |doing: &'static str, after: bool| -> Meddler {
        Arc::new(move |moment| {
            let now = moment.doing == doing && moment.after == after;
            assert!(
                !now || moment.what == "a/_category.yaml",
                "the process dies at {moment:?}"
            );
            Ok(())
        })
    };
    assert!(!run(&world, &sync_all(&world), &dies_at("publish", true)).await);
    world.remove("a/one.html");
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>Later.</p>".to_owned());
    assert!(!run(&world, &sync_all(&world), &dies_at("GET", false)).await);
    let store = hostile::store(&world);
    let kept = store
        .versions(&Subject::Article(ArticleId::new(one)))
        .expect("read");
    let texts: Vec<_> = kept
        .iter()
        .map(|kept| store.body(kept.seen.version.text).expect("read"))
        .collect();
    assert_eq!(texts, [Some("<p>Met.</p>".into())]);
}

/// A run first reads an article, and is killed when the file exists. The file is not ready since, and a colleague edits
/// the article: the history has both versions, each once, however often they are read.
#[tokio::test]
async fn what_a_killed_run_met_is_kept_once_while_its_file_is_not_ready() {
    silence_deaths();
    let world = hostile::world().await;
    let one = world.article(world.category("a"), "one", "<p>Met.</p>");
    let dies: Meddler = Arc::new(|moment| {
        let now = moment.doing == "publish" && moment.after;
        assert!(
            !now || moment.what == "a/_category.yaml",
            "the process dies at {moment:?}"
        );
        Ok(())
    });
    assert!(!run(&world, &sync_all(&world), &dies).await);
    let title = "title:";
    world.edit("a/one.html", title, "was:");
    world
        .sandbox()
        .edit(one, |article| article.text = "<p>Later.</p>".to_owned());
    let texts = || {
        let store = hostile::store(&world);
        let kept = store.versions(&Subject::Article(ArticleId::new(one)));
        let kept = kept.expect("read").into_iter();
        let text = |text| store.body(text).expect("read").expect("kept");
        kept.map(|kept| text(kept.seen.version.text))
            .collect::<Vec<_>>()
    };
    // The text of the file is in the history as well.
    let met = [
        "<p>Later.</p>".to_owned(),
        world.read("a/one.html"),
        "<p>Met.</p>".to_owned(),
    ];
    let mut running = engine(&world, &calm());
    for _cycle in 0..3 {
        running.cycle(&sync_all(&world)).await.expect("a cycle");
        assert_eq!(texts(), met);
    }
    drop(running);
    for _run in 0..2 {
        hostile::sync(&world).await;
        assert_eq!(texts(), met, "a new run");
    }
    world.edit("a/one.html", "was:", title);
    hostile::sync(&world).await;
    assert!(world.read("a/one.html").contains("Later"));
}
