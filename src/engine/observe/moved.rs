//! Files that were moved while the mirror was scanned, or to where no article can be: their articles are not
//! gone, and a file that was seen in two places is one.

use super::local::Scanned;
use crate::engine::settings::InMotion;
use crate::mirror::disk::{At, Disk, DiskErrorKind};
use crate::mirror::scan::{self, Scan, Strays};
use crate::model::{ArticleId, Place, Stamp};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::{Base, Unknown};
use std::collections::{BTreeMap, BTreeSet, HashSet};

const REPLACED: &str = "another file took its place while the mirror was looked at";

impl Scanned {
    /// Of two files with one id, one may have become the other since it was looked at: one that went is no file
    /// any more, and what another one replaced is not known.
    pub(super) fn seen_twice(&mut self, disk: &impl Disk) {
        let mut times: BTreeMap<ArticleId, usize> = BTreeMap::new();
        for id in self.snapshot.files.iter().filter_map(|file| file.id) {
            *times.entry(id).or_default() += 1;
        }
        times.retain(|_, times| *times > 1);
        if times.is_empty() {
            return;
        }
        let stamps = &self.side.stamps;
        let mut replaced = Vec::new();
        self.snapshot.files.retain(|file| {
            if !file.id.is_some_and(|id| times.contains_key(&id)) {
                return true;
            }
            let place = &file.place;
            match disk.look(At::Folder(&place.folder), &place.file) {
                Ok(None) => false,
                Ok(Some(now)) if stamps.get(place) != Some(&now.stamp) => {
                    replaced.push(place.clone());
                    false
                }
                Ok(Some(_)) => true,
                Err(error) => error.kind != DiskErrorKind::NotFound,
            }
        });
        for place in replaced {
            self.problems.push(Problem::at(&place, None, REPLACED));
            self.snapshot.unread.push(place.clone());
            self.snapshot.unknown.push(Unknown { place, id: None });
        }
    }

    /// A file that was moved to where no article can be, or where the scan had been before, is not gone: its id
    /// counts wherever it is, and more than a file without one at its place.
    pub(super) fn strays(
        &mut self,
        disk: &impl Disk,
        base: &Base,
        in_motion: &InMotion,
        scan: &Scan,
    ) {
        let missing = self.missing(base, in_motion, scan);
        if missing.is_empty() {
            return;
        }
        let strays = scan::read_strays(disk, &scan.strays);
        self.lie_elsewhere(
            strays,
            &missing,
            "the file of an article has a name that is not synced; rename it, or remove it to delete the \
             article",
        );
        let stamps = &self.side.stamps;
        let known = |place: &Place, stamp: Stamp| {
            let listed = match place.folder.as_str() {
                "" => scan.root_names.contains(&place.file),
                folder => {
                    let names = scan.names.get(folder);
                    names.is_some_and(|names| names.contains(&place.file))
                }
            };
            listed && stamps.get(place).is_none_or(|scanned| *scanned == stamp)
        };
        match scan::appeared(disk, &scan.layout, &known) {
            Ok(places) => self.lie_elsewhere(
                scan::read_strays(disk, &places),
                &missing,
                "the file was moved while the mirror was looked at",
            ),
            Err(error) => self.doubt = Some(format!("failed to {error}")),
        }
    }

    /// Articles whose file was not found, though all of its folder was listed.
    fn missing(&self, base: &Base, in_motion: &InMotion, scan: &Scan) -> BTreeSet<ArticleId> {
        let files = self.snapshot.files.iter();
        let named: HashSet<ArticleId> = files.clone().filter_map(|file| file.id).collect();
        let lying: HashSet<&Place> = files.map(|file| &file.place).collect();
        base.articles
            .values()
            .filter(|row| {
                !named.contains(&row.id)
                    && !in_motion.covers(&row.place)
                    && (lying.contains(&row.place) || scan.proves_absent(&row.place))
            })
            .map(|row| row.id)
            .collect()
    }

    fn lie_elsewhere(&mut self, found: Strays, missing: &BTreeSet<ArticleId>, why: &str) {
        for (place, id) in found.ids {
            if !missing.contains(&id) {
                continue;
            }
            let path = place.to_string();
            let path = path.trim_start_matches('/');
            self.problems.push(Problem::at(path, Some(id), why));
            self.snapshot.unknown.push(Unknown {
                place,
                id: Some(id),
            });
        }
        if let Some(place) = found.unreadable.first() {
            let path = place.to_string();
            self.doubt = Some(format!(
                "{} could not be read, and may be an article's file",
                path.trim_start_matches('/')
            ));
        }
    }
}
