//! The work of one command on the mirror. A command that changes something runs in the daemon that has the mirror.
//! Without a daemon, the same cycle runs here, under the command's own lock.

use super::ExitCode;
use super::connect::{self, account};
use super::consent::{self, warn_of_limits};
use super::context::Context;
use super::failure::Failure;
use super::interrupt::{Work, until_stopped};
use super::progress::Progress;
use super::{git_head, locks, report, via_daemon};
use crate::config::{Config, Root};
use crate::daemon::control::Refusal;
use crate::daemon::git;
use crate::daemon::job::{CycleCommand, CycleOutcome, Job, Scope, Trigger};
use crate::daemon::workspaces::{WorkspaceEngine, run_job, stop_failure};
use crate::engine::report::Report;
use crate::engine::{self, StopCause, open, open_actions};
use crate::mirror::RealDisk;
use crate::model::path::PRIVATE_FOLDER;
use crate::reconcile::snapshot::Direction;
use crate::service::client::Client;
use crate::service::token::Token;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Runs a command's cycle: in the daemon, or here. `refilled`: the workspace whose files are all restored, and whose
/// folder may be empty.
pub(super) async fn run(
    context: &Context,
    config: &Config,
    doing: &str,
    command: CycleCommand,
    refilled: Option<&Root>,
) -> Result<SessionReport, Failure> {
    if command.dry_run {
        return Session::open(context, config)?.cycle(command).await;
    }
    let done = via_daemon::to_daemon(context, config, command.clone()).await?;
    if let Some(session_report) = done {
        return Ok(session_report);
    }
    let session = Session::open(context, config)?;
    session.here(doing, command, refilled).await
}

/// A session on a mirror.
pub(super) struct Session<'c> {
    context: &'c Context,
    config: &'c Config,
    token: Token,
    stop: CancellationToken,
    progress: Arc<Mutex<Progress>>,
}

/// The report, and the failures beside it.
#[derive(Debug, Default)]
pub(super) struct SessionReport {
    /// The merged report of all workspaces.
    pub(super) report: Report,
    /// The failures of workspaces, of the service, and a signal.
    pub(super) failures: Vec<Refusal>,
}

impl<'c> Session<'c> {
    /// Opens a session. It takes no lock: a command that writes takes the locks itself.
    pub(super) fn open(context: &'c Context, config: &'c Config) -> Result<Self, Failure> {
        consent::settle(context, config)?;
        let token = connect::read_token(context, account(config))?;
        warn_of_limits(config);
        let progress = Progress::new(context.out, config.options.budget);
        Ok(Self {
            context,
            config,
            token,
            stop: CancellationToken::new(),
            progress: Arc::new(Mutex::new(progress)),
        })
    }

    /// Runs a command's cycle here, under the command's own lock.
    pub(super) async fn here(
        &self,
        doing: &str,
        command: CycleCommand,
        refilled: Option<&Root>,
    ) -> Result<SessionReport, Failure> {
        // Wrong settings are reported before anything is locked or created.
        self.client()?;
        if let Some(root) = refilled.filter(|root| !root.path.join(PRIVATE_FOLDER).exists()) {
            // After the lock the folder counts as synced, so the unfinished restore is stored before.
            let mut store = open::unlocked_state(self.config, root)?;
            let requests = command.restore.iter();
            let articles = requests.filter_map(|one| one.subject.article());
            open_actions::begin_restore(&mut store, articles)?;
        }
        let _locks = locks::take(self.config, doing, refilled)?;
        self.cycle(command).await
    }

    /// Returns the report of a sync's dry run, or the first failure.
    pub(super) async fn look(&self) -> Result<Report, Failure> {
        let command = CycleCommand {
            dry_run: true,
            ..CycleCommand::new(Direction::Both)
        };
        let session_report = self.cycle(command).await?;
        match session_report.failures.into_iter().next() {
            None => Ok(session_report.report),
            Some(failure) => Err(failure.into()),
        }
    }

