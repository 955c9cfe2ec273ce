//! The exceptions of the judges after a death, and beside each the sharper case that they still find.

use super::database::binding;
use super::leaving::Leaving;
use super::mirror::Mirror;
use super::oracle;
use super::step::PLAIN;
use super::tree::Tree;
use super::world::World;
use kbsync::model::base::Visibility;
use kbsync::model::{
    ArticleId, CategoryId, Flags, KnownFile, Place, Revision, Stamp, TextDigest, Timestamp, Version,
};
use kbsync::state::{ArticleRow, Entry, FileEntry, Journalled, RowChange, Store};

/// Returns the row of an article whose body is `words`.
pub(super) fn row(id: ArticleId, words: &str) -> ArticleRow {
    let version = Version {
        title: "A".to_owned(),
        slug: "a".to_owned(),
        category: CategoryId::provisional("alpha"),
        introtext: String::new(),
        keywords: String::new(),
        text: TextDigest::of(words),
    };
    ArticleRow {
        id,
        place: Place::new("alpha", "a.html"),
        local: version.clone(),
        remote: version,
        revision: Revision::default(),
        file_flags: Flags::default(),
        remote_flags: Flags::default(),
        visibility: Visibility::Published,
        stamp: None,
        superseded: Vec::new(),
        written: None,
    }
}

/// Words that only a pending file write has, of an article that the base does not know, or knows.
fn about_to_be_written(died: bool, known: bool) -> Option<&'static str> {
    let (id, words) = ("00000000-0000-4000-8000-000000000001", "<p>zq001z</p>");
    let row = row(id.parse().expect("an id"), words);
    let change = Journalled {
        slot: 1,
        entry: Entry::File(FileEntry {
            target: row.place.clone(),
            leaves: None,
            new: None,
            over: None,
        }),
        rows: vec![RowChange::Article(Box::new(row.clone()))],
    };
    let now = Timestamp::default();
    let mut store = Store::in_memory(&binding()).expect("a state");
    let written = store.write_at(now, |tx| {
        tx.put_body(words)?;
        tx.begin_change(change.slot, &change.entry, &change.rows)?;
        if known {
            tx.put_article(&row)?;
        }
        Ok(())
    });
    written.expect("written");
    let mut world = World::new(PLAIN, Mirror::Memory(Box::new(Tree::new(0))), 0);
    world.owe(1, false);
    oracle::i1_reachable(&mut world, &store, died);
    world.ledger.violation.map(|violation| violation.invariant)
}

#[test]
fn what_a_process_met_and_was_about_to_write_when_it_died_is_not_lost() {
    assert_eq!(about_to_be_written(true, false), None);
    assert_eq!(about_to_be_written(false, false), Some("I1"));
    assert_eq!(about_to_be_written(true, true), Some("I1"));
}

/// A file was being moved from `alpha/a.html` to `alpha/b.html`.
fn moving() -> Leaving {
    let known = KnownFile::of(Stamp::default(), b"words");
    let entry = Entry::File(FileEntry {
        target: Place::new("alpha", "b.html"),
        leaves: Some((Place::new("alpha", "a.html"), known)),
        new: None,
        over: None,
    });
    let (slot, rows) = (1, Vec::new());
    Leaving::of(&[Journalled { slot, entry, rows }])
}

#[test]
fn a_file_in_motion_goes_only_by_the_end_of_its_move() {
    let leaving = moving();
    assert!(leaving.ends("alpha/a.html", None));
    assert!(!leaving.ends("alpha/a.html", Some(b"words")));
    assert!(!leaving.ends("alpha/b.html", None));
    assert!(!Leaving::of(&[]).ends("alpha/a.html", None));
}
