//! The journal of changes to the mirror. A change is staged, journalled, published, made durable and recorded (failures
//! rows 1 to 4).
//!
//! - The new bytes are durable in the stage before the journal entry is written. The entry has the file to be replaced
//!   and the rows that become true, and is written before the first file is touched. A batch costs two transactions,
//!   however many files.
//! - A moved file is written at its new place, and then removed from the old one. Places are left before they are
//!   taken.
//! - A failed change leaves no journal entry, unless its undoing failed or is not durable: the next cycle recovers it
//!   first. Its staged file stays until the entry has ended: for a new file, an empty slot means "published".
//! - A replaced or removed file stays displaced for a day (`displaced`).
//!
//! `change` is a change before it is made; `recover` settles the entries that a crash left behind. The journal makes no
//! decisions and no requests.

mod change;
pub(super) mod displaced;
pub(super) mod recover;

pub(super) use change::FileChange;

use crate::engine::form::MAX_FILE;
use crate::mirror::disk::{Area, At, Disk, DiskError, DiskErrorKind, Durability, Expect};
use crate::model::{Digest, KnownFile, Place, Stamp};
use crate::state::store::Store;
use crate::state::{DisplacedRow, Entry, RowChange, StateResult};
use change::in_order;
use displaced::{displace, displaced_row};
use std::collections::{BTreeMap, BTreeSet};

/// The way to change the mirror.
pub(super) struct Journal<'a, D> {
    pub(super) disk: &'a D,
    pub(super) store: &'a mut Store,
}

/// The largest number of files that are made durable one by one.
pub(super) const MAX_SYNCED_SINGLY: usize = 8;

/// The reason that a change was not made.
struct Failed {
    error: DiskError,
    /// Whether the change may be half done: then its journal entry stays open.
    open: bool,
}

pub(super) fn at(place: &Place) -> At<'_> {
    At::Folder(&place.folder)
}

