//! What the judge of what is left after a death lets pass, and beside it the sharper cases that it still finds.

use super::database::binding;
use super::mirror::Mirror;
use super::oracle;
use super::step::PLAIN;
use super::tree::Tree;
use super::world::World;
use kbsync::model::base::Visibility;
use kbsync::model::{
    ArticleId, CategoryId, Flags, Place, Revision, TextDigest, Timestamp, Version,
};
use kbsync::state::{ArticleRow, Entry, FileEntry, Journalled, RowChange, Store};

/// Words that nothing has but what was about to be written: of an article that no base knows, or of one that it does.
fn about_to_be_written(died: bool, known: bool) -> Option<&'static str> {
    let id = "00000000-0000-4000-8000-000000000001";
    let article: ArticleId = id.parse().expect("an id");
    let category: CategoryId = id.parse().expect("an id");
    let (place, words) = (Place::new("alpha", "a.html"), "<p>zq001z</p>");
    let version = Version {
        title: "A".to_owned(),
        slug: "a".to_owned(),
        category,
        introtext: String::new(),
        keywords: String::new(),
        text: TextDigest::of(words),
    };
    let row = ArticleRow {
        id: article,
        place,
        local: version.clone(),
        local_text_lf: None,
        remote: version,
        revision: Revision::default(),
        file_flags: Flags::default(),
        remote_flags: Flags::default(),
        visibility: Visibility::Published,
        stamp: None,
        replaced: None,
        earlier: Vec::new(),
        written: None,
    };
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
    let written = store.write(now, |tx| {
        tx.put_body(words)?;
        tx.begin_change(&change)?;
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
