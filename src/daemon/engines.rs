//! The real cycles: runs the engines of all workspaces, one after the other, and merges their reports. A command
//! without a daemon runs its cycle by the same function.

use super::control::Refusal;
use super::debounce::{DuePaths, Touch};
use super::git::{self, Known, Remembered, View};
use super::job::{
    Approval, CycleCommand, CycleOutcome, CycleRunner, Job, OpenItems, Scope, Trigger, request_for,
    waits_out_grace,
};
use super::outage::Outage;
use super::settings_mark::SettingsMark;
use crate::config::{Options, PublishedBranch};
use crate::engine::report::{BudgetLeft, Report};
use crate::engine::settings::{Cause, CycleRequest};
use crate::engine::{self, Engine, PathCheck, StopCause, open_actions};
use crate::mirror::disk::Disk;
use crate::mirror::lock::Lock;
use crate::model::Place;
use crate::reconcile::plan::Plan;
use crate::reconcile::snapshot::Direction;
use crate::service::Service;
use std::path::PathBuf;
use std::sync::Arc;

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

/// Turns an error of a workspace into a failure for a person, with its exit code and its remedy.
pub type Advise = dyn Fn(anyhow::Error) -> Refusal;

/// The engine of one workspace.
pub struct WorkspaceEngine<S, D> {
    /// The prefix of the workspace's paths: `""`, or the folder's name and a `/`.
    pub prefix: String,
    /// The workspace's folder.
    pub folder: PathBuf,
    /// The engine.
    pub engine: Engine<S, D>,
}

/// The engines of all workspaces.
pub struct Engines<'r, S, D> {
    workspaces: Vec<WorkspaceEngine<S, D>>,
    /// Keep other processes out of the workspaces' folders.
    locks: Vec<Lock>,
    /// The settings that commands must have as well.
    mark: SettingsMark,
    advise: Box<Advise>,
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
        advise: Box<Advise>,
        reload: Reload<'r>,
        reconnect: Reconnect<'r, S>,
    ) -> Self {
        Self {
            workspaces,
            locks,
            mark,
            advise,
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
        let mut outcome = run_job(&mut self.workspaces, job, &*self.advise).await;
        for failure in &outcome.failures {
            tracing::error!("{failure}");
        }
        outcome
            .failures
            .extend(stop_failure(&outcome.report, &*self.advise));
        self.token_rejected = outcome.outage == Some(Outage::TokenRejected);
        // A poll may not spend the reserve for pushes, so a poll without budget is no outage.
        let is_poll = job.scope == Scope::Everything && job.trigger != Trigger::Startup;
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
            .map(|workspace| (workspace.prefix.as_str(), workspace.engine.path_check()))
            .collect();
        let changed = due.iter().filter(|(_, touch)| **touch == Touch::Changed);
        let files: Vec<String> = changed
            .filter_map(|(path, _)| file_of_copy(&checks, path))
            .collect();
        for file in files {
            due.entry(file).or_insert(Touch::Changed);
        }
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
        let usage = self
            .workspaces
            .first()
            .map(|workspace| workspace.engine.service().usage());
        usage.map_or_else(BudgetLeft::default, BudgetLeft::from)
    }

    fn repositories(&self, setting: &PublishedBranch) -> Vec<Known> {
        let workspaces = || self.workspaces.iter();
        let folders = workspaces().map(|one| (one.prefix.as_str(), one.folder.as_path()));
        git::look(folders, setting, |prefix| {
            let workspace = workspaces().find(|one| one.prefix == prefix);
            workspace
                .map(|one| git::remembered(one.engine.store()))
                .unwrap_or_default()
        })
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

/// The checks of all workspaces, by their prefixes.
type Checks<'e, D> = [(&'e str, PathCheck<'e, D>)];

/// Returns the check of a path's workspace, and the path below the workspace's folder.
fn check_of<'c, 'p, D>(
    checks: &'c Checks<'_, D>,
    path: &'p str,
) -> Option<(&'c PathCheck<'c, D>, &'p str)> {
    let mut checks = checks.iter();
    checks.find_map(|(prefix, check)| Some((check, path.strip_prefix(prefix)?)))
}

/// Returns the path of the file in conflict that an event of its copy is about.
fn file_of_copy<D: Disk>(checks: &Checks<'_, D>, path: &str) -> Option<String> {
    let (check, below) = check_of(checks, path)?;
    let (folder, file) = below.split_once('/')?;
    let place = check.file_of_copy(&Place::new(folder, file))?;
    let prefix = path.strip_suffix(below)?;
    Some(format!("{prefix}{place}"))
}

/// Returns whether a path differs from the state of its workspace, by the checks of all workspaces with their prefixes.
fn has_changed<D: Disk>(checks: &Checks<'_, D>, path: &str) -> bool {
    let Some((check, below)) = check_of(checks, path) else {
        return false;
    };
    match below.split_once('/') {
        Some((folder, file)) => !check.is_file_known(&Place::new(folder, file)),
        None => !check.is_folder_known(below),
    }
}

/// Runs the cycle of a job in each workspace that it concerns, and merges the reports: for the daemon, and for a
/// command without one.
pub async fn run_job<S: Service, D: Disk>(
    workspaces: &mut [WorkspaceEngine<S, D>],
    job: &Job,
    advise: &Advise,
) -> CycleOutcome {
    let mut report = Report::new(matches!(&job.scope, Scope::Command(command) if command.dry_run));
    let (mut outage, mut failures, mut unusable) = (None, Vec::new(), 0);
    // The job's list of paths in motion was made now; the last workspace may be synced much later.
    let started_at = engine::Clock::now(&engine::SystemClock);
    for workspace in workspaces.iter_mut() {
        let Some(mut request) = request_for(job, &workspace.prefix) else {
            continue;
        };
        if waits_out_grace(&job.scope) {
            request.in_motion.listed_at = Some(started_at);
        }
        let prepared = workspace.prepare(job, &mut request, &mut report).await;
        let is_prepared = prepared.is_ok();
        let ended = match prepared {
            Ok(()) => workspace.cycle(job, &request, &mut report).await,
            Err(error) => Err(error),
        };
        match ended {
            Ok(None) => {}
            Ok(met) => {
                outage = met;
                break;
            }
            Err(error) => {
                // Nothing was synced yet, so a failure before the cycle is no outage.
                unusable += usize::from(is_prepared);
                let failure = advise(error);
                report.fail_with(failure.code);
                failures.push(Refusal {
                    path: Some(workspace.prefix.trim_end_matches('/').to_owned()),
                    ..failure
                });
            }
        }
    }
    // One unusable workspace must not stop the others. The work queue tries its work again.
    if outage.is_none() && unusable > 0 && unusable == workspaces.len() {
        outage = Some(Outage::MirrorUnusable);
    }
    CycleOutcome {
        report,
        failures,
        outage,
        open_items: open_items(workspaces),
    }
}

/// Returns the failure of a cycle that the service or the mirror ended early. Git's end is no failure.
pub fn stop_failure(report: &Report, advise: &Advise) -> Option<Refusal> {
    let stop = report.stopped.as_ref();
    let stop = stop.filter(|stop| stop.cause != StopCause::Git)?;
    let mut failure = advise(stop.clone().into());
    if !stop.workspace.is_empty() {
        failure.message = format!("{}: {}", stop.workspace, failure.message);
    }
    Some(failure)
}

/// Returns a command's approvals for the workspace with a prefix.
fn approvals_of<'c>(command: &'c CycleCommand, prefix: &str) -> Vec<&'c Approval> {
    let approvals = command.approve.iter();
    approvals
        .filter(|approval| approval.workspace == prefix)
        .collect()
}

