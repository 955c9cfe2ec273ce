//! `_category.yaml`: read as it was scanned, written with what is new, and both versions kept.

use super::category_past::{changes, words_of};
use super::grain::ScannedYaml;
use crate::engine::Engine;
use crate::engine::yaml_past::last_document;
use crate::mirror::disk::{At, Content, Disk, DiskError, DiskErrorKind, Durability, Expect};
use crate::mirror::document::CategoryDocument;
use crate::model::path::CATEGORY_FILE;
use crate::model::{CategoryId, CategoryVersion, Side, Stamp};
use crate::service::Service;

/// `_category.yaml` is small.
pub(super) const MAX_YAML: usize = 1 << 20;

/// How the history tells of a file that is written.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// The words that are known to have been in it; any others are the writer's, and new.
    pub(super) before: Option<CategoryVersion>,
    /// The folder's name until now, if it is to get another: it is the slug of a file that names none.
    pub(super) folder: Option<String>,
    /// Who has what is written, and why.
    pub(super) after: (Side, &'static str),
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Reads `_category.yaml` as it was scanned: what a writer saved since then is not what was decided on.
    pub(super) fn read_yaml(
        &self,
        folder: &str,
        scanned: &ScannedYaml,
    ) -> anyhow::Result<Option<Content>> {
        let at = At::Folder(folder);
        let path = format!("{folder}/{CATEGORY_FILE}");
        let existing = match self.disk.look(at, CATEGORY_FILE)? {
            Some(_) => Some(self.disk.read(at, CATEGORY_FILE, MAX_YAML)?),
            None => None,
        };
        let found = existing.as_ref();
        if found.map(|content| content.stamp) != scanned.stamp
            || found.is_some_and(|content| !scanned.is_said_by(&content.bytes))
        {
            return Err(DiskError::new(DiskErrorKind::Changed, "read", path).into());
        }
        anyhow::ensure!(
            existing.as_ref().is_none_or(|content| content.whole),
            "{path} is larger than {MAX_YAML} bytes"
        );
        Ok(existing)
    }

    /// Writes what is new into `_category.yaml`.
    pub(super) fn write_yaml(
        &mut self,
        folder: &str,
        id: CategoryId,
        version: &CategoryVersion,
        scanned: &ScannedYaml,
        told: &Told,
    ) -> anyhow::Result<Stamp> {
        let at = At::Folder(folder);
        let existing = self.read_yaml(folder, scanned)?;
        let document = existing
            .as_ref()
            .map(|content| CategoryDocument::parse(&content.bytes))
            .transpose()?;
        // One that went missing comes back as it was.
        let last = match &document {
            Some(_) => None,
            None => last_document(&self.store, id, None)?,
        };
        let form = document.as_ref().or(last.as_ref());
        let written = form.and_then(CategoryDocument::slug);
        let changes = changes(id, folder, version, written);
        let source = form.map_or_else(
            || CategoryDocument::compose(&changes),
            |document| document.edit(&changes),
        );
        if let Some(content) = existing
            .as_ref()
            .filter(|content| content.bytes == source.as_bytes())
        {
            return Ok(content.stamp);
        }
        if let (Some(content), Some(document)) = (&existing, &document) {
            let before = std::str::from_utf8(&content.bytes)?;
            let words = words_of(document, told.folder.as_deref().unwrap_or(folder));
            let cause = if told.before.as_ref() == Some(&words) {
                "replaced"
            } else {
                "edited here"
            };
            self.keep_category(id, folder, (Side::Local, cause), &words, before)?;
        }
        let expect = existing.map_or(Expect::Absent, |content| Expect::Stamp(content.stamp));
        let staged = self.disk.stage(at, source.as_bytes(), Durability::Now)?;
        let stamp = self.disk.publish(staged, CATEGORY_FILE, expect)?;
        self.disk.sync_folder(at)?;
        self.keep_category(id, folder, told.after, version, &source)?;
        Ok(stamp)
    }
}
