//! What a file holds once a version came back: the version's words in the file's own form.

use super::aim::Aim;
use super::{Ground, Prepared, Refused, RefusedKind, Wish};
use crate::engine::apply::{MAX_FILE, slug_key};
use crate::engine::past::{self, Past, composed, flags_noted, has_address};
use crate::engine::yaml_past::was_here;
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind};
use crate::mirror::document::{CategoryChanges, CategoryDocument, Changes, Document};
use crate::model::path::slug_of_stem;
use crate::model::{ArticleId, CategoryId, Field, Flags, Place, Side, Stamp, TextDigest, Version};
use crate::state::{StoredVersion, Subject};

/// The fields that come back; the address stays.
const WORDS: [Field; 4] = [Field::Title, Field::Introtext, Field::Keywords, Field::Text];

/// A version with its body.
struct Wanted<'p> {
    kept: &'p StoredVersion,
    text: String,
    /// The whole file, where it was kept and is no article: it comes back as it was.
    raw: Option<String>,
}

/// What lies at the place now.
type Present = Option<(Stamp, String)>;

impl<D: Disk> Ground<'_, D> {
    /// Makes the file that a version comes back as.
    pub(super) fn words(
        &self,
        past: &Past,
        wish: &Wish,
        aim: &Aim,
    ) -> anyhow::Result<Result<Prepared, Refused>> {
        let (place, id) = match aim {
            Aim::Edit { place, id } => (place.clone(), *id),
            Aim::Back { place, id } => (place.clone(), Some(*id)),
            Aim::Anew { place, .. } | Aim::Category { place, .. } => (place.clone(), None),
        };
        let present = match self.present(&place)? {
            Ok(present) => present,
            Err(refused) => return Ok(Err(refused)),
        };
        let is_as_looked_at = match aim {
            // It went since the mirror was looked at, perhaps to another place: made anew it would be there twice.
            Aim::Edit { .. } => present.is_some(),
            Aim::Back { .. } | Aim::Anew { .. } => present.is_none(),
            Aim::Category { .. } => true,
        };
        if !is_as_looked_at {
            return Err(DiskError::new(DiskErrorKind::Changed, "read", place.to_string()).into());
        }
        let document = present
            .as_ref()
            .and_then(|(_, source)| Document::parse_with_markers(source.as_bytes()).ok());
        let wanted = match self.wanted(past, wish, aim, document.as_ref(), &present)? {
            Ok(wanted) => wanted,
            Err(refused) => return Ok(Err(refused)),
        };
        let kept = wanted.kept.clone();
        let known = wish.number.map_or_else(|| past.listed(&kept), |_| &kept);
        let known = (known.number, known.at);
        let (new, instead_of) = match (aim, &wanted.raw) {
            (Aim::Category { id, .. }, _) => (category(*id, &wanted, &present), None),
            (Aim::Anew { old, .. }, Some(raw)) => (raw.clone(), *old),
            (Aim::Edit { .. } | Aim::Back { .. }, Some(raw)) => (raw.clone(), None),
            (Aim::Edit { .. }, None) => match &document {
                Some(document) => {
                    let changes = changes(&kept.seen.version, wanted.text);
                    // A copy of another article's file names that one.
                    let named = document.id().filter(|named| Some(*named) != id);
                    let id = id.filter(|_| named.is_some());
                    (document.edit(&Changes { id, ..changes }), None)
                }
                None => (self.made_anew(past, wanted, &place, id), None),
            },
            (Aim::Back { .. }, None) => (self.made_anew(past, wanted, &place, id), None),
            (Aim::Anew { old, .. }, None) => {
                let note = old.map(|old| format!("# restored from {old}@{}", known.0));
                let new = self.as_new(past, wish, wanted, &place, *old)?;
                let new = match note {
                    Some(note) => with_note(&new, &note),
                    None => new,
                };
                (new, *old)
            }
        };
        let is_words = wanted_is_words(aim, &kept, &new);
        if !is_words {
            return Ok(Err(Refused {
                kind: RefusedKind::Impossible,
                message: format!(
                    "version @{} is no file that an article can have",
                    kept.number
                ),
                help: "`kbsync show PATH@N` prints it; bring back what you need by hand".to_owned(),
            }));
        }
        let fields = match &document {
            Some(document) => fields(document, &kept.seen.version),
            None => Vec::new(),
        };
        let last = past.last_address().map(|last| &last.seen);
        let home = last.map(|last| (last.version.category, last.place.folder.clone()));
        let (stamp, old) = present.unzip();
        Ok(Ok(Prepared {
            kept,
            known,
            place,
            id,
            instead_of,
            home,
            old,
            new,
            fields,
            stamp,
            lost_copy: false,
        }))
    }

    /// The versions of a file that is in conflict and never was the article's: they are its own.
    pub(super) fn before_both_met(&self, past: &Past, wish: &Wish) -> anyhow::Result<Option<Past>> {
        let conflict = past.article().and_then(|id| self.base.conflicts.get(&id));
        match conflict {
            Some(row) if wish.number.is_none() && last_here(past).is_none() => {
                Ok(past::of(self.store, Subject::File(row.place.clone()))?)
            }
            Some(_) | None => Ok(None),
        }
    }

    fn present(&self, place: &Place) -> anyhow::Result<Result<Present, Refused>> {
        let content = match self
            .disk
            .read(At::Folder(&place.folder), &place.file, MAX_FILE)
        {
            Ok(content) => content,
            Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(Ok(None)),
            Err(error) => return Err(error.into()),
        };
        let stamp = content.stamp;
        Ok(match (content.whole, String::from_utf8(content.bytes)) {
            (true, Ok(source)) => Ok(Some((stamp, source))),
            // The history keeps text; what it could not keep is not replaced.
            (false, _) | (true, Err(_)) => Err(Refused {
                kind: RefusedKind::Impossible,
                message: format!("{place} holds something that the history cannot keep"),
                help: "move it away, then run the command again".to_owned(),
            }),
        })
    }

    fn wanted<'p>(
        &self,
        past: &'p Past,
        wish: &Wish,
        aim: &Aim,
        document: Option<&Document>,
        present: &Present,
    ) -> anyhow::Result<Result<Wanted<'p>, Refused>> {
        let found = match (wish.number, aim) {
            (Some(number), _) => past.numbered(number),
            (None, Aim::Edit { .. }) => {
                past.versions
                    .iter()
                    .filter(|kept| has_address(kept))
                    .find(|kept| {
                        document
                            .is_none_or(|document| !fields(document, &kept.seen.version).is_empty())
                    })
            }
            // One that is missing comes back as it was here.
            (None, Aim::Category { .. }) if present.is_none() => {
                let mut versions = past.versions.iter();
                versions.find(|kept| was_here(kept)).or(past.newest())
            }
            (None, Aim::Category { .. }) => past.versions.iter().find(|kept| {
                let now = present.as_ref().map(|(_, source)| TextDigest::of(source));
                Some(kept.seen.version.text) != now
            }),
            // Of the two versions in conflict the service's lies beside it: the writer's was in the file.
            (None, Aim::Back { id, .. }) if self.base.conflicts.contains_key(id) => {
                last_here(past).or(past.newest())
            }
            // Of one that ended in conflict it is the writer's, too: a copy beside it was never the file.
            (None, Aim::Anew { .. }) => last_words(past),
            (None, Aim::Back { .. }) => past.last_address().or(past.newest()),
        };
        let Some(kept) = found else {
            let message = match wish.number {
                Some(number) => format!("there is no version @{number}"),
                None => "there is no version but the present one".to_owned(),
            };
            return Ok(Err(Refused {
                kind: RefusedKind::Impossible,
                message,
                help: "`kbsync log PATH` lists the versions".to_owned(),
            }));
        };
        let Some(text) = self.store.body(kept.seen.version.text)? else {
            return Ok(Err(Refused {
                kind: RefusedKind::Impossible,
                message: format!("the text of version @{} is not kept any more", kept.number),
                help: "`kbsync log PATH` lists the other versions".to_owned(),
            }));
        };
        let whole = match kept.seen.file {
            Some(digest) => self.store.body(digest)?,
            None => None,
        };
        let raw = whole.filter(|whole| Document::parse_with_markers(whole.as_bytes()).is_err());
        Ok(Ok(Wanted { kept, text, raw }))
    }

    /// A file of an article that lives, where there is none that could be edited.
    fn made_anew(
        &self,
        past: &Past,
        wanted: Wanted<'_>,
        place: &Place,
        id: Option<ArticleId>,
    ) -> String {
        let row = id.and_then(|id| self.base.articles.get(&id));
        let flags = row.map(|row| row.file_flags).unwrap_or_default();
        let slug = row.map_or(wanted.kept.seen.version.slug.as_str(), |row| {
            row.local.slug.as_str()
        });
        self.in_its_form(past, wanted, (place, slug), id, flags)
    }

    /// A file of a new article.
    fn as_new(
        &self,
        past: &Past,
        wish: &Wish,
        wanted: Wanted<'_>,
        place: &Place,
        old: Option<ArticleId>,
    ) -> anyhow::Result<String> {
        let last = past.last_address().filter(|_| wish.to.is_none());
        let slug = match last {
            Some(last) => last.seen.version.slug.clone(),
            None => slug_of_stem(place.stem()).unwrap_or_default(),
        };
        let flags = match old {
            Some(id) => flags_noted(self.store, id)?,
            None => Flags::default(),
        };
        Ok(self.in_its_form(past, wanted, (place, &slug), None, flags))
    }

    /// The version's words in the form that the writer had given the file by then.
    fn in_its_form(
        &self,
        past: &Past,
        wanted: Wanted<'_>,
        (place, slug): (&Place, &str),
        id: Option<ArticleId>,
        flags: Flags,
    ) -> String {
        let version = &wanted.kept.seen.version;
        let Some(form) = self.form(past, wanted.kept.number) else {
            return composed(id, (place, slug), version, flags, wanted.text);
        };
        let held = form.flags();
        let source = form.edit(&Changes {
            id,
            slug: slug_key(place, slug, form.slug()),
            enabled: Some(flags.enabled.or(held.enabled)),
            draft: Some(flags.draft.or(held.draft)),
            ..changes(version, wanted.text)
        });
        match (id, Document::parse_with_markers(source.as_bytes())) {
            (None, Ok(document)) if document.id().is_some() => document.without_id(),
            (None | Some(_), Ok(_) | Err(_)) => source,
        }
    }

    /// The writer's file nearest to a version, where it was more than the words.
    fn form(&self, past: &Past, number: u64) -> Option<Document> {
        let mut local = past
            .versions
            .iter()
            .filter(|kept| kept.number <= number && kept.seen.side == Side::Local)
            .filter(|kept| has_address(kept) || kept.number == number);
        let whole = self.store.body(local.next()?.seen.file?).ok()??;
        Document::parse_with_markers(whole.as_bytes()).ok()
    }
}

