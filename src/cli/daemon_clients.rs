//! The daemon's clients: made at the start, and again when the token has changed.
//!
//! All waits are reported to the commands that wait for the daemon. A wait counts as progress, unless the service is
//! silent.

use super::{
    connect::{self, account},
    consent,
    context::Context,
    failure::Failure,
};
use crate::{
    config::{Config, Need},
    daemon::control::ProgressSink,
    engine::report::BudgetLeft,
    service::{
        budget::Budget,
        client::{Answered, Client, Notify, WaitNote, WaitReason},
        token::Token,
    },
    web::{BudgetSource, shared_status::SharedStatus},
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};
use tokio_util::sync::CancellationToken;

/// Makes a client for each workspace.
pub(super) struct Clients<'r> {
    context: &'r Context,
    config: &'r Config,
    status: Arc<SharedStatus>,
    progress: ProgressSink,
    stop: CancellationToken,
    is_down: Arc<AtomicBool>,
    /// The token of the present clients.
    token: Option<Token>,
    /// The budget, which all workspaces share because they have one service and one token.
    budget: Arc<Mutex<Option<Budget>>>,
}

impl<'r> Clients<'r> {
    /// Prepares the clients. Reads no token.
    pub(super) fn new(
        context: &'r Context,
        config: &'r Config,
        status: &Arc<SharedStatus>,
        progress: &ProgressSink,
        stop: &CancellationToken,
    ) -> Self {
        Self {
            context,
            config,
            status: Arc::clone(status),
            progress: progress.clone(),
            stop: stop.clone(),
            is_down: Arc::default(),
            token: None,
            budget: Arc::default(),
        }
    }

    /// Makes the first clients.
    pub(super) fn connect(&mut self) -> Result<Vec<Client>, Failure> {
        consent::settle(self.context, self.config)?;
        let token = connect::read_token(self.context, account(self.config))?;
        self.connect_as(token)
    }

    /// Reads the token again, and makes new clients if the token has changed.
    pub(super) fn reconnect(&mut self) -> Result<Option<Vec<Client>>, Failure> {
        // Links may have changed, so the agreement is checked again. Nobody is asked.
        let fresh = self.context.config(Need::Workspace)?;
        if fresh.token != self.config.token {
            let message = "the token's source has changed";
            return Err(Failure::failed(message, "restart the daemon"));
        }
        consent::check(self.context, &fresh)?;
        let token = connect::read_token(self.context, account(self.config))?;
        if self.token.as_ref() == Some(&token) {
            return Ok(None);
        }
        self.connect_as(token).map(Some)
    }

    fn connect_as(&mut self, token: Token) -> Result<Vec<Client>, Failure> {
        let mut clients = Vec::new();
        for _workspace in self.config.roots() {
            let account = account(self.config);
            let client = connect::client(self.context, account, token.clone(), |options| {
                options.notify = Some(self.waits());
                options.answered = Some(self.answers());
                options.stop = self.stop.clone();
            })?;
            clients.push(client);
        }
        let budget = clients.first().map(|client| client.budget().clone());
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner) = budget;
        self.token = Some(token);
        Ok(clients)
    }

    /// Returns the callback for a client's waits. A wait for the budget counts as progress. A terminal shows each wait,
    /// but only the first of several tries to reach the service.
    fn waits(&self) -> Notify {
        let (status, progress) = (Arc::clone(&self.status), self.progress.clone());
        let (service, is_down) = (self.config.service.clone(), Arc::clone(&self.is_down));
        Arc::new(move |note: WaitNote| {
            // A wait for a silent service is no progress.
            if !note.is_most() {
                let now = tokio::time::Instant::now();
                status.update(|status| status.progress = now);
            }
            match &note.cause {
                Some(cause) if note.reason == WaitReason::Again => {
                    if !is_down.swap(true, Ordering::Relaxed) {
                        let wait = note.wait_in_words();
                        tracing::debug!(target: "kbsync::wait", "cannot reach {service} ({cause}), next try in {wait}");
                    }
                }
                _ => tracing::debug!(target: "kbsync::wait", "{note}"),
            }
            progress.waits(note);
        })
    }

    /// Returns the callback that counts each answer, including answers to attempts that are repeated.
    fn answers(&self) -> Answered {
        let (status, is_down) = (Arc::clone(&self.status), Arc::clone(&self.is_down));
        Arc::new(move |method, code| {
            // Any answer below 500 shows that the service can be reached.
            if code.is_some_and(|code| code < 500) {
                is_down.store(false, Ordering::Relaxed);
            }
            status.metrics.request(method.as_str(), code);
        })
    }

    /// Returns a source that reads the budget when it is shown: other processes spend the budget too, and it grows with
    /// time.
    pub(super) fn budget_source(&self) -> BudgetSource {
        let budget = Arc::clone(&self.budget);
        Arc::new(move || {
            let budget = budget.lock().unwrap_or_else(PoisonError::into_inner);
            budget
                .as_ref()
                .map_or_else(BudgetLeft::default, Budget::left)
        })
    }
}
