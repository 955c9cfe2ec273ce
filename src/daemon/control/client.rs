//! A command's end of the socket.

use super::{Command, Request, Response, Step, VERSION, socket};
use std::{fmt, io, path::Path};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// Why there was no answer.
#[derive(Debug)]
pub enum RequestError {
    /// Nobody listens: there is no daemon, or it has no socket.
    NotListening(io::Error),
    /// The connection broke.
    Broken(io::Error),
    /// What came cannot be read.
    Unreadable(serde_json::Error),
    /// The daemon went away without a last word.
    Ended,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotListening(_) => "reach the daemon",
            Self::Broken(_) => "talk to the daemon",
            Self::Unreadable(_) => "understand the daemon",
            Self::Ended => "hear the daemon out: it ended",
        })
    }
}

impl std::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotListening(error) | Self::Broken(error) => Some(error),
            Self::Unreadable(error) => Some(error),
            Self::Ended => None,
        }
    }
}

/// Asks the daemon of a private folder, and gives its last word. `told` hears the steps on the way.
pub async fn request(
    private: &Path,
    command: Command,
    mut on_step: impl FnMut(Step),
) -> Result<Response, RequestError> {
    let stream = socket::connect(private)
        .await
        .map_err(RequestError::NotListening)?;
    let (read, mut write) = stream.into_split();
    let request = Request {
        version: VERSION,
        command,
    };
    let mut line = serde_json::to_vec(&request).map_err(RequestError::Unreadable)?;
    line.push(b'\n');
    write.write_all(&line).await.map_err(RequestError::Broken)?;
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await.map_err(RequestError::Broken)? {
        match serde_json::from_str(&line).map_err(RequestError::Unreadable)? {
            Response::Progress(step) => on_step(step),
            response @ (Response::Report(_) | Response::Status(_) | Response::Failed(_)) => {
                return Ok(response);
            }
        }
    }
    Err(RequestError::Ended)
}
