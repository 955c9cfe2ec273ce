//! After a crash: what was half done is finished in the books, or taken back (design, section 5, "Intents").
//!
//! An intent says what was about to happen. The two sides, as they are found now, say whether it did. Only
//! the base is corrected here; what is left to do follows from it as in any other cycle. Doing this twice
//! changes nothing.

use super::Engine;
use super::apply::{met, rows_along, same};
use super::observe::Sight;
use super::settings::Request;
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, CategoryRow, Visibility};
use crate::model::html::{is_blank, units};
use crate::model::{ArticleId, CategoryVersion, Flags, Place, Revision, TextDigest, Version, path};
use crate::reconcile::snapshot::{Base, LocalFile, LocalSnapshot, Remote, Seen};
use crate::service::Service;
use crate::state::store::{Store, Writing};
use crate::state::{Intent, IntentId, Seen as SeenVersion, Subject};
use anyhow::Context as _;
use std::collections::BTreeSet;

/// What an intent came to.
enum Verdict {
    /// It did not happen, or the sides tell all there is: the intent goes.
    Void,
    /// It happened: the base says so. What else was at the file's place is gone from the service.
    Born(Box<ArticleRow>, Option<ArticleId>),
    /// The article seems to be gone: should an old copy of it be shown, it is known for one.
    Deleted(ArticleId, Revision),
    /// It happened: the base says so.
    Article(Box<ArticleRow>),
    /// The same, and it settled the article's conflict.
    Settled(Box<ArticleRow>),
    /// It happened: the base says so.
    Category(Box<CategoryRow>),
    /// It cannot be told yet; it stays.
    Open,
}

/// Settles the intents that an earlier run left behind. `asked`: articles that are not in the listing were asked
/// for since, and only PUTs to these are settled now.
pub(super) fn settle_intents<S: Service, D: Disk>(
    engine: &mut Engine<S, D>,
    base: &mut Base,
    sight: &Sight,
    request: &Request,
    asked: Option<&BTreeSet<ArticleId>>,
) -> anyhow::Result<()> {
    let mut intents = engine.store.intents()?;
    if let Some(asked) = asked {
        let answered = |intent: &Intent| put_to(intent).is_some_and(|id| asked.contains(&id));
        intents.retain(|(_, intent)| answered(intent));
    }
    let now = engine.clock.now();
    let names = names_on_the_move(&intents);
    if !request.dry_run && intents.iter().any(|(_, intent)| writes_files(intent)) {
        // What an earlier run wrote and did not make durable could still be gone after a loss of power, and
        // then a base that knows it would take that for a removal.
        engine
            .disk
            .flush()
            .context("failed to make durable what an earlier run wrote")?;
    }
    let mut verdicts = Vec::with_capacity(intents.len());
    let mut met = Vec::new();
    let alike = alike(&engine.store, base, sight, &intents)?;
    for (id, intent) in intents {
        let verdict = judge(base, sight, &intent, &names, &alike);
        met.extend(first_met(base, sight, &intent, &verdict));
        let mut along = Vec::new();
        tracing::debug!(?intent, "an earlier run left this behind");
        match &verdict {
            Verdict::Article(row) => {
                base.articles.insert(row.id, (**row).clone());
            }
            Verdict::Settled(row) => {
                base.conflicts.remove(&row.id);
                base.articles.insert(row.id, (**row).clone());
            }
            Verdict::Born(row, instead_of) => {
                if let Some(old) = instead_of {
                    base.articles.remove(old);
                    base.conflicts.remove(old);
                }
                base.articles.insert(row.id, (**row).clone());
            }
            Verdict::Category(row) => {
                along = rows_along(base, sight, row);
                for row in &along {
                    base.articles.insert(row.id, row.clone());
                }
                base.categories.insert(row.id, (**row).clone());
            }
            Verdict::Void | Verdict::Open | Verdict::Deleted(..) => {}
        }
        verdicts.push((id, verdict, along));
    }
    if verdicts.is_empty() || request.dry_run {
        return Ok(());
    }
    // All at once: what one says of a file may rest on another that is still there.
    engine.store.write(now, |tx| {
        for (id, verdict, along) in &verdicts {
            write(tx, *id, verdict)?;
            along.iter().try_for_each(|row| tx.put_article(row))?;
        }
        met.iter().try_for_each(|seen| tx.record(seen).map(|_| ()))
    })?;
    engine.clear_copies()
}

