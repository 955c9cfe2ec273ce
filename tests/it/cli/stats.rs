//! `kbsync stats`: prints the figures of the last sync, without a request.

use crate::support::kb::{Kb, WORKSPACE};
use crate::support::schema;
use kbsync::{
    model::{
        ArticleId, CategoryId, Figures, Flags, Place, Revision, TextDigest, Timestamp, Version,
    },
    state::{ArticleRow, Binding, Store, Visibility},
};

const SERVICE: &str = "https://kb.example.com";

/// A mirror whose state knows three articles.
fn synced() -> Kb {
    let kb = Kb::with_settings(&format!("service: {SERVICE}\nworkspace: {WORKSPACE}\n"));
    let dir = kb.mirror().join(".kbsync");
    std::fs::create_dir(&dir).expect("a folder");
    let binding = Binding {
        service: SERVICE.into(),
        workspace: WORKSPACE.parse().expect("an id"),
    };
    let now = Timestamp(1_767_225_600_000);
    let mut store = Store::open(&dir, &binding, now).expect("a state");
    store
        .write_at(now, |state| {
            let text = state.put_body("<p>x</p>")?;
            for (number, title, views, sad) in [
                (1, "One\u{1b}", 10, 1),
                (2, "Two", 200, 0),
                (3, "Three", 30, 7),
            ] {
                let row = row(number, title, text);
                state.put_article(&row)?;
                let figures = Figures {
                    views,
                    sad,
                    full_url: Some(format!("{SERVICE}/{number}")),
                    ..Figures::default()
                };
                state.put_figures(row.id, &figures)?;
            }
            Ok(())
        })
        .expect("written");
    kb
}

fn row(number: u8, title: &str, text: TextDigest) -> ArticleRow {
    let id: ArticleId = format!("5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b0{number}")
        .parse()
        .expect("an id");
    let version = Version {
        title: title.into(),
        slug: format!("n{number}"),
        category: CategoryId::new(id.uuid()),
        introtext: String::new(),
        keywords: String::new(),
        text,
    };
    ArticleRow {
        id,
        place: Place::new("start", format!("n{number}.html")),
        local: version.clone(),
        remote: version,
        revision: Revision("r".into()),
        file_flags: Flags::default(),
        remote_flags: Flags::default(),
        visibility: Visibility::Published,
        stamp: None,
        superseded: Vec::new(),
        written: None,
    }
}

#[test]
fn figures_are_a_table_with_bars() {
    let kb = synced();
    let before = kb.files();
    let ran = kb.run(&["stats"]).exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[1].starts_with("start/n2.html") && lines[1].ends_with(&"█".repeat(20)),
        "{ran:#?}"
    );
    assert!(lines[3].contains("One\\u{1b}"), "{ran:#?}");
    let changed: Vec<_> = kb
        .files()
        .into_iter()
        .filter(|(path, _)| !path.to_string_lossy().contains("state.db-"))
        .filter(|file| !before.contains(file))
        .collect();
    assert_eq!(changed, []);
}

#[test]
fn they_can_be_sorted_and_read_by_scripts() {
    let kb = synced();
    let json = kb
        .run(&["stats", "--sort", "sad", "--json"])
        .exits(0)
        .json();
    schema::check("stats", &json);
    let paths: Vec<&str> = json["articles"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|article| article["path"].as_str())
        .collect();
    assert_eq!(paths, ["start/n3.html", "start/n1.html", "start/n2.html"]);
    kb.run(&["stats", "--sort", "colour"]).exits(2);
}

#[test]
fn f049_a_state_of_another_workspace_is_refused() {
    let kb = synced();
    let other = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";
    kb.write(
        "kbsync.yaml",
        &format!("service: {SERVICE}\nworkspace: {other}\n"),
    );
    let ran = kb.run(&["stats"]).exits(2);
    assert!(ran.stderr.contains(WORKSPACE), "{}", ran.stderr);
}
