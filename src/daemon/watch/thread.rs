//! The watching thread: the only file that knows `notify`'s watcher.

use super::{
    Mode, Options, RescanCause,
    cookie::Cookie,
    event_meaning::{self, Meaning, OnDisk},
    scans::Scans,
    stamps,
};
use crate::{
    daemon::{Event, debounce::Touch},
    drill::failpoint,
    mirror::RealDisk,
};
use notify::{ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rustix::io::Errno;
use std::{
    collections::HashSet,
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::Instant,
};
use tokio::sync::mpsc::Sender;

/// The capacity of the queue between the system and the thread. Further events are dropped and reported as an
/// overflow: the sender must never wait, because it also carries out our requests to watch a folder.
const IN_FLIGHT: usize = 4096;

/// A message to the thread.
enum Raw {
    Event(notify::Result<notify::Event>),
    /// Events were dropped, which is reported first.
    Lost,
    Stop,
}

/// Reports dropped events to the thread, without waiting for it.
///
/// Either the channel has room for a message that wakes the thread, or the channel is full: then the thread is awake,
/// and checks the flag when it has emptied the channel. So the thread need not check the flag at intervals.
fn report_loss(lost: &AtomicBool, raw: &SyncSender<Raw>) {
    lost.store(true, Ordering::SeqCst);
    // Full: the thread is awake. Closed: the watcher ends soon.
    let _awake = raw.try_send(Raw::Lost);
}

/// A running watch, which ends on drop.
#[derive(Debug)]
pub struct Watch {
    stop: SyncSender<Raw>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // With a full channel, the thread soon finds out that the loop is gone.
        let _full = self.stop.try_send(Raw::Stop);
    }
}

/// Starts to watch. The first event is [`Event::Watching`], from which on no change is missed.
pub fn start(options: Options, to: Sender<Event>) -> io::Result<Watch> {
    start_with::<RecommendedWatcher>(options, to)
}

/// [`start`] with any watcher, for tests.
pub(super) fn start_with<W: Watcher>(options: Options, to: Sender<Event>) -> io::Result<Watch> {
    let (raw, events) = sync_channel(IN_FLIGHT);
    let stop = raw.clone();
    std::thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || {
            let thread = Thread {
                options,
                to,
                raw,
                events,
            };
            thread.run::<W>();
        })?;
    Ok(Watch { stop })
}

struct Thread {
    options: Options,
    to: Sender<Event>,
    raw: SyncSender<Raw>,
    events: Receiver<Raw>,
}

/// Why the thread stops using events.
enum End {
    /// The loop is gone, or the watch was stopped.
    Finished,
    /// Events do not work; `temporary`: they may work again later.
    GivenUp { why: String, temporary: bool },
}

impl End {
    fn given_up(why: impl Into<String>) -> Self {
        Self::GivenUp {
            why: why.into(),
            temporary: false,
        }
    }
}

impl Thread {
    fn run<W: Watcher>(self) {
        let mut again = false;
        while let Err(End::GivenUp { why, temporary }) = self.watch::<W>(again) {
            again = true;
            tracing::warn!(
                why,
                "events do not work; the files are scanned at intervals"
            );
            if self.poll_files(&why, temporary).is_err() {
                return;
            }
        }
    }

