//! Displaced files: replaced and removed files stay for a day. Text that a program writes into one of them afterwards
//! goes into the history, and beside the file, where a person sees it (failures row 81).
//!
//! A file is deleted only in a cycle that found nothing new in it. A file that cannot be read or stored stays.
//!
//! Such late text is no edit of the present file, which the program never saw: it is neither merged nor sent.

use super::{Journal, at};
use crate::engine::form::MAX_FILE;
use crate::engine::history::entry::store_text;
use crate::mirror::disk::{Area, Disk, DiskError, DiskErrorKind, Durability, Slot};
use crate::mirror::scan::trusted;
use crate::model::{KnownFile, Place, Timestamp};
use crate::reconcile::plan::Problem;
use crate::state::{DisplacedRow, FileEntry};

/// The time for which a displaced file stays, in milliseconds.
const KEEP_FOR: i64 = 86_400_000;

/// The least age of the last write, in nanoseconds: before, a program may still be writing.
const RESTING: i64 = 1_000_000_000;

/// The cause in the history.
const CAUSE: &str = "written after it was replaced";

const OPEN: &str = "a program had it open while it was replaced, and wrote to it afterwards";

/// The folder where a person finds text that is stored nowhere else.
const ASIDE: &str = "`.kbsync/displaced`";

/// The text that a program wrote into a displaced file, after it was displaced.
enum LateText {
    /// No new text: the file may be deleted.
    Unchanged(KnownFile),
    /// New text, stored by now.
    Stored(KnownFile, Option<Problem>),
    /// New text that is not stored: the next cycle looks again.
    Unstored(Option<Problem>),
}

impl<D: Disk> Journal<'_, D> {
    /// Looks at the displaced files, and deletes the old ones. `is_background`: a file that is being written is left to
    /// the next cycle.
    pub(in crate::engine) fn look_at_displaced(
        &mut self,
        is_background: bool,
    ) -> anyhow::Result<Vec<Problem>> {
        let now = self.store.now();
        let mut problems = Vec::new();
        let mut seen = Vec::new();
        let mut old = Vec::new();
        for row in self.store.displaced()? {
            let is_old = now.0.saturating_sub(row.since.0) >= KEEP_FOR;
            match self.late_words(&row, is_background) {
                Ok(LateText::Unchanged(_)) if is_old => old.push(row),
                Ok(LateText::Unchanged(known)) if known == row.known => {}
                Ok(LateText::Unchanged(known)) => seen.push(DisplacedRow { known, ..row }),
                Ok(LateText::Stored(known, problem)) => {
                    problems.extend(problem);
                    seen.push(DisplacedRow { known, ..row });
                }
                Ok(LateText::Unstored(problem)) => problems.extend(problem),
                Err(error) => {
                    tracing::warn!(place = %row.place, %error, "a displaced file cannot be looked at");
                }
            }
        }
        if seen.is_empty() && old.is_empty() {
            return Ok(problems);
        }
        for row in &old {
            if let Err(error) = self.disk.discard(Area::Displaced, row.slot, at(&row.place)) {
                tracing::warn!(place = %row.place, %error, "a displaced file stays");
            }
        }
        self.store.write(|tx| {
            seen.iter().try_for_each(|row| tx.put_displaced(row))?;
            old.iter().try_for_each(|row| tx.remove_displaced(row.slot))
        })?;
        Ok(problems)
    }

    /// Stores the text that was written into a displaced file since the last look.
    fn late_words(
        &mut self,
        row: &DisplacedRow,
        is_background: bool,
    ) -> Result<LateText, DiskError> {
        let now = self.store.now();
        let found = self
            .disk
            .look_aside(Area::Displaced, row.slot, at(&row.place))?;
        // A person cleared the folder.
        let Some(stamp) = found else {
            return Ok(LateText::Unchanged(row.known));
        };
        if stamp.same_content(&row.known.stamp)
            && trusted(row.known.stamp, self.store.now()).is_some()
        {
            return Ok(LateText::Unchanged(row.known));
        }
        let resting = now.0.saturating_mul(1_000_000).saturating_sub(stamp.mtime);
        if is_background && resting.saturating_abs() < RESTING {
            return Ok(LateText::Unstored(None));
        }
        let content = self
            .disk
            .read_aside(Area::Displaced, row.slot, at(&row.place), MAX_FILE)?;
        if !content.whole {
            let message = format!("{OPEN}; that is too large to be kept: take it from {ASIDE}");
            return Ok(LateText::Unstored(Some(told(&row.place, message))));
        }
        let known = KnownFile::of(content.stamp, &content.bytes);
        if known.digest == row.known.digest {
            return Ok(LateText::Unchanged(known));
        }
        // Emptied: its former text is in the history, and new text may follow.
        if content.bytes.is_empty() {
            return Ok(LateText::Stored(known, None));
        }
        let (kept, message) = self.set_words_beside(&row.place, &content.bytes);
        let problem = Some(told(&row.place, message));
        Ok(if kept {
            LateText::Stored(known, problem)
        } else {
            LateText::Unstored(problem)
        })
    }

    /// Stores a text beside its file and in the history. Returns whether one of them succeeded, and a message for a
    /// person.
    fn set_words_beside(&mut self, place: &Place, bytes: &[u8]) -> (bool, String) {
        let beside = self.write_beside(place, bytes);
        let kept = store_text(self.store, place, bytes, CAUSE);
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(path = %place, error = format!("{error:#}"), "late words are not in the history");
            false
        });
        match (beside, kept) {
            (Ok(name), _) => (
                true,
                format!("{OPEN}: copy what you want to keep from {name}"),
            ),
            (Err(error), true) => {
                tracing::warn!(path = %place, %error, "late words are in the history only");
                (
                    true,
                    format!("{OPEN}; what it wrote is in the history (`kbsync log`)"),
                )
            }
            (Err(error), false) => (
                false,
                format!("{OPEN}; that stays in {ASIDE} and is tried again: failed to {error}"),
            ),
        }
    }

    /// Writes bytes beside a file. Returns the name.
    fn write_beside(&mut self, place: &Place, bytes: &[u8]) -> Result<String, DiskError> {
        let unknown = |_| DiskError::new(DiskErrorKind::Other, "write beside", place.to_string());
        let slot = self.store.next_slot().map_err(unknown)?;
        self.disk.stage(slot, at(place), bytes, Durability::Now)?;
        self.disk.keep_mode(slot, at(place), place)?;
        let beside = self.disk.set_beside(slot, at(place), &place.file)?;
        self.disk.sync_folder(at(place))?;
        Ok(beside)
    }
}

