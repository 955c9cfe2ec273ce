//! The signals that a supervisor or a person sends.

use super::Event;
use std::io;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::Sender,
};
use tokio_util::sync::CancellationToken;

/// The signals, taken over from the system's defaults.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user: Signal,
}

impl Signals {
    /// Takes them over. From here on a signal is an event, also one that comes before [`Signals::run`].
    pub fn take() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }

    /// Sends what comes until it is stopped.
    pub async fn run(mut self, to: Sender<Event>, stop: CancellationToken) {
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return,
                _ = self.terminate.recv() => Event::Stop,
                _ = self.interrupt.recv() => Event::Stop,
                _ = self.hang_up.recv() => Event::Reload,
                _ = self.user.recv() => Event::SyncNow,
            };
            if to.send(event).await.is_err() {
                return;
            }
        }
    }
}
