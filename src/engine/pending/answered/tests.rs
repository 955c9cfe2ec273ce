//! The rows after an answer, as a table.

use super::*;
use crate::model::{ArticleId, CategoryId, Field, Flags, Place, Revision, Side, TextDigest};
use uuid::Uuid;

const ID: ArticleId = ArticleId::new(Uuid::from_u128(1));

fn version(title: &str, text: &str) -> Version {
    Version {
        title: title.to_owned(),
        slug: "one".to_owned(),
        category: CategoryId::new(Uuid::from_u128(2)),
        introtext: String::new(),
        keywords: String::new(),
        text: TextDigest::of(text),
    }
}

fn revision(number: u32) -> Revision {
    Revision(number.to_string())
}

/// An update that sends a text over revision 1.
fn update() -> Update {
    let sent = version("Title", "ours");
    let row = ArticleRow {
        id: ID,
        place: Place::new("a", "one.html"),
        local: sent.clone(),
        remote: sent.clone(),
        revision: revision(1),
        file_flags: Flags::default(),
        remote_flags: Flags::default(),
        visibility: Visibility::Published,
        stamp: None,
        superseded: Vec::new(),
        written: None,
    };
    let pushed = SeenVersion::of_article(ID, &row.place, Side::Both, "pushed", &sent);
    Update {
        id: ID,
        version: sent,
        fields: vec![Field::Text],
        enabled: None,
        over: version("Title", "before").digest(),
        over_revision: revision(1),
        rows: vec![
            RowChange::Article(Box::new(row)),
            RowChange::Version(Box::new(pushed)),
            RowChange::NoConflict(ID),
        ],
    }
}

/// Returns the answer of the service, with revision 2.
fn answer(title: &str, text: &str, enabled: Option<bool>) -> RemoteArticle {
    let version = version(title, text);
    RemoteArticle {
        id: ID,
        category: version.category,
        title: version.title,
        slug: version.slug,
        text: Some(text.to_owned()),
        introtext: String::new(),
        keywords: String::new(),
        flags: Flags {
            enabled,
            draft: None,
        },
        revision: revision(2),
        figures: None,
        fingerprint: None,
    }
}

/// The article's row, and the causes of the versions for the history.
fn after(update: &Update, answer: &RemoteArticle) -> (ArticleRow, Vec<String>) {
    let (mut row, mut causes) = (None, Vec::new());
    let rows = rows_after(update, answer);
    assert!(rows.contains(&RowChange::NoConflict(ID)));
    for change in rows {
        if let RowChange::Article(article) = change {
            row = Some(*article);
        } else if let RowChange::Version(seen) = change {
            causes.push(seen.cause);
        }
    }
    (row.expect("a row"), causes)
}

#[test]
fn f015_the_rows_of_an_update_say_what_the_service_made_of_it() {
    let rewritten: &[&str] = &["pushed", "rewritten by the service"];
    let pushed: &[&str] = &["pushed"];
    for (title, text, enabled, remote, of, written, causes) in [
        ("Title", "ours", None, "ours", 2, Some(2), pushed),
        ("Title", "ours", Some(true), "ours", 2, Some(2), pushed),
        // The service serialised the text anew.
        ("Title", "ours!", None, "ours!", 2, Some(2), rewritten),
        // A colleague changed what was not sent: the next cycle pulls it, because the revision is not known.
        ("Theirs", "ours", None, "ours", 1, Some(2), pushed),
        // A colleague hid the article.
        ("Title", "ours", Some(false), "ours", 1, None, pushed),
    ] {
        let mut update = update();
        let known = Some(true).filter(|_| enabled.is_some());
        if let Some(RowChange::Article(row)) = update.rows.first_mut() {
            row.remote_flags.enabled = known;
        }
        let (row, found) = after(&update, &answer(title, text, enabled));
        let case = format!("{title} {text} {enabled:?}");
        assert_eq!(row.local, update.version, "{case}");
        assert_eq!(row.remote, version("Title", remote), "{case}");
        assert_eq!(row.revision, revision(of), "{case}");
        assert_eq!(row.written, written.map(revision), "{case}");
        assert_eq!(row.remote_flags.enabled, known, "{case}");
        assert_eq!(row.visibility, Visibility::Published, "{case}");
        assert_eq!(row.superseded, [(update.over, revision(1))], "{case}");
        assert_eq!(found, causes, "{case}");
    }
}

#[test]
fn what_an_update_shows_or_hides_is_known_from_its_answer() {
    for (sent, told, visibility) in [
        (false, Some(false), Visibility::Unpublished),
        (true, Some(true), Visibility::Published),
        // A GET does not tell.
        (true, None, Visibility::Published),
        (false, None, Visibility::Unpublished),
    ] {
        let mut update = update();
        update.enabled = Some(sent);
        if let Some(RowChange::Article(row)) = update.rows.first_mut() {
            row.remote_flags.enabled = Some(sent);
            row.visibility = if sent {
                Visibility::Unpublished
            } else {
                Visibility::Published
            };
        }
        let (row, _) = after(&update, &answer("Title", "ours", told));
        assert_eq!(row.remote_flags.enabled, Some(sent));
        assert_eq!(row.visibility, visibility);
        assert_eq!(row.revision, revision(2));
    }
}
