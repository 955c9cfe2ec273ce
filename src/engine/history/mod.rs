//! The history as people meet it: versions found by a path or an id, shown as the files they were.
//!
//! No requests are made. A version whose body was pruned has no file any more; callers report that.

pub(super) mod category;
pub mod ended;
pub(super) mod entry;

use crate::engine::form::composed;
use crate::model::path::{CATEGORY_FILE, EXTENSION, is_ignored};
use crate::model::{ArticleId, Field, Flags, Place, Side, Texts, Timestamp};
use crate::state::store::Store;
use crate::state::{StateResult, StoredVersion, Subject};
use std::cmp::Reverse;

/// A subject of the history, with its versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// The article, category or file.
    pub subject: Subject,
    /// Its versions, newest first; never empty.
    pub versions: Vec<StoredVersion>,
    /// The place of its file, by the state; `None`: it was deleted, or never created.
    pub now_at: Option<Place>,
    /// The time of its deletion, by the log or else its last version; `None`: it exists, or never did.
    pub ended: Option<Timestamp>,
}

impl History {
    /// Returns the newest version.
    pub fn newest(&self) -> &StoredVersion {
        &self.versions[0]
    }

    /// Returns the last version with an address of its own; a conflict copy has none. If possible, the file was ready.
    pub fn last_address(&self) -> Option<&StoredVersion> {
        let mut addressed = self.versions.iter().filter(|kept| has_address(kept));
        let any = addressed.clone().next();
        addressed.find(|kept| !was_not_ready(kept)).or(any)
    }

    /// Returns the version with a number.
    pub fn numbered(&self, number: u64) -> Option<&StoredVersion> {
        self.versions.iter().find(|kept| kept.number == number)
    }

    /// Returns the version to compare one with: the previous version of the same side, so that a colleague's edit does
    /// not seem to undo a local edit of the same time. A file that was not ready is none to compare with.
    pub fn before(&self, number: u64) -> Option<&StoredVersion> {
        let versions = self.versions.iter();
        let mut newest_first =
            versions.filter(|kept| kept.number == number || !was_not_ready(kept));
        let side = newest_first.find(|kept| kept.number == number)?.seen.side;
        let mut older = newest_first.clone();
        let of_its_side =
            older.find(|kept| side == Side::Both || [side, Side::Both].contains(&kept.seen.side));
        of_its_side.or_else(|| newest_first.next())
    }

    /// Returns the fields in which a version differs from [`History::before`] it; none for the first.
    pub fn changed(&self, kept: &StoredVersion) -> Vec<Field> {
        let Some(before) = self.before(kept.number) else {
            return Vec::new();
        };
        let (now, was) = (&kept.seen.version, &before.seen.version);
        let mut fields = now.differing(was);
        if self.subject.is_category() {
            let of_category = OF_CATEGORY.iter();
            let changed = of_category.filter(|(stored, _)| fields.contains(stored));
            return changed.map(|(_, field)| *field).collect();
        }
        // A category without an id yet is no change.
        let is_named = was.category.is_provisional() || now.category.is_provisional();
        fields.retain(|field| *field != Field::Category || !is_named);
        fields
    }

    /// Returns the distinct versions, newest first, each with whether both sides had it.
    ///
    /// The history also stores agreements of both sides, and the text of a file before it was replaced; for a reader
    /// these are no versions of their own.
    pub fn distinct(&self) -> Vec<(&StoredVersion, bool)> {
        let mut distinct: Vec<(&StoredVersion, bool)> = Vec::new();
        // The index of the first version since both sides last agreed.
        let mut since = 0;
        for kept in self.versions.iter().rev() {
            if kept.seen.side != Side::Both {
                let is_repeated = self.before(kept.number).is_some_and(|before| {
                    let has_new_file = kept.seen.side != Side::Remote
                        && kept.seen.file.is_some()
                        && kept.seen.file != before.seen.file;
                    same(kept, before) && !has_new_file
                });
                if !is_repeated {
                    distinct.push((kept, false));
                }
                continue;
            }
            let last = distinct.len().wrapping_sub(1);
            let mut newest_first = distinct.iter_mut().enumerate().rev();
            let agreed = newest_first.find(|(at, (one, both))| {
                same(one, kept) && (*at >= since || (*at == last && *both))
            });
            match agreed {
                Some((_, (_, both))) => *both = true,
                None => distinct.push((kept, true)),
            }
            since = distinct.len();
        }
        distinct.reverse();
        distinct
    }

