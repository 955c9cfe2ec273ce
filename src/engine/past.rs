//! Versions of the history as people meet them: found by a path or an id, shown as the files they were.
//!
//! Nothing is written here, and nothing is asked of the service. A version whose body was pruned has no
//! file any more; what names it says so.

use super::apply::slug_key;
use crate::mirror::document::{Changes, Document};
use crate::model::path::{CATEGORY_FILE, EXTENSION, ignored_name};
use crate::model::{ArticleId, Field, Flags, Place, Side, Timestamp, Version};
use crate::state::store::Store;
use crate::state::{Event, Outcome, StoredVersion, Subject};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A subject of the history, with its versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Past {
    /// What it is.
    pub subject: Subject,
    /// Its versions, newest first; never empty.
    pub versions: Vec<StoredVersion>,
    /// Where its file is by the state; `None`: it was deleted, or was never created.
    pub now_at: Option<Place>,
    /// When it was deleted, by the log or else by its last version; `None`: it lives, or never did.
    pub ended: Option<Timestamp>,
}

impl Past {
    /// Its newest version.
    pub fn newest(&self) -> Option<&StoredVersion> {
        self.versions.first()
    }

    /// The last version with an address of its own: the copy of a conflict has none.
    pub fn last_address(&self) -> Option<&StoredVersion> {
        self.versions.iter().find(|kept| has_address(kept))
    }

    /// The version with a number.
    pub fn numbered(&self, number: u64) -> Option<&StoredVersion> {
        self.versions.iter().find(|kept| kept.number == number)
    }

    /// The version that one is compared with: the one before it of its own side, so that a colleague's
    /// edit does not look as if it took back what was written here meanwhile.
    pub fn before(&self, number: u64) -> Option<&StoredVersion> {
        let at = self
            .versions
            .iter()
            .position(|kept| kept.number == number)?;
        let side = self.versions[at].seen.side;
        let older = &self.versions[at + 1..];
        let of_its_side = older.iter().find(|kept| match side {
            Side::Both => true,
            Side::Local | Side::Remote => kept.seen.side == side || kept.seen.side == Side::Both,
        });
        of_its_side.or_else(|| older.first())
    }

    /// The fields in which a version differs from the one before it; none for the first.
    pub fn changed(&self, kept: &StoredVersion) -> Vec<Field> {
        self.before(kept.number).map_or_else(Vec::new, |before| {
            let (now, was) = (&kept.seen.version, &before.seen.version);
            let mut fields = differing(&self.subject, now, was);
            // Before both met, its category had no id yet.
            let is_named = was.category.is_provisional() || now.category.is_provisional();
            fields.retain(|field| *field != Field::Category || !is_named);
            fields
        })
    }

    /// The versions that say something new, newest first, each with whether both sides came to have it.
    ///
    /// The history also notes when both sides agreed on what one of them had, and what a file held before
    /// it was replaced; read by a person these are no versions of their own.
    pub fn sayings(&self) -> Vec<(&StoredVersion, bool)> {
        self.told().0
    }

    /// The version that [`Past::sayings`] gives in a version's stead: they say the same. One that is given itself
    /// stands for itself.
    pub fn listed<'p>(&'p self, kept: &'p StoredVersion) -> &'p StoredVersion {
        let number = self.told().1.get(&kept.number).copied();
        number
            .and_then(|number| self.numbered(number))
            .unwrap_or(kept)
    }

