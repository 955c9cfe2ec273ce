//! Turns signals into events.

use super::Event;
use std::io;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::Sender,
};
use tokio_util::sync::CancellationToken;

/// The signals, with the system's default actions disabled.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user: Signal,
}

impl Signals {
    /// Disables the default actions. A signal that comes before [`Signals::run`] is not lost.
    pub fn take() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }

    /// Sends an event for each signal until the daemon stops.
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
