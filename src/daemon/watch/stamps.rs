//! Scans the files where no events come, and compares their stamps with those of the scan before.
//!
//! A folder that cannot be read counts as empty. Its files are then reported as removed, which is only a reason for a
//! cycle: the engine sees that the folder cannot be read.

use super::{Root, event_meaning};
use crate::{
    daemon::debounce::Touch,
    mirror::disk::{At, Disk as _, DiskError, Entry, Kind, RealDisk},
    model::Stamp,
};
use std::collections::BTreeMap;

/// The stamps of all relevant files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Stamps {
    files: BTreeMap<String, Stamp>,
}

impl Stamps {
    /// Reads the stamps of all files.
    pub(super) fn read(roots: &[Root]) -> Self {
        let mut stamps = Self::default();
        for root in roots {
            stamps.read_root(root);
        }
        stamps
    }

    fn read_root(&mut self, root: &Root) {
        let Ok(disk) = RealDisk::open(&root.path) else {
            return;
        };
        for folder in folders(&disk).unwrap_or_default() {
            let listing = disk.list(At::Folder(&folder)).unwrap_or_default();
            for entry in listing.entries {
                if let Some((name, _)) = event_meaning::relevant_name(&entry.name, Touch::Changed) {
                    // A conflict copy counts for its article; its stamp is stored under its own name.
                    let own = format!("{}{folder}/{}", root.prefix, entry.name);
                    let about = format!("{}{folder}/{name}", root.prefix);
                    self.files.insert(own, entry.stamp);
                    self.files.entry(about).or_default();
                }
            }
        }
    }

    /// Returns the paths that were touched since the previous scan.
    fn touched(&self, before: &Self) -> Vec<(String, Touch)> {
        let mut found = BTreeMap::new();
        for (path, stamp) in &self.files {
            if before.files.get(path) != Some(stamp) {
                found.extend(concerned(path, Touch::Changed));
            }
        }
        let before = before.files.keys();
        for path in before.filter(|path| !self.files.contains_key(*path)) {
            let Some((path, touch)) = concerned(path, Touch::Removed) else {
                continue;
            };
            found.entry(path).or_insert(touch);
        }
        found.into_iter().collect()
    }

    /// Reads the stamps again. Returns the paths that were touched meanwhile.
    pub(super) fn renew(&mut self, roots: &[Root]) -> Vec<(String, Touch)> {
        let before = std::mem::replace(self, Self::read(roots));
        self.touched(&before)
    }
}

/// Returns the folders in a root that can be categories.
pub(super) fn folders(disk: &RealDisk) -> Result<Vec<String>, DiskError> {
    let entries = disk.list(At::Root)?.entries.into_iter();
    let is_category =
        |entry: &Entry| entry.kind == Kind::Folder && !entry.name.starts_with(['.', '_']);
    let folders = entries.filter(is_category);
    Ok(folders.map(|entry| entry.name).collect())
}

fn concerned(path: &str, touch: Touch) -> Option<(String, Touch)> {
    let (folder, name) = path.rsplit_once('/')?;
    let (name, touch) = event_meaning::relevant_name(name, touch)?;
    Some((format!("{folder}/{name}"), touch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(files: &[(&str, u64)]) -> Stamps {
        Stamps {
            files: files
                .iter()
                .map(|(path, size)| {
                    let stamp = Stamp {
                        size: *size,
                        ..Stamp::default()
                    };
                    ((*path).to_owned(), stamp)
                })
                .collect(),
        }
    }

    fn check(before: &[(&str, u64)], now: &[(&str, u64)], expected: &[(&str, Touch)]) {
        let found = stamps(now).touched(&stamps(before));
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, touch)| ((*path).to_owned(), *touch))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn f078_two_looks_show_what_was_touched() {
        let both = [("a/x.html", 1), ("a/y.html", 1)];
        check(&both, &both, &[]);
        check(
            &both,
            &[("a/x.html", 2), ("a/y.html", 1)],
            &[("a/x.html", Touch::Changed)],
        );
        check(&both, &both[..1], &[("a/y.html", Touch::Removed)]);
        check(&both[..1], &both, &[("a/y.html", Touch::Changed)]);
        check(
            &[("a/x.conflict.html", 1), ("a/x.html", 1)],
            &[("a/x.html", 1)],
            &[("a/x.html", Touch::Changed)],
        );
    }
}
