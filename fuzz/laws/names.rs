//! Names: whatever the service calls an article, its file stays in its folder and finds back.

use kbsync::model::path::{
    fold, ignored_name, readable, safe_stem, slug_of_stem, slugify, stem_for,
};
use uuid::Uuid;

/// A slug, a title, the name of a folder: all of them are only text.
pub(crate) fn hold(bytes: &[u8]) {
    let Ok(slug) = std::str::from_utf8(bytes) else {
        return;
    };
    let id = Uuid::from_u128(0x5d0c_3c1e_8a37_4c8e_9b1c_6a8f_0a1f_2b3c);
    let stem = stem_for(slug, id, &|_| false);
    stays_inside(&stem);
    let other = stem_for(slug, id, &|name| name == fold(&stem));
    assert_ne!(
        fold(&other),
        fold(&stem),
        "a name that is taken is given again"
    );
    stays_inside(&other);
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
    assert_eq!(ignored_name(&file), None, "{file:?} would be ignored");
}
