//! The text of a restored file: the version's content in the file's own form.

use super::target::{Target, refuse};
use super::{Preparer, RestoreRequest, RestoredFile};
use crate::engine::form::{MAX_FILE, article_changes, category_version, slug_at};
use crate::engine::history::category::was_here;
use crate::engine::history::{self, History, has_address, was_not_ready};
use crate::mirror::disk::{At, Disk, DiskError, DiskErrorKind};
use crate::mirror::document::{CategoryDocument, Changes, Document};
use crate::model::base::ArticleRow;
use crate::model::path::slug_of_stem;
use crate::model::{
    ArticleId, CategoryId, Field, Flags, Place, Side, Stamp, TextDigest, Texts, Version,
};
use crate::state::{StoredVersion, Subject};

const BY_HAND: &str = "`kbsync show PATH@N` prints it; bring back what you need by hand";

impl<D: Disk> Preparer<'_, D> {
    /// Makes the text of a file. Fails with [`super::Refused`].
    pub(super) fn content(
        &self,
        history: &History,
        request: &RestoreRequest,
        target: Target,
    ) -> anyhow::Result<RestoredFile> {
        let present = self.present(&target.place)?;
        // A file that is gone since the scan may be at another place, and a new file would be a second one.
        if present.is_some() != target.has_file {
            let path = target.place.to_string();
            return Err(DiskError::new(DiskErrorKind::Changed, "read", path).into());
        }
        let old = present.as_ref().map(|(_, text)| text.as_str());
        let document = old.and_then(|old| Document::parse_leniently(old.as_bytes()).ok());
        let id = target.id;
        let row = id.and_then(|id| self.view.base.articles.get(&id));
        let hidden = document.as_ref().zip(row);
        let hidden = hidden.and_then(|(document, row)| lost_flags(document, row));
        let own = self.own_history(history, request)?;
        let history = own.as_ref().unwrap_or(history);
        let listed = |version| (version, history.listed(version).number);
        let found = match request.number {
            Some(number) => history.numbered(number).map(|version| (version, number)),
            // Such a file gets its line back with the agreed text, not with an older one.
            None if hidden.is_some() => agreed_version(history, row).map(listed),
            None => default_version(history, &target, old, document.as_ref()).map(listed),
        };
        let Some((version, number)) = found else {
            let number = request.number;
            let message = number.map_or("there is no other version".to_owned(), |number| {
                format!("there is no version @{number}")
            });
            return refuse(message, "`kbsync log PATH` lists the versions");
        };
        let text = self.body(version)?;
        let words = &version.seen.version;
        let fields = document.as_ref().map(|document| differing(document, words));
        let now = document.as_ref().map(Document::flags).unwrap_or_default();
        let lines = hidden.into_iter().flat_map(|flags| flags.differing(now));
        let mut file = RestoredFile {
            version: version.clone(),
            number,
            fields: fields.into_iter().flatten().chain(lines).collect(),
            is_silent: false,
            new: String::new(),
            target,
            present,
        };
        if let Some(id) = file.target.category.filter(|_| file.target.is_category()) {
            file.new = category_text(id, &text, file.old());
            file.is_silent = self.is_known_category(id, &file);
            return Ok(file);
        }
        // A file that was not ready when it was stored comes back unchanged.
        if was_not_ready(version) {
            if file.target.instead_of.is_some() {
                return refuse(
                    format!(
                        "the file was not ready at version @{number}, so it cannot become a new article"
                    ),
                    BY_HAND,
                );
            }
            file.new = text;
            return Ok(file);
        }
        file.new = match &document {
            Some(document) => {
                // A copy of another article's file has that article's id.
                let named = document.id().filter(|named| Some(*named) != id);
                document.edit(&Changes {
                    id: id.filter(|_| named.is_some()).map(ArticleId::uuid),
                    enabled: hidden.map(|flags| flags.enabled),
                    draft: hidden.map(|flags| flags.draft),
                    text: Some(text),
                    ..Changes::words(words)
                })
            }
            None => self.in_last_form(history, request, &file, text)?,
        };
        let Ok(new) = Document::parse_leniently(file.new.as_bytes()) else {
            let number = version.number;
            return refuse(
                format!("version @{number} is no file that an article can have"),
                BY_HAND,
            );
        };
        file.is_silent = self.is_known(&file, &new);
        Ok(file)
    }

    fn present(&self, place: &Place) -> anyhow::Result<Option<(Stamp, String)>> {
        let at = At::Folder(&place.folder);
        let content = match self.disk.read(at, &place.file, MAX_FILE) {
            Ok(content) => content,
            Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match String::from_utf8(content.bytes) {
            Ok(text) if content.whole => Ok(Some((content.stamp, text))),
            // The history stores text; other bytes are not replaced.
            Ok(_) | Err(_) => refuse(
                format!("{place} holds something that the history cannot keep"),
                "move it away, then run the command again",
            ),
        }
    }

    fn body(&self, version: &StoredVersion) -> anyhow::Result<String> {
        match self.store.body(version.seen.version.text)? {
            Some(text) => Ok(text),
            None => refuse(
                format!(
                    "the text of version @{} is not kept any more",
                    version.number
                ),
                "`kbsync log PATH` lists the other versions",
            ),
        }
    }

    /// Returns the file's own history, for a file in conflict that never was the article's.
    fn own_history(
        &self,
        history: &History,
        request: &RestoreRequest,
    ) -> anyhow::Result<Option<History>> {
        let mut versions = history.versions.iter();
        let was_in_file = versions.any(|kept| was_here(kept) && has_address(kept));
        let conflict = history.article();
        let conflict = conflict.and_then(|id| self.view.base.conflicts.get(&id));
        match conflict.filter(|_| request.number.is_none() && !was_in_file) {
            Some(row) => Ok(history::of(self.store, Subject::File(row.place.clone()))?),
            None => Ok(None),
        }
    }

    /// Makes a new file with the version's content, in the form that the writer's file had at that version.
    fn in_last_form(
        &self,
        history: &History,
        request: &RestoreRequest,
        file: &RestoredFile,
        text: String,
    ) -> anyhow::Result<String> {
        let (place, id) = (&file.target.place, file.target.id);
        let row = id.and_then(|id| self.view.base.articles.get(&id));
        let known = id.or(file.target.instead_of);
        let flags = known.map(|id| history::ended::flags(self.store, id));
        let flags = flags.transpose()?.unwrap_or_default();
        let last = history.last_address().filter(|_| request.to.is_none());
        let slug = match (row, last) {
            (Some(row), _) => row.local.slug.clone(),
            (None, Some(last)) => last.seen.version.slug.clone(),
            (None, None) => slug_of_stem(place.stem()).unwrap_or_default(),
        };
        let form = self.form(history, file.version.number);
        let flags = match &form {
            // The base has the flags of a known article; an older file may have others.
            Some(form) if row.is_none() => flags.or(form.flags()),
            Some(_) | None => flags,
        };
        let version = &file.version.seen.version;
        let written = form.as_ref().and_then(Document::slug);
        let changes = Changes {
            text: Some(text),
            ..article_changes(id, (place, &slug), version, flags, written)
        };
        let source = match form {
            Some(form) => form.edit(&changes),
            None => Document::compose(&changes),
        };
        let source = match Document::parse_leniently(source.as_bytes()) {
            Ok(document) if id.is_none() && document.id().is_some() => document.without_id(),
            Ok(_) | Err(_) => source,
        };
        Ok(match file.target.instead_of {
            Some(_) => with_comment(&source, &format!("# {}", file.cause())),
            None => source,
        })
    }

    /// Returns the writer's whole file nearest to a version, if it was stored.
    fn form(&self, history: &History, number: u64) -> Option<Document> {
        let mut local = history
            .versions
            .iter()
            .filter(|kept| kept.number <= number && kept.seen.side == Side::Local)
            .filter(|kept| has_address(kept) || kept.number == number)
            .filter(|kept| !was_not_ready(kept));
        let whole = self.store.body(local.next()?.seen.file?).ok()??;
        Document::parse_leniently(whole.as_bytes()).ok()
    }

    /// Returns whether readers have the content of a file, or do not get it before a conflict is settled.
    fn is_known(&self, file: &RestoredFile, new: &Document) -> bool {
        let Some(id) = file.target.id else {
            return false;
        };
        let base = &self.view.base;
        // The service may have rewritten what it was sent.
        let place = &file.target.place;
        let is_in_base = base.articles.get(&id).is_some_and(|row| {
            let mut sides = [&row.local, &row.remote].into_iter();
            let is_unmoved = row.place == *place
                && row.file_flags == new.flags()
                && slug_at(new, place).is_ok_and(|slug| slug == row.local.slug);
            is_unmoved && sides.any(|version| differing(new, version).is_empty())
        });
        is_in_base || base.conflicts.contains_key(&id)
    }

    /// Returns whether the service has the words of a category's file, or cannot get them because it cannot be parsed.
    fn is_known_category(&self, id: CategoryId, file: &RestoredFile) -> bool {
        let document = CategoryDocument::parse(file.new.as_bytes()).ok();
        let words = document
            .and_then(|document| category_version(&file.target.place.folder, &document).ok());
        let row = self.view.base.categories.get(&id);
        words.is_none_or(|words| row.is_some_and(|row| row.local == words))
    }
}

