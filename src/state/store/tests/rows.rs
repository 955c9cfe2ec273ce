//! Every kind of row is read as it was written, and an unchanged row costs no write.

use super::super::base::{HIDDEN, INDEX};
use super::super::events::OF_ARTICLE;
use super::{NOW, article, binding, id, later, memory, version};
use crate::{
    model::base::IndexRow,
    model::{
        CategoryId, CategoryVersion, Digest, Field, Figures, Flags, Place, Revision, Side, Stamp,
        TextDigest, Texts, Timestamp, Version,
    },
    state::store::TimeOfDay,
    state::{
        Approval, ArticleRow, CategoryRow, ConflictRow, Creation, Deed, Deletion, ErrorKind, Event,
        Parked, PendingRequest, PutOrDelete, RowChange, Sent, StateError, StateResult, Store,
        Update, Visibility, Writing,
    },
};
use proptest::prelude::*;
use rusqlite::params;
use uuid::Uuid;

pub(super) fn category(number: u128) -> CategoryRow {
    let words = |name: &str| CategoryVersion {
        name: name.to_owned(),
        slug: "start".to_owned(),
        description: "How to begin".to_owned(),
        meta_description: String::new(),
    };
    CategoryRow {
        id: CategoryId::new(Uuid::from_u128(number)),
        folder: Some("start".to_owned()),
        local: words("Getting started"),
        remote: words("Getting Started"),
        revision: Revision("r".to_owned()),
        read_at: NOW,
        stamp: Some(Stamp::default()),
    }
}

fn digest(text: &str) -> Digest {
    Digest::of_parts(&[text.as_bytes()])
}

fn creation() -> Creation {
    Creation {
        request: 0,
        place: Place::new("start", "install.html"),
        first: Sent {
            version: version("a"),
            flags: Flags::default(),
        },
        later: Vec::new(),
        row: None,
        unclear: None,
    }
}

fn pending_requests() -> Vec<PendingRequest> {
    vec![
        PendingRequest::CreateArticle(creation()),
        PendingRequest::PutOrDelete(PutOrDelete::Put(Update {
            id: id(1),
            version: version("b"),
            fields: vec![Field::Title, Field::Text],
            enabled: Some(false),
            over: digest("over"),
            over_revision: Revision("1".to_owned()),
            rows: vec![RowChange::NoConflict(id(1))],
        })),
        PendingRequest::PutOrDelete(PutOrDelete::Delete(Deletion {
            id: id(1),
            revision: Revision("2".to_owned()),
            version: Some(digest("over")),
            rows: vec![RowChange::NoArticle(id(1))],
        })),
    ]
}

pub(super) fn conflict() -> ConflictRow {
    ConflictRow {
        id: id(1),
        place: Place::new("start", "install.html"),
        local: version("ours"),
        remote: Some(version("theirs")),
        revision: Revision("r".to_owned()),
        copy: Some("install.conflict.html".to_owned()),
        reason: "both changed the body".to_owned(),
        at: NOW,
    }
}

#[test]
fn articles_are_put_replaced_and_removed() {
    let mut store = memory();
    let changed = ArticleRow {
        remote: Version {
            title: "Install The Agent".to_owned(),
            ..version("<p>theirs</p>")
        },
        stamp: None,
        superseded: Vec::new(),
        visibility: Visibility::NotVisible,
        ..article(2)
    };
    store
        .write_at(NOW, |tx| {
            tx.put_article(&article(1))?;
            tx.put_article(&article(2))?;
            tx.put_article(&changed)?;
            assert_eq!(tx.article(id(2))?, Some(changed.clone()));
            Ok(())
        })
        .expect("written");
    assert_eq!(store.article(id(1)).expect("a row"), Some(article(1)));
    assert_eq!(
        store.articles_at(&changed.place).expect("rows"),
        std::slice::from_ref(&changed)
    );
    let index = store.index().expect("rows").into_iter();
    assert_eq!(
        index
            .map(|row| (row.id, row.place, row.stamp))
            .collect::<Vec<_>>(),
        [
            (id(1), article(1).place, article(1).stamp),
            (id(2), changed.place.clone(), None)
        ]
    );
    let hidden = store.hidden_articles().expect("rows");
    assert_eq!(hidden.iter().map(|row| row.id).collect::<Vec<_>>(), [id(2)]);
    store
        .write_at(NOW, |tx| tx.remove_article(id(1)))
        .expect("written");
    assert_eq!(store.articles().expect("rows"), [changed]);
    assert_eq!(store.article(id(1)).expect("none"), None);
}