/// The last version that the file itself had.
fn last_here(past: &Past) -> Option<&StoredVersion> {
    let own = |kept: &&StoredVersion| kept.seen.side != Side::Remote && has_address(kept);
    past.versions.iter().find(own)
}

/// The last version that was not undone by a later one: where both sides had their own, the writer's, though what the
/// service had may have been seen after it.
fn last_words(past: &Past) -> Option<&StoredVersion> {
    let addressed = past.versions.iter().filter(|kept| has_address(kept));
    let mut apart = addressed.take_while(|kept| kept.seen.side != Side::Both);
    apart
        .find(|kept| kept.seen.side == Side::Local)
        .or(past.last_address())
        .or(past.newest())
}

/// Returns whether what would be written can be read back. What was no article when it was kept (a file that
/// was not ready) comes back just so.
fn wanted_is_words(aim: &Aim, kept: &StoredVersion, new: &str) -> bool {
    matches!(aim, Aim::Category { .. })
        || kept.seen.file == Some(TextDigest::of(new))
        || Document::parse_with_markers(new.as_bytes()).is_ok()
}

/// `_category.yaml` with a version's words; the writer's comments and keys stay.
fn category(id: CategoryId, wanted: &Wanted<'_>, present: &Present) -> String {
    let Ok(version) = CategoryDocument::parse(wanted.text.as_bytes()) else {
        return wanted.text.clone();
    };
    let document = present
        .as_ref()
        .and_then(|(_, source)| CategoryDocument::parse(source.as_bytes()).ok());
    let Some(document) = document else {
        return version.edit(&CategoryChanges {
            id: Some(id),
            ..CategoryChanges::default()
        });
    };
    document.edit(&CategoryChanges {
        id: None,
        name: version.name().map(str::to_owned),
        slug: None,
        description: Some(version.description().to_owned()),
        meta_description: Some(version.meta_description().to_owned()),
    })
}

/// The changes that give a file a version's words, and leave all else.
fn changes(version: &Version, text: String) -> Changes {
    Changes {
        title: Some(version.title.clone()),
        introtext: Some(version.introtext.clone()),
        keywords: Some(version.keywords.clone()),
        text: Some(text),
        ..Changes::default()
    }
}

/// The words in which a file differs from a version.
pub(super) fn fields(document: &Document, version: &Version) -> Vec<Field> {
    let text = document.text();
    let same_text = TextDigest::of(text) == version.text;
    WORDS
        .into_iter()
        .filter(|field| match field {
            Field::Title => document.title() != version.title,
            Field::Introtext => document.introtext() != version.introtext,
            Field::Keywords => document.keywords() != version.keywords,
            Field::Text => !same_text,
            Field::Slug
            | Field::Category
            | Field::Enabled
            | Field::Draft
            | Field::Name
            | Field::Description
            | Field::MetaDescription => false,
        })
        .collect()
}

/// Puts a comment under the line that opens the front matter.
fn with_note(source: &str, note: &str) -> String {
    let Some(end) = source.find('\n') else {
        return source.to_owned();
    };
    let (first, rest) = source.split_at(end + 1);
    let line_end = if first.ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    format!("{first}{note}{line_end}{rest}")
}