/// The service's versions of an article that no base knew: when they were listed nobody knew whose history
/// they belong to. From now on it may count as known; or what an earlier run wrote of it is there no more.
fn first_met(base: &Base, sight: &Sight, intent: &Intent, verdict: &Verdict) -> Vec<SeenVersion> {
    let (id, place, then) = match (intent, verdict) {
        (Intent::WriteFile { id, to, remote, .. }, _) => (*id, to, remote),
        (_, Verdict::Article(row) | Verdict::Settled(row) | Verdict::Born(row, _)) => {
            (row.id, &row.place, &row.remote)
        }
        (_, Verdict::Void | Verdict::Deleted(..) | Verdict::Category(_) | Verdict::Open) => {
            return Vec::new();
        }
    };
    if base.articles.contains_key(&id) {
        return Vec::new();
    }
    let now = match sight.remote.articles.get(&id) {
        Some(Remote::Present(seen)) => Some(&seen.version),
        Some(Remote::Gone | Remote::NotVisible(_) | Remote::Unknown(_)) | None => None,
    };
    let versions = std::iter::once(then).chain(now);
    versions.map(|version| met(id, place, version)).collect()
}

fn write(tx: &mut Writing<'_>, id: IntentId, verdict: &Verdict) -> crate::state::Outcome<()> {
    match verdict {
        Verdict::Open => Ok(()),
        Verdict::Void => tx.remove_intent(id),
        Verdict::Article(row) => {
            tx.put_article(row)?;
            tx.remove_intent(id)
        }
        Verdict::Settled(row) => {
            tx.remove_conflict(row.id)?;
            tx.put_article(row)?;
            tx.remove_intent(id)
        }
        Verdict::Born(row, instead_of) => {
            if let Some(old) = *instead_of {
                tx.remove_article(old)?;
                tx.remove_conflict(old)?;
                tx.rename_subject(&Subject::Article(old), &Subject::Article(row.id))?;
            }
            tx.rename_subject(&Subject::File(row.place.clone()), &Subject::Article(row.id))?;
            tx.put_article(row)?;
            tx.remove_intent(id)
        }
        Verdict::Deleted(article, revision) => {
            tx.tombstone(*article, revision)?;
            tx.remove_intent(id)
        }
        Verdict::Category(row) => {
            tx.put_category(row)?;
            tx.remove_intent(id)
        }
    }
}

/// The article of a PUT.
pub(super) fn put_to(intent: &Intent) -> Option<ArticleId> {
    match intent {
        Intent::UpdateArticle { id, .. } => Some(*id),
        Intent::CreateArticle { .. }
        | Intent::DeleteArticle { .. }
        | Intent::CreateCategory { .. }
        | Intent::UpdateCategory { .. }
        | Intent::WriteFile { .. }
        | Intent::WriteCategory { .. }
        | Intent::RemoveFile { .. }
        | Intent::ClearCopy { .. } => None,
    }
}

/// Tells whether a step changes the mirror.
pub(super) fn writes_files(intent: &Intent) -> bool {
    match intent {
        Intent::WriteFile { .. }
        | Intent::WriteCategory { .. }
        | Intent::RemoveFile { .. }
        | Intent::ClearCopy { .. } => true,
        Intent::CreateArticle { .. }
        | Intent::UpdateArticle { .. }
        | Intent::DeleteArticle { .. }
        | Intent::CreateCategory { .. }
        | Intent::UpdateCategory { .. } => false,
    }
}

