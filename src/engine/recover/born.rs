//! What a POST without an answer may have made: the article is looked for among those that nobody knew.

use super::Verdict;
use super::written::is_out_of_sight;
use crate::engine::apply::same;
use crate::engine::observe::Sight;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::html::{is_blank, units};
use crate::model::{ArticleId, Flags, Place, Revision, TextDigest, Version};
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, Policy, Remote, Seen};
use crate::state::store::Store;
use crate::state::{Intent, IntentId};
use std::collections::BTreeSet;

/// A POST without an answer: what it made is found, may still be found, or will be sent again.
pub(super) fn posted(
    base: &Base,
    sight: &Sight,
    intent: &Intent,
    alike: &Alike,
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
    let found = born(base, sight, version, alike);
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
    let unseen = is_out_of_sight(sight, place) || sight.local.unposted.contains(place);
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

/// The article that a POST without an answer made: the one at the address, or one that a colleague has given
/// another address since. Nobody knew it before, and no file names it.
fn born<'a>(
    base: &'a Base,
    sight: &'a Sight,
    version: &Version,
    alike: &Alike,
) -> Option<(ArticleId, &'a Seen)> {
    let named = |id: &ArticleId| sight.local.files.iter().any(|file| file.id == Some(*id));
    let at_home = |(_, seen): &(ArticleId, &Seen)| lies_at(version, &seen.version);
    let moved = |(id, seen): &(ArticleId, &Seen)| {
        let said = version.same_words(&seen.version);
        let alike_said = said || alike.texts.contains(&(version.text, *id));
        alike_said && !named(id) && !alike.at_home.contains(id)
    };
    // Under another title as well, it is the only one that has the text.
    let retitled = |(id, seen): &(ArticleId, &Seen)| {
        let same = version.text == seen.version.text && sight.local.telling.contains(&version.text);
        same && !named(id) && !alike.at_home.contains(id)
    };
    let only = || {
        let mut found = strangers(base, sight).filter(retitled);
        let first = found.next().filter(|_| found.next().is_none());
        let mut rows = base.articles.values();
        first.filter(|_| rows.all(|row| row.local.text != version.text))
    };
    strangers(base, sight)
        .find(at_home)
        .or_else(|| strangers(base, sight).find(moved))
        .or_else(only)
}

/// Listed articles that the base does not know.
fn strangers<'a>(base: &'a Base, sight: &'a Sight) -> impl Iterator<Item = (ArticleId, &'a Seen)> {
    let listed = sight.remote.articles.iter();
    listed.filter_map(|(id, entry)| match entry {
        Remote::Present(seen) if !base.articles.contains_key(id) => Some((*id, seen)),
        Remote::Present(_) | Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_) => None,
    })
}

/// Which of the listed strangers may be what an earlier run posted.
#[derive(Default)]
pub(super) struct Alike {
    /// Bodies that were sent, and articles that have most of them.
    texts: BTreeSet<(TextDigest, ArticleId)>,
    /// Articles that lie where something was posted to, with the title or the text that was sent: no other file's.
    at_home: BTreeSet<ArticleId>,
}

/// Articles that a colleague may have edited, and given another address, since an answer was lost, or that the
/// service rewrote: they have the title that was sent, and most of the text.
pub(super) fn alike(
    store: &Store,
    base: &Base,
    sight: &Sight,
    intents: &[(IntentId, Intent)],
) -> anyhow::Result<Alike> {
    let mut alike = Alike::default();
    let sent = intents.iter().filter_map(|(_, intent)| {
        let Intent::CreateArticle { version, .. } = intent else {
            return None;
        };
        Some(version)
    });
    for version in sent {
        for (id, seen) in strangers(base, sight) {
            let words = &seen.version;
            if lies_at(version, words) {
                alike.at_home.insert(id);
            }
            if !same(&version.title, &words.title) {
                continue;
            }
            let sent = sight.spool.text(store, version.text)?;
            let found = sight.spool.text(store, words.text)?;
            if let (Some(sent), Some(found)) = (sent, found)
                && has_most_of(&found, &sent)
            {
                alike.texts.insert((version.text, id));
            }
        }
    }
    Ok(alike)
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

/// Returns whether more than half of a text stands in another one.
fn has_most_of(found: &str, sent: &str) -> bool {
    let found: BTreeSet<&str> = units(found).into_iter().collect();
    let mut sent = units(sent);
    sent.retain(|unit| !is_blank(unit));
    let kept = sent.iter().filter(|unit| found.contains(*unit)).count();
    kept * 2 > sent.len()
}

/// Returns whether a new file is what was posted from this place, or from one where nothing lies any more. One that has
/// its words may be it even where another file lies there by now, if that one is not as it was sent.
pub(in crate::engine) fn is_posted(
    local: &LocalSnapshot,
    (place, version): (&Place, &Version),
    (from, sent): (&Place, &Version),
) -> bool {
    let text = version.text;
    let same_text = sent.text == text && local.telling.contains(&text);
    let said = same_text || local.akin.contains(&(sent.text, text));
    let mut there = local.files.iter().filter(|file| file.place == *from);
    let has_left =
        place == from || there.all(|file| said && !is_same_text(sent.text, file.version.text));
    has_left && (said || same(&version.title, &sent.title))
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
        asked: None,
    }
}
