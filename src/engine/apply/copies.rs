//! The copies of conflicts: files beside the articles' that show the service's version.
//!
//! What a person wrote into a copy is in the history before the copy is replaced or taken away, and as soon as it is
//! seen; what cannot be kept word for word stays where it is. Which conflicts there are is not decided here.

use super::Run;
use crate::engine::journal::nothing;
use crate::engine::observe::Sight;
use crate::engine::report::{Line, Report, Status};
use crate::engine::{Engine, anew};
use crate::mirror::disk::{At, Content, Disk, DiskError, DiskErrorKind, Durability};
use crate::mirror::document::{Changes, Document};
use crate::model::{ArticleId, CategoryId, KnownFile, Place, Side, TextDigest, Version};
use crate::reconcile::plan::{Conflict, Kind};
use crate::service::Service;
use crate::state::{Intent, Seen as SeenVersion, StoredVersion, Subject};
use std::collections::BTreeMap;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Writes a conflict's copy beside its file. An earlier one that was edited is kept first.
    pub(super) fn write_copy(
        &mut self,
        conflict: &Conflict,
        copy: &str,
        source: &str,
    ) -> anyhow::Result<Result<(), DiskError>> {
        let at = At::Folder(&conflict.place.folder);
        let over = match self.replaceable_copy(at, copy) {
            Ok(None) => None,
            // A run that was killed may have left it behind: a copy that goes with the power would be taken for
            // one that a person removed.
            Ok(Some(earlier)) if earlier.bytes == source.as_bytes() => {
                return Ok(self.disk.sync_folder(at));
            }
            Ok(Some(earlier)) => {
                let conflicts = self.store.conflicts()?;
                let standing = conflicts.iter().find(|row| row.id == conflict.id);
                let shown = standing.and_then(|row| row.remote.as_ref());
                if !self.was_shown(&earlier, conflict.id, shown)? {
                    // An earlier copy that was edited: its bytes are kept before it is replaced.
                    let place = Place::new(&conflict.place.folder, copy);
                    let bytes = &earlier.bytes;
                    let edited = shown.is_some();
                    let number = self.keep_copy(conflict.id, &place, bytes, edited)?;
                    let kept = number.map(|number| (conflict.id, place, number));
                    self.kept_copies.extend(kept);
                }
                Some(KnownFile::of(earlier.stamp, &earlier.bytes))
            }
            Err(error) => return Ok(Err(error)),
        };
        let place = Place::new(&conflict.place.folder, copy);
        let bytes = source.as_bytes();
        let change = match self.stage_like(&place, bytes, &conflict.place, Durability::Now)? {
            Ok(staged) => staged.over(over),
            Err(error) => return Ok(Err(error)),
        };
        let written = self.change_file(change, &nothing, &|_, _| Vec::new())?;
        Ok(written.map(drop))
    }

    fn earlier_copy(&self, at: At<'_>, copy: &str) -> Result<Option<Content>, DiskError> {
        match self.disk.look(at, copy)? {
            None => Ok(None),
            Some(_) => self.disk.read(at, copy, super::render::MAX_FILE).map(Some),
        }
    }

    /// The same, where it is to be replaced: what cannot be kept word for word stays.
    fn replaceable_copy(&self, at: At<'_>, copy: &str) -> Result<Option<Content>, DiskError> {
        match self.earlier_copy(at, copy)? {
            Some(found) if !is_text(&found) => {
                Err(DiskError::new(DiskErrorKind::NoText, "replace", copy))
            }
            found => Ok(found),
        }
    }

    /// Keeps what a copy says. What was shown in it may be forgotten: then only words that nothing else has were surely
    /// edited. Gives the number of what was edited.
    fn keep_copy(
        &mut self,
        id: ArticleId,
        place: &Place,
        bytes: &[u8],
        edited: bool,
    ) -> anyhow::Result<Option<u64>> {
        let now = self.clock.now();
        let id = anew::goes_on_as(&self.store, id)?.unwrap_or(id);
        let source = String::from_utf8_lossy(bytes).into_owned();
        let document = Document::parse_with_markers(bytes).ok();
        let text = document.as_ref().map_or(source.as_str(), Document::text);
        let category = self.store.article(id)?.map_or_else(
            || CategoryId::provisional(&place.folder),
            |row| row.remote.category,
        );
        let words = |read: fn(&Document) -> &str| document.as_ref().map(read).unwrap_or_default();
        let version = Version {
            title: words(Document::title).to_owned(),
            slug: document
                .as_ref()
                .and_then(Document::slug)
                .unwrap_or_default()
                .to_owned(),
            category,
            introtext: words(Document::introtext).to_owned(),
            keywords: words(Document::keywords).to_owned(),
            text: TextDigest::of(text),
        };
        // It may have been kept when it was seen.
        let known = self.number_of(id, place, &source)?.is_some();
        let edited = edited || known || !self.store.has_body(version.text)?;
        let number = self.store.write(now, |tx| {
            tx.put_body(text)?;
            let file = tx.put_body(&source)?;
            tx.record(&SeenVersion {
                subject: Subject::Article(id),
                place: place.clone(),
                side: Side::Local,
                cause: COPY.to_owned(),
                version,
                file: Some(file),
            })
        })?;
        let number = match number {
            Some(number) => Some(number),
            // It was kept when it was seen.
            None => self.number_of(id, place, &source)?,
        };
        Ok(number.filter(|_| edited))
    }

    /// Returns whether a copy is as it was written. What was shown in it may be forgotten, as where the article is gone
    /// by now: then the history has it.
    fn was_shown(
        &self,
        copy: &Content,
        id: ArticleId,
        shown: Option<&Version>,
    ) -> anyhow::Result<bool> {
        if shown.is_some() {
            return Ok(still_says(copy, id, shown));
        }
        let now = anew::goes_on_as(&self.store, id)?.unwrap_or(id);
        let versions = self.store.versions(&Subject::Article(now))?;
        let mut there = versions.iter().filter(|kept| kept.seen.side != Side::Local);
        Ok(there.any(|kept| still_says(copy, id, Some(&kept.seen.version))))
    }

    /// The version that holds a file of an article word for word.
    fn number_of(&self, id: ArticleId, place: &Place, source: &str) -> anyhow::Result<Option<u64>> {
        let file = Some(TextDigest::of(source));
        let versions = self.store.versions(&Subject::Article(id))?;
        let mut versions = versions.iter();
        let found = versions.find(|kept| kept.seen.file == file && kept.seen.place == *place);
        Ok(found.map(|kept| kept.number))
    }

    /// Keeps what was written into the copies of conflicts as soon as it is seen: their writer may take a copy away,
    /// which settles its conflict, and want those words later.
    pub(in crate::engine) fn keep_edited_copies(&mut self, sight: &Sight) -> anyhow::Result<()> {
        let mut seen = std::mem::take(&mut self.seen_copies);
        let rows = sight.base.conflicts.values();
        let rows = rows.filter_map(|row| Some((row, row.copy.as_ref()?)));
        let mut known = BTreeMap::new();
        for (row, copy) in rows {
            let place = Place::new(&row.place.folder, copy);
            let at = At::Folder(&place.folder);
            let before = seen.remove(&place);
            let stamp = match self.disk.look(at, copy) {
                Ok(Some(entry)) => entry.stamp,
                // Gone, or out of sight: there is nothing to keep.
                Ok(None) | Err(_) => continue,
            };
            if before == Some(stamp) {
                known.insert(place, stamp);
                continue;
            }
            let found = match self.earlier_copy(at, copy) {
                Ok(Some(found)) if is_text(&found) => found,
                // It is named when it is about to go, and stays.
                Ok(_) | Err(_) => continue,
            };
            if !self.was_shown(&found, row.id, row.remote.as_ref())? {
                self.keep_copy(row.id, &place, &found.bytes, true)?;
            }
            if let Some(stamp) = self.trusted(found.stamp) {
                known.insert(place, stamp);
            }
        }
        self.seen_copies = known;
        Ok(())
    }

    /// Says of copies that were edited and went in this cycle where their words are: in their articles' lines, or in
    /// lines of their own.
    pub(in crate::engine) fn tell_kept_copies(&mut self, report: &mut Report) {
        for (id, place, number) in std::mem::take(&mut self.kept_copies) {
            let told = format!(
                "{} had been edited, and `kbsync show {id}@{number}` shows what it held",
                place.file
            );
            let mut lines = report.actions.iter_mut();
            if let Some(line) = lines.find(|line| line.id == Some(id)) {
                line.say(told);
                continue;
            }
            report.actions.push(Line {
                action: Kind::Adopt,
                side: Side::Local,
                path: place.to_string(),
                id: Some(id),
                fields: Vec::new(),
                status: Status::Done,
                reason: Some(told),
                rule: None,
            });
        }
    }

    /// Forgets a conflict that was just settled in the state, and takes its copy away.
    pub(super) fn clear_copy(&mut self, id: ArticleId, run: &mut Run<'_>) -> anyhow::Result<()> {
        let Some(row) = run.sight.base.conflicts.remove(&id) else {
            return Ok(());
        };
        let Some(copy) = &row.copy else {
            return Ok(());
        };
        let place = Place::new(&row.place.folder, copy);
        if let Ok(None) = self.disk.look(At::Folder(&place.folder), copy) {
            // Its writer took it away, and may want what was in it.
            let now = anew::goes_on_as(&self.store, id)?.unwrap_or(id);
            let versions = self.store.versions(&Subject::Article(now))?;
            // While they stood against each other, both sides agreed on nothing.
            let agreed = |kept: &&StoredVersion| kept.seen.side == Side::Both && kept.at < row.at;
            let since = versions.iter().find(agreed).map_or(0, |kept| kept.number);
            let written = |kept: &&StoredVersion| {
                kept.number > since && kept.seen.cause == COPY && kept.seen.place == place
            };
            let last = versions.iter().find(written).map(|kept| kept.number);
            let kept = last.map(|number| (now, place, number));
            self.kept_copies.extend(kept);
        }
        self.clear_copies()
    }

    /// Takes the copies of settled conflicts away, where they are still there. What they held is in the history.
    pub(in crate::engine) fn clear_copies(&mut self) -> anyhow::Result<()> {
        let conflicts = self.store.conflicts()?;
        let is_shown = |copy: &Place| {
            conflicts
                .iter()
                .any(|row| row.place.folder == copy.folder && row.copy.as_ref() == Some(&copy.file))
        };
        for (intent, about) in self.store.intents()? {
            let Intent::ClearCopy { id, copy, shown } = about else {
                continue;
            };
            let removed = if is_shown(&copy) {
                // By now a conflict that stands is shown there; without its copy it would count as settled.
                Ok(())
            } else {
                self.remove_copy(id, &copy, shown.as_ref())?
            };
            match removed {
                Ok(()) => {
                    let now = self.clock.now();
                    self.store.write(now, |tx| tx.remove_intent(intent))?;
                }
                Err(error) => tracing::warn!(path = %copy, %error, "the conflict copy stays"),
            }
        }
        Ok(())
    }

    fn remove_copy(
        &mut self,
        id: ArticleId,
        copy: &Place,
        shown: Option<&Version>,
    ) -> anyhow::Result<Result<(), DiskError>> {
        let at = At::Folder(&copy.folder);
        let removed = match self.earlier_copy(at, &copy.file) {
            Ok(None) => Ok(()),
            Ok(Some(found)) if !is_text(&found) => {
                // What cannot be kept word for word stays, and is the writer's from now on.
                tracing::error!(
                    path = %copy,
                    "the conflict is settled, but its copy is no UTF-8 text, or too long to be kept: it stays; move it away"
                );
                Ok(())
            }
            Ok(Some(found)) => {
                if !self.was_shown(&found, id, shown)? {
                    let number = self.keep_copy(id, copy, &found.bytes, shown.is_some())?;
                    let kept = number.map(|number| (id, copy.clone(), number));
                    self.kept_copies.extend(kept);
                }
                let known = KnownFile::of(found.stamp, &found.bytes);
                let removal = self.removal(copy, known)?;
                let removed = self.change_file(removal, &nothing, &|_, _| Vec::new())?;
                removed.map(drop)
            }
            Err(error) => Err(error),
        };
        Ok(match removed {
            Err(error) if error.kind == DiskErrorKind::NotFound => Ok(()),
            done => done,
        })
    }
}

/// Why what a copy held is in the history.
const COPY: &str = "an earlier conflict copy";

/// A conflict's copy.
pub(super) fn copy_of(id: ArticleId, version: &Version, text: String) -> String {
    Document::compose(&Changes {
        id: Some(id),
        title: Some(version.title.clone()),
        slug: Some(Some(version.slug.clone())),
        enabled: Some(None),
        draft: Some(None),
        introtext: Some(version.introtext.clone()),
        keywords: Some(version.keywords.clone()),
        text: Some(text),
    })
}

/// Returns whether a copy is still what was shown in it, which is in the history; what was edited since is not, were it
/// only a remark.
fn still_says(copy: &Content, id: ArticleId, shown: Option<&Version>) -> bool {
    let Ok(document) = Document::parse_with_markers(&copy.bytes) else {
        return false;
    };
    shown.is_some_and(|shown| {
        TextDigest::of(document.text()) == shown.text
            && copy_of(id, shown, document.text().to_owned()).as_bytes() == copy.bytes
    })
}

/// Returns whether it was read to its end and can be kept as it is.
fn is_text(found: &Content) -> bool {
    found.whole && std::str::from_utf8(&found.bytes).is_ok()
}
