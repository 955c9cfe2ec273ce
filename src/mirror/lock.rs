//! One process per mirror: the private folder `.kbsync/` and the lock in it.
//!
//! The kernel releases the lock when the process ends, so a stale lock cannot exist. The text in the file only tells a
//! second process who holds the lock (failures rows 116 and 117).

use crate::drill::failpoint;
use crate::files::if_there;
use crate::model::path::PRIVATE_FOLDER;
use std::{
    fmt,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The number of attempts to acquire the lock: [`Lock::holder`] keeps the lock for an instant. They are counted, because
/// on a busy machine a limit of time may be over after two of them.
const ATTEMPTS: usize = 50;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// The holder of the lock, as recorded in the lock's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The process.
    pub pid: u32,
    /// The command that it runs, such as `run`.
    pub doing: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kbsync {} (process {})", self.doing, self.pid)
    }
}

/// Why the lock could not be acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the lock.
    #[error("lock the mirror: {} has it", name(.0.as_ref()))]
    Taken(Option<Owner>),
    /// The private folder's path is a link, or is not a folder.
    #[error("use {}: it is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// A link, a pipe or a device lies in place of the lock.
    #[error("use {}: it is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The folder or the lock cannot be created.
    #[error("use {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error below.
        source: io::Error,
    },
}

fn name(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "another process".to_owned(), Owner::to_string)
}

impl LockError {
    fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }
}

/// The lock on a mirror, released when dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Acquires the lock of a mirror, or returns its holder. Waits only as long as a process that looks who has it.
    pub fn acquire(mirror: &Path, doing: &str) -> Result<Self, LockError> {
        for _ in 1..ATTEMPTS {
            match Self::attempt(mirror, doing) {
                Err(LockError::Taken(_)) => thread::sleep(PAUSE),
                outcome => return outcome,
            }
        }
        Self::attempt(mirror, doing)
    }

    fn attempt(mirror: &Path, doing: &str) -> Result<Self, LockError> {
        private_folder(mirror)?;
        let path = lock_path(mirror);
        let fail = |source| LockError::io(&path, source);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let Some(file) = open_regular(&path, &mut options).map_err(fail)? else {
            return Err(LockError::NotAFile(path));
        };
        failpoint::pass("lock: file made");
        Self::claim(file, path, doing)
    }

    fn claim(mut file: File, path: PathBuf, doing: &str) -> Result<Self, LockError> {
        let fail = |source| LockError::io(&path, source);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Taken(read_owner(&mut file))),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        // Somebody may have removed the file before it was locked.
        if !is_at(&file, &path) {
            return Err(LockError::Taken(None));
        }
        file.set_len(0).map_err(fail)?;
        failpoint::pass("lock: taken");
        writeln!(file, "{} {doing}", std::process::id()).map_err(fail)?;
        Ok(Self { file, path })
    }

    /// The path of the lock's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the lock still keeps other processes out: `false` once its file was removed or replaced. If the
    /// path cannot be examined, the lock is assumed to hold.
    pub fn holds(&self) -> bool {
        is_at(&self.file, &self.path)
    }

    /// Returns the holder of a mirror's lock without acquiring the lock; `None`: the lock is free.
    pub fn holder(mirror: &Path) -> Result<Option<Owner>, LockError> {
        let path = lock_path(mirror);
        let fail = |source| LockError::io(&path, source);
        let found = if_there(open_regular(&path, &mut OpenOptions::new())).map_err(fail)?;
        let mut file = match found {
            Some(Some(file)) => file,
            Some(None) => return Err(LockError::NotAFile(path)),
            None => return Ok(None),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                let unknown = Owner {
                    pid: 0,
                    doing: "something".to_owned(),
                };
                Ok(Some(read_owner(&mut file).unwrap_or(unknown)))
            }
            Err(TryLockError::Error(error)) => Err(fail(error)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The text in the file is informational; closing the file releases the lock.
        let _emptied = self.file.set_len(0);
    }
}

/// Returns whether an open file is the one at a path, or the path cannot be examined.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |found: &fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => identity(&ours) == identity(&there),
        (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
        (Err(_), Ok(_)) => true,
    }
}

