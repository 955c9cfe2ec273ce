//! The history: numbers, places, roll-backs, and files that become articles.

use super::{NOW, article, id, later, memory, seen, version};
use crate::{
    model::{Place, Side, TextDigest},
    state::{SeenVersion, Store, Subject},
};

fn record(store: &mut Store, seconds: i64, seen: &SeenVersion) -> Option<u64> {
    store
        .write_at(later(seconds), |tx| tx.record(seen))
        .expect("recorded")
}

/// The texts of a subject's versions with their numbers, newest first.
fn texts(store: &Store, subject: &Subject) -> Vec<(u64, TextDigest)> {
    let kept = store.versions(subject).expect("versions");
    kept.into_iter()
        .map(|kept| (kept.number, kept.seen.version.text))
        .collect()
}

#[test]
fn versions_are_numbered_from_one_per_subject() {
    let mut store = memory();
    let (one, two) = (Subject::Article(id(1)), Subject::Article(id(2)));
    assert_eq!(
        record(&mut store, 0, &seen(&one, Side::Local, "a")),
        Some(1)
    );
    assert_eq!(
        record(&mut store, 1, &seen(&one, Side::Remote, "b")),
        Some(2)
    );
    assert_eq!(
        record(&mut store, 2, &seen(&two, Side::Local, "a")),
        Some(1)
    );
    let kept = store.versions(&one).expect("versions");
    assert_eq!(kept.len(), 2);
    assert_eq!((kept[0].number, kept[0].at), (2, later(1)));
    assert_eq!(kept[0].seen, seen(&one, Side::Remote, "b"));
    assert_eq!(kept[1].seen, seen(&one, Side::Local, "a"));
    assert_eq!(store.versions(&Subject::Article(id(3))).expect("none"), []);
}

#[test]
fn only_what_is_new_is_recorded() {
    let mut store = memory();
    let subject = Subject::Article(id(1));
    let file = |text: &str, file: &str| SeenVersion {
        file: Some(TextDigest::of(file)),
        ..seen(&subject, Side::Local, text)
    };
    let moved = SeenVersion {
        place: Place::new("start", "setup.html"),
        ..seen(&subject, Side::Local, "a")
    };
    let cases = [
        ("first", seen(&subject, Side::Remote, "a"), Some(1)),
        ("again", seen(&subject, Side::Local, "a"), None),
        ("now with its file", file("a", "f"), Some(2)),
        ("the same file", file("a", "f"), None),
        (
            "the service's copy of it",
            seen(&subject, Side::Remote, "a"),
            None,
        ),
        ("a comment changed", file("a", "f # note"), Some(3)),
        ("new words", seen(&subject, Side::Remote, "b"), Some(4)),
        ("old words", seen(&subject, Side::Remote, "a"), Some(5)),
        ("at a new place", moved.clone(), Some(6)),
        ("still there", moved, None),
    ];
    for (name, seen, number) in cases {
        assert_eq!(record(&mut store, 0, &seen), number, "{name}");
    }
}

#[test]
fn a_new_files_versions_become_the_articles() {
    let mut store = memory();
    let file = Subject::File(Place::new("start", "install.html"));
    let made = Subject::Article(id(1));
    record(&mut store, 0, &seen(&file, Side::Local, "a"));
    record(&mut store, 1, &seen(&file, Side::Local, "b"));
    store
        .write_at(later(2), |tx| tx.rename_subject(&file, &made))
        .expect("renamed");
    assert_eq!(texts(&store, &file), []);
    let ab = [(2, TextDigest::of("b")), (1, TextDigest::of("a"))];
    assert_eq!(texts(&store, &made), ab);
    let kept = store.versions(&made).expect("versions");
    assert_eq!(kept[0].seen.subject, made);

    // The place is free for another file, whose versions count from one again.
    assert_eq!(
        record(&mut store, 3, &seen(&file, Side::Local, "x")),
        Some(1)
    );
    assert_eq!(texts(&store, &made), ab);
    // Nothing happens without versions to move, or if the versions belong to the article already.
    store
        .write_at(later(4), |tx| {
            tx.rename_subject(&Subject::Article(id(8)), &made)?;
            tx.rename_subject(&made, &made)
        })
        .expect("renamed");
    assert_eq!(texts(&store, &made), ab);
}