    /// Returns the version that [`History::distinct`] lists for a version: itself, or an earlier equal one.
    pub fn listed<'h>(&'h self, kept: &'h StoredVersion) -> &'h StoredVersion {
        let mut distinct = self.distinct().into_iter().map(|(one, _)| one);
        let listed = distinct.find(|one| one.number <= kept.number && same(one, kept));
        listed.unwrap_or(kept)
    }

    /// Returns the number of the version in [`History::distinct`] that both sides have now. `None`: the article is
    /// deleted, or was never on both sides.
    pub fn present(&self) -> Option<u64> {
        self.now_at.as_ref()?;
        let mut versions = self.versions.iter();
        let agreed = versions.find(|kept| kept.seen.side == Side::Both)?;
        let mut distinct = self.distinct().into_iter();
        let present = distinct.find(|(kept, both)| *both && same(kept, agreed));
        present.map(|(kept, _)| kept.number)
    }

    /// Returns whether it was ever in the mirror, not only seen on the service.
    pub fn was_met(&self) -> bool {
        self.now_at.is_some() || self.versions.iter().any(category::was_here)
    }

    /// Returns the article, if it is one.
    pub fn article(&self) -> Option<ArticleId> {
        self.subject.article()
    }
}

/// Returns whether a version has an address of its own; a conflict copy has none, and was never the file.
pub(super) fn has_address(kept: &StoredVersion) -> bool {
    kept.seen.subject.is_category() || !is_ignored(&kept.seen.place.file)
}

/// Returns whether a version is the whole text of a file that was not ready: its body is the file.
pub(super) fn was_not_ready(kept: &StoredVersion) -> bool {
    !kept.seen.subject.is_category() && kept.seen.file == Some(kept.seen.version.text)
}

/// Returns whether two versions are equal. A version of the service has no place in the mirror and, for a category, no
/// file.
fn same(one: &StoredVersion, other: &StoredVersion) -> bool {
    let mut version = one.seen.version.clone();
    let is_there = [one.seen.side, other.seen.side].contains(&Side::Remote);
    if is_there && one.seen.subject.is_category() {
        version.text = other.seen.version.text;
    }
    version == other.seen.version && (is_there || one.seen.place == other.seen.place)
}

/// The fields of an article that store those of a category; the body stores its whole file, with comments.
const OF_CATEGORY: [(Field, Field); 4] = [
    (Field::Title, Field::Name),
    (Field::Slug, Field::Slug),
    (Field::Introtext, Field::Description),
    (Field::Keywords, Field::MetaDescription),
];

/// Finds the histories of a path in a workspace: first of the present file, then of files deleted there, the latest
/// first, then the others. `.html` may be left out.
pub fn at_path(store: &Store, path: &str) -> StateResult<Vec<History>> {
    let Some((folder, file)) = path.split_once('/') else {
        return Ok(Vec::new());
    };
    let is_whole = file.ends_with(EXTENSION) || file == CATEGORY_FILE;
    let ending = if is_whole { "" } else { EXTENSION };
    let place = Place::new(folder, format!("{file}{ending}"));
    let mut found = Vec::new();
    for subject in store.subjects_at(&place)? {
        found.extend(of(store, subject)?);
    }
    // The stable sort keeps equal keys in the order of their last versions.
    found.sort_by_key(|history| {
        let is_there = history.now_at.as_ref() == Some(&place);
        let was_there = history
            .last_address()
            .is_some_and(|last| last.seen.place == place);
        (!is_there, Reverse(history.ended.filter(|_| was_there)))
    });
    Ok(found)
}

/// Finds a subject's versions; `None`: there are none.
pub fn of(store: &Store, subject: Subject) -> StateResult<Option<History>> {
    let versions = store.versions(&subject)?;
    let Some(newest) = versions.first() else {
        return Ok(None);
    };
    let (mut now_at, mut ended) = (None, None);
    match &subject {
        Subject::Article(id) => {
            now_at = store.article(*id)?.map(|row| row.place);
            if now_at.is_none() {
                // An article in conflict since its first sync has no row.
                let mut conflicts = store.conflicts()?.into_iter();
                let shown = conflicts.find(|row| row.id == *id && row.remote.is_some());
                now_at = shown.map(|row| row.place);
            }
            if now_at.is_none() {
                // Without a version of both sides it was never an article here: a copied file may have another
                // workspace's id.
                let met = versions.iter().any(|kept| kept.seen.side == Side::Both);
                ended = ended::ended_at(store, *id)?.or(met.then_some(newest.at));
            }
        }
        Subject::File(place) if place.file == CATEGORY_FILE => {
            let mut categories = store.categories()?.into_iter();
            let row = categories.find(|row| Subject::category(row.id) == subject);
            let folder = row.and_then(|row| row.folder);
            now_at = folder.map(|folder| Place::new(folder, CATEGORY_FILE));
        }
        Subject::File(_) => {}
    }
    Ok(Some(History {
        subject,
        versions,
        now_at,
        ended,
    }))
}

