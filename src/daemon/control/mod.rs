//! Commands for a running daemon, over `.kbsync/daemon.sock`: one JSON value on each line.
//!
//! A client sends one [`Request`]. The daemon answers with any number of [`Response::Progress`] and then one final
//! response. Only the owner of the mirror can open the socket. A client that disconnects is no error, and its command
//! is still carried out.
//!
//! The holder of the mirror's lock creates the socket, and replaces a socket that a dead daemon left.

mod socket;

pub(super) use socket::interrupted;
pub use socket::{Listening, SOCKET, StatusSource, listen, request, serve};

use super::job::CycleCommand;
use crate::{
    engine::{Progress, Stop, report::Report},
    service::client::WaitNote,
};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

/// The version of the protocol. A request in another version is refused.
pub const VERSION: u32 = 9;

/// The purpose in the lock of a daemon: a holder with this purpose accepts commands.
pub const LOCK_LABEL: &str = "run";

/// A client's request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The version of the protocol.
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
    /// Return the daemon's status.
    Status,
}

/// A message from the daemon to a client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The progress of the cycle.
    Progress(Progress),
    /// The report of the cycle, why it ended early, and what failed.
    Report(Box<Report>, Option<Stop>, Vec<Refusal>),
    /// The status of the daemon.
    Status(Box<DaemonStatus>),
    /// The command was not carried out.
    Failed(Refusal),
}

/// The reason why a command, or its cycle in one workspace, was not carried out.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Refusal {
    /// The exit code.
    pub code: u8,
    /// The problem.
    pub message: String,
    /// The remedy; empty: the message has it.
    pub help: String,
    /// The folder below the mirror of the workspace that failed.
    #[serde(default)]
    pub path: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.help.is_empty() {
            return Ok(());
        }
        write!(f, "; {}", self.help)
    }
}

/// The status of the daemon, for `kbsync status`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// The process id.
    pub pid: u32,
    /// When the daemon was started, as RFC 3339.
    pub since: String,
    /// The next poll, or the next try in an outage, as RFC 3339.
    pub next_poll: Option<String>,
    /// The last successful poll, as RFC 3339.
    pub last_poll: Option<String>,
    /// The effective time between two polls, in seconds.
    pub interval: u64,
    /// The configured interval in seconds, if the budget makes the effective interval longer.
    pub planned: Option<u64>,
    /// The cron line of the polls, with its time zone, if there is one.
    pub cron: Option<String>,
    /// How changes are noticed.
    pub watching: String,
    /// Why nothing is synced at present.
    pub waiting_for: Option<String>,
    /// Why the daemon is unhealthy.
    pub unhealthy: Option<String>,
    /// Whether nothing is synced because the service refuses the token.
    pub is_token_refused: bool,
}

/// A command in the queue, with the channels to its client.
#[derive(Debug)]
pub struct QueuedCommand {
    command: CycleCommand,
    steps: mpsc::Sender<Progress>,
    outcome: oneshot::Sender<Response>,
}

impl QueuedCommand {
    /// Queues a command, and returns the receiving ends for its client.
    pub fn new(
        command: CycleCommand,
    ) -> (Self, mpsc::Receiver<Progress>, oneshot::Receiver<Response>) {
        let (steps, receive_steps) = mpsc::channel(64);
        let (outcome, receive_outcome) = oneshot::channel();
        let queued = Self {
            command,
            steps,
            outcome,
        };
        (queued, receive_steps, receive_outcome)
    }

    /// Returns the command.
    pub fn command(&self) -> &CycleCommand {
        &self.command
    }

    /// Returns whether the command may change anything.
    pub fn writes(&self) -> bool {
        !self.command.dry_run
    }

    /// Sends the final response.
    pub fn respond(self, response: Response) {
        // A client that went away is no error.
        let _nobody_listens = self.outcome.send(response);
    }
}

/// Sends the engine's progress to the client of the running command, and each wait also to the clients of queued
/// commands.
#[derive(Clone, Debug, Default)]
pub struct ProgressSink(Arc<Mutex<Listeners>>);

#[derive(Debug, Default)]
struct Listeners {
    running: Option<mpsc::Sender<Progress>>,
    /// The channels of all commands without a final response. A channel is closed when the command has its response.
    queued: Vec<mpsc::WeakSender<Progress>>,
    /// The last wait, and its end.
    wait: Option<(WaitNote, Instant)>,
}

impl Listeners {
    /// Returns the current wait, with the time that is left.
    fn wait(&self) -> Option<WaitNote> {
        let (note, until) = self.wait.as_ref()?;
        let wait = until.checked_duration_since(Instant::now())?;
        Some(WaitNote {
            wait,
            ..note.clone()
        })
    }
}

impl ProgressSink {
    /// Adds a queued command.
    pub fn add(&self, command: &QueuedCommand) {
        let mut listeners = self.listeners();
        if let Some(note) = listeners.wait() {
            let _missed = command.steps.try_send(Progress::Waiting(note));
        }
        listeners.queued.retain(|steps| steps.strong_count() > 0);
        listeners.queued.push(command.steps.downgrade());
    }

    /// Sends the progress to this command's client from now on; `None`: to nobody.
    pub fn send_to(&self, command: Option<&QueuedCommand>) {
        let mut listeners = self.listeners();
        listeners.running = command.map(|command| command.steps.clone());
        listeners.wait = None;
    }

    /// Sends a step. A slow client misses some steps.
    pub fn send(&self, progress: Progress) {
        let mut listeners = self.listeners();
        // A step shows that the wait is over.
        listeners.wait = None;
        if let Some(steps) = &listeners.running {
            let _missed = steps.try_send(progress);
        }
    }

    /// Sends the beginning of a wait.
    pub fn waits(&self, note: WaitNote) {
        let mut listeners = self.listeners();
        listeners.queued.retain(|steps| {
            let steps = steps.upgrade();
            if let Some(steps) = &steps {
                let _missed = steps.try_send(Progress::Waiting(note.clone()));
            }
            steps.is_some()
        });
        let until = Instant::now() + note.wait;
        listeners.wait = Some((note, until));
    }

    /// Returns the current wait, with the time that is left.
    pub fn current_wait(&self) -> Option<WaitNote> {
        self.listeners().wait()
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconcile::snapshot::Direction;

    #[test]
    fn finished_commands_leave_no_listener() {
        let sink = ProgressSink::default();
        for _ in 0..10 {
            let (queued, _steps, _outcome) = QueuedCommand::new(CycleCommand::new(Direction::Both));
            sink.add(&queued);
            assert_eq!(sink.listeners().queued.len(), 1);
        }
    }
}
