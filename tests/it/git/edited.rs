//! Edits of a file that git took back: the older text around the edit would undo what a colleague wrote, so the file is
//! held until the newer text is in it, or a person approves.

use crate::git::behind::{ONE, Team};

/// A part of the reason.
pub(crate) const HELD_EDIT: &str = "nothing of what a colleague changed";

/// Two paragraphs, of which a colleague changes the second; C has the change from the service, and not from git.
fn team() -> Team {
    let team = Team::new();
    team.publish("<p>Old.</p>", "<p>One.</p>\n<p>Old.</p>\n<p>Three.</p>");
    team.c.git(&["pull", "-q"]);
    team.c.sync(0);
    team.publish("Old.", "New.");
    team.c.sync(0);
    assert!(team.c.has("New."));
    team
}

/// Checks that C's edit is held, and that the colleague's text stays on the service.
#[track_caller]
fn is_held(team: &Team) {
    let before = team.c.0.articles();
    for _cycle in 0..2 {
        let ran = team.c.sync(3);
        let told = ran.stdout.replace('\n', " ");
        assert!(told.contains(HELD_EDIT), "{ran:#?}");
        assert!(team.live().contains("New."), "{}", team.live());
    }
    assert_eq!(team.c.0.articles(), before);
}

#[test]
fn f087_an_edit_of_a_file_that_git_took_back_undoes_no_colleagues_change() {
    for is_seen_first in [true, false] {
        let team = team();
        team.c.git(&["checkout", "-q", ONE]);
        if is_seen_first {
            team.c.sync(3);
        }
        team.c.0.edit(ONE, "One.", "Mine.");
        is_held(&team);
        // A second edit changes nothing.
        team.c.0.edit(ONE, "Mine.", "Mine, again.");
        is_held(&team);
        // With the colleague's change in it, the file is an edit of the newest version.
        team.c.0.edit(ONE, "Old.", "New.");
        team.c.sync(0);
        assert_eq!(
            team.live(),
            "<p>Mine, again.</p>\n<p>New.</p>\n<p>Three.</p>"
        );
        assert_eq!(team.c.held(), Vec::<String>::new());
    }
}

#[test]
fn f087_a_held_edit_ends_by_approval_by_a_restore_or_by_a_commit() {
    for what in ["approve", "restore", "commit"] {
        let team = team();
        team.c.git(&["checkout", "-q", ONE]);
        team.c.sync(3);
        for (from, to) in [("One.", "First."), ("First.", "Mine.")] {
            team.c.0.edit(ONE, from, to);
            is_held(&team);
        }
        let mine = "<p>Mine.</p>\n<p>Old.</p>\n<p>Three.</p>";
        match what {
            "approve" => {
                team.c.0.run(&["approve", "--yes"]).exits(0);
                assert_eq!(team.live(), mine);
            }
            "restore" => {
                // The printed command.
                let reason = &team.c.held()[0];
                let (_, rest) = reason.split_once("`kbsync restore ").expect("a command");
                let (version, _) = rest.split_once('`').expect("its end");
                team.c.0.run(&["restore", version]).exits(0);
                assert!(team.c.has("New.") && !team.c.has("Mine."));
                team.c.sync(0);
                assert!(team.live().contains("New."), "{}", team.live());
            }
            _ => {
                team.c.commit();
                team.c.sync(0);
                assert_eq!(team.live(), mine);
                // The committed text is no older one.
                team.c.0.edit(ONE, "Three.", "Last.");
                team.c.sync(0);
                assert!(team.live().contains("Last."), "{}", team.live());
            }
        }
    }
}

#[test]
fn f087_an_edit_of_ones_own_older_text_is_sent() {
    let team = Team::new();
    team.publish("<p>Old.</p>", "<p>One.</p>\n<p>Old.</p>");
    // The newer text is B's own.
    team.b.0.edit(ONE, "Old.", "New.");
    team.b.sync(0);
    team.b.0.edit(ONE, "New.", "Old.");
    team.b.0.edit(ONE, "One.", "Mine.");
    team.b.sync(0);
    assert_eq!(team.live(), "<p>Mine.</p>\n<p>Old.</p>");
}

#[test]
fn f087_a_committed_edit_that_waited_makes_the_next_one_no_edit_of_an_older_text() {
    let team = team();
    team.c.0.edit(ONE, "One.", "Mine.");
    // Seen, and not sent.
    team.c.0.run(&["pull"]).exits(0);
    team.c.commit();
    team.c.0.edit(ONE, "Three.", "Last.");
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Mine.</p>\n<p>New.</p>\n<p>Last.</p>");
}