    /// Watches by events, until the watch ends or events fail.
    fn watch<W: Watcher>(&self, again: bool) -> Result<Infallible, End> {
        let raw = self.raw.clone();
        let lost = Arc::new(AtomicBool::new(false));
        let overflow = lost.clone();
        let handler = move |event: notify::Result<notify::Event>| {
            // Each read of a file, as in kbsync's own scans, has such an event.
            let kind = event.as_ref().map(|event| event.kind);
            if matches!(kind, Ok(EventKind::Access(_))) {
                return;
            }
            if raw.try_send(Raw::Event(event)).is_err() {
                report_loss(&overflow, &raw);
            }
        };
        let config = notify::Config::default().with_follow_symlinks(false);
        let mut watcher = W::new(handler, config).map_err(|error| given_up(&error))?;
        let mut subfolders = self.watch_all(&mut watcher)?;
        if self.options.cookie_timeout.is_zero() {
            return Err(no_events());
        }
        let mut cookie = self.create_cookie(&mut watcher)?;
        let why = "this file system may not report changes of other machines";
        let mut scans = (self.options.is_remote).then(|| Scans::begin(&self.options, why));
        let report = scans.as_ref().map(Scans::report);
        self.send(report.unwrap_or(Event::Watching(Mode::Events)))?;
        if again {
            self.send(Event::Rescan(RescanCause::Replaced))?;
        }
        let deadline = Instant::now() + self.options.cookie_timeout;
        let mut any_event = false;
        loop {
            for event in scans.as_mut().and_then(Scans::next).unwrap_or_default() {
                self.send(event)?;
            }
            let waiting = self.events.try_recv();
            // The waiting events come first: in a flood, each of them may be followed by another loss.
            if waiting.is_err() && lost.swap(false, Ordering::SeqCst) {
                // A folder may have appeared without an event.
                subfolders = self.watch_all(&mut watcher)?;
                self.send(Event::Rescan(RescanCause::Overflow))?;
            }
            let until_scan = scans.as_ref().map(Scans::wait);
            let until_cookie = deadline.saturating_duration_since(Instant::now());
            let until_cookie = cookie.is_some().then_some(until_cookie);
            let next = match (waiting, until_scan.into_iter().chain(until_cookie).min()) {
                (Ok(raw), _) => Ok(raw),
                (Err(_), Some(wait)) => self.events.recv_timeout(wait),
                (Err(_), None) => self.events.recv().map_err(RecvTimeoutError::from),
            };
            let next = match next {
                Ok(raw) => raw,
                Err(RecvTimeoutError::Timeout)
                    if until_cookie.is_none_or(|wait| !wait.is_zero()) =>
                {
                    continue;
                }
                Err(RecvTimeoutError::Timeout) if any_event => {
                    // The cookie's event was lost among many, but the other events show that events come.
                    cookie = None;
                    let _unwatched = watcher.unwatch(&self.options.private);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => return Err(no_events()),
                Err(RecvTimeoutError::Disconnected) => return Err(End::Finished),
            };
            let event = match next {
                Raw::Stop => return Err(End::Finished),
                // The beginning of the loop reports the loss.
                Raw::Lost => {
                    any_event = true;
                    continue;
                }
                Raw::Event(Ok(event)) => {
                    any_event = true;
                    event
                }
                Raw::Event(Err(error)) => {
                    if limit_of(&error).is_some() {
                        return Err(given_up(&error));
                    }
                    tracing::warn!(%error, "the watch failed; the whole mirror is scanned");
                    self.send(Event::Rescan(RescanCause::Error))?;
                    continue;
                }
            };
            if cookie.as_ref().is_some_and(|cookie| cookie.is_in(&event)) {
                cookie = None;
                // Further events of the private folder are our own writes to the state.
                let _unwatched = watcher.unwatch(&self.options.private);
                continue;
            }
            self.handle(&event, &mut watcher, &mut subfolders)?;
        }
    }

    /// Watches the roots and their folders. Returns the folders.
    fn watch_all(&self, watcher: &mut dyn Watcher) -> Result<HashSet<PathBuf>, End> {
        let mut subfolders = HashSet::new();
        for root in &self.options.roots {
            watch_folder(watcher, &root.path)?;
            let folders = RealDisk::open(&root.path).and_then(|disk| stamps::folders(&disk));
            let folders = folders.map_err(|error| End::GivenUp {
                why: format!("failed to {error}"),
                temporary: true,
            })?;
            for name in folders {
                let folder = root.path.join(name);
                watch_category(watcher, &folder)?;
                subfolders.insert(folder);
            }
        }
        Ok(subfolders)
    }

    fn create_cookie(&self, watcher: &mut dyn Watcher) -> Result<Option<Cookie>, End> {
        watch_folder(watcher, &self.options.private)?;
        Cookie::create(&self.options.private)
            .map(Some)
            .map_err(|error| End::given_up(format!("the private folder is not writable: {error}")))
    }

    fn handle(
        &self,
        event: &notify::Event,
        watcher: &mut dyn Watcher,
        subfolders: &mut HashSet<PathBuf>,
    ) -> Result<(), End> {
        failpoint::pass("watch: an event");
        let on_disk = OnDisk {
            file: &is_file,
            folder: &is_folder,
            was_folder: &|path| subfolders.contains(path),
        };
        let meanings = event_meaning::interpret(event, &self.options.roots, &on_disk);
        for meaning in meanings {
            let sent = match meaning {
                Meaning::Touched(path, touch) => Event::Touched { path, touch },
                Meaning::Folder { root, name, touch } => {
                    let root = &self.options.roots[root];
                    let folder = root.path.join(&name);
                    if touch == Touch::Changed {
                        // A folder that was renamed within the tree may still be watched under its old name.
                        watch_category(watcher, &folder)?;
                        subfolders.insert(folder);
                    } else {
                        // The folder may be gone already.
                        let _unwatched = watcher.unwatch(&folder);
                        subfolders.remove(&folder);
                    }
                    let path = format!("{}{name}", root.prefix);
                    Event::Touched { path, touch }
                }
                Meaning::Rules => Event::Rescan(RescanCause::Rules),
                Meaning::Overflow => {
                    *subfolders = self.watch_all(watcher)?;
                    Event::Rescan(RescanCause::Overflow)
                }
                Meaning::RootWent => {
                    return Err(End::GivenUp {
                        why: "the folder was removed or replaced".to_owned(),
                        temporary: true,
                    });
                }
            };
            self.send(sent)?;
        }
        Ok(())
    }

    /// Scans the files at intervals. Returns when events may work again.
    fn poll_files(&self, why: &str, temporary: bool) -> Result<(), End> {
        let mut scans = Scans::begin(&self.options, why);
        self.send(scans.report())?;
        self.send(Event::Rescan(RescanCause::Fallback))?;
        loop {
            match self.events.recv_timeout(scans.wait()) {
                Ok(Raw::Stop) | Err(RecvTimeoutError::Disconnected) => return Err(End::Finished),
                // Messages of the watcher that failed.
                Ok(Raw::Event(_) | Raw::Lost) | Err(RecvTimeoutError::Timeout) => {}
            }
            let Some(events) = scans.next() else {
                continue;
            };
            if self.to.is_closed() {
                return Err(End::Finished);
            }
            events.into_iter().try_for_each(|event| self.send(event))?;
            if temporary && self.options.roots.iter().all(|root| is_folder(&root.path)) {
                return Ok(());
            }
        }
    }

    /// Sends an event. Waits while the channel is full.
    fn send(&self, event: Event) -> Result<(), End> {
        self.to.blocking_send(event).map_err(|_| End::Finished)
    }
}

/// Watches a category's folder. A folder that must not be read does not end the events of the others; when it may be
/// read, its parent has an event.
fn watch_category(watcher: &mut dyn Watcher, folder: &Path) -> Result<(), End> {
    match watcher.watch(folder, RecursiveMode::NonRecursive) {
        Err(error) if is_forbidden(&error) => {
            tracing::warn!(folder = %folder.display(), "a folder cannot be read, so it is not watched");
            Ok(())
        }
        done => judge_watching(done, folder),
    }
}

fn watch_folder(watcher: &mut dyn Watcher, folder: &Path) -> Result<(), End> {
    let done = watcher.watch(folder, RecursiveMode::NonRecursive);
    judge_watching(done, folder)
}

fn judge_watching(done: notify::Result<()>, folder: &Path) -> Result<(), End> {
    match done {
        Ok(()) => Ok(()),
        // The folder appeared and disappeared; its removal has an event, too.
        Err(error) if !is_folder(folder) && limit_of(&error).is_none() => Ok(()),
        Err(error) => Err(given_up(&error)),
    }
}

fn given_up(error: &notify::Error) -> End {
    End::given_up(limit_of(error).map_or_else(|| error.to_string(), str::to_owned))
}

fn no_events() -> End {
    End::given_up("the file system reports no changes")
}

/// The reason if the user has no watches left.
const NO_WATCHES: &str = "the system's limit on watches is reached (fs.inotify.max_user_watches)";

/// The reason if the user has no watchers left, or no open files: the system does not say which.
const NO_INSTANCES: &str =
    "the system's limit on watchers is reached (fs.inotify.max_user_instances)";

/// Returns the limit of the system that an error is about.
fn limit_of(error: &notify::Error) -> Option<&'static str> {
    match &error.kind {
        ErrorKind::MaxFilesWatch => Some(NO_WATCHES),
        ErrorKind::Io(error) => match Errno::from_io_error(error)? {
            Errno::NOSPC => Some(NO_WATCHES),
            Errno::MFILE | Errno::NFILE => Some(NO_INSTANCES),
            _ => None,
        },
        ErrorKind::Generic(_)
        | ErrorKind::PathNotFound
        | ErrorKind::WatchNotFound
        | ErrorKind::InvalidConfig(_) => None,
    }
}

fn is_forbidden(error: &notify::Error) -> bool {
    matches!(&error.kind, ErrorKind::Io(error) if error.kind() == io::ErrorKind::PermissionDenied)
}

/// Returns whether there is a file at a path; a symbolic link is no file.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Returns whether there is a folder at a path; a symbolic link is no folder.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_wakes_the_thread_unless_it_is_awake() {
        let (raw, events) = sync_channel(2);
        let lost = AtomicBool::new(false);
        // A channel with room takes the message.
        report_loss(&lost, &raw);
        assert!(lost.swap(false, Ordering::SeqCst));
        assert!(matches!(events.recv(), Ok(Raw::Lost)));
        // With a full channel, only the flag shows the loss.
        for _ in 0..2 {
            raw.try_send(Raw::Stop).expect("room");
        }
        report_loss(&lost, &raw);
        assert!(lost.load(Ordering::SeqCst));
        assert!(matches!(events.recv(), Ok(Raw::Stop)));
        assert!(matches!(events.recv(), Ok(Raw::Stop)));
        assert!(events.try_recv().is_err());
        // The receiver is gone.
        drop(events);
        report_loss(&lost, &raw);
    }
}
