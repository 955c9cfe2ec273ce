//! Temporary addresses: an article has one for a moment, so that addresses can change in a circle, and gets its own
//! back.
//!
//! The temporary slug alone tells the slug before: a run that was killed in between, or could not go on, leaves nothing
//! else behind that is certain to be there. No person wrote a temporary slug, so it never goes into a file; while the
//! service has one, the file's slug, or else the one before, is owed to the article.

use super::change::ThreeWay;
use super::plan::Settle;
use super::snapshot::LocalFile;
use crate::model::{Digest, Field, Version};
use uuid::Uuid;

/// So long may a slug be (`docs/api.md`, A8.2), and so long is the mark with its hyphen.
const LONGEST: usize = 255;
const MARK: usize = 9;

/// A slug that nobody else has, and that tells the one before.
pub(super) fn temporary(slug: &str, id: Uuid) -> String {
    let before = original(slug, id).unwrap_or(slug);
    let stem: String = before.chars().take(LONGEST - MARK).collect();
    format!("{stem}-{}", mark(id))
}

/// The slug before, of one that is the temporary one of just this article.
pub(super) fn original(slug: &str, id: Uuid) -> Option<&str> {
    let (stem, end) = slug.split_at_checked(slug.len().checked_sub(MARK)?)?;
    let marked = end.strip_prefix('-')?;
    // Hardly any slug looks like one, and a digest of every id in every cycle is worth avoiding.
    let looks_like_it = !stem.is_empty() && marked.bytes().all(|byte| byte.is_ascii_hexdigit());
    (looks_like_it && marked == mark(id)).then_some(stem)
}

fn mark(id: Uuid) -> String {
    let mut mark = Digest::of_parts(&[id.as_bytes()]).to_string();
    mark.truncate(MARK - 1);
    mark
}

/// An article whose address is a temporary one gets the address that its file asks for.
pub(super) fn give_back(way: &mut ThreeWay<Version>, file: &LocalFile, seen_slug: &str, id: Uuid) {
    let Some(before) = original(seen_slug, id) else {
        return;
    };
    let written = file.version.slug.as_str();
    let wish = if written == seen_slug {
        before
    } else {
        written
    };
    let other = |field: &Field| *field != Field::Slug;
    way.pulled.retain(other);
    way.pushed.retain(other);
    way.agreed.retain(other);
    way.clashes.retain(|(field, _)| other(field));
    if wish != written {
        way.pulled.push(Field::Slug);
    }
    way.pushed.push(Field::Slug);
    wish.clone_into(&mut way.merged.slug);
    seen_slug.clone_into(&mut way.unsent.slug);
}

/// A file that is made for an article under a temporary address has the one before, which is sent.
pub(super) fn give_back_alone(settle: &mut Settle, pushes: bool) {
    let seen = &settle.seen.version.slug;
    if let Some(before) = original(seen, settle.id.uuid()) {
        before.clone_into(&mut settle.file.slug);
        settle.send.extend(pushes.then_some(Field::Slug));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_slug_tells_the_one_before_to_its_owner_alone() {
        let (id, other) = (Uuid::from_u128(7), Uuid::from_u128(8));
        for slug in ["a", "a-b", "über-uns", &"x".repeat(246)] {
            let temporary = temporary(slug, id);
            assert_ne!(temporary, *slug);
            assert!(temporary.chars().count() <= LONGEST, "{temporary}");
            assert_eq!(original(&temporary, id), Some(slug));
            assert_eq!(original(&temporary, other), None, "{temporary}");
            assert_eq!(original(slug, id), None, "{slug}");
            // An article that steps aside twice is still recognised by its first slug.
            assert_eq!(super::temporary(&temporary, id), temporary);
        }
        assert_eq!(original(&format!("-{}", mark(id)), id), None);
    }
}
