//! The work of one command on the mirror: its lock, its client, its progress, and a cycle for each workspace.

use super::connect::connect_with;
use super::consent::warn_of_limits;
use super::context::Context;
use super::exit::ExitCode;
use super::failure::Failure;
use super::git_head::GitHeads;
use super::interrupt::{Work, until_stopped};
use super::progress::Progress;
use super::scope::{self, Part};
use super::{locks, report};
use crate::config::{Config, Root};
use crate::daemon::control::Step;
use crate::daemon::git::{self, Remembered};
use crate::engine::report::{Ending, Report, Requests};
use crate::engine::settings::CycleRequest;
use crate::engine::{Engine, open};
use crate::mirror::RealDisk;
use crate::mirror::lock::Lock;
use crate::reconcile::plan::Problem;
use crate::service::client::Client;
use crate::service::{Service, Usage};
use crate::state::Store;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// A session on a mirror.
pub(super) struct Session<'c> {
    context: &'c Context,
    config: &'c Config,
    client: Option<Client>,
    stop: CancellationToken,
    progress: Arc<Mutex<Progress>>,
    git_heads: GitHeads,
    /// The locks, held until the command ends.
    locks: Vec<Lock>,
}

/// The report, and the failures beside it.
#[derive(Debug, Default)]
pub(super) struct SessionReport {
    /// The merged report of all workspaces.
    pub(super) report: Report,
    /// Failures of this machine, such as the state or the disk.
    pub(super) failures: Vec<Failure>,
    /// The source of the token of the daemon that ran the cycle, if the service refused the token.
    pub(super) daemon_token: Option<String>,
}

impl<'c> Session<'c> {
    /// Opens a session that only reads: no lock, and nothing is written.
    pub(super) fn reading(context: &'c Context, config: &'c Config) -> Result<Self, Failure> {
        let progress = Progress::new(context.out, config.options.budget);
        let mut session = Self {
            context,
            config,
            client: None,
            stop: CancellationToken::new(),
            progress: Arc::new(Mutex::new(progress)),
            git_heads: GitHeads::default(),
            locks: Vec::new(),
        };
        session.git_heads = GitHeads::look(config);
        let client = session.connect()?;
        warn_of_limits(config);
        session.client = Some(client);
        Ok(session)
    }

    /// Opens a session that writes, under the lock. `refilled`: the workspace whose files are all restored, and whose
    /// folder may be empty.
    pub(super) fn writing(
        context: &'c Context,
        config: &'c Config,
        doing: &str,
        refilled: Option<&Root>,
    ) -> Result<Self, Failure> {
        let mut session = Self::reading(context, config)?;
        session.locks = locks::take(config, doing, refilled)?;
        // The previous holder of the lock may have stored other values.
        session.git_heads = GitHeads::look(config);
        Ok(session)
    }

    /// Runs one cycle for each workspace, and merges the reports.
    pub(super) async fn cycles(
        &mut self,
        parts: &[Part],
        request: &CycleRequest,
    ) -> Result<SessionReport, Failure> {
        let so_far = self.so_far();
        let kind = if request.dry_run {
            Work::Look
        } else {
            Work::Last
        };
        let stop = self.stop.clone();
        let cycles = Box::pin(self.run_cycles(parts, request));
        let (mut session_report, interrupted) =
            until_stopped(kind, Some(stop), cycles, so_far).await?;
        // A signal that came too late to stop the work is no failure.
        let was_stopped = session_report.report.stopped.is_some();
        session_report
            .failures
            .extend(interrupted.filter(|_| was_stopped));
        Ok(session_report)
    }

    /// Returns a function that describes the progress and removes the bar.
    pub(super) fn so_far(&self) -> impl FnOnce() -> String + use<> {
        let progress = self.progress.clone();
        move || {
            let progress = lock(&progress);
            // Described first: a finished bar counts as a finished phase.
            let so_far = progress.so_far();
            progress.finish();
            so_far
        }
    }

    async fn run_cycles(
        &mut self,
        parts: &[Part],
        request: &CycleRequest,
    ) -> Result<SessionReport, Failure> {
        let mut session_report = SessionReport {
            report: Report::new(request.dry_run),
            ..SessionReport::default()
        };
        for (at, part) in parts.iter().enumerate() {
            let request = if at == 0 {
                self.guarded(request)
            } else {
                // Git may have moved HEAD during the cycle of the previous workspace.
                GitHeads::look(self.config).guard(request)
            };
            let request = CycleRequest {
                scope: part.scope.clone(),
                ..request
            };
            match self.cycle(part, &request).await {
                Ok(report) => {
                    let ends = report
                        .service_failure()
                        .is_some_and(|(kind, _)| kind.stops_all());
                    session_report.report.add(report);
                    if ends {
                        break;
                    }
                }
                Err(failure) if failure.code == ExitCode::Usage => return Err(failure),
                Err(failure) => session_report.take(failure, part),
            }
        }
        self.agree(parts, request, &session_report)?;
        self.finish();
        Ok(session_report)
    }