#[test]
fn two_pasts_become_one_in_the_order_of_time() {
    let mut store = memory();
    let file = Subject::File(Place::new("start", "install.html"));
    let made = Subject::Article(id(1));
    for (seconds, subject, text) in [
        (0, &file, "a"),
        (5, &made, "b"),
        (7, &file, "c"),
        // The clock went back: the last version of an article stays the last.
        (6, &file, "d"),
        (7, &made, "e"),
    ] {
        record(&mut store, seconds, &seen(subject, Side::Local, text));
    }
    store
        .write_at(later(9), |tx| tx.rename_subject(&file, &made))
        .expect("renamed");
    let expected = [(5, "e"), (4, "d"), (3, "c"), (2, "b"), (1, "a")]
        .map(|(number, text)| (number, TextDigest::of(text)));
    assert_eq!(texts(&store, &made), expected);
    assert_eq!(
        record(&mut store, 9, &seen(&made, Side::Remote, "f")),
        Some(6)
    );
}

#[test]
fn subjects_are_found_by_every_place_they_had() {
    let mut store = memory();
    let file = Subject::File(Place::new("start", "install.html"));
    let (old, moved) = (Subject::Article(id(1)), Subject::Article(id(2)));
    record(&mut store, 0, &seen(&old, Side::Local, "a"));
    record(&mut store, 1, &seen(&moved, Side::Local, "b"));
    record(&mut store, 2, &seen(&file, Side::Local, "c"));
    let elsewhere = SeenVersion {
        place: Place::new("start", "2.html"),
        ..seen(&moved, Side::Local, "d")
    };
    record(&mut store, 3, &elsewhere);
    store
        .write_at(NOW, |tx| {
            tx.put_article(&article(2))?;
            tx.put_article(&article(3))
        })
        .expect("written");

    let at = |name: &str| {
        store
            .subjects_at(&Place::new("start", name))
            .expect("subjects")
    };
    assert_eq!(at("install.html"), [file, moved.clone(), old]);
    assert_eq!(at("2.html"), [moved]);
    // An article without versions is found by its base.
    assert_eq!(at("3.html"), [Subject::Article(id(3))]);
    assert_eq!(at("none.html"), []);
}

#[test]
fn deleted_articles_are_listed_with_their_last_version() {
    let mut store = memory();
    let (gone, kept) = (Subject::Article(id(1)), Subject::Article(id(2)));
    let file = Subject::File(Place::new("start", "install.html"));
    let also_gone = Subject::Article(id(3));
    record(&mut store, 0, &seen(&gone, Side::Local, "a"));
    record(&mut store, 1, &seen(&gone, Side::Local, "b"));
    record(&mut store, 2, &seen(&kept, Side::Local, "c"));
    record(&mut store, 3, &seen(&file, Side::Local, "d"));
    record(&mut store, 4, &seen(&also_gone, Side::Both, "e"));
    // The article was seen on the service, and may be there still.
    let unknown_article_id = Subject::Article(id(4));
    record(&mut store, 5, &seen(&unknown_article_id, Side::Remote, "f"));
    store
        .write_at(NOW, |tx| tx.put_article(&article(2)))
        .expect("written");
    let found: Vec<_> = store
        .deleted_articles()
        .expect("versions")
        .into_iter()
        .map(|kept| (kept.seen.subject, kept.number, kept.seen.version))
        .collect();
    assert_eq!(
        found,
        [(also_gone, 1, version("e")), (gone, 2, version("b"))]
    );
}

