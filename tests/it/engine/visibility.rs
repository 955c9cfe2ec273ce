//! Articles that leave the listing (drafts, disabled and deleted articles), and the conclusions from each.

use crate::support::faults::habits::EmptyPut;
use crate::support::faults::{Fault, FaultKind, Inject, Matcher};
use crate::support::look::{articles, assert_quiet, both, held, kept, problems, requests, row};
use crate::support::world::{World, lines};
use kbsync::engine::report::Report;
use kbsync::model::Field;
use kbsync::model::base::Visibility;
use kbsync::reconcile::guard::MaxDeletes;
use kbsync::sandbox::{NewSeed, Options};
use std::time::Duration;
use uuid::Uuid;

const DAY: Duration = Duration::from_hours(24);

/// A synced world with the articles `a/n00.html` and so on.
async fn with_articles(number: usize, options: Options) -> (World, Vec<Uuid>) {
    let world = World::with(options).await;
    let a = world.category("a");
    let ids = (0..number)
        .map(|number| {
            let slug = format!("n{number:02}");
            world.article(a, &slug, &format!("<p>{number}</p>"))
        })
        .collect();
    world.sync().await;
    requests(&world);
    (world, ids)
}

fn front(world: &World, path: &str) -> String {
    let file = world.read(path);
    file.split("\n---\n")
        .next()
        .expect("front matter")
        .to_owned()
}