/// Returns the flags of a file that has lost the line which hides its article; `None`: it has lost none. Versions have
/// no flags: without this line, a restored text would publish the article.
fn lost_flags(document: &Document, row: &ArticleRow) -> Option<Flags> {
    let (now, agreed) = (document.flags(), row.file_flags);
    let flags = now.or(agreed);
    (flags != now && agreed.hides()).then_some(flags)
}

fn agreed_version<'h>(history: &'h History, row: Option<&ArticleRow>) -> Option<&'h StoredVersion> {
    let is_agreed =
        |kept: &&StoredVersion| row.is_some_and(|row| row.local.same_words(&kept.seen.version));
    history.versions.iter().find(is_agreed)
}

/// Returns the version of a request without a number.
fn default_version<'h>(
    history: &'h History,
    target: &Target,
    old: Option<&str>,
    document: Option<&Document>,
) -> Option<&'h StoredVersion> {
    let mut versions = history.versions.iter();
    match old {
        Some(old) if target.is_category() => {
            let now = TextDigest::of(old);
            versions.find(|kept| kept.seen.version.text != now)
        }
        Some(_) => versions.find(|kept| {
            let differs = |document| !differing(document, &kept.seen.version).is_empty();
            has_address(kept) && !was_not_ready(kept) && document.is_none_or(differs)
        }),
        // A missing file comes back as it was in the mirror.
        None if target.is_category() => {
            let last = versions.find(|kept| was_here(kept));
            Some(last.unwrap_or(history.newest()))
        }
        None => Some(last_words(history)),
    }
}

