//! The binding of a state to the folder of its mirror.
//!
//! The state has a random id, and the device, inode and birth time of its mirror. A record in the user's state
//! directory has the same id with the mirror's path. A state fits a folder if the inode or the record matches: a
//! renamed folder keeps its inode, and a disk may get another device number at a reboot. The root of a volume often has
//! the same device and inode as that of another volume, but another birth time. For a state that came with a clone, a
//! copy or a backup, neither matches. A state gets its id before its first article. So a state that has articles and no
//! id is from an earlier kbsync, or lost its id, and counts as made for another folder.

use super::{StateError, StateResult, Store, disk};
use crate::files::{self, if_there};
use crate::model::Timestamp;
use std::{
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};
use uuid::Uuid;

/// The state's key for its id.
const ID: &str = "mirror_id";

/// The state's key for the device, inode and birth time of its mirror.
const INODE: &str = "mirror_inode";

/// The identity of a mirror's folder, to compare with states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    path: PathBuf,
    inode: String,
    records: PathBuf,
}

/// The relation of a state to a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The state belongs to the folder: inode and record match.
    Bound,
    /// The state belongs to the folder, and the inode or the record is missing or out of date.
    Unwritten,
    /// The state was made for another folder.
    Elsewhere,
}

impl Home {
    /// Reads the identity of a mirror's folder. `user_state_dir` is the user's own state directory.
    pub fn of(folder: &Path, user_state_dir: &Path) -> StateResult<Self> {
        let fail = |source| StateError::io(source).at(Some(folder));
        let path = fs::canonicalize(folder).map_err(fail)?;
        let (device, inode) = disk::identity(&path).map_err(fail)?;
        // Some file systems have no birth times.
        let birth_time = fs::metadata(&path).and_then(|folder| folder.created()).ok();
        let birth_time = birth_time.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let birth_time =
            birth_time.map_or_else(String::new, |time| format!(" {}", time.as_nanos()));
        Ok(Self {
            path,
            inode: format!("{device} {inode}{birth_time}"),
            records: user_state_dir.join("mirrors"),
        })
    }

    /// Compares a state with the folder.
    pub fn fit(&self, store: &Store) -> StateResult<Fit> {
        let Some(id) = store.meta(ID)? else {
            return Ok(if store.article_count()? > 0 {
                Fit::Elsewhere
            } else {
                Fit::Unwritten
            });
        };
        let is_same = store
            .meta(INODE)?
            .is_some_and(|known| self.is_same_folder(&known));
        Ok(match (is_same, self.is_recorded(&id)?) {
            (true, true) => Fit::Bound,
            (true, false) | (false, true) => Fit::Unwritten,
            (false, false) => Fit::Elsewhere,
        })
    }

    /// Returns whether a stored identity is this folder's. States of an earlier kbsync have no birth time.
    fn is_same_folder(&self, known: &str) -> bool {
        let mut parts = self.inode.split(' ').zip(known.split(' '));
        parts.all(|(own, known)| own == known) && known.contains(' ')
    }

    /// Binds a state to the folder. A state from elsewhere gets a new id: its original folder may still use the old id.
    pub fn bind(&self, store: &mut Store, now: Timestamp) -> StateResult<()> {
        let known = match self.fit(store)? {
            Fit::Bound if store.meta(INODE)?.as_ref() == Some(&self.inode) => return Ok(()),
            Fit::Bound | Fit::Unwritten => store.meta(ID)?.and_then(|id| id.parse().ok()),
            Fit::Elsewhere => None,
        };
        let id = known.unwrap_or_else(Uuid::new_v4).to_string();
        // The record comes first: after a kill in between, a new id without a record would match nothing.
        self.record(&id)
            .map_err(|source| StateError::io(source).at(Some(&self.records.join(&id))))?;
        store.write_at(now, |tx| {
            tx.set_meta(ID, &id)?;
            tx.set_meta(INODE, &self.inode)
        })
    }

    /// Returns whether the record of this id names this folder's path.
    fn is_recorded(&self, id: &str) -> StateResult<bool> {
        // A foreign state may contain any text here: only a UUID may become a file name.
        let Ok(id) = id.parse::<Uuid>() else {
            return Ok(false);
        };
        let path = self.records.join(id.to_string());
        let found = if_there(fs::read(&path));
        let found = found.map_err(|error| StateError::io(error).at(Some(&path)))?;
        Ok(found.is_some_and(|found| found.strip_suffix(b"\n").unwrap_or(&found) == self.bytes()))
    }

    fn record(&self, id: &str) -> io::Result<()> {
        files::make_folder(&self.records)?;
        files::replace(&self.records.join(id), &[self.bytes(), b"\n"].concat())
    }

