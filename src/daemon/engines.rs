//! The real cycles: runs the engines of all workspaces, one after the other, and merges their reports.

use super::control::Refusal;
use super::debounce::DuePaths;
use super::git::{self, Remembered, Trees, View};
use super::job::{
    Approval, CycleCommand, CycleOutcome, CycleRunner, Job, OpenItems, Scope, Trigger, request_for,
    waits_out_grace,
};
use super::outage::Outage;
use crate::config::Options;
use crate::engine::report::{BudgetLeft, Ending, Report};
use crate::engine::restore::Refused;
use crate::engine::settings::CycleRequest;
use crate::engine::{self, Engine, open_actions};
use crate::mirror::disk::{Disk, DiskError};
use crate::mirror::lock::Lock;
use crate::reconcile::plan::Problem;
use crate::service::Service;
use crate::state::StateError;
use std::sync::Arc;

/// Reads the settings again. Returns the settings of the loop, and the settings of each engine in order.
pub type Reload<'r> =
    Box<dyn FnMut() -> Result<(Options, Vec<engine::settings::Settings>), String> + 'r>;

/// Reads the token again. Returns new clients, one for each workspace in order, if the token has changed.
pub type Reconnect<'r, S> = Box<dyn FnMut() -> Result<Option<Vec<S>>, String> + 'r>;

/// The engine of one workspace.
pub struct WorkspaceEngine<S, D> {
    /// The prefix of the workspace's paths: `""`, or the folder's name and a `/`.
    pub prefix: String,
    /// The engine.
    pub engine: Engine<S, D>,
    /// Keeps other processes out of the workspace's folder.
    pub lock: Lock,
}

/// The engines of all workspaces.
pub struct Engines<'r, S, D> {
    workspaces: Vec<WorkspaceEngine<S, D>>,
    trees: Trees,
    reload: Reload<'r>,
    reconnect: Reconnect<'r, S>,
    /// Whether the service rejected the token in the last cycle.
    token_rejected: bool,
    /// Why the token could not be read again. The reason is logged once.
    no_token: Option<String>,
}

impl<'r, S: Service, D: Disk> Engines<'r, S, D> {
    /// Creates the runner. `trees` has the folders of the workspaces, with the same prefixes.
    pub fn new(
        workspaces: Vec<WorkspaceEngine<S, D>>,
        trees: Trees,
        reload: Reload<'r>,
        reconnect: Reconnect<'r, S>,
    ) -> Self {
        Self {
            workspaces,
            trees,
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

    fn open_items(&self) -> OpenItems {
        let mut open_items = OpenItems::default();
        for workspace in &self.workspaces {
            let store = workspace.engine.store();
            match open_actions::held_deletions(store) {
                Ok(held) => open_items.held_deletions += held,
                Err(error) => tracing::warn!("{error:#}"),
            }
            match (
                store.conflicts(),
                store.pending_requests(),
                store.article_count(),
            ) {
                (Ok(conflicts), Ok(pending_requests), Ok(articles)) => {
                    open_items.articles += articles;
                    open_items.conflicts += conflicts.len();
                    open_items.pending_requests += pending_requests.len();
                }
                (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                    tracing::warn!(%error, "cannot count the open items of the state");
                }
            }
        }
        open_items
    }
}

impl<S: Service, D: Disk> CycleRunner for Engines<'_, S, D> {
    async fn run(&mut self, job: &Job) -> CycleOutcome {
        let mut report =
            Report::new(matches!(&job.scope, Scope::Command(command) if command.dry_run));
        let (mut outage, mut refused) = (None, None);
        if std::mem::take(&mut self.token_rejected) {
            self.reconnect();
        }
        // The job's list of paths in motion was made now; the last workspace may be synced much later.
        let began = engine::Clock::now(&engine::SystemClock);
        for workspace in &mut self.workspaces {
            let Some(mut request) = request_for(job, &workspace.prefix) else {
                continue;
            };
            if waits_out_grace(&job.scope) {
                request.in_motion.listed_at = Some(began);
            }
            // Git may move HEAD before this workspace is synced, or during a request.
            if let Some(folder) = self.trees.folder(&workspace.prefix) {
                let view = View::new(folder, job.git.clone());
                workspace.engine.set_git(Arc::new(view));
            }
            if let Scope::Command(command) = &job.scope
                && let Err(error) = workspace.approvals(command, true)
            {
                note_failure(&mut report, &workspace.prefix, &error);
                continue;
            }
            if let Err(error) = workspace.restore(job, &mut request, &mut report).await {
                match error.downcast::<Refused>() {
                    Ok(why) => refused = Some(refusal(why)),
                    Err(error) => note_failure(&mut report, &workspace.prefix, &error),
                }
                continue;
            }
            match workspace.engine.settle(&request).await {
                Ok(found) => {
                    if let Scope::Command(command) = &job.scope
                        && found.stopped.is_none()
                        && let Err(error) = workspace.approvals(command, false)
                    {
                        note_failure(&mut report, &workspace.prefix, &error);
                    }
                    let met = found.service_failure();
                    let met = met.and_then(|(kind, _)| Outage::of(kind));
                    report.add(found);
                    if met.is_some() {
                        outage = met;
                        break;
                    }
                }
                Err(error) => {
                    note_failure(&mut report, &workspace.prefix, &error);
                    outage = Some(Outage::MirrorUnusable);
                }
            }
        }
        self.token_rejected = outage == Some(Outage::TokenRejected);
        // A poll may not spend the reserve for pushes, so a poll without budget is no outage.
        let is_poll = job.scope == Scope::Everything && job.trigger != Trigger::Startup;
        CycleOutcome {
            open_items: self.open_items(),
            outage: outage.filter(|outage| !(is_poll && outage.is_of_budget())),
            report,
            refused,
        }
    }

    fn drop_unchanged(&mut self, mut due: DuePaths) -> DuePaths {
        due.changed.retain(|path| self.has_changed(path));
        due.removed.retain(|path, _gone| self.has_changed(path));
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
        let usage = self
            .workspaces
            .first()
            .map(|workspace| workspace.engine.service().usage());
        usage.map_or_else(BudgetLeft::default, BudgetLeft::from)
    }

    fn remember(&mut self, prefix: &str, what: &Remembered) {
        let mut workspaces = self.workspaces.iter_mut();
        let Some(workspace) = workspaces.find(|workspace| workspace.prefix == prefix) else {
            return;
        };
        if let Err(error) = git::remember(workspace.engine.store_mut(), what) {
            tracing::warn!(%error, "git's branch or HEAD could not be stored");
        }
    }

    fn remembered(&self, prefix: &str) -> Remembered {
        let mut workspaces = self.workspaces.iter();
        let workspace = workspaces.find(|workspace| workspace.prefix == prefix);
        workspace
            .map(|workspace| git::remembered(workspace.engine.store()))
            .unwrap_or_default()
    }

    fn missing_files(&mut self) -> Vec<String> {
        let mut missing = Vec::new();
        for workspace in &mut self.workspaces {
            match workspace.engine.missing() {
                Ok(places) => {
                    missing.extend(
                        places
                            .iter()
                            .map(|place| format!("{}{place}", workspace.prefix)),
                    );
                }
                Err(error) => tracing::warn!("{error:#}"),
            }
        }
        missing
    }

    fn lost_mirror(&self) -> Option<String> {
        self.workspaces.iter().find_map(|workspace| {
            if !workspace.lock.holds() {
                return Some(format!(
                    "the lock {} was removed or replaced while the daemon ran",
                    workspace.lock.path().display()
                ));
            }
            workspace
                .engine
                .store()
                .stay()
                .err()
                .map(|error| error.to_string())
        })
    }

    fn reload(&mut self) -> Result<Options, String> {
        let (settings, each) = (self.reload)()?;
        for (workspace, settings) in self.workspaces.iter_mut().zip(each) {
            workspace.engine.set_settings(settings);
        }
        self.reconnect();
        Ok(settings)
    }
}

impl<S: Service, D: Disk> Engines<'_, S, D> {
    /// Returns whether a path differs from the state.
    fn has_changed(&self, path: &str) -> bool {
        let Some((workspace, below)) = self.workspaces.iter().find_map(|workspace| {
            let below = path.strip_prefix(&workspace.prefix)?;
            Some((workspace, below))
        }) else {
            return false;
        };
        match below.split_once('/') {
            Some((folder, file)) => !workspace.engine.is_known(folder, file),
            None => !workspace.engine.is_folder_known(below),
        }
    }
}

