//! Crash recovery: each open journal entry is completed in the base, or undone (failures rows 1 to 8).
//!
//! The slot shows how far a change came; nothing is guessed:
//!
//! | in the slot | means | so |
//! |---|---|---|
//! | the new bytes, and not at the target | not published | the bytes and the entry go |
//! | the new bytes, at the target as well | published over an equal save | the rows become true |
//! | other bytes | published | the rows become true; an unexpected save is kept beside the file and in the history |
//! | nothing, no file was to be replaced, a file is at the target | published | the rows become true |
//! | nothing, a file was to be replaced or removed | not carried out, or somebody cleared the stage | the entry goes |
//! | a file without an entry | never journalled | the file goes |
//!
//! A folder was renamed if only its new name exists. A moved file at its new place is removed from the old one before
//! its rows become true. If the slot and the target are the same file, the slot is emptied first. After an undone
//! change, the next look decides as usual. Recovery is idempotent. An entry that the disk refuses stays open, and its
//! files are left alone until it is settled.

use super::displaced::{displace, displaced_row, former_place};
use super::{Journal, at};
use crate::engine::form::MAX_FILE;
use crate::engine::history::entry::seen_there;
use crate::mirror::disk::{Area, At, Disk, DiskError, DiskErrorKind, Expect, Kind, Slot};
use crate::mirror::document::Document;
use crate::model::{ArticleId, Digest, KnownFile, Place};
use crate::reconcile::plan::Problem;
use crate::state::{Entry, FileEntry, Journalled, RowChange};
use anyhow::Context as _;
use std::collections::{BTreeMap, BTreeSet};

/// The cause, in the history, of a save that was caught.
const CAUSE: &str = "found after a crash";

const EDITED: &str = "it was edited just as kbsync replaced it, and kbsync was killed";

/// The entries that recovery could not settle, and the problems for a person.
#[derive(Debug, Default)]
pub(in crate::engine) struct Recovered {
    /// Paths with open journal entries.
    pub(in crate::engine) open: BTreeSet<String>,
    pub(in crate::engine) problems: Vec<Problem>,
}

