//! The cycle of a job in the workspaces that it concerns: for the daemon, and for a command without one.
//!
//! A command's approvals are stored and its versions are restored before the cycle of their workspace. The reports of
//! all workspaces are merged. A workspace that fails does not stop the others; an outage does.

use super::control::Refusal;
use super::failure::Failure;
use super::git::View;
use super::job::{Approval, CycleCommand, CycleOutcome, Job, OpenItems, Scope, request_for};
use super::outage::Outage;
use crate::config::Root;
use crate::engine::report::{Line, Report};
use crate::engine::settings::{Cause, CycleRequest};
use crate::engine::{Engine, StopCause, open_actions};
use crate::mirror::disk::Disk;
use crate::reconcile::plan::HoldRule;
use crate::service::{ErrorKind, Service};
use crate::state::store::Store;
use std::sync::Arc;

/// The engine of one workspace.
pub struct WorkspaceEngine<S, D> {
    /// The workspace's location.
    pub root: Root,
    /// The engine.
    pub engine: Engine<S, D>,
}

/// Runs the cycle of a job in each workspace that it concerns, and merges the reports: for the daemon, and for a
/// command without one.
pub async fn run_job<S: Service, D: Disk>(
    workspaces: &mut [WorkspaceEngine<S, D>],
    job: &Job,
) -> CycleOutcome {
    let mut report = Report::new(matches!(&job.scope, Scope::Command(command) if command.dry_run));
    let (mut outage, mut failures, mut unusable) = (None, Vec::new(), 0);
    for workspace in workspaces.iter_mut() {
        let Some(mut request) = request_for(job, &workspace.root.prefix) else {
            continue;
        };
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
                // Only a failed cycle counts towards an outage: a failed preparation says nothing about the mirror.
                unusable += usize::from(is_prepared);
                let failure = Refusal::from(Failure::from(error));
                report.fail_with(failure.code);
                failures.push(Refusal {
                    path: Some(workspace.root.folder().to_owned()),
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
        open_items: open_items(workspaces.iter().map(|one| one.engine.store())),
    }
}

/// Returns the failure of a cycle that the service or the mirror ended early. Git's end is no failure. `token`: the name
/// of the source of a daemon's token.
pub fn stop_failure(report: &Report, token: Option<&str>) -> Option<Refusal> {
    let stop = report.stopped.as_ref();
    let stop = stop.filter(|stop| stop.cause != StopCause::Git)?;
    let failure = match (stop.service_failure(), token) {
        (Some((ErrorKind::Unauthorized, _)), Some(source)) => Failure::daemon_token(source),
        (Some(_) | None, _) => Failure::from(stop.clone()),
    };
    let mut failure = Refusal::from(failure);
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

/// Returns whether an approved action waits for a cycle without a doubt.
fn waits_for(line: &Line, approval: &Approval) -> bool {
    line.rule == Some(HoldRule::Doubt) && line.fingerprint == Some(approval.mark)
}

/// Returns the job's command, unless it is a dry run.
fn command_of(job: &Job) -> Option<&CycleCommand> {
    match &job.scope {
        Scope::Command(command) if !command.dry_run => Some(command),
        Scope::Command(_) | Scope::Everything | Scope::Paths(_) => None,
    }
}

fn open_items<'s>(states: impl Iterator<Item = &'s Store>) -> OpenItems {
    let mut open_items = OpenItems::default();
    for state in states {
        if let Err(error) = add_open_items(&mut open_items, state) {
            let error = format!("{error:#}");
            tracing::warn!(error, "cannot count the open items of the state");
            // Unknown counts as held: a HEAD must not be remembered over held removals.
            open_items.held_deletions += 1;
        }
    }
    open_items
}

fn add_open_items(open_items: &mut OpenItems, state: &Store) -> anyhow::Result<()> {
    open_items.articles += state.article_count()?;
    open_items.conflicts += state.conflicts()?.len();
    open_items.pending_requests += state.pending_requests()?.len();
    open_items.held_deletions += open_actions::held_deletions(state)?;
    Ok(())
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
            let approvals = approvals_of(command, &self.root.prefix);
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
        let command = command_of(job).filter(|_| found.stopped.is_none());
        let approvals = command.map(|command| approvals_of(command, &self.root.prefix));
        let mut unused = approvals.unwrap_or_default();
        unused.retain(|one| !found.actions.iter().any(|line| waits_for(line, one)));
        report.add(found);
        // An unused approval must not release a later action.
        if !unused.is_empty() {
            self.engine.store_mut().write(|tx| {
                let mut each = unused.iter();
                each.try_for_each(|one| tx.use_up_approval(one.side, one.mark))
            })?;
        }
        Ok(met)
    }

    /// Git may move HEAD before this workspace is synced, or during a request.
    fn set_git(&mut self, job: &Job) {
        let view = View::new(&self.root.path, job.git.clone());
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
    use crate::model::{Digest, Side, Timestamp, WorkspaceId};
    use crate::reconcile::snapshot::Direction;
    use crate::state::Binding;

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

    #[test]
    fn a_state_that_cannot_be_read_counts_as_one_with_a_held_deletion() {
        let folder = tempfile::tempdir().expect("a folder");
        let binding = Binding {
            service: "https://kb.example.com".to_owned(),
            workspace: WorkspaceId::new(uuid::Uuid::nil()),
        };
        let state = Store::open(folder.path(), &binding, Timestamp(0)).expect("a state");
        assert_eq!(open_items([&state].into_iter()), OpenItems::default());
        let other = rusqlite::Connection::open(folder.path().join("state.db")).expect("the state");
        other.execute("DROP TABLE waiting", []).expect("dropped");
        assert_eq!(open_items([&state].into_iter()).held_deletions, 1);
    }
}
