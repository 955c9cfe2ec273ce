//! The command's end of the socket.

use super::{Command, Request, Response, Step, VERSION, socket};
use std::{fmt, io, path::Path};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// Why there was no answer.
#[derive(Debug)]
pub enum RequestError {
    /// No daemon listens.
    NotListening(io::Error),
    /// The connection broke.
    Broken(io::Error),
    /// The answer is no valid JSON.
    Unreadable(serde_json::Error),
    /// The daemon closed the connection before its final response.
    Ended,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotListening(_) => "reach the daemon",
            Self::Broken(_) => "keep the connection to the daemon",
            Self::Unreadable(_) => "read the answer of the daemon",
            Self::Ended => "receive an answer: the daemon ended",
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

/// Sends a command to the daemon of a private folder, and returns the final response. `on_step` receives the
/// progress.
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
            response @ (Response::Report(..) | Response::Status(_) | Response::Failed(_)) => {
                return Ok(response);
            }
        }
    }
    Err(RequestError::Ended)
}