impl<D: Disk> Journal<'_, D> {
    /// Stages a file for its place, over the file that is there, with the mode of the file `like`, if given.
    pub(super) fn stage(
        &mut self,
        target: &Place,
        bytes: &[u8],
        over: Option<KnownFile>,
        like: Option<&Place>,
        durability: Durability,
    ) -> StateResult<Result<FileChange, DiskError>> {
        let slot = self.store.next_slot()?;
        let mut staged = self.disk.stage(slot, at(target), bytes, durability);
        if let Some(like) = like {
            staged = staged.and_then(|()| self.disk.keep_mode(slot, at(target), like));
        }
        let new = Some(Digest::of_parts(&[bytes]));
        Ok(staged.map(|()| FileChange {
            durable: durability == Durability::Now,
            ..FileChange::new(slot, target, new, over)
        }))
    }

    /// The removal of a file.
    pub(super) fn removal(&mut self, target: &Place, over: KnownFile) -> StateResult<FileChange> {
        let slot = self.store.next_slot()?;
        Ok(FileChange::new(slot, target, None, Some(over)))
    }

    /// Carries out one change.
    pub(super) fn change_file(
        &mut self,
        change: FileChange,
    ) -> StateResult<Result<Stamp, DiskError>> {
        let path = change.file.target.to_string();
        let gone = DiskError::new(DiskErrorKind::Changed, "write", path);
        let mut done = self.change_files(&[change])?;
        Ok(done.pop().unwrap_or(Err(gone)))
    }

    /// Writes one file, over the one that is there.
    pub(super) fn write_file(
        &mut self,
        place: &Place,
        bytes: &[u8],
        over: Option<KnownFile>,
        rows: Vec<RowChange>,
    ) -> StateResult<Result<Stamp, DiskError>> {
        match self.stage(place, bytes, over, None, Durability::Now)? {
            Ok(staged) => self.change_file(FileChange { rows, ..staged }),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Carries out changes of files as one batch. Returns the stamp of each file, or the error.
    pub(super) fn change_files(
        &mut self,
        changes: &[FileChange],
    ) -> StateResult<Vec<Result<Stamp, DiskError>>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        // One flush instead of many syncs: `settle_files` chose `Durability::Later` for a large batch.
        let many = changes.iter().any(|change| !change.durable);
        if many && let Err(error) = self.disk.flush() {
            // The staged bytes are not durable: none of them may replace a file.
            for change in changes {
                drop_staged(self.disk, change);
            }
            return Ok(changes.iter().map(|_| Err(error.without_cause())).collect());
        }
        self.store.write(|tx| {
            for change in changes {
                change.history.put(tx)?;
                let entry = Entry::File(change.file.clone());
                tx.begin_change(change.slot, &entry, &change.rows)?;
            }
            Ok(())
        })?;
        let published = in_order(changes)
            .into_iter()
            .map(|index| (index, self.publish(&changes[index])));
        let published: BTreeMap<usize, _> = published.collect();
        let mut done: Vec<_> = published.into_values().collect();
        self.make_durable(changes, &mut done, many);
        self.record_changes(changes, &done)?;
        let done = done.into_iter();
        Ok(done.map(|one| one.map_err(|failed| failed.error)).collect())
    }

    /// Makes files durable that a person saved, before a row vouches for them: after a power loss, an older text would
    /// count as an edit.
    pub(super) fn sync_files(&self, places: &[&Place]) -> Result<(), DiskError> {
        if places.len() > MAX_SYNCED_SINGLY {
            return self.disk.flush();
        }
        let mut places = places.iter();
        places.try_for_each(|place| self.disk.sync_file(at(place), &place.file))
    }

    /// Renames a folder of the root; an empty folder with the new name is replaced.
    pub(super) fn rename_folder(
        &mut self,
        from: &str,
        to: &str,
        rows: &[RowChange],
    ) -> StateResult<Result<(), DiskError>> {
        let slot = self.store.next_slot()?;
        // Without the folder the rename fails below, and recovery finds no folder with inode 0.
        let inode = match self.disk.look(At::Root, from) {
            Ok(found) => found.map_or(0, |found| found.stamp.inode),
            Err(error) => return Ok(Err(error)),
        };
        let entry = Entry::Folder {
            from: from.to_owned(),
            to: to.to_owned(),
            inode,
        };
        self.store.write(|tx| tx.begin_change(slot, &entry, rows))?;
        if let Err(error) = give_folder(self.disk, from, to) {
            self.store.write(|tx| tx.end_change(slot))?;
            return Ok(Err(error));
        }
        // A rename that is not durable is not done: the next cycle finds it in the journal.
        if let Err(error) = self.disk.sync_folder(At::Root) {
            return Ok(Err(error));
        }
        self.store.write(|tx| {
            rows.iter().try_for_each(|row| tx.apply(row))?;
            tx.end_change(slot)
        })?;
        Ok(Ok(()))
    }

    /// Moves one staged file to its place, and removes a moved file from its old place.
    fn publish(&self, change: &FileChange) -> Result<Stamp, Failed> {
        let (slot, target) = (change.slot, &change.file.target);
        let open = |error: DiskError| Failed {
            error,
            open: !is_taken_back(self.disk, change),
        };
        let expect = change.file.over.map_or(Expect::Absent, Expect::File);
        let Some(digest) = change.file.new else {
            let taken = self.disk.take(slot, at(target), &target.file, expect);
            return taken.map(|()| Stamp::default()).map_err(open);
        };
        let stamp = self
            .disk
            .publish(slot, at(target), &target.file, expect)
            .map_err(open)?;
        let Some((place, known)) = &change.file.leaves else {
            return Ok(stamp);
        };
        let known = Expect::File(*known);
        let Err(error) = self.disk.take(slot, at(place), &place.file, known) else {
            return Ok(stamp);
        };
        // The old file was edited or cannot be removed: undo the write at the new place.
        let ours = Expect::File(KnownFile { stamp, digest });
        let back = self.disk.take(slot, at(target), &target.file, ours);
        Err(Failed {
            error,
            open: back.is_err(),
        })
    }

    /// Makes the names durable, also those of a failed change, which was undone. If that fails, the entries of all
    /// changes stay in the journal.
    fn make_durable(&self, changes: &[FileChange], done: &mut [Result<Stamp, Failed>], many: bool) {
        let synced = if many {
            self.disk.flush()
        } else {
            let touched = changes.iter().flat_map(|change| {
                let old_place = change.file.leaves.iter().map(|(place, _)| place);
                old_place
                    .chain([&change.file.target])
                    .map(|place| place.folder.as_str())
            });
            let touched: BTreeSet<&str> = touched.collect();
            let mut touched = touched.into_iter();
            touched.try_for_each(|folder| self.disk.sync_folder(At::Folder(folder)))
        };
        let Err(error) = synced else { return };
        for one in done {
            if let Err(failed) = one {
                failed.open = true;
            } else {
                let error = error.without_cause();
                *one = Err(Failed { error, open: true });
            }
        }
    }

    /// Records the changes that were made, and displaces the replaced files.
    fn record_changes(
        &mut self,
        changes: &[FileChange],
        done: &[Result<Stamp, Failed>],
    ) -> StateResult<()> {
        let now = self.store.now();
        let succeeded = changes.iter().zip(done).filter(|(_, one)| one.is_ok());
        let displaced: Vec<DisplacedRow> = succeeded
            .filter_map(|(change, _)| displaced_row(self.disk, change.slot, &change.file, now))
            .collect();
        self.store.write(|tx| {
            for (change, one) in changes.iter().zip(done) {
                match one {
                    Ok(stamp) => {
                        for row in &change.rows {
                            tx.apply(&change.stamped(row, *stamp))?;
                        }
                        tx.end_change(change.slot)?;
                    }
                    Err(Failed { open: false, .. }) => tx.end_change(change.slot)?,
                    Err(Failed { open: true, .. }) => {}
                }
            }
            displaced.iter().try_for_each(|row| tx.put_displaced(row))
        })?;
        for row in &displaced {
            displace(self.disk, row);
        }
        for (change, one) in changes.iter().zip(done) {
            if matches!(one, Err(Failed { open: false, .. })) {
                drop_staged(self.disk, change);
            }
        }
        Ok(())
    }
}

/// Drops the staged file of a change that was not made.
fn drop_staged(disk: &impl Disk, change: &FileChange) {
    if let Err(error) = disk.discard(Area::Stage, change.slot, at(&change.file.target)) {
        tracing::warn!(%error, "a staged file is left to the next run");
    }
}

fn give_folder(disk: &impl Disk, from: &str, to: &str) -> Result<(), DiskError> {
    let Err(taken) = disk.rename_folder(from, to) else {
        return Ok(());
    };
    if taken.kind != DiskErrorKind::Exists || disk.remove_folder(to).is_err() {
        return Err(taken);
    }
    disk.rename_folder(from, to)
}

/// Returns whether the slot of a failed change holds only its staged file, or nothing.
fn is_taken_back(disk: &impl Disk, change: &FileChange) -> bool {
    let (slot, within) = (change.slot, at(&change.file.target));
    match disk.look_aside(Area::Stage, slot, within) {
        Ok(None) => true,
        Ok(Some(_)) if change.file.new.is_some() => {
            let content = disk.read_aside(Area::Stage, slot, within, MAX_FILE);
            let digest = content.map(|content| Digest::of_parts(&[&content.bytes]));
            digest.is_ok_and(|digest| change.file.new == Some(digest))
        }
        Ok(Some(_)) | Err(_) => false,
    }
}