    /// Returns the request, with a hold on the removals that came with a moved HEAD.
    pub(super) fn guarded(&self, request: &CycleRequest) -> CycleRequest {
        self.git_heads.guard(request)
    }

    /// Stores the published branch, and each HEAD at which both sides agree on removals.
    pub(super) fn agree(
        &mut self,
        parts: &[Part],
        request: &CycleRequest,
        session_report: &SessionReport,
    ) -> Result<(), Failure> {
        if request.dry_run {
            return Ok(());
        }
        // The bar is removed first: a note would share the bar's line.
        self.finish();
        let all = scope::all(self.config);
        let git_heads = self.git_heads.clone();
        for (part, branch) in git_heads.first_branches(&all) {
            let what = Remembered {
                branch: Some(branch.clone()),
                head: None,
            };
            self.write(part, |store| git::remember(store, &what))?;
            self.context.out.note(format!(
                "branch {branch} is the published branch from now on, and nothing is synced on other branches; to publish \
                 another branch, write `git: {{branch: …}}` into kbsync.yaml"
            ));
        }
        for (part, head) in git_heads.agreed(self.config, parts, request, session_report) {
            let what = Remembered {
                head: Some(head),
                branch: None,
            };
            self.write(part, |store| git::remember(store, &what))?;
        }
        Ok(())
    }

    /// Writes into a workspace's state, between two cycles.
    fn write(
        &mut self,
        part: &Part,
        write: impl FnOnce(&mut Store) -> anyhow::Result<()>,
    ) -> Result<(), Failure> {
        let mut engine = self.engine(part, false)?;
        let outcome = write(engine.store_mut());
        self.give_back(engine);
        outcome.map_err(Failure::of)
    }

    async fn cycle(&mut self, part: &Part, request: &CycleRequest) -> Result<Report, Failure> {
        let mut engine = self.engine(part, request.dry_run)?;
        let outcome = engine.settle(request).await;
        self.give_back(engine);
        outcome.map_err(Failure::of)
    }

    /// Makes an engine for a workspace.
    pub(super) fn engine(
        &mut self,
        part: &Part,
        read_only: bool,
    ) -> Result<Engine<Client, RealDisk>, Failure> {
        let client = match self.client.take() {
            Some(client) => client,
            None => self.connect()?,
        };
        let store = if read_only {
            open::read_state(self.config, &part.root)?
        } else {
            open::write_state(self.config, &part.root).map_err(Failure::of)?
        };
        let engine = open::engine(self.config, &part.root, client, store).map_err(Failure::of)?;
        let progress = self.progress.clone();
        let mut engine =
            engine.with_teller(Arc::new(move |step| lock(&progress).show(step.into())));
        engine.set_git(self.git_heads.view(&part.root));
        Ok(engine)
    }

    /// Takes the client back from an engine, for the next workspace.
    pub(super) fn give_back(&mut self, engine: Engine<Client, RealDisk>) {
        let (client, _disk, _store) = engine.into_parts();
        self.client = Some(client);
    }

    /// Returns the client.
    pub(super) fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    /// Returns the requests so far.
    pub(super) fn requests(&self) -> Requests {
        let usage = self.client.as_ref().map(Service::usage);
        Requests::between(Usage::default(), usage.unwrap_or_default())
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        lock(&self.progress).finish();
    }

    fn connect(&self) -> Result<Client, Failure> {
        let progress = self.progress.clone();
        let client = connect_with(self.context, self.config, |options| {
            options.notify = Some(Arc::new(move |note| {
                lock(&progress).show(Step::Waiting(note));
            }));
            options.stop = self.stop.clone();
        })?;
        lock(&self.progress).set_budget(client.budget().clone());
        Ok(client)
    }
}

impl SessionReport {
    /// Returns the exit code. A signal counts first. Wrong usage counts as a failure, because something was done.
    pub(super) fn code(&self, exit_code: bool) -> ExitCode {
        let failed = self.failures.iter().map(|failure| {
            if failure.code == ExitCode::Usage {
                ExitCode::Failed
            } else {
                failure.code
            }
        });
        ExitCode::worst(failed.chain([report::code(&self.report, exit_code)]))
    }

    /// Returns whether Ctrl-C or SIGTERM ended the command.
    pub(super) fn is_interrupted(&self) -> bool {
        let mut codes = self.failures.iter().map(|failure| failure.code);
        codes.any(|code| matches!(code, ExitCode::Interrupted | ExitCode::Terminated))
    }

    /// Adds the failure of one workspace. The other workspaces continue.
    fn take(&mut self, failure: Failure, part: &Part) {
        let ending = if failure.code == ExitCode::Retry {
            Ending::Retry
        } else {
            Ending::Failed
        };
        self.report.outcome = self.report.outcome.min(ending);
        self.report.problems.push(Problem {
            path: part.prefix.clone(),
            id: None,
            message: format!("{:#}", failure.error),
        });
        self.failures.push(failure);
    }
}

/// Locks the progress, which stays usable after a panic elsewhere.
fn lock(progress: &Mutex<Progress>) -> std::sync::MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