/// Returns the path of the lock's file.
pub fn lock_path(mirror: &Path) -> PathBuf {
    mirror.join(PRIVATE_FOLDER).join("lock")
}

/// Creates the folder of a workspace below a mirror, and its parents.
///
/// Only for a workspace that was never synced: a missing folder of a known workspace is an error, never an empty
/// snapshot.
pub fn make_root(folder: &Path) -> Result<(), LockError> {
    fs::create_dir_all(folder).map_err(|source| LockError::io(folder, source))?;
    failpoint::pass("lock: workspace folder made");
    Ok(())
}

/// Creates the private folder of a mirror, accessible to its owner only and ignored by git. Returns its path.
pub fn private_folder(mirror: &Path) -> Result<PathBuf, LockError> {
    let folder = mirror.join(PRIVATE_FOLDER);
    let fail = |source| LockError::io(&folder, source);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => failpoint::pass("lock: private folder made"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(&folder).map_err(fail)?;
            if !found.is_dir() {
                return Err(LockError::NotAFolder(folder));
            }
        }
        Err(source) => return Err(fail(source)),
    }
    let ignore = folder.join(".gitignore");
    match ignore_all(&ignore) {
        Ok(()) => Ok(folder),
        Err(source) => Err(LockError::io(&ignore, source)),
    }
}

