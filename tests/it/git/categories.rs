//! `_category.yaml` beside git: a file that git took back is nobody's edit, a file that a commit brought is an edit.

use crate::git::behind::{HELD, Team, Writer};
use crate::git::edited::HELD_EDIT;

const YAML: &str = "start/_category.yaml";

/// The category's name on the service.
fn live(team: &Team) -> String {
    let article = team.service.sandbox.article(team.one).expect("there");
    let category = team.service.sandbox.category(article.category_id);
    category.expect("there").name
}

/// A writer renames the category in its file.
fn name(writer: &Writer, from: &str, to: &str) {
    writer
        .0
        .edit(YAML, &format!("name: {from}"), &format!("name: {to}"));
}

fn has(writer: &Writer, name: &str) -> bool {
    writer.0.read(YAML).contains(&format!("name: {name}\n"))
}

/// A sync of a path reads the category, even if it was read recently.
#[track_caller]
fn fetch(writer: &Writer) {
    writer.0.run(&["sync", YAML]).exits(0);
}

/// Two cycles hold C's file, and the service keeps the newer name.
#[track_caller]
fn is_behind(team: &Team, newer: &str) {
    for _cycle in 0..2 {
        let ran = team.c.sync(3);
        assert!(ran.stdout.contains(HELD), "{ran:#?}");
        assert_eq!(live(team), newer);
    }
    let held = team.c.held();
    assert!(
        matches!(held.as_slice(), [one] if one.starts_with("start: ")),
        "{held:#?}"
    );
}

#[test]
fn f087_a_category_file_that_git_took_back_is_nobodys_edit() {
    let team = Team::new();
    name(&team.c, "start", "New");
    team.c.sync(0);
    assert_eq!(live(&team), "New");
    team.c.git(&["stash", "-q"]);
    assert!(has(&team.c, "start"));
    is_behind(&team, "New");
    team.c.git(&["stash", "pop", "-q"]);
    team.c.sync(0);
    assert_eq!((live(&team), team.c.held()), ("New".to_owned(), Vec::new()));
    // An edit settles the file.
    team.c.git(&["checkout", "-q", "."]);
    is_behind(&team, "New");
    name(&team.c, "start", "Mine");
    team.c.sync(0);
    assert_eq!(live(&team), "Mine");
    // The printed commands settle it as well.
    team.c.git(&["checkout", "-q", "."]);
    let ran = team.c.sync(3);
    let told = ran.stdout.replace('\n', " ");
    assert!(
        told.contains("`kbsync restore start/_category.yaml`"),
        "{ran:#?}"
    );
    team.c.0.run(&["restore", YAML]).exits(0);
    assert!(has(&team.c, "Mine"));
    team.c.sync(0);
    team.c.git(&["checkout", "-q", "."]);
    team.c.sync(3);
    // `--prefer` does not send the file either.
    team.c.0.run(&["sync", YAML, "--prefer", "local"]).exits(3);
    assert_eq!(live(&team), "Mine");
    team.c.0.run(&["approve", "--yes"]).exits(0);
    assert_eq!(live(&team), "start");
    team.c.sync(0);
}

#[test]
fn f087_a_name_from_the_service_survives_a_checkout_of_a_category_file() {
    let team = Team::new();
    name(&team.b, "start", "New");
    team.b.sync(0);
    fetch(&team.c);
    assert!(has(&team.c, "New"));
    team.c.git(&["checkout", "-q", "."]);
    is_behind(&team, "New");
    // The pull brings the name.
    team.b.commit();
    team.b.git(&["push", "-q"]);
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    assert!(has(&team.c, "New"));
    // Another name, which comes from the dashboard alone.
    let article = team.service.sandbox.article(team.one).expect("there");
    let edited = team
        .service
        .sandbox
        .edit_category(article.category_id, |category| {
            category.name = "Newest".to_owned();
        });
    assert!(edited.is_some());
    fetch(&team.c);
    assert!(has(&team.c, "Newest"));
    team.c.git(&["checkout", "-q", "."]);
    is_behind(&team, "Newest");
    // An edit of another key undoes no name.
    let older = team.c.0.read(YAML);
    team.c.0.write(YAML, &format!("{older}description: Mine\n"));
    let ran = team.c.sync(3);
    assert!(ran.stdout.contains(HELD_EDIT), "{ran:#?}");
    assert_eq!(live(&team), "Newest");
    name(&team.c, "New", "Newest");
    team.c.sync(0);
    assert_eq!(live(&team), "Newest");
}

#[test]
fn f087_a_category_file_that_a_commit_brought_is_a_teams_edit() {
    let team = Team::new();
    // B's name is in git alone.
    name(&team.b, "start", "New");
    team.b.commit();
    team.b.git(&["push", "-q"]);
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    assert_eq!(live(&team), "New");
    team.b.sync(0);
    // A revert is an edit on purpose, for the writer who makes it and for the writer who pulls it.
    team.b.git(&["revert", "--no-edit", "HEAD"]);
    team.b.git(&["push", "-q"]);
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    assert_eq!(live(&team), "start");
    team.b.sync(0);
    // A writer sent a name before another name was committed.
    name(&team.c, "start", "Sent");
    team.c.sync(0);
    name(&team.c, "Sent", "Committed");
    team.c.commit();
    team.c.sync(0);
    assert_eq!(live(&team), "Committed");
}
