//! The path of the socket. The lock's holder binds it, only the owner may open it, and it is removed at the end.

use rustix::fs::{Mode, OFlags};
use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};
use tokio::net::{UnixListener, UnixStream};

/// The socket's name in the private folder.
pub const SOCKET: &str = "daemon.sock";

/// The longest path of a socket (`sun_path`, with its terminator).
const MAX_REQUEST: usize = 100;

/// A listening socket, which is unlinked on drop.
#[derive(Debug)]
pub struct Listening {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // The next daemon replaces a stale socket.
        let _gone = rustix::fs::unlink(&self.path);
    }
}

/// Listens in a private folder. The caller holds the mirror's lock, so a socket that exists is stale.
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

/// Reaches a socket through a descriptor of its folder when its own path is too long.
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