impl<D: Disk> Journal<'_, D> {
    /// Settles the open journal entries, of an earlier run or of this one. `first`: this is the first recovery of this
    /// run.
    pub(in crate::engine) fn recover(&mut self, first: bool) -> anyhow::Result<Recovered> {
        let journal = self.store.journal()?;
        let mut recovered = Recovered::default();
        if first || !journal.is_empty() {
            self.sweep(&journal)?;
        }
        if journal.is_empty() {
            return Ok(recovered);
        }
        self.disk
            .flush()
            .context("failed to make durable what an earlier run wrote")?;
        let all: Vec<_> = journal
            .into_iter()
            .map(|change| {
                let named_once = drop_second_name(self.disk, &change);
                let published = named_once.and_then(|()| is_published(self.disk, &change));
                (published, change)
            })
            .collect();
        let published = all.iter().filter(|(done, _)| matches!(done, Ok(true)));
        let written: BTreeSet<Place> = published
            .filter_map(|(_, change)| Some(file_of(change)?.target.clone()))
            .collect();
        for (published, change) in all {
            tracing::debug!(?change, ?published, "an earlier run left this behind");
            let settled = published
                .map_err(anyhow::Error::new)
                .and_then(|done| self.settle_change(&change, done, &written));
            match settled {
                Ok(problem) => recovered.problems.extend(problem),
                Err(error) if error.is::<DiskError>() => recovered.stays_open(&change, &error),
                Err(error) => return Err(error),
            }
        }
        Ok(recovered)
    }

    /// Brings one change to its end, by what the disk shows: rows and old places follow a published file; otherwise
    /// the staged file is dropped. `written`: the places at which published changes have files.
    fn settle_change(
        &mut self,
        change: &Journalled,
        is_done: bool,
        written: &BTreeSet<Place>,
    ) -> anyhow::Result<Option<Problem>> {
        let mut problem = None;
        if let Some(file) = file_of(change).filter(|_| is_done) {
            remove_from_old_place(self.disk, change, file, written)?;
            problem = self.keep_caught(change.slot, file)?;
        }
        self.end_change(change, is_done)?;
        Ok(problem)
    }

    /// Sweeps the slots.
    fn sweep(&mut self, journal: &[Journalled]) -> anyhow::Result<()> {
        let displaced = self.store.displaced()?;
        let mut known: BTreeMap<Slot, Place> = displaced
            .iter()
            .map(|row| (row.slot, row.place.clone()))
            .collect();
        known.extend(journal.iter().filter_map(|change| {
            let file = file_of(change)?;
            let old_place = file.leaves.as_ref().map(|(place, _)| place);
            let place = old_place.unwrap_or(&file.target);
            Some((change.slot, place.clone()))
        }));
        let lost = self.store.last_slot()? == 0;
        let count = self.disk.sweep(&known, lost);
        if count > 0 {
            tracing::info!(count, "cleared up what an earlier run left behind");
        }
        Ok(())
    }

    /// Stores a replaced file that was not the expected one in the history and beside its place: an editor saved it at
    /// that moment.
    fn keep_caught(&mut self, slot: Slot, file: &FileEntry) -> anyhow::Result<Option<Problem>> {
        let place = former_place(self.disk, slot, file);
        if (self.disk.look_aside(Area::Stage, slot, at(place))?).is_none() {
            return Ok(None);
        }
        // Compare bytes, because a save within a clock tick leaves the stamp as it is.
        let content = self
            .disk
            .read_aside(Area::Stage, slot, at(place), MAX_FILE)?;
        let digest = Digest::of_parts(&[&content.bytes]);
        if file.expected().is_some_and(|known| known.digest == digest) {
            return Ok(None);
        }
        let kept = self.keep_beside(Area::Stage, slot, place, &content, CAUSE)?;
        Ok(Some(Problem::at(place, None, format!("{EDITED}; {kept}"))))
    }

    /// Records the outcome of a change, and empties its slot.
    fn end_change(&mut self, change: &Journalled, is_done: bool) -> anyhow::Result<()> {
        let now = self.store.now();
        let file = file_of(change);
        let done = file.filter(|_| is_done);
        let displaced = done.and_then(|file| displaced_row(self.disk, change.slot, file, now));
        self.store.write(|tx| {
            for row in &change.rows {
                if is_done {
                    tx.apply(row)?;
                } else if let RowChange::Article(row) = row
                    && tx.article(row.id)?.is_none()
                {
                    // A first sync records a version with its file, so an undone change records it here.
                    tx.record(&seen_there(row.id, &row.place, &row.remote))?;
                }
            }
            displaced.iter().try_for_each(|row| tx.put_displaced(row))?;
            tx.end_change(change.slot)
        })?;
        match (displaced, file) {
            (Some(row), _) => displace(self.disk, &row),
            (None, Some(file)) => {
                let within = at(&file.target);
                self.disk.discard(Area::Stage, change.slot, within)?;
            }
            (None, None) => {}
        }
        Ok(())
    }
}