    fn bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::WorkspaceId, state::Binding};
    use std::os::unix::fs::PermissionsExt as _;
    use tempfile::TempDir;

    struct Place {
        dir: TempDir,
    }

    impl Place {
        fn new() -> Self {
            let dir = TempDir::new().expect("a folder");
            for name in ["here", "there"] {
                fs::create_dir(dir.path().join(name)).expect("made");
            }
            Self { dir }
        }

        fn home(&self, name: &str) -> Home {
            let user = self.dir.path().join("user");
            Home::of(&self.dir.path().join(name), &user).expect("a folder")
        }

        fn records(&self) -> Vec<PathBuf> {
            let records = fs::read_dir(self.dir.path().join("user/mirrors")).expect("listed");
            records
                .map(|entry| entry.expect("an entry").path())
                .collect()
        }
    }

    fn store() -> Store {
        Store::in_memory(&Binding {
            service: "https://kb.example.com".into(),
            workspace: WorkspaceId::new(Uuid::from_u128(1)),
        })
        .expect("a state")
    }

    fn bound(home: &Home) -> Store {
        let mut store = store();
        home.bind(&mut store, Timestamp(1)).expect("bound");
        assert_eq!(home.fit(&store).expect("read"), Fit::Bound);
        store
    }

    #[test]
    fn f089_a_state_without_an_id_fits_and_gets_one() {
        let place = Place::new();
        let home = place.home("here");
        assert_eq!(home.fit(&store()).expect("read"), Fit::Unwritten);
        bound(&home);
        let records = place.records();
        assert_eq!(records.len(), 1, "{records:?}");
        let mode = fs::metadata(&records[0])
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn f089_a_state_fits_by_its_inode_or_by_its_record_and_otherwise_not() {
        let place = Place::new();
        let mut store = bound(&place.home("here"));
        // A copy in another folder of the same user.
        assert_eq!(
            place.home("there").fit(&store).expect("read"),
            Fit::Elsewhere
        );
        // Another user's machine, or a container: the inode matches.
        let record = place.records().remove(0);
        let path = fs::read(&record).expect("there");
        fs::remove_file(&record).expect("removed");
        let home = place.home("here");
        assert_eq!(home.fit(&store).expect("read"), Fit::Unwritten);
        // A disk that got another device number: the record matches.
        fs::write(&record, path).expect("written");
        store
            .write_at(Timestamp(2), |tx| tx.set_meta(INODE, "1 1"))
            .expect("written");
        assert_eq!(home.fit(&store).expect("read"), Fit::Unwritten);
        let before = store.meta(ID).expect("read");
        home.bind(&mut store, Timestamp(3)).expect("bound");
        assert_eq!(home.fit(&store).expect("read"), Fit::Bound);
        assert_eq!(store.meta(ID).expect("read"), before);
    }

    #[test]
    fn f089_the_root_of_another_volume_has_another_birth_time() {
        let place = Place::new();
        let mut store = bound(&place.home("here"));
        fs::remove_file(place.records().remove(0)).expect("removed");
        let mut put = |known: &str| {
            store
                .write_at(Timestamp(2), |tx| tx.set_meta(INODE, known))
                .expect("written");
            place.home("here").fit(&store).expect("read")
        };
        let own = place.home("here").inode;
        let parts: Vec<&str> = own.split(' ').collect();
        let [device, inode, _born] = parts.as_slice() else {
            // This file system has no birth times.
            return;
        };
        assert_eq!(put(&format!("{device} {inode} 1")), Fit::Elsewhere);
        // The state of an earlier kbsync.
        assert_eq!(put(&format!("{device} {inode}")), Fit::Unwritten);
        assert_eq!(put(&own), Fit::Unwritten);
    }

    #[test]
    fn f089_a_state_from_elsewhere_gets_an_id_of_its_own() {
        let place = Place::new();
        let here = place.home("here");
        let store = bound(&here);
        let mut copy = store.copy().expect("copied");
        let there = place.home("there");
        there.bind(&mut copy, Timestamp(2)).expect("bound");
        assert_eq!(there.fit(&copy).expect("read"), Fit::Bound);
        assert_eq!(here.fit(&store).expect("read"), Fit::Bound);
    }

    #[test]
    fn f130_an_id_that_is_a_path_names_no_file() {
        let place = Place::new();
        let mut store = bound(&place.home("here"));
        let path = place.dir.path().join("there");
        fs::write(
            place.dir.path().join("user/mirrors/x"),
            path.as_os_str().as_bytes(),
        )
        .expect("written");
        store
            .write_at(Timestamp(2), |tx| tx.set_meta(ID, "../mirrors/x"))
            .expect("written");
        assert_eq!(
            place.home("there").fit(&store).expect("read"),
            Fit::Elsewhere
        );
    }
}
