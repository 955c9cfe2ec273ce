//! Stamps as young as the clock's grain: what waits until they can vouch for their files.
//!
//! A file that was saved within the grain before it was read may be saved once more without a change of its
//! stamp (failures row 83). Whoever is about to replace it reads it a little later.

use super::files::Job;
use super::render::{MAX_FILE, digest_of};
use super::{Done, Run, not_written};
use crate::engine::Engine;
use crate::engine::observe::local::category_version;
use crate::mirror::disk::{At, Content, Disk, DiskError};
use crate::mirror::document::CategoryDocument;
use crate::model::{CategoryVersion, Digest, Place, Stamp};
use crate::service::Service;

/// How long a stamp may be racy (see `mirror::scan::settled`).
pub(in crate::engine) const GRAIN: std::time::Duration = std::time::Duration::from_millis(25);

impl<S: Service, D: Disk> Engine<S, D> {
    /// Files that were saved within the clock's grain before the scan could be saved once more without
    /// anybody noticing: a little later they cannot.
    pub(super) async fn let_settle<'a>(
        &self,
        mut files: impl Iterator<Item = &'a Place>,
        run: &Run<'_>,
    ) {
        let racy = files.any(|place| {
            let stamp = run.sight.stamps.get(place);
            stamp.is_some_and(|stamp| self.trusted(*stamp).is_none())
        });
        if racy {
            self.clock.pause(GRAIN).await;
        }
    }

    /// Reads a file that is about to be replaced. One that was saved just now is read once more a little later;
    /// one that is being saved all the while is left alone. `waited`: a stamp that was waited for already.
    pub(super) async fn read_settled(
        &self,
        at: At<'_>,
        name: &str,
        waited: Option<Stamp>,
    ) -> Result<Content, Done> {
        let read = |error: DiskError| not_written(&error);
        let first = self.disk.read(at, name, MAX_FILE).map_err(read)?;
        if waited == Some(first.stamp) || self.trusted(first.stamp).is_some() {
            return Ok(first);
        }
        self.clock.pause(GRAIN).await;
        let second = self.disk.read(at, name, MAX_FILE).map_err(read)?;
        if second.stamp == first.stamp || self.trusted(second.stamp).is_some() {
            Ok(second)
        } else {
            Err(Done::Later("the file changed during the cycle".to_owned()))
        }
    }

    /// A file that was saved within the clock's grain may be saved once more without anybody noticing: a little
    /// later it cannot.
    pub(super) async fn let_yaml_settle(&self, scanned: &ScannedYaml) {
        if scanned
            .stamp
            .is_some_and(|stamp| self.trusted(stamp).is_none())
        {
            self.clock.pause(GRAIN).await;
        }
    }

    /// A stamp as young as the clock's grain cannot vouch for its file: a little later it can, unless somebody
    /// saved the file meanwhile, which only a look at what it holds can tell.
    pub(super) async fn wait_out_racy_stamps(&self, jobs: &[Job<'_>], run: &mut Run<'_>) {
        let young = |job: &&Job<'_>| {
            job.settle.touches_file()
                && matches!(&job.outcome, Some(Ok(stamp)) if self.trusted(*stamp).is_none())
        };
        let young: Vec<&Job<'_>> = jobs.iter().filter(young).collect();
        if young.is_empty() {
            return;
        }
        self.clock.pause(GRAIN).await;
        for job in young {
            if let (Some(Ok(stamp)), Some(bytes)) = (&job.outcome, job.bytes)
                && !self.still_holds(&job.settle.to, bytes)
            {
                run.sight.racy.push(*stamp);
            }
        }
    }

    /// Returns whether a file has these bytes.
    pub(super) fn still_holds(&self, place: &Place, bytes: Digest) -> bool {
        let content = self
            .disk
            .read(At::Folder(&place.folder), &place.file, MAX_FILE);
        content.is_ok_and(|content| content.whole && digest_of(&content.bytes) == bytes)
    }
}

/// A folder's `_category.yaml` as it was scanned.
#[derive(Default)]
pub(super) struct ScannedYaml {
    pub(super) stamp: Option<Stamp>,
    /// The folder's name, and what both said, where the stamp was too young to vouch for it.
    racy: Option<(String, CategoryVersion)>,
}

impl ScannedYaml {
    pub(super) fn of(folder: &str, run: &Run<'_>) -> Self {
        let stamp = run.sight.category_stamps.get(folder).copied();
        let mut scanned = run.sight.local.categories.iter();
        let category = scanned.find(|category| category.folder == folder);
        let racy = category
            .filter(|_| stamp.is_some_and(|stamp| run.sight.racy.contains(&stamp)))
            .and_then(|category| Some((folder.to_owned(), category.version.clone()?)));
        Self { stamp, racy }
    }

    /// Returns whether it still says what it said. Its stamp alone cannot, when it was saved just before the scan.
    pub(super) fn is_said_by(&self, bytes: &[u8]) -> bool {
        self.racy.as_ref().is_none_or(|(folder, words)| {
            let document = CategoryDocument::parse(bytes).ok();
            let said = document.and_then(|document| category_version(folder, &document).ok());
            said.as_ref() == Some(words)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f083_a_category_saved_twice_within_a_tick_is_not_what_was_scanned() {
        let words = |description: &str| CategoryVersion {
            name: "Start".to_owned(),
            slug: "start".to_owned(),
            description: description.to_owned(),
            meta_description: String::new(),
        };
        let racy = |description| ScannedYaml {
            stamp: Some(Stamp::default()),
            racy: Some(("start".to_owned(), words(description))),
        };
        let settled = ScannedYaml {
            stamp: Some(Stamp::default()),
            racy: None,
        };
        let bytes = b"name: Start\ndescription: Mine.\n";
        assert!(racy("Mine.").is_said_by(bytes));
        assert!(!racy("Before.").is_said_by(bytes));
        assert!(settled.is_said_by(bytes));
        assert!(!racy("Mine.").is_said_by(b"\"\n"));
    }
}
