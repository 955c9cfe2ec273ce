//! Runs a command through the daemon that has the mirror, and receives its report.

use super::{
    ExitCode,
    context::Context,
    failure::Failure,
    interrupt::{Work, until_stopped},
    progress::Progress,
    session::SessionReport,
};
use crate::{
    config::Config,
    daemon::{
        control::{self, Command, DaemonStatus, Response},
        job::CycleCommand,
        settings_mark::SettingsMark,
    },
    engine::report::Report,
    mirror::lock::{Lock, Owner},
    model::path::PRIVATE_FOLDER,
    reconcile::snapshot::Direction,
};
use std::{path::Path, time::Duration};
use tokio::time::error::Elapsed;

/// The most time for the daemon to return its status.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most time for the daemon's status, before and during a command, and the pause between two questions.
const SILENCE: Duration = Duration::from_secs(10);

/// Returns whether a daemon has the mirror.
pub(super) fn is_daemon_there(config: &Config) -> bool {
    holders(config).any(|owner| owner.doing == control::LOCK_LABEL)
}

/// Returns the processes that work on the mirror.
pub(super) fn holders(config: &Config) -> impl Iterator<Item = Owner> {
    let roots = config.roots().into_iter();
    roots.filter_map(|root| Lock::holder(&root.path).ok()?)
}

/// Runs a command through the daemon; `None`: no daemon listens. A suspended daemon gets no command. The final response
/// has no time limit, because an earlier cycle may be long, but a daemon that falls silent ends the wait.
pub(super) async fn to_daemon(
    context: &Context,
    config: &Config,
    wish: CycleCommand,
) -> Result<Option<SessionReport>, Failure> {
    if !is_daemon_there(config) {
        return Ok(None);
    }
    let mut progress = Progress::new(context.out, config.options.budget);
    let is_partial = wish.direction != Direction::Both || !wish.scope.is_empty();
    let private = config.mirror.join(PRIVATE_FOLDER);
    let wish = CycleCommand {
        settings: Some(SettingsMark::of(config)),
        ..wish
    };
    let is_there = async {
        let answer = check(&private).await;
        answer.map_err(|_elapsed| {
            unresponsive("stop it, or let it continue, and run the command again")
        })
    };
    until_stopped(Work::Look, None, is_there, String::new).await?;
    let asked = control::request(&private, Command::Cycle(wish), |step| progress.show(step));
    let waiting = async {
        tokio::select! {
            word = asked => Ok(word),
            silent = silence(&private) => Err(silent),
        }
    };
    let word = Box::pin(until_stopped(Work::ByDaemon, None, waiting, String::new)).await;
    progress.finish();
    let (word, _) = word?;
    match word {
        Ok(Some(Response::Report(report, stopped, failures))) => {
            let mut report = Report { stopped, ..*report };
            report.coverage.is_partial = is_partial;
            Ok(Some(SessionReport { report, failures }))
        }
        Ok(Some(Response::Failed(refusal))) => Err(refusal.into()),
        // The daemon is starting or has no socket; the lock names the holder.
        Ok(None) => Ok(None),
        Ok(Some(Response::Status(_) | Response::Progress(_))) | Err(_) => {
            Err(no_answer(word.err()))
        }
    }
}

/// Fails if the daemon does not answer.
async fn check(private: &Path) -> Result<(), Elapsed> {
    let status = control::request(private, Command::Status, |_| ());
    let answer = tokio::time::timeout(SILENCE, status).await;
    answer.map(drop)
}

/// Waits until the daemon, which has the command, does not answer any more.
async fn silence(private: &Path) -> Failure {
    loop {
        tokio::time::sleep(SILENCE).await;
        if check(private).await.is_err() {
            return unresponsive(
                "if it continues, it may still carry out your command; otherwise stop it, and run the command again",
            );
        }
    }
}

/// Returns the daemon's status; `None`: there is no daemon, or the daemon does not answer.
pub(super) async fn status(config: &Config) -> Option<DaemonStatus> {
    if !is_daemon_there(config) {
        return None;
    }
    let private = config.mirror.join(PRIVATE_FOLDER);
    let asked = control::request(&private, Command::Status, |_| ());
    match tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?? {
        Response::Status(status) => Some(*status),
        Response::Report(..) | Response::Failed(_) | Response::Progress(_) => None,
    }
}

/// Makes the failure for a daemon that does not answer.
fn unresponsive(help: &str) -> Failure {
    Failure::new(
        ExitCode::Retry,
        "the daemon no longer answers",
        format!(
            "its process is suspended, or the machine is too busy; `kbsync doctor` names the process; {help}"
        ),
    )
}

fn no_answer(error: Option<anyhow::Error>) -> Failure {
    let message = error.map_or_else(
        || "the daemon sent an unexpected response".to_owned(),
        |error| format!("failed to {error:#}"),
    );
    Failure::new(
        ExitCode::Retry,
        message,
        "a daemon holds the mirror: run the command again, or stop the daemon; `kbsync doctor` names its process",
    )
}