    /// What is said, newest first, and by which number what is not said anew was said before.
    fn told(&self) -> (Vec<(&StoredVersion, bool)>, BTreeMap<u64, u64>) {
        let mut said: Vec<(&StoredVersion, bool)> = Vec::new();
        let mut listed = BTreeMap::new();
        // Where what was said since both sides last agreed begins.
        let mut since = 0;
        for kept in self.versions.iter().rev() {
            if kept.seen.side != Side::Both {
                let repeated = self.before(kept.number).filter(|before| {
                    let file = kept.seen.file;
                    let says_more = kept.seen.side != Side::Remote
                        && file.is_some()
                        && file != before.seen.file;
                    same(kept, before) && !says_more
                });
                match repeated.map(|before| before.number) {
                    Some(before) => {
                        let first = listed.get(&before).copied().unwrap_or(before);
                        listed.insert(kept.number, first);
                    }
                    None => said.push((kept, false)),
                }
                continue;
            }
            let agreed = said[since..].iter().rposition(|(one, _)| same(one, kept));
            let agreed = agreed.map(|at| since + at).or_else(|| {
                let last = said.len().checked_sub(1)?;
                (said[last].1 && same(said[last].0, kept)).then_some(last)
            });
            match agreed {
                Some(at) => {
                    said[at].1 = true;
                    listed.insert(kept.number, said[at].0.number);
                }
                None => said.push((kept, true)),
            }
            since = said.len();
        }
        said.reverse();
        (said, listed)
    }

    /// The number of the version that both sides have now, of those that [`Past::sayings`] gives. `None`: it
    /// lives no more, or was never on both sides.
    pub fn present(&self) -> Option<u64> {
        self.now_at.as_ref()?;
        let agreed = self
            .versions
            .iter()
            .find(|kept| kept.seen.side == Side::Both)?;
        let said = self.sayings().into_iter();
        let mut having = said.filter(|(kept, both)| *both && same(kept, agreed));
        having.next().map(|(kept, _)| kept.number)
    }

    /// Returns whether it was ever in the mirror, not only seen on the service.
    pub fn was_met(&self) -> bool {
        self.now_at.is_some()
            || self
                .versions
                .iter()
                .any(|kept| kept.seen.side != Side::Remote)
    }

    /// When it was deleted, if its file was at this place then.
    pub fn ended_at(&self, place: &Place) -> Option<Timestamp> {
        let last = self.last_address();
        self.ended
            .filter(|_| last.is_some_and(|kept| kept.seen.place == *place))
    }

    /// The article, if it is one.
    pub fn article(&self) -> Option<ArticleId> {
        match self.subject {
            Subject::Article(id) => Some(id),
            Subject::File(_) => None,
        }
    }
}

/// Returns whether a version has an address of its own: the copy of a conflict has none, and was never in the file.
pub(in crate::engine) fn has_address(kept: &StoredVersion) -> bool {
    kept.seen.subject.is_category() || ignored_name(&kept.seen.place.file).is_none()
}

/// Returns whether two versions say the same. What the service has lies at no place of the mirror, and a category's
/// file is not there.
fn same(one: &StoredVersion, other: &StoredVersion) -> bool {
    let there = one.seen.side == Side::Remote || other.seen.side == Side::Remote;
    if !there {
        return one.seen.version == other.seen.version && one.seen.place == other.seen.place;
    }
    if one.seen.subject.is_category() {
        let text = other.seen.version.text;
        return Version {
            text,
            ..one.seen.version.clone()
        } == other.seen.version;
    }
    one.seen.version == other.seen.version
}

/// The fields in which two versions differ, by the names that they have in the subject's file.
pub fn differing(subject: &Subject, one: &Version, other: &Version) -> Vec<Field> {
    let fields = one.differing(other);
    if !subject.is_category() {
        return fields;
    }
    // A category's words stand in an article's places, and its whole file in the body's: that has comments, too.
    fields
        .iter()
        .filter_map(|field| match field {
            Field::Title => Some(Field::Name),
            Field::Slug => Some(Field::Slug),
            Field::Introtext => Some(Field::Description),
            Field::Keywords => Some(Field::MetaDescription),
            Field::Category
            | Field::Text
            | Field::Enabled
            | Field::Draft
            | Field::Name
            | Field::Description
            | Field::MetaDescription => None,
        })
        .collect()
}

