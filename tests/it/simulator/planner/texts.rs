//! The texts for the numbers of a small world, in both directions.

use super::words::{UNTRIMMED, Words};
use kbsync::model::{ArticleId, CategoryId, Flags, Place, TextDigest, Version};
use kbsync::reconcile::snapshot::Bodies;
use std::sync::LazyLock;
use uuid::Uuid;

/// The largest number of articles in a world.
pub(super) const MOST: usize = 8;

static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
    let texts = (0..MOST * 64).map(|number| text(number / 64, body(number % 64)));
    texts
        .map(|text| (TextDigest::of(&text), text.into()))
        .collect()
});

/// The digests, by article and body.
static DIGESTS: LazyLock<Vec<TextDigest>> = LazyLock::new(|| {
    let texts = (0..MOST * 64).map(|number| text(number / 64, body(number % 64)));
    texts.map(|text| TextDigest::of(&text)).collect()
});

/// The indices in [`DIGESTS`], by a digest's first two bytes.
static BACK: LazyLock<Vec<Vec<u16>>> = LazyLock::new(|| {
    let mut back = vec![Vec::new(); 1 << 16];
    for (number, digest) in (0_u16..).zip(DIGESTS.iter()) {
        back[start(digest)].push(number);
    }
    back
});

fn start(digest: &TextDigest) -> usize {
    let [one, two, ..] = *digest.as_bytes();
    usize::from(one) << 8 | usize::from(two)
}

fn body(number: usize) -> [u8; 3] {
    [number / 16, number / 4 % 4, number % 4].map(|value| u8::try_from(value).expect("small"))
}

fn text(slot: usize, body: [u8; 3]) -> String {
    let letter = letter(slot);
    let [one, two, three] = body;
    format!(
        "<h1>{letter} {one}</h1>\n<p>{letter} reads {two}</p>\n<ul><li>{letter} ends {three}</li></ul>"
    )
}

fn letter(slot: usize) -> char {
    char::from(b'A' + u8::try_from(slot).expect("a small number"))
}

/// Every body of every small world.
pub(super) fn bodies() -> &'static Bodies {
    &BODIES
}

pub(super) fn category(number: u8) -> CategoryId {
    CategoryId::new(Uuid::from_u128(
        0xcccc_cccc_0000_4000_8000_0000_0000_0000 + u128::from(number),
    ))
}

pub(super) fn article(number: usize) -> ArticleId {
    ArticleId::new(Uuid::from_u128(
        0x1111_1111_0000_4000_8000_0000_0000_0000 + ((number as u128) << 100),
    ))
}

pub(super) fn folder(category: u8) -> &'static str {
    ["f", "g", "h"][usize::from(category)]
}

/// Returns the place for an address.
pub(super) fn place(category: u8, name: u8) -> Place {
    Place::new(folder(category), format!("s{name}.html"))
}

pub(super) fn version(slot: usize, words: Words) -> Version {
    let mut title = String::with_capacity(4);
    title.push(letter(slot));
    title.push(char::from(
        b'0' + if words.title == UNTRIMMED {
            0
        } else {
            words.title
        },
    ));
    if words.title == UNTRIMMED {
        title.push('!');
    }
    let [one, two, three] = words.body.map(usize::from);
    Version {
        title,
        slug: format!("s{}", words.at.1),
        category: category(words.at.0),
        introtext: String::new(),
        keywords: String::new(),
        text: DIGESTS[slot * 64 + one * 16 + two * 4 + three],
    }
}

/// Returns `enabled` and `draft` as lines of a file, or as in a probe's answer.
pub(super) fn lines(hidden: u8) -> Flags {
    Flags {
        enabled: (hidden & super::words::DISABLED != 0).then_some(false),
        draft: (hidden & super::words::DRAFT != 0).then_some(true),
    }
}

/// Like [`lines`], with both values set.
pub(super) fn told(hidden: u8) -> Flags {
    Flags {
        enabled: Some(hidden & super::words::DISABLED == 0),
        draft: Some(hidden & super::words::DRAFT != 0),
    }
}

fn hidden(flags: Flags) -> u8 {
    let bit = |set: bool, bit| if set { bit } else { 0 };
    bit(flags.enabled == Some(false), super::words::DISABLED)
        | bit(flags.draft == Some(true), super::words::DRAFT)
}

/// Reads a version back: its article, and its words. `None`: nobody in this world wrote it.
pub(super) fn words(version: &Version, flags: Flags) -> Option<(usize, Words)> {
    let [first, digit, rest @ ..] = version.title.as_bytes() else {
        return None;
    };
    let title = match rest {
        [] => digit.checked_sub(b'0')?,
        [b'!'] if *digit == b'0' => UNTRIMMED,
        _ => return None,
    };
    let slot = usize::from(first.checked_sub(b'A')?);
    let mut found = BACK[start(&version.text)]
        .iter()
        .map(|number| usize::from(*number));
    let number = found.find(|number| DIGESTS[*number] == version.text)?;
    let (of, body) = (number / 64, body(number % 64));
    let folder = (0..3).find(|number| category(*number) == version.category)?;
    let slug = version.slug.strip_prefix('s')?.parse().ok()?;
    (of == slot).then_some((
        slot,
        Words {
            title,
            at: (folder, slug),
            body,
            hidden: hidden(flags),
        },
    ))
}
