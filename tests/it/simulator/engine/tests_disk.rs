//! The folder in memory against the real folder: after the same calls both give the same answers.

use super::folder::Folder;
use super::mirror::Mirror;
use super::random::Random;
use super::step::Save;
use super::tree::Tree;
use kbsync::mirror::RealDisk;
use kbsync::mirror::disk::{Area, At, Disk as _, DiskError, Durability, Expect, Slot};
use kbsync::model::{KnownFile, Place, Stamp};

const FOLDERS: [&str; 3] = ["alpha", "beta", "gamma"];
const NAMES: [&str; 3] = ["a.html", "b.html", "c.html"];
const SLOT: Slot = 1;

/// Both folders, and the files last seen at each place.
struct Twins {
    memory: Mirror,
    real: Mirror,
    disk: RealDisk,
    seen: Vec<(Place, KnownFile)>,
    random: Random,
}

/// Returns the result of a call, without the words of an error.
fn plain<T: std::fmt::Debug>(done: Result<T, DiskError>) -> String {
    format!("{:?}", done.map_err(|error| error.kind))
}

impl Twins {
    fn place(&mut self) -> Place {
        let (folder, name) = (self.random.below(3), self.random.below(3));
        Place::new(FOLDERS[folder], NAMES[name])
    }

    /// Returns a place with a file that was seen there, or with none.
    fn expected(&mut self) -> (Place, KnownFile) {
        let seen = self.random.pick(&self.seen).cloned();
        let none = KnownFile::of(Stamp::default(), b"");
        let (place, known) = seen.unwrap_or((self.place(), none));
        if self.random.percent(80) {
            (place, known)
        } else {
            (self.place(), known)
        }
    }

    fn parts(&mut self) -> (&mut Tree, &mut Folder, &RealDisk) {
        let (Mirror::Memory(tree), Mirror::Real(folder)) = (&mut self.memory, &mut self.real)
        else {
            panic!("they are as they were made");
        };
        (tree, folder, &self.disk)
    }

    fn people(&mut self, deed: impl Fn(&mut Mirror)) {
        deed(&mut self.memory);
        deed(&mut self.real);
    }

    /// Checks that a slot has the same content in both folders, and empties it.
    fn empty_slot(&mut self, at: At<'_>) {
        let (tree, folder, disk) = self.parts();
        for area in [Area::Stage, Area::Displaced] {
            let real = folder.look_aside(disk, (area, SLOT), at);
            let memory = tree.look_aside(area, SLOT);
            assert_eq!(plain(Ok(memory)), plain(real));
            disk.discard(area, SLOT, at).expect("emptied");
            tree.discard(area, SLOT);
        }
    }

