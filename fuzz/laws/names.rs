//! Names: whatever the service calls an article, its file stays in its folder and finds back.
//!
//! Where a name leads is asked of the standard library and of a list of traps that the code does not know.

use kbsync::model::path::{fold, is_ignored, readable, safe_stem, slug_of_stem, slugify, stem_for};
use std::path::{Component, Path};
use uuid::Uuid;

/// A slug, a title, the name of a folder: all of them are only text.
pub(crate) fn hold(bytes: &[u8]) {
    let Ok(slug) = std::str::from_utf8(bytes) else {
        return;
    };
    let id = Uuid::from_u128(0x5d0c_3c1e_8a37_4c8e_9b1c_6a8f_0a1f_2b3c);
    let stem = stem_for(slug, id, &|_| false);
    stays_inside(&stem);
    leads_to(&stem);
    let other = stem_for(slug, id, &|name| name == fold(&stem));
    assert_ne!(
        fold(&other),
        fold(&stem),
        "a name that is taken is given again"
    );
    stays_inside(&other);
    leads_to(&other);
    if safe_stem(slug) {
        assert_eq!(stem, slug);
        let back = slug_of_stem(slug).map_err(|problem| problem.to_string());
        assert!(
            back == Ok(slug.to_owned()) || slug.chars().count() > 255,
            "{back:?}"
        );
    } else {
        assert_ne!(stem, slug);
    }
    let folded = fold(slug);
    assert_eq!(fold(&folded), folded, "folding twice");
    assert_eq!(fold(&slug.to_lowercase()), folded);
    let made = slugify(slug);
    assert!(safe_stem(&made), "{made:?} is no safe name");
    if !slug.is_empty() {
        assert!(!readable(slug).is_empty());
    }
    match slug_of_stem(slug) {
        Ok(slug) => assert!(!slug.contains(['/', '\\', '\0']), "{slug:?}"),
        Err(problem) => assert!(safe_stem(&problem.proposal), "{problem}"),
    }
}

fn stays_inside(stem: &str) {
    let file = format!("{stem}.html");
    assert!(
        !stem.is_empty() && file.len() <= 255,
        "{} bytes",
        file.len()
    );
    assert!(
        !file.contains(['/', '\\', '\0', ':', '*', '?', '"', '<', '>', '|']),
        "{file:?}"
    );
    assert!(!file.chars().any(char::is_control), "{file:?}");
    assert!(
        !stem.starts_with('.') && !stem.ends_with(['.', ' ']),
        "{stem:?}"
    );
    assert!(!is_ignored(&file), "{file:?} would be ignored");
}

/// A category and an article of that name lie where they are meant to: resolved, the path has these two names
/// below the mirror and nothing else, here and on systems with other rules.
fn leads_to(stem: &str) {
    let (folder, file) = (stem, format!("{stem}.html"));
    let mirror = Path::new("/home/writer/mirror");
    let path = mirror.join(folder).join(&file);
    let below = path.strip_prefix(mirror).expect("below the mirror");
    let names = [folder, &file].map(|name| Component::Normal(name.as_ref()));
    assert!(below.components().eq(names), "{stem:?} leads elsewhere");
    for name in [folder, &file] {
        traps(name);
    }
}

/// What some system takes for something else than a file of this name.
fn traps(name: &str) {
    // Marks without width: a Mac's file system does not see them, and a reader does not.
    let unseen = |c: char| {
        matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
        ) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    assert!(!name.chars().any(unseen), "{name:?} has more than it shows");
    let lower = name.to_lowercase();
    for private in [
        ".git",
        ".kbsync",
        "git~1",
        "kbsync.yaml",
        "_category.yaml",
        ".kbsyncignore",
    ] {
        assert_ne!(lower, private);
    }
    // Windows: a device whatever follows the first dot; no dot or blank at the end.
    let device = lower.split('.').next().unwrap_or_default().trim_end();
    assert!(!DEVICES.contains(&device), "{name:?} is a device");
    assert_eq!(name.trim_end_matches(['.', ' ']), name);
}

const DEVICES: [&str; 28] = [
    "con",
    "prn",
    "aux",
    "nul",
    "com1",
    "com2",
    "com3",
    "com4",
    "com5",
    "com6",
    "com7",
    "com8",
    "com9",
    "com\u{b9}",
    "com\u{b2}",
    "com\u{b3}",
    "lpt1",
    "lpt2",
    "lpt3",
    "lpt4",
    "lpt5",
    "lpt6",
    "lpt7",
    "lpt8",
    "lpt9",
    "lpt\u{b9}",
    "lpt\u{b2}",
    "lpt\u{b3}",
];