#[test]
fn the_agreement_on_a_new_article_takes_the_place_of_what_was_seen() {
    let mut store = memory();
    let sides = |subject: &Subject, store: &Store| {
        let versions = store.versions(subject).expect("versions").into_iter();
        let sides: Vec<_> = versions.map(|kept| (kept.number, kept.seen.side)).collect();
        sides
    };
    let (same, other) = (Subject::Article(id(1)), Subject::Article(id(2)));
    for subject in [&same, &other] {
        record(&mut store, 0, &seen(subject, Side::Remote, "a"));
        record(&mut store, 1, &seen(subject, Side::Remote, "a"));
        assert_eq!(sides(subject, &store), [(1, Side::Remote)]);
    }
    record(&mut store, 2, &seen(&same, Side::Both, "a"));
    assert_eq!(sides(&same, &store), [(1, Side::Both)]);
    record(&mut store, 2, &seen(&other, Side::Both, "b"));
    assert_eq!(sides(&other, &store), [(2, Side::Both), (1, Side::Remote)]);
}

#[test]
fn f085_an_older_version_is_recognised() {
    let mut store = memory();
    let subject = Subject::Article(id(1));
    for (seconds, text) in (0..).zip(["a", "b", "a", "c"]) {
        record(&mut store, seconds, &seen(&subject, Side::Local, text));
    }
    let knew = |number, text| {
        store
            .superseded_version(id(number), version(text).digest(), Side::Local)
            .expect("looked")
    };
    assert_eq!(knew(1, "a"), Some(3));
    assert_eq!(knew(1, "b"), Some(2));
    assert_eq!(knew(1, "c"), None, "the newest is no roll-back");
    assert_eq!(knew(1, "new"), None);
    assert_eq!(knew(2, "a"), None);
}

#[test]
fn f038_what_only_the_other_side_has_left_is_no_roll_back() {
    let mut store = memory();
    let subject = Subject::Article(id(1));
    let sides = [Side::Both, Side::Remote, Side::Local];
    for ((seconds, text), side) in (0..).zip(["a", "b", "a"]).zip(sides) {
        record(&mut store, seconds, &seen(&subject, side, text));
    }
    let knew = |text, side| {
        store
            .superseded_version(id(1), version(text).digest(), side)
            .expect("looked")
    };
    // The service is at "b"; the last record is the file's "a", before the file follows.
    assert_eq!(knew("b", Side::Remote), None);
    assert_eq!(knew("a", Side::Remote), Some(1));
    assert_eq!(knew("b", Side::Local), Some(2));
}

#[test]
fn what_a_conflict_s_copy_held_was_never_in_the_file() {
    let mut store = memory();
    let subject = Subject::Article(id(1));
    let copy = |text| SeenVersion {
        place: Place::new("a", "b.conflict.html"),
        ..seen(&subject, Side::Local, text)
    };
    record(&mut store, 1, &seen(&subject, Side::Local, "mine"));
    record(&mut store, 2, &copy("theirs"));
    let mine = version("mine").digest();
    let knew = store
        .superseded_version(id(1), mine, Side::Local)
        .expect("looked");
    assert_eq!(knew, None);
    let exchange = store.recent_exchange(id(1)).expect("one");
    assert_eq!(exchange, [(Side::Local, mine)]);
}

#[test]
fn two_versions_that_stand_against_each_other_are_recorded_once() {
    let mut store = memory();
    let subject = Subject::Article(id(1));
    for seconds in 0..4 {
        record(&mut store, 2 * seconds, &seen(&subject, Side::Local, "a"));
        record(
            &mut store,
            2 * seconds + 1,
            &seen(&subject, Side::Remote, "b"),
        );
    }
    assert_eq!(store.versions(&subject).expect("read").len(), 2);
}

#[test]
fn a_foreign_writers_exchange_is_told_newest_first() {
    let mut store = memory();
    let subject = Subject::Article(id(1));
    assert_eq!(store.recent_exchange(id(1)).expect("none"), []);
    let told = ["start", "a", "b", "a", "b"];
    for (seconds, text) in (0..).zip(told) {
        let side = if text == "a" {
            Side::Local
        } else {
            Side::Remote
        };
        record(&mut store, 2 * seconds, &seen(&subject, side, text));
        // The other side takes over each change before the next change comes.
        record(
            &mut store,
            2 * seconds + 1,
            &seen(&subject, Side::Both, text),
        );
    }
    let (a, b) = (
        (Side::Local, version("a").digest()),
        (Side::Remote, version("b").digest()),
    );
    assert_eq!(store.recent_exchange(id(1)).expect("four"), [b, a, b, a]);
}
