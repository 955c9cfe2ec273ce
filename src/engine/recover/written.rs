//! What an earlier run was about to write in the mirror: found there, half way, or not begun.

use super::Verdict;
use super::lying::Lying;
use crate::engine::apply::row_renamed;
use crate::engine::observe::Sight;
use crate::model::base::{ArticleRow, CategoryRow, Visibility};
use crate::model::{CategoryVersion, Digest, Field, Place, Revision, Version, path};
use crate::reconcile::snapshot::{Base, LocalFile, Policy, Remote};
use crate::state::{Intent, IntentId};
use std::collections::BTreeSet;

/// Returns whether a cycle has dealt with an article since a file of its was to be written: by now both sides agree on
/// something else.
pub(super) fn is_over(row: Option<&ArticleRow>, was: Option<Digest>) -> bool {
    row.map(ArticleRow::agreement) != was
}

/// A file found with the values of the intent has the service's version of the intent as its base; so has one that was
/// edited since, and shows that it had them (`proven`).
pub(super) fn file_written(
    base: &Base,
    sight: &Sight,
    (intent, proven): (&Intent, bool),
    (lying, names): (&Lying<'_>, &BTreeSet<Place>),
    policy: &Policy,
) -> Verdict {
    let Intent::WriteFile {
        id,
        from,
        to,
        version,
        only_flags,
        remote,
        revision,
        settles,
        was,
        made,
        ..
    } = intent
    else {
        return Verdict::Void;
    };
    let old = base.articles.get(id);
    if is_over(old, *was) {
        return Verdict::Void;
    }
    // After a loss of power a file that was replaced may be the old one again; one that was made, or that names the
    // article only since then, is ours.
    let made = |file: &LocalFile| *made && old.is_none() && file.id == Some(*id);
    // A file that was written where it was lies elsewhere only because its writer moved it.
    let still = BTreeSet::new();
    let moving = from.as_ref().is_some_and(|from| from != to);
    let names = if moving { names } else { &still };
    let half_way = || half_way(lying, old, (from.as_ref(), to), (version, remote), names);
    let found = lying.file_of(*id, to, names);
    // A file that was to be renamed in case only lies where the new name would be looked for.
    let in_case = from.as_ref().filter(|from| fold(from) == fold(to));
    let in_case = in_case.is_some_and(|from| lying.is_seen(from));
    let mut places = from.iter().chain(Some(to).filter(|_| !in_case));
    let mut hidden = || places.any(|place| is_hidden(sight, place, &|place| lying.is_seen(place)));
    if found.is_none() && (lying.is_unready(*id) || hidden()) {
        let verdict = half_way();
        let unknown = matches!(verdict, Verdict::Void);
        return if unknown { Verdict::Open } else { verdict };
    }
    // One that was to get another slug and says the old one still was at most renamed, however few its words are.
    let says_old = |file: &LocalFile| {
        let slugs = old.filter(|_| !moving || file.place == *to);
        slugs.is_some_and(|row| {
            file.version.slug == row.local.slug && row.local.slug != version.slug
        })
    };
    let is_written = |file: &&LocalFile| {
        file.version.same_words(version) && !says_old(file) || made(file) || proven
    };
    let Some(file) = found.filter(is_written) else {
        if let Some(row) = old.filter(|row| is_taken_back(sight, lying, row, (to, revision))) {
            // That says something of what the service has now: it is for the cycle that deals with it.
            if !policy.covers(&row.place) && !policy.covers(to) {
                return Verdict::Open;
            }
            return Verdict::Article(Box::new(ArticleRow {
                local: remote_words(version, old, remote),
                local_text_lf: None,
                remote: remote.clone(),
                revision: revision.clone(),
                stamp: None,
                ..row.clone()
            }));
        }
        let unclear = old.is_some_and(|row| is_unclear(lying, row, to, moving));
        let verdict = half_way();
        if unclear && matches!(verdict, Verdict::Void) {
            return Verdict::Open;
        }
        return verdict;
    };
    // Only `enabled` and `draft` were to change, and they are as they were: it was not written. Taken for
    // written, the old line would be a wish of the writer's, and undo what a colleague has hidden.
    let moved = from.as_ref() != Some(to) && file.place == *to;
    let as_before = *only_flags == Some(file.flags);
    if as_before && !moved {
        return Verdict::Void;
    }
    let Some(mut row) = row_written(intent, old).map(Box::new) else {
        return Verdict::Void;
    };
    // It got its name, and what was to be written into it is still to come.
    if let Some(old) = old.filter(|_| as_before) {
        row.file_flags = old.file_flags;
        row.remote_flags = old.remote_flags;
        row.visibility = old.visibility;
    }
    if *settles {
        Verdict::Settled(row)
    } else {
        Verdict::Article(row)
    }
}

/// What the base says of an article whose file was written.
fn row_written(intent: &Intent, old: Option<&ArticleRow>) -> Option<ArticleRow> {
    let Intent::WriteFile {
        id,
        to,
        version,
        flags,
        remote,
        revision,
        remote_flags,
        ..
    } = intent
    else {
        return None;
    };
    let visibility = if remote_flags.hides() {
        Visibility::Unpublished
    } else {
        Visibility::Published
    };
    Some(ArticleRow {
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
        earlier: old.map(|row| row.earlier.clone()).unwrap_or_default(),
        written: old.and_then(|row| row.written.clone()),
        asked: old.and_then(|row| row.asked),
    })
}

/// Returns whether nobody can say now what lies at a place: its folder cannot be listed, or there is something that is in
/// motion or cannot be read. Nor where it lies, if it was moved from there: while a folder cannot be listed, that may
/// have it.
fn is_hidden(sight: &Sight, place: &Place, is_seen: &dyn Fn(&Place) -> bool) -> bool {
    let local = &sight.local;
    let names = local.names.get(&place.folder);
    local.unreadable.contains(&place.folder)
        || !local.closed.is_empty()
        || (names.is_some_and(|names| names.contains(&path::fold(&place.file))) && !is_seen(place))
}

pub(super) fn is_out_of_sight(sight: &Sight, place: &Place) -> bool {
    let files = &sight.local.files;
    is_hidden(sight, place, &|place| {
        files.iter().any(|file| file.place == *place)
    })
}

fn fold(place: &Place) -> (&str, String) {
    (&place.folder, path::fold(&place.file))
}

/// A colleague took back what was being pulled, and the file was edited or removed: whether before or after the
/// pull was written cannot be told. Against the base of before, what the colleague did would not count at all.
fn is_taken_back(
    sight: &Sight,
    lying: &Lying<'_>,
    row: &ArticleRow,
    (to, pulled): (&Place, &Revision),
) -> bool {
    let Some(Remote::Present(seen)) = sight.remote.articles.get(&row.id) else {
        return false;
    };
    // An old copy takes nothing back.
    seen.version == row.remote
        && seen.revision != row.revision
        && seen.revision != *pulled
        && !row.has_replaced(&seen.version, &seen.revision)
        && (lying.is_edited(row) || lying.is_missing(row, to))
}

/// Returns whether a file that was being written says nothing of that any more, since it was edited or removed. What a
/// colleague takes back later tells, as long as no cycle has dealt with the article.
fn is_unclear(lying: &Lying<'_>, row: &ArticleRow, to: &Place, moving: bool) -> bool {
    // One that was edited under its old name was not renamed, and so not written either.
    lying.is_missing(row, to) || !moving && lying.is_edited(row)
}

/// Files that were taking each other's names in a circle lie under each other's for a moment, and one that was renamed
/// lies under its new name before it is written: no writer gave such a name, so it counts as the one that the file had.
///
/// Both halves of the base say so: whatever address the service has by now is another one then, though a colleague
/// may have taken back the one that the file was renamed for.
fn half_way(
    lying: &Lying<'_>,
    row: Option<&ArticleRow>,
    (from, to): (Option<&Place>, &Place),
    (version, remote): (&Version, &Version),
    names: &BTreeSet<Place>,
) -> Verdict {
    let moving = from.is_some_and(|from| from != to);
    let strayed = |file: &&&LocalFile| {
        let arrived = moving && file.place == *to;
        let astray = file.place != *to && names.contains(&file.place);
        Some(&file.place) != from && (arrived || astray)
    };
    let found = row.and_then(|row| {
        let file = lying.named(row.id).iter().find(strayed)?;
        Some((row, file))
    });
    let Some((row, file)) = found else {
        return Verdict::Void;
    };
    let mut row = row.clone();
    let mut given = file.version.clone();
    if file.place == *to {
        given.category = version.category;
    } else {
        given.category = row.local.category;
    }
    // A `slug:` is the writer's own, and so is an address or a category that was about to be sent.
    let by_place = given.slug == file.place.stem();
    let ours = |field: Field| {
        let wish = given.agrees(version, field) && !version.agrees(remote, field);
        !given.agrees(&row.local, field) && !wish && (field == Field::Category || by_place)
    };
    let ours: Vec<Field> = [Field::Slug, Field::Category]
        .into_iter()
        .filter(|field| ours(*field))
        .collect();
    for field in ours {
        row.local.take(field, &given);
        row.remote.take(field, &given);
    }
    Verdict::Article(Box::new(ArticleRow {
        place: file.place.clone(),
        stamp: None,
        ..row
    }))
}

/// A folder found with the values of the intent has the service's version of the intent as its base.
pub(super) fn folder_written(base: &Base, sight: &Sight, intent: &Intent) -> Verdict {
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
        let verdict = folder_renamed(sight, old, from.as_ref(), folder, remote);
        let mut names = from.iter().chain([folder]);
        let unknown = matches!(verdict, Verdict::Void) && names.any(|name| is_closed(sight, name));
        return if unknown { Verdict::Open } else { verdict };
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

/// Returns whether nobody can say now what a folder is: it cannot be listed, or its `_category.yaml` cannot be read.
pub(super) fn is_closed(sight: &Sight, folder: &str) -> bool {
    let local = &sight.local;
    local.unreadable.contains(folder) || local.unready_categories.contains(folder)
}

/// A folder that got its new name, and whose `_category.yaml` did not follow, is the category's all the same.
fn folder_renamed(
    sight: &Sight,
    old: Option<&CategoryRow>,
    from: Option<&String>,
    to: &str,
    remote: &CategoryVersion,
) -> Verdict {
    let lies = |name: &str| sight.local.top.contains(&path::fold(name));
    let mut categories = sight.local.categories.iter();
    let there = categories.find(|category| category.folder == to);
    let (Some(row), Some(there)) = (old.filter(|row| row.folder.as_ref() == from), there) else {
        return Verdict::Void;
    };
    let moved = from.is_some_and(|from| from != to && !lies(from));
    if !moved || there.id.is_some_and(|id| id != row.id) {
        return Verdict::Void;
    }
    let said = there.version.as_ref().map(|version| version.slug.as_str());
    let pulled = said.filter(|slug| *slug == remote.slug);
    Verdict::Category(Box::new(row_renamed(row, to, pulled)))
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

/// Names that files were about to leave or take. Where nothing is left of such a file, it is none of these.
pub(super) fn names_on_the_move(
    base: &Base,
    lying: &Lying<'_>,
    intents: &[(IntentId, Intent)],
) -> BTreeSet<Place> {
    let moves = intents.iter().filter_map(|(_, intent)| {
        let Intent::WriteFile {
            id,
            from: Some(from),
            to,
            ..
        } = intent
        else {
            return None;
        };
        let row = base.articles.get(id);
        let missing = row.is_some_and(|row| lying.is_missing(row, to));
        (from != to && !missing).then(|| [from.clone(), to.clone()])
    });
    moves.flatten().collect()
}