/// Writes the `.gitignore`. A file that somebody changed is left alone. An empty file is rewritten: the process died
/// between creating and writing it.
fn ignore_all(path: &Path) -> io::Result<()> {
    let found = if_there(fs::symlink_metadata(path))?;
    if found.is_some_and(|found| !found.is_file() || found.len() > 0) {
        return Ok(());
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    failpoint::pass("lock: ignore file made");
    file.write_all(b"*\n")
}

/// Opens a file for reading, and with the given options. `None`: a link, a pipe or a device lies there. The open never
/// blocks: an unpacked archive may contain a pipe that has no writer.
fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<Option<File>> {
    use rustix::fs::OFlags;
    let found = if_there(fs::symlink_metadata(path))?;
    if found.is_some_and(|found| !found.is_file()) {
        return Ok(None);
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = options
        .read(true)
        .custom_flags(i32::try_from(flags).unwrap_or_default())
        .open(path)?;
    let is_file = file.metadata()?.is_file();
    Ok(is_file.then_some(file))
}

fn read_owner(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.take(256).read_to_string(&mut text).ok()?;
    let (pid, doing) = text.trim_end().split_once(' ')?;
    Some(Owner {
        pid: pid.parse().ok()?,
        doing: doing.chars().filter(|c| !c.is_control()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};
    use tempfile::TempDir;

    #[test]
    fn f116_the_second_process_learns_who_has_the_lock() {
        let mirror = TempDir::new().expect("a folder");
        assert_eq!(Lock::holder(mirror.path()).expect("readable"), None);
        let lock = Lock::acquire(mirror.path(), "run").expect("free");
        let owner = Owner {
            pid: std::process::id(),
            doing: "run".to_owned(),
        };
        assert_eq!(
            Lock::holder(mirror.path()).expect("readable"),
            Some(owner.clone())
        );
        let error = Lock::acquire(mirror.path(), "sync").expect_err("taken");
        assert!(
            matches!(&error, LockError::Taken(Some(found)) if *found == owner),
            "{error:?}"
        );
        assert_eq!(
            error.to_string(),
            format!(
                "lock the mirror: kbsync run (process {}) has it",
                std::process::id()
            )
        );
        drop(lock);
        assert_eq!(Lock::holder(mirror.path()).expect("readable"), None);
        Lock::acquire(mirror.path(), "sync").expect("free again");
    }

    #[test]
    fn f116_a_lock_whose_file_was_removed_keeps_nobody_out() {
        let mirror = TempDir::new().expect("a folder");
        let lock = Lock::acquire(mirror.path(), "run").expect("free");
        assert!(lock.holds());
        fs::remove_dir_all(mirror.path().join(PRIVATE_FOLDER)).expect("removed");
        assert!(!lock.holds());
        let other = Lock::acquire(mirror.path(), "run").expect("free");
        assert!(!lock.holds() && other.holds());
    }

    #[test]
    fn f116_a_file_that_was_replaced_before_it_was_locked_is_no_lock() {
        let mirror = TempDir::new().expect("a folder");
        private_folder(mirror.path()).expect("made");
        let path = lock_path(mirror.path());
        let file = File::create(&path).expect("made");
        fs::remove_file(&path).expect("removed");
        let other = Lock::acquire(mirror.path(), "sync").expect("free");
        let late = Lock::claim(file, path, "run");
        assert!(matches!(late, Err(LockError::Taken(None))), "{late:?}");
        assert!(other.holds());
    }

    #[test]
    fn f116_a_process_that_looks_who_has_the_lock_keeps_nobody_out() {
        let mirror = TempDir::new().expect("a folder");
        let is_over = AtomicBool::new(false);
        let acquired = thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    Lock::holder(mirror.path()).expect("readable");
                }
                is_over.store(true, Ordering::Relaxed);
            });
            let acquire = || Lock::acquire(mirror.path(), "run").map(drop);
            let mut each = std::iter::repeat_with(acquire);
            each.find(|acquired| acquired.is_err() || is_over.load(Ordering::Relaxed))
        });
        assert!(matches!(acquired, Some(Ok(()))), "{acquired:?}");
    }

    #[test]
    fn f117_what_a_dead_process_wrote_locks_nobody_out() {
        let mirror = TempDir::new().expect("a folder");
        let folder = private_folder(mirror.path()).expect("made");
        fs::write(folder.join("lock"), "1 run of a longer name\n").expect("written");
        let _lock = Lock::acquire(mirror.path(), "sync").expect("free");
        let text = fs::read_to_string(folder.join("lock")).expect("readable");
        assert_eq!(text, format!("{} sync\n", std::process::id()));
    }

    #[test]
    fn f141_the_private_folder_is_for_its_owner_and_not_for_git() {
        let mirror = TempDir::new().expect("a folder");
        let folder = private_folder(mirror.path()).expect("made");
        let _lock = Lock::acquire(mirror.path(), "sync").expect("free");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("lock")), 0o600);
        assert_eq!(
            fs::read_to_string(folder.join(".gitignore")).expect("readable"),
            "*\n"
        );
        fs::write(folder.join(".gitignore"), "mine\n").expect("written");
        private_folder(mirror.path()).expect("there");
        assert_eq!(
            fs::read_to_string(folder.join(".gitignore")).expect("readable"),
            "mine\n"
        );
        // A process died before it wrote the file.
        fs::write(folder.join(".gitignore"), "").expect("written");
        private_folder(mirror.path()).expect("there");
        assert_eq!(
            fs::read_to_string(folder.join(".gitignore")).expect("readable"),
            "*\n"
        );
    }

    #[test]
    fn f130_a_link_is_no_private_folder_and_no_lock() {
        let mirror = TempDir::new().expect("a folder");
        let outside = TempDir::new().expect("a folder");
        symlink(outside.path(), mirror.path().join(PRIVATE_FOLDER)).expect("a link");
        assert!(matches!(
            Lock::acquire(mirror.path(), "sync"),
            Err(LockError::NotAFolder(_))
        ));
        fs::remove_file(mirror.path().join(PRIVATE_FOLDER)).expect("removed");
        let folder = private_folder(mirror.path()).expect("made");
        symlink(outside.path().join("x"), folder.join("lock")).expect("a link");
        assert!(matches!(
            Lock::acquire(mirror.path(), "sync"),
            Err(LockError::NotAFile(_))
        ));
        assert!(!outside.path().join("x").exists());
    }

    #[test]
    fn f130_a_pipe_is_no_lock_and_nobody_waits_for_it() {
        let mirror = TempDir::new().expect("a folder");
        let folder = private_folder(mirror.path()).expect("made");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        let path = folder.join("lock");
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("a pipe");
        for error in [
            Lock::acquire(mirror.path(), "sync").expect_err("refused"),
            Lock::holder(mirror.path()).expect_err("refused"),
        ] {
            assert!(
                error.to_string().ends_with("it is not a regular file"),
                "{error}"
            );
        }
    }
}