/// Names that files were about to leave or take.
fn names_on_the_move(intents: &[(IntentId, Intent)]) -> BTreeSet<Place> {
    intents
        .iter()
        .filter_map(|(_, intent)| match intent {
            Intent::WriteFile {
                from: Some(from),
                to,
                ..
            } if from != to => Some([from.clone(), to.clone()]),
            Intent::WriteFile { .. }
            | Intent::CreateArticle { .. }
            | Intent::UpdateArticle { .. }
            | Intent::DeleteArticle { .. }
            | Intent::CreateCategory { .. }
            | Intent::UpdateCategory { .. }
            | Intent::RemoveFile { .. }
            | Intent::ClearCopy { .. }
            | Intent::WriteCategory { .. } => None,
        })
        .flatten()
        .collect()
}

fn judge(
    base: &Base,
    sight: &Sight,
    intent: &Intent,
    names: &BTreeSet<Place>,
    alike: &Alike,
) -> Verdict {
    match intent {
        Intent::WriteFile { .. } => file_written(base, sight, intent, names),
        Intent::UpdateArticle { .. } => put_arrived(base, sight, intent),
        Intent::CreateArticle {
            place,
            version,
            flags,
            ..
        } => {
            let found = born(base, sight, version, alike);
            let gone = base
                .articles
                .values()
                .find(|row| row.place == *place && is_gone(base, row));
            // With an id that nobody else has, a person has said which article it is.
            let told_apart =
                |file: &LocalFile| file.id.is_some_and(|id| !base.articles.contains_key(&id));
            let mut files = sight.local.files.iter();
            let known = |file: &LocalFile| {
                let row = file.id.and_then(|id| base.articles.get(&id));
                row.is_some_and(|row| row.place == file.place && !is_gone(base, row))
            };
            let posted = (place, version);
            let waits = files.any(|file| {
                let mine = file.place == *place
                    || file.id.is_none()
                        && is_posted(&sight.local, (&file.place, &file.version), posted);
                mine && !told_apart(file) && !known(file)
            });
            let settled = base.articles.values().any(|row| {
                let address = (row.remote.category, row.remote.slug.as_str());
                address == (version.category, &version.slug) && !is_gone(base, row)
            });
            match found {
                Some((id, seen)) => {
                    let row = newborn(id, place, version, *flags, seen);
                    Verdict::Born(Box::new(row), gone.map(|row| row.id))
                }
                // Perhaps it exists and cannot be seen: its slug tells, when it is sent again.
                None if waits && !settled => Verdict::Open,
                None => Verdict::Void,
            }
        }
        Intent::CreateCategory { folder, .. } => {
            // It cannot be found through the API; the slug tells, when it is sent again.
            let waits = sight
                .local
                .categories
                .iter()
                .any(|category| category.folder == *folder && category.id.is_none());
            if waits { Verdict::Open } else { Verdict::Void }
        }
        Intent::WriteCategory { .. } => folder_written(base, sight, intent),
        Intent::DeleteArticle { id, revision } => {
            if sight.remote.complete && !sight.remote.articles.contains_key(id) {
                Verdict::Deleted(*id, revision.clone())
            } else {
                Verdict::Void
            }
        }
        // The copy is taken away when all else is settled.
        Intent::ClearCopy { .. } => Verdict::Open,
        // What became of these is seen on the two sides.
        Intent::RemoveFile { .. } | Intent::UpdateCategory { .. } => Verdict::Void,
    }
}

