//! The file of the budget: one for each service and token, shared by all processes of this machine.
//!
//! The file is replaced by rename under a lock on a second file, and read without the lock. The kernel releases the
//! lock of a process that dies. A count is durable before its request is sent.
//!
//! For each mirror and service, another file records the name (a hash) of the count file that the mirror used last, so
//! that `status` can read the remaining budget without the token. A command writes the record before it sends
//! something, and only if the name changed.

use super::{Budget, BudgetLimits, Store, SystemClock, counts::Counts};
use crate::{
    drill::failpoint,
    files::{self, if_there},
    model::Digest,
    service::origin::Origin,
};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The file of the counts, and its lock.
#[derive(Debug)]
pub(super) struct CountFile {
    folder: PathBuf,
    name: String,
}

impl CountFile {
    /// Names the file, and creates its folder.
    pub(super) fn at(folder: &Path, name: &str) -> io::Result<Self> {
        files::make_folder(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Takes the lock, which ends with the value; `None`: another process has it.
    pub(super) fn try_lock(&self) -> io::Result<Option<File>> {
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join(format!("{}.lock", self.name)))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Reads the counts.
    pub(super) fn read(&self) -> io::Result<Counts> {
        match if_there(std::fs::read(self.path()))? {
            Some(bytes) => Ok(serde_json::from_slice(&bytes)?),
            None => Ok(Counts::default()),
        }
    }

    /// Replaces the counts. The caller has the lock.
    pub(super) fn replace(&self, counts: &Counts) -> io::Result<()> {
        failpoint::pass("budget: before a request is counted");
        files::replace(&self.path(), &serde_json::to_vec(counts)?)?;
        failpoint::pass("budget: request counted");
        Ok(())
    }

    /// Returns the name, which is a hash.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }
}

/// The longest name of a file of counts.
const LONGEST: usize = 64;

impl Budget {
    /// Records that this mirror uses this budget. `dir` is the user's state directory.
    pub fn remember(&self, dir: &Path, mirror: &Path, origin: &Origin) -> io::Result<()> {
        let Store::File(file) = &self.store else {
            return Ok(());
        };
        let (path, name) = (place(dir, mirror, origin), file.name());
        if read(&path)?.as_deref() == Some(name) {
            return Ok(());
        }
        let mut file = tempfile::NamedTempFile::new_in(folder(dir))?;
        file.write_all(name.as_bytes())?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Opens the budget that this mirror used last. `None`: the mirror has no record yet.
    pub fn last_of(
        dir: &Path,
        mirror: &Path,
        origin: &Origin,
        limits: BudgetLimits,
    ) -> io::Result<Option<Self>> {
        let Some(name) = read(&place(dir, mirror, origin))? else {
            return Ok(None);
        };
        Ok(Some(Self {
            limits,
            clock: Arc::new(SystemClock),
            store: Store::File(Arc::new(CountFile::at(&folder(dir), &name)?)),
        }))
    }
}

fn folder(dir: &Path) -> PathBuf {
    dir.join("budget")
}

fn place(dir: &Path, mirror: &Path, origin: &Origin) -> PathBuf {
    // A link to the mirror names the same mirror.
    let mirror = std::fs::canonicalize(mirror).unwrap_or_else(|_not_there| mirror.to_owned());
    let (mirror, origin) = (mirror.as_os_str().as_bytes(), origin.as_str().as_bytes());
    let mut name = Digest::of_parts(&[b"kbsync budget of", mirror, origin]).to_string();
    name.truncate(32);
    folder(dir).join(name).with_extension("last")
}

/// Returns the recorded name; `None`: the file is missing or holds no name.
fn read(path: &Path) -> io::Result<Option<String>> {
    let is_name = |name: &String| {
        (1..=LONGEST).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    Ok(if_there(std::fs::read_to_string(path))?.filter(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Purpose, token::Token};

    #[tokio::test]
    async fn what_is_left_is_reported_by_the_mirror_alone() {
        let (user, mirror) = (tempfile::tempdir(), tempfile::tempdir());
        let (user, mirror) = (user.expect("a folder"), mirror.expect("a folder"));
        let origin = Origin::of("https://kb.example.com").expect("an address");
        let last = |origin: &Origin| {
            Budget::last_of(user.path(), mirror.path(), origin, BudgetLimits::default())
                .expect("readable")
        };
        assert!(last(&origin).is_none(), "nothing was sent yet");
        for (token, spent) in [("one", 1), ("two", 2)] {
            let token = Token::new(token).expect("a token");
            let budget = Budget::open(user.path(), &origin, &token, BudgetLimits::default());
            let budget = budget.expect("opened");
            budget
                .remember(user.path(), mirror.path(), &origin)
                .expect("written");
            for _ in 0..spent {
                budget.acquire(Purpose::Push).await.expect("counted");
            }
            let left = last(&origin).expect("remembered").left();
            assert_eq!(left.minute_left, 60 - spent, "the last token's");
        }
        let other = Origin::of("https://kb2.example.com").expect("an address");
        assert!(last(&other).is_none());
        // A name that is no hash leads to no file.
        std::fs::write(place(user.path(), mirror.path(), &origin), "../../x").expect("damaged");
        assert!(last(&origin).is_none());
    }
}