/// Finds what has or had a path in a workspace: the present one first, then what was deleted there, the latest
/// first, then the others. `.html` may be left out. What has no version in the history is not found.
pub fn at_path(store: &Store, path: &str) -> Outcome<Vec<Past>> {
    let Some((folder, file)) = path.split_once('/') else {
        return Ok(Vec::new());
    };
    let is_whole = file.ends_with(EXTENSION) || file == CATEGORY_FILE;
    let file = if is_whole {
        file.to_owned()
    } else {
        format!("{file}{EXTENSION}")
    };
    let place = Place::new(folder, file);
    let mut subjects = Vec::new();
    if place.file == CATEGORY_FILE {
        let categories = store.categories()?.into_iter();
        let present = categories.filter(|row| row.folder.as_deref() == Some(folder));
        subjects.extend(present.map(|row| Subject::category(row.id)));
    }
    for subject in store.subjects_at(&place)? {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let mut found = Vec::new();
    for subject in subjects {
        found.extend(of(store, subject)?);
    }
    // What is equal in this stays in the order of the last versions.
    found.sort_by_key(|past| {
        (
            past.now_at.as_ref() != Some(&place),
            Reverse(past.ended_at(&place)),
        )
    });
    Ok(found)
}

/// Finds a subject's versions; `None`: there are none.
pub fn of(store: &Store, subject: Subject) -> Outcome<Option<Past>> {
    let versions = store.versions(&subject)?;
    if versions.is_empty() {
        return Ok(None);
    }
    let now_at = match &subject {
        Subject::Article(id) => lives_at(store, *id)?,
        Subject::File(place) if place.file == CATEGORY_FILE => {
            let mut categories = store.categories()?.into_iter();
            let row = categories.find(|row| Subject::category(row.id) == subject);
            row.and_then(|row| row.folder)
                .map(|folder| Place::new(folder, CATEGORY_FILE))
        }
        Subject::File(_) => None,
    };
    let mut past = Past {
        subject,
        versions,
        now_at,
        ended: None,
    };
    if let Some(id) = past.article()
        && past.now_at.is_none()
    {
        // What was never on both sides was never met here: a copied file may have another workspace's id.
        let both = |kept: &StoredVersion| kept.seen.side == Side::Both;
        let met = past.versions.iter().any(both);
        let last = last_end(store, id)?.map(|event| event.at);
        past.ended = last.or(past.newest().filter(|_| met).map(|kept| kept.at));
    }
    Ok(Some(past))
}

/// Where an article's file is by the state. One that met its file in a conflict has no base yet.
fn lives_at(store: &Store, id: ArticleId) -> Outcome<Option<Place>> {
    if let Some(row) = store.article(id)? {
        return Ok(Some(row.place));
    }
    let mut conflicts = store.conflicts()?.into_iter();
    let shown = conflicts.find(|row| row.id == id && row.remote.is_some());
    Ok(shown.map(|row| row.place))
}

/// The file that a version was, or would have been; `None`: its body is not kept any more. Whoever puts that in the
/// file's place must not publish what is hidden: `enabled` and `draft` are those of today, or of its end.
pub fn as_file(store: &Store, kept: &StoredVersion) -> Outcome<Option<String>> {
    if let Some(whole) = kept.seen.file
        && let Some(file) = store.body(whole)?
    {
        return Ok(Some(file));
    }
    let Some(text) = store.body(kept.seen.version.text)? else {
        return Ok(None);
    };
    let id = match kept.seen.subject {
        Subject::Article(id) => Some(id),
        Subject::File(_) => None,
    };
    let flags = match id {
        Some(id) => match store.article(id)? {
            Some(row) => row.file_flags,
            None => flags_noted(store, id)?,
        },
        None => Flags::default(),
    };
    let address = (&kept.seen.place, kept.seen.version.slug.as_str());
    Ok(Some(composed(id, address, &kept.seen.version, flags, text)))
}

/// How the log notes of a deleted article that readers did not see it; empty when they did.
pub(in crate::engine) fn noted(flags: Flags) -> String {
    let disabled = (flags.enabled == Some(false)).then_some(DISABLED);
    let draft = (flags.draft == Some(true)).then_some(DRAFT);
    let words: Vec<&str> = disabled.into_iter().chain(draft).collect();
    words.join(", ")
}

/// What the log noted of a deleted article.
pub(in crate::engine) fn flags_noted(store: &Store, id: ArticleId) -> Outcome<Flags> {
    let last = last_end(store, id)?;
    let detail = last.as_ref().map_or("", |event| event.detail.as_str());
    Ok(Flags {
        enabled: detail.contains(DISABLED).then_some(false),
        draft: detail.contains(DRAFT).then_some(true),
    })
}

/// The line of the log that tells how an article ended.
fn last_end(store: &Store, id: ArticleId) -> Outcome<Option<Event>> {
    let events = store.events_of(id, LOOK_BACK)?.into_iter();
    let mut ends = events.filter(|event| ["delete", "forget"].contains(&event.action.as_str()));
    Ok(ends.next())
}

const DISABLED: &str = "enabled: false";
const DRAFT: &str = "draft: true";

/// How many lines of the log are looked through for how an article ended.
const LOOK_BACK: usize = 100;

/// A file with these words, and nothing of a writer's own.
pub(in crate::engine) fn composed(
    id: Option<ArticleId>,
    (place, slug): (&Place, &str),
    version: &Version,
    flags: Flags,
    text: String,
) -> String {
    Document::compose(&Changes {
        id,
        title: Some(version.title.clone()),
        slug: slug_key(place, slug, None),
        enabled: Some(flags.enabled),
        draft: Some(flags.draft),
        introtext: Some(version.introtext.clone()),
        keywords: Some(version.keywords.clone()),
        text: Some(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CategoryId, TextDigest, Timestamp};
    use crate::state::Seen;

    fn past(sides: &[(Side, &str)]) -> Past {
        let subject = Subject::File(Place::new("a", "b.html"));
        let mut versions: Vec<StoredVersion> = (1..)
            .zip(sides)
            .map(|(number, (side, text))| StoredVersion {
                number,
                at: Timestamp(0),
                seen: Seen {
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
        Past {
            subject,
            versions,
            now_at: None,
            ended: None,
        }
    }

    #[test]
    fn a_version_is_compared_with_what_its_own_side_had() {
        use Side::{Both, Local, Remote};
        let past = past(&[
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
            let found = past.before(number).map(|kept| kept.number);
            assert_eq!(found, before, "before {number}");
        }
        let said: Vec<(u64, bool)> = past
            .sayings()
            .into_iter()
            .map(|(kept, both)| (kept.number, both))
            .collect();
        assert_eq!(
            said,
            [(5, true), (4, false), (3, false), (2, false), (1, true)]
        );
        assert_eq!(past.changed(&past.versions[0]), [Field::Text]);
        assert_eq!(past.changed(&past.versions[4]), []);
    }

    #[test]
    fn what_is_noted_twice_is_said_once() {
        use Side::{Both, Local, Remote};
        let past = past(&[
            (Both, "first"),
            (Local, "second"),
            (Both, "second"),
            (Remote, "third"),
            (Local, "second"),
            (Both, "third"),
            (Both, "third"),
            (Local, "second"),
        ]);
        let said: Vec<(u64, bool)> = past
            .sayings()
            .into_iter()
            .map(|(kept, both)| (kept.number, both))
            .collect();
        assert_eq!(said, [(8, false), (4, true), (2, true), (1, true)]);
        let listed = |number| {
            past.listed(past.numbered(number).expect("it is there"))
                .number
        };
        let all: Vec<u64> = (1..=8).map(listed).collect();
        assert_eq!(all, [1, 2, 2, 4, 2, 4, 4, 8]);
    }

    #[test]
    fn the_present_version_is_the_one_that_both_sides_have_whatever_was_seen_since() {
        use Side::{Both, Local, Remote};
        let mut past = past(&[
            (Both, "first"),
            (Local, "mine"),
            (Remote, "theirs"),
            (Both, "mine"),
            (Remote, "later"),
        ]);
        assert_eq!(past.present(), None);
        past.now_at = Some(Place::new("a", "b.html"));
        assert_eq!(past.present(), Some(2));
    }
}