/// A file found with the values of the intent has the service's version of the intent as its base.
fn file_written(base: &Base, sight: &Sight, intent: &Intent, names: &BTreeSet<Place>) -> Verdict {
    let Intent::WriteFile {
        id,
        from,
        to,
        version,
        flags,
        only_flags,
        remote,
        revision,
        remote_flags,
        settles,
        made,
    } = intent
    else {
        return Verdict::Void;
    };
    let old = base.articles.get(id);
    // After a loss of power a file that was replaced may be the old one again; one that was made, or that names the
    // article only since then, is ours.
    let made = |file: &LocalFile| *made && old.is_none() && file.id == Some(*id);
    // A file that was written where it was lies elsewhere only because its writer moved it.
    let still = BTreeSet::new();
    let moving = from.as_ref().is_some_and(|from| from != to);
    let names = if moving { names } else { &still };
    let Some(file) = file_of(sight, *id, to, names)
        .filter(|file| file.version.same_words(version) || made(file))
    else {
        if let Some(row) = old.filter(|row| is_taken_back(sight, row, to, revision)) {
            return Verdict::Article(Box::new(ArticleRow {
                local: remote_words(version, old, remote),
                local_text_lf: None,
                remote: remote.clone(),
                revision: revision.clone(),
                stamp: None,
                ..row.clone()
            }));
        }
        return half_way(sight, old, from.as_ref(), to, names);
    };
    // Only `enabled` and `draft` were to change, and they are as they were: it was not written. Taken for
    // written, the old line would be a wish of the writer's, and undo what a colleague has hidden.
    let moved = from.as_ref() != Some(to) && file.place == *to;
    if *only_flags == Some(file.flags) && !moved {
        return Verdict::Void;
    }
    let visibility = if remote_flags.hides() {
        Visibility::Unpublished
    } else {
        Visibility::Published
    };
    let row = Box::new(ArticleRow {
        id: *id,
        place: to.clone(),
        local: remote_words(version, old, remote),
        local_text_lf: None,
        remote: remote.clone(),
        revision: revision.clone(),
        file_flags: *flags,
        remote_flags: *remote_flags,
        visibility,
        stamp: None,
        replaced: old.and_then(|row| row.replaced.clone()),
        written: old.and_then(|row| row.written.clone()),
        asked: old.and_then(|row| row.asked),
    });
    if *settles {
        Verdict::Settled(row)
    } else {
        Verdict::Article(row)
    }
}

/// A colleague took back what was being pulled, and the file was edited or removed: whether before or after the
/// pull was written cannot be told. Against the base of before, what the colleague did would not count at all.
fn is_taken_back(sight: &Sight, row: &ArticleRow, to: &Place, pulled: &Revision) -> bool {
    let Some(Remote::Present(seen)) = sight.remote.articles.get(&row.id) else {
        return false;
    };
    let edited = |file: &LocalFile| {
        file.id == Some(row.id) && file.place == row.place && !file.version.same_words(&row.local)
    };
    seen.version == row.remote
        && seen.revision != row.revision
        && seen.revision != *pulled
        && (sight.local.files.iter().any(edited) || is_missing(sight, row, to))
}

/// Tells whether nothing in the mirror is an article's file.
fn is_missing(sight: &Sight, row: &ArticleRow, to: &Place) -> bool {
    let files = sight.local.files.iter().map(|file| (&file.place, file.id));
    let unknown = sight.local.unknown.iter();
    files
        .chain(unknown.map(|unknown| (&unknown.place, unknown.id)))
        .all(|(place, id)| id != Some(row.id) && *place != row.place && place != to)
}

/// Files that were taking each other's names in a circle lie under each other's for a moment: no writer gave
/// such a name, so it counts as the one that the file had.
fn half_way(
    sight: &Sight,
    row: Option<&ArticleRow>,
    from: Option<&Place>,
    to: &Place,
    names: &BTreeSet<Place>,
) -> Verdict {
    let strayed = |file: &&LocalFile| {
        row.is_some_and(|row| file.id == Some(row.id))
            && Some(&file.place) != from
            && file.place != *to
            && names.contains(&file.place)
    };
    match (row, sight.local.files.iter().find(strayed)) {
        (Some(row), Some(file)) => Verdict::Article(Box::new(ArticleRow {
            place: file.place.clone(),
            local: Version {
                slug: file.version.slug.clone(),
                ..row.local.clone()
            },
            stamp: None,
            ..row.clone()
        })),
        (Some(_), None) | (None, _) => Verdict::Void,
    }
}

