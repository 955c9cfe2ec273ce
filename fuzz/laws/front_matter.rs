//! Files: what is read is written back as it was, and an edit touches only what it is about.

use kbsync::mirror::document::{Changes, Document};
use kbsync::model::{ArticleId, Flags};
use uuid::Uuid;

/// A file that cannot be read says where; one that can survives edits.
pub(crate) fn hold(bytes: &[u8]) {
    let document = match Document::parse_leniently(bytes) {
        Ok(document) => document,
        Err(problem) => {
            let lines = bytes.split(|&byte| byte == b'\n').count();
            let line = problem.line.unwrap_or(1);
            assert!(
                line >= 1 && line <= lines + 1,
                "line {line} of {lines}: {problem}"
            );
            return;
        }
    };
    assert_eq!(document.source().as_bytes(), bytes);
    assert_eq!(document.edit(&Changes::default()), document.source());
    let same = all_of(&document);
    assert_eq!(
        document.edit(&same),
        document.source(),
        "an edit to equal values"
    );
    composed(&same);
    for changes in edits() {
        edited(&document, &changes);
    }
    let without = read(&document.without_id());
    assert_eq!(without.id(), None);
    assert_eq!(without.text(), document.text());
    assert_eq!(without.title(), document.title());
}

/// What a new file is made of is what is read from it.
fn composed(changes: &Changes) {
    let composed = read(&Document::compose(changes));
    let mut again = all_of(&composed);
    // A file with CRLF has LF in its text: what is composed has what the text had.
    again.id = again.id.or(changes.id);
    assert_eq!(&again, changes, "composed and read again");
}

/// Everything that was not changed is as it was.
fn edited(document: &Document, changes: &Changes) {
    let file = document.edit(changes);
    let after = read(&file);
    let mut expected = all_of(document);
    let wanted = changes.clone();
    expected.id = wanted.id.or(expected.id);
    expected.title = wanted.title.or(expected.title);
    expected.slug = wanted.slug.or(expected.slug);
    expected.enabled = wanted.enabled.or(expected.enabled);
    expected.draft = wanted.draft.or(expected.draft);
    expected.introtext = wanted.introtext.or(expected.introtext);
    expected.keywords = wanted.keywords.or(expected.keywords);
    expected.text = wanted.text.or(expected.text);
    assert_eq!(all_of(&after), expected, "after {changes:?}:\n{file}");
    assert_eq!(after.edit(changes), file, "the same edit once more");
}

fn edits() -> Vec<Changes> {
    let none = Changes::default();
    let awkward = "no: #1 'a' \"b\" \\ \u{1F600} - 012";
    vec![
        Changes {
            id: Some(Uuid::from_u128(0x5d0c_3c1e)),
            ..none.clone()
        },
        Changes {
            title: Some(awkward.to_owned()),
            enabled: Some(Some(false)),
            ..none.clone()
        },
        Changes {
            slug: Some(None),
            draft: Some(None),
            introtext: Some(String::new()),
            keywords: Some(String::new()),
            ..none.clone()
        },
        Changes {
            slug: Some(Some("a-b".to_owned())),
            introtext: Some(awkward.to_owned()),
            keywords: Some("no".to_owned()),
            ..none.clone()
        },
        Changes {
            text: Some("---\ntitle: not this\n---\n".to_owned()),
            ..none.clone()
        },
        Changes {
            text: Some(String::new()),
            draft: Some(Some(true)),
            ..none
        },
    ]
}

fn all_of(document: &Document) -> Changes {
    let Flags { enabled, draft } = document.flags();
    Changes {
        id: document.id().map(ArticleId::uuid),
        title: Some(document.title().to_owned()),
        slug: Some(document.slug().map(str::to_owned)),
        enabled: Some(enabled),
        draft: Some(draft),
        introtext: Some(document.introtext().to_owned()),
        keywords: Some(document.keywords().to_owned()),
        text: Some(document.text().to_owned()),
        ..Changes::default()
    }
}

fn read(file: &str) -> Document {
    match Document::parse_leniently(file.as_bytes()) {
        Ok(document) => document,
        Err(problem) => panic!("what was written cannot be read: {problem}\n{file}"),
    }
}