    /// Makes one random call in both folders, and checks that the results are the same.
    fn act(&mut self) {
        let (one, other) = (self.place(), self.place());
        let (place, known) = self.expected();
        let size = self.random.below(3);
        let name = other.file.clone();
        match self.random.below(14) {
            0 | 1 => self.people(|mirror| {
                mirror.save(&one.folder, &one.file, vec![b'x'; size], Save::InPlace);
            }),
            2 => self.people(|mirror| {
                mirror.save(&one.folder, &one.file, vec![b'y'; size], Save::RenameOver);
            }),
            3 => self.people(|mirror| {
                if mirror.bytes(&one.folder, &one.file).is_some() && one != other {
                    let to = (&*other.folder, &*other.file);
                    mirror.rename((&one.folder, &one.file), to);
                }
            }),
            4 => self.people(|mirror| {
                mirror.remove(&one.folder, &one.file);
            }),
            5 => self.people(|mirror| {
                if mirror.has_folder(&one.folder) && !mirror.has_folder(&other.folder) {
                    mirror.rename_folder(&one.folder, &other.folder);
                }
            }),
            6 | 7 => {
                let within = At::Folder(&place.folder);
                let absent = size == 0;
                let bytes = vec![b'z'; size];
                let (tree, folder, disk) = self.parts();
                let at = (SLOT, within);
                assert_eq!(
                    plain(tree.stage(SLOT, within, &bytes, true)),
                    plain(folder.stage(disk, at, &bytes, Durability::Later)),
                );
                let expect = if absent {
                    Expect::Absent
                } else {
                    Expect::File(known)
                };
                assert_eq!(
                    plain(tree.publish(SLOT, within, &place.file, expect)),
                    plain(folder.publish(disk, at, &place.file, expect)),
                    "{place} {expect:?}"
                );
                self.empty_slot(within);
            }
            8 | 9 => {
                let within = At::Folder(&place.folder);
                let expect = Expect::File(known);
                let (tree, folder, disk) = self.parts();
                assert_eq!(
                    plain(tree.take(SLOT, within, &place.file, expect)),
                    plain(folder.take(disk, (SLOT, within), &place.file, expect)),
                );
                if size == 1 && tree.look_aside(Area::Stage, SLOT).is_some() {
                    assert_eq!(
                        plain(tree.displace(SLOT)),
                        plain(folder.displace(disk, SLOT, within)),
                    );
                }
                self.empty_slot(At::Folder(&place.folder));
            }
            12 if one.folder != other.folder => {
                let (tree, _, disk) = self.parts();
                assert_eq!(
                    plain(tree.rename_folder(&one.folder, &other.folder)),
                    plain(disk.rename_folder(&one.folder, &other.folder)),
                );
            }
            _ => {
                let (tree, _, disk) = self.parts();
                assert_eq!(
                    plain(tree.create_folder(&one.folder)),
                    plain(disk.create_folder(&one.folder)),
                );
                assert_eq!(
                    plain(tree.remove_folder(&other.folder)),
                    plain(disk.remove_folder(&other.folder)),
                );
                let (a, b) = (
                    plain(tree.look(At::Folder(&one.folder), &name)),
                    plain(disk.look(At::Folder(&one.folder), &name)),
                );
                assert_eq!(a == "Ok(None)", b == "Ok(None)");
            }
        }
    }

    /// Lists both folders, and checks that their content is the same.
    fn compare(&mut self) {
        let mut seen = Vec::new();
        let (tree, folder, disk) = self.parts();
        let at = FOLDERS.map(At::Folder);
        for at in at.into_iter().chain([At::Root]) {
            let listed = tree.list(at);
            if let (Ok(listing), At::Folder(within)) = (&listed, at) {
                for entry in &listing.entries {
                    let read = tree.read(at, &entry.name, 100);
                    if let Ok(content) = &read {
                        let known = KnownFile::of(content.stamp, &content.bytes);
                        seen.push((Place::new(within, &*entry.name), known));
                    }
                    assert_eq!(plain(read), plain(folder.read(disk, at, &entry.name, 100)));
                }
            }
            assert_eq!(plain(listed), plain(folder.list(disk, at)));
        }
        if self.random.percent(50) {
            self.seen = seen;
        } else {
            // Some of the files are outdated by the next call.
            self.seen.extend(seen);
        }
    }
}

#[test]
fn the_folder_in_memory_is_as_a_real_one() {
    for seed in 1..=30 {
        let root = tempfile::tempdir().expect("a folder");
        let mut now = 1_780_000_000_000_000_000;
        let mut twins = Twins {
            memory: Mirror::Memory(Box::new(Tree::new(now))),
            real: Mirror::Real(Folder::new(root.path().to_owned(), now)),
            disk: RealDisk::open(root.path()).expect("opened"),
            seen: Vec::new(),
            random: Random::stream(seed, "twins"),
        };
        for step in 0..60 {
            now += [10_000, 5_000_000][twins.random.below(2)];
            twins.people(|mirror| mirror.set_time(now));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                twins.act();
                twins.compare();
            }));
            assert!(done.is_ok(), "seed {seed}, step {step}");
        }
    }
}
