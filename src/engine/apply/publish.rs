//! Staged files come under their names, and the names become durable.
//!
//! Names are left before they are taken; circles are swapped. What is not durable does not count as done.

use super::files::Job;
use super::{Done, not_written, wall};
use crate::drill::defect::{self, Defect};
use crate::engine::Engine;
use crate::mirror::disk::{At, Disk, DiskError, Expect};
use crate::model::{Place, Stamp};
use crate::reconcile::plan::Settle;
use crate::service::Service;
use std::collections::BTreeSet;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Puts every file in its place, and notes at each what came of it.
    pub(super) fn publish_all(&self, jobs: &mut [Job<'_>]) {
        let mut waiting: Vec<usize> = (0..jobs.len())
            .filter(|&index| jobs[index].outcome.is_none())
            .collect();
        while !waiting.is_empty() {
            let taken: BTreeSet<Place> = waiting
                .iter()
                .filter_map(|&index| moves(jobs[index].settle))
                .cloned()
                .collect();
            let (blocked, free): (Vec<usize>, Vec<usize>) = waiting.iter().partition(|&&index| {
                moves(jobs[index].settle).is_some() && taken.contains(&jobs[index].settle.to)
            });
            if free.is_empty() {
                self.open_circle(jobs, &blocked);
                return;
            }
            for index in free {
                let outcome = self.publish(&mut jobs[index]);
                jobs[index].outcome = Some(outcome.map_err(|error| not_written(&error)));
            }
            waiting = blocked;
        }
    }

    /// Files that take each other's names: each exchange puts one of them in its place. A circle is opened
    /// as a whole or not at all.
    fn open_circle(&self, jobs: &mut [Job<'_>], circle: &[usize]) {
        let mut at: Vec<Place> = circle
            .iter()
            .filter_map(|&index| jobs[index].settle.from.clone())
            .collect();
        let mut exchanged: Vec<(Place, Place)> = Vec::new();
        for position in 0..circle.len() {
            let to = jobs[circle[position]].settle.to.clone();
            if at[position] == to {
                continue;
            }
            if let Err(error) = self.disk.exchange(&at[position], &to) {
                let closed = self.close_circle(&exchanged);
                for &index in circle {
                    self.drop_staged(&mut jobs[index]);
                    // The intents tell the next run that no writer gave these names.
                    jobs[index].unclear |= !closed;
                    jobs[index].outcome = Some(Err(not_written(&error)));
                }
                return;
            }
            exchanged.push((at[position].clone(), to.clone()));
            if let Some(other) = at.iter().position(|place| *place == to) {
                at.swap(position, other);
            }
        }
        for &index in circle {
            let outcome = self.publish_here(&mut jobs[index]);
            jobs[index].outcome = Some(outcome.map_err(|error| not_written(&error)));
        }
    }

    /// Takes exchanges back, the last one first; tells whether all were.
    fn close_circle(&self, exchanged: &[(Place, Place)]) -> bool {
        let mut closed = true;
        for (one, other) in exchanged.iter().rev() {
            if let Err(error) = self.disk.exchange(one, other) {
                tracing::warn!(%one, %other, %error, "two files have each other's names");
                closed = false;
            }
        }
        closed
    }

    /// A staged file that is not needed any more.
    pub(super) fn drop_staged(&self, job: &mut Job<'_>) {
        if let Some(staged) = job.staged.take()
            && let Err(error) = self.disk.discard(staged)
        {
            tracing::warn!(%error, "a staged file is left to the next run");
        }
    }

    fn publish(&self, job: &mut Job<'_>) -> Result<Stamp, DiskError> {
        let settle = job.settle;
        if let (Some(from), Some((stamp, _))) = (moves(settle), &job.old) {
            match self.disk.rename(from, &settle.to, *stamp) {
                Ok(stamp) => {
                    if let Some((old, _)) = &mut job.old {
                        *old = stamp;
                    }
                }
                Err(error) => {
                    self.drop_staged(job);
                    return Err(error);
                }
            }
            // From here on it may lie under its new name whatever comes of the rest: no writer gave it.
            let published = self.publish_here(job);
            job.unclear |= published.is_err();
            return published;
        }
        self.publish_here(job)
    }

    /// Replaces or creates the file at its final name.
    fn publish_here(&self, job: &mut Job<'_>) -> Result<Stamp, DiskError> {
        let to = &job.settle.to;
        match (job.staged.take(), &job.old) {
            (Some(staged), Some((stamp, _))) => {
                let now = match self.disk.look(At::Folder(&to.folder), &to.file) {
                    Ok(now) => now,
                    Err(error) => {
                        job.staged = Some(staged);
                        self.drop_staged(job);
                        return Err(error);
                    }
                };
                let blind = defect::is(Defect::SaveOverwritten);
                let same = now.filter(|entry| blind || entry.stamp.same_content(stamp));
                let expect = same.map_or(Expect::Stamp(*stamp), |entry| Expect::Stamp(entry.stamp));
                self.disk.publish(staged, &to.file, expect)
            }
            (Some(staged), None) => self.disk.publish(staged, &to.file, Expect::Absent),
            // The stamp that was read, or that the rename gave: one that is looked up now may be that of a
            // newer save. An exchange gave none, and then the file is read again by the next scan.
            (None, old) => Ok(old.as_ref().map(|(stamp, _)| *stamp).unwrap_or_default()),
        }
    }

    /// Makes the names durable. What is not durable does not count as done; its intent stays.
    pub(super) fn make_durable(&self, jobs: &mut [Job<'_>], many: bool) {
        if defect::is(Defect::NamesNotSynced) {
            return;
        }
        if many {
            if let Err(error) = self.disk.flush() {
                for job in jobs.iter_mut().filter(|job| is_published(job)) {
                    job.unclear = true;
                    job.outcome = Some(Err(Done::Wall(wall(&error))));
                }
            }
            return;
        }
        for (folder, error) in self.sync_folders(jobs) {
            let touched = |job: &Job<'_>| {
                let from = job.settle.from.as_ref();
                is_published(job)
                    && (job.settle.to.folder == folder
                        || from.is_some_and(|from| from.folder == folder))
            };
            let mut error = Some(error);
            for job in jobs.iter_mut().filter(|job| touched(job)) {
                let done = error.take().map_or_else(
                    || Done::Later(format!("{folder}/ could not be made durable")),
                    |error| not_written(&error),
                );
                job.unclear = true;
                job.outcome = Some(Err(done));
            }
        }
    }

    fn sync_folders(&self, jobs: &[Job<'_>]) -> Vec<(String, DiskError)> {
        let mut folders: Vec<&str> = jobs
            .iter()
            .filter(|job| is_published(job))
            .flat_map(|job| {
                let from = job.settle.from.as_ref().map(|from| from.folder.as_str());
                [Some(job.settle.to.folder.as_str()), from]
            })
            .flatten()
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders
            .into_iter()
            .filter_map(|folder| {
                let error = self.disk.sync_folder(At::Folder(folder)).err()?;
                Some((folder.to_owned(), error))
            })
            .collect()
    }
}

fn is_published(job: &Job<'_>) -> bool {
    matches!(job.outcome, Some(Ok(_))) && job.settle.touches_file()
}

/// The name that a file leaves, if it moves.
fn moves(settle: &Settle) -> Option<&Place> {
    settle.from.as_ref().filter(|from| **from != settle.to)
}
