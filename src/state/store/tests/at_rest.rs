//! The mark of a base at rest is removed by every write that a partial look could miss.

use super::rows::{category, conflict};
use super::{NOW, article, id, memory, version};
use crate::model::{Place, Stamp, Timestamp};
use crate::state::store::Writing;
use crate::state::{ArticleRow, CategoryRow, StateError, Store};

type Write = fn(&mut Writing<'_>) -> Result<(), StateError>;

/// A base at rest with one article and one category.
fn at_rest() -> Store {
    let mut store = memory();
    store
        .write_at(NOW, |tx| {
            tx.put_article(&article(1))?;
            tx.put_category(&category(1))?;
            tx.rest("mark")
        })
        .expect("written");
    assert_eq!(store.at_rest().expect("readable").as_deref(), Some("mark"));
    store
}

#[test]
fn only_what_a_look_at_a_few_articles_sees_leaves_it_at_rest() {
    let writes: [(&str, bool, Write); 11] = [
        ("another version", true, |tx| {
            tx.put_article(&ArticleRow {
                local: version("<p>new</p>"),
                remote: version("<p>new</p>"),
                stamp: None,
                ..article(1)
            })
        }),
        ("times of a category", true, |tx| {
            tx.put_category(&CategoryRow {
                read_at: Timestamp(1),
                stamp: Some(Stamp {
                    size: 7,
                    ..Stamp::default()
                }),
                ..category(1)
            })
        }),
        ("a new article", false, |tx| tx.put_article(&article(2))),
        ("another place", false, |tx| {
            tx.put_article(&ArticleRow {
                place: Place::new("start", "other.html"),
                ..article(1)
            })
        }),
        ("an address for a moment", false, |tx| {
            let mut row = article(1);
            row.remote.slug = "aside".to_owned();
            tx.put_article(&row)
        }),
        ("a version that was replaced", false, |tx| {
            let row = article(1);
            let superseded = vec![(row.remote.digest(), row.revision.clone())];
            tx.put_article(&ArticleRow { superseded, ..row })
        }),
        ("an article goes", false, |tx| tx.remove_article(id(1))),
        ("another name of a category", false, |tx| {
            let mut row = category(1);
            row.remote.name = "Another".to_owned();
            tx.put_category(&row)
        }),
        ("a category goes", false, |tx| {
            tx.remove_category(category(1).id)
        }),
        ("a conflict", false, |tx| tx.put_conflict(&conflict())),
        ("a conflict goes", false, |tx| tx.remove_conflict(id(1))),
    ];
    for (name, stays, write) in writes {
        let mut store = at_rest();
        store.write_at(NOW, write).expect("a write");
        let mark = store.at_rest().expect("readable");
        assert_eq!(mark.is_some(), stays, "{name}");
    }
}
