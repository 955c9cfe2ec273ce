//! The store's tests: opening, rows, versions.

mod at_rest;
mod opening;
mod rows;
mod versions;

use crate::{
    model::{
        ArticleId, CategoryId, Digest, Flags, Place, Revision, Side, Stamp, TextDigest, Timestamp,
        Version, WorkspaceId,
    },
    state::{ArticleRow, Binding, SeenVersion, Store, Subject, Visibility},
};
use uuid::Uuid;

pub(super) const NOW: Timestamp = Timestamp(1_767_225_600_000);

pub(super) fn binding() -> Binding {
    Binding {
        service: "https://kb.example.com".to_owned(),
        workspace: WorkspaceId::new(Uuid::from_u128(1)),
    }
}

pub(super) fn memory() -> Store {
    Store::in_memory(&binding()).expect("a store")
}

pub(super) fn id(number: u128) -> ArticleId {
    ArticleId::new(Uuid::from_u128(number))
}

pub(super) fn later(seconds: i64) -> Timestamp {
    NOW.before(-1000 * seconds)
}

pub(super) fn version(text: &str) -> Version {
    Version {
        title: "Install the agent".to_owned(),
        slug: "install".to_owned(),
        category: CategoryId::new(Uuid::from_u128(7)),
        introtext: String::new(),
        keywords: "install, agent".to_owned(),
        text: TextDigest::of(text),
    }
}

pub(super) fn article(number: u128) -> ArticleRow {
    ArticleRow {
        id: id(number),
        place: Place::new("start", format!("{number}.html")),
        local: version("<p>ours</p>"),
        remote: version("<p>ours</p>"),
        revision: Revision("2026-01-01".to_owned()),
        file_flags: Flags::default(),
        remote_flags: Flags {
            enabled: Some(true),
            draft: Some(false),
        },
        visibility: Visibility::Published,
        stamp: Some(Stamp {
            size: 12,
            mtime: 1,
            ctime: -2,
            inode: u64::MAX,
        }),
        superseded: vec![
            (Digest::of_parts(&[b"x"]), Revision("2025".to_owned())),
            (Digest::of_parts(&[b"w"]), Revision("2024".to_owned())),
        ],
        written: Some(Revision("2026".to_owned())),
    }
}

pub(super) fn seen(subject: &Subject, side: Side, text: &str) -> SeenVersion {
    SeenVersion {
        subject: subject.clone(),
        place: Place::new("start", "install.html"),
        side,
        cause: "edited".to_owned(),
        version: version(text),
        file: None,
    }
}