/// Returns the job's command, unless it is a dry run.
fn command_of(job: &Job) -> Option<&CycleCommand> {
    match &job.scope {
        Scope::Command(command) if !command.dry_run => Some(command),
        Scope::Command(_) | Scope::Everything | Scope::Mirror | Scope::Paths(_) => None,
    }
}

fn open_items<S, D>(workspaces: &[WorkspaceEngine<S, D>]) -> OpenItems
where
    S: Service,
    D: Disk,
{
    let mut open_items = OpenItems::default();
    for workspace in workspaces {
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

impl<S: Service, D: Disk> WorkspaceEngine<S, D> {
    /// Stores the approvals of a job's command, and restores its versions, before the cycle.
    async fn prepare(
        &mut self,
        job: &Job,
        request: &mut CycleRequest,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        self.set_git(job);
        if let Some(command) = command_of(job) {
            let approvals = approvals_of(command, &self.prefix);
            if !approvals.is_empty() {
                self.engine.store_mut().write(|tx| {
                    let mut each = approvals.iter();
                    each.try_for_each(|one| tx.approve(one.side, one.mark))
                })?;
            }
            self.restore(command, request, report).await?;
        }
        Ok(())
    }

    /// Runs the cycle of a job, and adds its report. Returns the outage that the cycle met.
    async fn cycle(
        &mut self,
        job: &Job,
        request: &CycleRequest,
        report: &mut Report,
    ) -> anyhow::Result<Option<Outage>> {
        let found = self.engine.cycle_until_settled(request).await?;
        let met = found.service_failure();
        let met = met.and_then(|(kind, _)| Outage::of(kind));
        let is_cut_off = found.stopped.is_some();
        report.add(found);
        if let Some(command) = command_of(job).filter(|_| !is_cut_off) {
            // An unused approval must not release a later action.
            let approvals = approvals_of(command, &self.prefix);
            if !approvals.is_empty() {
                self.engine.store_mut().write(|tx| {
                    let mut each = approvals.iter();
                    each.try_for_each(|one| tx.take_approval(one.side, one.mark))
                })?;
            }
        }
        Ok(met)
    }

    /// Makes the plan of a job, without effects.
    pub async fn plan(&mut self, job: &Job) -> anyhow::Result<Plan> {
        self.set_git(job);
        let request = request_for(job, &self.prefix);
        let request = request.unwrap_or_else(|| CycleRequest::new(Direction::Both));
        self.engine.plan(&request).await
    }

    /// Git may move HEAD before this workspace is synced, or during a request.
    fn set_git(&mut self, job: &Job) {
        let view = View::new(&self.folder, job.git.clone());
        self.engine.set_git(Arc::new(view));
    }

    /// Restores the versions that a command names, and limits the cycle to their files. Adds a line or a problem to the
    /// report for each version.
    async fn restore(
        &mut self,
        command: &CycleCommand,
        request: &mut CycleRequest,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        if command.restore.is_empty() {
            return Ok(());
        }
        let restored = self.engine.restore(&command.restore).await;
        report.add_restored(restored.lines, restored.refused);
        if let Some(error) = restored.failed {
            return Err(error);
        }
        request.scope = restored.places;
        request.cause = Cause::Restore;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Digest, Side};

    #[test]
    fn an_approval_counts_only_in_the_workspace_where_its_action_was_shown() {
        let approval = |workspace: &str| Approval {
            workspace: workspace.to_owned(),
            side: Side::Remote,
            mark: Digest::of_parts(&[b"a new category"]),
        };
        let command = CycleCommand {
            approve: vec![approval("de/"), approval("en/")],
            ..CycleCommand::new(Direction::Both)
        };
        assert_eq!(approvals_of(&command, "de/"), [&approval("de/")]);
        assert!(approvals_of(&command, "").is_empty());
    }
}
