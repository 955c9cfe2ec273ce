//! Writes a version's file, and what is to be remembered of it before and after.

use super::Prepared;
use crate::engine::Engine;
use crate::engine::apply::{category_file, hides_a_new_article, keep_whole, needs_whole};
use crate::engine::journal::nothing;
use crate::engine::observe::local::category_version;
use crate::engine::yaml_past::last_document;
use crate::mirror::disk::{At, Disk, Durability};
use crate::mirror::document::{CategoryChanges, CategoryDocument, Document};
use crate::model::path::{CATEGORY_FILE, slug_of_stem};
use crate::model::{CategoryId, KnownFile, Place, Side, TextDigest, Timestamp, Version};
use crate::reconcile::plan::Kind;
use crate::service::Service;
use crate::state::{CategoryRow, Deed, Seen, Subject};

impl<S: Service, D: Disk> Engine<S, D> {
    /// The bytes that are about to be replaced go into the history.
    pub(super) fn keep_present(
        &mut self,
        prepared: &Prepared,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let Some(old) = &prepared.old else {
            return Ok(());
        };
        let document = Document::parse_with_markers(old.as_bytes()).ok();
        let text = document.as_ref().map_or(old.as_str(), Document::text);
        let version = match &document {
            Some(document) => self.version_in_file(document, prepared)?,
            // What is no article is kept as a whole.
            None => Version {
                text: TextDigest::of(old),
                ..prepared.kept.seen.version.clone()
            },
        };
        let seen = Seen {
            subject: prepared.subject(),
            place: prepared.place.clone(),
            side: Side::Local,
            cause: "replaced".to_owned(),
            version,
            file: None,
        };
        let hidden = document.as_ref().is_some_and(hides_a_new_article);
        self.store.write(now, |tx| {
            tx.put_body(text)?;
            let file = if document.is_some() && !seen.subject.is_category() && !hidden {
                keep_whole(tx, old.as_bytes(), &seen.version, &seen.place)?
            } else {
                Some(tx.put_body(old)?)
            };
            tx.record(&Seen { file, ..seen })
        })?;
        Ok(())
    }

    /// A conflict whose file is there and whose copy is not counts as settled by hand. Where both went, nobody has
    /// settled it: it is shown anew.
    pub(super) fn keep_open(&mut self, prepared: &Prepared, now: Timestamp) -> anyhow::Result<()> {
        if let Some(id) = prepared.id.filter(|_| prepared.lost_copy) {
            self.store.write(now, |tx| tx.forget_copy(id))?;
        }
        Ok(())
    }

    /// Writes the file. Gives the category's own file, where that came back as well and waits to be agreed on.
    pub(super) fn write_back(&mut self, prepared: &Prepared) -> anyhow::Result<Option<String>> {
        let mut waits = false;
        let Place { folder, file } = &prepared.place;
        let at = At::Folder(folder);
        let is_new = self.disk.look(At::Root, folder)?.is_none();
        if is_new {
            self.disk.create_folder(folder)?;
            self.disk.sync_folder(At::Root)?;
        }
        // The category's own file names it itself.
        if *file != CATEGORY_FILE && self.disk.look(at, CATEGORY_FILE)?.is_none() {
            waits = self.name_folder(prepared, is_new)?;
        }
        let over = prepared.stamp.zip(prepared.old.as_ref());
        let over = over.map(|(stamp, old)| KnownFile::of(stamp, old.as_bytes()));
        self.put_file(&prepared.place, prepared.new.as_bytes(), over)?;
        Ok(waits.then(|| Place::new(folder, CATEGORY_FILE).to_string()))
    }