#[tokio::test]
async fn f026_unpublished_keeps_its_file_and_says_so_until_it_is_published_again() {
    let (world, ids) = with_articles(2, Options::unlimited()).await;
    let before = world.read("a/n00.html");
    world.sandbox().unpublish(ids[0]);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/n00.html done"]);
    assert_eq!(
        requests(&world),
        ["GET listing 200", "GET article 404", "PUT article {} 200"]
    );
    assert!(front(&world, "a/n00.html").ends_with("\ndraft: true"));
    assert_eq!(
        world.read("a/n00.html").replace("draft: true\n", ""),
        before
    );
    assert_quiet(&world, 1).await;
    assert_quiet(&world, 1).await;
    world.sandbox().publish(ids[0]);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/n00.html done"]);
    assert_eq!(report.requests.total, 1);
    assert_eq!(world.read("a/n00.html"), before);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn disabled_and_enabled_again() {
    let (world, ids) = with_articles(2, Options::unlimited()).await;
    let before = world.read("a/n00.html");
    world.sandbox().disable(ids[0]);
    assert_eq!(lines(&world.sync().await), ["update local a/n00.html done"]);
    assert!(front(&world, "a/n00.html").ends_with("\nenabled: false"));
    assert_quiet(&world, 1).await;
    world.sandbox().unpublish(ids[0]);
    world.clock.advance(DAY);
    world.sync().await;
    let both = front(&world, "a/n00.html");
    assert!(both.contains("enabled: false") && both.contains("draft: true"));
    world.sandbox().edit(ids[0], |article| {
        article.enabled = true;
        article.draft = false;
    });
    assert_eq!(lines(&world.sync().await), ["update local a/n00.html done"]);
    assert_eq!(world.read("a/n00.html"), before);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn unpublished_with_an_edit_brings_the_edit_along() {
    let (world, ids) = with_articles(1, Options::unlimited()).await;
    world.sandbox().edit(ids[0], |article| {
        article.draft = true;
        article.text = "<p>not ready yet</p>".into();
    });
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/n00.html done"]);
    let file = world.read("a/n00.html");
    assert!(file.contains("draft: true") && file.ends_with("<p>not ready yet</p>\n"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn known_drafts_cost_nothing_but_once_a_day_and_not_all_at_once() {
    let (mut world, ids) = with_articles(15, Options::unlimited()).await;
    world.settings.max_deletes = MaxDeletes {
        count: 4,
        percent: 50,
    };
    for id in &ids {
        world.sandbox().unpublish(*id);
    }
    // They vanish all at once, as when a category is disabled: four are probed at a time.
    for asked in [4, 4, 4, 3] {
        let report = world.sync().await;
        assert_eq!(report.requests.total, 1 + 2 * asked, "{:?}", lines(&report));
        assert_eq!(report.requests.delete, 0);
    }
    assert_quiet(&world, 1).await;
    world.clock.advance(DAY / 2);
    assert_quiet(&world, 1).await;
    world.clock.advance(DAY);
    // The category is read again as well.
    assert_quiet(&world, 1 + 1 + 4).await;
    for asked in [4, 4, 3, 0, 0] {
        assert_quiet(&world, 1 + asked).await;
    }
    assert_eq!(articles(&world).len(), 15);
}

#[tokio::test]
async fn a_known_draft_that_was_deleted_or_edited_is_found_within_the_day() {
    let (world, ids) = with_articles(3, Options::unlimited()).await;
    for id in &ids[..2] {
        world.sandbox().unpublish(*id);
    }
    world.sync().await;
    world.sandbox().remove(ids[0]);
    world
        .sandbox()
        .edit(ids[1], |article| article.text = "<p>new</p>".into());
    assert_quiet(&world, 1).await;
    world.clock.advance(DAY);
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update local a/n01.html done",
            "delete local a/n00.html done"
        ]
    );
    assert!(kept(&world, ids[0], "<p>0</p>"));
    assert!(
        world
            .read("a/n01.html")
            .ends_with("draft: true\n---\n<p>new</p>\n")
    );
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_draft_of_ours_that_a_colleague_publishes_loses_its_line() {
    let (world, _) = with_articles(1, Options::unlimited()).await;
    world.write(
        "a/new.html",
        "---\ntitle: New\ndraft: true # for now\n---\n<p>n</p>\n",
    );
    let report = world.sync().await;
    assert_eq!(lines(&report), ["create remote a/new.html done"]);
    let new = world
        .sandbox()
        .articles()
        .into_iter()
        .find(|article| article.slug == "new")
        .expect("created");
    assert!(new.draft);
    let file = world.read("a/new.html");
    assert!(file.contains("draft: true # for now") && file.contains(&new.id.to_string()));
    assert_quiet(&world, 1).await;
    world.sandbox().publish(new.id);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/new.html done"]);
    assert_eq!(report.requests.total, 1);
    assert!(!world.read("a/new.html").contains("draft"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f027_an_edit_of_an_unpublished_article_is_probed_and_sent() {
    let (world, ids) = with_articles(2, Options::unlimited()).await;
    world.sandbox().unpublish(ids[0]);
    world.sync().await;
    world.edit("a/n00.html", "<p>0</p>", "<p>0, edited</p>");
    requests(&world);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update remote a/n00.html done"]);
    assert_eq!(
        requests(&world),
        ["GET listing 200", "PUT article {} 200", "PUT article 200"]
    );
    let article = world.sandbox().article(ids[0]).expect("there");
    assert!(article.draft && article.text == "<p>0, edited</p>");
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f027_an_unseen_edit_of_a_draft_is_merged_and_never_trampled() {
    let (world, ids) = with_articles(2, Options::unlimited()).await;
    world.sandbox().unpublish(ids[0]);
    world.sync().await;
    world.edit("a/n00.html", "title: n00", "title: Ours");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>theirs</p>".into());
    assert_eq!(lines(&world.sync().await), ["merge both a/n00.html done"]);
    let article = world.sandbox().article(ids[0]).expect("there");
    assert_eq!(
        (article.title.as_str(), article.text.as_str(), article.draft),
        ("Ours", "<p>theirs</p>", true)
    );
    assert!(world.read("a/n00.html").ends_with("<p>theirs</p>\n"));
    // Edits of the same words on both sides are a conflict as usual.
    world.edit("a/n00.html", "<p>theirs</p>", "<p>mine</p>");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>yours</p>".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["conflict both a/n00.html held"]);
    assert_eq!(
        world.sandbox().article(ids[0]).expect("there").text,
        "<p>yours</p>"
    );
}

#[tokio::test]
async fn a_removed_file_of_an_unpublished_article() {
    let (world, ids) = with_articles(4, Options::unlimited()).await;
    for id in &ids[..2] {
        world.sandbox().unpublish(*id);
    }
    world.sync().await;
    world.remove("a/n00.html");
    world.remove("a/n01.html");
    world
        .sandbox()
        .edit(ids[1], |article| article.text = "<p>edited</p>".into());
    // The file is removed while the article is unpublished, in one cycle.
    world.remove("a/n02.html");
    world.sandbox().unpublish(ids[2]);
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "restore local a/n01.html done",
            "delete remote a/n00.html done",
            "delete remote a/n02.html done"
        ]
    );
    assert!(
        world
            .read("a/n01.html")
            .ends_with("draft: true\n---\n<p>edited</p>\n")
    );
    assert_eq!(world.sandbox().articles().len(), 2);
    assert_quiet(&world, 1).await;
}

/// Checks the report if articles vanished and no probe is allowed.
fn assert_held_for_a_person(report: &Report, number: usize) {
    let held = held(report);
    assert_eq!(
        held.len(),
        number,
        "{:?} {:?}",
        lines(report),
        problems(report)
    );
    assert!(
        held.iter()
            .all(|(_, why)| why.contains("left the listing") && why.contains("the file stays")),
        "{held:?}"
    );
    assert_eq!(report.outcome.number(), 3);
}

#[tokio::test]
async fn a_refused_probe_ends_probing_and_vanished_articles_wait_for_a_person() {
    for empty_put in [EmptyPut::Refused422, EmptyPut::Forbidden403] {
        let (world, ids) = with_articles(5, Options::unlimited()).await;
        world.sandbox().habits().empty_put = empty_put;
        world.sandbox().unpublish(ids[0]);
        world.sandbox().disable(ids[1]);
        let report = world.sync().await;
        assert_held_for_a_person(&report, 2);
        assert_eq!(
            report.requests.put, 1,
            "{empty_put:?}: the first refusal is the last"
        );
        assert!(
            held(&report)
                .iter()
                .any(|(_, why)| why.contains("probing is off")),
            "{:?}",
            held(&report)
        );
        assert_eq!(articles(&world).len(), 5);
        requests(&world);
        // The hold is reported in every cycle, without another request.
        let report = world.sync().await;
        assert_held_for_a_person(&report, 2);
        assert_eq!(requests(&world), ["GET listing 200"]);
        // An article that is published again is as before; the other still waits.
        world.sandbox().publish(ids[0]);
        world.sandbox().unpublish(ids[2]);
        let report = world.sync().await;
        assert_held_for_a_person(&report, 2);
        assert_eq!(report.requests.put, 0);
        assert_eq!(articles(&world).len(), 5);
        assert_eq!(
            row(&world, ids[0]).expect("a row").visibility,
            Visibility::Published
        );
        // The refusal may have been about one article only: a day later, another one is asked about.
        world.clock.advance(Duration::from_hours(25));
        let report = world.sync().await;
        assert_held_for_a_person(&report, 2);
        assert_eq!(report.requests.put, 1);
    }
}

#[tokio::test]
async fn what_was_disabled_and_is_listed_was_enabled_where_nobody_may_probe() {
    for empty_put in [EmptyPut::Refused422, EmptyPut::Forbidden403] {
        let (world, _) = with_articles(1, Options::unlimited()).await;
        world.sandbox().habits().empty_put = empty_put;
        let file = "---\ntitle: New\nenabled: false\n---\n<p>n</p>\n";
        world.write("a/new.html", file);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["create remote a/new.html done"]);
        let mut all = world.sandbox().articles().into_iter();
        let new = all.find(|article| article.slug == "new");
        let id = new.expect("created").id;
        world.sandbox().enable(id);
        let report = world.sync().await;
        assert_eq!(lines(&report), ["update local a/new.html done"]);
        assert!(!front(&world, "a/new.html").contains("enabled"));
        assert_quiet(&world, 1).await;
        // A colleague's edit is pulled without another probe.
        let theirs = "<p>theirs</p>";
        world
            .sandbox()
            .edit(id, |article| article.text = theirs.into());
        let report = world.sync().await;
        assert_eq!(lines(&report), ["update local a/new.html done"]);
        assert_eq!(report.requests.total, 1);
    }
}

#[tokio::test]
async fn probing_can_be_turned_off() {
    let (mut world, ids) = with_articles(4, Options::unlimited()).await;
    world.settings.probe = false;
    world.sandbox().unpublish(ids[0]);
    world.sandbox().remove(ids[1]);
    let report = world.sync().await;
    assert_held_for_a_person(&report, 2);
    assert_eq!(report.requests.put, 0);
    let report = world.sync().await;
    assert_held_for_a_person(&report, 2);
    assert_eq!(report.requests.total, 1);
    // Without a read of the article, an edit cannot be sent, and a removal is no deletion.
    world.edit("a/n00.html", "<p>0</p>", "<p>mine</p>");
    world.remove("a/n01.html");
    let report = world.sync().await;
    assert_eq!(
        lines(&report),
        [
            "update remote a/n00.html held",
            "delete remote a/n01.html held"
        ]
    );
    assert_eq!(report.outcome.number(), 3);
    assert_eq!(report.requests.put + report.requests.delete, 0);
    assert_eq!(
        world.sandbox().article(ids[0]).expect("there").text,
        "<p>0</p>"
    );
    // With probes on again, the cases are distinguished.
    world.settings.probe = true;
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(
        world.sandbox().article(ids[0]).expect("there").text,
        "<p>mine</p>"
    );
    assert_eq!(row(&world, ids[1]), None);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn f019_only_a_404_of_the_service_itself_says_gone() {
    let page = || FaultKind::Status(404, "<html>not found</html>".into());
    let broken = || FaultKind::Status(500, r#"{"success":false,"message":"oops"}"#.into());
    let table = [
        (Matcher::new("GET", "/api/article/"), page()),
        (Matcher::new("PUT", "/api/article/"), page()),
        (
            Matcher::new("GET", "/api/article/"),
            FaultKind::Status(404, r#"{"message":"no route"}"#.into()),
        ),
        (
            Matcher::new("PUT", "/api/article/"),
            FaultKind::Status(404, r#"{"success":true}"#.into()),
        ),
        (
            Matcher::new("GET", "/api/article/"),
            FaultKind::Status(403, r#"{"success":false,"message":"no"}"#.into()),
        ),
        (Matcher::new("GET", "/api/article/"), FaultKind::Html),
        (
            Matcher::new("PUT", "/api/article/"),
            FaultKind::Status(401, r#"{"success":false,"message":"who?"}"#.into()),
        ),
        (Matcher::new("PUT", "/api/article/"), broken()),
    ];
    for (matcher, what) in table {
        let name = format!("{matcher:?} {what:?}");
        let (world, ids) = with_articles(3, Options::unlimited()).await;
        world.sandbox().remove(ids[0]);
        // If the failure ends all probes, another removal of the cycle is held as well.
        world.sandbox().inject(Fault::always(matcher, what));
        let report = world.sync().await;
        assert_eq!(articles(&world).len(), 3, "{name}: {:?}", lines(&report));
        assert_ne!(report.outcome.number(), 0, "{name}");
        world.sandbox().clear_faults();
        world.clock.advance(DAY);
        world.sync().await;
        world.sync().await;
        let left = articles(&world).len();
        let refused = name.contains("403");
        assert!(left == 2 || refused, "{name}: {left}");
    }
}

#[tokio::test]
async fn f030_a_category_that_is_hidden_takes_no_file_away() {
    let (world, ids) = with_articles(12, Options::unlimited()).await;
    let b = world.category("b");
    world.article(b, "other", "<p>other</p>");
    world.sync().await;
    for id in &ids {
        world.sandbox().disable(*id);
    }
    for _ in 0..5 {
        let report = world.sync().await;
        assert_eq!(report.requests.delete, 0);
        assert_eq!(articles(&world).len(), 13);
    }
    for number in 0..12 {
        assert!(front(&world, &format!("a/n{number:02}.html")).contains("enabled: false"));
    }
    assert_quiet(&world, 1).await;
    // All are enabled again: each is probed once, because some services list disabled articles.
    for id in &ids {
        world.sandbox().enable(*id);
    }
    let report = world.sync().await;
    assert_eq!((report.actions.len(), report.requests.total), (12, 13));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_service_that_reads_disabled_articles_is_not_asked_in_every_poll() {
    let options = Options {
        read_disabled: true,
        ..Options::unlimited()
    };
    let (world, ids) = with_articles(2, options).await;
    world.sandbox().disable(ids[0]);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/n00.html done"]);
    assert!(front(&world, "a/n00.html").ends_with("\nenabled: false"));
    assert_quiet(&world, 1).await;
    world.sandbox().enable(ids[0]);
    assert_eq!(lines(&world.sync().await), ["update local a/n00.html done"]);
    assert!(!front(&world, "a/n00.html").contains("enabled"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_service_that_lists_disabled_articles_is_asked_once_for_each_revision() {
    let options = Options {
        list_disabled: true,
        ..Options::unlimited()
    };
    let (world, ids) = with_articles(2, options).await;
    world.edit("a/n00.html", "title:", "enabled: false\ntitle:");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/n00.html done"]
    );
    assert!(!world.sandbox().article(ids[0]).expect("there").enabled);
    // The article is still listed, with the revision of our own write, so the line stays.
    assert_quiet(&world, 1).await;
    assert!(front(&world, "a/n00.html").contains("enabled: false"));
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>theirs</p>".into());
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/n00.html done"]);
    assert_eq!(report.requests.total, 2, "one probe");
    assert!(front(&world, "a/n00.html").contains("enabled: false"));
    assert_quiet(&world, 1).await;
    world.sandbox().enable(ids[0]);
    let report = world.sync().await;
    assert_eq!(lines(&report), ["update local a/n00.html done"]);
    assert_eq!(report.requests.total, 2, "one probe");
    assert!(!front(&world, "a/n00.html").contains("enabled"));
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn an_article_that_was_never_published_is_not_seen_until_it_is() {
    let (world, _) = with_articles(1, Options::unlimited()).await;
    let a = world.sandbox().categories()[0].id;
    let hidden = world
        .sandbox()
        .add_article(NewSeed::new(a, "Hidden", "hidden", "<p>h</p>").draft());
    assert_quiet(&world, 1).await;
    world.sandbox().publish(hidden);
    assert_eq!(
        lines(&world.sync().await),
        ["create local a/hidden.html done"]
    );
    assert!(!world.read("a/hidden.html").contains("draft"));
}

#[tokio::test]
async fn f028_a_slug_of_a_hidden_draft_is_explained_and_not_tried_in_every_cycle() {
    let (world, _) = with_articles(1, Options::unlimited()).await;
    let a = world.sandbox().categories()[0].id;
    world
        .sandbox()
        .add_article(NewSeed::new(a, "Hidden", "mine", "<p>h</p>").draft());
    world.write("a/mine.html", "---\ntitle: Mine\n---\n<p>m</p>\n");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 4, "{:?}", lines(&report));
    assert_eq!(report.requests.post, 1);
    assert!(
        report.actions[0]
            .reason
            .as_deref()
            .is_some_and(|why| why.contains("slug"))
    );
    let report = world.sync().await;
    assert_eq!((report.requests.total, report.outcome.number()), (1, 4));
    world.clock.advance(DAY);
    assert_eq!(
        world.sync().await.requests.post,
        1,
        "after a day it is tried again"
    );
    world.edit("a/mine.html", "title:", "slug: my-own\ntitle:");
    let report = world.sync().await;
    assert_eq!(report.outcome.number(), 0, "{:?}", held(&report));
    assert_eq!(world.sandbox().articles().len(), 3);
}

/// The file of a hidden article, which is probed once a day only, is not ready, so the state does not have its new
/// slug. Only the service knows, and its refusal counts for a day.
#[tokio::test]
async fn f028_a_slug_that_a_hidden_article_has_by_now_is_sent_once_a_day_at_most() {
    for moved in [false, true] {
        let (world, ids) = with_articles(2, Options::unlimited()).await;
        world.sandbox().disable(ids[0]);
        world.sync().await;
        world.write("a/n00.html", "");
        world.sandbox().edit(ids[0], |article| {
            "mine".clone_into(&mut article.slug);
        });
        if moved {
            world.rename("a/n01.html", "a/mine.html");
        } else {
            world.write("a/mine.html", "---\ntitle: Mine\n---\n<p>m</p>\n");
        }
        for day in 0..3 {
            world.clock.advance(DAY + Duration::from_mins(1));
            let mut vain = 0;
            for _ in 0..4 {
                requests(&world);
                let report = world.sync().await;
                let line = if moved { "move" } else { "create" };
                let [told] = lines(&report).try_into().expect("one line");
                assert!(told.starts_with(&format!("{line} remote a/mine.html ")));
                assert!(!told.ends_with("done"), "{told}");
                let sent = requests(&world).into_iter();
                vain += sent.filter(|request| request.ends_with("422")).count();
            }
            assert!(vain <= 1, "day {day}: {vain}");
        }
    }
}

#[tokio::test]
async fn what_a_push_or_a_dry_run_sees_of_a_vanished_article_removes_nothing() {
    let (world, ids) = with_articles(2, Options::unlimited()).await;
    world.sandbox().remove(ids[0]);
    let report = world.push().await;
    assert_eq!(lines(&report), Vec::<String>::new());
    assert_eq!(articles(&world).len(), 2);
    let mut request = both();
    request.dry_run = true;
    let report = world.run(&request).await;
    assert_eq!(lines(&report), ["delete local a/n00.html planned"]);
    assert_eq!(articles(&world).len(), 2);
    assert_eq!(lines(&world.sync().await), ["delete local a/n00.html done"]);
}

#[tokio::test]
async fn a_colleague_who_disables_enables_and_disables_again_is_followed_each_time() {
    let world = World::new().await;
    let start = world.category("start");
    let one = world.article(start, "one", "<p>One.</p>");
    for slug in ["two", "three", "four"] {
        world.article(start, slug, "<p>Text.</p>");
    }
    world.sync().await;
    for round in 0..3 {
        world.sandbox().edit(one, |article| {
            article.enabled = false;
            article.title = format!("Hidden {round}");
        });
        let report = world.sync().await;
        assert_eq!(
            lines(&report),
            ["update local start/one.html done"],
            "{round}"
        );
        assert!(
            world.read("start/one.html").contains("enabled: false"),
            "{round}"
        );
        assert!(
            world
                .read("start/one.html")
                .contains(&format!("Hidden {round}"))
        );
        world.sandbox().enable(one);
        let report = world.sync().await;
        assert_eq!(
            lines(&report),
            ["update local start/one.html done"],
            "{round}"
        );
        assert_eq!(report.actions[0].fields, [Field::Enabled]);
        assert!(
            !world.read("start/one.html").contains("enabled:"),
            "{round}"
        );
    }
}

#[tokio::test]
async fn a_draft_line_instead_of_enabled_false_publishes_nothing() {
    let (world, ids) = with_articles(2, Options::unlimited()).await;
    world.edit("a/n00.html", "title: n00", "title: n00\nenabled: false");
    world.sync().await;
    world.edit("a/n00.html", "enabled: false", "draft: true");
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(lines(&report), Vec::<String>::new());
        assert!(problems(&report)[0].contains("`draft` of an existing article"));
    }
    assert!(!world.sandbox().article(ids[0]).expect("there").enabled);
    world.edit("a/n00.html", "draft: true\n", "");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/n00.html done"]
    );
    assert!(world.sandbox().article(ids[0]).expect("there").enabled);
    assert_quiet(&world, 1).await;
}

#[tokio::test]
async fn a_draft_line_is_a_problem_after_another_field_was_sent_as_well() {
    let (world, _) = with_articles(1, Options::unlimited()).await;
    world.edit("a/n00.html", "title: n00", "title: New\ndraft: true");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/n00.html done"]
    );
    for _ in 0..2 {
        let report = world.sync().await;
        assert_eq!(lines(&report), Vec::<String>::new());
        assert!(problems(&report)[0].contains("`draft` of an existing article"));
    }
}

#[tokio::test]
async fn what_a_draft_line_held_back_is_sent_once_the_line_is_gone() {
    let (world, ids) = with_articles(1, Options::unlimited()).await;
    world.edit("a/n00.html", "title: n00", "title: n00\nenabled: false");
    world.sync().await;
    let both = "title: New\ndraft: true\n";
    world.edit("a/n00.html", "title: n00\nenabled: false\n", both);
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/n00.html done"]
    );
    assert!(!world.sandbox().article(ids[0]).expect("there").enabled);
    world.edit("a/n00.html", "draft: true\n", "");
    assert_eq!(
        lines(&world.sync().await),
        ["update remote a/n00.html done"]
    );
    assert!(world.sandbox().article(ids[0]).expect("there").enabled);
}

#[tokio::test]
async fn a_conflicts_copy_follows_the_flags_of_the_service() {
    let (world, ids) = with_articles(2, Options::unlimited()).await;
    world.sandbox().disable(ids[0]);
    world.sync().await;
    world.edit("a/n00.html", "<p>0</p>", "<p>mine</p>");
    world
        .sandbox()
        .edit(ids[0], |article| article.text = "<p>theirs</p>".into());
    assert_eq!(
        lines(&world.sync().await),
        ["conflict both a/n00.html held"]
    );
    assert!(world.read("a/n00.conflict.html").contains("enabled: false"));
    world.sandbox().enable(ids[0]);
    world.sync().await;
    assert!(!world.read("a/n00.conflict.html").contains("enabled: false"));
    // A person merges in the copy, and a colleague saves the article unchanged.
    world.edit("a/n00.conflict.html", "theirs", "theirs and mine");
    world.sandbox().edit(ids[0], |_| ());
    world.sync().await;
    assert!(
        world
            .read("a/n00.conflict.html")
            .contains("theirs and mine")
    );
    assert!(!world.exists("a/n00.1.conflict.html"));
}