#[test]
fn the_index_says_what_the_rows_say_and_reads_nothing_else() {
    let mut store = memory();
    let own = ArticleRow {
        written: Some(article(2).revision),
        remote: version("<p>theirs</p>"),
        ..article(2)
    };
    store
        .write_at(NOW, |tx| {
            tx.put_article(&own)?;
            tx.put_article(&article(1))
        })
        .expect("written");
    let of = |row: &ArticleRow| IndexRow {
        id: row.id,
        place: row.place.clone(),
        stamp: row.stamp,
        remote: row.remote.digest(),
        revision: row.revision.clone(),
        is_own: row.written.as_ref() == Some(&row.revision),
        visibility: row.visibility,
        flags: row.remote_flags,
    };
    assert_eq!(store.index().expect("rows"), [of(&article(1)), of(&own)]);
    for sql in [INDEX, HIDDEN] {
        let plan: String = store
            .conn
            .query_row(&format!("EXPLAIN QUERY PLAN {sql}"), [], |row| row.get(3))
            .expect("a plan");
        assert!(plan.contains("USING COVERING INDEX"), "{plan}");
    }
}

#[test]
fn the_log_of_an_article_is_found_by_an_index() {
    let store = memory();
    let sql = format!("EXPLAIN QUERY PLAN {OF_ARTICLE}");
    let values = params![article(1).id, 9];
    let plan: String = store
        .conn
        .query_row(&sql, values, |row| row.get(3))
        .expect("a plan");
    assert!(plan.contains("USING INDEX events_article"), "{plan}");
}

#[test]
fn categories_are_put_replaced_and_removed() {
    let mut store = memory();
    let folderless = CategoryRow {
        folder: None,
        stamp: None,
        ..category(2)
    };
    store
        .write_at(NOW, |tx| {
            tx.put_category(&category(1))?;
            tx.put_category(&category(2))?;
            tx.put_category(&folderless)
        })
        .expect("written");
    assert_eq!(
        store.categories().expect("rows"),
        [category(1), folderless.clone()]
    );
    assert_eq!(
        store.category(folderless.id).expect("a row"),
        Some(folderless)
    );
    store
        .write_at(NOW, |tx| tx.remove_category(category(1).id))
        .expect("written");
    assert_eq!(store.categories().expect("rows").len(), 1);
}

