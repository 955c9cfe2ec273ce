//! The socket's place: bound by the owner of the lock, for its owner alone, removed at the end.

use rustix::fs::{Mode, OFlags};
use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};
use tokio::net::{UnixListener, UnixStream};

/// The socket's name in the private folder.
pub const SOCKET: &str = "daemon.sock";

/// The system takes no longer names for sockets (`sun_path`, with its end).
const MAX_REQUEST: usize = 100;

/// A socket that listens; its name goes when it is dropped.
#[derive(Debug)]
pub struct Listening {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // A stale one is replaced by the next daemon.
        let _gone = rustix::fs::unlink(&self.path);
    }
}

/// Listens in a private folder. The caller holds the mirror's lock, so that a socket that is there is stale.
pub fn listen(private: &Path) -> io::Result<Listening> {
    let path = private.join(SOCKET);
    match rustix::fs::unlink(&path) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let listener = via(private, &path, |path| UnixListener::bind(path))?;
    rustix::fs::chmod(&path, Mode::RUSR | Mode::WUSR)?;
    Ok(Listening { listener, path })
}

/// Connects to the daemon of a private folder.
pub(super) async fn connect(private: &Path) -> io::Result<UnixStream> {
    let path = private.join(SOCKET);
    if path.as_os_str().len() < MAX_REQUEST {
        return UnixStream::connect(path).await;
    }
    let folder = open(private)?;
    UnixStream::connect(through(&folder)).await
}

/// Names a socket whose own path is too long through an open folder.
fn via<T>(private: &Path, path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().len() < MAX_REQUEST {
        return make(path);
    }
    let folder = open(private)?;
    make(&through(&folder))
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?)
}

fn through(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()))
}