/// A PUT found as it was sent is the base for its fields.
fn put_arrived(base: &Base, sight: &Sight, intent: &Intent) -> Verdict {
    let Intent::UpdateArticle {
        id,
        version,
        fields,
        over,
        over_revision,
        enabled,
        ..
    } = intent
    else {
        return Verdict::Void;
    };
    let Some(row) = base.articles.get(id) else {
        return Verdict::Void;
    };
    let seen = match sight.remote.articles.get(id) {
        Some(Remote::Present(seen)) => seen,
        Some(Remote::Gone) => return Verdict::Void,
        // An unlisted article is asked for later in this cycle.
        Some(Remote::NotVisible(_) | Remote::Unknown(_)) | None => return Verdict::Open,
    };
    // An old copy from before an earlier write of ours may happen to say the same, and says nothing of this one.
    let old = (seen.version.digest(), seen.revision.clone());
    if row.replaced.as_ref() == Some(&old) {
        return Verdict::Open;
    }
    // A listed article is not hidden: a wish to hide it did not arrive, or is not ours any more.
    let shown = *enabled == Some(true);
    let arrived = seen.revision != *over_revision
        && (shown || !fields.is_empty())
        && fields
            .iter()
            .all(|field| seen.version.agrees(version, *field));
    // A listing shows what is published; only a probe tells `enabled` itself.
    let listed = seen.visibility == Visibility::Published;
    let enabled_arrived = enabled.is_none_or(|wish| seen.flags.enabled.unwrap_or(listed) == wish);
    if !arrived || !enabled_arrived {
        return Verdict::Void;
    }
    let mut row = row.clone();
    for field in fields {
        row.local.take(*field, version);
        row.remote.take(*field, version);
    }
    if shown {
        row.file_flags.enabled = Some(true);
        row.remote_flags.enabled = Some(true);
    }
    // Seen again, the version that it replaced is an old copy.
    row.replaced = Some((*over, over_revision.clone()));
    row.stamp = None;
    Verdict::Article(Box::new(row))
}

/// A folder found with the values of the intent has the service's version of the intent as its base.
fn folder_written(base: &Base, sight: &Sight, intent: &Intent) -> Verdict {
    let Intent::WriteCategory {
        id,
        from,
        folder,
        version,
        remote,
        revision,
    } = intent
    else {
        return Verdict::Void;
    };
    let found = sight.local.categories.iter().any(|category| {
        category.folder == *folder
            && category.id == Some(*id)
            && category.version.as_ref() == Some(version)
    });
    let old = base.categories.get(id);
    if !found {
        return folder_renamed(sight, old, from.as_ref(), folder);
    }
    let mut local = remote.clone();
    for field in CategoryVersion::FIELDS {
        // What was not pulled and not sent yet stays an edit of the writer.
        let pulled = version.get(field) == remote.get(field);
        if let Some(row) = old.filter(|row| !pulled && remote.get(field) == row.remote.get(field)) {
            local.take(field, &row.local);
        }
    }
    Verdict::Category(Box::new(CategoryRow {
        id: *id,
        folder: Some(folder.clone()),
        local,
        remote: remote.clone(),
        revision: revision.clone(),
        read_at: old.map_or_else(Default::default, |row| row.read_at),
        stamp: None,
    }))
}

/// A folder that got its new name, and whose `_category.yaml` did not follow, is the category's all the same.
fn folder_renamed(
    sight: &Sight,
    old: Option<&CategoryRow>,
    from: Option<&String>,
    to: &str,
) -> Verdict {
    let lies = |name: &str| sight.local.top.contains(&path::fold(name));
    let nameless = sight
        .local
        .categories
        .iter()
        .any(|category| category.folder == to && category.id.is_none());
    match old.filter(|row| row.folder.as_ref() == from) {
        Some(row) if nameless && from.is_some_and(|from| !lies(from)) => {
            Verdict::Category(Box::new(CategoryRow {
                folder: Some(to.to_owned()),
                stamp: None,
                ..row.clone()
            }))
        }
        Some(_) | None => Verdict::Void,
    }
}