/// Removes a moved file from its old place.
fn remove_from_old_place(
    disk: &impl Disk,
    change: &Journalled,
    file: &FileEntry,
    written: &BTreeSet<Place>,
) -> Result<(), DiskError> {
    let old_place = file.leaves.as_ref().map(|(place, _)| place);
    let Some(place) = old_place.filter(|place| !written.contains(place)) else {
        return Ok(());
    };
    let slot = change.slot;
    let aside = disk.look_aside(Area::Stage, slot, at(former_place(disk, slot, file)))?;
    if aside.is_some() {
        return Ok(());
    }
    let found = match disk.read(at(place), &place.file, usize::MAX) {
        // A person put another article's file there.
        Ok(content) if is_of_another(change, &content.bytes) => return Ok(()),
        Ok(content) => KnownFile::of(content.stamp, &content.bytes),
        Err(error)
            if matches!(
                error.kind,
                DiskErrorKind::NotFound | DiskErrorKind::WrongKind
            ) =>
        {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    disk.take(slot, at(place), &place.file, Expect::File(found))?;
    disk.sync_folder(at(place))
}

/// Returns whether a file names another article than the one that a change is about.
fn is_of_another(change: &Journalled, bytes: &[u8]) -> bool {
    let document = Document::parse_leniently(bytes).ok();
    let Some(id) = document.as_ref().and_then(Document::id) else {
        return false;
    };
    let articles = change.rows.iter().filter_map(|row| {
        let RowChange::Article(row) = row else {
            return None;
        };
        Some(row.id)
    });
    let articles: BTreeSet<ArticleId> = articles.collect();
    !articles.is_empty() && !articles.contains(&id)
}

impl Recovered {
    /// Fails if an entry could not be settled.
    pub(in crate::engine) fn or_open(self) -> anyhow::Result<()> {
        match self.problems.first().filter(|_| !self.open.is_empty()) {
            Some(problem) => anyhow::bail!("{}: {}", problem.path, problem.message),
            None => Ok(()),
        }
    }

    fn stays_open(&mut self, change: &Journalled, error: &anyhow::Error) {
        let paths: Vec<String> = match &change.entry {
            Entry::File(file) => {
                let old_place = file.leaves.iter().map(|(place, _)| place.to_string());
                old_place.chain([file.target.to_string()]).collect()
            }
            Entry::Folder { from, to, .. } => vec![from.clone(), to.clone()],
        };
        self.problems.push(Problem::at(
            paths.last().cloned().unwrap_or_default(),
            None,
            format!("what an earlier run began cannot be finished: {error:#}"),
        ));
        self.open.extend(paths);
    }
}

fn file_of(change: &Journalled) -> Option<&FileEntry> {
    match &change.entry {
        Entry::File(file) => Some(file),
        Entry::Folder { .. } => None,
    }
}

/// Empties the slot of a file that is at its target as well: a rename by way of a hard link was interrupted.
fn drop_second_name(disk: &impl Disk, change: &Journalled) -> Result<(), DiskError> {
    let Some(FileEntry { target, .. }) = file_of(change) else {
        return Ok(());
    };
    let Some(stamp) = disk.look_aside(Area::Stage, change.slot, at(target))? else {
        return Ok(());
    };
    match disk.look(at(target), &target.file) {
        Ok(Some(found)) if found.stamp == stamp => {
            disk.discard(Area::Stage, change.slot, at(target))
        }
        // The folder may be gone.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns whether a change was published, apart from the removal at the old place of a moved file.
fn is_published(disk: &impl Disk, change: &Journalled) -> Result<bool, DiskError> {
    let Some(file) = file_of(change) else {
        return folder_is_renamed(disk, &change.entry);
    };
    let at = at(&file.target);
    let Some(stamp) = disk.look_aside(Area::Stage, change.slot, at)? else {
        // A person cleared the stage, or no file was replaced. An emptied file is none: the words at the old place of a
        // moved file stay.
        let is_new = file.new.is_some() && file.over.is_none();
        let is_filled = |digest| digest != Digest::of_parts(&[b""]);
        return Ok(is_new && digest_at(disk, &file.target)?.is_some_and(is_filled));
    };
    let is_expected = |known: KnownFile| known.stamp.same_content(&stamp);
    if file.expected().is_some_and(is_expected) {
        return Ok(true);
    }
    let content = disk.read_aside(Area::Stage, change.slot, at, MAX_FILE)?;
    let in_slot = content.whole.then(|| Digest::of_parts(&[&content.bytes]));
    let is_staged = in_slot.is_some() && in_slot == file.new;
    // The new bytes in both places: the save that the exchange caught was equal to them.
    Ok(!is_staged || digest_at(disk, &file.target)? == in_slot)
}

/// Returns whether a folder was renamed: it has the new name, and nothing has the old one.
fn folder_is_renamed(disk: &impl Disk, entry: &Entry) -> Result<bool, DiskError> {
    let Entry::Folder { from, to, inode } = entry else {
        return Ok(false);
    };
    let there = disk.look(At::Root, to)?;
    let is_renamed =
        there.is_some_and(|found| found.kind == Kind::Folder && found.stamp.inode == *inode);
    Ok(is_renamed && disk.look(At::Root, from)?.is_none())
}

/// Returns the digest of the entry at a place; `None`: there is none.
fn digest_at(disk: &impl Disk, place: &Place) -> Result<Option<Digest>, DiskError> {
    match disk.read(at(place), &place.file, MAX_FILE) {
        Ok(content) => Ok(Some(Digest::of_parts(&[&content.bytes]))),
        Err(error) if error.kind == DiskErrorKind::NotFound => Ok(None),
        // There is an entry that is no file.
        Err(error) if error.kind == DiskErrorKind::WrongKind => Ok(Some(Digest::of_parts(&[]))),
        Err(error) => Err(error),
    }
}
