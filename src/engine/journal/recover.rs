//! After a crash: what the journal began is finished in the base, or taken back (failures rows 1 to 8).
//!
//! The slot tells what was done, and nothing is guessed:
//!
//! | in the slot | means | so |
//! |---|---|---|
//! | the new bytes | not published | they go, and the row |
//! | other bytes, as expected | published | the rows become true |
//! | other bytes, not as expected; the new ones lie at the target | a save was caught | it is put back, and the row goes |
//! | other bytes, not as expected; something else lies at the target | the same, and edited since | they are kept beside it and in the history, and the row goes |
//! | nothing, the row says "new", something lies at the target | published | the rows become true |
//! | nothing, the row says "replaced" or "removed" | somebody cleared the stage | the row goes |
//! | a file without a row | never journalled | it goes |
//!
//! A moved file that lies at its new place is removed where it was before its rows become true. In a circle the new
//! bytes are published after all where another file has taken the old place. Where the row goes the sides tell, as in
//! any other cycle. Doing this twice changes nothing.

use super::{at, keep::keep};
use crate::engine::Engine;
use crate::engine::apply::{MAX_FILE, met};
use crate::mirror::disk::{Area, At, Content, Disk, DiskError, DiskErrorKind, Expect, Kind, Slot};
use crate::model::{Digest, KnownFile, Place};
use crate::reconcile::snapshot::Base;
use crate::service::Service;
use crate::state::store::Store;
use crate::state::{DisplacedRow, Entry, Journalled, RowChange};
use anyhow::Context as _;
use std::collections::{BTreeMap, BTreeSet};

/// Why caught bytes are in the history.
const CAUSE: &str = "found after a crash";

/// A file's change, as the journal has it.
struct Begun<'a> {
    slot: Slot,
    target: &'a Place,
    leaves: Option<(&'a Place, KnownFile)>,
    new: Option<Digest>,
    over: Option<KnownFile>,
}

/// What became of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    /// The new bytes are in the slot.
    NotPublished,
    /// It is done, but for the place that a moved file leaves.
    Published,
    /// A file came out that was not expected.
    Caught,
    /// Somebody cleared the stage, or nothing was done.
    Nothing,
}

