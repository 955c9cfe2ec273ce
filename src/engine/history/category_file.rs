//! Versions of a `_category.yaml` go into the history: the whole file, comments included.

use super::category::seen_as;
use crate::engine::Engine;
use crate::engine::form::{MAX_YAML, category_changes, category_file, category_version};
use crate::mirror::disk::{At, Disk};
use crate::mirror::document::CategoryDocument;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Side, TextDigest};
use crate::reconcile::plan::SettleCategory;
use crate::service::Service;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Keeps what a category says or said.
    pub(in crate::engine) fn keep_category(
        &mut self,
        id: CategoryId,
        folder: &str,
        seen: (Side, &str),
        words: &CategoryVersion,
        source: &str,
    ) -> anyhow::Result<()> {
        let now = self.clock.now();
        let text = TextDigest::of(source);
        let seen = seen_as(id, folder, seen, words, text);
        self.store.write(now, |tx| {
            tx.put_body(source)?;
            tx.record(&seen)
        })?;
        Ok(())
    }

    /// Stores the words of a category on the service, if they are new: before anything decides on them.
    pub(in crate::engine) fn keep_category_there(
        &mut self,
        id: CategoryId,
        words: &CategoryVersion,
    ) -> anyhow::Result<()> {
        let row = self.store.category(id)?;
        let Some(row) = row.filter(|row| row.remote != *words) else {
            return Ok(());
        };
        let folder = row.folder.as_deref().unwrap_or(&words.slug);
        let source = self.as_its_file(id, folder, words);
        let seen = (Side::Remote, "edited on the service");
        self.keep_category(id, folder, seen, words, &source)
    }

    /// A category's `_category.yaml` as it would be with other words: the writer's comments stay.
    fn as_its_file(&self, id: CategoryId, folder: &str, words: &CategoryVersion) -> String {
        let content = self.disk.read(At::Folder(folder), CATEGORY_FILE, MAX_YAML);
        let document = content.ok().filter(|content| content.whole);
        let document = document.and_then(|found| CategoryDocument::parse(&found.bytes).ok());
        let Some(document) = document else {
            return category_file(id, folder, words);
        };
        document.edit(&category_changes(id, folder, words, document.slug()))
    }

    /// Before a category is changed on the service: what the service has, and what the writer saved.
    pub(in crate::engine) fn keep_both_sides(
        &mut self,
        settle: &SettleCategory,
    ) -> anyhow::Result<()> {
        let folder = settle.from.as_ref().or(settle.to.as_ref());
        let folder = folder.unwrap_or(&settle.seen.slug);
        let theirs = self.as_its_file(settle.id, folder, &settle.seen);
        self.keep_category(
            settle.id,
            folder,
            (Side::Remote, "replaced"),
            &settle.seen,
            &theirs,
        )?;
        self.keep_yaml(settle, (Side::Local, "edited here"))
    }

    /// After a category was changed on the service: both sides say what the file says.
    pub(in crate::engine) fn keep_pushed(&mut self, settle: &SettleCategory) -> anyhow::Result<()> {
        self.keep_yaml(settle, (Side::Both, "pushed"))
    }

    /// Keeps `_category.yaml` as it is. Where it cannot be read there is nothing that would be replaced.
    fn keep_yaml(&mut self, settle: &SettleCategory, seen: (Side, &str)) -> anyhow::Result<()> {
        let Some(folder) = &settle.to else {
            return Ok(());
        };
        let at = At::Folder(folder);
        let Ok(content) = self.disk.read(at, CATEGORY_FILE, MAX_YAML) else {
            return Ok(());
        };
        match String::from_utf8(content.bytes) {
            Ok(source) if content.whole => {
                self.keep_category(settle.id, folder, seen, &settle.file, &source)
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// Returns the words of a file; a missing name or slug is the folder's.
pub(in crate::engine) fn words_of(document: &CategoryDocument, folder: &str) -> CategoryVersion {
    category_version(folder, document).unwrap_or_else(|_no_slug| CategoryVersion {
        name: document.name().unwrap_or(folder).to_owned(),
        slug: folder.to_owned(),
        description: document.description().to_owned(),
        meta_description: document.meta_description().to_owned(),
    })
}
