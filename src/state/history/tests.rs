//! Pruning: versions and bodies that are deleted or kept, and the proof that a named body is never lost.

use super::{PRUNED_AT, prune};
use crate::{
    model::{
        ArticleId, CategoryId, Digest, Flags, Place, Revision, Side, TextDigest, Timestamp,
        Version, WorkspaceId,
    },
    state::{
        ArticleRow, Binding, ConflictRow, Creation, Deed, PendingRequest, RequestId, SeenVersion,
        Sent, Store, Subject, Visibility,
    },
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use uuid::Uuid;

fn memory() -> Store {
    Store::in_memory(&Binding {
        service: "https://kb.example.com".to_owned(),
        workspace: WorkspaceId::new(Uuid::from_u128(1)),
    })
    .expect("a store")
}

fn id(number: u8) -> ArticleId {
    ArticleId::new(Uuid::from_u128(u128::from(number)))
}

fn subject(number: u8) -> Subject {
    Subject::Article(id(number))
}

fn day(number: u16) -> Timestamp {
    Timestamp(i64::from(number) * Timestamp::DAY)
}

fn text(number: u8) -> String {
    format!("<p>text {number}</p>")
}

fn version(number: u8) -> Version {
    Version {
        title: "Install".to_owned(),
        slug: "install".to_owned(),
        category: CategoryId::new(Uuid::from_u128(7)),
        introtext: String::new(),
        keywords: String::new(),
        text: TextDigest::of(&text(number)),
    }
}

fn record(store: &mut Store, at: u16, article: u8, body: u8, whole: Option<u8>) {
    store
        .write_at(day(at), |tx| {
            tx.put_body(&text(body))?;
            let file = match whole {
                Some(whole) => Some(tx.put_body(&format!("---\n{whole}\n---\n{}", text(body)))?),
                None => None,
            };
            tx.record(&SeenVersion {
                subject: subject(article),
                place: Place::new("start", "install.html"),
                side: Side::Local,
                cause: "edited".to_owned(),
                version: version(body),
                file,
            })
        })
        .expect("recorded");
}

fn base(article: u8, local: u8, remote: u8) -> ArticleRow {
    ArticleRow {
        id: id(article),
        place: Place::new("start", "install.html"),
        local: version(local),
        remote: version(remote),
        revision: Revision::default(),
        file_flags: Flags::default(),
        remote_flags: Flags::default(),
        visibility: Visibility::Published,
        stamp: None,
        superseded: Vec::new(),
        written: None,
    }
}

fn numbers(store: &Store, article: u8) -> Vec<u64> {
    let kept = store.versions(&subject(article)).expect("versions");
    kept.into_iter().map(|kept| kept.number).collect()
}

/// Returns whether there was no more to delete.
fn rests(store: &Store) -> bool {
    let pruned: Option<Timestamp> = store.value(PRUNED_AT).expect("read");
    pruned.is_some()
}

fn has(store: &Store, number: u8) -> bool {
    store
        .body(TextDigest::of(&text(number)))
        .expect("looked")
        .is_some()
}

#[test]
fn a_version_goes_when_it_is_old_and_beyond_the_newest() {
    let mut store = memory();
    for at in 0..10 {
        record(&mut store, u16::from(at), 1, at, None);
    }
    prune(&mut store, 5, 3, day(10)).expect("pruned");
    // Days 0 to 4 are older than five days; 7, 8 and 9 are the newest three.
    assert_eq!(numbers(&store, 1), [10, 9, 8, 7, 6]);
    assert!(rests(&store));
    assert!((0..10).all(|body| has(&store, body) == (body >= 5)));

    // A week later the other versions are old as well, but the newest three stay whatever their age.
    prune(&mut store, 5, 3, day(17)).expect("pruned");
    assert_eq!(numbers(&store, 1), [10, 9, 8]);
    prune(&mut store, 5, 0, day(5000)).expect("pruned");
    assert_eq!(numbers(&store, 1), [10], "the newest never goes");
    // Numbers continue.
    record(&mut store, 5001, 1, 77, None);
    assert_eq!(numbers(&store, 1), [11, 10]);
}

#[test]
fn versions_that_are_alike_count_once() {
    let mut store = memory();
    // Three pulled edits: each is recorded when it arrives, when it replaces the file, and when both sides agree.
    for body in [0, 1, 0, 1, 2, 1, 2, 3, 2, 3] {
        record(&mut store, 0, 1, body, None);
    }
    prune(&mut store, 5, 3, day(100)).expect("pruned");
    assert_eq!(numbers(&store, 1), [10, 9, 8, 6]);
    assert!(!has(&store, 0) && has(&store, 1) && has(&store, 2));
    // Versions with different whole files are different, even if their texts are equal.
    for whole in 0..5 {
        record(&mut store, 0, 2, 0, Some(whole));
    }
    prune(&mut store, 5, 3, day(200)).expect("pruned");
    assert_eq!(numbers(&store, 2), [5, 4, 3]);
}

#[test]
fn what_a_base_or_a_conflict_names_stays_and_a_pending_request_keeps_all() {
    let mut store = memory();
    for body in 0..8 {
        record(&mut store, 0, 1, body, Some(body));
    }
    let pending = store
        .write_at(day(0), |tx| {
            // The base does not name the body of a superseded version.
            tx.put_article(&ArticleRow {
                superseded: vec![(version(2).digest(), Revision::default())],
                ..base(1, 0, 1)
            })?;
            tx.put_conflict(&ConflictRow {
                id: id(1),
                place: Place::new("start", "install.html"),
                local: version(3),
                remote: Some(version(4)),
                revision: Revision::default(),
                copy: None,
                reason: String::new(),
                at: day(0),
            })?;
            tx.add_pending_request(&intended(Place::new("start", "new.html"), version(5)))
        })
        .expect("written");
    prune(&mut store, 90, 1, day(200)).expect("pruned");
    assert_eq!(numbers(&store, 1).len(), 8);
    assert!((0..8).all(|body| has(&store, body)));

    store
        .write_at(day(200), |tx| tx.end_pending_request(pending))
        .expect("written");
    prune(&mut store, 90, 1, day(202)).expect("pruned");
    // Versions 1 to 5 hold the bodies 0 to 4; the newest is 8.
    assert_eq!(numbers(&store, 1), [8, 5, 4, 2, 1]);
    assert!((0..5).all(|body| has(&store, body) == (body != 2)));
    assert!(!has(&store, 5) && !has(&store, 6));

    store
        .write_at(day(202), |tx| {
            tx.remove_article(id(1))?;
            tx.remove_conflict(id(1))
        })
        .expect("written");
    prune(&mut store, 90, 1, day(204)).expect("pruned");
    assert_eq!(numbers(&store, 1), [8]);
    assert!((0..7).all(|body| !has(&store, body)) && has(&store, 7));
}

#[test]
fn a_body_that_was_put_again_waits_another_day() {
    let mut store = memory();
    let put = |store: &mut Store, now: Timestamp| {
        store
            .write_at(now, |tx| tx.put_body(&text(1)))
            .expect("written");
    };
    put(&mut store, day(0));
    put(&mut store, day(50));
    prune(
        &mut store,
        90,
        20,
        Timestamp(day(50).0 + Timestamp::DAY / 2),
    )
    .expect("pruned");
    assert!(has(&store, 1));
    prune(&mut store, 90, 20, day(52)).expect("pruned");
    assert!(!has(&store, 1));
}

#[test]
fn pruning_rests_for_a_day_and_then_writes_nothing_else() {
    let mut store = memory();
    record(&mut store, 0, 1, 1, None);
    prune(&mut store, 90, 20, day(1)).expect("pruned");
    for body in 2..5 {
        record(&mut store, 1, 1, body, None);
    }
    // Pruning is not due: nothing is deleted.
    prune(&mut store, 0, 1, Timestamp(day(2).0 - 1)).expect("rests");
    assert_eq!(numbers(&store, 1).len(), 4);
    // Pruning is due, also if the clock went back to before the last pruning.
    prune(&mut store, 90, 1, day(0)).expect("pruned");
    prune(&mut store, 0, 1, day(2)).expect("pruned");
    assert_eq!(numbers(&store, 1), [4]);
}

#[test]
fn much_is_done_in_several_calls() {
    let mut store = memory();
    store
        .write_at(day(0), |tx| {
            for number in 0..4500_u32 {
                let body = format!("body {number}");
                tx.put_body(&body)?;
                tx.record(&SeenVersion {
                    subject: subject(1),
                    place: Place::new("start", "install.html"),
                    side: Side::Local,
                    cause: String::new(),
                    version: Version {
                        text: TextDigest::of(&body),
                        ..version(0)
                    },
                    file: None,
                })?;
            }
            Ok(())
        })
        .expect("written");
    let mut calls = 0;
    while !rests(&store) {
        prune(&mut store, 1, 1, day(9)).expect("pruned");
        calls += 1;
    }
    assert_eq!(calls, 3);
    assert_eq!(numbers(&store, 1), [4500]);
}

#[test]
fn that_an_article_was_hidden_when_it_went_or_came_back_is_not_forgotten() {
    let mut store = memory();
    let hidden = Deed {
        action: "delete".to_owned(),
        side: Side::Remote,
        path: "a/b.html".to_owned(),
        id: Some(id(1)),
        detail: "draft: true".to_owned(),
    };
    let shown = Deed {
        id: Some(id(2)),
        detail: String::new(),
        ..hidden.clone()
    };
    let restored = Deed {
        action: "restore".to_owned(),
        id: Some(id(3)),
        detail: "version @1".to_owned(),
        ..hidden.clone()
    };
    store
        .write_at(day(0), |tx| {
            tx.event(&hidden)?;
            tx.event(&restored)?;
            (0..1500).try_for_each(|_| tx.event(&shown))
        })
        .expect("written");
    prune(&mut store, 90, 20, day(1000)).expect("pruned");
    for kept in [1, 3] {
        assert_eq!(store.events_of(id(kept), 9).expect("rows").len(), 1);
    }
    assert_eq!(store.events_of(id(2), 9999).expect("rows").len(), 1000);
}

#[test]
fn the_log_and_the_guards_memory_do_not_grow_for_ever() {
    let mut store = memory();
    for at in [0, 100] {
        store
            .write_at(day(at), |tx| {
                tx.count_deletion(Side::Remote, false)?;
                tx.approve(Side::Remote, Digest::of_parts(&[b"an action"]))?;
                tx.tombstone(id(u8::try_from(at).expect("small")), &Revision::default())?;
                (0..1500).try_for_each(|_| {
                    tx.event(&Deed {
                        action: "update".to_owned(),
                        side: Side::Local,
                        path: format!("day/{at}"),
                        id: None,
                        detail: String::new(),
                    })
                })
            })
            .expect("written");
    }
    store
        .write_at(day(97), |tx| tx.tombstone(id(97), &Revision::default()))
        .expect("written");
    store
        .write_at(day(101), |tx| {
            tx.approve(Side::Remote, Digest::of_parts(&[]))
        })
        .expect("written");
    prune(&mut store, 90, 20, day(101)).expect("pruned");
    assert_eq!(
        store
            .deletions_since(day(0), Side::Remote)
            .expect("counted"),
        1
    );
    let is_buried = |at| {
        let buried = store.is_buried(id(at), &Revision::default());
        buried.expect("a row")
    };
    assert!(!is_buried(97) && is_buried(100));
    assert_eq!(store.events(9999, Some("day/0")).expect("rows").len(), 0);
    assert_eq!(store.events(9999, None).expect("rows").len(), 1500);
    assert!(store.has_parked_or_approved().expect("a row"));
    // The clock went back since this approval.
    store
        .write_at(day(2000), |tx| {
            tx.approve(Side::Remote, Digest::of_parts(&[]))
        })
        .expect("approved");
    // The newest thousand stay whatever their age.
    prune(&mut store, 90, 20, day(1000)).expect("pruned");
    assert!(!store.has_parked_or_approved().expect("a row"));
    assert_eq!(store.events(9999, None).expect("rows").len(), 1000);
}

/// One step of a life: a version is seen, agreed on, in conflict or in an unfinished request.
#[derive(Clone, Debug)]
enum Step {
    Seen(u8, u8, Option<u8>),
    Base(u8, u8, u8),
    Forget(u8),
    Conflict(u8, u8, u8),
    Settle(u8),
    Intend(u8),
    Done,
    Prune(u8, u8),
}

fn steps() -> impl Strategy<Value = Vec<(u8, Step)>> {
    let (article, body) = (0..3_u8, 0..10_u8);
    let step = prop_oneof![
        6 => (article.clone(), body.clone(), prop::option::of(0..2_u8))
            .prop_map(|(a, b, w)| Step::Seen(a, b, w)),
        2 => (article.clone(), body.clone(), body.clone()).prop_map(|(a, l, r)| Step::Base(a, l, r)),
        1 => article.clone().prop_map(Step::Forget),
        1 => (article.clone(), body.clone(), body.clone())
            .prop_map(|(a, l, r)| Step::Conflict(a, l, r)),
        1 => article.clone().prop_map(Step::Settle),
        1 => body.prop_map(Step::Intend),
        1 => Just(Step::Done),
        2 => (0..20_u8, 0..4_u8).prop_map(|(days, newest)| Step::Prune(days, newest)),
    ];
    prop::collection::vec((0..4_u8, step), 1..50)
}

fn intended(place: Place, version: Version) -> PendingRequest {
    let flags = Flags::default();
    PendingRequest::CreateArticle(Creation {
        request: 0,
        place,
        first: Sent { version, flags },
        later: Vec::new(),
        row: None,
        unclear: None,
    })
}

/// The bodies that any row names.
fn named(store: &Store) -> BTreeSet<TextDigest> {
    let mut named = BTreeSet::new();
    for row in store.articles().expect("rows") {
        named.extend([row.local.text, row.remote.text]);
    }
    for row in store.conflicts().expect("rows") {
        named.insert(row.local.text);
        named.extend(row.remote.map(|remote| remote.text));
    }
    for (_, pending) in store.pending_requests().expect("rows") {
        if let PendingRequest::CreateArticle(creation) = pending {
            named.insert(creation.first.version.text);
        }
    }
    for article in 0..3 {
        for kept in store.versions(&subject(article)).expect("rows") {
            named.insert(kept.seen.version.text);
            named.extend(kept.seen.file);
        }
    }
    named
}

fn take(store: &mut Store, at: u16, step: &Step) {
    let place = Place::new("start", "install.html");
    match *step {
        Step::Seen(article, body, whole) => record(store, at, article, body, whole),
        Step::Base(article, local, remote) => store
            .write_at(day(at), |tx| {
                tx.put_body(&text(local))?;
                tx.put_body(&text(remote))?;
                tx.put_article(&base(article, local, remote))
            })
            .expect("written"),
        Step::Forget(article) => store
            .write_at(day(at), |tx| tx.remove_article(id(article)))
            .expect("written"),
        Step::Conflict(article, local, remote) => store
            .write_at(day(at), |tx| {
                tx.put_body(&text(local))?;
                tx.put_body(&text(remote))?;
                tx.put_conflict(&ConflictRow {
                    id: id(article),
                    place,
                    local: version(local),
                    remote: Some(version(remote)),
                    revision: Revision::default(),
                    copy: None,
                    reason: String::new(),
                    at: day(at),
                })
            })
            .expect("written"),
        Step::Settle(article) => store
            .write_at(day(at), |tx| tx.remove_conflict(id(article)))
            .expect("written"),
        Step::Intend(body) => store
            .write_at(day(at), |tx| {
                tx.put_body(&text(body))?;
                tx.add_pending_request(&intended(place, version(body)))
                    .map(drop)
            })
            .expect("written"),
        Step::Done => {
            let first: Option<RequestId> = store
                .pending_requests()
                .expect("rows")
                .first()
                .map(|(id, _)| *id);
            store
                .write_at(day(at), |tx| {
                    first.map_or(Ok(()), |id| tx.end_pending_request(id))
                })
                .expect("written");
        }
        Step::Prune(days, newest) => {
            prune(store, u32::from(days), u32::from(newest), day(at)).expect("pruned");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_named_body_is_never_lost(steps in steps()) {
        let mut store = memory();
        let mut at = 0_u16;
        for (days, step) in &steps {
            at += u16::from(*days);
            let before: Vec<_> = (0..3).map(|a| store.versions(&subject(a)).expect("rows")).collect();
            let protected: BTreeSet<_> = store.articles().expect("rows").iter()
                .flat_map(|row| [row.local.digest(), row.remote.digest()]).collect();
            take(&mut store, at, step);
            for digest in named(&store) {
                prop_assert!(store.body(digest).expect("a body").is_some(), "{digest} after {step:?}");
            }
            let Step::Prune(days, newest) = *step else { continue };
            for (article, before) in (0_u8..).zip(before) {
                let after = numbers(&store, article);
                for (rank, kept) in before.iter().enumerate() {
                    let young = kept.at >= day(at).before(i64::from(days) * Timestamp::DAY);
                    let must_stay = young
                        || rank < usize::from(newest.max(1))
                        || protected.contains(&kept.seen.version.digest());
                    prop_assert!(!must_stay || after.contains(&kept.number), "{kept:?}");
                }
            }
        }
        // In the end no body is left that no row names; a pending request keeps all.
        let pending = store.pending_requests().expect("rows");
        let mut pending = pending.into_iter();
        store
            .write_at(day(at), |tx| pending.try_for_each(|(id, _)| tx.end_pending_request(id)))
            .expect("written");
        for body in 0..10 {
            store.write_at(day(at), |tx| tx.remove_meta("pruned_at")).expect("written");
            prune(&mut store, 0, 1, day(at + 3)).expect("pruned");
            let digest = TextDigest::of(&text(body));
            prop_assert_eq!(has(&store, body), named(&store).contains(&digest));
        }
    }
}
