//! A command's end of the socket.

use super::{Ask, Command, Step, VERSION, Word, socket};
use std::{fmt, io, path::Path};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// Why there was no answer.
#[derive(Debug)]
pub enum AskError {
    /// Nobody listens: there is no daemon, or it has no socket.
    Nobody(io::Error),
    /// The connection broke.
    Broken(io::Error),
    /// What came cannot be read.
    Unreadable(serde_json::Error),
    /// The daemon went away without a last word.
    Ended,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody(_) => "reach the daemon",
            Self::Broken(_) => "talk to the daemon",
            Self::Unreadable(_) => "understand the daemon",
            Self::Ended => "hear the daemon out: it ended",
        })
    }
}

impl std::error::Error for AskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Nobody(error) | Self::Broken(error) => Some(error),
            Self::Unreadable(error) => Some(error),
            Self::Ended => None,
        }
    }
}

/// Asks the daemon of a private folder, and gives its last word. `told` hears the steps on the way.
pub async fn ask(
    private: &Path,
    command: Command,
    mut told: impl FnMut(Step),
) -> Result<Word, AskError> {
    let stream = socket::connect(private).await.map_err(AskError::Nobody)?;
    let (read, mut write) = stream.into_split();
    let ask = Ask {
        version: VERSION,
        command,
    };
    let mut line = serde_json::to_vec(&ask).map_err(AskError::Unreadable)?;
    line.push(b'\n');
    write.write_all(&line).await.map_err(AskError::Broken)?;
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await.map_err(AskError::Broken)? {
        match serde_json::from_str(&line).map_err(AskError::Unreadable)? {
            Word::Progress(step) => told(step),
            word @ (Word::Report(_) | Word::Status(_) | Word::Failed(_)) => return Ok(word),
        }
    }
    Err(AskError::Ended)
}
