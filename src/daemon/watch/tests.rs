//! Watchers that say little or nothing: what is made of the file that shows whether events come.

use super::{Mode, Options, Rescan, Root, thread::start_by};
use crate::daemon::Event;
use notify::{
    Config, EventHandler, EventKind, NullWatcher, RecursiveMode, Result, Watcher, WatcherKind,
};
use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::mpsc::{Receiver, channel};

/// Tells of an article as soon as the private folder is watched, and never of our own file.
struct Deaf(Box<dyn EventHandler>);

/// What the deaf one was asked to let go of.
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

/// A mirror, and how long the file's event may take.
fn options(mirror: &Path) -> Options {
    let private = mirror.join(".kbsync");
    for folder in [&private, &mirror.join("a")] {
        std::fs::create_dir(folder).expect("made");
    }
    let root = Root {
        prefix: String::new(),
        path: mirror.to_owned(),
    };
    Options {
        patience: Duration::from_millis(50),
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
async fn f078_where_its_own_file_is_not_told_of_the_files_are_looked_through() {
    let mirror = tempfile::tempdir().expect("a folder");
    let (to, mut events) = channel(16);
    let _watch = start_by::<NullWatcher>(options(mirror.path()), to).expect("a thread");
    let first = next(&mut events).await;
    assert!(matches!(first, Event::Watching(Mode::Events)), "{first:?}");
    let second = next(&mut events).await;
    let Event::Watching(Mode::Looking { why, .. }) = second else {
        panic!("{second:?}");
    };
    assert_eq!(why, "the file system tells of no changes");
    assert!(matches!(next(&mut events).await, Event::Doubt(_)));
    assert_eq!(cookies(mirror.path()), 0, "the file is gone");
}

#[tokio::test]
async fn f078_where_its_own_file_is_missed_among_others_events_are_trusted() {
    let mirror = tempfile::tempdir().expect("a folder");
    let (to, mut events) = channel(16);
    let _watch = start_by::<Deaf>(options(mirror.path()), to).expect("a thread");
    let first = next(&mut events).await;
    assert!(matches!(first, Event::Watching(Mode::Events)), "{first:?}");
    let second = next(&mut events).await;
    assert!(matches!(second, Event::Touched { .. }), "{second:?}");
    // When its time is over, it is not waited for any more, and nothing else happens.
    let private = mirror.path().join(".kbsync");
    while !LET_GO.lock().expect("a list").contains(&private) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(events.try_recv().is_err(), "it goes on by events");
    assert_eq!(cookies(mirror.path()), 0, "the file is gone");
}
