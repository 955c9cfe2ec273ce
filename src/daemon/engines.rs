//! The real cycles: the engines of all workspaces behind the port of the loop.

use super::control::Refusal;
use super::debounce::DuePaths;
use super::git::{self, Known, Remembered};
use super::job::{CycleCommand, CycleOutcome, CycleRunner, Job};
use super::outage::Outage;
use super::settings_mark::SettingsMark;
use super::workspaces::{WorkspaceEngine, run_job, stop_failure};
use crate::config::{Options, PublishedBranch};
use crate::engine::report::BudgetLeft;
use crate::engine::{self, PathCheck};
use crate::mirror::disk::Disk;
use crate::mirror::lock::Lock;
use crate::model::Place;
use crate::service::{Purpose, Service};

/// Reads the settings again.
pub type Reload<'r> = Box<dyn FnMut() -> Result<Reloaded, String> + 'r>;

/// The settings that were read again.
pub struct Reloaded {
    /// The settings of the loop.
    pub options: Options,
    /// The settings of each engine, in order.
    pub engines: Vec<engine::settings::Settings>,
    /// The settings that commands must have as well.
    pub mark: SettingsMark,
}

/// Reads the token again. Returns new clients, one for each workspace in order, if the token has changed.
pub type Reconnect<'r, S> = Box<dyn FnMut() -> Result<Option<Vec<S>>, String> + 'r>;

/// The engines of all workspaces.
pub struct Engines<'r, S, D> {
    workspaces: Vec<WorkspaceEngine<S, D>>,
    /// Keep other processes out of the workspaces' folders.
    locks: Vec<Lock>,
    /// The settings that commands must have as well.
    mark: SettingsMark,
    /// The name of the token's source.
    token: String,
    reload: Reload<'r>,
    reconnect: Reconnect<'r, S>,
    /// Whether the service rejected the token in the last cycle.
    token_rejected: bool,
    /// Why the token could not be read again. The reason is logged once.
    no_token: Option<String>,
}

impl<'r, S: Service, D: Disk> Engines<'r, S, D> {
    /// Creates the runner.
    pub fn new(
        workspaces: Vec<WorkspaceEngine<S, D>>,
        locks: Vec<Lock>,
        mark: SettingsMark,
        token: String,
        reload: Reload<'r>,
        reconnect: Reconnect<'r, S>,
    ) -> Self {
        Self {
            workspaces,
            locks,
            mark,
            token,
            reload,
            reconnect,
            token_rejected: false,
            no_token: None,
        }
    }

    /// Reads the token again, and switches to a changed token.
    fn reconnect(&mut self) {
        match (self.reconnect)() {
            Ok(None) => self.no_token = None,
            Ok(Some(clients)) => {
                self.no_token = None;
                for (workspace, client) in self.workspaces.iter_mut().zip(clients) {
                    workspace.engine.set_service(client);
                }
                tracing::info!("the token has changed; the daemon continues with the new one");
            }
            Err(why) => {
                if self.no_token.as_ref() != Some(&why) {
                    tracing::warn!("the daemon keeps the old token: {why}");
                }
                self.no_token = Some(why);
            }
        }
    }
}

impl<S: Service, D: Disk> CycleRunner for Engines<'_, S, D> {
    async fn run(&mut self, job: &Job) -> CycleOutcome {
        if std::mem::take(&mut self.token_rejected) {
            self.reconnect();
        }
        let mut outcome = run_job(&mut self.workspaces, job).await;
        for failure in &outcome.failures {
            tracing::error!("{failure}");
        }
        let stop = stop_failure(&outcome.report, Some(&self.token));
        outcome.failures.extend(stop);
        self.token_rejected = outcome.outage == Some(Outage::TokenRejected);
        // The next poll is soon enough.
        let is_poll = job.purpose() == Purpose::Poll;
        outcome.outage = outcome
            .outage
            .filter(|outage| !(is_poll && outage.is_of_budget()));
        outcome
    }

    fn refusal(&self, command: &CycleCommand) -> Option<Refusal> {
        self.mark.refusal(command.settings.as_ref()?)
    }

    fn drop_unchanged(&mut self, mut due: DuePaths) -> DuePaths {
        if due.is_empty() {
            return due;
        }
        let workspaces = self.workspaces.iter();
        let checks: Vec<_> = workspaces
            .map(|workspace| {
                (
                    workspace.root.prefix.as_str(),
                    workspace.engine.path_check(),
                )
            })
            .collect();
        due.retain(|path, _| has_changed(&checks, path));
        due
    }

    fn is_as_recorded(&mut self) -> bool {
        self.workspaces.iter_mut().all(|workspace| {
            workspace.engine.is_as_recorded().unwrap_or_else(|error| {
                tracing::warn!("{error:#}");
                false
            })
        })
    }

    fn budget_left(&self) -> BudgetLeft {
        let left = self
            .workspaces
            .first()
            .map(|workspace| workspace.engine.service().budget_left());
        left.unwrap_or_default()
    }

    fn repositories(&self, setting: &PublishedBranch) -> Vec<Known> {
        let workspaces = || self.workspaces.iter();
        let roots = workspaces().map(|one| &one.root);
        let folders = roots.map(|root| (root.prefix.as_str(), root.path.as_path()));
        git::look(folders, setting, |prefix| {
            let workspace = workspaces().find(|one| one.root.prefix == prefix);
            workspace
                .map(|one| git::remembered(one.engine.store()))
                .unwrap_or_default()
        })
    }

    fn remember(&mut self, prefix: &str, what: &Remembered) {
        let mut workspaces = self.workspaces.iter_mut();
        let Some(workspace) = workspaces.find(|workspace| workspace.root.prefix == prefix) else {
            return;
        };
        if let Err(error) = git::remember(workspace.engine.store_mut(), what) {
            tracing::warn!(%error, "git's branch or HEAD could not be stored");
        }
    }

    fn lost_mirror(&self) -> Option<String> {
        if let Some(lock) = self.locks.iter().find(|lock| !lock.holds()) {
            return Some(format!(
                "the lock {} was removed or replaced while the daemon ran",
                lock.path().display()
            ));
        }
        let mut stores = self
            .workspaces
            .iter()
            .map(|workspace| workspace.engine.store());
        let lost = stores.find_map(|store| store.stay().err())?;
        Some(lost.to_string())
    }

    fn reload(&mut self) -> Result<Options, String> {
        let fresh = (self.reload)()?;
        for (workspace, settings) in self.workspaces.iter_mut().zip(fresh.engines) {
            workspace.engine.set_settings(settings);
        }
        self.mark = fresh.mark;
        self.reconnect();
        Ok(fresh.options)
    }
}

/// Returns whether a path differs from the state of its workspace, by the checks of all workspaces with their prefixes.
fn has_changed<D: Disk>(checks: &[(&str, PathCheck<'_, D>)], path: &str) -> bool {
    let mut checks = checks.iter();
    let found = checks.find_map(|(prefix, check)| Some((check, path.strip_prefix(prefix)?)));
    let Some((check, below)) = found else {
        return false;
    };
    match below.split_once('/') {
        Some((folder, file)) => !check.is_file_known(&Place::new(folder, file)),
        None => !check.is_folder_known(below),
    }
}
