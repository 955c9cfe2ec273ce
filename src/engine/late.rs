//! What a program wrote into a file after kbsync had replaced or removed that: kept in the history, and beside
//! the file, where a person sees it (failures row 81).
//!
//! It is no edit of the file that lies there now, which the program never saw; so nothing is merged, and
//! nothing is sent.

use super::apply::MAX_FILE;
use super::report::Report;
use super::{Engine, leftovers};
use crate::mirror::disk::{
    At, Disk, DiskError, DiskErrorKind, Durability, Expect, Late, Leftover, beside_name,
};
use crate::reconcile::plan::Problem;
use crate::service::Service;

/// Names that are tried beside a file.
const NAMES: u32 = 1_000;

/// Why it is in the history.
const CAUSE: &str = "written after it was replaced";

impl<S: Service, D: Disk> Engine<S, D> {
    /// Looks a last time, before the program ends: what is written later cannot be found any more.
    pub fn look_back(&mut self) -> Vec<Problem> {
        self.late_words(true)
    }

    /// Looks after a cycle; when nobody comes back for the rest, at once.
    pub(super) fn keep_late(&mut self, last: bool, report: &mut Report) {
        report.problems.extend(self.late_words(last));
    }

    /// They are not there a second time: what cannot be kept in one place is kept in the other, and an error at
    /// one file is no reason to lose the next one's.
    fn late_words(&mut self, last: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        for late in self.disk.late(last, MAX_FILE) {
            let now = self.clock.now();
            let leftover = Leftover {
                folder: late.folder.clone(),
                name: Some(late.name.clone()),
                bytes: late.bytes.clone(),
            };
            let place = late.folder.as_ref().map_or_else(
                || late.name.clone(),
                |folder| format!("{folder}/{}", late.name),
            );
            let beside = self.set_beside(&late);
            let kept = leftovers::keep(&mut self.store, &leftover, CAUSE, now);
            let kept = kept.unwrap_or_else(|error| {
                tracing::warn!(path = %place, error = format!("{error:#}"), "late words are not in the history");
                false
            });
            let message = match (beside, kept) {
                (Ok(name), _) => {
                    format!("{OPEN}: take over from {name} what you want to keep")
                }
                (Err(error), true) => {
                    tracing::warn!(path = %place, %error, "late words are in the history only");
                    format!("{OPEN}; what it wrote is in the history (`kbsync log`)")
                }
                (Err(error), false) => {
                    format!("{OPEN}, and what it wrote is lost: failed to {error}")
                }
            };
            tracing::warn!(path = %place, "{message}");
            problems.push(Problem {
                path: place,
                id: None,
                message,
            });
        }
        problems
    }

    /// Writes it beside the file; gives the name.
    fn set_beside(&self, late: &Late) -> Result<String, DiskError> {
        let at = late.folder.as_deref().map_or(At::Root, At::Folder);
        for number in 1..=NAMES {
            let name = beside_name(&late.name, number);
            if self.disk.look(at, &name)?.is_some() {
                continue;
            }
            let staged = self.disk.stage(at, &late.bytes, Durability::Now)?;
            self.disk.keep_mode(&staged, at, &late.name)?;
            match self.disk.publish(staged, &name, Expect::Absent) {
                Ok(_) => {
                    self.disk.sync_folder(at)?;
                    return Ok(name);
                }
                Err(error) if error.kind == DiskErrorKind::Exists => {}
                Err(error) => return Err(error),
            }
        }
        Err(DiskError::new(
            DiskErrorKind::Exists,
            "write beside",
            &late.name,
        ))
    }
}

const OPEN: &str = "a program had it open while it was replaced, and wrote into it afterwards";