impl<S: Service, D: Disk> WorkspaceEngine<S, D> {
    /// Stores the approvals of a command before its cycle, or deletes those that the cycle did not use.
    fn approvals(&mut self, command: &CycleCommand, store: bool) -> anyhow::Result<()> {
        if command.approve.is_empty() || command.dry_run {
            return Ok(());
        }
        self.engine.store_mut().write(|tx| {
            for Approval { side, mark } in &command.approve {
                if store {
                    tx.approve(*side, *mark)?;
                } else {
                    tx.take_approval(*side, *mark)?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Restores the versions that a command names, and limits the cycle to their files. Adds a line or a problem to the
    /// report for each version.
    async fn restore(
        &mut self,
        job: &Job,
        request: &mut CycleRequest,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let wishes = match &job.scope {
            Scope::Command(command) if !command.dry_run => command.restore.as_slice(),
            Scope::Command(_) | Scope::Everything | Scope::Mirror | Scope::Paths(_) => &[],
        };
        if wishes.is_empty() {
            return Ok(());
        }
        let restored = self.engine.restore(wishes).await;
        report.add_restored(restored.lines, restored.refused);
        if let Some(error) = restored.failed {
            return Err(error);
        }
        request.scope = restored.places;
        Ok(())
    }
}

/// The exit code is the same with and without a daemon.
fn refusal(why: Refused) -> Refusal {
    Refusal {
        code: why.kind.exit_code(),
        message: why.message,
        help: why.help,
    }
}

fn note_failure(report: &mut Report, prefix: &str, error: &anyhow::Error) {
    let message = error_text(error);
    tracing::error!("{message}");
    report.outcome = Ending::Failed;
    report.problems.push(Problem {
        path: prefix.trim_end_matches('/').to_owned(),
        id: None,
        message,
    });
}

/// Formats an error. Bare errors of the lower modules are fragments; errors with context are sentences already.
fn error_text(error: &anyhow::Error) -> String {
    let Some(first) = error.chain().next() else {
        return format!("{error:#}");
    };
    match first.downcast_ref::<DiskError>() {
        Some(disk) if disk.kind.remedy().is_some() => format!("failed to {}", disk.with_remedy()),
        Some(_) => format!("failed to {error:#}"),
        None if first.is::<StateError>() => format!("failed to {error:#}"),
        None => format!("{error:#}"),
    }
}