/// Returns the last version that no later one undid. If both sides had their own, the writer's counts, even if the
/// service's was seen later. A conflict copy was never the file, and a file that was not ready comes back only by its
/// number.
fn last_words(history: &History) -> &StoredVersion {
    let usable = |kept: &&StoredVersion| has_address(kept) && !was_not_ready(kept);
    let usable = history.versions.iter().filter(usable);
    let last = usable.clone().next();
    let mut apart = usable.take_while(|kept| kept.seen.side != Side::Both);
    apart
        .find(|kept| kept.seen.side == Side::Local)
        .or(last)
        .unwrap_or(history.newest())
}

/// Returns `_category.yaml` with a version's words; the writer's comments and keys stay.
fn category_text(id: CategoryId, text: &str, old: Option<&str>) -> String {
    let Ok(version) = CategoryDocument::parse(text.as_bytes()) else {
        return text.to_owned();
    };
    match old.and_then(|old| CategoryDocument::parse(old.as_bytes()).ok()) {
        None => version.edit(&Changes {
            id: Some(id.uuid()),
            ..Changes::default()
        }),
        Some(document) => document.edit(&Changes {
            name: version.name().map(str::to_owned),
            description: Some(version.description().to_owned()),
            meta_description: Some(version.meta_description().to_owned()),
            ..Changes::default()
        }),
    }
}

/// Returns the fields in which a file differs from a version, except the address, which stays.
fn differing(document: &Document, version: &Version) -> Vec<Field> {
    let present = document.version(version.slug.clone(), version.category);
    present.differing(version)
}

/// Inserts a comment after the line that opens the front matter.
fn with_comment(source: &str, comment: &str) -> String {
    let Some((first, rest)) = source.split_once('\n') else {
        return source.to_owned();
    };
    let line_end = if first.ends_with('\r') { "\r" } else { "" };
    format!("{first}\n{comment}{line_end}\n{rest}")
}