/// Displaces the recorded files that a crash left in the stage.
pub(super) fn displace_again(disk: &impl Disk, rows: &[DisplacedRow]) {
    for row in rows {
        let left = disk.look_aside(Area::Stage, row.slot, at(&row.place));
        if let Ok(Some(_)) = left {
            displace(disk, row);
        }
    }
}

fn told(place: &Place, message: String) -> Problem {
    tracing::warn!(path = %place, "{message}");
    Problem::at(place, None, message)
}

/// Returns the row of the file that a change replaced: under its present stamp or, if its content changed, under the
/// expected one.
pub(super) fn came_out(
    disk: &impl Disk,
    slot: Slot,
    file: &FileEntry,
    now: Timestamp,
) -> Option<DisplacedRow> {
    let known = file.expected()?;
    let place = came_from(disk, slot, file);
    let known = match disk.look_aside(Area::Stage, slot, at(place)) {
        Ok(None) => return None,
        Ok(Some(stamp)) if stamp.same_content(&known.stamp) => KnownFile { stamp, ..known },
        Ok(Some(_)) | Err(_) => known,
    };
    Some(DisplacedRow {
        slot,
        place: place.clone(),
        known,
        since: now,
    })
}

pub(super) fn displace(disk: &impl Disk, row: &DisplacedRow) {
    if let Err(error) = disk.displace(row.slot, at(&row.place)) {
        tracing::warn!(place = %row.place, %error, "what it replaced stays in the stage");
    }
}

/// Returns the former place of a file in a slot. A slot is on the mount of its place, and a moved file may have come
/// from another mount.
pub(super) fn came_from<'c>(disk: &impl Disk, slot: Slot, file: &'c FileEntry) -> &'c Place {
    let left = file.leaves.as_ref().map(|(place, _)| place);
    let is_filled = |place: &Place| {
        let found = disk.look_aside(Area::Stage, slot, at(place));
        matches!(found, Ok(Some(_)))
    };
    left.filter(|left| !is_filled(&file.target) && is_filled(left))
        .unwrap_or(&file.target)
}