/// Applies to a base what the journal says to be done, where nothing may be written.
pub(in crate::engine) fn overlay(
    disk: &impl Disk,
    store: &Store,
    base: &mut Base,
) -> anyhow::Result<()> {
    let journal = store.journal()?;
    for change in &journal {
        if found(disk, change)? == Found::Published {
            change.rows.iter().for_each(|row| take(base, row));
        }
    }
    Ok(())
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Settles what an earlier run began, or this one could not finish. `first`: nothing was settled by this run yet.
    pub(in crate::engine) fn recover(&mut self, first: bool) -> anyhow::Result<()> {
        let journal = self.store.journal()?;
        if journal.is_empty() && !first {
            return Ok(());
        }
        if first {
            self.sweep(&journal)?;
        }
        if journal.is_empty() {
            return Ok(());
        }
        self.disk
            .flush()
            .context("failed to make durable what an earlier run wrote")?;
        let all = journal.iter().map(|change| found(&*self.disk, change));
        let mut all = all.collect::<Result<Vec<Found>, _>>()?;
        self.push_on(&journal, &mut all)?;
        let taken: BTreeSet<&Place> = journal
            .iter()
            .filter_map(|change| Some(begun(change)?.target))
            .collect();
        for (change, found) in journal.iter().zip(all) {
            tracing::debug!(?change, ?found, "an earlier run left this behind");
            let is_done = match (found, begun(change)) {
                (Found::Published, Some(begun)) => self.leave(&begun, &taken)?,
                (Found::Published, None) => true,
                (Found::Caught, Some(begun)) => self.settle_caught(&begun)?,
                (Found::Caught, None) | (Found::NotPublished | Found::Nothing, _) => false,
            };
            self.end(change, is_done)?;
        }
        Ok(())
    }

    fn sweep(&mut self, journal: &[Journalled]) -> anyhow::Result<()> {
        let displaced = self.store.displaced()?;
        let mut known: BTreeMap<Slot, Place> = displaced
            .iter()
            .map(|row| (row.slot, row.place.clone()))
            .collect();
        known.extend(journal.iter().filter_map(|change| {
            let begun = begun(change)?;
            let place = begun.leaves.map_or(begun.target, |(place, _)| place);
            Some((change.slot, place.clone()))
        }));
        let lost = self.store.last_slot()? == 0;
        match self.disk.sweep(&known, lost) {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "cleared up what an earlier run left behind"),
            Err(error) => tracing::warn!(%error, "cannot clear up what an earlier run left behind"),
        }
        self.displace_again(&displaced);
        Ok(())
    }

    /// Publishes what was not published yet and has lost its old place to another one of its circle. Where that cannot
    /// be, it has no base any more, and is pulled again.
    fn push_on(&mut self, journal: &[Journalled], all: &mut [Found]) -> anyhow::Result<()> {
        let mut seen = BTreeSet::new();
        loop {
            let is = |index: usize, found: Found| all[index] == found;
            let is_new = |index: &usize| !seen.contains(index) && !is(*index, Found::Published);
            let pushed_out = journal.iter().enumerate().find(|(index, change)| {
                let left = begun(change).and_then(|begun| Some(begun.leaves?.0));
                let mut others = journal.iter().enumerate();
                is_new(index)
                    && others.any(|(other, change)| {
                        let target = begun(change).map(|begun| begun.target);
                        is(other, Found::Published) && left.is_some() && left == target
                    })
            });
            let Some((index, change)) = pushed_out else {
                return Ok(());
            };
            seen.insert(index);
            let staged = is(index, Found::NotPublished);
            let published = begun(change).is_some_and(|begun| staged && self.publish_late(&begun));
            all[index] = if published {
                Found::Published
            } else {
                self.forget_base(change)?;
                all[index]
            };
        }
    }

    fn publish_late(&self, begun: &Begun<'_>) -> bool {
        let Place { file, .. } = begun.target;
        let expect = match (self.disk.look(at(begun.target), file), begun.over) {
            (Ok(None), _) => Expect::Absent,
            (Ok(Some(now)), Some(over)) if now.stamp.same_content(&over.stamp) => {
                Expect::Bytes(now.stamp, over.digest)
            }
            (Ok(Some(_)) | Err(_), _) => return false,
        };
        let published = self
            .disk
            .publish(begun.slot, at(begun.target), file, expect)
            .and_then(|_| self.disk.sync_folder(at(begun.target)));
        published.is_ok()
    }

    fn forget_base(&mut self, change: &Journalled) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.store.write(now, |tx| {
            for row in &change.rows {
                if let RowChange::Article(row) = row {
                    tx.remove_article(row.id)?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Removes a moved file where it was. One that was edited there since is kept beside the new one.
    fn leave(&mut self, begun: &Begun<'_>, taken: &BTreeSet<&Place>) -> anyhow::Result<bool> {
        let Some((place, known)) = begun.leaves.filter(|(place, _)| !taken.contains(place)) else {
            return Ok(true);
        };
        let found = match self.disk.look(at(place), &place.file) {
            // Its folder is gone as well.
            Err(error) if error.kind == DiskErrorKind::NotFound => None,
            found => found?,
        };
        let aside = self
            .disk
            .look_aside(Area::Stage, begun.slot, at(begun.target))?;
        let Some(found) = found.filter(|found| aside.is_none() && found.kind == Kind::File) else {
            return Ok(true);
        };
        let content = self.disk.read(at(place), &place.file, MAX_FILE)?;
        let expect = Expect::Stamp(found.stamp);
        self.disk.take(begun.slot, at(place), &place.file, expect)?;
        if KnownFile::of(known.stamp, &content.bytes) != known {
            self.set_aside(begun, &content)?;
        }
        self.disk.sync_folder(at(place))?;
        Ok(true)
    }

    /// A file came out that nobody expected: an editor saved it in that instant.
    fn settle_caught(&mut self, begun: &Begun<'_>) -> anyhow::Result<bool> {
        let Place { file, .. } = begun.target;
        let moved = begun.leaves.is_some();
        let is_back = !moved
            && self.holds(begun.target, begun.new)?
            && self
                .disk
                .put_back(begun.slot, at(begun.target), file)
                .is_ok();
        if is_back {
            self.disk.sync_folder(at(begun.target))?;
        } else {
            let content =
                self.disk
                    .read_aside(Area::Stage, begun.slot, at(begun.target), MAX_FILE)?;
            self.set_aside(begun, &content)?;
        }
        // A moved file lies at its new place: what was caught is an edit of the old one.
        Ok(moved)
    }

    /// Returns whether a place holds the new bytes, or nothing, where the file was removed.
    fn holds(&self, place: &Place, new: Option<Digest>) -> anyhow::Result<bool> {
        Ok(digest_at(&*self.disk, place)? == new)
    }

    /// Keeps the file of a slot in the history and beside its place.
    fn set_aside(&mut self, begun: &Begun<'_>, content: &Content) -> anyhow::Result<()> {
        let now = self.clock.now();
        let kept = keep(&mut self.store, begun.target, &content.bytes, (CAUSE, now))?;
        let beside = self
            .disk
            .set_beside(begun.slot, at(begun.target), &begun.target.file)
            .and_then(|beside| self.disk.sync_folder(at(begun.target)).map(|()| beside));
        match beside {
            Ok(beside) => {
                tracing::warn!(path = %begun.target, "it was edited while it was written: take over from {beside} what you want to keep");
            }
            // Such as where the folder is gone.
            Err(error) if kept => {
                tracing::warn!(path = %begun.target, %error, "it was edited while it was written: what it held is in the history");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Records what became of a change, and empties its slot.
    fn end(&mut self, change: &Journalled, is_done: bool) -> anyhow::Result<()> {
        let now = self.clock.now();
        let begun = begun(change);
        let displaced = match &begun {
            Some(begun) if is_done => self.came_out(begun)?,
            Some(_) | None => None,
        };
        self.store.write(now, |tx| {
            for row in &change.rows {
                if is_done {
                    tx.apply(row)?;
                } else if let RowChange::Article(row) = row
                    && tx.article(row.id)?.is_none()
                {
                    // What it met and nobody knows else is in the history all the same.
                    tx.record(&met(row.id, &row.place, &row.remote))?;
                }
            }
            displaced.iter().try_for_each(|row| tx.put_displaced(row))?;
            tx.end_change(change.slot)
        })?;
        match (begun, displaced) {
            (_, Some(row)) => self.displace(&row),
            (Some(begun), None) => {
                self.disk
                    .discard(Area::Stage, change.slot, at(begun.target))?;
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// The file that came out of a change, which stays for a day.
    fn came_out(&self, begun: &Begun<'_>) -> anyhow::Result<Option<DisplacedRow>> {
        let aside = self
            .disk
            .look_aside(Area::Stage, begun.slot, at(begun.target))?;
        let known = begun.over.or(begun.leaves.map(|(_, known)| known));
        Ok(aside.zip(known).map(|(_, known)| DisplacedRow {
            slot: begun.slot,
            place: begun.target.clone(),
            known,
            since: self.clock.now(),
        }))
    }
}

/// Puts a row into a base.
pub(in crate::engine) fn take(base: &mut Base, row: &RowChange) {
    match row {
        RowChange::Article(row) => {
            base.articles.insert(row.id, (**row).clone());
        }
        RowChange::NoArticle(id) => {
            base.articles.remove(id);
        }
        RowChange::IdConfirmed(id) => {
            base.unconfirmed.remove(id);
        }
        RowChange::Category(row) => {
            base.categories.insert(row.id, (**row).clone());
        }
        RowChange::Conflict(row) => {
            base.conflicts.insert(row.id, (**row).clone());
        }
        RowChange::NoConflict(id) => {
            base.conflicts.remove(id);
        }
        RowChange::Version(_) | RowChange::Event(_) | RowChange::Deletion { .. } => {}
    }
}

fn begun(change: &Journalled) -> Option<Begun<'_>> {
    match &change.entry {
        Entry::File {
            target,
            leaves,
            new,
            over,
        } => Some(Begun {
            slot: change.slot,
            target,
            leaves: leaves.as_ref().map(|(place, known)| (place, *known)),
            new: *new,
            over: *over,
        }),
        Entry::Folder { .. } => None,
    }
}

/// What became of a change.
fn found(disk: &impl Disk, change: &Journalled) -> Result<Found, DiskError> {
    let Some(begun) = begun(change) else {
        return folder_found(disk, &change.entry);
    };
    let at = at(begun.target);
    let Some(stamp) = disk.look_aside(Area::Stage, begun.slot, at)? else {
        let is_new = begun.new.is_some() && begun.over.is_none();
        let is_there = is_new && digest_at(disk, begun.target)?.is_some();
        return Ok(if is_there {
            Found::Published
        } else {
            Found::Nothing
        });
    };
    let expected = begun.over.or(begun.leaves.map(|(_, known)| known));
    if expected.is_some_and(|known| known.stamp.same_content(&stamp)) {
        return Ok(Found::Published);
    }
    let content = disk.read_aside(Area::Stage, begun.slot, at, MAX_FILE)?;
    let digest = Digest::of_parts(&[&content.bytes]);
    if content.whole && begun.new == Some(digest) && digest_at(disk, begun.target)? != begun.new {
        return Ok(Found::NotPublished);
    }
    Ok(if expected.is_some_and(|known| known.digest == digest) {
        Found::Published
    } else {
        Found::Caught
    })
}

/// A folder was renamed if it has its new name, and nothing has the old one. Where case is folded, either name is found
/// under the other one: the listing tells.
fn folder_found(disk: &impl Disk, entry: &Entry) -> Result<Found, DiskError> {
    let Entry::Folder { from, to, inode } = entry else {
        return Ok(Found::Nothing);
    };
    let listing = disk.list(At::Root)?;
    let mut entries = listing.entries.iter();
    let left = listing.entries.iter().all(|entry| entry.name != *from);
    let renamed = entries.any(|entry| {
        entry.name == *to && entry.kind == Kind::Folder && entry.stamp.inode == *inode
    });
    Ok(if renamed && left {
        Found::Published
    } else {
        Found::Nothing
    })
}

/// The digest of what lies at a place; `None`: nothing.
fn digest_at(disk: &impl Disk, place: &Place) -> Result<Option<Digest>, DiskError> {
    match disk.read(at(place), &place.file, MAX_FILE) {
        Ok(content) => Ok(Some(Digest::of_parts(&[&content.bytes]))),
        Err(error) if error.kind == DiskErrorKind::NotFound => Ok(None),
        // Something lies there, whatever it is.
        Err(error) if error.kind == DiskErrorKind::WrongKind => Ok(Some(Digest::of_parts(&[]))),
        Err(error) => Err(error),
    }
}
