//! Commands for a running daemon, over `.kbsync/daemon.sock`: one JSON value a line.
//!
//! A client sends one [`Request`]; the daemon answers with any number of [`Response::Progress`] and then with one
//! other word. Whoever may open the socket owns the mirror: it is for its owner alone. A client that goes
//! away is no error, and its command is carried out all the same.
//!
//! The socket is made by whoever holds the mirror's lock; one that a dead daemon left is replaced.

mod client;
mod server;
mod socket;

pub use client::{RequestError, request};
pub use server::{StatusSource, serve};
pub use socket::{Listening, SOCKET, listen};

use super::job::CycleCommand;
use crate::engine::{self, report::Report};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// The version of this form. Another one is refused with a word that says so.
pub const VERSION: u32 = 2;

/// What the lock says of a daemon: its owner listens to commands.
pub const LOCK_LABEL: &str = "run";

/// What a client says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The version of the form.
    pub version: u32,
    /// The command.
    pub command: Command,
}

/// A command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Run a cycle.
    Cycle(CycleCommand),
    /// Tell how it is.
    Status,
}

/// What the daemon says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// How far it has come.
    Progress(Step),
    /// The report of the cycle.
    Report(Box<Report>),
    /// How the daemon is.
    Status(Box<DaemonStatus>),
    /// It could not be done.
    Failed(Refusal),
}

/// A step of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A phase begins.
    Phase {
        /// Its name.
        name: String,
        /// Its units, where that is known.
        total: Option<u64>,
        /// Requests that one unit costs.
        requests: u32,
    },
    /// So many units of it are done.
    Done(u64),
}

impl From<engine::Progress> for Step {
    fn from(progress: engine::Progress) -> Self {
        match progress {
            engine::Progress::Phase {
                name,
                total,
                requests,
            } => Self::Phase {
                name: name.to_owned(),
                total,
                requests,
            },
            engine::Progress::Done(units) => Self::Done(units),
        }
    }
}

/// Why a command was not carried out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    /// The exit code.
    pub code: u8,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// How the daemon is: what `status` shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// When it was started, as RFC 3339.
    pub since: String,
    /// The next poll, as RFC 3339.
    pub next_poll: Option<String>,
    /// The last successful poll, as RFC 3339.
    pub last_poll: Option<String>,
    /// The effective time between two polls, in seconds.
    pub interval: u64,
    /// The cron line that polls go by, with its zone, if they do.
    #[serde(default)]
    pub cron: Option<String>,
    /// How changes are noticed.
    pub watching: String,
    /// Paths that wait to be pushed.
    pub pending: usize,
    /// Why nothing is done, if so.
    pub waiting_for: Option<String>,
    /// Whether it is well, and if not, why.
    pub unhealthy: Option<String>,
}

/// A command that waits for its turn, and who waits for it.
#[derive(Debug)]
pub struct QueuedCommand {
    command: CycleCommand,
    steps: mpsc::Sender<Step>,
    outcome: oneshot::Sender<Response>,
}

impl QueuedCommand {
    /// A command, with the two ends that its sender listens to.
    pub fn new(command: CycleCommand) -> (Self, mpsc::Receiver<Step>, oneshot::Receiver<Response>) {
        let (steps, receive_steps) = mpsc::channel(64);
        let (outcome, receive_outcome) = oneshot::channel();
        let queued = Self {
            command,
            steps,
            outcome,
        };
        (queued, receive_steps, receive_outcome)
    }

    /// The cycle that it asks for.
    pub fn command(&self) -> CycleCommand {
        self.command.clone()
    }

    /// Returns whether it would change anything.
    pub fn writes(&self) -> bool {
        !self.command.dry_run
    }

    /// Says how it ended.
    pub fn respond(self, response: Response) {
        // A client that went away is no error.
        let _nobody_listens = self.outcome.send(response);
    }
}

/// Takes the engine's progress to whoever waits for the cycle that runs.
#[derive(Clone, Debug, Default)]
pub struct ProgressSink(Arc<Mutex<Option<mpsc::Sender<Step>>>>);

impl ProgressSink {
    /// From now on progress goes to this command's client, or nowhere.
    pub fn send_to(&self, wished: Option<&QueuedCommand>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *inner = wished.map(|wished| wished.steps.clone());
    }

    /// Tells a step. A client that is slow or gone misses some.
    pub fn send(&self, progress: engine::Progress) {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(steps) = inner.as_ref() {
            let _missed = steps.try_send(progress.into());
        }
    }
}
