//! A plan is a value: `cargo run --example plan_only`.
//!
//! Reconciling is a pure function of what was seen on both sides and of what they last agreed on. Nothing
//! here reads a file or sends a request.

use kbsync::model::{CategoryId, CategoryVersion, Flags, Place, Revision, TextDigest, Version};
use kbsync::reconcile::pairing::pair;
use kbsync::reconcile::snapshot::{
    Base, Bodies, Direction, LocalCategory, LocalFile, LocalSnapshot, OnConflict, Policy,
    RemoteSnapshot,
};
use kbsync::reconcile::{World, reconcile};
use std::collections::{BTreeMap, BTreeSet};

#[expect(clippy::print_stdout, reason = "it is what an example is for")]
fn main() {
    let category = CategoryId::new(uuid::Uuid::from_u128(1));
    let words = CategoryVersion {
        name: "Billing".into(),
        slug: "billing".into(),
        ..CategoryVersion::default()
    };
    let version = Version {
        title: "Refunds".into(),
        slug: "refunds".into(),
        category,
        introtext: String::new(),
        keywords: String::new(),
        text: TextDigest::of("<p>Money back.</p>"),
    };
    // The mirror has a folder with one new file; the service has the category and no article.
    let place = Place::new("billing", "refunds.html");
    let file = LocalFile {
        place,
        id: None,
        version,
        flags: Flags::default(),
    };
    let folder = LocalCategory {
        folder: "billing".into(),
        id: Some(category),
        version: Some(words.clone()),
    };
    let local = LocalSnapshot {
        files: vec![file],
        categories: vec![folder],
        complete: true,
        ..LocalSnapshot::default()
    };
    let remote = RemoteSnapshot {
        categories: BTreeMap::from([(category, (words, Revision("1".into())))]),
        complete: true,
        ..RemoteSnapshot::default()
    };
    let policy = Policy {
        direction: Direction::Both,
        on_conflict: OnConflict::Hold,
        scope: Vec::new(),
        new_enabled: true,
        new_draft: false,
        resolve: BTreeMap::new(),
        wanted_categories: BTreeSet::new(),
    };
    let (base, bodies) = (Base::default(), Bodies::new());
    let paired = pair(&base, &local, &remote);
    let world = World {
        base: &base,
        local: &local,
        paired: &paired,
        remote: &remote,
        bodies: &bodies,
        policy: &policy,
    };
    let plan = reconcile(world);
    print!("{plan}");
    assert_eq!(plan.to_string(), "-> create billing/refunds.html\n");
}