#[test]
fn a_body_is_kept_once_and_comes_back_byte_for_byte() {
    let mut store = memory();
    let texts = ["", "<p>\r\n\u{fc}\0</p>", &"<p>long</p>\n".repeat(200_000)];
    store
        .write_at(NOW, |tx| {
            for text in texts.iter().chain(&texts) {
                assert_eq!(tx.put_body(text)?, TextDigest::of(text));
            }
            Ok(())
        })
        .expect("written");
    for text in texts {
        let found = store.body(TextDigest::of(text)).expect("a body");
        assert!(found.as_deref() == Some(text));
    }
    let (rows, packed): (i64, i64) = store
        .conn
        .query_row(
            "SELECT count(*), sum(length(packed)) FROM bodies",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("counted");
    assert_eq!(rows, 3);
    assert!(packed < 10_000, "{packed}");
    let unknown = TextDigest::of("unknown");
    assert_eq!(store.body(unknown).expect("none"), None);
    assert!(!store.has_body(unknown).expect("looked"));
    assert!(store.has_body(TextDigest::of("")).expect("looked"));
}

#[test]
fn f010_a_damaged_body_is_an_error_and_never_a_text() {
    let damages = [
        "UPDATE bodies SET packed = x'00'",
        "UPDATE bodies SET packed = substr(packed, 1, length(packed) - 3)",
        "UPDATE bodies SET size = size - 2",
        "UPDATE bodies SET size = -1, packed = x''",
        "UPDATE bodies SET packed = (SELECT packed FROM bodies WHERE size = 5)",
    ];
    for damage in damages {
        let mut store = memory();
        let digest = store
            .write_at(NOW, |tx| {
                tx.put_body("other")?;
                tx.put_body("<p>one</p>")
            })
            .expect("written");
        store.conn.execute_batch(damage).expect("damaged");
        let error = store.body(digest).expect_err(damage);
        assert_eq!(error.kind, ErrorKind::Corrupt, "{damage}");
    }
}

#[test]
fn f010_a_value_that_does_not_read_is_an_error() {
    let damages = [
        "UPDATE articles SET visibility = 'hidden'",
        "UPDATE articles SET id = x'01'",
        "UPDATE articles SET local_text = x'0102'",
    ];
    for damage in damages {
        let mut store = memory();
        store
            .write_at(NOW, |tx| tx.put_article(&article(1)))
            .expect("written");
        store.conn.execute_batch(damage).expect("damaged");
        let error = store.articles().expect_err(damage);
        assert_eq!(error.kind, ErrorKind::Corrupt, "{damage}: {error:?}");
    }
}

#[test]
fn pending_requests_are_read_in_the_order_in_which_they_were_added() {
    let mut store = memory();
    let ids = store
        .write_at(NOW, |tx| {
            pending_requests()
                .iter()
                .map(|one| tx.add_pending_request(one))
                .collect::<Result<Vec<_>, _>>()
        })
        .expect("written");
    let expected: Vec<_> = ids.iter().copied().zip(pending_requests()).collect();
    assert_eq!(store.pending_requests().expect("rows"), expected);

    store
        .write_at(NOW, |tx| {
            ids.iter().try_for_each(|&id| tx.end_pending_request(id))
        })
        .expect("written");
    assert_eq!(store.pending_requests().expect("rows"), []);
    // An id is never used twice: a late settlement cannot hit another pending request.
    let next = store
        .write_at(NOW, |tx| {
            tx.end_pending_request(ids[0])?;
            tx.add_pending_request(&pending_requests()[0])
        })
        .expect("written");
    assert!(next > ids[2]);
}

#[test]
fn conflicts_are_put_replaced_and_removed() {
    let mut store = memory();
    let gone = ConflictRow {
        remote: None,
        copy: None,
        ..conflict()
    };
    store
        .write_at(NOW, |tx| tx.put_conflict(&conflict()))
        .expect("written");
    assert_eq!(store.conflicts().expect("rows"), [conflict()]);
    store
        .write_at(NOW, |tx| tx.put_conflict(&gone))
        .expect("written");
    assert_eq!(store.conflicts().expect("rows"), [gone]);
    store
        .write_at(NOW, |tx| tx.remove_conflict(id(1)))
        .expect("written");
    assert_eq!(store.conflicts().expect("rows"), []);
}

#[test]
fn what_is_parked_waits_under_its_key() {
    let mut store = memory();
    let parked = Parked {
        key: "update:1".to_owned(),
        fingerprint: digest("1"),
        reason: "refused: slug taken".to_owned(),
        is_for_person: false,
        at: NOW,
    };
    let newer = Parked {
        fingerprint: digest("2"),
        is_for_person: true,
        ..parked.clone()
    };
    store
        .write_at(NOW, |tx| {
            tx.park(&parked)?;
            tx.park(&newer)
        })
        .expect("written");
    let found = store.parked().expect("rows");
    assert_eq!(found.get("update:1"), Some(&newer));
    assert_eq!(found.len(), 1);
    store
        .write_at(NOW, |tx| tx.unpark("update:1"))
        .expect("written");
    assert!(store.parked().expect("rows").is_empty());
}

#[test]
fn the_log_is_read_newest_first_and_by_file_or_folder() {
    let mut store = memory();
    let paths = [
        "billing/a.html",
        "billing/b.html",
        "billing-old/a.html",
        "start/a.html",
    ];
    store
        .write_at(NOW, |tx| {
            paths.iter().try_for_each(|path| {
                tx.event(&Deed {
                    action: "update".to_owned(),
                    side: Side::Remote,
                    path: (*path).to_owned(),
                    id: Some(id(1)),
                    detail: "title".to_owned(),
                })
            })
        })
        .expect("written");
    let found = |limit, path| -> Vec<String> {
        let events = store.events(limit, path).expect("rows");
        events
            .into_iter()
            .map(|event: Event| event.deed.path)
            .collect()
    };
    assert_eq!(found(2, None), ["start/a.html", "billing-old/a.html"]);
    assert_eq!(
        found(9, Some("billing")),
        ["billing/b.html", "billing/a.html"]
    );
    assert_eq!(found(9, Some("billing/a.html")), ["billing/a.html"]);
    assert_eq!(found(9, Some("none")), [""; 0]);
    let newest = store.events(1, None).expect("rows").remove(0);
    assert_eq!(
        (newest.at, newest.deed.side, newest.deed.id),
        (NOW, Side::Remote, Some(id(1)))
    );
}

#[test]
fn an_approval_releases_exactly_one_action_once() {
    let mut store = memory();
    store.set_time(TimeOfDay::of(|| NOW));
    let (fingerprint, changed) = (digest("action"), digest("changed action"));
    let approval = Approval {
        side: Side::Remote,
        fingerprint,
        at: NOW,
    };
    let mut after = |work: &dyn Fn(&mut Writing<'_>) -> StateResult<()>| {
        store.write_at(NOW, work).expect("written");
        store.approvals().expect("rows")
    };
    let approved = after(&|tx| {
        tx.approve(Side::Remote, fingerprint)?;
        tx.approve(Side::Remote, fingerprint)
    });
    assert_eq!(approved, [approval]);
    let left = after(&|tx| {
        tx.use_up_approval(Side::Remote, changed)?;
        tx.use_up_approval(Side::Local, fingerprint)
    });
    assert_eq!(left.len(), 1);
    let left = after(&|tx| tx.use_up_approval(Side::Remote, fingerprint));
    assert_eq!(left, []);
}

#[test]
fn f042_deletions_of_a_day_that_nobody_approved_are_counted() {
    let mut store = memory();
    let at = |seconds: i64, side, approved, number: u64, store: &mut Store| {
        store
            .write_at(later(seconds), |tx| {
                (0..number).try_for_each(|_| tx.count_deletion(side, approved))
            })
            .expect("written");
    };
    at(0, Side::Remote, false, 3, &mut store);
    at(60, Side::Remote, false, 4, &mut store);
    at(60, Side::Remote, true, 50, &mut store);
    at(60, Side::Local, false, 7, &mut store);
    let count = |since, side| store.deletions_since(since, side).expect("counted");
    assert_eq!(count(NOW, Side::Remote), 7);
    assert_eq!(count(later(1), Side::Remote), 4);
    assert_eq!(count(NOW, Side::Local), 7);
    assert_eq!(count(later(61), Side::Local), 0);
}

#[test]
fn tombstones_keep_every_revision_that_a_deleted_article_was_shown_with() {
    let mut store = memory();
    let revision = |text: &str| Revision(text.to_owned());
    store
        .write_at(NOW, |tx| {
            tx.tombstone(id(1), &revision("a"))?;
            tx.tombstone(id(1), &revision("b"))?;
            tx.tombstone(id(2), &revision("c"))
        })
        .expect("written");
    for (article, text, is_buried) in [
        (1, "a", true),
        (1, "b", true),
        (2, "c", true),
        (2, "a", false),
    ] {
        let found = store.is_buried(id(article), &revision(text));
        assert_eq!(found.expect("a row"), is_buried);
    }
}

#[test]
fn figures_keep_an_address_that_is_not_shown_every_time() {
    let mut store = memory();
    let figures = |views, url: Option<&str>| Figures {
        views,
        happy: 1,
        neutral: 2,
        sad: 3,
        full_url: url.map(str::to_owned),
    };
    store
        .write_at(NOW, |tx| {
            tx.put_figures(id(1), &figures(1, Some("https://x/1")))?;
            tx.put_figures(id(1), &figures(2, None))
        })
        .expect("written");
    assert_eq!(
        store.figures().expect("rows"),
        [(id(1), figures(2, Some("https://x/1")))]
    );
}

#[test]
fn single_values_are_set_and_removed() {
    let mut store = memory();
    assert_eq!(store.meta("etag").expect("none"), None);
    store
        .write_at(NOW, |tx| {
            tx.set_meta("etag", "1")?;
            tx.set_meta("etag", "2")
        })
        .expect("written");
    assert_eq!(store.meta("etag").expect("a value").as_deref(), Some("2"));
    store
        .write_at(NOW, |tx| tx.remove_meta("etag"))
        .expect("written");
    assert_eq!(store.meta("etag").expect("none"), None);
}

#[test]
fn a_value_in_another_form_is_none() {
    let mut store = memory();
    let written = store.write_at(NOW, |tx| tx.put_value("at", Some(&NOW)));
    written.expect("written");
    let read = store.value("at").expect("readable");
    assert_eq!(read, Some(NOW));
    let written = store.write_at(NOW, |tx| tx.put_value("at", Some(&"later")));
    written.expect("written");
    let read: Option<Timestamp> = store.value("at").expect("readable");
    assert_eq!(read, None);
    let written = store.write_at(NOW, |tx| tx.put_value("at", None::<&Timestamp>));
    written.expect("written");
    assert_eq!(store.meta("at").expect("readable"), None);
}

#[test]
fn a_value_that_was_taken_back_is_as_it_was() {
    let mut store = memory();
    let value = |store: &Store| store.meta("etag").expect("readable");
    store
        .write_at(NOW, |tx| tx.set_meta("etag", "1"))
        .expect("written");
    assert_eq!(value(&store).as_deref(), Some("1"));
    let failed = store.write_at(NOW, |tx| {
        tx.set_meta("etag", "2")?;
        tx.remove_meta("etag")?;
        Err::<(), _>(StateError::corrupt("a failure".to_owned()))
    });
    failed.expect_err("it was taken back");
    assert_eq!(value(&store).as_deref(), Some("1"));
}

#[test]
fn what_another_process_wrote_is_seen() {
    let dir = tempfile::tempdir().expect("a folder");
    let open = || Store::open(dir.path(), &binding(), NOW).expect("a state");
    let (one, mut other) = (open(), open());
    assert_eq!(one.meta("etag").expect("readable"), None);
    other
        .write_at(NOW, |tx| tx.set_meta("etag", "1"))
        .expect("written");
    assert_eq!(one.meta("etag").expect("readable").as_deref(), Some("1"));
}

#[test]
fn what_is_there_already_costs_no_write() {
    let mut store = memory();
    let put = |store: &mut Store, now: Timestamp| {
        store
            .write_at(now, |tx| {
                tx.set_meta("etag", "1")?;
                tx.put_body("<p>one</p>")?;
                tx.put_figures(id(1), &Figures::default())?;
                tx.park(&Parked {
                    key: "k".to_owned(),
                    fingerprint: digest("1"),
                    reason: String::new(),
                    is_for_person: false,
                    at: NOW,
                })?;
                tx.remove_article(id(9))?;
                tx.remove_conflict(id(9))?;
                tx.unpark("none")
            })
            .expect("written");
        store.conn.total_changes()
    };
    let first = put(&mut store, NOW);
    assert_eq!(put(&mut store, later(60)), first);
}

prop_compose! {
    fn any_version()(
        texts in prop::array::uniform4(any::<String>()),
        category in any::<u128>(),
        text in any::<[u8; 32]>(),
    ) -> Version {
        let [title, slug, introtext, keywords] = texts;
        Version {
            title, slug, introtext, keywords,
            category: CategoryId::new(Uuid::from_u128(category)),
            text: TextDigest::from_bytes(text),
        }
    }
}

prop_compose! {
    fn any_article()(
        (local, other) in (any_version(), any_version()),
        same in any::<[bool; 6]>(),
        number in any::<u128>(),
        names in prop::array::uniform4(any::<String>()),
        flags in any::<[Option<bool>; 4]>(),
        visibility in prop::sample::select(vec![
            Visibility::Published, Visibility::Unpublished, Visibility::NotVisible,
        ]),
        stamp in any::<Option<(u64, i64, i64, u64)>>(),
        digests in prop::collection::vec(any::<[u8; 32]>(), 0..3),
        written in any::<Option<String>>(),
    ) -> ArticleRow {
        let [folder, file, revision, replaced] = names;
        let mut remote = local.clone();
        for (&field, same) in Version::FIELDS.iter().zip(same) {
            if !same {
                remote.take(field, &other);
            }
        }
        ArticleRow {
            id: id(number),
            place: Place { folder, file },
            local,
            remote,
            revision: Revision(revision),
            file_flags: Flags { enabled: flags[0], draft: flags[1] },
            remote_flags: Flags { enabled: flags[2], draft: flags[3] },
            visibility,
            stamp: stamp.map(|(size, mtime, ctime, inode)| Stamp { size, mtime, ctime, inode }),
            superseded: digests.into_iter().map(|bytes| (Digest::from_bytes(bytes), Revision(replaced.clone()))).collect(),
            written: written.map(Revision),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_article_comes_back_as_it_was_put(rows in prop::collection::vec(any_article(), 1..5)) {
        let mut store = memory();
        store
            .write_at(NOW, |tx| rows.iter().try_for_each(|row| tx.put_article(row)))
            .expect("written");
        for row in &rows {
            // A later row of the same id has replaced this row.
            let last = rows.iter().rev().find(|other| other.id == row.id);
            let found = store.article(row.id).expect("a row");
            prop_assert_eq!(found.as_ref(), last);
        }
    }

    #[test]
    fn any_body_comes_back_as_it_was_put(text in any::<String>()) {
        let mut store = memory();
        let digest = store.write_at(NOW, |tx| tx.put_body(&text)).expect("written");
        prop_assert_eq!(store.body(digest).expect("a body"), Some(text));
    }
}

#[test]
fn a_creation_ends_with_the_id_of_its_article() {
    let mut store = memory();
    let write = |store: &mut Store, change: RowChange| {
        store
            .write_at(NOW, |tx| tx.apply(&change))
            .expect("written");
    };
    let request = store.write_at(NOW, |tx| {
        tx.add_pending_request(&PendingRequest::CreateArticle(creation()))
    });
    let created = Creation {
        request: request.expect("written").0,
        later: vec![Sent {
            version: version("b"),
            flags: Flags::default(),
        }],
        row: Some(Box::new(article(1))),
        ..creation()
    };
    store
        .write_at(NOW, |tx| tx.put_creation(&created))
        .expect("written");
    write(&mut store, RowChange::Created(id(2)));
    assert_eq!(store.creations().expect("rows"), [created]);
    write(&mut store, RowChange::Created(id(1)));
    assert_eq!(store.creations().expect("rows"), []);
    // A journal of an earlier version had another name for this change.
    let written = format!("{{\"id_confirmed\":\"{}\"}}", id(1));
    let read: RowChange = serde_json::from_str(&written).expect("read");
    assert_eq!(read, RowChange::Created(id(1)));
}

#[test]
fn an_update_of_an_earlier_version_has_no_rows() {
    let now = pending_requests().swap_remove(1);
    let mut written = serde_json::to_value(&now).expect("written");
    let fields = written["update_article"].as_object_mut().expect("a map");
    assert!(fields.remove("rows").is_some());
    let read: PendingRequest = serde_json::from_value(written).expect("read");
    let PendingRequest::PutOrDelete(PutOrDelete::Put(update)) = now else {
        panic!("the second one is an update");
    };
    let rows = Vec::new();
    assert_eq!(
        read,
        PendingRequest::PutOrDelete(PutOrDelete::Put(Update { rows, ..update }))
    );
}
