//! The socket: its path, the daemon's end and the command's end.
//!
//! The holder of the mirror's lock binds the socket and removes the socket at the end; only the owner and root may use
//! the socket. The daemon has one task for each client, and the task only sends events. A client must send its request
//! within [`REQUEST_LIMIT`], and the number of clients without a request is bounded. A command then waits for its cycle
//! without a time limit; the number of waiting commands is bounded as well.

use super::{Command, DaemonStatus, QueuedCommand, Refusal, Request, Response, VERSION};
use crate::{
    daemon::{Event, job::CycleCommand},
    engine::Progress,
    state::{Identity, identity},
    web::connections::{self, Connections, REQUEST_LIMIT, Slot},
};
use anyhow::{Context as _, bail};
use rustix::fs::{Mode, OFlags};
use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Semaphore, mpsc::Sender},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The socket's name in the private folder.
pub const SOCKET: &str = "daemon.sock";

/// The longest path of a socket (`sun_path`, with its terminator).
const MAX_PATH: usize = 100;

/// A listening socket, which is unlinked on drop.
#[derive(Debug)]
pub struct Listening {
    listener: UnixListener,
    path: PathBuf,
    /// The socket's device and inode.
    identity: Option<Identity>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // The socket may be that of the next daemon. A stale one is replaced by the next daemon.
        if self.identity.is_some() && identity(&self.path).ok() == self.identity {
            let _gone = rustix::fs::unlink(&self.path);
        }
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
    Ok(Listening {
        listener,
        identity: identity(&path).ok(),
        path,
    })
}

/// Connects to the daemon of a private folder.
async fn connect(private: &Path) -> io::Result<UnixStream> {
    let path = private.join(SOCKET);
    if path.as_os_str().len() < MAX_PATH {
        return UnixStream::connect(path).await;
    }
    let folder = open(private)?;
    UnixStream::connect(through(&folder)).await
}

/// Reaches a socket whose path is too long through a descriptor of the folder.
fn via<T>(private: &Path, path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().len() < MAX_PATH {
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

/// Sends a command to the daemon of a private folder, and returns the final response; `None`: no daemon listens.
/// `on_step` receives the progress. The text of an error fits after "failed to".
pub async fn request(
    private: &Path,
    command: Command,
    mut on_step: impl FnMut(Progress),
) -> anyhow::Result<Option<Response>> {
    const BROKEN: &str = "keep the connection to the daemon";
    let Ok(stream) = connect(private).await else {
        return Ok(None);
    };
    let (read, mut write) = stream.into_split();
    let request = Request {
        version: VERSION,
        command,
    };
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    write.write_all(&line).await.context(BROKEN)?;
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await.context(BROKEN)? {
        let response = serde_json::from_str(&line);
        match response.context("read the answer of the daemon")? {
            Response::Progress(step) => on_step(step),
            response @ (Response::Report(..) | Response::Status(_) | Response::Failed(_)) => {
                return Ok(Some(response));
            }
        }
    }
    bail!("receive an answer: the daemon ended")
}

/// The longest request, with all its paths.
const MAX_REQUEST: u64 = 4 * 1024 * 1024;

/// Returns the daemon's status.
pub type StatusSource = Arc<dyn Fn() -> DaemonStatus + Send + Sync>;

/// Serves clients until the daemon stops. Each waiting client receives a final response first.
pub async fn serve(
    listening: Listening,
    to: Sender<Event>,
    status: StatusSource,
    stop: CancellationToken,
) {
    let own = rustix::process::geteuid().as_raw();
    let clients = TaskTracker::new();
    let mut connections = Connections::new("the control socket");
    let waiting = Arc::new(Semaphore::new(connections::capacity()));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listening.listener.accept() => accepted,
        };
        if let Some(((stream, _), slot)) = connections.admit(accepted).await {
            // The mode of the socket's folder may have been changed since.
            let peer = stream.peer_cred().map(|peer| peer.uid());
            if !peer.is_ok_and(|peer| may_use(peer, own)) {
                continue;
            }
            let (to, status, waiting) = (to.clone(), status.clone(), Arc::clone(&waiting));
            clients.spawn(async move {
                if let Err(error) = answer(stream, slot, &to, &status, &waiting).await {
                    tracing::debug!(%error, "a client went away");
                }
            });
        }
    }
    clients.close();
    // The stop does not wait for a client that does not read its final response.
    let _late = tokio::time::timeout(Duration::from_secs(1), clients.wait()).await;
}

/// Returns whether a client's user may use the daemon: root and the daemon's own user may.
const fn may_use(user: u32, own: u32) -> bool {
    user == 0 || user == own
}

