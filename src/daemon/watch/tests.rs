//! Tests with fake watchers: without the cookie's event, and with failures after which the files are scanned.

use super::{Mode, Options, Rescan, RescanCause, Root, thread::start_with};
use crate::daemon::Event;
use crate::model::WorkspaceId;
use notify::{
    Config, Error, ErrorKind, EventHandler, EventKind, NullWatcher, RecursiveMode, Result, Watcher,
    WatcherKind, event::AccessKind,
};
use rustix::io::Errno;
use std::{
    marker::PhantomData,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::mpsc::{Receiver, channel};
use uuid::Uuid;

/// Reports an article as soon as the private folder is watched, and never of our own file.
struct Deaf(Box<dyn EventHandler>);

/// The paths that `Deaf` was asked to stop watching.
static LET_GO: Mutex<Vec<std::path::PathBuf>> = Mutex::new(Vec::new());

impl Watcher for Deaf {
    fn new<F: EventHandler>(handler: F, _: Config) -> Result<Self> {
        Ok(Self(Box::new(handler)))
    }

    fn watch(&mut self, path: &Path, _: RecursiveMode) -> Result<()> {
        if path.ends_with(".kbsync") {
            let article = path.with_file_name("a").join("b.html");
            let event = notify::Event::new(EventKind::Any).add_path(article);
            self.0.handle_event(Ok(event));
        }
        Ok(())
    }

    fn unwatch(&mut self, path: &Path) -> Result<()> {
        let mut let_go = LET_GO.lock().unwrap_or_else(PoisonError::into_inner);
        let_go.push(path.to_owned());
        Ok(())
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}

/// A mirror, with the time limit for the cookie's event.
fn options(mirror: &Path) -> Options {
    let private = mirror.join(".kbsync");
    for folder in [&private, &mirror.join("a")] {
        std::fs::create_dir(folder).expect("made");
    }
    let root = Root {
        workspace: WorkspaceId::new(Uuid::nil()),
        prefix: String::new(),
        path: mirror.to_owned(),
        state: private.clone(),
    };
    Options {
        cookie_timeout: Duration::from_millis(50),
        ..Options::new(vec![root], private, Rescan::new(Duration::from_hours(1)))
    }
}

async fn next(events: &mut Receiver<Event>) -> Event {
    let event = tokio::time::timeout(Duration::from_secs(20), events.recv()).await;
    event.expect("in time").expect("a watch")
}

fn cookies(mirror: &Path) -> usize {
    let private = std::fs::read_dir(mirror.join(".kbsync")).expect("listed");
    private.count()
}

#[tokio::test]
async fn f078_without_the_cookies_event_the_files_are_scanned() {
    let mirror = tempfile::tempdir().expect("a folder");
    let (to, mut events) = channel(16);
    let _watch = start_with::<NullWatcher>(options(mirror.path()), to).expect("a thread");
    let first = next(&mut events).await;
    assert!(matches!(first, Event::Watching(Mode::Events)), "{first:?}");
    let second = next(&mut events).await;
    let Event::Watching(Mode::Polling { why, .. }) = second else {
        panic!("{second:?}");
    };
    assert_eq!(why, "the file system reports no changes");
    assert!(matches!(next(&mut events).await, Event::Rescan(_)));
    assert_eq!(cookies(mirror.path()), 0, "the file is gone");
}

#[tokio::test]
async fn f078_where_its_own_file_is_missed_among_others_events_are_trusted() {
    let mirror = tempfile::tempdir().expect("a folder");
    let (to, mut events) = channel(16);
    let _watch = start_with::<Deaf>(options(mirror.path()), to).expect("a thread");
    let first = next(&mut events).await;
    assert!(matches!(first, Event::Watching(Mode::Events)), "{first:?}");
    let second = next(&mut events).await;
    assert!(matches!(second, Event::Touched { .. }), "{second:?}");
    // After its time limit the cookie is given up, and nothing else happens.
    let private = mirror.path().join(".kbsync");
    while !LET_GO.lock().expect("a list").contains(&private) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(events.try_recv().is_err(), "it goes on by events");
    assert_eq!(cookies(mirror.path()), 0, "the file is gone");
}

/// What a watcher reports, or refuses, when it is to watch a folder.
trait Reports: Send + 'static {
    fn watch(handler: &mut dyn EventHandler, path: &Path) -> Result<()>;
}

/// A watcher that makes its reports at once.
struct Scripted<R>(Box<dyn EventHandler>, PhantomData<R>);

impl<R: Reports> Watcher for Scripted<R> {
    fn new<F: EventHandler>(handler: F, _: Config) -> Result<Self> {
        Ok(Self(Box::new(handler), PhantomData))
    }

    fn watch(&mut self, path: &Path, _: RecursiveMode) -> Result<()> {
        R::watch(&mut *self.0, path)
    }

    fn unwatch(&mut self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}

/// Reports more reads and more changes of a category than the queue has room for, as soon as the private folder is
/// watched.
struct Flood<const READS: usize, const CHANGES: usize>;

impl<const READS: usize, const CHANGES: usize> Reports for Flood<READS, CHANGES> {
    fn watch(handler: &mut dyn EventHandler, path: &Path) -> Result<()> {
        if path.ends_with(".kbsync") {
            let reads = std::iter::repeat_n(EventKind::Access(AccessKind::Any), READS);
            let changes = std::iter::repeat_n(EventKind::Any, CHANGES);
            for kind in reads.chain(changes) {
                let article = path.with_file_name("a").join("b.html");
                let event = notify::Event::new(kind).add_path(article);
                handler.handle_event(Ok(event));
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn f075_reads_cause_no_overflow() {
    assert_eq!(
        first::<Scripted<Flood<5000, 1>>, 2>().await,
        ["events", "a/b.html"]
    );
}

#[tokio::test]
async fn f075_a_loss_is_reported_after_the_events_that_found_room() {
    let told = Box::pin(first::<Scripted<Flood<0, 5000>>, 4098>()).await;
    let at = told
        .iter()
        .position(|word| word == RescanCause::Overflow.word());
    assert_eq!(at, Some(4097), "after one word for each event in the queue");
}

/// The error of the system with this number; zero stands for an error that no system has.
fn error(number: i32) -> Error {
    match number {
        0 => Error::generic("something strange"),
        // Notify has its own kind for this error.
        NOSPC => Error::new(ErrorKind::MaxFilesWatch),
        number => Error::io(std::io::Error::from_raw_os_error(number)),
    }
}

/// Reports an error as soon as the private folder is watched, and then an event of an article.
struct Ailing<const NUMBER: i32>;

impl<const NUMBER: i32> Reports for Ailing<NUMBER> {
    fn watch(handler: &mut dyn EventHandler, path: &Path) -> Result<()> {
        if path.ends_with(".kbsync") {
            let article = path.with_file_name("a").join("b.html");
            let event = notify::Event::new(EventKind::Any).add_path(article);
            handler.handle_event(Err(error(NUMBER)));
            handler.handle_event(Ok(event));
        }
        Ok(())
    }
}

/// Watches at most `ROOM` folders; with `ROOM` zero, the watcher cannot even be made.
struct Full<const NUMBER: i32, const ROOM: usize>(usize);

impl<const NUMBER: i32, const ROOM: usize> Watcher for Full<NUMBER, ROOM> {
    fn new<F: EventHandler>(_: F, _: Config) -> Result<Self> {
        if ROOM == 0 {
            return Err(error(NUMBER));
        }
        Ok(Self(ROOM))
    }

    fn watch(&mut self, _: &Path, _: RecursiveMode) -> Result<()> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| error(NUMBER))?;
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}

/// May not watch the category, and reports its article and another one.
struct Forbidden;

impl Reports for Forbidden {
    fn watch(handler: &mut dyn EventHandler, path: &Path) -> Result<()> {
        if path.ends_with("a") {
            return Err(error(Errno::ACCESS.raw_os_error()));
        }
        if path.ends_with(".kbsync") {
            let category = path.with_file_name("a");
            let article = path.with_file_name("z").join("b.html");
            for path in [category, article] {
                let event = notify::Event::new(EventKind::Any).add_path(path);
                handler.handle_event(Ok(event));
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn f097_a_folder_that_cannot_be_read_does_not_end_the_events_of_others() {
    let told = first::<Scripted<Forbidden>, 3>().await;
    assert_eq!(told, ["events", "a", "z/b.html"]);
}

/// Returns the first events of a watcher, as words. The watch must continue after a failure.
async fn first<W: Watcher, const COUNT: usize>() -> [String; COUNT] {
    let mirror = tempfile::tempdir().expect("a folder");
    let (to, mut events) = channel(16);
    let mut options = options(mirror.path());
    // The test must not depend on the cookie.
    options.cookie_timeout = Duration::from_secs(20);
    let _watch = start_with::<W>(options, to).expect("a thread");
    let mut told = [const { String::new() }; COUNT];
    for word in &mut told {
        *word = match next(&mut events).await {
            Event::Watching(mode) => mode.to_string(),
            Event::Rescan(cause) => cause.word().to_owned(),
            Event::Touched { path, .. } => path,
            event @ (Event::Tick
            | Event::Command(_)
            | Event::SyncNow
            | Event::Reload
            | Event::Stop) => {
                panic!("{event:?}")
            }
        };
    }
    told
}

const WATCHES: &str =
    "a scan every 1h: the system's limit on watches is reached (fs.inotify.max_user_watches)";
const INSTANCES: &str =
    "a scan every 1h: the system's limit on watchers is reached (fs.inotify.max_user_instances)";
const FALLBACK: &str = RescanCause::Fallback.word();

const NOSPC: i32 = Errno::NOSPC.raw_os_error();
const MFILE: i32 = Errno::MFILE.raw_os_error();
const NFILE: i32 = Errno::NFILE.raw_os_error();
const IO: i32 = Errno::IO.raw_os_error();

#[tokio::test]
async fn an_error_of_the_watcher_asks_for_a_rescan_and_the_watch_goes_on() {
    let goes_on = ["events", RescanCause::Error.word(), "a/b.html"];
    assert_eq!(first::<Scripted<Ailing<0>>, 3>().await, goes_on);
    assert_eq!(first::<Scripted<Ailing<IO>>, 3>().await, goes_on);
}

#[tokio::test]
async fn f077_a_limit_that_the_watcher_reports_later_ends_events() {
    assert_eq!(
        first::<Scripted<Ailing<NOSPC>>, 3>().await,
        ["events", WATCHES, FALLBACK]
    );
    assert_eq!(
        first::<Scripted<Ailing<MFILE>>, 3>().await,
        ["events", INSTANCES, FALLBACK]
    );
    assert_eq!(
        first::<Scripted<Ailing<NFILE>>, 3>().await,
        ["events", INSTANCES, FALLBACK]
    );
}

#[tokio::test]
async fn f077_a_limit_for_the_first_folders_is_reported_and_files_are_scanned() {
    // The mirror, the category and the private folder are watched, in this order.
    assert_eq!(first::<Full<NOSPC, 2>, 2>().await, [WATCHES, FALLBACK]);
    assert_eq!(first::<Full<NOSPC, 1>, 2>().await, [WATCHES, FALLBACK]);
    assert_eq!(first::<Full<MFILE, 0>, 2>().await, [INSTANCES, FALLBACK]);
    let strange = first::<Full<0, 2>, 2>().await;
    assert_eq!(strange, ["a scan every 1h: something strange", FALLBACK]);
}
