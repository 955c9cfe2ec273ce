//! Files that were replaced or removed stay for a day, the newest ones of them. What a program writes into one of them after that is kept in
//! the history, and beside the file, where a person sees it (failures row 81).
//!
//! It is no edit of the file that lies there now, which the program never saw; so nothing is merged, and
//! nothing is sent.

use super::{at, keep::keep};
use crate::engine::Engine;
use crate::engine::apply::MAX_FILE;
use crate::mirror::disk::{Area, Disk, DiskError, DiskErrorKind, Durability};
use crate::model::{KnownFile, Place, Timestamp};
use crate::reconcile::plan::Problem;
use crate::service::Service;
use crate::state::DisplacedRow;

/// How long a displaced file stays, in milliseconds.
const LONG: i64 = 86_400_000;

/// How many of them stay: each is looked at in every cycle.
const MANY: usize = 200;

/// Into a file that was written to within this time more may be on its way, in nanoseconds.
const RESTING: i64 = 1_000_000_000;

/// Why it is in the history.
const CAUSE: &str = "written after it was replaced";

const OPEN: &str = "a program had it open while it was replaced, and wrote into it afterwards";

impl<S: Service, D: Disk> Engine<S, D> {
    /// Looks at the displaced files, and lets go of those that have been there for long. `patient`: what is being
    /// written is left to the next cycle.
    pub(in crate::engine) fn look_at_displaced(
        &mut self,
        patient: bool,
    ) -> anyhow::Result<Vec<Problem>> {
        let now = self.clock.now();
        let mut problems = Vec::new();
        let mut seen = Vec::new();
        let mut old = Vec::new();
        let rows = self.store.displaced()?;
        let spare = rows.len().saturating_sub(MANY);
        for (number, row) in rows.into_iter().enumerate() {
            let is_old = now.0.saturating_sub(row.since.0) >= LONG || number < spare;
            match self.late_words(&row, patient && !is_old, now) {
                Ok(Some((known, problem))) => {
                    problems.extend(problem);
                    let row = DisplacedRow {
                        known,
                        ..row.clone()
                    };
                    seen.push(row);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(place = %row.place, %error, "a displaced file cannot be looked at");
                }
            }
            if is_old {
                old.push(row);
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
        self.store.write(now, |tx| {
            seen.iter().try_for_each(|row| tx.put_displaced(row))?;
            old.iter().try_for_each(|row| tx.remove_displaced(row.slot))
        })?;
        Ok(problems)
    }

    /// What was written into a displaced file since the last look. `None`: nothing that is to be remembered.
    fn late_words(
        &mut self,
        row: &DisplacedRow,
        patient: bool,
        now: Timestamp,
    ) -> Result<Option<(KnownFile, Option<Problem>)>, DiskError> {
        let found = self
            .disk
            .look_aside(Area::Displaced, row.slot, at(&row.place))?;
        // Somebody cleared the folder.
        let Some(stamp) = found else {
            return Ok(None);
        };
        let resting = now.0.saturating_mul(1_000_000).saturating_sub(stamp.mtime);
        if stamp.same_content(&row.known.stamp) && self.trusted(row.known.stamp).is_some()
            || patient && resting.saturating_abs() < RESTING
        {
            return Ok(None);
        }
        let content = self
            .disk
            .read_aside(Area::Displaced, row.slot, at(&row.place), MAX_FILE)?;
        let known = KnownFile::of(content.stamp, &content.bytes);
        // Emptied: the words that were in it are in the history.
        if known.digest == row.known.digest || content.bytes.is_empty() || !content.whole {
            return Ok(Some((known, None)));
        }
        let problem = self.set_words_beside(&row.place, &content.bytes, now);
        Ok(Some((known, Some(problem))))
    }

    /// What cannot be kept in one place is kept in the other.
    fn set_words_beside(&mut self, place: &Place, bytes: &[u8], now: Timestamp) -> Problem {
        let beside = self.write_beside(place, bytes);
        let kept = keep(&mut self.store, place, bytes, (CAUSE, now));
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(path = %place, error = format!("{error:#}"), "late words are not in the history");
            false
        });
        let message = match (beside, kept) {
            (Ok(name), _) => format!("{OPEN}: take over from {name} what you want to keep"),
            (Err(error), true) => {
                tracing::warn!(path = %place, %error, "late words are in the history only");
                format!("{OPEN}; what it wrote is in the history (`kbsync log`)")
            }
            (Err(error), false) => {
                format!("{OPEN}, and what it wrote is lost: failed to {error}")
            }
        };
        tracing::warn!(path = %place, "{message}");
        Problem {
            path: place.to_string(),
            id: None,
            message,
        }
    }

    /// Writes bytes beside a file; gives the name.
    fn write_beside(&mut self, place: &Place, bytes: &[u8]) -> Result<String, DiskError> {
        let unknown = |_| DiskError::new(DiskErrorKind::Other, "write beside", place.to_string());
        let slot = self.next_slot().map_err(unknown)?;
        self.disk.stage(slot, at(place), bytes, Durability::Now)?;
        self.disk.keep_mode(slot, at(place), place)?;
        let beside = self.disk.set_beside(slot, at(place), &place.file)?;
        self.disk.sync_folder(at(place))?;
        Ok(beside)
    }

    /// Brings files to their slots that a crash left in the stage after they were recorded.
    pub(super) fn displace_again(&self, rows: &[DisplacedRow]) {
        for row in rows {
            let left = self.disk.look_aside(Area::Stage, row.slot, at(&row.place));
            if let Ok(Some(_)) = left {
                self.displace(row);
            }
        }
    }
}