async fn answer(
    stream: UnixStream,
    slot: Slot,
    to: &Sender<Event>,
    status: &StatusSource,
    waiting: &Semaphore,
) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let command = tokio::select! {
        () = slot.revoked() => return Err(io::ErrorKind::TimedOut.into()),
        command = tokio::time::timeout(REQUEST_LIMIT, accept(read, &mut write, status)) => command??,
    };
    // The next client can have the slot while this client waits.
    drop(slot);
    let Some(command) = command else {
        return Ok(());
    };
    let Ok(_place) = waiting.try_acquire() else {
        return send(&mut write, &Response::Failed(too_many())).await;
    };
    let (queued, mut steps, outcome) = QueuedCommand::new(command);
    if to.send(Event::Command(queued)).await.is_err() {
        return send(&mut write, &Response::Failed(stopped())).await;
    }
    // The channel of steps closes when the command has its final response.
    while let Some(step) = steps.recv().await {
        send(&mut write, &Response::Progress(step)).await?;
    }
    let response = outcome
        .await
        // A command that was begun has its response from the loop.
        .unwrap_or_else(|_| Response::Failed(stopped()));
    send(&mut write, &response).await
}

/// Reads a client's request. Answers it at once unless it asks for a cycle.
async fn accept(
    read: OwnedReadHalf,
    write: &mut OwnedWriteHalf,
    status: &StatusSource,
) -> io::Result<Option<CycleCommand>> {
    match receive(read).await? {
        Err(refusal) => send(write, &Response::Failed(refusal)).await?,
        Ok(Command::Status) => send(write, &Response::Status(Box::new(status()))).await?,
        Ok(Command::Cycle(command)) => return Ok(Some(command)),
    }
    Ok(None)
}

fn too_many() -> Refusal {
    Refusal {
        code: 5,
        message: "too many commands are waiting for the daemon".to_owned(),
        help: "run the command again later".to_owned(),
        ..Refusal::default()
    }
}

/// The response to clients whose commands the stopped daemon did not run.
pub(crate) fn stopped() -> Refusal {
    Refusal {
        code: 5,
        message: "the daemon stopped before it ran this command".to_owned(),
        help: "run the command again".to_owned(),
        ..Refusal::default()
    }
}

/// The response to the client of a command whose cycle was abandoned.
pub(crate) fn interrupted() -> Refusal {
    Refusal {
        code: 5,
        message: "the daemon stopped while it ran this command".to_owned(),
        help: "run the command again: the next sync finds out what arrived".to_owned(),
        ..Refusal::default()
    }
}

async fn receive(read: OwnedReadHalf) -> io::Result<Result<Command, Refusal>> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(read.take(MAX_REQUEST));
    reader.read_until(b'\n', &mut line).await?;
    Ok(parse(&line))
}

fn parse(line: &[u8]) -> Result<Command, Refusal> {
    /// The version is parsed first, because another version may have other fields.
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let refuse = |message: String| Refusal {
        code: 2,
        message,
        help: "use the same version of kbsync for the daemon and the command; restart the daemon \
               after an update"
            .to_owned(),
        ..Refusal::default()
    };
    let versioned: Versioned = serde_json::from_slice(line)
        .map_err(|error| refuse(format!("the daemon cannot read the request: {error}")))?;
    if versioned.version != VERSION {
        return Err(refuse(format!(
            "the daemon uses protocol version {VERSION}, and the command uses version {}",
            versioned.version
        )));
    }
    let request: Request = serde_json::from_slice(line)
        .map_err(|error| refuse(format!("the daemon does not know this command: {error}")))?;
    Ok(request.command)
}

async fn send(write: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    write.write_all(&line).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_daemon_that_ends_late_leaves_the_socket_of_the_next_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join(SOCKET);
        let late = listen(folder.path()).expect("it listens");
        let next = listen(folder.path()).expect("it listens");
        drop(late);
        assert!(socket.exists());
        drop(next);
        assert!(!socket.exists());
    }

    #[test]
    fn only_the_owner_and_root_may_use_the_socket() {
        for (user, own, expected) in [
            (1000, 1000, true),
            (0, 1000, true),
            (1001, 1000, false),
            (1000, 0, false),
        ] {
            assert_eq!(may_use(user, own), expected, "{user} {own}");
        }
    }

    #[test]
    fn another_version_is_distinguished_from_nonsense() {
        for (line, expected) in [
            ("", "cannot read"),
            ("{}", "cannot read"),
            (r#"{"version":1,"command":{"paint":{}}}"#, "version 1"),
            (r#"{"version":9,"command":{"paint":{}}}"#, "does not know"),
            (
                r#"{"version":9,"command":{"cycle":{"direction":"up"}}}"#,
                "does not know",
            ),
        ] {
            let refusal = parse(line.as_bytes()).expect_err("refused");
            assert!(refusal.message.contains(expected), "{line}: {refusal:?}");
            assert_eq!(refusal.code, 2);
        }
        let sync = r#"{"version":9,"command":{"cycle":{"direction":"both"}}}"#;
        assert!(
            matches!(parse(sync.as_bytes()), Ok(Command::Cycle(command)) if command.is_whole())
        );
        let status = r#"{"version":9,"command":"status"}"#;
        assert_eq!(parse(status.as_bytes()), Ok(Command::Status));
    }
}