#[test]
fn f087_a_new_name_and_an_edit_undo_no_colleagues_change() {
    let team = team();
    team.c.git(&["checkout", "-q", ONE]);
    team.c.sync(3);
    team.c.0.edit(ONE, "One.", "Mine.");
    let text = team.c.0.read(ONE);
    team.c.0.remove(ONE);
    team.c.0.write("start/uno.html", &text);
    let ran = team.c.sync(3);
    assert!(ran.stdout.contains(HELD_EDIT), "{ran:#?}");
    assert!(team.live().contains("New."), "{}", team.live());
}

#[test]
fn f087_a_file_that_gets_its_newest_name_back_undoes_no_colleagues_change() {
    for is_edited in [false, true] {
        let team = team();
        team.c.git(&["commit", "-q", "-a", "-m", "synced"]);
        let edited = team.service.sandbox.edit(team.one, |article| {
            article.slug = "other".into();
            article.text = article.text.replace("Three.", "Theirs.");
        });
        assert!(edited.is_some());
        team.c.sync(0);
        team.c.git(&["stash", "-q", "-u"]);
        if is_edited {
            team.c.0.edit(ONE, "One.", "Mine.");
        }
        let ran = team.c.sync(3);
        let told = ran.stdout.replace('\n', " ");
        assert!(told.contains("give it that name again"), "{ran:#?}");
        let text = team.c.0.read(ONE);
        team.c.0.remove(ONE);
        team.c.0.write("start/other.html", &text);
        let ran = team.c.sync(3);
        let told = ran.stdout.replace('\n', " ");
        assert!(told.contains(HELD_EDIT), "{ran:#?}");
        team.c.0.edit("start/other.html", "Three.", "Theirs.");
        team.c.sync(0);
        let article = team.service.sandbox.article(team.one).expect("there");
        let first = if is_edited { "Mine." } else { "One." };
        assert_eq!(
            (article.slug, article.text),
            (
                "other".into(),
                format!("<p>{first}</p>\n<p>New.</p>\n<p>Theirs.</p>")
            )
        );
    }
}

#[test]
fn f087_a_committed_name_and_an_edit_are_sent() {
    let team = team();
    for (from, to) in [(ONE, "start/uno.html"), ("start/uno.html", ONE)] {
        team.c.git(&["mv", from, to]);
        team.c.commit();
        team.c.0.edit(to, "</p>", " again.</p>");
        team.c.sync(0);
    }
    assert!(team.live().contains("again."), "{}", team.live());
}

#[test]
fn f087_an_edit_shows_no_article_that_a_colleague_hid() {
    let team = Team::new();
    assert!(team.service.sandbox.disable(team.one).is_some());
    team.c.sync(0);
    assert!(team.c.has("enabled: false"));
    team.c.git(&["checkout", "-q", ONE]);
    team.c.0.edit(ONE, "Old.", "Mine.");
    let ran = team.c.sync(3);
    assert!(
        ran.stdout.contains("the line that hides the article"),
        "{ran:#?}"
    );
    let is_shown = || {
        let article = team.service.sandbox.article(team.one);
        article.expect("there").enabled
    };
    assert!(!is_shown());
    team.c.0.edit(ONE, "title:", "enabled: false\ntitle:");
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Mine.</p>");
    assert!(!is_shown());
}

#[test]
fn f087_edits_of_a_fetched_version_that_no_commit_has_are_sent() {
    for (from, to) in [
        // Beside the colleague's change, and in it.
        ("One.", "Mine."),
        ("New.", "Mine."),
        ("New.", "New and mine."),
        // The colleague's paragraph goes.
        ("<p>New.</p>\n", ""),
    ] {
        let team = team();
        team.c.0.edit(ONE, from, to);
        team.c.sync(0);
        let said = team.live();
        assert!(to.is_empty() || said.contains(to), "{said}");
        assert!(!to.is_empty() || !said.contains("New."), "{said}");
    }
}

#[test]
fn f087_an_edit_in_a_colleagues_new_paragraph_is_sent() {
    let team = Team::new();
    team.publish("<p>Old.</p>", "<p>Old.</p>\n<p>New.</p>");
    team.c.sync(0);
    team.c.0.edit(ONE, "New.", "Newer.");
    team.c.sync(0);
    assert_eq!(team.live(), "<p>Old.</p>\n<p>Newer.</p>");
}

#[test]
fn f087_an_unsent_edit_that_comes_back_from_the_stash_is_sent() {
    for is_seen in [true, false] {
        let team = team();
        team.c.0.edit(ONE, "One.", "Mine.");
        team.c.git(&["stash", "-q"]);
        if is_seen {
            team.c.sync(3);
        }
        team.c.git(&["stash", "pop", "-q"]);
        team.c.sync(0);
        assert_eq!(team.live(), "<p>Mine.</p>\n<p>New.</p>\n<p>Three.</p>");
    }
}

#[test]
fn f087_an_edit_of_a_title_beside_an_older_text_is_held() {
    let team = team();
    team.c.git(&["checkout", "-q", ONE]);
    team.c.0.edit(ONE, "title: ", "title: My ");
    is_held(&team);
}
