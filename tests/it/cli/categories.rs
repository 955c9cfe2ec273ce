//! Categories: who changed what, and what `--prefer` replaces.

use crate::support::kb::{Kb, Service};
use uuid::Uuid;

const YAML: &str = "start/_category.yaml";

/// `start` with an article, synced, and its id.
pub(crate) fn synced() -> (Service, Kb, Uuid) {
    let service = Service::empty();
    let start = service.category("start");
    service.article(start, "one", "<p>One.</p>");
    let kb = service.mirror();
    kb.run(&["sync"]).exits(0);
    (service, kb, start)
}

fn there(service: &Service, id: Uuid, name: &str) {
    service
        .sandbox
        .edit_category(id, |category| name.clone_into(&mut category.name))
        .expect("it is there");
}

/// Returns the events of a path, oldest first: side, cause, changes.
fn told(kb: &Kb, path: &str) -> Vec<[String; 3]> {
    let text = kb.run(&["log", path]).exits(0).stdout;
    let rows = text.lines().filter(|line| line.starts_with('@')).rev();
    rows.map(|line| {
        let mut cells = line
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .skip(2)
            .map(str::to_owned);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    })
    .collect()
}

#[test]
fn the_log_of_a_category_says_whose_version_it_was() {
    let (service, kb, start) = synced();
    assert_eq!(told(&kb, YAML), [["both, now", "create", ""]]);

    there(&service, start, "Theirs");
    kb.run(&["sync", "start"]).exits(0);
    assert_eq!(
        told(&kb, YAML)[1..],
        [["service, now both", "edited on the service", "name"]]
    );

    kb.edit(YAML, "name: Theirs", "# ours\nname: Mine");
    kb.run(&["sync"]).exits(0);
    assert_eq!(
        told(&kb, YAML)[2..],
        [["mirror, now both", "edited here", "name"]]
    );

    // Each side has a text of its own: the service has both texts only after a push.
    kb.edit(YAML, "name: Mine", "name: Mine, too");
    service
        .sandbox
        .edit_category(start, |category| {
            category.description = Some("Words.".into());
        })
        .expect("it is there");
    kb.run(&["sync"]).exits(0);
    assert_eq!(
        told(&kb, YAML)[3..],
        [
            ["mirror", "edited here", "name"],
            ["service", "edited on the service", "description"],
            ["mirror, now both", "merge", "description"],
        ]
    );
    let shown = kb.run(&["log", "-p", YAML]).exits(0).stdout;
    assert_eq!(shown.matches("+# ours").count(), 1, "{shown}");
    assert_eq!(shown.matches("-# ours").count(), 0, "{shown}");
}

#[test]
fn a_category_that_is_renamed_there_was_not_edited_here() {
    let (service, kb, start) = synced();
    service
        .sandbox
        .edit_category(start, |category| {
            category.slug = "begin".into();
            category.description = Some("Words.".into());
        })
        .expect("it is there");
    // A sync of the folder also reads its category.
    kb.run(&["sync", "start"]).exits(0);
    let rows = told(&kb, "begin/_category.yaml");
    assert!(rows.len() > 1, "{rows:?}");
    assert!(rows.iter().all(|row| row[1] != "edited here"), "{rows:?}");
}

#[test]
fn a_new_category_s_file_was_edited_here() {
    let (_service, kb, _) = synced();
    kb.write("mine/_category.yaml", "name: Mine\n");
    kb.run(&["sync"]).exits(0);
    assert_eq!(
        told(&kb, "mine/_category.yaml"),
        [["mirror", "edited here", ""], ["both, now", "create", ""]]
    );
    kb.write("folder/one.html", "---\ntitle: One\n---\n<p>One.</p>\n");
    kb.run(&["sync"]).exits(0);
    assert_eq!(
        told(&kb, "folder/_category.yaml"),
        [["both, now", "create", ""]]
    );
}

#[test]
fn a_change_there_that_came_right_after_a_sync_is_seen_before_it_is_replaced() {
    let (service, kb, start) = synced();
    there(&service, start, "Theirs");
    kb.edit(YAML, "name: start", "name: Mine");
    let ran = kb.run(&["sync"]).exits(3);
    assert!(
        ran.stdout.contains("(the service has `name: Theirs`)"),
        "{ran:#?}"
    );
    assert_eq!(
        service.sandbox.category(start).expect("there").name,
        "Theirs"
    );

    there(&service, start, "Later");
    kb.run(&["sync", YAML, "--prefer", "local"]).exits(0);
    assert_eq!(service.sandbox.category(start).expect("there").name, "Mine");
    let rows = told(&kb, YAML);
    assert_eq!(
        rows[1..],
        [
            ["mirror, now both", "edited here", "name"],
            ["service", "edited on the service", "name"],
            ["service", "edited on the service", "name"],
        ]
    );
    let shown = |number: &str| {
        kb.run(&["show", &format!("{YAML}@{number}")])
            .exits(0)
            .stdout
    };
    assert!(shown("3").contains("name: Theirs\n"), "{rows:?}");
    assert!(shown("4").contains("name: Later\n"), "{rows:?}");
}

