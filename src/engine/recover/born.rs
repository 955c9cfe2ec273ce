//! What a POST without an answer may have made: the article is looked for at the address that was sent.
//!
//! One that a colleague gave another address is not found here: pairing holds its file, if its words are still equal.

use super::{Verdict, is_out_of_sight};
use crate::engine::apply::same;
use crate::engine::observe::Observation;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Flags, Place, Revision, TextDigest, Version};
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, Policy, Remote, Seen};
use crate::state::Intent;

/// A POST without an answer: what it made is found, may still be found, or will be sent again.
pub(super) fn posted(
    base: &Base,
    sight: &Observation,
    intent: &Intent,
    policy: &Policy,
) -> Verdict {
    let Intent::CreateArticle {
        place,
        version,
        flags,
        ..
    } = intent
    else {
        return Verdict::Void;
    };
    let found = born(base, sight, version);
    let gone = base
        .articles
        .values()
        .find(|row| row.place == *place && is_gone(base, row));
    // With an id that nobody else has, a person has said which article it is.
    let told_apart = |file: &LocalFile| file.id.is_some_and(|id| !base.articles.contains_key(&id));
    let mut files = sight.local.files.iter();
    let known = |file: &LocalFile| {
        let row = file.id.and_then(|id| base.articles.get(&id));
        row.is_some_and(|row| row.place == file.place && !is_gone(base, row))
    };
    let posted = (place, version);
    let waiting = files.find(|file| {
        let mine = file.place == *place
            || file.id.is_none() && is_posted(&sight.local, (&file.place, &file.version), posted);
        mine && !told_apart(file) && !known(file)
    });
    let settled = base.articles.values().any(|row| {
        let address = (row.remote.category, row.remote.slug.as_str());
        address == (version.category, &version.slug) && !is_gone(base, row)
    });
    let unseen = is_out_of_sight(sight, place);
    match found {
        Some((id, seen)) => {
            let now = waiting.map(|file| file.flags).unwrap_or_default();
            let row = ArticleRow {
                file_flags: said_when_sent(now, *flags, (policy.new_enabled, policy.new_draft)),
                ..newborn(id, place, version, *flags, seen)
            };
            Verdict::Born(Box::new(row), gone.map(|row| row.id))
        }
        // Perhaps it exists and cannot be seen: its slug tells, when it is sent again. Or the file cannot be seen now.
        None if !settled && (waiting.is_some() || unseen) => Verdict::Open,
        None => Verdict::Void,
    }
}

/// The article that a POST without an answer made: the one at its address, which the base does not know.
fn born<'a>(
    base: &Base,
    sight: &'a Observation,
    version: &Version,
) -> Option<(ArticleId, &'a Seen)> {
    let mut listed = sight.remote.articles.iter();
    listed.find_map(|(id, entry)| match entry {
        Remote::Present(seen)
            if !base.articles.contains_key(id) && lies_at(version, &seen.version) =>
        {
            Some((*id, seen))
        }
        Remote::Present(_) | Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
    })
}

/// Returns whether an article has the address that was sent, and the title or the text.
fn lies_at(sent: &Version, words: &Version) -> bool {
    words.category == sent.category
        && same(&sent.slug, &words.slug)
        && (same(&sent.title, &words.title) || is_same_text(sent.text, words.text))
}

/// Returns whether a text is what was sent; nothing is nobody's.
pub(in crate::engine) fn is_same_text(sent: TextDigest, found: TextDigest) -> bool {
    sent == found && sent != TextDigest::of("")
}

/// Returns whether a new file is what was posted: it lies where that one did, or nothing does any more and it has the
/// same title and text.
pub(in crate::engine) fn is_posted(
    local: &LocalSnapshot,
    (place, version): (&Place, &Version),
    (from, sent): (&Place, &Version),
) -> bool {
    let left = || local.files.iter().all(|file| file.place != *from);
    let same = (&version.title, version.text) == (&sent.title, sent.text);
    place == from || same && left()
}

/// An article that is gone from the service: its file is created anew in its place.
fn is_gone(base: &Base, row: &ArticleRow) -> bool {
    row.visibility == Visibility::Gone
        || base
            .conflicts
            .get(&row.id)
            .is_some_and(|conflict| conflict.remote.is_none())
}

/// What the base has of the flags of a file that was sent with `sent`, and has `now` by now: where it says what was
/// sent it has no new wish. `usual`: of `enabled` and `draft`, what a file without them wishes.
pub(in crate::engine) fn said_when_sent(now: Flags, sent: Flags, usual: (bool, bool)) -> Flags {
    let said = |now: Option<bool>, sent: Option<bool>, usual: bool| {
        if sent.is_none_or(|sent| now.unwrap_or(usual) == sent) {
            now
        } else {
            sent
        }
    };
    Flags {
        enabled: said(now.enabled, sent.enabled, usual.0),
        draft: said(now.draft, sent.draft, usual.1),
    }
}

/// What was sent is the base: whether the service rewrote it or a colleague did is not known.
fn newborn(
    id: ArticleId,
    place: &Place,
    version: &Version,
    flags: Flags,
    seen: &Seen,
) -> ArticleRow {
    // One that was sent hidden and is listed was published since: that is not our own write.
    let as_sent = seen.version == *version && !flags.hides();
    ArticleRow {
        id,
        place: place.clone(),
        local: version.clone(),
        local_text_lf: None,
        remote: version.clone(),
        revision: if as_sent {
            seen.revision.clone()
        } else {
            Revision::default()
        },
        file_flags: Flags::default(),
        remote_flags: flags,
        visibility: seen.visibility,
        stamp: None,
        replaced: None,
        earlier: Vec::new(),
        written: as_sent.then(|| seen.revision.clone()),
    }
}
