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
        control::{self, Command, DaemonStatus, RequestError, Response},
        job::CycleCommand,
        settings_mark::SettingsMark,
    },
    drill::failpoint,
    engine::report::Report,
    mirror::lock::{Lock, Owner, PRIVATE_FOLDER},
    reconcile::snapshot::Direction,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// The most time for the daemon to return its status.
const PATIENCE: Duration = Duration::from_secs(2);

/// The wait before the daemon's status is first asked for after a command.
const FIRST_CHECK: Duration = Duration::from_secs(1);

/// The interval of further requests for the status.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The most requests for the status in a row without an answer.
const MAX_SILENCES: u32 = 3;

/// Returns whether a daemon has the mirror.
pub(super) fn is_daemon_there(config: &Config) -> bool {
    holders(config).any(|owner| owner.doing == control::LOCK_LABEL)
}

/// Returns the processes that work on the mirror.
pub(super) fn holders(config: &Config) -> impl Iterator<Item = Owner> {
    let roots = config.roots().into_iter();
    roots.filter_map(|root| Lock::holder(&root.path).ok()?)
}

/// Runs a command through the daemon; `None`: no daemon listens.
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
    let asked = control::request(&private, Command::Cycle(wish), |step| progress.show(step));
    let waiting = async {
        Ok(while_it_lives(&private, asked, |silence| {
            note_silence(context, config, silence);
        })
        .await)
    };
    let word = Box::pin(until_stopped(Work::ByDaemon, None, waiting, String::new)).await;
    progress.finish();
    let (Some(word), _) = word? else {
        return Err(unresponsive());
    };
    match word {
        Ok(Response::Report(report, stopped, failures)) => {
            let mut report = Report { stopped, ..*report };
            report.coverage.is_partial = is_partial;
            Ok(Some(SessionReport { report, failures }))
        }
        Ok(Response::Failed(refusal)) => Err(refusal.into()),
        // The daemon is starting or has no socket; the lock names the holder.
        Err(RequestError::NotListening(_)) => Ok(None),
        Ok(Response::Status(_) | Response::Progress(_)) | Err(_) => Err(no_answer(word.err())),
    }
}

/// Waits for the daemon's final response without a time limit, because an earlier cycle may be long. `None`: the daemon
/// does not even return its status any more.
async fn while_it_lives<T>(
    private: &Path,
    asked: impl Future<Output = T>,
    silent: impl Fn(Duration),
) -> Option<T> {
    let mut asked = std::pin::pin!(asked);
    let (mut silences, mut pause, mut heard) = (0, FIRST_CHECK, Instant::now());
    while silences < MAX_SILENCES {
        let status = async {
            tokio::time::sleep(failpoint::wait(pause)).await;
            let status = control::request(private, Command::Status, |_| ());
            tokio::time::timeout(PATIENCE, status).await
        };
        let answer = tokio::select! {
            word = &mut asked => return Some(word),
            answer = status => answer,
        };
        pause = CHECK_INTERVAL;
        if answer.is_ok() {
            (silences, heard) = (0, Instant::now());
        } else {
            silences += 1;
        }
        if silences == 1 {
            silent(heard.elapsed());
        }
    }
    None
}

/// Notes that the daemon is silent, and what Ctrl-C would do.
fn note_silence(context: &Context, config: &Config, silence: Duration) {
    let pid = holders(config).next();
    let pid = pid.map_or_else(String::new, |owner| format!(" (pid {})", owner.pid));
    let silence = silence.as_secs();
    context.out.note(format!(
        "The daemon{pid} has not answered for {silence} s; still waiting. Ctrl-C stops waiting; the daemon continues."
    ));
}

/// Returns the daemon's status; `None`: there is no daemon, or the daemon does not answer.
pub(super) async fn status(config: &Config) -> Option<DaemonStatus> {
    if !is_daemon_there(config) {
        return None;
    }
    let private = config.mirror.join(PRIVATE_FOLDER);
    let asked = control::request(&private, Command::Status, |_| ());
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(Response::Status(status))) => Some(*status),
        Ok(Ok(Response::Report(..) | Response::Failed(_) | Response::Progress(_)) | Err(_))
        | Err(_) => None,
    }
}

/// Makes the failure for a daemon that has the command, and no longer answers. If the daemon continues, it carries the
/// command out.
fn unresponsive() -> Failure {
    Failure::new(
        ExitCode::Retry,
        "the daemon no longer answers",
        "the process is suspended, or its machine is too busy; `kbsync doctor` names it. If it continues, it carries out \
         your command; otherwise stop it and run the command again",
    )
}

fn no_answer(error: Option<RequestError>) -> Failure {
    let message = error.map_or_else(
        || "the daemon sent an unexpected response".to_owned(),
        |error| format!("failed to {:#}", anyhow::Error::new(error)),
    );
    Failure::new(
        ExitCode::Retry,
        message,
        "a daemon holds the mirror: run the command again, or stop the daemon; `kbsync doctor` names its process",
    )
}
