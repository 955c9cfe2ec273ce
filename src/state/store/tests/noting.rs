//! Noting what was written: what is kept of an earlier reading is never taken for more than it is.

use super::rows::{category, conflict};
use super::{NOW, article, binding, id, memory};
use crate::model::ArticleId;
use crate::state::store::Writing;
use crate::state::{ErrorKind, StateError, Store};
use std::collections::BTreeSet;

fn put(store: &mut Store, number: u128) {
    let row = article(number);
    store
        .write(NOW, |tx| tx.put_article(&row))
        .expect("a write");
}

fn noted(store: &mut Store) -> Option<BTreeSet<ArticleId>> {
    store.noted().expect("readable")
}

fn these(numbers: &[u128]) -> BTreeSet<ArticleId> {
    numbers.iter().map(|number| id(*number)).collect()
}

#[test]
fn every_article_that_was_written_is_noted_once() {
    let mut store = memory();
    assert_eq!(noted(&mut store), None, "nobody asked for it");
    put(&mut store, 1);
    store.begin_noting().expect("readable");
    assert_eq!(noted(&mut store), Some(these(&[])));
    put(&mut store, 2);
    put(&mut store, 2);
    store
        .write(NOW, |tx| tx.remove_article(id(3)))
        .expect("a write");
    assert_eq!(noted(&mut store), Some(these(&[2, 3])));
    assert_eq!(noted(&mut store), Some(these(&[])));
    put(&mut store, 4);
    assert_eq!(noted(&mut store), Some(these(&[4])));
}

#[test]
fn a_write_that_failed_is_noted_all_the_same() {
    let mut store = memory();
    store.begin_noting().expect("readable");
    let failed: Result<(), StateError> = store.write(NOW, |tx| {
        tx.remove_article(id(1))?;
        Err(StateError::new(ErrorKind::Io))
    });
    assert!(failed.is_err());
    assert_eq!(noted(&mut store), Some(these(&[1])));
}

#[test]
fn what_concerns_more_than_an_article_ends_it() {
    type Write = fn(&mut Writing<'_>) -> Result<(), StateError>;
    let writes: [(&str, Write); 4] = [
        ("a category", |tx| tx.put_category(&category(1))),
        ("a category goes", |tx| tx.remove_category(category(1).id)),
        ("a conflict", |tx| tx.put_conflict(&conflict())),
        ("a conflict goes", |tx| tx.remove_conflict(id(1))),
    ];
    for (name, write) in writes {
        let mut store = memory();
        store.begin_noting().expect("readable");
        store.write(NOW, write).expect("a write");
        assert_eq!(noted(&mut store), None, "{name}");
        put(&mut store, 2);
        assert_eq!(noted(&mut store), None, "{name}, until it begins anew");
        store.begin_noting().expect("readable");
        assert_eq!(noted(&mut store), Some(these(&[])), "{name}");
    }
    let mut store = memory();
    store.begin_noting().expect("readable");
    store.clear().expect("cleared");
    assert_eq!(noted(&mut store), None);
}

#[test]
fn many_articles_are_not_noted_one_by_one() {
    let mut store = memory();
    store.begin_noting().expect("readable");
    store
        .write(NOW, |tx| {
            (0..600_u128).try_for_each(|number| {
                tx.remove_article(ArticleId::new(uuid::Uuid::from_u128(number)))
            })
        })
        .expect("a write");
    assert_eq!(noted(&mut store), None);
}

#[test]
fn what_another_process_wrote_ends_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(dir.path(), &binding(), NOW).expect("a store");
    let mut other = Store::open(dir.path(), &binding(), NOW).expect("a store");
    store.begin_noting().expect("readable");
    put(&mut store, 1);
    assert_eq!(noted(&mut store), Some(these(&[1])));
    put(&mut other, 2);
    put(&mut store, 1);
    assert_eq!(noted(&mut store), None);
    assert_eq!(noted(&mut store), None, "it stays unknown");
    store.begin_noting().expect("readable");
    assert_eq!(noted(&mut store), Some(these(&[])));
}