#[test]
fn with_prefer_remote_the_writer_s_words_are_in_the_history() {
    let (service, kb, start) = synced();
    there(&service, start, "Theirs");
    kb.edit(YAML, "name: start", "name: Mine");
    kb.run(&["sync", YAML, "--prefer", "remote"]).exits(0);
    assert!(kb.read(YAML).contains("name: Theirs\n"));
    assert_eq!(
        told(&kb, YAML)[1..],
        [
            ["mirror", "edited here", "name"],
            ["service, now both", "edited on the service", "name"],
        ]
    );
}

#[test]
fn a_file_that_is_renamed_in_conflict_is_not_moved_by_the_service() {
    let (service, kb, _) = synced();
    let one = service.sandbox.articles()[0].id;
    service
        .sandbox
        .edit(one, |article| article.slug = "there".into())
        .expect("it is there");
    std::fs::rename(
        kb.mirror().join("start/one.html"),
        kb.mirror().join("start/here.html"),
    )
    .expect("renamed");
    kb.run(&["sync"]).exits(3);
    kb.run(&["resolve", "start/here.html", "--keep", "local"])
        .exits(0);
    assert_eq!(
        told(&kb, "start/here.html"),
        [
            ["both", "create", ""],
            [
                "mirror, now both",
                "edited here",
                "slug, was start/one.html"
            ],
            ["service", "edited on the service", "slug"],
        ]
    );
}

#[test]
fn a_new_category_whose_name_is_near_to_another_one_s_is_asked_after_and_made() {
    let (service, kb, _) = synced();
    kb.write("strat/two.html", "---\ntitle: Two\n---\n<p>Two.</p>\n");
    let question = "a new category; if start/ was meant, move the files there";
    let check = kb.run(&["check"]).exits(0).stdout;
    assert!(
        check.contains("strat: warning: ") && check.contains(question),
        "{check}"
    );
    let question = "strat/ would be a new category, and the API cannot delete categories; if you meant the category start, move the files to its folder; \
                    `kbsync approve` creates strat";
    let plan = kb.run(&["sync", "--dry-run"]).exits(0).stdout;
    assert!(plan.contains(question), "{plan}");
    // No flag of a sync answers the question about this name.
    for arguments in [&["sync"][..], &["sync", "--yes"], &["push"]] {
        let ran = kb.run(arguments).exits(3).stdout;
        assert!(ran.contains(question), "{ran}");
        assert_eq!(service.sandbox.categories().len(), 1);
    }
    kb.run(&["approve", "--yes"]).exits(0);
    assert_eq!(service.sandbox.categories().len(), 2);
    assert_eq!(service.sandbox.articles().len(), 2);
    // There is one question per category, and none for a name that resembles no other.
    kb.write("billing/three.html", "---\ntitle: Three\n---\n<p>3</p>\n");
    for arguments in [&["check"][..], &["diff"], &["sync"]] {
        let ran = kb.run(arguments).exits(0);
        assert!(!format!("{ran:?}").contains("meant"), "{ran:#?}");
    }
}

#[test]
fn an_article_waits_for_the_name_of_its_folder_and_says_so() {
    let (_service, kb, _) = synced();
    kb.write("a  b/ws.html", "---\ntitle: W\n---\n<p>x</p>\n");
    let ran = kb.run(&["sync"]).exits(4);
    for told in [
        "if the report names its folder or _category.yaml, correct that first",
        "the folder's name \"a  b\" cannot be part of a public address; rename the folder to \"a-b\"",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {ran:#?}");
    }
    // The folder has no `_category.yaml` that could be corrected.
    assert!(ran.stdout.contains("! a  b: the folder's name"), "{ran:#?}");
}

/// The service may hold texts above its own limits. They count only for what kbsync would send.
#[test]
fn a_name_that_the_service_itself_has_may_be_longer_than_its_limit() {
    let (service, kb, start) = synced();
    let long = |start: &str| format!("{start} {}", "x".repeat(300));
    for name in ["Theirs", "Theirs, again"] {
        there(&service, start, &long(name));
        kb.run(&["sync", "start"]).exits(0);
        assert!(kb.read(YAML).contains(&long(name)));
    }
    kb.write(YAML, &(kb.read(YAML) + "description: Mine\n"));
    kb.run(&["check"]).exits(0);
    kb.run(&["sync"]).exits(0);
    let category = || service.sandbox.categories().remove(0);
    assert_eq!(category().description.as_deref(), Some("Mine"));
    std::fs::rename(kb.mirror().join("start"), kb.mirror().join("begin")).expect("renamed");
    kb.run(&["sync"]).exits(0);
    assert_eq!(category().name, long("Theirs, again"));
    kb.edit("begin/_category.yaml", "Theirs, again", "Mine");
    for command in ["check", "sync"] {
        let ran = kb.run(&[command]).exits(4);
        assert!(ran.stdout.contains("shorten it to 255"), "{ran:#?}");
    }
    assert_eq!(category().name, long("Theirs, again"));
}
