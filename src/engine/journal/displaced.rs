//! Displaced files: replaced and removed files stay for a day. If a program writes text into one of them afterwards,
//! the text goes into the history, and the file itself moves beside its place, where a person sees it and what the
//! program writes next (failures row 81).
//!
//! A file is deleted only in a cycle that found nothing new in it. A file that cannot be read or stored stays.
//!
//! Such late text is no edit of the present file, which the program never saw: it is neither merged nor sent.

use super::{Journal, at};
use crate::engine::form::MAX_FILE;
use crate::engine::history::entry::store_text;
use crate::mirror::disk::{Area, Content, Disk, Slot};
use crate::mirror::scan::trusted;
use crate::model::{KnownFile, Place, Timestamp};
use crate::reconcile::plan::Problem;
use crate::state::{DisplacedRow, FileEntry};

/// The time for which a displaced file stays, in milliseconds.
const KEEP_FOR: i64 = Timestamp::DAY;

/// The cause in the history.
const CAUSE: &str = "written after it was replaced";

const WRITTEN_INTO: &str =
    "a program had it open while it was replaced, and wrote to it afterwards";

/// The folder where a person finds text that is stored nowhere else.
const ASIDE: &str = "`.kbsync/displaced`";

impl<D: Disk> Journal<'_, D> {
    /// Looks at the displaced files, and deletes the old ones.
    pub(in crate::engine) fn look_at_displaced(&mut self) -> anyhow::Result<Vec<Problem>> {
        let now = self.store.now();
        let (mut problems, mut gone) = (Vec::new(), Vec::new());
        for row in self.store.displaced()? {
            match self.keep_late_text(&row, &mut problems) {
                Ok(false) if is_old(&row, now) => {
                    match self.disk.discard(Area::Displaced, row.slot, at(&row.place)) {
                        Ok(()) => gone.push(row.slot),
                        Err(error) => {
                            tracing::warn!(place = %row.place, %error, "a displaced file stays");
                        }
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(place = %row.place, error = format!("{error:#}"), "a displaced file cannot be looked at");
                }
            }
        }
        if gone.is_empty() {
            return Ok(problems);
        }
        self.store
            .write(|tx| gone.iter().try_for_each(|slot| tx.remove_displaced(*slot)))?;
        Ok(problems)
    }

    /// Keeps text that was written into a displaced file. Returns whether there was any.
    fn keep_late_text(
        &mut self,
        row: &DisplacedRow,
        problems: &mut Vec<Problem>,
    ) -> anyhow::Result<bool> {
        let (slot, place, now) = (row.slot, &row.place, self.store.now());
        let mut found = self.disk.look_aside(Area::Displaced, slot, at(place))?;
        if found.is_none() && (self.disk.look_aside(Area::Stage, slot, at(place))?).is_some() {
            // The disk refused, or a crash came in between.
            self.disk.displace(slot, at(place))?;
            found = self.disk.look_aside(Area::Displaced, slot, at(place))?;
        }
        // A person may have cleared the folder.
        let Some(stamp) = found else {
            return Ok(false);
        };
        // A stamp is not enough for a deletion: a program may set the time of a file.
        let is_same = stamp.same_content(&row.known.stamp) && !is_old(row, now);
        if is_same && trusted(row.known.stamp, now).is_some() {
            return Ok(false);
        }
        let content = self
            .disk
            .read_aside(Area::Displaced, slot, at(place), MAX_FILE)?;
        let known = KnownFile::of(content.stamp, &content.bytes);
        if content.whole && known.digest == row.known.digest {
            return Ok(false);
        }
        // Emptied: its former text is in the history, and new text may follow.
        if !content.bytes.is_empty() {
            let kept = self.keep_beside(Area::Displaced, slot, place, &content, CAUSE);
            let message = match &kept {
                Ok(kept) => format!("{WRITTEN_INTO}; {kept}"),
                Err(error) => format!(
                    "{WRITTEN_INTO}; the file stays in {ASIDE}, and kbsync tries again: failed to {error:#}"
                ),
            };
            tracing::warn!(path = %place, "{message}");
            problems.push(Problem::at(place, None, message));
            kept?;
        }
        let row = DisplacedRow {
            known,
            ..row.clone()
        };
        self.store.write(|tx| tx.put_displaced(&row))?;
        Ok(true)
    }

    /// Stores a text in the history, and moves its file beside its place, where a person sees it. Returns the end of
    /// the message: where the text is.
    pub(super) fn keep_beside(
        &mut self,
        area: Area,
        slot: Slot,
        place: &Place,
        content: &Content,
        cause: &str,
    ) -> anyhow::Result<String> {
        let is_stored = content.whole && store_text(self.store, place, &content.bytes, cause)?;
        match self.disk.set_beside(area, slot, at(place), &place.file) {
            Ok(beside) => {
                if let Err(error) = self.disk.sync_folder(at(place)) {
                    tracing::warn!(path = %place, %error, "the name of {beside} is not durable yet");
                }
                Ok(format!("copy what you want to keep from {beside}"))
            }
            // For example, the folder is gone.
            Err(_) if is_stored => Ok("its text is in the history (`kbsync log`)".to_owned()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns whether a displaced file has stayed long enough.
fn is_old(row: &DisplacedRow, now: Timestamp) -> bool {
    row.since <= now.before(KEEP_FOR)
}

/// Returns the row of the file that a change replaced: under its present stamp or, if its content changed, under the
/// expected one.
pub(super) fn displaced_row(
    disk: &impl Disk,
    slot: Slot,
    file: &FileEntry,
    now: Timestamp,
) -> Option<DisplacedRow> {
    let known = file.expected()?;
    let place = former_place(disk, slot, file);
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
pub(super) fn former_place<'c>(disk: &impl Disk, slot: Slot, file: &'c FileEntry) -> &'c Place {
    let old_place = file.leaves.as_ref().map(|(place, _)| place);
    let is_filled = |place: &Place| {
        let found = disk.look_aside(Area::Stage, slot, at(place));
        matches!(found, Ok(Some(_)))
    };
    old_place
        .filter(|old_place| !is_filled(&file.target) && is_filled(old_place))
        .unwrap_or(&file.target)
}
