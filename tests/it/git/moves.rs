//! Moves that git took back: each held move names both paths, and the printed ways out work.

use crate::git::behind::{ONE, Team};
use kbsync::sandbox::Article;

const OTHER: &str = "start/other.html";
const TWO: &str = "start/two.html";

/// Returns the output of a sync that holds something, as one line.
#[track_caller]
fn held(team: &Team) -> String {
    let text = team.c.sync(3).stdout.replace('\n', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn rename(team: &Team, from: &str, to: &str) {
    let mirror = team.c.0.mirror();
    std::fs::rename(mirror.join(from), mirror.join(to)).expect("it is renamed");
}

fn exchange(team: &Team) {
    rename(team, ONE, "start/third.html");
    rename(team, TWO, ONE);
    rename(team, "start/third.html", TWO);
}

fn slug(team: &Team) -> String {
    team.service.sandbox.article(team.one).expect("there").slug
}

/// C moves the article, and git still has the file at its old path.
fn moved(with_text: bool) -> Team {
    let team = Team::new();
    rename(&team, ONE, OTHER);
    if with_text {
        team.c.0.edit(OTHER, "Old.", "New.");
    }
    team.c.sync(0);
    assert_eq!(slug(&team), "other");
    team.c.0.remove(OTHER);
    team.c.git(&["checkout", "-q", "."]);
    team
}

#[test]
fn f087_a_held_move_names_both_paths_and_two_ways_out_that_work() {
    for undone in [true, false] {
        let team = moved(false);
        let told = held(&team);
        assert!(
            told.contains("If you did not rename start/other.html, give it that name again"),
            "{told}"
        );
        if undone {
            rename(&team, ONE, OTHER);
            team.c.sync(0);
            assert_eq!(slug(&team), "other");
        } else {
            let answers = [("Approve this?", "y\r")];
            team.c.0.at_terminal(&["approve"], &answers).exits(0);
            assert_eq!(slug(&team), "one");
        }
        assert!(team.c.held().is_empty());
    }
}

#[test]
fn f087_a_held_move_with_an_older_text_has_a_way_to_the_newer_one() {
    let team = moved(true);
    let told = held(&team);
    assert!(
        told.contains("give it that name again, and then run `kbsync restore start/other.html`"),
        "{told}"
    );
    rename(&team, ONE, OTHER);
    team.c.0.run(&["restore", OTHER]).exits(0);
    team.c.sync(0);
    assert_eq!(slug(&team), "other");
    assert_eq!(team.service.text(team.one), "<p>New.</p>");
}

#[test]
fn f087_a_slug_in_the_file_that_git_took_back_can_be_written_again() {
    let team = Team::new();
    team.c.0.edit(ONE, "title:", "slug: chosen\ntitle:");
    team.c.sync(0);
    team.c.git(&["checkout", "-q", "."]);
    let told = held(&team);
    assert!(
        told.contains("gone back to") && told.contains("write `slug: chosen`"),
        "{told}"
    );
    team.c.0.edit(ONE, "title:", "slug: chosen\ntitle:");
    team.c.sync(0);
    assert_eq!(slug(&team), "chosen");
}

#[test]
fn f087_a_slug_that_a_colleague_changed_is_not_asked_for_again() {
    let team = Team::new();
    team.c.0.edit(ONE, "Old.", "New.");
    team.c.sync(0);
    let change = |article: &mut Article| article.slug = "theirs".into();
    team.service.sandbox.edit(team.one, change).expect("there");
    team.c.git(&["checkout", "-q", "."]);
    let told = held(&team);
    assert!(
        told.contains("gone back to") && !told.contains("write `slug:"),
        "{told}"
    );
}

#[test]
fn f087_of_two_files_that_git_exchanged_back_neither_is_sent_until_a_person_says_how() {
    for undone in [true, false] {
        let team = Team::new();
        // The service cannot exchange two slugs in one request, so the exchange takes two syncs.
        rename(&team, ONE, OTHER);
        team.c.sync(0);
        rename(&team, TWO, ONE);
        rename(&team, OTHER, TWO);
        team.c.sync(0);
        assert_eq!(slug(&team), "two");
        team.c.git(&["checkout", "-q", "."]);
        let told = held(&team);
        assert!(
            told.contains("If you did not rename start/two.html, give it that name again"),
            "{told}"
        );
        // The service cannot exchange two slugs in one request, so an approval changes nothing.
        let ran = team.c.0.run(&["approve", "--yes"]).exits(3);
        assert!(
            ran.stdout.contains("use a third slug in between"),
            "{ran:#?}"
        );
        if undone {
            exchange(&team);
            team.c.sync(0);
            assert_eq!(slug(&team), "two");
        } else {
            rename(&team, ONE, OTHER);
            team.c.sync(3);
            rename(&team, OTHER, ONE);
            assert!(held(&team).contains("; `kbsync approve` sends the file as it is"));
            let answers = [("Approve this?", "\u{3}")];
            let ran = team.c.0.at_terminal(&["approve"], &answers).exits(130);
            assert_eq!(ran.stdout.matches("move ").count(), 2, "{ran:#?}");
            assert!(ran.stderr.contains("interrupted at a question"), "{ran:#?}");
            assert!(ran.stderr.contains("nothing was changed"), "{ran:#?}");
            let answers = [("Approve this?", "y\r")];
            team.c.0.at_terminal(&["approve"], &answers).exits(0);
            assert_eq!(slug(&team), "one");
        }
        assert!(team.c.held().is_empty());
    }
}

#[test]
fn f087_a_folder_that_a_person_renames_back_is_a_move_as_well() {
    let team = Team::new();
    rename(&team, "start", "begin");
    team.c.sync(0);
    rename(&team, "begin", "start");
    let told = held(&team);
    assert!(
        told.contains("If you did not rename begin, give it that name again"),
        "{told}"
    );
    rename(&team, "start", "begin");
    team.c.sync(0);
    rename(&team, "begin", "start");
    team.c.sync(3);
    team.c.0.run(&["approve", "--yes"]).exits(0);
    let article = team.service.sandbox.article(team.one).expect("there");
    let category = team.service.sandbox.category(article.category_id);
    assert_eq!(category.expect("there").slug, "start");
}

#[test]
fn f087_approve_lists_a_file_which_git_brought_back_as_one_more_article() {
    let team = Team::new();
    rename(&team, ONE, OTHER);
    team.c.sync(0);
    team.c.git(&["checkout", "-q", "."]);
    assert!(held(&team).contains("git brought this file back"));
    let before = team.service.sandbox.articles().len();
    let answers = [("Approve this?", "y\r")];
    let ran = team.c.0.at_terminal(&["approve"], &answers).exits(0);
    assert!(ran.stdout.starts_with("create "), "{ran:#?}");
    assert_eq!(team.service.sandbox.articles().len(), before + 1);
}

#[test]
fn f087_the_reason_for_a_file_under_the_old_name_of_its_folder_names_the_new_one() {
    let team = Team::new();
    rename(&team, "start", "begin");
    let text = team.c.0.read("begin/one.html");
    team.c.0.write(ONE, &text);
    let told = held(&team);
    for place in ["its category is now at begin:", "is now at begin/one.html:"] {
        assert!(told.contains(place), "{told}");
    }
}

#[test]
fn f087_an_old_text_stays_held_under_a_new_name() {
    for folder in [false, true] {
        let team = Team::new();
        team.c.0.edit(ONE, "Old.", "New.");
        team.c.sync(0);
        team.c.git(&["checkout", "-q", "."]);
        assert!(held(&team).contains("gone back to"));
        if folder {
            rename(&team, "start", "begin");
        } else {
            rename(&team, ONE, OTHER);
        }
        let told = held(&team);
        assert!(
            told.contains("gone back to") && told.contains("`kbsync restore "),
            "{told}"
        );
        let text = team.service.text(team.one);
        assert!(text.contains("New."), "{text}");
        // The command that brings the newer text back works under the new name as well.
        let path = if folder { "begin/one.html" } else { OTHER };
        team.c.0.run(&["restore", "--yes", path]).exits(0);
        team.c.sync(0);
        assert!(team.service.text(team.one).contains("New."));
        assert!(team.c.held().is_empty());
    }
}
