//! Files that were replaced or removed, and into which a program may still write (failures row 81).
//!
//! A program that had a file open before it lost its name goes on writing into it. So the last files that were
//! replaced or removed stay open here, too: their bytes live as long as this value, and looking at them costs
//! one call each. What was written into one is given to the caller, once for each time it was.
//!
//! It ends with the process: what is written later is written into a file that nobody can find any more.

use super::{
    Late,
    real::{at, shown, stamp_of},
};
use crate::mirror::document::MAX_FILE;
use crate::model::Stamp;
use rustix::{
    fs::{self, Mode, OFlags},
    io::Errno,
};
use std::{
    collections::VecDeque,
    fs::File,
    os::{fd::OwnedFd, unix::fs::FileExt as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// So many files stay open; of more, the oldest are looked at a last time.
const MANY: usize = 64;

/// A file stays open for so long.
const LONG: Duration = Duration::from_hours(24);

/// Into a file that was written to within this time more may be on its way.
const RESTING: i64 = 1_000_000_000;

/// The files that were replaced or removed lately.
#[derive(Debug, Default)]
pub(super) struct Displaced {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    open: VecDeque<One>,
    /// What was found when a file made room for a younger one.
    found: Vec<Late>,
}

#[derive(Debug)]
struct One {
    file: File,
    /// As of the last look.
    stamp: Stamp,
    folder: Option<String>,
    name: String,
    since: Instant,
}

impl Displaced {
    /// Opens a file that is about to lose its last name, and remembers what it was when that was decided.
    pub(super) fn keep(
        &self,
        folder: &OwnedFd,
        temporary: &str,
        within: Option<&str>,
        name: &str,
        stamp: Stamp,
    ) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = || fs::openat(folder, temporary, flags, Mode::empty());
        let opened = match open() {
            Err(Errno::MFILE | Errno::NFILE) => {
                // Too many are open: the oldest gives way.
                self.inner().let_go();
                open()
            }
            other => other,
        };
        let file = match opened {
            Ok(file) => File::from(file),
            Err(errno @ (Errno::MFILE | Errno::NFILE)) => {
                tracing::warn!(%errno, path = %shown(at(within), name), "not watched after it was replaced");
                return;
            }
            // One that may not be read was not read before it was replaced, either.
            Err(errno) => {
                tracing::debug!(%errno, path = %shown(at(within), name), "not watched after it was replaced");
                return;
            }
        };
        let mut inner = self.inner();
        inner.open.push_back(One {
            file,
            stamp,
            folder: within.map(str::to_owned),
            name: name.to_owned(),
            since: Instant::now(),
        });
        while inner.open.len() > MANY {
            inner.let_go();
        }
    }

    /// Looks at all of them. `last`: also at those into which more may be on its way.
    pub(super) fn look(&self, last: bool, limit: usize) -> Vec<Late> {
        let mut inner = self.inner();
        let mut late = std::mem::take(&mut inner.found);
        for one in &mut inner.open {
            let old = one.since.elapsed() >= LONG;
            late.extend(one.look(last || old, limit));
        }
        inner.open.retain(|one| one.since.elapsed() < LONG);
        late
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Looks at the oldest a last time, and lets it go.
    fn let_go(&mut self) {
        if let Some(mut oldest) = self.open.pop_front() {
            self.found.extend(oldest.look(true, MAX_FILE));
        }
    }
}

impl One {
    /// What was written into it since the last look.
    fn look(&mut self, last: bool, limit: usize) -> Option<Late> {
        let stamp = self.now_or_say()?;
        if stamp.same_content(&self.stamp) || (!last && is_fresh(stamp)) {
            return None;
        }
        let size = usize::try_from(stamp.size).ok()?;
        if size == 0 || size > limit {
            // Emptied: the words that were in it are in the history. Or nothing that could be an article.
            self.stamp = stamp;
            if size > limit {
                tracing::warn!(path = %self.path(), size, "what was written into it after it was replaced is too long to be kept");
            }
            return None;
        }
        let mut bytes = vec![0; size];
        if let Err(error) = self.file.read_exact_at(&mut bytes, 0) {
            tracing::warn!(path = %self.path(), %error, "what was written into it after it was replaced cannot be read");
            return None;
        }
        // One that is written to right now is read another time, unless there is none.
        if !last && self.now_or_say()? != stamp {
            return None;
        }
        self.stamp = stamp;
        Some(Late {
            folder: self.folder.clone(),
            name: self.name.clone(),
            bytes,
        })
    }

    fn now_or_say(&self) -> Option<Stamp> {
        match fs::fstat(&self.file) {
            Ok(stat) => Some(stamp_of(&stat)),
            Err(errno) => {
                tracing::warn!(path = %self.path(), %errno, "it was replaced, and cannot be looked at any more");
                None
            }
        }
    }

    fn path(&self) -> String {
        match &self.folder {
            Some(folder) => format!("{folder}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Returns whether a file was written to a moment ago.
fn is_fresh(stamp: Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(i64::MAX, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    });
    // Clocks of file systems are a little off at times.
    now.saturating_sub(stamp.mtime).saturating_abs() < RESTING
}
