//! The daemon's end of the socket: a task per client, which only sends events.

use super::{Ask, Command, Refusal, StatusWord, VERSION, Wished, Word, socket::Listening};
use crate::daemon::Event;
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc::Sender,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A command is not longer than this, paths and all.
const LONGEST: u64 = 4 * 1024 * 1024;

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells how the daemon is.
pub type Teller = Arc<dyn Fn() -> StatusWord + Send + Sync>;

/// Serves clients until it is stopped. Clients that wait for a report get one last word first.
pub async fn serve(
    listening: Listening,
    to: Sender<Event>,
    status: Teller,
    stop: CancellationToken,
) {
    let clients = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listening.listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (to, status) = (to.clone(), status.clone());
                clients.spawn(async move {
                    if let Err(error) = talk(stream, &to, &status).await {
                        tracing::debug!(%error, "a client went away");
                    }
                });
            }
            Err(error) => {
                // Most likely too many open files: it passes, and must not spin.
                tracing::warn!(%error, "a client could not be let in");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    clients.close();
    // Their last words are on the way; a client that does not read them is not waited for.
    let _late = tokio::time::timeout(Duration::from_secs(1), clients.wait()).await;
}

async fn talk(stream: UnixStream, to: &Sender<Event>, status: &Teller) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let asked = tokio::time::timeout(PATIENCE, hear(read)).await;
    let asked = asked.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    match asked {
        Err(refusal) => say(&mut write, &Word::Failed(refusal)).await,
        Ok(Command::Status) => say(&mut write, &Word::Status(Box::new(status()))).await,
        Ok(Command::Cycle(wish)) => {
            let (wished, mut steps, outcome) = Wished::new(wish);
            if to.send(Event::Wish(wished)).await.is_err() {
                return say(&mut write, &Word::Failed(stops())).await;
            }
            // The steps end when the command has been answered.
            while let Some(step) = steps.recv().await {
                say(&mut write, &Word::Progress(step)).await?;
            }
            let word = outcome.await.unwrap_or_else(|_| Word::Failed(stops()));
            say(&mut write, &word).await
        }
    }
}

/// What the daemon says to those it cannot serve any more.
pub(crate) fn stops() -> Refusal {
    Refusal {
        code: 5,
        message: "the daemon stopped before it came to this command".to_owned(),
        help: "run the command again".to_owned(),
    }
}

async fn hear(read: OwnedReadHalf) -> io::Result<Result<Command, Refusal>> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(read.take(LONGEST));
    reader.read_until(b'\n', &mut line).await?;
    Ok(understand(&line))
}

fn understand(line: &[u8]) -> Result<Command, Refusal> {
    /// The version is read first: another form may have another shape.
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
        .map_err(|error| refuse(format!("the daemon was told something unreadable: {error}")))?;
    if versioned.version != VERSION {
        return Err(refuse(format!(
            "the daemon speaks version {VERSION}, and was asked in version {}",
            versioned.version
        )));
    }
    let ask: Ask = serde_json::from_slice(line)
        .map_err(|error| refuse(format!("the daemon does not know this command: {error}")))?;
    Ok(ask.command)
}

async fn say(write: &mut OwnedWriteHalf, word: &Word) -> io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    write.write_all(&line).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_told_apart_from_nonsense() {
        for (line, expected) in [
            ("", "unreadable"),
            ("{}", "unreadable"),
            (r#"{"version":1,"command":{"paint":{}}}"#, "version 1"),
            (r#"{"version":2,"command":{"paint":{}}}"#, "does not know"),
            (
                r#"{"version":2,"command":{"cycle":{"direction":"up"}}}"#,
                "does not know",
            ),
        ] {
            let refusal = understand(line.as_bytes()).expect_err("refused");
            assert!(refusal.message.contains(expected), "{line}: {refusal:?}");
            assert_eq!(refusal.code, 2);
        }
        let sync = r#"{"version":2,"command":{"cycle":{"direction":"both"}}}"#;
        assert!(matches!(understand(sync.as_bytes()), Ok(Command::Cycle(wish)) if wish.is_whole()));
        let status = r#"{"version":2,"command":"status"}"#;
        assert_eq!(understand(status.as_bytes()), Ok(Command::Status));
    }
}
