//! The daemon's end of the socket: a task for each client, which only sends events.
//!
//! A client must send its request within [`REQUEST_LIMIT`], and the number of such clients is bounded. A command then
//! waits for its cycle without a time limit; the number of waiting commands is bounded as well.

use super::{
    Command, DaemonStatus, QueuedCommand, Refusal, Request, Response, VERSION, socket::Listening,
};
use crate::{
    daemon::{Event, job::CycleCommand},
    web::connections::{self, Connections, REQUEST_LIMIT, Slot},
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Semaphore, mpsc::Sender},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

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
    let clients = TaskTracker::new();
    let mut connections = Connections::new("the control socket");
    let waiting = Arc::new(Semaphore::new(connections::capacity()));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listening.listener.accept() => accepted,
        };
        if let Some(((stream, _), slot)) = connections.admit(accepted).await {
            let (to, status, waiting) = (to.clone(), status.clone(), Arc::clone(&waiting));
            clients.spawn(async move {
                if let Err(error) = answer(stream, slot, &to, &status, &waiting).await {
                    tracing::debug!(%error, "a client went away");
                }
            });
        }
    }
    clients.close();
    // A client that does not read its final response is not waited for.
    let _late = tokio::time::timeout(Duration::from_secs(1), clients.wait()).await;
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
        command = tokio::time::timeout(REQUEST_LIMIT, request(read, &mut write, status)) => command??,
    };
    // The slot is free for the next client while this one waits.
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
        .unwrap_or_else(|_| Response::Failed(stopped()));
    send(&mut write, &response).await
}

/// Reads a client's request. Answers it at once unless it asks for a cycle.
async fn request(
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
    }
}

/// The response to clients whose commands the stopped daemon did not run.
pub(crate) fn stopped() -> Refusal {
    Refusal {
        code: 5,
        message: "the daemon stopped before it ran this command".to_owned(),
        help: "run the command again".to_owned(),
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

    #[test]
    fn another_version_is_distinguished_from_nonsense() {
        for (line, expected) in [
            ("", "cannot read"),
            ("{}", "cannot read"),
            (r#"{"version":1,"command":{"paint":{}}}"#, "version 1"),
            (r#"{"version":4,"command":{"paint":{}}}"#, "does not know"),
            (
                r#"{"version":4,"command":{"cycle":{"direction":"up"}}}"#,
                "does not know",
            ),
        ] {
            let refusal = parse(line.as_bytes()).expect_err("refused");
            assert!(refusal.message.contains(expected), "{line}: {refusal:?}");
            assert_eq!(refusal.code, 2);
        }
        let sync = r#"{"version":4,"command":{"cycle":{"direction":"both"}}}"#;
        assert!(
            matches!(parse(sync.as_bytes()), Ok(Command::Cycle(command)) if command.is_whole())
        );
        let status = r#"{"version":4,"command":"status"}"#;
        assert_eq!(parse(status.as_bytes()), Ok(Command::Status));
    }
}