/// What the file was written from: fields that were merged stay edits of the writer.
fn remote_words(version: &Version, old: Option<&ArticleRow>, remote: &Version) -> Version {
    let mut local = remote.clone();
    if let Some(row) = old {
        for field in Version::FIELDS {
            let pulled = version.agrees(remote, field);
            if !pulled && remote.agrees(&row.remote, field) {
                local.take(field, &row.local);
            }
        }
    }
    local
}

/// The file of an intent: where it was to be, or where the writer has moved it since.
fn file_of<'a>(
    sight: &'a Sight,
    id: ArticleId,
    to: &Place,
    names: &BTreeSet<Place>,
) -> Option<&'a LocalFile> {
    let files = &sight.local.files;
    let there = |file: &&LocalFile| file.place == *to && file.id.is_none_or(|found| found == id);
    let moved = |file: &&LocalFile| file.id == Some(id) && !names.contains(&file.place);
    files
        .iter()
        .find(there)
        .or_else(|| files.iter().find(moved))
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
    strangers(base, sight)
        .find(at_home)
        .or_else(|| strangers(base, sight).find(moved))
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
struct Alike {
    /// Bodies that were sent, and articles that have most of them.
    texts: BTreeSet<(TextDigest, ArticleId)>,
    /// Articles that lie where something was posted to, under the title that was sent: no other file's.
    at_home: BTreeSet<ArticleId>,
}

/// Articles that a colleague may have edited, and given another address, since an answer was lost, or that the
/// service rewrote: they have the title that was sent, and most of the text.
fn alike(
    store: &Store,
    base: &Base,
    sight: &Sight,
    intents: &[(IntentId, Intent)],
) -> anyhow::Result<Alike> {
    let mut alike = Alike::default();
    let sent = intents.iter().filter_map(|(_, intent)| match intent {
        Intent::CreateArticle { version, .. } => Some(version),
        Intent::UpdateArticle { .. }
        | Intent::DeleteArticle { .. }
        | Intent::CreateCategory { .. }
        | Intent::UpdateCategory { .. }
        | Intent::WriteFile { .. }
        | Intent::WriteCategory { .. }
        | Intent::RemoveFile { .. }
        | Intent::ClearCopy { .. } => None,
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

/// Tells whether an article has the address and the title that were sent.
fn lies_at(sent: &Version, words: &Version) -> bool {
    words.category == sent.category
        && same(&sent.slug, &words.slug)
        && same(&sent.title, &words.title)
}

/// Tells whether more than half of a text stands in another one.
fn has_most_of(found: &str, sent: &str) -> bool {
    let found: BTreeSet<&str> = units(found).into_iter().collect();
    let mut sent = units(sent);
    sent.retain(|unit| !is_blank(unit));
    let kept = sent.iter().filter(|unit| found.contains(*unit)).count();
    kept * 2 > sent.len()
}

/// Tells whether a new file is what was posted from this place, or from one where nothing lies any more.
pub(super) fn is_posted(
    local: &LocalSnapshot,
    (place, version): (&Place, &Version),
    (from, sent): (&Place, &Version),
) -> bool {
    let text = version.text == sent.text && version.text != TextDigest::of("");
    let there = place == from || local.files.iter().all(|file| file.place != *from);
    there && (text || same(&version.title, &sent.title))
}

/// An article that is gone from the service: its file is created anew in its place.
fn is_gone(base: &Base, row: &ArticleRow) -> bool {
    row.visibility == Visibility::Gone
        || base
            .conflicts
            .get(&row.id)
            .is_some_and(|conflict| conflict.remote.is_none())
}

/// What was sent is the base: whether the service rewrote it or a colleague did is not known.
fn newborn(
    id: ArticleId,
    place: &Place,
    version: &Version,
    flags: Flags,
    seen: &Seen,
) -> ArticleRow {
    let as_sent = seen.version == *version;
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
        written: as_sent.then(|| seen.revision.clone()),
        asked: None,
    }
}
