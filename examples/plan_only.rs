//! A plan is a value: `cargo run --example plan_only`.
//!
//! Reconciling is a pure function of both sides and their base: no file, no request.

use kbsync::model::{CategoryId, CategoryVersion, Flags, Place, Revision, TextDigest, Version};
use kbsync::reconcile::snapshot::{
    Base, Bodies, Direction, LocalCategory, LocalFile, LocalSnapshot, OnConflict, Policy,
    RemoteSnapshot,
};
use kbsync::reconcile::{World, pairing::pair, reconcile};
use std::collections::BTreeMap;

#[expect(clippy::print_stdout, reason = "it is what an example is for")]
fn main() {
    // The mirror has a folder with one new file; the service has the category, and no article.
    let category = CategoryId::new(uuid::Uuid::from_u128(1));
    let words = CategoryVersion {
        slug: "billing".to_owned(),
        ..CategoryVersion::default()
    };
    let version = Version {
        title: "Refunds".to_owned(),
        slug: "refunds".to_owned(),
        category,
        introtext: String::new(),
        keywords: String::new(),
        text: TextDigest::of("<p>Money back.</p>"),
    };
    let (place, flags) = (Place::new("billing", "refunds.html"), Flags::default());
    let (folder, id) = ("billing".to_owned(), Some(category));
    let local = LocalSnapshot {
        files: vec![LocalFile {
            place,
            id: None,
            version,
            flags,
        }],
        categories: vec![LocalCategory {
            folder,
            id,
            version: Some(words.clone()),
        }],
        complete: true,
        ..LocalSnapshot::default()
    };
    let remote = RemoteSnapshot {
        categories: BTreeMap::from([(category, (words, Revision::default()))]),
        complete: true,
        ..RemoteSnapshot::default()
    };
    let policy = Policy::new(Direction::Both, OnConflict::Hold);
    let (base, bodies) = (Base::default(), Bodies::new());
    let paired = pair(&base, &local, &remote);
    let plan = reconcile(World {
        out_of_reach: &|_| false,
        base: &base,
        local: &local,
        paired: &paired,
        remote: &remote,
        bodies: &bodies,
        policy: &policy,
    });
    let actions = plan.actions.iter();
    let lines: Vec<_> = actions
        .map(|action| format!("{} {}", action.kind.word(), action.path))
        .collect();
    println!("{}", lines.join("\n"));
    assert_eq!(lines, ["create billing/refunds.html"]);
}