    /// A folder that comes back says which category it is: its name may not be that one's slug, and would make
    /// another category, which nobody can delete. So does one that lies there without a name, made by a person or left
    /// by a run that was broken off, where its category has no folder and it is not another's. Returns whether its words
    /// wait to be agreed on.
    fn name_folder(&mut self, prepared: &Prepared, is_new: bool) -> anyhow::Result<bool> {
        let folder = &prepared.place.folder;
        let row = match prepared.id {
            Some(id) => self.store.article(id)?,
            None => None,
        };
        let home = prepared.home.as_ref();
        let category = row.map(|row| row.local.category);
        let Some(category) = category.or(home.map(|(category, _)| *category)) else {
            return Ok(false);
        };
        let rows = self.store.categories()?;
        // A folder that somebody names for a new article stays what it is.
        let was_there = prepared.id.is_some() || home.is_some_and(|(_, last)| last == folder);
        let is_known = |row: &CategoryRow| row.folder.as_ref() == Some(folder);
        if !is_new && (!was_there || rows.iter().any(is_known)) {
            return Ok(false);
        }
        let row = rows.into_iter().find(|row| {
            let elsewhere = row.folder.as_ref().is_some_and(|known| known != folder);
            row.id == category && !elsewhere
        });
        let Some(row) = row else {
            return Ok(false);
        };
        let mut waits = false;
        let source = match last_document(&self.store, row.id, Some(folder))? {
            Some(last) => {
                waits = self.keep_clash(&row, folder, &last)?;
                last.edit(&CategoryChanges {
                    id: Some(row.id),
                    ..CategoryChanges::default()
                })
            }
            None => category_file(row.id, folder, &row.local),
        };
        let place = Place::new(folder, CATEGORY_FILE);
        self.put_file(&place, source.as_bytes(), None)?;
        Ok(waits)
    }

    fn put_file(
        &mut self,
        place: &Place,
        bytes: &[u8],
        over: Option<KnownFile>,
    ) -> anyhow::Result<()> {
        let staged = self.stage(place, bytes, Durability::Now)??;
        self.change_file(staged.over(over), &nothing, &|_, _| Vec::new())??;
        Ok(())
    }

    /// Words that come back and were never sent are the writer's alone: what the service said meanwhile was not
    /// agreed to, though the folder was not there to say so. Returns whether there are such words.
    fn keep_clash(
        &mut self,
        row: &CategoryRow,
        folder: &str,
        last: &CategoryDocument,
    ) -> anyhow::Result<bool> {
        if category_version(folder, last).is_ok_and(|words| words == row.local) {
            return Ok(false);
        }
        let row = CategoryRow {
            remote: row.local.clone(),
            read_at: Timestamp::default(),
            ..row.clone()
        };
        let now = self.clock.now();
        self.store.write(now, |tx| tx.put_category(&row))?;
        Ok(true)
    }

    /// What the file holds now is a version of its own, which says where it came from.
    pub(super) fn note_restored(
        &mut self,
        prepared: &Prepared,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let source = prepared.new.as_str();
        let document = Document::parse_with_markers(source.as_bytes()).ok();
        let text = document.as_ref().map_or(source, Document::text).to_owned();
        let version = match &document {
            Some(document) => self.version_in_file(document, prepared)?,
            None => prepared.kept.seen.version.clone(),
        };
        let whole = document.as_ref().is_none_or(hides_a_new_article)
            || needs_whole(source, &version, &prepared.place);
        let seen = Seen {
            subject: prepared.subject(),
            place: prepared.place.clone(),
            side: Side::Local,
            cause: prepared.cause(),
            version,
            file: None,
        };
        self.store.write(now, |tx| {
            tx.put_body(&text)?;
            let file = whole.then(|| tx.put_body(source)).transpose()?;
            tx.record(&Seen { file, ..seen })?;
            tx.event(&Deed {
                action: Kind::Restore.word().to_owned(),
                side: Side::Local,
                path: prepared.place.to_string(),
                id: prepared.id.or(prepared.instead_of),
                detail: prepared.described(),
            })
        })?;
        Ok(())
    }

    /// A file's words as the next scan reads them, so that it has nothing to add.
    fn version_in_file(&self, document: &Document, prepared: &Prepared) -> anyhow::Result<Version> {
        let row = match prepared.id {
            Some(id) => self.store.article(id)?,
            None => None,
        };
        let place = &prepared.place;
        let slug = document.slug().map(str::to_owned);
        Ok(Version {
            title: document.title().to_owned(),
            slug: slug
                .or_else(|| slug_of_stem(place.stem()).ok())
                .unwrap_or_else(|| place.stem().to_owned()),
            category: row.map_or_else(
                || CategoryId::provisional(&place.folder),
                |row| row.local.category,
            ),
            introtext: document.introtext().to_owned(),
            keywords: document.keywords().to_owned(),
            text: TextDigest::of(document.text()),
        })
    }
}

impl Prepared {
    /// Whose history the file's versions go into.
    fn subject(&self) -> Subject {
        match (self.id, &self.kept.seen.subject) {
            (Some(id), _) => Subject::Article(id),
            (None, subject) if subject.is_category() => subject.clone(),
            (None, _) => Subject::File(self.place.clone()),
        }
    }
}