    /// Runs a command's cycle in each workspace that it concerns. A workspace that cannot be opened is a failure, and
    /// the others continue.
    async fn cycle(&self, command: CycleCommand) -> Result<SessionReport, Failure> {
        let (kind, is_dry) = if command.dry_run {
            (Work::Look, true)
        } else {
            (Work::Change, false)
        };
        let git = git_head::look(self.config);
        let job = Job::new(Trigger::Manual, Scope::Command(command), git);
        let (mut workspaces, mut closed) = (Vec::new(), Vec::new());
        for root in self.config.roots() {
            if !job.concerns(&root.prefix) {
                continue;
            }
            match self.engine(&root, is_dry) {
                Ok(workspace) => workspaces.push(workspace),
                Err(failure) if failure.code == ExitCode::Usage => return Err(failure),
                Err(failure) => closed.push(Refusal {
                    path: Some(root.folder().to_owned()),
                    ..failure.into()
                }),
            }
        }
        let work = Box::pin(async { Ok(run_job(&mut workspaces, &job).await) });
        let stop = Some(self.stop.clone());
        let (mut outcome, interrupted) = until_stopped(kind, stop, work, self.so_far()).await?;
        self.finish();
        for failure in closed {
            outcome.report.fail_with(failure.code);
            outcome.failures.push(failure);
        }
        drop(workspaces);
        if !is_dry && let Err(failure) = self.remember(&job, &outcome) {
            // What was done is reported all the same.
            outcome.failures.push(failure.into());
        }
        let CycleOutcome {
            report,
            mut failures,
            ..
        } = outcome;
        // A signal that came too late to stop the work is no failure.
        let signal = interrupted.filter(|_| report.stopped.is_some());
        let signal = signal.map(Refusal::from);
        failures.extend(signal.or_else(|| stop_failure(&report, None)));
        Ok(SessionReport { report, failures })
    }

    /// Returns a function that describes the progress and removes the bar.
    fn so_far(&self) -> impl FnOnce() -> String + use<> {
        let progress = self.progress.clone();
        move || {
            let progress = lock(&progress);
            // Described first: a finished bar counts as a finished phase.
            let so_far = progress.so_far();
            progress.finish();
            so_far
        }
    }

    /// Stores the published branch, and each HEAD at which both sides agree on removals.
    fn remember(&self, job: &Job, outcome: &CycleOutcome) -> Result<(), Failure> {
        for (prefix, what) in job.to_remember(outcome) {
            let mut roots = self.config.roots().into_iter();
            if let Some(root) = roots.find(|root| root.prefix == prefix) {
                git::remember(&mut open::write_state(self.config, &root)?, &what)?;
            }
            if let Some(branch) = what.branch {
                self.context.out.note(format!(
                    "branch {branch} is the published branch from now on, and nothing is synced on other branches; to \
                     publish another branch, write `git: {{branch: …}}` into kbsync.yaml"
                ));
            }
        }
        Ok(())
    }

    /// Makes an engine for a workspace.
    fn engine(
        &self,
        root: &Root,
        read_only: bool,
    ) -> Result<WorkspaceEngine<Client, RealDisk>, Failure> {
        let store = if read_only {
            open::read_state(self.config, root)?
        } else {
            open::write_state(self.config, root)?
        };
        let client = self.client()?;
        let engine = open::engine(self.config, root, client, store)?;
        let progress = self.progress.clone();
        let teller = Arc::new(move |step| lock(&progress).show(step));
        Ok(WorkspaceEngine {
            root: root.clone(),
            engine: engine.with_teller(teller),
        })
    }

    /// Makes a client.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        let (account, token) = (account(self.config), self.token.clone());
        let progress = self.progress.clone();
        let client = connect::client(self.context, account, token, |options| {
            options.notify = Some(Arc::new(move |note| {
                lock(&progress).show(engine::Progress::Waiting(note));
            }));
            options.stop = self.stop.clone();
        })?;
        lock(&self.progress).set_budget(client.budget().clone());
        Ok(client)
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        lock(&self.progress).finish();
    }
}

impl SessionReport {
    /// Returns whether a signal, the service or the mirror ended the work early.
    pub(super) fn is_cut_off(&self) -> bool {
        let stop = self.report.stopped.as_ref();
        stop.is_some_and(|stop| stop.cause != StopCause::Git)
    }

    /// Returns the exit code. A signal counts first. Wrong usage counts as a failure if something was done.
    pub(super) fn code(&self, exit_code: bool) -> ExitCode {
        let codes = self.failures.iter();
        let codes = codes.map(|failure| ExitCode::numbered(failure.code));
        let failed = codes.map(|code| {
            if code == ExitCode::Usage && !self.report.actions.is_empty() {
                ExitCode::Failed
            } else {
                code
            }
        });
        ExitCode::worst(failed.chain([report::code(&self.report, exit_code)]))
    }
}

/// Locks the progress, which stays usable after a panic elsewhere.
fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