/// Returns a version as a file; `None`: its body is not kept any more. A hidden article stays hidden: `enabled` and
/// `draft` are the present ones, or those at its end.
pub fn as_file(store: &Store, kept: &StoredVersion) -> StateResult<Option<String>> {
    if let Some(whole) = kept.seen.file
        && let Some(file) = store.body(whole)?
    {
        return Ok(Some(file));
    }
    let Some(text) = store.body(kept.seen.version.text)? else {
        return Ok(None);
    };
    let (id, flags) = match kept.seen.subject {
        Subject::Article(id) => (Some(id), ended::flags(store, id)?),
        Subject::File(_) => (None, Flags::default()),
    };
    let address = (&kept.seen.place, kept.seen.version.slug.as_str());
    Ok(Some(composed(id, address, &kept.seen.version, flags, text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CategoryId, TextDigest, Timestamp, Version};
    use crate::state::SeenVersion;

    fn history(sides: &[(Side, &str)]) -> History {
        let subject = Subject::File(Place::new("a", "b.html"));
        let mut versions: Vec<StoredVersion> = (1..)
            .zip(sides)
            .map(|(number, (side, text))| StoredVersion {
                number,
                at: Timestamp(0),
                seen: SeenVersion {
                    subject: subject.clone(),
                    place: Place::new("a", "b.html"),
                    side: *side,
                    cause: String::new(),
                    version: Version {
                        title: "B".into(),
                        slug: "b".into(),
                        category: CategoryId::provisional("a"),
                        introtext: String::new(),
                        keywords: String::new(),
                        text: TextDigest::of(text),
                    },
                    file: None,
                },
            })
            .collect();
        versions.reverse();
        History {
            subject,
            versions,
            now_at: None,
            ended: None,
        }
    }

    #[test]
    fn a_version_is_compared_with_what_its_own_side_had() {
        use Side::{Both, Local, Remote};
        let history = history(&[
            (Both, "base"),
            (Local, "mine"),
            (Remote, "theirs"),
            (Local, "mine, later"),
            (Both, "merged"),
        ]);
        for (number, before) in [
            (1, None),
            (2, Some(1)),
            (3, Some(1)),
            (4, Some(2)),
            (5, Some(4)),
            (6, None),
        ] {
            let found = history.before(number).map(|kept| kept.number);
            assert_eq!(found, before, "before {number}");
        }
        let said: Vec<(u64, bool)> = history
            .distinct()
            .into_iter()
            .map(|(kept, both)| (kept.number, both))
            .collect();
        assert_eq!(
            said,
            [(5, true), (4, false), (3, false), (2, false), (1, true)]
        );
        assert_eq!(history.changed(&history.versions[0]), [Field::Text]);
        assert_eq!(history.changed(&history.versions[4]), []);
    }

    #[test]
    fn what_is_noted_twice_is_said_once() {
        use Side::{Both, Local, Remote};
        let history = history(&[
            (Both, "first"),
            (Local, "second"),
            (Both, "second"),
            (Remote, "third"),
            (Local, "second"),
            (Both, "third"),
            (Both, "third"),
            (Local, "second"),
        ]);
        let said: Vec<(u64, bool)> = history
            .distinct()
            .into_iter()
            .map(|(kept, both)| (kept.number, both))
            .collect();
        assert_eq!(said, [(8, false), (4, true), (2, true), (1, true)]);
        let listed = |number| {
            history
                .listed(history.numbered(number).expect("it is there"))
                .number
        };
        let all: Vec<u64> = (1..=8).map(listed).collect();
        assert_eq!(all, [1, 2, 2, 4, 2, 4, 4, 8]);
    }

    #[test]
    fn the_present_version_is_the_one_that_both_sides_have_whatever_was_seen_since() {
        use Side::{Both, Local, Remote};
        let mut history = history(&[
            (Both, "first"),
            (Local, "mine"),
            (Remote, "theirs"),
            (Both, "mine"),
            (Remote, "later"),
        ]);
        assert_eq!(history.present(), None);
        history.now_at = Some(Place::new("a", "b.html"));
        assert_eq!(history.present(), Some(2));
    }
}
